"""Head confidence (Voita et al. 2019, section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import torch

from helpers.heads import Site, index
from helpers.measures.one_pass import Reducer, View, one_pass
from helpers.scores.scoring import ratio_interval


class Confidence(Reducer):
    """Per sentence and head: the sum over real query tokens of the largest weight on a real key token, and their number.

    conf(l, h) = mean over query tokens t of max over j != EOS of A[t, j]. The end-of-sentence key is left out and the
    weights are not renormalised. Query rows of the end-of-sentence token, of the decoder's start symbol and of padding are
    no real tokens and are left out too (the paper does not say). In decoder self-attention the start symbol is left out as
    a key: like EOS it is where a head rests.
    """

    def reduce(self, site: Site, weights: torch.Tensor, view: View) -> torch.Tensor:
        largest = weights.masked_fill(~view.keys[site.kind][:, None, None, :], 0).amax(-1)  # [B, H, Q]
        real = view.queries[site.kind][:, None, :].expand_as(largest)
        return torch.stack([largest.masked_fill(~real, 0).sum(-1), real.sum(-1, dtype=largest.dtype)], -1)

    def frame(self, heads: pd.MultiIndex, repeats: int = 1000) -> pd.DataFrame:
        """confidence with its bootstrap interval over sentences: columns confidence, low, high."""
        sums = self.per_sentence()
        ratio, low, high = ratio_interval(sums[..., 0], sums[..., 1], repeats)
        return pd.DataFrame({"confidence": ratio, "low": low, "high": high}, index=heads)


def confidence(model, batches: Iterable[Mapping[str, Any]]) -> pd.Series:
    """Confidence of every head (section 4): between 0 and 1, indexed by (kind, layer, head).

    Parameters
    ----------
    batches : iterable of dict
        What a Hugging Face collator yields: `input_ids`, `attention_mask`, `labels`.
    """
    reducer = Confidence()
    one_pass(model, batches, reducer)
    return reducer.frame(index(model), repeats=1)["confidence"]
