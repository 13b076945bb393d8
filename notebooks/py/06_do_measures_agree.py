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
# Four papers say which attention heads a model can do without, each by a measure of its own.
#
# - [Michel et al. 2019](https://arxiv.org/abs/1905.10650) take *gradient importance*: how steeply the loss moves as a head
#   begins to fade. `20` % of the heads of a large translator and `40` % of BERT's go with no loss that they notice.
# - [Liu & Chen 2023](https://arxiv.org/abs/2312.09541) take it, too. Without its *underused* heads a summarizer loses `0.5` %.
# - [Voita et al. 2019](https://arxiv.org/abs/1905.09418) look at *relevance* and *confidence*, and prune by *L0*, which closes
#   the gates of heads in training. `38` of `48` encoder heads go for `0.15` BLEU.
# - [Ni et al. 2023](https://arxiv.org/abs/2305.14380) let the heads of a group *vote* for the one that stays. A quarter of all
#   heads stays, for `0.2` BLEU.
#
# Here all choose among the heads of the same models.
#
# - *Toy EN-RU* translates a toy language that we generate. `48` of its `80` heads are in the encoder.
# - *Europarl* translates debates from English to French, with `48` encoder heads.
# - *SmolLM2* is a pretrained language model (Instruct, weights of four bits) of `135` million parameters and `270` heads.
#
# In short:
#
# - **Take gradient importance**, and compare it across layers. It takes least time. After further training it is about as
#   good a choice as L0, which must train to choose.
# - **How many can go depends on the model**: over two thirds of the toy's encoder heads, half of Europarl's, and a tenth of all
#   heads in SmolLM2.
# - **Who can pay more does better in SmolLM2**: by learned gates or the loss without each head.
# - **Do not trust confidence**, though on Europarl it does well. In SmolLM2 the first token misleads it, and without that token
#   it is hardly better than chance.
# - **A measure must tell layers apart.** To rank the heads of a layer well is not enough.

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
# ## The measures
#
# Give every head a *gate* $g$, a number that multiplies what the head puts out, normally one. Let $L$ be the loss.
#
# | measure | what it is |
# |---|---|
# | gradient importance | size of $\partial L/\partial g$ at $g=1$, a mean over sentences |
# | loss without the head | $L(g=0)-L(g=1)$, all other heads in place |
# | learned gates | the size that $g$ learns when size has a price and weights are fixed: L1 in translators, L0 in SmolLM2 |
# | [L0](03_l0_pruning.ipynb) | whether $g$ stays open at a price while the weights train, too |
# | [relevance](01_relevance_and_confidence.ipynb) | share of a word's score that flows through it, by αβ (SmolLM2: AttnLRP) |
# | [confidence](01_relevance_and_confidence.ipynb) | largest attention weight, a mean over tokens |
# | [votes](04_grouped_heads.ipynb) | how often the head is nearest to the mean of its group |

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
# *Michel et al.* silence the heads of least importance and score again. *We ask* what the loss is then, and how many heads
# can go.


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

# %%
shown = [by, "leave-one-out", "L1 gates", *entered]  # a curve each
sizes = {toy: len(encoder), toy + comparison.EVERY: len(table), "EN-FR europarl": 48}
rises = run.table(comparison.rises(removed, sizes), "rises", over="trainings and draws, in SmolLM2 passages")
order = [*map(comparison.way, [*shown, "alpha_beta", "confidence", "votes", "random", "confidence, later tokens"])]


def curves(names):
    drawn = pd.concat([rises[rises.criterion == name] for name in names])
    axes = ("% of heads left", "rise of the loss\n(nats a token)")
    figure = plots.curve(drawn, "left", "rise", "measure", panel="model", labels=axes, level=0.05, columns=2, order=order)
    figure.axes[0].set(yscale="log", ylim=(0.002, 12), yticks=[0.01, 0.1, 1, 10], yticklabels=["0.01", "0.1", "1", "10"])
    return figure


# %%
figure = curves([*shown, "random"])
for axis, left in zip(figure.axes[1::2], (80, 60), strict=False):  # what Michel et al.'s translator and BERT keep
    axis.axvline(left, color="grey", lw=0.8, ls="--", zorder=0)
