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
# Some attention heads are *idle*: they can be switched off and hardly anything happens. Liu & Chen 2023 ([Picking the Underused
# Heads](https://arxiv.org/abs/2312.09541)) give such heads of a summarizer of dialogues a job. In place of what the head
# attends to they put a fixed matrix that links all mentions of one person, "Ann", "I", "she". Then they train on. We
# could read only the abstract and accounts by others. These report that
#
# - masking the least important heads costs about `0.5` %;
# - with links in them summaries get better: ROUGE-1 by `1.6` %, ROUGE-2 by `2.0` % and ROUGE-L by `2.1` %;
# - importance finds better heads for this than *probing*, which takes those that attend most like the matrix;
# - afterwards these heads matter.
#
# The paper starts from BART-large. We train a small BART on `60,000` dialogues that we generate, so we know who is meant by
# every word. It has three encoder layers of eight heads, a width of `128` and two decoder layers. It first learns to fill
# holes in the dialogues (`1,500` steps), then to summarize them (`5,000` steps). The links come from a *resolver*, a program
# that guesses who is who, as in the paper. And we add what an experiment like this needs: true links, links between
# the wrong people (*shuffled*), no links, and links in other heads.
#
# In short: links of the resolver bring **0.5**<!-- 05/against_controls control=plain metric=ROUGE-1 change:.1f --> points of
# ROUGE-1, and shuffled links bring nothing.<!-- holds: 05/seeds row="injected, lowest, rule+shuffled" metric=ROUGE-1 percent
# < 0 --> Probing chooses worse heads; idle heads we cannot tell from random ones. And heads with links do come to matter,
# above all in the last layer.

# %% jupyter={"source_hidden": true} tags=["parameters"]
profile: str = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
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
import torch
from helpers import claims, drawing, papers, plots, study
from helpers.experiments import injection
from helpers.measures import measured, ranks
from helpers.methods import coreference
from helpers.methods.coreference import runs
from helpers.plan import sources
from IPython.display import display
run = study.begin("05_coreference_injection", globals())
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## From a dialogue to a matrix
#
# Here is a dialogue of the test set. Words with the same number stand for the same person or thing. The last line is the
# summary that the model should write.

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
# The more mentions a person has, the thinner the weight is spread.

# %% [markdown]
# ## Putting the matrix into a head
#
# A head $h$ computes $\mathrm{softmax}(Q K^T / \sqrt{d})\, V$ and hands that on to the output projection. Injection
# replaces the softmax by $M$, in training as in use. Queries and keys of this head are no longer needed. Its values and
# its part of the output projection stay, and training adapts them. Which head? The idle one of its layer: the least
# important, to whose scale $\xi$ the loss reacts least, $\mathbb{E}\,|\partial L / \partial \xi|$.
#
# With two hooks of PyTorch that is:

# %%
models = {name: rows[runs.PLAIN] for name, rows in parts.items() if name.startswith("seed")}
models = {runs.PLAIN: board.rows[runs.PLAIN]} | parts.get("training", {}) | models  # the first, another order, other weights
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
# `coreference.injected` does the same for many heads and whole batches, around any code that trains or generates. [How to use
# it on your own model](../docs/use.md).

# %% [markdown]
# ## One injection, from start to end
#
# The trained summarizer is trained a little more, with links in the idle head of each layer. We do this with
# true links, with the resolver's, with shuffled ones, and with none, where each token looks at itself. *Events* is the
# share of what happened that the summary tells of the right people. It takes five to ten minutes. As printed the result
# is kept with the project; change a line of `train_with_links`, or what it is given, and it is trained anew.

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
one = run.stored(train_with_links, runs.run(plain), summaries=min(300, len(board.dialogues)), **given, **few)
run.table(one, "one_injection").replace({"links": {name: injection.named(name) for name in given["kinds"]}}).round(1)

# %% [markdown]
# By events, true links come first. By ROUGE-1 nothing can be told after so few steps, on so few summaries. A short training
# shows how it is done, not whether it helps.

