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
# Here every head of the same models gets every measure. We ask three things. Do measures rank heads alike? Which measure
# predicts what happens when a head is removed? And which way of choosing leaves the best model when many heads are pruned?
#
# In short: on these translators gradient importance, relevance and L0 mostly agree, and confidence agrees with relevance
# alone. No cheap measure is shown to predict better than gradient importance what happens without a head. A translator whose
# heads are chosen by it, and which trains on, is about as good as one pruned by L0. If the model does not train on, as
# SmolLM2 below, learned gates choose better.

# %% tags=["parameters"] jupyter={"source_hidden": true}
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # such as "ru-news de-news"; empty: the corpus's own
pretrained = ""  # a Marian or BART checkpoint (Hub name or folder) to study instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1  # the first one; the setting "seeds" says how many
overrides = ""  # settings to change, name and value joined by an equals sign, separated by spaces
output = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus
entries = ""  # a Python file of measures of your own, which join the tables (docs/add.md)

# %% jupyter={"source_hidden": true}
import pandas as pd
import torch
from IPython.display import display
from helpers import claims, drawing, heads, measures, models as library, plots, study
from helpers.experiments import comparison
from helpers.measures import measured, ranks, removal, table as register, worth
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
# | L0 | at how many prices the gate stays open | a training for each price |
# | L1 gates | what is left of $g$ under a price on its size, all weights fixed | a short training |
# | votes | how often the head is nearest to the mean of its group | one pass |
# | output norm | length of the vector that the head writes, a mean over tokens | one pass |
#
# Relevance and confidence are those of [notebook 1](01_relevance_and_confidence.ipynb). L0 is that of
# [notebook 3](03_l0_pruning.ipynb), and votes are those of [notebook 4](04_grouped_heads.ipynb). The first measure is what we
# would like to know: it takes the head out and looks. Gradient importance is its cheap stand-in. Both are short in code.

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
# Here are the ten encoder heads that the first translator needs most. *functions* is what a head does by the tests of
# [notebook 2](02_head_functions.ipynb).

# %%
entered = contest.enter(entries)  # your own measures, if you give a file of them
tables, seconds = comparison.head_tables(jobs, entered)  # by model and seed
for job, table in zip(jobs, tables.values(), strict=True):
    run.table(table, comparison.stored_as(job, seed), model=job["name"], of_seed=job["seed"])
first = next(iter(tables.values()))
kind = "encoder" if "encoder" in first.index.unique("kind") else "decoder"
columns = ["functions", "leave-one-out", "gradient, example", "alpha_beta", "confidence", "output norm", "key-value head"]
shown = first.loc[[kind], [name for name in (*columns, *entered) if name in first and first[name].notna().any()]]
measured.from_one(shown.nlargest(10, "leave-one-out").rename(columns=register.named)).round(3)

# %% [markdown]
# ## Do measures agree within a layer?
#
# We rank the heads of each layer by two measures and correlate the ranks. One means that they agree, zero that they have
# nothing in common. A cell is the mean over three or four models. It is white where its 95 % interval holds zero, and the
# interval is wide where the models differ: so `.49` can be white beside a coloured `.40`. The loss without the head is left out
# here. In most of these models fewer than half of the encoder heads change the loss at all, and the order of the others is
# noise.

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
# Gradient importance, relevance by the αβ rule and L0 go together: any two of them correlate by **0.75**<!-- 06/agreement
# kind=encoder one=alpha_beta other="kept by L0" rho:.2f --> or more. Relevance is nearly the same as the output norm
# (**0.93**<!-- 06/agreement kind=encoder one=alpha_beta other="output norm" rho:.2f -->): a head that writes more gets more
# relevance.
#
# Confidence goes with relevance (**0.76**<!-- 06/agreement kind=encoder one=alpha_beta other=confidence rho:.2f -->), and
# less with gradient importance (**0.59**<!-- 06/agreement kind=encoder one="gradient, example" other=confidence rho:.2f -->).
# Whether it goes with L0 three models cannot show.<!-- holds: 06/agreement kind=encoder one=confidence other="kept by L0" low
# < 0 --> Relevance by another rule, AttnLRP, agrees even less with gradient importance (**0.46**<!-- 06/agreement
# kind=encoder one=attnlrp other="gradient, example" rho:.2f -->). So the rule counts. Votes and the scores of functions agree
# least with the others.

