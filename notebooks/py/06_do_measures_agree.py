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
# [← notebook 5, coreference injection](05_coreference_injection.ipynb) · [notebook 7, what it costs
# →](07_what_it_costs.ipynb) · [all claims](../docs/results.md) · [figures](../figures/README.md) · functions:
# [measures/table.py](../helpers/measures/table.py), [contest/runs.py](../helpers/methods/contest/runs.py),
# [measures/matching.py](../helpers/measures/matching.py), [scores/intervals.py](../helpers/scores/intervals.py)
#
# The three papers (Voita et al. 2019, [arXiv 1905.09418](https://arxiv.org/abs/1905.09418); Ni et al. 2023, [arXiv
# 2305.14380](https://arxiv.org/abs/2305.14380); Liu & Chen 2023, [arXiv 2312.09541](https://arxiv.org/abs/2312.09541)) rank
# heads in different ways: by relevance and confidence, by which L0 gates stay open, by votes, by gradient
# importance. Voita et al. compare two of them, relevance and confidence; none asks whether all rankings agree, whether a
# ranking would be the same had the model been trained with another seed, or which is the best to prune by. This notebook
# does, with one table for every training: a row a head, a column a measure.
#
# **Claims put to the test** are this study's own: gradient importance and relevance rank heads alike; gradient importance,
# or confidence, predicts the loss without a head; a head's rank survives another seed; L0 chooses the heads to keep better
# than cheap measures do.
#
# What we find stands below; then the head table itself, which measures agree, which cheap one predicts what happens, why
# pruning parts what a layer does not, and two contests in which heads are removed by every measure.

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
entries = ""  # a TOML file of measures of your own, which join all tables and figures (docs/extend.md)

# %%
from helpers import study
from helpers.plan import sources

run = study.begin("06_do_measures_agree", globals())
print(run.summary(), sources(run), sep="\n")

# %% jupyter={"source_hidden": true}
import pandas as pd
import torch
from IPython.display import Markdown, display

from helpers import drawing, heads
from helpers.heads.families import KINDS
from helpers.measures import said as of_measures
from helpers.measures import worth
from helpers.measures.table import TRUTH, compared
from helpers.methods import contest, removal
from helpers.methods.contest import figures, said
from helpers.publish import claims
from helpers.reading import ends, readable, sortable
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
# ## The head table
#
# *A head is an address; measures fill columns.* Below, six columns of the first model, encoder heads first: what each head
# does (notebook 2's tests; *v→s*: the verb looks at its subject, *s→v* the subject at its verb; *o* object, *n* noun, *adj*,
# *adv*), the rise of the loss when that head alone is off (thousandths of a nat per token), *how long L0 keeps it*, *gradient
# importance* per example, relevance and confidence. *Cross* heads are those of cross-attention. **Press a column's name to
# sort by it.** The picture under it has one measure of each family, of the encoder.
#
# How the measures are computed, with $L$ the loss and $g$ a head's gate, which stands open:
#
# | measure | formula | passes | where |
# |---|---|---|---|
# | gradient importance | mean over examples of the size of $\partial L / \partial g$ | forward + backward | notebook 1 |
# | gradient importance, each token | the same, over target tokens | forward + backward | here |
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
# ([arXiv 2402.05602](https://arxiv.org/abs/2402.05602)). *Votes* are Ni et al.'s, on models that were never grouped.
#
# Two things are called after L0 in the contests: *L0 (trained)* chooses while it trains; *L0's heads* are the heads that it
# chose, cut at once and trained on like those of its rivals. *Gradual* removes heads by their gradient step by step. Among
# the models are also the summarizer of notebook 5 and the Llama-style decoder (grouped-query) of notebook 4, which continues
# texts. A measure of yours (parameter `entries`) is taken of models whose weights are there: published is each one's first
# training.

