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
# [Voita et al. 2019](https://arxiv.org/abs/1905.09418) give heads two numbers. *Relevance* is the share of a predicted word's
# score that flows through the head. *Confidence* is the largest weight that the head puts on one token, on average.
#
# In short:
#
# - **Relevant heads are confident** in translators of a generated *toy language* and of Europarl, natural text, but in
#   SmolLM2, a pretrained language model, only without the first token.
# - **They more often have a function**, in the toy language and in a translator of the paper's size.
# - **Relevance tells which heads matter, where heads matter.** On Europarl its rank correlation with removal is **0.77**<!--
#   01/ranked_as_removal model="Europarl EN-FR" measure=relevance rho:.2f -->.
# - **By other rules for relevance** fewer models show the first and the third.

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
# ## What the paper shows
#
# Its figures 1 and 2 draw every encoder head of four translators, without numbers. The text says:
#
# - In each layer a few heads are far more relevant than the others.
# - Relevant heads are confident, "to a reasonable extent".
# - *Positional* heads, which look at one place for `90 %` of tokens, are mostly the most relevant. Their confidence is over
#   `80 %`.
# - The exception looks at rare words: first by relevance in layer `1`, but not confident.
#
# Ours are translators with six layers of eight heads: three of *news* and one of shorter *subtitles* in the toy language, two
# of Europarl, one at [the paper's size](../docs/results.md#at-the-papers-size).
#
# Bars are `95 %` intervals over heads, not over trainings. A dot is full where its bar leaves out zero.
#
# ## How is relevance computed?
#
# Relevance starts as one at the word's score and is handed down. Each output $j$ of a layer gives its relevance $R_j$ to the
# inputs $i$, in proportion to what each added. In a layer $y = Wx + b$ with $N$ inputs this is
# $z_{ij} = W_{ji} x_i + b_j / N$. What helped ($z^+$) and what hindered ($z^-$) get half each:
#
# $$R_i = \sum_j \frac{1}{2} \left( \frac{z_{ij}^+}{\sum_{i'} z_{i'j}^+} + \frac{z_{ij}^-}{\sum_{i'} z_{i'j}^-} \right) R_j$$
#
# This is the *αβ rule* of the [authors' later
# code](https://github.com/lena-voita/the-story-of-heads/blob/master/lib/layers/lrp.py). It asks how much a part did, not for
# which side, so nothing is negative. Then relevance is scaled: each token passes on what it got. In other layers $W$ is the
# Jacobian.


# %% tags=["method"]
def down(layer, x, R, keep=True):  # from the outputs of a layer to its inputs x; a row is a token, or a head
    W = torch.vmap(torch.func.jacrev(layer))(x)  # rows × outputs × inputs
    z = W * x[:, None] + torch.vmap(layer)(torch.zeros_like(x))[..., None] / x.shape[1]
    helped, hindered = z.clamp(min=0), z.clamp(max=0)
    shares = helped / (helped.sum(-1, True) + 1e-5) + hindered / (hindered.sum(-1, True) - 1e-5)
    R_x = (R[:, None] @ shares)[:, 0] / 2
    R_x = R_x * R.sum(-1, True) / (R_x.sum(-1, True) + 1e-5)  # every row keeps its sum
    return R_x * R.sum() / (R_x.sum() + 1e-5) if keep else R_x


weight, x = torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([[1.0, 3.0, 1.0]])
print(down(lambda x: weight @ x, x, torch.ones(1, 1)))  # 2 and 3 help and share a half; -1 hinders and has the other half

# %% [markdown]
# Now a real word. We keep what enters and leaves every layer.

# %%
studied, settings = subjects.study_models(run), run.settings
first = studied[0]  # a translator of news
sentence = example.ONE_SENTENCE.value(first)  # of thirty the one in which one head carries most, by the conservative rule
model = deepcopy(first.model).cpu().double().requires_grad_(False)
batch = {name: value.cpu() for name, value in example.batch_of(first, sentence).items()}
target, encoder, decoder = sentence["target"], model.get_encoder(), model.get_decoder()
print(" ".join(sentence["source"]), "→", " ".join(sentence["predicted"]), "\nfollowed down:", sentence["predicted"][target])

# %% [markdown]
# Through attention relevance goes to queries, keys and values, the inputs of one layer. **A head's relevance is what its
# output gets, summed over its numbers and over positions.**


