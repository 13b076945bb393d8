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
# # 5 · Can underused heads be put to work? Coreference in the heads that matter least
#
# [← notebook 4, grouped heads](04_grouped_heads.ipynb) · [notebook 6, do the measures agree →](06_do_measures_agree.ipynb) ·
# [all claims](../docs/results.md) · [figures](../figures/README.md) · functions:
# [matrices.py](../helpers/methods/coreference/matrices.py), [runs.py](../helpers/methods/coreference/runs.py),
# [measures/worth.py](../helpers/measures/worth.py), [corpora/resolvers.py](../helpers/corpora/resolvers.py)
#
# Liu & Chen 2023 ([arXiv 2312.09541](https://arxiv.org/abs/2312.09541)), after Liu, Shi & Chen 2021.
#
# **The paper's claims.** Fine-tune BART on dialogue summarization and rank the encoder's heads by gradient importance: in
# each layer some are *underused*, and masking them costs next to nothing, whatever the training settings. So let them do
# something useful: replace their attention weights by a matrix that says who is who in the dialogue. Without a single new
# parameter ROUGE rises, more so in higher layers; heads chosen by importance serve better than heads that resemble the
# matrix already (*probing*, the way of 2021); and the heads that hardly mattered come to matter.
#
# This notebook trains a small BART, looks for underused heads, injects coreference into them, and into others as a control,
# and asks what the paper leaves open: is it the coreference that helps or the freed head, how good must the clusters be,
# does a layer of its own do better, and does it carry over to translation? On the *controlled* dialogues we know who did
# what, so that beside ROUGE there is a score of *factual consistency*. The paper's own tables are not public, so that
# nothing but its relative gains can be set beside ours.

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # the texts are settings of their own (coreference.summarization.text); kept for the notebooks' common face
models = ""  # as corpus
pretrained = ""  # a BART checkpoint (Hub name or folder) to start from instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # as corpus
seed = 1
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as coreference.matrix=adjacent
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %%
from helpers import study
from helpers.plan import sources

run = study.begin("05_coreference_injection", globals())
print(run.summary(), sources(run), sep="\n")

# %%
import pandas as pd
from IPython.display import display

from helpers import drawing
from helpers.measures.measured import from_one
from helpers.measures.ranks import rank_agreement
from helpers.methods import coreference
from helpers.methods.coreference import figures, tables
from helpers.methods.coreference.runs import MAIN, PLAIN
from helpers.publish import claims
from helpers.runs import subjects
from helpers.scores import intervals

drawing.style()
plan, repeats = run.settings["coreference"], run.settings["bootstrap"]
parts = coreference.runs.rows_of(run.settings, subjects.SUMMARIZATION, seed, pretrained)
boards = tables.boards(run.settings, parts, seed)
board = boards[seed]
folder, links = board.task.folder, plan["summarization"]["links"]
truth = coreference.runs.truth(board.task.corpus, links)

# %%
verdicts = claims.Box(run)

# %% [markdown]
# ## The dialogues
#
# On the controlled track two to four people settle who will do what and tell who has done what. Facts move across turns: one
# asks, another declines, a third accepts; where the deed is named its doer is mostly a pronoun. The summary tells each fact
# in one sentence, with names. Below: one dialogue with its clusters, as `[number: mention]`.

# %%
print(tables.marked(folder, board.split, truth, 0), "\n\n=>", board.task.pairs(board.split)[0].target)

# %%
display(run.table(tables.text_statistics(folder, ["dev", board.split], truth), "text").round(1))
display(run.table(pd.read_csv(folder / "report.csv"), "report"))
display(run.table(tables.lost(parts["main"][MAIN]["run"], ["dev", board.split]), "lost").round(1))

# %% [markdown]
# **Who resolves them?** Gold clusters come with the controlled dialogues. A rule resolver of our own reads names, genders,
# addresses and speakers (its rules: `helpers/corpora/resolvers.py`); a file of stored links or a model of the Hub can be
# named instead. Corrupted clusters are split, merged, and robbed of mentions; *shuffled* ones deal the same mentions out
# anew. MUC, B-cubed and CEAF-e count links, mentions and clusters; CoNLL is the mean of their F1.