# %% [markdown]
# ## Are there idle heads?
#
# Now at full length, from five different starting weights. First we rank the heads of each trained summarizer. Importance is
# divided by the norm of its layer. Dark heads are important, a circle marks the least important of its layer.

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
# In every model a few heads do most of the work. Which ones depends on the weights that training began with. Two models
# trained on from the same weights, in another order of the text, rank their heads alike, with a rank correlation of
# **0.94**<!-- 05/rank_agreement plain=1.0 "other order 1":.2f -->. From other weights the first of them correlates between
# **-0.34**<!-- 05/rank_agreement plain=1.0 "seed 3":.2f --> and **0.05**<!-- 05/rank_agreement plain=1.0 "seed 5":.2f -->
# with the others. It must be so: before training the heads of a layer can change places. So heads must be chosen anew for
# each model.

# %% [markdown]
# ## What does it cost to switch them off?
#
# We switch off one, two, up to all eight heads of every layer, without training, beginning with the least important, with
# the most important, or with random ones (three draws). The grey band marks the `0.5` % that accounts of the paper speak of,
# for a number of heads that we do not know.

# %%
if "masks" in parts:
    masks, metric = run.table(injection.masking(board, parts["masks"]), "masking", resamples=repeats), "ROUGE-1"
    order = masks.order.map({"lowest": "least important first", "highest": "most important first", "random": "random"})
    masks["heads off"] = order.where(masks.order != "random", order + ", draw " + (masks.draw + 1).astype(str))
    points = masks.drop(columns=["low", "high"]).rename(columns={"percent_low": "low", "percent_high": "high"})
    axes = ("heads of each layer that are off", f"{metric}, change in %")
    points, band = points[points.metric == metric], (-0.5, 0)
    figure = plots.curve(points, "number", "percent", "heads off", band=band, falling=False, labels=axes)
    run.figure(figure, "masking", "What switching off heads of each layer costs.", resamples=repeats)

# %% [markdown]
# The least important head of each layer costs **0.2**<!-- 05/masking row="lowest, 1 a layer" metric=ROUGE-1 -percent:.1f
# --> % of ROUGE-1, the most important **4.8**<!-- 05/masking row="highest, 1 a layer" metric=ROUGE-1 -percent:.1f --> %.
# So by ROUGE-1 one head a layer costs little,<!-- holds: 05/masking row="lowest, 1 a layer" metric=ROUGE-1
# percent_low > -0.5 --> while events fall by **2.0**<!-- 05/masking row="lowest, 1 a layer" metric=events -percent:.1f --> %,
# with an interval that leaves out zero.<!-- holds: 05/masking row="lowest, 1 a layer" metric=events percent_high < 0 --> Three
# of eight, which our verdict takes, cost **1.1**<!-- 05/masking row="lowest, 3 a layer" metric=ROUGE-1 -percent:.1f --> % of
# ROUGE-1, where the accounts speak of `0.5`. This is one training. And the first random draw happens to take the most important
# head of every layer last, so draws tell little of chance here.
#
# A summary that tells the right things of the wrong people shares most of its words with the reference. So we count events as
# well.

# %%
quality = injection.scores(board, [runs.PLAIN])
if board.known_events:
    quality = pd.concat([quality, injection.baselines(board)])
run.table(quality, "quality", resamples=repeats)
quality.replace({"row": {runs.PLAIN: "trained model"}}).pivot(index="row", columns="metric", values="value").round(1)

# %% [markdown]
# If we take the reference and put in the nearest names of the dialogue, ROUGE-1 is **91.2**<!-- 05/quality
# row="baseline: nearest name" metric=ROUGE-1 value:.1f -->, as good as the trained model's **91.2**<!-- 05/quality
# row=plain metric=ROUGE-1 value:.1f -->. But it tells only half as many events of the right people.<!-- holds: 05/quality
# row="baseline: nearest name" metric=events value < 23.5 --> A gain of one point of ROUGE-1 therefore means more on these
# dialogues than it seems, and we show both.