# %% tags=["method"]
def attention(block, R, memory=None):  # to its input; cross-attention also gives to `memory`, the encoder's output
    parts, each = [block.q_proj, block.k_proj, block.v_proj], (block.num_heads, block.head_dim)
    R = by_head(down(block.out_proj, read[block.out_proj], R), each)
    of_heads[block] = R.sum(1)
    qkv = [by_head(made[part], each) for part in parts]
    sizes = [part.shape[1] for part in qkv]

    def mix(qkv):  # in one head
        q, k, v = (part.view(-1, block.head_dim) for part in qkv.split(sizes))
        scores = q @ k.T * block.scaling
        if block.is_decoder and memory is None:  # no token looks ahead
            scores = scores + torch.full_like(scores, -1e9).triu(1)
        return (scores.softmax(-1) @ v).flatten()

    R = down(mix, torch.cat(qkv, 1), R).split(sizes, 1)
    R = [part.unflatten(1, (-1, block.head_dim)).transpose(0, 1).flatten(1) for part in R]
    x = read[parts[0]]
    if memory is None:
        return down(lambda x: torch.cat([part(x) for part in parts]), x, torch.cat(R, 1)), 0
    return down(parts[0], x, R[0]), down(lambda x: torch.cat([part(x) for part in parts[1:]]), memory, torch.cat(R[1:], 1))


def by_head(x, each):  # heads × all numbers of one, token by token
    return x.unflatten(-1, each).transpose(0, 1).flatten(1)


# %% [markdown]
# A block stands beside a residual connection, which is a layer that adds. Every layer of the decoder gives to the encoder's
# output.


# %% tags=["method"]
def stack(layers, R, memory=None):  # through encoder or decoder: what stands at its tokens, and what goes to memory
    at_tokens, to_memory = [R.sum(1)], 0
    for layer in reversed(layers):
        R, given = through(layer, R, memory)
        at_tokens, to_memory = [R.sum(1), *at_tokens], to_memory + given
    return at_tokens, to_memory


def through(layer, R, memory, given=0):
    R, _ = past(layer.final_layer_norm, layer.fc2, R, lambda R: (feed_forward(layer, R), 0))
    if memory is not None:
        before, cross = R.sum(), layer.encoder_attn
        R, given = past(layer.encoder_attn_layer_norm, cross.out_proj, R, lambda R: attention(cross, R, memory))
        factor = before / (R.sum() + given.sum())
        R, given = R * factor, given * factor
    R, _ = past(layer.self_attn_layer_norm, layer.self_attn.out_proj, R, lambda R: attention(layer.self_attn, R))
    return R, given


def past(norm, last, R, inside):  # a block: norm, what it does up to its `last` layer, and what goes past it
    beside, R = down(lambda both: sum(both.chunk(2)), torch.cat([read[norm], made[last]], 1), R, keep=False).chunk(2, 1)
    R, given = inside(R)
    return beside + down(norm, read[norm], R), given


def feed_forward(layer, R):
    return down(layer.fc1, read[layer.fc1], down(layer.fc2, read[layer.fc2], R))


# %% tags=["method"]
def to_encoder():  # of heads, and of tokens at every height, from the target's likeliest word
    def note(layer, given, out):
        read[layer], made[layer] = given[0][0], out[0]

    kept = (torch.nn.Linear, torch.nn.LayerNorm)
    hooks = [one.register_forward_hook(note) for one in model.modules() if isinstance(one, kept)]
    scores = model(**library.inputs(batch)).logits[0]
    for hook in hooks:
        hook.remove()
    word, output = scores[target].argmax(), model.lm_head
    R = (torch.arange(len(scores)) == target).double()[:, None]
    R = down(lambda x: (output(x) + model.final_logits_bias[0])[word, None], read[output], R)
    R = down(decoder.layer_norm, read[decoder.layer_norm], R)
    R = stack(decoder.layers, R, made[encoder.layer_norm])[1]
    at_tokens, _ = stack(encoder.layers, down(encoder.layer_norm, read[encoder.layer_norm], R))
    return torch.cat([of_heads[layer.self_attn] for layer in encoder.layers]), torch.stack(at_tokens)


# %%
read, made, of_heads = {}, {}, {}
same = lrp.explain(model, [batch], "alpha_beta", "encoder").values[target]
if hasattr(encoder, "layer_norm"):  # norms stand before blocks, as in our models
    mine, flow = to_encoder()  # a quarter of a minute
    print(f"{len(mine)} encoder heads, together {mine.sum():.3f}.", study.compare(mine.numpy(), same))

# %% [markdown]
# Each layer counts relevance again, so the sum is above one. Confidence is simpler:


# %% tags=["method"]
def confidence(A):  # heads × tokens that look × tokens that are looked at; the last token is the end
    return A[:, :-1, :-1].amax(-1).mean(-1)


maps = []
with heads.record(model, lambda site, weights: maps.append(weights[0]), kinds="encoder"), torch.no_grad():
    model(**library.inputs(batch), use_cache=False)
theirs = measures.confidence(model, [batch]).loc["encoder"].to_numpy()
print(study.compare(confidence(torch.cat(maps)).numpy(), theirs))

# %% [markdown]
# ## One word and its head
#
# The Russian word for *drank* has half of its relevance at *drank*. One head of layer `1` looks from *drank* to *cow*.

