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
# # 6 · Which measure should you use to remove heads?
#
# [← notebook 5, coreference injection](05_coreference_injection.ipynb) · [what it costs](../docs/run.md) · [all
# claims](../docs/results.md)
#
# [Michel et al. 2019](https://arxiv.org/abs/1905.10650) rank heads by the gradient of the loss. In their translator a fifth of
# the heads goes for free. We remove heads by several measures from a translator of a generated *toy* language and from SmolLM2,
# a pretrained model.
#
# **Use the gradient.** It takes one pass, and random heads cost far more. By it a fifth of the toy's heads goes for free, all
# from an encoder that it hardly needs, but not of SmolLM2's. There gates that learn choose still better. If the model trains
# on, the gradient is as good as the pruning method L0, to half a BLEU.


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
from helpers import claims, drawing, heads, measures, models as library, plots, study
from helpers.experiments import comparison, pruning
from helpers.measures import measured, removal
from helpers.methods import contest
from helpers.plan import sources
from helpers.runs import subjects
from helpers.training import dev_loss
import torch  # after helpers: threads that wait then sleep

run = study.begin("06_do_measures_agree", globals())
print(run.summary(), sources(run), sep="\n")
drawing.style()

# %% [markdown]
# ## Which measure finds heads that can go?

# %%
settings, names = run.settings, subjects.names(run.settings, models)
jobs = contest.runs.jobs(settings, names, seed, pretrained)  # the models, trained
entered = contest.enter(entries)  # your own measures, if you give a file of them
tables = {(comparison.title(job), job["seed"]): contest.runs.tables(job, entered) for job in jobs}
table = next(iter(tables.values()))  # of the toy, first training
few = measured.from_one(table)[["gradient, example", "leave-one-out", "alpha_beta", "confidence"]].head(3)
few.rename(columns=comparison.way).round(3)


# %% [markdown]
# - *Gradient importance*: a *gate* $g$, normally one, multiplies what a head puts out. We average the size of $\partial
#   L/\partial g$, where $L$ is the loss, over sentences (or over *each token*). *By layer*, as Michel et al. do, it is then
#   divided by the norm of its layer's values.
# - *Loss without the head*: the rise of $L$ when this head alone is silent.
# - *Relevance*: how much of a prediction flows through the head, by the rules LRP αβ or AttnLRP ([notebook
#   1](01_relevance_and_confidence.ipynb)).
# - *Confidence*: its largest attention weight, on average.
#
#

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


model, dev, _ = contest.runs.opened(contest.runs.of_table(jobs[0]), settings["pruning"]["dev"])
four = [{name: rows[:4] for name, rows in dev[0].items()}]  # sentences
known = measures.importance(model, four, norm=None)  # norm="layer" divides by the norm of the layer
print(study.compare(gradient_importance(model, four), known.to_numpy()))

# %% tags=["method"]
def choose(table, by, count, *seed):
    """The heads to remove: those with the least of a measure, or random ones."""
    worth = removal.shuffled(table.index, *seed) if by == "random" else table[by]
    return list(worth.sort_values(kind="stable").index[:count])


def rise_without(gone):
    """How much the loss rises, in nats a token, while these heads are silent."""
    with heads.gate(model, dict.fromkeys(gone, 0.0)):
        return dev_loss(model, dev) - whole


whole = dev_loss(model, dev)

# %%
shown = ["gradient, example", "gradient, example, by layer", "gradient, token", "leave-one-out", "L1 gates", "confidence"]
shown += [*entered, "random"]
small = []  # cuts, measured now
for by in shown:
    for share, draw in [(share, draw) for share in (0.05, 0.1, 0.2) for draw in range(3 if by == "random" else 1)]:
        small.append((by, share, rise_without(choose(table, by, round(share * len(table)), draw))))

# %%
removed = comparison.removed(jobs, tables, entered)  # by every measure, at larger cuts
rises = run.table(comparison.rises(removed, tables, shown, small), "rises", over="trainings and draws, in SmolLM2 passages")
axes = ("% of heads removed", "rise of the loss (nats a\ntoken, log above 0.01)")
look = {"panel": "model", "falling": False, "columns": 2, "ticks": (0, 0.01, 0.1, 1, 5)}
figure = plots.curve(rises, "gone", "rise", "measure", labels=axes, **look)
for axis, free in zip(figure.axes, (20, 40), strict=True):  # Michel et al.'s translator, and BERT
    axis.axvspan(0, free, color="#EEEEEE", lw=0, zorder=0)
