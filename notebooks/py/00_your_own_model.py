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
# GPT-NeoX), fresh from the Hub or fine-tuned in a folder ([exceptions](../docs/matrix.md)). This is enough:
#
# ```python
# from helpers import heads, measures, models
# from helpers.corpora import tokens
# from helpers.records import Pair
#
# model, tokenizer = models.load("Helsinki-NLP/opus-mt-en-de")                      # a Hub name or a folder
# pairs = [Pair("the old doctor sleeps .", "der alte arzt schläft .")]              # yours; one shows that it runs,
#                                                                                   # a ranking needs several hundred
# source, target = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
# batches = tokens.Batches(tokens.encode(pairs, source, target), source.pad)        # or a Hugging Face collator's, with labels
#
# table = measures.head_table(model, batches)                                       # every measure of every head
# worth = table["leave-one-out"]                                                    # shown as: loss without the head
# heads.remove(model, worth.nsmallest(20).index)                                    # smaller projections, not masks
# heads.save(model, "pruned")                                                       # config, weights, map of kept heads
# model = heads.load("pruned")                                                      # the same logits again
# ```
#
# This notebook does the same on a small model of the study (`models`), or on yours: for a translation model, with the sentence
# pairs that `models` names, and for a model that continues texts, with a text file, by
#
# ```
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p models de-news
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p text FILE
# ```
#
# It asks one question of the result, and answers it: do the heads that the table calls *least important* (the loss rises least
# without them) cost less than random ones? It works on a model and so needs its weights; all other notebooks read results.

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
from IPython.display import Markdown

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
# One row a head; each column is one measure. The index of the table itself counts layers and heads from zero, as the code does.
#
# - *loss without the head* (`leave-one-out`): how much the loss rises (nats a target token) when that head alone is off;
# - *gradient, each example* (gradient importance): mean size of the derivative of an example's loss (nats) in the head's gate;
# - *relevance*: share of its layer's part in the predicted logit, by the rules of notebook 1 that are defined on the model's
#   layers; by AttnLRP it can be negative or above one;
# - *confidence*: for each token the largest weight of its row, averaged over tokens.
#
# All are measured on dev text, costly ones on fewer sentences; the removals, on top and below, are scored on test text. The
# syntactic and rare-token tests of notebook 2 need parsed text and are not run here. **Press a column's name to sort by it.**

# %%
table = measures.head_table(model, dev, explained=explained, rules=lrp.rules(model))

# %% jupyter={"source_hidden": true}
run.table(table, "head_table", sentences=few)
worth, total = table["leave-one-out"], len(table)
shown = ["leave-one-out", "gradient, example", lrp.rules(model)[0], "confidence", *entered]
kept, called = heart(table.assign(functions=table.functions.replace("", np.nan)), entered)  # no column of nothing
forms = {name: ".2f" for name in (*shown[1:4], "attnlrp") if name in kept} | {"leave-one-out": ".3f"}
passing = (table.functions.fillna("") != "").sum()
asked = f"{subject.title}: {total} heads; {passing} pass the positional test, the only test of functions that is run here"
sortable(kept, called, forms, asked)

# %% [markdown]
# As a picture of one kind of attention (the others are saved): each panel is a measure, each cell a head, coloured by its
# rank in its layer divided by the layer's number of heads (`1.0`: the layer's largest). All panels keep the order of the loss
# without the head, so one that agrees with it fades from left to right.

# %% jupyter={"source_hidden": true}
ranks = table[shown].groupby(["kind", "layer"]).rank(pct=True)
for kind in table.index.unique("kind"):
    columns = {measure: ranks[measure] for measure in shown}
    order = dict.fromkeys(shown, table["leave-one-out"])
    alike = rank_agreement(table[shown], kind)["leave-one-out"]
    with_loss = listed(f"{named(name)} {number(alike[name], '.2f')}" for name in shown[1:])
    few_heads = table.loc[kind].groupby("layer").size().max() < 4
    run.figure(
        figures.head_maps(columns, kind, order, f"{drawing.KIND_TITLES[kind]}: rank in its layer"),
        f"heads_{kind}",
        caption=f"Measures of every {drawing.KIND_TITLES[kind]}-attention head, as ranks within its layer.",
        takeaway="Layers of so few heads have no ranking to speak of."
        if few_heads
        else f"{drawing.KIND_TITLES[kind].capitalize()}-attention, {len(table.loc[kind])} heads: rank correlation with the loss"
        f" without the head, within layers: {with_loss}.",
        table="head_table",
        sentences=few,
        show=kind == table.index.unique("kind")[0],
    )