# %%
if hasattr(encoder, "layer_norm"):
    figure = plots.through_a_sentence(sentence, target, (flow / flow.sum(1, True)).numpy())
    run.figure(figure, "through_a_sentence", "Relevance of one predicted word through one sentence.")

# %% [markdown]
# Would the word come without this head?


# %% tags=["method"]
@torch.no_grad()
def next_word(*address):  # probabilities of the word, one head's output set to zero
    with heads.gate(model, {address: 0.0} if address else {}):
        return model(**library.inputs(batch)).logits[0, target].softmax(-1)


whole, cut = next_word(), next_word("encoder", sentence["layer"], sentence["head"])
for title, p in {"with all heads": whole, "without this head": cut}.items():
    best = p.topk(3)
    print(title, [piece.strip("▁") for piece in first.target.pieces(best.indices.tolist())], best.values.numpy().round(2))

# %%
addresses, word = heads.index(model, "encoder"), int(whole.argmax())
shares = ranks.relative(pd.Series(same, addresses)).div(model.config.encoder_attention_heads).to_frame("share of the layer")
shares = shares.assign(**{"with it": float(whole[word]), "without it": [float(next_word(*one)[word]) for one in addresses]})
few = shares.index.isin(shares["share of the layer"].nlargest(3).index) | (shares["without it"] < 0.5)
run.table(measured.from_one(shares[few]), "large_heads").round(2)

# %% [markdown]
# *An even share is `0.125`. Then the probability of the word.*
#
# **A modest share can decide, and a large one be idle.** This head has **18 %**<!-- 01/large_heads layer=1
# "share of the layer":.0% --> of its layer. Without it the probability falls from **90 %**<!-- 01/large_heads layer=1
# "with it":.0% --> to **5 %**<!-- 01/large_heads layer=1 "without it":.0% -->: in this language cows have their own verb, and
# the model writes that of people. The heads with the largest shares the word does not need.<!-- holds: 01/large_heads layer=3
# "without it" > 0.85 --><!-- holds: 01/large_heads layer=4 "without it" > 0.85 --><!-- holds: 01/large_heads layer=6
# "without it" > 0.85 --><!-- holds: 01/large_heads layer=6 "share of the layer" > 0.25 -->

# %% [markdown]
# ## Figures 1 and 2: every head of the encoder
#
# Heads are sorted by relevance, on `250` sentences. Colours are functions, by the tests of [notebook
# 2](02_head_functions.ipynb).

# %%
explained = {one.title: relevance.explained(one, settings) for one in studied}  # by every rule
tables = {one.title: relevance.head_table(one, explained[one.title], settings) for one in studied}
facts = {"split": "dev", "explained": settings["relevance"]}  # so many sentences
for one in studied:
    run.table(tables[one.title], f"heads_{one.name}", model=one.name, over="sentences", **facts)
every = relevance.by_relevance(tables, relevance.candidates(studied, settings))
both = pd.concat([every, relevance.published()]).drop_duplicates(["model", "layer", "head"])
both = run.table(both, "heads_by_relevance")
figure = plots.by_relevance(both)
run.figure(figure, "fig1_relevance_and_confidence", "Relevance, confidence and functions of every encoder head.")

