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
# target token will not be used on a whole corpus; a constraint that doubles the training time must gain more than twice the
# training would; and heads that are masked are not heads that are saved. This notebook draws what each part of the study
# costs beside what the plain thing costs.
#
# **How it is measured.** Speeds of two ways are compared as *ratios from one run*. All variants run once in every repeat, in
# random order, and the ratio is taken within the repeat, so that a slow spell of the machine hits both sides; the figures
# show the median over repeats and the quartiles. Where a variant stands there *once more*, its ratio shows what is noise: a
# difference inside that spread is none. Nothing is timed before a *correctness gate*: the fast way and the obvious one must
# give the same numbers, and the first table says how far they were apart. Models have random weights; that is the same
# arithmetic as with trained ones.
#
# The sizes: *laptop* is `3 + 3` layers of `8` heads at width `128`, as the models of profile `laptop`; *base* is `6 + 6`
# layers at width `512`, as the papers' Transformer-base; *tiny* only shows that everything runs, its times mean nothing.
# Absolute numbers belong to one machine, named below; ratios travel better.

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

# %%
from IPython.display import display

from benchmarks import costs, figures
from helpers import drawing
from helpers.scores import intervals

drawing.style()
costs.measure(costs.SIZES[profile])  # tiny ones alone; the others come from `make bench`
found = costs.gathered(profile)
display(run.table(costs.facts(found), "benchmarks").drop(columns="command").round(8))

# %% [markdown]
# ## Relevance: how many target tokens a second?
#
# Relevance (notebook 1) explains one target token at a time: what did each head contribute to this word? The *obvious*
# protocol takes it literally, a batch of one, one pass forward and one back for each token; *lean* is the same with
# gradients of the heads alone. *Fast* is what the study does: all target tokens of a batch share a forward pass, and the
# signed rules (`attnlrp`, `cp`) are replayed from the targets down or from the heads up, *reverse* and *forward*, whichever
# is cheaper. `alpha_beta` splits every product by sign and knows the reverse mode only. *Captum* is a control: gradient
# times activation of an established library under the same rules. The *floor* is one forward and one backward pass, which
# explains nothing: its distance to *fast* is the price of an explanation.

# %%
speeds = run.table(costs.numbers(found, "relevance_speed", "target tokens/s"), "relevance", over=intervals.ROUNDS)
run.figure(figures.speeds(speeds), "relevance", caption="Target tokens a second of each way to compute relevance.")

# %%
ratios = run.table(costs.numbers(found, "relevance_speed", "ratio"), "relevance_ratios", over=intervals.ROUNDS)
display(ratios[["group", "what", "value", "low", "high"]].round(2))
remarks = costs.remarks(found)
display(remarks)

# %% [markdown]
# ## Importance: one pass for all heads, or one for each?
#
# Gradient importance takes one backward pass a batch, per example or per token alike. The *obvious* way has batches of one.
# *Leave one out*, which the gradient approximates, takes a forward pass for every head. The floor asks for the gradients of
# all weights, importance for those of the gates alone, so that it may lie above its floor.

# %%
speeds = run.table(costs.numbers(found, "importance_speed", "examples/s"), "importance", over=intervals.ROUNDS)
run.figure(figures.speeds(speeds), "importance", caption="Examples a second of each way to compute gradient importance.")

# %% [markdown]
# ## Head statistics: must attention maps be kept?
#
# Confidence, positional and syntactic scores (notebooks 1 and 2) are sums over attention maps. *One pass* keeps the sums
# while the model runs; the other way writes all maps to disk, as most studies do, and reads them again. Two things can be
# saved, time and room: the first figure shows the one, the second the other.

# %%
speeds = run.table(costs.numbers(found, "head_statistics", "tokens/s"), "statistics", over=intervals.ROUNDS)
run.figure(
    figures.speeds(speeds), "statistics", caption="Tokens a second of head statistics, with and without keeping attention maps."
)

# %%
kept = run.table(costs.numbers(found, "head_statistics", "bytes"), "statistics_kept", over=intervals.ROUNDS)
run.figure(figures.bytes_kept(kept), "statistics_kept", caption="Bytes that each way to compute head statistics keeps.")

# %% [markdown]
# ## Growth: what if everything is larger?
#
# Seconds against the length of sentences, the number of heads and of layers, and the size of the corpus, one of them at a
# time. The exponent is the slope on two logarithmic axes: at one, twice as large costs twice as much, at two, four times. At
# small sizes most of the time goes into calling things at all, and exponents are near zero.

