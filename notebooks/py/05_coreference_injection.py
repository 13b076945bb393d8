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
# # 5 · Can idle heads be given a job?
#
# [← notebook 4, grouped heads](04_grouped_heads.ipynb) · [notebook 6, do the measures agree? →](06_do_measures_agree.ipynb) ·
# [all claims](../docs/results.md)
#
# We call the least important attention head of a layer *idle*. Liu & Chen 2023 (*Picking the Underused Heads*) give such
# heads of a summarizer of dialogues a job. In place of what the head attends to they put a fixed matrix that links all
# mentions of one person, "Ann", "I", "she", and train on, as we understand it. It is said that
#
# - masking the least important heads costs about `0.5` %;
# - with links in them summaries get better: ROUGE-1 by `1.6` %, ROUGE-2 by `2.0` % and ROUGE-L by `2.1` %;
# - importance finds better heads for this than *probing*, which takes those that attend most like the matrix;
# - afterwards these heads matter.
#
# **These numbers are second-hand.** We could read only the paper's [abstract](https://arxiv.org/abs/2312.09541), which gives
# none. They come from machine-written summaries on the web whose addresses we did not keep, so they cannot be checked.
#
# The paper starts from BART-large. We train a small BART on `60,000` dialogues that we generate, so we know who is meant by
# every word. It has three encoder layers of eight heads, a width of `128` and two decoder layers. It first learns to fill
# holes in the dialogues (`1,500` steps), then to summarize them (`5,000` steps). The links come from a *resolver*, a program
# that guesses who is who. As controls we add true links, links between the wrong people (*shuffled*), a matrix in which each
# token looks at itself (*no links*), and links in other heads.
#
# In short: the resolver's links in idle heads bring **0.5**<!-- 05/against_controls control=plain metric=ROUGE-1 change:.1f
# --> points of ROUGE-1, true ones **1.9**<!-- 05/seeds row="injected, lowest, gold" metric=ROUGE-1 change:.1f -->, and
# shuffled ones nothing,<!-- holds: 05/seeds row="injected, lowest, rule+shuffled" metric=ROUGE-1 percent < 0 --> so it is
# what is linked that helps. With links, idle heads come to matter, clearly in two of three layers. In important heads, and in
# those chosen by probing, links cost points;<!-- holds: 05/seeds row="injected, highest" metric=ROUGE-1 change_high < 0
# --><!-- holds: 05/seeds row="injected, probing" metric=ROUGE-1 change_high < 0 --> idle heads we cannot tell from random
# ones. Links that mix whole layers, without heads, brought more in two trainings. In a pretrained model we see no gain.

# %% jupyter={"source_hidden": true} tags=["parameters"]
profile: str = "laptop"  # tiny, quick, laptop, natural, europarl or paper: sizes only, each can be overridden below
corpus: str = ""  # the texts are settings of their own (coreference.summarization.text); kept for the notebooks' common face
models: str = ""  # as corpus
pretrained: str = ""  # a BART checkpoint (Hub name or folder) to start from instead
data_root: str = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser: str = "spacy"  # as corpus
seed: int = 1
overrides: str = ""  # settings to change, name and value joined by an equals sign, separated by spaces
output: str = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus

# %% jupyter={"source_hidden": true}
import pandas as pd
from helpers import claims, drawing, papers, plots, study
from helpers.experiments import injection
from helpers.measures import measured, ranks
from helpers.methods import coreference
from helpers.methods.coreference import runs
from helpers.plan import sources
import torch
run = study.begin("05_coreference_injection", globals())
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## From a dialogue to a matrix
#
# Here is a dialogue of the test set. Words with the same number stand for the same person or thing. The last line is the
# summary to write.

# %%
drawing.style()
plan, repeats = run.settings["coreference"], run.settings["bootstrap"]
parts = runs.rows_of(run.settings, seed, pretrained)  # part -> row -> how it is trained, and how it writes
boards = injection.boards(run.settings, parts, seed)  # training -> its rows, their summaries and scores
board, by = boards[seed], plan["summarization"]["links"]  # "rule", our resolver
plain = board.rows[runs.PLAIN]["run"]  # trained without injection
truth = runs.truth(board.task.corpus, by)
print(injection.example(board, truth, 0, []))

# %% [markdown]
# The numbers become attention weights. A mention attends alike to all mentions of its person, itself included, and every
# other token attends to itself. `clusters` holds, for each person, the places of the tokens that stand for them. Where a
# mention has several pieces, its first piece stands for it.

