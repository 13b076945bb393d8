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
# Below: what the constraint asks of heads → which heads win the vote → what that costs → tighter groups, no gain → which part
# counts, capacity or method → what the paper leaves open: a model that is trained already, a decoder of today.
#
# *By interval* says that a 95 % interval excludes zero, each by itself; *(Holm)* that p < `0.05` after Holm's correction over
# the rows of its table. Verdicts are corrected over all rows of the paper's claims.

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

# %% jupyter={"source_hidden": true}
import pandas as pd
from IPython.display import Markdown, display

from helpers import drawing
from helpers.methods import grouping
from helpers.methods.grouping import figures, said, tables
from helpers.methods.grouping.runs import GHT, PS, VANILLA
from helpers.publish import claims
from helpers.reading import readable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout

drawing.style()
plan, repeats = run.settings["grouping"], run.settings["bootstrap"]
start = grouping.runs.start(run.settings, subjects.names(run.settings, models), seed, pretrained)
rows = {kind: grouping.runs.rows_of(run.settings, kind, seed) for kind in subjects.METRICS}
rows = {kind: found for kind, found in rows.items() if found}
counted = {kind: tables.statistics(found, plan["beam"]) for kind, found in rows.items()}
scored = {kind: tables.scores(found, counted[kind], repeats=repeats) for kind, found in rows.items()}
for kind, table in scored.items():
    run.table(table, f"{subjects.setting(kind)}", resamples=repeats)
translation, groups = rows[subjects.TRANSLATION], plan["translation"]["groups"]
n = "n = 1 training per row" if plan["seeds"] == 1 else f"the first of n = {plan['seeds']} trainings per row"
n += f", intervals over {plan['translation']['test']:,} test examples or fewer"

# %%
verdicts = claims.Box(run)

# %% [markdown]
# ## What the constraint asks of heads (sections 3.1 and 3.2)
#
# Each head is one long vector: its value vectors (V), attention weights (A) or outputs (O) over all real tokens of the batch.
# K-means sorts the heads of an attention (of one kind in one layer) into groups; the mean of a group is its *hidden unit*. To
# the cross-entropy per token we add, as mean over attentions,
#
# $$L_z = w \left[ -\frac{\alpha}{k} \sum_i \cos(e_i, \mu_{y_i}) + \frac{\beta}{\binom{C}{2}} \sum_{c < c'}
# \cos(\mu_c, \mu_{c'}) \right]$$
#
# for k heads in C groups, e_i the vector of head i, y_i its group, μ_c the centre of group c, with gradient through heads and
# centres: towards the own centre, away from the others. The picture shows the attention whose groups stand out most: what the
# formula asks for, and what training with and without it makes of its heads.

# %% jupyter={"source_hidden": true}
strong = max(plan["strengths"][:-1], default=0)
tight = f"GHT, weight x {strong:g}"  # a constraint that is felt, and does not yet ruin the model
compared = {name: translation[name] for name in (VANILLA, GHT, tight) if name in translation}
site, matrices, labels, apart = tables.pictured(compared, groups, list(compared)[-1])
run.table(apart, "groups")
run.figure(
    figures.groups(matrices, labels),
    "groups",
    caption="Cosines between the heads of the attention whose groups stand out most, sorted by group, before and after.",
    takeaway=said.apart(apart, groups, plan["weight"], site),
)
display(Markdown(f"{said.shown(apart, site)} {said.deepened(apart)}"))

# %% [markdown]
# As printed (equation 4B) the signs push the members of a group *apart*; we use the signs above, which are what the text and
# the public code mean. The paper does not say what w is against a loss per token; its code adds the sum over attentions to a
# loss that is a *sum* over tokens, which makes w the number of attentions over the tokens of a batch.
#
# *Voting-to-Stay.* The model is frozen for one epoch. In every batch the head closest to the centre of its group gets a
# vote; in the end the head with most votes of each group stays, the others are removed for good, and training goes on
# without the constraint. The public code clusters padding, too, lets votes decide without regard to groups, and does not
# freeze. All rows below see the same number of training steps: a share before the vote (the first stage; setting
# `grouping.first`), the rest after it (the second). So GHT-PS has its final shape for a part of the steps only.

