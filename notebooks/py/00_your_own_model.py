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

# %% jupyter={"source_hidden": true}
import copy
import tempfile
from pathlib import Path

import numpy as np
import torch

from helpers import drawing, heads, measures
from helpers.measures import figures, lrp
from helpers.measures import sentence as sentences
from helpers.measures.ranks import rank_agreement
from helpers.measures.table import named
from helpers.methods import contest, l0, removal
from helpers.methods.contest.said import heart
from helpers.models import inputs, parameters
from helpers.publish import claims
from helpers.reading import listed, number, readable, sortable
from helpers.runs import passages, subjects
from helpers.scores import intervals

drawing.style()
few, entered = run.settings["relevance"], contest.enter(entries)
if text:
    subject = passages.of_file(pretrained, text, many=4 * few, few=few)
    dev, explained, unseen = subject.dev, subject.few, subject.test
else:
    name = subjects.names(run.settings, models)[0]
    read = subjects.of_checkpoint if pretrained else subjects.of_name
    subject = read(run.settings, pretrained, name, seed) if pretrained else read(run.settings, name, seed)
    dev, explained = removal.batches(subject, "dev", 2 * few), removal.batches(subject, "dev", few)
    unseen = removal.batches(subject, subject.tests[0], 2 * few)
model = subject.model
print(f"{subject.title}: {type(model).__name__}, {parameters(model):,} parameters without embeddings")

# %%
answer = claims.Box(run)

# %% [markdown]
# ## The head table
#
# One row a head; each column is one measure (`helpers.measures.head_table` explains them; the index of the table itself counts
# layers and heads from zero, as the code does). `loss without the head` is the plainest: how much the loss rises (nats a target
# token) when that head alone is off. It is measured on dev text; everything below is scored on test text. Costly measures look
# at fewer sentences. Relevance has the rules that are defined on the model's layers. **Press a column's name to sort by it.**

# %%
table = measures.head_table(model, dev, explained=explained, rules=lrp.rules(model))

# %% jupyter={"source_hidden": true}
run.table(table, "head_table", sentences=few)
worth, total = table["leave-one-out"], len(table)
shown = ["leave-one-out", "gradient, example", lrp.rules(model)[0], "confidence", *entered]
sortable(*heart(table, entered), {"leave-one-out": ".3f"}, f"{subject.title}: {total} heads")

# %% [markdown]
# As a picture of one kind of attention (the others are saved): each panel is a measure, each cell a head, coloured by its
# rank among the heads of its layer (the largest is one). All panels keep the order of the loss without the head, so one
# that agrees with it fades from left to right.

# %% jupyter={"source_hidden": true}
ranks = table[shown].groupby(["kind", "layer"]).rank(pct=True)
for kind in table.index.unique("kind"):
    columns = {measure: ranks[measure] for measure in shown}
    order = dict.fromkeys(shown, table["leave-one-out"])
    alike = rank_agreement(table[shown], kind)["leave-one-out"]
    with_loss = listed(f"{named(name)} {number(alike[name], '.2f')}" for name in shown[1:])
    few_heads = table.loc[kind].groupby("layer").size().max() < 4
    run.figure(
        figures.head_maps(columns, kind, order, "rank in its layer"),
        f"heads_{kind}",
        caption=f"Measures of every {drawing.KIND_TITLES[kind]}-attention head, as ranks within its layer.",
        takeaway="Layers of so few heads have no ranking to speak of."
        if few_heads
        else f"Rank correlation with the loss without the head, within layers: {with_loss}.",
        table="head_table",
        sentences=few,
        show=kind == table.index.unique("kind")[0],
    )

# %% [markdown]
# One head's attention: that of the head that the loss needs most, on a first sentence. Rows look, columns are looked at; a row
# of a decoder is named by the token that it predicts, one behind the token that it reads.

# %% jupyter={"source_hidden": true}
kind, layer, head = worth.idxmax()
example = subject.attention(worth.idxmax()) if text else sentences.attention(subject, worth.idxmax())
run.figure(
    figures.attention([example]),
    "attention",
    caption="Attention of the head that the loss needs most.",
    takeaway=f"The loss needs head {head + 1} of layer {layer + 1} most ({drawing.KIND_TITLES[kind]}): without it it rises by"
    f" {number(worth.max(), '.3f')} nats a token.",
)

# %% [markdown]
# ## Which heads can go?
#
# The figure on top: a quarter and half of all heads are switched off at once, those of the least worth first (`loss without the
# head`), without any further training. The baseline that every such choice has to beat is as many heads at random, in twenty
# draws: from all heads and, where there are several kinds, as many of each kind as the choice took. Whoever beats nineteen
# draws of twenty has won. If the table wins against *random*, it knows something; if it wins against *random, same kinds* as
# well, it knows more than which kind of attention the model can spare.

# %%
beside = removal.beside_random(model, unseen, worth)

