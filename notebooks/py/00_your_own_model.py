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
# Which heads can a model spare? This notebook asks it of one small model of the study, or of yours ([at the
# end](#Use-it-on-yours)): off one head at a time, off many at once, and cut for good, each beside random heads.

# %% jupyter={"source_hidden": true} tags=["parameters"]
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
from helpers.publish import claims

run = study.begin("00_your_own_model", globals())
answer = claims.Box(run)
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# [Notebook 1, relevance and confidence →](01_relevance_and_confidence.ipynb) · [all claims](../docs/results.md) ·
# [figures](../figures/README.md) · functions: [measures/table.py](../helpers/measures/table.py),
# [measures/worth.py](../helpers/measures/worth.py), [methods/removal.py](../helpers/methods/removal.py),
# [heads/surgery.py](../helpers/heads/surgery.py), [runs/passages.py](../helpers/runs/passages.py)

# %% jupyter={"source_hidden": true}
import copy
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from IPython.display import HTML, display

from helpers import drawing, heads, measures
from helpers.measures import figures, lrp, measured, ranks
from helpers.measures import sentence as sentences
from helpers.measures.table import named, shaped
from helpers.measures.worth import leave_one_out
from helpers.methods import contest, removal, said
from helpers.methods.contest.said import heart
from helpers.models import inputs, parameters
from helpers.reading import interval, listed, number, readable, sortable
from helpers.runs import passages, subjects
from helpers.scores import intervals

drawing.style()
few, entered = run.settings["relevance"], contest.enter(entries)
UNIT = "millinats per token"
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
print(f"{subject.title} ({type(model).__name__}): {shaped(model)}.")
if not (text or pretrained):
    trained = run.settings["training"]["steps"]
    to = {"ru": "Russian", "de": "German", "fr": "French"}[name.partition("-")[0]]
    made = f"a translation Transformer trained by this study, {trained:,} steps on {run.settings['train']:,} pairs"
    print(f"It is {made} of {'generated' if run.corpus == 'controlled' else 'natural'} sentences, English to {to}.")

# %% [markdown]
# ## The head table
#
# One row per head; each column is one measure. In code layers and heads count from zero.
#
# - *loss without the head* (`leave-one-out`): how much the loss rises when that head alone is off (multiplied by zero), in
#   millinats (`0.001` nats) per target token, as everywhere below. Where its 95 % interval, over sentences, holds zero, the
#   head changes nothing that can be measured; as many tests find some effect by chance, counts *by Holm* correct for their
#   number;
# - *gradient importance* (`gradient, example`): mean size of the derivative of an example's loss (nats) by the head's gate;
# - *relevance*: share of its layer's part in the predicted logit, traced back through the layers by layer-wise relevance
#   propagation (LRP); notebook 1 explains its rules, αβ (never negative) and AttnLRP (signed: shares below zero or above one).
#   A third rule, *conservative*, and further measures are in the saved table;
# - *confidence*: for each token the largest weight that it puts on one token, averaged over tokens. The end of the sentence is
#   left out, as a row and as what is attended to.
#
# All are measured on dev text, costly ones on fewer sentences (n, below); what heads cost together is measured on
# test text. What heads *do* is the matter of notebook 2. In a trusted Jupyter a click on a column's name sorts.

# %%
# made above: the model; batches of its dev text, `explained` the first of them; below `unseen`, batches of test text
table = measures.head_table(model, dev, explained=explained, rules=lrp.rules(model))
worth = table["leave-one-out"]

# %% jupyter={"source_hidden": true}
run.table(table, "head_table", sentences=few)
total = len(table)
shown = ["leave-one-out", "gradient, example", lrp.rules(model)[0], "confidence", *entered]
single = leave_one_out(model, explained)
kept, called = heart(table.assign(functions=table.functions.replace("", np.nan)), entered, single)  # no column of nothing
called |= {"leave-one-out": f"loss without the head, {UNIT}", "gradient, example": "gradient importance"}
forms = {name: ".2f" for name in (*shown[1:4], "attnlrp") if name in kept} | {"leave-one-out": "+.2f"}
differ = measured.effects_that_differ({(subject.title, seed): single}).droplevel(["model", "seed"])
unsure, by_holm = (int((differ["heads"] - differ[counted]).sum()) for counted in ("differ", "differ_holm"))
asked = f"{subject.title}: {total} heads; the rise of {unsure} cannot be told from zero ({by_holm} by Holm), n = {few}"
ends_of = pd.concat([kept.head(5), kept.tail(5)]) if total > 10 else kept
display(readable(ends_of, called, forms, caption=f"{asked}; the five largest and the five smallest"))
every = sortable(kept, called, forms, asked).data
HTML(f"<details><summary>All {total} heads, to be sorted by any column</summary>{every}</details>")

