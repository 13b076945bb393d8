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
# Michel et al. ([2019](https://arxiv.org/abs/1905.10650)) took trained models and switched heads off. Most heads were hardly
# missed. To choose which ones to cut they asked the gradient how much each head matters, which takes one backward pass for
# each batch of text.
#
# We ask it too, of a language model that people use: SmolLM2, with `30` layers of `9` heads. We measure its heads, look at two
# of them, remove a quarter for good, and load what is left as any other model. Nothing is trained. It takes two to three
# minutes on two free cores, and a minute or two more the first time.
#
# A quarter is not free. Perplexity rises from **43.2**<!-- 00/means choice="least important" fraction=0
# perplexity:.1f --> to **52.4**<!-- 00/removed choice="least important" fraction=0.25 perplexity:.1f -->. As many heads drawn
# at random from the same layers raise it to **75.3**<!-- 00/means choice="random, as many in each layer" fraction=0.25
# perplexity:.1f -->: the loss rises nearly three times as much.
#
# The next cell holds what you may want to change for [a model of your own](#Change-one-line).

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
from helpers.experiments import comparison
from helpers.measures.worth import losses_of_examples
from helpers.runs import passages
from helpers.scores.scoring import ratio_interval
import torch
import transformers

transformers.utils.logging.disable_progress_bar()
run = study.begin("00_your_own_model", globals())
print(run.summary())

# %% [markdown]
# ## A model and a text
#
# SmolLM2 comes from a Python package that holds its weights. It is `SmolLM2-135M-Instruct`, which was tuned to follow
# instructions, and its weights are stored in four bits.
#
# A folder or a Hub name does as well: of GPT-2, OPT, Llama, Mistral, Qwen, Gemma, Phi or GPT-NeoX, and of the encoder-decoders
# Marian, BART, mBART, Pegasus and T5. An encoder such as BERT, which Michel et al. also took, predicts no text and is refused.

# %%
model, tokenizer = models.load(pretrained)
model = model.float().to(device)
total, parameters = len(heads.index(model)), model.num_parameters()
print(f"{type(model).__name__}: {total} heads, {parameters:,} parameters")

# %% [markdown]
# The text is scikit-learn's descriptions of its data sets, about two thousand words of plain English. It
# is cut into passages of `64` tokens. Heads are measured on the `24` passages of the first half (`dev`). What their removal
# costs is measured on the `24` of the last half (`test`), which describes other data sets. One description lies on both sides
# of the cut.

# %%
dev, test = passages.halves(model, tokenizer, text, most)
count, others = (sum(len(batch["labels"]) for batch in half) for half in (dev, test))
print(f"{count} passages to measure heads on, {others} to test what is left. The first one:")
print(tokenizer.decode(dev[0]["input_ids"][0]))

# %% [markdown]
# ## How much does each head matter?
#
# Give every head $h$ a gate $g_h$: a number that multiplies what the head puts out. Normally all gates are one. *Gradient
# importance* asks how steeply the loss $L$ of a passage moves as a gate begins to close. $L$ is the sum over the tokens of the
# passage. Importance is the mean of $|\partial L / \partial g_h|$ over passages, at $g_h = 1$.


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


# %% [markdown]
# The library has this as `measures.importance(norm=None)`. Michel et al. also divide by the norm of each layer, which is the
# library's default; we try both below.

# %%
worth = importance(model, dev)
library = measures.importance(model, dev[:1], norm=None)
print(study.compare(importance(model, dev[:1]), library, 1e-3 * library.max()))

# %% [markdown]
# Three more measures only look at attention, and are shares between zero and one. A head's *confidence* is its largest weight,
# on average over tokens. Then there is its mean weight on the *first token* of a passage. *One distance* is how often its
# largest weight lies at its commonest distance. Layers and heads count from zero in code, and from one in tables, figures and
# text.

