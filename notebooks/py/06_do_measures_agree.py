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
# # 6 · By which measure should you remove heads, and how many?
#
# [← notebook 5, coreference injection](05_coreference_injection.ipynb) · [what it costs](../docs/run.md) · [all
# claims](../docs/results.md)
#
# Four papers say which attention heads a model can do without.
#
# - [Michel et al. 2019](https://arxiv.org/abs/1905.10650) take *gradient importance*: how steeply the loss moves as a head
#   begins to fade. `20` % of all heads of a translator and `40` % of BERT's go with no loss that they notice.
# - [Liu & Chen 2023](https://arxiv.org/abs/2312.09541) take it, too. Without its *underused* heads a summarizer loses `0.5` %.
# - [Voita et al. 2019](https://arxiv.org/abs/1905.09418) look at *relevance* and *confidence*, and prune by *L0*, which closes
#   the gates of heads in training. `38` of `48` encoder heads go for `0.15` BLEU.
# - [Ni et al. 2023](https://arxiv.org/abs/2305.14380) let the heads of a group *vote* for the one that stays. A quarter of all
#   heads stays, for `0.2` BLEU.
#
# Here all choose among the heads of the same models.
#
# - *Toy EN-RU* translates a toy language that we generate. `48` of its `80` heads are in the encoder.
# - *Europarl* translates debates from English to French. `48` of its `52` heads are in the encoder, and only these may go.
# - *SmolLM2* is a pretrained language model (Instruct, weights of four bits) with `270` heads.
#
# In short:
#
# - **Take gradient importance**, and rank the heads of all layers together. In the toy no measure is quicker.
# - **How many heads can go depends on the model**: nearly half in the two translators, a tenth in SmolLM2.
# - **Who can pay more does better in SmolLM2**, by learned gates or the loss without the head.
# - **After further training the gradient chooses as well as L0**, to half a BLEU.
# - **A measure must tell layers apart.** In the toy it is not enough to rank the heads of a layer well.

# %% tags=["parameters"] jupyter={"source_hidden": true}
profile: str = "laptop"  # tiny, quick, laptop, natural, europarl or paper: sizes only, each can be overridden below
corpus: str = ""  # "controlled" or "natural"; empty: the profile's own
models: str = ""  # such as "ru-news de-news"; empty: the corpus's own
pretrained: str = ""  # a Marian or BART checkpoint (Hub name or folder) to study instead
data_root: str = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser: str = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed: int = 1  # the first one; the setting "seeds" says how many
overrides: str = ""  # settings to change, name and value joined by an equals sign, separated by spaces
output: str = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus
entries: str = ""  # a Python file of measures of your own, which join the tables (docs/add.md)

# %% jupyter={"source_hidden": true}
import pandas as pd
from helpers import claims, drawing, heads, measures, models as library, papers, plots, study
from helpers.experiments import comparison, pruning
from helpers.measures import ranks, removal, worth
from helpers.methods import contest
from helpers.plan import sources
from helpers.runs import subjects
from helpers.training import dev_loss
import torch  # after helpers: threads that wait then sleep

run = study.begin("06_do_measures_agree", globals())
print(run.summary(), sources(run), sep="\n")
drawing.style()

# %% [markdown]
# ## The measures
#
# Give every head a *gate* $g$, a number that multiplies what the head puts out, normally one. Let $L$ be the loss.
#
# | measure | what it is |
# |---|---|
# | gradient importance | size of $\partial L/\partial g$ at $g=1$, a mean over sentences (*each token*: over tokens) |
# | loss without the head | $L(g=0)-L(g=1)$, all other heads in place |
# | learned gates | the $g$ that is learned when size (in SmolLM2: being open) has a price, weights fixed |
# | [L0](03_l0_pruning.ipynb) | whether $g$ stays open at a price while the weights train, too |
# | [relevance](01_relevance_and_confidence.ipynb) | share of a word's score that flows through it, by αβ (SmolLM2: AttnLRP) |
# | [confidence](01_relevance_and_confidence.ipynb) | largest attention weight, a mean over tokens |
# | [votes](04_grouped_heads.ipynb) | how often the head is nearest to the mean of its group |
#
# Translators rank their heads on `250` sentences, which are among the `500` where the loss is scored. SmolLM2 is scored on
# other text.

# %%
settings, names = run.settings, subjects.names(run.settings, models)
jobs = contest.runs.jobs(settings, names, seed, pretrained)  # a trained model each
entered = contest.enter(entries)  # your own measures, if you give a file of them
tables, seconds = comparison.head_tables(jobs, entered)  # a column for each measure, by model and training
for job, table in zip(jobs, tables.values(), strict=True):
    run.table(table, comparison.stored_as(job, seed), model=job["name"], of_seed=job["seed"])