run.figure(figure, "rises", "The rise of the loss after heads are removed at once.", table="rises")

# %% [markdown]
# The dotted line is our yardstick: `0.05` nats, five per cent of perplexity. At the dashed line Michel et al. see no loss yet,
# of all heads of their translator (above) by BLEU, of BERT (below) by accuracy. Bars reach over the toy's three trainings and
# all draws of
# random heads, in SmolLM2 over `95 %` intervals (passages). Europarl is one training.
#
# **The gradient stays below random heads in every panel.** With a quarter of SmolLM2's heads gone it costs
# **0.27**<!-- pretrained/removed_at_once random= by="gradient, example" fraction=0.25 change:.2f --> nats, random heads
# **0.60**<!-- 06/rises model="SmolLM2, all heads" criterion=random left=74.81481481481481 low:.2f --> at the least.
#
# **Two slower measures are better in SmolLM2.** With `148` heads gone the gradient costs **1.18**<!-- pretrained/gates
# choice="gradient, example" price=0.02 change:.2f --> nats, learned gates **0.52**<!-- pretrained/gates choice=gates random=
# price=0.02 change:.2f -->. The loss without the head is ahead, too.<!-- holds: pretrained/removed_at_once random=
# by=leave-one-out fraction=0.5 change_high < 0.8 --><!-- holds: pretrained/removed_at_once random= by="gradient, example"
# fraction=0.5 change_low > 0.8 --> But in one training of the toy's encoder it fails: with more than half gone it costs
# **0.18**<!-- 06/removed_at_once model="EN-RU news" criterion=leave-one-out seed=2 heads=21 change:.2f -->, the gradient
# **0.03**<!-- 06/removed_at_once model="EN-RU news" criterion="gradient, example" seed=2 heads=21 change:.2f -->.

# %%
listed = [*shown, "gradient, example, by layer", "alpha_beta", "confidence", "confidence, later tokens", "votes", "output norm"]
can_go = run.table(comparison.spared(rises), "can_go", over="trainings and draws, in SmolLM2 passages")  # % of heads
ends = can_go.round().astype({"gone": int, "low": int, "high": int})
can_go["text"] = [f"{row.gone}" + f" [{row.low}, {row.high}]" * (row.low < row.high) for row in ends.itertuples()]
both = can_go.pivot(index="measure", columns="model", values="text")[[*dict.fromkeys(rises.model)]]
cost = pd.DataFrame(seconds).apply(lambda spent: spent / spent[by]).mean(axis=1).rename(comparison.way)
both.insert(0, "time", cost.map("{:.0f}".format))
both.reindex(dict.fromkeys(map(comparison.way, [*listed, "random"]))).fillna("–")

# %% [markdown]
# Per cent of heads that can go, by the ends of the bars in brackets. At `0` the fewest heads that we removed are too many. Time
# is in units of the gradient's; dashes were not measured.
#
# **How many can go?** By the gradient **73**<!-- 06/can_go measure="gradient importance" model="toy EN-RU, encoder" gone:.0f
# --> % of the toy's encoder heads, **53**<!-- 06/can_go measure="gradient importance" model="Europarl, encoder" gone:.0f --> %
# of Europarl's and about a tenth of SmolLM2's.<!-- holds: 06/can_go measure="gradient importance" model="SmolLM2, all heads"
# gone > 9 --><!-- holds: 06/can_go measure="gradient importance" model="SmolLM2, all heads" gone < 11 -->
#
# **Do not scale the gradient by layer.** Michel et al. divide it by its size in the layer. Where all the toy's heads compete,
# **43**<!-- 06/can_go measure="gradient importance" model="toy EN-RU, all heads" gone:.0f --> % can go by the gradient as it
# is, and **0**<!-- 06/can_go measure="gradient importance, by layer" model="toy EN-RU, all heads" gone:.0f --> by the scaled
# one.

# %% [markdown]
# ## Why confidence fails
#
# *Voita et al.* call a head confident that mostly looks at one token. *We ask* whether it is worth keeping.

# %%
figure = curves(["confidence", "confidence, later tokens", "random"])
run.figure(figure, "confidence", "The rise of the loss after the least confident heads are removed.", table="rises")

