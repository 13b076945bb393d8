# ---
# jupyter:
#   jupytext:
#     formats: notebooks//ipynb,notebooks/py//py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 6 · Do measures of a head's importance agree, and which should you prune by?
#
# [← notebook 5, coreference injection](05_coreference_injection.ipynb) · [what it costs](../docs/costs.md) ·
# [all claims](../docs/results.md) · [figures](../figures/README.md)
#
# Three papers rank attention heads: Voita et al. 2019 ([arXiv 1905.09418](https://arxiv.org/abs/1905.09418)) by *relevance*, a
# head's share of what its layer contributes, *confidence*, its largest attention weight, and *L0*: training closes heads' gates
# at a price; Ni et al. 2023 ([arXiv 2305.14380](https://arxiv.org/abs/2305.14380)) by *votes* for a group's head; Liu & Chen
# 2023 ([arXiv 2312.09541](https://arxiv.org/abs/2312.09541)) by *gradient importance*: how steeply the loss moves as a gate
# closes.
#
# Here every head gets every measure (formulas are folded below the first table). In the *contest* heads are removed by each,
# and the model trains on.

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # e.g. "ru-news de-news"; empty: the corpus's own
pretrained = ""  # a checkpoint (Hub name or folder) to study instead: Marian or BART; with `text` one that continues texts
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1  # the first one; the setting "seeds" says how many
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as seeds=3
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS
text = ""  # a text file for a model that continues texts, with `pretrained`
entries = ""  # a TOML file of measures of your own, which join all tables and figures (docs/add.md)

# %%
from helpers import study
from helpers.plan import sources

run = study.begin("06_do_measures_agree", globals())
print(run.summary(), sources(run), sep="\n")

# %% jupyter={"source_hidden": true}
import numpy as np
import pandas as pd
from IPython.display import Markdown, display
from scipy import stats

from helpers import drawing
from helpers.heads.families import KINDS
from helpers.methods import contest
from helpers.methods.contest import figures, said
from helpers.methods.said import reference
from helpers.publish import claims
from helpers.reading import folded, readable, sortable
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import layout

drawing.style()
names, repeats = subjects.names(run.settings, models), run.settings["bootstrap"]
jobs, entered = contest.runs.jobs(run.settings, names, seed, pretrained, text), contest.enter(entries)
swept = [job for job in jobs if "sweep" in job]
studied = contest.tables.collected(swept, lambda job: subjects.of_spec(job["sweep"]["start"], job["name"], parser))
contests = {place: contest.tables.trained_on(job, studied[place], repeats) for place, job in zip(studied, swept, strict=True)}
contests = {place: part for place, part in contests.items() if len(part)}

# %%
verdicts = claims.Box(run)

# %% [markdown]
# ## A row a head, a column a measure
#
# These are main columns of the first model's table. *How long L0 keeps it* counts the prices at which its gate stays open, plus
# how likely it is open. **Press a column's name to sort by it.**

# %% jupyter={"source_hidden": true}
measured = contest.tables.collected(jobs, lambda job: contest.runs.tables(job, entered if contest.runs.at_hand(job) else ()))
tables, halves, seconds = ({trained: found[part] for trained, found in measured.items()} for part in range(3))
for job, table in zip(jobs, tables.values(), strict=True):
    run.table(table, contest.tables.stored_as(job, seed), model=job["name"], of_seed=job["seed"])
first = next(iter(tables))
heart, called = said.heart(tables[first].drop(columns=["functions", "attnlrp"], errors="ignore"), entered)
digits = dict.fromkeys(heart.select_dtypes("number"), ".2f") | {"gradient, example": ".4f", said.TRUTH: ".1f"}
display(sortable(heart, called, digits, f"{first[0]}: every head", first=10))

