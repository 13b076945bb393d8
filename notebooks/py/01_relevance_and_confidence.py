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
# # 1 · Do relevance and confidence tell which heads matter?
#
# [← your own model](00_your_own_model.ipynb) · [notebook 2, head functions →](02_head_functions.ipynb) ·
# [all claims](../docs/results.md)
#
# [Voita et al. 2019](https://arxiv.org/abs/1905.09418) give each attention head of a translator two numbers: *relevance*, the
# share of a predicted word's score that flows through it, and *confidence*, the largest weight that it puts on one token, on
# average. In their translators the few relevant heads of a layer are mostly confident and have a *job*, such as finding a
# verb's subject.
#
# We look at five models. *Toy news* and *toy subtitles* translate a generated language, *Europarl, small* and *Europarl,
# paper's size* debates of the European Parliament. *SmolLM2* is a pretrained language model.
#
# - **Heads with a job are relevant** in *Europarl, paper's size*: all **9**<!-- summaries/gpu-quarter-counted function=any
#   heads:.0f --> are among the three most relevant of their layer, though of the very first only half have one. In toy
#   subtitles we cannot tell.
# - **Relevant heads are confident** in all four translators, by the rule of the authors' later code. (Our verdict on Europarl
#   stays open: by another rule its trainings differ.) In SmolLM2 they are only somewhat confident (rank correlation
#   **0.28**<!-- 01/everywhere model="SmolLM2, first token left out" rho:.2f -->), and only if we leave out the first token,
#   where many of them rest.
# - **Relevant heads tend to be missed more**: the loss rises more without them. In toy subtitles we cannot tell, and at the
#   paper's size it is hardly sure. To remove confident heads hurts SmolLM2 *less*, again unless the first token is left
#   out.<!-- holds: 01/ranked_as_removal model=SmolLM2 measure=confidence high < 0 --><!-- holds: 01/ranked_as_removal
#   model="SmolLM2, first token left out" measure=confidence low > 0.1 -->

# %% jupyter={"source_hidden": true} tags=["parameters"]
profile: str = "laptop"  # tiny, quick, laptop, natural, europarl or paper: sizes only, each can be overridden below
corpus: str = ""  # "controlled" or "natural"; empty: the profile's own
models: str = ""  # such as "ru-news de-news"; empty: the corpus's own
pretrained: str = ""  # a Marian or BART checkpoint (Hub name or folder) to study instead
data_root: str = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser: str = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed: int = 1
overrides: str = ""  # settings to change, name and value joined by an equals sign, separated by spaces
output: str = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus

# %%
from copy import deepcopy
import numpy as np
import pandas as pd
from helpers import claims, drawing, heads, measures, models as library, plots, study
from helpers.experiments import relevance
from helpers.measures import lrp, measured, ranks, sentence as example
from helpers.plan import sources
from helpers.runs import subjects
import torch

run = study.begin("01_relevance_and_confidence", globals())
drawing.style()
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## How is a head's relevance computed?
#
# Relevance starts at the score of a predicted word and is handed down, layer by layer. The paper leaves the rule for softmax
# and norms open, so we use two rules. A word that toy news predicts:

# %%
studied, settings = subjects.study_models(run), run.settings
first = studied[0]
sentence = example.ONE_SENTENCE.value(first)  # of thirty the one in which one head carries most
model = deepcopy(first.model).cpu().double()
batch = {name: value.cpu() for name, value in example.batch_of(first, sentence).items()}
target = sentence["target"]
print(" ".join(sentence["source"]), "→", " ".join(sentence["predicted"]), "\nthe word:", sentence["predicted"][target])

# %% [markdown]
# By *AttnLRP* ([Achtibat et al. 2024](https://arxiv.org/abs/2402.05602)) **a head's relevance is its output times the gradient
# of the word's score there**, with two changes. Each factor of a product, such as query times key, passes on only half of its
# gradient. And the standard deviation in a norm counts as a constant.