# %%
table = measures.head_table(model, dev, names=["confidence", "first token", "positional"]).drop(columns="functions")
table.insert(0, "importance", worth)
flat = table.reset_index()
flat = run.table(flat.assign(layer=flat.layer + 1, head=flat["head"] + 1).set_index(["kind", "layer", "head"]), "head_table")
columns = {"first token": "weight on first token", "positional": "at one distance"}
flat.sort_values("importance", ascending=False).rename(columns=columns).round(2).head(6)

# %%
drawing.style()
titles = {"importance": "importance (nats)", "first token": "weight on first token", "positional": "at one distance"}
shown = {titles.get(name, name): table[name] for name in table}
figure = plots.by_measure(shown, [titles["importance"]], mark=worth.nsmallest(int(fraction * total)).index)
run.figure(figure, "head_map", "Every head of the model by four measures; dots: the least important heads.")
ranks = {"all": table.rank(), "those of a layer": table.groupby(level=["kind", "layer"]).rank()}
for among, rank in ranks.items():
    print(f"rank correlation of confidence with importance among {among}: {rank.confidence.corr(rank.importance):.2f}")

# %% [markdown]
# **Confident heads are mostly less important**: the rank correlation is `-0.61` among all heads and `-0.35` within layers,
# where it is positive in `7` of `30`. Confident heads mostly rest on the first token, an *attention sink*. Cutting the least
# confident quarter [ruins the model](../docs/pretrained.md#which-can-go), but so do random heads of the same layers.<!-- holds:
# pretrained/compared by=confidence heads=68 minus="random, same layers" low < 0 --><!-- holds: pretrained/removed_at_once
# by=confidence fraction=0.25 random="same number a layer" change_low > 5 -->
#
# A few heads of the first two layers matter most. Most heads of the quarter that matters least (dots) stand in the last ten
# layers. But layer `25` rests on the first token most, and yet has three of the four heads that matter most in the upper
# half.<!-- holds: 00/head_table layer=25 head=8 importance > 2.3 --><!-- holds: 00/head_table layer=20 head=1
# importance < 2.3 -->
#
# ## What does a head look at?
#
# Here are two heads on a sentence that we made up. On the treebank EWT layer `11`, head `2` is the best at finding the verb of
# an object: in **93 %**<!-- pretrained/syntactic model=smollm2 trees=ewt relation=dobj direction="dependent to head"
# accuracy:.0% --> of cases, where the best fixed distance finds **37 %**<!-- pretrained/syntactic model=smollm2 trees=ewt
# relation=dobj direction="dependent to head" baseline:.0% -->.<!-- holds: pretrained/syntactic model=smollm2 trees=ewt
# relation=dobj direction="dependent to head" layer == 11 --> Layer `14`, head `9` is best at the subject of a verb:
# **77 %**<!-- pretrained/syntactic model=smollm2 trees=ewt relation=nsubj direction="head to dependent" accuracy:.0% -->
# against **55 %**<!-- pretrained/syntactic model=smollm2 trees=ewt relation=nsubj direction="head to dependent"
# baseline:.0% -->.<!-- holds: pretrained/syntactic model=smollm2 trees=ewt relation=nsubj direction="head to dependent"
# layer == 14 --> On another treebank only the first is best ([notebook 2](02_head_functions.ipynb)). A row is a token that
# looks, and shows where its attention goes. A token sees itself and what stands before it.

# %%
two = {"smollm2": [("decoder", 10, 1), ("decoder", 13, 8)]}.get(pretrained, [worth.idxmax()])  # yours here
read = {**tokenizer(sentence, return_tensors="pt").to(model.device)}
words = [tokenizer.decode(token).strip() for token in read["input_ids"][0]]
maps = []
for kind, layer, head in two:
    weights = models.head_weights(model, read | {"labels": read["input_ids"]}, (kind, layer, head)).numpy()
    maps.append({"title": f"layer {layer + 1}, head {head + 1}", "weights": weights, "rows": words, "columns": words})
run.figure(plots.attention(maps), "attention", "What two heads look at in one sentence.", table="head_table")

