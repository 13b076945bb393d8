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
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
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
from helpers.plan import sources

run = study.begin("06_do_measures_agree", globals())
print(run.summary(), sources(run), sep="\n")

# %%
import pandas as pd
from IPython.display import display

from helpers import comparison_figures, figures, intervals, subjects
from helpers.methods import comparison, comparison_tables

figures.style()
names, repeats = subjects.names(run.settings, models), run.settings["bootstrap"]
jobs = comparison.jobs(run.settings, names, seed, pretrained)
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

# %% [markdown]
# What there is to foretell: how much the loss rises with all heads of a kind off at once, and how many single heads change it
# by their absence at all. Where fewer than half do, a correlation with the loss without a head is one with noise (`shown` is
# False).

# %%
own, few = comparison_tables.studied_runs(run.settings, [] if pretrained else names, jobs, seed), run.settings["relevance"]
differ = None
if own:
    worth = run.table(comparison_tables.worth_of_kinds(own, few), "worth_of_kinds", split="dev", sentences=few)
    display(worth.drop(columns="over").style.format("{:.2f}").format("{:.0f}", subset=["heads"]))
    differ = run.table(comparison_tables.effects(own, few), "effects_of_heads", split="dev", sentences=few)
    display(differ.drop(columns="over").style.format("{:.2f}", subset=["share"]))

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
agreement = comparison_tables.agreement(tables, differ)
run.table(agreement, "measures_agreement")
matrices = {kind: part.drop(columns="kind") for kind, part in agreement.groupby("kind", sort=False)}
run.figure(comparison_figures.agreement_matrix(matrices), "measures_agreement")

# %% [markdown]
# ## Which cheap measure foretells what happens?
#
# Two truths that are dear to know: the loss without the head, and how long L0 keeps it. Behind each measure stands what it
# costs, in units of gradient importance per example (one forward and one backward pass over a few hundred sentences).

# %%
predictors = comparison_tables.predictors(tables, seconds, differ)
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
drawn = at_once[~at_once.criterion.str.endswith("by layer") & (at_once.criterion != "rare")]  # what fits a picture
run.figure(comparison_figures.contest(drawn), "removed_at_once")

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
    run.table(pd.concat(contests, names=["model", "seed", "row"]), "removed_and_trained_on", over=intervals.SENTENCES)
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
    display(run.table(against, "contest_paired", over=intervals.TEXTS).style.format("{:.2f}", na_rep=""))
    corrected = run.table(comparison_tables.against_l0(contests), "contest_against_l0", resamples=repeats)
    display(corrected.drop(columns="over").style.format(precision=2, na_rep=""))

# %% [markdown]
# ## The first paper's headlines, over seeds
#
# What notebook 3 shows for one seed: BLEU against the control by price, and which kinds of heads stay.

# %%
headlines = comparison_tables.headlines(
    {place: comparison_tables.headline(job, studied[place], repeats) for place, job in zip(studied, swept, strict=True)}
)
run.table(headlines, "headlines").style.format(precision=1, na_rep="")

