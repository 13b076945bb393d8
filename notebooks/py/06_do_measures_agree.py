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
# [← notebook 5, coreference injection](05_coreference_injection.ipynb) · [what it costs](../docs/run.md) ·
# [all claims](../docs/results.md)
#
# Three papers rank attention heads, each in its own way.
#
# - [Voita et al. 2019](https://arxiv.org/abs/1905.09418) look at *relevance* and *confidence*, and prune by *L0*: training
#   closes the gates of heads at a price.
# - [Ni et al. 2023](https://arxiv.org/abs/2305.14380) let heads of a group *vote* for the one that stays.
# - [Liu & Chen 2023](https://arxiv.org/abs/2312.09541) take *gradient importance*, which is that of
#   [Michel et al. 2019](https://arxiv.org/abs/1905.10650): how steeply the loss moves as a gate begins to close.
#
# Here every head of the same models gets every measure. We ask three things. Which way of choosing leaves the best model when
# many heads are pruned? Do measures rank heads alike? And which measure predicts what happens when a head is removed?
#
# In short:
#
# - A translator that loses the heads of least gradient importance, and trains on, is about as good as one pruned by L0. In
#   SmolLM2, which does not train on, learned gates choose better.
# - Mind what is at stake: cutting all encoder heads of such a translator and training on costs **12.4**<!--
#   03/fig7_bleu_by_heads model="EN-RU news" run=control worth:.1f --> BLEU. One that never had any is only **1.2**<!--
#   03/fig7_bleu_by_heads model="EN-RU news" run=control "worth from the start":.1f --> worse.
# - Gradient importance, relevance by the αβ rule and how long L0 keeps a head mostly agree. Confidence agrees with the first
#   two, and not surely with relevance by AttnLRP.
# - No cheap measure is shown to predict better than gradient importance what happens without a head.

# %% tags=["parameters"] jupyter={"source_hidden": true}
profile: str = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
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
import torch
from IPython.display import display
from helpers import claims, drawing, heads, measures, models as library, plots, study
from helpers.experiments import comparison
from helpers.measures import measured, removal, table as register, worth
from helpers.methods import contest
from helpers.plan import sources
from helpers.runs import subjects, training
run = study.begin("06_do_measures_agree", globals())
print(run.summary(), sources(run), sep="\n")
drawing.style()

# %% [markdown]
# ## What the measures are
#
# Give every head a *gate* $g$, a number that multiplies what the head puts out, and let $L$ be the loss. Normally all gates
# are one.
#
# | measure | what it is | what it takes |
# |---|---|---|
# | loss without the head | $L(g = 0) - L(g = 1)$, all other heads in place | a pass for each head |
# | gradient importance | size of $\partial L / \partial g$ at $g = 1$, a mean over sentences | one pass forward and back |
# | relevance | share of a predicted word's score that flows through the head | a rule for each layer |
# | confidence | largest attention weight, a mean over tokens | one pass |
# | how long L0 keeps it | at how many prices the gate stays open | a training for each price |
# | L1 gates | what is left of $g$ under a price on its size, all weights fixed | a short training |
# | votes | how often the head is nearest to the mean of its group | one pass |
# | output norm | length of the vector that the head writes, a mean over tokens | one pass |
# | positional, syntactic | how well the head does what [notebook 2](02_head_functions.ipynb) tests | one pass |
#
# Relevance and confidence are those of [notebook 1](01_relevance_and_confidence.ipynb); of relevance there are three rules: αβ,
# AttnLRP, and a conservative one. L0 is that of [notebook 3](03_l0_pruning.ipynb), and votes are those of [notebook
# 4](04_grouped_heads.ipynb). The first measure is what we would like to know: it takes the head out and looks. Gradient
# importance is its cheap stand-in. Both are short in code.

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
# ## One table: a row a head, a column a measure
#
# The models are a translator of news and one of subtitles, a small translator (half the encoder, a decoder of one layer with
# two heads), the summarizer of [notebook 5](05_coreference_injection.ipynb) and the small language model of
# [notebook 4](04_grouped_heads.ipynb). All read a toy language that we generate, and have about two million weights. The
# translator of news has six encoder layers of eight heads, and reaches a BLEU of **88**<!-- 03/fig7_bleu_by_heads
# model="EN-RU news" run=control bleu:.0f -->. It and the small translator are trained three times.
#
# Here are the five encoder heads that the first translator needs most.