# %% jupyter={"source_hidden": true}
measured = contest.tables.collected(jobs, lambda job: contest.runs.tables(job, entered if contest.runs.at_hand(job) else ()))
tables, halves, seconds = ({trained: found[part] for trained, found in measured.items()} for part in range(3))
for job, table in zip(jobs, tables.values(), strict=True):
    run.table(table, contest.tables.stored_as(job, seed), model=job["name"], of_seed=job["seed"])
first = next(iter(tables))
heart, called = said.heart(tables[first], entered)
digits = dict.fromkeys(heart.select_dtypes("number"), ".2f") | {"gradient, example": ".4f", TRUTH: ".1f"}
sortable(heart, called, digits, f"{first[0]}: every head")

# %% jupyter={"source_hidden": true}
drawn = contest.tables.large(tables[first], (kind := tables[first].index[0][0]))
shown = [name for name in compared(drawn) if drawn[name].notna().any() and name not in said.BESIDE]
run.figure(
    figures.head_table_map(drawn.rename(columns=said.named), [said.named(name) for name in shown]),
    "head_table",
    caption=f"One model's head table: a measure of each family, every {kind} head, as ranks within the layer.",
    table=contest.tables.stored_as(jobs[0], seed),
    takeaway=said.head_map(drawn, shown),
    model=first[0],
    seed=first[1],
)

# %% [markdown]
# ### One head, by hand
#
# Two quantities behind the measures: the slope of the loss at the open gate (its size, per example, is gradient importance)
# and the loss with the gate closed. Here both are of one batch, of the encoder head that the loss needs most, by hand and as
# the library computes them for all heads at once. The size is per sentence here (of one batch) and in the table above (of
# all of them), per token in the figure below. The rise that a slope promises is minus the slope.

# %%
few, by_hand = run.settings["relevance"], bool(swept) and contest.runs.at_hand(swept[0])  # the model's weights are there
if by_hand:
    model, address = studied[first].model, drawn[TRUTH].idxmax()
    batch = next(iter(removal.batches(studied[first], "dev", few)))
    opened, found = torch.ones((), requires_grad=True), []
    for row in range(len(batch["labels"])):  # one sentence at a time, its loss summed over its tokens
        sentence = {name: values[row : row + 1] for name, values in batch.items()}
        with heads.gate(model, {address: opened}):
            loss = model(**sentence).loss * (sentence["labels"] != -100).sum()
        found += torch.autograd.grad(loss, opened)
    slopes = torch.stack(found)
    with torch.no_grad():
        rise = -model(**batch).loss
        with heads.gate(model, {address: 0.0}):
            rise += model(**batch).loss
    own = [slopes.sum() / (batch["labels"] != -100).sum(), slopes.abs().mean(), rise]
    alone = worth.leave_one_out(model, [batch]).loss
    known = [-worth.patching(model, [batch]), worth.importance(model, [batch], norm=None), alone]
    print(said.by_hand(address, own, [column[address] for column in known]))

# %% jupyter={"source_hidden": true}
if by_hand:
    rises, slopes = contest.tables.closing(model, removal.batches(studied[first], "dev", few), tables[first])
    run.table(rises, "closing", model=first[0], of_seed=first[1], split="dev", sentences=few)
    run.figure(
        figures.closing(rises, slopes),
        "closing",
        caption="Loss while single encoder heads close, and the slopes of single sentences at the open gate.",
        takeaway=said.closing(rises, slopes),
    )

# %% [markdown]
# What there is to predict: how much the loss rises with all heads of a kind off at once, and of how many single heads the
# absence changes it at all, by their own intervals and (in brackets) after Holm's correction, as notebook 1 counts them.
# Where fewer than half do, a correlation with the loss without a head is one with noise.

# %% jupyter={"source_hidden": true}
own = contest.tables.studied_runs(run.settings, [] if pretrained else names, jobs, seed)
differ = None
if own:
    kinds_worth = run.table(contest.tables.worth_of_kinds(own, few), "worth_of_kinds", split="dev", sentences=few)
    differ = run.table(contest.tables.effects(own, few), "effects_of_heads", split="dev", sentences=few)
    told = "Dev loss; per kind of attention its rise with none of it, and heads whose absence shows (Holm: significantly)"
    display(readable(said.kinds(kinds_worth, differ), caption=f"{told}, n = {few} sentences"))

