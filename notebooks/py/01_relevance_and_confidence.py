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
# # 1 · Which heads matter? Relevance and confidence
#
# [← notebook 0, your own model](00_your_own_model.ipynb) · [notebook 2, head functions →](02_head_functions.ipynb) · [all
# claims](../docs/results.md) · [figures](../figures/README.md) · functions:
# [alpha_beta.py](../helpers/measures/lrp/alpha_beta.py), [signed.py](../helpers/measures/lrp/signed.py),
# [measures/functions.py](../helpers/measures/functions.py), [measures/ranks.py](../helpers/measures/ranks.py)
#
# Sections 3 and 4 of Voita, Talbot, Moiseev, Sennrich and Titov (ACL 2019, [arXiv
# 1905.09418](https://arxiv.org/abs/1905.09418)).
#
# **The paper's claims.** In each layer of a translation Transformer's encoder a few heads carry most of the *relevance* (how
# much of the predicted logit flows through a head, by layer-wise relevance propagation). *Confidence* (how much of its
# attention a head puts on one single token, on average) ranks the heads alike, with one exception in the first layer. The
# relevant heads are those whose function one can name.
#
# This notebook describes the text and the models (the paper has four: EN-RU, EN-DE, EN-FR in one register, EN-RU in
# another), shows how well they translate, measures relevance by three rules and confidence, and asks what the paper did not:
# do the rules agree, does the agreement exceed that of random weights, how many sentences are enough, and does any of these
# measures tell what happens when a head is taken away?

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # e.g. "ru-news de-news"; empty: the corpus's own
pretrained = ""  # a Marian or BART checkpoint (Hub name or folder) to study instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as training.steps=200
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %%
from helpers import study
from helpers.plan import sources

run = study.begin("01_relevance_and_confidence", globals())
print(run.summary(), sources(run), sep="\n")

# %%
import pandas as pd
from IPython.display import display

from helpers import drawing
from helpers.corpora.describe import describe
from helpers.measures import figures, measured, ranks
from helpers.measures.lrp import RULES
from helpers.publish import claims
from helpers.runs import outputs, subjects
from helpers.scores import intervals, scoring

drawing.style()
studied = subjects.study_models(run)

# %%
verdicts = claims.Box(run)

# %% [markdown]
# ## The text (section 3)
#
# The paper trains on millions of WMT pairs a language and, for the second register, on OpenSubtitles. The *controlled*
# corpus stands in for both: one small world told in English with gold dependencies, and in German, French and Russian with
# true agreement, case and word order. `news` is long and in the third person, `subtitles` short and talks of me and you, as
# in the paper's footnote 4. On the *natural* track the text is real and its dependencies are a parser's.

# %%
registers = {}
for subject in studied:
    register = subject.title if run.corpus == "natural" else subject.name.partition("-")[2]
    registers.setdefault(register, subject)
described = {register: describe(subject.sentences) for register, subject in registers.items()}
for register, subject in registers.items():
    print(f"\n{register}: dev sentences and their reference")
    for pair in subject.sentences[:4]:
        print(f"  {pair.source}\n    {pair.target}")
facts = pd.DataFrame({register: parts["facts"] for register, parts in described.items()}).T
run.table(facts, "corpus", split="dev").style.format("{:,.2f}")

# %%
run.figure(
    figures.corpus_overview(described),
    "corpus_overview",
    caption="Lengths, vocabulary, persons of subjects and relations of the text that the models read.",
    table="corpus",
    split="dev",
)

# %% [markdown]
# The dotted line marks the `500` most frequent words, the paper's border of "rare". Where the partner of a word stands (the
# paper's Fig. 3) decides what a head gains by looking at one fixed offset, the baseline of notebook 2:

# %%
run.figure(
    figures.offsets(described),
    "fig3_offsets",
    caption="Where the partner of a word stands, relation by relation.",
    answers="Voita et al., figure 3",
    split="dev",
)

# %% [markdown]
# ## How well the models translate
#
# Greedy or beam search as the profile says, on a test set that shares no English sentence with training. BLEU with its
# bootstrap interval over sentences stands beside the accuracy on phenomena that the generator marks in every reference:
# forms that case or agreement decides, words whose sense another word decides, words whose order the target language
# decides. The generator makes free choices that no model can guess, so full marks are out of reach.

