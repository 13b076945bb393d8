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
# # 0 · Which heads does your model need?
#
# [Notebook 1: relevance and confidence →](01_relevance_and_confidence.ipynb) · [all claims](../docs/results.md)
#
# Michel et al. ([2019](https://arxiv.org/abs/1905.10650)) took trained models and switched heads off. Most heads were hardly
# missed. To choose which ones to cut they asked the gradient how much each head matters, which takes one backward pass for all
# of them. A fifth of the heads of a translation model went almost for free.
#
# We do the same with a language model that people use: SmolLM2, with `30` layers of `9` heads. We measure its heads, look at a
# few, remove a quarter of them for good, and use what is left without this project. Nothing is trained, and all of it takes
# about two minutes on two free cores. Then [do it with yours](#Change-one-line).

# %% jupyter={"source_hidden": true} tags=["parameters"]
pretrained = "smollm2"  # the model: smollm2, a folder, or a Hub name
text = ""  # a text file; an encoder-decoder's lines are a source, a tab and its target; empty: English that is always there
minutes = 20  # that measuring may take at most: a large model, or a slow machine, reads less of the text
profile = "laptop"  # where numbers are computed, as in the other notebooks
seed = 1  # of the random heads
overrides = ""  # settings to change
output = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus

# %% jupyter={"source_hidden": true}
import numpy as np
import pandas as pd
import torch
import transformers
from helpers import drawing, heads, measures, models, study
from helpers.measures import figures
from helpers.measures.worth import losses_of_examples
from helpers.runs import passages
from helpers.scores.scoring import ratio_interval

transformers.utils.logging.disable_progress_bar()
run = study.begin("00_your_own_model", globals())
print(run.summary())

# %% [markdown]
# ## A model and a text
#
# SmolLM2 comes from a Python package that holds its weights; they are converted once. A folder or a Hub name does as well: of
# GPT-2, OPT, Llama, Mistral, Qwen, Gemma, Phi or GPT-NeoX, and of the encoder-decoders Marian, BART, mBART, Pegasus and T5.

# %%
model, tokenizer = models.load(pretrained)
model = model.float().to(models.device())
total = len(heads.index(model))
print(f"{type(model).__name__}: {total} heads, {model.num_parameters():,} parameters")

# %% [markdown]
# The text comes from a package too: scikit-learn's descriptions of its data sets, about two thousand words of plain English. It
# is cut into short passages. Heads are measured on every other passage (`dev`). What their removal costs is measured on the
# passages in between (`test`).

# %%
dev, test = passages.halves(model, tokenizer, text)
print(tokenizer.decode(dev[0]["input_ids"][0]))

# %% [markdown]
# Before anything is measured we time one batch, and read as much of the text as fits into the minutes that we have.

# %%
import time

draws = 5  # of random heads, in two ways
passes = 3 + 2 + 2 + 2 * draws  # in forward passes: importance costs three, attention two, each choice of heads one
losses_of_examples(model, dev[:1])  # the first pass of all is slow
started = time.perf_counter()
losses_of_examples(model, dev[:1])
cost = passes * (time.perf_counter() - started) / 60  # minutes a batch
count = min(len(dev), len(test), max(1, int(minutes / cost)))
print(f"{count} of {len(dev)} batches of each half: about {count * cost:.1f} minutes.")
dev, test = dev[:count], test[:count]

# %% [markdown]
# ## How much does each head matter?
#
# Give every head $h$ a gate $g_h$: a number that multiplies what the head puts out. Normally all gates are one. *Gradient
# importance* asks how steeply the loss $L$ of a passage moves as a gate begins to close. It is the mean of
# $|\partial L / \partial g_h|$ over passages, at $g_h = 1$, in nats.


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
# The library has this as `measures.importance`, and more measures in one call. We add three that only look at attention: a
# head's largest weight on average (its confidence), its weight on the first token, and how often it looks at the same distance.
# All measures stand in one table with a row a head. Layers and heads count from zero in code, and from one in figures.

# %%
table = measures.head_table(model, dev, names=["confidence", "first token", "positional"])
table.insert(0, "importance", importance(model, dev))
run.table(table, "head_table")
table.sort_values("importance", ascending=False).round(3).head(8)

# %%
drawing.style()
shown = {
    "importance (nats)": table.importance,
    "weight on the first token": table["first token"],
    "looks at one distance": table.positional,
}
run.figure(figures.head_map(shown, ["importance (nats)"]), "head_map", "Every head of the model, coloured by three measures.")

# %% [markdown]
# Importance is unevenly spread. A few heads of the first layers matter most, and no layer is idle. In the upper half of the
# model many heads rest on the first token of a passage: the model lets them do so when they have nothing to look at. Some heads
# look at one distance nearly always: `layer 17, head 1` at the token before, `layer 12, head 7` at the token itself.
#
# ## What does a head look at?
#
# Here are two other heads, on a sentence that we made up. A row is a token that looks, and shows where its attention goes.
# Tokens see only what stands before them.

# %%
sentence = "The old doctor who lives next door sold her car to a student because she wanted a bicycle."
two = {"smollm2": [("decoder", 10, 1), ("decoder", 13, 8)]}.get(pretrained, [table.importance.idxmax()])  # yours here
read = {**tokenizer(sentence, return_tensors="pt").to(model.device)}
words = [tokenizer.decode(token).strip() for token in read["input_ids"][0]]
maps = []
for kind, layer, head in two:
    weights = models.head_weights(model, read | {"labels": read["input_ids"]}, (kind, layer, head)).numpy()
    maps.append({"title": f"layer {layer + 1}, head {head + 1}", "weights": weights, "rows": words, "columns": words})