# %% [markdown]
# In the left head *her car* looks at *sold*, and *a bicycle* at *wanted*: objects look at their verbs. But *to* looks at *sold*
# as well, *a student* at *to*, and *next door* at *lives*. Here it looks like a head for the verb or preposition whose phrase a
# word is in.
#
# In the right one *wanted* looks at *she*, and *lives* at *doctor*, whom *who* stands for. *Sold* gives *doctor* less than half
# of its weight. And *door* looks at *doctor* too, and *she* at *student*. So a name such as "subject head" says
# what a head is best at, and not all that it does. Where no word fits, heads rest on the first token.
#
# ## What does it cost to remove heads?
#
# We close the gates of the least important heads, all at once, and let the model read the other half of the text. *Perplexity*
# is the exponential of the mean loss of a token: at a perplexity of `50` the model does as well as one that guesses among `50`
# equally likely tokens.
#
# For comparison we draw heads at random, three times. Layers differ, so each draw removes as many heads of every layer as our
# choice does: it shuffles importance within layers.

# %%
chosen, ranking = "least important", worth  # heads of least `ranking` go: any column of the table, and a name for figures
layers = ranking.groupby(level=["kind", "layer"])
orders = [(chosen, ranking), ("least important, divided by layer norm", measures.importance(model, dev))]
for draw in range(3):
    shuffled = layers.transform(np.random.default_rng([seed, draw]).permutation)
    orders.append(("random, as many in each layer", shuffled))

# %%
whole, tokens = losses_of_examples(model, test)  # of each passage


def cost(order, share):
    """Rise of the loss without the first heads of an order, in nats a token, with a 95 % interval over passages."""
    with heads.gate(model, dict.fromkeys(order.nsmallest(int(share * total)).index, 0.0)):
        losses, _ = losses_of_examples(model, test)
    rise, low, high = (float(part) for part in ratio_interval(losses - whole, tokens))
    return (rise, low, high) if len(tokens) >= passages.FEWEST else (rise, np.nan, np.nan)


# %%
fractions = sorted({0.0, 0.1, 0.2, 0.4, fraction})
rows = [(choice, share, *cost(order, share)) for share in fractions for choice, order in orders]
removed = pd.DataFrame(rows, columns=["choice", "fraction", "rise", "low", "high"])
removed["perplexity"] = np.exp(whole.sum() / tokens.sum() + removed.rise)
removed = run.table(removed, "removed", over="passages")

# %%
random = "random, as many in each layer"
drawn = removed.choice == random  # their bars go from the best draw to the worst
bars = removed.assign(low=removed.low.where(~drawn, removed.rise), high=removed.high.where(~drawn, removed.rise))
grouped = bars.groupby(["choice", "fraction"], sort=False)
means = grouped.agg({"rise": "mean", "low": "min", "high": "max", "perplexity": "mean"}).reset_index()
run.table(means, "means", over="passages")
means[means.fraction > 0].pivot(index="choice", columns="fraction", values=["rise", "perplexity"]).round(2)

# %%
names = {"gradient, example": "least important", "leave-one-out": "least by leave-one-out", "random": random}
wiki = comparison.on_wikitext(names, by="gradient, example", most=100 * max(fractions))
both = pd.concat([means.assign(percent=100 * means.fraction, text="this text"), wiki.assign(text="SmolLM2 on WikiText")])
labels = ("% of all heads that are removed", "rise of the loss (nats a token)")
figure = plots.curve(both, "percent", "rise", "choice", panel="text", labels=labels, falling=False, level=None, columns=2)
run.figure(figure, "removed", "What removing heads costs, by choice.", table="means", over="passages")

