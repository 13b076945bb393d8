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
# [← notebook 5, coreference injection](05_coreference_injection.ipynb) · [all claims](../docs/results.md)
#
# [Michel et al. 2019](https://arxiv.org/abs/1905.10650) rank heads by the gradient of the loss, and in their translator a fifth
# of the heads goes for free. We remove heads by this and other measures from three models: a translator of a generated *toy*
# language, one of *Europarl*'s debates, and SmolLM2, a pretrained language model. The toy is measured here, the others are read
# from tables of longer runs. What we would tell a colleague, one section for each row:
#
# | You want to remove heads | rank them by |
# | --- | --- |
# | at once, in seconds | the gradient: one pass forward and one back |
# | with more time, but without training the rest | *learned gates*: beyond a fifth of the heads they cost SmolLM2 least |
# | and train the rest | in translators the gradient: it equals [L0](03_l0_pruning.ipynb). In SmolLM2 gates stay ahead |
# | whatever you do, not by | confidence: on Europarl it beats random heads, but in SmolLM2 it costs far more than they do |


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
from helpers.measures import removal
from helpers.methods import contest
from helpers.plan import sources
from helpers.runs import subjects
from helpers.training import dev_loss
import torch  # after helpers: threads that wait then sleep

run = study.begin("06_do_measures_agree", globals())
print(run.summary(), sources(run), sep="\n")
drawing.style()

# %% [markdown]
# ## At once: the gradient

# %%
settings, names = run.settings, subjects.names(run.settings, models)
jobs = contest.runs.jobs(settings, names, seed, pretrained)  # the models, trained
entered = contest.enter(entries)  # your own measures, if you give a file of them
tables = {(comparison.title(job), job["seed"]): contest.runs.tables(job, entered) for job in jobs}
for job, each in zip(jobs, tables.values(), strict=True):
    run.table(each, comparison.stored_as(job, seed), model=job["name"], of_seed=job["seed"])
table = comparison.may_go(tables)  # of the toy, first training: the heads that we remove
toy = comparison.title(jobs[0])

# %% [markdown]
# A *gate* $g$, normally one, multiplies what a head puts out. *Gradient importance* is the mean over sentences of $|\partial
# L/\partial g|$, where $L$ is the loss of the sentence. Michel et al. then divide it by the norm of its layer's values (*by
# layer*).
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

# %% [markdown]
# A ranking might only say which layers to spare. So we also remove random heads *of the same layers*: as many in each layer as
# the gradient takes.


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
by, layered, rows = "gradient, example", "gradient, example, by layer", []
for share in (0.05, 0.1, 0.2, 0.35, 0.5, 0.75):
    gone = choose(table, by, round(share * len(table)))
    rows.append((by, share, rise_without(gone)))
    rows.append((layered, share, rise_without(choose(table, layered, len(gone)))))
    for draw in range(3):
        rows.append(("random, same layers", share, rise_without(removal.matched(table.index, gone, draw))))
        rows.append(("random", share, rise_without(choose(table, "random", len(gone), draw))))


# %%
def picture(rises, name, caption):
    axes = ("% of heads removed", "rise of the loss (nats a\ntoken, log above 0.01)")
    look = {"panel": "model", "falling": False, "columns": 3, "ticks": (0, 0.01, 0.1, 1, 5)}
    figure = plots.curve(rises, "gone", "rise", "measure", labels=axes, **look)
    for axis in figure.axes:  # what Michel et al. remove from BERT, and from a translator
        axis.axvspan(0, 40 if "SmolLM2" in axis.get_title() else 20, color="#EEEEEE", lw=0, zorder=0)
    run.figure(figure, name, caption, table=name)


layers = comparison.rises(rows, toy, [by, "random", layered, "random, same layers"])
run.table(layers, "layers", over="draws, in SmolLM2 passages")
picture(layers, "layers", "The rise of the loss without heads of least gradient, and without random ones.")