# %% tags=["method"]
def head_relevance(model, batch, target):  # of each encoder head for one word, by AttnLRP
    outputs = []

    def half(x):  # of its gradient passes
        return (x + x.detach()) / 2

    def attend(module, query, key, value, mask, scaling, **rest):
        scores = half(query) @ half(key).mT * scaling
        if module.is_causal:
            scores = scores + torch.full(scores.shape[-2:], -torch.inf).triu(1)
        outputs.append(half(scores.softmax(-1)) @ half(value))  # sentence × heads × tokens × numbers
        return outputs[-1].transpose(1, 2), None

    def normalise(layer, given, out):  # feed-forward layers need no change: their ReLU passes on gradient times input
        if isinstance(layer, torch.nn.LayerNorm):
            x = given[0] - given[0].mean(-1, keepdim=True)
            return layer.weight * x / (x.var(-1, correction=0, keepdim=True) + layer.eps).sqrt().detach() + layer.bias

    with heads.attention.attending(model, attend), torch.nn.modules.module.register_module_forward_hook(normalise):
        score = model(**library.inputs(batch), use_cache=False).logits[0, target].max()
    encoder = outputs[: model.config.encoder_layers]  # attention in the decoder comes after it
    slopes = torch.autograd.grad(score, encoder)
    return torch.cat([(output * slope).sum((0, 2, 3)) for output, slope in zip(encoder, slopes, strict=True)]).detach().numpy()


relevances = {rule: lrp.explain(model, [batch], rule, "encoder").values[target] for rule in ("alpha_beta", "attnlrp")}
print(study.compare(head_relevance(model, batch, target), relevances["attnlrp"]))

# %% [markdown]
# Such relevance can be negative; we take its size.
#
# The other rule, *αβ*, is that of [the authors' later code][code]. Where numbers are added, those that help share one half of
# the relevance and those that hinder the other:
#
# [code]: https://github.com/lena-voita/the-story-of-heads/blob/master/lib/layers/lrp.py


# %%
def alpha_beta(x, weights, relevance):  # what the inputs of a linear layer get of the relevance of its outputs
    parts = x[:, None] * weights  # inputs × outputs
    helps, hinders = parts.clamp(min=0), parts.clamp(max=0)  # of every output some must do either
    return (helps / helps.sum(0) + hinders / hinders.sum(0)) @ relevance / 2


print("of 2 + 3 - 1:", alpha_beta(torch.tensor([2.0, 3.0, -1.0]), torch.ones(3, 1), torch.ones(1)).tolist())

# %% [markdown]
# The [rest of this rule](../tests/reference/relevance.py) is too long for this page, and it does not cover SmolLM2.
#
# How probable is the word, a Russian verb for *drank*, without each head? The five heads that cost it most:


# %% tags=["method"]
@torch.no_grad()
def probabilities(batch, *address):  # of each next word, without the head at this address
    with heads.gate(model, {address: 0.0} if address else {}):
        return model(**library.inputs(batch)).logits.softmax(-1)


# %%
whole, every = probabilities(batch)[0, target], heads.index(model, "encoder")
without = [float(probabilities(batch, *one)[0, target, whole.argmax()]) for one in every]
word = pd.DataFrame({"with it": float(whole.max()), "without it": without}, every)
for name, rule in {"AttnLRP": "attnlrp", "αβ": "alpha_beta"}.items():
    word[f"share of relevance, {name}, %"] = 100 * abs(relevances[rule]) / abs(relevances[rule]).sum()
word["fall of probability, points"] = 100 * (word["with it"] - word["without it"]).clip(lower=0)
table = run.table(measured.from_one(word), "one_word")
table.nlargest(5, "fall of probability, points").drop(columns="with it").round(2)

# %%
layer, head, A = sentence["layer"], sentence["head"], sentence["block"]["A"]  # A: attention weights of that layer
place, at = divmod(int(A[head].argmax()), len(sentence["source"]))
print("its largest weight is from", sentence["source"][place], "to", sentence["source"][at])
print("without it:", *first.target.pieces([int(probabilities(batch, "encoder", layer, head)[0, target].argmax())]))

# %% [markdown]
# **One head decides this word, and AttnLRP gives it most.** It looks from *drank* to *cow*, and cows here have their own verb
# for drinking. The verb's probability is **90 %**<!-- 01/one_word layer=1 head=8 "with it":.0% --> with it and **5 %**<!--
# 01/one_word layer=1 head=8 "without it":.0% --> without.
#
# But we picked this sentence because its relevance is so uneven. So now all words of the first thirty sentences:

# %% tags=["method"]
thirty = example.single(first, *range(min(30, len(first.sentences))))
thirty = {name: value.cpu() for name, value in thirty.items()}
words, top = thirty["labels"] != -100, probabilities(thirty).argmax(-1, keepdim=True)
left = torch.cat([probabilities(thirty, *one).gather(-1, top)[words] for one in every], 1)  # words × heads
falls = (probabilities(thirty).gather(-1, top)[words] - left).numpy()
costly, best = falls.max(1) >= 0.1, falls.argmax(1)
named = {rule: abs(lrp.explain(model, [thirty], key, "encoder").values).argmax(1)
         for rule, key in {"AttnLRP": "attnlrp", "αβ": "alpha_beta"}.items()}  # fmt: skip
named["always one head"] = np.bincount(best[costly], minlength=1).argmax()  # the one that is costliest most often
found = {rule: {"costly words, %": 100 * (best == head)[costly].mean(), "all words, %": 100 * (best == head).mean()}
         for rule, head in named.items()}  # fmt: skip
run.table(pd.DataFrame(found).T.rename_axis("rule"), "same_head", words=len(best), costly=int(costly.sum())).round(1)

# %% [markdown]
# *How often the head that a rule names is the costliest one: of the `31` words for which some head costs ten points of
# probability or more, and of all `610`.*
#
# **AttnLRP often names the head that a word needs, αβ seldom.** AttnLRP is right for **52 %**<!-- 01/same_head rule=AttnLRP
# "costly words, %":.0f --> of the words that need one. To name always the same head is right for **23 %**<!-- 01/same_head
# rule="always one head" "costly words, %":.0f -->, and αβ for less.<!-- holds: 01/same_head rule="αβ" "costly words, %" <
# rule="always one head" "costly words, %" --> Of all words it is **20 %**<!-- 01/same_head rule=AttnLRP "all words, %":.0f -->
# by AttnLRP, **14 %**<!-- 01/same_head rule="αβ" "all words, %":.0f --> by αβ; over many sentences αβ does as well (last
# figure).<!-- holds: 01/ranked_as_removal model="toy news|Europarl, small" measure="αβ" rho > measure=AttnLRP rho -->

# %% [markdown]
# ## Are heads with a job relevant?
#
# In the paper's figure 1, on subtitles, the most relevant heads of a layer have a job. Ours, by αβ:

# %%
explained = {one.title: relevance.explained(one, settings) for one in studied}
tables = {one.title: relevance.head_table(one, explained[one.title], settings) for one in studied}
toy = next((title for title in tables if "subtitles" in title), first.title)
both = run.table(relevance.by_relevance(toy, tables[toy]), "heads_by_relevance")
caption = "Heads and their jobs, the most relevant first: at the paper's size those with a job are among the first."
run.figure(plots.by_relevance(both), "fig1_relevance_and_confidence", caption)


# %% [markdown]
# *Rows are layers, the most relevant head first. Colours: jobs ([notebook 2](02_head_functions.ipynb)). Confidence: the layer's
# largest at full height; at the paper's size it was not kept by head.*

# %% tags=["method"]
def job_first(heads, draws=10_000):  # how many of the most relevant heads of each layer have a job? and at random?
    rows, rng = [], np.random.default_rng(0)
    for model, table in heads.groupby("model", sort=False):
        job = (table.functions != "").to_numpy().reshape(table.layer.nunique(), -1)  # layers × places
        drawn = rng.permuted(np.tile(job, (draws, 1, 1)), axis=2)
        for first in (1, 2, 3):
            found, luck = job[:, :first].sum(), drawn[:, :, :first].sum((1, 2))
            row = {"model": model, "first in each layer": first, "heads": first * len(job), "with a job": found}
            rows.append(row | {"at random": luck.mean(), "draws with as many, %": 100 * (luck >= found).mean()})
    return pd.DataFrame(rows).set_index(["model", "first in each layer"])


run.table(job_first(both), "both_ways", over="heads").round(2)

