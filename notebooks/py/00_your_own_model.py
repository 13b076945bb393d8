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
# This has a price. *Perplexity* is the exponential of the mean loss of a token. At `43` a model is as unsure as if it guessed
# among `43` tokens. Here it rises from **43.2**<!-- 00/means choice="least important" fraction=0 perplexity:.1f --> to
# **52.4**<!-- 00/removed choice="least important" fraction=0.25 perplexity:.1f -->. Without as many random heads of the same
# layers it rises to **75.3**<!-- 00/means choice="random, as many in each layer" fraction=0.25 perplexity:.1f -->, so the
# gradient chooses well. Nothing is trained, and the page runs in a few minutes.
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
# SmolLM2 has `30` layers of `9` heads. A folder or a Hub name does as well: GPT-2, OPT, Llama, Mistral, Qwen, Gemma, Phi,
# GPT-NeoX, Marian, BART, mBART, Pegasus or T5.
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
# gives the slopes of all heads. Michel et al. then divide by the norm over the heads of a layer. We try that below.


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
# Dots: the least important quarter. Frames: two heads that we look at below.

# %%
two = {"smollm2": [("decoder", 10, 1), ("decoder", 13, 8)]}.get(pretrained, [worth.idxmax()])  # yours here, counted from zero
first = measures.head_table(model, dev, names=["first token"])["first token"]
table = pd.DataFrame({"importance": worth, "attention to the first token": first})
ranked = table.assign(rank=worth.rank()).rename(lambda n: n + 1, level="layer").rename(lambda n: n + 1, level="head")
run.table(ranked, "head_table")
least = worth.nsmallest(int(fraction * total)).index
figure = plots.by_measure(table, least, log="importance", frame=two)
run.figure(figure, "head_map", "Importance of heads, and first-token attention.", table="head_table")

# %%
from helpers.measures.ranks import correlation

resting = correlation(worth, first, within_layer=True)  # of ranks within layers; low and high: 95 % over heads
each = table.groupby(level=["kind", "layer"]).corr("spearman").importance.xs(table.columns[1], level=-1)
resting |= {"layers": len(each), "below zero": (each < 0).sum()}
run.table(pd.DataFrame(resting, ["within layers"]).rename_axis("ranks"), "resting", over="heads").round(2)

# %% [markdown]
# **Heads that look at the first token tend to matter less.** Within layers the rank correlation is **-0.40**<!-- 00/resting
# ranks="within layers" rho:.2f -->.<!-- holds: 00/resting ranks="within layers" high < 0 --> It is below zero in **25**<!--
# 00/resting ranks="within layers" "below zero":.0f --> of SmolLM2's `30` layers. The first token is the resting place of
# attention in many language models.
#
# ## What does a head look at?
#
# We know two heads from the tests of notebook 2 on EWT, web texts with marked grammar. One finds the verb of an object more
# often than all others, one the subject of a verb. Each row shows where a token looks.

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
# **On the left, words look back at a verb.** *Her*, *car* and *to* look at *sold*,<!-- holds: 00/attention layer=11 head=2
# token="9 her" "8 sold" > 0.9 --><!-- holds: 00/attention layer=11 head=2 token="10 car" "8 sold" > 0.9 --><!-- holds:
# 00/attention layer=11 head=2 token="11 to" "8 sold" > 0.9 --> *next* and *door* at *lives*,<!-- holds: 00/attention layer=11
# head=2 token="6 next" "5 lives" > 0.5 --><!-- holds: 00/attention layer=11 head=2 token="7 door" "5 lives" > 0.5 --> *a
# bicycle* at *wanted*.<!-- holds: 00/attention layer=11 head=2 token="17 a" "16 wanted" > 0.5 --><!-- holds: 00/attention
# layer=11 head=2 token="18 bicycle" "16 wanted" > 0.5 --> But *a student* looks at *to*.<!-- holds: 00/attention layer=11
# head=2 token="12 a" "11 to" > 0.7 --><!-- holds: 00/attention layer=11 head=2 token="13 student" "11 to" > 0.7 --> Of the
# objects in EWT **93 %**<!-- pretrained/syntactic model=smollm2 trees=ewt relation=dobj direction="dependent to head"
# accuracy:.0% --> look at their verb. A guess by distance alone finds at most **37 %**<!-- pretrained/syntactic model=smollm2
# trees=ewt relation=dobj direction="dependent to head" baseline:.0% --> of these verbs. But the last verb before an object is
# its own in **99 %**<!-- pretrained/last_verbs trees=ewt accuracy:.0% -->, so the head may just look for that.<!-- holds:
# pretrained/syntactic model=smollm2 trees=ewt relation=dobj direction="dependent to head" layer == 11 -->
#
# On the right, *wanted* looks at its subject *she*, and *sold*, less firmly, at *doctor*. In EWT this head finds the subject
# of **77 %**<!-- pretrained/syntactic model=smollm2 trees=ewt relation=nsubj direction="head to dependent" accuracy:.0% --> of
# verbs, distance alone of **55 %**<!-- pretrained/syntactic model=smollm2 trees=ewt relation=nsubj
# direction="head to dependent" baseline:.0% -->.<!-- holds: pretrained/syntactic model=smollm2 trees=ewt relation=nsubj
# direction="head to dependent" layer == 14 --> *Lives* looks past *who*, its subject by EWT's grammar, at *doctor*.<!-- holds:
# 00/attention layer=14 head=9 token="5 lives" "3 doctor" > 0.8 -->
#
# Both heads stay when we remove a quarter. Of `270` heads, counted from the least important, they are number **188**<!--
# 00/head_table layer=11 head=2 rank:.0f --> and **147**<!-- 00/head_table layer=14 head=9 rank:.0f -->.
#
# ## What does it cost to remove heads?
#
# Michel et al. could remove `20 %` of a translator's heads, and `40 %` of BERT's, before their scores visibly fell. We close
# the gates of the least important heads, all at once, and let SmolLM2 read the other half of the text.
#
# For comparison we remove random heads, three times from anywhere, and three times as many in every layer as our choice takes.
# Last, we divide by layer, as Michel et al. do.

