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
# # 4 · Can heads be grouped, and one of each group kept? Grouped Head Attention
#
# [← notebook 3, L0 pruning](03_l0_pruning.ipynb) · [notebook 5, coreference injection →](05_coreference_injection.ipynb) ·
# [all claims](../docs/results.md) · [figures](../figures/README.md) · functions:
# [grouping/units.py](../helpers/methods/grouping/units.py), [grouping/runs.py](../helpers/methods/grouping/runs.py),
# [grouping/tables.py](../helpers/methods/grouping/tables.py)
#
# Ni et al. 2023 ([arXiv 2305.14380](https://arxiv.org/abs/2305.14380)).
#
# **The paper's claims.** Heads of a layer are redundant. Sort them into a few groups while the model trains, pull the
# members of a group together and push the groups apart (*group-constraint training*, GHT): translation, language modelling
# and summarization get better. Then let every batch vote for the best head of each group, keep the winners
# (*Voting-to-Stay*, GHT-PS) and train on: a third of the model is gone and the gain stays.
#
# This notebook trains models from random weights with and without the constraint, for the same number of steps, on the tasks
# that the run asks for; repeats the rows of the paper's ablation; looks at what grouping does to the heads; and asks what
# the paper leaves open: whether it works on a model that is trained already, and whether the heads that stay are those that
# notebooks 1 to 3 would keep.

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # of which the first is grouped after it has converged; empty: the corpus's own
pretrained = ""  # a Marian or BART checkpoint (Hub name or folder) to group instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as grouping.weight=0.1
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %%
from helpers import study
from helpers.plan import sources

run = study.begin("04_grouped_heads", globals())
print(run.summary(), sources(run), sep="\n")

# %%
import pandas as pd
from IPython.display import display

from helpers import drawing
from helpers.methods import grouping
from helpers.methods.grouping import figures, tables
from helpers.methods.grouping.runs import GHT, PS, VANILLA
from helpers.publish import claims
from helpers.runs import subjects
from helpers.scores import intervals

drawing.style()
plan, repeats = run.settings["grouping"], run.settings["bootstrap"]
start = grouping.runs.start(run.settings, subjects.names(run.settings, models), seed, pretrained)
rows = {kind: grouping.runs.rows_of(run.settings, kind, seed) for kind in subjects.METRICS}
rows = {kind: found for kind, found in rows.items() if found}
counted = {kind: tables.statistics(found, plan["beam"]) for kind, found in rows.items()}
scored = {kind: tables.scores(found, counted[kind], repeats=repeats) for kind, found in rows.items()}
for kind, table in scored.items():
    run.table(table, f"{subjects.setting(kind)}", resamples=repeats)
translation = rows[subjects.TRANSLATION]

# %%
verdicts = claims.Box(run)

# %% [markdown]
# ## The method (sections 3.1 and 3.2)
#
# *Hidden units.* Each head of a layer is one long vector: its value vectors (V), attention weights (A) or outputs (O) over
# all real tokens of the batch. K-means sorts the heads of a layer into C groups; the mean of a group is its hidden unit.
# Everything K-means needs follows from the inner products of the heads, a small table of heads by heads, so that clustering
# anew in every step costs one small product of matrices (`make bench` measures it).
#
# *Group constraint.* To the cross-entropy a token we add, as mean over layers,
#
# $$L_z = w \left[ -\frac{\alpha}{k} \sum_i \cos(e_i, \mu_{y_i}) + \frac{\beta}{\binom{C}{2}} \sum_{c < c'}
# \cos(\mu_c, \mu_{c'}) \right]$$
#
# with gradient through heads and centres. As printed (equation 4B) the signs push the members of a group *apart*; the text
# and the public code mean this. The paper does not say what w is against a loss a token; its code adds the sum over layers
# to a loss that is a *sum* over tokens, which makes w the number of layers over the tokens of a batch.
#
# *Voting-to-Stay.* The model is frozen for one epoch. In every batch the head closest to the centre of its group gets a
# vote; in the end the head with most votes of each group stays, the others are removed for good, and training goes on
# without the constraint. The public code clusters padding, too, lets votes decide without regard to groups, and does not
# freeze.
#
# All rows below see the same number of training steps: a share before the vote (the first stage; setting `grouping.first`),
# the rest after it (the second).

