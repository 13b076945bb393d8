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
# Which attention heads does a translation come from? In section 4 of [their paper](https://arxiv.org/abs/1905.09418) Voita et
# al. 2019 look at two numbers for every head. *Relevance* is the share of a predicted word's score that flows through the
# head. *Confidence* is the largest weight that the head puts on one token, on average.
#
# They say that the two agree "to a reasonable extent", that in each layer a few heads dominate, and that relevant heads do
# something one can name. We ask the same of four small translators of a generated toy language, each with six encoder layers of
# eight heads. Three translate *news*, one the shorter *subtitles*. The paper leaves a part of its rule for relevance open, so
# we use three rules.
#
# In short:
#
# - **Over the four translators relevance and confidence agree by every rule**, with a rank correlation between **0.34**<!--
#   01/agreement_by_rule rule=conservative model="all models" rho:.2f --> and **0.56**<!-- 01/agreement_by_rule rule="LRP αβ"
#   model="all models" rho:.2f -->. For each alone we cannot always tell.
# - Three of eight heads have about half of a layer's relevance. One head has a quarter of it in some layers, not in all.
# - Heads with a function are more relevant, over the four together.
# - **The toy language hardly needs encoder heads**: it is nearly *hollow*. So these three results count less than those on
#   natural text.
# - On natural text, Europarl, the two agree by two rules; of functions we cannot tell. In SmolLM2, a pretrained language
#   model, they agree by one of two rules, and only if the first token is left out.

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

# %% jupyter={"source_hidden": true}
from copy import deepcopy
import numpy as np
import pandas as pd
from helpers import claims, drawing, heads, measures, models as library, plots, study
from helpers.experiments import relevance
from helpers.measures import lrp, ranks, sentence as example
from helpers.plan import sources
from helpers.runs import subjects
import torch

run = study.begin("01_relevance_and_confidence", globals())
drawing.style()
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## Figure 1: every head of the encoder
#
# As in the paper, heads are sorted by relevance in their layers. It is measured on `250` sentences by the *αβ* rule, which
# comes [further down](#How-is-relevance-computed?). What syntax a head follows is tested in [notebook
# 2](02_head_functions.ipynb). First subtitles, as in the paper's figure 1.

# %%
studied, settings = subjects.study_models(run), run.settings
first = studied[0]  # a translator of news
subject = studied[-1]  # the translator of subtitles
explained = {one.title: relevance.explained(one, settings) for one in studied}
tables = {one.title: relevance.head_table(one, explained[one.title], settings) for one in studied}
facts = {"split": "dev", "explained": settings["relevance"]}  # so many sentences
for one in studied:
    run.table(tables[one.title], f"heads_{one.name}", model=one.name, over="sentences", **facts)
every = run.table(relevance.by_relevance(tables), "heads_by_relevance")
figure = plots.by_relevance(every[every.model == subject.title])
run.figure(figure, "fig1_relevance_and_confidence", "Relevance, confidence and functions of every encoder head.")

# %% [markdown]
# *A cell of two colours has two functions. Heads for a position or for rare words count as "none". Next come the others, as in
# the paper's figure 2.*

# %%
others = every[every.model != subject.title] if len(studied) > 1 else every
figure = plots.by_relevance(others)
run.figure(figure, "fig2_other_translators", "The same for the others, the paper's figure 2.", table="heads_by_relevance")

# %% [markdown]
# The same in numbers, beside the mean of ten models with random weights.


# %% tags=["method"]
def in_numbers(heads):  # a row a model
    three = heads[heads.place <= 3].groupby(["model", "layer"]).relevance.sum()
    return relevance.most_relevant(heads).assign(**{"largest three": three.groupby("model").mean()})


random, diffuse = relevance.at_random(first, settings)  # relevance and confidence of ten random models, on 50 sentences
pairs = enumerate(zip(random["alpha_beta"], diffuse, strict=True))
luck = {str(n): pd.DataFrame({"relevance": share.series(), "confidence": sure, "functions": ""}) for n, (share, sure) in pairs}
top = in_numbers(every).astype(float)
top.loc["random weights"] = in_numbers(relevance.by_relevance(luck)).mean().drop("with a function")  # which is not tested
top = run.table(top, "most_relevant")

