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
# Every measure of a head has a price, and so has every way to change one: a measure that takes a backward pass for every target
# token will not be used on a whole corpus, and heads that are masked are not heads that are saved. First what it costs to
# choose heads to prune, beside how well the choice does; then what removed heads save, how costs grow, and the whole study. Not
# timed: syntax beside the other measures, votes, L1 gates, probing, output norm, alignment, and estimates of the loss to the
# first order. Times are of the machines that are named; `make bench` measures yours.

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
from benchmarks import common, costs, figures
from helpers import drawing
from helpers.measures.table import named
from helpers.publish import claims, pages
from helpers.reading import ends, listed, number, readable
from helpers.runs import subjects
from helpers.scores import intervals

drawing.style()
costs.measure(costs.SIZES[profile])  # tiny ones alone; the others were measured by `make bench`
found = costs.gathered(profile)
facts = run.table(costs.facts(found), "benchmarks")
machine = listed(f"{hardware} ({ends(dates.date)})" for hardware, dates in facts.groupby("hardware"))
print(f"Benchmarks: {machine}; this notebook only draws them.")
answer = claims.Box(run)

# %% jupyter={"source_hidden": true}
heart = run.table(costs.heart(found), "costs", over=intervals.ROUNDS)
slopes, points = costs.growth(found["growth"])
contest = costs.contested(run.folder, run.corpus, found["growth"]["size"].iloc[0])
took = (
    costs.spent(run.settings, subjects.names(run.settings, models), seed) if len(contest) else costs.spent(run.settings, [], 1)
)
priced = run.table(costs.priced(heart, points, took), "measures")
key, by_cost = "costs_and_pruning", costs.pruning(priced, contest)
prune = ""
if len(by_cost):
    run.table(by_cost, key, over=intervals.TEXTS)
    prune = costs.cheapest(by_cost, contest, run.settings["model"]["layers"] * run.settings["model"]["heads"])
    run.figure(
        figures.pruning(by_cost.assign(measure=by_cost.measure.map(named))),
        key,
        caption="Cost of a measure, times that of gradient importance, against BLEU after pruning encoder heads by it."
        " Syntax was not timed beside them.",
        takeaway=costs.times_as_long(priced, run.settings["relevance"]) + costs.better(by_cost),
        show=False,
    )

# %% [markdown]
# ## How it is measured
#
# *Choosing heads* (the figure above): each measure was timed once in every training of the contest of notebook 6, one after the
# other in one process, on the same sentences in the same batches; whiskers go from the least to the most of these trainings. L0
# is what its training took. Confidence and positions read other text there: of them the figure shows how they compare
# in *Growth*, below, over all lengths of sentences. Syntax needs parses as well and was not timed there.
#
# Everything else is timed by benchmarks, on models with random weights, which is the same arithmetic as with trained ones. All
# ways run once in every repeat, in random order, and ratios are taken within the repeat, so that a slow spell of the machine
# hits both sides (except in *Growth* and *A Llama-style decoder*, where medians are divided); shown are the median and, in
# brackets, the quartiles, of two repeats both values. Nothing is timed before a *correctness gate*: the study's way and the
# obvious one must give the same numbers, and the first table below says how far they were apart. The *obvious way* is what
# people write down first. *Relevance*: one target token at a time, one pass forward and one back; the study's way shares one
# forward pass among all target tokens of a batch. *Gradient importance*: batches of one. *Loss without the head*: a pass of
# the whole model for every head; the study's way computes what stands before a head once. *Confidence, positions, syntax*:
# attention maps written to disk and read again; the study's way keeps sums while the model runs. *Group constraint*: the
# protocol of the public code, K-means from scratch in every module. Obvious ways are this project's own code as well: only
# Captum is somebody else's.

# %% jupyter={"source_hidden": true}
columns = {"benchmark": "benchmark", "difference": "largest difference", "bound": "allowed", "minutes": "minutes"}
columns = {"benchmark": "benchmark", "size": "size"} | columns if facts.index.unique("size").size > 1 else columns
sizes, model = dict.fromkeys(facts.index.get_level_values("size")), run.settings["model"]
trained = f"{model['layers']}+{model.get('decoder_layers') or model['layers']} layers"
told = "; ".join(f"benchmark size {size}: {common.words(size)}" for size in sizes)
threads = listed(facts.threads.unique())
caption = f"The study's and the obvious way compared: largest difference; {threads} threads; {told} (this run trains {trained})"
readable(facts.rename(index=costs.TITLES), columns, {"difference": ".0e", "bound": ".0e"}, caption=caption)