# %%
text, pair = board.task, board.task.pairs(board.split)[0]
ids, words = text.source.encode(pair.source), text.source.word_ids(pair.source, pair.words)
clusters = coreference.tokens_of(runs.clusters_of(text.folder, board.split, truth)[0], words)  # from words to tokens
clusters = [[token for mention in cluster for token in mention] for cluster in clusters]

# %% tags=["method"]
M = torch.eye(len(ids))
for cluster in clusters:
    for mention in cluster:
        M[mention] = 0
        M[mention, cluster] = 1 / len(cluster)

print(study.compare(M, coreference.full_link(clusters, len(ids))))

# %%
pieces = text.source.pieces(ids)
places = sorted(place for cluster in clusters for place in cluster)[:30] or [0]
names = {place: f"{pieces[place].strip('▁')} ({place})" for place in places}
cells = [(names[one], names[other], float(M[one, other])) for one in places for other in places]
cells = pd.DataFrame(cells, columns=["from", "to", "weight"])
figure = plots.heat_map(cells, "to", "from", "weight", rising=False, square=True)
run.figure(figure, "matrices", "The coreference matrix of one dialogue: its mentions, with their places in the text.")

# %% [markdown]
# ## Putting the matrix into a head
#
# A head $h$ computes $\mathrm{softmax}(Q K^T / \sqrt{d})\, V$ and hands that on to the output projection. Injection replaces
# the softmax by $M$, in training as in use. Queries and keys of this head are no longer needed. Its values and its part of
# the output projection stay, and training adapts them. Which head? The idle one of its layer, to whose scale $\xi$ the loss
# reacts least, $\mathbb{E}\,|\partial L / \partial \xi|$.
#
# With two hooks of PyTorch that is:

# %%
models = {runs.PLAIN: board.rows[runs.PLAIN]} | parts.get("training", {})  # this training, and one in another order of the text
models |= {name: rows[runs.PLAIN] for name, rows in parts.items() if name.startswith("seed")}  # and those from other weights
importance = run.table(injection.importance(models, plan["probe"]), "importance")
idle = coreference.choose(importance[runs.PLAIN], order="lowest")  # the least important head of every encoder layer
model = runs.opened(plain)
batch = {"input_ids": torch.tensor([ids]), "labels": torch.tensor([text.target.encode(pair.target)])}
batch = {name: numbers.to(model.device) for name, numbers in batch.items()}


# %% tags=["method"]
kind, layer, head = idle[-1]
attention, values = model.get_encoder().layers[layer].self_attn, []
columns = slice(head * attention.head_dim, (head + 1) * attention.head_dim)  # of this head, among those of all heads


def attend_by_links(module, inputs):  # what goes into the output projection: the outputs of all heads, side by side
    outputs = inputs[0].clone()
    outputs[..., columns] = M.to(outputs) @ values[-1][..., columns]  # M V in place of softmax(Q K^T / sqrt(d)) V
    return (outputs,)


hooks = [attention.v_proj.register_forward_hook(lambda module, inputs, output: values.append(output))]
hooks += [attention.out_proj.register_forward_pre_hook(attend_by_links)]
with torch.no_grad():
    mine = model(**batch).logits
    for hook in hooks:
        hook.remove()
    with coreference.injected(model, [(kind, layer, head)], coreference.linked(ids, clusters)):
        print(study.compare(mine, model(**batch).logits, 1e-4))

# %% [markdown]
# `coreference.injected` does the same for many heads and whole batches ([how to use it](../docs/use.md)).

# %% [markdown]
# ## What does ROUGE miss?
#
# A summary that tells the right things of the wrong people shares most of its words with the reference. So beside ROUGE we
# count *events*: the share of what happened that a summary tells of the right people. As a yardstick we take the reference
# and put guessed names into it.

# %%
quality = injection.scores(board, [runs.PLAIN])
if board.known_events:
    quality = pd.concat([quality, injection.baselines(board)])
run.table(quality, "quality", resamples=repeats)
quality.replace({"row": {runs.PLAIN: "trained model"}}).pivot(index="row", columns="metric", values="value").round(1)

# %% [markdown]
# With the nearest names of the dialogue the reference has a ROUGE-1 of **91.2**<!-- 05/quality row="baseline: nearest name"
# metric=ROUGE-1 value:.1f -->, as much as the trained model's **91.2**<!-- 05/quality row=plain metric=ROUGE-1 value:.1f
# -->, and tells only half as many events of the right people.<!-- holds: 05/quality row="baseline: nearest name"
# metric=events value < 23.5 --> With the right names it would have `100`, and with the worst guess, the speaker, more than
# `90`,<!-- holds: 05/quality row="baseline: the speaker" metric=ROUGE-1 value > 90 --> so names are worth less than ten
# points.