# %%
words = {"largest share": "share of the most relevant head", "largest three": "share of the three most relevant"}
words |= {"most confident too": "layers where it is the most confident", "with a function": "layers where it has a function"}
words |= {"first place": "in layer 1 its place by confidence", "sure": "heads with a confidence above 0.8"}
shown = top[[*words]].rename(columns=words).map("{:.2g}".format).replace("nan", "").T
a_layer = every.groupby(["model", "layer"]).size().mean()  # heads
shown["even share"] = [f"{1 / a_layer:.3g}", f"{3 / a_layer:.3g}", *4 * [""]]
paper = ["large in most layers", "", "", "most", "low confidence", "those at a neighbour"]
shown.assign(**{"in the paper": paper})

# %% [markdown]
# The three most relevant of eight heads have between **0.48**<!-- 01/most_relevant model="EN-RU subtitles"
# "largest three":.2f --> and **0.60**<!-- 01/most_relevant model="EN-FR news" "largest three":.2f --> of a layer. That is
# about half, and not much more than with random weights.<!-- holds: 01/most_relevant model="random weights"
# "largest three" > 0.4 --><!-- holds: 01/most_relevant model="random weights" "largest three" < 0.44 -->
#
# In layer `1` the paper's most relevant head is one for rare words, and not confident. Ours is among the three most confident
# in all four translators.<!-- holds: 01/most_relevant model="EN-RU news" "first place" <= 3 --><!-- holds: 01/most_relevant
# model="EN-DE news" "first place" <= 3 --><!-- holds: 01/most_relevant model="EN-FR news" "first place" <= 3 --><!-- holds:
# 01/most_relevant model="EN-RU subtitles" "first place" <= 3 -->

# %% [markdown]
# ## Do relevance and confidence agree?
#
# We rank the heads of each layer by both and correlate the ranks: one means that they agree, zero that they have nothing in
# common. For chance we shuffle the heads of each layer, a thousand times.


# %% tags=["method"]
layers = [every.model, every.layer]
place = every.groupby(layers)[["relevance", "confidence"]].rank()
rho, dealer = place.relevance.corr(place.confidence), np.random.default_rng(0)
dealt = [place.relevance.corr(place.confidence.groupby(layers).transform(dealer.permutation)) for _ in range(1000)]
run.table(pd.DataFrame({"rho": [rho], "95 % of shuffles below": [np.quantile(np.abs(dealt), 0.95)]}), "shuffled").round(2)

# %% [markdown]
# Yes: over the four translators the correlation is **0.56**<!-- 01/shuffled rho:.2f -->, and `95 %` of shuffles stay below
# **0.15**<!-- 01/shuffled "95 % of shuffles below":.2f -->.

# %% [markdown]
# ## What are encoder heads worth here?
#
# If heads do nothing, their relevance says nothing. What is lost without them?

# %%
bleu = run.table(relevance.bleu(settings, studied, seed), "bleu", beam=settings["beam"], over="sentences")
bleu.reset_index()[["model", "test set", "bleu", "low", "high"]].round(1)

# %% [markdown]
# A translator that never had encoder heads reaches **86.9**<!-- 01/bleu model="EN-RU news, no encoder heads" bleu:.1f --> BLEU,
# hardly less than one with heads. Held against it, the toy language is *hollow*: its heads are worth less than a tenth of the
# score, too little to test. Our verdicts go by another loss: if the heads of a trained translator are removed and the rest is
# trained on for a tenth of the time, **75.7**<!-- 01/bleu model="EN-RU news, encoder heads removed, trained on" bleu:.1f -->
# BLEU are left.
#
# On Europarl a translator that never had them is clearly worse, with **15.1**<!-- natural/01/bleu
# model="EN-FR europarl, no encoder heads" "test set"=europarl_test bleu:.1f --> instead of **22.7**<!-- natural/01/bleu
# model="EN-FR europarl" "test set"=europarl_test bleu:.1f -->.

