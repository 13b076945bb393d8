"""Relevance of one predicted word, followed down through one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from helpers import drawing
from helpers.drawing import WIDTH


def through_a_sentence(sentence: Mapping[str, Any], target: int):
    """Relevance of one predicted token: at source tokens, from the last layer down to the input, and of encoder heads.

    The sentence is what `helpers.measures.sentence.one_sentence` returns, `target` the token that is followed down.
    """
    flow, heads = sentence["flow"][target], sentence["heads"]["encoder"].loc[[target]]
    source, predicted = ([token.replace("▁", "") or "␣" for token in sentence[side]] for side in ("source", "predicted"))
    block, layer, head = sentence["block"], sentence["layer"], sentence["head"]
    rows = range(len(flow) - 1, -1, -1)
    tall = [0.22 * len(rows), 0.26, 0.36]
    figure, (above, words, below) = plt.subplots(3, 1, figsize=(WIDTH, sum(tall) + 1.8), height_ratios=tall)
    for axis, values in ((above, flow[::-1]), (below, heads.to_numpy())):
        most = float(np.abs(values).max()) or 1.0
        drawing.bar(figure, drawing.heat(axis, values, None, "RdBu_r", (-most, most)), [axis], "logits")
    # what the most relevant head reads at the word through which most relevance goes down to its layer
    word = int(np.abs(flow[layer + 1]).argmax())
    weights = block["A"][head][word]
    drawing.heat(words, weights[None], None, "Greys", (0, 1))
    for place, weight in enumerate(weights):
        ink = "white" if weight > 0.5 else "black"
        words.text(place, 0, f"{weight:.2f}", ha="center", va="center", fontsize=7, color=ink)
    words.set_yticks([0], [f"from {source[word]!r}"])
    words.set_title(f"attention of the most relevant head (layer {layer + 1}, head {head + 1})")
    above.set_xticks([])
    words.set_xticks(range(len(source)), source)
    above.set_yticks(range(len(rows)), [f"after layer {row}" if row else "input words" for row in rows])
    above.set_title(f"relevance (conservative) at each source token, for {predicted[target]!r}")
    below.set_yticks([0], [predicted[target]])
    below.set_xticks(range(heads.shape[1]), [head + 1 for _, head in heads.columns])
    layers = [layer for layer, _ in heads.columns]
    for layer in dict.fromkeys(layers):
        places = [place for place, of_head in enumerate(layers) if of_head == layer]
        below.axvline(places[-1] + 0.5, color="black", lw=0.8)
        below.annotate(
            f"layer {layer + 1}", (np.mean(places), 0), (0, -22), ha="center", va="top", fontsize=8,
            xycoords=("data", "axes fraction"), textcoords="offset points",
        )  # fmt: skip
    largest = f"layer {sentence['layer'] + 1}, head {head + 1}: {heads.iloc[0][sentence['layer'], head]:.1f}"
    below.set_title(f"relevance (conservative) of each encoder head, for the same word ({largest})")
    return figure