# %% [markdown]
# ## On which heads do they disagree?
#
# For every head we take its place in its layer: the first place goes to the head with the largest value. Here are the eight
# heads of the first translator whose places by gradient importance, relevance and confidence lie furthest apart. The last
# column is the place by the loss without the head.

# %%
three = ["gradient, example", "alpha_beta", "confidence"]
places = run.table(comparison.places(tables, kind, [*three, "leave-one-out"]), "places")
here = places[(places.model == places.model[0]) & (places.seed == seed)]
apart = here[[f"place, {name}" for name in three if name in first]]
worst = here.loc[(apart.max(axis=1) - apart.min(axis=1)).nlargest(8).index].set_index(["layer", "head"])
titles = {f"place, {name}": f"place, {register.named(name)}" for name in [*three, "leave-one-out"]}
worst.drop(columns=["model", "seed", "functions"]).rename(columns=titles).round(2)

# %% [markdown]
# In most of them confidence is the one that differs. Take `layer 2, head 4`. It spreads its attention: its confidence of
# **0.24**<!-- 06/places model="EN-RU news" seed=1 layer=2 head=4 confidence:.2f --> is the least of its layer. But without it
# the loss rises more than without any other head of the layer.<!-- holds: 06/places model="EN-RU news" seed=1 layer=2 head=4
# "place, leave-one-out" == 1 --> Now `layer 6, head 3`. It looks at one token with a weight of **0.87**<!-- 06/places
# model="EN-RU news" seed=1 layer=6 head=3 confidence:.2f -->, and the model hardly needs it. So
# confidence says how a head looks, and not how much comes of it.
#
# But not every head is so clear. For `layer 5, head 3` and `layer 5, head 4` confidence lies nearest to the loss.<!-- holds:
# 06/places model="EN-RU news" seed=1 layer=5 head=3 "place, confidence" == 3 --> And for most of these heads that loss is
# within noise, so the last column is no judge of who is right. The next section removes many heads at once, where the
# difference is large.

# %% [markdown]
# ## Rank, remove, score
#
# Now we remove many heads at once, those of least value by a measure, and train nothing afterwards. Random heads are the
# control, in two ways: from anywhere, and *as many in each layer* as the measure took there. The second one tells whether a
# measure knows more than which layer to spare. Measures and losses share sentences of the dev set, which helps every measure a
# little. It takes less than a minute; as printed the result is kept with the project.


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
# By gradient importance three quarters of the encoder heads can go for **0.03**<!-- 06/rank_remove_score
# measure="gradient, example" heads="least by the measure" left=25 rise:.2f --> nats a token. Random heads cost **0.16**<!--
# 06/rank_remove_score measure=any left=25 rise:.2f -->. Is that only because it spares the right layer? No: random heads with
# as many in each layer cost **0.18**<!-- 06/rank_remove_score measure="gradient, example"
# heads="random, as many in each layer" left=25 rise:.2f -->, and the best of five such draws still costs **0.14**<!--
# 06/rank_remove_score measure="gradient, example" heads="random, as many in each layer" left=25 low:.2f -->. So it knows which
# heads of a layer matter.
#
# Of confidence this cannot be asked. It takes almost whole layers: with a quarter of the heads removed all eight heads of the
# first layer are gone, so as many random heads in each layer are nearly the same heads. We only see that it spares the wrong
# layer, and costs more than random heads from anywhere while most heads are left.<!-- holds: 06/rank_remove_score
# measure=confidence heads="least by the measure" left=75 rise > 0.1 --> With a quarter left it costs **0.16**<!--
# 06/rank_remove_score measure=confidence heads="least by the measure" left=25 rise:.2f -->, a little less than the best of five
# draws with as many in each layer. Relevance chooses well until half of the heads are left.
#
# Michel et al. removed `20` % of the heads of a large translator and `40` % of BERT's by gradient importance at once without a
# loss that they noticed, and beyond that scores fell steeply. Here half of the encoder heads go for nothing. All this is one
# training; bars are the least and the largest of five draws.
#
# Here is the same comparison with random heads from anywhere for all models: nats a token, a mean over numbers of heads and
# trainings, negative where the measure is better. *All kinds* means that heads of the decoder and of cross-attention may go
# too. Much of a gain is then that of the kind. *By layer* divides the gradient by its size in the layer, as Michel et al. do.
# Liu & Chen, too, rank within layers.