# %%
chosen, ranking = "least important", worth  # a name, and any column of `table`: heads of its smallest values go
orders = [(chosen, ranking)]
for draw in [np.random.default_rng([seed, number]).permutation for number in range(3)]:
    orders.append(("random, as many in each layer", ranking.groupby(level=["kind", "layer"]).transform(draw)))
    orders.append(("random, from anywhere", pd.Series(draw(ranking), ranking.index)))
orders.append(("importance divided by layer", by_layer(worth)))
whole, tokens = losses_of_examples(model, test)  # of each passage, with all heads


def cost(order, share):
    """Rise of a token's loss without the first heads of an order, and its 95 % interval over passages."""
    if not share:
        return np.zeros(3)
    with heads.gate(model, dict.fromkeys(order.nsmallest(int(share * total)).index, 0.0)):
        losses, _ = losses_of_examples(model, test)
    return np.stack(ratio_interval(losses - whole, tokens))


# %%
def priced(rows):
    """A table of rows (choice, share, rise, low, high), the interval turned into one of perplexity."""
    costs = pd.DataFrame(rows, columns=["choice", "fraction", "rise", "low", "high"])
    costs[["perplexity", "low", "high"]] = np.exp(whole.sum() / tokens.sum() + costs[["rise", "low", "high"]])
    if len(tokens) < passages.FEWEST:  # too few for intervals
        costs[["low", "high"]] = np.nan
    return costs


shares = sorted({0.0, 0.1, 0.2, 0.4, fraction})
removed = priced([(choice, share, *cost(order, share)) for share in shares for choice, order in orders])

# %%
run.table(removed, "removed", over="passages")
ends = {"rise": "mean", "perplexity": "mean", "low": "min", "high": "max"}  # of the draws
means = removed.groupby(["choice", "fraction"], sort=False).agg(ends).reset_index()
run.table(means, "means", over="passages, of random heads all draws together")
lowest, highest = means.perplexity.agg(["min", "max"])
ticks = [tick for tick in 1.25 * 2.0 ** np.arange(20) if lowest / 2 < tick < highest]
labels = ("share of all heads that are removed", "perplexity of what is left (log scale)")
look = {"labels": labels, "falling": False, "level": removed.perplexity[0], "ticks": ticks}

# %%
figure = plots.curve(means, "fraction", "perplexity", "choice", **look)
(axis,) = figure.axes
for share, kept in ((0.2, "translator\nkeeps its BLEU"), (0.4, "BERT\nkeeps its accuracy")):
    axis.axvline(share, color="grey", lw=0.9, ls="--", zorder=0)
    marked = f"Michel et al.'s {kept} up to here"
    axis.text(share - 0.003, 0.98, marked, ha="right", va="top", fontsize=8, transform=axis.get_xaxis_transform())
run.figure(figure, "removed", "What removing heads costs, by choice.", table="means")

