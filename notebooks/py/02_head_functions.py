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
# [← notebook 1, relevance and confidence](01_relevance_and_confidence.ipynb) · [notebook 3, L0 pruning
# →](03_l0_pruning.ipynb) · [all claims](../docs/results.md)
#
# A head of a Transformer looks from each word at others. In section 5 of [their paper](https://arxiv.org/abs/1905.09418)
# Voita et al. 2019 say that some heads of a translator's encoder have a plain job, a *function*. They test for three:
#
# - A *positional* head looks at the token (a word or a piece of one) before or after, for `90 %` of those that have one.
# - A *syntactic* head looks along a dependency, such as `object → verb`, from an object to its verb. It must be right `10`
#   points more often than the *guess*, which always takes the most frequent distance.
# - A head *for rare words* looks at one of the two rarest words of a sentence. The paper's does for `83 %` of words on
#   OpenSubtitles. Our line is one half.
#
# We ask nine models. Two are [pretrained](../docs/pretrained.md): SmolLM2 continues texts, MiniLM compares sentences. The
# others are translators of our own: four small ones of a toy language (*a small cow drank the milk*), two small ones of
# Europarl, and one of [the paper's size](../docs/results.md#at-the-papers-size), trained on Europarl for four minutes of a
# GPU, which translates far better than the small ones.
#
# In short:
#
# - **Objects.** In seven of the nine models some head finds the verb of an object far more often than the guess.<!-- holds:
#   pretrained/syntactic model=minilm trees=ewt relation=dobj direction="dependent to head" gain_low > 0.1 --><!-- holds:
#   02/syntactic_relations model="EN-FR news" relation=dobj direction="dependent to head" gain_low > 0.1 --><!-- holds:
#   natural/02/syntactic_relations relation=dobj direction="dependent to head" gain_low > 0.1 -->
# - **The token before.** SmolLM2, MiniLM and the translator of the paper's size each have a head that looks there. The six
#   small translators have none.
# - Heads for subjects, adjectives, adverbs or rare words we find in some models only.
# - Most heads have no function that we test. In SmolLM2 **20**<!-- pretrained/counted model=smollm2 trees=ewt function=any
#   heads:.0f --> of `270` have one, in one translator of Europarl none.<!-- holds: natural/02/models_beside
#   model="EN-FR europarl, deep decoder" "with functions" == 0 -->

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
from helpers.models import inputs
from helpers.plan import sources
from helpers.runs import subjects

run = study.begin("02_head_functions", globals())
print(run.summary(), sources(run), sep="\n")

# %% [markdown]
# ## How a head is tested
#
# All three tests ask where a head's largest weight falls. Here are two; the third is [`measures.rare`](../docs/use.md). `A`
# holds the weights of several heads, with a row for each token that looks and a column for each that is looked at. For syntax
# these are words.

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


def held_out(hits, distance, choose):  # heads × cases; how many words away each partner is; the cases to choose by
    best, usual = hits[:, choose].double().mean(1).argmax(), distance[choose].mode().values
    return best, hits[best, ~choose].double().mean(), (distance[~choose] == usual).double().mean()


# %% [markdown]
# The weights of a word are the mean over its tokens, and weights on any of them count for it. Those on the start of a text
# are left out. For syntax the best head and the guess are chosen on every second sentence and tested on the others.
#
# For rare words a sentence counts if its rarest token is outside the `500` most frequent, as in the paper. Tokens as rare as
# the second rarest count, too. In SmolLM2 no token sees a later one, so we take the two rarest that it does see.
#
# Both tests of that code on `400` sentences of a toy translator:

# %%
studied, repeats = subjects.study_models(run), run.settings["bootstrap"]
subject, arcs = studied[0], arcs_of(studied[0].sentences)
maps, before, looks, cases = [], [], [], []
for batch in subject.batches(2048, 400):  # tokens a batch, so many sentences
    maps.clear()
    with heads.record(subject.model, lambda site, weights: maps.append(weights.cpu()), kinds="encoder"), torch.no_grad():
        subject.model(**inputs(batch), use_cache=False)
    rows = [batch[name].cpu() for name in ("attention_mask", "word_ids", "index")]
    for A, mask, words, number in zip(torch.cat(maps, 1), *rows, strict=True):
        length = int(mask.sum())
        before.append(at_offset(A[:, : length - 1, :length], -1))  # the end of the sentence does not look
        pairs = [(word, verb) for word, verb, relation in arcs[number] if relation == "dobj"]
        looks.append(at_partner(to_words(A[None], words[None])[0], pairs))
        cases += [(int(number), verb - word) for word, verb in pairs]