# %%
removed = run.table(comparison.removed(jobs, tables, entered), "removed_at_once")
chosen = ["gradient, example", "gradient, example, by layer", "leave-one-out", "L1 gates", "alpha_beta", "attnlrp", "votes"]
chosen += ["confidence", *entered]
beside = comparison.beside_random(removed).reset_index()
beside = beside[beside.criterion.isin(chosen)].assign(measure=lambda t: t.criterion.map(register.named))
run.table(beside.drop(columns="measure").set_index(["model", "criterion"]), "removed_beside_random")
beside.pivot_table("rise", "measure", "model", sort=False).round(2)

# %% [markdown]
# Gradient importance is better than random heads in every training of every model, and so are relevance and L1 gates.
# Confidence is a little better than random heads in the translator of news, no better in the small translator, and worse where
# all kinds may go.<!-- holds: 06/removed_beside_random model="EN-RU news, all kinds" criterion=confidence least > 0 --> In the
# small language model it beats random heads, but is the last of all measures.<!-- holds: 06/removed_beside_random
# model="decoder of today" criterion=confidence rise > -0.25 -->
#
# Divided by layer the gradient does as well among encoder heads. Where all kinds may go it loses most of its gain
# (**0.23**<!-- 06/removed_beside_random model="EN-RU news, all kinds" criterion="gradient, example, by layer" -rise:.2f -->
# nats in place of **1.07**<!-- 06/removed_beside_random model="EN-RU news, all kinds" criterion="gradient, example" -rise:.2f
# --> in the translator of news), because it no longer knows which kinds matter. So rank heads over all layers and kinds.
#
# The loss without each head sounds like the best guide of all, but in one of three trainings of the translator of news it is
# worse than random heads.<!-- holds: 06/removed_beside_random model="EN-RU news" criterion=leave-one-out most > 0 --> It says
# what one head is worth while all others are there. Heads that can stand in for each other look worthless one by one, and are
# not together. And most of its order is noise: after correction for `48` tests the loss differs without **3**<!--
# 06/effects_of_heads model="EN-RU news" seed=1 kind=encoder differ_holm:.0f --> encoder heads of this translator. So it may
# choose badly for either reason.

# %% [markdown]
# ## Which measure predicts the loss without the head?
#
# The loss without each head is exact, and takes a pass for each head. A cheap measure can stand in for it if it ranks heads
# alike. Here is the rank correlation within layers, a mean over models, for the kinds of attention in which at least half of
# the heads change the loss.

# %%
predictors = run.table(comparison.predictors(tables, seconds, differ), "predictors")
telling = comparison.telling(predictors)
telling = telling[telling.measure.isin([*compared, "gradient, token", "gradient, signed", *entered])]
telling = telling.assign(kind=telling.kind + " heads", measure=telling.measure.map(register.named))
figure = plots.dots(telling, "measure", "rho", panel="kind", label="rank correlation with the\nloss without the head")
run.figure(figure, "predictors", "How well each measure predicts the loss without a head.", table="predictors")

# %% [markdown]
# For the decoder's own heads gradient importance reaches **0.60**<!-- 06/predictors kind=decoder truth=leave-one-out
# heads="within layers" measure="gradient, example" rho:.2f -->, confidence **0.34**<!-- 06/predictors kind=decoder
# truth=leave-one-out heads="within layers" measure=confidence rho:.2f -->, and of confidence four models cannot show that it is
# above zero.<!-- holds: 06/predictors kind=decoder truth=leave-one-out heads="within layers" measure=confidence low < 0 --> For
# cross-attention the gradient is as high, but only three models count, and its interval is wide. The gradient of each token,
# in place of that of each sentence, is sure to predict there, too.<!-- holds: 06/predictors kind=cross truth=leave-one-out
# heads="within layers" measure="gradient, token" low > 0 -->
#
# The output norm comes close to the gradient. It needs no backward pass, but as we compute it, it takes twice as long.<!--
# holds: 06/predictors kind=decoder truth=leave-one-out heads="within layers" measure="output norm" cost > 1.5 --> The
# gradient *with its sign* predicts nothing here, although it is the first term of what it should predict. To close a gate a
# little is to shrink the head's weights a little, and training may have made the loss flat in that direction. Then what is left
# of the mean slope is mostly noise, while its size in single sentences is not. In SmolLM2, below, the sign does not hurt.
#
# What about encoder heads? In the translator of news the loss differs without **12**<!-- 06/effects_of_heads
# model="EN-RU news" seed=1 kind=encoder differ:.0f --> of `48` of them, too few to predict. But in the small translator most
# encoder heads change the loss. There we can ask, for each of its three trainings.