# %%
beam, resamples = run.settings["beam"], run.settings["bootstrap"]
bleu, accuracy, histories = [], {}, {}
for subject in studied:
    scored, accuracy[subject.title] = outputs.quality(subject, beam, resamples)
    bleu.append(scored)
    if subject.run:
        histories[subject.title] = pd.read_csv(subject.run.results / "history.csv")

# %% [markdown]
# **Does the task need its heads?** (controlled corpus) A control without any encoder self-attention (every encoder head
# removed from the first step on; position-wise layers, decoder and cross-attention stay) says what encoder heads are worth
# on this text. If they were worth nothing, every later figure would be hollow. This control has learnt to do without from
# the start. Notebook 3 has another floor, all encoder heads taken from a trained model that is then trained on for a while;
# what so short a training cannot make up for lies between the two, and is no worth of heads.

# %%
if studied[0].run and run.corpus == "controlled":
    control = subjects.of_name(run.settings, studied[0].name + subjects.NONE, seed)
    title = f"{studied[0].title}, no encoder heads"
    scored, accuracy[title] = outputs.quality(control, beam, resamples, title)
    bleu.append(scored)
    histories[title] = pd.read_csv(control.run.results / "history.csv")
bleu = pd.concat(bleu).set_index(["model", "test set"])
print(bleu.signature.iloc[0])
run.table(bleu, "bleu", beam=beam, over=intervals.SENTENCES).drop(columns="signature").style.format(
    "{:.1f}", subset=["bleu", "low", "high"]
)

# %%
if run.corpus == "controlled":
    counted = {title: scoring.enough(table) for title, table in accuracy.items()}
    by_phenomenon = run.table(pd.concat(counted, names=["model"]), "phenomena", beam=beam)
    shown = 100 * by_phenomenon.accuracy.unstack("phenomenon")
    display(shown.style.format("{:.1f}", na_rep="").set_caption("% of marks met, of 30 or more"))
    if studied[0].run:
        gap = run.table(scoring.gap(counted[studied[0].title], counted[title]), "needs_its_heads", beam=beam)
        caption = f"{studied[0].title}, %: marks met, and sentences with all their marks met"
        display(gap.style.format("{:.1f}", na_rep="").format("{:.0f}", subset="n").set_caption(caption))

# %%
if histories:
    run.figure(
        drawing.training_curves(histories),
        "training_curves",
        caption="Loss on the dev set over the training of every model.",
    )

# %% [markdown]
# ## Relevance (section 4, appendix A)
#
# Layer-wise relevance propagation (LRP) hands the relevance $R_j$ of an output of a layer down to its inputs, in proportion
# to what each of them added to it ($z_{ij}$), so that nothing is made or lost on the way:
#
# $$R_i = \sum_j \frac{z_{ij}}{\sum_{i'} z_{i'j}} R_j$$
#
# For every target token of a dev sentence, relevance starts at the logit of the token that the model finds most likely and
# is propagated down, layer by layer; a head's share is what arrives at its output. Within each layer the heads' shares of
# one target token sum to one (`step`), and are averaged over all target tokens.
#
# The paper does not say what to do with softmax, layer norm and biases. Three ways to fill the gap, computed exactly and for
# all target tokens of a batch at once:
#
# - `alpha_beta`, of the authors' later public code, our default: positive and negative contributions apart, half to each;
#   attention linearised in queries, keys and values together; full Jacobian of norms; biases spread over inputs; rescaled,
#   so that nothing is lost. Never negative.
# - `attnlrp` (Achtibat et al. 2024): softmax linearised, products halved, norms' deviations constant; biases keep their
#   share.
# - `cp` (Ali et al. 2022): attention weights and norms' deviations constant, all to values; biases keep their share.
#
# So only `alpha_beta` conserves in the plain sense. Where the relevance that starts at the logits goes, as shares of it:

