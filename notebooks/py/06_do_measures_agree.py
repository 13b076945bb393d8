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
# [Michel et al. 2019](https://arxiv.org/abs/1905.10650) rank heads by the gradient of the loss, and a fifth of their
# translator's heads goes for free. We remove heads by this and other measures from a translator of a generated *toy* language,
# one of *Europarl*'s debates, and the language model *SmolLM2* on WikiText-2. The toy is measured here, the others are read
# from published tables. What we would tell a colleague:
#
# | You want to remove heads | in translators rank them by | in SmolLM2 by |
# | --- | --- | --- |
# | up to a fifth, at once | the gradient | the loss without each head; quicker, the gradient: some [four seconds][speed] |
# | more, at once | the gradient over tokens: gates gain little | *learned gates*: [minutes](../docs/use.md#gates) |
# | and train the rest | the gradient: no measure is shown to be better | learned gates |
# | whatever you do, not by | confidence: the gradient costs less | confidence: it costs far more than random heads |
#
# [speed]: ../benchmarks/results/laptop/pretrained_speed.csv


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
# A ranking might only say which layers to spare. So we also remove random heads *of the same layers*: as many in each as the
# gradient takes.


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
    look = {"panel": "model", "falling": False, "columns": 3, "ticks": (0, 0.01, 0.1, 1, 5), "level": 0.01}
    figure = plots.curve(rises, "gone", "rise", "measure", labels=axes, **look)
    for axis in figure.axes:  # what Michel et al. remove from BERT, and from a translator
        axis.axvspan(0, 40 if "SmolLM2" in axis.get_title() else 20, color="#EEEEEE", lw=0, zorder=0)
    run.figure(figure, name, caption, table=name)


layers = comparison.rises(rows, toy, [by, "random", layered, "random, same layers"])
run.table(layers, "layers", over="draws, in SmolLM2 passages")
picture(layers, "layers", "The rise of the loss without heads of least gradient, and without random ones.")

# %% [markdown]
# Grey is what Michel et al. remove without visible loss from a translator or BERT. A rise up to the dotted line, `0.01` nats or
# one per cent of perplexity, is *free*. Bars span three random draws, or are SmolLM2's `95 %` intervals over passages; rankings
# of one training have none. One choice *costs more* than another if their bars are apart, or if SmolLM2's interval of the
# difference excludes zero.
#
# **The gradient knows heads, not only layers.** Without the half that it ranks lowest, SmolLM2's loss rises by **0.95**<!--
# 06/layers model=SmolLM2 criterion="gradient, example" gone=50 rise:.2f --> nats a token, without random heads of the same
# layers by **2.5**<!-- 06/layers model=SmolLM2 criterion="random, same layers" gone=50 rise:.1f -->. From a tenth to a half
# these cost more in all three.<!-- holds: 06/layers model="Europarl, encoder" criterion="gradient, example" gone=10|20|35|50
# high < criterion="random, same layers" low --><!-- holds: 06/layers model=SmolLM2 criterion="gradient, example"
# gone=10|20|25.2|50 high < criterion="random, same layers" low --><!-- holds: 06/layers model="toy EN-RU"
# criterion="gradient, example" gone=10|20|35|50 high < criterion="random, same layers" low -->
#
# **A fifth goes for free from the toy, but so do random heads of the same layers**, which cost **0.009**<!-- 06/layers
# model="toy EN-RU" criterion="random, same layers" gone=20 rise:.3f --> on average.<!-- holds: 06/layers model="toy EN-RU"
# criterion="gradient, example|random, same layers" gone=20 rise < 0.01 --> By the gradient's fifth SmolLM2 loses **0.19**<!--
# 06/layers model=SmolLM2 criterion="gradient, example" gone=20 rise:.2f --> nats<!-- holds: 06/layers model=SmolLM2
# criterion="gradient, example" gone=20 low > 0.01 --> and Europarl **0.009**<!-- 06/layers model="Europarl, encoder"
# criterion="gradient, example" gone=20 rise:.3f -->, too near the line to tell.

# %% [markdown]
# ## With more time: learned gates
#
# - *Learned gates* learn alone, at a price on their size, while the model is frozen. SmolLM2's pay for being open
#   ([notebook 3](03_l0_pruning.ipynb)).
# - *Loss without the head*: its rise when this head alone is silent, a pass for each head.
# - *Confidence*: the head's largest attention weight, on average.


# %% tags=["method"]
def learned_gates(model, batches, rate, price):
    sites = heads.sites(model)
    gates = [torch.ones(site.heads, requires_grad=True) for site in sites]
    optimizer = torch.optim.Adam(gates, lr=rate)
    for batch in batches:
        with heads.gate(model, {(site.kind, site.layer): gate for site, gate in zip(sites, gates, strict=True)}):
            loss = library.cross_entropy(model, batch, 0.0) + price * torch.cat(gates).abs().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.cat(gates).detach().abs()


