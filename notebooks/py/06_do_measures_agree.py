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
# [← notebook 5, coreference injection](05_coreference_injection.ipynb) · [what it costs](../docs/costs.md) ·
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
# Here every head of the same models gets every measure. We ask three things. On which heads do measures disagree? Which
# measure predicts what happens when a head is removed? And which way of choosing leaves the best model when many are pruned?
#
# In short: on these translators gradient importance, relevance and L0 mostly agree. Confidence disagrees with them on heads
# that look around and matter, and on heads that are sure and do not. No cheap measure predicts better than gradient
# importance what happens without a head, but the output norm comes close. Pruned by it and trained on, a translator is as good
# as with L0. A frozen SmolLM2 is not: there learned gates choose better ([notebook 3](03_l0_pruning.ipynb)).

# %% tags=["parameters"] jupyter={"source_hidden": true}
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # such as "ru-news de-news"; empty: the corpus's own
pretrained = ""  # a checkpoint (Hub name or folder) to study instead: Marian or BART; with `text` one that continues texts
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1  # the first one; the setting "seeds" says how many
overrides = ""  # settings to change, name and value joined by an equals sign, separated by spaces
output = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus
text = ""  # a text file for a model that continues texts, with `pretrained`
entries = ""  # a TOML file of measures of your own, which join the tables (docs/add.md)

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
jobs = contest.runs.jobs(settings, names, seed, pretrained, text)  # a trained model each
model, dev, table_recipe = comparison.opened(jobs[0], settings["pruning"]["dev"])  # the first one itself, and dev sentences
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
# [notebook 4](04_grouped_heads.ipynb). Two of the translators are trained three times. Here are the ten encoder heads that the
# first translator needs most. *functions* is what a head does by the tests of [notebook 2](02_head_functions.ipynb).

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
# nothing in common. A cell is the mean over models; it is white where its 95 % interval holds zero. The loss without the head
# is left out: in most of these models fewer than half of the encoder heads change the loss at all, and the order of the others
# is noise.

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
# Confidence goes with relevance, and less with gradient importance. Whether it does with L0, we cannot tell.<!-- holds:
# 06/agreement kind=encoder one=confidence other="kept by L0" low < 0 --> Votes and the scores of functions go less with the
# others. And the rule counts: relevance by AttnLRP agrees with the αβ rule by only **0.59**<!-- 06/agreement kind=encoder
# one=alpha_beta other=attnlrp rho:.2f -->, and with gradient importance we cannot tell.<!-- holds: 06/agreement
# kind=encoder one=attnlrp other="gradient, example" low < 0 -->

# %% [markdown]
# ## On which heads do they disagree?
#
# For every head we take its place in its layer: the first place goes to the head with the largest value. Here are the eight
# heads of the first translator whose places by gradient importance, relevance and confidence lie furthest apart. The fourth
# mark is the loss without the head.

# %%
three = ["gradient, example", "alpha_beta", "confidence"]
places = run.table(comparison.places(tables, kind, [*three, "leave-one-out"]), "places")
here = places[(places.model == places.model[0]) & (places.seed == seed)]
apart = here[[f"place, {name}" for name in three if name in first]]
worst = here.loc[(apart.max(axis=1) - apart.min(axis=1)).nlargest(8).index]
worst.drop(columns=["model", "seed"]).round(2)

# %%
marks = worst.melt(["layer", "head"], worst.filter(like="place, ").columns, "measure", "place")
which = "layer " + marks.layer.astype(str) + ", head " + marks["head"].astype(str)
marks = marks.assign(which=which, measure=marks.measure.str.removeprefix("place, ").map(register.named))
figure = plots.dots(marks, "which", "place", series="measure", label="place in its layer (1: the most)", level=None)
run.figure(figure, "disagreement", "The heads on which measures disagree most.", table="places")

# %% [markdown]
# Confidence is the odd one out. Take `layer 2, head 4`. It spreads its attention: its confidence of **0.24**<!-- 06/places
# model="EN-RU news" seed=1 layer=2 head=4 confidence:.2f --> is the least of its layer. But without it the loss rises more
# than without any other head of the layer.<!-- holds: 06/places model="EN-RU news" seed=1 layer=2 head=4
# "place, leave-one-out" == 1 --> Now `layer 6, head 3`. It looks at one token with a weight of **0.87**<!-- 06/places
# model="EN-RU news" seed=1 layer=6 head=3 confidence:.2f -->, and the model hardly needs it. It writes little.
#
# So confidence says how a head looks, and not how much comes of it. None of these eight heads does anything that our tests
# know, but few heads of this translator do.
#
# And who is right? Of all heads that gradient importance and confidence place half a layer apart or more we count whether the
# loss without the head places them nearer to the one or to the other.

