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
# Voita et al. ([2019](https://arxiv.org/abs/1905.09418), sections 3 and 4) say that in each encoder layer of a translation
# Transformer a few heads carry most of the *relevance* (how much of a predicted logit flows through a head), that
# *confidence* (how much of its attention a head puts on one token) ranks them alike, and that these are the heads whose
# function one can name.

# %% jupyter={"source_hidden": true} tags=["parameters"]
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

# %% jupyter={"source_hidden": true}
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from helpers import drawing
from helpers.corpora.describe import describe
from helpers.measures import figures, measured, ranks
from helpers.measures import said as notes
from helpers.measures.lrp import RULES
from helpers.measures.sentence import ONE_SENTENCE, said_of_sentence, share_by, share_over
from helpers.measures.table import named, shaped
from helpers.methods import l0
from helpers.publish import claims
from helpers.reading import count, ends, interval, listed, number, readable
from helpers.runs import outputs, subjects
from helpers.scores import intervals, scoring

drawing.style()
studied, few, resamples = subjects.study_models(run), run.settings["relevance"], run.settings["bootstrap"]
first = studied[0]

# %% jupyter={"source_hidden": true}
verdicts = claims.Box(run)
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## Is there anything for encoder heads to do?
#
# Relevance says where a prediction comes from, not whether it would have come anyway. Two models answer that: the first one
# with all its encoder heads *removed* and the rest of the encoder trained further, the decoder frozen (notebook 3), and one
# of its shape *trained without encoder attention*, from the first step on (setting `without_encoder`). The generator marks in
# every reference what case, agreement or word order decide, and makes free choices that no model can guess, so that full
# marks are out of reach. A model is named by its languages and the kind of its text: EN-RU news.

# %% jupyter={"source_hidden": true}
beam, bleu, accuracy, histories = run.settings["beam"], [], {}, {}
without = "trained without encoder attention"
for subject in studied:
    scored, accuracy[subject.title] = outputs.quality(subject, beam, resamples)
    bleu.append(scored.assign(printed=measured.PRINTED_BLEU.get(subject.name)))
    if subject.run:
        histories[subject.title] = pd.read_csv(subject.run.results / "history.csv")
leads, title = first.run and subjects.leads(run.settings, first.name), f"{first.title}, no encoder heads"
never = subjects.never_attending(run.settings, first.name).get(first.name) if leads else None
if never:
    control = subjects.of_name(run.settings, never, seed)
    scored, accuracy[title] = outputs.quality(control, beam, resamples, title)
    bleu.append(scored)
    histories[title] = pd.read_csv(control.run.results / "history.csv")
if leads:
    ways = [l0.runs.sweeps(run.settings, [subject.name], seed)[0]["runs"] for subject in studied]
    own_beam, both = run.settings["pruning"]["beam"], ("control", "floor")
    scored = [[outputs.recipe(l0.runs.run(way[name]), own_beam) for name in both] for way in ways]
    # notebook 3 has removed the encoder heads of some of the others
    removed = [s for s, pair in zip(studied, scored, strict=True) if s is first or all(one.made() for one in pair)]
    bleu += [l0.tables.removed_and_trained(run.settings, subject, resamples) for subject in removed]
bleu = pd.concat(bleu).set_index(["model", "test set"])
run.table(bleu.drop(columns="printed"), "bleu", beam=beam, over=intervals.SENTENCES)
own = bleu.xs(first.tests[0], level="test set")
display(
    readable(
        own.rename(index=lambda name: name.replace("trained on", "trained further").replace("no encoder heads", without)),
        {"model": "model", "bleu": "BLEU", "printed": "printed, EN-RU", "sentences": "n (sentences)"},
        {"bleu": ".1f", "printed": ".1f"},
        caption=f"BLEU, {first.tests[0]}, {f'beam search of {beam}' if beam > 1 else 'greedy search'}; the printed are of"
        " larger models on natural text",
    )
)
worth = stake = ""
if leads:
    least, further = claims.least_worth("relevance-confidence", run.corpus), run.settings["pruning"]["steps"]
    lost = {
        s.title: own.bleu[f"{s.title}, trained on"] - own.bleu[f"{s.title}, encoder heads removed, trained on"] for s in removed
    }
    by_removal = listed(f"{number(value, '.1f')} ({title_of})" for title_of, value in lost.items())
    gained = own.bleu[first.title] - own.bleu[title] if title in own.index else np.nan
    needs = (
        f"trained without them from the start, the model is {number(gained, '.1f')} BLEU worse. " if gained == gained else ""
    )
    how = f"the rest of the encoder trained for {further:,} further steps, the decoder frozen"
    said = f"Encoder heads of {first.title}: {needs}Removed from the trained model, {how}, they cost {by_removal} BLEU."
    if gained < least:
        said += (
            f" Below {least:g} BLEU the ledger judges no claim about them (*hollow*): by training without it would judge none."
        )
    said += " Removal is an upper end of what they are worth: a frozen decoder cannot adapt to their absence."
    display(Markdown(said))
    stake = f"Trained without encoder attention, {first.title} loses {number(gained, '.1f')} BLEU. " if gained == gained else ""
    stake += f"Removed from a trained model, the decoder frozen, it costs {by_removal}: an upper end."
    if rest := [subject.title for subject in studied if subject not in removed]:
        stake += f" {listed(rest)} were not tested this way; only {first.title} was trained without."
    worth = f"; {first.title}: {number(lost[first.title], '.1f')}"
    worth += f", by training without {number(gained, '.1f')}" if gained == gained else ""
