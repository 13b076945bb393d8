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
# Which heads can a model spare? This notebook asks it of one small model of the study, or of yours ([at the
# end](#Use-it-on-yours)): does a choice by the *loss without the head*, each head off alone, cost less than random heads?

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

run = study.begin("00_your_own_model", globals())
print(run.summary(), sources(run), sep="\n")

# %% jupyter={"source_hidden": true}
import copy
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from IPython.display import HTML, Markdown, display

from helpers import drawing, heads, measures
from helpers.measures import figures, lrp, measured, ranks
from helpers.measures import sentence as sentences
from helpers.measures.table import named, shaped
from helpers.measures.worth import leave_one_out
from helpers.methods import contest, removal
from helpers.methods.contest.said import heart
from helpers.models import inputs, parameters
from helpers.publish import claims
from helpers.reading import ends, interval, listed, number, readable, sortable
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
    said = f"a translation Transformer trained by this study, {trained:,} steps on {run.settings['train']:,} pairs"
    print(f"It is {said} of {'generated' if run.corpus == 'controlled' else 'natural'} sentences, English to {to}.")

# %%
answer = claims.Box(run)

# %% [markdown]
# ## The head table
#
# One row per head; each column is one measure. In code layers and heads count from zero.
#
# - *loss without the head* (`leave-one-out`): how much the loss rises when that head alone is off, in millinats (`0.001` nats)
#   per target token, as everywhere below; an interval that holds zero says that its effect cannot be told from zero;
# - *gradient importance* (`gradient, example`): mean size of the derivative of an example's loss (nats) in the head's gate;
# - *relevance*: share of its layer's part in the predicted logit, by rules of notebook 1; by AttnLRP it can be negative or
#   above one. The third rule, *conservative*, and further measures are in the saved table;
# - *confidence*: for each token the largest weight that it puts on one token, averaged over tokens. The end of the sentence is
#   left out, as a row and as what is attended to.
#
# All are measured on dev text, costly ones on fewer sentences; the removals, on top and below, are scored on test text. The
# syntactic and rare-token tests of notebook 2 need parsed text and are not run here. In a trusted Jupyter a click on a
# column's name sorts.

# %%
# made above: the model; batches of its dev text, `explained` the first of them; below `unseen`, batches of test text
table = measures.head_table(model, dev, explained=explained, rules=lrp.rules(model))
worth = table["leave-one-out"]

# %% jupyter={"source_hidden": true}
run.table(table, "head_table", sentences=few)
total = len(table)
shown = ["leave-one-out", "gradient, example", lrp.rules(model)[0], "confidence", *entered]
kept, called = heart(table.assign(functions=table.functions.replace("", np.nan)), entered)  # no column of nothing
single = leave_one_out(model, explained)
ordered = 1000 * single.loc[worth.sort_values(ascending=False, kind="stable").index]  # as `heart` orders its rows
kept = kept.assign(**{"leave-one-out": 1000 * kept["leave-one-out"]})
kept = kept.assign(**{f"leave-one-out_{end}": ordered[end].to_numpy() for end in ("low", "high")})
called |= {"leave-one-out": f"loss without the head, {UNIT}", "gradient, example": "gradient importance"}
forms = {name: ".2f" for name in (*shown[1:4], "attnlrp") if name in kept} | {"leave-one-out": "+.2f"}
passing = (table.functions.fillna("") != "").sum()
unsure = f"the rise of {((single.low <= 0) & (single.high >= 0)).sum()} cannot be told from zero"
asked = (
    f"{subject.title}: {total} heads; {unsure}; {passing} pass the positional test, the only test of functions that is run here"
)
ends_of = pd.concat([kept.head(5), kept.tail(5)]) if total > 10 else kept
display(readable(ends_of.reset_index(drop=True), called, forms, caption=f"{asked}; the five most and the five least needed"))
every = sortable(kept, called, forms, asked).data
HTML(f"<details><summary>All {total} heads, to be sorted by any column</summary>{every}</details>")

# %% [markdown]
# As pictures, a type of attention each: a panel is a measure, a cell a head (`#` is its number) with its rank in its layer, `1`
# for the largest. All panels keep the order of the loss without the head, so one that agrees darkens from left to right.
# Where few heads change the loss alone, the left of a row is signal and the order further right mostly noise.

