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
# # 0 · Which heads does your model need?
#
# [Notebook 1: relevance and confidence →](01_relevance_and_confidence.ipynb) · [all claims](../docs/results.md) ·
# [figures](../figures/README.md)
#
# Michel et al. ([2019](https://arxiv.org/abs/1905.10650), sections 3.2 and 4.1) switched off one attention head at a time
# (here: *loss without the head*) and found that a trained translation model hardly misses most of its heads. To choose many at
# once they took the gradient (*gradient importance*: how steeply the loss changes with a head), which one backward pass gives
# for all, and cut a fifth of them almost for free.
#
# Do these two numbers tell you which heads you can cut *together*? We measure both on one small translation model, check the
# choice, and [run it on yours](#Cut-the-heads,-and-use-it-on-your-model).

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

# %% jupyter={"source_hidden": true}
import copy
import math
import tempfile
from pathlib import Path

import numpy as np
import torch
from IPython.display import HTML, Markdown

from helpers import drawing, heads, measures
from helpers.measures import figures, lrp, measured
from helpers.measures.removal import least
from helpers.measures import sentence as sentences
from helpers.measures.table import shaped
from helpers.measures.worth import leave_one_out
from helpers.methods import contest, removal, said
from helpers.methods.contest.said import heart
from helpers.methods.said import UNIT
from helpers.models import inputs, parameters
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
print(f"{subject.title}: {shaped(model)}.")
if not (text or pretrained):
    trained = run.settings["training"]["steps"]
    to = {"ru": "Russian", "de": "German", "fr": "French"}[name.partition("-")[0]]
    made = f"a translation Transformer trained by this study, {trained:,} steps on {run.settings['train']:,} pairs"
    print(f"It is {made} of {'generated' if run.corpus == 'controlled' else 'natural'} sentences, English to {to}.")

# %% [markdown]
# ## Two ways to measure what a head is worth
#
# Give every head $h$ a gate $g_h$: a number that multiplies what the head puts out. Normally all gates are one.
#
# - *Loss without the head* closes one gate: how much does the loss rise when $g_h = 0$? It needs a forward pass for every head.
#   We give it in millinats (thousandths of a nat) per target token.
# - *Gradient importance* asks how steeply the loss changes at $g_h = 1$. It is the mean of $|\partial L / \partial g_h|$ over
#   sentences, where $L$ is a sentence's loss. Michel et al. also divide it by the norm of its layer. We do not, so that layers
#   and types compete (what that is worth: [below](#Is-the-choice-better-than-random-heads?)).
#
# A single call measures both for all heads, beside relevance and confidence (notebook 1).

# %%
# dev: sentences held out from training; explained: the first half of them; rules: those of relevance (notebook 1)
table = measures.head_table(model, dev, explained=explained, rules=lrp.rules(model))
worth = table["leave-one-out"]

# %% [markdown]
# What the call does for one head (the one missed most) fits into a cell. A hook stands before the output
# projection of the attention, where the outputs of all heads still lie side by side.

# %% tags=["method"]
kind, layer, head = worth.idxmax()
site = next(site for site in heads.sites(model) if (site.kind, site.layer) == (kind, layer))
first = 0 if model.config.is_encoder_decoder else 1  # a model that continues texts has nothing to predict the first token from


def gated(projection, given):
    outputs = list(given[0].split(site.head_dim, dim=-1))  # a part for each head
    outputs[head] = gate * outputs[head]
    return torch.cat(outputs, dim=-1), *given[1:]


def losses(batch):  # L of each sentence: cross-entropy in nats, summed over its target tokens
    labels = batch["labels"][:, first:]
    logits = model(**inputs(batch)).logits[:, : labels.shape[1]]
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none").sum(-1)