# %% [markdown]
# Grey is what Michel et al. remove without visible loss from a translator and, at SmolLM2, from BERT. Bars of random heads span
# three draws, SmolLM2's others are `95 %` intervals over passages. The toy and Europarl are one training each, so their
# rankings have no bars. Of Europarl's `52` heads only the encoder's `48` may go.
#
# **The gradient knows heads, not only layers.** Without the half that it ranks lowest, SmolLM2's loss rises by **0.95**<!--
# 06/layers model=SmolLM2 criterion="gradient, example" gone=50 rise:.2f --> nats a token, without random heads of the same
# layers by **2.5**<!-- 06/layers model=SmolLM2 criterion="random, same layers" gone=50 rise:.1f -->. From a tenth on, no such
# draw costs as little as the gradient's heads in any of the three models.<!-- holds: 06/layers model="Europarl, encoder"
# criterion="gradient, example" gone=10|20|35|50|75 rise < criterion="random, same layers" low --><!-- holds: 06/layers
# model=SmolLM2 criterion="gradient, example" gone=5.2|10|20|25.2|50|74.8 rise < criterion="random, same layers" low --><!--
# holds: 06/layers model="toy EN-RU" criterion="gradient, example" gone=5|10|20|35|50|75 rise < criterion="random, same layers"
# low -->
#
# **A fifth goes for free from the toy, not from SmolLM2.**<!-- holds: 06/layers model="toy EN-RU" criterion="gradient, example"
# gone=20 rise < 0.01 --><!-- holds: 06/layers model=SmolLM2 criterion="gradient, example" gone=20 low > 0.01 --> We call a rise
# up to `0.01` free: one per cent of perplexity. A fifth costs SmolLM2 **0.19**<!-- 06/layers model=SmolLM2
# criterion="gradient, example" gone=20 rise:.2f -->, and Europarl **0.009**<!-- 06/layers model="Europarl, encoder"
# criterion="gradient, example" gone=20 rise:.3f -->, so near the line that another training may cross it. Divided by layer the
# gradient costs the translators more once many heads go,<!-- holds: 06/layers model="toy EN-RU" criterion="gradient, example"
# gone=35|50|75 rise < criterion="gradient, example, by layer" rise --><!-- holds: 06/layers model="Europarl, encoder"
# criterion="gradient, example" gone=35|50|75 rise < criterion="gradient, example, by layer" rise --> and SmolLM2 now more, now
# less.<!-- holds: pretrained/compared by="gradient, example, by layer" heads=54|202 minus="gradient, example" high < 0 --><!--
# holds: pretrained/compared by="gradient, example, by layer" heads=27|135 minus="gradient, example" low > 0 --> Averaged over
# tokens, not sentences, it costs SmolLM2 less from a quarter on.<!-- holds: pretrained/compared by="gradient, token"
# heads=68|135|202 minus="gradient, example" high < 0 -->

# %% [markdown]
# ## With more time: learned gates
#
# - *Learned gates* are trained while the model is frozen, at a price for each open gate ([notebook 3](03_l0_pruning.ipynb)).
# - *Loss without the head*: its rise when this head alone is silent, which takes a pass for each head.
# - *Confidence*: the head's largest attention weight, on average.

# %%
shown = ["gradient, example", "random", "L1 gates", "leave-one-out", *entered, "confidence"]
small = []  # cuts, measured now
for name in shown:
    for share in (0.05, 0.1, 0.2):
        for draw in range(3 if name == "random" else 1):
            gone = choose(table, name, round(share * len(table)), draw)
            small.append((name, share, rise_without(gone)))

# %%
large = comparison.removed(jobs, tables, entered)  # by every measure, in three trainings
rises = run.table(comparison.rises([*small, *large], toy, shown), "rises", over="trainings and draws, in SmolLM2 passages")
picture(rises, "rises", "The rise of the loss when heads go by a measure.")

