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
# - *SmolLM2* is a pretrained language model of `135` million parameters and `270` heads.
#
# In short:
#
# - **Take gradient importance.** It is cheap, and its heads cost far less than random ones in all three models. After further
#   training it is about as good a choice as L0, which must train to choose.
# - **How many can go depends on the model**: two thirds of the toy's encoder heads, almost half of Europarl's, less than a
#   tenth of SmolLM2's.
# - **Who can pay more does better** in SmolLM2: by learned gates or the loss without each head.
# - **Do not take confidence.** It destroys SmolLM2, and in the toy it begins with heads that matter.
# - **A measure must tell layers apart.** Within a layer most of them agree. They differ in the layers that they spare.

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
# | …, each token | the same with a gate for each token |
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
# *Michel et al.* silence the heads of least importance and score again. *We ask* what the loss is then, by every measure and by
# chance.


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
shown = ["gradient, example", "leave-one-out", "L1 gates", "alpha_beta", "confidence", "votes", *entered]  # columns
sizes = {toy: len(encoder), toy + comparison.EVERY: len(table), "EN-FR europarl": 48}
rises = run.table(comparison.rises(removed, sizes), "rises", over="trainings and draws, in SmolLM2 passages")
drawn = pd.concat([rises[rises.criterion == name] for name in [*shown, "random"]])
axes = ("% of heads left", "rise of the loss\n(nats a token)")
figure = plots.curve(drawn, "left", "rise", "measure", panel="model", labels=axes, level=0.05, columns=2)
figure.axes[0].set(yscale="log", ylim=(0.002, 12), yticks=[0.01, 0.1, 1, 10], yticklabels=["0.01", "0.1", "1", "10"])
run.figure(figure, "rises", "The rise of the loss after heads are removed at once.", table="rises")

# %% [markdown]
# Each step of the scale is ten times the one below. Bars reach over the toy's three trainings and all draws of random heads,
# in SmolLM2 over `95 %` intervals (passages); Europarl is one training. The dotted line is our yardstick: `0.05` nats, which
# make perplexity five per cent larger.
#
# **The gradient stays well below random heads in every panel.** With a quarter of SmolLM2's heads gone it costs **0.27**<!--
# 06/at_shares measure="gradient importance" model="SmolLM2, all heads" gone=25 rise:.2f --> nats, random heads **0.90**<!--
# 06/at_shares measure="random heads" model="SmolLM2, all heads" gone=25 rise:.2f -->. In the translators only learned gates
# are clearly ahead of it, and only where heads of all kinds go.<!-- holds: 06/removed_at_once model="EN-RU news, all kinds"
# criterion="L1 gates" seed=3 heads=38 change < 0.15 --><!-- holds: 06/removed_at_once model="EN-RU news, all kinds"
# criterion="gradient, example" seed=2 heads=36 change > 0.2 -->
#
# **How many heads can go?** By the gradient the toy passes the yardstick when two thirds or more of its encoder heads are
# gone,<!-- holds: 06/removed_at_once model="EN-RU news" criterion="gradient, example" seed=1 heads=12 change < 0.05 --><!--
# holds: 06/removed_at_once model="EN-RU news" criterion="gradient, example" seed=2 heads=13 change < 0.05 --><!-- holds:
# 06/removed_at_once model="EN-RU news" criterion="gradient, example" seed=3 heads=15 change < 0.06 --> Europarl just before
# half,<!-- holds: 06/at_shares measure="gradient importance" model="Europarl, encoder" gone=50 rise > 0.05 --><!-- holds:
# 06/at_shares measure="gradient importance" model="Europarl, encoder" gone=50 rise < 0.055 --> and SmolLM2 before a
# tenth.<!-- holds: pretrained/removed_at_once random= by="gradient, example" fraction=0.1 change > 0.05 --> *Michel et al.* go
# further, but judge by BLEU and accuracy.
#
# **Two slower measures are better in SmolLM2.** With half of the heads gone the gradient costs **0.95**<!--
# 06/at_shares measure="gradient importance" model="SmolLM2, all heads" gone=50 rise:.2f -->, learned gates half as much.<!--
# holds: 06/at_shares measure="learned gates" model="SmolLM2, all heads" gone=50 rise < 0.48 --> The loss without the head lies
# between.<!-- holds: pretrained/removed_at_once random= by=leave-one-out fraction=0.5 change_high < 0.8 --><!-- holds:
# pretrained/removed_at_once random= by="gradient, example" fraction=0.5 change_low > 0.8 --> But in the toy's encoder it nears
# random heads.<!-- holds: 06/at_shares
# measure="loss without the head" model="toy EN-RU, encoder" gone=50 rise > 0.05 -->
#
# **Confidence differs from model to model.** On Europarl it does nearly as well as the gradient. In the toy the first heads
# that it takes cost more than random ones,<!-- holds: 06/at_shares measure=confidence model="toy EN-RU, encoder" gone=25
# rise > 0.08 --><!-- holds: 06/at_shares measure="random heads" model="toy EN-RU, encoder" gone=25 rise < 0.04 --> and
# SmolLM2 is destroyed at once.<!-- holds: pretrained/removed_at_once random= by=confidence fraction=0.1 change > 5 -->

