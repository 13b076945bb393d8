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
# [← your own model](00_your_own_model.ipynb) · [notebook 2, head functions →](02_head_functions.ipynb) · [all
# claims](../docs/results.md)
#
# [Voita et al. 2019](https://arxiv.org/abs/1905.09418) give each attention head two numbers: *relevance*, the share of a
# predicted word's score that flows through it, and *confidence*, the largest weight that it puts on one token, on average. In
# their translators the few relevant heads of a layer are mostly confident and have a job, such as finding a verb's subject.
#
# We measure both in small translators. For SmolLM2, a pretrained language model, and a translator of the paper's size we read
# tables of earlier runs.
#
# - At the paper's size all **9**<!-- summaries/gpu-quarter-counted function=any heads:.0f --> heads with a job are among the
#   three most relevant of their layer. Whether they are missed more we cannot tell ([notebook 2](02_head_functions.ipynb)).<!--
#   holds: summaries/gpu-quarter what="encoder heads with a function, more missed alone by" low < 0 and high > 0 -->
# - By one rule for relevance (αβ), relevant heads are confident in all our translators; by another (AttnLRP) in five of six,
#   but not in SmolLM2.
# - In most models relevance, by either rule, roughly tells which heads are missed. In SmolLM2 confidence misleads, as many
#   heads look at the first token.<!-- holds: 01/ranked_as_removal model=135M measure=confidence high < 0 -->

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
# ## How are relevance and confidence computed?
#
# Relevance starts at the word's score and is handed down, layer by layer. The paper does not say which rule it used. We use
# three:
#
# | rule | by | in attention, relevance goes to | used here |
# |---|---|---|---|
# | *αβ* | [the authors, later][code] | queries, keys and values together | all models but SmolLM2, as nearest to the paper |
# | *AttnLRP* | [Achtibat et al. 2024][attn] | values (half), queries and keys | SmolLM2 (no αβ code); small models to compare |
# | *conservative* | [Ali et al. 2022][cp] | values alone | beside AttnLRP, as a check |
#
# [code]: https://github.com/lena-voita/the-story-of-heads/blob/master/lib/layers/lrp.py
# [attn]: https://arxiv.org/abs/2402.05602
# [cp]: https://arxiv.org/abs/2202.07304
#
# By αβ an output $j$ gives its relevance $R_j$ to the inputs $i$, in proportion to what each added. In a layer $y = Wx + b$
# with $N$ inputs this is $z_{ij} = W_{ji} x_i + b_j / N$. What helped ($z^+$) and what hindered ($z^-$) get half each:
#
# $$R_i = \sum_j \frac{1}{2} \left( \frac{z_{ij}^+}{\sum_{i'} z_{i'j}^+} + \frac{z_{ij}^-}{\sum_{i'} z_{i'j}^-} \right) R_j$$
#
# By the other rules relevance can be negative; we take its size.


# %% tags=["method"]
def down(layer, x, R):  # from the outputs of a layer to its inputs x; a row is a token
    W = torch.vmap(torch.func.jacrev(layer))(x)  # rows × outputs × inputs
    z = W * x[:, None] + torch.vmap(layer)(torch.zeros_like(x))[..., None] / x.shape[1]
    helped, hindered = z.clamp(min=0), z.clamp(max=0)
    shares = helped / (helped.sum(-1, True) + 1e-5) + hindered / (hindered.sum(-1, True) - 1e-5)
    R_x = (R[:, None] @ shares)[:, 0] / 2
    return R_x * R.sum(-1, True) / (R_x.sum(-1, True) + 1e-5)  # where nothing hinders, half is lost: restore it


weight, x = torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([[1.0, 3.0, 1.0]])
print(down(lambda x: weight @ x, x, torch.ones(1, 1)))  # 2 and 3 help and share a half; -1 hinders and has the other half

# %% [markdown]
# In attention and norms $W$ holds the derivatives at $x$. A residual connection is a layer that adds. **A head's relevance is
# what its output gets**, summed over its numbers and tokens. The library is [tested](../tests/reference/relevance.py) against a
# slow version.
#
# We try `down` where layer `1` mixes its heads, in a translator of *news* in a generated *toy language*.

