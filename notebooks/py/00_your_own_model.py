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
# [Michel et al. 2019](https://arxiv.org/abs/1905.10650) asked the gradient which attention heads of a translator and of BERT
# matter least. A fifth of the translator's heads could go, and `40 %` of BERT's, before scores visibly fell.
#
# We ask it of `SmolLM2-135M-Instruct`, a small language model with weights of four bits, and remove a quarter of its heads.
#
# **The gradient chooses well, but a quarter of the heads is not free.** *Perplexity* is the exponential of the mean loss of a
# token. At `43` a model is as unsure as if it guessed among `43` tokens. Here it rises from **43.2**<!-- 00/means
# choice="least important" fraction=0 perplexity:.1f --> to **52.4**<!-- 00/removed choice="least important" fraction=0.25
# perplexity:.1f -->. Without as many random heads of the same layers it rises to **75.3**<!-- 00/means
# choice="random, as many in each layer" fraction=0.25 perplexity:.1f -->, the mean of three draws; other draws give up to `96`.
# The page runs in a few minutes.
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

# %%
import numpy as np
import pandas as pd
from helpers import drawing, heads, measures, models, plots, study  # before torch: threads that wait then sleep
from helpers.measures.worth import by_layer  # importance divided by its norm over the layer
from helpers.runs import passages  # a text, cut into two halves
from helpers.scores.scoring import ratio_interval  # a ratio of sums, and its 95 % bootstrap interval
import torch
import transformers

transformers.utils.logging.disable_progress_bar()
drawing.style()
run = study.begin("00_your_own_model", globals())  # it keeps figures and tables
print(run.summary())

# %% [markdown]
# ## A model and a text
#
# SmolLM2 has `30` layers of `9` heads. Models of [many other families](../docs/use.md#what-was-checked) will do.
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
# Give every head $h$ a gate $g_h$, a number that multiplies what the head puts out, normally one. How steeply does the loss
# $L$, summed over a passage, move when a gate begins to close? At $g_h = 1$ that slope is $\partial L / \partial g_h$. The
# *importance* of a head is $|\partial L / \partial g_h|$, averaged over passages, in nats. One backward pass gives the slopes
# of all heads.


# %% tags=["method"]
def losses(model, batch):
    """Loss of each passage, in nats summed over its tokens, and how many tokens these are."""
    logits, labels = model(**models.inputs(batch), use_cache=False).logits, batch["labels"]
    if not model.config.is_encoder_decoder:  # a token is predicted from those before it
        logits, labels = logits[:, :-1], labels[:, 1:]
    each = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return each.view_as(labels).sum(1), (labels != -100).sum(1)


def importance(model, batches):
    """Mean over passages of |dL / dg| at g = 1, for every head."""
    slopes = []
    for batch in batches:
        ones = torch.ones(len(batch["labels"]), 1, device=model.device)  # a gate for each passage
        gates = {(site.kind, site.layer): ones.repeat(1, site.heads).requires_grad_() for site in heads.sites(model)}
        with heads.gate(model, gates):
            loss, _ = losses(model, batch)
        slopes.append(torch.cat(torch.autograd.grad(loss.sum(), list(gates.values())), dim=1))
    return pd.Series(torch.cat(slopes).abs().mean(0).tolist(), heads.index(model))


# %%
worth = importance(model, dev)
library = measures.importance(model, dev[:1], norm=None)  # by the library, of the first batch alone
print(study.compare(importance(model, dev[:1]), library, 1e-3 * library.max()))

# %% [markdown]
# Darker is more, on both sides. Dots: the least important quarter of heads. Frames: two heads that we look at below.

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
# `25` look there too, and are among the ten most important.<!-- holds: 00/head_table layer=25 head=7|9
# "attention to the first token" > 0.8 and rank > 260 --> In layers `1`, `2`, `11` and `12` (light) no head looks there
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
known = pd.read_csv(study.ROOT / "figures" / "pretrained" / "head_table.csv")  # WikiText, nats a token
nats = pd.cut(known["leave-one-out"], [-1, 0, 0.01, 0.05, 1], labels=["no rise", "up to 0.01", "0.01 to 0.05", "more"])
above = known["leave-one-out low"] > 0  # its 95 % interval over 20 passages
alone = pd.DataFrame({"heads": nats.value_counts(sort=False), "interval above zero": nats[above].value_counts(sort=False)})
alone.loc["all"] = alone.sum()
run.table(alone.rename_axis("rise of SmolLM2's loss"), "alone", over="passages")