# %% [markdown]
# ## Heads or layers?
#
# *We ask* whether a measure knows which heads matter, or only which layers. Half of the heads go by each measure, or as many
# random heads of the same layers.

# %%
layered = [by, "gradient, example, by layer", "leave-one-out", "alpha_beta", "confidence"]
few, half, draws, rows = dev[:1], len(table) // 2, range(3), []  # all heads of the toy, the first batch of sentences
for draw in draws:
    rows.append(("random", "from anywhere", loss_without(choose(table, "random", half, draw), few)))
for name in layered:
    gone = choose(table, name, half)
    rows.append((name, "least by the measure", loss_without(gone, few)))
    for draw in draws:
        rows.append((name, "random, same layers", loss_without(removal.matched(table.index, gone, draw), few)))
live = pd.DataFrame(rows, columns=["criterion", "choice", "loss"])

# %%
live = live.assign(rise=live.loss - dev_loss(model, few)).groupby(["criterion", "choice"], sort=False).rise
live = live.agg(rise="mean", low="min", high="max").reset_index().assign(model=toy + comparison.EVERY)
both = pd.concat([live, comparison.smollm2().query("left == 50")]).replace({"model": comparison.PANELS})
both = pd.concat([both[both.criterion == name] for name in [*layered, "random"]])
run.table(both, "layers", over="draws of heads, in SmolLM2 passages")
both = both.assign(measure=both.criterion.map(comparison.way), hollow=both.choice != "least by the measure")
label = "rise of the loss\n(nats a token)"
figure = plots.dots(both, "choice", "rise", group="measure", panel="model", label=label, sharex=False)
run.figure(figure, "layers", "Half of the heads go by a measure, or at random from the same layers.", table="layers")

# %% [markdown]
# Hollow dots are random heads, three draws each, in SmolLM2 one for relevance and confidence. *By layer* divides the gradient
# by its size in the layer, as Michel et al. do. The toy is one training.
#
# **The gradient knows layers and heads.** In the toy random heads cost **0.98**<!-- 06/layers model="toy EN-RU, all heads"
# criterion=random choice="from anywhere" rise:.2f --> nats, random heads of the gradient's layers **0.14**<!-- 06/layers
# model="toy EN-RU, all heads" criterion="gradient, example" choice="random, same layers" rise:.2f -->, and its own heads less
# still. In SmolLM2 the order is the same. Divided by layer it forgets how layers compare, and does far worse.<!-- holds:
# 06/layers model="toy EN-RU, all heads" criterion="gradient, example, by layer" choice="least by the measure" rise > 0.3 -->
#
# **Confidence takes the wrong layers.** Random heads of its layers cost more than random heads from anywhere, in both
# models.<!-- holds: 06/layers model="toy EN-RU, all heads" criterion=confidence choice="random, same layers" low > 1.4 --><!--
# holds: 06/layers model="toy EN-RU, all heads" criterion=random choice="from anywhere" high < 1.4 --><!-- holds:
# pretrained/removed_at_once random="same number a layer" by=confidence fraction=0.5 change_low > 6 -->
#
# Whether this outlasts further training we cannot tell
# ([three trainings](../docs/results.md#where-the-methods-could-win)).<!-- holds: regimes/matched_claims
# method="gradient, example" low < 0 -->

# %%
differ = comparison.effects(jobs, settings["relevance"])  # how many heads change the loss at all, in models of our own
if differ is not None:
    run.table(differ, "effects_of_heads", split="dev")
