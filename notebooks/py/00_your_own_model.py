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
# # 0 · Which heads does your model need?
#
# [Notebook 1: relevance and confidence →](01_relevance_and_confidence.ipynb) · [all claims](../docs/results.md)
#
# Michel et al. ([2019](https://arxiv.org/abs/1905.10650)) switched off attention heads of trained models, and many were hardly
# missed. To choose these heads they asked the gradient how much each one matters.
#
# We ask it of `SmolLM2-135M-Instruct`, a small language model whose weights have been rounded to four bits, and remove a
# quarter of its heads.
#
# **The gradient chooses well, but a quarter of the heads is not free.** *Perplexity* is the exponential of the mean loss of a
# token. At `43` a model is as unsure as if it guessed among `43` tokens. Here it rises from **43.2**<!-- 00/means
# choice="least important" fraction=0 perplexity:.1f --> to **52.4**<!-- 00/removed choice="least important" fraction=0.25
# perplexity:.1f -->. Without as many random heads of the same layers it rises to **75.3**<!-- 00/means
# choice="random, as many in each layer" fraction=0.25 perplexity:.1f -->. Nothing is trained, and the page runs in a few
# minutes.
#
# Change the next cell for a model of your own.

# %% tags=["parameters"]
pretrained: str = "smollm2"  # the model: smollm2, a folder, or a Hub name
text: str = ""  # a text file; an encoder-decoder's lines are a source, a tab and its target; empty: English from scikit-learn
most: int = 100  # passages that are read of each half of the text, at most; fewer for a large model or a slow machine
fraction: float = 0.25  # of the heads that are removed for good
sentence: str = "The old doctor who lives next door sold her car to a student because she wanted a bicycle."  # heads look at it
device: str = "cpu"  # "cuda": your GPU; numbers then differ a little from those in the text
save_to: str = ""  # a folder for the model that is left; empty: it is gone when the notebook ends
profile: str = "laptop"  # where numbers are computed, as in the other notebooks
seed: int = 1  # of the random heads
overrides: str = ""  # settings to change
output: str = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus

# %% jupyter={"source_hidden": true}
import numpy as np
import pandas as pd
from helpers import drawing, heads, measures, models, plots, study  # before torch: threads that wait then sleep
from helpers.measures.worth import by_layer, losses_of_examples
from helpers.runs import passages
from helpers.scores.scoring import ratio_interval
import torch
import transformers

transformers.utils.logging.disable_progress_bar()
drawing.style()
run = study.begin("00_your_own_model", globals())
print(run.summary())

# %% [markdown]
# ## A model and a text
#
# SmolLM2 has `30` layers of `9` heads. Other models of these families will do: GPT-2, OPT, Llama, Mistral, Qwen, Gemma,
# Phi, GPT-NeoX, Marian, BART, mBART, Pegasus and T5.
#
# The text is scikit-learn's descriptions of its data sets, two thousand words, in passages of `64` tokens. The first half
# (`dev`) shows how much heads matter, the last half (`test`) what their removal costs.

# %%
model, tokenizer = models.load(pretrained)
model = model.float().to(device)
total = len(heads.index(model))
dev, test = passages.halves(model, tokenizer, text, most)
counts = [sum(len(batch["labels"]) for batch in half) for half in (dev, test)]
print(f"{type(model).__name__} has {total} heads. It reads {counts[0]} passages, then {counts[1]} others. The first is:")
print(tokenizer.decode(dev[0]["input_ids"][0]))

# %% [markdown]
# ## How much does each head matter?
#
# Give every head $h$ a gate $g_h$, a number that multiplies what the head puts out. Normally all gates are one. How steeply
# does the loss $L$, summed over a passage, move when a gate begins to close? That slope is $\partial L / \partial g_h$ at
# $g_h = 1$. The *importance* of a head is $|\partial L / \partial g_h|$, averaged over passages, in nats. One backward pass
# gives the slopes of all heads.


