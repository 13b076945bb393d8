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
# A trained translator has dozens of attention heads. Which of them does a translation come from? Voita et al. 2019 look at two
# numbers for every head in section 4 of [their paper](https://arxiv.org/abs/1905.09418). *Relevance* is the share of a
# predicted word's score that flows through the head. *Confidence* is the largest weight that the head puts on one token, on
# average.
#
# Their figures 1 and 2 show both as grids of coloured cells, with a row for each of six encoder layers and a cell for each of
# eight heads, the most relevant one at the left. In most rows the first cell or two are dark and the rest is pale. They print
# no numbers, but say that
#
# - in each layer a few heads dominate;
# - relevance and confidence agree "to a reasonable extent";
# - one head is the exception: in the first layer the most relevant head has little confidence. It looks at rare words;
# - the heads with much relevance are those that do something one can name (section 5).
#
# We draw the same figure for translators that are small enough for a laptop. Their text is a toy language of news and
# subtitles, whose grammar we know. In short:
#
# - The two agree. How much depends on how relevance is computed: most by the rule of the authors' later code (αβ), where the
#   rank correlation is **0.56**<!-- 01/agreement_by_rule rule="LRP αβ" model="all models" rho:.2f -->, and less by AttnLRP and
#   the conservative rule. On Europarl, natural text, we are sure by the αβ rule only.
# - A few heads dominate in some layers. By the αβ rule the largest head nearly always has more than with random weights, but
#   seldom much. By the other two it has much, but often it has with random weights, too.
# - Heads with a function are more relevant in two of four translators. On Europarl we cannot tell.
# - In SmolLM2, a pretrained language model, relevance (AttnLRP) and confidence agree only where the first token of the text is
#   left out.

# %% jupyter={"source_hidden": true} tags=["parameters"]
profile: str = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
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
import torch
from helpers import claims, drawing, heads, measures, models as library, plots, study
from helpers.experiments import relevance
from helpers.measures import lrp, ranks, sentence as example
from helpers.measures.lrp import alpha_beta
from helpers.plan import sources
from helpers.runs import subjects

run = study.begin("01_relevance_and_confidence", globals())
drawing.style()
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## What are encoder heads worth here?
#
# A share of relevance says nothing where heads say nothing. So we first ask what the translators lose without encoder heads.
# BLEU is high throughout, for the toy language leaves little choice of words.

# %%
studied, settings = subjects.study_models(run), run.settings
bleu = run.table(relevance.bleu(settings, studied, seed), "bleu", beam=settings["beam"], over="sentences")
bleu.reset_index()[["model", "test set", "bleu", "low", "high"]].round(1)

# %% [markdown]
# A translator that never had encoder heads reaches **86.9**<!-- 01/bleu model="EN-RU news, no encoder heads" bleu:.1f --> BLEU,
# and with them it is **88.1**<!-- 01/bleu model="EN-RU news" bleu:.1f -->. So heads are worth little to a model that learns to
# do without. But a model that has learned to use them needs them. If they are removed and the rest is trained on, it falls to
# **75.7**<!-- 01/bleu model="EN-RU news, encoder heads removed, trained on" bleu:.1f -->.

# %% [markdown]
# ## How relevance goes down one layer
#
# Relevance starts at the score of the word that the model predicts and is handed down, layer by layer. An output $j$ of a layer
# has some relevance $R_j$, and gives it to the inputs $i$ in proportion to what each added to it. Of a layer $y = Wx + b$ with
# $N$ inputs this is $z_{ij} = W_{ji} x_i + b_j / N$. What helped ($z^+$) and what hindered ($z^-$) get half each:
#
# $$R_i = \sum_j \frac{1}{2} \left( \frac{z_{ij}^+}{\sum_{i'} z_{i'j}^+} + \frac{z_{ij}^-}{\sum_{i'} z_{i'j}^-} \right) R_j$$
#
# This is the *αβ rule* of the authors' later code, with both constants `0.5`. All shares are positive. They are rescaled at the
# end, so that nothing is lost. (The paper's appendix prints a simpler rule: $z_{ij}$ over the sum of all $z_{i'j}$, with their
# signs. That sum can be near zero, so we do not run it.) In code the whole rule is five lines. They serve for any layer: its
# matrix is the Jacobian.


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
# Now a real word. We take one translator and one sentence, and go from the score of a predicted word down to the heads of the
# last cross-attention. On the way lie the output layer, the last norm, the two layers of the feed-forward block, and the matrix
# that mixes the heads. A residual connection is a layer too: it adds. The library does all words of a batch at once.