run.figure(figure, "rises", "The rise of the loss when heads go by a measure.", table="rises")

# %% [markdown]
# Grey is what Michel et al. remove for free, left from a translator, right from BERT. Bars span the toy's three trainings and
# draws; up to a fifth it is one training. In SmolLM2 they are `95 %` intervals over passages, for random heads of three draws
# together. A rise up to `0.01`, one per cent of perplexity, is free.
#
# **A fifth goes for free in the toy, not in SmolLM2.**<!-- holds: 06/rises model="toy EN-RU" criterion="gradient, example"
# gone=20.0 high < 0.01 --><!-- holds: 06/rises model=SmolLM2 criterion="gradient, example" gone=20.0 low > 0.01 --> By the
# gradient it costs **0.001**<!-- 06/rises model="toy EN-RU" criterion="gradient, example" gone=20.0 rise:.3f --> and
# **0.19**<!-- 06/rises model=SmolLM2 criterion="gradient, example" gone=20.0 rise:.2f --> nats. Random heads and confidence
# always cost more.<!-- holds: 06/rises model="toy EN-RU" criterion="gradient, example" gone=5.0 high < 0.005 --><!-- holds:
# 06/rises model="toy EN-RU" criterion=random gone=5.0 low > 0.005 --><!-- holds: 06/rises model="toy EN-RU"
# criterion=confidence gone=5.0 low > 0.005 --><!-- holds: 06/rises model="toy EN-RU" criterion="gradient, example" gone=10.0
# high < 0.04 --><!-- holds: 06/rises model="toy EN-RU" criterion=random gone=10.0 low > 0.04 --><!-- holds: 06/rises
# model="toy EN-RU" criterion=confidence gone=10.0 low > 0.04 --><!-- holds: 06/rises model="toy EN-RU"
# criterion="gradient, example" gone=20.0 high < 0.1 --><!-- holds: 06/rises model="toy EN-RU" criterion=random gone=20.0 low >
# 0.1 --><!-- holds: 06/rises model="toy EN-RU" criterion=confidence gone=20.0 low > 0.1 --><!-- holds: 06/rises
# model="toy EN-RU" criterion="gradient, example" gone=31.2 high < 0.1 --><!-- holds: 06/rises model="toy EN-RU"
# criterion=random gone=31.2 low > 0.1 --><!-- holds: 06/rises model="toy EN-RU" criterion=confidence gone=31.2 low > 0.1
# --><!-- holds: 06/rises model="toy EN-RU" criterion="gradient, example" gone=44.6 high < 0.3 --><!-- holds: 06/rises
# model="toy EN-RU" criterion=random gone=44.6 low > 0.3 --><!-- holds: 06/rises model="toy EN-RU" criterion=confidence
# gone=44.6 low > 0.3 --><!-- holds: 06/rises model="toy EN-RU" criterion="gradient, example" gone=54.6 high < 0.5
# --><!-- holds: 06/rises model="toy EN-RU" criterion=random gone=54.6 low > 0.5 --><!-- holds: 06/rises model="toy EN-RU"
# criterion=confidence gone=54.6 low > 0.5 --><!-- holds: 06/rises model="toy EN-RU" criterion="gradient, example" gone=68.8
# high < 1.5 --><!-- holds: 06/rises model="toy EN-RU" criterion=random gone=68.8 low > 1.5 --><!-- holds: 06/rises
# model="toy EN-RU" criterion=confidence gone=68.8 low > 1.5 --><!-- holds: pretrained/compared by=random heads=14
# minus="gradient, example" low > 0 --><!-- holds: pretrained/compared by=random heads=27 minus="gradient, example" low > 0
# --><!-- holds: pretrained/compared by=random heads=54 minus="gradient, example" low > 0 --><!-- holds: pretrained/compared
# by=random heads=68 minus="gradient, example" low > 0 --><!-- holds: pretrained/compared by=random heads=135
# minus="gradient, example" low > 0 --><!-- holds: pretrained/compared by=random heads=202 minus="gradient, example" low > 0
# --><!-- holds: pretrained/compared by=confidence heads=27 minus="gradient, example" low > 0 --><!-- holds: pretrained/compared
# by=confidence heads=68 minus="gradient, example" low > 0 --><!-- holds: pretrained/compared by=confidence heads=135
# minus="gradient, example" low > 0 --><!-- holds: pretrained/compared by=confidence heads=202 minus="gradient, example" low > 0
# -->
#
# Divided by layer it costs more from almost a third of the toy's heads on.<!-- holds: 06/rises model="toy EN-RU"
# criterion="gradient, example" gone=31.2 high < 0.025 --><!-- holds: 06/rises model="toy EN-RU"
# criterion="gradient, example, by layer" gone=31.2 low > 0.025 --><!-- holds: 06/rises model="toy EN-RU"
# criterion="gradient, example" gone=44.6 high < 0.2 --><!-- holds: 06/rises model="toy EN-RU"
# criterion="gradient, example, by layer" gone=44.6 low > 0.2 --><!-- holds: 06/rises model="toy EN-RU"
# criterion="gradient, example" gone=54.6 high < 0.5 --><!-- holds: 06/rises model="toy EN-RU"
# criterion="gradient, example, by layer" gone=54.6 low > 0.5 --><!-- holds: 06/rises model="toy EN-RU"
# criterion="gradient, example" gone=68.8 high < 1.5 --><!-- holds: 06/rises model="toy EN-RU"
# criterion="gradient, example, by layer" gone=68.8 low > 1.5 --> In SmolLM2 it is now better, now worse.<!-- holds:
# pretrained/compared by="gradient, example, by layer" heads=54 minus="gradient, example" high < 0 --><!-- holds:
# pretrained/compared by="gradient, example, by layer" heads=202 minus="gradient, example" high < 0 --><!-- holds:
# pretrained/compared by="gradient, example, by layer" heads=27 minus="gradient, example" low > 0 --><!-- holds:
# pretrained/compared by="gradient, example, by layer" heads=135 minus="gradient, example" low > 0 --> The gradient of each
# token is better from a quarter of SmolLM2's heads on.<!-- holds: pretrained/compared by="gradient, token" heads=68
# minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by="gradient, token" heads=135 minus="gradient, example"
# high < 0 --><!-- holds: pretrained/compared by="gradient, token" heads=202 minus="gradient, example" high < 0 --> In SmolLM2
# the loss without the head is better from a tenth on,<!-- holds: pretrained/compared by=leave-one-out heads=27
# minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by=leave-one-out heads=68 minus="gradient, example" high
# < 0 --><!-- holds: pretrained/compared by=leave-one-out heads=135 minus="gradient, example" high < 0 --><!-- holds:
# pretrained/compared by=leave-one-out heads=202 minus="gradient, example" high < 0 --> but takes a run for each head. Learned
# gates
# ([notebook 3](03_l0_pruning.ipynb)) are better from `48` of its heads on, but must be trained.<!-- holds: pretrained/compared
# by=gates
# heads=48 minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by=gates heads=86 minus="gradient, example"
# high
# < 0 --><!-- holds: pretrained/compared by=gates heads=148 minus="gradient, example" high < 0 --><!-- holds:
# pretrained/compared
# by=gates heads=197 minus="gradient, example" high < 0 -->