if run.corpus == "controlled":
    counted = {title: scoring.enough(table) for title, table in accuracy.items()}
    run.table(pd.concat(counted, names=["model"]), "phenomena", beam=beam)
    if title in counted:
        gap, split = scoring.gap(counted[first.title], counted[title]), first.tests[-1]
        written = [outputs.written_by(subject, split, beam) for subject in (first, control)]
        gap = gap.join(scoring.gap_interval(*written, [pair.marks for pair in first.pairs(split)], resamples))
        run.table(gap, "needs_its_heads", beam=beam, over=intervals.SENTENCES)
        shown = {
            "phenomenon": "decided by",
            "marks, all heads": "all heads",
            "marks, without": without,
            "marks, gap": "gap",
            "n": "n (marks)",
        }
        digits = dict.fromkeys(("marks, all heads", "marks, without", "marks, gap"), ".1f")
        display(readable(gap.dropna(), shown, digits, caption=f"{first.title}: % of marks met, gap paired over sentences"))
        widest = gap.loc[gap["marks, gap"].idxmax()]
        of_all = f"{number(int(widest.n))} of {number(int(gap.n.sum()))} marks"
        spread = interval(*widest[["marks, gap", "marks, gap_low", "marks, gap_high"]], ".1f")
        display(Markdown(f"In this model *{widest.name}* depends most on them: gap {spread} ({of_all})."))

# %% [markdown]
# ## How relevance reaches a head (section 4, appendix A)
#
# Layer-wise relevance propagation (LRP) hands the relevance $R_j$ of an output of a layer down to its inputs, in proportion
# to what each of them added to it ($z_{ij}$), so that nothing is lost but what biases and softmax keep:
#
# $$R_i = \sum_j \frac{z_{ij}}{\sum_{i'} z_{i'j}} R_j$$
#
# For every target token it starts at the logit of the token that the model finds most likely; a head's relevance is what
# arrives at its output. The demonstration here uses the rule *conservative*: attention weights and the standard deviations in
# layer norms are held constant. (The headlines of this notebook use *LRP αβ*; all three rules stand below.) Its name says too
# much: it conserves relevance in attention only, biases take their share. Through one
# attention block of the encoder, x + f(norm(x)), that is twelve lines; each `R` but the first is $z_{ij} / z_j \cdot R_j$:


# %%
def through_block(x, gain, shift, eps, W_v, b_v, A, W_o, b_o, R):  # x, R: [words, d]
    scale = gain / np.sqrt(x.var(1, keepdims=True) + eps)
    n = (x - x.mean(1, keepdims=True)) * scale + shift  # what attention reads [words, d]
    v = n @ W_v.T + b_v  # values of all heads [words, all heads' numbers]
    written = np.hstack([a @ own for a, own in zip(A, np.split(v, len(A), 1), strict=True)])  # A: weights [heads, words, words]
    added = written @ W_o.T + b_o  # [words, d]
    past, R = R * x / (x + added), R * added / (x + added)  # past the block, and of what it adds: both [words, d]
    R = written * (R / added @ W_o)  # of what heads write [words, all heads' numbers]
    heads = R.sum(0).reshape(len(A), -1).sum(1)  # the relevance of each head [heads]
    R = v * np.hstack([a.T @ r for a, r in zip(A, np.split(R / written, len(A), 1), strict=True)])  # of values, shape of v
    R = n * (R / v @ W_v)  # of what attention reads [words, d]
    R = x * (R / n * scale - (R / n * scale).mean(1, keepdims=True))  # of x, through the norm [words, d]
    return heads, past + R


sentence = ONE_SENTENCE.value(first)
if sentence["block"]:  # Marian's and BART's norms stand behind their blocks
    own, fast = through_block(**sentence["block"])[0], sentence["fast"].loc[sentence["target"]]["encoder"][sentence["layer"]]
    apart = f"{abs(own - fast).max():.0e} logits apart at most, of {abs(own).max():.1f}"
    print(f"through_block, and what explains whole batches in the rest of the notebook: {apart}")
    assert np.allclose(own, fast, rtol=0, atol=1e-3 * abs(own).max())

# %% jupyter={"source_hidden": true}
apart = (sentence["heads"] - sentence["fast"]).abs().to_numpy().max()
print(f"all blocks of all tokens: {apart:.0e} logits apart at most, of {sentence['heads'].abs().to_numpy().max():.1f}")
run.figure(
    figures.through_a_sentence(sentence, sentence["target"]),
    "through_a_sentence",
    caption="Relevance (rule conservative) through one sentence: at source tokens after every layer, and of every head;"
    " between them where the most relevant head looks.",
    takeaway=said_of_sentence(sentence),
    sentences=sentence["of"],
)
explained = {s.title: {rule: measured.EXPLAINED.value(s, rule=rule, first=few) for rule in RULES} for s in studied}
address, even = (
    ("encoder", sentence["layer"], sentence["head"]),
    1 / len(sentence["heads"]["encoder"][sentence["layer"]].columns),
)
shares = [share_over(explained[first.title][rule], sentence, way) for rule, way in (("alpha_beta", "step"), ("cp", "ratio"))]
beside = f"For this word LRP αβ gives this head {number(share_by(first, sentence, 'alpha_beta'), '.1%')} of its layer. Over"
beside += f" {few} sentences it has {shares[0]} by LRP αβ, {shares[1]} by conservative, by size; even: {number(even, '.1%')}."
if sentence["block"]:
    word = abs(sentence["flow"][sentence["target"]][sentence["layer"] + 1]).argmax()  # as in the figure
    looks = pd.Series(sentence["block"]["A"][sentence["head"]][word], sentence["source"])
    sure = measured.FUNCTIONS.value(first, repeats=resamples)["confidence"].confidence[address]
    beside += f" It puts {number(looks.max(), '.2f')} of its attention on {looks.idxmax().replace('▁', '')!r} here; its mean"
    beside += f" confidence is {number(sure, '.2f')}."