# %%
share = differ.reset_index().query("kind == @kind and share >= 0.5") if differ is not None else pd.DataFrame()
if len(share):
    asked = [place for place in zip(share.model, share.seed, strict=True) if place in tables]
    within = {place: ranks.rank_agreement(tables[place].loc[[kind], [*three, "leave-one-out"]], kind) for place in asked}
    within = {place: matrix.loc["leave-one-out", three] for place, matrix in within.items()}
    within = run.table(pd.DataFrame(within).T.rename_axis(["model", "seed"]), "predictors_of_encoder_heads")
    display(within.rename(columns=register.named).round(2))

# %% [markdown]
# The gradient predicts well there, too: between **0.72**<!-- 06/predictors_of_encoder_heads seed=1 "gradient, example":.2f
# --> and **0.91**<!-- 06/predictors_of_encoder_heads seed=2 "gradient, example":.2f -->. Confidence reaches **0.40**<!--
# 06/predictors_of_encoder_heads seed=1 confidence:.2f --> to **0.59**<!-- 06/predictors_of_encoder_heads seed=2
# confidence:.2f -->. In the translator of Europarl the gradient has **0.81**<!-- natural/06/predictors kind=encoder
# truth=leave-one-out heads="within layers" measure="gradient, example" rho:.2f --> and confidence **0.68**<!--
# natural/06/predictors kind=encoder truth=leave-one-out heads="within layers" measure=confidence rho:.2f -->. So confidence
# is no bad guide to single encoder heads, only a worse one.

# %% [markdown]
# ## Does a rank survive another training?
#
# If importance belongs to the head, the same head should be important when the model is trained again with other random
# numbers. But which is the same head? We match the heads of two trainings, layer by layer, by where they look on the same
# sentences. The control compares heads of the same number, which have nothing to do with each other.

# %%
pairs = run.table(comparison.across_seeds(jobs, tables, settings["comparison"]["matched"], parser), "stability_pairs")
rho = pairs[(pairs.kind == kind) & pairs.measure.isin([*three, "leave-one-out", "kept by L0", "output norm"])]
rho = rho.groupby(["measure", "compared"], sort=False).rho.agg(["mean", "min", "max"])
run.table(rho, "rank_across_trainings").rename(index=register.named).round(2)

# %% [markdown]
# In part. Over six pairs of trainings the ranks by relevance of matched heads correlate by **0.52**<!--
# 06/rank_across_trainings measure=alpha_beta compared="matched heads, other seed" mean:.2f -->, those by gradient importance
# by **0.38**<!-- 06/rank_across_trainings measure="gradient, example" compared="matched heads, other seed" mean:.2f -->. Heads
# of the same number do not correlate at all. So importance follows what a head does to some extent, and a list of important
# heads of one training says little of the next. Pairs share trainings, so there is no interval; *min* and *max* are those of
# the pairs.

# %% [markdown]
# ## The contest: models that train on after pruning
#
# Removing heads at once is hard on a model. In practice one trains on. So for the first translator we remove, by each way of
# choosing, as many encoder heads as L0 closes at the price `0.003`, and train the rest for as long as L0 trained, `2,000`
# steps. *L0, while it trains* chooses as it trains. *L0's heads, cut at once* are L0's choice under the conditions of all
# others. BLEU is held against the *unpruned model*: all heads, trained on for as long.

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
display(shown[["value", "low", "high", "p_holm"]].round(2))