# %%
studied, settings = subjects.study_models(run), run.settings
first = studied[0]
sentence = example.ONE_SENTENCE.value(first)  # of thirty the one in which one head carries most, by the conservative rule
model = deepcopy(first.model).cpu().double().requires_grad_(False)
batch = {name: value.cpu() for name, value in example.batch_of(first, sentence).items()}
target = sentence["target"]
print(" ".join(sentence["source"]), "→", " ".join(sentence["predicted"]), "\nthe word:", sentence["predicted"][target])

# %%
mixing, reads, maps = heads.sites(model, "encoder")[0].projection("out"), [], []
hook = mixing.register_forward_pre_hook(lambda layer, given: reads.append(given[0][0]))
with heads.record(model, lambda site, weights: maps.append(weights[0]), kinds="encoder"):
    model(**library.inputs(batch), use_cache=False)
hook.remove()
R = torch.rand(len(reads[0]), mixing.out_features).double()  # any relevance of its outputs
same = lrp.alpha_beta.Linear(mixing.weight, mixing.bias, reads[0]).down(R[:, None])[:, 0]
print(study.compare(down(mixing, reads[0], R), same))

# %% [markdown]
# Confidence is simpler:


# %% tags=["method"]
def confidence(A):  # heads × tokens that look × tokens that are looked at; the last token is the end
    return A[:, :-1, :-1].amax(-1).mean(-1)


print(study.compare(confidence(torch.cat(maps)).numpy(), measures.confidence(model, [batch]).loc["encoder"].to_numpy()))

# %% [markdown]
# ## Does a word need its relevant heads?
#
# The word is a Russian verb for *drank*. How probable is it without each head?


# %% tags=["method"]
@torch.no_grad()
def next_word(*address):  # probabilities of the next word, without the head at this address
    with heads.gate(model, {address: 0.0} if address else {}):
        return model(**library.inputs(batch)).logits[0, target].softmax(-1)


# %%
whole, every = next_word(), heads.index(model, "encoder")
without = [float(next_word(*one)[whole.argmax()]) for one in every]
word = pd.DataFrame({"with it": float(whole.max()), "without it": without}, every)
for name, rule in {"αβ": "alpha_beta", "AttnLRP": "attnlrp"}.items():
    size = abs(lrp.explain(model, [batch], rule, "encoder").values[target])
    word[f"share of relevance, {name}, %"] = 100 * size / size.sum()
word["fall of probability, points"] = 100 * (word["with it"] - word["without it"]).clip(lower=0)
run.table(measured.from_one(word), "one_word")
caption = "Relevance of each head for a word by two rules, and how far its probability falls without it (a rise is zero)."
run.figure(plots.by_measure(word[word.columns[2:]]), "one_word", caption)

# %%
layer, head = sentence["layer"], sentence["head"]
place, at = divmod(int(maps[layer][head].argmax()), len(sentence["source"]))
print("its largest weight is from", sentence["source"][place], "to", sentence["source"][at])
print("without it:", *first.target.pieces([int(next_word("encoder", layer, head).argmax())]))

# %% [markdown]
# **In this toy translator one head decides the word, and αβ does not put it first of its layer.** Head `8` of layer `1` looks
# from *drank* to *cow*, and cows here have their own verb for drinking. Without it the verb's probability falls from
# **90 %**<!-- 01/one_word layer=1 head=8 "with it":.0% --> to **5 %**<!-- 01/one_word layer=1 head=8 "without it":.0% -->.
# AttnLRP gives it **67 %**<!-- 01/one_word layer=1 head=8 "share of relevance, AttnLRP, %":.0f --> of all heads' relevance, αβ
# **4 %**<!-- 01/one_word layer=1 head=8 "share of relevance, αβ, %":.0f -->, so it is second in its layer, after head `3`,
# which the word does not need.<!-- holds: 01/one_word layer=1 head=8 "share of relevance, αβ, %" < head=3
# "share of relevance, αβ, %" --><!-- holds: 01/one_word layer=1 head=3 "without it" > 0.9 -->
#
# But we picked the sentence, by the conservative rule. Over many, αβ tells as well as AttnLRP which heads are missed, here and
# in real text (last figure).<!-- holds: 01/ranked_as_removal model="EN-RU news, 3 trainings|EN-FR" measure="LRP αβ" rho >
# measure=AttnLRP rho -->

# %% [markdown]
# ## Figure 1: what do relevant heads do?
#
# By αβ, in a toy translator and two of *Europarl*, debates of the European Parliament:

# %%
explained = {one.title: relevance.explained(one, settings) for one in studied}  # by three rules
tables = {one.title: relevance.head_table(one, explained[one.title], settings) for one in studied}
toy = next((title for title in tables if "subtitles" in title), first.title)  # of the paper's figure, too
both = run.table(relevance.by_relevance(toy, tables[toy]), "heads_by_relevance")
caption = "Heads and their jobs by relevance and confidence: at the paper's size those with a job are among the first."
run.figure(plots.by_relevance(both), "fig1_relevance_and_confidence", caption)


# %% [markdown]
# *Above: each layer's heads, the most relevant first. Below: their confidence in that order, the layer's largest at full
# height; at the paper's size it was not kept by head. Colours: jobs ([notebook 2](02_head_functions.ipynb)). The paper's figure
# 1 shows the same, in this order, for subtitles. It claims: the first heads are confident and have a job; only the first
# layer's, for rare words, is not confident.*

# %% tags=["method"]
def both_ways(heads, first=3):  # do heads with a job come first in their layer, and have the first ones a job? any: by chance
    rows = {}
    for model, table in heads.groupby("model", sort=False):
        job, leads = table.functions != "", table.place <= first
        rows[model] = {"heads with a job": job.sum(), "job → first, %": 100 * leads[job].mean()}
        rows[model] |= {"any → first, %": 100 * leads.mean(), "first → job, %": 100 * job[leads].mean()}
        rows[model] |= {"any → job, %": 100 * job.mean()}
    return pd.DataFrame(rows).T.rename_axis("model")


run.table(both_ways(both), "both_ways", over="heads").round(1)

# %% [markdown]
# **At the paper's size every head with a job is among the three most relevant of its layer.**<!-- holds: 01/both_ways
# model="Europarl, paper's size" "job → first, %" == 100 --><!-- holds: summaries/gpu-quarter-counted function=any heads == 9
# --> In toy subtitles, the text most like the paper's, **58 %**<!-- 01/both_ways model="toy language, subtitles"
# "job → first, %":.0f --> of `12`<!-- holds: 01/both_ways model="toy language, subtitles" "heads with a job" == 12 --> heads
# with a job are among the first three, by chance **38 %**<!-- 01/both_ways model="toy language, subtitles" "any → first, %":.0f
# -->: that may be chance. The small Europarl translator has too few to tell.<!-- holds: 01/both_ways model="Europarl, small"
# "heads with a job" == 3 -->
#
# **At the paper's size no head is for rare words.**<!-- holds: summaries/gpu-quarter-rare high < 0.5 --> The first layer's most
# relevant one looks at the token before.<!-- holds: summaries/gpu-quarter-positional layer=1 head=2 offset == -1 --><!-- holds:
# 01/heads_by_relevance model="Europarl, paper's size" layer=1 head=2 place == 1 -->

# %% [markdown]
# ## Do the two rank heads alike?
#
# In the paper they do.

# %%
random, diffuse = relevance.at_random(first, settings)  # relevance and confidence of ten untrained models
agreement = relevance.agreement(explained, tables, random, diffuse)
everywhere = run.table(relevance.everywhere(agreement, run.corpus), "everywhere", over="heads")
figure = plots.dots(everywhere, "model", "rho", group="text", panel="rule", label="rank correlation\nwith confidence")
run.figure(figure, "relevance_and_confidence", "In translators relevance ranks heads as confidence does, by LRP αβ most.")

# %% [markdown]
# *Bars: `95 %` intervals over heads.*
#
# **By αβ they do in every translator.**<!-- holds: 01/everywhere text="toy language" rule="LRP αβ"
# model="EN-RU news|EN-DE news|EN-FR news|EN-RU subtitles|EN-RU news, small, 3 trainings" low > 0 --><!-- holds: 01/everywhere
# text=Europarl rule="LRP αβ" model="EN-FR|EN-FR, paper's size" low > 0 --> The correlation goes from **0.48**<!-- 01/everywhere
# model="EN-RU subtitles" rule="LRP αβ" rho:.2f --> in subtitles to **0.94**<!-- 01/everywhere model="EN-FR, paper's size"
# rho:.2f --> at the paper's size. **By AttnLRP they do less, and in SmolLM2 not.**<!-- holds: 01/everywhere text="toy language"
# rule=AttnLRP model="EN-RU news|EN-DE news|EN-FR news|EN-RU subtitles|EN-RU news, small, 3 trainings" rho < rule="LRP αβ" rho
# --><!-- holds: 01/everywhere text=Europarl rule=AttnLRP model=EN-FR rho < rule="LRP αβ" rho --> Five of six translators'
# intervals are above zero, SmolLM2's is not; by the conservative rule it is below. If confidence leaves out the first token,
# SmolLM2's is above by AttnLRP.<!-- holds: 01/everywhere model="135M (confidence without first token)" rule=AttnLRP low > 0.1
# --><!-- holds: 01/everywhere rule=conservative model=135M high < 0 --><!-- holds: 01/everywhere rule=AttnLRP
# text="toy language" model="EN-RU news|EN-DE news|EN-RU subtitles|EN-RU news, small, 3 trainings" low > 0 --><!-- holds:
# 01/everywhere rule=AttnLRP text=Europarl model=EN-FR low > 0 --><!-- holds: 01/everywhere rule=AttnLRP model="EN-FR news|135M"
# low < 0 -->