# %% [markdown]
# ## Do they agree?
#
# Rank correlation (Spearman) of each two measures on ranks within layers, encoder heads; the mean over models, of all their
# trainings (decoder and cross heads: file `agreement_of_other_kinds`). White cells have an interval that holds zero: over
# seeds within each model where each has several, otherwise over models. Like measures stand beside each other. Nothing is
# drawn against the loss without a head where too few heads change it, nor *gradient, signed*, which does not agree with
# itself on other sentences (below). Layers of fewer than four heads are left out. Head tables are of the models that are
# pruned, the summarizer and the decoder, not of every model in the table above. The two gradients are nearly one formula, and
# so are the two signed rules: one measure of each family is drawn, for what is new is agreement between families. Relevance
# and confidence have another correlation here than in notebook 1, over other models: the small one and the summarizer are
# among them.

# %% jupyter={"source_hidden": true}
agreement = contest.tables.agreement(tables, differ)
run.table(agreement, "agreement")
in_words = agreement[~agreement.one.isin(said.BESIDE) & ~agreement.other.isin(said.BESIDE) & agreement.shown.astype(bool)]
in_words = in_words.assign(one=in_words.one.map(said.named), other=in_words.other.map(said.named))
matrices = {kind: part.drop(columns="kind") for kind, part in in_words.groupby("kind", sort=False)}
main = next(kind for kind in KINDS if kind in matrices)
run.figure(
    figures.agreement_matrix({main: matrices.pop(main)}),
    "agreement",
    caption=f"How far measures rank {main} heads alike (other measures of the same families: in the file).",
    takeaway=said.agreement(agreement[agreement.index.isin(in_words.index)]),
    show=bool(contests),
)
if matrices:
    run.figure(
        figures.agreement_matrix(matrices),
        "agreement_of_other_kinds",
        caption="How far measures rank decoder and cross heads alike.",
        takeaway=said.agreement(agreement[agreement.index.isin(in_words.index) & (agreement.kind != main)]),
        show=False,
    )
by_rule = said.rules(agreement)
print(by_rule)

# %% [markdown]
# ## Which cheap measure predicts what happens?
#
# The loss without the head is exact and expensive: a forward pass a head. Which measure is cheap is compared in [notebook
# 7](07_what_it_costs.ipynb). Drawn are kinds of attention with an effect to predict, in three models or more if there are
# such.
#
# *Gradient importance* is the size of the first-order term of leave-one-out, example by example. With its sign that term does
# not predict the loss (*One head, by hand*: around the open gate the loss is flat), so that sizes predict it is no mere
# arithmetic: they order heads within a layer, and can fail across layers, as there.

# %% jupyter={"source_hidden": true}
predictors = contest.tables.predictors(tables, seconds, differ)
run.table(predictors, "predictors")
within = said.telling(predictors)
run.figure(
    figures.predictors(within.assign(measure=within.measure.map(said.named), truth=within.truth.map(said.named))),
    "predictors",
    caption="How well each measure predicts the loss without a head.",
    takeaway=said.predictors(predictors),
)

# %% [markdown]
# A measure and the loss without a head, both taken on the same sentences, share what is peculiar to these. Each is known on
# either half of the sentences as well: if sharing them were what makes a measure predict, it would predict less well where
# the measure comes from one half and the loss from the other.

# %% jupyter={"source_hidden": true}
shared = run.table(contest.tables.same_and_other_sentences(halves, differ), "same_and_other_sentences")
signed = contest.tables.reliability(halves).query("measure == 'gradient, signed'")
print(contest.tables.owed_to_sharing(shared, signed.rho[signed.kind.isin(shared.kind[shared.shown.astype(bool)])].mean()))

# %% [markdown]
# ## Within layers and across them
#
# All of this was within layers. Pruning cuts across them: it removes the heads of least worth wherever they are, so that a
# measure also says how many heads each layer keeps. Below, how measures of encoder heads go with *how long L0 keeps a head*,
# on ranks within layers and on ranks over all layers at once. A measure that is a share of its layer could be expected to
# say little of the layer; which measures do lose it stands below the figure.