# %%
few = run.settings["relevance"]
explained, kept = {}, {}
for subject in studied:
    explained[subject.title] = {rule: measured.EXPLAINED.value(subject, rule=rule, first=few) for rule in RULES}
    parts = {rule: measured.CONSERVED.value(subject, rule=rule, first=min(few, 20)) for rule in RULES}
    kept[subject.title] = pd.DataFrame(parts).T
kept = run.table(pd.concat(kept).rename_axis(["model", "rule"]), "conservation", sentences=min(few, 20))
(kept[["source", "target", "attention", "bias", "eps"]].round(6) + 0.0).style.format("{:.1%}", na_rep="")  # no minus zero

# %% [markdown]
# `source` and `target` arrive at the first layers' inputs; `attention` is lost in the softmax, `bias` in biases, `eps` in
# the small constants that keep divisions of `alpha_beta` stable.
#
# **Is the division by a layer's sum safe?** For the signed rules a layer's sum can come near zero at a target token, and
# that one token then outweighs all others. `negative` and `near_zero` (below `1 %` of the sum of magnitudes) are shares of
# target tokens, `largest` is the largest magnitude that one normalised value takes (a share of a positive rule is at most
# one):

# %%
untrained = {rule: measured.EXPLAINED.value(studied[0], rule=rule, first=min(few, 50), untrained=True) for rule in RULES}
conditioned = run.table(measured.conditioning(explained | {"random weights": untrained}), "conditioning", sentences=few)
measured.worst_conditioning(conditioned, "random weights").style.format(
    {"negative": "{:.1%}", "near_zero": "{:.2%}", "largest": "{:,.1f}"}
).set_caption("mean (largest: maximum) over models and layers")

# %% [markdown]
# Where sums are often negative or near zero, or one value is huge, the ranking by `step`, the paper's way, hangs on a few
# tokens. `ratio`, which sums over target tokens before it divides, stands beside it from here on for the signed rules.
#
# ## Confidence (section 4)
#
# `conf(l, h)` is the mean, over the real tokens of the dev set, of the largest weight that the head puts on a real token.
# The end-of-sentence key is left out and weights are not renormalised; end-of-sentence rows are left out too (the paper does
# not say). One pass over the dev set; the weights of one layer exist at a time and only sums per sentence and head are kept.
# The functions of heads (notebook 2) are measured in the same pass.

# %%
tables, functions = {}, {}
for subject in studied:
    confident, functions[subject.title] = measured.FUNCTIONS.value(subject, repeats=run.settings["bootstrap"]).values()
    shown = explained[subject.title]["alpha_beta"].frame("step", run.settings["bootstrap"])
    tables[subject.title] = (
        confident.add_prefix("confidence_")
        .rename(columns={"confidence_confidence": "confidence"})
        .join(
            [
                shown.rename(columns={"low": "relevance_low", "high": "relevance_high"}),
                measured.relevance_columns(explained[subject.title]),
            ]
        )
    )
    run.table(
        tables[subject.title],
        f"heads_{subject.name}",
        model=subject.name,
        split="dev",
        sentences=len(subject.sentences),
        explained=few,
        over=intervals.SENTENCES,
    )
confidence = {title: table.confidence for title, table in tables.items()}
relevance = {title: table.relevance for title, table in tables.items()}
run.figure(
    figures.relevance_and_confidence(relevance, confidence),
    "fig1_relevance_and_confidence",
    caption="Relevance and confidence of every encoder head, heads sorted by relevance within each layer.",
    answers="Voita et al., figures 1 and 2",
    split="dev",
    explained=few,
)

# %% [markdown]
# The paper's pair of maps: each row is a layer; within it heads are sorted by *relevance* in both (`#` is the head's
# number). If the two rank alike, the lower map fades from left to right as the upper one does.
#
# **Do a few heads dominate?** Shares of the most relevant heads of each encoder layer, against an even split and against a
# model of the same size with random weights; `effective` is the number of equal heads that would be as concentrated. A few
# dominate if the largest share is far above the even one, and above that of random weights, in most layers. The answer can
# depend on the rule: by a signed rule shares may be below zero or above one, so that they are compared by size without sign,
# and one rule alone decides nothing.
#
# Then each head as a dot, relevance over confidence. The paper's exception, a first-layer head of high relevance and low
# confidence that looks at rare words, would be circled at the top left. Last, how many heads are confident (above `0.8`,
# where the paper's positional heads lie), beside random weights.

