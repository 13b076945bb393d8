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
# # 2 · Do attention heads have functions that one can read?
#
# [← notebook 1, relevance and confidence](01_relevance_and_confidence.ipynb) · [notebook 3, L0 pruning →](03_l0_pruning.ipynb)
# · [all claims](../docs/results.md)
#
# An attention head looks from every word at others. Does a single head have a job that a person can name? In section 5 of
# [their paper](https://arxiv.org/abs/1905.09418) Voita et al. 2019 test encoder heads of translators for three *functions*:
#
# - A *positional* head looks at the token (a word or a piece of one) right before or right after, for `90 %` of tokens that
#   have one. The paper's models have several of both sorts.
# - A *syntactic* head looks along a dependency, such as `object → verb`, from an object to its verb. It must be right `10`
#   points more often than the *guess*, which takes the most frequent distance. In the paper `9` of `16` cases pass.
# - A head *for rare words* looks at one of the two rarest tokens of the sentence. The paper's stands in the first layer, and
#   does so for `83 %` of tokens on OpenSubtitles, on WMT for more than half. One half is our line.
#
# We ask nine models. In short:
#
# - **Objects.** In seven some head surely finds the verb of an object.<!-- holds: pretrained/syntactic model=minilm trees=ewt
#   relation=dobj direction="dependent to head" gain_low > 0.1 --><!-- holds: 02/syntactic_relations model="EN-FR news"
#   relation=dobj direction="dependent to head" gain_low > 0.1 --><!-- holds: natural/02/syntactic_relations relation=dobj
#   direction="dependent to head" gain_low > 0.1 -->
# - **The token before.** In three a head looks there: the three largest models.
# - **Rare words.** One has such a head, far from the first layer.<!-- holds: pretrained/rare model=smollm2 trees=ewt layer > 20
#   -->
# - **Most heads** have no function that we test. In SmolLM2 **20**<!-- pretrained/counted model=smollm2 trees=ewt function=any
#   heads:.0f --> of `270` have one.

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
import pandas as pd
from helpers import claims, drawing, heads, papers, plots, study
from helpers.corpora.describe import arcs_of
from helpers.experiments import functions
from helpers.experiments import pretrained as checkpoints
from helpers.models import inputs, load
from helpers.plan import sources
from helpers.runs import subjects

run = study.begin("02_head_functions", globals())
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## Nine models
#
# Seven are our translators, with six encoder layers of eight heads as in the paper. Four read a generated toy language (*a
# small cow drank the milk*), three Europarl's debates, EN-FR. One of these has the paper's size, and had [four minutes of a
# GPU](../docs/results.md#at-the-papers-size). The others have two million weights, one with a *deep decoder*: three layers, not
# one. Two are [pretrained](../docs/pretrained.md), with `23` and `135` million: MiniLM encodes English sentences, SmolLM2
# continues English text and sees only what stands before.

# %%
functions.translators()

# %% [markdown]
# *Removed:* from the trained model, which is trained on. *Never any:* trained without them. Europarl needs encoder heads. The
# toy language hardly does, so what it says weighs less.
#
# ## The tests
#
# All ask where a head's largest weight falls. `A` holds the weights of several heads: a row for each token that looks, a column
# for each that is looked at. For syntax these are words. `counts` say how frequent each token is.

# %% tags=["method"]
import torch
from helpers.measures.functions import to_words


def at_offset(A, offset):  # heads × tokens that have a place so many tokens on: does the head look there?
    place = torch.arange(A.shape[1])
    there = (place + offset >= 0) & (place + offset < A.shape[2])
    return (A.argmax(-1) == place + offset)[:, there]


def at_partner(A, pairs):  # heads × pairs (word, partner): does the word look at its partner?
    word, partner = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    return A.argmax(-1)[:, word] == partner


def at_rarest(A, counts):  # heads × tokens: does the token look at one of the two rarest?
    return counts[A.argmax(-1)] <= counts.sort().values[1]


def held_out(hits, distance, choose):  # heads × cases; how many words away each partner is; the cases to choose by
    best, usual = hits[:, choose].double().mean(1).argmax(), distance[choose].mode().values
    return hits[best, ~choose].double().mean(), (distance[~choose] == usual).double().mean()


# %% [markdown]
# The weights of a word are the mean over its tokens, and weights on any of them count for it. For syntax the best head and the
# guess are chosen on every second sentence and tested on the others. For rare words a sentence counts if its rarest token is
# outside the `500` most frequent, as in the paper; SmolLM2 is asked for the rarest that it sees. All tests on `400` sentences
# of toy EN-RU news:

# %% tags=["method"]
def attention(subject, sentences):  # of each sentence: its number, weights of all encoder heads, tokens, words of the tokens
    maps = []
    for batch in subject.batches(2048, sentences):  # tokens of a batch
        maps.clear()
        with heads.record(subject.model, lambda site, weights: maps.append(weights.cpu()), kinds="encoder"), torch.no_grad():
            subject.model(**inputs(batch), use_cache=False)
        rows = [batch[name].cpu() for name in ("attention_mask", "index", "input_ids", "word_ids")]
        for A, mask, number, ids, words in zip(torch.cat(maps, 1), *rows, strict=True):
            length = int(mask.sum())
            yield int(number), A[:, :length, :length], ids[:length], words[:length]


# %%
studied, relation, offset = subjects.study_models(run), "dobj", -1
subject, arcs = studied[0], arcs_of(studied[0].sentences)
rank = subject.counts.argsort(descending=True).argsort()
near, rare, looks, cases = [], [], [], []
for number, A, ids, words in attention(subject, 400):
    near.append(at_offset(A[:, :-1], offset))  # the end of the sentence does not look
    if rank[ids[:-1]].max() >= 500:
        rare.append(at_rarest(A[:, :-1, :-1], subject.counts[ids[:-1]]))
    pairs = [(word, governor) for word, governor, name in arcs[number] if name == relation]
    looks.append(at_partner(to_words(A[None], words[None])[0], pairs))
    cases += [(number, governor - word) for word, governor in pairs]

# %%
number, distance = torch.tensor(cases).T
right, guess = held_out(torch.cat(looks, 1), distance, number % 2 == 0)
before, rarest = (torch.cat(hits, 1).double().mean(1).max() for hits in (near, rare))
print(f"best head for offset {offset:+d}: {before:.0%}; for rare words: {rarest:.0%}")
print(f"best head for {relation}, from dependent to governor: {right:.0%}; the guess: {guess:.0%}")

# %% [markdown]
# Only the head for objects passes, right about twice as often as the guess.
#
# ## Three heads at work
#
# MiniLM is an encoder, as in the paper, and runs in seconds. Its best heads:

# %% tags=["method"]
import re
from itertools import pairwise
from helpers.corpora.tokens import Subwords


def look(name, sentence, questions):
    model, tokenizer = load(name)
    model.set_attn_implementation("eager")  # this way the library returns attention weights
    words, subwords = re.findall(r"[\w']+|[.,?!]", sentence), Subwords(tokenizer)
    owner = torch.tensor(subwords.word_ids(sentence, words))  # the word of each token; [CLS] and [SEP] have none
    with torch.no_grad():
        layers = model(torch.tensor([subwords.encode(sentence)]), output_attentions=True).attentions  # softmax(QKᵀ / √d)
    cells = []
    for title, layer, head, partners in questions:
        A = to_words(layers[layer - 1][:, head - 1][None], owner[None])[0, 0]
        for word, weights in zip(words, A / A.amax(1, keepdim=True), strict=True):
            for other, weight in zip(words, weights.tolist(), strict=True):
                cells.append((title, word, other, weight, weight == 1 and other in partners.get(word, [])))
    return pd.DataFrame(cells, columns=["head", "word", "looks at", "relative weight", "right"])


# %%
drawing.style()
sentence = "When she opened the window an owl stole my old silver necklace."
words = re.findall(r"[\w']+|[.,?!]", sentence)
questions = [
    ("layer 1, head 3:\nthe token before", 1, 3, {word: [before] for before, word in pairwise(words)}),
    ("layer 3, head 1:\nobject → verb", 3, 1, {"window": ["opened"], "necklace": ["stole"]}),
    ("layer 1, head 10:\nrare words", 1, 10, {word: ["owl", "necklace"] for word in words}),
]
looks = run.table(run.stored(look, name="minilm", sentence=sentence, questions=questions), "where_heads_look")
figure = plots.heat_map(looks, "looks at", "word", "relative weight", "head", "right")
run.figure(figure, "hits_and_misses", "Where three heads of MiniLM look in a sentence.", table="where_heads_look")