# %% [markdown]
# The table shows BLEU above random heads: its mean over three trainings with three random draws each, a 95 % interval, and a
# p-value that is corrected for the twelve choices. Dots are full where it is below `0.05`.
#
# L0 leaves **12**<!-- 06/removed_and_trained_on seed=1 criterion="L0 (trained)" heads:.0f --> to **15**<!--
# 06/removed_and_trained_on seed=3 criterion="L0 (trained)" heads:.0f --> of `48` encoder heads. It loses **0.6**<!--
# 06/contest criterion="L0 (trained)" -value:.1f --> BLEU. As many heads by gradient importance lose **0.5**<!--
# 06/contest criterion="gradient, example" -value:.1f -->. The difference may be nothing, and is **0.3**<!--
# 06/contest_against_l0 criterion="gradient, example" high:.1f --> BLEU at most.<!-- holds: 06/contest_against_l0
# criterion="gradient, example" low < 0 --> So L0's training is not needed to choose heads. L1 gates do as well.
#
# Random heads lose **3.3**<!-- 06/contest criterion=random -value:.1f --> BLEU, and confidence **5.4**<!-- 06/contest
# criterion=confidence -value:.1f -->. That is
# more than it would cost to have no encoder heads from the start, which is **1.2**<!-- 03/fig7_bleu_by_heads model="EN-RU news"
# run=control "worth from the start":.1f -->, and less than to lose them all late, which is **14.4**<!-- 03/half_left
# model="EN-RU news" worth:.1f --> ([notebook 3](03_l0_pruning.ipynb)). The right panel may show why confidence fails. It leaves
# no head in the first layer, which has about three quarters of what single heads cost. L0 and gradient importance leave more
# heads there than in any other layer.
#
# Seven of twelve choices are better than random heads after correction, gradient importance by **2.8**<!--
# 06/contest_against_random criterion="gradient, example" value:.1f --> BLEU.<!-- holds: 06/contest_against_random
# criterion=votes p_holm < 0.05 --> Relevance by the αβ rule is not among them: in one of the three trainings it chooses
# badly.<!-- holds: 06/contest_against_random criterion=alpha_beta low < 0 -->
#
# Votes lose **1.0**<!-- 06/contest criterion=votes -value:.1f --> BLEU and L0 **0.6**<!-- 06/contest criterion="L0 (trained)"
# -value:.1f -->. Ni et al. print the opposite order: from German to English their voted heads reach `35.2`, and L0 `32.2`.
# But their model was trained in groups before it voted, and ours was not. Is the contest won by the number of heads in each
# layer? For models that train on we have not tried random heads with the same number a layer ([what was
# tried](../docs/results.md)). That such heads cost much more at once, as we saw, speaks against it.
#
# On natural text the order is another one. This is the published table of a translator of Europarl, of which **28**<!--
# natural/06/contest criterion="L0 (trained)" "test set"=europarl_test heads:.0f --> of `48` encoder heads are left: one
# training, with intervals over sentences.

# %%
europarl = study.ROOT / "figures" / "natural" / "06_do_measures_agree" / "tables" / "contest.csv"
europarl = pd.read_csv(europarl).query("`test set` == 'europarl_test'").sort_values("value", ascending=False)
europarl.assign(criterion=europarl.criterion.map(comparison.way)).set_index("criterion")[["value", "low", "high"]].round(2)

# %% [markdown]
# Random heads lose **1.5**<!-- natural/06/contest criterion=random "test set"=europarl_test -value:.1f --> BLEU there.
# Gradient importance loses **0.28**<!-- natural/06/contest criterion="gradient, example" "test set"=europarl_test -value:.2f
# -->, a little more than L0 and L1 gates, and as much as heads that are chosen by position. Confidence beats random heads,
# and AttnLRP hardly does.<!-- holds: natural/06/contest criterion=attnlrp "test set"=europarl_test value < -1 --> So what
# holds in both is that L0, L1 gates and gradient importance choose well. The rest of the order is that of one corpus.

# %% [markdown]
# ## And in a pretrained model?
#
# SmolLM2 is a language model of `135` million parameters that others trained on natural text. Its `270` heads are all in a
# decoder. These are the published tables of its heads: how far each measure predicts the loss without the head, and the
# perplexity after a quarter or half of the heads are removed at once.