toy, table = comparison.title(jobs[0]), next(iter(tables.values()))  # the first model, its first training
encoder = table.loc[["encoder"]]
model, dev, _ = contest.runs.opened(contest.runs.of_table(jobs[0]), settings["pruning"]["dev"])
dev = list(dev)
print(f"{len(table)} heads, {len(encoder)} in the encoder, {sum(len(batch['labels']) for batch in dev)} sentences")


# %% tags=["method"]
def gradient_importance(model, batches):
    slopes = []
    for batch in batches:
        ones = torch.ones(len(batch["labels"]), 1, device=model.device)  # a gate for each sentence
        gates = {(site.kind, site.layer): ones.repeat(1, site.heads).requires_grad_() for site in heads.sites(model)}
        with heads.gate(model, gates):
            logits, labels = model(**library.inputs(batch), use_cache=False).logits, batch["labels"]
        if not model.config.is_encoder_decoder:  # a token is predicted from those before it
            logits, labels = logits[:, :-1], labels[:, 1:]
        loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="sum")
        slopes.append(torch.cat(torch.autograd.grad(loss, list(gates.values())), dim=1))
    return torch.cat(slopes).abs().mean(0)


few = [{name: rows[:4] for name, rows in dev[0].items()}]  # four sentences
print(study.compare(gradient_importance(model, few), measures.importance(model, few, norm=None).to_numpy()))

# %% [markdown]
# ## Remove heads, and do not train on
#
# *Michel et al.* silence the heads of least importance and score again. *We ask* what the loss is then, and how many heads can
# go.


# %% tags=["method"]
def choose(table, by, count, *seed):
    """The heads to remove: those of least worth by a column of the head table, or random ones."""
    worth = removal.shuffled(table.index, *seed) if by == "random" else table[by]
    return list(worth.sort_values(kind="stable").index[:count])


def loss_without(gone, batches):
    """The loss in nats a token while these heads are silent."""
    with heads.gate(model, dict.fromkeys(gone, 0.0)):
        return dev_loss(model, batches)


# %%
removed = run.table(comparison.removed(jobs, tables, entered), "removed_at_once")  # of every model, measure and number of heads
by = "gradient, example"
theirs = removed.query("model == @toy and seed == @seed and criterion == @by").iloc[0]
mine = loss_without(choose(encoder, by, len(encoder) - theirs["heads"]), dev) - dev_loss(model, dev)
print(study.compare(theirs.change, torch.tensor(mine)))


# %% tags=["method"]
def without_few(trained, measures, shares, draws, sentences):
    """What the loss of a model rises by when a share of all heads goes: the least by each measure, or random ones."""
    first_order = contest.runs.measured(trained, contest.runs.FIRST_ORDER)[0]
    table = contest.runs.measured(trained)[0].join(first_order[["output norm"]])
    model, dev, seed = contest.runs.opened(trained, sentences)
    whole, rows = dev_loss(model, dev), []
    for count in (round(share * len(table)) for share in shares):
        ways = [(by, "least by the measure", removal.least(table[by], count)) for by in measures]
        for draw in range(draws):
            ways.append((measures[0], "random, same layers", removal.matched(table.index, ways[0][2], seed, draw)))
            ways.append(("random", "from anywhere", removal.least(removal.shuffled(table.index, seed, draw), count)))
        for by, choice, gone in ways:
            with heads.gate(model, dict.fromkeys(gone, 0.0)):
                rows.append((by, choice, len(table) - count, dev_loss(model, dev) - whole))
    return pd.DataFrame(rows, columns=["criterion", "choice", "heads", "change"])


# %%
trained, every, compete = contest.runs.of_table(jobs[0]), toy + comparison.EVERY, len(table)  # the first training
if every not in removed.index.unique("model"):  # only encoder heads may go
    every, compete = toy, len(encoder)
chosen = [by, "leave-one-out", "gradient, example, by layer", "alpha_beta", "confidence", "votes", "output norm"]
given = {"measures": chosen, "shares": [0.05, 0.1, 0.2], "draws": 3, "sentences": settings["relevance"]}
first = run.stored(without_few, contest.runs.tabled(trained), trained=trained, **given)  # half a minute
run.table(first, "first_heads", over="one training")
first["heads"] -= len(table) - compete
first = first.assign(model=every, seed=seed, criterion=first.criterion.mask(first.choice == comparison.SAME, first.choice))