# %%
entered = contest.enter(entries)  # your own measures, if you give a file of them
tables, seconds = comparison.head_tables(jobs, entered)  # by model and seed
for job, table in zip(jobs, tables.values(), strict=True):
    run.table(table, comparison.stored_as(job, seed), model=job["name"], of_seed=job["seed"])
first = next(iter(tables.values()))
kind = "encoder" if "encoder" in first.index.unique("kind") else "decoder"
columns = ["leave-one-out", "gradient, example", "alpha_beta", "confidence", "output norm", "key-value head"]
shown = first.loc[[kind], [name for name in (*columns, *entered) if name in first and first[name].notna().any()]]
measured.from_one(shown.nlargest(5, "leave-one-out").rename(columns=register.named)).round(3)

# %% [markdown]
# ## The contest: remove heads, train on, score
#
# *Ni et al.* print such a contest: from German to English their voted heads reach `35.2` BLEU, and those of L0 `32.2`. *We ask*
# it of every measure.
#
# From the first translator we remove, by each way of choosing, as many encoder heads as L0 closes at the price `0.003`, and
# train the rest for as long as L0 trained, `2,000` steps. So `comparison.contest`, below, ranks the heads by each measure, cuts
# the last ones, trains what is left and scores its translations ([code](../helpers/experiments/comparison.py)). *L0, while it
# trains* chooses as it trains. *L0's heads, cut at once* are L0's choice under the conditions of all others. Each was done in
# three trainings, with three draws of random heads in each. BLEU is held against the *unpruned model*: all heads, trained on
# for as long.

# %%
trained = comparison.contest(jobs, parser, settings["bootstrap"])
run.table(trained, "removed_and_trained_on", over="sentences of one training")
run.table(comparison.over_seeds(trained), "contest")
run.table(comparison.against_l0(trained), "contest_against_l0", resamples=settings["bootstrap"])
random = run.table(comparison.against_random(trained), "contest_against_random")

# %%
drawn = comparison.drawn_of_contest(trained, random, tables)
figure = plots.contest(*drawn, label="BLEU minus that of\nthe unpruned model")
caption = "What each way of choosing heads costs after further training."
run.figure(figure, "contest", caption, table="removed_and_trained_on")
shown = random.reset_index(["model", "test set"]).rename(index=comparison.way)
titles = {"value": "BLEU above random heads", "low": "low", "high": "high", "p_holm": "p"}
display(shown[[*titles]].rename(columns=titles).rename_axis("heads chosen by").round(2))

# %% [markdown]
# In the figure a dot is one training. Dots are full where the choice is better or worse than random heads, and hollow where we
# cannot tell: where *p* of the table is `0.05` or more. The table has means over trainings with their `95 %` intervals; *p* is
# corrected for the twelve choices.
#
# L0 leaves **12**<!-- 06/removed_and_trained_on seed=1 criterion="L0 (trained)" heads:.0f --> to **15**<!--
# 06/removed_and_trained_on seed=3 criterion="L0 (trained)" heads:.0f --> of `48` encoder heads, and loses **0.6**<!--
# 06/contest criterion="L0 (trained)" -value:.1f --> BLEU. As many heads by gradient importance lose **0.5**<!-- 06/contest
# criterion="gradient, example" -value:.1f -->. The difference may be nothing. Its interval goes from **0.14**<!--
# 06/contest_against_l0 criterion="gradient, example" -low:.2f --> BLEU worse than L0 to **0.29**<!-- 06/contest_against_l0
# criterion="gradient, example" high:.2f --> better. So we see no need of L0's training to choose heads. L1 gates come as close.
#
# Random heads lose **3.3**<!-- 06/contest criterion=random -value:.1f --> BLEU, and confidence **5.4**<!-- 06/contest
# criterion=confidence -value:.1f -->. With three trainings we cannot say that confidence, or what heads do, is worse than
# chance. The right panel may show what is at work. Below it stands what share of the rise of the loss is due to each layer,
# when heads are taken out one by one: about three quarters to the first. Confidence leaves no head there, L0 and gradient
# importance more than in any other layer.
#
# Seven of twelve choices are better than random heads after correction, votes among them.<!-- holds: 06/contest_against_random
# criterion=votes p_holm < 0.05 --> Relevance by the αβ rule is not: in one of the three trainings it chooses badly.<!-- holds:
# 06/contest_against_random criterion=alpha_beta low < 0 --> Votes come after L0, the opposite of what Ni et al. print. But
# their model was trained in groups before it voted, and ours was not.
#
# Is the contest won by the number of heads in each layer? In one of the three trainings we drew random heads with as many in
# each layer as the choice has, three times. Gradient importance keeps **87.6**<!-- regimes/matched
# criterion="gradient, example" draw=0 BLEU:.1f --> BLEU there. Its three draws lie between **86.0**<!-- regimes/matched
# criterion="gradient, example" draw=2 BLEU:.1f --> and **87.0**<!-- regimes/matched criterion="gradient, example" draw=1
# BLEU:.1f -->, and those of random heads from anywhere between **82.4**<!-- 06/removed_and_trained_on seed=1 criterion=random
# draw=3 bleu:.1f --> and **85.8**<!-- 06/removed_and_trained_on seed=1 criterion=random draw=4 bleu:.1f -->. For L0 and the
# loss without the head it is much the same ([results](../docs/results.md)). So most of the gain comes from sparing the right
# layers, and some from the heads. One training is no proof.
#
# On natural text the order is another one. This is the published table of a translator of Europarl, of which **28**<!--
# natural/06/contest criterion="L0 (trained)" "test set"=europarl_test heads:.0f --> of `48` encoder heads are left: one
# training, with intervals over sentences. BLEU is held against the unpruned model.

