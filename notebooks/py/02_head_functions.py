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
# # 2 · Do attention heads have functions that one can read?
#
# [← notebook 1, relevance and confidence](01_relevance_and_confidence.ipynb) · [notebook 3, L0 pruning
# →](03_l0_pruning.ipynb) · [all claims](../docs/results.md)
#
# A head of a Transformer looks from each word at others. Voita et al. 2019 say in section 5 of
# [their paper](https://arxiv.org/abs/1905.09418) that some heads of a translator's encoder have a plain job in this, a
# *function*:
#
# - *Positional* heads look at the word before or after, for `90 %` of all words. Several heads of each model do.
# - *Syntactic* heads look along a dependency, such as from an object to its verb. A head counts if it is right `10` points
#   more often than a guess at the most frequent distance. English-Russian translators have one in `9` of `16` cases (table 1).
# - One head looks at the *rarest words* of a sentence, for more than `50 %` of words on WMT and `83 %` on OpenSubtitles.
#
# We first ask two models that people use: SmolLM2, which continues texts, and MiniLM, which reads them both ways. The
# functions are there. Then we ask our own small translators, find fewer, and look for the reason.

# %% jupyter={"source_hidden": true} tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # such as "ru-news de-news"; empty: the corpus's own
pretrained = ""  # a Marian or BART checkpoint (Hub name or folder) to study instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1
overrides = ""  # settings to change, name and value joined by an equals sign, separated by spaces
output = ""  # where figures and tables go; empty: a folder of runs/ named by profile and corpus

# %% jupyter={"source_hidden": true}
import pandas as pd
from helpers import claims, drawing, heads, measures, papers, plots, study
from helpers.corpora.describe import arcs_of
from helpers.experiments import functions
from helpers.experiments import pretrained as checkpoints
from helpers.measures.sentence import single
from helpers.models import inputs
from helpers.plan import sources
from helpers.runs import subjects
run = study.begin("02_head_functions", globals())
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## How a head is tested
#
# All three tests ask one thing: where does a head's largest weight fall? Below, `A` holds the weights of several heads, with a
# row for each word that looks and a column for each word that is looked at.

# %% tags=["method"]
import torch
from helpers.measures.functions import to_words


def at_offset(A, offset):  # share of words that look so many places on, of those that have a place there
    place = torch.arange(A.shape[1])
    there = (place + offset >= 0) & (place + offset < A.shape[2])
    return (A.argmax(-1) == place + offset)[:, there].double().mean(-1)


def at_partner(A, pairs):  # share of pairs (word, partner) in which the word looks at its partner
    word, partner = torch.tensor(pairs).T
    return (A.argmax(-1)[:, word] == partner).double().mean(-1)


def at_rarest(A, counts):  # share of words that look at one of the two rarest; ties count
    rarest = counts <= counts.sort().values[1]
    return rarest[A.argmax(-1)].double().mean(-1)


# %% [markdown]
# We try them on one sentence of a translator, whose models are the subject of this study: the first sentence with an object.
# Models cut words into pieces. A word looks as its pieces do on average, and a look at any of its pieces counts for a word.

# %%
studied, repeats = subjects.study_models(run), run.settings["bootstrap"]
subject, arcs = studied[0], arcs_of(studied[0].sentences)
number = next(n for n, tree in enumerate(arcs) if any(relation == "dobj" for *_, relation in tree))
sentence, maps = single(subject, number), []
with heads.record(subject.model, lambda site, weights: maps.append(weights[0].cpu()), kinds="encoder"), torch.no_grad():
    subject.model(**inputs(sentence), use_cache=False)
A = torch.cat(maps)  # heads × pieces × pieces, the last piece is the end of the sentence
words = to_words(A[None], sentence["word_ids"].cpu())[0]  # heads × words × words
" ".join(subject.sentences[number].words)

# %% [markdown]
# The library has the tests as `measures.positional`, `measures.syntactic` and `measures.rare`, for any model. The first counts
# the end of a sentence as a place, the other two leave it out. How rare a piece is we count in these sentences; elsewhere it is
# counted in the training text.

