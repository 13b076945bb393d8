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
# # 6 · Do the measures agree? One head table, every measure, several seeds
#
# The three papers rank heads in different ways: by relevance and confidence (Voita et al. 2019), by what a price on gates
# leaves open (the same), by votes (Ni et al. 2023), by gradient importance (Liu & Chen 2023). None of them asks whether these
# rankings agree, whether a ranking would be the same had the model been trained with another seed, or which is the best one
# to prune by. This notebook does: one table per model with every column that the study can compute, over seeds and models.

# %% tags=["parameters"]
profile = "laptop"  # tiny, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # e.g. "ru-news de-news"; empty: the corpus's own
pretrained = ""  # a Marian or BART checkpoint (Hub name or folder) to study instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1  # the first one; the setting "seeds" says how many
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as seeds=3
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %%
from helpers import study

run = study.begin("06_do_measures_agree", globals())
print(run.summary())

# %%
import pandas as pd
from IPython.display import display

from helpers import comparison_figures, figures, subjects
from helpers.methods import comparison, comparison_tables

figures.style()
names, repeats = subjects.names(run.settings, models), run.settings["bootstrap"]
jobs = comparison.jobs(run.settings, names, seed, pretrained)
for job in jobs:
    comparison.make(job)  # what is in the store already is read, what is missing is made now
swept = [job for job in jobs if "sweep" in job]
studied = comparison_tables.collected(swept, lambda job: subjects.of(job["sweep"]["start"], job["name"], parser))

# %% [markdown]
# ## The head table
#
# *A head is an address; measures fill columns.* Relevance by three rules (`alpha_beta` divided at each target, the signed
# rules `attnlrp` and `cp` after summing: notebook 1 says why); confidence; gradient importance per example and per token;
# `leave-one-out`, the rise of the loss when that head alone is off, in nats a token; `kept by L0`, at how many prices its
# gate stays open, and `closes at`, the price from which on it is closed (notebook 3); `L1 gates`, what is left of a gate
# under a price on its size when no weight may change; `votes`, the share of batches in which the head is nearest to the
# centre of its group (notebook 4's Voting-to-Stay, here on models that were never grouped); `probing` for coreference
# (notebook 5, on the summarizer alone); and what it does: the share of tokens at its best offset, its best relation's
# accuracy above the offset baseline, its share on the two rarest tokens, alignment, and the functions that pass notebook 2's
# tests.

# %%
measured = comparison_tables.collected(jobs, comparison.tables)
tables = {trained: found[0] for trained, found in measured.items()}
halves = {trained: found[1] for trained, found in measured.items()}
seconds = {trained: found[2] for trained, found in measured.items()}
for job, table in zip(jobs, tables.values(), strict=True):
    run.table(table, comparison_tables.stored_as(job, seed), model=job["name"], of_seed=job["seed"])
pd.DataFrame(
    [
        {"model": name, "seed": number, "heads": len(table), "columns": table.shape[1]}
        for (name, number), table in tables.items()
    ]
).set_index(["model", "seed"])

# %%
first = next(iter(tables))
shown = [name for name in comparison_tables.SHOWN if name in tables[first] and tables[first][name].notna().any()]
run.figure(
    comparison_figures.head_table_map(comparison_tables.large(tables[first], "encoder"), shown),
    "head_table", model=first[0], seed=first[1],
)  # fmt: skip

# %% [markdown]
# Encoder heads of one model; colours are ranks within a layer. Columns that agree would look alike.
#
# ## Do they agree?
#
# Rank correlation (Spearman) of each two measures on ranks within layers, one matrix a kind of attention: the mean over
# trainings and, below it, its 95 % interval (over seeds within each model where there are several seeds, otherwise over
# models). Layers of fewer than four heads are left out, so that decoder and cross attention come from the model with a deep
# decoder and from the summarizer.

# %%
agreement = comparison_tables.agreement(tables)
run.table(agreement, "measures_agreement")
matrices = {kind: part.drop(columns="kind") for kind, part in agreement.groupby("kind", sort=False)}
run.figure(comparison_figures.agreement_matrix(matrices), "measures_agreement")