# %% [markdown]
# All is as above, but beyond a fifth the bars of the toy and of Europarl span three trainings.
#
# **In SmolLM2 learned gates choose better than the gradient, from about a fifth of the heads on.**<!-- holds:
# pretrained/compared by=gates heads=48|86|148|197 minus="gradient, example" high < 0 --> At `55 %` the loss rises by
# **0.52**<!-- 06/rises model=SmolLM2 criterion="L1 gates" gone=54.8 rise:.2f --> in place of **1.18**<!-- 06/rises
# model=SmolLM2 criterion="gradient, example" gone=54.8 rise:.2f -->. The loss without the head chooses better, too,<!-- holds:
# pretrained/compared by=leave-one-out heads=* minus="gradient, example" high < 0 --> but takes `270` passes where gates take
# `120` steps, and beyond a fifth gates cost less still.<!-- holds: 06/rises model=SmolLM2 criterion="L1 gates" gone=31.9 rise <
# criterion=leave-one-out gone=25.2 rise --><!-- holds: 06/rises model=SmolLM2 criterion="L1 gates" gone=54.8 rise <
# criterion=leave-one-out gone=50 rise -->
#
# **In the translators gates gain little.** In the toy they win only once more than half of the heads go.<!-- holds: 06/rises
# model="toy EN-RU" criterion="L1 gates" gone=54.6|68.8 high < criterion="gradient, example" low --><!-- holds: 06/rises
# model="toy EN-RU" criterion="L1 gates" gone=31.2|44.6 high > criterion="gradient, example" low --> On Europarl they cost about
# as much as the gradient's heads: at each share the ranges of three trainings overlap.<!-- holds: 06/rises
# model="Europarl, encoder" criterion="L1 gates" gone=39.6|65.3|80.6 low < criterion="gradient, example" high and high >
# criterion="gradient, example" low -->

# %% [markdown]
# ## And train the rest: the gradient, or gates
#
# *L0* trains the model and its gates together. Every other choice removes as many encoder heads as L0, and the rest trains on.
# *Votes* count how often a head is nearest to the mean of its group ([notebook 4](04_grouped_heads.ipynb)), *relevance* is how
# much of a prediction flows through it ([notebook 1](01_relevance_and_confidence.ipynb)).

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
run.table(comparison.against_random(trained), "contest_against_random")
means = run.table(comparison.over_seeds(trained), "contest")
above = comparison.over_seeds(trained, "above", ("above_low", "above_high")).query("criterion != 'L0 (trained)'")
above = run.table(above, "contest_against_l0", resamples=settings["bootstrap"])

# %%
compared = ["none", "gradient, example", "random, same layers", "random", "L1 gates", *entered, "leave-one-out", "votes"]
compared += ["alpha_beta", "attnlrp", "confidence"]
beside = run.table(comparison.beside_l0(means, above, compared), "contest_shown", over="trainings or sentences")
figure = plots.dots(beside, "way", "value", panel="place", label="BLEU minus L0's\n(log beyond 1)")
for axis in figure.axes:
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xticks([-5, -1, 0, 1], [-5, -1, 0, 1])
    axis.axvspan(-0.5, 0.5, color="#DDDDDD", lw=0, zorder=0)
run.figure(figure, "contest", "What each choice of heads costs after further training.", table="contest_shown")

# %% [markdown]
# Titles count the encoder heads left of `48`. Grey is half a BLEU either way. The diamond is how far Voita et al.'s unpruned
# translator is above theirs with `10` heads left. Bars are `95 %` intervals, over three trainings of the toy or over Europarl's
# sentences. Europarl's random heads have none.
#
# **The gradient, learned gates and L0 reach the same BLEU, to half a point.**<!-- holds: 06/contest_against_l0
# criterion="gradient, example|L1 gates" low > -0.5 and high < 0.5 --><!-- holds: natural/06/contest_against_l0
# criterion="gradient, example|L1 gates" "test set"=europarl_test|newstest2014 low > -0.5 and high < 0.5 --> On Europarl's news
# most measures come as near; on its debates votes and AttnLRP end lower.<!-- holds: natural/06/contest_against_l0
# "test set"=newstest2014 criterion="confidence|votes|alpha_beta|leave-one-out" value > -0.5 --><!-- holds:
# natural/06/contest_against_l0 criterion=attnlrp|votes "test set"=europarl_test high < 0 -->
#
# **In the toy we cannot tell whether random heads of the same layers would do as well.** They end **1.6**<!--
# regimes/matched_claims method="gradient, example" change:.1f --> BLEU below the gradient's, but the interval holds zero.<!--
# holds: regimes/matched_claims method="gradient, example" low < 0 and high > 0 --> Random heads of L0's layers end **1.1**<!--
# regimes/matched_claims method=L0 change:.1f --> below L0's, which is [not
# significant](../docs/regimes.md#random-heads-matched-by-layer) after correction.<!-- holds: regimes/matched_claims method=L0
# p_holm > 0.05 -->
#
# **In SmolLM2 gates stay ahead.** With `148` of `270` heads gone and the rest trained on, perplexity is **31**<!--
# pretrained/trained_on choice=gates random= price=0.02 perplexity:.0f --> by gates and **36**<!-- pretrained/trained_on
# choice="gradient, example" random= price=0.02 perplexity:.0f --> by the gradient ([notebook 3](03_l0_pruning.ipynb), one
# training).<!-- holds: pretrained/trained_on choice=gates random= price=0.02 change_high < choice="gradient, example"
# change_low -->