if run.corpus == "controlled" and title in accuracy and "agreement" in counted[title].index:
    met = [number(100 * counted[which].accuracy["agreement"], ".1f") for which in (title, first.title)]
    beside += f" Agreement has other ways: the model {without} meets {met[0]} % of its marks, the one with it {met[1]} %."
display(Markdown(beside))

# %% [markdown]
# The sentence was chosen: of some thirty short ones, a single head carries most relevance of a whole word in it; elsewhere
# relevance flows past attention, from each word to itself. A Russian verb in the past tense agrees with its subject in gender
# ('выхлебала' is "drank up", feminine, as the cow is), and by this rule relevance passes from the verb to its subject through
# this head. Whether the form needs the head only removal tells: by then the decoder has written the subject, too.
# (␣ is a token that is a space alone.) The fast way ([signed.py](../helpers/measures/lrp/signed.py)) explains all tokens of a
# batch at once; both signed rules below use it, the default rule has its own
# ([alpha_beta.py](../helpers/measures/lrp/alpha_beta.py)).
#
# ### Three rules
#
# The paper does not say what to do with softmax, layer norm and biases. Three answers:
#
# - *LRP αβ* (`alpha_beta`), of the authors' later public code, our *default rule*: positive and negative parts ($z^+$, $z^-$)
#   apart, half to each (formula below); attention linearised in queries, keys and values; rescaled, so that nothing is lost.
#   Never negative: unlike with the usual αβ rule, contributions against the prediction count as relevance too. Part of why its
#   shares are so even may lie there.
# - *AttnLRP* (Achtibat et al. 2024): softmax linearised, products halved, standard deviations in layer norms
#   constant.
# - *conservative* (`cp`, Ali et al. 2022): the rule above. It and AttnLRP can be negative: the two *signed rules*.
#
# In *LRP αβ* the two parts of an output's inputs share its relevance, whatever the parts' sizes:
#
# $$R_i = \sum_j \frac{1}{2} \left( \frac{z_{ij}^+}{\sum_{i'} z_{i'j}^+} + \frac{z_{ij}^-}{\sum_{i'} z_{i'j}^-} \right) R_j$$
#
# A head's share is its relevance over that of its layer: at each target token and then averaged (*per token*, the paper's way),
# or *summed* over tokens first. The table shows where the relevance of the logits goes: a negative part speaks against the
# prediction, and the others then have more than all of it. It also shows how often a layer's sum at a token is negative or
# nearly zero; per token such a token outweighs all others.

# %% jupyter={"source_hidden": true}
untrained = {rule: measured.EXPLAINED.value(first, rule=rule, first=min(few, 50), untrained=True) for rule in RULES}
kept = {
    s.title: pd.DataFrame({rule: measured.CONSERVED.value(s, rule=rule, first=min(few, 20)) for rule in RULES}).T
    for s in studied
}
kept = run.table(pd.concat(kept).rename_axis(["model", "rule"]), "conservation", sentences=min(few, 20))
conditioned = run.table(measured.conditioning(explained | {"random weights": untrained}), "conditioning", sentences=few)
of_trained = conditioned.drop(index="random weights", level="model").groupby("rule", sort=False)
safe = kept.groupby("rule", sort=False)[["source", "target", "attention", "bias"]].mean()
safe = safe.join(of_trained.agg({"negative": "mean", "near_zero": "mean", "largest": "max"}))
safe["unsafe"] = safe.negative + safe.near_zero
safe["largest"] = [number(value, "%") if value <= 100 else "> 100 times the layer" for value in safe.largest]
safe = safe.rename(index=named)
readable(
    safe,
    {
        "rule": "rule",
        "source": "arrives at source words",
        "target": "at target words",
        "attention": "lost in attention",
        "bias": "kept by biases",
        "unsafe": "layer sums below or near zero",
        "largest": "largest share at a token",
    },
    dict.fromkeys(("source", "target", "attention", "bias"), "%") | {"unsafe": ".1%"},
    caption="Shares of the logits' relevance: the first four of a row add up to 100 %, but for rounding. Means over"
    f" {len(studied)} models, n = {min(few, 20)} sentences; layer sums n = {few}",
)

# %% [markdown]
# ## Relevance and confidence (figures 1 and 2)
#
# *Confidence* is the mean, over real tokens of the dev set, of the largest weight that the head puts on a real token; the
# end-of-sentence key and rows are left out. In the figure on top heads stand by the rank of their relevance in their layer: if
# the two ranked heads alike, the line would be the diagonal; if they had nothing in common, the dotted level. The maps show
# every head, a row a layer, sorted by relevance (written above the head's number) and coloured by the rank of its confidence: a
# row goes from dark to light as far as the two agree.