# %%
one, other = three[0], three[-1]  # two measures that are held against the loss without the head
loss, by_one, by_other = (places[f"place, {name}"] for name in ("leave-one-out", one, other))
half = places.groupby(["model", "seed", "layer"])["head"].transform("size") / 2
far = (by_one - by_other).abs() >= half
to_one, to_other = (by_one - loss).abs(), (by_other - loss).abs()
nearer = {one: far & (to_one < to_other), other: far & (to_other < to_one)}
counted = places.assign(heads=1, apart=far, **nearer).groupby("model", sort=False)
run.table(counted[["heads", "apart", *nearer]].sum(), "who_is_right")

# %% [markdown]
# In three trainings of the translator of news the two are that far apart on **25**<!-- 06/who_is_right model="EN-RU news"
# apart:.0f --> heads. The loss without the head sides with gradient importance in **19**<!-- 06/who_is_right
# model="EN-RU news" "gradient, example:.0f" --> of them, and does so more often in the other translators too.<!-- holds:
# 06/who_is_right model="EN-RU subtitles" "gradient, example" > confidence --> Heads of one layer compete for the same
# places, and many of these losses are within noise, so this is a count and no test.

# %% [markdown]
# ## Rank, remove, score
#
# Now we remove many heads at once, those of least value by a measure, and train nothing afterwards. Random heads are the
# control, in two ways: from anywhere, and *as many in each layer* as the measure took there. The second one tells whether a
# measure knows more than which layer to spare.


# %% tags=["method"]
def remove_and_score(names, shares, draws, sentences):
    model, dev, _ = comparison.opened(jobs[0], sentences)
    table, rows = first.loc[[kind]], []
    whole = training.dev_loss(model, dev)

    def add(measure, choice, share, gone):
        with heads.gate(model, dict.fromkeys(gone, 0.0)):
            rows.append((measure, choice, 100 - 100 * share, training.dev_loss(model, dev) - whole))

    for share in shares:
        count = round(share * len(table))
        for draw in range(draws):
            add("any", "random heads", share, removal.shuffled(table.index, draw).nsmallest(count).index)
        for name in names:
            least = table[name].nsmallest(count).index
            add(name, "least by the measure", share, least)
            for draw in range(draws):
                add(name, "random, as many in each layer", share, removal.matched(table.index, least, draw))
    table = pd.DataFrame(rows, columns=["measure", "heads", "left", "rise"]).groupby(["measure", "heads", "left"], sort=False)
    return table.rise.agg(rise="mean", low="min", high="max").reset_index()  # of a choice without draws all three are one


# %%
ranked = [name for name in ("gradient, example", "alpha_beta", "confidence", "leave-one-out") if name in first]
shares, sentences = [0.25, 0.5, 0.75], min(200, settings["pruning"]["dev"])
rises = run.stored(remove_and_score, table_recipe, names=ranked, shares=shares, draws=5, sentences=sentences)
run.table(rises, "rank_remove_score", over="least and largest of five draws")
anywhere, by = rises[rises.measure == "any"], rises[rises.measure != "any"]
by = by.assign(measure=by.measure.map(register.named))
axes = (f"% of {kind} heads left", "rise of the loss\n(nats a token)")
figure = plots.curve(by, "left", "rise", "heads", anywhere, "measure", axes, columns=2)
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
# Confidence does not. Where it removes a quarter or half of the heads, its choice costs as much as random heads of the same
# layers. It also empties the first layer, whose heads look around, and with most heads left it is worse than random heads
# from anywhere.
# Relevance chooses well until half of the heads are left. All this is one training; bars are the least and the largest of
# five draws.
#
# Here is the same comparison with random heads from anywhere for all models: nats a token, a mean over numbers of heads and
# trainings, negative where the measure is better. *All kinds* means that heads of the decoder and of cross-attention may go
# too. Much of a gain is then that of the kind.

# %%
removed = run.table(comparison.removed(jobs, tables, entered), "removed_at_once")
chosen = ["gradient, example", "leave-one-out", "L1 gates", "alpha_beta", "attnlrp", "votes", "confidence", *entered]
beside = comparison.beside_random(removed).reset_index()
beside = beside[beside.criterion.isin(chosen)].assign(measure=lambda t: t.criterion.map(register.named))
run.table(beside.drop(columns="measure").set_index(["model", "criterion"]), "removed_beside_random")
beside.pivot_table("rise", "measure", "model", sort=False).round(2)