hook = model.get_submodule(site.out_name).register_forward_pre_hook(gated)
rise, importance = 0, 0
for batch in explained:
    gate = torch.ones(len(batch["labels"]), 1, 1, device=model.device, requires_grad=True)  # one for each sentence
    loss = losses(batch)
    importance += torch.autograd.grad(loss.sum(), gate)[0].abs().sum()  # |dL / dg| at g = 1
    gate = torch.zeros(1, device=model.device)
    rise += (losses(batch) - loss).sum().item()  # L at g = 0, minus L at g = 1
hook.remove()
rise = rise / sum((batch["labels"][:, first:] != -100).sum() for batch in explained)  # of a target token
importance = importance / sum(len(batch["labels"]) for batch in explained)  # of a sentence
project = table.loc[(kind, layer, head), ["leave-one-out", "gradient, example"]].tolist()
torch.testing.assert_close([float(rise), float(importance)], project, rtol=1e-3, atol=1e-5)
print(f"{site.out_name}, head {head + 1}: {1000 * rise:.1f} millinats, {importance:.3f} nats; as in the table (to 0.1 %)")

# %% jupyter={"source_hidden": true}
run.table(table, "head_table", sentences=few)
total = len(table)
single = leave_one_out(model, explained)
kept, called = heart(table.assign(functions=table.functions.replace("", np.nan)), entered, single)  # no column of nothing
called |= {"leave-one-out": f"loss without the head, {UNIT}", "gradient, example": "gradient importance, nats per sentence"}
forms = {column: ".2f" for column in ("gradient, example", lrp.rules(model)[0], "confidence", "attnlrp") if column in kept}
forms |= {"leave-one-out": "+.2f"}
differ = measured.effects_that_differ({(subject.title, seed): single}).droplevel(["model", "seed"])
raised, lowered, by_holm = (single.low > 0).sum(), (single.high < 0).sum(), differ.differ_holm.sum()
every = sortable(
    kept, called, forms, f"{subject.title}: {few} sentences (confidence: all of dev); brackets: 95 % over sentences"
).data
HTML(f"<details><summary>All {total} heads, with more measures: a click on a column sorts</summary>{every}</details>")

# %% [markdown]
# ## Which of these effects are sure?
#
# Here the losses of the map on top are sorted, with their 95 % intervals over sentences.