# %%
facts = {
    kind: {
        "text": plan[subjects.setting(kind)]["text"], "steps": plan[subjects.setting(kind)]["steps"],
        "groups": plan[subjects.setting(kind)]["groups"], **plan[subjects.setting(kind)]["model"],
        "test sets": ", ".join(subjects.text_of(next(iter(found.values()))).tests),
    }
    for kind, found in rows.items()
}  # fmt: skip
print(f"alpha {plan['alpha']:g}, beta {plan['beta']:g}, map {plan['which']}, weight {plan['weight']:g}")
pd.DataFrame(facts)

# %% [markdown]
# ## Translation: does it help, and what does it cost? (Tables 1, 2 and 5)
#
# Controls of equal size: *fewer layers* (the paper's Lite1), *narrower* (Lite2), the same number of heads by *L0* gates and
# by *gradient importance*; *disagreement* (Li et al. 2018) only pushes heads apart. `gain` is in percent of vanilla, paired
# bootstrap. The printed columns are the paper's: BLEU on IWSLT en-de, gain over its seven sets, parameters and FLOPs in
# millions. They are the best of a sweep over alpha, beta and the map for each set, with averaged checkpoints; ours have one
# setting for all.
#
# If the constraint made models better, the interval of GHT's gain would lie above zero, over several trainings. If grouping
# were a good way to make a model small, GHT-PS would lie above the rows of its size, *fewer layers* and *narrower* included.

# %%
table = scored[subjects.TRANSLATION]
chosen = tables.of_table_1(translation)
cost, fast = tables.costs(chosen), run.table(tables.speed(chosen), "speed", over=intervals.ROUNDS)
table_1 = run.table(
    tables.table_1(table[table.index.isin(chosen, level="row")], cost, fast), "table1_translation", resamples=repeats
)
table_1.style.format(precision=2, na_rep="").format("{:.0f}", subset=["heads"])

# %%
run.figure(
    figures.quality_against_cost(tables.against_cost(table_1, "translation")),
    "cost",
    caption="Translation quality against parameters and speed, grouped models beside controls of equal size.",
    answers="Ni et al., tables 1 and 2",
    table="table1_translation",
    resamples=repeats,
)

# %% [markdown]
# Speed is measured on the removed models, greedy, ten new tokens for each of `64` examples, on one thread, as ratio to
# vanilla in the same round.
#
# ## The three tasks side by side (with Tables 4 and 6)
#
# Hollow diamonds are the printed gains. An interval that holds both zero and the diamond cannot tell the two apart.

# %%
others = {kind: found for kind, found in scored.items() if kind != subjects.TRANSLATION}
run.table(tables.table_others(others), "table4_table6_other_tasks", resamples=repeats).style.format(precision=2, na_rep="")

# %%
compared = tables.gains(scored)
run.table(compared.set_index(["task", "method"]), "gains", resamples=repeats)
run.figure(
    figures.gains(compared), "gains", caption="What grouped training changes on each of the three tasks.", resamples=repeats
)

# %%
for kind in others:
    found = {name: rows[kind][name] for name in (VANILLA, GHT, PS)}
    kept = tables.costs(found).join(tables.speed(found))
    display(run.table(kept, f"cost_{subjects.setting(kind)}", over=intervals.ROUNDS).style.format("{:.2f}").set_caption(kind))

# %% [markdown]
# What is attention worth here at all? The test scores of the vanilla models with all heads of a kind off at once, nothing
# trained afterwards. Where little is lost, no constraint on these heads can show much, and claims about it are hollow.

# %%
if others:
    worth = tables.worth_of_attention({kind: rows[kind] for kind in others}, plan["beam"], repeats)
    run.table(worth, "worth_of_attention", split="test", resamples=repeats)
    display(worth.drop(columns="over").style.format("{:.1f}").format("{:.0f}", subset=["heads"]))

# %% [markdown]
# What the summarizer writes, first examples of the test set:

# %%
if subjects.SUMMARIZATION in rows:
    found = rows[subjects.SUMMARIZATION]
    examples = tables.examples({name: found[name] for name in (VANILLA, GHT, PS)}, plan["beam"], 3)
    display(examples.style.set_properties(**{"text-align": "left", "white-space": "pre-wrap"}))

# %% [markdown]
# ## What the constraint does to heads
#
# The two cosines of the constraint, measured on the same few dev sentences while the models train, also where they are not
# trained on (Fig. 4). Heads of random directions have a mean cosine of one over the root of their number with their centre:
# heads that stay at that level form no groups, whatever K-means calls them.