# %%
sizes = {every: (compete, len(table)), "EN-FR europarl": (48, 52)}  # heads that compete, and all
rises = comparison.rises(pd.concat([removed.reset_index(), first]), sizes, by)
run.table(rises, "rises", over="trainings and draws, in SmolLM2 passages")
shown = [by, "leave-one-out", "L1 gates", *entered, comparison.SAME, "random"]  # a curve each
drawn = pd.concat([rises[rises.criterion == name] for name in shown])
axes = ("% of all heads left", "rise of the loss\n(nats a token)")
figure = plots.curve(drawn, "left", "rise", "measure", panel="model", labels=axes, level=0.05, columns=3)
figure.axes[0].set(yscale="log", ylim=(0.001, 12), yticks=[0.01, 0.1, 1, 10], yticklabels=["0.01", "0.1", "1", "10"])
for axis, left in zip(figure.axes[::2], (80, 60), strict=False):  # what Michel et al.'s translator and BERT keep
    axis.axvline(left, color="grey", lw=0.8, ls="--", zorder=0)
run.figure(figure, "rises", "The rise of the loss after heads are removed at once.", table="rises")

# %% [markdown]
# The dotted line is our yardstick: `0.05` nats, five per cent of perplexity. At the dashed lines Michel et al. see no loss
# yet, by BLEU in their translator (left), by accuracy in BERT (right).
#
# Bars reach over the toy's three trainings and all draws of random heads, in SmolLM2 over `95 %` intervals (passages).
# Europarl is one training. So are the toy's first three cuts, scored on the same `250` sentences that rank the heads.
#
# **The first heads by the gradient are nearly free.** With `14` of SmolLM2's heads gone it costs **0.02**<!--
# pretrained/drawn_at_once by="gradient, example" random= fraction=0.05 change:.2f --> nats. Three draws of random heads of its
# layers cost **0.14**<!-- pretrained/drawn_at_once random="same number a layer" by="gradient, example" fraction=0.05 draw=1
# change:.2f --> to **0.35**<!-- pretrained/drawn_at_once random="same number a layer" by="gradient, example" fraction=0.05
# draw=0 change:.2f -->. In the toy random heads of its layers are nearly free, too; those from anywhere are not.

# %%
listed = [by, "gradient, token", "L1 gates", *entered, *chosen[1:], "random"]
can_go = run.table(comparison.spared(rises), "can_go", over="trainings and draws, in SmolLM2 passages")  # % of all heads
both = can_go.pivot(index="measure", columns="model", values="text")[[*dict.fromkeys(rises.model)]]
cost = pd.DataFrame(seconds).apply(lambda spent: spent / spent[by]).mean(axis=1).rename(comparison.way)
both.insert(0, "time", cost.map("{:.0f}".format))
both.reindex(dict.fromkeys(map(comparison.way, listed))).fillna("–")

# %% [markdown]
# The most heads that can go within the yardstick, in per cent of all, by the lines in the figure, in brackets by the ends of
# their bars. `<5`: not even five. Time is that on generated text, in units of the gradient's.
#
# **How many can go?** By the gradient **43**<!-- 06/can_go measure="gradient importance" model="toy EN-RU" gone:.0f --> % of
# the toy's heads, **49**<!-- 06/can_go measure="gradient importance" model="Europarl" gone:.0f --> % of Europarl's and
# **10**<!-- 06/can_go measure="gradient importance" model="SmolLM2" gone:.0f --> % [**7**<!-- 06/can_go
# measure="gradient importance" model="SmolLM2" low:.0f -->, **13**<!-- 06/can_go measure="gradient importance" model="SmolLM2"
# high:.0f -->] of SmolLM2's.
#
# Michel et al. divide the gradient by its size in the layer. Then fewer go: **30**<!-- 06/can_go
# measure="gradient importance, by layer" model="toy EN-RU" gone:.0f --> % in the toy, **38**<!-- 06/can_go
# measure="gradient importance, by layer" model="Europarl" gone:.0f --> % on Europarl.

# %%
cuts = removed.reset_index().query("model == @every")
place = cuts.groupby("seed")["heads"].rank("dense")  # trainings keep different numbers of heads
cuts = cuts.assign(gone=(compete - cuts.groupby(place)["heads"].transform("mean")).round().astype(int))
gaps = run.table(comparison.against(cuts, by), "against", over="trainings (t), in SmolLM2 passages")
each = gaps.assign(less=gaps.high < 0, more=gaps.low > 0).groupby(["measure", "model"])
counts = each.agg(less=("less", "sum"), more=("more", "sum"), cuts=("gone", "size"))
counts = counts.assign(least=each.change.min(), most=each.change.max()).itertuples(index=False)
text = [f"{row.less} less, {row.more} more, of {row.cuts} ({row.least:+.2f} to {row.most:+.2f})" for row in counts]
text = pd.Series(text, each.size().index).unstack("model")[[*dict.fromkeys(gaps.model)]]
text.reindex(dict.fromkeys(map(comparison.way, listed[1:]))).fillna("–")