# %% jupyter={"source_hidden": true}
tables, functions = {}, {}
for subject in studied:
    confident, functions[subject.title] = measured.FUNCTIONS.value(subject, repeats=resamples).values()
    shown = explained[subject.title]["alpha_beta"].frame("step", resamples)
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
random_confidence = measured.DIFFUSE.value(first)
together = measured.relevance_and_confidence(explained, confidence, untrained, random_confidence)
run.table(together, "relevance_and_confidence", split="dev", explained=few)
whole = together[(together.kind == "encoder") & ((together.rule == "alpha_beta") | (together.normalised == "ratio"))]
whole = whole[(whole.weights == "random") | (whole.model == ("all models" if len(studied) > 1 else first.title))]
by_rank = ranks.confidence_by_rank(
    {title: (relevance[title], confidence[title]) for title in tables},
    (untrained["alpha_beta"].series("step"), random_confidence),
)
run.table(by_rank, "confidence_by_rank", split="dev", explained=few)
rho = {key: interval(*row[["rho", "low", "high"]]) for key, row in whole.set_index(["rule", "weights"]).iterrows()}
layers = [
    (relevance[t].sort_index().loc[at], confidence[t].sort_index().loc[at])
    for t in tables
    for at in {a[:2] for a in relevance[t].xs("encoder", drop_level=False).index}
]
same = sum(sought.idxmax() == sure.idxmax() for sought, sure in layers)
alike = {t: ranks.by_layer(relevance[t].xs("encoder"), confidence[t].xs("encoder")) for t in tables}
points = whole.set_index(["rule", "weights"]).rho
strong = ranks.strength(*whole[(whole.rule == "alpha_beta") & (whole.weights == "trained")].iloc[0][["rho", "low"]])
top, last = (by_rank.groupby("weights").value.agg(which) for which in ("first", "last"))
run.figure(
    figures.confidence_by_rank(by_rank, points["alpha_beta"].to_dict()),
    "confidence_by_rank",
    caption="Mean rank of confidence of heads by the rank of their relevance in their layer, trained and random weights.",
    takeaway=f"The most relevant head of a layer has on average rank {number(top.trained, '.1f')} of confidence, the least"
    f" relevant {number(last.trained, '.1f')}; with random weights {number(top.random, '.1f')} and"
    f" {number(last.random, '.1f')} (nothing in common: {by_rank.even[0]:g}).",
    table="confidence_by_rank",
    split="dev",
    explained=few,
    show=False,
)
run.figure(
    figures.relevance_and_confidence(relevance, confidence),
    "fig1_relevance_and_confidence",
    caption="Relevance and confidence of every encoder head, heads sorted by relevance within each layer.",
    answers="Voita et al., figures 1 and 2",
    takeaway=f"The most relevant head of a layer is its most confident one in {same} of {len(layers)} layers (by chance"
    f" {sum(1 / len(sure) for _, sure in layers):.0f}). Layers differ: Spearman {ends(pd.concat(alike), '.2f')}.",
    split="dev",
    explained=few,
)
late = [frame.sort_index().xs(("encoder", 0)) for frame in tables.values()]
rare = sum(frame.confidence[frame.relevance.idxmax()] < frame.confidence.median() for frame in late)
best_first = sum(rho.iloc[0] == rho.max() for rho in alike.values())
run.figure(
    figures.confidence_against_relevance(relevance, confidence),
    "confidence_against_relevance",
    caption="Confidence against relevance, a dot a head, the first layer in colour.",
    takeaway=f"The paper's exception, layer 1's most relevant head (ringed) being less confident than its median (line), is"
    f" seen in {rare} of {count(len(studied), 'model')}. Layer 1 agrees best of all in {best_first}: Spearman"
    f" {ends([rho.iloc[0] for rho in alike.values()], '.2f')}.",
    table="confident_heads",
    split="dev",
    explained=few,
)

# %% jupyter={"source_hidden": true}
apart = measured.above_random(whole)
readable(
    apart.set_index(pd.Index([measured.called(" ".join(way)) for way in apart.index], name="rule")),
    {"rule": "rule", "rho": "trained", "random": "random weights", "gap": "difference", "heads": "n (heads)"},
    {"heads": ".0f"},
    caption=f"{'All models' if len(studied) > 1 else first.title}: relevance with confidence, Spearman within layers. Beside"
    " one random model; the interval of the difference counts that of both (MOVER)",
)

# %% [markdown]
# *Summed* and *per token* as above. The claim holds if every rule shows it, and more of it than random weights do, since
# architecture alone gives some. Its test counts the interval of random weights, of which there is one model, and corrects for
# all tests of the paper (*Holm*).
#
# ## Do a few heads carry most of a layer?
#
# Heads of a layer in the order of their shares, added up, beside those of random weights and even shares. By a signed rule
# shares are compared by size without sign.