# %%
first = studied[0]
sentence = example.ONE_SENTENCE.value(first)  # of the first short ones that in which one head carries most of a word
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
    mine, explained = down_to_heads(), lrp.explain(model, [batch], "alpha_beta", "cross")
    last = explained.heads.get_level_values("layer") == len(decoder.layers) - 1
    print("share of the word:", mine.numpy().round(3))
    print(study.compare(mine.numpy(), explained.values[target, last]))

# %% [markdown]
# From there it goes on into the encoder, and through its heads. A head multiplies and takes a softmax, but `down` takes any
# layer. So here is an encoder head of the same sentence, as a layer from its queries, keys and values to what it puts out. Say
# that each number it puts out has relevance one. Where does that come from?


# %% tags=["method"]
def of_one_head(layer, head):  # its queries, keys and values [3, tokens, numbers]
    attention, made = model.get_encoder().layers[layer].self_attn, []
    parts = attention.q_proj, attention.k_proj, attention.v_proj
    hooks = [part.register_forward_hook(lambda part, given, out: made.append(out[0])) for part in parts]
    model(**library.inputs(batch))
    for hook in hooks:
        hook.remove()
    q, k, v = (out.unflatten(-1, (attention.num_heads, -1))[:, head] for out in made)
    return torch.stack([q * attention.scaling, k, v])


def attend(given):
    q, k, v = given.view(qkv.shape)
    return ((q @ k.T).softmax(-1) @ v).flatten()


qkv = of_one_head(sentence["layer"], sentence["head"])
R = torch.ones_like(qkv[0])
shares = down(attend, qkv.flatten(), R.flatten()).view(qkv.shape)
print("to queries, keys, values:", (shares.sum((1, 2)) / R.sum()).numpy().round(2))

# %%
q, k, v = qkv[:, None]
theirs = torch.cat(alpha_beta.joint(q, k, v, (q @ k.mT).softmax(-1), torch.tensor([False]), R[None, :, None]))[:, :, 0]
print(study.compare((shares / shares.sum()).numpy(), (theirs / theirs.sum()).numpy()))

# %% [markdown]
# Only a quarter of it comes from the values. The rest comes from queries and keys: by this rule a head is also relevant for
# where it looks.
#
# The paper leaves open what to do with softmax, norms and biases. So there are other rules: *conservative* (Ali et al. 2022)
# takes attention weights as constants, *AttnLRP* (Achtibat et al. 2024) linearises the softmax. Both have a sign. We use all
# three below.
#
# Confidence needs no rule. It is the largest weight of each word that looks, and the mean of these. The end of the sentence is
# left out on both sides, as it is no word.


# %% tags=["method"]
def confidence(A):  # heads × tokens that look × tokens that are looked at; the last token is the end
    return A[:, :-1, :-1].amax(-1).mean(-1)


maps = []
with heads.record(model, lambda site, weights: maps.append(weights[0]), kinds="encoder"), torch.no_grad():
    model(**library.inputs(batch), use_cache=False)
theirs = measures.confidence(model, [batch]).loc["encoder"].to_numpy()
print(study.compare(confidence(torch.cat(maps)).numpy(), theirs))

# %% [markdown]
# ## One sentence, all the way down
#
# Here the conservative rule goes from one word down to the source sentence, layer by layer. Red helps the word, blue speaks
# against it. The title of the lowest panel names the head through which most of it comes.

# %%
figure = plots.through_a_sentence(sentence, target)
run.figure(figure, "through_a_sentence", "Relevance of one predicted word through one sentence.")

# %% [markdown]
# The Russian word for *drank* gets its relevance from *drank*, as it should. But below the first layer a part of it stands at
# *cow*. One head carries it there: from *drank* it looks at *cow*. Relevance says where a score
# comes from, and not whether the word would have come anyway. So we take this head out and ask the model again.


# %% tags=["method"]
@torch.no_grad()
def next_word(*address):  # probabilities of the word, one head's output set to zero
    with heads.gate(model, {address: 0.0} if address else {}):
        return model(**library.inputs(batch)).logits[0, target].softmax(-1)