# %% [markdown]
# At how many cuts a measure costs less or more than the gradient, by intervals over the toy's trainings and SmolLM2's
# passages, and the range of the differences in nats ([each
# cut](../figures/controlled/06_do_measures_agree/tables/against.csv)). Random heads are the mean of three draws.
#
# **Random heads cost more than the gradient at every cut**,<!-- holds: 06/against model="toy EN-RU" criterion=random gone=25
# low > 0 --><!-- holds: 06/against model="toy EN-RU" criterion=random gone=36 low > 0 --><!-- holds: 06/against
# model="toy EN-RU" criterion=random gone=44 low > 0 --><!-- holds: 06/against model="toy EN-RU" criterion=random gone=55
# low > 0 --><!-- holds: pretrained/compared by=random heads=14 minus="gradient, example" low > 0 --><!-- holds:
# pretrained/compared by=random heads=27 minus="gradient, example" low > 0 --><!-- holds: pretrained/compared by=random
# heads=54 minus="gradient, example" low > 0 --><!-- holds: pretrained/compared by=random heads=68 minus="gradient, example"
# low > 0 --><!-- holds: pretrained/compared by=random heads=135 minus="gradient, example" low > 0 --><!-- holds:
# pretrained/compared by=random heads=202 minus="gradient, example" low > 0 --> and so does confidence.<!-- holds: 06/against
# model="toy EN-RU" criterion=confidence gone=25 low > 0 --><!-- holds: 06/against model="toy EN-RU" criterion=confidence
# gone=36 low > 0 --><!-- holds: 06/against model="toy EN-RU" criterion=confidence gone=44 low > 0 --><!-- holds: 06/against
# model="toy EN-RU" criterion=confidence gone=55 low > 0 --><!-- holds: pretrained/compared by=confidence heads=27
# minus="gradient, example" low > 0 --><!-- holds: pretrained/compared by=confidence heads=68 minus="gradient, example"
# low > 0 --><!-- holds: pretrained/compared by=confidence heads=135 minus="gradient, example" low > 0 --><!-- holds:
# pretrained/compared by=confidence heads=202 minus="gradient, example" low > 0 -->
#
# **In the toy learned gates alone beat the gradient, at one cut of four**: with `44` heads gone they cost **0.11**<!--
# 06/against model="toy EN-RU" criterion="L1 gates" gone=44 -change:.2f --> [**0.06**<!-- 06/against model="toy EN-RU"
# criterion="L1 gates" gone=44 -high:.2f -->, **0.15**<!-- 06/against model="toy EN-RU" criterion="L1 gates" gone=44 -low:.2f
# -->] less.
#
# **In SmolLM2 two measures beat it**: the loss without the head at all four cuts,<!-- holds: pretrained/compared
# by=leave-one-out heads=27 minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by=leave-one-out heads=68
# minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by=leave-one-out heads=135 minus="gradient, example"
# high < 0 --><!-- holds: pretrained/compared by=leave-one-out heads=202 minus="gradient, example" high < 0 --> learned gates
# at four of five.<!-- holds: pretrained/compared by=gates heads=48 minus="gradient, example" high < 0 --><!-- holds:
# pretrained/compared by=gates heads=86 minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by=gates
# heads=148 minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by=gates heads=197 minus="gradient, example"
# high < 0 --><!-- holds: pretrained/compared by=gates heads=23 minus="gradient, example" high > 0 --> With half of the heads
# gone the first costs **0.26**<!-- pretrained/compared by=leave-one-out heads=135 minus="gradient, example" -change:.2f -->
# [**0.20**<!-- pretrained/compared by=leave-one-out heads=135 minus="gradient, example" -high:.2f -->, **0.31**<!--
# pretrained/compared by=leave-one-out heads=135 minus="gradient, example" -low:.2f -->] less.
#
# **Taken for each token, the gradient does better in SmolLM2 at three cuts of four**,<!-- holds: pretrained/compared
# by="gradient, token" heads=68 minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by="gradient, token"
# heads=135 minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by="gradient, token" heads=202
# minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by="gradient, token" heads=27 minus="gradient, example"
# low > 0 --> with half of the heads gone by **0.17**<!-- pretrained/compared by="gradient, token" heads=135
# minus="gradient, example" -change:.2f --> [**0.12**<!-- pretrained/compared by="gradient, token" heads=135
# minus="gradient, example" -high:.2f -->, **0.21**<!-- pretrained/compared by="gradient, token" heads=135
# minus="gradient, example" -low:.2f -->]. In the toy it takes as long and is never surely better.<!-- holds: 06/against
# model="toy EN-RU" criterion="gradient, token" gone=25 high > 0 --><!-- holds: 06/against model="toy EN-RU"
# criterion="gradient, token" gone=36 high > 0 --><!-- holds: 06/against model="toy EN-RU" criterion="gradient, token" gone=44
# high > 0 --><!-- holds: 06/against model="toy EN-RU" criterion="gradient, token" gone=55 high > 0 -->
#
# **In SmolLM2 the first token misleads confidence.** The more a head rests on the first token, the less it matters.<!-- holds:
# pretrained/correlations measure="first token" high < 0 --> With a tenth gone it costs **4.8**<!-- pretrained/compared
# by=confidence heads=27 minus=random change:.1f --> [**4.7**<!-- pretrained/compared by=confidence heads=27 minus=random
# low:.1f -->, **5.1**<!-- pretrained/compared by=confidence heads=27 minus=random high:.1f -->] nats more than random heads.