# %% jupyter={"source_hidden": true}
together = run.table(measured.few_heads(explained, untrained), "few_heads", split="dev", explained=few)
carried = notes.carried(together)
run.figure(
    figures.few_heads(together),
    "few_heads",
    caption="What part of a layer's relevance its largest heads carry together, by three rules, trained and random weights.",
    takeaway=f"Mean of layers: {'; '.join(carried)}.",
    table="few_heads",
    split="dev",
    explained=few,
)
dominant = run.table(measured.dominance(explained, untrained, resamples), "dominance", split="dev", explained=few)
p = intervals.holm(intervals.p_value(dominant.gap, dominant.gap_low, dominant.gap_high))
twice, larger = dominant.largest >= 2 * dominant.even, dominant.gap >= 0
above = dominant.assign(**{"twice at random": dominant["at random"] >= 2 * dominant.even, "by value": twice & larger})
above = above.assign(twice=twice, meets=twice & larger & (p < 0.05))
shares = above.groupby("rule", sort=False)[["largest", "even", "largest, random"]].mean()
layers_of, random_layers = above.groupby("rule", sort=False), above.loc[[above.index[0][0]]].groupby("rule", sort=False)
meets = layers_of.meets.sum()
display(
    readable(
        shares.join(layers_of[["twice", "by value"]].sum())
        .assign(random=random_layers["twice at random"].sum(), meets=meets)
        .rename(index=named),
        {
            "rule": "rule",
            "largest": "largest share",
            "largest, random": "largest, random weights",
            "random": f"random weights: twice an even share, of {random_layers.size().iloc[0]}",
            "twice": f"trained: twice an even share, of {layers_of.size().iloc[0]}",
            "by value": "and larger than random, by value: the verdict",
            "meets": "and significantly",
        },
        dict.fromkeys(("random", "twice", "by value", "meets"), ".0f") | {"largest": "%", "largest, random": "%"},
        caption="The largest head, mean of layers, and in how many layers it has twice an even share"
        f" ({number(2 * shares.even.iloc[0], '.0%')}); significantly: Holm's correction over the layers of all rules, 5 %",
    )
)
twice = above.xs("alpha_beta", level="rule").groupby("model", sort=False).twice.agg(["sum", "size"])
told = listed(f"{row['sum']} of {row['size']} ({model})" for model, row in twice.iterrows())
display(Markdown(f"By the default rule the largest head has twice an even share in {told} layers."))

# %% [markdown]
# The verdict on top asks one head for twice an even share and for more than in that layer of random weights, by value and
# without a test; how often random weights alone reach twice an even share stands beside. The next table counts confident
# heads: `0.8` is about the level at which the paper's positional heads lie.

# %% jupyter={"source_hidden": true}
spread = {
    title: {
        "heads": len(column.xs("encoder")),
        "above 0.8": int((column.xs("encoder") > 0.8).sum()),
        "median": column.xs("encoder").median(),
        "largest": column.xs("encoder").max(),
    }
    for title, column in (confidence | {"random weights": random_confidence}).items()
}
confident = run.table(pd.DataFrame(spread).T.rename_axis("model"), "confident_heads", split="dev")
whole_numbers = dict.fromkeys(("heads", "above 0.8"), ".0f")
readable(
    confident,
    {name: name if name != "heads" else "n (heads)" for name in ("model", *confident)},
    whole_numbers,
    {"above 0.8": "most", "median": "most", "largest": "most"},
    "Confidence of encoder heads",
)

# %% [markdown]
# ## Does relevance follow function?
#
# The paper reads its maps so: heads that matter have a function. Relevance in units of the layer's average head, by what the
# head does (notebook 2's verdicts: it keeps to one offset, looks at rare tokens, or finds a verb's subject or object, or the
# word of an adjective or adverb), in the layers that have heads with and heads without a function, and what functions shuffled
# among the heads of a layer would give. A difference would still not say that most relevant heads have a function: the table
# counts those that do not.

# %% jupyter={"source_hidden": true}
follows = ranks.follows_function(relevance, functions)
run.table(pd.DataFrame([follows]), "follows_function", explained=few, over=intervals.HEADS)
gain = interval(follows["difference"], follows["low"], follows["high"])
by_rule = {"alpha_beta": relevance} | {
    rule: {title: found[rule].series("ratio").abs() for title, found in explained.items()}
    for rule in RULES
    if rule != "alpha_beta"
}
each = {("all models", rule): ranks.follows_function(column, functions) for rule, column in by_rule.items() if len(studied) > 1}
each |= {
    (title, rule): ranks.follows_function({title: column[title]}, {title: functions[title]})
    for rule, column in by_rule.items()
    for title in column
}
each = pd.DataFrame(each).T.rename_axis(["model", "rule"])
run.table(each, "follows_function_by_model", explained=few, over=intervals.HEADS)
followed, in_models = notes.followed(each)
signed_too = [interval(*each.loc[(each.index[0][0], rule), ["difference", "low", "high"]], ".2f") for rule in ("attnlrp", "cp")]
chance = sum(found.xs("encoder").map(bool).groupby("layer").mean().sum() for found in functions.values())
drawn = f"; {follows['top'] - follows['top_none']} of {follows['layers']} most relevant heads have one"
drawn = "" if follows["left_out"] else drawn  # a layer whose heads all have one is not drawn
does = measured.count_roles(functions).sum(axis=1)
unseen = [which for which in ("positional", "rare") if not does[which]]
only = f"; none of {does['heads']} heads is {listed(unseen).replace(' and ', ' or ').replace('rare', 'a rare-token head')}"
only = f"{only}, all functions are syntactic" if unseen else ""
run.figure(
    figures.relevance_by_function(relevance, functions),
    "relevance_by_function",
    caption="Relevance of heads with and without a function, in layers that have both.",
    takeaway=f"In the {follows['layers']} layers that have both, heads with a function are more relevant by {gain} of the"
    f" average head (functions shuffled: {number(follows['null_low'], '.2f')} to {number(follows['null_high'], '.2f')}){drawn}."
    f" Of all {follows['top']}, {follows['top_none']} have none (by chance {follows['top'] - chance:.1f}).",
    table="follows_function",
    explained=few,
)
shown = each.assign(
    shuffled=[f"{number(row.null_low, '.2f')} to {number(row.null_high, '.2f')}" for row in each.itertuples()],
    idle=[f"{row.top_none:.0f} of {row.top:.0f}" for row in each.itertuples()],
)
beside = (shown.index.get_level_values("rule") == "cp") & (shown.index.get_level_values("model") != "all models")
readable(
    shown[~beside].rename(index=named, level="rule"),  # of single models by two of the three rules: all are in the file
    {
        "model": "model",
        "rule": "rule",
        "difference": "with minus without a function",
        "shuffled": "functions shuffled",
        "functional": "heads with one",
        "layers": "layers with both",
        "idle": "most relevant heads without one",
    },
    {"difference": ".2f", "functional": ".0f", "layers": ".0f"},
    caption="In units of a layer's average head (signed rules by size without sign); heads drawn anew within layers that have"
    " both, one training of each model; the last column counts all layers",
)

