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
# # 6 · Do measures of a head's importance agree, and by which should you prune?
#
# [← notebook 5, coreference injection](05_coreference_injection.ipynb) · [what it costs](../docs/run.md) · [all
# claims](../docs/results.md)
#
# Three papers rank attention heads, each in its own way.
#
# - [Voita et al. 2019](https://arxiv.org/abs/1905.09418) look at *relevance* and *confidence*, and prune by *L0*: training
#   closes the gates of heads at a price.
# - [Ni et al. 2023](https://arxiv.org/abs/2305.14380) let heads of a group *vote* for the one that stays.
# - [Liu & Chen 2023](https://arxiv.org/abs/2312.09541) take *gradient importance*, as [Michel et al.
#   2019](https://arxiv.org/abs/1905.10650) do: how steeply the loss moves as a gate begins to close.
#
# Here all of them rank the heads of the same models. Which also predicts what happens without a head?
#
# In short:
#
# - **To prune encoder heads, rank them by gradient importance.** A translator that trains on is then about as good as one
#   pruned by L0, which must train to choose. L1 gates do as well, but take ten times as long as the gradient.<!-- holds:
#   06/predictors kind=encoder truth=leave-one-out measure="L1 gates" cost > 9.5 -->
# - In SmolLM2, a pretrained language model, L0 gates learned on the frozen model are far ahead once a third of the heads
#   goes. Training on narrows the gap.
# - No cheap measure is shown to predict better than the gradient what happens without a head.
# - Do not prune by confidence: it destroys SmolLM2, and in the toy language's contest it does no better than random heads.<!--
#   holds: 06/contest_against_random criterion=confidence p_holm > 0.05 -->

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
from helpers.measures import ranks, removal, table as register, worth
from helpers.methods import contest
from helpers.plan import sources
from helpers.runs import subjects, training
import torch  # after helpers: threads that wait then sleep
run = study.begin("06_do_measures_agree", globals())
print(run.summary(), sources(run), sep="\n")
drawing.style()

# %% [markdown]
# ## What the measures are
#
# Give every head a *gate* $g$, a number that multiplies what the head puts out, normally one. Let $L$ be the loss.
#
# | measure | what it is |
# |---|---|
# | loss without the head | $L(g=0)-L(g=1)$, all other heads in place |
# | gradient importance | size of $\partial L/\partial g$ at $g=1$, a mean over sentences |
# | …, each token | the same with a gate for each token, a mean over tokens |
# | gradient, signed | $-\partial L/\partial g$ with its sign, which sentences can cancel |
# | [relevance](01_relevance_and_confidence.ipynb) | share of a predicted word's score that flows through the head |
# | [confidence](01_relevance_and_confidence.ipynb) | largest attention weight, a mean over tokens |
# | …, beyond the first token | the same, without weight on the text's first token |
# | how long [L0](03_l0_pruning.ipynb) keeps it | at how many prices the gate stays open |
# | L1 gates | the size that $g$ learns when size has a price and weights are fixed |
# | [votes](04_grouped_heads.ipynb) | how often the head is nearest to the mean of its group |
# | output norm | length of the vector that the head writes, a mean over tokens |
# | positional, syntactic | how well the head does what [notebook 2](02_head_functions.ipynb) tests |
#
# The loss without the head takes a pass for each head, L1 gates a short training, and L0 a training for each price.
# Relevance has three rules: αβ, AttnLRP, and a conservative one.

# %%
settings, names = run.settings, subjects.names(run.settings, models)
jobs = contest.runs.jobs(settings, names, seed, pretrained)  # a trained model each
table_recipe = contest.runs.tabled(contest.runs.of_table(jobs[0]))  # of the first one's head table
model, dev, _ = contest.runs.opened(table_recipe.spec, settings["pruning"]["dev"])  # the first one itself, and dev sentences
dev = list(dev)
print(f"{comparison.title(jobs[0])}: {len(heads.index(model))} heads, {sum(len(batch['labels']) for batch in dev)} sentences")