# %% [markdown]
# ## Heads or layers?
#
# *We ask* whether a measure knows heads, or only layers. Half of the heads go by each measure, or as many random heads of the
# same layers.

# %%
layered, half, draws = [by, "leave-one-out", "alpha_beta", "confidence"], len(table) // 2, range(3)  # all heads of the toy
rows = [("random", "from anywhere", loss_without(choose(table, "random", half, draw), dev)) for draw in draws]
for name in layered:
    gone = choose(table, name, half)
    rows.append((name, "least by the measure", loss_without(gone, dev)))
    for draw in draws:
        rows.append((name, "random, same layers", loss_without(removal.matched(table.index, gone, draw), dev)))
live = pd.DataFrame(rows, columns=["criterion", "choice", "loss"])

# %%
live = live.assign(rise=live.loss - dev_loss(model, dev)).groupby(["criterion", "choice"], sort=False).rise
live = live.agg(rise="mean", low="min", high="max").reset_index().assign(model=toy)
both = pd.concat([live, comparison.smollm2().query("left == 50")]).replace({"model": {toy: "toy EN-RU"}})
both = pd.concat([both[both.criterion == name] for name in [*layered, "random"]])
run.table(both, "layers", over="draws of heads, in SmolLM2 passages")
both = both.assign(measure=both.criterion.map(comparison.way), hollow=both.choice != "least by the measure")
label = "rise of the loss\n(nats a token, log scale)"
figure = plots.dots(both, "choice", "rise", group="measure", panel="model", label=label, sharex=False)
for axis, ticks in zip(figure.axes, ([0.1, 0.3, 1, 3], [1, 2, 4, 8]), strict=False):
    axis.set(xscale="log", xticks=ticks, xticklabels=map(str, ticks), xlim=(ticks[0] / 2, ticks[-1] * 1.1))
    axis.minorticks_off()
run.figure(figure, "layers", "Half of the heads go by a measure, or at random from the same layers.", table="layers")

