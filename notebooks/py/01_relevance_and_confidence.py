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
# # 1 · Which heads matter? Confidence (and, next, relevance)
#
# Voita, Talbot, Moiseev, Sennrich and Titov (ACL 2019, [arXiv 1905.09418](https://arxiv.org/abs/1905.09418)), sections 3 and 4.
#
# **The paper's claim.** In each layer of a translation Transformer's encoder a few heads stand out. Two measures show it:
# layer-wise relevance propagation (how much of the predicted logit flows through a head) and *confidence* (how much of its
# attention a head puts on one single token, on average). They agree, with one exception in the first layer.
#
# This notebook describes the text, trains the paper's four models (EN-RU, EN-DE, EN-FR in one register, EN-RU in another),
# shows how well they translate, and measures confidence. Relevance joins it here.

# %% tags=["parameters"]
profile = "laptop"  # tiny, laptop, natural or paper: sizes only, every one can be overridden below
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

run = study.begin("01_relevance_and_confidence", globals())
print(run.summary())

# %%
import pandas as pd
from IPython.display import display

from helpers import figures, measures, scoring, subjects, training
from helpers.corpora.describe import describe
from helpers.measures.confidence import Confidence

figures.style()
studied = subjects.study_models(run)

# %% [markdown]
# ## The text (section 3)
#
# The paper trains on 2.5 million WMT pairs a language and 6 million OpenSubtitles pairs. The *controlled* corpus stands in for
# both: one small world told in English with gold dependencies, and in German, French and Russian with true agreement, case and
# word order. `news` is long and in the third person, `subtitles` short and talks of me and you, as in the paper's footnote 4
# (persons of subjects 6/3/91 % in WMT, 32/21/47 % in OpenSubtitles). On the *natural* track the text is real and its
# dependencies are a parser's.

# %%
registers = {}
for subject in studied:
    register = subject.title if run.corpus == "natural" else subject.name.partition("-")[2]
    registers.setdefault(register, subject)
described = {register: describe(subject.dev) for register, subject in registers.items()}
for register, subject in registers.items():
    print(f"\n{register}: dev sentences and their reference")
    for pair in subject.dev[:4]:
        print(f"  {pair.source}\n    {pair.target}")
facts = pd.DataFrame({register: parts["facts"] for register, parts in described.items()}).T
run.table(facts, "corpus", split="dev").style.format("{:,.2f}")

# %%
run.figure(figures.corpus_overview(described), "corpus_overview", split="dev")

# %% [markdown]
# The dotted line marks the 500 most frequent words, the paper's border of "rare". Where the partner of a word stands (the
# paper's Fig. 3) decides what a head gains by looking at one fixed offset, the baseline of notebook 2:

# %%
run.figure(figures.offsets(described), "offsets", split="dev")

# %% [markdown]
# ## How well the models translate
#
# Greedy or beam search as the profile says, on a test set that shares no English sentence with training. BLEU with its
# bootstrap interval stands beside the accuracy on phenomena that the generator marks in every reference: forms that case or
# agreement decides, words whose sense another word decides, words whose order the target language decides.

# %%
beam, resamples = run.settings["beam"], run.settings["bootstrap"]
bleu, accuracy, histories = [], {}, {}
for subject in studied:
    scored, accuracy[subject.title] = subjects.quality(subject, beam, resamples)
    bleu.append(scored)
    if subject.spec:
        histories[subject.title] = pd.read_csv(training.place(subject.spec) / "history.csv")

# %% [markdown]
# **Does the task need its heads?** (controlled corpus) A control without any encoder self-attention (every encoder head removed
# from the first step on; position-wise layers, decoder and cross-attention stay) says what encoder heads are worth on this
# text. A corpus on which they were worth nothing would make every later figure hollow.

# %%
if studied[0].spec and run.corpus == "controlled":
    control = subjects.load(run.settings, studied[0].name + subjects.NONE, seed)
    title = f"{studied[0].title}, no encoder heads"
    scored, accuracy[title] = subjects.quality(control, beam, resamples, title)
    bleu.append(scored)
    histories[title] = pd.read_csv(training.place(control.spec) / "history.csv")
bleu = pd.concat(bleu).set_index(["model", "test set"])
print(bleu.signature.iloc[0])
run.table(bleu, "bleu", beam=beam).drop(columns="signature").style.format("{:.1f}", subset=["bleu", "low", "high"])