# %% tags=["method"]
def loss_without(model, batches, head):
    with heads.gate(model, {head: 0.0}):
        return training.dev_loss(model, batches) - whole


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


few, head = [{name: rows[:4] for name, rows in dev[0].items()}], heads.index(model)[0]  # four sentences
whole = training.dev_loss(model, few)
print(study.compare(gradient_importance(model, few), measures.importance(model, few, norm=None).to_numpy()))
print(study.compare(loss_without(model, few, head), worth.leave_one_out(model, few, repeats=1).loss[head]))

# %% [markdown]
# ## The models
#
# Most translate a toy language, which we generate. The first translates news, has six encoder layers of
# eight heads, and reaches a BLEU of **88**<!-- 03/fig7_bleu_by_heads model="EN-RU news" run=control bleu:.0f -->. The others
# are a translator of subtitles, a small translator, the summarizer of [notebook 5](05_coreference_injection.ipynb) and the
# small language model of [notebook 4](04_grouped_heads.ipynb).

# %%
entered = contest.enter(entries)  # your own measures, if you give a file of them
tables, seconds = comparison.head_tables(jobs, entered)  # by model and seed
for job, table in zip(jobs, tables.values(), strict=True):
    run.table(table, comparison.stored_as(job, seed), model=job["name"], of_seed=job["seed"])
first = next(iter(tables.values()))
kind = "encoder" if "encoder" in first.index.unique("kind") else "decoder"

# %% [markdown]
# ## The contest: choose heads, cut them, train on, score
#
# *Ni et al.* compare choices of heads by BLEU. *We ask*: whose choice leaves the best translator? We cut as many encoder
# heads as L0 closes at the price `0.003`, and train the rest as long as L0 trained. Of `48` heads **12**<!--
# 06/removed_and_trained_on seed=1 criterion="L0 (trained)" heads:.0f --> to **15**<!-- 06/removed_and_trained_on seed=3
# criterion="L0 (trained)" heads:.0f --> are left in the toy language, and **28**<!-- natural/06/contest criterion=votes
# "test set"=europarl_test heads:.0f --> in a translator of Europarl, which we score on debates and on newstest2014. *L0,
# while it trains* is L0's own run; *L0's heads, cut at once* takes its choice alone.

# %% tags=["method"]
def choose(table, by, count, *seed):
    """The heads to cut: those of least worth by a column of the head table, or random ones."""
    worth = removal.shuffled(table.index, *seed) if by == "random" else table[by]
    return list(worth.sort_values(kind="stable").index[:count])


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
trained = pd.concat(contested, names=["model", "seed", "row"])
run.table(trained, "removed_and_trained_on", over="sentences of one training")
run.table(comparison.against_l0(trained), "contest_against_l0", resamples=settings["bootstrap"])
run.table(comparison.against_random(trained), "contest_against_random")
means = run.table(comparison.over_seeds(trained), "contest")

# %%
natural = study.ROOT / "figures" / "natural" / "06_do_measures_agree" / "tables"  # published: a translator of Europarl
texts = {"europarl_test": "Europarl debates,\none training", "newstest2014": "the same model,\nnewstest2014"}
europarl = pd.read_csv(natural / "contest.csv").query("criterion != 'gradual'")  # which our code no longer has
europarl = europarl.assign(text=europarl["test set"].map(texts))
ours = means[(means.model == means.model[0]) & (means["test set"] == means["test set"][0])]
ours = ours.assign(text=f"{means.model[0]},\n{means.seeds[0]} trainings").sort_values("value", ascending=False)
bleu = papers.GROUPED_TABLE_1["de-en"]  # votes are cast in a model that was trained in groups, L0 prunes one that was not
printed = {"votes": bleu["GHT-PS"] - bleu["GHT"], "L0 (trained)": bleu["L0"] - bleu["vanilla"]}
europarl["printed"] = europarl.criterion.map(printed).where(europarl["test set"] == "europarl_test")
draws = pd.concat([trained.reset_index(), pd.read_csv(natural / "removed_and_trained_on.csv")]).query("criterion == 'random'")