# %% jupyter={"source_hidden": true}
if len(across := said.across(predictors)):
    run.figure(
        figures.stability(
            across.assign(measure=across.measure.map(said.named)), label="rank correlation with how long L0 keeps it"
        ),
        "across_layers",
        caption="How measures go with how long L0 keeps a head, within layers and across them.",
        takeaway=said.parted(across),
    )

# %% [markdown]
# ## Is a head's rank stable?
#
# Does a measure agree with itself on *other sentences* (two halves of one dev set, same training)? On heads of *the same
# index* in another training? It should not: indices mean nothing across seeds. And on heads that *do the same*, matched one
# to one within each layer by where they look on the same sentences (the cosine of their word-level attention, less the mean
# of its layer; beside it what the best matching with random weights comes to)? A rank survives another seed if matched heads
# agree well above the same index; the claim asks every pair of trainings for `0.5` (dashed) by LRP αβ, the default rule. A
# pair counts once, even where its model is swept twice. All measures and kinds: file `stability`.
#
# The first question bounds all others. The correlation of two halves is the reliability of a measure on *half* of the
# sentences; the Spearman-Brown formula, $2r / (1 + r)$, gives that on all of them, and its root bounds how well anything can
# correlate with the measure (if errors are independent; for ranks roughly). The bounds stand below the figure.

# %% jupyter={"source_hidden": true}
matches, matched = None, contest.tables.matches(studied, run.settings["comparison"]["matched"])
pairs = contest.tables.across_seeds(tables, matched)
run.table(pairs, "stability_pairs")
parts = [contest.tables.reliability(halves), contest.tables.stability(pairs)]
stability = pd.concat([part for part in parts if len(part)], ignore_index=True)
run.table(stability, "stability")
asked = next(one for one in claims.ledger() if one.id == "rank-survives").controlled[0].threshold
run.figure(
    figures.stability(said.steady(stability).assign(measure=lambda rows: rows.measure.map(said.named)), asked),
    "stability",
    caption="How far measures agree with themselves between halves of the sentences and between trainings.",
    takeaway=said.stability(stability),
)
print(said.bounds(stability) if "bound" in stability else "")
if matched:
    alike = {"model": "model", "kind": "attention", "cosine": "matched heads, cosine", "chance": "matched with random weights"}
    told = f"Heads of two trainings, mean over pairs of {run.settings['seeds']} trainings"
    matches = run.table(contest.tables.likeness(matched), "heads_matched")
    display(readable(matches, alike, dict.fromkeys(("cosine", "chance"), "z.2f"), caption=told))
    alike, chance = (ends(matches[name], ".2f") for name in ("cosine", "chance"))
    print(f"Matched heads of all kinds have a cosine of {alike} (random weights: {chance}): where it is low,")
    print("a low correlation of ranks says as much of the matching as of the measure.")
else:
    print("One seed: heads cannot be matched. Set seeds=2 or more.")

# %% [markdown]
# ## The contest, at once
#
# The same number of heads removed, those of least worth by each measure, and nothing trained afterwards: rise of the dev
# loss, minus that with random heads, along how many heads stay (as many as L0 left at its prices; of the Llama-style decoder
# three quarters, half and one quarter). Below the dotted line a choice is better than chance. A thin line is one training, a
# thick one their mean, interpolated where L0 left other numbers of heads at each seed. *All kinds*: heads of all attention
# were in question, else encoder heads alone, in panels of one scale. LRP αβ has no rule for the gated blocks of the
# Llama-style decoder.