# %%
if run.corpus == "controlled":
    by_phenomenon = run.table(pd.concat(accuracy, names=["model"]), "phenomena", beam=beam)
    shown = 100 * by_phenomenon.accuracy.unstack("phenomenon")
    display(shown.style.format("{:.1f}", na_rep="").set_caption("% of marks met"))
    if studied[0].spec:
        gap = run.table(scoring.gap(accuracy[studied[0].title], accuracy[title]), "needs_its_heads", beam=beam)
        caption = f"{studied[0].title}, %: marks met, and sentences with all their marks met"
        display(gap.style.format("{:.1f}").set_caption(caption))

# %%
if histories:
    run.figure(figures.training_curves(histories), "training_curves")

# %% [markdown]
# ## Confidence (section 4)
#
# `conf(l, h)` is the mean, over the real tokens of the dev set, of the largest weight that the head puts on a real token. The
# end-of-sentence key is left out and weights are not renormalised; end-of-sentence rows are left out too (the paper does not
# say). One pass over the dev set; the weights of one layer exist at a time and only sums per sentence and head are kept.

# %%
confidence = {}
for subject in studied:
    reducer = Confidence()
    heads = measures.one_pass(subject.model, subject.batches(), reducer, label=f"confidence {subject.title}")
    confidence[subject.title] = reducer.frame(heads, run.settings["bootstrap"])
    run.table(confidence[subject.title], f"heads_{subject.name}", split="dev", sentences=len(subject.dev))

columns = {title: frame.confidence for title, frame in confidence.items()}
run.figure(figures.head_maps(columns, "encoder", label="confidence"), "confidence_encoder", split="dev")

# %% [markdown]
# Each row is a layer; within it heads are sorted by confidence (`#` is the head's number). The paper sorts both of its maps by
# relevance. The same for decoder self-attention and decoder-encoder attention, which the paper does not show:

# %%
for kind in ("decoder", "cross"):
    run.figure(figures.head_maps(columns, kind, label="confidence"), f"confidence_{kind}", split="dev")

# %%
confident = pd.DataFrame(
    {
        title: {
            "heads": len(frame.xs("encoder")),
            "above 0.8": int((frame.xs("encoder").confidence > 0.8).sum()),
            "median": frame.xs("encoder").confidence.median(),
            "largest": frame.xs("encoder").confidence.max(),
            "widest interval": (frame.xs("encoder").high - frame.xs("encoder").low).max(),
        }
        for title, frame in confidence.items()
    }
).T
untrained = Confidence()
heads = measures.one_pass(studied[0].untrained(), studied[0].batches(), untrained, label="confidence, random weights")
confident.loc["random weights"] = [
    len(heads[heads.get_level_values("kind") == "encoder"]),
    0,
    (column := untrained.frame(heads, 2).xs("encoder").confidence).median(),
    column.max(),
    float("nan"),
]
run.table(confident, "confident_heads", split="dev").style.format(
    "{:.2f}", subset=["median", "largest", "widest interval"]
).format("{:.0f}", subset=["heads", "above 0.8"])

# %% [markdown]
# ## What we see, and what differs from the paper
#
# In the committed run (profile `laptop`, controlled corpus, one seed):
#
# - **The models translate.** BLEU is 64.7 (EN-RU news), 70.1 (EN-DE), 73.5 (EN-FR) and 75.2 (EN-RU subtitles) on 500 unseen
#   sentences; guessing the generator's free choices right is not possible, so that 100 is out of reach (about 90 is not).
# - **The task needs its encoder heads, by less than we wanted.** Without them EN-RU news loses 10.7 BLEU and 10 points of
#   agreement accuracy (12 points of sentences with all agreement right). We aimed at 10 BLEU and 15 points. With the paper's
#   deep decoder the loss nearly vanishes at this training length: cross-attention can look up what context a word needs, which
#   is why the decoder here has one layer of two heads. Whoever prunes encoder heads should know this control first.
# - **Confidence grows with depth.** Layer 1 heads are diffuse (.2 to .4), layers 2 and 3 hold heads of .5 to .8. The paper has
#   heads above .8 in every model, mostly positional ones; we have none at this size, and (notebook 2) no positional heads.
#   Random weights score .18, so that layer 1 is hardly above an untrained head in news.
# - Intervals over sentences are at most .02 wide: the order of heads in a layer is settled on 1,000 sentences, for one seed.
#
# Differences: generated text, 3 encoder layers of 8 heads at width 128 and a shallow decoder instead of 6 + 6 layers at 512,
# 3,000 small steps instead of days of training, one seed. Relevance, by which the paper sorts heads, is the next step.