# %%
few, plan = dev[:3], settings["comparison"]["l1"]  # three steps; the table's gates took more, on training text
known = contest.runs.l1_gates(model, lambda epoch: few, len(few), plan["rate"], plan["penalty"])
print(study.compare(learned_gates(model, few, plan["rate"], plan["penalty"]), known.to_numpy()))

# %%
shown = ["gradient, example", "random", "L1 gates", "leave-one-out", *entered, "confidence", "gradient, token"]
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
run.table(comparison.rises(large, toy, ["gradient, example", layered]), "divided", over="trainings, in SmolLM2 passages")

# %% [markdown]
# Beyond a fifth, bars of the toy and of Europarl span three trainings.
#
# **In SmolLM2 learned gates choose better than the gradient, from about a fifth on.**<!-- holds: pretrained/compared by=gates
# heads=48|86|148|197 minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by=gates heads=48|86|148|197
# minus="random, same layers" high < 0 --> At `55 %` the loss rises by **0.52**<!-- 06/rises model=SmolLM2 criterion="L1 gates"
# gone=54.8 rise:.2f --> in place of **1.18**<!-- 06/rises model=SmolLM2 criterion="gradient, example" gone=54.8 rise:.2f -->.
# The loss without the head chooses better, too,<!-- holds: pretrained/compared by=leave-one-out heads=*
# minus="gradient, example" high < 0 --> but once half of the heads go it costs more than gates, as does the gradient over
# tokens.<!-- holds: 06/rises model=SmolLM2 criterion="L1 gates" gone=54.8 high < criterion="leave-one-out|gradient, token"
# gone=50 low -->
#
# **Do not divide by layer; averaging over tokens helps in SmolLM2 and the toy.** Averaged over tokens the gradient costs
# SmolLM2 less from a quarter on, though more at a tenth,<!-- holds: pretrained/compared by="gradient, token" heads=68|135|202
# minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by="gradient, token" heads=27 minus="gradient, example"
# low > 0 --> and the toy less at `55 %`.<!-- holds: 06/rises model="toy EN-RU" criterion="gradient, token" gone=54.6 high <
# criterion="gradient, example" low --> Divided by layer it costs SmolLM2 now more, now less,<!-- holds: pretrained/compared
# by="gradient, example, by layer" heads=54|202 minus="gradient, example" high < 0 --><!-- holds: pretrained/compared
# by="gradient, example, by layer" heads=27|135 minus="gradient, example" low > 0 --> but
# [the toy](../figures/controlled/06_do_measures_agree/tables/divided.csv) more beyond a fifth.<!-- holds: 06/divided
# model="toy EN-RU" criterion="gradient, example, by layer" gone=31.2|44.6|54.6|68.8 low > criterion="gradient, example" high
# -->
#
# **In the translators gates gain little.** At `55 %` they cost the toy less than the gradient,<!-- holds: 06/rises
# model="toy EN-RU" criterion="L1 gates" gone=54.6 high < criterion="gradient, example" low --> but not clearly less than the
# gradient over tokens. At `69 %` they do: **0.61**<!-- 06/rises model="toy EN-RU" criterion="L1 gates" gone=68.8 rise:.2f -->
# in place of **0.71**<!-- 06/rises model="toy EN-RU" criterion="gradient, token" gone=68.8 rise:.2f -->.<!-- holds: 06/rises
# model="toy EN-RU" criterion="L1 gates" gone=68.8 high < criterion="gradient, token" low --> Their other bars of three
# trainings overlap.<!-- holds: 06/rises model="toy EN-RU" criterion="L1 gates" gone=31.2|44.6|54.6 low <
# criterion="gradient, token" high and high > criterion="gradient, token" low --><!-- holds: 06/rises model="Europarl, encoder"
# criterion="L1 gates" gone=6.2|39.6|65.3|80.6 low < criterion="gradient, token|gradient, example" high and high >
# criterion="gradient, token|gradient, example" low --> Up to a fifth, in one training, gates even lie above the gradient: on
# Europarl at **0.014**<!-- 06/rises model="Europarl, encoder" criterion="L1 gates" gone=20 rise:.3f --> against **0.009**<!--
# 06/rises model="Europarl, encoder" criterion="gradient, example" gone=20 rise:.3f -->.<!-- holds: 06/rises
# model="toy EN-RU|Europarl, encoder" criterion="L1 gates" gone=5|10|20 rise > criterion="gradient, example" rise -->

