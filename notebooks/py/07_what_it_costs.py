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
# # 7 · What does it cost?
#
# [← notebook 6, do the measures agree](06_do_measures_agree.ipynb) · [all claims](../docs/results.md) ·
# [figures](../figures/README.md) · functions: [costs.py](../benchmarks/costs.py), [common.py](../benchmarks/common.py)
#
# Every measure of a head has a price, and so has every way to change one. A measure that takes a backward pass for every
# target token will not be used on a whole corpus; a constraint that doubles the training time must gain more than training
# twice as long would; and heads that are masked are not heads that are saved. First what the main measures and three methods
# cost in units of a plain pass or training step, beside the obvious way to do it; then what removed heads save, how costs grow,
# and the whole study. Not timed: votes, L1 gates, probing, output norm, alignment, and estimates of the loss to the first
# order. Times are of the machine that the last lines name; `make bench` measures yours.

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: the size of the models, and the run whose wall times are shown
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # of the run whose wall times are shown; empty: the corpus's own
pretrained = ""  # of no use here; kept for the notebooks' common face
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # as pretrained
seed = 1
overrides = ""  # settings of the run whose wall times are shown, NAME=VALUE separated by spaces
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %%
from helpers import study

run = study.begin("07_what_it_costs", globals())
print(run.summary())

# %% jupyter={"source_hidden": true}
from IPython.display import Markdown

from benchmarks import common, costs, figures
from helpers import drawing
from helpers.publish import claims, pages
from helpers.measures.table import named
from helpers.reading import ends, listed, number, readable
from helpers.scores import intervals

drawing.style()
costs.measure(costs.SIZES[profile])  # tiny ones alone; the others were measured by `make bench`
found = costs.gathered(profile)
facts = run.table(costs.facts(found), "benchmarks")
machine = listed(f"{hardware} ({ends(dates.date)})" for hardware, dates in facts.groupby("hardware"))
print(f"Benchmarks: {machine}; this notebook only draws them.")
answer = claims.Box(run)

# %% jupyter={"source_hidden": true}
heart, noise = run.table(costs.heart(found), "costs", over=intervals.ROUNDS), costs.noise(found)
rivals, minutes = costs.rivals(heart, found), costs.minutes(found)
run.figure(
    figures.heart(heart[~heart.index.str.contains(costs.TODAY)], noise, costs.STEP),  # which has a figure of its own
    "costs",
    caption="What the main measures and three methods cost in units of a plain pass or training step, beside the obvious way.",
    takeaway=f"{minutes}. {rivals}.",
    table="costs",
    show=False,
)
key, by_cost = (
    "costs_and_pruning",
    costs.pruning(heart, found, costs.contested(run.folder, run.corpus, found["growth"]["size"].iloc[0])),
)
prune = ""
if len(by_cost):
    run.table(by_cost, key)
    bleu, dear = by_cost.set_index("measure").value, by_cost.set_index("measure").cost
    prune = (
        "**To choose encoder heads to prune, run gradient importance:** BLEU changes by"
        f" {number(bleu['gradient, example'], '+.1f')}, with L0, a whole training, by {number(bleu['L0 (trained)'], '+.1f')}"
        " (notebook 6: one number of heads, trained on alike). Confidence, positions, syntax"
        f" ({number(dear['confidence'], '.1f')} of its cost) tell what heads look at, here not which can go:"
        f" {ends(bleu[['confidence', 'positional', 'syntactic']], '+.1f')} BLEU."
    )
    run.figure(
        figures.pruning(by_cost.assign(measure=by_cost.measure.map(named))),
        key,
        caption="Cost of a measure, times that of gradient importance, against BLEU after pruning by it; those of one cost"
        " stand side by side.",
        takeaway=prune.replace("**", "").partition(" Confidence,")[0],
        show=False,
    )

# %% [markdown]
# ## How it is measured
#
# *Relevance* (notebook 1): the obvious protocol explains one target token at a time, one pass forward and one back; the study's
# way shares one forward pass among all target tokens of a batch and replays the signed rules from the targets down or from the
# heads up, whichever is cheaper. *Gradient importance* (per example): one backward pass a batch; obvious are
# batches of one. *Loss without each head*: what stands before a head is computed once; obvious is a pass of the whole model for
# every head. *Confidence, positions, syntax*: sums kept while the model runs; obvious are attention maps written to disk and
# read again, which takes more time and far more room. *Group constraint*: obvious is the protocol of the public code, K-means
# from scratch in every module. The obvious ways are this project's own code as well: only Captum is somebody else's.
#
# All ways run once in every repeat, in random order, and ratios are taken within the repeat, so that a slow spell of the
# machine hits both sides; shown are the median and the quartiles, of two repeats both values. Nothing is timed before a
# *correctness gate*: the fast way and the obvious one must give the same numbers, and the first table below says how far they
# were apart. Models have random weights; that is the same arithmetic as with trained ones.