# %% [markdown]
# <details><summary>More: how every measure is computed, and where it comes from</summary>
#
# With $L$ the loss and $g$ a head's gate, which stands open:
#
# | measure | formula | passes | where |
# |---|---|---|---|
# | gradient importance | mean over examples of the size of $\partial L / \partial g$ | forward + backward | notebook 1 |
# | gradient importance, each token | the same, over target tokens | forward + backward | here |
# | gradient, step by step | gradient importance, one head after another while the model trains | trainings | notebook 3 |
# | gradient, signed | $- \partial L / \partial g$, mean with its sign | forward + backward | here |
# | relevance patching | the same with rules of relevance in place of the derivative | forward + backward | here |
# | loss without the head | $L(g \text{ closed}) - L(g \text{ open})$ | a forward per head | notebook 1 |
# | relevance | share of its layer's relevance that comes through the head | by rule, notebook 7 | notebook 1 |
# | output norm | mean length of the vector that the head writes | one forward | here |
# | confidence | mean over tokens of the largest attention weight | one forward | notebook 1 |
# | positional, rare | share of tokens that look most at one offset, at one of the rarest tokens | one forward | notebook 2 |
# | syntactic | the same at a related word, less the share at its usual offset | one forward | notebook 2 |
# | first token, alignment | mean weight on the first token; share of looks at the translated word | one forward | here |
# | votes | share of batches in which the head is nearest to its group's centre | one forward | notebook 4 |
# | L1 gates | what is left of $g$ under a price on its size, all weights fixed | short training | here |
# | how long L0 keeps it | how many of L0's prices leave $g$ open, plus how likely it is open | trainings | notebook 3 |
# | probing | how far attention follows coreference, of the summarizer alone | one forward | notebook 5 |
#
# Gradient importance and the loss without the head are those of Michel et al. 2019
# ([arXiv 1905.10650](https://arxiv.org/abs/1905.10650)); *gradient, signed* is attribution patching (Syed et al. 2023,
# [arXiv 2310.10348](https://arxiv.org/abs/2310.10348)), relevance patching RelP (Jafari et al. 2025,
# [arXiv 2508.21258](https://arxiv.org/abs/2508.21258)), AttnLRP of Achtibat et al. 2024
# ([arXiv 2402.05602](https://arxiv.org/abs/2402.05602)).
#
# Models: EN-RU news and subtitles, EN-RU news, small (half as many encoder layers, one decoder layer of two heads), the
# summarizer of notebook 5 and the Llama-style decoder of notebook 4.
#
# </details>

# %% [markdown]
# ## Do measures agree within a layer?
#
# Each measure ranks the encoder heads of a layer. A cell correlates the ranks of two measures, all layers pooled, mean over
# models. *Output norm* is the mean length of what a head writes; nothing is pruned by it. The loss without the head is left
# out where too few heads have any effect. How measures agree over all layers, as one prunes, is in the answer on top.

# %% jupyter={"source_hidden": true}
few = run.settings["relevance"]
own = contest.tables.studied_runs(run.settings, [] if pretrained else names, jobs, seed)
differ = None
if own:
    run.table(contest.tables.worth_of_kinds(own, few), "worth_of_kinds", split="dev", sentences=few)
    differ = run.table(contest.tables.effects(own, few), "effects_of_heads", split="dev", sentences=few)
agreement = contest.tables.agreement(tables, differ)
run.table(agreement, "agreement")
everywhere = run.table(contest.tables.agreement(tables, differ, within=False), "agreement_all_layers")
in_words = said.drawn(agreement)
in_words = in_words.assign(one=in_words.one.map(said.named), other=in_words.other.map(said.named))
main = next(kind for kind in KINDS if kind in {*in_words.kind})
run.figure(
    figures.agreement_matrix({main: in_words[in_words.kind == main].drop(columns="kind")}, said.named("gradient, example")),
    "agreement",
    caption=f"How far measures rank {main} heads of a layer alike ({said.swept(contest.tables.distinct(tables))}).",
    takeaway=said.agreement(said.drawn(agreement)),
    show=bool(contests),
)
why = "Of each family of measures one is drawn; all of them, and decoder and cross heads, are in the file `agreement`."
display(folded("More: relevance by its three rules, and what is not drawn", said.rules(agreement), why))

# %% [markdown]
# ## Is importance a property of the head?
#
# If so, a measure agrees with itself on other sentences, and on the head of another training that looks at the same words
# (measures of just that, as *confidence*, are left out). Heads of the same number should not agree.

# %% jupyter={"source_hidden": true}
matched = contest.tables.matches(studied, run.settings["comparison"]["matched"])
pairs = contest.tables.across_seeds(tables, matched)
run.table(pairs, "stability_pairs")
parts = [contest.tables.reliability(halves), contest.tables.stability(pairs)]
stability = pd.concat([part for part in parts if len(part)], ignore_index=True)
run.table(stability, "stability")
drawn = said.steady(stability)
run.figure(
    figures.stability(drawn[drawn.compared != said.SAME_NUMBER].assign(measure=drawn.measure.map(said.named))),
    "stability",
    caption="How far measures agree with themselves between halves of the sentences and between trainings.",
    takeaway=said.stability(stability),
)
if matched:
    display(Markdown(said.likeness(run.table(contest.tables.likeness(matched), "heads_matched"))))

# %% [markdown]
# ## Which measure predicts what removal does?
#
# The loss without the head is exact, but takes a forward pass a head. A cheap measure can stand for it if it ranks heads
# alike. (*Each token*: the slope's size at every target token; *signed*: the slope with its sign.) The code computes one dot.

# %% jupyter={"source_hidden": true}
predictors = contest.tables.predictors(tables, seconds, differ)
run.table(predictors, "predictors")
within = said.telling(predictors)
head_tables = {(said.spoken(model), seed): table for (model, seed), table in contest.tables.distinct(tables).items()}

