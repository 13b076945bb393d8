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
# # 2 · What do heads do? Positional, syntactic and rare-token heads
#
# Voita et al. 2019 ([arXiv 1905.09418](https://arxiv.org/abs/1905.09418)), section 5.
#
# **The paper's claim.** The encoder heads that matter have readable functions: *positional* heads look at a neighbour,
# *syntactic* heads look along a dependency (subject, object, adjective, adverb), and one head of the first layer looks at the
# *rarest tokens* of the sentence. The picture is alike for three target languages and two registers.

# %% tags=["parameters"]
profile = "laptop"  # tiny, quick, laptop, natural or paper: sizes only, every one can be overridden below
corpus = ""  # "controlled" or "natural"; empty: the profile's own
models = ""  # e.g. "ru-news de-news"; empty: the corpus's own
pretrained = ""  # a Marian or BART checkpoint (Hub name or folder) to study instead
data_root = ""  # folder of natural corpora; empty: HEADS_DATA_ROOT
parser = "spacy"  # of natural text: "spacy", "stanza" or the path of a CoNLL-U file
seed = 1
overrides = ""  # settings to change, NAME=VALUE separated by spaces, such as training.steps=200
output = ""  # where figures and tables go; empty: runs/PROFILE-CORPUS

# %%
from helpers import study
from helpers.plan import sources

run = study.begin("02_head_functions", globals())
print(run.summary(), sources(run), sep="\n")

# %%
import pandas as pd
from IPython.display import display

from helpers import figures, intervals, subjects
from helpers.measures import functions, report

figures.style()
studied = subjects.study_models(run)
repeats = run.settings["bootstrap"]

# %% [markdown]
# ## One pass a model
#
# All scores come from one pass over the dev set. Syntactic scores live on words: attention *to* a word is the sum over its
# subwords, attention *from* a word the mean over its subwords. Dependencies are gold on the controlled corpus and a parser's
# on natural text. A model with random weights goes through the same measures: what it scores is chance plus what word order
# gives away.

# %%
found, untrained = {}, {}
for subject in studied:
    found[subject.title] = report.SCORED.of(subject, repeats=repeats)
    untrained[subject.title] = report.SCORED.of(subject, repeats=repeats, untrained=True)
    for name, frame in found[subject.title].items():
        run.table(frame, f"{name}_{subject.name}", split="dev", sentences=len(subject.dev), over=intervals.SENTENCES)

# %% [markdown]
# ## The function map
#
# A head is *positional* if its largest weight lies at one fixed offset for at least 90 % of the tokens that have a neighbour
# there (the first word has none before it; `of_all` in the tables counts it as a miss); *syntactic* if for one
# relation and direction its largest weight (end-of-sentence excluded) falls on the right word 10 points more often than the
# relation's most frequent offset does; a *rare-token* head if, where the rarest token is outside the 500 most frequent, its
# largest weight falls on one of the two rarest more than half of the time. A head may do several things.

# %%
roles = {title: functions.roles(f["positional"], f["syntactic"], f["rare"]) for title, f in found.items()}
run.figure(figures.function_map(roles), "function_map", split="dev")

# %%
random_roles = {title: functions.roles(f["positional"], f["syntactic"], f["rare"]) for title, f in untrained.items()}
counted = pd.concat({"trained": report.count_roles(roles), "random weights": report.count_roles(random_roles)}, axis=1)
run.table(counted, "function_counts", split="dev")

# %% [markdown]
# ## Positional heads (section 5.1)
#
# The paper finds them at offsets -1 and +1. Ours, beside those of decoder self-attention (offset -1: the token before last)
# and of cross-attention (offset: source minus target position), where the notion applies as well:

# %%
positional = pd.concat({title: f["positional"][f["positional"].verdict] for title, f in found.items()}, names=["model"])
print(f"{len(positional)} heads at 90 % or more; the best of each kind:")
best = run.table(report.positional_table(found, untrained), "positional_heads", split="dev")
best.drop(columns="over").style.format("{:.3f}", subset=["score", "low", "high", "of_all", "best at random"])

# %% [markdown]
# ## Syntactic heads (section 5.2, Fig. 4)
#
# Bars: the best head for each relation and direction, with its bootstrap interval over sentences. Solid lines: always guessing
# the most frequent offset. Dotted: the best head of a model with random weights. Dashed: a random word.