# %% jupyter={"source_hidden": true}
removed = contest.tables.removed(jobs, tables, entered)
run.table(pd.concat(removed, names=["model", "seed", "row"]), "removed_at_once")
at_once, beside = contest.tables.along(removed), contest.tables.along(removed, "random")
run.table(beside, "removed_at_once_beside_random")
drawn, each = (said.shown(part, entered) for part in (beside, contest.tables.each_training(removed)))
run.figure(
    figures.contest(drawn, "rise of dev loss, minus that with random heads (nats per token)", each),
    "removed_at_once",
    caption="Loss after heads are removed at once, minus that with random heads, by the measure that chose them.",
    takeaway=said.at_once(at_once),
)
print(said.witness(beside))

# %% [markdown]
# ## The contest, trained on
#
# The figure on top, whose grid shows where each criterion leaves its heads. As many heads stay as L0 leaves at one price,
# with the same further training for every criterion (notebook 3's plan): BLEU minus that of the control, which trained as
# long with all heads. *L0 (trained)* chooses while it trains, and is what the claim calls L0's choice; its rivals train a
# fixed choice from the first step. *L0's heads*, cut at once, tells choice and training apart: against them notebook 3 and
# the sentence below hold the others. Many criteria are compared with one: before one of them counts as better, its difference
# has to survive a correction for their number. Draws differ much within a training: intervals of random heads count that.

# %% jupyter={"source_hidden": true}
result, guide, elsewhere = "no model of this run is pruned at a price.", "", ""
advice, take, ranked = "", "", None
if contests:
    whole = run.table(pd.concat(contests, names=["model", "seed", "row"]), "removed_and_trained_on", over=intervals.SENTENCES)
    whole = whole.reset_index(["model", "seed"]).reset_index(drop=True)
    ranked = run.table(contest.tables.over_seeds(contests, ("criterion", "test set")), "contest")
    paired = run.table(contest.tables.against(contests), "contest_paired", over=intervals.TEXTS)
    corrected = run.table(contest.tables.against_l0(contests), "contest_against_l0", resamples=repeats)
    alike = run.table(contest.tables.against_l0(contests, "L0's heads"), "contest_against_l0_heads")
    of = (tables[next(iter(contests))].index.get_level_values("kind") == "encoder").sum()
    result, counts = said.trained_on(ranked, whole, of), said.rivals(alike)
    advice, guide = said.advice(ranked, paired, corrected), said.guide(ranked, paired, alike)
    take, shares = said.recommended(ranked, paired, said.across(predictors)), contest.tables.shares(tables)
    shares = shares[shares.index.isin([(ranked.model.iloc[0], at) for at in whole.seed])].dropna(axis=1)
    parted = said.layers(ranked, whole, paired, shares)
    drawn = said.beside_random(ranked, paired, whole, of), said.unpruned(ranked, whole)
    run.figure(
        figures.ranking(*drawn, said.by_layer(ranked, whole), list(shares.mean())),
        "contest",
        caption="BLEU of models pruned by each criterion to as many heads and trained on, beside every random draw, and the"
        " encoder heads that each leaves by layer.",
        takeaway=parted or result,
        resamples=repeats,
        show=False,
    )
    told = (result, said.beyond_random(ranked, paired, whole), counts, said.unexplained(ranked, whole, shares))
    display(*map(Markdown, told))
else:
    print(f"Not in this run: {result}")

# %% [markdown]
# Saved and not shown: the first paper's headlines over seeds (notebook 3 has them), every criterion against L0 and against
# random draws with the probability that it is the better one (files `headlines`, `contest_paired`, `contest_against_l0`,
# `contest_against_l0_heads`).

# %% jupyter={"source_hidden": true}
if swept:
    lines = {place: contest.tables.headline(job, studied[place], repeats) for place, job in zip(studied, swept, strict=True)}
    run.table(contest.tables.headlines(lines), "headlines")

