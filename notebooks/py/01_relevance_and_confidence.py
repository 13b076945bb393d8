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
# # 1 · Do relevance and confidence tell which heads matter?
#
# [← your own model](00_your_own_model.ipynb) · [notebook 2, what heads do →](02_head_functions.ipynb) ·
# [all claims](../docs/results.md) · [figures](../figures/README.md)
#
# Voita et al. ([2019](https://arxiv.org/abs/1905.09418)) measure a head by *relevance*, the part of a word's score flowing
# through it, and by *confidence*, its mean largest weight on a token (not the end of sentence). There they agree "to a
# reasonable extent". Do they foretell what removing a head costs, and does *gradient importance*, how fast the loss changes
# with its output? Rules of relevance: *LRP αβ* (our *default*); *conservative* and *AttnLRP*, which can be negative
# (*signed*). A word *needs* heads without which it loses a tenth of its probability, *most* the costliest. Our models translate
# *generated* text of a made-up world, one Europarl (*natural*).

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
from copy import deepcopy

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display

from helpers import drawing, heads
from helpers.corpora.describe import describe
from helpers.measures import figures, measured, ranks
from helpers.measures import said as notes
from helpers.measures import sentence as example
from helpers.measures.functions import RELATIONS
from helpers.measures.lrp import RULES
from helpers.measures.table import named, shaped
from helpers.experiments import pruning
from helpers.methods import l0
from helpers.models import inputs
from helpers.publish import claims
from helpers.reading import count, ends, folded, interval, listed, number, readable
from helpers.runs import outputs, subjects
from helpers.scores import intervals, scoring

drawing.style()
studied, few, resamples = subjects.study_models(run), run.settings["relevance"], run.settings["bootstrap"]
first = studied[0]

# %% jupyter={"source_hidden": true}
verdicts = claims.Box(run)
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## How does relevance reach a head?
#
# Layer-wise relevance propagation (LRP) starts at the score of the predicted word, its logit, and walks down the network. Every
# output $j$ of a layer hands its relevance $R_j$ to the inputs $i$, in proportion to what each of them added to it, $z_{ij}$:
#
# $$R_i = \sum_j \frac{z_{ij}}{\sum_{i'} z_{i'j}} R_j$$
#
# The relevance of a head is what arrives at its output. The code does one attention block of the encoder, `x +
# attention(norm(x))`. It follows the rule *conservative* (Ali et al. 2022): attention weights and the deviations in layer norms
# count as constants. What a bias added stays with the bias and goes no further down.

# %% jupyter={"source_hidden": true}
sentence = example.ONE_SENTENCE.value(first)
model, passed = deepcopy(first.model).cpu().double(), sentence["block"]
batch = {name: value.cpu() for name, value in inputs(example.batch_of(first, sentence)).items()}
target, layer, head = (sentence[name] for name in ("target", "layer", "head"))
fast = torch.tensor(sentence["fast"].loc[target]["encoder"][layer].to_numpy())
pre_norm = bool(passed)
x, A, R = (torch.tensor(passed[name]) for name in ("x", "A", "R")) if pre_norm else [None] * 3


# %% tags=["method"]
def share(f, x, R):  # R_i = sum_j z_ij / z_j R_j: each output z_j of f hands its relevance to what went into it
    x = x.detach().requires_grad_()
    z = f(x)
    return x * torch.autograd.grad(z, x, R / z)[0]


def mix(values, A):  # what all heads write, side by side [words, d]; A: their attention weights [heads, words, words]
    return torch.cat([a @ own for a, own in zip(A, values.chunk(len(A), 1), strict=True)], 1)


# In one sentence of ours, x: what the block reads; A: its attention weights; R: relevance at its output; fast: our own result
def through_attention(module, x, A, R):  # from x + attention(norm(x)) to its heads and to x; x, R: [words, d]
    norm, value, out = module.self_attn_layer_norm, module.self_attn.v_proj, module.self_attn.out_proj
    deviation = (x.var(1, correction=0, keepdim=True) + norm.eps).sqrt()  # a constant, as A is
    read = norm(x)
    written = mix(value(read), A)
    past = share(lambda x: x + out(written), x, R)  # what passes the block by
    added = share(lambda a: x + a, out(written), R)  # what the block added
    R = share(out, written, added)  # back through the output matrix
    at_heads = R.sum(0).reshape(len(A), -1).sum(1)  # what arrives at each head
    R = share(value, read, share(lambda values: mix(values, A), value(read), R))
    return at_heads, past + share(lambda x: (x - x.mean(1, keepdim=True)) / deviation * norm.weight + norm.bias, x, R)