def likeliest(p):
    best = p.topk(3)
    pieces = first.target.pieces(best.indices.tolist())
    return ", ".join(f"{piece.strip('▁')} {value:.0%}" for piece, value in zip(pieces, best.values, strict=True))


where = ("encoder", sentence["layer"], sentence["head"])
whole, cut = next_word(), next_word(*where)
print("with all heads:", likeliest(whole))
print("without this head:", likeliest(cut))

# %%
word, every = int(whole.argmax()), heads.index(model, "encoder")
probable = pd.Series([float(next_word(*address)[word]) for address in every], every)
rows = {"all": whole[word], "without this head": probable[where], "without any other, at least": probable.drop(where).min()}
probable = pd.DataFrame({"heads": [*rows], "probability": [float(value) for value in rows.values()]})
run.table(probable, "without_the_head").round(3)

# %% [markdown]
# With all heads the model gives the word **90 %**<!-- 01/without_the_head heads=all probability:.0% -->, and without this one
# **5 %**<!-- 01/without_the_head heads="without this head" probability:.0% -->. Any one of the other `47` can go, and it
# keeps nearly all.<!-- holds: 01/without_the_head heads="without any other, at least" probability > 0.85 -->
#
# What does the model write instead? Another word for *drank*. In this toy language cows have a verb of their own, *выхлебать*,
# and people have *выпить*. Without the head the model writes the verb of people. So the head is needed for the choice of the
# verb, and relevance says so.
#
# But it is one sentence, and we picked one in which a single head carries much. Over many sentences this head is the fourth
# of its layer, with **12 %**<!-- 01/heads_by_relevance model="EN-RU news" layer=1 head=8 relevance:.0% --> of the relevance.
# None of our tests finds a function in it.

# %% [markdown]
# ## The two numbers for a whole translator
#
# For a model, both are averaged over the words of many sentences. A head's relevance is its share of its layer. Two calls of
# the library give both. They take a minute; as long as nothing is changed, the published result is read.


# %% tags=["method"]
subject = studied[-1]  # the translator of subtitles


def relevance_and_confidence(rule, normalise, sentences):
    batches = subject.batches(2048, sentences)  # tokens a batch, so many dev sentences
    share = measures.relevance(subject.model, batches, rule, normalise, kinds="encoder")
    weight = measures.confidence(subject.model, batches)
    return pd.DataFrame({"relevance": share, "confidence": weight}).loc[["encoder"]].reset_index()


# %%
few, reads = min(50, settings["relevance"]), [subject.run] if subject.run else []
given = {"rule": "alpha_beta", "normalise": "step", "sentences": few}
one_model = run.stored(relevance_and_confidence, *reads, **given)
one_model = one_model.assign(layer=one_model.layer + 1, head=one_model["head"] + 1)
run.table(one_model, "one_translator", sentences=few)
one_model.nlargest(3, "relevance").round(3)

# %% [markdown]
# ## Figure 1: every head of the encoder
#
# The same for more sentences, beside what each head does by the tests of [notebook 2](02_head_functions.ipynb): it follows
# subjects, objects, adjectives or adverbs. As in the paper, heads are sorted by relevance in their layers. First the translator
# of subtitles, the counterpart of figure 1.

# %%
explained = {one.title: relevance.explained(one, settings) for one in studied}
tables = {one.title: relevance.head_table(one, explained[one.title], settings) for one in studied}
facts = {"split": "dev", "explained": settings["relevance"]}  # so many sentences
for one in studied:
    run.table(tables[one.title], f"heads_{one.name}", model=one.name, over="sentences", **facts)
every = run.table(relevance.by_relevance(tables), "heads_by_relevance")
figure = plots.by_relevance(every[every.model == subject.title])
run.figure(figure, "fig1_relevance_and_confidence", "Relevance, confidence and functions of every encoder head.")