# %% [markdown]
# ## Do they tell which heads a model would miss?
#
# [Notebook 6](06_do_measures_agree.ipynb) takes the rise of the loss without each head. Ranks in a layer go up to `100`,
# the most relevant or missed head.


# %% tags=["method"]
def in_layer(values):  # rank in the layer
    layers = values.groupby(level="layer")
    return 100 * (layers.rank() - 1) / (layers.transform("count") - 1)


# %%
known, parts = relevance.elsewhere(), []
chosen = {("Europarl", "EN-FR"): ["LRP αβ", "AttnLRP"], ("SmolLM2", "135M"): ["AttnLRP", "confidence"]}
for (text, name), by in chosen.items():
    one = known.loc[text].loc[name]
    number = one.index.get_level_values("layer").factorize()[0]
    for measure in by:
        part = {"rank by the measure": in_layer(one[measure].abs()), "rank by removal": in_layer(one["leave-one-out"])}
        parts.append(pd.DataFrame(part).assign(panel=f"{text}, {measure}", layer=number + 1))
beside = run.table(pd.concat(parts, ignore_index=True), "beside_removal", over="heads")
figure = plots.scatter(beside, "rank by the measure", "rank by removal", "panel")
caption = "Relevant heads are missed more in both models, by αβ most clearly; SmolLM2 misses confident heads less."
run.figure(figure, "beside_removal", caption)

# %% [markdown]
# *Grey: heads, moved a little to be seen. Black: means.*
#
# **By αβ the small Europarl translator misses the most relevant head of each layer most.**<!-- holds: 01/beside_removal
# panel="Europarl, LRP αβ" layer=* "rank by the measure"=100 "rank by removal" == 100 --> At the paper's size, again by αβ, this
# is so in four of six layers, though within noise of other heads.<!-- holds: summaries/gpu-quarter-heads layer=1|5 place=1
# "place without it" > 1 --><!-- holds: summaries/gpu-quarter-heads layer=2|3|4|6 "place without it"=1 place == 1 and low <
# "place without it"=2 high --> By AttnLRP the small one does so in one of six.<!-- holds: 01/beside_removal
# panel="Europarl, AttnLRP" layer=1|3|4|5|6 "rank by the measure"=100 "rank by removal" < 100 --><!-- holds: 01/beside_removal
# panel="Europarl, AttnLRP" layer=2 "rank by the measure"=100 "rank by removal" == 100 -->
#
# All models whose heads we removed:


# %% tags=["method"]
def correlations(heads, other="leave-one-out"):  # of ranks in a layer; leave-one-out is the rise of the loss
    rows = []
    for (text, model), table in heads.groupby(["text", "model"], sort=False):
        for measure in table.drop(columns=other).dropna(axis=1):
            found = ranks.correlation(table[other], table[measure].abs(), within_layer=True)
            rows.append({"text": text, "model": model, "measure": measure} | found)
    return pd.DataFrame(rows)


# %%
removal = correlations(known)
later = removal.measure == "confidence without first token"
removal.loc[later, ["model", "measure"]] = "135M (confidence without first token)", "confidence"
removal = run.table(removal, "ranked_as_removal", over="heads")
shown = removal[removal.measure != "conservative"]  # which ranks heads much as AttnLRP does
figure = plots.dots(shown, "model", "rho", group="text", panel="measure", label="rank correlation with\nthe rise of the loss")
caption = "Relevance ranks heads roughly as removing them does, but not in subtitles; confidence misleads in SmolLM2."
run.figure(figure, "ranked_as_removal", caption)

