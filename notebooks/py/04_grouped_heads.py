# ---
# jupyter:
#   jupytext:
#     formats: notebooks//ipynb,notebooks/py//py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 4 · Can the heads of a layer be grouped, and one of each group kept?
#
# [← notebook 3, L0 pruning](03_l0_pruning.ipynb) · [notebook 5, coreference injection →](05_coreference_injection.ipynb) ·
# [all claims](../docs/results.md)
#
# Many attention heads may do nearly the same. Ni et al. 2023 ([Grouped Head Attention](https://arxiv.org/abs/2305.14380))
# make them do so on purpose. While a model trains, an extra term of its loss, the *constraint*, sorts the heads of each
# attention into groups. It pulls the heads of a group together and pushes groups apart. That is GHT. Then the heads vote, one
# head of each group stays, a *pillar of strength*, and training goes on. That is GHT-PS. Here:
#
# 1. **The constraint groups heads**, as in the paper. But at our weight they go only **18 %**<!-- 04/redundancy row=GHT
#    formed:.0% --> of the way to full grouping, where heads of a group are alike and the two groups opposite. Ten times the
#    weight brings **64 %**<!-- 04/redundancy row="GHT, weight x 10" formed:.0% -->.
# 2. **We see no gain from it**; the paper has `1.2` BLEU. Over five trainings it is lower at our weight.<!-- holds:
#    04/both_intervals method=GHT over=trainings change_high < 0 --> With ten times the weight its
#    whole interval lies below the paper's gain.<!-- holds: regimes/tight_claims method=GHT high < 0.3 -->
# 3. **One head a group is too few.** The paper keeps `1.1` BLEU of its gain. We lose **7.0**<!-- 04/gains
#    task="translation, BLEU" method=GHT-PS -change:.1f -->, and **8.6**<!-- regimes/tight_claims
#    method=GHT-PS -change:.1f --> with ten times the weight. Narrower or shallower models as small
#    lose less.<!-- holds: 04/equal_size control=narrower p_holm < 0.05 --><!-- holds: 04/equal_size control="fewer layers"
#    p_holm < 0.05 -->
# 4. **Which parts are needed we cannot tell.**<!-- holds: 04/table3_seeds row="random member stays" p_holm > 0.05 --><!--
#    holds: 04/table3_seeds row="V2S at the start" p_holm > 0.05 --> In the paper all are.
#
# **What is compared.** Our models are small and learn a *toy language*, generated text whose grammar we know. The translator
# has six attentions (two in the encoder, two in the decoder, two from decoder to encoder) of eight heads, in two groups. A
# head has dimension `16`. *Vanilla* is the same model, trained for as many steps (`4,000`) without the constraint.
#
# **How to read a difference.** It is the paper's method minus what it is held against.
# Intervals are 95 % intervals: of filled marks over trainings, of open marks over the test sentences of one. Only a filled
# mark can be *clear*: its interval leaves out zero and, where rows are corrected for (models of one size, table 3, little
# text), Holm's p-value is below `0.05`.

# %% jupyter={"source_hidden": true} tags=["parameters"]
profile: str = "laptop"  # tiny, quick, laptop, natural, europarl or paper: sizes only, each can be overridden below
corpus: str = ""  # "controlled" or "natural"; empty: the profile's own
models: str = ""  # such as "ru-news": the first is the translator whose heads are looked at; empty: the corpus's own
pretrained: str = ""  # a Marian or BART checkpoint (Hub name or folder) to look at instead
data_root: str = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser: str = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed: int = 1
overrides: str = ""  # settings to change, name and value joined by an equals sign, separated by spaces
output: str = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus

# %% jupyter={"source_hidden": true}
import copy
import itertools
import pandas as pd
from helpers import claims, corpora, drawing, heads, papers, plots, study
from helpers.experiments import grouping as tables
from helpers.methods import grouping
from helpers.plan import sources
from helpers.runs import subjects, training
from helpers.scores import intervals, scoring
import torch

run = study.begin("04_grouped_heads", globals())
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# A sentence, translated:

# %%
drawing.style()
plan, repeats = run.settings["grouping"], run.settings["bootstrap"]
block = plan["translation"]
text = subjects.of_text(subjects.corpus(run.settings, subjects.TRANSLATION, seed))
pair = text.pairs(text.tests[0])[0]
print(pair.source, pair.target, sep="\n")