number, distance = torch.tensor(cases).T
best, right, guess = held_out(torch.cat(looks, 1), distance, number % 2 == 0)
print(f"token before: the best head is right in {torch.cat(before, 1).double().mean(1).max():.0%} of cases")
print(f"object → verb: head {best + 1} of {len(looks[0])} is right in {right:.0%} of cases, the guess in {guess:.0%}")

# %% [markdown]
# ## Two heads of SmolLM2 at work
#
# What does a syntactic head do in one sentence? We take the two that do best in SmolLM2, which has `135` million parameters.


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
# *Yellow: the word that looks. Orange: where it should look.*
#
# Two are hits: *smiled* finds *man*, past a nearer noun, and *horse* finds *bought*, not *won*. Counting words
# alone would not find these. The other two are misses.

# %% [markdown]
# ## Table 1: syntactic heads in eight models
#
# Do heads follow dependencies? In the paper's two rows `9` of `16` cases pass.
#
# The pretrained models read `400` sentences of the English Web Treebank, whose trees people have drawn. Our translators have
# six encoder layers of eight heads. For the toy language we know the trees; for Europarl a parser makes them, as in the
# paper.

# %%
names = {"smollm2": "SmolLM2", "minilm": "MiniLM"}
syntax = checkpoints.syntactic(run.settings).replace({"model": names})
syntax = run.table(syntax[syntax.n >= 30], "pretrained_syntactic", over="sentences of one model")
relations = functions.syntactic(studied, repeats)
run.table(relations.set_index("model"), "syntactic_relations", split="dev")
europarl, more = (study.ROOT / "figures" / name for name in ("natural/02_head_functions/tables", "summaries"))  # published
large = {name: pd.read_csv(more / f"gpu-quarter-{name}.csv") for name in ("syntactic", "positional", "rare", "counted")}

# %%
labels = {one.title: f"toy {one.title}" for one in studied if run.corpus == "controlled"}  # in figures and tables
labels |= {"EN-FR europarl": "Europarl", "EN-FR europarl, paper's size": "Europarl, paper's size"}
cases = [papers.TABLE_1, syntax[syntax.trees == "ewt"], relations, pd.read_csv(europarl / "syntactic_relations.csv")]
cases = pd.concat([*cases, large["syntactic"]]).drop_duplicates(["model", "relation", "direction"])  # Europarl may be studied
table1 = run.table(cases.replace({"model": labels}).set_index("model"), "table1_syntactic_heads", split="dev")
caption = "How often the best head of each relation and the guess are right, in the paper and in eight models."
run.figure(plots.gains(table1.reset_index()), "table1_syntactic_heads", caption, table="table1_syntactic_heads", split="dev")

# %% [markdown]
# *`45 / 35`: the head is right in `45 %` of cases, the guess in `35 %`. Black frame: it passes. Question mark: the `95 %`
# interval over sentences contains the border of `10` points; the paper gives no intervals. For SmolLM2 only partners to the
# left count, and cells with fewer than `30` of them are empty. The translator of Europarl with a deep decoder is left out: of
# it we kept no intervals, and no head passes.*
#
# **Objects: yes.** In all models but the translator of the paper's size some head clearly finds the verb of an object. In
# SmolLM2 it is right in **93 %**<!-- pretrained/syntactic model=smollm2 trees=ewt relation=dobj direction="dependent to head"
# accuracy:.0% --> of cases, the guess in **37 %**<!-- pretrained/syntactic model=smollm2 trees=ewt relation=dobj
# direction="dependent to head" baseline:.0% -->. In the paper a head also finds the object of a verb, in our small
# translators none.<!-- holds: 02/syntactic_relations model="EN-RU subtitles" relation=dobj direction="head to dependent" gain
# < 0 -->
#
# **Subjects: often, with question marks.** SmolLM2 has a head for the subject of a verb, but on a second treebank, GUM, we
# cannot tell.<!-- holds: pretrained/syntactic model=smollm2 trees=gum relation=nsubj direction="head to dependent" heads=0
# gain_low < 0.1 --><!-- holds: pretrained/syntactic model=smollm2 trees=gum relation=nsubj direction="head to dependent"
# heads=0 gain_high > 0.1 --> All six translators of the table pass in one direction or both, three of them without a question
# mark.
#
# **Adjectives and adverbs: mostly in the toy language.** There three of four translators pass for adjectives, and two clearly
# for adverbs. On natural text only the paper's WMT model and our translator of that size pass, for adjectives. These mostly
# stand right before their noun, so the guess is hard to beat.
#
# ## Figure 3: what the guess knows
#
# How far does a dependent stand from its governor, the word on which it depends? The tallest bar is about what the guess can
# reach.