# %% [markdown]
# ## Which cheap measure foretells what happens?
#
# Two truths that are dear to know: the loss without the head, and how long L0 keeps it. Behind each measure stands what it
# costs, in units of gradient importance per example (one forward and one backward pass over a few hundred sentences).

# %%
predictors = comparison_tables.predictors(tables, seconds)
run.table(predictors, "measures_as_predictors")
within = predictors[predictors["heads"] == "within layers"].drop(columns="heads")
run.figure(comparison_figures.predictors(within, per="gradient importance"), "measures_as_predictors")

# %%
best = comparison_tables.best(predictors)
run.table(best, "best_predictors").style.format("{:.2f}", subset=["rho", "low", "high"], na_rep="").format(
    "{:.1f}", subset=["cost"], na_rep=""
)

# %% [markdown]
# ## Is a head's rank stable?
#
# Three questions in one picture. Does a measure agree with itself on *other texts* (two halves of the sentences, same model)?
# Does it agree on *the same number of head* of a model trained with another seed? It should not: numbers mean nothing across
# seeds. And on heads that *do the same*: heads of two seeds are matched one to one within each layer by where they look on
# the same sentences (the cosine of their word-level attention), then ranks are compared. Bars of other seeds are the least
# and the largest of all pairs of seeds.

# %%
matched = comparison_tables.matches(studied, run.settings["comparison"]["matched"])
parts = [comparison_tables.reliability(halves), comparison_tables.stability(tables, matched)]
stability = pd.concat([part for part in parts if len(part)], ignore_index=True)
run.table(stability, "measures_stability")
run.figure(comparison_figures.stability(stability), "measures_stability")

# %%
if matched:
    alike = comparison_tables.likeness(matched)
    display(run.table(alike, "heads_matched").style.format("{:.2f}"))
else:
    print("One seed: heads cannot be matched. Set seeds=2 or more.")

# %% [markdown]
# ## The contest, at once
#
# The same number of heads removed, those of least worth by each measure, and nothing trained afterwards: rise of the dev loss
# along the number of heads that stay (numbers that L0 left at its prices; with several seeds mean and t interval).

# %%
removed = comparison_tables.removed(swept)
run.table(pd.concat(removed, names=["model", "seed", "row"]), "removed_at_once")
at_once = comparison_tables.along(removed).assign(further=False, unit="dev loss, nats a token")
run.figure(comparison_figures.contest(at_once), "removed_at_once")

# %% [markdown]
# ## The contest, trained on
#
# At the number of heads that L0 leaves at one price, with the same further training for every criterion (notebook 3's plan):
# BLEU minus that of the control, which trained as long with all heads.

# %%
contests = {
    place: comparison_tables.trained_on(job, studied[place], repeats) for place, job in zip(studied, swept, strict=True)
}
contests = {place: part for place, part in contests.items() if len(part)}
if contests:
    run.table(pd.concat(contests, names=["model", "seed", "row"]), "removed_and_trained_on")
    ranked = comparison_tables.over_seeds(contests, ("criterion", "test set"))
    run.table(ranked, "contest").style.format("{:.2f}", subset=["heads", "value", "low", "high"], na_rep="")
else:
    print("Not in this run: the setting pruning.compared names no price.")

# %%
if contests:
    ranked = ranked.assign(model=ranked.model + ", " + ranked["test set"])
    run.figure(comparison_figures.ranking(ranked, "BLEU minus control"), "contest", resamples=repeats)

# %% [markdown]
# Each criterion against L0 and against random draws over seeds: the mean difference of runs with the same seed, and the
# probability that a run of this criterion is the better one.

# %%
if contests:
    against = comparison_tables.against(contests)
    display(run.table(against, "contest_paired").style.format("{:.2f}", na_rep=""))

# %% [markdown]
# ## The first paper's headlines, over seeds
#
# What notebook 3 shows for one seed: BLEU against the control by price, and which kinds of heads stay.

# %%
headlines = comparison_tables.headlines(
    {place: comparison_tables.headline(job, studied[place], repeats) for place, job in zip(studied, swept, strict=True)}
)
run.table(headlines, "headlines").style.format("{:.1f}", na_rep="")