# %%
europarl = study.ROOT / "figures" / "natural" / "06_do_measures_agree" / "tables" / "contest.csv"
europarl = pd.read_csv(europarl).query("`test set` == 'europarl_test'").sort_values("value", ascending=False)
europarl = europarl[europarl.criterion.isin([*random.index.unique("criterion"), "random"])]
europarl["heads chosen by"] = europarl.criterion.map(comparison.way)
europarl.rename(columns={"value": "BLEU"}).set_index("heads chosen by")[["BLEU", "low", "high"]].round(2)

# %% [markdown]
# Random heads lose **1.5**<!-- natural/06/contest criterion=random "test set"=europarl_test -value:.1f --> BLEU there, and
# gradient importance **0.28**<!-- natural/06/contest criterion="gradient, example" "test set"=europarl_test -value:.2f -->.
# That is about as much as L0, L1 gates and the positional score. Confidence beats random heads, and AttnLRP hardly
# does.<!-- holds: natural/06/contest criterion=attnlrp "test set"=europarl_test value < -1 --> So in both corpora
# L0, L1 gates and gradient importance choose well. The rest of the order is that of one corpus.

# %% [markdown]
# ## Remove heads at once, and do not train on
#
# *Michel et al.* removed `20` % of the heads of a large translator and `40` % of BERT's by gradient importance, without a loss
# that they noticed. Beyond that scores fell steeply. *We ask* the same, and whether a measure knows more than which layer to
# spare.
#
# So random heads are the control in two ways: from anywhere, and *as many in each layer* as the measure took there. Measures
# and losses share sentences of the dev set, which helps every measure a little. It takes less than a minute, and as printed
# it is stored.

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
by = by.assign(measure=by.measure.map(register.named))
axes = (f"% of {kind} heads left", "rise of the loss\n(nats a token)")
figure = plots.curve(by, "left", "rise", "heads", anywhere, "measure", axes, columns=2)
figure.axes[0].set_xticks([75, 50, 25])
run.figure(figure, "rank_remove_score", "The loss after heads are removed at once.", table="rank_remove_score")

# %% [markdown]
# (One training; bars are the least and the largest of five random draws.) By gradient importance three quarters of the encoder
# heads can go for **0.03**<!-- 06/rank_remove_score measure="gradient, example" heads="least by the measure" left=25 rise:.2f
# --> nats a token. Random heads cost **0.16**<!-- 06/rank_remove_score measure=any left=25 rise:.2f -->. Is that only because
# it spares the right layer? No: random heads with as many in each layer cost **0.18**<!-- 06/rank_remove_score
# measure="gradient, example" heads="random, as many in each layer" left=25 rise:.2f -->, and the best of five such draws still
# costs **0.14**<!-- 06/rank_remove_score measure="gradient, example" heads="random, as many in each layer" left=25 low:.2f -->.
# So it knows which heads of a layer matter. Sparing the right layers alone gains nothing that we see here. In the contest,
# where models train on, it did, in one training.
#
# Of confidence this cannot be asked, since it takes almost whole layers. It spares the wrong one, and costs more than random
# heads from anywhere while most heads are left.<!-- holds: 06/rank_remove_score measure=confidence heads="least by the measure"
# left=75 rise > 0.1 --> Relevance chooses well until half of the heads are left.
#
# Here are all models: the rise of the loss in nats a token minus that with random heads from anywhere, a mean over numbers of
# heads and trainings. It is negative where the measure is better. *All kinds* means that heads of the decoder and of
# cross-attention may go too. *By layer* divides the gradient by its size in the layer, as Michel et al. do.