# %%
heads = report.best_of_all(studied, found, untrained)
run.table(heads, "best_syntactic_heads", split="dev")
run.figure(figures.syntactic_bars(heads), "syntactic_heads", split="dev")

# %% [markdown]
# Held to the paper's own rule, 10 points above the most frequent offset, all relations and directions of all models: the head
# is chosen on even sentences, it and the offset are scored on odd ones.

# %%
held = {subject.title: report.HELD.of(subject, repeats=repeats) for subject in studied}
random_held = {subject.title: report.HELD.of(subject, repeats=repeats, untrained=True) for subject in studied}
relations = report.syntactic_relations(held, random_held)
run.table(relations.set_index(["model", "relation", "direction"]), "syntactic_relations", split="dev")
run.table(report.syntactic_counts(relations), "syntactic_counts", split="dev")

# %% [markdown]
# The same numbers in the shape of the paper's Table 1 (EN-RU, best head / offset baseline, %). The printed numbers are for
# 6+6 layers with 8 heads on 2.5 and 6 million natural pairs and predicted parses; ours for the text and sizes named above.
# `held out` chooses the head on one half of the sentences and scores it on the other, free of the luck of the best of many.

# %%
run.table(report.table_1(heads), "table_1", split="dev").style.format("{:.0f}", na_rep="")

# %% [markdown]
# ## Rare tokens (section 5.3)
#
# Printed: on OpenSubtitles the head's largest weight is on the rarest token 66 % of the time, on one of the two rarest 83 %; on
# WMT on one of the two rarest more than 50 %. Unit here: query tokens; frequencies: subword tokens of the training text.

# %%
rare = report.rare_table(found, untrained)
run.table(rare, "rare_tokens", split="dev")
display(rare.style.format("{:.2f}", subset=[c for c in rare if rare[c].dtype == float]))
run.figure(figures.rare_shares({title: f["rare"] for title, f in found.items()}), "rare_tokens", split="dev")

# %% [markdown]
# ## Decoder and cross heads
#
# Cross-attention is held to a statistical word alignment (Dyer et al. 2013) of the same sentences: does the head look at the
# source token that the row *predicts* (the next target token), or at that of the token just *fed in*?

# %%
run.figure(figures.function_map({t: functions.roles(f["positional"]) for t, f in found.items()}, "decoder"), "decoder_map")
aligned = pd.concat({title: f["alignment"] for title, f in found.items()}, names=["model"])
run.table(aligned, "alignment", split="dev", over=intervals.SENTENCES)
run.figure(
    figures.head_maps({t: f["alignment"].predicted for t, f in found.items()}, "cross", label="share aligned"),
    "alignment_predicted",
    split="dev",
)

# %% [markdown]
# ## What it looks like
#
# Word-level attention of the best head of each function on a dev sentence of readable length; frames mark the gold partners
# (or the two rarest words).

# %%
run.figure(figures.attention(report.EXAMPLES.of(studied[0], repeats=repeats)), "attention_examples", split="dev")

# %% [markdown]
# ## What we see, and what differs from the paper
#
# In the committed run (profile `laptop`, controlled corpus, one seed):
#
# - **Syntactic heads: seen.** Every model has heads that look along a dependency far more often than any fixed offset could,
#   and random weights have none. Adjective to noun is found in all four models (90 to 98 % against 75), object to verb in three
#   (54 to 78 % against 38 to 44), verb to subject in both Russian models (59 and 76 % against 41 and 49). Choosing the head on
#   one half of the sentences and scoring it on the other changes these numbers by two points at most.
# - **Direction matters, and it is not the paper's.** The paper finds both directions of a relation. Here a head looks where the
#   translation needs it: the adjective at the noun whose gender and case it takes, the object at the verb that governs it; the
#   subject hardly ever looks at its verb. German and French lean less on subject and object heads than Russian.
# - **Positional heads: not seen.** The best encoder head has its maximum at one offset for about half of the tokens. The paper
#   finds several at 90 % in every model. A likely reason is ours: words are mostly one or two subwords, so that there is little
#   to gather from the neighbour alone; longer training and natural text will tell.
# - **A rare-token head in layer 1: not seen in news, a trace in subtitles** (47 % on one of the two rarest, against 19 % by
#   chance and 29 % with random weights; printed 83 %). In news the best head reaches 26 % against 11 %.
# - **Cross-attention aligns** with the token that its row predicts: 80 to 93 % of the aligned tokens for the better head.
#
# Differences: generated text with gold trees instead of parsed news, small models with a shallow decoder, one seed.