if pre_norm:  # as in our models; others have their norms behind the block
    own, below = through_attention(model.get_encoder().layers[layer], x, A, R)
    torch.testing.assert_close(own, fast, rtol=0, atol=1e-3)  # logits; the project's code, which does whole batches
    print("relevance in logits,", ", ".join(f"head {at}: {value:.2f}" for at, value in enumerate(own, 1)))

# %% [markdown]
# The same step, block after block, leads from one word of the translation down to the words of the source. Rows on top show
# where the relevance stands, the strip where the most relevant head looks, and the row below what every head gets.

# %% jupyter={"source_hidden": true}
run.figure(
    figures.through_a_sentence(sentence, target),
    "through_a_sentence",
    caption="Relevance (rule conservative) through one sentence: at source tokens after every layer, and of every head;"
    " between them where the most relevant head looks.",
    takeaway=example.said_of_sentence(sentence),
    sentences=sentence["of"],
)
elsewhere, natural, judged = {}, {}, {}  # of published runs
published = study.ROOT / "figures"
if run.corpus == "controlled":
    elsewhere, natural, judged = notes.beyond(published), notes.of_natural(published), notes.judged(published)
explained = {s.title: {rule: measured.EXPLAINED.value(s, rule=rule, first=few) for rule in RULES} for s in studied}
untrained = {rule: measured.EXPLAINED.value(first, rule=rule, first=min(few, 50), untrained=True) for rule in RULES}
apart = (sentence["heads"] - sentence["fast"]).abs().to_numpy().max()
beside = (
    f"In this one of {sentence['of']} short sentences one head carries more logits of a whole word than in any other. ␣ is a"
    " space alone. The project explains all tokens of a batch at once"
    f" ([signed.py](../helpers/measures/lrp/signed.py)); in this sentence its numbers are the naive ones to {apart:.0e} logits."
)
display(folded("More: how the sentence was chosen", beside))

# %% [markdown]
# ## Does the word need that head?
#
# Relevance says where a score comes from, not whether the word would have come anyway. So we take the head out: its output
# becomes zero, all else stays. The decoder is given the true words before this one.


# %% tags=["method"]
@torch.no_grad()
def next_word(layer=-1, head=0):  # probabilities of the target word, one head's output set to zero
    attention = model.get_encoder().layers[layer].self_attn
    own = slice(head * attention.head_dim, (head + 1) * attention.head_dim)

    def silence(module, given):
        written = given[0].clone()
        written[..., own] = 0
        return (written,)

    hook = attention.out_proj.register_forward_pre_hook(silence) if layer >= 0 else None
    logits = model(**batch).logits[0, target]
    if hook:
        hook.remove()
    return logits.softmax(-1)


for name, p in (("all heads", next_word()), (f"without layer {layer + 1} head {head + 1}", next_word(layer, head))):
    best = p.topk(3).indices.tolist()
    words = [word.strip("▁") for word in first.target.pieces(best)]
    print(f"{name}:", ", ".join(f"{word} {p[place]:.0%}" for word, place in zip(words, best, strict=True)))
cut = heads.remove(deepcopy(model), [("encoder", layer, head)])  # the project's code: its weights are gone
torch.testing.assert_close(next_word(layer, head), cut(**batch).logits[0, target].softmax(-1).detach(), rtol=0, atol=1e-6)