# %%
drawn = pd.concat([ours, europarl])
chance = drawn.text.map(drawn[drawn.criterion == "random"].set_index("text")["value"])  # the dashed lines
drawn["hollow"] = drawn.low.fillna(drawn.value).le(chance) & drawn.high.fillna(drawn.value).ge(chance)
place = [*drawn.criterion.unique()].index("random")
drawn["criterion"] = drawn.criterion.map(comparison.way)
figure = plots.dots(drawn, "criterion", "value", panel="text", label="BLEU minus that of\nthe unpruned model", sharex=False)
for axis, (text, rows) in zip(figure.axes, drawn.groupby("text", sort=False), strict=False):
    axis.axvline(chance[drawn.text == text].iloc[0], color="grey", linestyle="--", zorder=0)
    ticks = draws.change[(draws["test set"] == rows["test set"].iloc[0]) & (draws.model == rows.model.iloc[0])]
    axis.plot(ticks, [place] * len(ticks), "|", color="grey")
run.figure(figure, "contest", "What each way of choosing heads costs after further training.", table="contest")

# %% [markdown]
# The *unpruned model* trains on for as long. Bars are `95 %` intervals, over trainings at the left, over sentences elsewhere.
# The dashed line is the mean of random heads, whose draws are grey ticks, and a dot is hollow where its bar reaches that
# line. In the toy language a corrected test agrees with every dot.<!-- holds: 06/contest_against_random criterion=votes
# p_holm < 0.05 --><!-- holds: 06/contest_against_random criterion=leave-one-out p_holm > 0.05 --> Diamonds: Ni et al.,
# German to English.
#
# **Gradient importance and L1 gates choose about as well as L0.** In the toy language the gradient loses **0.5**<!--
# 06/contest criterion="gradient, example" -value:.1f --> BLEU, random heads **3.3**<!-- 06/contest criterion=random
# -value:.1f -->. Against L0 the gradient may be anything from **0.14**<!-- 06/contest_against_l0
# criterion="gradient, example" -low:.2f --> worse to **0.29**<!-- 06/contest_against_l0 criterion="gradient, example"
# high:.2f --> better. On Europarl, too, we cannot tell the two from L0.<!-- holds: natural/06/contest_against_l0
# criterion="gradient, example" "test set"=europarl_test p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0
# criterion="L1 gates" "test set"=europarl_test p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0
# criterion="gradient, example" "test set"=newstest2014 p_holm > 0.05 --><!-- holds: natural/06/contest_against_l0
# criterion="L1 gates" "test set"=newstest2014 p_holm > 0.05 -->
#
# **Does it win by its layers alone?** Perhaps. Random heads, as many in each layer as the gradient takes, are **1.6**<!--
# regimes/matched_claims method="gradient, example" change:.1f --> BLEU worse over three trainings, but the interval holds
# zero.<!-- holds: regimes/matched_claims method="gradient, example" low < 0 --> The gradient is better than each of the nine
# draws ([more](../docs/results.md#where-the-methods-could-win)).<!-- holds: regimes/matched criterion="gradient, example"
# seed=4 draw=0 BLEU > 87.4 --><!-- holds: regimes/matched criterion="gradient, example" seed=4 draw=1 BLEU < 87.4 -->
#
# **The rest of the order differs.** Confidence, last in the toy language,<!-- holds: 06/contest criterion=confidence
# value < -4.5 --> beats all draws of random heads on Europarl, where fewer heads go.<!-- holds: natural/06/contest
# criterion=confidence "test set"=europarl_test value > -1 --><!-- holds: natural/06/contest criterion=confidence
# "test set"=newstest2014 value > -0.9 -->
#
# **In Ni et al. votes beat L0. Here they do not.** They lose more, clearly so on debates alone.<!-- holds:
# natural/06/contest_against_l0 criterion=votes "test set"=europarl_test p_holm < 0.05 --><!-- holds:
# natural/06/contest_against_l0 criterion=votes "test set"=newstest2014 p_holm > 0.05 --><!-- holds: 06/contest_against_l0
# criterion=votes p_holm > 0.05 --> But their votes come from a model trained in groups, ours from a plain one.