# %% [markdown]
# The figure on top draws that column. As maps, a type of attention each: a panel is a measure, a cell a head (`#` is its
# number). Rows keep the order of the loss without the head, which the first panel prints (grey: its interval holds zero); the
# others give ranks within the layer, `1` and darkest for the largest: one that agrees brightens from left to right. Brackets
# of the correlations are over heads, drawn anew within layers.

# %% jupyter={"source_hidden": true}
run.figure(
    figures.sorted_heads(single, total // 2),
    "sorted_heads",
    caption="How much the loss rises without each head, off alone, sorted.",
    takeaway=f"{subject.title}, dev text: each head off alone, with 95 % intervals over sentences. {unsure} of {total} cannot"
    f" be told from zero ({by_holm} by Holm). Shaded: the {total // 2} of the smallest *loss without the head*, which go.",
    table="head_table",
    sentences=few,
    show=False,
)
unclear = (single.low <= 0) & (single.high >= 0)
for kind in table.index.unique("kind"):
    alike = ranks.correlations(worth, dict(table[shown[1:]].items()), kinds=kind, within_layer=True)
    with_loss = listed(
        f"{named(m).removeprefix('relevance, ')} {interval(*row[['rho', 'low', 'high']], '.2f')}" for m, row in alike.iterrows()
    )
    few_heads = table.loc[kind].groupby("layer").size().max() < 4
    run.figure(
        figures.rank_maps(dict(table[shown].items()), kind, "leave-one-out", unclear),
        f"heads_{kind}",
        caption=f"Measures of every {drawing.KIND_TITLES[kind]}-attention head, as ranks within its layer.",
        takeaway="Layers of so few heads have no ranking to speak of."
        if few_heads
        else f"{said.by_layer(single.loc[kind], differ.loc[kind])}. Spearman with it: {with_loss}.",
        table="head_table",
        sentences=few,
    )

# %% [markdown]
# One head's attention: that of the head with the largest loss without it, on a first sentence. Each row spreads its weight
# over the columns; here dark is much weight (darkest: all of the row's). A row of a decoder is named by the token that it
# predicts, one ahead of the token that it reads. `␣` is a piece that is only a space, `</s>` the end of the sentence.

# %% jupyter={"source_hidden": true}
kind, layer, head = worth.idxmax()
example = subject.attention(worth.idxmax()) if text else sentences.attention(subject, worth.idxmax())
run.figure(
    figures.attention([example]),
    "attention",
    caption="Attention of the head with the largest loss without it.",
    takeaway=f"Without head {head + 1} of layer {layer + 1} ({drawing.KIND_TITLES[kind]}-attention) the loss rises by"
    f" {number(1000 * worth.max(), '.0f')} {UNIT}. {said.looked(example)}",
)

# %% [markdown]
# ## Which heads can go?
#
# A quarter and half of all heads are off at once, those with the smallest loss without the head, without any further
# training. The baseline that a choice has to beat is as many heads at random, in twenty draws: from all heads (*random*) and,
# where there are several types of attention, as many of each type as the choice took (*random, same types*). To beat *random*
# a choice must know something; to beat *random, same types*, more than which type of attention the model can spare. Twenty
# draws allow no p below `1/21`.

# %%
beside = removal.beside_random(model, unseen, worth)

# %% jupyter={"source_hidden": true}
run.table(beside, "beside_random", over=intervals.SENTENCES)
won = removal.against_random(beside)
stays = said.who_stays(worth, total // 2) if removal.ALIKE in set(beside.method) else ""
run.figure(
    figures.beside_random(beside),
    "beside_random",
    caption="The loss without the heads of the smallest loss without the head (line), beside as many heads drawn at random.",
    takeaway=f"{said.beside_types(won)} {stays}",
    table="beside_random",
)

# %% [markdown]
# ## One at a time is not together
#
# Heads go off one after the other, the smallest loss without the head first. What they cost together stands beside the sum of
# what each costs alone, both on the same test text, which the order was not chosen on.

# %%
curve = removal.one_by_one(model, unseen, worth, repeats=run.settings["bootstrap"])

# %% jupyter={"source_hidden": true}
run.table(curve, "one_by_one", over=intervals.SENTENCES)
half = curve.loc[total // 2] if total // 2 in curve.index else curve.iloc[len(curve) // 2]
costs = {name: interval(*(1000 * half[[name, f"{name}_low", f"{name}_high"]]), ",.0f") for name in ("together", "alone")}
run.figure(
    figures.one_by_one(curve, int(half.name)),
    "one_by_one",
    caption="What heads cost off all at once, beside the sum of what each costs off alone.",
    takeaway=f"{half.name} heads off at once raise the loss by {costs['together']} {UNIT}; each off alone, by"
    f" {costs['alone']} in sum. Heads that stand in for each other look idle one at a time.",
    table="one_by_one",
)

# %% [markdown]
# ## Cut for good
#
# For translation models: a quarter, half and three quarters of all heads are cut, nothing is trained afterwards, and BLEU is
# counted on test text. Hollow points are random draws, three at each number of heads; lines go through means. Filled points
# have intervals over sentences, often smaller than the mark. Gradient importance is a second choice beside the loss without
# the head. The dashed line, if there is one, is from notebook 1 and its whole test text.

# %% jupyter={"source_hidden": true}
in_bleu, better, published = "", "", said.reference(run)
yard = {} if text else said.yardsticks(published, subject.title)
if not text:
    split, beam, also = subject.tests[0], run.settings["beam"], {"gradient importance": table["gradient, example"]}
    results = removal.quality(subject, worth, split, beam, run.settings["bootstrap"], first=2 * few, also=also)
    run.table(results, "removed", split=split, beam=beam, over=intervals.SENTENCES)
    in_bleu, better = (say(results, removal.LEAST, list(also)) for say in (said.at_half, said.better))
    named_floor = "all encoder heads cut,\nthe rest trained on"
    run.figure(
        figures.left_of_it(results, total, (removal.RANDOM, removal.ALIKE), (yard["removed"], named_floor) if yard else None),
        "removed",
        caption="BLEU after heads are cut by two choices, beside random heads and models without encoder heads.",
        takeaway=in_bleu,
        table="removed",
        split=split,
        beam=beam,
    )
else:
    print("Not in this run: BLEU, which needs a translation model.")

# %% [markdown]
# ## Save it, and use it without us
#
# The model without the half of its heads of the smallest loss without the head, saved: cut heads are gone from the weights,
# rows of the query, key and value projections and columns of the output projection. `heads.load` reads the folder; so does
# transformers alone, by `trust_remote_code=True` where the configuration cannot say what is left (one short file in the folder
# then holds the classes). Below a fresh process in which this project cannot be imported loads the folder and generates. A
# family whose heads cannot be cut out says so.
#
# ```python
# model, tokenizer = models.load("Helsinki-NLP/opus-mt-en-de")  # the whole model again
# worth = table["leave-one-out"]  # of its head table, made as under "Use it on yours"
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
# ## Use it on yours
#
# The other notebooks tell the story of three papers on models of their own. What they measure and do works on any Marian, BART,
# mBART, Pegasus or T5 model, and on models that continue texts (GPT-2, OPT, Llama, Mistral, Qwen, Gemma, Phi, GPT-NeoX), fresh
# from the Hub or fine-tuned in a folder ([exceptions](../docs/matrix.md)). This is enough:
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
# This notebook does the same: for a translation model with the sentence pairs that `models` names, for a model that continues
# texts with a text file. It loads a model's weights; the others only read saved results.
#
# ```
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p models de-news
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p text FILE
# ```
#
# ## In short

# %% jupyter={"source_hidden": true}
first = f"**{said.idle(differ)}** {said.because(worth, won)} {better}".strip()
together = f"**One at a time is not together.** {half.name} heads off at once raise the loss by {costs['together']}; each off"
together += f" alone, by {costs['alone']} in sum (both on test text, {UNIT})."
within = won[won.method == removal.ALIKE].sort_values("heads")
within = [f"{row.beaten} of {row.draws} random draws with {row.heads} off" for row in within.itertuples()]
spare = " This text hardly needs encoder attention: a model trained without it loses" if yard else ""
spare += (
    f" {number(yard['never'], '.1f')} BLEU, one with them cut and the rest trained on {number(yard['cost'], '.1f')}."
    if yard
    else ""
)
closing = f"""
Type decides most; within types the *loss without the head* costs less than {listed(within)}. What single heads cost
says little about what they cost together. {said.with_training(published)}

*Limits.* One model and one training; another training gives other heads (notebook 6). Heads that can stand in for each other
all look idle one at a time.{spare} Cutting without further training asks more than pruning does, which lets the rest adapt
(notebook 3). Models are small, controlled text is generated.
"""
columns = {"what": "what", "own": "loss rises by", "rise": "as many at random, mean [min, max]"}
columns |= {"beaten": f"draws that cost more, of {won.draws.max()}", "p": "p (one-sided)"}
what = [f"{row.heads} of {total} heads off, beside {row.method}" for row in won.itertuples()]
asked = f"Those of the smallest loss without the head beside random heads ({UNIT})"
shown = won.assign(what=what, **{name: 1000 * won[name] for name in ("own", "own_low", "own_high", "rise", "low", "high")})
compared = readable(shown, columns, {"own": ",.0f", "rise": ",.0f", "p": ".3f"}, caption=asked).data
beyond = f" To cut *all* encoder heads and train the rest on costs {number(yard['cost'], '.1f')} (notebook 1)." if yard else ""
more = (
    together,
    f"**In BLEU.** {in_bleu}{beyond}" if in_bleu else "",
    claims.folded("Beside random heads, in numbers", compared),
)
answer.fill("sorted_heads", closing, first, "\n\n".join(filter(None, more)))