# %% jupyter={"source_hidden": true}
columns = {"benchmark": "benchmark", "difference": "largest difference", "bound": "allowed", "minutes": "minutes"}
columns = {"benchmark": "benchmark", "size": "size"} | columns if facts.index.unique("size").size > 1 else columns
sizes, model = dict.fromkeys(facts.index.get_level_values("size")), run.settings["model"]
trained = f"{model['layers']}+{model.get('decoder_layers') or model['layers']} layers"
told = "; ".join(f"benchmark size {size}: {common.words(size)}" for size in sizes)
threads = listed(facts.threads.unique())
caption = f"Fast and obvious way compared: largest difference in value; {threads} threads; {told} (this run trains {trained})"
readable(facts.rename(index=costs.TITLES), columns, {"difference": ".0e", "bound": ".0e"}, caption=caption)

# %% [markdown]
# Every way of each benchmark is in the files of the run: `relevance` (with the mode of differentiation), `importance`,
# `statistics` and `statistics_kept`, `overheads`, `memory` (the peak of two training steps), `training` (the study's loop
# beside `Seq2SeqTrainer` on the same batches with the same losses), `removed`, `generator`; each has its own number of
# repeats.

# %% jupyter={"source_hidden": true}
kinds = {
    "relevance": ("relevance_speed", "target tokens/s", "Target tokens a second of each way to compute relevance."),
    "importance": ("importance_speed", "examples/s", "Examples a second of each way to compute gradient importance."),
    "statistics": ("head_statistics", "tokens/s", "Tokens a second of head statistics, with and without keeping maps."),
    "training": ("training_speed", "tokens/s", "Tokens a second of the study's training loop and of the usual one."),
    "generator": ("generator_speed", "pairs/s", "Sentence pairs a second of the text generator."),
}
for name, (benchmark, quantity, caption) in kinds.items():
    part = run.table(costs.numbers(found, benchmark, quantity), name, over=intervals.ROUNDS)
    run.figure(figures.speeds(part), name, caption=caption, show=False)
added = run.table(costs.numbers(found, costs.OVERHEADS, "ratio"), "overheads", over=intervals.ROUNDS)
for name in costs.OVERHEADS:
    said = f"Time of a training step against the plain one: {name.replace('_', ' ')}."
    run.figure(figures.overheads(added[added.benchmark == name]), name, caption=said, table="overheads", show=False)
run.table(costs.numbers(found, "relevance_speed", "ratio"), "relevance_ratios", over=intervals.ROUNDS)
loop = run.table(costs.numbers(found, "training_speed", "ratio"), "training_ratios", over=intervals.ROUNDS)
kept = run.table(costs.numbers(found, "head_statistics", "bytes"), "statistics_kept", over=intervals.ROUNDS)
peaks = run.table(costs.numbers(found, (*costs.OVERHEADS, "training_speed"), "bytes"), "memory", over=intervals.ROUNDS)
saved = run.table(costs.savings(found["removed_heads"]), "removed", over=intervals.ROUNDS)
for figure, name, caption in (
    (
        figures.overheads(loop, "times as fast as the Trainer"),
        "training_ratios",
        "How many times as fast as the usual loop ours is.",
    ),
    (figures.bytes_kept(kept), "statistics_kept", "Bytes that each way to compute head statistics keeps."),
    (figures.memory(peaks), "memory", "Peak memory of training steps with and without what the study adds."),
    (figures.removed(saved), "removed", "What removed and masked heads save in time."),
):
    run.figure(figure, name, caption=caption, show=False)
absent = costs.absent(costs.remarks(found))

# %% [markdown]
# ## A Llama-style decoder
#
# Seconds for two passages of sixteen random tokens (relevance: six targets in each of their first seven), on a Llama-style
# decoder (grouped-query) with random weights, larger than that of notebook 4; its size is the figure's title. *Gradient
# importance*, per example and *each token*, relevance and leaving out every head stand beside the obvious protocol and one
# forward + backward of what is measured, with the gradients of all weights. The gradients need those at the heads alone, not
# of weights, so that they can be faster. Captum computes *each token* too. Leaving out is counted in operations too,
# beside the least possible: what stands behind each head, once, and one whole pass.

# %% jupyter={"source_hidden": true}
today = run.table(costs.numbers(found, "decoder_speed", "seconds"), "decoder", over=intervals.ROUNDS)
run.figure(
    figures.beside(today, costs.PASSES, "seconds"),
    "decoder",
    caption="Seconds for two passages of sixteen tokens (relevance: seven): gradients, relevance and leaving out every head.",
    takeaway=costs.decoder(found["decoder_speed"]),
)