# %%
offsets = run.table(functions.offsets(studied[:1]), "fig3_offsets", split="dev")
offsets = pd.concat([offsets, pd.read_csv(europarl / "fig3_offsets.csv")]).drop_duplicates(["model", "relation", "offset"])
words = {"nsubj": "subject of a verb", "dobj": "object of a verb", "amod": "adjective of a noun", "advmod": "adverb of a word"}
tallest = papers.TABLE_1.query("model == 'paper, WMT'").groupby("relation").baseline.first()[[*words]]
figure = plots.offsets(offsets.replace({"relation": words, "model": labels}), tallest.rename(words))
run.figure(figure, "fig3_offsets", "How far a dependent stands from its governor, by relation.")

# %% [markdown]
# Subjects and objects stand at several distances, so a head can know more there than the guess.
#
# ## Positions and rare words
#
# Do heads look at the token before, or at rare words? Beside the best head of each model stands the best of a model of its
# shape with random weights. *Chance* is what a head reaches that looks anywhere.

# %%
positions, rarest = functions.positional(studied, repeats), functions.rare(studied, repeats)
run.table(positions, "positional_heads", split="dev")
run.table(rarest, "rare_tokens", split="dev")
near, least = (one(run.settings).query("trees == 'ewt'") for one in (checkpoints.positional, checkpoints.rare))
natural = {name: pd.read_csv(europarl / f"{name}.csv", index_col=0) for name in ("positional_heads", "rare_tokens")}
tests = {
    "looks at the token before": [near[near.offset == -1], positions, natural["positional_heads"], large["positional"]],
    "looks at one of the two rarest": [least, rarest, natural["rare_tokens"], large["rare"], papers.RARE],
}

# %%
heads_of_tests = functions.beside_random(tests).replace({"model": names})
run.table(heads_of_tests, "beside_random", over="sentences")
empty = pd.DataFrame({"test": [*tests], "model": "paper, WMT", "head": "the best head"})  # a row without a dot
shown = pd.concat([heads_of_tests.replace({"model": labels}), empty])
figure = plots.dots(shown, "model", "value", series="head", panel="test", label="% of tokens", level=None)
for axis, line, printed in zip(figure.axes, (90, 50), ([-1, -2], [-1]), strict=True):
    axis.set_xlim(0, 104)
    axis.axvline(line, **drawing.LEVEL)  # a head has the function from here on
    axis.hlines([shown.model.nunique() + place for place in printed], line, 100, color="#BBBBBB", lw=5)
caption = "The best head for the token before and for rare words in each model, beside random weights."
run.figure(figure, "positions_and_rare_words", caption, table="beside_random", over="sentences")

# %% [markdown]
# *Dotted: from here on a head has the function. Grey: the paper says only that its heads lie in this range. Bars: `95 %`
# intervals over sentences. The deep decoder is left out again: no head of it passes.*
#
# **The token before: in three models.** The translator of the paper's size has a head that reaches **95 %**<!--
# summaries/gpu-quarter-positional score:.0% -->, those of SmolLM2 and MiniLM more. The best of the small ones reaches
# **67 %**<!-- natural/02/positional_heads kind=encoder score:.0% -->.
#
# **Rare words: on the border.** The best head of SmolLM2 passes with **59 %**<!-- pretrained/rare model=smollm2 trees=ewt
# score:.0% -->, but chance alone gives **29 %**<!-- pretrained/rare model=smollm2 trees=ewt chance:.0% -->. For MiniLM and
# the translator of subtitles we cannot tell whether they pass.<!-- holds: pretrained/rare model=minilm trees=ewt high > 0.5
# --><!-- holds: 02/rare_tokens layer=2 head=7 high > 0.5 --> The other translators do not.
#
# ## How many heads have a function?
#
# Here every head is tested on all sentences, and has a function if it passes a test. The first two columns count cases of
# Table 1, on GUM too. The deep decoder has three layers, not one, and was trained less than half as long.