# %% tags=["method"]
# gradient importance, which notebook 0 writes out, beside the loss without the head: one row of the figure's table `within`
row = within.loc[(within.measure == "gradient, example").idxmax()]


def rank_in_layer(column):  # from 0, the least head of its layer, to 1, the most
    layer = column.groupby(level="layer")
    return (layer.rank() - 1) / (layer.transform("size") - 1)


rho = {}
for model_and_seed, table in head_tables.items():  # a row a head, a column a measure
    heads = table[table.index.isin([row.kind], level="kind")]
    heads = heads[heads.groupby(level="layer")[row.truth].transform("size") >= 4]  # fewer heads are no ranking
    if row.measure in heads and heads[row.measure].nunique() > 1:
        importance, loss = rank_in_layer(heads[row.measure]), rank_in_layer(heads[row.truth])
        rho[model_and_seed] = importance.corr(loss, method="spearman")
z = np.arctanh(pd.Series(rho).clip(-0.995, 0.995)).groupby(level=0).mean()  # Fisher's z; all seeds of a model count as one
half = stats.t.ppf(0.975, len(z) - 1) * z.std() / np.sqrt(len(z)) if len(z) > 1 else np.nan  # of a t interval over models
by_hand, drawn = np.tanh([z.mean(), z.mean() - half, z.mean() + half]), row[["rho", "low", "high"]].to_numpy(float)
print(pd.Series(rho).sort_index().round(2).to_string())
print(f"{row.kind} heads; mean, low and high by hand:", by_hand.round(2), "in the figure:", drawn.round(2))

# %% jupyter={"source_hidden": true}
run.figure(
    figures.predictors(
        within.assign(measure=within.measure.map(said.named)),
        "rank correlation with the\nloss without the head",
    ),
    "predictors",
    caption="How well each measure predicts the loss without a head.",
    takeaway=said.predictors(predictors),
)
display(Markdown(f"{said.above_zero(predictors)} {said.felt(tables, differ)}"))
shared = run.table(contest.tables.same_and_other_sentences(halves, differ), "same_and_other_sentences")
display(folded("More: and on the other half of the sentences", contest.tables.owed_to_sharing(shared)))

# %% [markdown]
# ## Many heads off at once, nothing trained afterwards
#
# Pruning removes the heads of least worth, wherever they are. Relevance sums to the same in every layer; gradient importance
# *by layer* is divided by its layer's norm, so that none stands out. Left of the dotted line is better than random. Where heads
# of all kinds go, much of a gain can be that of the kind: [notebook 0](00_your_own_model.ipynb) has random heads of the same.

# %% jupyter={"source_hidden": true}
removed = contest.tables.removed(jobs, tables, entered)
run.table(pd.concat(removed, names=["model", "seed", "row"]), "removed_at_once")
run.table(contest.tables.along(removed, "random"), "removed_at_once_beside_random")
each = contest.tables.each_training(removed)
drawn = said.removed(each, entered)
take, more = said.at_once(each)
run.figure(
    figures.at_once(drawn, "loss minus random\nheads' (nats); line: least\nto largest training"),
    "removed_at_once",
    caption="Loss after heads are removed at once, minus that with random heads, by the measure that chose them.",
    takeaway=take,
)
display(Markdown(more))

# %% [markdown]
# ## The figure on top: models that train on after pruning
#
# Every choice leaves as many heads as L0 does at one price. *L0's heads, cut at once* train on like the others; *L0, while it
# trains* and *gradient, step by step* choose as they train. *Confidence*, *positional*, *syntactic* and *votes* read all dev
# sentences, *L1 gates* training text, the others the first dev sentences alone. [Five lines](../README.md#five-lines) rank and
# cut heads.

# %% jupyter={"source_hidden": true}
advice, ranked, more, limits = "", None, [], []
other = next(track for track in layout.TRACKS if track != run.corpus)
committed = layout.Chapter(study.ROOT / "figures" / other / run.name)
texts = {"controlled": "generated", "natural": "natural"}


def published(place, *names):
    """Those of its tables that there are."""
    return [pd.read_csv(path) for name in names if (path := place.table(name)).exists()]