# %% jupyter={"source_hidden": true}
unsure = single.low <= 0
ranks = table[["leave-one-out", "gradient, example"]].groupby(level="kind", sort=False).corr("spearman")["leave-one-out"]
run.figure(
    figures.head_map(
        {column: table[column] for column in ("leave-one-out", "gradient, example")}, unsure, measured.corrected(single)
    ),
    "head_map",
    caption="The loss without each head and its gradient importance, all heads in their places.",
    takeaway=f"Surely missed, off alone (white dot, corrected for many tests): {said.needed(single)}. Grey: rise not sure."
    f" Ranks of the two correlate by {listed(number(rank, '.2f') for rank in ranks[1::2])}.",
    table="head_table",
    sentences=few,
    show=False,
)
run.figure(
    figures.sorted_heads(single, total // 2, measured.corrected(single)),
    "sorted_heads",
    caption="How much the loss rises without each head, off alone, sorted.",
    takeaway=f"Without {raised} of {total} heads, off alone, the loss rises, without {lowered} it falls; {by_holm} change it if"
    f" corrected for testing so many (Holm), on {few} sentences.",
    table="head_table",
    sentences=few,
)
rows = differ.assign(what=[f"{drawing.KIND_TITLES[k]}, {differ['heads'][k]} heads" for k in differ.index])
by_type = {"what": "what", "differ": "change the loss, off alone", "differ_holm": "corrected for many tests (Holm)"}

# %% [markdown]
# The head that is missed most reads one sentence like this. Each row spreads its weight over the columns. A
# row of a decoder is named by the token that it is about to write; `␣` is a space, `</s>` the end.

# %% jupyter={"source_hidden": true}
published = said.reference(run)
example = subject.attention((kind, layer, head)) if text else sentences.attention(subject, (kind, layer, head))
run.figure(
    figures.attention([example]),
    "attention",
    caption="Attention of the head with the largest loss without it.",
    takeaway=f"Its largest weight averages {number(table.confidence[kind, layer, head], '.2f')} over dev text (what heads do:"
    " notebook 2).",
)

# %% [markdown]
# ## Do heads cost the same together as one by one?
#
# Two heads that stand in for each other both look idle, until both are gone. So we switch more and more heads off, those of
# least value first, by each choice. Beside that stands the sum of what each costs alone. All is measured on test text, which no
# order was chosen on; bands are 95 % intervals over sentences.

# %%
# unseen: sentences of the test text
choices = {"gradient importance": table["gradient, example"], "loss without the head": worth}
curve = removal.one_by_one(model, unseen, worth, table["gradient, example"], repeats=run.settings["bootstrap"])

# %% jupyter={"source_hidden": true}
run.table(curve, "one_by_one", over=intervals.SENTENCES)
half = total // 2 if total // 2 in curve.index else int(curve.index[len(curve) // 2])
run.figure(
    figures.one_by_one(curve, half, [*choices]),
    "one_by_one",
    caption="What heads cost off all at once by two choices, beside the sum of what each costs off alone.",
    takeaway=said.together(curve, half, next(iter(choices))),
    table="one_by_one",
)
own, its = (least(column, half) for column in choices.values())
apart = [head for head in its if head not in own][-6:]  # heads that only the second choice takes
apart = apart if len(apart) > 1 else its[-4:]
Markdown(said.stand_in(removal.stand_in(model, explained, unseen, apart), math.comb(len(apart), 2), curve.loc[half]))

# %% [markdown]
# ## Is the choice better than random heads?
#
# If a model can spare one type of attention, any heads of it beat heads drawn from everywhere. So we also draw as many of each
# type as the choice took (twenty draws each; choices of the same types share them). Our rule: cut by the cheaper choice, if it
# beats all twenty of its types (by chance: one choice one time in twenty-one, the cheaper of two up to one in eleven).

# %%
beside = removal.beside_random(model, unseen, choices)

# %% jupyter={"source_hidden": true}
run.table(beside, "beside_random", over=intervals.SENTENCES)
won = removal.against_random(beside)
run.figure(
    figures.beside_random(beside),
    "beside_random",
    caption="The loss without the heads that two measures choose, beside as many heads drawn at random.",
    takeaway=said.beside(won),
    table="beside_random",
)
best = said.nearest(won).set_index("choice", drop=False).sort_values("own").iloc[0]
Markdown(said.elsewhere(published) if published else "")

# %% [markdown]
# ## What does cutting cost in translation quality?
#
# We cut heads, train nothing afterwards, and translate test text. Random draws are of the same types as gradient importance
# takes; bars are `95 %` intervals over sentences.

# %% jupyter={"source_hidden": true}
results = None
if not text:
    split, beam = subject.tests[0], run.settings["beam"]
    results = removal.quality(subject, choices, split, beam, run.settings["bootstrap"], first=2 * few)
    run.table(results, "removed", split=split, beam=beam, over=intervals.SENTENCES)
    run.figure(
        figures.left_of_it(results, total, (removal.ALIKE,)),
        "removed",
        caption="BLEU lost when heads are cut by two choices, beside random heads.",
        takeaway=said.draws(results, 2 * few),
        table="removed",
        split=split,
        beam=beam,
    )
else:
    print("Not in this run: BLEU, which needs a translation model.")

# %% [markdown]
# ## Cut the heads, and use it on your model
#
# `heads.gate` switches heads off inside a `with` block. `heads.remove` cuts them for good: their rows and columns are gone from
# the weights. The saved folder brings the one short file that transformers needs (`trust_remote_code=True`).
#
# ```python
# from helpers import models
# from helpers.corpora import tokens
# from helpers.records import Pair
#
# model, tokenizer = models.load("Helsinki-NLP/opus-mt-en-de")                # a Hub name or a folder
# pairs = [Pair("the old doctor sleeps .", "der alte arzt schläft .")]        # yours: several hundred
# others = [Pair("she reads a book .", "sie liest ein buch .")]               # other text, for the check
# source, target = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
# batches, other_batches = (                                                  # or a Hugging Face collator's, with labels
#     tokens.Batches(tokens.encode(part, source, target), source.pad) for part in (pairs, others)
# )
# ```
#
# This is for Marian, BART, mBART, Pegasus and T5. For GPT-2, OPT, Llama, Mistral, Qwen, Gemma, Phi and GPT-NeoX, which continue
# texts:
#
# ```python
# from helpers.runs import passages
#
# read = passages.of_file("openai-community/gpt2", "text.txt", many=500, few=500)
# model, tokenizer, batches, other_batches = read.model, read.tokenizer, read.dev, read.test
# ```
#
# Then for both ([exceptions](../docs/matrix.md)):
#
# ```python
# from helpers import heads, measures
# from helpers.methods import removal
#
# table = measures.head_table(model, batches, names=["gradient, example", "leave-one-out"])
# choices = {"gradient importance": table["gradient, example"], "loss without the head": table["leave-one-out"]}
# won = removal.against_random(removal.beside_random(model, other_batches, choices, [1 / 4]))
# best = won.loc[won.own.idxmin()]                                            # beside heads of the same types
# assert best.beaten == best.draws, f"only {best.beaten} of {best.draws} random draws are worse"
# choice = choices[best.choice].nsmallest(len(table) // 4).index
# with heads.gate(model, dict.fromkeys(choice, 0.0)):                         # look ...
#     print(tokenizer.decode(model.generate(**tokenizer("the old doctor sleeps .", return_tensors="pt"))[0]))
# heads.remove(model, choice)                                                 # ... and cut
# heads.save(model, "pruned")
# tokenizer.save_pretrained("pruned")
#
# from transformers import AutoModelForSeq2SeqLM                              # anywhere, without this project
# model = AutoModelForSeq2SeqLM.from_pretrained("pruned", trust_remote_code=True)  # or AutoModelForCausalLM
# ```
#
# The whole notebook runs on yours too: a translation model from English to Russian, German or French with your sentence pairs
# (`de-SET`: language, and a folder SET in FOLDER, [as here](../data/README.md)), or a model that continues texts with a text
# file:
#
# ```
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME \
#     -p corpus natural -p data_root FOLDER -p models de-SET
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p text FILE
# ```
#
# Below, half of the heads are cut by the cheaper choice. A fresh process that cannot import this project loads what was saved.

# %% jupyter={"source_hidden": true}
try:
    pruned = heads.remove(copy.deepcopy(model), least(choices[best.choice], total // 2))
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
        one, other = (trial(**batch).logits for trial in (pruned, again))
    read, decode = [subject.tokenizer.batch_decode] * 2 if text else [subject.source.decode_all, subject.target.decode_all]
    print(
        f"by {best.choice} (beats {best.beaten} of {best.draws} draws): heads {total} -> {len(heads.index(again))}, parameters"
        f" {parameters(model):,} -> {parameters(again):,} ({number(parameters(again) / parameters(model) - 1, '+%')})"
    )
    print(f"logits equal when loaded again: {torch.equal(one, other)}; generated alike without this project: {alone == here}")
    print(f"of {read(given['input_ids'].tolist())[0]!r} it makes {decode([alone])[0]!r}")

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
closing = said.in_short(published, subject.title)
answer.fill("head_map", closing, said.headline(choices, won, results), readable(rows.reset_index(drop=True), by_type).data)

# %% [markdown]
# Modules behind this notebook: [measures/table.py](../helpers/measures/table.py),
# [measures/worth.py](../helpers/measures/worth.py), [methods/removal.py](../helpers/methods/removal.py),
# [heads/surgery.py](../helpers/heads/surgery.py), [runs/passages.py](../helpers/runs/passages.py).