# %% jupyter={"source_hidden": true}
settings = {kind: plan[subjects.setting(kind)] for kind in rows}
facts = pd.DataFrame({kind: {**part["model"], **part} for kind, part in settings.items()}).T.rename_axis("task")
told = f"α = {plan['alpha']:g}, β = {plan['beta']:g}, heads compared by {plan['which']} (above), weight w = {plan['weight']:g}"
columns = {
    "task": "task",
    "text": "text",
    "steps": "steps",
    "groups": "groups",
    "layers": "layers per stack",
    "heads": "heads per layer",
}
display(readable(facts, columns | {"width": "width"}, caption=told))
steps = plan["translation"]["steps"]
before, final = round(plan["first"] * steps), said.late(steps, plan["first"])
told = f"({before:,} of {steps:,}) come before the vote, {steps - before:,} after it"
sites, tokens = len(tables.sites(grouping.runs.stages(translation[VANILLA])[0])), plan["translation"]["batch_tokens"]
ours = (
    f"The public code's sum comes to w = {sites / tokens:.3f} or more here ({sites} attentions, {tokens:,} tokens of a batch,"
)
ours = f"{ours} both languages and padding among them); we use {plan['weight']:g}"
display(Markdown(f"In translation the first {100 * plan['first']:.0f} % of the steps {told}. {ours}."))
share = run.table(tables.votes(translation[PS]).set_index(["kind", "layer", "head"]), "votes").reset_index()
run.figure(
    figures.votes(tables.of_sites(share, site)),
    "votes",
    caption="Share of batches in which each head won the vote of its group, and which stay; alone: the only head of its group.",
    takeaway=said.settled(share),
)

# %% [markdown]
# ## Does it help, and what does it cost? (Tables 1, 2, 4, 5 and 6)
#
# The figure on top: gains over vanilla on the three tasks; open diamonds are the printed gains, the best of a sweep over
# alpha, beta and the map for each set, with averaged checkpoints. An interval that holds both zero and the diamond cannot
# tell the two apart.
#
# Is grouping a good way to make a model small? Below its score stands beside controls of equal size: *fewer layers* (the
# paper's Lite1), *narrower* (Lite2), and as many heads chosen before training, by lot, by *gradient importance* and by *L0*
# gates. Speed is measured on the removed models, greedy, ten new tokens for each of `64` examples, on one thread, as ratio to
# vanilla in the same round. The file `table1_translation` has the printed numbers, *GHT-PS-LITE* (feed-forward layers half as
# wide) and *disagreement* (Li et al. 2018), which only pushes heads apart.