# %% [markdown]
# ## The constraint
#
# In every batch each head becomes one long vector $e_i$: its value vectors for all real tokens, one after another. K-means
# sorts the $k$ heads of an attention into $C$ groups, and the mean of a group is its *centre* $\mu$. With $y_i$ the group of
# head $i$, the constraint is
#
# $$L_z = -\frac{\alpha}{k} \sum_i \cos(e_i, \mu_{y_i}) + \frac{\beta}{\binom{C}{2}} \sum_{c < c'} \cos(\mu_c, \mu_{c'})$$
#
# The first sum is the *pull* of heads to their centre, the second the *push* between centres. The mean of $L_z$ over all
# attentions, times a weight, is added to the loss.

# %% tags=["method"]
import numpy as np


def k_means(e, groups):  # equation 3
    centres = e[np.random.default_rng(0).choice(len(e), groups, replace=False)]  # it begins at heads drawn by lot
    for _ in range(20):  # more rounds than eight heads need
        y = torch.cdist(e, centres).argmin(1)  # a head joins the nearest centre
        centres = torch.stack([e[y == group].mean(0) for group in range(groups)])  # a centre is the mean of its heads
    return y, centres


def constraint(e, groups, alpha=0.5, beta=0.5):  # equation 4B
    y, centres = k_means(e, groups)
    pull = torch.cosine_similarity(e, centres[y]).mean()
    one, other = torch.combinations(torch.arange(groups)).T
    push = torch.cosine_similarity(centres[one], centres[other]).mean() if groups > 1 else 0.0
    return beta * push - alpha * pull


# %% [markdown]
# As printed, the signs of equation 4B push the heads of a group apart; we use those that the paper's text and code mean. It
# does not print the weight. By its code, as we read it, that is about `0.0044` (`18` attentions, added once to the loss of
# some `4,096` tokens). Ours is `0.01`.
#
# How strong are both where nobody grouped, in the translator of notebook 3?

# %%
from helpers.models import inputs

(subject,) = subjects.study_models(run, most=1)
model, batches = subject.model, subject.held_out(2048, 200)
vectors = []  # of each batch, for each attention: a vector for each head
with torch.no_grad(), grouping.watch(model, "V", reduce=lambda e: e.double()) as watched:  # "V": value vectors
    for batch in batches:
        watched.feed(batch)  # says which tokens are real: padding does not count
        model(**inputs(batch))
        vectors.append(watched.grams)
e = vectors[0][0]  # of the first batch and attention
print(f"pull {-constraint(e, 2, alpha=1, beta=0):.2f}, push {constraint(e, 2, alpha=0, beta=1):.2f}")

# %% [markdown]
# The push is near zero, the pull near a half. Are heads half alike? No: a head is part of its own centre. Each of $n$
# unrelated heads of a group has a cosine of $1/\sqrt{n}$ with their mean, a half where $n$ is four.
#
# ## The vote
#
# When the groups have settled, every batch votes: in each group the head nearest to the centre gets a vote. In the end the
# head with most votes in each group stays (algorithm `1`). K-means groups each batch anew. Which groups count in the end the
# paper leaves open; here those of all batches together.


# %% tags=["method"]
def best(worth, y, groups):  # in each group the head of most worth
    return [worth.where(y == group, -torch.inf).argmax().item() for group in range(groups)]


def vote(batches, groups):  # of one attention: in each batch a vector for each head
    votes = torch.zeros(len(batches[0]))
    for e in batches:
        y, centres = k_means(e, groups)
        near = torch.cosine_similarity(e, centres[y])  # of each head and the centre of its group
        votes[best(near, y, groups)] += 1
    y, _ = k_means(torch.cat(batches, dim=1), groups)  # the groups of all batches together
    return best(votes, y, groups)  # the heads that stay


# %% [markdown]
# Does the library, which trained the models below, compute the same?

# %%
labels, _ = grouping.hidden_units(e, groups=2)  # it also refills a group that loses its last head
loss, pull, push = grouping.group_loss(e @ e.T, labels, 2, alpha=0.5, beta=0.5)
print(study.compare(constraint(e, 2), loss))
mine = [sorted(vote([batch[place] for batch in vectors], groups=2)) for place in range(len(watched.places))]
kept = grouping.stay(grouping.ballot(model, batches, "V", groups=2))  # kind, layer and number of each head that stays
print(study.compare(torch.tensor(mine).flatten(), torch.tensor([head for kind, layer, head in kept])))