# %% [markdown]
# *Bars span `95 %` intervals over passages, of random heads those of all three draws. Dotted: no head removed.*
#
# **The gradient knows more than which layers matter.** A quarter by its choice raises perplexity from **43.2**<!-- 00/means
# choice="least important" fraction=0 perplexity:.1f --> to **52.4**<!-- 00/removed choice="least important" fraction=0.25
# perplexity:.1f -->. Random quarters of the same layers raise it to **75.3**<!-- 00/means
# choice="random, as many in each layer" fraction=0.25 perplexity:.1f --> on average, those from anywhere to **106**<!--
# 00/means choice="random, from anywhere" fraction=0.25 perplexity:.0f -->. But even a tenth is not free.<!-- holds: 00/removed
# choice="least important" fraction=0.1 low > 43.3 -->
#
# On this text dividing by layer does not help. A quarter then costs about as much,<!-- holds: 00/removed
# choice="importance divided by layer" fraction=0.25 low < 52.4 --><!-- holds: 00/removed choice="importance divided by layer"
# fraction=0.25 high > 52.5 --> other shares more.<!-- holds: 00/means choice="importance divided by layer" fraction=0.1
# perplexity > 44.7 --><!-- holds: 00/means choice="importance divided by layer" fraction=0.2 perplexity > 48.2 --><!-- holds:
# 00/removed choice="importance divided by layer" fraction=0.4 low > 68.3 --> On WikiText it is now better, now worse
# ([notebook 6](06_do_measures_agree.ipynb)).<!-- holds: pretrained/compared by="gradient, example, by layer" heads=202
# minus="gradient, example" high < 0 --><!-- holds: pretrained/compared by="gradient, example, by layer" heads=135
# minus="gradient, example" low > 0 -->
#
# Heads that look at the first token tend to matter less. Should we rather remove those that look there most?

# %%
rows = [("most at the first token", fraction, *cost(-first, fraction))]
for number in range(3):
    draw = np.random.default_rng([seed, number]).permutation
    shuffled = (-first).groupby(level=["kind", "layer"]).transform(draw)
    rows.append((f"random heads of their layers, {number + 1}", fraction, *cost(shuffled, fraction)))
run.table(priced(rows), "rested", over="passages")[["choice", "perplexity"]].round(1)

# %% [markdown]
# **The gradient chooses far better.** Without the heads that look most at the first token SmolLM2's perplexity is **94.7**<!--
# 00/rested choice="most at the first token" perplexity:.1f -->.<!-- holds: 00/rested choice="most at the first token" low >
# 56.2 --> As many random heads of each of these layers cost **98**<!-- 00/rested choice="random heads of their layers, 1"
# perplexity:.0f
# --> to **178**<!-- 00/rested choice="random heads of their layers, 2" perplexity:.0f -->.<!-- holds: 00/rested
# choice="random heads of their layers, 3" perplexity > 98 --><!-- holds: 00/rested choice="random heads of their layers, 3"
# perplexity < 178 --> So the first token may tell heads of a layer apart, but far from as well as the gradient.
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
# folder, and `trust_remote_code=True` lets it run. The model is hardly smaller: a quarter of its heads is `4 %` of its
# parameters.
#
# ## Change one line
#
# - `fraction = 0.4` removes `108` heads for good, in four minutes. The perplexity rises to **62.8**<!-- 00/removed
#   choice="least important" fraction=0.4 perplexity:.1f -->.
# - In `importance`, `.mean(0).abs()` in place of `.abs().mean(0)` lets slopes of different passages cancel. Run from that cell
#   on; the check then says that the library computes something else. The perplexity without a quarter rises to about `75.5`, as
#   for random heads of the same layers.
# - Another model and text, and a folder for what is left:
#
# ```
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p text FILE -p save_to FOLDER
# ```
#
# ## What this does not show
#
# This is one small model with one short text and three random draws. On WikiText, too, the gradient beats random heads of the
# same layers.<!-- holds: pretrained/compared by="gradient, example" heads=54 minus="random, same layers" high < -0.2 --><!--
# holds: pretrained/compared by="gradient, example" heads=68 minus="random, same layers" high < -0.15 --> But [removing each
# head alone](../docs/pretrained.md#which-can-go) chooses still better there, at a pass for every head.<!-- holds:
# pretrained/compared by=leave-one-out heads=68 minus="gradient, example" high < 0 --> Michel et al. scored translations and
# answers, which may forgive more than perplexity does.