# %% [markdown]
# Every way of each benchmark is in the files of the run: `relevance` (with the mode of differentiation), `importance`,
# `statistics` and `statistics_kept`, `overheads`, `memory` (the peak of two training steps), `training` (the study's loop
# beside `Seq2SeqTrainer` on the same batches with the same losses), `generator`; each has its own number of
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
for figure, name, caption in (
    (
        figures.overheads(loop, "times as fast as the Trainer"),
        "training_ratios",
        "How many times as fast as the usual loop ours is.",
    ),
    (figures.bytes_kept(kept), "statistics_kept", "Bytes that each way to compute head statistics keeps."),
    (figures.memory(peaks), "memory", "Peak memory of training steps with and without what the study adds."),
):
    run.figure(figure, name, caption=caption, show=False)
absent = costs.absent(costs.remarks(found))

# %% [markdown]
# ## What do removed heads save?
#
# A closed gate takes a head out of what the model computes, but not out of what the machine computes; removing the head cuts
# its columns and rows out of the weights. First the case of pruning as it is done: encoder heads alone, as many left as Voita
# et al. leave (ten of forty-eight). *Operations* are those of the full model over those of the smaller one: what is saved
# beyond them is caches, threads and noise, and is not claimed. Of masked heads of the larger model one range is kept for both
# calls.

# %% jupyter={"source_hidden": true}
saved = run.table(costs.savings(found["removed_heads"]), "removed", over=intervals.ROUNDS)
papers = {case: costs.between(pages.measured(name, "value")) for case, name in costs.ONCE.items()}
less, less_exactly = costs.removing(papers)
run.figure(
    figures.removed(saved[saved["map"] == "encoder"], papers),
    "removed",
    caption="What removed and masked encoder heads save of an encoder pass and of generation, and what operations allow.",
    takeaway=f"{less_exactly}.",
)

# %% [markdown]
# Next heads of all kinds, from an encoder-decoder and from a Llama-style decoder, evenly over the layers: single heads of the
# one; of the other query heads group by group, so that the last group may be cut, and a key-value head goes with its last
# query head. The *cache* holds keys and values of heads of the decoder: it shrinks with these alone, and what is left of it in
# the Llama-style decoder is the share of key-value heads that are left. *Time of a prompt* is, of an encoder-decoder, its
# encoder pass and the first step. With no head gone a model is timed against itself: how far that is from one is noise. Drawn
# are the larger models; in the files are small ones, parameters, and two more orders, at random and by importance, which for
# random weights is no guide to trained models.

# %% jupyter={"source_hidden": true}
pruned = run.table(costs.pruned(found["pruned_models"]), "pruned", over=intervals.ROUNDS)
large = pruned[pruned.model.isin(pruned.model.unique()[-2:])]
even = large[large.criterion.str.contains("evenly") & (large.quantity != "parameters")]
run.figure(
    figures.pruned(even, "model"),
    "pruned",
    caption="What is left to pay as more heads of all kinds go, evenly over layers: cache, time of a prompt and of a token.",
    takeaway=f"{costs.left(large)}.",
)
run.figure(
    figures.pruned(pruned),
    "pruned_every_size",
    caption="What is left to pay as more heads go, of small models and in other orders too.",
    table="pruned",
    show=False,
)

# %% [markdown]
# ## Growth: what if everything is larger?
#
# Seconds against the length of sentences, and in small panels the number of heads and of layers and the size of the corpus, one
# of them at a time, in batches of two sentences. The exponent is the slope on two logarithmic axes: at one, twice as large
# costs twice as much, at two, four times. At small sizes most of the time goes into the fixed overhead of calls, so that only
# the last doubling says something of larger ones (slopes fitted to all sizes are in the file). Relevance grows fastest, as
# every target token needs a pass back of its own: as many passes as tokens, each over as many tokens, so that at least two is
# expected of long sentences, and towards three where attention's own square takes over. In batches this small
# relevance of short sentences looks cheap beside gradient importance, whose own time is overhead there; batches of the contest
# are larger.