# %% [markdown]
# Hollow dots are random heads: three draws, in SmolLM2 one for relevance and confidence. The toy is one training.
#
# **In the toy the gradient's gain lies mostly in layers.** Random heads cost **1.16**<!-- 06/layers model="toy EN-RU"
# criterion=random choice="from anywhere" rise:.2f --> nats, random heads of the gradient's layers **0.23**<!-- 06/layers
# model="toy EN-RU" criterion="gradient, example" choice="random, same layers" rise:.2f -->, its own heads **0.06**<!--
# 06/layers model="toy EN-RU" criterion="gradient, example" choice="least by the measure" rise:.2f -->. All its forty heads are
# in the encoder, which this toy hardly needs ([notebook 3](03_l0_pruning.ipynb)).
#
# **In SmolLM2 heads count, too.** The gradient costs less than random heads of its layers at all six cuts.<!-- holds:
# pretrained/compared by="gradient, example" heads=14 minus="random, same layers" high < 0 --><!-- holds: pretrained/compared
# by="gradient, example" heads=27 minus="random, same layers" high < 0 --><!-- holds: pretrained/compared
# by="gradient, example" heads=54 minus="random, same layers" high < 0 --><!-- holds: pretrained/compared
# by="gradient, example" heads=68 minus="random, same layers" high < 0 --><!-- holds: pretrained/compared
# by="gradient, example" heads=135 minus="random, same layers" high < 0 --><!-- holds: pretrained/compared
# by="gradient, example" heads=202 minus="random, same layers" high < 0 --> At four of them this is more than half of its gain
# on random heads from anywhere.<!-- holds: pretrained/compared by="gradient, example" heads=14 minus="random, same layers"
# change < -0.18 --><!-- holds: pretrained/compared by="gradient, example" heads=14 minus=random change > -0.2 --><!-- holds:
# pretrained/compared by="gradient, example" heads=27 minus="random, same layers" change < -0.18 --><!-- holds:
# pretrained/compared by="gradient, example" heads=27 minus=random change > -0.25 --><!-- holds: pretrained/compared
# by="gradient, example" heads=54 minus="random, same layers" change < -0.5 --><!-- holds: pretrained/compared
# by="gradient, example" heads=54 minus=random change > -0.9 --><!-- holds: pretrained/compared by="gradient, example"
# heads=202 minus="random, same layers" change < -2.3 --><!-- holds: pretrained/compared by="gradient, example" heads=202
# minus=random change > -3.7 --><!-- holds: pretrained/compared by="gradient, example" heads=68 minus="random, same layers"
# change > -0.27 --><!-- holds: pretrained/compared by="gradient, example" heads=68 minus=random change < -0.6 --><!-- holds:
# pretrained/compared by="gradient, example" heads=135 minus="random, same layers" change > -1.7 --><!-- holds:
# pretrained/compared by="gradient, example" heads=135 minus=random change < -3.6 -->
#
# **Confidence takes the wrong layers.** Random heads of its layers cost more than any draw from anywhere, in the toy and in
# SmolLM2 at three of four cuts.<!-- holds: 06/layers model="toy EN-RU" criterion=confidence choice="random, same layers"
# low > 1.7 --><!-- holds: 06/layers model="toy EN-RU" criterion=random choice="from anywhere" high < 1.7 --><!-- holds:
# pretrained/removed_at_once random="same number a layer" by=confidence fraction=0.1 change_low > 2 --><!-- holds:
# pretrained/removed_at_once random="same number a layer" by=confidence fraction=0.25 change_low > 6 --><!-- holds:
# pretrained/removed_at_once random="same number a layer" by=confidence fraction=0.5 change_low > 6 --><!-- holds: 06/rises
# model=SmolLM2 criterion=random left=90.0 high < 1 --><!-- holds: 06/rises model=SmolLM2 criterion=random left=50.0
# high < 6 --><!-- holds: pretrained/removed_at_once random=any draw=1 fraction=0.25 change_high < 2 -->
#
# *We ask* also whether cheap measures rank the heads of a layer as the loss without them does. We look where at least half of
# them change it.

# %%
differ = comparison.effects(jobs, settings["relevance"])  # how many heads change the loss at all, in models of our own
if differ is not None:
    run.table(differ, "effects_of_heads", split="dev")
run.table(comparison.predictors(tables, seconds, differ), "predictors")
seeds = {of_seed: part.loc[["decoder"]] for (name, of_seed), part in tables.items() if name == toy}
pooled = pd.concat(part.rename(index=lambda at, n=of_seed: at + 10 * n, level="layer") for of_seed, part in seeds.items())
each = worth.rises_of_examples(model, dev, ("decoder",))[0]  # a row a sentence, a column a head
itself = ranks.correlation(each[::2].sum(), each[1::2].sum(), within_layer=True) | {"measure": "itself"}

# %%
decoder = pd.concat([pd.DataFrame([itself]), comparison.predictors({(toy, seed): pooled}, {})])
europarl = pd.read_csv(comparison.EUROPARL / "predictors.csv").query("kind == 'encoder' and heads == 'within layers'")
europarl = europarl[europarl.truth == "leave-one-out"]
smollm2 = pd.read_csv(comparison.PRETRAINED / "correlations.csv").drop(columns=["low", "high"])
smollm2 = smollm2.rename(columns={"heads_low": "low", "heads_high": "high"})
smollm2 = smollm2.replace({"attnlrp": "alpha_beta", "leave-one-out, half against half": "itself"})
parts = {"toy EN-RU, decoder": decoder, "Europarl, encoder": europarl, "SmolLM2": smollm2}
both = pd.concat([part.assign(place=place) for place, part in parts.items()])[["measure", "place", "rho", "low", "high"]]
ranked = [by, "output norm", "L1 gates", "alpha_beta", "votes", "confidence", "confidence, later tokens", *entered]
both = pd.concat([both[both.measure == name] for name in ["itself", *ranked]])
both = run.table(both, "ranks", over="heads")

# %%
names = both.measure.map(comparison.way).replace({"itself": "itself, on the other half of the text"})
label = "rank correlation with the\nloss without the head"
both = pd.concat([both.assign(way=names)[both.place == place] for place in parts])
both["place"] = both.place.str.replace(", ", ",\n")
figure = plots.dots(both, "way", "rho", panel="place", label=label)
run.figure(figure, "predictors", "How well each measure ranks the heads of a layer.", table="ranks")