# %% [markdown]
# *At the paper's size confidence by head was not kept.*
#
# **The best positional heads are relevant, as in the paper.** In five of six models the best head at one position is first or
# second in its layer.<!-- holds: 01/heads_by_relevance model="EN-RU news" candidate=positional place == 1 --><!-- holds:
# 01/heads_by_relevance model="EN-DE news" candidate=positional place == 2 --><!-- holds: 01/heads_by_relevance
# model="EN-FR news" candidate=positional place == 1 --><!-- holds: 01/heads_by_relevance model="EN-RU subtitles"
# candidate=positional place == 1 --><!-- holds: 01/heads_by_relevance model="EN-FR europarl" candidate=positional place == 3
# --><!-- holds: 01/heads_by_relevance model="EN-FR europarl, paper's size" candidate=positional place == 1 --> At the paper's
# size it looks at the token before for **95 %**<!-- summaries/gpu-quarter-positional kind=encoder score:.0% --> of tokens
# (printed: `90 %`), in small ones for **67 %**<!-- natural/02/positional_heads kind=encoder score:.0% --> at most. Its
# confidence is over `80 %`, in subtitles alone.<!-- holds: 01/heads_by_relevance model="EN-RU subtitles" candidate=positional
# confidence > 0.8 --><!-- holds: 01/heads_by_relevance model="EN-RU news" candidate=positional confidence < 0.8 --><!--
# holds: 01/heads_by_relevance model="EN-DE news" candidate=positional confidence < 0.8 --><!-- holds: 01/heads_by_relevance
# model="EN-FR news" candidate=positional confidence < 0.8 --><!-- holds: 01/heads_by_relevance model="EN-FR europarl"
# candidate=positional confidence < 0.8 -->
#
# **Relevant heads more often have a function.** Of the `24` first heads of the toy language `12` have one, of all heads
# `14 %`.<!-- holds: 01/follows_function_by_model model="all models" top == 24 --><!-- holds: 01/follows_function_by_model
# model="all models" top_none == 12 --><!-- holds: 01/follows_function_by_model model="all models" functional == 27 --> At the
# paper's size all nine are among the first three.<!-- holds: summaries/gpu-quarter-heads layer=1 head=2 place < 4
# --><!-- holds: summaries/gpu-quarter-heads layer=2 head=6 place < 4 --><!-- holds: summaries/gpu-quarter-heads layer=2
# head=8 place < 4 --><!-- holds: summaries/gpu-quarter-heads layer=3 head=6 place < 4 --><!-- holds:
# summaries/gpu-quarter-heads layer=4 head=3 place < 4 --><!-- holds: summaries/gpu-quarter-heads layer=5 head=3 place < 4
# --><!-- holds: summaries/gpu-quarter-heads layer=6 head=1 place < 4 --><!-- holds: summaries/gpu-quarter-heads layer=6
# head=3 place < 4 --><!-- holds: summaries/gpu-quarter-heads layer=6 head=6 place < 4 --><!-- holds: summaries/gpu-quarter
# what="encoder heads, none" value == 39 --> On small Europarl none is first.<!-- holds: natural/01/follows_function_by_model
# model="EN-FR europarl" top_none == 6 -->
#
# **The paper's head of rare words we do not find.** The best such head stands at the diamond in one model of six, EN-DE,
# which may be chance.<!-- holds: 01/heads_by_relevance model="EN-DE news" candidate=rare place == 1 --><!-- holds:
# 01/heads_by_relevance model="EN-DE news" candidate=rare layer == 1 --><!-- holds: 01/heads_by_relevance
# model="EN-FR europarl, paper's size" candidate=rare place == 3 --> It looks at rare words for **24**<!-- 02/beside_random
# test="looks at one of the two rarest" model="toy EN-DE news" head="the best head" value:.0f --> % of tokens, a random
# model's for **17**<!-- 02/beside_random test="looks at one of the two rarest" model="toy EN-DE news"
# head="the best with random weights" value:.0f --> %, the paper's for over `50 %`; in subtitles **48**<!-- 02/beside_random
# test="looks at one of the two rarest" model="toy EN-RU subtitles" head="the best head" value:.0f --> %, **33**<!--
# 02/beside_random test="looks at one of the two rarest" model="toy EN-RU subtitles" head="the best with random weights"
# value:.0f --> % and `83 %`.

# %% [markdown]
# ## What are relevant heads like?
#
# Left: do relevance and confidence rank the heads of a layer alike? Right: how much more relevance have heads with a function
# than others? One is that of their layer's average head. αβ has no rule for SmolLM2's layers, so there we take AttnLRP.

# %%
smollm2, rows = pd.read_csv(study.ROOT / "figures/pretrained/head_table.csv").assign(kind="decoder"), []
does = pd.read_csv(study.ROOT / "figures/pretrained/by_head.csv").query("model == 'smollm2' and trees == 'ewt'")
smollm2 = smollm2.merge(does[["layer", "head", "functions"]]).set_index(["kind", "layer", "head"]).fillna({"functions": ""})
smollm2 = smollm2.assign(attnlrp=smollm2["attnlrp, signed"], cp=smollm2["cp, signed"])  # summed over tokens
for rule in ("attnlrp", "cp"):
    for other in ("confidence", "confidence, later tokens"):
        found = ranks.correlation(smollm2[rule].abs(), smollm2[other], within_layer=True)
        rows.append({"rule": relevance.NAMES[rule], "other": other} | found)
pretrained_rows = run.table(pd.DataFrame(rows), "smollm2", over="heads")


# %%
def published(*names, folder="controlled"):  # encoder heads of notebook 6
    path = study.ROOT / "figures" / folder / "06_do_measures_agree/tables"
    frames = {name: pd.read_csv(path / f"head_table_{name}.csv", dtype={"functions": str}) for name in names}
    frames = {name: one.set_index(["kind", "layer", "head"]).loc[["encoder"]] for name, one in frames.items()}
    return relevance.pooled(frames).fillna({"functions": ""})