# %% jupyter={"source_hidden": true}
differ = measured.effects_that_differ({(subject.title, seed): single}).droplevel(["model", "seed"])
for kind in table.index.unique("kind"):
    alike = ranks.correlations(worth, dict(table[shown[1:]].items()), kinds=kind, within_layer=True)
    with_loss = listed(
        f"{named(m).removeprefix('relevance, ')} {interval(*row[['rho', 'low', 'high']], '.2f')}" for m, row in alike.iterrows()
    )
    few_heads, some = table.loc[kind].groupby("layer").size().max() < 4, differ.loc[kind]
    which = f"{drawing.KIND_TITLES[kind]}-attention"
    noise = ": left in each row is signal, further right mostly noise" if some.differ else ": this order is noise"
    said = f"{'' if some.shown else noise}. Spearman with that rise: {with_loss}."
    run.figure(
        figures.rank_maps(dict(table[shown].items()), kind, "leave-one-out"),
        f"heads_{kind}",
        caption=f"Measures of every {which} head, as ranks within its layer.",
        takeaway="Layers of so few heads have no ranking to speak of."
        if few_heads
        else f"{which.capitalize()}: {some.differ} of {some['heads']} heads change the loss ({some.differ_holm} by Holm){said}",
        table="head_table",
        sentences=few,
    )

# %% [markdown]
# One head's attention: that of the head that the loss needs most, on a first sentence. Each row spreads its weight over the
# columns; the darker a cell, the more weight (darkest: all of the row's). A row of a decoder is named by the token that it
# predicts, one ahead of the token that it reads. `␣` is a piece that is only a space, `</s>` the end of the sentence.

# %% jupyter={"source_hidden": true}
kind, layer, head = worth.idxmax()
example = subject.attention(worth.idxmax()) if text else sentences.attention(subject, worth.idxmax())
size, confident = np.max(example["weights"], 1).mean(), number(table.confidence[worth.idxmax()], "%")
seen = pd.Series(np.argmax(example["weights"], 1)).corr(pd.Series(range(len(example["weights"]))), method="spearman")
sees = f"Here {number(size, '%')} of a row's weight is on one token on average (all sentences: {confident})."
if kind == "cross" and seen > 0.8 and size > 0.5:  # in the source's order, on one token
    sees = (
        f"It aligns words, in the source's order (Spearman {number(seen, '.2f')}), {number(size, '%')} of a row's weight on one"
    )
    sees += f" token here (without the sentence's end, on all sentences: {confident})."
run.figure(
    figures.attention([example]),
    "attention",
    caption="Attention of the head that the loss needs most.",
    takeaway=f"Without head {head + 1} of layer {layer + 1} ({drawing.KIND_TITLES[kind]}-attention) the loss rises most, by"
    f" {number(1000 * worth.max(), '.0f')}. {sees}",
)

# %% [markdown]
# ## Which heads can go?
#
# The figure on top: a quarter and half of all heads are switched off at once, the *least important* first (smallest loss
# without the head), without any further training. The baseline that each choice has to beat is as many heads at random, in
# twenty draws: from all heads (*random*) and, where there are several types of attention, as many of each type as the choice
# took (*random, same types*). So few draws allow counts and no test. To beat *random* a choice must know something; to beat
# *random, same types*, more than which type of attention the model can spare. The vertical line goes through the least
# important heads; each panel has an axis of its own.

# %%
beside = removal.beside_random(model, unseen, worth)