# %% [markdown]
# ## Remove heads at once, and do not train on
#
# *Michel et al.* removed `20` % of the heads of a large translator (WMT) and `40` % of BERT's by gradient importance, without
# a loss that they noticed. *We ask* whether that works here, and whether a measure knows more than which layers to spare. The
# controls are random heads: from anywhere, and *as many in each layer*.

# %% tags=["method"]
def remove_and_score(names, shares, draws, sentences, kind, order):
    model, dev, _ = contest.runs.opened(table_recipe.spec, sentences)
    table, rows = contest.runs.measured(table_recipe.spec)[0].loc[[kind]], []
    whole = training.dev_loss(model, dev)

    def add(measure, choice, share, gone):
        with heads.gate(model, dict.fromkeys(gone, 0.0)):
            rows.append((measure, choice, 100 - 100 * share, training.dev_loss(model, dev) - whole))

    for share in shares:
        count = round(share * len(table))
        for draw in range(draws):
            add("any", "random heads", share, removal.shuffled(table.index, draw).nsmallest(count).index)
        for name in names:
            gone = table[name].sort_values(ascending=order == "least", kind="stable").index[:count]
            add(name, f"{order} by the measure", share, gone)
            for draw in range(draws):
                add(name, "random, as many in each layer", share, removal.matched(table.index, gone, draw))
    table = pd.DataFrame(rows, columns=["measure", "heads", "left", "rise"]).groupby(["measure", "heads", "left"], sort=False)
    return table.rise.agg(rise="mean", low="min", high="max").reset_index()  # of a choice without draws all three are one


# %%
ranked = [name for name in ("gradient, example", "alpha_beta", "confidence", "leave-one-out") if name in first]
given = {"shares": [0.25, 0.5, 0.75], "draws": 5, "kind": kind, "order": "least"}
given["sentences"] = min(200, settings["pruning"]["dev"])
rises = run.stored(remove_and_score, table_recipe, names=ranked, **given)
run.table(rises, "rank_remove_score", over="least and largest of five draws")
anywhere, by = rises[rises.measure == "any"], rises[rises.measure != "any"]
by = by.assign(measure=by.measure.map(register.named), left=by.left - by["heads"].str.startswith("random"))
axes = (f"% of {kind} heads left", "rise of the loss\n(nats a token)")
figure = plots.curve(by, "left", "rise", "heads", anywhere, "measure", axes, columns=2)
run.figure(figure, "rank_remove_score", "The loss after heads are removed at once.", table="rank_remove_score")

# %% [markdown]
# One training; bars are the least and the largest of five draws. Orange is shifted by one point.
#
# **The gradient knows both layers and heads.** Three quarters of the encoder heads can go by it for **0.03**<!--
# 06/rank_remove_score measure="gradient, example" heads="least by the measure" left=25 rise:.2f --> nats a token; random
# heads of the same layers cost **0.18**<!-- 06/rank_remove_score measure="gradient, example"
# heads="random, as many in each layer" left=25 rise:.2f -->. Its layers alone help only while half or more of the heads are
# left.<!-- holds: 06/rank_remove_score measure="gradient, example" heads="random, as many in each layer" left=50 rise < 0.05
# -->
#
# **Confidence spares the wrong layers.** With a quarter of the heads gone, random heads of its layers cost more than any from
# anywhere.<!-- holds: 06/rank_remove_score measure=confidence heads="random, as many in each layer" left=75 low > 0.1 --><!--
# holds: 06/rank_remove_score measure=any left=75 high < 0.1 -->
#
# The next figure is of SmolLM2, with `135` million parameters, from [published tables](../docs/pretrained.md#what-it-took).
# Its *L0 gates* are learned on the frozen model ([notebook 3](03_l0_pruning.ipynb)).