# %% [markdown]
# *The order of heads is the same in all three panels. A cell of two colours has two functions; "none" means none that we test.*
#
# The paper prints no values of its figure. What it shows, and what ours shows:
#
# - *The most relevant head of a layer.* In the paper it stands out in most layers. Here it has
#   **18 %**<!-- 01/most_relevant model="EN-RU subtitles" "largest share":.0% --> of its layer on average, where equal heads
#   would have `12.5 %`.
# - *Is it the most confident one?* "To a reasonable extent" in the paper. Here in **3**<!-- 01/most_relevant
#   model="EN-RU subtitles" "most confident too":.0f --> of `6` layers; by chance it would be in less than one.
# - *The first layer.* In the paper its most relevant head is the exception, with little confidence. Here it has
#   **0.30**<!-- 01/most_relevant model="EN-RU subtitles" "first confidence":.2f -->, but the whole layer is like that.
# - *Rare words.* In the paper that head looks at one of the two rarest words, for `83 %` of words. Here the most relevant head
#   of layer `2` does, for **48 %**<!-- 02/rare_tokens layer=2 head=7 "two rarest":.0% -->. Chance gives **19 %**<!--
#   02/rare_tokens layer=2 head=7 chance:.0% -->, and the best head with random weights **33 %**<!-- 02/rare_tokens layer=2
#   head=7 "best at random":.0% -->. We cannot tell whether it reaches the half that counts as a function.<!-- holds:
#   02/rare_tokens layer=2 head=7 high > 0.5 -->
# - *Other relevant heads.* In the paper they look at a neighbour, with a confidence above `0.8`. Here none looks at a neighbour
#   for `90 %` of words. **4**<!-- 01/most_relevant model="EN-RU subtitles" sure:.0f --> of `48` heads are as sure, and half of
#   those find the object of a verb.
#
# So relevance is spread more evenly here.

# %%
others = every[every.model != subject.title] if len(studied) > 1 else every
figure = plots.by_relevance(others)
run.figure(
    figure, "fig2_other_translators", "The same for the other translators, the paper's figure 2.", table="heads_by_relevance"
)
top = run.table(relevance.most_relevant(every), "most_relevant")
words = {"largest share": "share of the most relevant head", "most confident too": "layers where it is the most confident"}
words |= {"by chance": "so many by chance", "with a function": "layers where it has a function"}
top[list(words)].rename(columns=words).round(2)

# %% [markdown]
# The translators of news look more like the paper than that of subtitles does. A single head has up to two fifths of a layer.
# In EN-DE and EN-FR the most relevant head has a function in **4**<!-- 01/most_relevant model="EN-DE news"
# "with a function":.0f --> of `6` layers, each of them syntactic.<!-- holds: 01/most_relevant model="EN-FR news"
# "with a function" == 4 --> In EN-RU it has one in the last layer only.

# %% [markdown]
# ## Do relevance and confidence agree?
#
# We rank the heads of each layer by both and correlate the ranks. One means that they agree, zero that they have nothing in
# common. For the two rules with a sign we sum relevance over all words first, and rank heads by its size, without the sign.
#
# There are two controls. We shuffle the heads within their layers. And ten models with random weights have a relevance and a
# confidence too, and learned nothing.

# %%
sure = {model: table.confidence for model, table in tables.items()}
random, diffuse = relevance.at_random(first, settings)
agreement = relevance.agreement(explained, sure, random, diffuse)
run.table(agreement, "agreement_by_rule", over="heads", **facts)
natural = study.ROOT / "figures" / "natural"
europarl = natural / "01_relevance_and_confidence" / "tables"  # the published tables of another run, on natural text
here = "toy language" if run.corpus == "controlled" else "this run"
texts = {here: agreement, "Europarl": pd.read_csv(europarl / "agreement_by_rule.csv", index_col=0)}
shown = pd.concat([table.assign(text=text) for text, table in texts.items()])
shown = shown.assign(hollow=shown.model.isin(["random weights", "each of them"]))
words = {"all models": "all four together", "random weights": "ten random models", "each of them": "each random model"}
shown = shown.replace({"model": words | {"EN-FR europarl": "EN-FR"}})
figure = plots.dots(shown, row="model", value="rho", group="text", panel="rule", label="rank correlation")
run.figure(figure, "agreement_by_rule", "How far relevance and confidence agree, by three rules.")