# %% [markdown]
# Bars are as above. Confidence beyond the first token was measured in SmolLM2 alone.
#
# **The first token misleads confidence in SmolLM2.** The more a head rests on the first token, the less it matters.<!-- holds:
# pretrained/correlations measure="first token" high < 0 --> Such heads look confident and stay. When the least confident tenth
# goes, the loss rises by **5.1**<!-- pretrained/removed_at_once random= by=confidence fraction=0.1 change:.1f --> nats. Random
# heads of the same layers cost **2.7**<!-- pretrained/removed_at_once random="same number a layer" by=confidence fraction=0.1
# change:.1f -->.
#
# **Without the first token confidence is hardly better than chance.** At a tenth it costs **0.26**<!--
# pretrained/removed_at_once
# random= by="confidence, later tokens" fraction=0.1 change:.2f -->, within the range of random heads.<!-- holds: 06/rises
# model="SmolLM2, all heads" criterion=random left=90.0 low < 0.25 --><!-- holds: 06/rises model="SmolLM2, all heads"
# criterion=random left=90.0 high > 0.4 --> With half of the heads gone it is a little better than they are,<!-- holds:
# pretrained/removed_at_once random= by="confidence, later tokens" fraction=0.5 change_high < 4.4 --> with three quarters gone
# worse.<!-- holds: pretrained/removed_at_once random= by="confidence, later tokens" fraction=0.75 change > 8 -->
#
# **In the toy the first heads that go matter**: more than random ones.<!-- holds: 06/rises model="toy EN-RU, all heads"
# criterion=confidence left=68.75 low > 0.9 --><!-- holds: 06/rises model="toy EN-RU, all heads" criterion=random left=68.75
# high < 0.9 --> On Europarl confidence does nearly as well as the gradient.

# %% [markdown]
# ## Heads or layers?
#
# *We ask* whether a measure knows which heads matter, or only which layers. Half of the heads go by each measure, or as many
# random heads of the same layers.

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
live = live.agg(rise="mean", low="min", high="max").reset_index().assign(model=toy + comparison.EVERY)
both = pd.concat([live, comparison.smollm2().query("left == 50")]).replace({"model": comparison.PANELS})
both = pd.concat([both[both.criterion == name] for name in [*layered, "random"]])
run.table(both, "layers", over="draws of heads, in SmolLM2 passages")
both = both.assign(measure=both.criterion.map(comparison.way), hollow=both.choice != "least by the measure")
label = "rise of the loss\n(nats a token)"
figure = plots.dots(both, "choice", "rise", group="measure", panel="model", label=label, sharex=False)
run.figure(figure, "layers", "Half of the heads go by a measure, or at random from the same layers.", table="layers")

# %% [markdown]
# Hollow dots are random heads: three draws, in SmolLM2 one for relevance and confidence. The toy is one training.
#
# **Most of the gradient's gain lies in layers.** In the toy random heads cost **1.16**<!-- 06/layers
# model="toy EN-RU, all heads" criterion=random choice="from anywhere" rise:.2f --> nats, random heads of the gradient's layers
# **0.23**<!-- 06/layers model="toy EN-RU, all heads" criterion="gradient, example" choice="random, same layers" rise:.2f -->,
# its own heads **0.06**<!-- 06/layers model="toy EN-RU, all heads" criterion="gradient, example" choice="least by the measure"
# rise:.2f -->. In SmolLM2 the order is the same.
#
# **Confidence takes the wrong layers.** Random heads of its layers cost more than random heads from anywhere, in both
# models.<!-- holds: 06/layers model="toy EN-RU, all heads" criterion=confidence choice="random, same layers" low > 1.7 --><!--
# holds: 06/layers model="toy EN-RU, all heads" criterion=random choice="from anywhere" high < 1.7 --><!-- holds:
# pretrained/removed_at_once random="same number a layer" by=confidence fraction=0.5 change_low > 6 -->
#
# *We ask* also whether cheap measures rank the heads of a layer as the loss without them does, where at least half of them
# change it.

# %%
differ = comparison.effects(jobs, settings["relevance"])  # how many heads change the loss at all, in models of our own
if differ is not None:
    run.table(differ, "effects_of_heads", split="dev")