# %%
smollm2 = study.ROOT / "figures" / "pretrained"
cut = pd.concat([pd.read_csv(smollm2 / f"{name}.csv") for name in ("removed_at_once", "drawn_at_once", "gates")])
cut = cut.assign(measure=cut.by.fillna(cut.choice), left=100 - 100 * cut["heads"] / 270)
cut = cut[cut["heads"] > 0].drop_duplicates(["measure", "random", "draw", "heads"])
cut["heads"] = cut.random.map({"any": "random heads", "same number a layer": "random, as many in each layer"})
cut["heads"] = cut["heads"].fillna("least by the measure")
cut = cut.groupby(["measure", "heads", "left"]).change.agg(rise="mean", low="min", high="max").reset_index()
by = pd.concat([cut[cut.measure == name] for name in ("gates", "gradient, example", "gradient, token", "leave-one-out")])
by = by.assign(measure=by.measure.replace("gates", "L0 gates").map(register.named))
axes = ("% of heads left", "rise of the loss\n(nats a token)")
figure = plots.curve(by, "left", "rise", "heads", cut[cut.measure == "random"], "measure", axes, columns=2)
for axis in figure.axes:  # shares of all heads that Michel et al. left without a loss that they noticed
    axis.vlines([80, 60], 0, 0.9, color="grey", linestyle=":", transform=axis.get_xaxis_transform())
    for left, model in ((80, "WMT"), (60, "BERT")):
        axis.text(left, 0.93, model, color="grey", ha="center", fontsize=7, transform=axis.get_xaxis_transform())
run.figure(figure, "smollm2_removed", "The loss of a pretrained model after heads are removed at once.")

# %% [markdown]
# Bars are the least and the largest of three draws; some orange points are one draw. Dotted lines mark what Michel et al.
# left, judged by BLEU and accuracy.
#
# **Here too the gradient knows layers and heads.** With half of all heads gone the loss rises by **0.95**<!--
# pretrained/removed_at_once random= by="gradient, example" fraction=0.5 change:.2f --> nats; with random heads of the same
# layers by **2.2**<!-- pretrained/drawn_at_once random="same number a layer" by="gradient, example" fraction=0.5 draw=2
# change:.1f --> or more.
#
# **But the loss rises sooner than in Michel et al.** A quarter of the heads costs **0.27**<!-- pretrained/removed_at_once
# random= by="gradient, example" fraction=0.25 change:.2f -->. By confidence, which the figure leaves out, it costs
# **6.5**<!-- pretrained/removed_at_once random= by=confidence fraction=0.25 change:.1f -->.
#
# **L0 gates choose better than the gradient.** With `86` heads gone they cost **0.17**<!-- pretrained/gates choice=gates
# random= heads=86 change:.2f -->, the gradient **0.37**<!-- pretrained/gates choice="gradient, example" random= heads=86
# change:.2f -->. A short training narrows the gap.<!-- holds: pretrained/trained_on choice="gradient, example" random=
# heads=86 change < 0.25 --> The loss without the head chooses better, too.<!-- holds: pretrained/removed_at_once random=
# by=leave-one-out fraction=0.5 change_high < 0.8 --><!-- holds: pretrained/removed_at_once random= by="gradient, example"
# fraction=0.5 change_low > 0.8 -->
#
# Does this hold for our other models? The table has the rise of the loss minus that with random heads from anywhere, a mean
# over several numbers of heads: below zero the measure is better. *All kinds* means that heads of the decoder and of
# cross-attention may go too. *By layer* divides the gradient by its size in the layer, as Michel et al. do.