# %%
europarl, found = published("fr-europarl", folder="natural"), []
others = ("Europarl", "EN-FR", "encoder", europarl), ("SmolLM2", "all tokens", "decoder", smollm2)
here = relevance.TOY if run.corpus == "controlled" else "this run"
for rule, name in relevance.NAMES.items():
    ranked = {title: table.assign(relevance=relevance.ranked_by(explained[title][rule])) for title, table in tables.items()}
    found.append(relevance.follows_function(ranked).reset_index().assign(text=here, rule=name))
    for text, model_name, kind, table in others:
        if rule in table:
            row = ranks.follows_function({"": table[rule].abs()}, {"": table.functions}, kind=kind)
            found.append(pd.DataFrame([row]).assign(text=text, rule=name, model=model_name))
functions = pd.concat(found)

# %%
sure = {model: table.confidence for model, table in tables.items()}
random, diffuse = relevance.at_random(first, settings)  # relevance and confidence of ten random models, on 50 sentences
agreement = relevance.agreement(explained, sure, random, diffuse)
run.table(agreement, "agreement_by_rule", over="heads", **facts)
of_ours = functions[(functions.text == here) & (functions.rule == "LRP αβ")].drop(columns=["text", "rule"])
run.table(of_ours.set_index("model"), "follows_function_by_model", over="heads", **facts)
relevant_heads = relevance.side_by_side(agreement.assign(text=here), functions, pretrained_rows)
relevant_heads["hollow"] = (relevant_heads.low <= 0) & (relevant_heads.high >= 0)
run.table(relevant_heads, "relevant_heads", over="heads")

# %%
ours = relevant_heads.text.eq("SmolLM2").map({True: "AttnLRP", False: "LRP αβ"})
main = relevant_heads[relevant_heads.rule == ours]
figure = plots.dots(main, "model", "value", group="text", panel="panel", label=" ", sharex=False)
run.figure(figure, "relevant_heads", "How far relevant heads are confident and have a function.")

# %% [markdown]
# **In translators relevant heads are confident**, most at the paper's size: **0.94**<!-- summaries/gpu-quarter
# what="relevance with confidence, encoder" value:.2f -->. The small ones have **0.48**<!-- 01/agreement_by_rule rule="LRP αβ"
# model="EN-RU subtitles" rho:.2f --> to **0.75**<!-- natural/01/agreement_by_rule rule="LRP αβ" model="EN-FR europarl"
# rho:.2f -->, ten random models about zero.<!-- holds: 01/agreement_by_rule rule="LRP αβ" model="EN-RU news" low > 0.1
# --><!-- holds: 01/agreement_by_rule rule="LRP αβ" model="EN-DE news" low > 0.1 --><!-- holds: 01/agreement_by_rule
# rule="LRP αβ" model="EN-FR news" low > 0.1 --><!-- holds: 01/agreement_by_rule rule="LRP αβ" model="EN-RU subtitles" low >
# 0.1 --><!-- holds: natural/01/agreement_by_rule rule="LRP αβ" model="EN-FR europarl" low > 0.5 --><!-- holds:
# 01/agreement_by_rule rule="LRP αβ" model="random weights" rho < 0.1 --><!-- holds: natural/01/agreement_by_rule
# rule="LRP αβ" model="random weights" rho < 0.1 -->
#
# **In SmolLM2 we see it only without the first token**, at which many heads look.<!-- holds: 01/smollm2 rule=AttnLRP
# other=confidence low < 0 --><!-- holds: 01/smollm2 rule=AttnLRP other="confidence, later tokens" low > 0.1 -->
#
# **Heads with a function are more relevant in the toy language and at the paper's size**, by **0.64**<!--
# 01/follows_function_by_model model="all models" difference:.2f --> and **0.44**<!-- summaries/gpu-quarter
# what="encoder heads with a function, more relevant by" value:.2f --> average heads. In EN-RU news this rests on two heads of
# one layer (p **0.07**<!-- 01/follows_function_by_model model="EN-RU news" p:.2f -->).<!-- holds:
# 01/follows_function_by_model model="EN-RU news" functional == 2 --><!-- holds: 01/follows_function_by_model
# model="EN-RU news" layers == 1 --> In subtitles, small Europarl and SmolLM2 we cannot tell.<!-- holds:
# 01/follows_function_by_model model="all models" low > 0.3 --><!-- holds: 01/follows_function_by_model
# model="EN-RU subtitles" low < 0 --><!-- holds: natural/01/follows_function_by_model model="EN-FR europarl" low < 0 -->
# Functions are tested by the largest weight, so this may be confidence again.

# %% [markdown]
# ## Do relevant heads matter?
#
# One translator never had encoder heads. Another loses them, and trains on for `2,000` steps.

# %%
bleu = run.table(relevance.bleu(settings, studied, seed), "bleu", beam=settings["beam"], over="sentences")
natural = pd.read_csv(relevance.NATURAL / "01_relevance_and_confidence/tables/bleu.csv").query("`test set` == 'europarl_test'")
beside = pd.concat([bleu.reset_index(), natural])
beside.drop_duplicates("model")[["model", "bleu", "low", "high"]].round(1)