agreement = run.table(comparison.agreement(tables, differ), "agreement")
pairs = agreement[(agreement.kind == "encoder") & agreement.one.isin(shown) & agreement.other.isin(shown) & agreement.shown]
pairs = pairs.assign(one=pairs.one.map(comparison.way), other=pairs.other.map(comparison.way)).set_index(["one", "other"])
pairs[["rho", "low", "high"]].sort_values("rho", ascending=False).round(2)

# %% [markdown]
# The heads of each layer are ranked by two measures, and the ranks correlated: means over three or four toy models, with `95 %`
# intervals.
#
# **Within a layer most measures agree.** Relevance goes with confidence, as Voita et al. found (**0.76**<!-- 06/agreement
# kind=encoder one=alpha_beta other=confidence rho:.2f -->), and the gradient goes with both.<!-- holds: 06/agreement
# kind=encoder one="gradient, example" other=confidence low > 0 --><!-- holds: 06/agreement kind=encoder one=alpha_beta
# other="gradient, example" low > 0 --> That confidence fails in the toy seems a matter of layers.

# %% [markdown]
# ## Remove heads, and train on
#
# *Ni et al.* compare choices after further training. *We ask* whose choice leaves the best translator. As many encoder heads go
# as L0 closes at the price `0.003` ([notebook 3](03_l0_pruning.ipynb)), and the rest trains for as long as
# L0 trained. The toy keeps **12**<!-- 06/removed_and_trained_on seed=1 criterion="L0 (trained)" heads:.0f --> to **15**<!--
# 06/removed_and_trained_on seed=3 criterion="L0 (trained)" heads:.0f --> of `48` heads, Europarl **28**<!--
# natural/06/contest criterion=votes "test set"=europarl_test heads:.0f -->.

# %%
criteria = [*map(pruning.called, settings["pruning"]["criteria"]), *settings["comparison"]["criteria"]]
print("heads are cut by:", "; ".join(map(comparison.way, criteria)))
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
europarl = pd.read_csv(comparison.EUROPARL / "contest.csv").query("`test set` == 'europarl_test'")
draws = pd.read_csv(comparison.EUROPARL / "removed_and_trained_on.csv").query("`test set` == 'europarl_test'")
draws = draws[draws.criterion == "random"].change
europarl.loc[europarl.criterion == "random", ["low", "high"]] = draws.min(), draws.max()

# %%
both = pd.concat([means.sort_values("value", ascending=False), europarl]).replace({"model": comparison.PANELS})
both = both[both.criterion.isin(["L0 (trained)", "L0's heads", *shown, "random"])]
bleu = papers.GROUPED_TABLE_1["de-en"]
printed = {"votes": bleu["GHT-PS"] - bleu["GHT"], "L0 (trained)": bleu["L0"] - bleu["vanilla"]}
both["printed"] = both.criterion.map(printed).where(both.seeds > 1)
both["way"] = both.criterion.map(comparison.way)
label = "BLEU minus that of\nthe unpruned model"
figure = plots.dots(both, "way", "value", panel="model", label=label, sharex=False)
run.figure(figure, "contest", "What each choice of heads costs after further training.", table="contest")

# %% [markdown]
# The *unpruned model* trains on, too. Bars are `95 %` intervals over the toy's trainings and Europarl's sentences; its random
# heads have the range of three draws. *Cut at once* takes L0's choice alone. Diamonds are Ni et al., German to English, with a
# quarter of all heads left. Their votes come from a model trained in groups, ours from a plain one.
#
# **Gradient importance and learned gates choose about as well as L0.** In the toy the gradient loses **0.5**<!-- 06/contest
# criterion="gradient, example" -value:.1f --> BLEU, random heads **3.3**<!-- 06/contest criterion=random -value:.1f -->. In
# neither model can we tell the two from L0.<!-- holds: 06/contest_against_l0 criterion="gradient, example" p_holm > 0.05
# --><!-- holds: 06/contest_against_l0 criterion="L1 gates" p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0
# criterion="gradient, example" "test set"=europarl_test p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0
# criterion="L1 gates" "test set"=europarl_test p_holm > 0.05 -->
#
# **In Ni et al. votes beat L0. Here they lose more than L0**, clearly so on Europarl alone.<!-- holds:
# natural/06/contest_against_l0 criterion=votes "test set"=europarl_test p_holm < 0.05 --><!-- holds: 06/contest_against_l0
# criterion=votes p_holm > 0.05 -->
#
# **Confidence** comes last in the toy, and beats every draw of random heads on Europarl, where fewer heads go.<!-- holds:
# 06/contest criterion=confidence value < -4.5 --><!-- holds: natural/06/contest criterion=confidence
# "test set"=europarl_test value > -1 -->