# %% [markdown]
# ## Do links in these heads help?
#
# Each row is trained for the same `500` steps more from the same weights, and this was done from five different weights.
# A row differs from *no injection* in the heads that are injected and the links that they get. In a row *heads off* the heads
# put out nothing while the model trains and writes. The figure shows points of ROUGE-1, and points of events told right.

# %%
rows = list(parts["main"])
every = [*rows, *parts.get("selection", {})]  # of the first training
scores = run.table(injection.scores(board, every), "injection", resamples=repeats)
if several := len(boards) > 1:
    scores = run.table(injection.over_seeds(boards, rows), "seeds")
against = run.table(injection.against_controls(boards, rows), "against_controls", resamples=repeats)

# %%
chart = injection.labelled(scores, board.rows, "change").sort_values(["metric", "change"], ascending=[True, False])
chart = chart[chart.metric.isin(["ROUGE-1", injection.EVENTS])].assign(given=chart.links.where(chart.links != "", "heads off"))
label = "change against no injection, points"
figure = plots.dots(chart, "given", "change", group="choice", panel="metric", label=label, sharex=False)
table = "seeds" if several else "injection"
run.figure(figure, "injection", "What links of several kinds in several heads gain.", table=table, resamples=repeats)

# %% [markdown]
# Links help in idle heads. With the resolver's links ROUGE-1 rises by **0.54**<!-- 05/seeds
# row="injected, lowest" metric=ROUGE-1 change:.2f --> points and events by **3.1**<!-- 05/seeds row="injected, lowest"
# metric=events change:.1f -->. True links bring much more, **10.2**<!-- 05/seeds row="injected, lowest, gold" metric=events
# change:.1f --> points of events. Shuffled links bring no gain,<!-- holds: 05/seeds row="injected, lowest, rule+shuffled"
# metric=ROUGE-1 change < 0 --> nor do a matrix without links or heads that are off.<!-- holds: 05/seeds
# row="injected, lowest, no links" metric=events change < 0 --> All rows train as long, so the gain is not more training; and
# shuffled links have the same matrix with other words in it, so it is not the matrix either.
#
# Here is the gain beside that of the accounts, in percent, with our scores before and after.

# %%
ours = scores[scores.row == runs.MAIN].set_index("metric")
printed = pd.DataFrame({"accounts of the paper": papers.INJECTION}).join(ours[["percent", "percent_low", "percent_high"]])
before = scores[scores.row == runs.PLAIN].set_index("metric").value
printed = printed.assign(without=before, **{"with": ours.value})
run.table(printed.rename_axis("metric"), "printed", over=ours.over.iloc[0]).round(1)

# %% [markdown]
# We gain less than the accounts print: **0.6**<!-- 05/seeds row="injected, lowest" metric=ROUGE-1 percent:.1f --> % of
# ROUGE-1 where they have `1.6`, and **1.3**<!-- 05/seeds row="injected, lowest" metric=ROUGE-2 percent:.1f --> % of ROUGE-2
# where they have `2.0`. In ROUGE-L it is **0.5**<!-- 05/seeds row="injected, lowest" metric=ROUGE-L percent:.1f --> % against
# `2.1`. Better links would bring more: true ones gain **2.0**<!-- 05/seeds
# row="injected, lowest, gold" metric=ROUGE-1 percent:.1f --> % of ROUGE-1. But the model and its texts are others than the
# paper's, too, so we do not know what makes the difference.

# %% [markdown]
# ## Must it be these heads?
#
# The next figure takes links of the resolver in idle heads minus each of the others, pair by pair from the same weights.
# *Probing* chooses the heads that attend most like the matrix. *Random heads* are one draw for each training, which is
# few. Bars are `95 %` intervals over the five trainings.

# %%
pairs = injection.labelled(against.rename(columns={"control": "row"}), board.rows)
pairs = pairs[pairs.metric.isin(["ROUGE-1", injection.EVENTS])].sort_values("metric", kind="stable")
pairs = pairs.rename(columns={"change_low": "low", "change_high": "high"}).replace({"choice": {"": "no head"}})
pairs["rival"] = pairs.links.where(pairs.links != "", pairs.method)
pairs["rival"] = pairs.rival.where(pairs.method != "layers mixed", "mixed after the upper layers")
label = "links in idle heads minus this, points"
figure = plots.dots(pairs, "rival", "change", group="choice", panel="metric", label=label, sharex=False)
run.figure(figure, "paired", "Links in idle heads against other links and other heads.", table="against_controls")