# %%
slopes, points = costs.growth(found["growth"][found["growth"]["size"] == costs.SIZES[profile]])
run.table(slopes, "growth", over=intervals.ROUNDS)
run.table(points, "growth_points", over=intervals.ROUNDS)
run.figure(figures.growth(slopes, points), "growth", caption="How the time of each measure grows with the size of everything.")
slopes.pivot(index="what", columns="axis", values="value").round(2)

# %% [markdown]
# ## What does it add to a training step?
#
# Gates and records (notebook 3), the group constraint (notebook 4; the *obvious protocol* is that of the public code,
# K-means from scratch in every module) and injected coreference (notebook 5), each as a ratio to the plain step of the same
# model. The plain step *once more* says how far from one a ratio must be to count.

# %%
added = run.table(costs.numbers(found, costs.OVERHEADS, "ratio"), "overheads", over=intervals.ROUNDS)
for name in costs.OVERHEADS:
    run.figure(
        figures.overheads(added[added.benchmark == name]),
        f"{name}",
        caption=f"Time of a training step against the plain one: {name.replace('_', ' ')}.",
        table="overheads",
    )

# %% [markdown]
# And in memory: the peak of two training steps beyond what was there before them, in a process of its own.

# %%
peaks = run.table(costs.numbers(found, (*costs.OVERHEADS, "training_speed"), "bytes"), "memory", over=intervals.ROUNDS)
run.figure(figures.memory(peaks), "memory", caption="Peak memory of training steps with and without what the study adds.")

# %% [markdown]
# ## The training loop against the usual one
#
# The study's loop resumes after a kill with the same numbers, which `Seq2SeqTrainer` of transformers does not promise. Is it
# slower? Both train the same model from the same weights on the same batches in the same order, with the same Adam, rates and
# label smoothing; the losses of the first steps are equal. The Trainer stands there twice: with its own label smoother and
# with the study's loss, so that the loop's share can be told.

# %%
speeds = run.table(costs.numbers(found, "training_speed", "tokens/s"), "training", over=intervals.ROUNDS)
run.figure(figures.speeds(speeds), "training", caption="Tokens a second of the study's training loop and of the usual one.")
ratios = run.table(costs.numbers(found, "training_speed", "ratio"), "training_ratios", over=intervals.ROUNDS)
run.figure(
    figures.overheads(ratios, "times as fast as the Trainer"),
    "training_ratios",
    caption="How many times as fast as the usual training loop the study's is.",
)

# %% [markdown]
# ## Masked or removed?
#
# A closed gate takes a head out of what the model computes, but not out of what the machine computes. Removing the head cuts
# its columns and rows out of the weights. The black mark is the *ceiling*: operations of the full model over those of the
# smaller one. What is measured beyond it is caches, threads and noise, and is not claimed.

# %%
saved = run.table(costs.savings(found["removed_heads"]), "removed", over=intervals.ROUNDS)
run.figure(figures.removed(saved), "removed", caption="What removed and masked heads save in time.")

# %% [markdown]
# ## The generated text

# %%
speeds = run.table(costs.numbers(found, "generator_speed", "pairs/s"), "generator", over=intervals.ROUNDS)
run.figure(figures.speeds(speeds), "generator", caption="Sentence pairs a second of the text generator.")

# %% [markdown]
# ## The whole study
#
# What a run of this profile took, as far as it recorded it (and a run of profile `tiny`, where one lies beside it): the
# notebooks themselves, a second run, which finds everything made (`python -m benchmarks.costs RUN`), and the core minutes of
# the stored runs that a notebook is the first to need. Runs go side by side, so that core minutes over cores is about what one
# waits.

# %%
times = run.table(costs.recorded(profile, run.settings, models, seed, run.folder), "wall_times")
for name, part in times.groupby(level="profile", sort=False):
    print(f"profile {name}")
    run.figure(
        figures.wall_times(part.droplevel("profile")),
        f"wall_times_{name}",
        caption=f"Minutes of each notebook in profile {name}.",
        table="wall_times",
    )
(times[["executing", "second", "training"]] / 60).round(1).join(times[["runs", "missing"]])

# %% [markdown]
# ## What limits this
#
# Small models on one machine, named in the first table; with `laptop` sizes, times of calls of a few milliseconds are mostly
# the cost of calling, so that exponents and overheads are not those of larger models. Where base sizes were measured they
# stand beside. On a GPU the balance is another one; what ran on which device the table says. Medians and quartiles are over
# few repeats of one process, with random weights. A library that could not run on the pinned versions is no comparison, and
# the remarks name it. Wall times of the whole study depend on what was found made and on what ran beside it.
