"""What the papers print, as tidy tables to draw and show beside ours.

Numbers of figures are read off the printed curves, to about 0.05 BLEU.
"""

from __future__ import annotations

import pandas as pd

KINDS = ("encoder", "decoder", "cross")

# Voita et al. 2019, figure 7: encoder heads left of 48, BLEU minus that of all heads
FIGURE_7 = pd.DataFrame(
    [("paper, WMT", heads, change) for heads, change in ((48, 0.0), (19, 0.0), (10, -0.15), (5, -0.6), (2, -1.35))]
    + [("paper, OpenSubtitles", heads, change) for heads, change in ((48, 0.0), (17, 0.0), (9, -0.25), (4, -0.25), (1, -0.7))],
    columns=["model", "heads", "change"],
)
FIGURE_7["kept"] = 100 * FIGURE_7.heads / 48

# Voita et al. 2019, table 2: heads left of 48 of each kind, BLEU of the pruned model, BLEU of the same map from scratch
TABLE_2 = pd.DataFrame(
    [
        ("paper, WMT", 48, 48, 48, None, 29.6),
        ("paper, WMT", 14, 31, 30, 29.62, 29.47),
        ("paper, WMT", 12, 21, 25, 29.36, 28.95),
        ("paper, WMT", 8, 13, 15, 29.06, 28.56),
        ("paper, WMT", 5, 9, 12, 28.90, 28.41),
        ("paper, OpenSubtitles", 48, 48, 48, None, 32.4),
        ("paper, OpenSubtitles", 27, 31, 46, 32.24, 32.23),
        ("paper, OpenSubtitles", 13, 17, 31, 32.23, 31.98),
        ("paper, OpenSubtitles", 6, 9, 13, 32.27, 31.84),
    ],
    columns=["model", *KINDS, "pruned", "scratch"],
)
TABLE_2["kept"] = 100 * TABLE_2[list(KINDS)].sum(axis=1) / 144
TABLE_2["gain"] = TABLE_2.pruned - TABLE_2.scratch

# Voita et al. 2019, figure 9, from table 2: % of a kind's heads left by % of all heads left
FIGURE_9 = TABLE_2.dropna(subset="pruned").melt(["model", "kept"], list(KINDS), "kind", "share")
FIGURE_9["share"] *= 100 / 48

# Voita et al. 2019, section 5.2: relations in both directions, the word that looks first; not only verbs have adverbs
CASES = {
    ("nsubj", "head to dependent"): "verb→subject", ("nsubj", "dependent to head"): "subject→verb",
    ("dobj", "head to dependent"): "verb→object", ("dobj", "dependent to head"): "object→verb",
    ("amod", "head to dependent"): "noun→adjective", ("amod", "dependent to head"): "adjective→noun",
    ("advmod", "head to dependent"): "word→adverb", ("advmod", "dependent to head"): "adverb→word",
}  # fmt: skip

# Voita et al. 2019, table 1, EN-RU: shares of the best head and of the most frequent offset, for each relation both ways
TABLE_1 = pd.DataFrame(
    [
        ("paper, WMT", "nsubj", "head to dependent", 0.45, 0.35),
        ("paper, WMT", "nsubj", "dependent to head", 0.52, 0.35),
        ("paper, WMT", "dobj", "head to dependent", 0.78, 0.41),
        ("paper, WMT", "dobj", "dependent to head", 0.73, 0.41),
        ("paper, WMT", "amod", "head to dependent", 0.74, 0.72),
        ("paper, WMT", "amod", "dependent to head", 0.82, 0.72),
        ("paper, WMT", "advmod", "head to dependent", 0.48, 0.46),
        ("paper, WMT", "advmod", "dependent to head", 0.52, 0.46),
        ("paper, OpenSubtitles", "nsubj", "head to dependent", 0.77, 0.45),
        ("paper, OpenSubtitles", "nsubj", "dependent to head", 0.70, 0.45),
        ("paper, OpenSubtitles", "dobj", "head to dependent", 0.61, 0.46),
        ("paper, OpenSubtitles", "dobj", "dependent to head", 0.84, 0.46),
        ("paper, OpenSubtitles", "amod", "head to dependent", 0.81, 0.80),
        ("paper, OpenSubtitles", "amod", "dependent to head", 0.81, 0.80),
        ("paper, OpenSubtitles", "advmod", "head to dependent", 0.38, 0.33),
        ("paper, OpenSubtitles", "advmod", "dependent to head", 0.42, 0.33),
    ],
    columns=["model", "relation", "direction", "accuracy", "baseline"],
)