# %%
removed = run.table(comparison.removed(jobs, tables, entered), "removed_at_once")
chosen = ["L1 gates", "gradient, token", "gradient, example", "gradient, example, by layer", "leave-one-out", "alpha_beta"]
chosen += ["attnlrp", "votes", "confidence", *entered]
beside = comparison.beside_random(removed).reset_index()
beside = beside[beside.criterion.isin(chosen)].assign(measure=lambda t: t.criterion.map(register.named))
run.table(beside.drop(columns="measure").set_index(["model", "criterion"]), "removed_beside_random")
drawn = beside[beside.model.isin([beside.model[0], f"{beside.model[0]}{comparison.EVERY}", contest.runs.DECODER])]
drawn.replace(contest.runs.DECODER, "small language model").pivot_table("rise", "measure", "model", sort=False).round(2)

# %% [markdown]
# **L1 gates are the best in all three columns.** In the translator they are only a little ahead of the gradient.<!-- holds:
# 06/removed_beside_random model="EN-RU news, all kinds" criterion="L1 gates" rise < -1.15 --> In the small language model,
# which is one training, three more measures beat the gradient.<!-- holds: 06/removed_beside_random model="decoder of today"
# criterion="gradient, example" rise > -0.3 --><!-- holds: 06/removed_beside_random model="decoder of today" criterion=votes
# rise < -0.3 -->
#
# **Where all kinds may go, rank over all of them**: divided by layer, the gradient loses most of its gain.
#
# **Confidence is not safe.** Where all kinds may go it does worse than random heads.<!-- holds: 06/removed_beside_random
# model="EN-RU news, all kinds" criterion=confidence least > 0 --> In the encoder its mean is a little better,<!-- holds:
# 06/removed_beside_random model="EN-RU news" criterion=confidence most < 0 --> but only by the cases in which few heads are
# left. With two thirds left it costs about twice what random heads cost (the first figure of this section).<!-- holds:
# 06/removed_at_once model="EN-RU news" criterion=confidence seed=1 heads=31 change > 0.11 --><!-- holds: 06/removed_at_once
# model="EN-RU news" criterion=confidence seed=3 heads=37 change > 0.07 -->
#
# **The loss without the head** costs next to nothing at first,<!-- holds: 06/removed_at_once model="EN-RU news"
# criterion=leave-one-out seed=1 heads=31 change < 0.005 --> but over all numbers of heads it does worse than random heads in
# one of three trainings.<!-- holds: 06/removed_beside_random model="EN-RU news" criterion=leave-one-out most > 0 -->

# %% [markdown]
# ## Do measures agree within a layer?
#
# *Voita et al.* see relevance and confidence agree, except for one head. *We ask* which other measures do: we rank the heads
# of each layer by both and correlate the ranks. A cell is the mean over three or four models, and white where its `95 %`
# interval over models holds zero.


# %% tags=["method"]
def rank_correlation(table, one, other):
    """Heads are ranked in each layer by two measures; then the ranks of all layers are correlated."""
    return table[[one, other]].groupby(level="layer").rank().corr().loc[one, other]


pair = ["gradient, example", "confidence"]
print(study.compare(rank_correlation(first.loc[kind], *pair), ranks.rank_agreement(first[pair], kind).loc[tuple(pair)]))

# %%
differ = comparison.effects(jobs, settings["relevance"])  # of models of our own
if differ is not None:
    run.table(differ, "effects_of_heads", split="dev")
agreement = run.table(comparison.agreement(tables, differ), "agreement")
compared = ["gradient, example", "kept by L0", "alpha_beta", "L1 gates", "output norm", "confidence", "attnlrp", "votes"]
drawn = comparison.triangle(agreement, kind, [*compared, "positional", "syntactic", *entered])
drawn = drawn.assign(one=drawn.one.map(register.named), other=drawn.other.map(register.named))
figure = plots.correlations(drawn, "one", "other", "rho", label="rank correlation")
run.figure(figure, "agreement", "How far two measures rank the heads of a layer alike.", table="agreement")