# %% tags=["method"]
def importance(model, batches):
    """Mean over passages of |dL / dg| at g = 1, for every head."""
    slopes = []
    for batch in batches:
        ones = torch.ones(len(batch["labels"]), 1, device=model.device)  # a gate for each passage
        gates = {(site.kind, site.layer): ones.repeat(1, site.heads).requires_grad_() for site in heads.sites(model)}
        with heads.gate(model, gates):
            logits, labels = model(**models.inputs(batch), use_cache=False).logits, batch["labels"]
        if not model.config.is_encoder_decoder:  # a token is predicted from those before it
            logits, labels = logits[:, :-1], labels[:, 1:]
        loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="sum")
        slopes.append(torch.cat(torch.autograd.grad(loss, list(gates.values())), dim=1))
    return pd.Series(torch.cat(slopes).abs().mean(0).tolist(), heads.index(model))


# %%
worth = importance(model, dev)
library = measures.importance(model, dev[:1], norm=None)  # the same from the library
print(study.compare(importance(model, dev[:1]), library, 1e-3 * library.max()))

# %% [markdown]
# Dots: the least important quarter of heads. Frames: two heads that we look at below.

# %%
two = {"smollm2": [("decoder", 16, 0), ("decoder", 13, 8)]}.get(pretrained, [worth.idxmax()])  # yours here, counted from zero
first = measures.head_table(model, dev, names=["first token"])["first token"]
table = pd.DataFrame({"importance": worth, "attention to the first token": first})
ranked = table.assign(rank=worth.rank()).rename(lambda n: n + 1, level="layer").rename(lambda n: n + 1, level="head")
run.table(ranked, "head_table")
least = worth.nsmallest(int(fraction * total)).index
units = {"importance": "importance,\nnats a passage", "attention to the first token": "share of attention\nto the first token"}
figure = plots.by_measure(table.rename(columns=units), least, log=units["importance"], frame=two)
run.figure(figure, "head_map", "Importance of heads, and first-token attention.", table="head_table")

# %%
from helpers.measures.ranks import correlation

resting = correlation(worth, first, within_layer=True)  # of ranks within layers; low and high: 95 % over heads
run.table(pd.DataFrame(resting, ["within layers"]).rename_axis("ranks"), "resting", over="heads").round(2)

# %% [markdown]
# **Heads that look at the first token tend to matter less.** Within layers the rank correlation is **-0.40**<!-- 00/resting
# ranks="within layers" rho:.2f -->.<!-- holds: 00/resting ranks="within layers" high < 0 --> But heads `7` and `9` of layer
# `25` rest there too, and are among the ten that the gradient ranks highest.<!-- holds: 00/head_table layer=25 head=7|9
# "attention to the first token" > 0.8 and rank > 260 --> In layers `1`, `2`, `11` and `12` (yellow) no head looks there
# much.<!-- holds: 00/head_table layer=1|2|11|12 head=* "attention to the first token" < 0.15 -->
#
# ## What does a head look at?
#
# We know two heads from [notebook 2](02_head_functions.ipynb), which tests heads on EWT, web texts with marked grammar. A row
# shows where a token looks.

# %%
read = tokenizer(sentence, return_tensors="pt").to(model.device)
read["labels"] = read["input_ids"]
words = [tokenizer.decode(token).strip() for token in read["input_ids"][0]]
maps = {place: models.head_weights(model, read, place).numpy() for place in two}
numbered = [f"{number} {word}" for number, word in enumerate(words, 1)]
weights = {(layer + 1, head + 1): pd.DataFrame(maps[kind, layer, head], numbered, numbered) for kind, layer, head in two}
run.table(pd.concat(weights, names=["layer", "head", "token"]), "attention")
run.figure(plots.attention(maps, words), "attention", "What two heads look at in one sentence.")