# %% [markdown]
# *Bars: `95 %` intervals over heads. Of each random model only the value is drawn. Europarl is natural text: one translator and
# its own random models, from the published tables of another run.*
#
# By the αβ rule they agree to a reasonable extent, as the paper says: the rank correlation of all translators together is
# **0.56**<!-- 01/agreement_by_rule rule="LRP αβ" model="all models" rho:.2f -->. By the others it is lower: AttnLRP gives
# **0.38**<!-- 01/agreement_by_rule rule=AttnLRP model="all models" rho:.2f -->, the conservative rule **0.34**<!--
# 01/agreement_by_rule rule=conservative model="all models" rho:.2f -->.
#
# None of this is chance: shuffled heads stay below **0.15**<!-- 01/agreement_by_rule rule=AttnLRP model="all models"
# shuffled:.2f --> in `95 %` of shuffles.<!-- holds: 01/agreement_by_rule rule=AttnLRP model="all models" low > shuffled --><!--
# holds: 01/agreement_by_rule rule=conservative model="all models" low > shuffled --> And it is learned: in models with random
# weights the correlation is about zero by every rule.<!-- holds: 01/agreement_by_rule rule="LRP αβ" model="random weights" low
# < 0 --><!-- holds: 01/agreement_by_rule rule=AttnLRP model="random weights" high < 0.15 --><!-- holds: 01/agreement_by_rule
# rule=conservative model="random weights" high < 0.15 --> One random model alone can lie far from zero, and that is why there
# are ten.
#
# Are the rules surely apart? We draw heads at random, many times, and each time take the difference of two rules.

# %%
run.table(relevance.rules_apart(explained, sure), "rules_apart", over="heads").round(2)

# %% [markdown]
# Yes. By the αβ rule relevance agrees more with confidence than by AttnLRP, by **0.18**<!-- 01/rules_apart other=AttnLRP
# difference:.2f -->, and than by the conservative rule, by **0.22**<!-- 01/rules_apart other=conservative difference:.2f -->.
# Both intervals lie above zero.<!-- holds: 01/rules_apart other=AttnLRP low > 0 --><!-- holds: 01/rules_apart
# other=conservative low > 0 -->

# %% [markdown]
# ## Do a few heads dominate?
#
# The paper says so of every layer. Here is what the largest head of each layer has, its sign left out. An equal share would be
# one eighth. The dotted line stands at twice that, a quarter.

# %%
dominant = relevance.dominance(explained, random, settings["bootstrap"])
run.table(dominant, "dominance", over="sentences", **facts)
flat = dominant.reset_index()
luck = flat[flat.model == first.title].drop(columns=["largest", "low", "high"]).assign(model="ten random models")
luck = luck.rename(columns={"at random": "largest", "random low": "low", "random high": "high"})
largest = pd.concat([flat, luck], ignore_index=True)
largest = largest.assign(rule=largest.rule.map(relevance.NAMES), layer="layer " + largest.layer.astype(str))
figure = plots.dots(largest, "layer", "largest", "model", panel="rule", label="share of the largest head", level=0.25)
run.figure(figure, "largest_heads", "What part of a layer's relevance its largest head has.", table="dominance")


# %%
def dominated(table):
    columns = {"layers": 1, "surely above all ten random": table.low > table["random high"]}
    above = table.largest > table["at random"]
    columns |= {"above their mean": above, "and above a quarter": above & (table.largest > 0.25)}
    return table.assign(**columns).groupby("rule")[[*columns]].sum().rename(index=relevance.NAMES)


run.table(dominated(flat), "dominated_layers")

# %% [markdown]
# *Bars of translators: `95 %` intervals over sentences. Bars of random models: from the least to the most of ten.*
#
# By the αβ rule a few heads dominate, a little. In **20**<!-- 01/dominated_layers rule="LRP αβ"
# "surely above all ten random":.0f --> of `24` layers the largest head surely has more than in any of the ten random models.
# But it has a quarter of the layer in only **9**<!-- 01/dominated_layers rule="LRP αβ" "and above a quarter":.0f -->.
#
# The other two rules show larger heads, in EN-FR up to **67 %**<!-- 01/dominance model="EN-FR news" layer=3 rule=attnlrp
# largest:.0% --> of a layer by AttnLRP. But with random weights, too, the largest head has about three tenths, as the largest
# of eight random numbers would. So these rules count only where a layer lies above all random models. By each of them that is
# so in **10**<!-- 01/dominated_layers rule=AttnLRP "surely above all ten random":.0f --> layers.<!-- holds: 01/dominated_layers
# rule=conservative "surely above all ten random" == 10 -->