# %% jupyter={"source_hidden": true}
run.table(beside, "beside_random")
won = removal.against_random(beside)
joint = removal.one_by_one(worth, beside).iloc[-1]
off = f"{' or '.join(map(str, won['heads'].unique()))} of {total}"
called_draws = {removal.RANDOM: "random heads", removal.ALIKE: "random heads of the same types of attention"}
all_beaten = f"less than all {won.draws.max()} draws in {(won.beaten == won.draws).sum()} of {len(won)} cases"
in_bleu = top = kind_wins = ""
run.figure(
    figures.beside_random(beside),
    "beside_random",
    caption="The loss without the least important heads (vertical line), beside as many heads drawn at random.",
    takeaway=f"{subject.title}, {off} heads off: the least important heads (vertical line) cost {all_beaten}. Random:"
    " from all heads, or as many of each type.",
    table="beside_random",
    show=False,
)
if not text:
    split, beam = subject.tests[0], run.settings["beam"]
    results = removal.quality(subject, worth, split, beam, run.settings["bootstrap"], first=2 * few)
    run.table(results, "removed", split=split, beam=beam, over=intervals.SENTENCES)
    points = results.copy()
    points.loc[points.method != removal.LEAST, ["low", "high"]] = np.nan
    costs = -results[results.heads == results.heads.unique()[2]].set_index("method").change
    own, others = costs[removal.LEAST], costs.drop(removal.LEAST)
    draws = {method: listed(number(cost, ".1f") for cost in sorted(part)) for method, part in others.groupby(level=0)}
    better = {method: f"{(part < own).sum()} of {len(part)}" for method, part in others.groupby(level=0)}
    kind_wins = f"{(others[[removal.ALIKE]] > own).sum()} of {len(others[[removal.ALIKE]])}"
    span = {method: ends(part, ".0f") for method, part in others.groupby(level=0)}
    top = (
        f"Removing the {total - results.heads.unique()[2]} least important of {total} heads costs {number(own, '.0f')} BLEU;"
        f" random ones {span[removal.RANDOM]}; random ones of the same types of attention {span[removal.ALIKE]}."
    )
    in_bleu = (
        f"In BLEU, with half of the heads removed: {number(own, '.1f')} lost; random heads {draws[removal.RANDOM]}; random"
        f" heads of the same types {draws[removal.ALIKE]} (one per draw; {better[removal.ALIKE]} of the latter cost less)."
    )
    run.figure(
        figures.left_of_it(points, total),
        "removed",
        caption="BLEU after the least important heads of the model are removed, beside random heads.",
        takeaway=f"Half of the heads removed, nothing trained afterwards: the least important cost {number(own, '.1f')} BLEU,"
        f" random heads {draws[removal.RANDOM]}, random heads of the same types {draws[removal.ALIKE]}: {better[removal.ALIKE]}"
        " of the latter cost less.",
        table="removed",
        split=split,
        beam=beam,
    )

# %% [markdown]
# In that picture (of translation models) a quarter, half and three quarters of all heads are removed for good. Every point of a
# *random* line is a draw, three at each number of heads; the line goes through their mean. The interval of the least important
# heads, a bootstrap over test sentences, may be smaller than its marks.
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
last = won[won["heads"] == won["heads"].max()].set_index("method")
half = f"{last['heads'].iloc[0]} of {total} heads off"
alone, jointly = number(1000 * joint.alone, ".0f"), number(1000 * joint.together, ".0f")
most = joint.drop(["alone", "together"]).idxmax()
taken = f"{drawing.KIND_TITLES[most]}-attention heads ({joint[most]:.0f} of {last['heads'].iloc[0]})"
same, others = won[won.method == removal.ALIKE], won[won.method == removal.RANDOM]
yes = "Yes" if (others.beaten == others.draws).all() else "Not always"
yes += f", but mostly because they are {taken}" if len(same) else ""
lead = f"**Do the heads of least single loss cost less than random heads? {yes}.**"
per = [f"{row.beaten} of {row.draws} draws with {row.heads} heads off" for row in (same if len(same) else others).itertuples()]
per += [f"{kind_wins} in BLEU with half removed"] if kind_wins else []
first = f"{lead} Beside {called_draws[removal.ALIKE if len(same) else removal.RANDOM]} they cost less than {listed(per)}. {top}"
second = f"""**One at a time is not together.** Off alone, these heads raise the loss by {alone} in sum (dev text, {UNIT}), all
off together by {jointly} (test text). What a head is worth depends on which others are there."""
closing = f"""
{subject.title}: the least important heads cost {all_beaten}. The cost of single heads says little about what they cost
together: with {half} it is {jointly}, the sum of single heads {alone} ({UNIT}).

*Limits.* One model and one training; another training gives other heads (notebook 6). Heads that can stand in for each other
all look idle one at a time. Removal without further training asks more than pruning does, which lets the rest adapt (notebook
3). With few random draws the baseline's own spread is known roughly. Models are small, controlled text is generated.
"""
columns = {"what": "what", "own": "loss rises by", "rise": "as many at random, mean [min, max]"}
columns |= {"beaten": f"draws that cost more, of {won.draws.max()}"}
what = [f"{row.heads} of {total} heads off, beside {row.method}" for row in won.itertuples()]
asked = f"Do the least important heads cost less than random ones? {subject.title}, {UNIT}"
shown = won.assign(what=what, **{name: 1000 * won[name] for name in ("own", "rise", "low", "high")})
forms = {"own": ",.0f", "rise": ",.0f"}
table = readable(shown, columns, forms, caption=asked)
answer.fill("beside_random", closing, first.strip(), "\n\n".join(filter(None, (table.data, in_bleu, second))))