# %%
removed = run.table(comparison.removed(jobs, tables, entered), "removed_at_once")
chosen = ["gradient, example", "gradient, example, by layer", "leave-one-out", "L1 gates", "alpha_beta", "attnlrp", "votes"]
chosen += ["confidence", *entered]
beside = comparison.beside_random(removed).reset_index()
beside = beside[beside.criterion.isin(chosen)].assign(measure=lambda t: t.criterion.map(register.named))
run.table(beside.drop(columns="measure").set_index(["model", "criterion"]), "removed_beside_random")
beside = beside.replace({"model": {contest.runs.DECODER: "small language model"}})
beside.pivot_table("rise", "measure", "model", sort=False).round(2)

# %% [markdown]
# (These are means; subtitles and the language model are one training each.) In translators gradient
# importance, relevance and L1 gates are better than random heads in every training. Between the gradient and L1 gates we see no
# clear difference. Confidence is hardly better, and worse where all kinds may go.<!-- holds: 06/removed_beside_random
# model="EN-RU news, all kinds" criterion=confidence least > 0 --> In the small language model the order is another one. There
# the gradient comes near the end: only confidence is worse.<!-- holds: 06/removed_beside_random model="decoder of today"
# criterion="gradient, example" rise > -0.3 --><!-- holds: 06/removed_beside_random model="decoder of today" criterion=votes
# rise < -0.3 --><!-- holds: 06/removed_beside_random model="decoder of today" criterion=confidence rise > -0.25 -->
#
# Divided by layer the gradient does as well among encoder heads. Where all kinds may go it loses most of its gain
# (**0.23**<!-- 06/removed_beside_random model="EN-RU news, all kinds" criterion="gradient, example, by layer" -rise:.2f -->
# nats in place of **1.07**<!-- 06/removed_beside_random model="EN-RU news, all kinds" criterion="gradient, example" -rise:.2f
# --> in the translator of news), because it no longer knows which kinds matter. So rank heads over all layers and kinds.
#
# The loss without each head sounds like the best guide of all, but in one of three trainings of the translator of news it is
# worse than random heads.<!-- holds: 06/removed_beside_random model="EN-RU news" criterion=leave-one-out most > 0 --> Heads
# that can stand in for each other look worthless one by one. And most of its order is noise: after correction for `48` tests
# the loss differs without **3**<!-- 06/effects_of_heads model="EN-RU news" seed=1 kind=encoder differ_holm:.0f --> encoder
# heads of this translator.

# %% [markdown]
# ## Do measures agree within a layer?
#
# *Voita et al.* see relevance and confidence agree, except for one head. *We ask* it of every two measures.
#
# We rank the heads of each layer by two measures and correlate the ranks. One means that they agree, zero that they have
# nothing in common. A cell is the mean over three or four models. White says that its `95 %` interval over models holds zero,
# whatever the value; that interval is wide where the models differ, so `.49` can be white beside a coloured `.40`. The loss
# without the head is left out, as in most models it is noise for more than half of the heads.

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
# Gradient importance, relevance by the αβ rule and how long L0 keeps a head go together: any two of them correlate by
# **0.75**<!-- 06/agreement kind=encoder one=alpha_beta other="kept by L0" rho:.2f --> or more. Relevance is nearly the same as
# the output norm (**0.93**<!-- 06/agreement kind=encoder one=alpha_beta other="output norm" rho:.2f -->): a head that writes
# more gets more relevance.
#
# Confidence goes with relevance (**0.76**<!-- 06/agreement kind=encoder one=alpha_beta other=confidence rho:.2f -->), and
# less with gradient importance (**0.59**<!-- 06/agreement kind=encoder one="gradient, example" other=confidence rho:.2f -->).
# Relevance by another rule, AttnLRP, is not sure to agree with either.<!-- holds: 06/agreement kind=encoder one=attnlrp
# other="gradient, example" low < 0 --><!-- holds: 06/agreement kind=encoder one=attnlrp other=confidence low < 0 --> We did not
# test whether the rules differ.
#
# On which heads do they disagree? For every head we take its *place* in its layer: the first place goes to the head with the
# largest value. Here are the eight heads of the first translator whose places lie furthest apart.