run.table(comparison.agreement(tables, differ), "agreement")  # of every two measures
predictors = run.table(comparison.predictors(tables, seconds, differ), "predictors")
telling = predictors[(predictors.models >= comparison.FEW) & predictors.shown.astype(bool) & (predictors.kind == "decoder")]
europarl = pd.read_csv(comparison.EUROPARL / "predictors.csv").query("kind == 'encoder' and truth == 'leave-one-out'")
smollm2 = pd.read_csv(comparison.PRETRAINED / "correlations.csv").replace({"attnlrp": "alpha_beta"})

# %%
parts = {"toy models,\ndecoder": telling, "Europarl,\nencoder": europarl[europarl.heads == "within layers"], "SmolLM2": smollm2}
both = pd.concat([part.assign(place=place) for place, part in parts.items()])
ranked = [by, "output norm", "L1 gates", "alpha_beta", "votes", "confidence", "confidence, later tokens", *entered]
both = pd.concat([both[both.measure == name] for name in ranked]).assign(measure=lambda t: t.measure.map(comparison.way))
label = "rank correlation with the\nloss without the head"
figure = plots.dots(both, "measure", "rho", panel="place", label=label)
run.figure(figure, "predictors", "How well each measure ranks the heads of a layer.", table="predictors")

# %% [markdown]
# Bars are `95 %` intervals over toy models, Europarl's heads and SmolLM2's passages. A missing dot was not measured. *Output
# norm* is the length of what a head writes.
#
# **The gradient ranks the heads of a layer well in all three**, at best by **0.81**<!-- natural/06/predictors kind=encoder
# truth=leave-one-out heads="within layers" measure="gradient, example" rho:.2f --> on Europarl. In the toy's cross-attention we
# cannot tell,<!-- holds: 06/predictors kind=cross truth=leave-one-out heads="within layers" measure="gradient, example" low < 0
# --> and of its encoder heads too few matter.
#
# **That is not enough.** Output norm ranks the toy's decoder heads as well (**0.59**<!-- 06/predictors kind=decoder
# truth=leave-one-out heads="within layers" measure="output norm" rho:.2f -->), yet none can go by it.<!-- holds: 06/can_go
# measure="output norm" model="toy EN-RU, all heads" high < 1 --> Confidence beyond the first token ranks SmolLM2's heads
# better than chance,<!-- holds:
# pretrained/correlations measure="confidence, later tokens" low > 0 --> yet chooses hardly better.
#
# As in Voita et al., relevance and confidence agree within the toys' encoder layers: **0.76**<!-- 06/agreement kind=encoder
# one=alpha_beta other=confidence rho:.2f -->. Yet by relevance many heads can go, by confidence none.<!-- holds: 06/can_go
# measure=relevance model="toy EN-RU, encoder" gone > 60 --><!-- holds: 06/can_go measure=confidence model="toy EN-RU, encoder"
# gone < 1 -->

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
    for by in criteria:
        for draw in range(settings["pruning"]["draws"] if by == "random" else 1):
            gone = choose(tables[place].loc[["encoder"]], by, len(closed), job["seed"], draw)
            ways.append((by, comparison.cut_and_train(job, gone)))  # fetched where published, else trained now
    contested[place] = comparison.scored(job, ways, parser, settings["bootstrap"])  # BLEU of what it translates

# %%
trained = pd.concat(contested, names=["model", "seed", "row"])
run.table(trained, "removed_and_trained_on", over="sentences of one training")
run.table(comparison.against_l0(trained), "contest_against_l0", resamples=settings["bootstrap"])
run.table(comparison.against_random(trained), "contest_against_random")
means = run.table(comparison.over_seeds(trained), "contest")
europarl = pd.read_csv(comparison.EUROPARL / "contest.csv")  # two test sets
draws = pd.read_csv(comparison.EUROPARL / "removed_and_trained_on.csv").query("criterion == 'random'").groupby("test set")
chance = europarl.criterion == "random"
europarl.loc[chance, ["low", "high"]] = draws.change.agg(["min", "max"]).loc[europarl[chance]["test set"]].to_numpy()