# %% [markdown]
# ## And train the rest: the gradient, or gates
#
# *L0* trains the model and its gates together. Every other choice removes as many encoder heads as L0, and the rest trains on.

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
compared = ["none", "gradient, example", "random, same layers", "random", "L1 gates", *entered, "leave-one-out"]
beside = comparison.beside_l0(means, above, [*compared, "attnlrp", "confidence"])
run.table(beside, "contest_shown", over="trainings or sentences")
figure = plots.dots(beside, "way", "value", panel="place", label="BLEU minus L0's")
for axis in figure.axes:
    axis.set_xticks(range(-7, 2))
    axis.axvspan(-0.5, 0.5, color="#DDDDDD", lw=0, zorder=0)
run.figure(figure, "contest", "What each choice of heads costs after further training.", table="contest_shown")

# %% [markdown]
# Grey is half a BLEU. Bars are `95 %` intervals over three trainings of the toy or Europarl's sentences.
#
# **The gradient, learned gates and L0 reach the same BLEU, to half a point.**<!-- holds: 06/contest_against_l0
# criterion="gradient, example|L1 gates" low > -0.5 and high < 0.5 --><!-- holds: natural/06/contest_against_l0
# criterion="gradient, example|L1 gates" "test set"=europarl_test|newstest2014 low > -0.5 and high < 0.5 --> Confidence ends
# **4.9**<!-- 06/contest_against_l0 criterion=confidence -value:.1f --> lower in the toy;<!-- holds: 06/contest_against_l0
# criterion=confidence high < -2 --> on Europarl AttnLRP, a kind of [relevance](01_relevance_and_confidence.ipynb), ends
# **1.0**<!-- natural/06/contest_against_l0 criterion=attnlrp "test set"=europarl_test -value:.1f --> lower, confidence not
# significantly after Holm's correction.<!-- holds: natural/06/contest_against_l0 criterion=attnlrp "test set"=europarl_test
# p_holm < 0.05 --><!-- holds: natural/06/contest_against_l0 criterion=confidence "test set"=europarl_test p_holm > 0.05 -->
#
# **In the toy we cannot tell whether random heads of the same layers would do as well.** These, of partly other trainings, end
# **1.5**<!-- 06/contest_shown criterion="random, same layers" -value:.1f --> BLEU below L0, but the interval contains zero, as
# it does [against the gradient](../docs/regimes.md#random-heads-matched-by-layer).<!-- holds: 06/contest_shown
# criterion="random, same layers" low < 0 and high > 0 --><!-- holds: regimes/matched_claims method="gradient, example" low < 0
# and high > 0 -->
#
# **In SmolLM2 gates stay ahead.** With `148` of `270` heads gone and the rest trained on, perplexity is **31**<!--
# pretrained/trained_on choice=gates random= price=0.02 perplexity:.0f --> by gates and **36**<!-- pretrained/trained_on
# choice="gradient, example" random= price=0.02 perplexity:.0f --> by the gradient ([one training](03_l0_pruning.ipynb)).<!--
# holds: pretrained/trained_on choice=gates random= price=0.02 change_high < choice="gradient, example" change_low -->

# %% [markdown]
# ## Whatever you do: not confidence
#
# [Voita et al. 2019](https://arxiv.org/abs/1905.09418) find that relevant heads mostly are confident. We compare ranks in each
# layer with those by the loss without the head.


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
# Bars are `95 %` intervals, over SmolLM2's passages, three Europarl trainings and three or four toy models. Toy encoders are
# left out, as fewer than half of their heads change the loss.
#
# **Heads of a larger gradient matter more in SmolLM2, on Europarl and in toy decoders.**<!-- holds: 06/ranks
# model="SmolLM2|Europarl, encoder|toy models, decoder" measure="gradient, example" low > 0.3 --> For cross-attention the
# interval contains zero.<!-- holds: 06/ranks model="toy models, cross-attention" measure="gradient, example" low < 0 --> In
# SmolLM2 the correlation is **0.56**<!-- pretrained/correlations measure="gradient, example" rho:.2f -->; between two halves of
# the passages the loss without the head agrees with itself only at **0.49**<!-- pretrained/correlations
# measure="leave-one-out, half against half" rho:.2f -->.
#
# **On Europarl confident heads matter more, in SmolLM2 less.**<!-- holds: 06/ranks model="Europarl, encoder" measure=confidence
# low > 0.3 --><!-- holds: 06/ranks model=SmolLM2 measure=confidence high < 0 --> Many of its heads rest on the first token:
# they are confident, and matter less.<!-- holds: pretrained/correlations measure="first token" high < 0 --> Without that token
# confidence ranks heads the right way round, but its lowest tenth still costs about as much as random heads.<!-- holds:
# pretrained/correlations measure="confidence, later tokens" low > 0 --><!-- holds: pretrained/compared
# by="confidence, later tokens" heads=27 minus=random low < 0 and low > -0.1 and high > 0 and high < 0.1 -->