# %%
groups = plan["translation"]["groups"]
strong = max(plan["strengths"][:-1], default=0)
tight = f"GHT, weight x {strong:g}"  # a constraint that is felt, and does not yet ruin the model
followed = {name: tables.both_stages(translation[name], groups) for name in (VANILLA, GHT, tight) if name in translation}
run.table(pd.concat(followed, names=["row", "look"]), "fig4_constraint")
run.figure(
    figures.constraint_over_training(followed),
    "fig4_constraint",
    caption="Both terms of the group constraint over training, with and without it.",
    answers="Ni et al., figure 4",
)

# %% [markdown]
# Cosines between the heads of each layer (value vectors) before training and at the end of the first stage, heads sorted by
# group, the heads that stay marked. Groups would show as bright squares along the diagonal. Then the same for a constraint
# strong enough to be felt, where the run has one, and for plain training:

# %%
first = grouping.runs.stages(translation[PS])[0]
remain = tables.remaining(translation[PS])
titles = ("random weights", "after GHT, stage 1")
run.figure(
    figures.similarity(*tables.similarity(first, groups), titles, remain),
    "similarity",
    caption="Cosines between the heads of each layer before and after training with the group constraint.",
)

# %%
if tight in translation:
    parts = tables.similarity(grouping.runs.stages(translation[tight])[0], groups)
    run.figure(
        figures.similarity(*parts, ("random weights", f"{tight}, stage 1")),
        "similarity_tight",
        caption="Cosines between the heads of each layer before and after training with a tighter constraint.",
    )

# %%
plain = grouping.runs.stages(translation[VANILLA])[0]
titles = ("random weights", "after plain training, stage 1")
run.figure(
    figures.similarity(*tables.similarity(plain, groups), titles),
    "similarity_vanilla",
    caption="Cosines between the heads of each layer before and after plain training.",
)

# %% [markdown]
# A map of the heads over the first stage: classical scaling of `1 - cosine`, each look turned onto the next.

# %%
moved = tables.map_of_heads(first, groups, remain)
shown = moved[moved.site.isin(["encoder 1", "encoder 2", "cross 1", "decoder 1"])]
run.figure(
    figures.head_maps_over_training(shown),
    "map",
    caption="Heads move as they are grouped: a map of their outputs over training.",
)

# %%
run.animation(figures.head_map_animation(shown), "map_animation", caption="Heads move as they are grouped, as an animation.")

# %% [markdown]
# The public code counts padded positions among a head's vector. What that changes for the GHT model, in batches of sentences of
# like length, as training has them, and of any length:

# %%
run.table(tables.padding(translation[GHT], groups, plan["which"]), "padding", split="dev").style.format("{:.4f}")

# %% [markdown]
# ## Who stays, and what are they?
#
# Share of batches in which a head was the best of its group; outlined heads stay.

# %%
run.figure(
    figures.votes(tables.votes(translation[PS])),
    "votes",
    caption="The share of votes that each head won, and which heads stay.",
)

# %% [markdown]
# Functions (notebook 2) and LRP relevance (notebook 1) of all heads of the model that votes, and which heads Voting-to-Stay
# keeps; then the same for the model trained without the constraint, where votes, L0 gates and gradient importance choose
# from the very same heads. In the last table the number of shared heads stands beside what chance would share. Voting keeps
# as many heads in every layer; the others may empty one.

# %%
found = {}
constrained = {"constraint": "with the group constraint", "plain": "without the group constraint"}
for name, methods in tables.ways(translation).items():
    found[name] = tables.pillars(methods, grouping.runs.stages(next(iter(methods.values())))[0], parser)
    run.figure(
        figures.kept_heads(found[name]),
        f"pillars_{name}",
        caption=f"Relevance and functions of the heads of a model trained {constrained[name]}, and which of them stay.",
        table="overlap",
        split="dev",
    )
shared = pd.concat({name: tables.overlap(table) for name, table in found.items()}, names=["model"])
run.table(shared, "overlap", split="dev").style.format("{:.2f}", na_rep="")