# %% [markdown]
# **EN-RU news hardly needs them, if they were never there. Europarl does.** Without them BLEU is **86.9**<!-- 01/bleu
# model="EN-RU news, no encoder heads" bleu:.1f --> instead of **88.1**<!-- 01/bleu model="EN-RU news" bleu:.1f -->, on
# Europarl **15.1**<!-- natural/01/bleu model="EN-FR europarl, no encoder heads" "test set"=europarl_test bleu:.1f --> instead
# of **22.7**<!-- natural/01/bleu model="EN-FR europarl" "test set"=europarl_test bleu:.1f -->. Removed later they cost
# more.<!-- holds: 01/bleu model="EN-RU news, encoder heads removed, trained on" bleu < 80 --><!-- holds: natural/01/bleu
# model="EN-FR europarl, encoder heads removed, trained on" "test set"=europarl_test bleu < 13 -->
#
# [Notebook 6](06_do_measures_agree.ipynb) removes one at a time and takes the rise of the loss. Do our numbers rank the heads
# of a layer by that rise? *Gradient importance*, the slope of the loss as a head begins to close, is nearly the same.


# %% tags=["method"]
def ranked_as_removal(heads):  # a row a measure
    names, rows = {"relevance": "relevance", "confidence": "confidence", "gradient, example": "gradient importance"}, []
    for column, name in (names | relevance.NAMES).items():
        if column in heads:
            found = ranks.correlation(heads["leave-one-out"], heads[column].abs(), within_layer=True)
            rows.append({"measure": name} | found)
    return pd.DataFrame(rows)


# %%
def trainings(name):
    return published(name, f"{name}-seed-2", f"{name}-seed-3")


texts = {"toy EN-RU news, small, 3 trainings": trainings("ru-news-small"), "toy EN-RU news, 3 trainings": trainings("ru-news")}
texts |= {"toy EN-RU subtitles": published("ru-subtitles"), "toy summaries": published("dialogues"), "Europarl EN-FR": europarl}
texts = {text: heads.assign(relevance=heads.alpha_beta) for text, heads in texts.items()}
size = pd.read_csv(relevance.SUMMARIES / "gpu-quarter-heads.csv").assign(kind="encoder").set_index(["kind", "layer", "head"])
texts["Europarl EN-FR, paper's size"] = size.rename(columns={"without it": "leave-one-out"})
texts["SmolLM2"] = smollm2.assign(relevance=smollm2.attnlrp)
texts["SmolLM2, without the first token"] = smollm2[["leave-one-out"]].assign(confidence=smollm2["confidence, later tokens"])

# %%
removal = pd.concat({text: ranked_as_removal(heads) for text, heads in texts.items()}, names=["model"]).reset_index("model")
removal = removal.reset_index(drop=True)
removal = run.table(removal.assign(hollow=(removal.low <= 0) & (removal.high >= 0)), "ranked_as_removal", over="heads")
main = removal[~removal.measure.isin(relevance.NAMES.values())]
figure = plots.dots(main, "model", "rho", panel="measure", label="rank correlation")
run.figure(figure, "ranked_as_removal", "How measures rank heads, beside what removing each costs.")