# %% [markdown]
# *A row is a word that looks. Its darkest cell is its largest weight, with a dot where that is right.*
#
# - Left: every word looks at the one before it.
# - Middle: both objects find their verbs, *necklace* past three nearer words. On the treebank below it finds **72 %**<!--
#   pretrained/syntactic model=minilm trees=ewt relation=dobj direction="dependent to head" accuracy:.0% --> of the verbs.
# - Right: about half of the words look at *owl* or *necklace*, the two rarest. The others look at *window* or themselves. On
#   the treebank it is half, too: **49 %**<!-- pretrained/rare model=minilm trees=ewt score:.0% -->.
#
# ## Positions and rare words
#
# The pretrained models read `400` sentences of the English Web Treebank. *Chance* is what a head reaches that looks anywhere.

# %%
tests, repeats = ("positional", "syntactic", "rare", "counted"), run.settings["bootstrap"]
made = {test: getattr(functions, test)(studied, repeats) for test in tests}
every = {test: functions.together(test, table, run.settings) for test, table in made.items()}  # with models measured before
run.table(made["positional"], "positional_heads", split="dev")
run.table(made["rare"], "rare_tokens", split="dev")
run.table(made["counted"], "counted", split="dev")
best = {"looks at the token before": every["positional"], "looks at one of the two rarest": every["rare"]}
beside = run.table(functions.beside_random(best), "beside_random", over="sentences")

# %%
figure = plots.dots(beside, "model", "value", series="head", panel="test", label="% of tokens", level=None)
for axis, line in zip(figure.axes, (90, 50), strict=True):
    axis.axvline(line, **drawing.LEVEL)  # a head passes from here on
    axis.set_xlim(0, 104)
figure.axes[1].axvline(83, color="black", ls="--", lw=0.9)  # the paper on OpenSubtitles
caption = "The best head for the token before and for rare words in each model, beside random weights."
run.figure(figure, "positions_and_rare_words", caption, table="beside_random", over="sentences")

# %% [markdown]
# *Dotted: the line to pass. Dashed: the paper on OpenSubtitles. Bars: `95 %` intervals over sentences. The deep decoder is not
# drawn: its best head reaches **48 %**<!-- natural/02/models_beside model="EN-FR europarl, deep decoder" positional:.0% --> at
# any offset and **14 %**<!-- natural/02/models_beside model="EN-FR europarl, deep decoder" rare:.0% --> for rare words.*
#
# **The token before: in three of nine models.** At the paper's size a head reaches **95 %**<!--
# summaries/gpu-quarter-positional score:.0% -->, in the small translators **67 %**<!-- natural/02/positional_heads kind=encoder
# score:.0% --> at most. Each of the three has one,<!-- holds: summaries/gpu-quarter-counted function=positional heads == 1
# --><!-- holds: pretrained/counted model=minilm trees=ewt function=positional heads == 1 --><!-- holds: pretrained/counted
# model=smollm2 trees=ewt function=positional heads == 1 --> and no model has one for the token after: the best, in MiniLM,
# reaches **83 %**<!-- pretrained/positional model=minilm trees=ewt offset=1 score:.0% -->.
#
# **Rare words: in one of nine.** SmolLM2's best head reaches **59 %**<!-- pretrained/rare model=smollm2 trees=ewt score:.0%
# -->, in layer **24**<!-- pretrained/rare model=smollm2 trees=ewt layer:.0f --> of `30`, where chance has **29 %**<!--
# pretrained/rare model=smollm2 trees=ewt chance:.0% -->. Of MiniLM and the toy subtitles we cannot tell.<!-- holds:
# pretrained/rare model=minilm trees=ewt high > 0.5 --><!-- holds: 02/rare_tokens layer=2 head=7 high > 0.5 --> MiniLM's stands
# in the first layer, as in the paper, and passes on a second treebank, GUM.<!-- holds: pretrained/rare model=minilm trees=gum
# low > 0.5 --><!-- holds: pretrained/rare model=minilm trees=ewt layer == 1 --> The paper's looks at the rarest alone for
# `66 %`, which we do not ask.
#
# ## Table 1: syntax
#
# People drew the treebank's trees, the toy language's are known, and Europarl's come from a parser, as in the paper.

# %%
run.table(made["syntactic"].set_index("model"), "syntactic_relations", split="dev")
gold = checkpoints.syntactic(run.settings).replace({"model": functions.NAMES})
run.table(gold[gold.n >= 30], "pretrained_syntactic", over="sentences of one model")
table1 = pd.concat([papers.TABLE_1, every["syntactic"]])
run.table(table1.set_index("model"), "table1_syntactic_heads", over="sentences")
caption = "How often the best head of each relation and the guess are right, in the paper and in eight models."
run.figure(plots.gains(table1), "table1_syntactic_heads", caption, over="sentences")