# %% [markdown]
# ## Whatever you do: not confidence
#
# [Voita et al. 2019](https://arxiv.org/abs/1905.09418) find that relevant heads mostly are confident. Do such heads matter? We
# compare confidence, and the gradient, with the loss without the head, among the heads of a layer.


# %% tags=["method"]
def agreement(table, measure):
    """Rank correlation of a measure with the loss without the head, among the heads of a layer."""
    places = table.groupby("layer")[["leave-one-out", measure]].rank()
    return places["leave-one-out"].corr(places[measure])


smollm2 = pd.read_csv(comparison.PRETRAINED / "head_table.csv")
predictors = comparison.predictors(tables, comparison.effects(jobs, settings["relevance"]))
run.table(predictors, "predictors")
ranked = comparison.ranked(["gradient, example", "confidence"], predictors)
print(study.compare(agreement(smollm2, "confidence"), ranked.query("model == 'SmolLM2' and measure == 'confidence'").rho))

# %%
run.table(ranked, "ranks", over="trainings, passages of SmolLM2, toy models")
figure = plots.dots(ranked, "model", "rho", panel="way", label="rank correlation with the\nloss without the head")
run.figure(figure, "predictors", "Rank correlation of two measures with the loss without the head, in a layer.", table="ranks")

# %% [markdown]
# Bars are `95 %` intervals, over SmolLM2's passages, three Europarl trainings and three or four toy models. Encoders of toy
# models have too few heads that matter.
#
# **On Europarl confident heads matter more, in SmolLM2 less.**<!-- holds: 06/ranks model="Europarl, encoder" measure=confidence
# low > 0.3 --><!-- holds: 06/ranks model=SmolLM2 measure=confidence high < 0 --> Many of SmolLM2's heads rest on the first
# token: they are confident, and they matter less.<!-- holds: pretrained/correlations measure="first token" high < 0 --> Without
# its least confident tenth the loss rises by **5.1**<!-- 06/rises model=SmolLM2 criterion=confidence gone=10 rise:.1f --> nats,
# without random heads by **0.29**<!-- 06/rises model=SmolLM2 criterion=random gone=10 rise:.2f --> (second figure).<!-- holds:
# pretrained/compared by=confidence heads=* minus=random low > 0 --> Layers explain half of that: random heads of the same
# layers cost **2.4**<!-- pretrained/compared by=confidence heads=27 minus="random, same layers" change:.1f --> less.<!-- holds:
# pretrained/compared by=confidence heads=27 minus="random, same layers" low > 2 --> On Europarl confidence costs less than
# random heads, but more than the gradient.<!-- holds: 06/rises model="Europarl, encoder" criterion=confidence
# gone=20|39.6|65.3|80.6 rise < criterion=random low and rise > criterion="gradient, example" rise -->
#
# **Heads of a larger gradient matter more in SmolLM2, on Europarl and in toy decoders.**<!-- holds: 06/ranks
# model="SmolLM2|Europarl, encoder|toy models, decoder" measure="gradient, example" low > 0.3 --> For their cross-attention we
# cannot tell.<!-- holds: 06/ranks model="toy models, cross-attention" measure="gradient, example" low < 0 -->

# %% [markdown]
# ## Change one line
#
# Either takes a minute.
#
# - Add `"alpha_beta"` (relevance) to `shown`. The toy has one more curve in the second figure: without a third of the heads it
#   stands at `0.07` nats, several times the gradient's.
# - Set `by` to `"leave-one-out"`. The first figure is measured anew: without half of its heads the toy's loss rises by `0.17`
#   nats, without random ones of the same layers by `0.27`.

# %% [markdown]
# ## What this does not show
#
# SmolLM2, the translators of the first figure, and Europarl's of the third are one training each. The toy's heads are ranked on
# sentences that also give its loss. We trained on at one price of L0. The third figure's random heads of the same layers are of
# two of its trainings and of a fourth. The verdict counts the two kinds of heads of toy models in the last figure.

# %%
claims.show(run)