# %% [markdown]
# **The left head looks at the token before.** *Doctor* looks at *old* and *lives* at *who*.<!-- holds: 00/attention layer=17
# head=1 token="3 doctor" "2 old" > 0.8 --><!-- holds: 00/attention layer=17 head=1 token="5 lives" "4 who" > 0.8 --> In EWT it
# does so in **98 %**<!-- pretrained/positional model=smollm2 trees=ewt offset=-1 score:.0% --> of cases,<!-- holds:
# pretrained/positional model=smollm2 trees=ewt offset=-1 layer == 17 --> the best head with random weights in **35 %**<!--
# pretrained/positional model=smollm2 trees=ewt offset=-1 best_random:.0% -->.
#
# **The right head often looks back at whom or what the sentence has just named.** *To* looks at *car*, *who* at *doctor*,
# *wanted* at *she*<!-- holds: 00/attention layer=14 head=9 token="11 to" "10 car" > 0.8 --><!-- holds: 00/attention layer=14
# head=9 token="4 who" "3 doctor" > 0.8 --><!-- holds: 00/attention layer=14 head=9 token="16 wanted" "15 she" > 0.6 -->. For a
# verb that is often its subject: in EWT it finds that of **77 %**<!-- pretrained/syntactic model=smollm2 trees=ewt
# relation=nsubj direction="head to dependent" accuracy:.0% --> of **243**<!-- pretrained/syntactic model=smollm2 trees=ewt
# relation=nsubj direction="head to dependent" n:.0f --> verbs, a guess by distance that of **55 %**<!-- pretrained/syntactic
# model=smollm2 trees=ewt relation=nsubj direction="head to dependent" baseline:.0% -->.<!-- holds: pretrained/syntactic
# model=smollm2 trees=ewt relation=nsubj direction="head to dependent" layer == 14 --> In GUM, other texts, another head does
# best.<!-- holds: pretrained/syntactic model=smollm2 trees=gum relation=nsubj direction="head to dependent" layer != 14 -->
#
# ## What does it cost to remove heads?
#
# Michel et al. first removed one head at a time. Only `8` of a translator's `96` encoder heads changed its BLEU significantly.
# For SmolLM2 we did so on WikiText.

# %%
alone = pd.read_csv(study.ROOT / "figures" / "pretrained" / "head_table.csv")["leave-one-out"]  # nats a token
rises = pd.cut(alone, [-1, 0, 0.01, 0.05, 1], labels=["no rise", "up to 0.01", "0.01 to 0.05", "more"])
run.table(rises.value_counts(sort=False).rename_axis("rise of SmolLM2's loss").to_frame("heads"), "alone")

# %% [markdown]
# **One head alone is hardly missed.** Only **10**<!-- 00/alone "rise of SmolLM2's loss"=more heads:.0f --> of `270` raise the
# loss by more than `0.05` nats, five percent of perplexity. Without any one of **47**<!-- 00/alone
# "rise of SmolLM2's loss"="no rise" heads:.0f --> others it does not rise at all on this text.
#
# Michel et al. could remove `20 %` of the translator's heads, and `40 %` of BERT's, before scores visibly fell. We close the
# gates of SmolLM2's least important heads while it reads `test`.
#
# The rivals are random heads, drawn three times, and the heads that look most at the first token. They go from anywhere, or as
# many from each layer as the gradient takes. The last rival is importance divided by its norm over the layer, as in the paper.


# %%
def dealt(part):  # a layer keeps its values; the smallest goes to the head that looks most at the first token
    return np.sort(part)[(-first[part.index]).rank(method="first").astype(int) - 1]


chosen, ranking = "least important", worth  # a name, and any column of `table`: heads of its smallest values go
orders, layers = [(chosen, ranking)], ranking.groupby(level=["kind", "layer"])
for draw in [np.random.default_rng([seed, number]).permutation for number in range(3)]:
    orders.append(("random, as many in each layer", layers.transform(draw)))
    orders.append(("random, from anywhere", pd.Series(draw(ranking), ranking.index)))