# %% [markdown]
# ## What do removed heads save?
#
# A closed gate takes a head out of what the model computes, but not out of what the machine computes; removing the head cuts
# its columns and rows out of the weights. Heads go from an encoder-decoder and from a Llama-style decoder, whose query heads
# share key-value heads, each in three orders: least important first, at random, evenly over the layers (single heads of the
# one, whole groups of the other). Importance is that of random weights, no guide to trained models, where encoder heads go
# first and the cache shrinks least: its cache is not drawn. *Time of a prompt* is, of an encoder-decoder, its encoder pass and
# the first step. With no head gone a model is timed against itself: how far that is from one is noise. Black marks say what
# *operations* alone would leave: those of the smaller model over those of the full one. What is saved beyond them is caches,
# threads and noise, and is not claimed. Drawn are the larger models, where heads cost something; the small ones and parameters
# are in the file.

# %% jupyter={"source_hidden": true}
pruned = run.table(costs.pruned(found["pruned_models"]), "pruned", over=intervals.ROUNDS)
large = pruned[pruned.model.isin(pruned.model.unique()[-2:])]
left = costs.left(large)
large = large[
    (large.quantity != "parameters") & ((large.quantity != "cache bytes") | ~large.criterion.str.contains("important"))
]
run.figure(
    figures.pruned(large),
    "pruned",
    caption="What is left to pay as more heads go: cache, time of a prompt and of a token.",
    takeaway=f"{costs.left(large, brief=True)}.",
)
run.figure(
    figures.pruned(pruned),
    "pruned_every_size",
    caption="What is left to pay as more heads go, of small models too.",
    table="pruned",
    show=False,
)

# %% [markdown]
# ## Growth: what if everything is larger?
#
# Seconds against the length of sentences, the number of heads and of layers, and the size of the corpus, one of them at a time.
# The exponent is the slope on two logarithmic axes: at one, twice as large costs twice as much, at two, four times. At small
# sizes most of the time goes into the fixed overhead of calls, and exponents are near zero: a slope fitted to all sizes is
# below that of the last doubling, which stands in brackets and says more of larger ones.

# %% jupyter={"source_hidden": true}
slopes, points = costs.growth(found["growth"])
run.table(slopes, "growth", over=intervals.ROUNDS)
run.table(points, "growth_points", over=intervals.ROUNDS)
run.figure(
    figures.growth(slopes, points),
    "growth",
    caption="How the time of each measure grows with the size of everything; at each line's end its exponents.",
    takeaway=costs.steepest(slopes, points),
)

# %% [markdown]
# ## The whole study
#
# Minutes that each notebook takes with published runs (this one is not timed), and core minutes to train what it is the first
# to need. Runs go side by side: core minutes over cores is about what one waits. A run of profile `tiny`, where one lies
# beside this one, is in the file.

# %% jupyter={"source_hidden": true}
times = run.table(costs.recorded(profile, run.settings, models, seed, run.folder), "wall_times")
own = times.loc[profile]
hours = own.training.sum() / 3600
again = f"`make study` takes {pages.measured('study')} ({pages.measured('study', 'hardware')})"
spent = number(own.executing.sum(min_count=1) / 60, ".1f")
alone = f"; here, one notebook after another, {spent} minutes" if own.executing.notna().any() else ""
run.figure(
    figures.wall_times(own),
    f"wall_times_{profile}",
    caption=f"Minutes of each notebook in profile {profile}.",
    takeaway=f"To train everything of this profile takes {number(hours, '.1f')} core hours (all that is published:"
    f" {pages.store('core hours')}, some on natural text). With published runs {again}{alone}.",
    table="wall_times",
)
for name, part in times.drop(profile, level="profile").groupby(level="profile", sort=False):
    said = f"Minutes of each notebook in profile {name}."
    run.figure(
        figures.wall_times(part.droplevel("profile")), f"wall_times_{name}", caption=said, table="wall_times", show=False
    )

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
room, (low, high) = kept.groupby("what", sort=False).value.first(), noise
longest, most = heart.cost.filter(like="relevance of every target token").agg(["idxmax", "max"])
first = f"**What does it cost?** {costs.passes(heart)}. {rivals}. {costs.longer(heart, noise)}. {left}.\n\n{prune}"
closing = f"""
{prune} **Avoid** *{longest}* on a whole corpus ({number(most, ".0f")} × {heart.plain[longest]}), batches of one, and attention
maps on disk ({number(room.max() / room.min(), ".0f")} times the room of sums). **Pruning saves** memory before time.

*Limits.* Small models with random weights on one machine ({facts.hardware.iloc[0]}): much of their time is the overhead of
calls; larger models or a GPU differ. {absent}
"""
columns = {"what": "what", "plain": "unit", "cost": "cost, in that unit", "model": "model", "repeats": "n (repeats)"}
columns |= {"times": "the obvious way, times as long", "captum": "Captum, times as long"}
shown = heart[~heart.index.str.contains(costs.TODAY)]  # whose figure above has it
told = "What it costs: medians [quartiles; of two repeats both], not 95 % intervals;"
told = f"{told} quartiles of a training step timed once more: {number(low, '.2f')} to {number(high, '.2f')}"
table = readable(shown, columns, {"cost": ".3g", "times": ".2g", "captum": ".2g"}, caption=told)
answer.fill(key if len(by_cost) else "costs", closing, first, table.data)