# %% jupyter={"source_hidden": true}
shapes = {kind: plan[subjects.setting(kind)]["model"] for kind in scored}
gained = tables.gains(scored, {kind: shape["width"] // shape["heads"] for kind, shape in shapes.items()})
run.table(gained.set_index(["task", "method"]), "gains", resamples=repeats)
run.figure(
    figures.gains(gained.loc[said.first_metrics(gained).index]),
    "gains",
    caption="What grouped training changes on each of the three tasks.",
    takeaway=said.gains(gained),
    show=False,
    resamples=repeats,
)
chosen = tables.of_table_1(translation)
cost, fast = tables.costs(chosen), run.table(tables.speed(chosen), "speed", over=intervals.ROUNDS)
table = scored[subjects.TRANSLATION]
of_table_1 = table[table.index.isin(chosen, level="row")]
table_1 = run.table(tables.table_1(of_table_1, cost, fast), "table1_translation", resamples=repeats)

# %% jupyter={"source_hidden": true}
by_seed, size, means, bleu, both = tables.per_seed(scored, seed=seed), None, None, (None, ""), None
if plan["seeds"] > 1:
    means = run.table(tables.means_over_seeds(by_seed), "seeds")
if "peers" in plan["parts"] and plan["ablation_seeds"] > 1:
    peers, same = grouping.runs.equal_size(run.settings, seed), (grouping.runs.AT_START, grouping.runs.RANDOM)
    if "ablations" in plan["parts"]:  # as many heads, for all steps or at random
        peers |= {name: spec for name, spec in grouping.runs.table_3(run.settings, seed).items() if name.startswith(same)}
    size = run.table(tables.equal_size(peers, tables.statistics(peers, plan["beam"])), "equal_size")
changed = tables.first_scores(scored[subjects.TRANSLATION])
if means is not None:
    changed = both = means.loc[means.index[0][0]].rename(columns=lambda name: name.replace("change_mean", "change"))
    both = both.drop(columns=["change_low", "change_high"]).rename(columns={"mean": "value"})
if size is not None and means is not None:
    both = pd.concat([both, size])
    bleu = both.value, f" (means over {both.seeds.min()} trainings)"
run.figure(
    figures.quality_against_cost(tables.against_cost(table_1, "translation")),
    "cost",
    caption="Translation quality against parameters and speed, grouped models beside controls of equal size.",
    show=False,
    answers="Ni et al., tables 1 and 2",
    table="table1_translation",
    resamples=repeats,
)
run.figure(
    figures.equal_size(tables.of_one_size(table_1, both)),
    "equal_size",
    caption="BLEU with one head per group beside vanilla and controls of equal size (parameters without embeddings).",
    takeaway=said.sized(table_1, size, *bleu),
    answers="Ni et al., tables 1 and 2",
    table="equal_size" if size is not None else "table1_translation",
)
display(Markdown(said.cost(table_1, *bleu)))
if size is not None:
    display(Markdown(said.rivals(size, final)))

# %% jupyter={"source_hidden": true}
others = {kind: found for kind, found in scored.items() if kind != subjects.TRANSLATION}
if others:
    second = run.table(tables.table_others(others), "table4_table6_other_tasks", resamples=repeats)
    columns = {"task": "task", "row": "model", "metric": "metric", "value": "score", "gain": "gain (positive is better), %"}
    shown = second[second.index.isin((VANILLA, GHT, PS), level="row")]
    shown = shown[~shown.index.isin(("ROUGE-2", "ROUGE-L"), level="metric")]  # they are in the file
    plain = shown.index.isin((VANILLA,), level="row")
    shown = shown.assign(gain=shown.gain.mask(plain), **{"printed gain": shown["printed gain"].mask(plain)})
    columns |= {"printed gain": "printed gain, %"}
    if means is None:  # else the first training alone would stand beside the means of all
        display(readable(shown, columns, dict.fromkeys(("gain", "printed gain"), "+.1f"), caption=f"Tables 4 and 6; {n}"))
if means is not None:
    columns = {"task": "task and metric", "method": "model", "seeds": "n (trainings)", "mean": "score"}
    told = "Means over trainings, t-intervals; other metrics and test sets: file seeds"
    shown = said.scores(means, by_seed, gained)
    columns |= {"gain": "gain (positive is better), %"}
    display(readable(shown, columns, {"mean": ".2f", "gain": "+.1f"}, caption=told))
for kind in others:
    found = {name: rows[kind][name] for name in (VANILLA, GHT, PS)}
    run.table(tables.costs(found).join(tables.speed(found)), f"cost_{subjects.setting(kind)}", over=intervals.ROUNDS)

# %% [markdown]
# What is attention worth here at all? The test scores of the vanilla models with all heads of a kind off at once, nothing
# trained afterwards. Where little is lost, no constraint on these heads can show much.

# %% jupyter={"source_hidden": true}
worth = tables.worth_of_attention(rows, plan["beam"], repeats)
run.table(worth, "worth_of_attention", split="test", resamples=repeats)
first = worth.xs(VANILLA, level="row").reset_index()
first = first[first.metric.isin([metrics[0] for metrics in subjects.METRICS.values()])].drop_duplicates(["task", "kind"])
columns = {"task": "task", "metric": "metric", "whole": "score, all heads", "kind": "heads off", "change": "change"}
told = f"All heads of a kind off, weights as stored in half precision; {n}"
shown = first.assign(metric=first.metric.replace({"perplexity": "perplexity (less is better)"}))
display(readable(shown, columns, {"whole": ".1f", "change": "+.1f"}, caption=told))
display(Markdown(f"{said.worth(first)} {said.levels(first, table_1.value, both)}".strip()))
if subjects.SUMMARIZATION in rows:
    found = rows[subjects.SUMMARIZATION]
    wrote = tables.examples({name: found[name] for name in (VANILLA, GHT, PS)}, plan["beam"], 1)
    display(readable(wrote.set_axis(["text"], axis=1).rename_axis("a summary"), caption="The first example of the test set"))

# %% [markdown]
# ## Do tighter groups make better models? (Figs. 2 and 4)
#
# From no constraint to a hundred times the study's weight: how tight the groups of heads are in the end (silhouette, mean over
# attentions), and what BLEU does. The file `fig4_constraint` has both cosines over training. Heads of random directions have a
# mean cosine of one over the root of their number with their centre: heads that stay there form no groups.

# %% jupyter={"source_hidden": true}
compact = None
if {"ablations", "strengths"} <= set(plan["parts"]):
    strengths = {VANILLA: 0.0, GHT: plan["weight"]}
    strengths |= {f"GHT, weight x {factor:g}": factor * plan["weight"] for factor in plan["strengths"]}
    strengths |= {grouping.runs.NO_HOMOGENISATION: plan["weight"] / 2, grouping.runs.NO_DIVERSIFICATION: plan["weight"] / 2}
    compact = tables.compactness(translation, table, strengths, groups)
    run.table(compact.set_index("label"), "fig2_compactness", resamples=repeats)
    run.figure(
        figures.score_by_compactness(compact),
        "fig2_compactness",
        caption="How tight groups of heads are, and what BLEU does, from no constraint to a hundred times the study's.",
        takeaway=said.tighter(compact),
        answers="Ni et al., figure 2",
        resamples=repeats,
    )
followed = {name: tables.both_stages(translation[name], groups) for name in (VANILLA, GHT, tight) if name in translation}
run.table(pd.concat(followed, names=["row", "look"]), "fig4_constraint")
level, over_time = (groups / len(next(iter(labels.values())))) ** 0.5, said.constraint(followed, len(labels[GHT]), groups)
run.figure(
    figures.constraint_over_training(followed, level),
    "fig4_constraint",
    caption="Both terms of the group constraint over training, with and without it.",
    answers="Ni et al., figure 4",
    takeaway=over_time,
    show=compact is None,
)
if compact is not None:
    display(Markdown(over_time))

# %% [markdown]
# Further pictures of the run, in its folder: `similarity` (all attentions as in the picture of one above, heads that stay
# marked), `map` and `map_animation` (heads move as they are grouped: classical scaling of `1 - cosine`). The public code counts
# padded positions among a head's vector; what that changes for the GHT model, in batches of sentences of like length, as
# training has them, and of any length:

# %% jupyter={"source_hidden": true}
first, remain = grouping.runs.stages(translation[PS])[0], tables.remaining(translation[PS])
moved = tables.map_of_heads(first, groups, remain)
moved = moved[moved.site.isin(["encoder 1", "encoder 2", "cross 1", "decoder 1"])]
similar = figures.similarity(*tables.similarity(first, groups), ("random weights", "after GHT, stage 1"), remain)
maps = (figures.head_maps_over_training(moved), figures.head_map_animation(moved))
for figure, name, caption in (
    (similar, "similarity", "Cosines between the heads of each layer before and after training with the group constraint."),
    (maps[0], "map", "Heads move as they are grouped: a map of their outputs over training."),
    (maps[1], "map_animation", "Heads move as they are grouped, as an animation."),
):
    run.figure(figure, name, caption=caption, show=False)
padded = run.table(tables.padding(translation[GHT], groups, plan["which"]), "padding", split="dev")
columns = {"batches of": "batches of", "padded": "padded positions", "regrouped": "heads in another group"}
forms = {"padded": ".1%", "regrouped": ".1%", "cosine": ".3f"}
readable(padded, columns | {"cosine": "change of cosines"}, forms, caption="Padding counted, one GHT model")

# %% [markdown]
# ## Who stays, and what are they?
#
# Functions (notebook 2) and LRP relevance (notebook 1) of the heads that votes keep and, in a model trained without the
# constraint, that votes, L0 gates and gradient importance keep of the very same heads (one training; file `overlap`, pictures
# `pillars_constraint` and `pillars_plain`).

# %% jupyter={"source_hidden": true}
constrained, found = {"constraint": "with the group constraint", "plain": "without the group constraint"}, {}
for name, methods in tables.ways(translation).items():
    found[name] = tables.pillars(methods, grouping.runs.stages(next(iter(methods.values())))[0], parser)
shared = run.table(pd.concat({name: tables.overlap(part) for name, part in found.items()}, names=["model"]), "overlap")
for name, part in found.items():
    run.figure(
        figures.kept_heads(part),
        f"pillars_{name}",
        caption=f"Relevance and functions of the heads of a model trained {constrained[name]}, and which of them stay.",
        takeaway=said.kept(shared),
        show=False,
        table="overlap",
        split="dev",
    )
display(Markdown(said.kept(shared)))

# %% jupyter={"source_hidden": true}
if "ablations" in plan["parts"]:
    display(
        Markdown("""## What each part brings (Table 3)

The eight rows of the paper's ablation, each against the GHT or GHT-PS of its own seed; open marks are the paper's mean change
over five IWSLT sets. Some rows share a first stage, or a vote too: what is peculiar to that one stage or vote shows in all of
its rows. *Homogenisation* pulls to the own centre, *diversification* pushes centres apart; *heads chosen before training*: the
vote before any training; *vote without constraint*: on a model trained plainly; *random heads removed*: as many of each layer
by lot, whatever their group; *random member stays*: one of each group by lot; *stage 1* and *2*: before and after the vote.
Further variants are in the file `table3_ablation`, such as *votes once settled*, the paper's algorithm to the letter: stage 1
ends when centres shift less than a threshold, which it does not give (file `settling`).""")
    )
several, without = "ablations" in plan["parts"] and plan["ablation_seeds"] > 1, None
if "ablations" in plan["parts"]:
    parts = grouping.runs.Rows(run.settings, subjects.TRANSLATION, seed)
    picked = {name: translation[name] for name in (*parts.main(), *parts.ablations())}
    ablated = tables.ablation(picked, counted[subjects.TRANSLATION], repeats)
    run.table(ablated.set_index(["model", "row"]), "table3_ablation", resamples=repeats)
    without = ablated[ablated.row != VANILLA]  # which is no part of the method
    run.figure(
        figures.ablation(without),
        "ablation",
        caption="What each part of grouped training brings, left out one at a time.",
        takeaway=said.ablation(without),
        show=not several,
        answers="Ni et al., table 3",
        table="table3_ablation",
        resamples=repeats,
    )
if several:
    eight = grouping.runs.table_3(run.settings, seed)
    again = tables.ablation_over_seeds(eight, tables.statistics(eight, plan["beam"]))
    run.table(again.set_index(["model", "row"]), "table3_seeds")
    without = again[again.row != VANILLA]
    run.figure(
        figures.ablation(without),
        "ablation_seeds",
        caption=f"What each part of grouped training brings, over {plan['ablation_seeds']} trainings.",
        takeaway=said.ablation(without),
        answers="Ni et al., table 3",
        table="table3_seeds",
    )
if without is not None:
    display(Markdown(said.printed(without)))

# %% jupyter={"source_hidden": true}
settled = tables.constraint_terms(first, groups)
run.table(settled.set_index("step"), "settling")
drawn = None
if "numbers" in plan["parts"]:
    display(
        Markdown("""## How many groups? (Fig. 3)

In the paper GHT-PS comes near GHT from two groups on. With as many groups as heads nothing is pruned, so that its line must end
at that of GHT; how early it gets there says how many heads are enough (picture below, left; file `fig3_more_heads` for twice as
many heads). One training per point, intervals over test sentences, paired with vanilla of as many heads.""")
    )
    count, wider = plan["more_heads"], grouping.runs.more_heads(run.settings, seed)
    numbers = tables.by_groups(table, groups, plan["translation"]["model"]["heads"])
    run.table(numbers.set_index(["panel", "method", "groups"]), "fig3_number_of_groups", resamples=repeats)
    size_of, usual = plan["translation"]["model"]["width"], plan["translation"]["model"]["heads"]
    drawn = [numbers.assign(panel=f"{usual} heads per layer, head dimension {size_of // usual}")]
    if wider:
        more = tables.by_groups(tables.scores(wider, tables.statistics(wider, plan["beam"]), repeats=repeats), groups, count)
        run.table(more.set_index(["panel", "method", "groups"]), "fig3_more_heads", resamples=repeats)
        drawn.append(more.assign(panel=f"{count} heads per layer, head dimension {size_of // count}"))
    run.figure(
        figures.score_by_groups(pd.concat(drawn)),
        "fig3_number_of_groups",
        caption="What each number of groups changes in BLEU, one training per point, intervals over test sentences, paired.",
        takeaway=said.numbers(numbers),
        answers="Ni et al., figure 3",
        show=not plan["ladder"],
        resamples=repeats,
    )
    if plan["ladder"]:
        display(Markdown(said.numbers(numbers)))
    if wider:
        display(Markdown(said.more_heads(more, count)))

# %% jupyter={"source_hidden": true}
rungs, over = grouping.runs.ladder(run.settings, seed), None
if rungs:
    display(
        Markdown("""## Too few heads, or the method? Heads of other widths

What GHT-PS loses may be heads or width: two narrow heads per layer are little attention. So the main rows are trained at other
head dimensions, the model being as wide as its heads together (as in the paper), beside a model whose *heads are chosen before
training*, as many as GHT-PS keeps. Too few heads cost both; late choice and method together stand between them. Left, more
heads are kept; right, heads and model grow wider (all numbers, levels among them: file `ladder`).""")
    )
    counts = {head: tables.statistics(found, plan["beam"]) for head, found in rungs.items()}
    every, few = (
        tables.ladder({head: tables.scores(found, counts[head], name, repeats) for head, found in rungs.items()}, seed)
        for name in (VANILLA, grouping.runs.AT_START)
    )
    run.table(every, "ladder_trainings", resamples=repeats)
    over = run.table(tables.ladder_over_seeds(every, few), "ladder", resamples=repeats)
    over = over.rename(index=said.named, level="row")
    run.figure(
        figures.ladder(
            over.reset_index().assign(unit="BLEU"), plan["translation"]["model"]["heads"], drawn and drawn[0], groups
        ),
        "ladder",
        caption="What grouping changes at several widths of a head, over trainings where there are several.",
        takeaway=said.ladder(over, said.FEW, plan["translation"]["model"]["heads"]),
        table="ladder",
        resamples=repeats,
    )
    told = "What GHT-PS loses more is the price of choosing late, method and training time not separated"
    own = plan["translation"]["model"]["width"] // plan["translation"]["model"]["heads"]
    paid = said.price(without, over, own)
    display(Markdown(f"{told}: {final}. {paid} {said.scarce(over)}".strip()))

# %% jupyter={"source_hidden": true}
width = plan["translation"]["model"]["width"] // plan["translation"]["model"]["heads"]
if "sweep" in plan["parts"] and width in rungs:
    display(
        Markdown("""## Alpha, beta and the map, chosen on dev

The paper takes the best of a sweep for each set. Here one of them is changed at a time and the row of least *dev* loss taken;
the control for luck is the best of plain trainings that differ in nothing but their seed (file `chosen_on_dev`).""")
    )
    chosen = run.table(tables.chosen_on_dev(table, every.loc[width]), "chosen_on_dev", split="test")
    display(Markdown(said.chosen(chosen)))

# %% jupyter={"source_hidden": true}
if start:
    display(
        Markdown(f"""## Does it work on a model that is trained already? (the paper's open question)

The same on a trained model of notebook 3: two further stages of {plan["converged_steps"]:,} steps for all, with the constraint
(GHT), with the constraint and a vote between them that keeps {groups} heads per layer (GHT-PS), with the vote alone, and
without anything. The model itself had {run.settings["training"]["steps"]:,} steps. It translates other text, has
{run.settings["model"]["layers"]} encoder layers (the models above: {plan["translation"]["model"]["layers"]}) and trains on at a
learning rate of {plan["converged_rate"]:g} (above: {plan["translation"]["learning_rate"]:g}): what it loses does not compare
with the cost above.""")
    )
    late = grouping.runs.from_converged(run.settings, start, seed)
    later = tables.scores(late, tables.statistics(late, plan["beam"]), grouping.runs.FURTHER, repeats)
    run.table(later, "converged", resamples=repeats, model=subjects.names(run.settings, models)[0])
    later, heads = later.assign(change=later.change.where(later.p_holm.notna())), run.settings["model"]["heads"]
    columns = {"row": "row", "value": "BLEU", "change": "minus further training", "p_holm": "p (Holm)"}
    forms = {"value": ".1f", "change": "+.1f", "p_holm": "p"}
    shown = later.rename(said.named, level="row")
    display(Markdown(said.converged(later, groups, heads)))
    display(readable(shown, columns, forms, caption="A trained model that trains further; n = 1 training"))

# %% jupyter={"source_hidden": true}
if today := grouping.runs.today(run.settings, seed):
    display(
        Markdown("""## A decoder of today

Decoders of today read few keys and values: query heads share them in groups. A small Llama is trained on stories, once with
keys and values for each head, once with shared ones from the start; all rows train for as many steps. Three questions:

- *Can heads come to share keys later?* Heads of the first model are put together: *neighbours* (plain mean-pooling, Ainslie et
  al. 2023), *groups* of heads that are alike in the sense of equation 3, the head with *most votes* instead of the mean, each
  against *random groups*. *Rotated* heads are first brought into one basis, which changes nothing before the mean is taken.
- *Does the constraint do anything here?* Both models are trained with it and voted on, the second compared by outputs, for
  heads that share keys have the same value vectors.
- *Which query heads can go?* L0 gates (Voita et al.) against gradient importance and chance at as many heads, on a line between
  the counts that were tried. Half of L0's second stage goes into its gates (gates with λ = `0` say what that costs), so
  *L0's heads* are also removed at once from the second model and trained like their rivals.""")
    )
    worth = tables.worth_of_attention(tables.decoders(today), plan["beam"], repeats)
    run.table(worth, "worth_of_attention_today", split="test", resamples=repeats)
    found = run.table(tables.today(today, tables.statistics(today, plan["beam"]), repeats), "today", resamples=repeats)
    columns = {"row": "row", "heads": "heads left", "value": "perplexity, less is better", "change": "difference"}
    columns |= {"against": "to", "importance": "minus gradient importance, as many heads"}
    forms = {"heads": ".0f", "value": ".2f", "change": "+.2f", "importance": "+.2f"}
    told = "The constraint, the best way to share, and of gates and importance the rows nearest to the heads that GHT-PS keeps"
    told += " (file `today`); n = 1 training"
    display(readable(said.today_short(found), columns, forms, {"value": "least"}, caption=told))
    display(Markdown(f"{said.today_constraint(found)} {said.today_worth(found, worth)}"))
    run.figure(
        figures.today(found.reset_index()),
        "today",
        caption="A decoder of today after further training: heads that come to share keys and values, and query heads that go.",
        takeaway=said.today(found),
        table="today",
        resamples=repeats,
    )
    display(Markdown(f"{said.today_shared(found)} {said.today_vote(found)}".strip()))

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
fit = "generated" if run.corpus == "controlled" else "natural"
weight = said.strength(apart, groups, tables.first_scores(table).value)
judged = {one.claim.id: one for one in claims.of_run(run.folder, run.corpus)}["constraint-translation"]
worse = said.same_size(size) if size is not None else ""
worse = ". ".join(part for part in (worse, said.at_printed(over)) if part)
extra, path = [weight, worse, said.vote(without)], layout.Chapter(study.ROOT / "figures" / "natural" / run.name).table("seeds")
answer = said.lead(gained, judged.verdict, fit)
if run.corpus == "controlled" and path.exists():
    natural, why = said.elsewhere(pd.read_csv(path), claims.least_worth("constraint-translation", run.corpus))
    answer, extra = f"{answer}\n\n{natural}", [*extra, why]
translated = gained[gained.method == GHT].p_holm.iloc[0]
p = translated, judged.rows[0].holm if judged.rows else float("nan")
details = said.bullets(changed, table_1["heads"], int(gained.seeds.min()), p, extra)
closing = f"""
{said.short(apart, groups, tables.first_scores(table).value, over, without, width)}

*Limits.* {fit.capitalize()} text, models far smaller than the paper's, no dropout, greedy writing, head dimension {width}
(`64` in the paper), one training where no table says otherwise ([all differences](../docs/differences.md)).
"""
verdicts.fill("gains", closing, first=answer, more=details)