# %%
gum = syntax[syntax.trees == "gum"]
asked = pd.concat([cases, gum.assign(model=gum.model + " on GUM")])
asked = asked.assign(passes=asked.accuracy - asked.baseline >= 0.1 - 1e-9).groupby("model", sort=False).passes
counted = run.table(functions.counted(studied, repeats), "counted", split="dev")
others = checkpoints.counted(run.settings).replace({"model": names})
others["model"] += others.trees.map({"ewt": "", "gum": " on GUM"})
counted = pd.concat([counted, others, pd.read_csv(europarl / "counted.csv"), large["counted"]])
counted = counted.drop_duplicates(["model", "function"])
counts = counted.pivot(index="model", columns="function", values="heads")
counts[["heads", "random"]] = counted[counted.function == "any"].set_index("model")[["all", "random"]]

# %%
deep = pd.read_csv(europarl / "models_beside.csv", index_col=0).filter(like="deep decoder", axis=0)
few = deep[["with functions", "positional heads", "rare heads", "syntactic heads", "heads"]]
few.columns, few.index = ["any", "positional", "rare", "syntactic", "heads"], ["Europarl, deep decoder"]
counts = pd.concat([asked.agg(cases="sum", asked="size").join(counts), few]).rename_axis("model")
counts = run.table(counts.astype("Int64"), "function_counts", split="dev")
words = {"cases": "cases of table 1 that pass", "asked": "cases asked", "any": "heads with a function", "rare": "rare words"}
words |= {"heads": "heads in all", "random": "random weights: heads with a function"}
counts[counts["any"].notna()].rename(columns=words, index=labels).astype(object).fillna("–")

# %% [markdown]
# Most heads have no function, and all functions of the small translators are syntactic. We do not know why that with the deep
# decoder has none. Counts depend on the text: of MiniLM's **10**<!-- pretrained/counted model=minilm trees=ewt function=any
# heads:.0f --> heads six pass by `verb → object`, but on GUM only one does.<!-- holds: pretrained/syntactic model=minilm
# trees=gum relation=dobj direction="head to dependent" heads == 1 -->
#
# Where do they stand? Here is a map like the paper's figure 1c, with the toy translator that has the most. *Object* is
# `object → verb`, in MiniLM `verb → object` as well.<!-- holds: pretrained/syntactic model=minilm trees=ewt relation=dobj
# direction="head to dependent" heads == 6 -->

# %%
every = checkpoints.by_head(run.settings).query("trees == 'ewt'").replace({"model": names})
every = run.table(pd.concat([every, functions.by_head(studied[-1:], repeats)]), "heads_by_function", split="dev")
titles = {name: labels.get(name, name).replace(" ", "\n", 1) for name in every.model}
shown = every.assign(layer=every.layer - 1, head=every["head"] - 1, stays=True)
figure = plots.head_map(shown, panel="model", titles=titles, across=True)
run.figure(figure, "heads_by_function", "The functions of every head of two pretrained models and of a translator.")

# %% [markdown]
# In SmolLM2 all but one of the coloured heads stand in layer `11` or later.

# %% [markdown]
# ## Verdicts
#
# By the rules of [claims.toml](../claims.toml), for the toy language (*here*), the translator called Europarl in Table 1, and
# the pretrained models on the English Web Treebank. A case counts only if a test over sentences is sure of it.

# %%
claims.show(run, europarl="Europarl", pretrained="pretrained models")

# %% [markdown]
# - *Positional:* the rule is not asked of the translator of the paper's size, which would pass it.<!-- holds:
#   summaries/gpu-quarter-positional low > 0.9 -->
# - *Syntactic:* the rule asks for all relations in every model, and even the paper's models do not pass it.
#
# ## What this cannot say
#
# - We do not ask whether a model needs the head. [Notebook 6](06_do_measures_agree.ipynb) does.
# - The toy language hardly needs encoder heads: a translator of EN-RU news without any has **86.9**<!-- 01/bleu
#   model="EN-RU news, no encoder heads" bleu:.1f --> BLEU, not **88.1**<!-- 01/bleu model="EN-RU news" bleu:.1f -->. Held
#   against that, the toy verdicts would say nothing.
# - Neither pretrained model translates, and each model was trained once.

# %% [markdown]
# ## Change one line
#
# - In `questions`: write `(14, 9, "The teacher asked the children to sing.", "sing", "children")`, then *promised* for
#   *asked*. Whom does the head take for the singer? The model runs, at first for a minute or two.
# - In `asked.assign`: write `0.05` for `0.1`. How many cases pass when `5` points are enough? Of MiniLM three, not two. A
#   minute.
# - In the parameters: `models = "ru-subtitles"` runs the page for one translator.