# %%
three = ["gradient, example", "alpha_beta", "confidence"]
places = run.table(comparison.places(tables, kind, [*three, "leave-one-out"]), "places")
here = places[(places.model == places.model[0]) & (places.seed == seed)]
apart = here[[f"place, {name}" for name in three if name in first]]
worst = here.loc[(apart.max(axis=1) - apart.min(axis=1)).nlargest(8).index].set_index(["layer", "head"])
titles = {f"place, {name}": f"place, {register.named(name)}" for name in [*three, "leave-one-out"]}
worst[["confidence", *titles]].round(2).astype(dict.fromkeys(titles, int)).rename(columns=titles)

# %% [markdown]
# In most of them confidence is the one that differs. Take `layer 2, head 4`. Its confidence of
# **0.24**<!-- 06/places model="EN-RU news" seed=1 layer=2 head=4 confidence:.2f --> is the least of its layer, but without it
# the loss rises more than without any other head there.<!-- holds: 06/places model="EN-RU news" seed=1 layer=2 head=4
# "place, leave-one-out" == 1 --> Now `layer 6, head 3`. It looks at one token with a weight of **0.87**<!-- 06/places
# model="EN-RU news" seed=1 layer=6 head=3 confidence:.2f -->, and the model hardly needs it. But for most of these heads the
# loss without them is within noise, so the last column is no judge of who is right.

# %% [markdown]
# ## Which measure predicts the loss without the head?
#
# The loss without each head is exact, and takes a pass for each head. A cheap measure can stand in for it if it ranks heads
# alike. Here is the rank correlation within layers, a mean over models, for the kinds of attention in which at least half of
# the heads change the loss. Bars are `95 %` t intervals over three or four models on Fisher's scale; a model that was trained
# several times counts once, by its mean.

# %%
predictors = run.table(comparison.predictors(tables, seconds, differ), "predictors")
telling = comparison.telling(predictors)
telling = telling[telling.measure.isin([*compared, "gradient, token", "gradient, signed", *entered])]
telling = telling.assign(measure=telling.measure.map(register.named))
telling = telling.assign(kind=telling.kind.map({"cross": "cross-attention"}).fillna(telling.kind + " heads"))
figure = plots.dots(telling, "measure", "rho", panel="kind", label="rank correlation with the\nloss without the head")
run.figure(figure, "predictors", "How well each measure predicts the loss without a head.", table="predictors")

# %% [markdown]
# For the decoder's own heads gradient importance reaches **0.60**<!-- 06/predictors kind=decoder truth=leave-one-out
# heads="within layers" measure="gradient, example" rho:.2f -->, and confidence **0.34**<!-- 06/predictors kind=decoder
# truth=leave-one-out heads="within layers" measure=confidence rho:.2f -->, which may be nothing.<!-- holds: 06/predictors
# kind=decoder truth=leave-one-out heads="within layers" measure=confidence low < 0 --> For cross-attention the gradient is as
# high, but only three models count, and its interval is wide. (L1 gates have two models there, too few to draw.)
#
# The output norm comes close to the gradient. The *signed* gradient, which keeps its sign when sentences are averaged, is not
# shown to predict anything here, although in theory it should. In SmolLM2, below, it does.
#
# Of encoder heads too few change the loss in most of our translators. In the translator of Europarl the gradient has
# **0.81**<!-- natural/06/predictors kind=encoder truth=leave-one-out heads="within layers" measure="gradient, example" rho:.2f
# -->, and confidence **0.68**<!-- natural/06/predictors kind=encoder truth=leave-one-out heads="within layers"
# measure=confidence rho:.2f -->.

# %% [markdown]
# ## And in a pretrained model?
#
# SmolLM2 is a language model of `135` million parameters that others trained on natural text. Its `270` heads are all in a
# decoder. *We ask* the last two questions of it: how far each measure predicts the loss without the head, and the perplexity
# after a quarter or half of the heads are removed at once. Bars are `95 %` intervals over passages. These are published tables.

# %%
folder = study.ROOT / "figures" / "pretrained"
rho = pd.read_csv(folder / "correlations.csv")
random_weights = rho.measure.str.endswith(", random weights")
rho = rho.assign(weights=random_weights.map({False: "SmolLM2", True: "random weights"}))
names = {f"{rule}, signed": f"{register.named(rule)}, signed" for rule in ("attnlrp", "cp")}
names |= {"leave-one-out, half against half": "loss without the head, half against half"}
rho = rho.assign(measure=rho.measure.str.removesuffix(", random weights").replace(names).map(register.named))
figure = plots.dots(rho, "measure", "rho", series="weights", label="rank correlation with the loss without the head")
run.figure(figure, "smollm2", "How well each measure predicts the loss without a head of a pretrained model.")