# %% [markdown]
# Gradient importance is better than random heads in every training of every model, and so are relevance and L1 gates.
# Confidence is a little better than random heads in the translator of news, and worse where all kinds may go,<!-- holds:
# 06/removed_beside_random model="EN-RU news, all kinds" criterion=confidence least > 0 --> and no better in the small
# translator. In the small language model it does as well as the others.
#
# The loss without each head sounds like the best guide of all, but in one of three trainings of the translator of news it is
# worse than random heads.<!-- holds: 06/removed_beside_random model="EN-RU news" criterion=leave-one-out most > 0 --> It says
# what one head is worth while all others are there. Heads that can stand in for each other look worthless one by one, and are
# not together.

# %% [markdown]
# ## Which measure predicts the loss without the head?
#
# The loss without each head is exact, and takes a pass for each head. A cheap measure can stand in for it if it ranks heads
# alike. Here is the rank correlation within layers, a mean over models, for the kinds of attention in which at least half of
# the heads change the loss.

# %%
predictors = run.table(comparison.predictors(tables, seconds, differ), "predictors")
telling = comparison.telling(predictors)
telling = telling.assign(kind=telling.kind + " heads", measure=telling.measure.map(register.named))
figure = plots.dots(telling, "measure", "rho", panel="kind", label="rank correlation with the\nloss without the head")
run.figure(figure, "predictors", "How well each measure predicts the loss without a head.", table="predictors")

# %% [markdown]
# For the decoder's own heads gradient importance reaches **0.60**<!-- 06/predictors kind=decoder truth=leave-one-out
# heads="within layers" measure="gradient, example" rho:.2f -->, confidence **0.34**<!-- 06/predictors kind=decoder
# truth=leave-one-out heads="within layers" measure=confidence rho:.2f -->, and of confidence we cannot tell that it is above
# zero.<!-- holds: 06/predictors kind=decoder truth=leave-one-out heads="within layers" measure=confidence low < 0 --> For
# cross-attention the gradient is as high, but only three models count, and its interval is wide. Taken for each token in place
# of each sentence it is sure there too.<!-- holds: 06/predictors kind=cross truth=leave-one-out heads="within layers"
# measure="gradient, token" low > 0 -->
#
# The output norm comes close to the gradient for the price of one pass. The gradient *with its sign* predicts nothing here,
# although it is the first term of what it should predict. To close a gate a little is to shrink the head's weights a little,
# and training has made the loss flat in that direction. What is left of the mean slope is mostly noise. Its size in single
# sentences is not.
#
# For encoder heads none of this can be said. In the translator of news the loss differs without **12**<!-- 06/effects_of_heads
# model="EN-RU news" seed=1 kind=encoder differ:.0f --> of `48` encoder heads, and **3**<!-- 06/effects_of_heads
# model="EN-RU news" seed=1 kind=encoder differ_holm:.0f --> are left after Holm's correction.

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
run.table(rho, "rank_across_trainings").round(2)

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
# choosing, as many encoder heads as L0 closes at one price, and train the rest for as long as L0 trained. *L0, while it
# trains* chooses as it trains. *L0's heads, cut at once* are L0's choice under the conditions of all others. BLEU is held
# against the *unpruned model*: all heads, trained on for as long.

# %%
if not text:  # a decoder of somebody else is not trained on
    trained = comparison.contest(jobs, parser, settings["bootstrap"])
    run.table(trained, "removed_and_trained_on", over="sentences of one training")
    run.table(comparison.over_seeds(trained), "contest")
    run.table(comparison.against_l0(trained), "contest_against_l0", resamples=settings["bootstrap"])
    random = run.table(comparison.against_random(trained), "contest_against_random")
    run.table(comparison.headlines(jobs, parser, settings["bootstrap"]), "headlines")

# %%
if not text:
    drawn = comparison.drawn_of_contest(trained, random, tables)
    figure = plots.contest(*drawn, label="BLEU minus that of\nthe unpruned model")
    caption = "What each way of choosing heads costs after further training."
    run.figure(figure, "contest", caption, table="removed_and_trained_on")
    display(random.round(2))