# %% [markdown]
# ## What each part brings (Table 3)
#
# The eight rows of the paper's ablation and our variants, each against GHT or GHT-PS on the same resampled sentences; hollow
# marks are the paper's mean change over five IWSLT sets. A part is needed if the row without it lies below zero. Many rows
# are compared here, so one beyond its interval may be luck. And some rows share a first stage, or a vote too (the votes
# after plain training, with and without a constraint in the second stage): what is peculiar to that one stage or vote shows
# in all of its rows, which are no independent observations.

# %%
if "ablations" in plan["parts"]:
    parts = grouping.runs.Rows(run.settings, subjects.TRANSLATION, seed)
    picked = {name: translation[name] for name in (*parts.main(), *parts.ablations())}
    ablated = tables.ablation(picked, counted[subjects.TRANSLATION], repeats)
    run.table(ablated.set_index(["model", "row"]), "table3_ablation", resamples=repeats)
    run.figure(
        figures.ablation(ablated[ablated.row != grouping.runs.PRINTED_4A]),
        "ablation",
        caption="What each part of grouped training brings, left out one at a time.",
        answers="Ni et al., table 3",
        table="table3_ablation",
        resamples=repeats,
    )
else:
    print("Not in this run: the setting grouping.parts does not ask for it.")

# %% [markdown]
# The paper's eight rows over trainings, each against the GHT or GHT-PS of its own seed, so that no first stage is shared by
# all that is seen of a row (Holm's correction is in the table):

# %%
if "ablations" in plan["parts"] and plan["ablation_seeds"] > 1:
    eight = grouping.runs.table_3(run.settings, seed)
    again = tables.ablation_over_seeds(eight, tables.statistics(eight, plan["beam"]))
    run.table(again.set_index(["model", "row"]), "table3_seeds")
    run.figure(
        figures.ablation(again),
        "ablation_seeds",
        caption=f"What each part of grouped training brings, over {plan['ablation_seeds']} trainings.",
        answers="Ni et al., table 3",
        table="table3_seeds",
    )

# %% [markdown]
# "Votes once settled" is the paper's algorithm to the letter: the first stage ends as soon as the centres shift less than a
# threshold from one look to the next, and the second gets the steps that are left. The paper does not give its threshold.

# %%
settled = tables.constraint_terms(first, groups)
run.table(settled.set_index("step"), "settling").style.format("{:.3f}", na_rep="")

# %% [markdown]
# ## How many groups? (Fig. 3) And how tight? (Fig. 2)
#
# In the paper GHT-PS comes near GHT from two groups on. Outside profile `paper` heads are far narrower, so that one head of
# each group leaves little room for attention. If room is what is missing, GHT-PS rises with every further group, and wider
# heads lose less at the same number of groups; if two heads of a layer are enough in themselves, its line is flat.
# Compactness: in the paper the score rises with the clarity of the groups, then falls as the constraint grows too heavy.

# %%
if "numbers" in plan["parts"]:
    numbers = tables.by_groups(table, groups, plan["translation"]["model"]["heads"])
    run.table(numbers.set_index(["panel", "method", "groups"]), "fig3_number_of_groups", resamples=repeats)
    run.figure(
        figures.score_by_groups(numbers),
        "fig3_number_of_groups",
        caption="Quality by the number of groups.",
        answers="Ni et al., figure 3",
        resamples=repeats,
    )

# %%
if {"ablations", "strengths"} <= set(plan["parts"]):
    strengths = {VANILLA: 0.0, GHT: plan["weight"]}
    strengths |= {f"GHT, weight x {factor:g}": factor * plan["weight"] for factor in plan["strengths"]}
    strengths |= {grouping.runs.NO_HOMOGENISATION: plan["weight"] / 2, grouping.runs.NO_DIVERSIFICATION: plan["weight"] / 2}
    compact = tables.compactness(translation, table, strengths, groups)
    run.table(compact.set_index("label"), "fig2_compactness", resamples=repeats)
    run.figure(
        figures.score_by_compactness(compact),
        "fig2_compactness",
        caption="Quality against how tight and how separate the groups of heads are.",
        answers="Ni et al., figure 2",
        resamples=repeats,
    )

# %% [markdown]
# With more heads in a model as wide, as in the paper's figure, heads are narrower and groups larger:

# %%
if wider := grouping.runs.more_heads(run.settings, seed):
    count = plan["more_heads"]
    again = tables.scores(wider, tables.statistics(wider, plan["beam"]), repeats=repeats)
    numbers = tables.by_groups(again, groups, count)
    run.table(numbers.set_index(["panel", "method", "groups"]), "fig3_more_heads", resamples=repeats)
    run.figure(
        figures.score_by_groups(numbers.assign(panel=f"{count} heads a layer")),
        "fig3_more_heads",
        caption=f"Quality by the number of groups, {count} heads a layer.",
        answers="Ni et al., figure 3",
        resamples=repeats,
    )