# %% [markdown]
# ## Does the gradient know heads, or only layers?
#
# If it knew only layers, random heads of the same layers would cost as little. Layers *explain* the part of the gradient's gain
# over random heads from anywhere that random heads of the same layers have, too: all of it at `1`, none at `0`. Bars span three
# draws.

# %%
by, rows = "gradient, example", []
for share in (0.1, 0.25, 0.5, 0.75):
    count = round(share * len(table))
    gone = choose(table, by, count)
    rows.append((share, "least by the measure", rise_without(gone)))
    for draw in range(3):
        rows.append((share, "random, same layers", rise_without(removal.matched(table.index, gone, draw))))
        rows.append((share, "random, anywhere", rise_without(choose(table, "random", count, draw))))

# %%
layers = run.table(comparison.layers(rows, comparison.title(jobs[0]), by), "layers", over="draws of heads")
axes = ("% of heads removed", "share of the gain over random\nheads that layers explain")
figure = plots.curve(layers, "gone", "explained", labels=axes, level=1.0, falling=False)
figure.axes[0].axhline(0, **drawing.LEVEL)
figure.axes[0].set_ylim(top=1.1)
run.figure(figure, "layers", "How much of the gradient's gain over random heads its layers explain.", table="layers")

# %% [markdown]
# **It knows both.** When a quarter of SmolLM2's heads goes, layers explain **61 %**<!-- 06/layers model=SmolLM2 gone=25.2
# explained:.0% --> of the gain, single draws from **33 %**<!-- 06/layers model=SmolLM2 gone=25.2 low:.0% --> to
# **83 %**<!-- 06/layers model=SmolLM2 gone=25.2 high:.0% -->. At half they explain **59 %**<!-- 06/layers model=SmolLM2
# gone=50.0 explained:.0% -->, at other shares less.<!-- holds: 06/layers model=SmolLM2 gone=5.2 explained < 0.59 --><!-- holds:
# 06/layers model=SmolLM2 gone=10.0 explained < 0.59 --><!-- holds: 06/layers model=SmolLM2 gone=20.0 explained < 0.59
# --><!-- holds: 06/layers model=SmolLM2 gone=74.8 explained < 0.59 --> In the toy they explain **84 %**<!-- 06/layers
# model="toy EN-RU" gone=50.0 explained:.0% --> or more.<!-- holds: 06/layers model="toy EN-RU" gone=10.0 explained > 0.84
# --><!-- holds: 06/layers model="toy EN-RU" gone=25.0 explained > 0.84 --><!-- holds: 06/layers model="toy EN-RU" gone=75.0
# explained > 0.84 --> Up to half, all heads go from the encoder, which this toy hardly needs ([notebook
# 3](03_l0_pruning.ipynb)).
# That may be why dividing by layer costs it so much. No draw from the same layers is as good as the gradient's own
# heads.<!-- holds: 06/layers model=SmolLM2 gone=5.2 high < 1 --><!-- holds: 06/layers model=SmolLM2 gone=10.0 high < 1
# --><!-- holds: 06/layers model=SmolLM2 gone=20.0 high < 1 --><!-- holds: 06/layers model=SmolLM2 gone=25.2 high < 1
# --><!-- holds: 06/layers model=SmolLM2 gone=50.0 high < 1 --><!-- holds: 06/layers model=SmolLM2 gone=74.8 high < 1
# --><!-- holds: 06/layers model="toy EN-RU" gone=10.0 high < 1 --><!-- holds: 06/layers model="toy EN-RU" gone=25.0 high < 1
# --><!-- holds: 06/layers model="toy EN-RU" gone=50.0 high < 1 --><!-- holds: 06/layers model="toy EN-RU" gone=75.0 high < 1
# -->