# %% [markdown]
# ## Do relevant heads do something one can name?
#
# The paper reads its figure this way. We compare, within layers, heads that have a function with those that have none. The
# difference is in units of the average head of a layer. *Shuffled* is where `95 %` of differences lie if functions are dealt
# out anew among the heads of each layer. We count a model where its difference lies above that. The last row is Europarl again.

# %%
each = run.table(relevance.follows_function(tables), "follows_function_by_model", over="heads", **facts)
both = pd.concat([each.reset_index(), pd.read_csv(europarl / "follows_function_by_model.csv").head(1)], ignore_index=True)
words = {"functional": "heads with a function", "others": "others", "null_low": "shuffled: low", "null_high": "shuffled: high"}
both[["model", "difference", "low", "high", *words]].rename(columns=words).set_index("model").round(2)

# %% [markdown]
# Yes, over all translators: heads with a function have **0.64**<!-- 01/follows_function_by_model model="all models"
# difference:.2f --> more than the others of their layer, and shuffled ones at most **0.24**<!-- 01/follows_function_by_model
# model="all models" null_high:.2f -->. It is EN-DE and EN-FR that show it.<!-- holds: 01/follows_function_by_model
# model="EN-FR news" difference > 0.86 --><!-- holds: 01/follows_function_by_model model="EN-DE news" difference > 0.42 --> In
# EN-RU news the difference is large, but it rests on two heads of one layer, and shuffles give as much.<!-- holds:
# 01/follows_function_by_model model="EN-RU news" difference < 1.27 --> Nor can we for subtitles, which have the most such
# heads.<!-- holds: 01/follows_function_by_model model="EN-RU subtitles" difference < 0.2 -->
#
# The reverse does not follow. Of the `24` most relevant heads of a layer
# **12**<!-- 01/follows_function_by_model model="all models" top_none:.0f --> have no function that we can name.

# %% [markdown]
# ## And on natural text?
#
# The same experiment on Europarl, English to French (profile `europarl`, a local corpus, one training). Two of its results
# stand above already. Here is its figure 1, and how many of its layers are dominated.

# %%
rows = pd.read_csv(europarl / "heads_fr-europarl.csv").fillna({"functions": ""}).set_index(["kind", "layer", "head"])
figure = plots.by_relevance(relevance.by_relevance({"EN-FR europarl": rows}))
run.figure(figure, "fig1_europarl", "Relevance, confidence and functions of encoder heads, on Europarl.")
run.table(dominated(pd.read_csv(europarl / "dominance.csv")), "dominated_layers_europarl")

# %% [markdown]
# On Europarl the αβ rule agrees with confidence at **0.75**<!-- natural/01/agreement_by_rule rule="LRP αβ"
# model="EN-FR europarl" rho:.2f -->, clearly more than with random weights.<!-- holds: natural/01/agreement_by_rule
# rule="LRP αβ" model="EN-FR europarl" low > 0.13 --> AttnLRP gives **0.35**<!-- natural/01/agreement_by_rule rule=AttnLRP
# model="EN-FR europarl" rho:.2f -->, and the conservative rule lies between them. But by these two rules the interval overlaps
# that of random weights, so we cannot tell.<!-- holds: natural/01/agreement_by_rule rule=AttnLRP model="EN-FR europarl" low
# < 0.16 --><!-- holds: natural/01/agreement_by_rule rule=AttnLRP model="random weights" high > 0.16 --><!-- holds:
# natural/01/agreement_by_rule rule=conservative model="EN-FR europarl" low < 0.16 --><!-- holds: natural/01/agreement_by_rule
# rule=conservative model="random weights" high > 0.16 -->
#
# A few heads dominate less clearly. By the αβ rule the largest head is surely above all random models in **4**<!--
# 01/dominated_layers_europarl rule="LRP αβ" "surely above all ten random":.0f --> of `6` layers, by the others in one.
#
# And heads with a function are not clearly more relevant there. The difference is **0.16**<!--
# natural/01/follows_function_by_model model="EN-FR europarl" difference:.2f -->, and the interval holds
# zero.<!-- holds: natural/01/follows_function_by_model model="EN-FR europarl" low < 0 --> Only three heads of this translator
# have a function, so the test could hardly have found a difference.

# %% [markdown]
# ## And in a pretrained model?
#
# SmolLM2 is a language model of `135` million parameters that others trained on natural text. It has `270` heads, all in a
# decoder. The αβ rule is not defined for its layers, the other two are. Heads of such models often rest on the first token of
# text, so confidence is also taken without it (*later tokens*). This is the published table of all its heads.