if contests:
    whole = run.table(pd.concat(contests, names=["model", "seed", "row"]), "removed_and_trained_on", over=intervals.SENTENCES)
    whole = whole.reset_index(["model", "seed"]).reset_index(drop=True)
    ranked = run.table(contest.tables.over_seeds(contests, ("criterion", "test set")), "contest")
    paired = run.table(contest.tables.against(contests), "contest_paired", over=intervals.TEXTS)
    beside_l0 = run.table(contest.tables.against_l0(contests), "contest_against_l0", resamples=repeats)
    of = (tables[next(iter(contests))].index.get_level_values("kind") == "encoder").sum()
    advice = said.advice(ranked, whole, predictors.drop_duplicates("measure").set_index("measure").cost)  # as each was run
    shares = contest.tables.shares(tables)
    shares = shares[shares.index.isin([(ranked.model.iloc[0], at) for at in whole.seed])].dropna(axis=1)
    drawn = said.beside_random(ranked, paired, whole, of), said.unpruned(ranked, whole, run.settings["pruning"]["steps"])
    run.figure(
        figures.ranking(*drawn, said.by_layer(ranked, whole), list(shares.mean())),
        "contest",
        caption="BLEU of models pruned by each criterion to as many heads and trained on, beside every random draw, and the"
        " encoder heads that each leaves by layer.",
        takeaway=said.trained_on(ranked, whole, of),
        resamples=repeats,
        show=False,
    )
    there = published(committed, "contest", "contest_against_l0", "removed_and_trained_on")
    shown = [said.elsewhere(ranked, whole, *there[:2], texts[other])] if len(there) == 3 else []
    if folder := reference(run):
        limits = [
            said.without(table, ranked.model.iloc[0])
            for table in published(layout.Chapter(folder / "03_l0_pruning"), "fig7_bleu_by_heads")
        ]
        for same in published(layout.Chapter(folder / "04_grouped_heads"), "equal_size"):
            limits, shown = [*limits, said.even(same)], [*shown, said.printed(same, beside_l0)]
    display(Markdown(" ".join(shown)))
    more = [said.beyond_random(ranked, whole), said.ahead(ranked, whole)]
    display(folded("More: every choice against random heads and against the best", *more))
if swept:
    lines = {place: contest.tables.headline(job, studied[place], repeats) for place, job in zip(studied, swept, strict=True)}
    run.table(contest.tables.headlines(lines), "headlines")

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
asked = dict.fromkeys(["gradient-predicts"], "gradient importance predicts the loss without a head:")
asked |= {"confidence-predicts": "confidence does:"}
profile_of = study.read_json(committed.shared)["parameters"]["profile"] if committed.shared.exists() else ""
at_other = {one.claim.id: one for one in claims.of_run(committed.folder.parent, other)} if profile_of else {}
natural = said.verdicts_elsewhere(at_other, other, profile_of, asked) if profile_of else ""
carried = there[2] if contests and len(there) == 3 else None
take = said.recommended(ranked, carried) if contests else ""
if contests and len(gained := said.gains(ranked, whole, carried)):
    display(readable(gained, caption=said.GAINS))
if natural and committed.table("agreement").exists():
    pairs = pd.read_csv(committed.table("agreement"))
    natural += f" Two measures agree by {said.median(said.drawn(pairs))} within a layer. {said.rules(pairs)}"
of = "your" if text else texts[run.corpus]
also = published(committed, "agreement_all_layers")
first = said.answer(said.drawn(agreement), advice, of, [everywhere, *also] if also else [], texts[other])
limits = limits or ["Intervals are over models, or of one training over sentences or heads, and then say nothing of seeds."]
closing = f"""
{take}

*Limits.* {of.capitalize()} text, small models.{" ".join(["", *limits])}
([All differences](../docs/differences.md).)
"""
verdicts.fill("contest" if contests else "agreement", closing, first=first, more=natural)

# %% [markdown]
# <details><summary>More: the questions that the papers leave open, and where each is answered</summary>
#
# A name in code is a claim's id in `claims.toml`.
#
# - **How does L0 pruning compare with other ways to compress a translation model? (Voita et al., conclusion)** Other choices
#   of heads: here (`l0-chooses`) and [notebook 3](03_l0_pruning.ipynb), as is the same map from scratch (`beats-scratch`);
#   fewer or narrower layers: [notebook 4](04_grouped_heads.ipynb).
# - **L1 or random pruning beside importance? (on Liu & Chen)** Here; what they cost: [costs](../docs/costs.md).
# - **Does injection help translation? Are other ways to inject better? Does the coreference resolver matter (`resolver-links`)?
#   Which heads of which layers (`masking-free`, `importance-chooses`)? (on Liu & Chen)** [Notebook
#   5](05_coreference_injection.ipynb).
# - **How many groups, which part of the constraint (`parts-needed`), and does it work on trained models? (on Ni et al.)** Of
#   translation models: notebook 4.
#
# *Not answered*: distillation and quantization, injection for classification, groups in other tasks, BERT, GPT and vision.
#
# </details>
#
# Functions: [measures/table.py](../helpers/measures/table.py), [contest/runs.py](../helpers/methods/contest/runs.py),
# [measures/matching.py](../helpers/measures/matching.py), [scores/intervals.py](../helpers/scores/intervals.py).