orders.append(("first token, as many in each layer", layers.transform(dealt)))
orders += [("first token, from anywhere", -first), ("importance divided by layer, from anywhere", by_layer(worth))]

# %%
whole, tokens = losses_of_examples(model, test)  # of each passage, with all heads


def cost(order, share):
    """Rise of a token's loss without the first heads of an order, and its 95 % interval over passages."""
    if not share:
        return np.zeros(3)
    with heads.gate(model, dict.fromkeys(order.nsmallest(int(share * total)).index, 0.0)):
        losses, _ = losses_of_examples(model, test)
    return np.stack(ratio_interval(losses - whole, tokens))


# %%
shares = sorted({0.0, 0.1, 0.2, 0.4, fraction})
rows = [(choice, share, *cost(order, share)) for share in shares for choice, order in orders]
removed = pd.DataFrame(rows, columns=["choice", "fraction", "rise", "low", "high"])
removed[["perplexity", "low", "high"]] = np.exp(whole.sum() / tokens.sum() + removed[["rise", "low", "high"]])
if len(tokens) < passages.FEWEST:  # too few for intervals
    removed[["low", "high"]] = np.nan
run.table(removed, "removed", over="passages")
ends = {"rise": "mean", "perplexity": "mean", "low": "min", "high": "max"}  # of the draws
means = removed.groupby(["choice", "fraction"], sort=False).agg(ends).reset_index()
run.table(means, "means", over="passages, of random heads all draws together")
means[means.fraction > 0].pivot(index="choice", columns="fraction", values="perplexity").sort_values(fraction).round(1)

# %%
places = ("as many in each layer", "from anywhere")  # a panel each; our choice stands in both
parts = [means[means.choice.str.endswith(place) | means.choice.eq(chosen)].assign(heads=place) for place in places]
shown = pd.concat(parts).assign(choice=lambda rows: rows.choice.str.split(",").str[0])
shown["fraction"] += 0.006 * (pd.factorize(shown.choice)[0] - 1) * (shown.fraction > 0)  # so that bars stand side by side
lowest, labels = means.perplexity.min(), ("share of all heads that are removed", "perplexity (log scale)")
look = {"labels": labels, "falling": False, "level": lowest, "ticks": [5 * 2**power for power in range(18)]}

# %%
figure = plots.curve(shown, "fraction", "perplexity", "choice", panel="heads", columns=2, sharey=False, **look)
for axis, (_, part) in zip(figure.axes, shown.groupby("heads", sort=False), strict=True):
    top = 1.1 * part[["perplexity", "high"]].max(axis=None)
    axis.set_ylim(lowest * (lowest / top) ** 0.2, top)
    for share, scored in ((0.2, "translator"), (0.4, "BERT")):
        axis.axvline(share, ymax=0.14, color="grey", lw=0.9, ls="--")
        axis.text(share - 0.01, 0.02, scored, ha="right", va="bottom", fontsize=8, transform=axis.get_xaxis_transform())
run.figure(figure, "removed", "What removing heads costs, by choice.", table="means")