# %% [markdown]
# *`45 / 35`: the head is right in `45 %` of cases, the guess in `35 %`. Black frame: it passes. Question mark: the interval
# holds the line of `10` points. For SmolLM2 cells with fewer than `30` pairs are empty. In the deep decoder the best head of
# every relation is below the guess.*<!-- holds: natural/02/models_beside model="EN-FR europarl, deep decoder" nsubj < 0 --><!--
# holds: natural/02/models_beside model="EN-FR europarl, deep decoder" dobj < 0 --><!-- holds: natural/02/models_beside
# model="EN-FR europarl, deep decoder" amod < 0 --><!-- holds: natural/02/models_beside model="EN-FR europarl, deep decoder"
# advmod < 0 -->
#
# - **Objects: yes.** From object to verb seven models pass without a question mark. From verb to object the paper's pass, our
#   small translators do not.<!-- holds: 02/syntactic_relations model="EN-RU subtitles" relation=dobj
#   direction="head to dependent" gain < 0 -->
# - **Subjects: often, and best on subtitles.** There a verb finds its subject for **91 %**<!-- 02/syntactic_relations
#   model="EN-RU subtitles" relation=nsubj direction="head to dependent" accuracy:.0% -->, on news for **53 %**<!--
#   02/syntactic_relations model="EN-RU news" relation=nsubj direction="head to dependent" accuracy:.0% -->. The paper has `77`
#   and `45`. For SmolLM2 GUM leaves it open.<!-- holds: pretrained/syntactic model=smollm2 trees=gum relation=nsubj
#   direction="head to dependent" heads=0 gain_low < 0.1 --><!-- holds: pretrained/syntactic model=smollm2 trees=gum
#   relation=nsubj direction="head to dependent" heads=0 gain_high > 0.1 -->
# - **Adjectives and adverbs: mostly in the toy language.** Adjectives stand right before their noun, so the guess is hard to
#   beat.
# - **Target languages.** In the paper's figure 4 they are alike. Ours differ, but one training each cannot say why.
#
# ## What some head of each model does
#
# Does some head pass? Of syntax either direction counts.

# %%
run.table(functions.some_head(every), "some_head")

# %% [markdown]
# No model passes all tests, the paper's included. Objects and subjects are found most often, rare words least.
#
# The last column counts heads that pass on all sentences. It depends on the text: on GUM MiniLM has **5**<!--
# pretrained/counted model=minilm trees=gum function=any heads:.0f -->. With random weights no head passes.<!-- holds:
# pretrained/counted model=smollm2 trees=ewt function=any random == 0 --><!-- holds: pretrained/counted model=minilm trees=ewt
# function=any random == 0 --><!-- holds: summaries/gpu-quarter-counted function=any random == 0 --><!-- holds:
# natural/02/counted function=any random == 0 --><!-- holds: 02/counted model="EN-RU subtitles" function=any random == 0 -->
# Where do they stand, as in the paper's figure 1c?

# %%
by_head = checkpoints.by_head(run.settings).query("trees == 'ewt'").replace({"model": functions.NAMES})
by_head = run.table(pd.concat([by_head, functions.by_head(studied[-1:], repeats)]), "heads_by_function", split="dev")
shown = by_head.assign(layer=by_head.layer - 1, head=by_head["head"] - 1, stays=True)
figure = plots.head_map(shown, "model", {name: name.replace(" ", "\n") for name in by_head.model}, across=True)
run.figure(figure, "heads_by_function", "The functions of every head of two pretrained models and of a toy translator.")

# %% [markdown]
# The largest group is for objects. In SmolLM2 all but one stand in layer `11` or later.
#
# ## Verdicts
#
# By the rules of [claims.toml](../claims.toml); *here* is the toy language. A case counts if a test is sure of it.

# %%
claims.show(run, europarl="Europarl", pretrained="pretrained models")

# %% [markdown]
# The syntactic rule asks for every case in every model. The paper's own would not pass; the table of answers asks for less.
#
# **What this cannot say.** Does a model need the head? [Notebook 6](06_do_measures_agree.ipynb) asks that. Would another
# training give the same? Each model was trained once.
#
# ## Change one line
#
# - *Rare by spelling:* `sentence = "The farmer sold his neighbour a very old tractor."` Every word looks at *neighbour*. At
#   *neighbor*, less rare, only one does. The object head misses: *tractor* looks at *a*. Seconds.
# - *Other tests:* `1` for `-1`, the token after: the best head has a third. `"nsubj"` for `"dobj"`, subjects: it hardly beats
#   the guess. Half a minute.
