# ---
# jupyter:
#   jupytext:
#     formats: notebooks//ipynb,notebooks/py//py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 0 · Heads of your own model
#
# [notebook 1, relevance and confidence →](01_relevance_and_confidence.ipynb) · [all claims](../docs/results.md) ·
# [figures](../figures/README.md) · functions: [measures/table.py](../helpers/measures/table.py),
# [measures/worth.py](../helpers/measures/worth.py), [methods/removal.py](../helpers/methods/removal.py),
# [heads/surgery.py](../helpers/heads/surgery.py), [runs/passages.py](../helpers/runs/passages.py)
#
# The notebooks that follow tell the story of three papers on models of their own. What they measure and do works on any
# Marian, BART, mBART, Pegasus or T5 model, and on models that continue texts (GPT-2, OPT, Llama, Mistral, Qwen, Gemma, Phi,
# GPT-NeoX), fresh from the Hub or fine-tuned in a folder. Five lines are enough:
#
# ```python
# model, tokenizer = models.load("Helsinki-NLP/opus-mt-en-de")                      # a Hub name or a folder
# table = measures.head_table(model, batches)                                       # every measure of every head
# heads.remove(model, table["leave-one-out"].nsmallest(20).index)                   # smaller projections, not masks
# heads.save(model, "pruned")                                                       # config, weights, map of kept heads
# model = heads.load("pruned")                                                      # the same logits again
# ```
#
# `batches` are what a Hugging Face collator yields, with labels. Of sentence pairs of your own they are made like this:
#
# ```python
# source, target = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
# pairs = [Pair("the old doctor sleeps .", "der alte arzt schläft ."), ...]
# batches = tokens.Batches(tokens.encode(pairs, source, target), source.pad)
# ```
#
# This notebook does the same on a small model of the study (`models`), or on yours: `-p pretrained NAME` with the sentence
# pairs that `models` names or, for a model that continues texts, with a text file, `-p pretrained NAME -p text FILE`. It asks
# one question of the result, and answers it: is the table worth more than removing heads at random? It works on a model and so
# needs its weights; all other notebooks read results.

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # the model, or the text that yours is studied on, e.g. "de-news"; empty: the corpus's first
pretrained = ""  # your model: a checkpoint (Hub name or folder)
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: not needed here
seed = 1
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as training.steps=200
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS
text = ""  # a text file for a model that continues texts, with `pretrained`
entries = ""  # a TOML file of measures of your own, which join the table (docs/extend.md)

# %%
from helpers import study
from helpers.plan import sources

run = study.begin("00_your_own_model", globals())
print(run.summary(), sources(run), sep="\n")

# %%
import copy
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from IPython.display import display

from helpers import drawing, heads, measures
from helpers.measures import figures, lrp, measured
from helpers.methods import contest, l0, removal
from helpers.models import inputs, parameters
from helpers.runs import passages, subjects
from helpers.scores import intervals

drawing.style()
few, entered = run.settings["relevance"], contest.enter(entries)
if text:
    subject = passages.of_file(pretrained, text, many=4 * few, few=few)
    dev, explained, unseen = subject.dev, subject.few, subject.test
else:
    name = subjects.names(run.settings, models)[0]
    subject = (
        subjects.of_checkpoint(run.settings, pretrained, name, seed)
        if pretrained
        else subjects.of_name(run.settings, name, seed)
    )
    dev, explained = removal.batches(subject, "dev"), removal.batches(subject, "dev", few)
    unseen = removal.batches(subject, subject.tests[0])
model = subject.model
print(f"{subject.title}: {type(model).__name__}, {parameters(model):,} parameters without embeddings")
pd.Series({(site.kind, site.layer): site.heads for site in heads.sites(model)}).unstack().rename_axis("heads by kind and layer")

# %% [markdown]
# ## The head table
#
# One row a head, indexed by (kind, layer, head); each column is one measure (`helpers.measures.head_table` explains them).
# The index counts layers and heads from zero, as the code does; everything drawn counts layers from one. Costly measures
# look at fewer sentences. `leave-one-out` is the plainest: how much the loss rises (nats a target token) when that head
# alone is switched off. It is measured on dev text; everything below is scored on test text. Relevance has the rules that
# are defined on the model's layers.

# %%
table = measures.head_table(model, dev, explained=explained, rules=lrp.rules(model))
run.table(table, "head_table", sentences=few)
table.sort_values("leave-one-out", ascending=False).head(12).style.format(precision=3)

# %% [markdown]
# As a picture: each panel is a measure, each cell a head, coloured by its rank among the heads of its layer (the largest is
# one). All panels keep the order of `leave-one-out`, so one that agrees with it fades from left to right.