# %% [markdown]
# Bars are `95 %` intervals, heads drawn anew within layers (of the toy's three trainings together). *Itself* is the loss
# without the head on one half of the text against the other (not measured on Europarl). *Output norm* is the length of what a
# head writes.
#
# **In SmolLM2 the loss without a head is itself noisy**: on two halves of the text it agrees at **0.49**<!-- 06/ranks
# place="SmolLM2" measure=itself rho:.2f --> [**0.34**<!-- 06/ranks place="SmolLM2" measure=itself low:.2f -->, **0.56**<!--
# 06/ranks place="SmolLM2" measure=itself high:.2f -->]. The gradient reaches **0.56**<!-- 06/ranks place="SmolLM2"
# measure="gradient, example" rho:.2f --> [**0.43**<!-- 06/ranks place="SmolLM2" measure="gradient, example" low:.2f -->,
# **0.62**<!-- 06/ranks place="SmolLM2" measure="gradient, example" high:.2f -->]. In the toy it leaves a gap: **0.59**<!--
# 06/ranks place="toy EN-RU, decoder" measure="gradient, example" rho:.2f --> against **0.98**<!-- 06/ranks
# place="toy EN-RU, decoder" measure=itself rho:.2f -->.
#
# **That is not enough.** Output norm ranks the toy's decoder heads as well (**0.65**<!-- 06/ranks place="toy EN-RU, decoder"
# measure="output norm" rho:.2f -->), yet only **8**<!-- 06/can_go measure="output norm" model="toy EN-RU" gone:.0f --> % of
# the toy's heads can go by it: more than half of its forty lowest are in the decoder.

# %% [markdown]
# ## Remove heads, and train on
#
# *Ni et al.* compare choices after further training. *We ask* whose choice leaves the best translator. As many encoder heads go
# as L0 closes at the price `0.003` ([notebook 3](03_l0_pruning.ipynb)); the rest trains as long as L0 did. The toy keeps
# **12**<!-- 06/removed_and_trained_on seed=1 criterion="L0 (trained)" heads:.0f --> to **15**<!-- 06/removed_and_trained_on
# seed=3 criterion="L0 (trained)" heads:.0f --> of `48` heads, Europarl **28**<!-- natural/06/contest criterion=votes
# "test set"=europarl_test heads:.0f -->.

# %%
criteria = [*map(pruning.called, settings["pruning"]["criteria"]), *settings["comparison"]["criteria"]]
contested = {}
for job in comparison.contested(jobs):  # trainings of the first translator
    place = comparison.title(job), job["seed"]
    l0, closed = comparison.by_l0(job)  # as many heads go as L0 closes
    ways = [("L0 (trained)", l0), ("L0's heads", comparison.cut_and_train(job, closed))]
    for criterion in criteria:
        for draw in range(settings["pruning"]["draws"] if criterion == "random" else 1):
            gone = choose(tables[place].loc[["encoder"]], criterion, len(closed), job["seed"], draw)
            ways.append((criterion, comparison.cut_and_train(job, gone)))  # fetched where published, else trained now
    contested[place] = comparison.scored(job, ways, parser, settings["bootstrap"])  # BLEU of what it translates

# %%
trained = pd.concat(contested, names=["model", "seed", "row"])
run.table(trained, "removed_and_trained_on", over="sentences of one training")
run.table(comparison.against_random(trained), "contest_against_random")
means = run.table(comparison.over_seeds(trained), "contest")
above = comparison.over_seeds(trained, "above", ("above_low", "above_high"))
above = run.table(above[above.criterion != "L0 (trained)"], "contest_against_l0", resamples=settings["bootstrap"])
europarl = pd.read_csv(comparison.EUROPARL / "contest_against_l0.csv")  # two test sets
draws = pd.read_csv(comparison.EUROPARL / "removed_and_trained_on.csv").query("criterion == 'random'").groupby("test set")
chance = europarl.criterion == "random"
ends = draws.agg({"above_low": "min", "above_high": "max"}).loc[europarl[chance]["test set"]]
europarl.loc[chance, ["low", "high"]] = ends.to_numpy()

# %%
l0 = pd.concat([means, pd.read_csv(comparison.EUROPARL / "contest.csv")]).query("criterion == 'L0 (trained)'")
whole = l0.assign(criterion="none", value=-l0.value, low=-l0.high, high=-l0.low)  # the unpruned model against L0
both = pd.concat([whole, above.sort_values("value", ascending=False), europarl])
compared = ["none", "L0's heads", by, "L1 gates", *entered, "leave-one-out", "votes", "alpha_beta", "confidence", "random"]
both = pd.concat([both[both.criterion == name] for name in compared])
paper = (both.criterion == "none") & (both.seeds > 1)  # Voita et al.'s L0 with 10 of 48 heads
both.loc[paper, "printed"] = -papers.FIGURE_7.query("heads == 10").change.item()
places = {"test": "toy EN-RU", "europarl_test": "Europarl, debates", "newstest2014": "Europarl, news"}
both = both.assign(place=both["test set"].replace(places), way=both.criterion.map(comparison.way))