# %% [markdown]
# ## How is relevance computed?
#
# Relevance starts at the score of the predicted word and is handed down, layer by layer. Each output $j$ of a layer gives its
# relevance $R_j$ to the inputs $i$, in proportion to what each added. In a layer $y = Wx + b$ with $N$ inputs this is
# $z_{ij} = W_{ji} x_i + b_j / N$. What helped ($z^+$) and what hindered ($z^-$) get half each:
#
# $$R_i = \sum_j \frac{1}{2} \left( \frac{z_{ij}^+}{\sum_{i'} z_{i'j}^+} + \frac{z_{ij}^-}{\sum_{i'} z_{i'j}^-} \right) R_j$$
#
# This is the *αβ rule* of the [authors' later
# code](https://github.com/lena-voita/the-story-of-heads/blob/master/lib/layers/lrp.py), with both constants `0.5`. The formula
# of the paper's appendix divides by sums that can be near zero. This code serves any layer: its matrix is the Jacobian.


# %% tags=["method"]
def down(layer, x, R):  # from the outputs of a layer to its input x
    W = torch.autograd.functional.jacobian(layer, x)  # [outputs, inputs]
    z = W * x + layer(torch.zeros_like(x))[:, None] / len(x)
    helped, hindered = z.clamp(min=0), z.clamp(max=0)
    shares = helped / (helped.sum(1, True) + 1e-5) + hindered / (hindered.sum(1, True) - 1e-5)
    R_x = R @ shares / 2
    return R_x * R.sum() / (R_x.sum() + 1e-5)


weight, x = torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([1.0, 3.0, 1.0])
print(down(lambda x: weight @ x, x, torch.ones(1)))  # 2 and 3 help and share a half; -1 hinders and has the other half

# %% [markdown]
# Now a real word: we go from its score down to the heads of the last cross-attention. A residual connection is a layer that
# adds.

# %%
sentence = example.ONE_SENTENCE.value(first)  # by the conservative rule one head carries most of a word
model = deepcopy(first.model).cpu().double().requires_grad_(False)
batch = {name: value.cpu() for name, value in example.batch_of(first, sentence).items()}
target, decoder = sentence["target"], model.get_decoder()
print(" ".join(sentence["source"]), "→", " ".join(sentence["predicted"]))
print("followed down:", sentence["predicted"][target])


# %% tags=["method"]
def down_to_heads():  # of the last cross-attention; norms stand before blocks, as in our models
    output, final, block = model.lm_head, decoder.layer_norm, decoder.layers[-1]
    norm_1, mix, norm_2 = block.encoder_attn_layer_norm, block.encoder_attn.out_proj, block.final_layer_norm
    read, put_out = {}, {}

    def note(layer, given, made):
        read[layer], put_out[layer] = given[0][0, target], made[0, target]

    hooks = [one.register_forward_hook(note) for one in (output, final, norm_2, block.fc1, block.fc2, norm_1, mix)]
    word = model(**library.inputs(batch)).logits[0, target].argmax()
    for hook in hooks:
        hook.remove()
    R = down(lambda x: (output(x) + model.final_logits_bias[0])[word, None], read[output], torch.ones(1).double())
    R = down(final, read[final], R)
    past, R = down(add, torch.cat([read[norm_2], put_out[block.fc2]]), R).chunk(2)
    for layer in (block.fc2, block.fc1, norm_2):
        R = down(layer, read[layer], R)
    R = down(add, torch.cat([read[norm_1], put_out[mix]]), past + R).chunk(2)[1]
    return down(mix, read[mix], R).reshape(block.encoder_attn.num_heads, -1).sum(1)


def add(both):
    return sum(both.chunk(2))


# %%
if hasattr(decoder, "layer_norm"):
    mine, same = down_to_heads(), lrp.explain(model, [batch], "alpha_beta", "cross")
    last = same.heads.get_level_values("layer") == len(decoder.layers) - 1
    print("share of the word:", mine.numpy().round(3))
    print(study.compare(mine.numpy(), same.values[target, last]))

# %% [markdown]
# The rest passes by on the residual connection. Encoder heads also need [a rule for
# self-attention](../helpers/measures/lrp/alpha_beta.py).
#
# We run two simpler rules, too. *Conservative* (Ali et al. 2022) holds attention weights and the spread in norms constant. If a
# head puts out numbers $x_i$ and the word's score is $s$, its relevance is $\sum_i x_i \, \partial s / \partial x_i$. *AttnLRP*
# (Achtibat et al. 2024) follows attention weights too. By both a head can also speak against the word, so we sum over words
# first and leave out the sign.
#
# Confidence is the mean of the largest attention weight of each word. The end of the sentence is left out.