# %% [markdown]
# One head's attention: that of the head that the loss needs most, on a first sentence. Rows look, columns are looked at; the
# darker a cell, the more weight (darkest: all of the row's). A row of a decoder is named by the token that it predicts, one
# behind the token that it reads. `␣` is a piece that is only a space, `</s>` the end of the sentence.

# %% jupyter={"source_hidden": true}
kind, layer, head = worth.idxmax()
example = subject.attention(worth.idxmax()) if text else sentences.attention(subject, worth.idxmax())
run.figure(
    figures.attention([example]),
    "attention",
    caption="Attention of the head that the loss needs most.",
    takeaway=f"Without head {head + 1} of layer {layer + 1} ({drawing.KIND_TITLES[kind]}) the loss rises most, by"
    f" {number(worth.max(), '.3f')} nats a token. In this sentence it puts"
    f" {number(np.max(example['weights'], 1).mean(), '%')} of a row's weight on one token, on average.",
)

# %% [markdown]
# ## Which heads can go?
#
# The figure on top: a quarter and half of all heads are switched off at once, the *least important* first (smallest loss
# without the head), without any further training. The baseline that each choice has to beat is as many heads at random, in
# twenty draws: from all heads (*random*) and, where there are several kinds, as many of each kind as the choice took (*random,
# same kinds*). A choice wins if at most one draw in twenty costs as little: its one-sided $p = (1 + k) / (1 + n)$, for k of n
# draws that cost no more, is then at most `0.10`. Each comparison is held to that by itself, not corrected for their number;
# twenty draws allow no smaller p than `0.05`. To win against *random* it must know something; to win against *random, same
# kinds*, more than which kind of attention the model can spare. The vertical line goes through the least important heads.

# %%
beside = removal.beside_random(model, unseen, worth)

# %% jupyter={"source_hidden": true}
run.table(beside, "beside_random")
won = removal.against_random(beside)
won = won.assign(winner=won.winner.replace("the table", removal.LEAST), p=(1 + won.draws - won.beaten) / (1 + won.draws))
off = f"{' or '.join(map(str, won['heads'].unique()))} of {total}"
ways = {removal.RANDOM: "from all heads", removal.ALIKE: "from the same kinds"}
drawn = listed(ways[way] for way in won.method.unique())
uncorrected, in_bleu = f"each at p ≤ {2 / (1 + won.draws.max()):.2f}, not corrected", ""
run.figure(
    figures.beside_random(beside),
    "beside_random",
    caption="The loss without the least important heads (vertical line), beside as many heads drawn at random.",
    takeaway=f"{subject.title}: switching off the least important heads (vertical line), {off}, costs less than random ones in"
    f" {(won.winner == removal.LEAST).sum()} of {len(won)} comparisons ({uncorrected}), drawn {drawn}.",
    table="beside_random",
    show=False,
)
if not text:
    split, beam = subject.tests[0], run.settings["beam"]
    results = removal.quality(subject, worth, split, beam, run.settings["bootstrap"], first=2 * few)
    run.table(results, "removed", split=split, beam=beam, over=intervals.SENTENCES)
    points = results.assign(model=subject.title, total=total)
    points.loc[points.method != removal.LEAST, ["low", "high"]] = np.nan
    costs = -results[results.heads == results.heads.unique()[2]].set_index("method").change
    own, others = costs[removal.LEAST], costs.drop(removal.LEAST)
    ranges = others.groupby(level=0).agg(lambda part: f"{number(part.min(), '.1f')} to {number(part.max(), '.1f')}")
    in_bleu = (
        f"In BLEU, with half removed: {number(own, '.1f')} lost, random draws {ranges[removal.RANDOM]}, draws of the same kinds"
        f" {ranges[removal.ALIKE]}."
    )
    run.figure(
        l0.figures.pruning_curves(points),
        "removed",
        caption="BLEU after the least important heads of the model are removed, beside random heads.",
        takeaway=f"Half of the heads removed, nothing trained afterwards: the least important cost {number(own, '.1f')} BLEU,"
        f" random ones {ranges[removal.RANDOM]}, random ones of the same kinds {ranges[removal.ALIKE]}. Of these {len(others)}"
        f" draws {(others < own).sum()} cost less.",
        split=split,
        beam=beam,
    )