# %%
offsets = measures.positional(subject.model, [sentence], repeats=1).loc["encoder"]
mine = torch.cat([at_offset(A[h : h + 1, :-1], offset) for h, offset in enumerate(offsets.offset)])
print("positional:", study.compare(mine, torch.tensor(offsets.score.to_numpy())))
syntax = measures.syntactic(subject.model, [sentence], arcs, repeats=1)
syntax = syntax.xs(("dobj", "dependent to head"), level=("relation", "direction"))
mine = at_partner(words, [(word, verb) for word, verb, relation in arcs[number] if relation == "dobj"])
print("syntactic:", study.compare(mine, torch.tensor(syntax.score.to_numpy())))
pieces = torch.cat([torch.tensor(row) for row in subject.encoded.source])
counts = pieces.bincount(minlength=subject.model.config.vocab_size)
rare = measures.rare(subject.model, [sentence], counts, repeats=1, frequent=0)
mine = at_rarest(A[:, :-1, :-1], counts[sentence["input_ids"][0, :-1].cpu()])
print("rare:", study.compare(mine, torch.tensor(rare.two_rarest.to_numpy())))

# %% [markdown]
# ## Two heads of SmolLM2 at work
#
# SmolLM2 is a model of `135` million parameters that one can talk to. It has `270` heads, and reads from left to right: no word
# sees a later one. Here are two of its heads. One looks from a verb at its subject, the other from an object at its verb. We
# wrote four sentences for them in which other words stand in between, and ask one word of each.
#
# As printed the weights are published. Change a sentence, and the model is loaded and run, in less than half a minute. If its
# package is missing, an error says how to install it.


# %% tags=["method"]
import re
from helpers.corpora.tokens import Subwords
from helpers.models import load


def look(name, questions):
    model, tokenizer = load(name)
    model.set_attn_implementation("eager")  # this way the library returns attention weights
    answers = []
    for layer, head, sentence, word, partner in questions:
        words, subwords = re.findall(r"[\w']+|[.,?!]", sentence), Subwords(tokenizer)
        ids = [tokenizer.bos_token_id, *subwords.encode(sentence)]
        owner = torch.tensor([-1, *subwords.word_ids(sentence, words)])  # the word of each piece; the start has none
        with torch.no_grad():
            A = model(torch.tensor([ids]), output_attentions=True).attentions[layer - 1][:, head - 1]  # softmax(QKᵀ / √d)
        A = to_words(A[None], owner[None])[0, 0]
        answer = pd.DataFrame({"word": words, "weight": A[words.index(word)].numpy()})
        answer["looks"], answer["wanted"] = answer.word == word, answer.word == partner
        answers.append(answer.assign(title=f"layer {layer}, head {head}: {word} → {partner}"))
    return pd.concat(answers)


# %%
drawing.style()
questions = [
    (14, 9, "The man whose daughter won the race smiled.", "smiled", "man"),
    (14, 9, "The keys that the man lost opened the door.", "opened", "keys"),
    (11, 2, "The man who won the race bought his daughter a small white horse.", "horse", "bought"),
    (11, 2, "We found, in a box under the stairs, an old map.", "map", "found"),
]
looks = run.table(run.stored(look, name="smollm2", questions=questions), "where_heads_look")
caption = "Where two heads of SmolLM2 look in four sentences."
run.figure(plots.looking(looks), "hits_and_misses", caption, table="where_heads_look")

# %% [markdown]
# The first and the third are hits. The verb *smiled* finds *man*, past a nearer noun, and *horse* finds *bought*, not *won*.
# The other two are misses. *Opened* looks at *that*, and a phrase between commas hides the verb from *map*. So these heads do
# not count words. They have learned some of the grammar, but not all.