# %% tags=["method"]
def confidence(A):  # heads × tokens that look × tokens that are looked at; the last token is the end
    return A[:, :-1, :-1].amax(-1).mean(-1)


maps = []
with heads.record(model, lambda site, weights: maps.append(weights[0]), kinds="encoder"), torch.no_grad():
    model(**library.inputs(batch), use_cache=False)
theirs = measures.confidence(model, [batch]).loc["encoder"].to_numpy()
print(study.compare(confidence(torch.cat(maps)).numpy(), theirs))

# %% [markdown]
# ## Does relevance find the head that a word needs?
#
# Of `30` short sentences we picked the one in which a single encoder head carries most of a word by the conservative rule.
# The upper panel follows this word down.

# %%
where, addresses = ("encoder", sentence["layer"], sentence["head"]), heads.index(model, "encoder")
sizes = {name: abs(lrp.explain(model, [batch], rule, "encoder").values[target]) for rule, name in relevance.NAMES.items()}
layers = pd.DataFrame(sizes, addresses).groupby(level="layer")
shares, places = layers.transform(lambda size: size / size.sum()), layers.rank(ascending=False)
figure = plots.through_a_sentence(sentence, target, shares)
run.figure(figure, "through_a_sentence", "Relevance of one predicted word through one sentence.")
of_head = pd.DataFrame({"share of its layer": shares.loc[where], "place in its layer": places.loc[where]}).rename_axis("rule")
run.table(of_head, "one_head_by_rule").round(2)

# %% [markdown]
# The Russian word for *drank* gets its relevance from *drank*, but at the input words a part of it stands at *cow*. One head of
# layer `1` carries it there. Would the word come without this head?


# %% tags=["method"]
@torch.no_grad()
def next_word(*address):  # probabilities of the word, one head's output set to zero
    with heads.gate(model, {address: 0.0} if address else {}):
        return model(**library.inputs(batch)).logits[0, target].softmax(-1)


whole, cut = next_word(), next_word(*where)
for title, p in {"with all heads": whole, "without this head": cut}.items():
    best = p.topk(3)
    print(title, [piece.strip("▁") for piece in first.target.pieces(best.indices.tolist())], best.values.numpy().round(2))

# %%
word = int(whole.argmax())
probable = pd.Series([float(next_word(*address)[word]) for address in addresses], addresses)
rows = {"all": whole[word], "without this head": probable[where], "without any other, at least": probable.drop(where).min()}
probable = pd.DataFrame({"heads": [*rows], "probability": [float(value) for value in rows.values()]})
run.table(probable, "without_the_head").round(3)

# %% [markdown]
# No: with all heads the model gives the word **90 %**<!-- 01/without_the_head heads=all probability:.0% -->, and without this
# one **5 %**<!-- 01/without_the_head heads="without this head" probability:.0% -->. In this toy language cows have a verb of
# their own, and without the head the model writes the verb of people.
#
# Not every rule finds this head. By the conservative rule and by AttnLRP it has **83 %**<!--
# 01/one_head_by_rule rule=conservative "share of its layer":.0% --> of its layer,<!-- holds: 01/one_head_by_rule rule=AttnLRP
# "share of its layer" > 0.8 --> but by αβ **18 %**<!-- 01/one_head_by_rule rule="LRP αβ" "share of its layer":.0% -->. And a
# large share proves nothing: head `4` of layer `3` has one too, but like any other head it can go.<!-- holds:
# 01/without_the_head heads="without any other, at least" probability > 0.85 -->

# %% [markdown]
# ## The two numbers for a whole translator
#
# Both are averaged over sentences, `250` in figure 1 and `50` here. A head's relevance is its share of its layer. Unless you
# change something, the published result is read.


# %% tags=["method"]
def relevance_and_confidence(rule, normalise, sentences):
    batches = subject.batches(2048, sentences)  # tokens a batch, so many dev sentences
    share = measures.relevance(subject.model, batches, rule, normalise, kinds="encoder")
    weight = measures.confidence(subject.model, batches)
    return pd.DataFrame({"relevance": share, "confidence": weight}).loc[["encoder"]].reset_index()