# %%
smollm2 = pd.read_csv(study.ROOT / "figures" / "pretrained" / "head_table.csv")
smollm2 = smollm2.assign(**{rule: smollm2[f"{rule}, signed"].abs() for rule in ("attnlrp", "cp")})
smollm2 = smollm2.assign(kind="decoder").set_index(["kind", "layer", "head"])
pairs = [(one, other) for one in ("attnlrp", "cp") for other in ("confidence", "confidence, later tokens")]
found = [ranks.correlation(smollm2[one], smollm2[other], within_layer=True) for one, other in pairs]
both = pd.DataFrame(pairs, columns=["one", "other"]).join(pd.DataFrame(found))
whole = [ranks.correlation(smollm2[one], smollm2[other])["rho"] for one, other in pairs]
both = run.table(both.assign(**{"over all layers": whole}), "smollm2", over="heads")
words = {"one": "relevance by", "other": "confidence", "rho": "rank correlation"}
both.replace({"one": relevance.NAMES}).rename(columns=words).round(3)

# %% [markdown]
# In SmolLM2 they do not agree. By the conservative rule the rank correlation of relevance and confidence is
# **-0.235**<!-- 01/smollm2 one=cp other=confidence rho:.3f -->, clearly below zero.<!-- holds: 01/smollm2 one=cp
# other=confidence high < 0 --> By AttnLRP it is **-0.08**<!-- 01/smollm2 one=attnlrp other=confidence rho:.2f -->, and we
# cannot tell.<!-- holds: 01/smollm2 one=attnlrp other=confidence high > 0 --> A head that is sure there is mostly at rest.
#
# Without the first token it turns round, to **0.28**<!-- 01/smollm2 one=attnlrp other="confidence, later tokens" rho:.2f --> by
# AttnLRP.<!-- holds: 01/smollm2 one=attnlrp other="confidence, later tokens" low > 0 --> By the conservative rule it is then
# **0.13**<!-- 01/smollm2 one=cp other="confidence, later tokens" rho:.2f -->, and we cannot tell.<!-- holds: 01/smollm2 one=cp
# other="confidence, later tokens" low < 0 --> All of this is within layers: over the whole model AttnLRP gives only
# **0.07**<!-- 01/smollm2 one=attnlrp other="confidence, later tokens" "over all layers":.2f -->. So in a decoder one must first
# leave out where heads rest, and even then the two agree only in part.

# %% [markdown]
# ## What it means, and where it would not hold
#
# - **Relevance and confidence agree**, by the rule of the authors' later code on both texts. By two other rules they agree less
#   in the toy language, and on Europarl not surely more than with random weights. Whoever reports relevance should name the
#   rule.
# - **Hold a few large heads against random weights.** By two of three rules a model that has learned nothing has large heads,
#   too. Some layers of trained models lie clearly above it, but not each one, as the paper says.
# - **A confident head may be at rest.** In one pretrained decoder confidence says little about relevance, or the opposite. With
#   the first token left out they agree within layers, by one of two rules.
# - **Relevant heads often do something**, in two of four translators more than chance would have it. On Europarl we cannot
#   tell: there none of the six most relevant heads has a function that our tests know.
# - **Relevance is not need.** It says where a score comes from. Whether the model can do without the head only its removal
#   tells: [notebook 6](06_do_measures_agree.ipynb) holds both against that.
# - It would not hold where attention is worth little: there even a large share is a share of little. The models are small, the
#   language is a toy, and every translator is one training. With `48` heads a model, intervals are wide.

# %% [markdown]
# ## Verdicts
#
# The paper's claims of this section, held against the tables above by the rules of [claims.toml](../claims.toml).

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# - At *The two numbers*: write `subject = studied[0]` for another translator. A minute.
# - There too: write `"rule": "cp", "normalise": "size"` for the conservative rule. This rule has a sign, so it must not be
#   divided word by word: by a negative sum heads would be ranked backwards. A minute.
# - There too: write `few = 5`, and see whether the same three heads come first. Seconds.
# - In `down`: write `R_x = R @ (helped / (helped.sum(1, True) + 1e-5))`, so that only what helps gets relevance. At once; the
#   comparison below says by how much it differs.