# %% [markdown]
# ## Table 1 in models that people use
#
# Now `400` sentences of the English Web Treebank, whose trees people have drawn. For each relation the best head is chosen on
# every second sentence and tested on the others. The numbers of the paper's table 1 stand beside it in grey. A bar that
# reaches the black line is a syntactic head. SmolLM2 has a bar only where partners stand to the left.

# %%
names = {"smollm2": "SmolLM2", "minilm": "MiniLM"}
syntax = checkpoints.syntactic(run.settings).replace({"model": names})
syntax = run.table(syntax[syntax.n >= 30], "pretrained_syntactic", over="sentences of one model")
both = pd.concat([syntax[syntax.trees == "ewt"], papers.TABLE_1])
figure = plots.relations(both.assign(needed=both.baseline + 0.1))
caption = "For how many words the best head of each relation is right, in two pretrained models and in the paper."
run.figure(figure, "table1_pretrained", caption, "Voita et al., table 1", table="pretrained_syntactic")

# %% [markdown]
# *Subjects and objects: yes.* The best head of SmolLM2 finds the verb of an object in **93 %**<!-- pretrained/syntactic
# model=smollm2 trees=ewt relation=dobj direction="dependent to head" accuracy:.0% --> of cases, where the guess finds
# **37 %**<!-- pretrained/syntactic model=smollm2 trees=ewt relation=dobj direction="dependent to head" baseline:.0% -->. No
# head in the paper is right that often. MiniLM has such a head too.<!-- holds: pretrained/syntactic model=minilm trees=ewt
# relation=dobj direction="dependent to head" gain_low > 0.1 -->
#
# *Adjectives and adverbs: no.* The guess is hard to beat there, for an adjective mostly stands right before its noun. In the
# paper, too, few of these cases reach the line.
#
# The table has what passes, also on a second treebank, GUM. Objects pass on both. The head for subjects does not: on GUM
# another one is best, and it passes by less than one point.<!-- holds: pretrained/syntactic model=smollm2 trees=gum
# relation=nsubj direction="head to dependent" gain < 0.11 -->

# %%
columns = ["model", "trees", "relation", "direction", "layer", "head", "accuracy", "baseline", "gain", "gain_low", "gain_high"]
syntax[syntax.passes][columns].round(2)

# %% [markdown]
# ## Positions and rare words

# %%
positions = checkpoints.positional(run.settings).replace({"model": names})
run.table(positions, "pretrained_positional", over="sentences of one model")
axes = ("place of the largest weight, 0 the word itself", "% of tokens")
figure = plots.grouped(positions[positions.trees == "ewt"], "offset", "score", labels=axes, level=0.9)
run.figure(figure, "pretrained_positional", "How often the best head of each offset looks there, in two pretrained models.")

# %% [markdown]
# *Positional heads: yes.* In both models one head looks at the word before: in SmolLM2 for **98 %**<!-- pretrained/positional
# model=smollm2 trees=ewt offset=-1 score:.0% --> of tokens, in MiniLM for **100 %**<!-- pretrained/positional model=minilm
# trees=ewt offset=-1 score:.0% -->. Another head of SmolLM2 looks at the word itself. MiniLM's best head for the next word
# falls short of `90 %`.<!-- holds: pretrained/positional model=minilm trees=ewt offset=1 high < 0.9 --> The marks at both
# ends of a sentence count as places here, and heads like to rest on them.

# %%
rarest = checkpoints.rare(run.settings).replace({"model": names})
run.table(rarest, "pretrained_rare", over="sentences of one model")
rarest[["model", "trees", "layer", "head", "score", "low", "high", "heads", "chance", "best_random"]].round(2)

# %% [markdown]
# *A head for rare words: nearly.* The best head of MiniLM stands in the first layer, as in the paper. Its largest weight is
# on one of the two rarest tokens for **49 %**<!-- pretrained/rare model=minilm trees=ewt score:.0% --> of tokens, where
# chance gives **13 %**<!-- pretrained/rare model=minilm trees=ewt chance:.0% -->. That is the border, one half: on GUM it
# lies above.<!-- holds: pretrained/rare model=minilm trees=gum low > 0.5 -->
#
# SmolLM2 has several heads above one half. They stand in late layers, and chance alone would give them **29 %**<!--
# pretrained/rare model=smollm2 trees=ewt chance:.0% -->, because at the beginning of a sentence there are few tokens to look
# back at.