# %% [markdown]
# *Bars of random heads span three draws, on WikiText with their intervals. Other bars are `95 %` intervals over passages.
# Random heads are of the layers of the least important. On WikiText each share has draws of its own, so their mean can fall.*
#
# **The gradient knows more than which layers matter.** Without the quarter of least importance the loss rises by **0.19**<!--
# 00/removed choice="least important" fraction=0.25 rise:.2f --> nats a token, without a random quarter by **0.56**<!-- 00/means
# choice="random, as many in each layer" fraction=0.25 rise:.2f -->. On WikiText it wins, too.<!-- holds:
# pretrained/compared by="gradient, example" heads=54 minus="random, same layers" high < -0.2 --><!-- holds: pretrained/compared
# by="gradient, example" heads=68 minus="random, same layers" high < -0.15 -->
#
# **But nothing is free.** A tenth of the heads costs **0.03**<!-- 00/removed choice="least important" fraction=0.1 rise:.2f -->
# nats,<!-- holds: 00/removed choice="least important" fraction=0.1 low > 0 --> and on WikiText even a twentieth
# **0.02**<!-- pretrained/drawn_at_once by="gradient, example" random= fraction=0.05 change:.2f -->.<!-- holds:
# pretrained/drawn_at_once by="gradient, example" random= fraction=0.05 change_low > 0 --> Michel et al. could remove `20 %` of
# a translator's heads and `40 %` of BERT's before BLEU or accuracy fell; these may forgive more than the loss does. Dividing by
# the norm of the layer, as they do, helps nowhere here.<!-- holds: 00/removed
# choice="least important, divided by layer norm" fraction=0.4 rise > 0.5 --><!-- holds: 00/removed choice="least important"
# fraction=0.4 rise < 0.4 -->
#
# Would another text choose the same heads?

# %%
folder = study.ROOT / "figures" / "pretrained"  # SmolLM2 on WikiText
known = pd.read_csv(folder / "head_table.csv").assign(kind="decoder")
known = known.set_index([known.kind, known.layer - 1, known["head"] - 1])
gone = ranking.nsmallest(int(fraction * total)).index
choices = [("least important on WikiText", known["gradient, example"]), *(one for one in orders if one[0] == random)]
same = [(name, order.nsmallest(len(gone)).index.isin(gone).sum(), len(gone)) for name, order in choices]
shared = pd.DataFrame(same, columns=["choice", "shared", "of"]).groupby("choice", sort=False).mean()
run.table(shared, "shared").round(1)

# %% [markdown]
# **Mostly.** On WikiText the gradient chooses **47**<!-- 00/shared choice="least important on WikiText" shared:.0f --> of the
# same `67` heads. But random heads of the same layers share **38**<!-- 00/shared choice="random, as many in each layer"
# shared:.0f -->.
#
# ## Is one head at a time not better?
#
# The sure way to learn what a head is worth is to remove it alone (*leave-one-out*). Of a translator's `96` encoder heads
# Michel et al. found eight whose removal changed BLEU clearly, half of them for the better. For SmolLM2 on WikiText this took
# [`105` minutes](../docs/pretrained.md), so we read the result:

# %%
alone, gradient = known["leave-one-out"], known["gradient, example"]
counts = {"heads": len(alone), "lower the loss": int((alone < 0).sum()), "half cost less than": alone.median()}
run.table(pd.DataFrame([counts]), "one_at_a_time").round(3)

# %% [markdown]
# **One alone, most heads are hardly missed**, as Michel et al. say: half of them cost less than about **0.005**<!--
# 00/one_at_a_time "half cost less than":.3f --> nats. Leave-one-out chooses better. Its quarter costs
# **0.17**<!-- pretrained/drawn_at_once by=leave-one-out random= fraction=0.25 change:.2f --> nats when removed at once,
# **0.10**<!-- pretrained/compared by=leave-one-out heads=68 minus="gradient, example" -change:.2f --> less than by the
# gradient.<!-- holds: pretrained/compared by=leave-one-out heads=68 minus="gradient, example" high < 0 --> But it reads the
# text once a head.
#
# Do the costs of single heads add up? We ask it of heads that leave-one-out did not choose: luck lowers the sum of its own.