# %%
both = both.assign(way=both.way.replace({"none": "no head removed"}))
both = run.table(pd.concat([both[both.place == place] for place in places.values()]), "contest_shown")
figure = plots.dots(both, "way", "value", panel="place", label="BLEU minus that of\nwhat L0 prunes")
for axis in figure.axes:
    axis.axvspan(-0.5, 0.5, color="#DDDDDD", lw=0, zorder=0)
    axis.set_xscale("symlog", linthresh=1)
    axis.set(xlim=(-9, 4), xticks=[-5, -1, 0, 1], xticklabels=["-5", "-1", "0", "1"])
run.figure(figure, "contest", "What each choice of heads costs after further training.", table="contest_shown")

# %% [markdown]
# Bars are `95 %` intervals over the toy's trainings and Europarl's sentences; of random heads there over three draws. Grey is
# half a BLEU. The diamond is Voita et al. with `10` of `48` heads. The model without pruning trains on, too.
#
# **Gradient importance and learned gates choose as well as L0, to half a BLEU**: all their intervals lie within it.<!-- holds:
# 06/contest_against_l0 criterion="gradient, example" low > -0.5 --><!-- holds: 06/contest_against_l0
# criterion="gradient, example" high < 0.5 --><!-- holds: 06/contest_against_l0 criterion="L1 gates" low > -0.5 --><!-- holds:
# 06/contest_against_l0 criterion="L1 gates" high < 0.5 --><!-- holds: natural/06/contest_against_l0
# criterion="gradient, example" "test set"=europarl_test low > -0.5 --><!-- holds: natural/06/contest_against_l0
# criterion="gradient, example" "test set"=newstest2014 low > -0.5 --><!-- holds: natural/06/contest_against_l0
# criterion="gradient, example" "test set"=newstest2014 high < 0.5 --><!-- holds: natural/06/contest_against_l0
# criterion="L1 gates" "test set"=europarl_test low > -0.5 --><!-- holds: natural/06/contest_against_l0 criterion="L1 gates"
# "test set"=newstest2014 low > -0.5 --><!-- holds: natural/06/contest_against_l0 criterion="L1 gates" "test set"=newstest2014
# high < 0.5 --> On Europarl L0 itself costs less than that,<!-- holds: natural/06/contest criterion="L0 (trained)"
# "test set"=europarl_test value > -0.5 --><!-- holds: natural/06/contest criterion="L0 (trained)" "test set"=newstest2014
# value > -0.5 --> in the toy **0.6**<!-- 06/contest criterion="L0 (trained)" -value:.1f -->. Whether the gradient beats random
# heads of its layers, we cannot tell ([three trainings](../docs/regimes.md#random-heads-matched-by-layer)).<!-- holds:
# regimes/matched_claims method="gradient, example" low < 0 --><!-- holds: regimes/matched_claims method="gradient, example"
# high > 0 -->
#
# **In Ni et al. votes beat L0, here they do not.** There, German-English with a quarter of all heads left, they end `3.0` BLEU
# above it. On debates they end **0.8**<!-- natural/06/contest_against_l0 criterion=votes "test set"=europarl_test -value:.1f
# --> [**0.6**<!-- natural/06/contest_against_l0 criterion=votes "test set"=europarl_test -high:.1f -->, **1.1**<!--
# natural/06/contest_against_l0 criterion=votes "test set"=europarl_test -low:.1f -->] below it, elsewhere we cannot tell.<!--
# holds: 06/contest_against_l0 criterion=votes high > 0 --><!-- holds: natural/06/contest_against_l0 criterion=votes
# "test set"=newstest2014 high > 0 -->


# %% [markdown]
# ## Where this may not hold
#
# Europarl and SmolLM2 are one model each. We trained on at one price.

# %% [markdown]
# ## Verdicts
#
# One question of ours, for the toy ([other texts](../docs/results.md)). The kinds are the decoder's
# two attentions.

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# To `shown` add `"output norm"`. In seconds the first figure has its curve in the toy, far above random heads with a third
# gone.<!-- holds: 06/rises model="toy EN-RU" criterion="output norm" left=68.75 low > 1.2 --><!-- holds: 06/rises
# model="toy EN-RU" criterion=random left=68.75 high < 1 -->