# %% [markdown]
# We cannot tell idle heads from random ones. They gain **0.12**<!-- 05/against_controls control="injected, random"
# metric=ROUGE-1 change:.2f --> points more, with an interval from **-0.25**<!-- 05/against_controls control="injected, random"
# metric=ROUGE-1 change_low:.2f --> to **0.50**<!-- 05/against_controls control="injected, random" metric=ROUGE-1
# change_high:.2f -->. By importance these random heads are not idle. Their places, of eight in a layer, are the same
# in all five trainings: number **3**<!-- 05/before_after row="injected, random" seed=1 layer=1 rank_before:.0f --> in the first
# layer, number **5**<!-- 05/before_after row="injected, random" seed=1 layer=2 rank_before:.0f --> in the second. In the last,
# which carries the gain, it is number **2**<!-- 05/before_after row="injected, random" seed=1 layer=3 rank_before:.0f -->, but
# we cannot see that these heads cost anything when they are off. So they may have been idle after all.<!-- holds: 05/rises
# row="injected, random" layer=3 before_low < 0 --> A second draw, in the first training alone, gained nothing.<!-- holds:
# 05/injection row="injected, random 2" metric=ROUGE-1 change_low < 0 --> It holds the most important head of the first layer.
# Two draws are too few to say more.
#
# In the most important heads ROUGE-1 falls by **0.56**<!-- 05/seeds row="injected, highest" metric=ROUGE-1 -change:.2f -->.
# That is not what links do, but what the loss of these heads does. In the first training they cost **1.88**<!-- 05/injection
# row="masked, highest" metric=ROUGE-1 -change:.2f --> when they are off, and with links in them only **0.41**<!--
# 05/injection row="injected, highest" metric=ROUGE-1 -change:.2f -->. So what links bring there is lost to what they replace.
# It is one training, and we have no shuffled links in these heads to compare with.
#
# The same may explain *probing*. Its heads gain nothing and rather lose,<!-- holds:
# 05/seeds row="injected, probing" metric=ROUGE-1 percent_high < 0 --> but in the first training two of these three heads are
# the most important ones of their layers. We did not train with these heads off, so we cannot take the two apart.

# %% [markdown]
# ## One dialogue that gets better, and one that gets worse
#
# Words are numbered as the resolver links them. First comes the dialogue in which links mend most, then the one in which they
# break most.

# %%
for place in (injection.best_example(board, runs.MAIN), injection.best_example(board, runs.PLAIN, runs.MAIN)):
    print(injection.example(board, by, place, [runs.PLAIN, runs.MAIN]), end="\n\n\n")

# %% [markdown]
# In the first dialogue the model without links lets *fabodan* sell a chair to himself. The links say that *you*, in "you
# will see to that", is *lirom*, and both events come out right.
#
# In the second the resolver links *him* to *son*, but not to the name *pefed*. In the heads with links *him* therefore does
# not see the name of who gets the bread, and the model lets *lolosera* give it to herself. Other heads can still read the
# name, but that did not help.

# %% [markdown]
# ## Do these heads come to matter?
#
# How much the loss rises when one of these heads is switched off: in the model that was trained without injection, and in
# the one that was trained with the matrix in these heads. Dots are means over five trainings, bars `95 %` intervals over them.

# %%
ranked = [*injection.ranked_after(parts), *(["injected, probing"] if "injected, probing" in parts["main"] else [])]
after = injection.before_after(boards, ranked, plan["probe"])
run.table(measured.from_one(after), "before_after")
rises = run.table(injection.rises(after), "rises")
points, shown = [], injection.labelled(rises[rises.layer > 0], board.rows)
shown = shown[shown.choice.isin([injection.HEADS["lowest"], injection.HEADS["random"]])]
for when, model in {"before": "without injection", "after": "with it"}.items():
    columns = {when: "value", f"{when}_low": "low", f"{when}_high": "high"}
    points.append(shown[["choice", "links", "layer", *columns]].rename(columns=columns).assign(model=model))