# %% [markdown]
# ## Do the rules agree, with each other and with themselves?
#
# Spearman correlation of ranks within each encoder layer, pooled over layers. If relevance were one quantity, the rules would
# rank heads alike. And a rule should rank them alike on other sentences: its ranking from n sentences of one half is held
# against that from the whole other half (median of thirty draws of halves). The paper does not say how large its dev set was.

# %% jupyter={"source_hidden": true}
columns = [*measured.relevance_columns(explained[first.title]).columns, "confidence"]
matrices = {title: ranks.rank_agreement(table[columns]) for title, table in tables.items()}
run.table(pd.concat(matrices).rename_axis(["model", "measure"]), "rule_agreement", explained=few)
settled = {
    (title, rule): ranks.settling(
        found[rule.partition(" ")[0]], [1, 2, 5, 10, 20, 50, 100, 200], normalise=rule.partition(" ")[2] or "step"
    )
    for title, found in explained.items()
    for rule in columns[:-1]
}
settled = run.table(
    pd.concat({key: frame.set_index("n") for key, frame in settled.items()}, names=["model", "rule"]),
    "settling",
    explained=few,
    over="draws of sentences",
)
order = ["alpha_beta", "attnlrp ratio", "cp ratio", "attnlrp step", "cp step"]
mean = pd.concat(matrices).groupby(level=1, sort=False).mean().loc[order, order]
last = settled.rho.groupby(["model", "rule"], sort=False).last()  # from half of all sentences
summed, again = ["attnlrp ratio", "cp ratio"], last[last.index.isin(["attnlrp step", "cp step"], level="rule")]
families = (
    f"the signed rules, summed, correlate at {number(mean.loc[*summed], '.2f')} with each other, at"
    f" {ends(mean.loc[summed, 'alpha_beta'], '.2f')} with LRP αβ. Divided per token their rankings correlate at"
    f" {ends(again, '.2f')} with those from other sentences"
)
curves = settled.rho.groupby(["n", "rule"]).median().unstack("rule")[order]
run.figure(
    figures.rules(mean, curves),
    "rule_agreement",
    caption="How far the rules of relevance rank heads alike, each other's and their own on other sentences.",
    takeaway=f"Two families: {families}.",
    explained=few,
)

# %% [markdown]
# ## A yardstick: the loss without the head
#
# Every measure above is a guess at what a head is worth. Here each head is removed alone, without further training, and the
# loss on dev sentences is measured again; for the first model its BLEU too. *Gradient importance*
# (Michel et al. 2019) stands beside: the size of the first-order term of that loss, which with its sign does not predict it
# (notebook 6).
# Notebook 6 asks how far this yardstick agrees with itself. No measure can rank heads whose removal changes nothing
# measurable. The two signed rules divided per token are in the table only: they do not repeat on other sentences (above), and
# loss and relevance are of the same ones.

# %% jupyter={"source_hidden": true}
truths = {s.title: measured.WITHOUT.value(s, first=few) for s in studied}
gradients = {s.title: measured.GRADIENT.value(s, first=few) for s in studied}
by_measure = {title: tables[title][columns].assign(**{"gradient, example": found}) for title, found in gradients.items()}
run.table(pd.concat(truths, names=["model"]), "leave_one_out", explained=few, over=intervals.SENTENCES)
agreed = {"loss, all models": measured.truth_agreement({title: frame.loss for title, frame in truths.items()}, by_measure)}
if held_out := run.settings["truth"]:
    without = measured.WITHOUT_BLEU.value(first, first=held_out, repeats=resamples)
    run.table(without, "leave_one_out_bleu", sentences=held_out, over=intervals.SENTENCES)
    agreed[f"loss, {first.title}"] = measured.truth_agreement({first.title: truths[first.title].loss}, by_measure)
    agreed[f"BLEU, {first.title}"] = measured.truth_agreement({first.title: without.bleu}, by_measure)
differ = measured.effects_that_differ({(title, seed): frame for title, frame in truths.items()})
run.table(differ, "effects_that_differ", explained=few)
told = pd.concat(agreed).rename_axis(["truth", "measure"])
run.table(told.assign(shown=measured.shown(differ, "encoder")), "truth_agreement", explained=few, over=intervals.HEADS)
by_all = told.loc["loss, all models"].sort_values("rho", ascending=False)
real = differ.xs("encoder", level="kind")
repeating = [name for name in [*columns, "gradient, example"] if name not in ("attnlrp step", "cp step")]
best = by_all[by_all.index.isin(repeating)]
overlap = " (intervals overlap)" if best.high.iloc[1:].max() >= best.low.iloc[0] else ""
admitted = notes.admitted(truths, measured.shown(differ, "encoder"))
run.figure(
    figures.rank_correlations({truth: found.loc[repeating].rename(index=measured.called) for truth, found in agreed.items()}),
    "truth_agreement",
    caption="How well each measure predicts what happens without a head.",
    takeaway=f"Highest: {measured.called(best.index[0])}, {interval(*best.iloc[0][['rho', 'low', 'high']], '.2f')}{overlap}."
    f" {admitted}",
    explained=few,
)
if held_out:
    repeats = last[first.title].rename(index=measured.called).to_dict()
    display(Markdown(measured.left_by_holm(told.loc[f"BLEU, {first.title}"], repeats, f"BLEU ({first.title})")))

