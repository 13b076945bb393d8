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
# Every measure of a head has a price, and so has every way to change one. A measure that takes a backward pass for every
# target token will not be used on a whole corpus; a constraint that doubles the training time must gain more than twice the
# training would; and heads that are masked are not heads that are saved. This notebook draws what each part of the study
# costs beside what the plain thing costs.
#
# **How it is measured.** Speeds of two ways are compared as *ratios from one run*. All variants run once in every repeat, in
# random order, and the ratio is taken within the repeat, so that a slow spell of the machine hits both sides; the figures
# show the median over repeats and the quartiles. Where a variant stands there *once more*, its ratio shows what is noise.
# Nothing is timed before a *correctness gate*: the fast way and the obvious one must give the same numbers, and the first
# table says how far they were apart. Models have random weights; that is the same arithmetic as with trained ones.
#
# The sizes: *laptop* is 3 + 3 layers of 8 heads at width 128, as the models of this study; *base* is 6 + 6 layers at width
# 512, as the papers' Transformer-base; *tiny* only shows that everything runs, its times mean nothing. Absolute numbers
# belong to one machine, named below; ratios travel better.

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

from helpers import cost_figures as drawn
from helpers import costs, figures, intervals

figures.style()
costs.measure(costs.SIZES[profile])  # tiny ones alone; the others come from `make bench`
found = costs.gathered(profile)
display(run.table(costs.facts(found), "costs_benchmarks").drop(columns="command").round(8))

# %% [markdown]
# ## Relevance: how many target tokens a second?
#
# Relevance (notebook 01) explains one target token at a time: what did each head contribute to this word? The *obvious*
# protocol takes it literally, a batch of one, one pass forward and one back for each token; *lean* is the same with gradients
# of the heads alone. *Fast* is what the study does: all target tokens of a batch share a forward pass, and the signed rules
# (`attnlrp`, `cp`) are replayed from the targets down or from the heads up, *reverse* and *forward*, whichever is cheaper.
# `alpha_beta` splits every product by sign and knows the reverse mode only. *Captum* is a control: gradient times activation
# of an established library under the same rules. The *floor* is one forward and one backward pass, which explains nothing.

# %%
speeds = run.table(costs.of(found, "relevance_speed", "target tokens/s"), "costs_relevance", over=intervals.ROUNDS)
run.figure(drawn.speeds(speeds), "costs_relevance")

# %%
ratios = run.table(costs.of(found, "relevance_speed", "ratio"), "costs_relevance_ratios", over=intervals.ROUNDS)
display(ratios[["group", "what", "value", "low", "high"]].round(2))
remarks = costs.remarks(found)
display(remarks)

# %% [markdown]
# ## Importance: one pass for all heads, or one for each?
#
# Gradient importance takes one backward pass a batch, per example or per token alike. The *obvious* way has batches of one.
# *Leave one out*, which the gradient approximates, takes a forward pass for every head.

# %%
speeds = run.table(costs.of(found, "importance_speed", "examples/s"), "costs_importance", over=intervals.ROUNDS)
run.figure(drawn.speeds(speeds), "costs_importance")

# %% [markdown]
# ## Head statistics: must attention maps be kept?
#
# Confidence, positional and syntactic scores (notebooks 01 and 02) are sums over attention maps. *One pass* keeps the sums
# while the model runs; the other way writes all maps to disk, as most studies do, and reads them again.

# %%
speeds = run.table(costs.of(found, "head_statistics", "tokens/s"), "costs_statistics", over=intervals.ROUNDS)
run.figure(drawn.speeds(speeds), "costs_statistics")

# %%
kept = run.table(costs.of(found, "head_statistics", "bytes"), "costs_statistics_kept", over=intervals.ROUNDS)
run.figure(drawn.bytes_kept(kept), "costs_statistics_kept")

# %% [markdown]
# ## Growth: what if everything is larger?
#
# Seconds against the length of sentences, the number of heads and of layers, and the size of the corpus, one of them at a
# time. The exponent is the slope on two logarithmic axes: 1 means twice as large costs twice as much, 2 four times. At small
# sizes most of the time goes into calling things at all, and exponents are near 0.

# %%
slopes, points = costs.growth(found["growth"][found["growth"]["size"] == costs.SIZES[profile]])
run.table(slopes, "costs_growth", over=intervals.ROUNDS)
run.table(points, "costs_growth_points", over=intervals.ROUNDS)
run.figure(drawn.growth(slopes, points), "costs_growth")
slopes.pivot(index="what", columns="axis", values="value").round(2)

# %% [markdown]
# ## What does it add to a training step?
#
# Gates and records (notebook 03), the group constraint (notebook 04; the *obvious protocol* is that of the public code,
# K-means from scratch in every module) and injected coreference (notebook 05), each as a ratio to the plain step of the same
# model.

# %%
added = run.table(costs.of(found, costs.OVERHEADS, "ratio"), "costs_overheads", over=intervals.ROUNDS)
for name in costs.OVERHEADS:
    run.figure(drawn.overheads(added[added.benchmark == name]), f"costs_{name}")

# %% [markdown]
# And in memory: the peak of two training steps beyond what was there before them, in a process of its own.

# %%
peaks = run.table(costs.of(found, (*costs.OVERHEADS, "training_speed"), "bytes"), "costs_memory", over=intervals.ROUNDS)
run.figure(drawn.memory(peaks), "costs_memory")

# %% [markdown]
# ## The training loop against the usual one
#
# The study's loop resumes after a kill with the same numbers, which `Seq2SeqTrainer` of transformers does not promise. Is it
# slower? Both train the same model from the same weights on the same batches in the same order, with the same Adam, rates and
# label smoothing; the losses of the first steps are equal. The Trainer stands there twice: with its own label smoother and
# with the study's loss, so that the loop's share can be told.

