"""What the papers print, as tidy tables to draw and show beside ours.

Numbers of figures are read off the printed curves, to about 0.05 BLEU.
"""

from __future__ import annotations

import pandas as pd

KINDS = ("encoder", "decoder", "cross")
MARGIN = 0.1  # Voita et al. 2019, section 5.2.1: points above the baseline that make a head syntactic

UNPRUNED = {"paper, WMT": 29.6, "paper, OpenSubtitles": 32.4}  # Voita et al. 2019, table 2: BLEU with all heads

# Voita et al. 2019, figure 7: encoder heads left of 48, BLEU minus that of all heads
FIGURE_7 = pd.DataFrame(
    [("paper, WMT", heads, change) for heads, change in ((48, 0.0), (19, 0.0), (10, -0.15), (5, -0.6), (2, -1.35))]
    + [("paper, OpenSubtitles", heads, change) for heads, change in ((48, 0.0), (17, 0.0), (9, -0.25), (4, -0.25), (1, -0.7))],
    columns=["model", "heads", "change"],
).assign(bleu=lambda rows: rows.model.map(UNPRUNED) + rows.change)

# Voita et al. 2019, table 2: heads left of 48 of each kind, BLEU of the pruned model, BLEU of the same map from scratch
TABLE_2 = pd.DataFrame(
    [
        ("paper, WMT", 14, 31, 30, 29.62, 29.47),
        ("paper, WMT", 12, 21, 25, 29.36, 28.95),
        ("paper, WMT", 8, 13, 15, 29.06, 28.56),
        ("paper, WMT", 5, 9, 12, 28.90, 28.41),
        ("paper, OpenSubtitles", 27, 31, 46, 32.24, 32.23),
        ("paper, OpenSubtitles", 13, 17, 31, 32.23, 31.98),
        ("paper, OpenSubtitles", 6, 9, 13, 32.27, 31.84),
    ],
    columns=["model", *KINDS, "pruned", "scratch"],
)
TABLE_2["kept"] = 100 * TABLE_2[list(KINDS)].sum(axis=1) / 144
TABLE_2 = TABLE_2.assign(unpruned=TABLE_2.model.map(UNPRUNED), change=TABLE_2.pruned - TABLE_2.scratch)

# Voita et al. 2019, figure 9, from table 2: % of a kind's heads left by % of all heads left
FIGURE_9 = TABLE_2.melt(["model", "kept"], list(KINDS), "kind", "share")
FIGURE_9["share"] *= 100 / 48

# Voita et al. 2019, section 5.2: relations in both directions, the word that looks first; not only verbs have adverbs
CASES = {
    ("nsubj", "head to dependent"): "verb→subject", ("nsubj", "dependent to head"): "subject→verb",
    ("dobj", "head to dependent"): "verb→object", ("dobj", "dependent to head"): "object→verb",
    ("amod", "head to dependent"): "noun→adjective", ("amod", "dependent to head"): "adjective→noun",
    ("advmod", "head to dependent"): "word→adverb", ("advmod", "dependent to head"): "adverb→word",
}  # fmt: skip

# Voita et al. 2019, section 5: the share of rare words on OpenSubtitles; for the rest it says that heads reach the bar
JOBS = {"rare words": 0.83}