# %%
both = pd.concat([means.sort_values("value", ascending=False), europarl])
both = both[both.criterion.isin(["L0 (trained)", "L0's heads", *shown, "alpha_beta", "confidence", "votes", "random"])]
both["place"] = both["test set"].replace(
    {"test": "toy EN-RU", "europarl_test": "Europarl, debates", "newstest2014": "Europarl, news"}
)
bleu = papers.GROUPED_TABLE_1["de-en"]
printed = {"votes": bleu["GHT-PS"] - bleu["GHT"], "L0 (trained)": bleu["L0"] - bleu["vanilla"]}
both = both.assign(printed=both.criterion.map(printed).where(both.seeds > 1), way=both.criterion.map(comparison.way))
figure = plots.dots(both, "way", "value", panel="place", label="BLEU minus that of\nthe unpruned model", sharex=False)
run.figure(figure, "contest", "What each choice of heads costs after further training.", table="contest")

# %% [markdown]
# The *unpruned model* trains on, too. Bars are `95 %` intervals over the toy's trainings and Europarl's sentences, there for
# random heads the range of three draws. *Cut at once* takes L0's choice alone.
#
# Diamonds are Ni et al., with a quarter of all heads left: L0 against their plain model, votes against their grouped one (`1.0`
# above the plain one).
#
# **Gradient importance and learned gates choose about as well as L0.** In the toy the gradient loses **0.5**<!-- 06/contest
# criterion="gradient, example" -value:.1f --> BLEU, random heads **3.3**<!-- 06/contest criterion=random -value:.1f -->. In
# no panel can we tell the two from L0.<!-- holds: 06/contest_against_l0 criterion="gradient, example" p_holm > 0.05
# --><!-- holds: 06/contest_against_l0 criterion="L1 gates" p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0
# criterion="gradient, example" "test set"=europarl_test p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0
# criterion="L1 gates" "test set"=europarl_test p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0
# criterion="gradient, example" "test set"=newstest2014 p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0
# criterion="L1 gates" "test set"=newstest2014 p_holm > 0.05 -->
#
# **In Ni et al. votes beat L0. Here they lose more**, clearly so on debates,<!-- holds: natural/06/contest_against_l0
# criterion=votes "test set"=europarl_test p_holm < 0.05 --> elsewhere we cannot tell.<!-- holds: 06/contest_against_l0
# criterion=votes p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0 criterion=votes "test set"=newstest2014 p_holm >
# 0.05 --> Their model was trained in groups, ours was not.
#
# **Confidence** comes last in the toy, and on Europarl beats every draw of random heads.<!-- holds:
# 06/contest criterion=confidence value < -4.5 --><!-- holds: natural/06/contest criterion=confidence
# "test set"=europarl_test value > -1 --><!-- holds: natural/06/contest criterion=confidence "test set"=newstest2014
# value > -0.9 -->

# %% [markdown]
# ## Where this may not hold
#
# The toy hardly needs its encoder heads ([notebook 3](03_l0_pruning.ipynb)). Europarl and SmolLM2 are one model each. We
# trained on at one price. Whether the gradient beats random heads of its layers after training on, we cannot tell ([three
# trainings](../docs/results.md#where-the-methods-could-win)).<!-- holds: regimes/matched_claims method="gradient, example" low
# < 0 --> Relevance depends on its rule: on debates AttnLRP loses **1.2**<!--
# natural/06/contest criterion=attnlrp "test set"=europarl_test -value:.1f --> BLEU, αβ half.<!-- holds: natural/06/contest
# criterion=alpha_beta "test set"=europarl_test value > -0.65 -->

# %% [markdown]
# ## Verdicts
#
# One question of ours, by the rules of [claims.toml](../claims.toml), for the toy ([other texts](../docs/results.md)).

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# - To `shown` add `"output norm"`. In seconds the first figure has its curve, in the toy far above random heads at
#   first.<!-- holds: 06/rises model="toy EN-RU, all heads" criterion="output norm" left=68.75 low > 1.2 -->
# - To `layered` add `"output norm"`. In two minutes the third figure shows about `2.5` nats in the toy, whichever heads of
#   its layers go.