# %% [markdown]
# *In SmolLM2 relevance is by AttnLRP.*
#
# **Relevance tells which heads matter in six of seven models**, on Europarl best: **0.77**<!-- 01/ranked_as_removal
# model="Europarl EN-FR" measure=relevance rho:.2f -->.<!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, small, 3 trainings" measure=relevance low > 0 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, 3 trainings" measure=relevance low > 0 --><!-- holds: 01/ranked_as_removal model="toy summaries"
# measure=relevance low > 0 --><!-- holds: 01/ranked_as_removal model="Europarl EN-FR" measure=relevance low > 0 --><!--
# holds: 01/ranked_as_removal model="Europarl EN-FR, paper's size" measure=relevance low > 0 --><!-- holds:
# 01/ranked_as_removal model="SmolLM2" measure=relevance low > 0 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU subtitles" measure=relevance low < 0 --> At the paper's size it only just does.<!-- holds:
# 01/ranked_as_removal model="Europarl EN-FR, paper's size" measure=relevance low < 0.02 --> There the positional head, first
# of its layer by relevance, is seventh by removal. Nor are heads with a function surely missed more.<!-- holds:
# summaries/gpu-quarter-heads layer=1 head=2 place == 1 --><!-- holds: summaries/gpu-quarter-heads layer=1 head=2
# "place without it" == 7 --><!-- holds: summaries/gpu-quarter what="encoder heads with a function, more missed alone by" low
# < 0 --> Where few heads matter little can be told: in subtitles **9**<!-- 06/effects_of_heads model="EN-RU subtitles" seed=1
# kind=encoder differ:.0f --> of `48` surely change the loss, on Europarl **30**<!-- natural/06/effects_of_heads
# model="EN-FR europarl" kind=encoder differ:.0f -->.
#
# **Confidence tells in three of five encoders. In SmolLM2 its sign turns with the first token**: **-0.24**<!--
# 01/ranked_as_removal model=SmolLM2 measure=confidence rho:.2f --> with it, **0.32**<!-- 01/ranked_as_removal
# model="SmolLM2, without the first token" measure=confidence rho:.2f --> without.<!-- holds: 01/ranked_as_removal
# model=SmolLM2 measure=confidence high < 0 --><!-- holds: 01/ranked_as_removal model="SmolLM2, without the first token"
# measure=confidence low > 0.1 --><!-- holds: 01/ranked_as_removal model="toy EN-RU news, small, 3 trainings"
# measure=confidence low > 0 --><!-- holds: 01/ranked_as_removal model="toy EN-RU news, 3 trainings" measure=confidence low >
# 0 --><!-- holds: 01/ranked_as_removal model="Europarl EN-FR" measure=confidence low > 0 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU subtitles" measure=confidence low < 0 --><!-- holds: 01/ranked_as_removal model="toy summaries"
# measure=confidence low < 0 --> The gradient is not surely better than relevance.<!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, small, 3 trainings" measure="gradient importance" rho > 0.54 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, 3 trainings" measure="gradient importance" rho > 0.42 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU subtitles" measure="gradient importance" rho > 0.1 --><!-- holds: 01/ranked_as_removal
# model="Europarl EN-FR" measure="gradient importance" rho > 0.78 --><!-- holds: 01/ranked_as_removal model="SmolLM2"
# measure="gradient importance" rho > 0.5 --><!-- holds: 01/ranked_as_removal model="SmolLM2" measure="gradient importance"
# low < 0.53 --><!-- holds: 01/ranked_as_removal model="toy summaries" measure="gradient importance" rho < 0.575 -->

# %% [markdown]
# ## Which of this survives another rule?
#
# The paper leaves its rule partly open. *AttnLRP* (Achtibat et al. 2024) follows attention weights as αβ does, *conservative*
# (Ali et al. 2022) holds them constant. By both relevance can be negative, so we sum over words and leave out the sign.

# %%
removed = removal[removal.measure.isin(relevance.NAMES.values())].rename(columns={"measure": "rule", "rho": "value"})
names = removed.model.str.extract("(?P<text>toy|Europarl|SmolLM2) ?(?P<model>.*)")  # as the other panels name them
names = names.replace({"text": {"toy": relevance.TOY}, "model": {"": "all tokens"}})
trained = relevant_heads[~relevant_heads.model.isin(["ten random models", "EN-FR, paper's size"])]
by_rule = pd.concat([trained, removed.assign(**names, panel=relevance.REMOVAL)])
by_rule = run.table(by_rule, "by_rule", over="heads")
figure = plots.dots(by_rule, "model", "value", series="rule", group="text", panel="panel", label=" ", sharex=False)
run.figure(figure, "by_rule", "Which results survive another rule for relevance.")

# %%
dominant = relevance.dominance(explained, random, settings["bootstrap"])
dominant = run.table(dominant, "dominance", over="sentences", **facts).reset_index()


# %% tags=["method"]
def dominated(table):  # layers, by rule: those whose first head has more than in ten random models, and twice an even share
    counts = {"layers": 1, "above random": table.largest > table["random high"], "twice an even share": table.largest >= 0.25}
    counts |= {"random, twice an even share": table["at random"] >= 0.25}  # on average
    return table.assign(**counts).groupby("rule")[[*counts]].sum().rename(index=relevance.NAMES)


counted = {here: dominated(dominant)}
counted["Europarl"] = dominated(pd.read_csv(relevance.NATURAL / "01_relevance_and_confidence/tables/dominance.csv"))
run.table(pd.concat(counted, names=["text"]), "dominated_layers")