# %% jupyter={"source_hidden": true}
run.table(beside, "beside_random")
won = removal.against_random(beside)
wins = won.assign(own=won.winner == "the table").groupby("method", sort=False).own.agg(["sum", "size"])
against = listed(f"{row['sum']} of {row['size']} against {method}" for method, row in wins.iterrows())
run.figure(
    figures.beside_random(beside),
    "beside_random",
    caption="The loss without the heads of least worth, beside as many heads drawn at random.",
    takeaway=f"{subject.title}, {total} heads, a quarter and half of them off: the table wins {against} heads.",
    table="beside_random",
    show=False,
)
if not text:
    split, beam = subject.tests[0], run.settings["beam"]
    results = removal.quality(subject, worth, split, beam, run.settings["bootstrap"], first=2 * few)
    run.table(results, "removed", split=split, beam=beam, over=intervals.SENTENCES)
    points = results.assign(model=subject.title, total=total)
    points.loc[points.method != removal.LEAST, ["low", "high"]] = np.nan
    half = results[results.heads == results.heads.unique()[2]].groupby("method", sort=False).change.mean()
    run.figure(
        l0.figures.pruning_curves(points),
        "removed",
        caption="BLEU after the least important heads of the model are removed, beside random heads.",
        takeaway=f"Without half of its heads the model changes by {number(half[removal.LEAST], '+.1f')} BLEU, without as many"
        f" random ones by {number(half[removal.RANDOM], '+.1f')}, without as many random ones of each kind by"
        f" {number(half[removal.ALIKE], '+.1f')}; nothing is trained afterwards.",
        split=split,
        beam=beam,
    )

# %% [markdown]
# In that picture (of translation models) a quarter, half and three quarters of all heads are removed for good. Every point of a
# *random* line is a draw, the line goes through their mean. The interval of the other line is a bootstrap over test sentences.
#
# ## Save it, and use it without us
#
# The model without its least important half, saved: removed heads are gone from the weights, rows of the query, key and value
# projections and columns of the output projection. `heads.load` reads the folder; so does transformers alone, by
# `trust_remote_code=True` where the configuration cannot say what is left (one short file in the folder then holds the
# classes). Below a fresh process in which this project cannot be imported loads the folder and generates. A family whose heads
# cannot be cut out says so.
#
# ```python
# heads.remove(model, worth.sort_values().index[: total // 2])
# heads.save(model, "pruned")
# # ... anywhere else, without this project:
# model = AutoModelForSeq2SeqLM.from_pretrained("pruned", trust_remote_code=True)  # or AutoModelForCausalLM
# model.generate(**batch)
# ```

# %% jupyter={"source_hidden": true}
try:
    pruned = heads.remove(copy.deepcopy(model), worth.sort_values(kind="stable").index[: total // 2])
except study.StudyError as refused:
    print(refused)
else:
    with tempfile.TemporaryDirectory() as folder:
        heads.save(pruned, Path(folder) / "pruned")
        again = heads.load(Path(folder) / "pruned").to(pruned.device)
        batch = inputs(next(iter(unseen)))
        given = {
            name: batch[name][:1, : None if model.config.is_encoder_decoder else 16] for name in ("input_ids", "attention_mask")
        }
        options = {"do_sample": False, "num_beams": 1, "max_length": 40}
        alone = removal.in_plain_transformers(Path(folder) / "pruned", given, **options)[0]
        here = pruned.generate(**given, **options)[0].tolist()
    with torch.no_grad():
        first, second = (trial(**batch).logits for trial in (pruned, again))
    decode = subject.tokenizer.batch_decode if text else subject.target.decode_all
    print(f"heads: {total} -> {len(heads.index(again))}; parameters {parameters(model):,} -> {parameters(again):,}")
    print(
        f"logits equal when loaded again: {torch.equal(first, second)}; generated alike without this project: {alone == here}"
    )
    print("it says:", decode([alone])[0])
    left = [f"{drawing.KIND_TITLES[kind]} {layer + 1}: {len(stay)}" for (kind, layer), stay in heads.kept(again).items()]
    print("heads left by layer:", ", ".join(left))

# %% [markdown]
# To look before cutting, `heads.gate(model, {("encoder", 0, 3): 0.0})` switches a head off inside a `with` block. Whether heads
# should be chosen by this column, by a price on gates or by others is the matter of notebooks 3 and 6.
#
# ## In short

# %% jupyter={"source_hidden": true}
told = "; ".join(f"{row.heads} heads off, {row.method}: {row.winner} won" for row in won.itertuples())
closing = f"""
{subject.title}: {told}.

*Limits.* One model and one training; another training gives other heads (notebook 6). The loss without a head takes heads one
at a time: two heads that can stand in for each other both look idle, and are missed when both are gone. Removal without further
training asks more than pruning does, which lets the rest adapt (notebook 3). With few random draws the baseline's own spread is
known roughly. Unless you bring a checkpoint, the model is small and its text is generated unless the run says natural.
"""
columns = {"what": "what", "own": "loss rises by", "rise": "with as many at random [least, most]"}
columns |= {"beaten": "draws beaten", "draws": "of n", "winner": "who won"}
what = [f"{row.heads} of {total} heads off, beside {row.method}" for row in won.itertuples()]
asked = f"Is the table worth more than chance? {subject.title}"
shown = won.assign(what=what, winner=[f"**{who}**" if who == "the table" else who for who in won.winner])
answer.fill("beside_random", closing, readable(shown, columns, {"own": ".3f", "rise": ".3f"}, caption=asked))