# %% [markdown]
# ## The same tests in small translators
#
# Our translators read generated English, whose trees we know. First the counterpart of the paper's figure 3: how many words
# lie between a word and its partner? The tallest bar of a relation is what a guess can reach.

# %%
offsets = functions.offsets([studied[0], studied[-1]])
run.table(offsets, "fig3_offsets", split="dev")
axes = ("place of the head word, from its dependent", "% of pairs")
figure = plots.grouped(offsets, "offset", "share", panel="relation", labels=axes, columns=2)
run.figure(figure, "fig3_offsets", "How far a word stands from its partner, by relation.", answers="Voita et al., figure 3")

# %% [markdown]
# And here is the counterpart of its figure 4, for four translators. Again heads are chosen on every second sentence.

# %%
relations = functions.syntactic(studied, repeats)
run.table(relations.set_index(["model", "relation", "direction"]), "syntactic_relations", split="dev")
ours = relations.rename(columns={"accuracy held out": "accuracy", "offset baseline": "baseline"})
both = pd.concat([ours, papers.TABLE_1])
figure = plots.relations(both.assign(needed=both.baseline + 0.1))
caption = "For how many words the best head of each relation is right, in four translators and in the paper."
run.figure(figure, "fig4_syntactic_heads", caption, "Voita et al., figure 4", table="syntactic_relations", split="dev")

# %% [markdown]
# Subjects and objects have heads here as well. Each translator has one that finds the verb of an object,<!-- holds:
# 02/syntactic_relations model="EN-FR news" relation=dobj direction="dependent to head" "above offset" > 0.1 --> in the
# translator of subtitles for **99 %**<!-- 02/syntactic_relations model="EN-RU subtitles" relation=dobj
# direction="dependent to head" accuracy held out:.0% --> of objects. But which other cases have a head differs from translator
# to translator, although three of them read the same English. And none finds the object of a verb, where the paper has one of
# its largest gains.<!-- holds: 02/syntactic_relations model="EN-RU subtitles" relation=dobj direction="head to dependent"
# "above offset" < 0 -->

# %%
best = functions.positional(studied, repeats)
run.table(best, "positional_heads", split="dev")
best.xs("encoder", level="kind")[["layer", "head", "offset", "score", "low", "high", "best at random"]].round(2)

# %%
rarest = functions.rare(studied, repeats)
run.table(rarest, "rare_tokens", split="dev")
rarest[["layer", "head", "two rarest", "low", "high", "best at random", "chance, two"]].astype(float).round(2)

# %% [markdown]
# No translator has a positional head. The best one looks back by one word for
# **62 %**<!-- 02/positional_heads model="EN-RU news" kind=encoder score:.0% --> of tokens. Nor is there a head for rare words:
# the best reaches **48 %**<!-- 02/rare_tokens layer=2 head=7 two rarest:.0% -->, in the translator of
# subtitles.<!-- holds: 02/rare_tokens layer=2 head=7 "two rarest" < 0.5 --> Both lie above random weights.

# %% [markdown]
# How many of the `48` encoder heads of each translator lie above the line of a test, on all sentences? With random weights none
# does.

# %%
counts = functions.counted(studied, repeats)
run.table(counts, "function_counts", split="dev")
counts["trained"]

# %% [markdown]
# ## Why so few?
#
# The translators are small, with `1.7` million parameters. But size is not all. Here is the first of them among siblings of
# other depths or trainings. The column *gained* says how much BLEU encoder attention is worth: the model's BLEU minus that of a
# model which never had any. *With functions* counts heads that pass some test.