# %% [markdown]
# ## The questions that the papers leave open
#
# The three papers, and summaries of them, end with questions. Each with our answer and where it comes from, or with *not
# answered* and why. (Controlled corpus, profile `laptop`; intervals are 95 %.)
#
# - **How does L0 pruning compare with other ways to compress a translation model? (Voita et al., conclusion)** Other ways to
#   choose heads do as well or better. With 9 of 24 encoder heads and the same further training (three seeds) LRP relevance
#   ends 1.3 BLEU above L0 [-0.6, 3.1], L1 gates 1.1 [0.3, 2.0], gradient importance 0.9 [0.6, 1.1], gradual pruning 0.6
#   [-0.5, 1.8]; random heads are 1.4 below [-0.8, 3.6], confidence 1.7 [0.2, 3.2]. At equal size fewer layers (43.9 BLEU) or
#   narrower ones (42.8) beat heads pruned by L0 (42.2), and the same head map trained from scratch beats the pruned model by
#   3.3 [1.8, 4.8]. *This notebook; notebooks 3 and 4.*
# - **How does importance compare with L1 or random pruning, in size and quality? (on Liu & Chen)** They are level, and both
#   better than random: gradient importance -3.4 BLEU [-3.7, -3.2] against the control at 9 of 24 encoder heads, L1 gates -3.1
#   [-4.0, -2.2], random -5.6 [-7.7, -3.5]. Removed at once, from all kinds of attention of the deep model, the loss rises by
#   .19 nats with L1 gates, .23 with gradient importance, 1.07 with random heads (means over numbers of heads and seeds). L1
#   gates take 12 times as long as the gradient. *This notebook.*
# - **Does injection help other tasks, translation or classification, and how does it compare with other ways to inject? (on
#   Liu & Chen)** Translation with gold syntax: no effect (-0.4 BLEU [-1.2, 0.4]). Against H ← 0.7 H + 0.3 M H after every
#   layer: less (events +5.3 points against +9.9). Classification: *not answered*, the study has no such task. *Notebook 5.*
# - **How does the choice of the coreference resolver matter? (on Liu & Chen)** Very: events +5.3 points with gold clusters,
#   +2.8 at CoNLL 92, +0.9 at 76, -0.6 at 56. Trained with the links of our rules (93): -0.5. *Notebook 5.*
# - **Which heads of which layers? All heads one by one; random and highest beside lowest (on Liu & Chen)** 21 and 17 of 24
#   heads of a summarizer cost nothing alone (two seeds). Injected, random heads do as well as the lowest (+5.0, +3.4 against
#   +5.3), the highest a little worse (+3.1); upper layers better than lower ones. *Notebook 5.*
# - **How does the best number of groups vary with architecture and task? (on Ni et al.)** In part. Translation: the
#   constraint is level from 1 to 8 groups of 8 heads; after the vote more groups are better all the way (27.6, 39.4, 45.8,
#   50.5 BLEU); natural text: 4 groups better than 2 (43.0, 40.3). Other sizes of models and other tasks: *not answered*, one
#   size and one number each. *Notebook 4.*
# - **Which part of the constraint matters? (on Ni et al.)** None helps here: without it translation is better (+3.2 BLEU
#   [0.8, 5.7]); the votes matter (random members -2.3 [-4.4, -0.3]). *Notebook 4.*
# - **Does grouping work on pretrained models such as BERT or GPT? (on Ni et al.)** In part: on a translation model that has
#   converged the constraint is harmless (+0.1 BLEU [-0.1, 0.4]) and the vote costs 20 BLEU in 150 further steps. BERT and
#   GPT: *not answered*, no such checkpoint was at hand. *Notebook 4.*
# - **Does it work beyond language, in vision? (on Ni et al.)** *Not answered*: the study has no images and no vision models.
#
# ## What we see
#
# In the committed run (profile `laptop`, controlled corpus, three seeds each of four models: EN-RU news and subtitles with a
# shallow decoder, EN-RU news with a deep one, the dialogue summarizer; correlations are of ranks within layers, intervals 95
# % over trainings):
#
# - **Most measures agree, in two families.** In encoders LRP by `alpha_beta` and gradient importance rank heads much alike
#   (.84 [.75, .90]), per example and per token are nearly one measure (.93). The signed LRP rules are a family of their own
#   (.92 with each other, .35 to .57 with the rest). Confidence goes with relevance (.56 [.48, .64] in encoders, .76 [.67,
#   .83] in decoders, .70 [.38, .87] in cross-attention): the first paper's claim holds in all kinds of attention. Votes and
#   what heads do agree weakly with everything, probing for coreference with nothing (-.39 to .07, but .45 with position).
# - **Gradient importance foretells best, and is the cheapest.** With the loss without the head: .57 [.37, .71] in encoders,
#   .60 in decoders, .80 [.74, .85] in cross-attention (per token .53, .69, .84). With how long L0 keeps a head: .71 [.55,
#   .83], .48, .61. Only L1 gates do as well in encoders (.58, .66), for twelve times the price, and `alpha_beta` in decoders
#   (.63, .70), for forty. Confidence reaches .32 and .35 in encoders, the signed rules .26 to .45. Over all heads, layers
#   compared too, the order is the same and correlations are higher (.64 to .92).
# - **The truth itself is noisy.** Leave-one-out agrees with itself on the other half of the sentences to .41 in encoders, .62
#   in decoders, .76 in cross-attention, where relevance does to .98, .99, .96 and gradients to .82, .70, .71. No measure can
#   foretell it better than that.
# - **A head's rank does not carry over to another seed.** Heads of the same number are unrelated (-.15 to .18, as they must
#   be). Matched by where they look, the ranks of two trainings correlate by .17 to .44 in encoders, .09 to .57 in decoders,
#   .07 to .57 in cross-attention. The heads themselves are only distant relatives: a matched pair's attention has a cosine of
#   .14 to .38 where any pair has .00.
# - **The contest, at once.** In the deep model with all kinds of attention the choice matters a great deal: L1 gates .19,
#   leave-one-out .22, gradients .23 and .27 nats on average, `alpha_beta` .55, votes .88, confidence 1.07, just as random
#   heads (1.07). Dividing a gradient by its layer's norm, as two of the papers do, makes it worse (.43 and .45): it throws
#   away which layer and kind matters. In encoders alone all but confidence, *rare* and *syntactic* are close (.08 to .11
#   against .18).
# - **The contest, trained on.** At 9 of 24 encoder heads everything that measures use is level: -3.0 (`alpha_beta`), -3.1 (L1
#   gates), -3.4 (gradient), -3.6 (`attnlrp`, gradual), -3.7 (leave-one-out), -3.9 (`cp`), -4.0 (votes) BLEU; L0 itself -4.3;
#   random -5.6; *confidence* (-6.0) and *syntactic* (-6.1) are no better than random. Heads with nameable functions are not
#   those that a pruned model needs.
# - **Headlines over three seeds.** The numbers of notebook 3 hold: 16.0 heads cost 1.8 BLEU [-0.1, 3.7] in news, 14.0 cost
#   1.2 [0.5, 1.9] in subtitles, all of them 19.3 [17.4, 21.2] and 17.0 [10.6, 23.3]. Encoder heads go first (8.3, 2.3, 0.7 of
#   24 left), decoder heads next (23.0, 18.7, 11.0), decoder-encoder heads last (23.7, 22.0, 16.3).
#
# What limits this: small models, generated text, three seeds, other seeds drawing other text too; matching by attention on 80
# sentences; the contest with further training on encoder heads at one number of heads, on subtitles with one seed. Costs are
# of one busy machine: read them as orders of magnitude. On natural text (`figures/natural-natural/`, EN-FR, three seeds of
# one small model) the picture is the same, with intervals too wide to say more: gradient importance .36, .60, .55 with the
# loss without the head, relevance .33, .56, .68.