label = "rise of the loss,\n0.001 nats a token"
points = pd.concat(points).assign(layer=lambda table: "layer " + table.layer.astype(str))
figure = plots.dots(points, "links", "value", series="model", group="choice", panel="layer", label=label)
run.figure(figure, "before_after", "How much heads matter without links and with links in them.", table="rises")

# %% [markdown]
# Idle heads come to matter by links. In the model without injection one of them costs **0.3**<!-- 05/rises
# row="injected, lowest" layer=0 before:.1f --> when it is off, on average over layers. After training with the resolver's links
# it costs **4.7**<!-- 05/rises row="injected, lowest" layer=0 after:.1f -->. With shuffled links or none it stays near
# zero.<!-- holds: 05/rises row="injected, lowest, rule+shuffled" layer=0 after < 1 --><!-- holds: 05/rises
# row="injected, lowest, no links" layer=0 after < 1 --> Random heads cost about as much after training as before, so links
# may have made up for what these heads did.<!-- holds: 05/rises row="injected, random" layer=0 after > before_low --><!--
# holds: 05/rises row="injected, random" layer=0 after < before_high -->
#
# The most important heads, which the figure leaves out, go from **29**<!-- 05/rises row="injected, highest" layer=0
# before:.0f --> to **9**<!-- 05/rises row="injected, highest" layer=0 after:.0f -->: their old work is gone, and links are
# worth less.<!-- holds: 05/rises row="injected, highest" layer=0 after_high < before_low --> The heads that probing chooses
# are not idle: without injection one of them costs **23**<!-- 05/rises row="injected, probing" layer=0 before:.0f -->. What
# they cost after training was not measured, nor was it for heads with true links.
#
# The paper speaks of importance, and we measured loss. So we also compare the importance of the same heads after training:
# with the resolver's links, minus with shuffled ones or none, in each layer.

# %%
more = run.table(injection.matter_more(after), "matter_more")
pairs = injection.labelled(measured.from_one(more).rename(columns={"control": "row"}), board.rows)
pairs.set_index("links")[["layer", "more", "low", "high"]].round(2)

# %% [markdown]
# Every difference is above zero, and in five of six rows the interval is, too.<!-- holds: 05/matter_more
# control="injected, lowest, rule+shuffled" layer=2 low > 0 --><!-- holds: 05/matter_more
# control="injected, lowest, no links" layer=0 low < 0 --> The last layer gains most, the first hardly anything. Of six
# comparisons some look good by chance. When this is corrected for four stand, and the verdict counts these.

# %% [markdown]
# ## How good must the links be?
#
# A resolver makes errors. We make errors in the true links too: we cut clusters, drop mentions and join clusters, at rates of
# `0.1`, `0.3`, `0.6` and `1` (from right to left), and train with each. On the left links are scored as clusters usually are,
# by *CoNLL F1*. On the right they are scored by the share of *he* and *she* that are linked with the right person. This is one
# training; bars are `95 %` intervals over dialogues.

# %%
if "quality" in parts:
    given = [runs.MAIN, *parts["quality"], f"{runs.MAIN}, {by}+shuffled", f"{runs.MAIN}, {truth}"]
    quality = injection.quality_curve(board, [name for name in given if name in board.rows], truth)
    run.table(quality, "clusters", resamples=repeats)
    points = injection.labelled(quality[quality.metric == "ROUGE-1"], board.rows, "change")
    points = points.replace({"links": {"true links": "true links, with errors"}})
    measures = {"conll": "CoNLL F1 of the clusters", "people": "share of he and she with the right person"}
    measures = {name: title for name, title in measures.items() if name in points}  # people: of generated dialogues
    points = points.rename(columns=measures).melt(["links", "change", "low", "high"], list(measures.values()), "by", "right")
    axes = ("score of the links, %", "change in ROUGE-1, points")
    figure = plots.curve(points, "right", "change", "links", panel="by", columns=2, falling=False, labels=axes)
    run.figure(figure, "clusters", "How good the links must be to help.", resamples=repeats)