# %% [markdown]
# **Few heads are missed much, but many a little.** Only **10**<!-- 00/alone "rise of SmolLM2's loss"=more heads:.0f --> of
# `270` raise the loss on WikiText by more than `0.05` nats, five percent of perplexity. The interval lies above zero for
# **112**<!-- 00/alone "rise of SmolLM2's loss"=all "interval above zero":.0f -->, where chance alone would give about `7`. The
# paper's test, of BLEU, is another.
#
# Now we close the gates of many heads at once, while SmolLM2 reads `test`. The rivals of the least important heads are random
# heads and those that look most at the first token. They go from anywhere, or as many from each layer as the gradient takes.
# The last rival is importance divided by its norm over the layer, as in the paper.
#
# Random heads are drawn three times: numbers are means of the draws, and intervals run from the lowest end to the highest.


# %%
def by_first_token(layer):
    """The values of a layer dealt anew: the smallest to the head that looks most at the first token, and so on."""
    most_first = first[layer.index].sort_values(ascending=False)
    return pd.Series(np.sort(layer), most_first.index)


chosen, ranking = "least important", worth  # a name, and any column of `table`: heads of its smallest values go
orders, layers = [(chosen, ranking)], ranking.groupby(level=["kind", "layer"])
for draw in [np.random.default_rng([seed, number]).permutation for number in range(3)]:
    orders.append(("random, as many in each layer", layers.transform(draw)))
    orders.append(("random, from anywhere", pd.Series(draw(ranking), ranking.index)))
orders.append(("first token, as many in each layer", layers.transform(by_first_token)))
orders += [("first token, from anywhere", -first), ("importance divided by layer, from anywhere", by_layer(worth))]


# %%
def read_test(model):
    """Losses of all passages of `test`, and how many tokens each has."""
    with torch.no_grad():
        parts = [losses(model, batch) for batch in test]
    return [torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True)]


def rise(order, share):
    """How much the loss of each passage rises without the first heads of an order."""
    with heads.gate(model, dict.fromkeys(order.nsmallest(int(share * total)).index, 0.0)):
        return read_test(model)[0] - whole


# %%
whole, tokens = read_test(model)
shares = sorted({0.0, 0.1, 0.2, 0.4, fraction})
removed = pd.DataFrame([(choice, share) for share in shares for choice, _ in orders], columns=["choice", "fraction"])
rises = np.stack([rise(order, share) if share else 0 * whole for share in shares for _, order in orders], axis=1)
ours = np.repeat(rises[:, :: len(orders)], len(orders), axis=1)  # by the first order; a row is a passage
for name, sums in {"rise": rises, "difference": rises - ours}.items():  # nats a token
    removed[[name, f"{name} low", f"{name} high"]] = np.transpose(ratio_interval(sums, tokens[:, None]))
if len(tokens) < passages.FEWEST:  # too few for intervals
    removed[[name for name in removed if name.endswith((" low", " high"))]] = np.nan

# %%
removed[["perplexity", "low", "high"]] = np.exp(whole.sum() / tokens.sum() + removed[["rise", "rise low", "rise high"]])
run.table(removed, "removed", over="passages")
ends = {"rise": "mean", "perplexity": "mean", "low": "min", "high": "max"}  # of the draws
ends |= {"difference": "mean", "difference low": "min", "difference high": "max"}
means = removed.groupby(["choice", "fraction"], sort=False).agg(ends).reset_index()
run.table(means, "means", over="passages, of random heads all draws together")
differences = means[means.fraction == fraction].set_index("choice").filter(like="difference")
wide = means[means.fraction > 0].pivot(index="choice", columns="fraction", values="perplexity").sort_values(fraction)
wide.add_prefix("perplexity ").join(differences).round(2)

# %% [markdown]
# *Difference*: how much more the loss rises than without our quarter, in nats a token on the same passages.