# %% [markdown]
# ## Do measures rank heads alike?
#
# [Voita et al. 2019](https://arxiv.org/abs/1905.09418) find that relevance and confidence mostly agree. We compare each
# measure with the loss without the head, among the heads of a layer.


# %% tags=["method"]
def agreement(table, measure):
    """Rank correlation of a measure with the loss without the head, among the heads of a layer."""
    places = table.groupby("layer")[["leave-one-out", measure]].rank()
    return places["leave-one-out"].corr(places[measure])


smollm2 = pd.read_csv(comparison.PRETRAINED / "head_table.csv")
names = ["leave-one-out, half against half", "gradient, example", "alpha_beta", "attnlrp", "confidence"]
ranked = comparison.ranked(names)
print(study.compare(agreement(smollm2, "confidence"), ranked.query("model == 'SmolLM2' and measure == 'confidence'").rho))

# %%
run.table(ranked, "ranks", over="heads of Europarl, passages of SmolLM2")
figure = plots.dots(ranked, "way", "rho", panel="model", label="rank correlation with the\nloss without the head")
run.figure(figure, "predictors", "How well each measure ranks the heads of a layer.", table="ranks")

# %% [markdown]
# *Europarl* translates debates from English to French. Bars are `95 %` intervals, over its heads and over SmolLM2's passages.
# *Itself* is the loss on ten passages against ten others. Of Europarl we have no such halves.
#
# **On Europarl and in SmolLM2 the gradient ranks heads much as the loss without them does.**<!-- holds: 06/ranks model=SmolLM2
# measure="gradient, example" low > 0.3 --><!-- holds: 06/ranks model="Europarl, encoder" measure="gradient, example" low > 0.3
# --> In the toy we cannot tell.<!-- holds: 06/predictors kind=cross measure="gradient, example" low < 0 --> Relevance does the
# same, but not by AttnLRP on Europarl.<!-- holds: 06/ranks model=SmolLM2 measure=attnlrp low > 0.3 --><!-- holds: 06/ranks
# model="Europarl, encoder" measure=alpha_beta low > 0.3 --><!-- holds: 06/ranks model="Europarl, encoder" measure=attnlrp low <
# 0 --> In SmolLM2 the gradient agrees with the loss (**0.56**<!-- 06/ranks model=SmolLM2 measure="gradient, example" rho:.2f
# -->) about
# as well as half of the passages with the other half (**0.49**<!-- 06/ranks model=SmolLM2
# measure="leave-one-out, half against half" rho:.2f -->).
# Confidence works on Europarl,<!-- holds: 06/ranks model="Europarl, encoder" measure=confidence low > 0.3 --> but ranks
# SmolLM2's heads the wrong way round.<!-- holds: 06/ranks model=SmolLM2 measure=confidence high < 0 --> Blame mostly the first
# token: without that token, removing a tenth costs **0.26**<!-- pretrained/removed_at_once random=
# by="confidence, later tokens" fraction=0.1 change:.2f --> nats, not **5.13**<!-- pretrained/removed_at_once random=
# by=confidence fraction=0.1 change:.2f -->, about as much as random heads.<!-- holds: pretrained/compared
# by="confidence, later tokens" heads=27 minus=random low < 0 --><!-- holds: pretrained/compared by="confidence, later tokens"
# heads=27 minus=random high > 0 -->