# %%
few = min(50, settings["relevance"])
reads = [subject.run] if subject.run else []
given = {"rule": "alpha_beta", "normalise": "step", "sentences": few}
one_model = run.stored(relevance_and_confidence, *reads, **given)
one_model = one_model.assign(layer=one_model.layer + 1, head=one_model["head"] + 1)
run.table(one_model, "one_translator", sentences=few)
one_model.nlargest(3, "relevance").round(3)

# %% [markdown]
# ## Do they agree by every rule?
#
# The same correlation by each of three rules, beside the ten models with random weights.

# %%
sure = {model: table.confidence for model, table in tables.items()}
agreement = relevance.agreement(explained, sure, random, diffuse)
run.table(agreement, "agreement_by_rule", over="heads", **facts)
europarl = study.ROOT / "figures/natural/01_relevance_and_confidence/tables"  # as published by another run, on natural text
here = "toy language" if run.corpus == "controlled" else "this run"
texts = {here: agreement, "Europarl": pd.read_csv(europarl / "agreement_by_rule.csv", index_col=0)}
shown = pd.concat([table.assign(text=text) for text, table in texts.items()])
shown = shown.assign(hollow=shown.model.isin(["random weights", "each of them"]))
words = {"all models": "all four together", "random weights": "ten random models", "each of them": "each random model"}
shown = shown.replace({"model": words | {"EN-FR europarl": "EN-FR"}})
figure = plots.dots(shown, row="model", value="rho", group="text", panel="rule", label="rank correlation")
run.figure(figure, "agreement_by_rule", "How far relevance and confidence agree, by three rules.")
run.table(relevance.rules_apart(explained, sure), "rules_apart", over="heads").round(2)

# %% [markdown]
# *Bars, low and high: `95 %` intervals over heads. Open circles: random models. Europarl: see below. The table: by how much αβ
# agrees better.*
#
# Yes, over the four together: by every rule the correlation is surely higher than with random weights.<!-- holds:
# 01/agreement_by_rule rule="LRP αβ" model="all models" low > 0.16 --><!-- holds: 01/agreement_by_rule rule=AttnLRP
# model="all models" low > 0.16 --><!-- holds: 01/agreement_by_rule rule=conservative model="all models" low > 0.16 --><!--
# holds: 01/agreement_by_rule rule="LRP αβ" model="random weights" high < 0.16 --><!-- holds: 01/agreement_by_rule
# rule=AttnLRP model="random weights" high < 0.16 --><!-- holds: 01/agreement_by_rule rule=conservative model="random weights"
# high < 0.16 --> For each translator alone that is sure by αβ only. By the other two rules the bars of three translators reach
# those of random models.<!-- holds: 01/agreement_by_rule rule="LRP αβ" model="EN-RU subtitles" low > 0.16 --><!-- holds:
# 01/agreement_by_rule rule=AttnLRP model="EN-RU news" low < 0.08 --><!-- holds: 01/agreement_by_rule rule=AttnLRP
# model="EN-FR news" low < 0.08 --><!-- holds: 01/agreement_by_rule rule=AttnLRP model="EN-RU subtitles" low < 0.085 --><!--
# holds: 01/agreement_by_rule rule=AttnLRP model="EN-DE news" low > 0.1 --><!-- holds: 01/agreement_by_rule rule=conservative
# model="EN-RU news" low < 0.1 --><!-- holds: 01/agreement_by_rule rule=conservative model="EN-FR news" low < 0.1 --><!-- holds:
# 01/agreement_by_rule rule=conservative model="EN-RU subtitles" low < 0.1 --><!-- holds: 01/agreement_by_rule
# rule=conservative model="EN-DE news" low > 0.11 -->

# %% [markdown]
# ## Do a few heads dominate?
#
# The paper says so of every layer. Our verdict asks only for the largest head, without the sign. The dotted line stands at a
# quarter, twice an even share. The conservative rule, not drawn, looks like AttnLRP.