# %% [markdown]
# **In *Europarl, paper's size*, heads with a job are among the first.** All **9**<!-- 01/both_ways
# model="Europarl, paper's size" "first in each layer"=3 "with a job":.0f --> are among the first three of their layer, which
# hardly ever happens at random.<!-- holds: summaries/gpu-quarter-counted function=any heads == 9 --><!-- holds: 01/both_ways
# model="Europarl, paper's size" "first in each layer"=3 "draws with as many, %" < 0.1 --> But of the very first heads only
# **3**<!-- 01/both_ways model="Europarl, paper's size" "first in each layer"=1 "with a job":.0f --> of `6` have one, which may
# be chance.<!-- holds: 01/both_ways model="Europarl, paper's size" "first in each layer"=1 heads == 6 and
# "draws with as many, %" > 5 --> In toy subtitles each count may be chance.<!-- holds: 01/both_ways model="toy subtitles"
# "first in each layer"=1|2|3 "draws with as many, %" > 5 --> And jobs are read off large attention weights, so this may only
# say that sharp heads are relevant. Nor are these heads of *Europarl, paper's size*,
# [shown to be missed more](02_head_functions.ipynb).
#
# The paper also finds that a few heads dominate each layer. In small translators that depends on layer and rule, and at the
# paper's size [no single head stands out](../docs/results.md#at-the-papers-size).

# %% [markdown]
# ## Are relevant heads confident?
#
# In the paper they are, but for one head of the first layer, which looks at rare words. Confidence in code:


# %% tags=["method"]
def confidence(A):  # heads × tokens that look × tokens that are looked at; the last token is the end
    return A[:, :-1, :-1].max(-1).mean(-1)


print(study.compare(confidence(A), measures.confidence(model, [batch]).loc["encoder"].loc[layer].to_numpy()))

# %%
random, diffuse = relevance.at_random(first, settings)  # relevance and confidence of ten untrained models
agreement = relevance.agreement(explained, tables, random, diffuse)
everywhere = run.table(relevance.everywhere(agreement, run.corpus), "everywhere", over="heads")
figure = plots.dots(everywhere, "model", "rho", panel="rule", label="rank correlation of\nrelevance and confidence")
caption = "Relevant heads are confident in translators; in SmolLM2 somewhat, if the first token is left out."
run.figure(figure, "relevance_and_confidence", caption)

# %% [markdown]
# *Ranks are within layers. Bars: `95 %` intervals over heads. Toy news: three trainings. Blank: not measured. Trained models
# are read from published tables, here and below, whatever the settings.*
#
# **By αβ relevant heads are confident in every translator, by AttnLRP in the three where we have it.**<!-- holds: 01/everywhere
# rule="αβ" model="toy news|toy subtitles|Europarl, small|Europarl, paper's size" low > 0 --><!-- holds: 01/everywhere
# rule=AttnLRP model="toy news|toy subtitles|Europarl, small" low > 0 --> The correlation goes up to **0.94**<!-- 01/everywhere
# model="Europarl, paper's size" rho:.2f --> in *Europarl, paper's size*, whose untrained twin has **0.16**<!--
# summaries/gpu-quarter what="relevance with confidence, encoder" random:.2f -->. In *Europarl, small*, and in toy subtitles,
# AttnLRP is not clearly above untrained models.<!-- holds: 01/everywhere model="Europarl, small" rule=AttnLRP low <
# model="Europarl, small, random weights" high -->
#
#
# **In SmolLM2 relevant heads are somewhat confident, but only if the first token is left out.**<!-- holds: 01/everywhere
# model=SmolLM2 low < 0 and high < 0.1 --> Many heads look at that token ([notebook 0](00_your_own_model.ipynb)) and so count as
# confident. Without it the correlation is **0.28**<!-- 01/everywhere model="SmolLM2, first token left out" rho:.2f -->.<!--
# holds: 01/everywhere model="SmolLM2, first token left out" low > 0.1 -->

# %% [markdown]
# ## Are relevant heads missed more?
#
# [Notebook 6](06_do_measures_agree.ipynb) removes one head at a time and takes the rise of the loss. Do ranks in a layer agree
# with it?