# %% [markdown]
# L0 leaves **12**<!-- 06/removed_and_trained_on seed=1 criterion="L0 (trained)" heads:.0f --> to **15**<!--
# 06/removed_and_trained_on seed=3 criterion="L0 (trained)" heads:.0f --> of `48` encoder heads. It loses **0.6**<!--
# 06/contest criterion="L0 (trained)" -value:.1f --> BLEU. Ranked by gradient importance as many heads lose **0.5**<!--
# 06/contest criterion="gradient, example" -value:.1f -->. The two cannot be told apart, and differ by **0.3**<!--
# 06/contest_against_l0 criterion="gradient, example" high:.1f --> BLEU at most.<!-- holds: 06/contest_against_l0
# criterion="gradient, example" low < 0 --> So L0's gates are not needed to choose heads. L1 gates do as well. Random heads
# lose **3.3**<!-- 06/contest criterion=random -value:.1f -->.
#
# Confidence, and the scores of functions, are not shown to be better than random heads. Confidence loses **5.4**<!--
# 06/contest criterion=confidence -value:.1f --> BLEU. The right panel may show why: it leaves no head in the first layer,
# which has about three quarters of what single heads cost. L0 and gradient importance leave more heads there than in any other
# layer.
#
# Is the contest won by the number of heads in each layer, then? For models that train on we cannot tell: random heads with the
# same number a layer have not been trained ([the rules for it](../docs/results.md#where-the-methods-could-win)). That they
# cost much more at once, as we saw, speaks against it. And votes leave about as many in every layer and lose **1.0**<!--
# 06/contest criterion=votes -value:.1f -->, a third of what random heads do.
#
# With three trainings intervals are wide. Seven of twelve choices are told from random heads after Holm's correction (blue
# dots that are full), gradient importance by **2.8**<!-- 06/contest_against_random criterion="gradient, example" value:.1f -->
# BLEU.<!-- holds: 06/contest_against_random criterion=votes p_holm < 0.05 --> Relevance by the αβ rule is not: in one of the
# three trainings it chooses badly.<!-- holds: 06/contest_against_random criterion=alpha_beta low < 0 -->

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
# measures of an untrained model of the same shape. In SmolLM2, too, the gradient predicts well, here with its sign as well,
# and so does the output norm. Confidence has the wrong sign, **-0.24**<!-- pretrained/correlations measure=confidence
# rho:.2f -->.<!-- holds: pretrained/correlations measure=confidence high < 0 --> A head that is sure there mostly rests on
# the first token of the text. Without that token confidence says a little (**0.32**<!-- pretrained/correlations
# measure="confidence, later tokens" rho:.2f -->).
#
# With all heads the perplexity is **25**<!-- pretrained/removed_at_once heads=0 perplexity:.0f -->. A quarter of the heads can
# go by gradient importance at **33**<!-- pretrained/removed_at_once random= by="gradient, example" fraction=0.25
# perplexity:.0f -->. By confidence the model is destroyed. Random heads with as many in each layer as the gradient took come
# to **37**<!-- pretrained/removed_at_once random="same number a layer" by="gradient, example" fraction=0.25 perplexity:.0f
# -->: with few heads gone most of the gain is knowing the layers. With half of the heads gone it is not. It is one draw.
# Leave-one-out chooses best here, before the gradient.

# %% [markdown]
# ## What it means, and where it would not hold
#
# - **To prune an encoder, rank its heads by gradient importance over all layers, then train on.** It is not told from L0,
#   and costs one pass forward and back. A model that is not trained on is another matter. L1 gates do as well for a short
#   training.
# - **On the toy language, do not prune by confidence**, or by what heads do. A sure head may write little, and a head that
#   looks around may be needed. On Europarl both did better.
# - **Relevance and gradient importance agree** by the αβ rule. By another rule they need not.
# - **Removing heads one by one is no safe guide to removing many**: it misled in one of three trainings.
# - **A rank holds for one trained model.** Another training has other important heads, and only in part the same ones.
#
# On Europarl (one training, **28**<!-- natural/06/contest criterion="L0 (trained)" "test set"=europarl_test heads:.0f --> of
# `48` encoder heads left) gradient importance loses **0.3**<!-- natural/06/contest criterion="gradient, example"
# "test set"=europarl_test -value:.1f --> BLEU, random heads **1.5**<!-- natural/06/contest criterion=random
# "test set"=europarl_test -value:.1f -->. But the other choices change places: confidence and positional heads beat random
# ones there, and AttnLRP hardly does.<!-- holds: natural/06/contest criterion=attnlrp "test set"=europarl_test value < -1 -->
# So trust the top of our ranking, and not the rest.
#
# It would not hold where attention is worth little. Our translators have `1.7` million parameters and read a toy language.
# Most of what their encoder heads are worth lies in one layer, which helps every measure that finds this layer. The contest is
# one translator, at one price, in three trainings.

# %% [markdown]
# ## Verdicts
#
# What we asked, held against the tables above by the rules of [claims.toml](../claims.toml).

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# - At *On which heads do they disagree?*: write `three = ["gradient, example", "votes", "positional"]` and run the rest of the
#   section. At once.
# - In `remove_and_score`: write `table[name].nlargest(count)`, and see what the model loses without its best heads. Two
#   minutes.
# - In the call below it: write `names=["output norm"]`, the cheapest measure of all. Half a minute.