# %%
dominant = relevance.dominance(explained, random, settings["bootstrap"])
run.table(dominant, "dominance", over="sentences", **facts)
flat = dominant.reset_index()
luck = flat[flat.model == first.title].drop(columns=["largest", "low", "high"]).assign(model="random models")
luck = luck.rename(columns={"at random": "largest", "random low": "low", "random high": "high"})
largest = pd.concat([flat, luck], ignore_index=True).query("rule != 'cp'")
largest = largest.assign(rule=largest.rule.map(relevance.NAMES), layer="layer " + largest.layer.astype(str))
figure = plots.dots(largest, "layer", "largest", "model", panel="rule", label="share of the largest head", level=0.25)
run.figure(figure, "largest_heads", "What part of a layer's relevance its largest head has.", table="dominance")


# %%
def dominated(table):
    above = table.largest > table["at random"]
    columns = {"layers": 1, "above the mean of random ones, and a quarter": above & (table.largest > 0.25)}
    columns |= {"surely above all ten random": table.low > table["random high"]}
    return table.assign(**columns).groupby("rule")[[*columns]].sum().rename(index=relevance.NAMES)


run.table(dominated(flat), "dominated_layers")

# %% [markdown]
# *Bars: `95 %` intervals over sentences; for random models the range of ten, on only `50` sentences, which may raise shares.*
#
# In some layers only. By αβ the largest head has a quarter of the layer in **9**<!-- 01/dominated_layers rule="LRP αβ"
# "above the mean of random ones, and a quarter":.0f --> of `24`. By the other rules it has one, and more than random models on
# average, in **17**<!-- 01/dominated_layers rule=AttnLRP "above the mean of random ones, and a quarter":.0f -->.<!-- holds:
# 01/dominated_layers rule=conservative "above the mean of random ones, and a quarter" == 17 --> But by these random models
# have large heads, too: ours is surely above all ten in fewer layers.<!-- holds: 01/dominated_layers rule=AttnLRP
# "surely above all ten random" == 10 --><!-- holds: 01/dominated_layers rule=conservative
# "surely above all ten random" == 10 -->

# %% [markdown]
# ## Do relevant heads do something one can name?
#
# We compare heads with a function with the others of their layer, in units of the average head. If functions are shuffled in
# each layer, `97.5 %` of differences stay below *shuffles reach*.

# %%
found = {}
for rule, name in relevance.NAMES.items():
    ranked = {title: table.assign(relevance=relevance.ranked_by(explained[title][rule])) for title, table in tables.items()}
    found[name] = relevance.follows_function(ranked)
run.table(found["LRP αβ"], "follows_function_by_model", over="heads", **facts)
by_rule = run.table(pd.concat(found, names=["rule"]), "follows_function_by_rule", over="heads", **facts)
shown = by_rule[["difference", "null_high"]].rename(columns={"null_high": "shuffles reach"})
shown.unstack("rule", sort=False).swaplevel(axis=1)[[*found]].round(2)

# %% [markdown]
# Yes, over all translators: by αβ heads with a function have **0.64**<!-- 01/follows_function_by_model model="all models"
# difference:.2f --> more,<!-- holds: 01/follows_function_by_model model="all models" low > 0 --><!-- holds:
# 01/follows_function_by_model model="all models" null_high < 0.3 --> and they have more by the other rules, too.<!-- holds:
# 01/follows_function_by_rule rule=AttnLRP model="all models" difference > 1.3 --><!-- holds: 01/follows_function_by_rule
# rule=AttnLRP model="all models" null_high < 0.6 --><!-- holds: 01/follows_function_by_rule rule=conservative
# model="all models" difference > 1.3 --><!-- holds: 01/follows_function_by_rule rule=conservative model="all models"
# null_high < 0.6 --> Half of the heads that are first in their layer by αβ have a function.<!-- holds:
# 01/follows_function_by_model model="all models" top == 24 --><!-- holds: 01/follows_function_by_model model="all models"
# top_none == 12 --> But not every translator shows it by itself: by αβ subtitles do not, and EN-RU news has only two such
# heads, too few to tell.<!-- holds: 01/follows_function_by_model model="EN-RU subtitles" difference < 0.2 --><!-- holds:
# 01/follows_function_by_model model="EN-RU subtitles" null_high > 0.2 --><!-- holds: 01/follows_function_by_model
# model="EN-RU news" difference < null_high --><!-- holds: 01/follows_function_by_model model="EN-RU news" functional == 2 -->