# %% jupyter={"source_hidden": true}
places = [(-1, -1), *sentence["heads"]["encoder"].columns]
probable = {place: next_word(*place) for place in places}
word = int(probable[-1, -1].argmax())
likeliest = [first.target.pieces([int(p.argmax())])[0].replace("▁", "") for p in probable.values()]
probable = pd.DataFrame({"probability": [float(p[word]) for p in probable.values()], "likeliest": likeliest})
probable.index = pd.MultiIndex.from_tuples(places, names=["layer", "head"])
display(Markdown(example.said_without(probable, sentence)))
needed = run.table(example.one_by_one(first), "words_and_heads", model=first.name, split="dev")
display(Markdown(example.said_of_words(needed, natural.get("words_and_heads"))))

# %% [markdown]
# ## Do relevance and confidence agree?
#
# For a whole model, relevance is a head's share of its layer, averaged over words. By the default rule, LRP αβ, what helps a
# word ($z^+$) and what hinders it ($z^-$) share relevance half and half, rescaled so that nothing is lost: never negative.
#
# $$R_i = \sum_j \frac{1}{2} \left( \frac{z_{ij}^+}{\sum_{i'} z_{i'j}^+} + \frac{z_{ij}^-}{\sum_{i'} z_{i'j}^-} \right) R_j$$
#
# The figure ranks the heads of each layer by both. The confidence of the most relevant one stands at the left.

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
same, there = (
    np.array(
        [
            (layer.idxmax() == sure[t].loc[layer.index].idxmax(), 1 / len(layer))
            for t in own
            for _, layer in own[t].xs("encoder", drop_level=False).groupby(level="layer")
        ]
    )
    for own, sure in ((relevance, confidence), (natural.get("relevance", {}), natural.get("confidence", {})))
)
beyond = f", on Europarl in {there.sum(0)[0]:.0f} of {len(there)}" if len(there) else ""
points = whole.set_index(["rule", "weights"]).rho
two = [
    {first.title: own[first.title]} | natural.get(name, dict([*own.items()][1:2]))
    for name, own in (("relevance", relevance), ("confidence", confidence))
]
alike_by = points["alpha_beta"].to_dict() | ({"natural": elsewhere["Europarl"][0]} if natural else {})
drawn = pd.concat([by_rank, natural["ranks"]]) if natural else by_rank
run.figure(
    figures.confidence_by_rank(drawn, alike_by),
    "confidence_by_rank",
    caption="Mean rank of confidence of heads by the rank of their relevance in their layer.",
    takeaway=notes.by_rank(drawn),
    table="confidence_by_rank",
    split="dev",
    explained=few,
)
most = (
    f"The most relevant head of a layer is also its most confident one in {same.sum(0)[0]:.0f} of {len(same)} layers"
    f" (by chance in {same.sum(0)[1]:.0f}){beyond}."
)
run.figure(
    figures.relevance_and_confidence(*two),
    "fig1_relevance_and_confidence",
    caption="Relevance and confidence of every encoder head, heads sorted by relevance within each layer.",
    answers="Voita et al., figures 1 and 2",
    takeaway=most,
    split="dev",
    explained=few,
    show=False,
)
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
apart = measured.above_random(whole)
apart = readable(
    apart.set_index(pd.Index([measured.called(" ".join(way)) for way in apart.index], name="rule")),
    {
        "rule": "rule",
        "rho": "trained, with sign",
        "random": "random weights",
        "gap": "difference",
        "size": "trained, by size",
        "heads": "n (heads)",
    },
    {"heads": ".0f"},
    caption=f"{'All models' if len(studied) > 1 else first.title}: relevance with confidence, Spearman within layers. Beside"
    " one random model; the interval of the difference counts that of both",
)
beside = (
    f"{most} The paper draws it as a [map of heads](../figures/{run.corpus}/{run.name}/fig1_relevance_and_confidence.png)."
    ' The verdict asks more than the paper\'s "reasonable extent": that every rule shows the agreement, and more of it than'
    " random weights do. *Summed*: over words before a head's share is taken; *per token*: shares are averaged."
)
display(folded("More: a map of heads, other rules of LRP, random weights", beside, apart))

# %% [markdown]
# ## Do a few heads carry a layer, whatever the rule?
#
# The paper does not say what LRP should do with softmax, layer norm and biases, so there are several rules. From here on we
# compare heads by the size of relevance, without its sign. The curves add up the heads of a layer, from the largest down.