# %%
dominant = run.table(measured.dominance(explained, untrained, resamples), "dominance", split="dev", explained=few)
dominant.drop(columns="over").style.format("{:.2f}", na_rep="").format("{:.0f}", subset=["heads"])

# %%
run.figure(
    figures.confidence_against_relevance(relevance, confidence),
    "confidence_against_relevance",
    caption="Confidence against relevance, a dot a head.",
    table="confident_heads",
    split="dev",
    explained=few,
)

# %%
confident = pd.DataFrame(
    {
        title: {
            "heads": len(frame.xs("encoder")),
            "above 0.8": int((frame.xs("encoder").confidence > 0.8).sum()),
            "median": frame.xs("encoder").confidence.median(),
            "largest": frame.xs("encoder").confidence.max(),
            "widest interval": (frame.xs("encoder").confidence_high - frame.xs("encoder").confidence_low).max(),
        }
        for title, frame in tables.items()
    }
).T
random_confidence = measured.DIFFUSE.value(studied[0])
diffuse = random_confidence.xs("encoder")
confident.loc["random weights"] = [len(diffuse), int((diffuse > 0.8).sum()), diffuse.median(), diffuse.max(), float("nan")]
run.table(confident, "confident_heads", split="dev").style.format(
    "{:.2f}", subset=["median", "largest", "widest interval"], na_rep=""
).format("{:.0f}", subset=["heads", "above 0.8"])

# %%
together = measured.relevance_and_confidence(explained, confidence, untrained, random_confidence)
run.table(together, "relevance_and_confidence", split="dev", explained=few)
shown = together[(together.kind == "encoder") & ((together.rule == "alpha_beta") | (together.normalised == "ratio"))]
shown.pivot(index=["model", "weights"], columns="rule", values="rho").style.format("{:.2f}")

# %% [markdown]
# ## Does importance follow function?
#
# The paper reads its maps so: heads that matter have a function. Relevance of every encoder head in units of its layer's
# average head, by what the head does (notebook 2's verdicts). The number is the difference between heads with and without a
# function, with a bootstrap interval over heads; beside it stands what functions shuffled among the heads of a layer would
# give. If relevance followed function, the difference would lie above all of the shuffled ones. It would still not say that
# most relevant heads have a function: the dots at *none* show how many do not.

# %%
follows = ranks.follows_function(relevance, functions)
run.table(pd.DataFrame([follows]), "follows_function", explained=few, over=intervals.HEADS)
run.figure(
    figures.relevance_by_function(relevance, functions, follows),
    "relevance_by_function",
    caption="How relevant the heads of each function are.",
    table="follows_function",
    explained=few,
)

# %% [markdown]
# ## Do the rules agree?
#
# Spearman correlation of ranks within each encoder layer, pooled over layers. If relevance were one quantity, the three
# rules would rank heads alike. The row of *confidence* is the paper's claim, once for each rule: it holds if every rule
# shows it, in every model, and more of it than a model with random weights does, since architecture alone gives some.

# %%
columns = [*measured.relevance_columns(explained[studied[0].title]).columns, "confidence"]
matrices = {title: ranks.rank_agreement(table[columns]) for title, table in tables.items()}
run.table(pd.concat(matrices).rename_axis(["model", "measure"]), "rule_agreement", explained=few)
run.figure(
    figures.agreement(matrices),
    "rule_agreement",
    caption="How far the rules of relevance, confidence and gradients rank heads alike.",
    explained=few,
)

# %% [markdown]
# ## Decoder heads
#
# The paper shows encoder heads only. The same maps for decoder self-attention and decoder-encoder attention:

# %%
for kind in ("decoder", "cross"):
    pair = figures.relevance_and_confidence(relevance, confidence, kind)
    run.figure(
        pair,
        f"relevance_and_confidence_{kind}",
        caption=f"Relevance and confidence of every {drawing.KIND_TITLES[kind]}-attention head.",
        split="dev",
        explained=few,
    )