# %% [markdown]
# ## One injection, from start to end
#
# The trained summarizer is trained a little more, with the idle head of each layer given true links, the resolver's, shuffled
# ones, or *no links*. It is scored on the first `300` dialogues. The result is kept with the project; change a line of
# `train_with_links`, or what it is given, and it is trained anew, in five to ten minutes.

# %%
from helpers.corpora import tokens
from helpers.runs import training


# %% tags=["method"]
def train_with_links(start, heads, kinds, steps, dialogues, summaries, seed):
    rows, sizes = [], {"train": dialogues, "dev": 100, board.split: summaries}
    for kind in kinds:
        model, links = runs.opened(start), coreference.Links()
        for split, size in sizes.items():
            resolved = runs.clusters_of(text.folder, split, kind)
            for pair, clusters in zip(text.pairs(split)[:size], resolved, strict=False):
                ids, words = text.source.encode(pair.source), text.source.word_ids(pair.source, pair.words)
                links.add(ids, coreference.sparse(coreference.tokens_of(clusters, words), len(ids), "full"))
        train = tokens.epochs(text.train.part(range(dialogues)), text.source.pad, 2048, seed, model.device)
        plan = run.settings["training"] | {"steps": steps, "learning_rate": 1e-3, "warmup": 10, "evaluate_every": steps}
        with coreference.injected(model, [tuple(head) for head in heads], links):
            training.fit(model, train, text.held_out(4096, 100, model.device), plan)
            sources = [pair.source for pair in text.pairs(board.split)[:summaries]]
            texts = training.translate(model, sources, text.source, text.target)
        rouge = text.statistics(texts + board.written(runs.PLAIN)[summaries:], board.split)[:summaries, 0].mean()
        events = injection.right_people(texts, board.dialogues[:summaries]).mean()
        rows.append((kind, rouge, events))
    return pd.DataFrame(rows, columns=["links", "ROUGE-1", "events"])