# %%
cut = pd.read_csv(folder / "removed_at_once.csv").query("by in ['gradient, example', 'random'] and fraction <= 0.5")
cut = cut[cut.random != "same number a layer"].replace("gradient, example", "least important")
sums = cut.groupby(["by", "heads"], as_index=False).change.mean().rename(columns={"change": "at once"})
order = gradient.sort_values().index  # random heads cost as much as the mean head
added = {"least important": alone[order].cumsum().tolist(), "random": alone.mean() * np.arange(1, len(alone) + 1)}
sums["one by one"] = [added[by][count - 1] for by, count in zip(sums.by, sums.heads, strict=True)]
run.table(sums, "added_up").round(2)

# %% [markdown]
# **Those of the least important heads do not.** A quarter costs **0.10**<!-- 00/added_up by="least important" heads=68
# "one by one":.2f --> nats one by one and **0.27**<!-- 00/added_up by="least important" heads=68 "at once":.2f --> at once, on
# other passages. With random heads we see this only at a half: **1.5**<!-- 00/added_up by=random heads=135
# "one by one":.1f --> against **4.8**<!-- 00/added_up by=random heads=135 "at once":.1f -->, the mean of three draws.
#
# ## Remove them, save, and load what is left
#
# `heads.gate` closes gates for as long as a block lasts. `heads.remove` cuts heads for good, and layers may keep different
# numbers of heads.

# %%
import copy

smaller = heads.remove(copy.deepcopy(model), ranking.nsmallest(int(fraction * total)).index)
left = [len(numbers) for numbers in heads.kept(smaller).values()]
print(f"{total} heads -> {sum(left)}. In the layers, from the first: {', '.join(map(str, left))}")
print(f"{parameters:,} parameters -> {smaller.num_parameters():,} ({1 - smaller.num_parameters() / parameters:.1%} fewer)")

# %% [markdown]
# The folder loads without this project. It brings a short file of code along, which `trust_remote_code=True` lets run: in
# `transformers` all layers have as many heads. The loaded model should do what the model with closed gates did.

# %%
import tempfile
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

scratch = tempfile.TemporaryDirectory()
folder = save_to or scratch.name
heads.save(smaller, folder)
tokenizer.save_pretrained(folder)
plain = AutoModelForSeq2SeqLM if model.config.is_encoder_decoder else AutoModelForCausalLM
loaded = plain.from_pretrained(folder, trust_remote_code=True).to(device)
losses, _ = losses_of_examples(loaded, test)
gated = removed[(removed.choice == chosen) & (removed.fraction == fraction)].perplexity.item()
print(f"perplexity {gated:.2f} with closed gates, {np.exp(losses.sum() / tokens.sum()):.2f} loaded")

# %% [markdown]
# ## What this means, and where it would not hold
#
# Six backward passes, over four passages each, find a quarter of the heads that costs less than a random one does.
#
# - *The choice depends in part on the text.* Choose on some of the text that you need, and check on the rest.
# - *The text is short*, and the random heads are three draws. The interval takes passages for independent, though neighbours
#   may come from one description.
# - *The model is small and stored in four bits.*
# - *Layers lose very different numbers of heads.* Eleven lose none, and two of the upper ones keep one of nine.
# - *Fewer heads save little.* With a quarter of the heads only `4.2 %` of the parameters go. Attention has a fifth of all, and
#   three heads share each key and value, which go only when all three do. [What it costs](../docs/run.md#what-it-costs) has
#   times, and [notebook 3](03_l0_pruning.ipynb) what a short training gives back.
#
# ## Change one line
#
# - `fraction = 0.1` in the first cell removes a tenth: restart the kernel and run all cells (three minutes). Eleven layers lose
#   heads then, not nineteen.
# - `chosen, ranking = "most on the first token", -table["first token"]` removes the heads that rest most. Run from that cell on
#   (two minutes). A quarter then costs about `0.8` nats, four times as much as by the gradient.
# - Another model and another text, and a folder for what is left:
#
# ```
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p text FILE -p save_to FOLDER
# ```