# %%
shown = ["leave-one-out", "gradient, example", lrp.rules(model)[0], "confidence", *entered]
ranks = table[shown].groupby(["kind", "layer"]).rank(pct=True)
for kind in table.index.unique("kind"):
    columns = {measure: ranks[measure] for measure in shown}
    order = dict.fromkeys(shown, table["leave-one-out"])
    run.figure(
        figures.head_maps(columns, kind, order, "rank in its layer"),
        f"heads_{kind}",
        caption=f"Measures of every {drawing.KIND_TITLES[kind]}-attention head, as ranks within its layer.",
        table="head_table",
        sentences=few,
    )

# %% [markdown]
# One head's attention: that of the head that the loss needs most. Rows look, columns are looked at, on a first sentence.

# %%
worth, total = table["leave-one-out"], len(table)
kind, layer, head = worth.idxmax()
print(f"The loss needs head {head + 1} of layer {layer + 1} most ({drawing.KIND_TITLES[kind]}).")
example = subject.attention(worth.idxmax()) if text else measured.attention(subject, worth.idxmax())
run.figure(figures.attention([example]), "attention", caption="Attention of the head that the loss needs most.")

# %% [markdown]
# ## Which heads can go?
#
# A quarter and half of all heads are switched off at once, those of the smallest `leave-one-out` first, without any further
# training. The baseline that every such choice has to beat is as many heads at random, in twenty draws: from all heads and,
# where there are several kinds, as many of each kind as the choice took. Whoever beats nineteen draws of twenty has won. If
# the table wins against *random*, it knows something; if it wins against *random, same kinds* as well, it knows more than
# which kind of attention the model can spare.

# %%
beside = removal.beside_random(model, unseen, worth)
print(*removal.who_won(beside), sep="\n")
beside.groupby(["heads", "method"], sort=False).rise.describe()[["count", "mean", "min", "max"]].style.format(precision=3)

# %% [markdown]
# Of translation models the same in BLEU: a quarter, half and three quarters of all heads removed for good, beside few draws.

# %%
if not text:
    split, beam = subject.tests[0], run.settings["beam"]
    results = removal.quality(subject, worth, split, beam, run.settings["bootstrap"])
    run.table(results, "removed", split=split, beam=beam, over=intervals.SENTENCES)
    display(results.drop_duplicates(["heads", "change"]).style.format(precision=2))

# %%
if not text:
    points = results.assign(model=subject.title, total=total)
    points.loc[points.method != "least important", ["low", "high"]] = np.nan
    run.figure(
        l0.figures.pruning_curves(points),
        "removed",
        caption="BLEU after the least important heads of the model are removed, beside random heads.",
        split=split,
        beam=beam,
    )

# %% [markdown]
# Every point of a *random* line is a draw, the line goes through their mean. The interval of the other line is a bootstrap
# over test sentences; `change` in the table is paired with the whole model.
#
# ## Save, load, the same model
#
# The model without its least important half, saved, read again, and asked for its logits. Removed heads are gone from the
# weights: rows of the query, key and value projections and columns of the output projection. A family whose heads cannot be
# cut out says so.

# %%
try:
    pruned = heads.remove(copy.deepcopy(model), worth.sort_values(kind="stable").index[: total // 2])
except study.StudyError as refused:
    print(refused)
else:
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for part, saved in (("whole", model), ("pruned", pruned)):
            heads.save(saved, Path(folder) / part)
            sizes.append((Path(folder) / part / "model.safetensors").stat().st_size)
        again = heads.load(Path(folder) / "pruned").to(pruned.device)
    with torch.no_grad():
        batch = inputs(next(iter(unseen)))
        first, second = (trial(**batch).logits for trial in (pruned, again))
    print(f"heads: {total} -> {len(heads.index(again))}; parameters {parameters(model):,} -> {parameters(again):,}")
    print(f"file: {sizes[0] / 2**20:.2f} -> {sizes[1] / 2**20:.2f} MiB; logits equal: {torch.equal(first, second)}")
    left = {f"{kind} {layer + 1}": numbers for (kind, layer), numbers in heads.kept(again).items()}
    display(pd.Series(left, name="heads kept").to_frame())

# %% [markdown]
# `heads.load` gives a model of its own class that trains, generates and is measured like any other. To look before cutting,
# `heads.gate(model, {("encoder", 0, 3): 0.0})` switches a head off inside a `with` block. Whether heads should be chosen by
# this column, by a price on gates or by others is the matter of notebooks 3 and 6.
#
# ## What limits this
#
# All of it is one model and one training; another training gives other heads (notebook 6). Leave-one-out takes heads one at
# a time: two heads that can stand in for each other both look idle, and are missed when both are gone. Removal without
# further training asks more than pruning does, which lets the rest adapt (notebook 3). With few random draws the baseline's
# own spread is known roughly. Unless you bring a checkpoint, the model is small, its encoder self-attention starts from an
# output of zero while other attention does not, and its text is generated unless the run says natural.