# %% [markdown]
# *At the paper's size we have αβ alone.*
#
# **Relevance goes with confidence by every rule in the toy language as a whole and on Europarl**,<!-- holds:
# 01/agreement_by_rule rule="LRP αβ" model="all models" low > 0 --><!-- holds: 01/agreement_by_rule rule=AttnLRP
# model="all models" low > 0 --><!-- holds: 01/agreement_by_rule rule=conservative model="all models" low > 0 --><!-- holds:
# natural/01/agreement_by_rule rule="LRP αβ" model="EN-FR europarl" low > 0 --><!-- holds: natural/01/agreement_by_rule
# rule=AttnLRP model="EN-FR europarl" low > 0 --><!-- holds: natural/01/agreement_by_rule rule=conservative
# model="EN-FR europarl" low > 0 --> but in EN-FR news by αβ alone, in EN-RU news not by the conservative rule.<!-- holds:
# 01/agreement_by_rule rule="LRP αβ" model="EN-FR news" low > 0 --><!-- holds: 01/agreement_by_rule rule=AttnLRP
# model="EN-FR news" low < 0 --><!-- holds: 01/agreement_by_rule rule=conservative model="EN-FR news" low < 0 --><!-- holds:
# 01/agreement_by_rule rule=AttnLRP model="EN-RU news" low > 0 --><!-- holds: 01/agreement_by_rule rule=conservative
# model="EN-RU news" low < 0 --> In SmolLM2 without the first token it does by AttnLRP alone.<!-- holds: 01/smollm2
# rule=AttnLRP other="confidence, later tokens" low > 0 --><!-- holds: 01/smollm2 rule=conservative
# other="confidence, later tokens" low < 0 -->
#
# **It goes with removal by every rule in news, on Europarl and in SmolLM2**,<!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, small, 3 trainings" measure="LRP αβ" low > 0 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, small, 3 trainings" measure=AttnLRP low > 0 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, small, 3 trainings" measure=conservative low > 0 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, 3 trainings" measure="LRP αβ" low > 0 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, 3 trainings" measure=AttnLRP low > 0 --><!-- holds: 01/ranked_as_removal
# model="toy EN-RU news, 3 trainings" measure=conservative low > 0 --><!-- holds: 01/ranked_as_removal model="Europarl EN-FR"
# measure="LRP αβ" low > 0 --><!-- holds: 01/ranked_as_removal model="Europarl EN-FR" measure=AttnLRP low > 0 --><!-- holds:
# 01/ranked_as_removal model="Europarl EN-FR" measure=conservative low > 0 --><!-- holds: 01/ranked_as_removal model=SmolLM2
# measure=AttnLRP low > 0 --><!-- holds: 01/ranked_as_removal model=SmolLM2 measure=conservative low > 0 --> in summaries by
# αβ alone, in subtitles by none.<!-- holds: 01/ranked_as_removal model="toy summaries" measure="LRP αβ" low > 0 --><!--
# holds: 01/ranked_as_removal model="toy summaries" measure=AttnLRP low < 0 --><!-- holds: 01/ranked_as_removal
# model="toy summaries" measure=conservative low < 0 --><!-- holds: 01/ranked_as_removal model="toy EN-RU subtitles"
# measure="LRP αβ" low < 0 --><!-- holds: 01/ranked_as_removal model="toy EN-RU subtitles" measure=AttnLRP low < 0 --><!--
# holds: 01/ranked_as_removal model="toy EN-RU subtitles" measure=conservative low < 0 -->
#
# **Heads with a function are more relevant by every rule in the toy language as a whole**, by none surely on small Europarl
# and SmolLM2.
#
# **Whether a head dominates its layer depends on the rule.** By αβ the first head has more than in any of ten random models
# in **22**<!-- 01/dominated_layers text="toy language" rule="LRP αβ" "above random":.0f --> of `24` layers, but twice an even
# share in **9**<!-- 01/dominated_layers text="toy language" rule="LRP αβ" "twice an even share":.0f -->. By the other rules
# most have that, but so have random models, made for EN-RU news.<!-- holds: 01/dominated_layers text="toy language"
# rule=AttnLRP "twice an even share" > 19 --><!-- holds: 01/dominated_layers text="toy language" rule=conservative
# "twice an even share" > 19 --><!-- holds: 01/dominated_layers text="toy language" rule=AttnLRP "random, twice an even share"
# == 24 --><!-- holds: 01/dominated_layers text="toy language" rule=conservative "random, twice an even share" == 24 -->

# %% [markdown]
# ## Verdicts
#
# By the rules of [claims.toml](../claims.toml), for the toy language ([other texts](../docs/results.md)).

# %%
claims.show(run)

# %% [markdown]
# A model that loses less than a tenth of its BLEU without these heads is *hollow*: too little to test. By the loss after
# later removal no row is. By that of a translator that never had them all three would be. On Europarl the first row is
# *cannot tell*: by AttnLRP its bar and that of random weights overlap.<!-- holds: natural/01/agreement_by_rule rule=AttnLRP
# model="EN-FR europarl" low < 0.08 --><!-- holds: natural/01/agreement_by_rule rule=AttnLRP model="random weights" high >
# 0.16 -->
#
# Beside the highest random model the second row has `34` for.
#
# ## Change one line
#
# - In `down`: write `R_x = (R[:, None] @ (helped / (helped.sum(-1, True) + 1e-5)))[:, 0]`. Only what helps gets relevance:
#   `0.4`, `0.6` and `0`. After a quarter of a minute the check says "Not what the library computes any more".
# - In `ranked_as_removal`: write `within_layer=False`, and heads of all layers are ranked at once. In seconds
#   confidence falls to `-0.23` in news, but rises to `0.75` on Europarl.