# %%
folder = study.ROOT / "figures" / "pretrained"
rho, cut = pd.read_csv(folder / "correlations.csv"), pd.read_csv(folder / "removed_at_once.csv")
random_weights = rho.measure.str.endswith(", random weights")
rho = rho.assign(weights=random_weights.map({False: "SmolLM2", True: "random weights"}))
rho = rho.assign(measure=rho.measure.str.removesuffix(", random weights").map(register.named))
rho = rho.replace({"measure": {f"{rule}, signed": f"{register.named(rule)}, signed" for rule in ("attnlrp", "cp")}})
figure = plots.dots(rho, "measure", "rho", series="weights", label="rank correlation with the loss without the head")
run.figure(figure, "smollm2", "How well each measure predicts the loss without a head of a pretrained model.")
cut = cut[cut.fraction.isin([0.25, 0.5])].fillna({"random": "by the measure"})
cut.pivot_table("perplexity", ["by", "random"], "fraction", sort=False).round(0)

# %% [markdown]
# The first row holds the loss without a head on half of the passages against that on the other half. All other rows have
# the loss on all passages, which is less noisy, but even so no measure can be expected to reach one. *Random weights* are
# measures of an untrained model of the same shape. In SmolLM2, too, the gradient predicts well, here with its sign as well
# (**0.45**<!-- pretrained/correlations measure="gradient, signed" rho:.2f -->), and so does the output norm. So the loss is not
# flat in that direction in every model. Confidence has the wrong sign, **-0.24**<!-- pretrained/correlations measure=confidence
# rho:.2f -->.<!-- holds: pretrained/correlations measure=confidence high < 0 --> A head that is sure there mostly rests on
# the first token of the text. Without that token confidence says a little (**0.32**<!-- pretrained/correlations
# measure="confidence, later tokens" rho:.2f -->).
#
# With all heads the perplexity is **25**<!-- pretrained/removed_at_once heads=0 perplexity:.0f -->. A quarter of the heads
# can go by gradient importance at **33**<!-- pretrained/removed_at_once random= by="gradient, example" fraction=0.25
# perplexity:.0f -->. By confidence the model is destroyed. Does the gradient know more than the layers? With half of the
# heads gone, random heads from anywhere come to **2586**<!-- pretrained/removed_at_once random=any draw=0 fraction=0.5
# perplexity:.0f --> or more, and random heads with as many in each layer to **225**<!-- pretrained/drawn_at_once
# random="same number a layer" by="gradient, example" fraction=0.5 draw=2 perplexity:.0f --> or more. So knowing the layers is
# more than half of the gain. But the heads that the gradient names come to **65**<!-- pretrained/removed_at_once random=
# by="gradient, example" fraction=0.5 perplexity:.0f -->, so it knows heads, too. There are three draws of either kind.
# Leave-one-out chooses better here than the gradient.
#
# Best are gates that are learned while the model stays as it is ([notebook 3](03_l0_pruning.ipynb)). With `86` heads closed by
# gates the perplexity is **30**<!-- pretrained/gates choice=gates random= heads=86 perplexity:.0f -->, with as many removed by
# gradient importance **36**<!-- pretrained/gates choice="gradient, example" random= heads=86 perplexity:.0f -->.

# %% [markdown]
# ## What it means, and where it would not hold
#
# - **To prune an encoder, rank its heads by gradient importance over all layers, then train on.** The result is about as good
#   as that of L0, for one pass forward and back. L1 gates do as well for a short training. If the model does not train on,
#   learned gates are better.
# - **On the toy language, do not prune by confidence**, or by what heads do. A sure head may write little, and a head that
#   looks around may be needed. On Europarl both did better.
# - **Relevance and gradient importance agree** by the αβ rule. By another rule they need not.
# - **Removing heads one by one is no safe guide to removing many**: it misled in one of three trainings, and in SmolLM2 it did
#   well.
# - **A rank holds for one trained model.** Another training has other important heads, and only in part the same ones.
#
# It would not hold where attention is worth little. Our translators read a toy language. Most of what their encoder heads are
# worth lies in one layer, which helps every measure that finds this layer. The contest is one translator, at one price, in
# three trainings.

# %% [markdown]
# ## Verdicts
#
# One question of ours, held against the tables above by the rules of [claims.toml](../claims.toml): does gradient importance
# predict the loss without a head? *Cannot tell* means that it does for the decoder's heads, while for cross-attention three
# models are too few.

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# - At *On which heads do they disagree?*: write `three = ["gradient, example", "votes", "positional"]` and run the rest of the
#   section. At once.
# - Below `remove_and_score`: write `"order": "largest"`, and see what the model loses without its best heads. A minute.
# - There, too: write `names=["votes", "L1 gates"]`, two measures that cost less than a pass for each head. Half a minute.