# %% [markdown]
# ## And if the model trains on?
#
# [Ni et al. 2023](https://arxiv.org/abs/2305.14380) let heads vote for those that stay. Their translator, trained in groups,
# ends `3.0` BLEU above an ungrouped one that L0 prunes (German to English). Here nothing is grouped: every choice removes as
# many encoder heads as
# L0, and the rest trains on.
#
# - *L0* learns gates while the model trains, at a price for open ones ([notebook 3](03_l0_pruning.ipynb)).
# - *Learned gates* have a price, too, but the model stays as it is.
# - *Votes* count how often a head is nearest to the mean of its group ([notebook 4](04_grouped_heads.ipynb)).

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
means, above = comparison.over_seeds(trained), comparison.over_seeds(trained, "above", ("above_low", "above_high"))
compared = ["none", "gradient, example", "L1 gates", *entered, "leave-one-out", "votes", "alpha_beta", "attnlrp", "confidence"]
compared += ["random"]
beside = run.table(comparison.beside_l0(means, above, compared), "contest_shown")
figure = plots.dots(beside, "way", "value", panel="place", label="BLEU minus L0's\n(log beyond 1)")
for axis in figure.axes:
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xticks([-5, -2, -1, 0, 1, 2], [-5, -2, -1, 0, 1, 2])
    axis.axvspan(-0.5, 0.5, color="#DDDDDD", lw=0, zorder=0)
run.figure(figure, "contest", "What each choice of heads costs after further training.", table="contest_shown")