# %% [markdown]
# Links with some errors still help. The gain is gone at a rate of `0.6`: at an F1 of **56**<!-- 05/clusters
# row="injected, lowest, gold+corrupt:0.6" metric=ROUGE-1 conll:.0f --> nothing is left that we can see.<!-- holds:
# 05/clusters row="injected, lowest, gold+corrupt:0.6" metric=ROUGE-1 change_low < 0 -->
#
# F1 can mislead. Our resolver's F1 of **93**<!-- 05/clusters row="injected, lowest" metric=ROUGE-1 conll:.0f
# --> promises twice the gain that it brings. It finds *I* and *you*, which are easy and many, and puts only **33**<!--
# 05/clusters row="injected, lowest" metric=ROUGE-1 people:.0f --> % of *he* and *she* with the right person. By that share
# alone one would expect less than it brings. So look at each kind of pronoun before you use a resolver.

# %% [markdown]
# ## In which layers, with which matrix?
#
# Accounts of the paper say that upper layers gain more, and that two matrices were tried. In the *adjacent* one a mention
# looks at its neighbours only, in the *previous* one at the mention before. The authors' code of 2021 ([Liu, Shi &
# Chen](https://arxiv.org/abs/2106.08556)) leaves all heads alone and mixes a layer's output over the links: $0.7H+0.3MH$.
# All rows have the resolver's links, in the full matrix and in idle heads but where the figure says otherwise.
# It is one training each; bars are `95 %` intervals over dialogues.

# %%
layers = {name: one for name, one in parts["main"].items() if injection.labels(one)["method"] == "layers mixed"}
groups = {"heads and layers": parts.get("where", {}) | layers, "matrices": parts.get("matrices", {})}
if "where" in parts:
    where = [injection.scores(board, [runs.MAIN, *rows]).assign(group=group) for group, rows in groups.items()]
    where = run.table(pd.concat(where, ignore_index=True), "where", resamples=repeats).drop_duplicates(["row", "metric"])
    where = injection.labelled(where, board.rows).assign(low=lambda rows: rows.change_low, high=lambda rows: rows.change_high)
    where = where.assign(place=where.apply(injection.place, axis=1)).sort_values("method", kind="stable")
    where = where.replace({"method": {"injected": "links in heads", "layers mixed": "layers mixed over links"}})
    label = "change against no injection, points of ROUGE-1"
    figure = plots.dots(where[where.metric == "ROUGE-1"], "place", "change", group="method", label=label)
    run.figure(figure, "where", "In which layers and by which matrix links help.", resamples=repeats)

# %% [markdown]
# As the accounts say, the head of the last layer alone (*upper layers*) does as well as one in each layer, and that of the
# first layer (*lower layers*) does nothing.<!-- holds: 05/where row="injected, lowest, lower layers" metric=ROUGE-1
# change < 0 --> More heads a layer do not help. Which matrix it is, and whether a mention stands for its first token or all of
# them, makes no difference that one training could show.
#
# One row stands out. Mixing over the links after every layer gains **2.5**<!-- 05/where row="layer of its own, all"
# metric=ROUGE-1 change:.1f --> points, three times as much as heads do, and takes no head away. After the last layer
# alone, over five trainings, it cannot be told from links in heads,<!-- holds: 05/against_controls
# control="layer of its own, upper" metric=ROUGE-1 change_low < 0 --> nor from no injection: its gain of
# **0.32**<!-- 05/seeds row="layer of its own, upper" metric=ROUGE-1 change:.2f --> may be zero.<!-- holds: 05/seeds
# row="layer of its own, upper" metric=ROUGE-1 change_low < 0 --> We have no shuffled links for it, and of all layers one
# training, so this is a lead, not a finding.