# %% jupyter={"source_hidden": true}
run.table(slopes, "growth", over=intervals.ROUNDS)
run.table(points, "growth_points", over=intervals.ROUNDS)
run.figure(
    figures.growth(slopes, points),
    "growth",
    caption="How the time of each measure grows with the size of everything, with exponents of the last doubling of length.",
    takeaway=costs.steepest(slopes, points, found["growth"]["size"].iloc[0]),
)

# %% [markdown]
# ## A Llama-style decoder
#
# Two passages of sixteen random tokens (relevance: six targets in each of their first seven, by AttnLRP), on a Llama-style
# decoder whose query heads share key-value heads, with random weights, larger than that of notebook 4; its size is the figure's
# title. The line is one pass forward and back over what is measured, with the gradients of all weights. Gradient importance
# needs those at the heads alone, so that it can be faster. Captum computes it for each token.

# %% jupyter={"source_hidden": true}
today = run.table(costs.numbers(found, "decoder_speed", "seconds"), "decoder", over=intervals.ROUNDS)
run.figure(
    figures.beside(today, costs.PASSES),
    "decoder",
    caption="Gradients, relevance and the loss without the head on a Llama-style decoder, in passes forward and back.",
    takeaway=costs.decoder(found["decoder_speed"]),
)

# %% [markdown]
# ## What is added to training
#
# How much longer a training step takes with gates, constraints or injection than without. *L0 gates* stand on every head. The
# *group constraint* (Ni et al.) makes heads of a group alike in their values (V) or attention maps (A). *Coreference* feeds
# clusters to one or four heads of every layer. What is inside the range of the same step timed once more, in the same
# benchmark, is not told from noise.

# %% jupyter={"source_hidden": true}
columns = {"what": "what", "cost": "longer step", "again": "same step once more", "times": "obvious way / ours"}
columns |= {"model": "model", "repeats": "repeats"}
steps = costs.additions(heart, found)
told = f"Longer training steps ({costs.told_apart(steps)})"
readable(steps, columns, {"cost": "+%", "again": "+%", "times": ".2f"}, caption=told)

# %% [markdown]
# ## The whole study
#
# Minutes that each notebook takes with published runs (this one is not timed), and core hours to make what it is the first to
# need: trainings, and what is computed from them. They go side by side: core hours over cores is about what one waits. A run of
# profile `tiny`, where one lies beside this one, is in the file.

# %% jupyter={"source_hidden": true}
times = run.table(costs.recorded(profile, run.settings, models, seed, run.folder), "wall_times")
own = times.loc[profile]
hours = {"minutes": own.executing / 60, "hours": own.training / 3600}
columns = {"notebook": "notebook", "minutes": "the notebook itself, minutes", "hours": "what it needs, core hours"}
columns |= {"things made": "things made"}
told = f"To make everything of profile {profile} takes {number(own.training.sum() / 3600, '.1f')} core hours (all published:"
told = (
    f"{told} {pages.store('core hours')}, some on natural text). {costs.alone(own, run.folder)}With published runs `make study`"
)
told = f"{told} takes {pages.measured('study')}, notebooks side by side ({pages.measured('study', 'hardware')})"
readable(own.assign(**hours), columns, {"minutes": ".1f", "hours": ".1f"}, caption=told)

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
kept = kept.groupby("what", sort=False).value.first()
first = f"{prune} {costs.times_as_long(priced, run.settings['relevance'], brief=True)} {less}"
where = costs.machines(facts, took, pages.measured("base_encoder_pass", "hardware"))
closing = f"""
**To choose encoder heads to prune** on text like this, gradient importance is enough, in batches rather than one sentence at a
time. **Relevance** explains single predictions; on a long corpus its cost grows fast with the length of sentences (above).
**Attention maps** need not lie on disk: they take {number(kept.max() / kept.min(), ".0f")} times the room of sums. **To save
time**, cut heads out; a gate only masks them.

*Limits.* One contest, one number of heads. {where} Random weights; much of the time of small models is the overhead of calls;
larger ones or a GPU differ. {absent}
"""
answer.fill(key if len(by_cost) else "growth", closing, first, costs.details(priced, points, run.settings["relevance"]))