# %% [markdown]
# ## And on natural text?
#
# The same on Europarl, English to French (profile `europarl`, one training).

# %%
rows = pd.read_csv(europarl / "heads_fr-europarl.csv").fillna({"functions": ""}).set_index(["kind", "layer", "head"])
figure = plots.by_relevance(relevance.by_relevance({"EN-FR europarl": rows}))
run.figure(figure, "fig1_europarl", "Relevance, confidence and functions of encoder heads, on Europarl.")
run.table(dominated(pd.read_csv(europarl / "dominance.csv")), "dominated_layers_europarl")

# %% [markdown]
# By αβ relevance and confidence agree at **0.75**<!-- natural/01/agreement_by_rule rule="LRP αβ" model="EN-FR europarl"
# rho:.2f -->. By this rule and the conservative one they surely agree more than with random weights; by AttnLRP we cannot
# tell.<!-- holds: natural/01/agreement_by_rule rule="LRP αβ" model="EN-FR europarl" low > 0.13 --> One head dominates in some
# layers only. Three heads have a function, too few to tell whether they are more relevant.<!-- holds:
# natural/01/follows_function_by_model model="EN-FR europarl" low < 0 --><!-- holds: natural/01/follows_function_by_model
# model="EN-FR europarl" functional == 3 -->

# %% [markdown]
# ## And in a pretrained model?
#
# SmolLM2 is a language model, for which we have no αβ rule. Heads of such models often look at the first token, so confidence
# is also taken without it (*later tokens*). Correlations, from the [published table](../docs/pretrained.md), are held against
# zero.

# %%
smollm2 = pd.read_csv(study.ROOT / "figures" / "pretrained" / "head_table.csv").assign(kind="decoder")
smollm2, rows = smollm2.set_index(["kind", "layer", "head"]), []
for rule in ("attnlrp", "cp"):
    for other in ("confidence", "confidence, later tokens"):
        found = ranks.correlation(smollm2[f"{rule}, signed"].abs(), smollm2[other], within_layer=True)
        rows.append({"rule": relevance.NAMES[rule], "other": other} | found)
run.table(pd.DataFrame(rows), "smollm2", over="heads").round(2)

# %% [markdown]
# As they stand the two do not agree,<!-- holds: 01/smollm2 rule=AttnLRP other=confidence low < 0 --><!-- holds: 01/smollm2
# rule=AttnLRP other=confidence high > 0 --> and by the conservative rule the correlation is even surely below zero.<!-- holds:
# 01/smollm2 rule=conservative other=confidence high < 0 --> Without the first token it is **0.28**<!-- 01/smollm2 rule=AttnLRP
# other="confidence, later tokens" rho:.2f --> by AttnLRP, surely above zero.<!-- holds: 01/smollm2 rule=AttnLRP
# other="confidence, later tokens" low > 0 --> By the conservative rule we cannot tell.<!-- holds: 01/smollm2
# rule=conservative other="confidence, later tokens" low < 0 -->

# %% [markdown]
# ## Verdicts
#
# By the rules of [claims.toml](../claims.toml), for the toy language; for other texts see [all claims](../docs/results.md).

# %%
claims.show(run)

# %% [markdown]
# The first row and the third hold for the four together, not for each.
#
# ## What it means, and what it cannot say
#
# - **Name the rule, and hold large heads against random weights.** By two of three rules a model that has learned nothing has
#   them, too.
# - **Relevance is not need.** Only removal tells whether the model can do without a head: [notebook
#   6](06_do_measures_agree.ipynb).
# - These models are small, each is one training. [At the paper's size](../docs/results.md#at-the-papers-size) the correlation
#   on Europarl is **0.94**<!-- summaries/gpu-quarter what="relevance with confidence, encoder" value:.2f -->, by one rule.

# %% [markdown]
# ## Change one line
#
# - In the first cell: write `subject = studied[0]` for another translator, in figure 1 and *The two numbers*. A minute.
# - At *The two numbers*: write `"rule": "cp", "normalise": "size"` for the conservative rule, without the sign. Seconds.
# - In `down`: write `R_x = R @ (helped / (helped.sum(1, True) + 1e-5))`, so that only what helps gets relevance. The check
#   prints `0.4`, `0.6` and `0`, and the next says that the library computes something else. Seconds.