# Voita et al. 2019, table 1, EN-RU: shares of the best head and of the most frequent offset, for each relation both ways
TABLE_1 = pd.DataFrame(
    [
        ("paper EN-RU, WMT", "nsubj", "head to dependent", 0.45, 0.35),
        ("paper EN-RU, WMT", "nsubj", "dependent to head", 0.52, 0.35),
        ("paper EN-RU, WMT", "dobj", "head to dependent", 0.78, 0.41),
        ("paper EN-RU, WMT", "dobj", "dependent to head", 0.73, 0.41),
        ("paper EN-RU, WMT", "amod", "head to dependent", 0.74, 0.72),
        ("paper EN-RU, WMT", "amod", "dependent to head", 0.82, 0.72),
        ("paper EN-RU, WMT", "advmod", "head to dependent", 0.48, 0.46),
        ("paper EN-RU, WMT", "advmod", "dependent to head", 0.52, 0.46),
        ("paper EN-RU, OpenSubtitles", "nsubj", "head to dependent", 0.77, 0.45),
        ("paper EN-RU, OpenSubtitles", "nsubj", "dependent to head", 0.70, 0.45),
        ("paper EN-RU, OpenSubtitles", "dobj", "head to dependent", 0.61, 0.46),
        ("paper EN-RU, OpenSubtitles", "dobj", "dependent to head", 0.84, 0.46),
        ("paper EN-RU, OpenSubtitles", "amod", "head to dependent", 0.81, 0.80),
        ("paper EN-RU, OpenSubtitles", "amod", "dependent to head", 0.81, 0.80),
        ("paper EN-RU, OpenSubtitles", "advmod", "head to dependent", 0.38, 0.33),
        ("paper EN-RU, OpenSubtitles", "advmod", "dependent to head", 0.42, 0.33),
    ],
    columns=["model", "relation", "direction", "accuracy", "baseline"],
)

# Ni et al. 2023, tables 1 and 2: BLEU on five IWSLT and two WMT sets; the rows "fewer layers", "narrower" and "L0" are the
# paper's Lite1, Lite2 and Voita et al. 2019
GROUPED_SETS = ["de-en", "it-en", "en-de", "en-it", "en-fr", "WMT en-de", "WMT en-fr"]
GROUPED_TABLE_1 = pd.DataFrame.from_dict(
    {
        "vanilla": (34.4, 32.3, 28.0, 30.8, 40.1, 27.3, 38.1),
        "GHT": (35.4, 32.8, 29.1, 31.6, 41.5, 28.6, 40.7),
        "GHT-PS": (35.2, 32.7, 28.9, 31.6, 41.4, 28.2, 40.5),
        "fewer layers": (33.8, 31.9, 27.9, 29.3, 39.9, 26.9, 37.7),
        "narrower": (34.0, 32.2, 28.2, 29.5, 40.0, 26.7, 37.8),
        "L0": (32.2, 30.8, 26.5, 30.3, 39.8, 22.0, 34.0),
    },
    orient="index",
    columns=GROUPED_SETS,
)

# Ni et al. 2023, table 3: BLEU on the IWSLT sets, without a part of the method
GROUPED_TABLE_3 = pd.DataFrame.from_dict(
    {
        "GHT": (35.4, 32.8, 29.1, 31.6, 41.5),
        "GHT w/o diversification": (34.7, 31.8, 28.5, 30.7, 40.7),
        "GHT w/o homogenisation": (34.3, 32.0, 28.2, 30.9, 40.2),
        "GHT-PS": (35.2, 32.7, 28.9, 31.6, 41.4),
        "V2S at the start": (33.8, 31.9, 28.1, 30.5, 39.8),
        "V2S without constraint": (34.0, 32.0, 28.4, 31.0, 40.2),
        "random heads off": (33.7, 32.0, 28.1, 30.9, 40.3),
        "random member stays": (33.6, 31.7, 27.9, 30.7, 40.2),
        "constraint in stage 2 only": (33.2, 31.8, 28.1, 30.8, 40.3),
        "constraint in both stages": (33.4, 31.9, 27.7, 30.6, 40.2),
    },
    orient="index",
    columns=GROUPED_SETS[:5],
)

GROUPED_LITE = 26.6 - 25.8  # of GHT-PS-LITE, BLEU above the base model on newstest2013 (table 5)

# Ni et al. 2023, tables 4 (CNN/DailyMail) and 6 (WikiText-103)
GROUPED_OTHERS = pd.DataFrame.from_dict(
    {"vanilla": (38.45, 17.97, 36.03, 19.14), "GHT": (40.00, 21.10, 37.51, 18.60), "GHT-PS": (40.01, 21.31, 37.62, 18.59)},
    orient="index",
    columns=["ROUGE-1", "ROUGE-2", "ROUGE-L", "perplexity"],
)

# Liu & Chen 2023, second-hand: what links in the heads that matter least gain over BART-large on SAMSum, percent of ROUGE-1
INJECTION = 1.6