# %%
scored = tables.resolvers(run.settings, folder, board.split, truth)
run.table(scored, "resolvers")
run.figure(figures.resolvers(scored), "resolvers", caption="How good the resolvers' clusters are.")

# %% [markdown]
# Read the rows from the shuffled clusters upwards: these know the mentions and the sizes of the clusters and nothing else,
# so that only what lies above them is resolution. A score that is high as a whole can still miss the links that matter for a
# summary, such as those from a pronoun to a third person's name.
#
# ## The matrices
#
# In the *full* link matrix every mention attends alike to all mentions of its cluster; *adjacent* links lead to the mention
# before and the one after; *previous* ones to the mention before. All other tokens attend to themselves; rows sum to one.
# Only the first subword of a mention is linked, as in the code of 2021.

# %%
words, matrices = tables.shown_matrices(parts["main"][PLAIN]["run"], board.split, truth, plan["span"], 0, 36)
run.figure(figures.matrices(words, matrices), "matrices", caption="The coreference matrices of one dialogue.")

# %% [markdown]
# ## The summarizer
#
# All rows of this notebook start from one model and train the same number of further steps. `events` is the share of the
# reference's events that a summary tells with the right people. The baselines are references whose people are guessed: at
# random, the one who speaks where the deed is named, the names nearest before it.

# %%
facts = {name: value for name, value in plan["summarization"].items() if name not in ("model", "checkpoint")}
print({**facts, **plan["summarization"]["model"]})
quality = tables.scores(board, [PLAIN])
if board.known_events:
    quality = pd.concat([quality, tables.baselines(board)])
run.table(quality, "quality", resamples=repeats)
quality.pivot(index="row", columns="metric", values="value").round(1)

# %%
if board.known_events:
    display(run.table(tables.events_told(board, [PLAIN, MAIN]), "events").round(1))
shown = tables.examples(board, [PLAIN, MAIN], 3)
display(shown.style.set_properties(**{"text-align": "left", "white-space": "pre-wrap"}))

# %% [markdown]
# If a summary tells *what* was done but not *who* did it, resolving references is what the model lacks, and what a
# coreference matrix could give. Hold the share of *events* against the baselines: a model below *nearest name*, or even
# below random people, has not learnt to resolve at all, and a gain that ends below *nearest name* is a gain over very
# little.
#
# ## Underused heads: does the ranking hold?
#
# Importance of encoder heads (Michel et al. 2019: mean over examples of the absolute derivative of the loss in the head's
# gate, divided by the norm over its layer), after further training in other order, at other rates, for fewer and more steps.
# The last column is a model trained from other random weights, if there is one: what agreement by chance looks like.

# %%
settings_of = {PLAIN: parts["main"][PLAIN], **parts.get("training", {})}
settings_of |= {name: named[PLAIN] for name, named in parts.items() if name.startswith("seed")}
ranked = tables.rankings(settings_of, plan["probe"])
run.table(ranked, "importance")
run.figure(
    figures.importance_maps(ranked),
    "importance",
    caption="Importance of encoder heads after several trainings, the lowest of each layer marked.",
)

# %%
agreement = run.table(rank_agreement(ranked), "rank_agreement")
run.figure(figures.agreement(agreement), "rank_agreement", caption="How far trainings agree on the ranking of heads.")
run.table(tables.same_lowest(ranked, PLAIN), "same_lowest").round(2)

# %% [markdown]
# If some heads are underused *in any training setting*, the settings correlate far more with each other than with the model
# of other random weights, and the lowest head of a layer stays among its lower ones (the last table). Between random weights
# nothing should agree: heads have no names across seeds.
#
# ## Masking curves
#
# One to all heads of every layer off at inference, in the order of importance, in the reverse order, and at random. The last
# point, all encoder heads off, says what encoder attention is worth to this model: where that is little, masking a few heads
# costs little of necessity, and the paper's claim has not been put to the test.