run.figure(figures.attention(maps), "attention", "What two heads look at in one sentence.", table="head_table")

# %% [markdown]
# In the left head *her car* looks at *sold*, and *a bicycle* at *wanted*: objects look at their verbs. In the right one *lives*
# and *sold* look at *doctor*, and *wanted* at *she*: verbs look at their subjects. Words that have nothing of the kind look at
# the first word. Voita et al. found such heads in translation models; [notebook 2](02_head_functions.ipynb) counts them.
#
# ## What does it cost to remove a quarter?
#
# We close the gates of the quarter of heads with the least importance, all at once, and let the model read the other half of
# the text. *Perplexity* says among how many words the model hesitates: less is better. For comparison we draw as many heads at
# random, in two ways: from anywhere, and with as many in every layer as our choice has. The second is the harder test, because
# layers differ.

# %%
worth = table.importance  # heads of least worth go; another column of the table may stand here
quarter = total // 4
orders = [("least important", 0, worth)]
for draw in range(draws):
    random = np.random.default_rng([seed, draw])
    within = worth.groupby(level=["kind", "layer"]).transform(random.permutation)  # shuffled in each layer
    orders.append(("random, as many a layer", draw, within))
    orders.append(("random, from anywhere", draw, pd.Series(random.permutation(worth), worth.index)))

# %%
whole, tokens = losses_of_examples(model, test)  # of each passage
rows = []
for choice, draw, order in orders:
    with heads.gate(model, dict.fromkeys(order.nsmallest(quarter).index, 0.0)):
        losses, _ = losses_of_examples(model, test)
    rise = [float(part) for part in ratio_interval(losses - whole, tokens)]  # nats a token, 95 % interval over passages
    rise[1:] = rise[1:] if len(tokens) >= passages.FEWEST else [np.nan, np.nan]
    rows.append((choice, draw, quarter, np.exp(losses.sum() / tokens.sum()), *rise))
removed = pd.DataFrame(rows, columns=["choice", "draw", "heads", "perplexity", "rise", "low", "high"])
run.table(removed, "removed", over="passages").round(2)

# %%
label = f"perplexity without {quarter} of {total} heads (dotted: with all)"
figure = figures.beside_random(removed, np.exp(whole.sum() / tokens.sum()), label)
run.figure(figure, "removed", "Perplexity without a quarter of the heads, by importance and at random.", over="passages")

# %% [markdown]
# Without the heads of least importance the perplexity rises by about a tenth. No random draw comes near that, though half of
# the draws take as many heads from every layer. So the gradient knows more than which layers matter. Random heads from anywhere
# more than double the perplexity.
#
# ## Remove them, save, and use what is left
#
# `heads.gate` closes gates for as long as a block lasts. `heads.remove` cuts heads for good: their rows and columns leave the
# weights, and layers may keep different numbers of heads.

# %%
import copy

pruned = heads.remove(copy.deepcopy(model), worth.nsmallest(quarter).index)
left = [len(numbers) for numbers in heads.kept(pruned).values()]
print(f"{total} heads -> {sum(left)}, from {min(left)} to {max(left)} a layer")
print(f"{model.num_parameters():,} parameters -> {pruned.num_parameters():,}")

# %% [markdown]
# What is saved is an ordinary folder. It brings one short file of code along, as transformers alone cannot say that layers have
# different numbers of heads; so `trust_remote_code=True`. This project is not needed to load it.

# %%
import tempfile
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

with tempfile.TemporaryDirectory() as folder:  # to keep it, write the name of a folder of yours
    heads.save(pruned, folder)
    tokenizer.save_pretrained(folder)
    plain = AutoModelForSeq2SeqLM if model.config.is_encoder_decoder else AutoModelForCausalLM
    again = plain.from_pretrained(folder, trust_remote_code=True).to(model.device)

# %%
for prompt in ("The capital of France is", "The largest animal in the world is", "A recipe for bread needs"):
    read = tokenizer(prompt, return_tensors="pt").to(model.device)
    for name, some in {"all heads": model, "three quarters": again}.items():
        written = some.generate(**read, max_new_tokens=20, do_sample=False, num_beams=1)
        print(f"{name:>14}: {tokenizer.decode(written[0], skip_special_tokens=True)!r}")

# %% [markdown]
# Both models write what they hold for the most likely next words. The one with fewer heads still writes English. But the
# capital of France is London now, and the bread has lost its flour. Perplexity is an average over all words: it hardly moves
# when single facts go.
#
# ## What this means, and where it would not hold
#
# A quarter of the heads of a model that people use can go at once, without any training, if one backward pass chooses them.
# That is what Michel et al. saw in translation models. But:
#
# - *The choice depends on the text.* It was made, and tested, on descriptions of data sets. In dialogues other heads may
#   matter. Choose on the text that you need, and check on it.
# - *The text is short*, and one seed drew the random heads. The intervals are over passages and know nothing of other texts.
# - *A quarter is not half.* The more heads are gone, the more those that are left must do.
# - *Fewer heads are not a much smaller model.* Most of the weights lie elsewhere. What removal saves, and what a short training
#   after it gives back, is in notebooks [3](03_l0_pruning.ipynb) and [4](04_grouped_heads.ipynb).
#
# ## Change one line
#
# - `quarter = total // 2` removes half of the heads (a minute).
# - `worth = table.confidence` keeps the heads with the sharpest attention. Are these the ones that matter? (a minute)
# - Another model and another text. How long it will take is printed first:
#
# ```
# .venv/bin/papermill notebooks/00_your_own_model.ipynb out.ipynb -p pretrained NAME -p text FILE
# ```

# %%
print(run.libraries())