# %% [markdown]
# ## Must the model train with the links?
#
# One account says that the matrix is put in when the model is used, and does not speak of training. So we try that, and
# we take a model that was trained with links and give it others, or none, or switch the heads off.

# %%
names = {
    runs.MAIN: "with links: links", "injected at inference": "without links: links in idle heads",
    "injected at inference, highest": "without links: links in the most important heads",
    f"{runs.MAIN}, written with {by}+shuffled": "with links: shuffled ones",
    f"{runs.MAIN}, written with none": "with links: none", f"{runs.MAIN}, heads off at inference": "with links: heads off",
}  # fmt: skip
if "inference" in parts:
    written = injection.scores(board, [runs.MAIN, *parts["inference"]])
    run.table(written, "inference", resamples=repeats)
    written = written[written.metric == "ROUGE-1"].replace({"row": names}).rename(columns={"row": "trained: writes with"})
    display(written.set_index("trained: writes with")[["value", "change", "change_low", "change_high"]].round(1))

# %% [markdown]
# The model must train with the links. Put into one that did not, the matrix costs **4.1**<!-- 05/inference
# row="injected at inference" metric=ROUGE-1 -change:.1f --> points, far more than switching the same heads off. And a
# model that was trained with links loses its gain when it writes with other links, and falls below the one without when
# the heads are off.<!-- holds: 05/inference row="injected, lowest, heads off at inference" metric=ROUGE-1 change_high < 0 -->
# So its gain comes through these heads. This is one training.

# %% [markdown]
# ## And on natural dialogues?
#
# We ran the same on SAMSum, messenger chats written by linguists (profile `natural`, a local corpus, three trainings). Nothing
# happens there.<!-- holds: natural/05/seeds row="injected, lowest" metric=ROUGE-1 change_high > 0 --> But this says little
# about the method. A summarizer of this size, trained on fourteen thousand chats from random weights, reaches a ROUGE-1 of only
# **29**<!-- natural/05/seeds row=plain metric=ROUGE-1 value:.0f -->. It hardly uses its encoder's attention: switching off
# *all* of it leaves ROUGE-1 as it was<!-- holds: natural/05/masking row="lowest, 8 a layer" order=lowest metric=ROUGE-1
# change > -0.6 --> and takes **1.0**<!-- natural/05/masking row="lowest, 8 a layer" order=lowest metric=ROUGE-2 -change:.1f -->
# point of ROUGE-2. We call a model *hollow* if it loses less than a tenth of its score without the heads that a claim is about,
# and a hollow one gives no verdict: a job for single heads could hardly show in it.

# %% [markdown]
# ## And in a pretrained model?
#
# SmolLM2 continues texts, so it can write a summary after a dialogue. We train it on `1,600` dialogues of SAMSum, and then a
# little more, on `480` others, with links in one head of each of its `30` layers. The links come from our resolver. They look
# back, as the model does, and are of the dialogue alone. There are three trainings of each row, from the same summarizer. In
# the row *SpanBERT* the same models write with links of a neural resolver. These are published tables.

# %%
folder = study.ROOT / "figures" / "pretrained"
smollm2 = pd.read_csv(folder / "linked.csv")
smollm2 = smollm2.replace({"heads": {"lowest": "idle", "highest": "most important"}, "links": {"rule": "resolver"}})
means = smollm2.groupby(["heads", "links"], sort=False)[["loss", "without", "ROUGE-1", "ROUGE-2", "ROUGE-L"]].mean()
means.rename(columns={"without": "loss, upper half off"}).round(2)

# %%
minus = {"none": "no links", "lowest": "shuffled links, same heads", "random": "links in random heads"}
minus["highest"] = "links in the most important heads"
gained = pd.read_csv(folder / "link_gains.csv")
gained = gained[gained.metric == "ROUGE-1"].assign(rival=lambda table: table.minus_heads.map(minus))
figure = plots.dots(gained, "rival", "change", label="ROUGE-1 with links in idle heads,\nminus that with ...")
run.figure(figure, "smollm2", "What links in idle heads of SmolLM2 gain and lose, beside four other trainings.")