# %% [markdown]
# ## How many sentences are enough?
#
# The ranking of heads within encoder layers from n sentences against that of other sentences, half of those explained (never
# a sentence in both; the median of `30` random draws, and where `95 %` of them lie). A curve that has flattened near one has
# settled; a curve that never rises belongs to a column that ranks heads by chance. The paper does not say how large its dev
# set was.

# %%
sizes = [1, 2, 5, 10, 20, 50, 100, 200]
settled = {
    title: {
        f"{rule} {way}": ranks.settling(found, sizes, normalise=way)
        for rule, found in by_rule.items()
        for way in (("step",) if rule == "alpha_beta" else ("step", "ratio"))
    }
    for title, by_rule in explained.items()
}
rows = {(title, rule): frame.set_index("n") for title, by_rule in settled.items() for rule, frame in by_rule.items()}
run.table(pd.concat(rows, names=["model", "rule"]), "settling", explained=few, over="draws of sentences")
run.figure(
    figures.settling(settled),
    "settling",
    caption="How many sentences each rule needs before its ranking of heads settles.",
    explained=few,
)

# %% [markdown]
# ## The truth: what happens without the head?
#
# Every measure above is a guess at what a head is worth. Here each head is taken away alone (its gate closed, no further
# training) and the loss on dev sentences is measured again, for every model; for the first one its BLEU on dev sentences
# too. Beside relevance and confidence stands activation x gradient of the loss (Michel et al. 2019), a control that costs
# one backward pass. It is the size of the first-order term of the loss without the head, so that some of its agreement with
# that truth is built in.
#
# The truth is noisy too. A head whose interval holds zero cannot be told from one that does nothing, and where most heads
# are such, no measure can rank them; notebook 6 asks how far this truth agrees with itself.

# %%
truths = {subject.title: measured.WITHOUT.value(subject, first=few) for subject in studied}
gradients = {subject.title: measured.GRADIENT.value(subject, first=few) for subject in studied}
by_measure = {title: tables[title][columns].assign(**{"activation x gradient": found}) for title, found in gradients.items()}
run.table(pd.concat(truths, names=["model"]), "leave_one_out", explained=few, over=intervals.SENTENCES)
agreed = {"loss, all models": measured.truth_agreement({title: frame.loss for title, frame in truths.items()}, by_measure)}
subject, held = studied[0], run.settings["truth"]
if held:
    without = measured.WITHOUT_BLEU.value(subject, first=held, repeats=resamples)
    run.table(without, "leave_one_out_bleu", sentences=held, over=intervals.SENTENCES)
    agreed[f"loss, {subject.title}"] = measured.truth_agreement({subject.title: truths[subject.title].loss}, by_measure)
    agreed[f"BLEU, {subject.title}"] = measured.truth_agreement({subject.title: without.bleu}, by_measure)
    shown = without.join(truths[subject.title].loss).sort_values("loss", ascending=False).head(12)
    display(measured.from_one(shown).style.format("{:.3f}"))
differ = measured.effects_that_differ({(title, seed): frame for title, frame in truths.items()})
run.table(differ, "effects_that_differ", explained=few)
told = pd.concat(agreed).rename_axis(["truth", "measure"])
run.table(told.assign(shown=measured.shown(differ, "encoder")), "truth_agreement", explained=few, over=intervals.HEADS)
run.figure(
    figures.rank_correlations(agreed),
    "truth_agreement",
    caption="How well each measure predicts what happens without a head.",
    explained=few,
)

# %% [markdown]
# ## What limits this
#
# The text is generated unless the run says natural. Outside profile `paper` models are small and trained briefly; in `quick`
# and `laptop` the decoder is shallow, there is no dropout, and search is greedy. Encoder self-attention starts from an
# output of zero, other attention does not. The paper gives no rule for softmax and norms and no number of sentences; its
# code release has no head relevance, so that `alpha_beta` reads a head's share from the rule that the same authors published
# later, for another purpose. One seed: intervals are over sentences or heads of one training each. A natural model that
# hardly translates, or whose encoder attention is worth little, is no evidence on its heads.

# %%
verdicts.fill()