# %%
speeds = run.table(costs.of(found, "training_speed", "tokens/s"), "costs_training", over=intervals.ROUNDS)
run.figure(drawn.speeds(speeds), "costs_training")
ratios = run.table(costs.of(found, "training_speed", "ratio"), "costs_training_ratios", over=intervals.ROUNDS)
run.figure(drawn.overheads(ratios, "times as fast as the Trainer"), "costs_training_ratios")

# %% [markdown]
# ## Masked or removed?
#
# A gate of 0 takes a head out of what the model computes, but not out of what the machine computes. Removing the head cuts
# its columns and rows out of the weights. The black mark is the *ceiling*: operations of the full model over those of the
# smaller one. What is measured beyond it is caches, threads and noise, and is not claimed.

# %%
saved = run.table(costs.savings(found["removed_heads"]), "costs_removed", over=intervals.ROUNDS)
run.figure(drawn.removed(saved), "costs_removed")

# %% [markdown]
# ## The generated text

# %%
speeds = run.table(costs.of(found, "generator_speed", "pairs/s"), "costs_generator", over=intervals.ROUNDS)
run.figure(drawn.speeds(speeds), "costs_generator")

# %% [markdown]
# ## The whole study
#
# What a run of this profile took, as far as it recorded it (and a run of profile `tiny`, where one lies beside it): the
# notebooks themselves, a second run, which finds everything made (`python -m helpers.costs RUN`), and the core minutes of the
# stored runs that a notebook is the first to need. Runs go side by side, so that core minutes over cores is about what one
# waits.

# %%
times = run.table(costs.recorded(profile, run.settings, models, seed, run.folder), "costs_wall_times")
for name, part in times.groupby(level="profile", sort=False):
    print(f"profile {name}")
    run.figure(drawn.wall_times(part.droplevel("profile")), f"costs_wall_times_{name}")
(times[["executing", "second", "training"]] / 60).round(1).join(times[["runs", "missing"]])

# %% [markdown]
# ## What we see
#
# In the committed run (profile `laptop`, two cores that did nothing else, no GPU; medians and, in brackets, quartiles):
#
# - **Relevance.** `cp` explains 1,930 target tokens a second, `attnlrp` 1,300, `alpha_beta` 153. That is 62 [60, 64], 51 [50,
#   53] and 48 [47, 48] times the obvious protocol, 45 and 35 times its lean form, and 19 and 15 times Captum, which gives the
#   same values. It is not free: in the time that one target token takes, a forward and a backward pass take in 4, 6 and 52.
#   For the signed rules pushing heads up does nearly all of the saving; pulling targets down alone is 1.6 times slower.
#   `alpha_beta` cannot be pushed, and remains the one measure that must be rationed. No library for LRP ran: zennit asks for
#   torchvision, lxt for a function that transformers no longer has.
# - **Importance** takes 270 to 280 examples a second, nine times the obvious way and thirty times leaving out each of the 72
#   heads. It beats even its floor, since gradients of gates alone are asked for, not those of all weights.
# - **Head statistics.** The pass that keeps sums is no faster than maps on disk (0.97 [0.93, 1.04]); what it saves is room, 5
#   MiB kept instead of 104. A plain forward pass is 1.7 times as fast as either.
# - **Growth.** Twice the length costs relevance 2.2 to 3.0 times, and four times at the long end of `alpha_beta`; statistics
#   and importance 1.4 times at these lengths. More heads of the same width cost nothing (exponents 0.01 to 0.14), more layers
#   and sentences what one would think (0.7 to 1.2, 0.9 to 1.1).
# - **A training step** with a gate on every head takes 1.01 [1.00, 1.03] times a plain one, with Hard Concrete gates and
#   their price 1.02 [0.99, 1.06], with one head a layer injected 1.02 to 1.04, where the same step once more takes 1.00
#   [0.98, 1.05]. A forward pass that records attention takes 1.21 [1.19, 1.24]: its output stays that of SDPA bit for bit,
#   and the weights are formed besides; the same model with eager attention and `output_attentions` takes 0.93 at this size.
#   The group constraint (4B on V) takes 1.22 [1.14, 1.30] at width 64 and 1.04 [1.03, 1.06] at width 128, the public code's
#   protocol 1.33 and 1.18; on A 1.28 and 1.16. Coreference in one head a layer takes 1.11 [1.06, 1.13] and 1.04 [0.98, 1.05],
#   in four 1.19 and 1.11. In memory gates add 5 MiB to 183, the constraint 16 to 669 (the public protocol 77), injection 5 to
#   343.
# - **The loop** trains as fast as `Seq2SeqTrainer`: 1.02 [0.98, 1.04], and once more 0.98 [0.97, 1.02].
# - **Removed heads** save what arithmetic allows once there is enough to compute, 1.3 to 1.5 in an encoder pass over 64
#   sentences (ceilings 1.30 to 1.44; what lies beyond is not claimed), and 0.99 to 1.16 with one sentence at a time. Gates of
#   0 save nothing, 0.94 to 1.07.
# - **The whole study** took 74 minutes from nothing, `tiny` 8, and some seconds when asked for once more. Its trained runs
#   are 98 core minutes, translations and measures that are kept the rest. The notebooks take 12 minutes, and 10 when all they
#   read is made: what they do is measure, which is not kept.
#
# What limits this: a small model on two cores. Times of calls of a few milliseconds are mostly the cost of calling. On a GPU
# the balance will be another one; nothing here was run on one.