# %% jupyter={"source_hidden": true}
together = run.table(measured.few_heads(explained, untrained), "few_heads", split="dev", explained=few)
run.figure(
    figures.few_heads(together, natural.get("few_heads")),
    "few_heads",
    caption="What part of a layer's relevance its largest heads carry together, by three rules, trained and random weights.",
    takeaway=notes.carried(together, natural.get("few_heads")),
    table="few_heads",
    split="dev",
    explained=few,
)

# %% [markdown]
# If relevance were one quantity, the rules would rank heads alike, and each would give the same ranking on other sentences.
# *Per token*, the paper's way, the signed rules (grey) hardly repeat, so theirs is *summed* over tokens before it is divided by
# the layer's sum.

# %% jupyter={"source_hidden": true}
columns = [*measured.relevance_columns(explained[first.title]).columns, "confidence"]
matrices = {title: ranks.rank_agreement(table[columns].abs()) for title, table in tables.items()}
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
mean = pd.concat(matrices).groupby(level=1, sort=False).mean().loc[order[:3], order[:3]]
there = natural["rules"].loc[order[:3], order[:3]] if natural else None
last = settled.rho.groupby(["model", "rule"], sort=False).last()  # from half of all sentences
again = last[last.index.isin(["attnlrp step", "cp step"], level="rule")]
curves = settled.rho.groupby(["n", "rule"]).median().unstack("rule")[order]
run.figure(
    figures.rules(mean, curves, there),
    "rule_agreement",
    caption="How far the rules of relevance rank heads alike, each other's and their own on other sentences.",
    takeaway=notes.ranked_alike(mean, there),
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
largest = readable(
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
kept = {
    s.title: pd.DataFrame({rule: measured.CONSERVED.value(s, rule=rule, first=min(few, 20)) for rule in RULES}).T
    for s in studied
}
kept = run.table(pd.concat(kept).rename_axis(["model", "rule"]), "conservation", sentences=min(few, 20))
rules = """- *LRP αβ*, our default rule: attention is linearised in queries, keys and values.
- *AttnLRP* (Achtibat et al. 2024) linearises softmax and halves products.
- *conservative* (Ali et al. 2022) is the rule shown above; it conserves relevance in attention only."""
again = (
    f"Divided per token, rankings by the signed rules correlate at {ends(again, '.2f')} with those from other sentences."
    " A ranking from n sentences of one half is held against that from the whole other half, median of thirty draws."
)
if natural:
    cases = natural["dominance"]
    meets = ((cases.largest >= 2 * cases.even) & (cases.gap >= 0)).sum()
    again += f"\n\nBy the verdict's rule a head of Europarl carries a layer in {meets} of {len(cases)} cases (layer, rule)."
display(folded("More: the three rules, the largest head of every layer", rules, again, largest))

# %% [markdown]
# ## Do relevant heads have a function?
#
# The paper reads its maps this way: heads that matter do something one can name. Notebook 2 looks for heads that look at a
# neighbour, at rare words, or along a dependency.

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
gaps = ranks.clear(each).unstack("rule", sort=False).drop(index="all models", errors="ignore").astype(bool)
clear_in = [f"by {named(rule).removeprefix('relevance, ')} {listed(gaps.index[gaps[rule]]) or 'none'}" for rule in RULES]
run.table(each, "follows_function_by_model", explained=few, over=intervals.HEADS)
does, there = measured.count_roles(functions).sum(axis=1), natural.get("follows")
kinds = {"a neighbour": does["positional"], "rare words": does["rare"], "a dependency": does[list(RELATIONS)].sum()}
kinds = [name for name, heads_of in kinds.items() if heads_of]
display(
    Markdown(
        f"In these models it finds heads for {listed(kinds)}{' only' * (0 < len(kinds) < 3)}: {does['heads'] - does['none']} of"
        f" {does['heads']} heads."
    )
)
run.figure(
    figures.relevance_by_function(
        relevance | natural.get("relevance", {}), functions | natural.get("functions", {}), [*natural.get("relevance", ())]
    ),
    "relevance_by_function",
    caption="Relevance (LRP αβ) of heads with and without a function, in layers that have both.",
    takeaway=notes.most_relevant(each.loc["all models" if len(studied) > 1 else first.title], there),
    table="follows_function",
    explained=few,
)
shown = each.assign(
    shuffled=[f"{number(row.null_low, '.2f')} to {number(row.null_high, '.2f')}" for row in each.itertuples()],
    idle=[f"{row.top_none:.0f} of {row.top:.0f}" for row in each.itertuples()],
)
beside = shown.index.get_level_values("model").isin(["all models"] * (len(studied) > 1))
beside |= shown.index.get_level_values("rule") == "alpha_beta"  # of single models by other rules: all are in the file
shown = readable(
    shown[beside].rename(index=named, level="rule"),
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
display(folded("More: model by model, other rules, shuffled functions", f"Clear {'; '.join(clear_in)}.", shown))
alone = each.xs("alpha_beta", level="rule").drop(index="all models", errors="ignore")
alone = alone if there is None else pd.concat([alone, there.to_frame("Europarl").T])
holds = ranks.clear(alone).astype(bool)
unsure = listed(f"{of} {interval(*row[['difference', 'low', 'high']])}" for of, row in alone[~holds].iterrows())

# %% [markdown]
# ## How much is all encoder attention worth?
#
# If a text can be translated without encoder attention, heads that matter are those this model came to use, not those the task
# needs. Two controls: a model *trained without* it from the start, and the trained model with all encoder heads *removed* and
# the rest of its encoder trained further (notebook 3).

# %% jupyter={"source_hidden": true}
beam, bleu, accuracy, histories = run.settings["beam"], [], {}, {}
without = "trained without encoder attention"
for subject in studied:
    scored, accuracy[subject.title] = outputs.quality(subject, beam, resamples)
    bleu.append(scored)
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
    bleu += [pruning.removed_and_trained(run.settings, subject, resamples) for subject in removed]
bleu = pd.concat(bleu).set_index(["model", "test set"])
run.table(bleu, "bleu", beam=beam, over=intervals.SENTENCES)
of_test = bleu.xs(first.tests[0], level="test set")
rows = [first.title, title, f"{first.title}, encoder heads removed, trained on"]
scores = readable(
    of_test[of_test.index.isin(rows)].rename(
        index=lambda name: name.replace("heads removed, trained on", "heads removed").replace("no encoder heads", without)
    ),
    {"model": "model", "bleu": "BLEU", "sentences": "n (sentences)"},
    {"bleu": ".1f"},
    caption=f"BLEU, {first.tests[0]}, {f'beam search of {beam}' if beam > 1 else 'greedy search'}",
)
lost, gained, of_natural = {}, np.nan, natural.get("bleu", ())
if leads:
    lost = {
        s.title: of_test.bleu[f"{s.title}, trained on"] - of_test.bleu[f"{s.title}, encoder heads removed, trained on"]
        for s in removed
    }
    gained = of_test.bleu[first.title] - of_test.bleu[title] if title in of_test.index else np.nan
least = claims.least_worth("relevance-confidence", run.corpus)
details = []
if lost:
    details.append(
        f"Where removing all encoder heads costs less than {least:g} BLEU, no claim about them gets a verdict (*hollow*)."
        + f" By training without encoder attention ({number(gained, '.1f')} BLEU) none would." * bool(gained < least)
    )
if run.corpus == "controlled":
    counted = {name: scoring.enough(table) for name, table in accuracy.items()}
    run.table(pd.concat(counted, names=["model"]), "phenomena", beam=beam)
if lost:
    loses, several = f"{number(lost[first.title], '.1f')} BLEU (one training)", natural.get("removed", pd.DataFrame())
    if first.title in several.index:
        *mean_of, trainings = several.loc[first.title]
        loses = f"{interval(*mean_of, form='.1f')} BLEU ({trainings:.0f} trainings)"
    display(Markdown(notes.worth(first.title, loses, gained, of_natural)))
registers = {}
for subject in studied:
    register = subject.title if run.corpus == "natural" else subject.name.partition("-")[2]
    registers.setdefault(register, subject)
described = {register: describe(subject.sentences) for register, subject in registers.items()}
if first.run:
    built = shaped(first.build(first.run.spec["model"], 0))
    trained = f"trained for {first.run.spec['training']['steps']:,} steps on {run.settings['train']:,} sentence pairs"
    details.append(f"{count(len(studied), 'model')}, each: {built}; {trained}.")
details += [
    f"*{register}*: {subject.sentences[0].source} → {subject.sentences[0].target}" for register, subject in registers.items()
]
run.table(pd.DataFrame({register: parts["facts"] for register, parts in described.items()}).T, "corpus", split="dev")
display(folded("More: the models, the text", scores, *details))
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
for kind in ("encoder", "decoder", "cross"):
    pair = figures.relevance_and_confidence(relevance, confidence, kind)
    said = f"Relevance and confidence of every {drawing.KIND_TITLES[kind]}-attention head."
    run.figure(pair, f"relevance_and_confidence_{kind}", caption=said, split="dev", explained=few, show=False)

# %% [markdown]
# ## Does relevance tell what removing a head costs?
#
# We now remove every head alone, without further training, and measure the loss on dev sentences. A measure of what matters
# should rank heads as this loss does. Gradient importance (Michel et al. 2019), its size averaged over sentences, takes one
# forward and backward pass over them. *Small*: a smaller model, of which notebook 6 has three trainings.

# %% jupyter={"source_hidden": true}
truths = {s.title: measured.WITHOUT.value(s, first=few) for s in studied}
gradients = {s.title: measured.GRADIENT.value(s, first=few) for s in studied}
by_measure = {title: tables[title][columns].abs().assign(**{"gradient, example": found}) for title, found in gradients.items()}
run.table(pd.concat(truths, names=["model"]), "leave_one_out", explained=few, over=intervals.SENTENCES)
agreed = {f"loss, {title}": measured.truth_agreement({title: frame.loss}, by_measure) for title, frame in truths.items()}
agreed["loss, all models"] = measured.truth_agreement({title: frame.loss for title, frame in truths.items()}, by_measure)
if held_out := run.settings["truth"]:
    without = measured.WITHOUT_BLEU.value(first, first=held_out, repeats=resamples)
    run.table(without, "leave_one_out_bleu", sentences=held_out, over=intervals.SENTENCES)
    agreed[f"BLEU, {first.title}"] = measured.truth_agreement({first.title: without.bleu}, by_measure)
differ = measured.effects_that_differ({(title, seed): frame for title, frame in truths.items()})
run.table(differ, "effects_that_differ", explained=few)
told = pd.concat(agreed).rename_axis(["truth", "measure"])
run.table(told.assign(shown=measured.shown(differ, "encoder")), "truth_agreement", explained=few, over=intervals.HEADS)
damage = ranks.confidence_by_rank({title: (relevance[title], truths[title].loss) for title in tables})
run.table(damage, "loss_by_rank", split="dev", explained=few)
real = differ.xs("encoder", level="kind").droplevel("seed")
judging = {"attnlrp ratio": "attnlrp", "cp ratio": "cp"}, ["alpha_beta", "cp", "attnlrp", "confidence", "gradient, example"]
frames = judged | {
    title if judged else f"{title}, training {seed}": told.loc[f"loss, {title}"]
    .rename(index=judging[0])
    .loc[judging[1]]
    .assign(differ=real.differ[title], holm=real.differ_holm[title])
    for title in truths
}
of_words = natural.get("words_and_heads", needed)
need, names = example.needing(of_words)
rivals = natural.get("gradient", gradients[first.title]), next(iter(natural.get("confidence", confidence).values()))
both = ("gradient importance,\none for all words", "confidence,\none for all words")
same = example.fixed(need, dict(zip(both, rivals, strict=True)))
run.figure(
    figures.two_questions(frames, pd.concat([names, same]), "Europarl " * bool(natural)),
    "two_questions",
    caption="How well each measure ranks the heads of a layer, and how often it names the head that a word needs most.",
    takeaway=notes.finding(need, names, same, rivals[0].xs("encoder", level="kind")),
    table="truth_agreement",
    explained=few,
    show=False,
)
groups, every = {}, {}
for title, frame in frames.items():
    groups.setdefault(title.partition(", training")[0], []).append(frame)
for title, trainings in groups.items():
    several = len(trainings) > 1
    differing, sure = (ends([frame[column].iloc[0] for frame in trainings]) for column in ("differ", "holm"))
    every[f"{title}{f', {len(trainings)} trainings' * several}, {differing} ({sure}) of {trainings[0].heads.iloc[0]}"] = [
        ends([frame.rho[name] for frame in trainings], ".2f")
        if several
        else interval(*trainings[0].loc[name, ["rho", "low", "high"]], form=".2f")
        for name in judging[1]
    ]
every = pd.DataFrame(every, pd.Index([named(name) for name in judging[1]], name="measure"))
beside = (
    "Spearman with the loss without a head, within layers, by size; behind, how many heads change it by single intervals (and"
    " after Holm's correction for all of them)"
)
display(readable(every, ["measure", *every], caption=beside))
also = []
if held_out:
    called = {"gradient, example": "gradient importance", "alpha_beta": "LRP αβ", "confidence": "confidence"}
    row = told.loc[f"BLEU, {first.title}"].loc[[*called], ["rho", "low", "high"]]
    said = listed(f"{called[name]} {interval(*values, form='.2f')}" for name, values in row.iterrows())
    open_ = bool((row.low < 0).all())
    also.append(f"By BLEU instead of the loss, {first.title} gives {said}{': we cannot tell' * open_}.")
if judged:
    place, frame = next(iter(judged.items()))
    said = (
        f"{interval(*frame.loc[rule, ['signed rho', 'signed low', 'signed high']], form='.2f')} ({name})"
        for rule, name in (("cp", "conservative"), ("attnlrp", "AttnLRP"))
    )
    also.append(f"With the sign, {place.partition(',')[0]} gives {listed(said)}. {notes.repeats(published)}")
display(Markdown(" ".join(also)))

# %% [markdown]
# ## In short

# %% jupyter={"source_hidden": true}
large = listed(f"{name} {interval(*row)}" for name, row in elsewhere.items())
more = f"Relevance (LRP αβ, unless named) with confidence elsewhere, one training each: {large}." if elsewhere else ""
found = example.needing(needed)[1]
rule, of = names.index[0], len(need)
trust = f": {rule} found it for {names.found[rule]} of {of} words (the best fixed head for {same.found.iloc[-1]})" * bool(of)
trust += f" of Europarl, and for {found.found[rule]} of {found.words[rule]} of generated text" * bool(natural and of)
answer, alike = notes.answered(elsewhere, frames, of_words), ends(whole[whole.weights == "trained"].rho, ".2f")
of_natural = [row[0] for name, row in elsewhere.items() if "Europarl" in name and "width" not in name]
alike += f" (Europarl {ends(of_natural, '.2f')})" * bool(of_natural)
note = (
    "Heads with a function, by model, LRP αβ: more relevant (above zero and shuffled functions) in"
    f" {listed(alone.index[holds])}; we cannot tell in {unsure}."
)
closing = f"""
{answer.partition("** ")[0].removesuffix("**")}** To learn which head one prediction needs most, remove each head in turn.
Relevance only suggests one{trust}. Say which rule you used.

Relevance and confidence correlate within layers at {alike} by rule. Heads with a function are clearly more relevant in
{holds.sum()} of {count(len(holds), "model")} (LRP αβ).

For pruning start with gradient importance: no propagation rule to choose ([notebook 6](06_do_measures_agree.ipynb) prunes by
every measure).

*Limits.* {count(len(studied), "model")} of {"generated text and one of Europarl" if natural else "this text"}, one training
each; beside them a small one, trained three times. Gradients of single words were not tried.

Next: [notebook 2, what heads do](02_head_functions.ipynb). Code: [alpha_beta.py](../helpers/measures/lrp/alpha_beta.py),
[signed.py](../helpers/measures/lrp/signed.py), [naive.py](../helpers/measures/lrp/naive.py).
"""
verdicts.fill("two_questions", closing, first=answer, more=more, note=note)