# %% [markdown]
# ## The questions that the papers leave open
#
# The three papers, and summaries of them, end with questions. Each with the place that answers it here, a section and the
# claim's id in `claims.toml` where it is one, or with *not answered* and why.
#
# - **How does L0 pruning compare with other ways to compress a translation model? (Voita et al., conclusion)** Other choices
#   of heads: the contests above (`l0-chooses`) and [notebook 3](03_l0_pruning.ipynb), *Other ways to choose heads*; fewer or
#   narrower layers: [notebook 4](04_grouped_heads.ipynb), *Does it help, and what does it cost?*; the same map from scratch:
#   notebook 3, *All kinds of attention* (`beats-scratch`). Distillation and quantization: *not answered*, not in the study.
# - **How does importance compare with L1 or random pruning, in size and quality? (on Liu & Chen)** The contests above; what
#   they cost: [notebook 7](07_what_it_costs.ipynb).
# - **Does injection help other tasks, translation or classification, and how does it compare with other ways to inject? (on
#   Liu & Chen)** Translation, with syntax: [notebook 5](05_coreference_injection.ipynb), *Does it carry over to
#   translation?* Other ways: *Where, how many, which matrix, or a layer of its own?* there. Classification: *not answered*,
#   no such task.
# - **How does the choice of the coreference resolver matter? (on Liu & Chen)** Notebook 5, *How good must the clusters be?*
#   (`resolver-links`) and *At inference alone*.
# - **Which heads of which layers? All heads one by one; random and highest beside lowest (on Liu & Chen)** Notebook 5,
#   *Masking curves* (one by one; `masking-free`), *Injection* (`importance-chooses`), *Where, how many*.
# - **How does the best number of groups vary with architecture and task? (on Ni et al.)** Translation alone: notebook 4,
#   *How many groups?* and *Too few heads, or the method?* Other tasks: *not answered*, one number of groups each.
# - **Which part of the constraint matters? (on Ni et al.)** Notebook 4, *What each part brings* (`parts-needed`).
# - **Does grouping work on models that are trained already, such as BERT or GPT? (on Ni et al.)** A translation model:
#   notebook 4, *Does it work on a model that is trained already?* BERT and GPT: *not answered*, no such checkpoint was at
#   hand.
# - **Does it work beyond language, in vision? (on Ni et al.)** *Not answered*: the study has no images and no vision models.

# %% [markdown]
# ## In short
#
# All claims: [scoreboard](../figures/scoreboard.png).

# %% jupyter={"source_hidden": true}
why = "The claim takes LRP αβ alone, the default: both others keep the sign of what they sum."
other = next(track for track in layout.TRACKS if track != run.corpus)
committed = layout.Chapter(study.ROOT / "figures" / other / run.name)
asked = {
    "gradient-relevance": "gradient importance with relevance",
    "gradient-predicts": "it predicts the loss without a head:",
}
asked |= {"confidence-predicts": "confidence does:"}
profile_of = study.read_json(committed.shared)["parameters"]["profile"] if committed.shared.exists() else ""
at_other = {one.claim.id: one for one in claims.of_run(committed.folder.parent, other)} if profile_of else {}
natural = of_measures.elsewhere(at_other, other, profile_of, asked) if profile_of else ""
texts, both = {"controlled": "generated", "natural": "natural"}, ("contest", "removed_and_trained_on")
there = [pd.read_csv(path) for name in both if (path := committed.table(name)).exists()]
elsewhere = said.elsewhere(ranked, *there, texts[other]) if ranked is not None and len(there) == len(both) else ""
path = committed.table("predictors")
loss_there = said.predictors(pd.read_csv(path)) if natural and path.exists() else ""
ranks = said.ranks(stability, matches)
first = said.answer(agreement[agreement.index.isin(in_words.index)], predictors, advice, ranks)
once = f"**Removed at once**, nothing trained: {said.at_once(at_once)}" if len(at_once) else ""
more = (guide, elsewhere, once, f"{by_rule} {why}" if by_rule else "", f"{natural} {loss_there}".strip())
closing = f"""
{take} {said.predictors(predictors)}

*Limits.* Text is {"yours" if text else "generated" if run.corpus == "controlled" else "natural"}, models are small, intervals
over few models or over test sentences; another seed also draws other text. The contest with further training has one number of
heads ([all differences](../docs/differences.md)).
"""
verdicts.fill("contest" if contests else "agreement", closing, first=first, more="\n\n".join(filter(None, more)))