# %% [markdown]
# Grey is half a BLEU. The diamond is of Voita et al.'s own translator, with `10` of `48` heads left. Bars are `95 %`
# intervals, over the toy's three trainings or Europarl's sentences. Europarl's random heads have none.
#
# **The gradient, learned gates and L0 reach the same BLEU, to half a point.**<!-- holds: 06/contest_against_l0
# criterion="gradient, example" low > -0.5 --><!-- holds: 06/contest_against_l0 criterion="gradient, example" high < 0.5
# --><!-- holds: natural/06/contest_against_l0 criterion="gradient, example" "test set"=europarl_test low > -0.5 --><!-- holds:
# natural/06/contest_against_l0 criterion="gradient, example" "test set"=europarl_test high < 0.5 --><!-- holds:
# natural/06/contest_against_l0 criterion="gradient, example" "test set"=newstest2014 low > -0.5 --><!-- holds:
# natural/06/contest_against_l0 criterion="gradient, example" "test set"=newstest2014 high < 0.5 --><!-- holds:
# 06/contest_against_l0 criterion="L1 gates" low > -0.5 --><!-- holds: 06/contest_against_l0 criterion="L1 gates" high < 0.5
# --><!-- holds: natural/06/contest_against_l0 criterion="L1 gates" "test set"=europarl_test low > -0.5 --><!-- holds:
# natural/06/contest_against_l0 criterion="L1 gates" "test set"=europarl_test high < 0.5 --><!-- holds:
# natural/06/contest_against_l0 criterion="L1 gates" "test set"=newstest2014 low > -0.5 --><!-- holds:
# natural/06/contest_against_l0 criterion="L1 gates" "test set"=newstest2014 high < 0.5 --> On Europarl this says little: L0
# loses only **0.2**<!-- natural/06/contest criterion="L0 (trained)" "test set"=europarl_test -value:.1f --> on debates and
# **0.4**<!-- natural/06/contest criterion="L0 (trained)" "test set"=newstest2014 -value:.1f --> on news. There every measure
# drawn but AttnLRP comes that close.<!-- holds: natural/06/contest_against_l0 criterion=attnlrp "test set"=newstest2014
# low < -0.5 --><!-- holds: natural/06/contest_against_l0 criterion=leave-one-out "test set"=newstest2014 low >
# -0.5 --><!-- holds: natural/06/contest_against_l0 criterion=leave-one-out "test set"=newstest2014 high < 0.5 --><!-- holds:
# natural/06/contest_against_l0 criterion=votes "test set"=newstest2014 low > -0.5 --><!-- holds: natural/06/contest_against_l0
# criterion=votes "test set"=newstest2014 high < 0.5 --><!-- holds: natural/06/contest_against_l0 criterion=alpha_beta
# "test set"=newstest2014 low > -0.5 --><!-- holds: natural/06/contest_against_l0 criterion=alpha_beta "test set"=newstest2014
# high < 0.5 --><!-- holds: natural/06/contest_against_l0 criterion=confidence "test set"=newstest2014 low > -0.5 --><!-- holds:
# natural/06/contest_against_l0 criterion=confidence "test set"=newstest2014 high < 0.5 --> Votes lose
# **0.8**<!-- natural/06/contest_against_l0 criterion=votes "test set"=europarl_test -value:.1f --> to L0 on debates. In the toy
# we cannot tell.<!-- holds: 06/contest_against_l0 criterion=votes high > 0 --><!-- holds: 06/contest_against_l0 criterion=votes
# low < -0.5 -->

# %% [markdown]
# ## Change one line
#
# - Add `"alpha_beta"` (relevance) to `shown`. In a minute the toy has one more curve. Without a third of the heads it stands at
#   `0.07` nats, several times the gradient's.
# - Set `by` to `"leave-one-out"`. In a minute the second figure is measured anew. In SmolLM2 random heads of the same layers
#   again cost more.<!-- holds: pretrained/compared by=leave-one-out heads=68 minus="random, same layers" high < 0
#   --><!-- holds: pretrained/compared by=leave-one-out heads=135 minus="random, same layers" high < 0 -->

# %% [markdown]
# ## What this does not show
#
# SmolLM2 (in four bits), Europarl, and the toy of the second figure are one training each. The toy's heads are ranked on
# sentences that also give its loss. We trained on at one price of L0, and [cannot
# tell](../docs/regimes.md#random-heads-matched-by-layer) whether the gradient then beats random heads of its layers. The
# verdict is of the toy language's models, for their decoders.

# %%
for job, each in zip(jobs, tables.values(), strict=True):
    run.table(each, comparison.stored_as(job, seed), model=job["name"], of_seed=job["seed"])
differ = comparison.effects(jobs, settings["relevance"])  # how many heads change the loss at all, in models of our own
if differ is not None:
    run.table(differ, "effects_of_heads", split="dev")
run.table(comparison.predictors(tables, differ), "predictors")
run.table(trained, "removed_and_trained_on", over="sentences of one training")
run.table(comparison.against_random(trained), "contest_against_random")
run.table(means, "contest")
run.table(above[above.criterion != "L0 (trained)"], "contest_against_l0", resamples=settings["bootstrap"])
claims.show(run)