# %% [markdown]
# ## Train, vote, remove, train, compare
#
# Here is the whole method at a tenth of the study's length and ten times its weight. In stage `1` a small translator
# trains with the constraint. In stage `2` one copy keeps all heads and the constraint (GHT). In another the heads vote, the
# losers go, and training goes on without it (GHT-PS). The control never has it. In the study stage `1` takes `60`
# % of the steps.


# %% tags=["method"]
def pillars(corpus, shape, weight, steps, votes, sentences, seed, training_plan):
    text, cpu = subjects.of_text(corpus), torch.device("cpu")
    train, dev = text.epoch(1024, seed, cpu), text.held_out(4096, 200, cpu)
    pairs, rows = text.pairs(text.tests[0])[:sentences], []

    def fit(model, form=None, groups=1):  # one stage of training, and its BLEU
        beta = 0.5 if groups > 1 else 0.0  # one group has no other to be pushed away from
        grouped = grouping.Grouped(model, form, beta=beta, groups=groups, weight=weight)
        plan = training_plan | {"steps": steps, "learning_rate": 3e-3, "warmup": 50, "evaluate_every": steps}
        training.fit(grouped, train, dev, plan, objective=lambda grouped, batch: grouping.objective(grouped, batch, 0.1))
        texts = training.translate(model, [pair.source for pair in pairs], text.source, text.target)
        return scoring.bleu(texts, [pair.target for pair in pairs], 1)["bleu"]

    for form in (None, "cosine"):  # without the constraint, and with it
        for groups in (1, 2, 4):
            if form or not rows:  # without it, these two trainings serve all numbers of groups
                first = text.build(shape, seed)
                fit(first, form, groups)  # stage 1
                whole = fit(copy.deepcopy(first), form, groups)  # stage 2 with all heads
            model = copy.deepcopy(first)
            kept = grouping.stay(grouping.ballot(model, itertools.islice(train(0), votes), "V", groups))
            heads.remove(model, [address for address in heads.index(model) if address not in kept])
            rows.append(("yes" if form else "no", groups, len(kept), whole, fit(model)))  # stage 2 with those that stay
    return pd.DataFrame(rows, columns=["constraint", "groups", "heads left", "BLEU, all heads", "BLEU, one head a group"])