# %%
if "masks" in parts:
    curves = run.table(tables.masking(board, parts["masks"]), "masking", resamples=repeats)
    run.figure(
        figures.masking_curves(curves),
        "masking",
        caption="What masking the lowest, the highest or random heads of each layer costs.",
        resamples=repeats,
    )
    shown = curves[curves.number.isin([1, 2])]
    display(shown.pivot_table(index=["number", "order"], columns="metric", values="percent").round(1))

# %% [markdown]
# The claim is about the left end of the *lowest* curve: its interval should hold the paper's loss and nothing much worse.
# That the order matters shows where *highest* falls first; *random* lies between.
#
# The paper says so *in any training setting*: the same of the models above that were trained in other order, at other rates
# and for other numbers of steps, each masked by its own ranking and held against itself with all heads on.

# %%
if "settings" in parts:
    settings_masked = tables.masking_by_setting(
        board, parts["settings"], {PLAIN: board.rows[PLAIN], **parts.get("training", {})}
    )
    run.table(settings_masked, "masking_by_setting", resamples=repeats)
    display(
        settings_masked.pivot_table(index=["setting", "order", "number"], columns="metric", values="percent", sort=False).round(
            1
        )
    )

# %% [markdown]
# Every head off by itself, for every training seed: the rise of the loss on dev dialogues.

# %%
alone = tables.ablation({number: one.rows[PLAIN] for number, one in boards.items()}, plan["probe"])
run.table(pd.concat(alone, names=["seed"]), "ablation", over=intervals.SENTENCES)
run.figure(figures.ablation(alone), "ablation", caption="How much the loss rises with one head off.")
run.table(tables.against_ablation(alone, boards, plan["probe"]), "importance_and_ablation").round(2)

# %% [markdown]
# A head costs nothing alone where the interval of its rise reaches zero; the table counts such heads, and says how well
# importance predicts the rise. Importance is the size of the first-order term of that rise, so some agreement is built in.
#
# ## Injection
#
# The head of each layer that matters least attends by the full link matrix, in further training and in writing. Against it:
# no control (*plain*), the same heads *masked* all along, and other heads.

# %%
names = list(dict.fromkeys(name for part in ("main", "selection", "controls") for name in parts.get(part, {})))
table = tables.scores(board, names)
run.table(tables.beside_baselines(table, board), "injection", resamples=repeats)
run.figure(
    figures.changes(table[table.row != PLAIN]),
    "injection",
    caption="What coreference in chosen heads changes, beside masking and other choices of heads.",
    resamples=repeats,
)
table.pivot(index="row", columns="metric", values="percent").loc[names].round(1)

# %%
trained = {number: one for number, one in boards.items() if MAIN in one.rows}
if len(trained) > 1:
    over = run.table(tables.over_seeds(trained, [*parts["main"], *parts.get("controls", {})]), "seeds")
    run.figure(
        figures.changes(over[over.row != PLAIN]),
        "seeds",
        caption="What coreference injection changes, over trainings of several seeds.",
    )
    display(over.round(2))

# %% [markdown]
# Masked heads tell the vacancy from the matrix: if *masked* stays at zero and *injected* does not, it is the matrix. If the
# choice of heads mattered, the rows would be ordered: lowest above random, probing and highest. Rows whose intervals overlap
# are not ordered, and one training a row cannot order them at all; that takes several seeds.
#
# ## Where, how many, which matrix, or a layer of its own?
#
# *A layer of its own* is the alternative of 2021, extra computation in the place of a head: after an encoder layer its
# output H becomes $0.7\,H + 0.3\,M H$.

# %%
grouped = tables.by_group(board, {"heads and layers": parts.get("where", {}), "matrices": parts.get("matrices", {})})
if len(grouped):
    run.table(grouped, "where", resamples=repeats)
    run.figure(
        figures.changes(grouped),
        "where",
        caption="In which layers, in how many heads and with which matrix injection helps.",
        resamples=repeats,
    )

# %%
sizes = tables.by_cluster_size(board, [MAIN, *parts.get("matrices", {})], truth)
run.table(sizes, "cluster_sizes", resamples=repeats)
shown = sizes[sizes.metric.isin(["ROUGE-1", "events"])]
shown.pivot_table(index=["metric", "row"], columns=["mentions", "dialogues"], values="change", sort=False).round(1)