# %%
shown = means[means.choice.eq(chosen) | means.choice.str.endswith("as many in each layer")].copy()
shown["fraction"] += 0.004 * (pd.factorize(shown.choice)[0] - 1) * (shown.fraction > 0)  # so that bars stand side by side
lowest, top = means.perplexity.min(), 1.1 * shown[["perplexity", "high"]].max(axis=None)
look = {"labels": ("share of all heads that are removed", "perplexity (log scale)"), "falling": False, "level": lowest}
figure = plots.curve(shown, "fraction", "perplexity", "choice", ticks=[5 * 2**power for power in range(18)], **look)
(axis,) = figure.axes
axis.set_ylim(lowest * (lowest / top) ** 0.2, top)
for share, scored in ((0.2, "Michel et al.: translator"), (0.4, "Michel et al.: BERT")):
    axis.axvline(share, ymax=0.14, color="grey", lw=0.9, ls="--")
    axis.text(share - 0.005, 0.03, scored, ha="right", va="bottom", fontsize=8, transform=axis.get_xaxis_transform())
run.figure(figure, "removed", "What removing heads costs, by choice.", table="means")

# %% [markdown]
# *Bars: `95 %` intervals over passages. Dotted: no head removed. Dashed: up to here the paper's scores hardly fell.*
#
# **The gradient knows more than which layers matter.** Without its quarter perplexity is **52.4**<!-- 00/removed
# choice="least important" fraction=0.25 perplexity:.1f -->. Random quarters of the same layers cost **0.36**<!-- 00/means
# choice="random, as many in each layer" fraction=0.25 difference:.2f --> nats more, and no draw is as good.<!-- holds: 00/means
# choice="random, as many in each layer" fraction=0.1|0.2|0.25|0.4 "difference low" > 0 --> But even a tenth is not free.<!--
# holds: 00/removed choice="least important" fraction=0.1 low > 43.3 -->
#
# **Attention to the first token is a worse guide.** A quarter chosen by it costs **0.21**<!-- 00/means
# choice="first token, as many in each layer" fraction=0.25 difference:.2f --> nats more, with as many from each layer,<!--
# holds: 00/means choice="first token, as many in each layer" fraction=0.2|0.25|0.4 "difference low" > 0 --> and **0.59**<!--
# 00/means choice="first token, from anywhere" fraction=0.25 difference:.2f --> from anywhere.<!-- holds: 00/means
# choice="first token, from anywhere" fraction=0.1|0.2|0.25|0.4 "difference low" > 0 --> With as many from each layer it still
# beats every random draw, up to a quarter.<!-- holds: 00/means choice="first token, as many in each layer"
# fraction=0.1|0.2|0.25 perplexity < choice="random, as many in each layer" low -->
#
# **Dividing by layer does not help on this text.** At a quarter we see no difference,<!-- holds: 00/means
# choice="importance divided by layer, from anywhere" fraction=0.25 "difference low" < 0 and "difference high" > 0 --> elsewhere
# it costs more.<!-- holds: 00/means choice="importance divided by layer, from anywhere" fraction=0.1|0.2|0.4 "difference low" >
# 0 -->
#
# ## Save what is left
#
# We cut the heads out.

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
print(f"perplexity {np.exp(read_test(loaded)[0].sum() / tokens.sum()):.2f}")

# %% [markdown]
# **What is left loads without this project.** Its layers differ in their number of heads, so a short file of code lies in the
# folder, and `trust_remote_code=True` lets it run. The model is hardly smaller: a quarter of its heads holds `4 %` of its
# parameters.
#
# ## Change one line
#
# - `fraction = 0.4` removes `108` heads for good. Perplexity rises to **62.8**<!-- 00/removed choice="least important"
#   fraction=0.4 perplexity:.1f -->.
# - `seed = 2` or `3` draws other random heads. Without a quarter, as many in each layer, mean perplexity is then about `80` or
#   `96`: three draws are few.
# - In `importance`, `.mean(0).abs()` in place of `.abs().mean(0)` lets slopes of passages cancel. Without a quarter perplexity
#   is then about `75.5`, far above `52.4`.
# - Another model and text, and a folder for what is left:
#
# ```
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p text FILE -p save_to FOLDER
# ```
#
# ## What this does not show
#
# This is one small model, one short text and three random draws. On WikiText, too, the gradient beats the mean of three
# draws.<!-- holds: pretrained/compared by="gradient, example" heads=54 minus="random, same layers" high < -0.2 --><!-- holds:
# pretrained/compared by="gradient, example" heads=68 minus="random, same layers" high < -0.15 --> But
# [removing each head alone](../docs/pretrained.md#which-can-go) chooses still better there, at a pass for every head.<!--
# holds: pretrained/compared by=leave-one-out heads=68 minus="gradient, example" high < 0 --> Michel et al. scored translations
# and labels of sentences, which may forgive more.