# %% jupyter={"source_hidden": true}
own = real.loc[first.title].iloc[0]
print(
    f"{real.differ_holm.sum()} of {real['heads'].sum()} encoder heads change the loss significantly (Holm, 5 %, in each model),"
    f" {real.differ.sum()} by their own interval alone;\nin {first.title} {own.differ_holm} and {own.differ} of {own['heads']}:"
    f" each alone, {own['heads'] - own.differ_holm} of {own['heads']} show no effect after Holm"
    f" ({own['heads'] - own.differ} by their own interval)."
)
cost = ""
if held_out:
    worst = truths[first.title].loss.xs("encoder", drop_level=False).idxmax()
    cost = f"; {interval(*without.loc[worst, ['bleu', 'low', 'high']], '.1f')} BLEU, n = {held_out}"
    costly = without.join(truths[first.title].loss).sort_values("loss", ascending=False).head(6)
    encoders = costly.index.isin(["encoder"], level="kind").sum()
    costly = costly.rename(index={"cross": "cross-attention"}, level="kind")
    display(
        readable(
            costly,
            {
                "kind": "attention",
                "layer": "layer",
                "head": "head",
                "bleu": "BLEU lost without it",
                "loss": "rise of the loss, nats",
            },
            {"bleu": "+.1f", "loss": "+.3f"},
            {"bleu": "most", "loss": "most"},
            caption=f"{first.title}: the {len(costly)} heads of all types of attention whose absence raises the loss most"
            f" ({encoders} of them encoder heads); BLEU n = {held_out}, loss n = {few} sentences",
        )
    )

display(Markdown(notes.costliest(truths, first.title, tables[first.title], cost)))

# %% [markdown]
# ## The text and the models (section 3)
#
# The paper trains on millions of WMT pairs per language and, for the second register, on OpenSubtitles. The *controlled*
# corpus stands in for both: one small world told in English with gold dependencies, and in German, French and Russian with
# true agreement, case and word order; `news` long and in the third person, `subtitles` short and about me and you. On the
# *natural* track the text is real and its dependencies are a parser's.

# %% jupyter={"source_hidden": true}
registers = {}
for subject in studied:
    register = subject.title if run.corpus == "natural" else subject.name.partition("-")[2]
    registers.setdefault(register, subject)
described = {register: describe(subject.sentences) for register, subject in registers.items()}
if first.run:
    built = shaped(first.build(first.run.spec["model"], 0))
    trained = f"trained for {first.run.spec['training']['steps']:,} steps on {run.settings['train']:,} sentence pairs"
    print(f"{count(len(studied), 'model')}, each: {built}; {trained}.")
for register, subject in registers.items():
    print(f"{register}: {subject.sentences[0].source}\n{' ' * len(register)}  {subject.sentences[0].target}")
run.table(pd.DataFrame({register: parts["facts"] for register, parts in described.items()}).T, "corpus", split="dev")
lengths = {register: parts["facts"]["mean words"] for register, parts in described.items()}
persons = {register: parts["persons"].percent for register, parts in described.items()}
facts = pd.DataFrame(
    {"measure": ["mean length, words", *(f"subjects, {person} person, %" for person in ("1st", "2nd", "3rd"))]}
)
for register in registers:
    facts[f"{register}, here"] = [lengths[register], *persons[register]]
    if register in measured.PRINTED_TEXT:
        facts[f"{register}, printed"] = [measured.PRINTED_TEXT[register][name] for name in ("mean length", "1st", "2nd", "3rd")]
display(
    readable(
        facts.iloc[:, :7],
        forms=dict.fromkeys(facts.columns[1:7], ".0f"),
        caption="Dev text, beside the paper's (WMT and OpenSubtitles)",
    )
)
run.figure(
    figures.offsets(described),
    "fig3_offsets",
    caption="Where the partner of a word stands, relation by relation.",
    answers="Voita et al., figure 3",
    table="corpus",
    split="dev",
    show=False,
)

# %% jupyter={"source_hidden": true}
if histories:
    run.figure(
        drawing.training_curves(histories),
        "training_curves",
        caption="Loss on the dev set over the training of every model.",
        show=False,
    )
for kind in ("decoder", "cross"):
    pair = figures.relevance_and_confidence(relevance, confidence, kind)
    said = f"Relevance and confidence of every {drawing.KIND_TITLES[kind]}-attention head."
    run.figure(pair, f"relevance_and_confidence_{kind}", caption=said, split="dev", explained=few, show=False)

# %% [markdown]
# Further figures of this run are saved and not shown: the text's offsets (the paper's figure 3),
# training curves, relevance and confidence of decoder and cross-attention heads ([all figures](../figures/README.md)).
#
# ## In short