# %% [markdown]
# If higher layers worked better, the rows of lower, middle and upper layers would rise in that order, beyond their
# intervals. The paper says that large clusters hamper *full* links, since a name has little weight in the mean over many
# mentions: then full links fall behind *adjacent* ones as the largest cluster of a dialogue grows, from left to right in the
# last table. Heads that look at themselves alone (*no links*) are the control for the matrix. And a layer of its own is
# the comparison that the paper lacks: it has no weights of its own either.
#
# ## Do injected heads come to matter?

# %%
every = tables.before_after_over_seeds(boards, list(coreference.runs.moved(parts)), plan["probe"])
run.table(from_one(every), "before_after")
moved = every[every.seed == seed]
run.figure(figures.before_after(moved), "before_after", caption="Importance of the injected heads before and after training.")
every.groupby("row", sort=False)[["before", "after", "rank_before", "rank_after", "loss_before", "loss_after"]].mean().round(3)

# %% [markdown]
# Ranks count from the most important head of a layer. A low head that ends on top has come to matter. That alone says
# neither that it is because the head was *underused* (then random and highest heads would not rise as well) nor because of
# *coreference* (then heads with shuffled links, or with a matrix that says nothing, would not): any head whose attention is
# fixed while the rest trains around it may be leant on.
#
# ## How good must the clusters be?

# %%
if "quality" in parts:
    curve = tables.quality_curve(board, parts["quality"], truth=truth)
    run.table(tables.beside_baselines(curve, board), "clusters", resamples=repeats)
    run.figure(
        figures.quality(curve), "clusters", caption="How good the clusters must be for injection to help.", resamples=repeats
    )
    display(run.table(tables.gained(curve), "gained").round(2))

# %% [markdown]
# If the quality of the clusters is what counts, the gain falls with their CoNLL score, down to that of shuffled clusters.
# These are the control for a resolver: its links are good enough only if training with them gains more than training with
# shuffled ones. Each point is one training.
#
# ## At inference alone
#
# A public summary of the paper reads as if the matrix were put in at inference alone. Below: that; then the model that was
# trained with the matrix, writing with other clusters or with the heads off.

# %%
if "inference" in parts:
    table = tables.scores(board, [MAIN, *parts["inference"]])
    run.table(table, "inference", resamples=repeats)
    run.figure(
        figures.changes(table),
        "inference",
        caption="What the matrix does at inference, with and without training on it.",
        resamples=repeats,
    )

# %% [markdown]
# If the matrix at inference alone does nothing, it takes training to use it. How much a trained model loses with other
# clusters, shuffled ones or none says how much of its gain it reads from the matrix while it writes, and how much training
# with it has left in the weights.
#
# ## Does it carry over to translation?
#
# The paper says that the method is general. We put gold syntax in the place of coreference: in the head of each layer that
# matters least every word attends to itself, its head and its dependents. Intervals that hold zero do not show that nothing
# is gained: short sentences may leave little for syntax to add.

# %%
others = coreference.runs.rows_of(run.settings, subjects.TRANSLATION, seed)
if others:
    translation = tables.Board(run.settings, others["main"])
    table = tables.scores(translation)
    run.table(table, "translation", resamples=repeats)
    run.figure(
        figures.changes(table[table.row != PLAIN]),
        "translation",
        caption="Injection of syntax into a translation model.",
        resamples=repeats,
    )
    display(table.round(2))

# %% [markdown]
# ## What limits this
#
# The paper starts from BART-large and real chats. Outside profile `paper` ours is a small BART that first fills holes in the
# texts, then summarizes, with encoder self-attention that starts from an output of zero, without dropout and with greedy
# search; *further training*, with or without the matrix, takes the place of fine-tuning. Dialogues are generated, with gold
# clusters, unless the run says natural; there links are a resolver's. One seed where no table over seeds says otherwise:
# intervals are over dialogues. One head a layer, in all layers, where a row does not say otherwise. On natural
# text there are no shuffled links.

# %%
verdicts.fill()