# %% [markdown]
# **In most models relevance, by either rule, tells roughly which heads are missed; in SmolLM2 confidence misleads.**<!-- holds:
# 01/ranked_as_removal measure="LRP αβ|AttnLRP" model="EN-FR|EN-RU news, 3 trainings|EN-RU news, small, 3 trainings" low > 0
# --><!-- holds: 01/ranked_as_removal measure=AttnLRP model=135M low > 0 --> By αβ the correlation is **0.77**<!--
# 01/ranked_as_removal model=EN-FR measure="LRP αβ" rho:.2f --> in the small Europarl translator, where confidence does nearly
# as well,<!-- holds: 01/ranked_as_removal model=EN-FR measure=confidence rho > 0.6 --> and **0.33**<!-- 01/ranked_as_removal
# model="EN-FR, paper's size" measure="LRP αβ" rho:.2f --> at the paper's size, barely significant.<!-- holds:
# 01/ranked_as_removal model="EN-FR, paper's size" measure="LRP αβ" low > 0 --> In subtitles no measure shows a relation.<!--
# holds: 01/ranked_as_removal model="EN-RU subtitles" measure="LRP αβ|AttnLRP" low < 0 --><!-- holds: 01/ranked_as_removal
# model="EN-RU subtitles" measure=confidence high > 0 --> SmolLM2 misses confident heads less, unless confidence leaves out the
# first token, at which many look.<!-- holds: 01/ranked_as_removal model=135M measure=confidence high < 0 --><!-- holds:
# 01/ranked_as_removal model="135M (confidence without first token)" measure=confidence low > 0.1 -->

# %% [markdown]
# ## What this does not show
#
# Verdicts for the toy language ([rules](../claims.toml)); the first and third pool its four translators:

# %%
facts = {"split": "dev", "explained": settings["relevance"]}  # so many sentences
run.table(agreement, "agreement_by_rule", over="heads", **facts)
run.table(relevance.dominance(explained, random, settings["bootstrap"]), "dominance", over="sentences", **facts)
run.table(relevance.follows_function(tables), "follows_function_by_model", over="heads", **facts)
run.table(relevance.smollm2(), "smollm2", over="heads")
run.table(relevance.bleu(settings, studied, seed), "bleu", beam=settings["beam"], over="sentences")
claims.show(run)

# %% [markdown]
# - Alone, EN-FR news leaves the first open by two rules, EN-RU news by one: their intervals include zero.<!-- holds:
#   01/agreement_by_rule model="EN-FR news" rule=AttnLRP|conservative low < 0 --><!-- holds: 01/agreement_by_rule
#   model="EN-RU news" rule=conservative low < 0 --><!-- holds: 01/agreement_by_rule model="EN-RU news" rule="LRP αβ|AttnLRP"
#   low > 0 --> On Europarl alone AttnLRP leaves it open.<!-- holds: natural/01/agreement_by_rule rule=AttnLRP
#   model="EN-FR europarl" low < model="random weights" high --> Subtitles leave the third open, as does Europarl.<!-- holds:
#   01/follows_function_by_model model="EN-RU subtitles" low < 0 --><!-- holds: natural/01/follows_function_by_model
#   model="EN-FR europarl" low < 0 -->
# - By αβ one head has a quarter of its layer in `9` of `24` layers of toy translators,<!-- holds: 01/dominance
#   model="EN-RU news" layer=2 rule=alpha_beta largest < 0.25 --><!-- holds: 01/dominance model="EN-RU news" layer=3
#   rule=alpha_beta largest > 0.25 --> at the paper's size in none.<!-- holds: 01/heads_by_relevance
#   model="Europarl, paper's size" layer=* place=1 relevance < 0.25 -->
# - Most models are one training, that of the paper's size of four GPU minutes.
# - The toy language hardly needs encoder heads: trained without any, a translator has **86.9**<!-- 01/bleu
#   model="EN-RU news, no encoder heads" bleu:.1f --> BLEU instead of **88.1**<!-- 01/bleu model="EN-RU news" bleu:.1f -->. The
#   one above does need them: if it loses them and trains on, it has **75.7**<!-- 01/bleu
#   model="EN-RU news, encoder heads removed, trained on" bleu:.1f -->.
#
# ### Change one line (seconds; the cells above take a minute)
#
# - In `next_word`: write `0.5` for `0.0`. Heads are halved, and the verb stays, at `74 %`.
# - In `both_ways`: write `first=1`. At the paper's size half of the first heads have a job.
