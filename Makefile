# Thin front of workflow/Snakefile. Override any setting: make study PROFILE=natural DATA_ROOT=folder SET="training.steps=200"
PROFILE ?= laptop
CORPUS ?=
SET ?=
DATA_ROOT ?= $(HEADS_DATA_ROOT)
CORES ?= all
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# large blocks stay with the process: fewer page faults in training (must be set before Python starts)
export GLIBC_TUNABLES := glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592:glibc.malloc.top_pad=268435456
# waiting threads sleep: several runs at once do not spin against each other
export OMP_WAIT_POLICY := PASSIVE
export HEADS_DATA_ROOT := $(DATA_ROOT)
export PYTHONUNBUFFERED := 1

.PHONY: study test bench lint reference clean help

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make study      environment, corpora, training, notebooks, figures and head tables (in runs/)
study: $(VENV)/ready
	HEADS_PROGRESS=lines $(BIN)/snakemake --snakefile workflow/Snakefile --cores $(CORES) --nolock --rerun-incomplete \
	  --keep-going --quiet host --config profile=$(PROFILE) corpus="$(CORPUS)" overrides="$(SET)"

## make test       every test, on CPU and offline, the notebooks with profile tiny included
test: $(VENV)/ready
	$(BIN)/python -m pytest

## make bench      what the instrument, relevance, the group constraint and injection cost, what removed heads save, as ratios
bench: $(VENV)/ready
	$(BIN)/python -m benchmarks.heads_overhead
	$(BIN)/python -m benchmarks.removed_heads
	$(BIN)/python -m benchmarks.relevance_speed
	$(BIN)/python -m benchmarks.generator_speed
	$(BIN)/python -m benchmarks.group_constraint
	$(BIN)/python -m benchmarks.coreference_injection

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

## make reference  put a run's figures and tables (RUN=laptop-controlled: its executed notebooks too) where they are committed
RUN ?= laptop-controlled
reference: $(VENV)/ready
	$(BIN)/python -m helpers.reference runs/$(RUN) $(if $(filter-out laptop-controlled,$(RUN)),--figures)

## make clean      remove what is trained, generated and executed (not the environment)
clean:
	rm -rf runs data/corpora .snakemake

$(VENV)/ready: requirements.lock requirements-spacy.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --progress-bar off -r requirements.lock
	$(BIN)/pip install --progress-bar off --no-deps --require-hashes -r requirements-spacy.lock
	$(BIN)/pip install --progress-bar off --no-deps --no-build-isolation -e .
	touch $@