# %% [markdown]
# In that picture (of translation models) a quarter, half and three quarters of all heads are removed for good. Every point of a
# *random* line is a draw, three at each number of heads; the line goes through their mean. The interval of the other line, a
# bootstrap over test sentences, may be smaller than its marks.
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
# model, tokenizer = models.load("Helsinki-NLP/opus-mt-en-de")  # the whole model again; worth as defined on top
# heads.remove(model, worth.nsmallest(len(worth) // 2).index)
# heads.save(model, "pruned")
# # ... anywhere else, without this project:
# from transformers import AutoModelForSeq2SeqLM  # or AutoModelForCausalLM
# model = AutoModelForSeq2SeqLM.from_pretrained("pruned", trust_remote_code=True)
# model.generate(**tokenizer("the old doctor sleeps .", return_tensors="pt"))
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
    read, decode = [subject.tokenizer.batch_decode] * 2 if text else [subject.source.decode_all, subject.target.decode_all]
    print(f"heads: {total} -> {len(heads.index(again))}; parameters {parameters(model):,} -> {parameters(again):,}")
    print(
        f"logits equal when loaded again: {torch.equal(first, second)}; generated alike without this project: {alone == here}"
    )
    print(f"of {read(given['input_ids'].tolist())[0]!r} it makes {decode([alone])[0]!r}")
    left = [f"{drawing.KIND_TITLES[kind]} {layer + 1}: {len(stay)}" for (kind, layer), stay in heads.kept(again).items()]
    print("heads left by layer:", ", ".join(left))

# %% [markdown]
# To look before cutting, `heads.gate(model, {("encoder", 0, 3): 0.0})` switches a head off inside a `with` block. Whether heads
# should be chosen by this column, by a price on gates or by others is the matter of notebooks 3 and 6.
#
# ## In short

# %% jupyter={"source_hidden": true}
close = won.loc[(won.low - won.own).idxmin()]
told = f"the least important heads cost less than {listed(won.beaten)} of {won.draws.max()} random choices"
closing = f"""
{subject.title}: {told} (rows on top; {uncorrected}). Closest is {close["heads"]} heads off, {close.method}: the
loss rises by {number(close.own, ".3f")}, in the luckiest draw by {number(close.low, ".3f")}. {in_bleu}

*Limits.* One model and one training; another training gives other heads (notebook 6). The loss without a head takes heads one
at a time: two heads that can stand in for each other both look idle, and are missed when both are gone. Removal without further
training asks more than pruning does, which lets the rest adapt (notebook 3). With few random draws the baseline's own spread is
known roughly. The study's models are small, its controlled text is generated.
"""
columns = {"what": "what", "own": "loss rises by", "rise": "with as many at random [least, most]"}
columns |= {"beaten": f"draws beaten, of {won.draws.max()}", "p": "p, one-sided", "winner": "who won"}
what = [f"{row.heads} of {total} heads off, beside {row.method}" for row in won.itertuples()]
asked = f"Do the least important heads cost less than random ones? {subject.title}"
shown = won.assign(what=what, winner=[f"**{who}**" if who == removal.LEAST else who for who in won.winner])
table = readable(shown, columns, {"own": ".3f", "rise": ".3f", "p": ".2f"}, caption=asked)
answer.fill("beside_random", closing, Markdown(f"{table.data}\n\n{in_bleu}"))