# %%
shapes = functions.by_shape(run.settings, subjects.names(run.settings, models)[0], seed)
run.table(shapes, "models_beside", split="dev", over="sentences of one training")
shapes[["encoder", "decoder", "bleu", "gained", "with functions", "heads", "positional"]].round(2)

# %% [markdown]
# The first translator hardly needs encoder attention: trained without any it loses
# **1.2**<!-- 02/models_beside model="EN-RU news" gained:.1f --> BLEU, and
# **2**<!-- 02/models_beside model="EN-RU news" with functions:.0f --> of its `48` heads have a function.
#
# Beside a shallow decoder, one layer of two heads, encoder attention is worth
# **9.7**<!-- 02/models_beside model="EN-RU news, shallow decoder" gained:.1f --> BLEU, and
# **11**<!-- 02/models_beside model="EN-RU news, shallow decoder" with functions:.0f --> heads have one.
#
# So we think that heads take up a job where the job is left to them. A decoder of two full layers can put words into place by
# itself. This is a guess: each row is one training, and other trainings move such counts by several heads. And no sibling has
# a positional head.

# %% [markdown]
# ## And on natural text?
#
# The same tests on Europarl, English to French (profile `europarl`, a local corpus, one training). These are the published
# tables of that run, not of this one.

# %%
europarl = study.ROOT / "figures" / "natural" / "02_head_functions" / "tables" / "syntactic_relations.csv"
columns = ["relation", "direction", "accuracy held out", "offset baseline", "above offset", "passes +10"]
pd.read_csv(europarl)[columns].round(2)

# %% [markdown]
# Two of eight cases pass, the subject of a verb and the verb of an object. The best positional head reaches **67 %**<!--
# natural/02/positional_heads kind=encoder score:.0% -->. One translator of the paper's width, trained on Europarl for a few
# minutes on a GPU, has **1**<!-- summaries/gpu-quarter what="encoder heads, positional" value:.0f --> positional head. So
# positions seem to ask for a larger model, whether its text is natural or not.

# %% [markdown]
# ## What it means, and where it would not hold
#
# - **Functions are real.** Both models that people use have a positional head and a head that finds the verb of an object, on
#   both treebanks. Heads for subjects and for rare words are there too, near the border that the paper draws.
# - **A small model need not have them.** Ours have heads for objects and subjects, few others, and none for
#   positions. Before you look for functions, ask what attention is worth to the model.
# - **Hold a head against the best fixed guess.** Without it a head that looks at the next word passes for a finder of nouns.
# - **Do not name a head after one text.** The head of SmolLM2 for subjects on one treebank is not the best one on another. Most
#   of its `270` heads pass none of these tests.
# - It would not hold for tests of other kinds. All of these ask only for the largest weight, and a head can do its work without
#   it. Nor do they say that a model needs such a head: [notebook 1](01_relevance_and_confidence.ipynb) and
#   [notebook 6](06_do_measures_agree.ipynb) ask that.
# - The comparison has its gaps. SmolLM2 sees no later word, MiniLM is trained to compare sentences, and neither translates.
#   The paper's trees come from a parser, ours from people or from the grammar of the toy language. One model of each kind,
#   and `400` sentences of each treebank.

# %% [markdown]
# ## Verdicts
#
# The paper's claims of this section, held against the tables of our translators by the rules of [claims.toml](../claims.toml).
# The pretrained models are not in them.

# %%
claims.show(run)

# %% [markdown]
# ## Change one line
#
# - In `questions`: write `(14, 9, "The teacher asked the children to sing.", "sing", "children")`, then *promised* for
#   *asked*, and see whom the head takes for the singer. Half a minute.
# - In `at_partner`: write `A[:, word, partner] > 0.3` for the comparison of `argmax`, and the library no longer computes the
#   same. At once.
# - In the cell of *Table 1*: write `study.changed(run.settings, {"pretrained.sentences": 100})` for `run.settings`. Every
#   head of both models is measured anew, on fewer sentences. Ten minutes, and the treebanks must be at hand (data/README.md).