# %%
cut = pd.read_csv(folder / "removed_at_once.csv")
cut = cut[cut.fraction.isin([0.25, 0.5]) & (cut.random.isna() | (cut.random == "any"))]
cut = cut.assign(measure=cut.by.map(register.named).replace("random", "random heads, the least of three draws"))
cut = cut.assign(removed=(100 * cut.fraction).map("{:.0f} % removed".format))
cut.pivot_table("perplexity", "measure", "removed", aggfunc="min", sort=False).round(0).astype(int)

# %% [markdown]
# The first row of the figure holds the loss without a head on half of the passages against that on the other half. All other
# rows have the loss on all passages, which is less noisy, but even so no measure can be expected to reach one. *Random weights*
# are measures of an untrained model of the same shape. Here, too, the gradient predicts well (**0.56**<!--
# pretrained/correlations measure="gradient, example" rho:.2f -->), with its sign as well, and so does the output norm. *First
# token* is the mean attention on the first token of the text. Confidence has the wrong sign, **-0.24**<!--
# pretrained/correlations measure=confidence rho:.2f -->.<!-- holds: pretrained/correlations measure=confidence high < 0 --> A
# head that is sure there mostly rests on the first token of the text. Without that token confidence says a little (**0.32**<!--
# pretrained/correlations measure="confidence, later tokens" rho:.2f -->).
#
# The table has perplexities. With all heads the perplexity is **25**<!-- pretrained/removed_at_once heads=0
# perplexity:.0f -->. A quarter of the heads can go by gradient importance at **33**<!-- pretrained/removed_at_once random=
# by="gradient, example" fraction=0.25 perplexity:.0f -->. By confidence the model is destroyed. Ranking by the loss without the
# head does better here than the gradient.
#
# Does the gradient know more than the layers? With half of the heads gone, random heads from anywhere come to **2586**<!--
# pretrained/removed_at_once random=any draw=0 fraction=0.5 perplexity:.0f --> or more, and random heads with as many in each
# layer to **225**<!-- pretrained/drawn_at_once random="same number a layer" by="gradient, example" fraction=0.5 draw=2
# perplexity:.0f --> or more. So knowing the layers is more than half of the gain. But the heads that the gradient names come to
# **65**<!-- pretrained/removed_at_once random= by="gradient, example" fraction=0.5 perplexity:.0f -->, so it knows heads, too.
#
# Best are gates that are learned while the model stays as it is ([notebook 3](03_l0_pruning.ipynb)). With `86` heads closed by
# gates the perplexity is **30**<!-- pretrained/gates choice=gates random= heads=86 perplexity:.0f -->, with as many removed by
# gradient importance **36**<!-- pretrained/gates choice="gradient, example" random= heads=86 perplexity:.0f -->.

# %% [markdown]
# ## What it means, and where it would not hold
#
# - **To prune an encoder, rank its heads by gradient importance over all layers, then train on.** The result is about as good
#   as that of L0, for one pass forward and back. L1 gates do as well for a short training. Without further training learned
#   gates are better in SmolLM2, and in the small language model nearly every other measure is, in one training.
# - **Nothing speaks for pruning by confidence on the toy language**, or by what heads do: they are not shown to be better than
#   chance, nor worse. On Europarl both did better, in one training.
# - **Relevance and gradient importance agree** by the αβ rule. By AttnLRP we cannot tell.
# - **Removing heads one by one is no safe guide to removing many encoder heads**: it misled in one of three trainings. Where
#   all kinds may go, and in SmolLM2, it did well.
#
# Our translators read a toy language. Most of what their encoder heads are worth lies in one layer, which helps every measure
# that finds this layer. The contest is one translator, at one price, in three trainings.

# %% [markdown]
# ## Verdicts
#
# One question of ours, by the rules of [claims.toml](../claims.toml). The gradient does predict for the decoder's heads; for
# cross-attention three models are too few.

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# - Below *On which heads do they disagree?*: write `three = ["gradient, example", "votes", "positional"]` and run the
#   cell. At once.
# - Below `remove_and_score`: write `"order": "largest"`, and see what the model loses without its best heads. A minute.
# - There, too: write `names=["votes", "L1 gates"]`, two measures that cost less than a pass for each head. Half a minute.