# %% [markdown]
# *Bars span `95 %` intervals over passages, of random heads those of all three draws. Dotted: no head removed. Dashed: up to
# here the paper's scores hardly fell.*
#
# **The gradient knows more than which layers matter.** Without its quarter perplexity is **52.4**<!-- 00/removed
# choice="least important" fraction=0.25 perplexity:.1f -->, without random quarters of the same layers **75.3**<!-- 00/means
# choice="random, as many in each layer" fraction=0.25 perplexity:.1f -->. But even a tenth is not free.<!-- holds: 00/removed
# choice="least important" fraction=0.1 low > 43.3 -->
#
# **Up to a quarter, attention to the first token helps to choose within layers, but not between them.** On the left, perplexity
# without its quarter is **64.9**<!-- 00/means choice="first token, as many in each layer" fraction=0.25 perplexity:.1f -->,
# less than by any random draw.<!-- holds: 00/means choice="first token, as many in each layer" fraction=0.1|0.2|0.25 perplexity
# < choice="random, as many in each layer" low --> On the right it is **94.7**<!-- 00/means choice="first token, from anywhere"
# fraction=0.25 perplexity:.1f -->, and random heads may be as good.<!-- holds: 00/removed choice="first token, from anywhere"
# fraction=0.25 high > 104.3 and low < 89.1 --> At `0.4` it is no better than chance on the left,<!-- holds: 00/means
# choice="first token, as many in each layer" fraction=0.4 perplexity > choice="random, as many in each layer" perplexity --> on
# the right far better.<!-- holds: 00/means choice="first token, from anywhere" fraction=0.4 high <
# choice="random, from anywhere" low --> From a fifth on the gradient beats both.<!-- holds: 00/means choice="least important"
# fraction=0.2|0.25|0.4 high < choice="first token, as many in each layer|first token, from anywhere" low -->
#
# **Dividing by layer does not help on this text.** A quarter then costs about as much,<!-- holds: 00/removed
# choice="importance divided by layer, from anywhere" fraction=0.25 low < 52.4 and high > 52.5 --> other shares more.<!-- holds:
# 00/means choice="importance divided by layer, from anywhere" fraction=0.1|0.2|0.4 perplexity > choice="least important" high
# -->
#
# ## Save what is left
#
# Now we cut the heads out for good.

# %%
import copy

smaller = heads.remove(copy.deepcopy(model), ranking.nsmallest(int(fraction * total)).index)
print(f"{total} heads -> {len(heads.index(smaller))}, {model.num_parameters():,} parameters -> {smaller.num_parameters():,}")

# %%
import tempfile

scratch = tempfile.TemporaryDirectory()
folder = save_to or scratch.name
heads.save(smaller, folder)
tokenizer.save_pretrained(folder)
plain = transformers.AutoModelForSeq2SeqLM if model.config.is_encoder_decoder else transformers.AutoModelForCausalLM
loaded = plain.from_pretrained(folder, trust_remote_code=True).to(device)
losses, _ = losses_of_examples(loaded, test)
print(f"perplexity {np.exp(losses.sum() / tokens.sum()):.2f}")

# %% [markdown]
# **What is left loads without this project.** Its layers differ in their number of heads, so a short file of code lies in the
# folder, and `trust_remote_code=True` lets it run. The model is hardly smaller: a quarter of its heads holds `4 %` of its
# parameters.
#
# ## Change one line
#
# - `fraction = 0.4` removes `108` heads for good, in four minutes. Perplexity rises to **62.8**<!-- 00/removed
#   choice="least important" fraction=0.4 perplexity:.1f -->.
# - In `importance`, `.mean(0).abs()` in place of `.abs().mean(0)` lets slopes of different passages cancel. Run from there on,
#   for three minutes. The check finds "not what the library computes any more", and without a quarter perplexity is about
#   `75.5`, as by chance.
# - Another model and text, and a folder for what is left, in a time that grows with both:
#
# ```
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p text FILE -p save_to FOLDER
# ```
#
# ## What this does not show
#
# This is one small model, one short text and three random draws. On WikiText, too, the gradient beats chance.<!-- holds:
# pretrained/compared by="gradient, example" heads=54 minus="random, same layers" high < -0.2 --><!-- holds: pretrained/compared
# by="gradient, example" heads=68 minus="random, same layers" high < -0.15 --> But [removing each head
# alone](../docs/pretrained.md#which-can-go) chooses still better there, at a pass for every head.<!-- holds:
# pretrained/compared by=leave-one-out heads=68 minus="gradient, example" high < 0 --> Michel et al. scored translations and
# answers, which may forgive more.