# %% [markdown]
# ## Why the gradient does well
#
# Gradient importance guesses, from one pass, the loss without each head. *We ask* whether this and other cheap measures rank
# the heads of a layer as that loss does, where half of the heads or more change it. That leaves out most encoders.

# %%
predictors = run.table(comparison.predictors(tables, seconds, differ), "predictors")
telling = predictors[(predictors.models >= comparison.FEW) & predictors.shown.astype(bool)]
kinds = telling.kind.replace({"cross": "toy models,\ncross-attention", "decoder": "toy models,\ndecoder"})
smollm2 = pd.read_csv(comparison.PRETRAINED / "correlations.csv").replace({"attnlrp": "alpha_beta"}).assign(kind="SmolLM2")
both = pd.concat([telling.assign(kind=kinds), smollm2])
both = both[both.measure.isin([*shown, "gradient, token", "leave-one-out, half against half"])]
both = both.sort_values(["kind", "rho"], ascending=False).assign(measure=both.measure.map(comparison.way))
label = "rank correlation with the\nloss without the head"
figure = plots.dots(both, "measure", "rho", panel="kind", label=label)
run.figure(figure, "predictors", "How well each measure predicts the loss without a head.", table="predictors")

# %% [markdown]
# Bars are `95 %` intervals, over three or four toy models, in SmolLM2 over passages.
#
# **The gradient predicts in decoders and in SmolLM2.** It correlates by **0.60**<!-- 06/predictors kind=decoder
# truth=leave-one-out heads="within layers" measure="gradient, example" rho:.2f --> and **0.56**<!-- pretrained/correlations
# measure="gradient, example" rho:.2f -->. For cross-attention we cannot tell.<!-- holds: 06/predictors kind=cross
# truth=leave-one-out heads="within layers" measure="gradient, example" low < 0 -->
#
# **No measure is shown to be better**, and none easily could. By the loss without the head, two halves of the text rank
# SmolLM2's heads alike at only **0.49**<!-- pretrained/correlations measure="leave-one-out, half against half" rho:.2f -->, the
# last row. The other rows use both halves, which is surer.
#
# **Confidence has the wrong sign in SmolLM2.**<!-- holds: pretrained/correlations measure=confidence high < 0 -->

# %% [markdown]
# ## Side by side
#
# The time is in units of the gradient's, the correlation is SmolLM2's from above. Losses are read off the first figure.

# %%
losses = run.table(comparison.at_shares(drawn), "at_shares")
cost = pd.DataFrame(seconds).apply(lambda spent: spent / spent["gradient, example"]).mean(axis=1)
both = losses.assign(gone=losses.gone.map("{} % gone".format)).pivot_table("rise", "measure", ["gone", "model"], sort=False)
both.insert(0, ("", "time"), cost.rename(comparison.way))
smollm2["measure"] = smollm2.measure.replace("leave-one-out, half against half", "leave-one-out").map(comparison.way)
both.insert(1, ("", "correlation"), smollm2.set_index("measure").rho)
both.style.format(precision=2, na_rep="–")

# %% [markdown]
# **The gradient takes least time and is near the best in the translators.** In SmolLM2, where the loss without the head and
# gates are better, they took `105` and `178` core minutes ([what it took](../docs/pretrained.md#what-it-took)).
#
# **Where this may not hold.** The toy hardly needs its encoder heads ([notebook 3](03_l0_pruning.ipynb)), so what it can spare
# is no promise. We trained on at one price, and Europarl and SmolLM2 are one model each. Measures and losses share sentences,
# which helps every measure.

# %% [markdown]
# ## Verdicts
#
# One question of ours, by the rules of [claims.toml](../claims.toml).

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# - To `shown` add `"output norm"`, the length of what a head writes. In seconds the first figure has one more curve, which in
#   the toy begins above random heads,<!-- holds: 06/removed_at_once model="EN-RU news" criterion="output norm" seed=1 heads=31
#   change > 0.1 --> though it predicts the loss without the head well.<!-- holds: 06/predictors
#   kind=decoder truth=leave-one-out heads="within layers" measure="output norm" rho > 0.58 -->
# - In `choose` write `sort_values(ascending=False, kind="stable")`: the heads of most worth go. In half a minute the gradient
#   moves to the far right of the second figure.