# %% [markdown]
# **Gradient importance, relevance by αβ and how long L0 keeps a head go together**: any two correlate by **0.75**<!--
# 06/agreement kind=encoder one=alpha_beta other="kept by L0" rho:.2f --> or more. Confidence goes with that relevance, as in
# the paper (**0.76**<!-- 06/agreement kind=encoder one=alpha_beta other=confidence rho:.2f -->); with AttnLRP we cannot
# tell.<!-- holds: 06/agreement kind=encoder one=attnlrp other=confidence low < 0 -->

# %% [markdown]
# ## Which measure predicts the loss without the head?
#
# *We ask* which cheaper measure ranks the heads of a layer as the loss without the head does. We look only where half of the
# heads or more change the loss, which leaves out most encoders.

# %%
predictors = run.table(comparison.predictors(tables, seconds, differ), "predictors")
telling = predictors[(predictors.models >= comparison.FEW) & predictors.shown.astype(bool)]
kinds = telling.kind.replace({"cross": "cross-attention,\nour models", "decoder": "decoder heads,\nour models"})
rho = pd.read_csv(smollm2 / "correlations.csv").assign(kind="SmolLM2")
drawn = pd.concat([telling.assign(kind=kinds), rho])
cheap = [*compared, "gradient, token", "gradient, signed", "confidence, later tokens", *entered]
drawn = drawn[drawn.measure.isin(cheap)].assign(measure=lambda table: table.measure.map(register.named))
drawn = drawn.sort_values(["kind", "rho"], ascending=False)  # the best measure of the decoder first
figure = plots.dots(drawn, "measure", "rho", panel="kind", label="rank correlation with the\nloss without the head")
run.figure(figure, "predictors", "How well each measure predicts the loss without a head.", table="predictors")

# %% [markdown]
# Bars are `95 %` intervals over three or four models, in SmolLM2 over passages of text. A dot is missing where fewer than
# three of our models, or SmolLM2, have the measure.
#
# **The gradient predicts in the decoder and in SmolLM2.** It correlates by **0.60**<!-- 06/predictors kind=decoder
# truth=leave-one-out heads="within layers" measure="gradient, example" rho:.2f --> and **0.56**<!-- pretrained/correlations
# measure="gradient, example" rho:.2f -->. For cross-attention we cannot tell.<!-- holds: 06/predictors kind=cross
# truth=leave-one-out heads="within layers" measure="gradient, example" low < 0 -->
#
# **No measure is shown to be better.** The gradient of each token has the highest dots, but the bars overlap. Confidence has
# the wrong sign in SmolLM2.<!-- holds: pretrained/correlations measure=confidence high < 0 -->
#
# **In an encoder, too, the gradient predicts**, where its heads do change the loss: in a translator of Europarl it has
# **0.81**<!-- natural/06/predictors kind=encoder truth=leave-one-out heads="within layers" measure="gradient, example"
# rho:.2f -->, confidence **0.68**<!-- natural/06/predictors kind=encoder truth=leave-one-out heads="within layers"
# measure=confidence rho:.2f -->.

# %% [markdown]
# ## What it means
#
# **To prune encoder heads and train on, take gradient importance or L1 gates, not confidence.** Where all kinds may go the
# two are among the best, too, but there we did not train on.
#
# The contest is one translator of a toy language and one of Europarl, at one price. Measures and losses of heads removed at
# once share sentences, which helps every measure a little.

# %% [markdown]
# ## Verdicts
#
# One question of ours, by the rules of [claims.toml](../claims.toml).

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# - Below `criteria =` write `criteria += ["gradient, token"]`, or any column of the head table. It takes a quarter of an
#   hour.
# - In `given` write `"order": "largest"` to remove the best heads first. It takes a minute.