# %%
every = smollm2.assign(kind="decoder", layer=smollm2.layer - 1, head=smollm2["head"] - 1).set_index(["kind", "layer", "head"])
tenth = {name: every[name].nsmallest(27).index for name in ("gradient, example", "confidence")}
early = {name: sum(layer < 3 for _, layer, _ in gone) for name, gone in tenth.items()}
run.table(pd.Series(early, name="early").rename_axis("least"), "early")
matters = every[["leave-one-out"]].set_axis(["loss without the head"], axis=1)
figure = plots.by_measure(matters, tenth["gradient, example"], "loss without the head", tenth["confidence"])
run.figure(figure, "tenth", "What the gradient and confidence would remove from SmolLM2.", table="early")
gone = choose(table, "confidence", round(0.35 * len(table)))  # of the toy
alike = [("random, same layers", 0.35, rise_without(removal.matched(table.index, gone, draw))) for draw in range(3)]
alike.append(("confidence", 0.35, rise_without(gone)))
run.table(comparison.rises(alike, toy, ["confidence", "random, same layers"]), "confident", over="draws")

# %% [markdown]
# Dark heads matter. Dots are the gradient's lowest tenth, frames that of confidence.
#
# **Much of what confidence costs comes from where its heads lie.** **18**<!-- 06/early least=confidence early --> of `27` lie
# in the first three layers, where the gradient takes none.<!-- holds: 06/early least="gradient, example" early == 0 --> They
# cost SmolLM2 **5.1**<!-- 06/rises model=SmolLM2 criterion=confidence gone=10 rise:.1f --> nats, random heads **0.29**<!--
# 06/rises model=SmolLM2 criterion=random gone=10 rise:.2f -->.<!-- holds: pretrained/compared by=confidence heads=*
# minus=random low > 0 --> Random heads of the same layers, drawn once, cost **2.7**<!-- pretrained/removed_at_once
# by=confidence fraction=0.1 random="same number a layer" change:.1f -->, and at a quarter as much as those of confidence.<!--
# holds: pretrained/compared by=confidence heads=27 minus="random, same layers" low
# > 2 --><!-- holds: pretrained/compared by=confidence heads=68 minus="random, same layers" low < 0 and high > 0 -->
#
# A third of the toy's heads costs **1.4**<!-- 06/confident model="toy EN-RU" criterion=confidence gone=35 rise:.1f --> nats by
# confidence and **0.66**<!-- 06/layers model="toy EN-RU" criterion=random gone=35 rise:.2f --> at random.<!-- holds: 06/rises
# model="toy EN-RU" criterion=confidence gone=31.2 low > criterion=random high --> Random heads of the same layers even cost
# **1.6**<!-- 06/confident model="toy EN-RU" criterion="random, same layers" gone=35 rise:.1f -->.<!-- holds: 06/confident
# model="toy EN-RU" criterion="random, same layers" gone=35 low > criterion=confidence high --> On Europarl confidence costs
# less than random heads,<!-- holds: 06/rises model="Europarl, encoder" criterion=confidence gone=20|39.6|65.3|80.6 high <
# criterion=random low --> and from two thirds on more than the gradient.<!-- holds: 06/rises model="Europarl, encoder"
# criterion=confidence gone=65.3|80.6 low > criterion="gradient, example" high --><!-- holds: 06/rises model="Europarl, encoder"
# criterion=confidence gone=39.6 low < criterion="gradient, example" high -->

# %% [markdown]
# ## Change one line
#
# - Add `"attnlrp"` (relevance) to `shown`: the second figure has its curve, in SmolLM2 above the gradient's at half of the
#   heads, below it at three quarters.<!-- holds: pretrained/compared by=attnlrp heads=202 minus="gradient, example" high < 0
#   --><!-- holds: pretrained/compared by=attnlrp heads=135 minus="gradient, example" low > 0 -->
# - Set `by` to `"leave-one-out"`: the first figure shows it for the toy and SmolLM2. Without half of its heads the toy loses
#   `0.17` nats.

# %% [markdown]
# ## What this does not show
#
# SmolLM2, the translators of the first figure, and Europarl's of the third are one training each. The toy's heads are ranked on
# sentences that also give its loss. Gates of the translators pay for their size (L1), those of SmolLM2 for being open (L0), so
# these differ in more than the model. We trained on at one price of L0. The verdict counts the fourth figure's rows of toy
# models.

# %%
claims.show(run)