# %% jupyter={"source_hidden": true}
with_loss = {
    name: interval(*by_all.loc[name, ["rho", "low", "high"]]) for name in ("alpha_beta", "confidence", "gradient, example")
}
predicts = ranks.strength(by_all.rho["alpha_beta"], by_all.low["alpha_beta"])
ledger = next(one for one in claims.of_run(run.folder, run.corpus) if one.claim.id == "relevance-confidence")
titles = {rule: named(rule).removeprefix("relevance, ") for rule in RULES}
clear = notes.corrected(ledger.rows, titles) if {row.label for row in ledger.rows} <= {*RULES} else ""
elsewhere = notes.beyond(study.ROOT / "figures") if run.corpus == "controlled" else {}
loss_elsewhere = elsewhere.pop("loss", None)
also = f" Elsewhere {listed(f'{number(row[0])} ({name})' for name, row in elsewhere.items())}." if elsewhere else ""
fewer = f"{carried[0].partition(', random')[0]}); {carried[1].partition(' (')[0]}"
change, enough = f"{real.differ_holm.sum()} of {real['heads'].sum()} heads change it", measured.shown(differ, "encoder")
few_or_not = f"{change} significantly." if enough else f"Only {change} significantly: too few to judge."
told = [
    f"""**Do relevance and confidence rank heads alike? {strong.capitalize()} by the default rule:
{number(points["alpha_beta", "trained"])} (Spearman; random weights {number(points["alpha_beta", "random"])}).**{also}""",
    f"""**Do a few heads carry most of a layer? {fewer[:1].upper()}{fewer[1:]}.**""",
    f"""**Do the relevant heads have a function? {follows["top"] - follows["top_none"]} of the {follows["top"]} most relevant
have (by chance {chance:.1f}).**""",
    f"""**Does relevance predict the loss without a head? {predicts.capitalize()}: {number(by_all.rho["alpha_beta"])}.**
{few_or_not}""",
]
largest = {rule: [number(row[name], "%") for name in ("largest", "largest, random")] for rule, row in shares.iterrows()}
signed_rho = [rho[rule, "trained"] for rule in ("attnlrp", "cp")]
signed_too = [interval(*each.loc[(each.index[0][0], rule), ["difference", "low", "high"]], ".2f") for rule in ("attnlrp", "cp")]
large = "; ".join(f"{name} {interval(*row)}" for name, row in elsewhere.items())
large = f"Elsewhere, default rule, one training each: {large}; the small models here are the weak case." if large else ""
more = [
    """*Default rule*: LRP αβ, of the authors' later code, divided per token; *signed rules*: AttnLRP and conservative, summed
(below); *Holm*: corrected for all tests of the paper, 5 %; *EN-RU news*: a model, by its languages and text.""",
    f"""**Agreement.** By the default rule {rho["alpha_beta", "trained"]}, by the signed ones {listed(signed_rho)}. Above random
weights {clear}.{f" {large}" if large else ""} The paper's exception in the first layer appears
in {rare} of {count(len(studied), "model")}.""",
    f"""**A few heads.** {"; ".join(carried).capitalize()}. The largest alone has {largest["alpha_beta"][0]} (random weights
{largest["alpha_beta"][1]}), by the signed rules {listed(largest[rule][0] for rule in ("attnlrp", "cp"))}
({listed(largest[rule][1] for rule in ("attnlrp", "cp"))}).""",
    f"""**Functions.** Heads with one are more relevant by {gain} of their layer's average head, by the signed rules
{listed(signed_too)}. The difference lies above shuffled functions, its own interval above 0, {followed}{only}.""",
    f"""**The loss.** Relevance {with_loss["alpha_beta"]}, gradient importance {with_loss["gradient, example"]}. {admitted}
{f"On Europarl half do, and relevance correlates at {interval(*loss_elsewhere)}." if loss_elsewhere else ""}""",
    f"**At stake.** {stake}" if stake else "",
]
least = claims.least_worth("relevance-confidence", run.corpus)
every = each.xs(each.index[0][0], level="model")
closing = f"""
- *Relevance and confidence*: the most relevant head of a layer is its most confident one in {same} of {len(layers)} layers.
- *A few heads*: the largest has twice an even share in {
    listed(f"{row.twice} ({named(rule).removeprefix('relevance, ')})" for rule, row in layers_of[["twice"]].sum().iterrows())
} of {layers_of.size().iloc[0]} layers.
- *Functions*: heads with one are more relevant by {(every.low > 0).sum()} of {
    count(len(every), "rule")
}, by the default rule in
  {in_models} of {count(len(studied), "model")}; {follows["top_none"]} of the {follows["top"]} most relevant have none.
- *The loss without a head* (Spearman): relevance {with_loss["alpha_beta"]}, confidence {with_loss["confidence"]};
  {"" if enough else "only "}{change}.

*Limits.* {count(len(studied), "model")}, one training each; text is {"generated" if run.corpus == "controlled" else "natural"}.
Where encoder attention is worth little, heads are no evidence (our threshold: {least:g} BLEU by removal{worth}).

Read on: [notebook 2, head functions](02_head_functions.ipynb); [all claims and their rules](../docs/results.md); [differences
from the paper](../docs/differences.md); [figures](../figures/README.md). Code:
[alpha_beta.py](../helpers/measures/lrp/alpha_beta.py),
[signed.py](../helpers/measures/lrp/signed.py), [functions.py](../helpers/measures/functions.py),
[ranks.py](../helpers/measures/ranks.py).
"""
words, *details = filter(None, more)
details = claims.folded("The answers in detail: intervals, rules, models, what is at stake", "\n\n".join(details))
verdicts.fill("confidence_by_rank", closing, first="\n\n".join(told), more=f"{words}\n\n{details}")