# %% [markdown]
# This is a real summarizer. Without links it reaches a ROUGE-1 of **47**<!-- pretrained/linked heads=none seed=1
# "ROUGE-1":.0f --> in the first training, where the first three turns of a dialogue have **34**<!-- pretrained/linked
# heads="first three turns" "ROUGE-1":.0f -->. And it needs its attention, as the column *upper half off* shows.
#
# Where links stand matters a lot. In the most important heads they wreck the model: it has **17**<!-- pretrained/link_gains
# minus_heads=highest metric=ROUGE-1 change:.0f --> points of ROUGE-1 less than with the same links in idle
# heads.<!-- holds: pretrained/link_gains minus_heads=highest metric=ROUGE-1 low > 0 --> Random heads lie between, and differ so
# much from draw to draw that three trainings cannot show it.<!-- holds: pretrained/link_gains minus_heads=random metric=ROUGE-1
# low < 0 -->
#
# What is linked matters a little. With the resolver's links the loss is **0.010**<!-- pretrained/link_gains
# minus_links=shuffled metric=loss -change:.3f --> nats a token below that with shuffled links, with little
# doubt.<!-- holds: pretrained/link_gains minus_links=shuffled metric=loss high < 0 --> ROUGE-1 is **0.8**<!--
# pretrained/link_gains minus_links=shuffled metric=ROUGE-1 change:.1f --> points above, which may be chance,<!-- holds:
# pretrained/link_gains minus_links=shuffled metric=ROUGE-1 low < 0 --> and ROUGE-L **1.4**<!-- pretrained/link_gains
# minus_links=shuffled metric=ROUGE-L change:.1f -->, which is clear.<!-- holds: pretrained/link_gains
# minus_links=shuffled metric=ROUGE-L low > 0 -->
#
# But against as long a training without injection the loss is **0.077**<!-- pretrained/link_gains
# minus_links="no links" metric=loss change:.3f --> nats higher,<!-- holds: pretrained/link_gains minus_links="no links"
# metric=loss low > 0 --> and ROUGE-1 is lower in all three, though not clearly. We did not train with these thirty heads simply
# off, so we do not know how much of this their own work was worth. Thirty at once may be too many, and `60` steps too few.

# %% [markdown]
# ## What it means, and where it would not hold
#
# - **Links in idle heads do help**, a little with our resolver and a lot with true links. Shuffled links in the same heads do
#   not, so it is what is linked that counts, and not the matrix.
# - **Important heads are a costly place for links**, since their old work is lost. Idle heads we cannot tell from random ones.
# - **Probing finds worse heads than importance does**, maybe because it finds important ones.
# - **Train with the links, and measure your resolver on each kind of pronoun.** A high F1 can hide that *he* and *she*
#   are wrong.
# - **In a pretrained model we see no gain by links in thirty heads**, after a short training: the loss is higher than without
#   injection, maybe for the heads that are overwritten. Against shuffled links in the same heads it is lower, and idle heads
#   are a far better place than important ones.
#
# Most of this is a small BART on generated dialogues in which summaries depend on who did what. It has seen no other text; the
# paper's was pretrained on a large corpus and fine-tuned on SAMSum. There, as in SmolLM2, most of coreference may be in the
# model already, and links have less to add. We know the paper second-hand: how many heads it masks and injects, we do not know.

# %% [markdown]
# ## Verdicts
#
# The paper's claims, held against the tables above, each beside its rule ([claims.toml](../claims.toml)). *Cannot tell*: none
# of a claim's numbers is clearly against it, and not all are clearly for it. The interval of the first holds its bound, `-1` %.
# Probing is beaten, random heads are not. And not in every layer is it sure that the heads come to matter.

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# - In *From a dialogue to a matrix*: write `by` for `truth` in the line of `clusters`, and see the resolver's matrix. At
#   once.
# - In *What does it cost to switch them off?*: write `"events"` for `"ROUGE-1"`, and see how much more of the events is lost.
#   At once.
# - In *Putting the matrix into a head*: write `order="highest"`, and train with links in the most important heads. Five to ten
#   minutes.