# %% [markdown]
# ## Capacity or method? Heads of other widths
#
# What GHT-PS loses may be room: two narrow heads a layer are little attention. So the main rows are trained at other widths of
# a head, the model being as wide as its heads together (as in the paper), beside a model that has
# as many heads as GHT-PS *from the start*. If it is room, the loss goes as heads grow wider, and the model that never had
# more heads does no better. If it is the method, GHT-PS stays behind that model, or behind vanilla, at every width.

# %%
rungs = grouping.runs.ladder(run.settings, seed)
if rungs:
    every = {
        head: tables.scores(found, tables.statistics(found, plan["beam"]), repeats=repeats) for head, found in rungs.items()
    }
    every = tables.ladder(every, seed)
    run.table(every, "ladder_trainings", resamples=repeats)
    over = run.table(tables.ladder_over_seeds(every), "ladder", resamples=repeats)
    shown = over.reset_index().replace({"row": {grouping.runs.AT_START: "as many heads from the start"}})
    run.figure(
        figures.ladder(shown.assign(unit="BLEU")),
        "ladder",
        caption="What grouping changes at several widths of a head, over trainings where there are several.",
        table="ladder",
        resamples=repeats,
    )
    columns = ["seeds", "value", "change", "change_low", "change_high", "p_holm"]
    display(over[columns].style.format("{:.2f}", na_rep="").format("{:.0f}", subset=["seeds"]))
else:
    print("Not in this run: the setting grouping.ladder is empty.")

# %% [markdown]
# ## Alpha, beta and the map, chosen on dev
#
# The paper takes the best of a sweep for each set. Here one of them is changed at a time, the row of least *dev* loss is
# taken, and its test score stands beside that of the usual setting. A choice among many gains something by luck alone: the
# control is the best, by dev loss again, of several plain trainings that differ in nothing but their seed.

# %%
width = plan["translation"]["model"]["width"] // plan["translation"]["model"]["heads"]
if "sweep" in plan["parts"] and width in rungs:
    chosen = tables.chosen_on_dev(table, every.loc[width])
    display(run.table(chosen, "chosen_on_dev", split="test").style.format(precision=2))

# %% [markdown]
# ## Does it work on a model that is trained already? (the paper's open question)
#
# The same on a trained model of notebook 3: two further stages for all, with the constraint (GHT), with the constraint and a
# vote between them (GHT-PS), with the vote alone, and without anything. If it is the vote that costs, both rows with a vote
# fall alike; if it is the constraint, GHT falls too.

# %%
if start:
    late = grouping.runs.from_converged(run.settings, start, seed)
    again = tables.statistics(late, plan["beam"])
    later = tables.scores(late, again, grouping.runs.FURTHER, repeats)
    run.table(later, "converged", resamples=repeats, model=subjects.names(run.settings, models)[0])
    display(later.style.format(precision=2))
else:
    print("Not in this run: the setting grouping.converged is 0.")

# %% [markdown]
# ## Seeds
#
# With several seeds the intervals here are over trainings, not over test sentences; the claims about what the constraint
# does need at least three.

# %%
if plan["seeds"] > 1:
    every = tables.per_seed(scored, seed=seed)
    run.table(tables.means_over_seeds(every), "seeds")
    run.figure(figures.seeds(every), "seeds", caption="Each method's score over trainings of several seeds.")
    display(tables.means_over_seeds(every).style.format(precision=2))
else:
    print("One seed in this run: the intervals above are over test examples, not over trainings.")

# %% [markdown]
# ## What limits this
#
# Outside profile `paper` models are far smaller than the paper's and trained briefly, on generated text or small natural
# sets, without dropout, and write greedily. Their heads are narrow: what GHT-PS loses may be room for attention and not the
# method. One direction of translation, one text a task. Alpha, beta, map and weight are not swept for each set, the last
# weights are used instead of an average, models for translation are pre-norm. Encoder self-attention starts from an output
# of zero, other attention does not. Where the section on seeds does not say otherwise there is one seed: intervals are over
# test examples, and many rows are compared.

# %%
verdicts.fill()