# %%
given = {"start": plain, "heads": idle, "kinds": list(dict.fromkeys([truth, by, f"{by}+shuffled", "none"])), "seed": seed}
few = {"steps": max(1, plan["summarization"]["further"] // 4), "dialogues": plan["summarization"]["train"] // 15 or 1000}
first = min(300, len(board.dialogues))
one = run.stored(train_with_links, runs.run(plain), summaries=first, **given, **few)
events = injection.right_people(board.written(runs.PLAIN)[:first], board.dialogues[:first]).mean()
one.loc[len(one)] = ["before this training", board.statistics(runs.PLAIN)[:first, 0].mean(), events]
run.table(one, "one_injection").replace({"links": {name: injection.named(name) for name in given["kinds"]}}).round(1)

# %% [markdown]
# With so few steps and summaries, and no training without injection beside it, this shows how it is done, not whether it
# helps.

# %% [markdown]
# ## Which heads matter least?
#
# Now at full length, from five different starting weights. First we rank the heads of each summarizer. Importance is scaled so
# that its squares add up to one in each layer. Dark heads are important, a circle marks the least important of its layer.

# %%
ranked = importance.rename(columns={runs.PLAIN: f"seed {seed}"}).rename_axis(columns="model").stack().rename("importance")
heads = measured.from_one(ranked.to_frame()).reset_index()
heads["least"] = heads.importance == heads.groupby(["model", "layer"]).importance.transform("min")
agreement = run.table(ranks.rank_agreement(importance), "rank_agreement")
chosen = heads[heads.model.str.startswith("seed")].sort_values("model", kind="stable")
figure = plots.heat_map(chosen, "head", "layer", "importance", panel="model", mark="least")
run.figure(figure, "importance", "Importance of encoder heads after trainings from different weights.")
agreement.iloc[1:, :1].rename(columns={runs.PLAIN: f"rank correlation with seed {seed}"}).round(2)

# %% [markdown]
# In each layer the most important head is more than twice, and up to twenty times, as important as the least. Trained from
# the same weights on the text in another order, a model ranks its heads alike, with a correlation of **0.94**<!--
# 05/rank_agreement plain=1.0 "other order 1":.2f -->. Models from other weights number their heads in no common order, and
# their ranks do not agree. So heads must be chosen anew for each model.

# %% [markdown]
# ## What does it cost to switch them off?
#
# We switch off one, two, up to all eight heads of every layer of one model, without training: the least important first, the
# most important first, or in random order. Bars are `95 %` intervals over dialogues; those of random orders span all three.
# The grey band is the second-hand `0.5` %, for a number of heads that we do not know.

# %%
if "masks" in parts:
    masks, metric = run.table(injection.masking(board, parts["masks"]), "masking", resamples=repeats), "ROUGE-1"
    orders = {"lowest": "least important first", "highest": "most important first", "random": "random, three orders"}
    points = masks[masks.metric == metric].groupby(["order", "number"], sort=False)  # of random orders the mean, and all bars
    points = points.agg(percent=("percent", "mean"), low=("percent_low", "min"), high=("percent_high", "max")).reset_index()
    axes = ("heads of each layer that are off", f"{metric}, change in %")
    points, band = points.replace({"order": orders}), (-0.5, 0)
    figure = plots.curve(points, "number", "percent", "order", band=band, falling=False, labels=axes)
    run.figure(figure, "masking", "What switching off heads of each layer costs.", resamples=repeats)

# %% [markdown]
# The least important head of each layer costs **0.2**<!-- 05/masking row="lowest, 1 a layer" metric=ROUGE-1 -percent:.1f -->
# % of ROUGE-1, the most important **4.8**<!-- 05/masking row="highest, 1 a layer" metric=ROUGE-1 -percent:.1f --> %. But idle
# heads are not useless: without them **2.0**<!-- 05/masking row="lowest, 1 a layer" metric=events -percent:.1f --> % of the
# events are lost.<!-- holds: 05/masking row="lowest, 1 a layer" metric=events percent_high < 0 -->
#
# Two of eight cost **0.5**<!-- 05/masking row="lowest, 2 a layer" metric=ROUGE-1 -percent:.1f --> %, three **1.1**<!--
# 05/masking row="lowest, 3 a layer" metric=ROUGE-1 -percent:.1f --> %. Our verdict reads three and allows `1` %; with two the
# claim would hold.<!-- holds: 05/masking row="lowest, 2 a layer" metric=ROUGE-1 percent_low > -1 --> Three was chosen when an
# earlier, smaller model had been measured, which lost nothing by three.

# %% [markdown]
# ## Do links in these heads help?
#
# Each row ([list](../helpers/methods/coreference/runs.py)) is trained for the same `500` steps more, five times, from five
# different weights. Rows differ in the heads that are injected and the links that they get. *No injection* leaves all heads
# as they are; *heads off* put out nothing while the model trains and writes. Rows *mixed* use no heads (see below). Dots are
# means, bars `95 %` intervals over the five trainings. Scores above this section are of the first training.

# %%
rows = list(parts["main"])
every = [*rows, *parts.get("selection", {})]  # of the first training
scores = run.table(injection.scores(board, every), "injection", resamples=repeats)
if several := len(boards) > 1:
    scores = run.table(injection.over_seeds(boards, rows), "seeds")
against = run.table(injection.against_controls(boards, rows), "against_controls", resamples=repeats)


def named(table):  # where each row has its links, and what it is given
    table = injection.labelled(table, board.rows)
    where = table.choice.where(table.method != "layers mixed", "mixed, " + table.layers + " layers").replace("", "no head")
    given = table.links.where(table.links != "", table.method)
    return table.assign(choice=where, given=given, low=table.change_low, high=table.change_high)


# %%
chart = named(scores).sort_values(["metric", "change"], ascending=[True, False])
chart = chart[chart.metric.isin(["ROUGE-1", injection.EVENTS]) & (chart.row != runs.PLAIN)]
label, table = "change against no injection, points", "seeds" if several else "injection"
figure = plots.dots(chart, "given", "change", group="choice", panel="metric", label=label, sharex=False)
run.figure(figure, "injection", "What links of several kinds in several heads gain.", table=table, resamples=repeats)

# %% [markdown]
# Links help in idle heads. With the resolver's links ROUGE-1 rises by **0.54**<!-- 05/seeds row="injected, lowest"
# metric=ROUGE-1 change:.2f --> points and events by **3.1**<!-- 05/seeds row="injected, lowest" metric=events change:.1f
# -->; true links bring **10.2**<!-- 05/seeds row="injected, lowest, gold" metric=events change:.1f --> points of events. All
# rows train as long, and *shuffled* deals the same mentions at random into clusters of the same sizes. That brings no
# gain,<!-- holds: 05/seeds row="injected, lowest, rule+shuffled" metric=ROUGE-1 change < 0 --><!-- holds: 05/seeds
# row="injected, lowest, rule+shuffled" metric=events change_high < 0 --> so it is neither more training nor the matrix as
# such.
#
# Here is the gain in percent, beside the paper's.

# %%
ours = scores[scores.row == runs.MAIN].set_index("metric")
printed = pd.DataFrame({"paper, second-hand": papers.INJECTION}).join(ours[["percent", "percent_low", "percent_high"]])
before = scores[scores.row == runs.PLAIN].set_index("metric").value
printed = printed.assign(without=before, **{"with": ours.value})
run.table(printed.rename_axis("metric"), "printed", over=ours.over.iloc[0]).round(1)

# %% [markdown]
# We gain less by all three,<!-- holds: 05/seeds row="injected, lowest" metric=ROUGE-1 percent_high < 1.6 --><!-- holds:
# 05/seeds row="injected, lowest" metric=ROUGE-2 percent_high < 2.0 --><!-- holds: 05/seeds row="injected, lowest"
# metric=ROUGE-L percent_high < 2.1 --> a third of the paper's `1.6` % in ROUGE-1. True links gain **2.0**<!-- 05/seeds
# row="injected, lowest, gold" metric=ROUGE-1 percent:.1f --> %. But percentages compare badly: above our **92**<!-- 05/seeds
# row=plain metric=ROUGE-1 value:.0f --> there is little room, and where the paper begins we do not know.

# %% [markdown]
# ## Must it be these heads?
#
# The table takes links of the resolver in idle heads minus each of the others, in points of ROUGE-1, pair by pair from the
# same weights. *Probing* chooses the heads that attend most like the matrix. *Random heads* are one draw for each training.

# %%
pairs = named(against[against.metric == "ROUGE-1"].rename(columns={"control": "row", "change": "gain"}))
pairs.rename(columns={"choice": "minus", "given": "with"}).set_index(["minus", "with"])[["gain", "low", "high"]].round(2)

# %% [markdown]
# Heads by probing are worse, with **0.93**<!-- 05/against_controls control="injected, probing" metric=ROUGE-1 change:.2f -->
# points less, and so are the most important heads, with **1.11**<!-- 05/against_controls control="injected, highest"
# metric=ROUGE-1 change:.2f -->. Whether the links do that, or the loss of the attention that they replace, we do not know:
# neither kind had shuffled links. The two overlap, too: five of the fifteen heads by probing are the most important of their
# layer.
#
# Random heads we cannot tell from idle ones,<!-- holds: 05/against_controls control="injected, random" metric=ROUGE-1
# change_low < 0 --> although they are not idle: switched off, one of them raises the loss by **7.1**<!-- 05/rises
# row="injected, random" layer=0 before:.1f --> thousandths of a nat (measured below). But it is one draw of ranks: in every
# training the third, fifth and second most important head, layer by layer. In one more training idle
# heads lie among three draws ([table](../figures/regimes/linked.csv)).<!-- holds: regimes/linked row="injected, random 1"
# metric=ROUGE-1 change > 0.5 --><!-- holds: regimes/linked row="injected, lowest" metric=ROUGE-1 change < 0.5 -->
#
# Must it be heads at all? The authors' own code of 2021 uses none: it *mixes* what a layer puts out over the links
# ([how](../docs/differences.md#coreference-liu--chen)). After all layers that brings **2.5**<!-- 05/where
# row="layer of its own, all" metric=ROUGE-1 change:.1f --> points in one training, three times as much as heads. In [another
# one](../docs/results.md#where-the-methods-could-win) it brings **2.1**<!-- regimes/linked row="layer of its own, all, rule"
# metric=ROUGE-1 change:.1f -->, and shuffled links cost **1.3**<!-- regimes/linked row="layer of its own, all, rule+shuffled"
# metric=ROUGE-1 -change:.1f -->, so that is coreference. After the last layer
# alone, in five trainings, we cannot tell it from heads.<!-- holds: 05/against_controls control="layer of its own, upper"
# metric=ROUGE-1 change_low < 0 -->

# %% [markdown]
# ## One dialogue that gets better, and one that gets worse
#
# Words are numbered as the resolver links them. First comes the dialogue in which links mend most, then the one in which they
# break most.

# %%
for place in (injection.best_example(board, runs.MAIN), injection.best_example(board, runs.PLAIN, runs.MAIN)):
    print(injection.example(board, by, place, [runs.PLAIN, runs.MAIN]), end="\n\n\n")

# %% [markdown]
# In the first dialogue the model without links lets *fabodan* sell a chair to himself. The links say that *you*, in
# "you will see to that", is *lirom*, and both events come out right. In the second the resolver links *him* to *son*, but not
# to the name *pefed*, and the model lets *lolosera* give the bread to herself.

# %% [markdown]
# ## Do these heads come to matter?
#
# How much the loss rises when one of these heads is switched off: in the model that was trained without injection, and in the
# one that was trained with the matrix in these heads. These are means over layers and over five trainings. Heads by probing
# were not measured after training.

# %%
ranked = [*injection.ranked_after(parts), *(["injected, probing"] if "injected, probing" in parts["main"] else [])]
after = injection.before_after(boards, ranked, plan["probe"])
run.table(measured.from_one(after), "before_after")
rises = run.table(injection.rises(after), "rises")
points, shown = [], injection.labelled(rises[rises.layer == 0], board.rows)
for when, model in {"before": "trained without injection", "after": "trained with it"}.items():
    columns = {when: "value", f"{when}_low": "low", f"{when}_high": "high"}
    points.append(shown[["choice", "links", *columns]].rename(columns=columns).assign(model=model))
points, label = pd.concat(points).dropna(subset=["value"]), "rise of the loss, 0.001 nats a token"
figure = plots.dots(points, "links", "value", series="model", group="choice", label=label)
run.figure(figure, "before_after", "How much heads matter without links and with links in them.", table="rises")

# %% [markdown]
# Idle heads come to matter by links: switched off, one of them costs **0.3**<!-- 05/rises row="injected, lowest" layer=0
# before:.1f --> without injection and **4.7**<!-- 05/rises row="injected, lowest" layer=0 after:.1f --> after training with
# the resolver's links. With shuffled links or none it stays near zero.<!-- holds: 05/rises
# row="injected, lowest, rule+shuffled" layer=0 after < 1 --><!-- holds: 05/rises row="injected, lowest, no links" layer=0
# after < 1 --> The most important heads go from **29**<!-- 05/rises row="injected, highest" layer=0 before:.0f --> to
# **9**<!-- 05/rises row="injected, highest" layer=0 after:.0f -->: with links they matter less.<!-- holds: 05/rises
# row="injected, highest" layer=0 after_high < before_low --> Random heads matter no more than before.<!-- holds: 05/rises
# row="injected, random" layer=0 after < before --> Probing chose heads that matter, too.<!-- holds: 05/rises
# row="injected, probing" layer=0 before_low > 10 -->
#
# The paper speaks of importance. So here is how much more important the same idle heads end with the resolver's links than
# with shuffled ones or none.

# %%
more = run.table(injection.matter_more(after), "matter_more")
pairs = injection.labelled(measured.from_one(more).rename(columns={"control": "row"}), board.rows)
pairs.set_index("links")[["layer", "more", "low", "high"]].round(2)

# %% [markdown]
# The second and third layers gain more than the first.<!-- holds: 05/matter_more control="injected, lowest, rule+shuffled"
# layer=0 high < 0.08 --><!-- holds: 05/matter_more control="injected, lowest, rule+shuffled" layer=1 low > 0.09 --><!--
# holds: 05/matter_more control="injected, lowest, rule+shuffled" layer=2 low > 0.09 --> The four gains of these two layers
# stand above zero when corrected for six comparisons, as in the verdict.

# %% [markdown]
# ## How good must the links be?
#
# We make errors in the true links: we cut clusters, drop mentions and join clusters, at rates of `0.1`, `0.3`, `0.6` and `1`
# (from right, no errors, to left), and train with each, once. Links are scored as clusters usually are, by *CoNLL F1*, and
# by the share of *he* and *she* that are linked with the right person. Bars are `95 %` intervals over dialogues.

# %%
if "quality" in parts:
    given = [runs.MAIN, *parts["quality"], f"{runs.MAIN}, {by}+shuffled", f"{runs.MAIN}, {truth}"]
    quality = injection.quality_curve(board, [name for name in given if name in board.rows], truth)
    run.table(quality, "clusters", resamples=repeats)
    points = named(quality[quality.metric == "ROUGE-1"])
    measures = {"conll": "CoNLL F1 of the clusters", "people": "share of he and she with the right person"}
    measures = {name: title for name, title in measures.items() if name in points}  # people: of generated dialogues
    points = points.rename(columns=measures).melt(["links", "change", "low", "high"], list(measures.values()), "by", "right")
    axes = ("score of the links, %", "change in ROUGE-1, points")
    figure = plots.curve(points, "right", "change", "links", panel="by", columns=2, falling=False, labels=axes)
    run.figure(figure, "clusters", "How good the links must be to help.", resamples=repeats)

# %% [markdown]
# Links with some errors still help; at an F1 of **56**<!-- 05/clusters row="injected, lowest, gold+corrupt:0.6"
# metric=ROUGE-1 conll:.0f --> nothing is left that we can see.<!-- holds: 05/clusters
# row="injected, lowest, gold+corrupt:0.6" metric=ROUGE-1 change_low < 0 --> Neither score tells what our resolver is worth.
# By its F1 of **93**<!-- 05/clusters row="injected, lowest" metric=ROUGE-1 conll:.0f --> one would expect twice the gain that
# it brings, and by its **33**<!-- 05/clusters row="injected, lowest" metric=ROUGE-1 people:.0f --> % of *he* and *she* hardly
# any.

# %% [markdown]
# ## Which layers, which matrix, and when?
#
# The paper is said to gain more in upper layers, and to try two matrices: the *full* one of this page, and an *adjacent* one,
# where a mention looks at its neighbours only. In a *previous* matrix it looks at the one before. Each row is one training,
# with the resolver's links if it names no others; a third of the layers is one layer here; bars are `95 %` intervals over
# dialogues, not trainings.

# %%
layers = {name: one for name, one in parts["main"].items() if injection.labels(one)["method"] == "layers mixed"}
groups = {"where": layers | parts["where"] | parts.get("matrices", {})} if "where" in parts else {}
groups |= {"inference": parts["inference"]} if "inference" in parts else {}
if groups:
    found = [run.table(injection.scores(board, [runs.MAIN, *rows]), name, resamples=repeats) for name, rows in groups.items()]
    found = named(pd.concat(found).drop_duplicates(["row", "metric"]))
    found = found[(found.metric == "ROUGE-1") & ~found.row.str.startswith("injected at inference")]
    usual, places = "links in idle heads", [injection.place(row) for row in found.to_dict("records")]
    found = found.assign(group=found.choice.where(found.method == "layers mixed", usual))
    found.loc[found.row.str.contains("written with|at inference"), "group"] = "trained with links, writes with"
    found["place"] = found.given.where(found.group != usual, places)
    figure = plots.dots(found, "place", "change", group="group", label="change against no injection, points of ROUGE-1")
    run.figure(figure, "where", "In which layers, by which matrix and when links help.", resamples=repeats)

# %% [markdown]
# In this training the head of the last layer alone gains as much as one in each layer, and that of the first nothing.<!--
# holds: 05/where row="injected, lowest, lower layers" metric=ROUGE-1 change < 0 --> With more heads, other matrices or all
# tokens of a mention no row is clearly better.<!-- holds: 05/where row="injected, lowest 2" metric=ROUGE-1 change < 0.76
# --><!-- holds: 05/where row="injected, lowest, whole spans" metric=ROUGE-1 change_low < 0.76 --> But trainings differ: the
# first row gains **0.76**<!-- 05/where row="injected, lowest" metric=ROUGE-1 change:.2f --> in this one, and **0.54**<!--
# 05/seeds row="injected, lowest" metric=ROUGE-1 change:.2f --> over five. So one training settles neither the layer nor the
# matrix.
#
# The model must train with the links: put into one that did not, they cost **4.1**<!-- 05/inference
# row="injected at inference" metric=ROUGE-1 -change:.1f --> points (not drawn).

# %% [markdown]
# ## And on natural dialogues?
#
# We ran the same on SAMSum, messenger chats written by linguists (profile `natural`, a local corpus, three trainings). This
# is its published table, with changes against no injection.

# %%
folder = study.ROOT / "figures"
natural = pd.read_csv(folder / "natural" / "05_coreference_injection" / "tables" / "seeds.csv")
shown = {runs.PLAIN: "no injection", runs.MAIN: "resolver's links", f"{runs.MAIN}, rule+shuffled": "shuffled links"}
natural = natural[natural.row.isin(shown)].replace({"row": shown}).rename(columns={"row": "in idle heads"})
natural.set_index(["in idle heads", "metric"])[["value", "change", "change_low", "change_high"]].round(1)

# %% [markdown]
# No gain is seen there.<!-- holds: natural/05/seeds row="injected, lowest" metric=ROUGE-1 change_high > 0 --> But this says
# little about the method. Our summarizer is trained on fourteen thousand chats from random weights, and with all its encoder
# heads off ROUGE-1 stays as it was.<!-- holds: natural/05/masking row="lowest, 8 a layer" order=lowest metric=ROUGE-1 change
# > -0.6 --> We call a model *hollow* that loses less than a tenth that way, and it gives no verdict. By ROUGE-2, of which it
# loses **12**<!-- natural/05/masking row="lowest, 8 a layer" order=lowest metric=ROUGE-2 -percent:.0f --> %, it would not be
# hollow; the verdicts for SAMSum would then read *cannot tell*.

# %% [markdown]
# ## And in a pretrained model?
#
# SmolLM2 continues texts, so it can write a summary after a dialogue. We train it on `1,600` dialogues of SAMSum, and then a
# little more, on `480` others: without injection, or with links in one head of each of its `30` layers. The links come from
# our resolver and look back, as the model does. There are three trainings of each row, scored on `200` short dialogues of the
# test set. The first two rows copy turns, without a model.

# %%
smollm2 = pd.read_csv(folder / "pretrained" / "linked.csv")
names = {"none": "no injection", "lowest": "idle", "highest": "most important"}
smollm2 = smollm2[smollm2.links != "SpanBERT"].replace({"heads": names, "links": {"rule": "resolver", "no links": "–"}})
smollm2.groupby(["heads", "links"], sort=False)[["loss", "ROUGE-1", "ROUGE-2", "ROUGE-L"]].mean().round(2)

# %%
minus = {"none": "no injection", "lowest": "shuffled links, same heads", "random": "links in random heads"}
minus["highest"] = "links in the most important heads"
gained = pd.read_csv(folder / "pretrained" / "link_gains.csv")
gained = gained[gained.metric == "ROUGE-1"].assign(rival=lambda table: table.minus_heads.map(minus))
figure = plots.dots(gained, "rival", "change", label="ROUGE-1 with links in idle heads,\nminus that with ...")
run.figure(figure, "smollm2", "What links in idle heads of SmolLM2 gain and lose, beside four other trainings.")

# %% [markdown]
# In the most important heads links do far worse: ROUGE-1 is **17**<!-- pretrained/link_gains minus_heads=highest
# metric=ROUGE-1 change:.0f --> points lower than with the same links in idle heads.<!-- holds: pretrained/link_gains
# minus_heads=highest metric=ROUGE-1 low > 0 --> But important heads were never trained with shuffled links or simply off, so
# this may be the damage of overwriting them. Random heads lie between, and differ too much, from **38**<!-- pretrained/linked
# heads=random seed=1 "ROUGE-1":.0f --> to **44**<!-- pretrained/linked heads=random seed=3 "ROUGE-1":.0f -->, for three
# trainings.<!-- holds: pretrained/link_gains minus_heads=random metric=ROUGE-1 low < 0 -->
#
# What is linked matters a little: against shuffled links the loss falls by **0.010**<!-- pretrained/link_gains
# minus_links=shuffled metric=loss -change:.3f --> nats a token.<!-- holds: pretrained/link_gains minus_links=shuffled
# metric=loss high < 0 --> In ROUGE it may be chance;<!-- holds: pretrained/link_gains minus_links=shuffled metric=ROUGE-1
# low < 0 --><!-- holds: pretrained/link_gains minus_links=shuffled metric=ROUGE-2 low < 0 --> only ROUGE-L has an interval
# above zero,<!-- holds: pretrained/link_gains minus_links=shuffled metric=ROUGE-L low > 0 --> uncorrected.
#
# Compared with equally long training without injection, links show no gain: the loss is **0.077**<!-- pretrained/link_gains
# minus_links="no links" metric=loss change:.3f --> nats higher,<!-- holds: pretrained/link_gains minus_links="no links"
# metric=loss low > 0 --> and no ROUGE differs clearly.<!-- holds: pretrained/link_gains minus_links="no links" metric=ROUGE-1
# high > 0 --><!-- holds: pretrained/link_gains minus_links="no links" metric=ROUGE-2 low < 0 --><!-- holds:
# pretrained/link_gains minus_links="no links" metric=ROUGE-L high > 0 --> The heads may be missed: before this training, on
# other text, one idle head off in each layer costs **0.085**<!-- pretrained/idle random= k=1 change:.3f --> nats
# ([table](../docs/pretrained.md#idle-heads)). We did not train with them simply off. A model that writes with links of
# SpanBERT, a neural resolver, does as well ([table](../docs/pretrained.md#links-in-idle-heads)).

# %% [markdown]
# ## What this cannot say
#
# - Whether idle heads are the best place: random heads may do as well, and mixing layers better.
# - What happens in the paper's model. Ours is small and has seen nothing but generated dialogues, in which summaries depend on
#   who did what. BART-large, as SmolLM2, may know most of coreference already. And SmolLM2 had links in thirty heads, for `60`
#   steps.

# %% [markdown]
# ## Verdicts
#
# The paper's claims, each beside its rule ([claims.toml](../claims.toml)). *Cannot tell*: none of a claim's numbers is
# clearly against it, and not all are clearly for it. Masking is read by ROUGE-1 here and by the loss in SmolLM2; these do not
# compare.

# %%
claims.show(run, europarl="SAMSum", pretrained="SmolLM2")

# %% [markdown]
# ## Change one line
#
# - In *From a dialogue to a matrix*: write `by` for `truth` in the line of `clusters`, and see the resolver's matrix, without
#   training.
# - In *Putting the matrix into a head*: write `order="highest"`, and train with links in the most important heads. Five to
#   ten minutes.