# %% tags=["method"]
def correlations(heads, other="leave-one-out"):  # of ranks in a layer; leave-one-out is the rise of the loss
    rows = []
    for model, table in heads.groupby("model", sort=False):
        for measure in table.drop(columns=[other, "cp"]).dropna(axis=1):
            found = ranks.correlation(table[other], table[measure].abs(), within_layer=True)
            rows.append({"model": model, "measure": measure} | found)
    return pd.DataFrame(rows)


# %%
removal = correlations(relevance.elsewhere())
removal = removal.drop_duplicates(["measure", "rho"])  # SmolLM2's relevance is the same without the first token
removal = run.table(removal, "ranked_as_removal", over="heads")
figure = plots.dots(removal, "model", "rho", panel="measure", label="rank correlation with\nthe rise of the loss")
caption = "Relevant heads tend to be missed more; confident ones not in SmolLM2, unless the first token is left out."
run.figure(figure, "ranked_as_removal", caption)

# %% [markdown]
# **Relevant heads tend to be missed more, but in toy subtitles neither rule tells.**<!-- holds: 01/ranked_as_removal
# measure="αβ|AttnLRP" model="toy news|Europarl, small" low > 0 --><!-- holds: 01/ranked_as_removal measure=AttnLRP
# model=SmolLM2 low > 0 --><!-- holds: 01/ranked_as_removal model="toy subtitles" measure="αβ|AttnLRP" low < 0 and high > 0 -->
# By αβ the correlation is **0.77**<!-- 01/ranked_as_removal model="Europarl, small" measure="αβ" rho:.2f --> in *Europarl,
# small*, and **0.33**<!-- 01/ranked_as_removal model="Europarl, paper's size" measure="αβ" rho:.2f --> in *Europarl, paper's
# size*, where its interval hardly excludes zero.<!-- holds: 01/ranked_as_removal model="Europarl, paper's size" measure="αβ"
# low < 0.05 and low > -0.05 -->
#
# **To remove confident heads hurts SmolLM2 less, but more if confidence leaves out the first token.**<!-- holds:
# 01/ranked_as_removal model=SmolLM2 measure=confidence high < 0 --><!-- holds: 01/ranked_as_removal
# model="SmolLM2, first token left out" measure=confidence low > 0.1 --> In *Europarl, small*, confidence tells nearly as much
# as αβ.<!-- holds: 01/ranked_as_removal model="Europarl, small" measure=confidence rho > 0.6 -->

# %% [markdown]
# ## What this does not show
#
# Verdicts for the toy language ([rules](../claims.toml)). Those on confidence and on heads with a function count four toy
# translators together: toy news, toy subtitles, and news into German and French, which no figure shows.

# %%
facts = {"split": "dev", "explained": settings["relevance"]}  # so many sentences
run.table(agreement, "agreement_by_rule", over="heads", **facts)
run.table(relevance.dominance(explained, random, settings["bootstrap"]), "dominance", over="sentences", **facts)
run.table(relevance.follows_function(tables), "follows_function_by_model", over="heads", **facts)
run.table(relevance.smollm2(), "smollm2", over="heads")
run.table(relevance.bleu(settings, studied, seed), "bleu", beam=settings["beam"], over="sentences")
claims.show(run)

# %% [markdown]
# - The first verdict counts a third rule, *conservative* ([Ali et al. 2022](https://arxiv.org/abs/2202.07304)). By it SmolLM2's
#   relevant heads are less confident, if the first token counts.<!-- holds: 01/smollm2 rule=conservative other=confidence high
#   < 0 -->
# - The third rests on four translators. Alone, toy news, toy subtitles and the first training of *Europarl, small* leave it
#   open.<!-- holds: 01/follows_function_by_model model="EN-RU news|EN-RU subtitles" p > 0.05 --><!-- holds:
#   natural/01/follows_function_by_model model="EN-FR europarl" p > 0.05 -->
# - Most models were trained once, *Europarl, paper's size* for four GPU minutes. The toy language hardly needs encoder heads:
#   trained without any, toy news has **86.9**<!-- 01/bleu model="EN-RU news, no encoder heads" bleu:.1f --> BLEU instead of
#   **88.1**<!-- 01/bleu model="EN-RU news" bleu:.1f -->.
#
# ### Change one line (seconds; the cells above take a minute)
#
# - In `probabilities`: write `0.5` for `0.0`. Heads are halved, and the verb stays.