# %%
steps = max(1, block["steps"] // 20)  # of each of the two stages
given = {"shape": block["model"], "weight": 0.1, "steps": steps, "votes": 100, "sentences": 300}
given |= {"corpus": text.corpus, "seed": seed, "training_plan": run.settings["training"]}
one = run.stored(pillars, corpora.recipe(text.corpus), **given)
run.table(one, "one_grouping").round(1)

# %% [markdown]
# The fewer heads stay, the more BLEU is lost.<!-- holds: 04/one_grouping constraint=yes groups=1 "BLEU, one head a group" <
# 10 --><!-- holds: 04/one_grouping constraint=yes groups=2 "BLEU, one head a group" > 10 --><!-- holds: 04/one_grouping
# constraint=yes groups=2 "BLEU, one head a group" < 16 --><!-- holds: 04/one_grouping constraint=yes groups=4
# "BLEU, one head a group" > 16 --> And in five of six comparisons the model without the constraint is ahead.<!-- holds:
# 04/one_grouping constraint=no groups=2 "BLEU, all heads" > 22.5 --><!-- holds: 04/one_grouping
# constraint=yes groups=1 "BLEU, all heads" < 22.5 --><!-- holds: 04/one_grouping constraint=yes groups=2 "BLEU, all heads" <
# 22.5 --><!-- holds: 04/one_grouping constraint=yes groups=4 "BLEU, all heads" < 22.5 --><!-- holds: 04/one_grouping
# constraint=no groups=1 "BLEU, one head a group" > 9.1 --><!-- holds: 04/one_grouping constraint=yes groups=1
# "BLEU, one head a group" < 9.1 --><!-- holds: 04/one_grouping constraint=no groups=2 "BLEU, one head a group" > 13 --><!--
# holds: 04/one_grouping constraint=yes groups=2 "BLEU, one head a group" < 13 --><!-- holds: 04/one_grouping constraint=no
# groups=4 "BLEU, one head a group" < 18.3 --><!-- holds: 04/one_grouping constraint=yes groups=4 "BLEU, one head a group" >
# 18.3 --> That is no test yet: steps are few.

# %% [markdown]
# ## Does the constraint group the heads? (figure 4)
#
# *The paper:* in training pull and push grow in absolute value; without the constraint they stay flat. *We ask* the same at
# the study's weight, at a tenth, ten and a hundred times that.

# %%
rows = tables.tasks(run.settings, seed)  # task -> row -> how it is trained, in two stages
translation, groups = rows[subjects.TRANSLATION], block["groups"]
weights = {1.0: "GHT"} | {factor: f"GHT, weight x {factor:g}" for factor in plan["strengths"]}
names = ["vanilla", *(weights[factor] for factor in sorted(weights))]
specs = {name: translation[name] for name in names if name in translation}
terms = pd.concat({name: tables.constraint_terms(spec, groups) for name, spec in specs.items()}, names=["row", "look"])
run.table(terms, "fig4_constraint")
terms = terms.assign(**{"pull": terms.homogeneity, "push, sign turned": -terms.diversity}).reset_index()
curves = terms.melt(["row", "step"], ["pull", "push, sign turned"], "term", "cosine")
order = ["GHT", "GHT-PS", *specs]
figure = plots.curve(curves, "step", "cosine", "row", panel="term", falling=False, columns=2, order=order)
run.figure(figure, "terms", "Pull and push in training.", table="fig4_constraint")

# %% [markdown]
# *A line is one training in stage `1`, the mean over six attentions. In full grouping both terms are one.*
#
# As in the paper, both grow, and stay flat without the constraint.<!-- holds: 04/fig4_constraint row=vanilla look=19
# diversity > -0.1 --><!-- holds: 04/fig4_constraint row=vanilla look=19 homogeneity < 0.52 --> But at our weight the pull
# ends at **0.57**<!-- 04/fig4_constraint row=GHT look=19 homogeneity:.2f -->, little more than that of unrelated heads. 
#
# Below are the cosines between the heads of the encoder's first attention after stage `1`. Frames are groups. Red is alike,
# blue opposite.

# %%
place = ("encoder", 0)  # kind of attention and layer, the first is 0
three = {name: specs[name] for name in ("vanilla", "GHT", "GHT, weight x 10") if name in specs}
run.figure(plots.cosines(tables.cosines(three, groups, place)), "groups", "Cosines between the heads of one attention.")

# %% [markdown]
# Without the constraint heads are not alike at all.<!-- holds: 04/redundancy row=vanilla same < 0.05 --> Groups appear with
# it, pale at the study's weight. For all six attentions: *same* is the mean cosine of two heads of one group,
# *other* that of two groups. *grouped* is half their difference: one in full grouping.

# %%
tight = run.table(pd.concat({name: tables.tightness(spec, groups) for name, spec in specs.items()}, names=["row"]), "groups")
means = run.table(tight.groupby("row", sort=False).mean(), "redundancy")
means[["same", "other", "formed"]].rename(columns={"formed": "grouped"}).round(2)

# %% [markdown]
# ## Does the constraint make translation better? (tables 1 and 2, figures 2 and 3)
#
# *The paper:* GHT gains `1.2` BLEU over vanilla's `33.0` (mean of seven test sets). Better grouped models are better, up to a
# point (figure 2). Sixteen heads do best in two to eight groups (figure 3). *We ask* first in the study's own setting, with
# intervals over five trainings and over `1,000` test sentences:

# %%
counted = {task: tables.statistics(specs, plan["beam"]) for task, specs in rows.items()}
scored = {task: tables.scores(specs, counted[task], repeats=repeats) for task, specs in rows.items()}
each, found, test = tables.first(scored[subjects.TRANSLATION]), [], text.tests[0]
draws = {name: scoring.bleu_draws(counted[subjects.TRANSLATION][name, test], repeats) for name in each.index}
for method in ("GHT", "GHT-PS"):
    names = each.index[each.method == method]
    gaps = [draws[name] - draws[name.replace(method, "vanilla")] for name in names]  # the same sentences in both
    found.append((method, "trainings", *intervals.over_runs(each.change[names])[:3]))
    found.append((method, "sentences", *scoring.of_draws(sum(gaps) / len(gaps))))
main = pd.DataFrame(found, columns=["method", "over", "change", "change_low", "change_high"])
run.table(main, "both_intervals", resamples=repeats).round(2)

# %% [markdown]
# GHT is a quarter of a BLEU below vanilla. Over trainings that is clear, over sentences not.<!-- holds:
# 04/both_intervals method=GHT over=trainings change_high < 0 --><!-- holds: 04/both_intervals method=GHT over=sentences
# change_high > 0 --> Both intervals leave out the paper's gain.<!-- holds: 04/both_intervals method=GHT over=sentences
# change_high < 1.2 --> But above our **84**<!-- 04/gains task="translation, BLEU" method=GHT vanilla:.0f --> BLEU there is
# less room than above its `33`.
#
# Are better grouped models better? Here are the four weights, one training each (dashed: the paper's GHT).

# %%
tighter = tables.by_grouping(each, means.formed)
run.table(tighter.set_index("method", append=True), "fig2_grouping", over="sentences", resamples=repeats)
paper = papers.GROUPED_TABLE_1[papers.GROUPED_SETS].mean(axis=1)
labels = ("grouped (see the table above)", "BLEU above vanilla")
figure = plots.curve(tighter, "grouped", "change", "method", labels=labels, falling=False, order=["GHT", "GHT-PS"])
figure.axes[0].axhline(paper["GHT"] - paper["vanilla"], color="black", ls="--", lw=0.9)
run.figure(figure, "grouping", "BLEU against how far heads are grouped.", table="fig2_grouping")

# %% [markdown]
# No. GHT is near vanilla up to ten times the weight, and lower beyond: at **95 %**<!-- 04/redundancy
# row="GHT, weight x 100" formed:.0% --> it loses **2.7**<!-- 04/fig2_grouping row="GHT, weight x 100" -change:.1f --> BLEU.<!--
# holds: 04/fig2_grouping row="GHT, weight x 100" high < 0 --><!-- holds: 04/fig2_grouping row="GHT, weight x 10" high > 0
# --><!-- holds: 04/fig2_grouping row=GHT high > 0 --><!-- holds: 04/fig2_grouping row="GHT, weight x 0.1" high > 0 -->
#
# One training each can mislead. So we trained three settings anew, five times each, by [rules written
# beforehand](../docs/regimes.md): ten times the weight, sixteen heads in eight groups, and *little
# text*, which a regulariser should like: a fifth of the text, half the steps, thirty times the weight.

# %%
shape = block["model"]
numbers = {shape["heads"]: tables.by_groups(scored[subjects.TRANSLATION], groups)}
if wider := tables.runs.more_heads(run.settings, seed):
    more = tables.scores(wider, tables.statistics(wider, plan["beam"]), repeats=repeats)
    numbers[plan["more_heads"]] = tables.by_groups(more, groups)
for table, name in zip(numbers.values(), ("fig3_number_of_groups", "fig3_more_heads"), strict=False):
    run.table(table.set_index(["panel", "method", "groups"]), name, resamples=repeats)
if rungs := tables.runs.ladder(run.settings, seed):  # heads of other dimensions, and models as wide as these together
    widths = run.table(tables.ladder(rungs, plan["beam"], repeats), "ladder", resamples=repeats)

# %%
usual = f"{shape['heads']} heads, {groups} groups"
names = {"tight": f"{usual}, weight x 10", "sixteen": "16 heads, 8 groups", "grouped": "little text, weight x 30"}
numbers[shape["heads"]] = numbers[shape["heads"]].query("groups != @groups")  # that and this dimension are the study's own
others = widths.drop(shape["width"] // shape["heads"], errors="ignore") if rungs else None
ours = main[main.over == "trainings"].assign(setting=usual)
everywhere = tables.in_settings(ours, numbers, others, tables.fresh(names))
run.table(everywhere.set_index(["group", "setting"]), "settings", over="sentences where hollow, else trainings")
figure = plots.dots(everywhere, "setting", "change", "method", "group", "method", "BLEU above vanilla", sharex=False)
for axis, method in zip(figure.axes, ("GHT", "GHT-PS"), strict=True):
    axis.axvline(paper[method] - paper["vanilla"], color="black", ls="--", lw=0.9)
run.figure(figure, "settings", "GHT and GHT-PS in every setting.", table="settings")

# %% [markdown]
# *Dashed: the paper's gain. Models of other dimensions are as wide; sixteen heads have dimension `8`.*
#
# **No setting gains clearly over trainings.**<!-- holds: 04/settings group="five trainings" setting="16 heads, 8 groups"
# method=GHT low < 0 --><!-- holds: 04/settings group="five trainings" setting="little text, weight x 30" method=GHT change < 0
# --> With ten times the weight heads are two thirds grouped, and GHT is
# lower by **0.6**<!-- regimes/tight_claims method=GHT -change:.1f -->, not clearly; but the interval ends at
# **0.1**<!-- regimes/tight_claims method=GHT high:.1f -->, far below the paper's gain.<!-- holds: regimes/tight method=GHT
# seed=8 formed > 0.63 --><!-- holds: regimes/tight method=GHT seed=10 formed < 0.68 -->
#
# On little text vanilla overfits: its loss is **0.23**<!-- regimes/grouped train=20000 dropout=0 method=vanilla seed=1
# train_loss:.2f --> in training and **0.42**<!-- regimes/grouped train=20000 dropout=0 method=vanilla seed=1 dev_loss:.2f -->
# outside. GHT is lower still; after correction that is not clear.<!-- holds: regimes/grouped_claims method=GHT change < 0
# --><!-- holds: regimes/grouped_claims method=GHT p_holm > 0.05 -->
#
# All open marks of sixteen heads lie above zero.<!-- holds: 04/fig3_more_heads method=GHT groups=8
# change > 0 --><!-- holds: 04/fig3_more_heads method=GHT groups=1 change > 0 --><!-- holds: 04/fig3_more_heads method=GHT
# groups=4 change > 0 --><!-- holds: 04/fig3_more_heads method=GHT groups=16 change > 0 --><!-- holds: 04/fig3_more_heads
# method=GHT groups=2 change > 0 --> But they share one vanilla. Trained anew, eight groups bring not
# **1.3**<!-- 04/fig3_more_heads method=GHT groups=8 change:.1f --> BLEU but **0.1**<!-- regimes/sixteen_claims method=GHT
# against=vanilla change:.1f -->: in the first pair vanilla was low and GHT high.<!-- holds: 04/fig3_more_heads method=vanilla
# groups=2 value < 83.2 --><!-- holds: regimes/sixteen method=vanilla seed=5 BLEU > 83.2 --><!-- holds: regimes/sixteen
# method=vanilla seed=4 BLEU > 83.2 --><!-- holds: 04/fig3_more_heads method=GHT groups=8 value > 84.3 --><!-- holds:
# regimes/sixteen method=GHT seed=4 BLEU < 84.3 --><!-- holds: regimes/sixteen method=GHT seed=3 BLEU < 84.3 --> With heads
# **10 %**<!-- regimes/sixteen method=GHT seed=2 formed:.0% --> grouped, that tests no tight groups. The paper's dimension of
# `64` has one training, whose interval holds both zero and the
# paper's gain.<!-- holds: 04/ladder head=64 row=GHT change_low < 0 --><!-- holds: 04/ladder head=64 row=GHT change_high > 1.2
# -->
#
# GHT-PS (right) loses everywhere, the more the fewer heads stay.<!-- holds: 04/settings method=GHT-PS
# group="groups of 8 heads" setting=4 high < 0 --><!-- holds: 04/settings method=GHT-PS group="groups of 16 heads" setting=8
# high < 0 --> Even half of sixteen heads are too few, by **3.0**<!-- 04/fig3_more_heads method=GHT-PS groups=8 -change:.1f -->
# BLEU.

# %% [markdown]
# ## And on other tasks and natural text? (tables 4 and 6)
#
# *The paper:* summaries and language models gain about `3` to `4` %, ROUGE-2 even `17` to `19` %. *We ask* the same on the
# toy language, and on Europarl, news and running English (published tables, three trainings). Differences are in percent of
# vanilla's score, positive where perplexity falls; the table has the scores.

# %%
for name, table in scored.items():
    run.table(table, subjects.setting(name), resamples=repeats)
run.table(tables.worth_of_attention(rows, plan["beam"], repeats), "worth_of_attention", split="test", resamples=repeats)
gained = tables.gains(run.settings, scored)
run.table(gained.set_index(["task", "method"]), "gains", resamples=repeats)
folder = study.ROOT / "figures" / "natural" / "04_grouped_heads" / "tables"
both = tables.on_texts(gained, pd.read_csv(folder / "gains.csv"), pd.read_csv(folder / "seeds.csv"))
figure = plots.dots(both, "task", "gain", series="method", panel="text", label="gain over vanilla, %")
run.figure(figure, "gains", "What grouped training changes on three tasks, here and in the paper.", resamples=repeats)
both.pivot(index=["text", "task", "vanilla"], columns="method", values="level").reset_index("vanilla").round(1)

# %% [markdown]
# **Toy language.** No interval of GHT lies above zero. Of the paper's gains only those of ROUGE-1 and ROUGE-L (not drawn) lie
# in ours.<!-- holds: 04/gains task="summarization, ROUGE-L" method=GHT high > 4.02 --><!-- holds:
# 04/gains task="language modelling, perplexity" method=GHT high < 2.8 --><!-- holds: 04/gains
# task="language modelling, perplexity" method=GHT low < 0 --><!-- holds: 04/gains task="summarization, ROUGE-1" method=GHT
# high > 4.04 --><!-- holds: 04/gains task="summarization, ROUGE-1" method=GHT low < 0 --><!-- holds: 04/gains
# task="summarization, ROUGE-2" method=GHT high < 17 --><!-- holds: 04/gains task="summarization, ROUGE-2" method=GHT low < 0
# --> GHT-PS clearly loses on all three tasks.<!-- holds: 04/gains task="summarization, ROUGE-1" method=GHT-PS high < 0
# --><!-- holds: 04/gains task="language modelling, perplexity" method=GHT-PS high < 0 -->
#
# **Natural text.** The translators are weak: **12.1**<!-- natural/04/seeds panel="translation: europarl_test" method=vanilla
# mean:.1f --> BLEU on Europarl, and **4.2**<!-- natural/04/seeds panel="translation: newstest2014" method=vanilla mean:.1f
# --> on news. There GHT loses a quarter of a BLEU (not corrected for other tasks). On Europarl and in
# language models only the loss of GHT-PS is clear.<!-- holds: natural/04/gains task="translation, BLEU, europarl_test"
# method=GHT-PS high < 0 --><!--
# holds: natural/04/gains task="language modelling, perplexity" method=GHT-PS high < 0 --><!-- holds: natural/04/gains
# task="translation, BLEU, newstest2014" method=GHT high < 0 --><!-- holds: natural/04/gains
# task="translation, BLEU, europarl_test" method=GHT high > 0 --><!-- holds: natural/04/gains
# task="translation, BLEU, europarl_test" method=GHT low < 0 --><!-- holds: natural/04/gains
# task="language modelling, perplexity" method=GHT high > 0 --><!-- holds: natural/04/gains
# task="language modelling, perplexity" method=GHT low < 0 --> The summarizer of dialogues is left out as *hollow*: without
# attention in its encoder it loses less than a tenth of ROUGE-1.

# %% [markdown]
# ## Is one head a group enough? (tables 1, 2 and 5)
#
# *The paper:* GHT-PS is near GHT from two groups on (figure 3). It beats models of its size, narrower or with fewer layers,
# by `1.4` and `1.6` BLEU, and L0 gates by more. *We ask* for models of its size. Two more keep `12` of `48` heads: *gradient
# importance* those to which the loss is most sensitive (not in the paper); *L0 gates* (Voita et al. 2019) take half of stage
# `2` to learn which.

# %%
from IPython.display import display

if peers := tables.runs.equal_size(run.settings, seed):
    size = tables.equal_size(peers, tables.statistics(peers, plan["beam"]), repeats)
    run.table(size, "equal_size", resamples=repeats)
    rivals = size.loc[["vanilla", *tables.runs.EQUAL]].drop(columns=["low", "high"]).rename(tables.NAMES)
    rivals = rivals.rename(columns={"change_low": "low", "change_high": "high"}).reset_index().assign(method="GHT-PS")
    figure = plots.dots(rivals, "control", "change", series="method", label="BLEU above that of the row")
    run.figure(figure, "equal_size", "GHT-PS and its rivals.", resamples=repeats)
    costs = ["heads", "parameters", "FLOPs", "value", "paper, parameters", "paper, FLOPs", "paper, BLEU"]
    shown = ["vanilla", "narrower", "fewer layers", "GHT-PS", tables.runs.LITE]
    display(size.loc[[name for name in shown if name in size.index], costs].astype({"heads": int}).round(2))

# %% [markdown]
# *value* is BLEU; *parameters* (without embeddings) and *FLOPs* (for an input of `30` tokens) are in millions.
#
# Both rivals of its size clearly beat GHT-PS, by **5.9**<!-- 04/equal_size control=narrower -change:.1f --> and **4.7**<!--
# 04/equal_size control="fewer layers" -change:.1f --> BLEU,<!-- holds: 04/equal_size control=narrower p_holm < 0.05 --><!--
# holds: 04/equal_size control="fewer layers" p_holm < 0.05 --> with about as many FLOPs.<!-- holds: 04/equal_size
# control=narrower FLOPs < 58 --><!-- holds: 04/equal_size control="fewer layers" FLOPs < 58 --><!-- holds: 04/equal_size
# control=GHT-PS FLOPs > 52 --> GHT-PS is clearly above L0 gates, which had fewer steps, but not clearly above gradient
# importance.<!-- holds: 04/equal_size control=L0 p_holm < 0.05 --><!-- holds: 04/equal_size
# control="gradient importance" change_low < 0 --> GHT-PS-LITE, with half the feed-forward width, is lower still (one training);
# the
# paper's is `0.8` above its vanilla (table 5).
#
# GHT-PS buys speed: on Europarl it writes **1.27**<!-- natural/04/speed row=GHT-PS ratio:.2f --> times as many sentences a
# second as vanilla, in the paper `1.11`.
#
# ## Is every part needed? (table 3)
#
# *The paper:* without any one part BLEU falls by `0.8` to `1.2`. *By lot*: heads are drawn, not voted for, among all of a
# layer or one in each group. *Vote before training*: only those that stay are ever trained.

# %%
if every := tables.runs.table_3(run.settings, seed):
    ablated = tables.ablation(every, tables.statistics(every, plan["beam"]), repeats)
    run.table(ablated.set_index(["model", "row"]), "table3_seeds", resamples=repeats)
    parts = ablated[ablated.change.notna()].replace({"row": tables.NAMES}).assign(printed=lambda rows: -rows.printed)
    parts[["change", "low", "high"]] = -parts[["change", "change_high", "change_low"]]  # the paper's method minus the row
    figure = plots.dots(parts, "row", "change", series="model", label="BLEU above that of the row")
    run.figure(figure, "ablation", "What each part brings.", table="table3_seeds", resamples=repeats)

# %% [markdown]
# **We cannot tell for any part.** After correction no row is clear,<!-- holds: 04/table3_seeds
# row="V2S at the start" p_holm > 0.05 --><!-- holds: 04/table3_seeds row="random member stays" p_holm > 0.05 --> and four
# of the eight intervals hold the paper's number.
#
# One row points against the paper. In a *vote before training* random weights vote, and twelve heads train alone for all
# steps. That is **2.1**<!-- 04/table3_seeds row="V2S at the start" change:.1f --> BLEU better than GHT-PS here. With heads of
# dimension `8` it is clearly better, by **4.5**<!-- 04/ladder head=8 row=GHT-PS -against_start:.1f -->,<!-- holds: 04/ladder
# head=8 row=GHT-PS against_start_high < 0 --> and with little text by **5.0**<!-- regimes/grouped_claims method=GHT-PS
# against="V2S at the start" -change:.1f -->.<!-- holds: regimes/grouped_claims method=GHT-PS against="V2S at the start" p_holm
# < 0.05 --> So to train few heads from the start was the better way here. ([All
# differences](../figures/controlled/04_grouped_heads/tables/ladder.csv).)

# %% [markdown]
# ## Where this would not hold
#
# - The paper's models have `44` million weights, ours one. Its numbers are the best of a sweep over $\alpha$, $\beta$ and
#   what heads are compared by; ours are one setting.
# - There is no dropout here, in the paper it is `0.3`, and [attention in our encoders](../docs/differences.md#models) starts
#   with an output of zero, unlike the paper's.

# %% [markdown]
# ## Verdicts
#
# The paper's claims by the rules of [claims.toml](../claims.toml), over trainings and after Holm's correction. Translation is
# read at the study's weight. With ten times that, the first would be *cannot tell*, and one head a group still too few.<!--
# holds: regimes/tight_claims method=GHT p_holm > 0.05 --><!-- holds: regimes/tight_claims method=GHT-PS p_holm < 0.05 -->

# %%
claims.show(run, europarl="natural text")

# %% [markdown]
# ## Change one line
#
# - In *Train, vote, remove, train, compare*: write `"weight": 0.0`, and the rows *yes* repeat those of *no*. Some `10`
#   minutes on a free core.
# - In *Does the constraint group the heads?*: write `place = ("cross", 0)`. Heads from decoder to encoder are less
#   grouped.<!-- holds: 04/groups row=GHT kind=cross layer=0 formed < 0.1 --><!-- holds:
#   04/groups row=GHT kind=encoder layer=0 formed > 0.2 --> Seconds.
