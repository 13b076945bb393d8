"""Coreference in attention heads (Liu & Chen 2023, code of Liu, Shi & Chen 2021): matrices, injection, which heads.

A matrix says of every token of a text which others stand for the same person or thing. It takes the place of the attention
weights of chosen heads: what such a head hands on for "she" is then the mean over the places where she is spoken of.
Links are kept sparse, by text, and become a matrix [batch, tokens, tokens] only when the encoder is about to read that text.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.nn import functional as F

from helpers import heads as instrument
from helpers.heads import causal
from helpers.measures.reducers import Reducer, one_pass
from helpers.study import StudyError

SPANS = ("first", "whole")
ORDERS = ("lowest", "highest", "random")
PARTS = ("all", "upper")

Mention = int | Sequence[int]  # a token, or the tokens of one mention
Clusters = Sequence[Sequence[Mention]]


# --- matrices --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Sparse:
    """The entries of a matrix [length, length] in rows that are not those of the identity; each row's sum is 1."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    length: int


def full_link(clusters: Clusters, length: int) -> torch.Tensor:
    """Each token of a cluster attends to all of the cluster's tokens alike, itself included; all others to themselves.

    Parameters
    ----------
    clusters : sequence of sequence of int
        Clusters of mentions in text order; a mention is a token position, or a sequence of positions (its whole span).
    length : int
        Tokens of the text.

    Returns
    -------
    float tensor [length, length]
        Rows are queries and sum to 1: 1/m in a cluster of m tokens ("All" in the code of 2021).

    Raises
    ------
    StudyError
        If a mention is empty or outside of the text, a cluster is empty, or a token is in two mentions.
    """
    return _dense(clusters, length, "full")


def adjacent_link(clusters: Clusters, length: int) -> torch.Tensor:
    """Each token of a mention attends alike to itself and to the mentions just before and after in its cluster.

    As `full_link`; rows sum to 1: 1/2 at the ends of a cluster of one-token mentions, 1/3 in its middle ("Adjacent").
    """
    return _dense(clusters, length, "adjacent")


def previous_link(clusters: Clusters, length: int) -> torch.Tensor:
    """Each token of a mention attends to the mention before in its cluster; the first ones, and all others, to themselves.

    As `full_link`; rows sum to 1 ("Prev"; the code of 2021 does not normalise it, nor need it with one token a mention).
    """
    return _dense(clusters, length, "previous")


def _dense(clusters: Clusters, length: int, form: str) -> torch.Tensor:
    return batched([sparse(clusters, length, form)], length)[0]


def sparse(clusters: Clusters, length: int, form: str) -> Sparse:
    """`full_link`, `adjacent_link` or `previous_link` ("full", "adjacent", "previous"), kept sparse."""
    if form not in _LINKED:
        raise StudyError(f"There is no coreference matrix {form!r}: choose from {', '.join(_LINKED)}.")
    entries: dict[int, list[int]] = {}  # of each row its columns, which weigh alike
    for cluster in _checked(clusters, length):
        _LINKED[form](cluster, entries)
    sizes = [len(columns) for columns in entries.values()]
    columns = [column for row in entries.values() for column in row]
    rows = np.repeat(np.fromiter(entries, int, len(entries)), sizes)
    values = np.repeat(1 / np.array(sizes, float), sizes)
    return Sparse(rows, np.array(columns, int), values, length)


def _full(cluster: list[list[int]], entries: dict[int, list[int]]) -> None:
    tokens = [token for mention in cluster for token in mention]
    entries.update(dict.fromkeys(tokens, tokens))


def _adjacent(cluster: list[list[int]], entries: dict[int, list[int]]) -> None:
    for place, mention in enumerate(cluster):
        near = [token for other in (place - 1, place + 1) if 0 <= other < len(cluster) for token in cluster[other]]
        entries.update({token: [token, *near] for token in mention})


def _previous(cluster: list[list[int]], entries: dict[int, list[int]]) -> None:
    for before, mention in pairwise(cluster):
        entries.update(dict.fromkeys(mention, before))


_LINKED = {"full": _full, "adjacent": _adjacent, "previous": _previous}
FORMS = tuple(_LINKED)


def _checked(clusters: Clusters, length: int) -> Iterator[list[list[int]]]:
    """Clusters of mentions as lists of tokens."""
    seen: set[int] = set()
    for cluster in clusters:
        mentions = [list(mention) if isinstance(mention, Sequence) else [mention] for mention in cluster]
        if not mentions or not all(mentions):
            raise StudyError("A coreference cluster or a mention in it is empty: resolve the text anew.")
        for token in (token for mention in mentions for token in mention):
            if not 0 <= token < length:
                raise StudyError(f"A mention is at token {token} of a text of {length} tokens: resolve the text anew.")
            if token in seen:
                raise StudyError(f"Token {token} is in two mentions: give each token to one mention of one cluster.")
            seen.add(token)
        yield mentions


def batched(texts: Sequence[Sparse], width: int, decoder: bool = False) -> torch.Tensor:
    """The matrices of several texts, padded: [texts, width, width].

    Rows sum to 1, those of padding too (as words without links); no other row has weight on padding. For a decoder words
    without links look at the text's first token, not at themselves: so does a head of a decoder that has nothing to look at
    (Xiao et al. 2024), which puts next to nothing out then.
    """
    place = np.repeat(np.arange(len(texts)), [len(text.rows) for text in texts])
    rows = np.concatenate([text.rows for text in texts])
    found = torch.eye(width).repeat(len(texts), 1, 1)
    if decoder:
        found = F.one_hot(torch.zeros(len(texts), width, dtype=torch.long), width).float()
    flat = found.view(-1)  # one index an entry is faster than three
    flat[torch.from_numpy((place * width + rows) * width + (0 if decoder else rows))] = 0.0
    columns, values = (np.concatenate([getattr(text, name) for text in texts]) for name in ("columns", "values"))
    flat[torch.from_numpy((place * width + rows) * width + columns)] = torch.from_numpy(values).to(flat)
    return found


# --- links of texts --------------------------------------------------------------------------------------------------


def tokens_of(
    clusters: Sequence[Sequence[tuple[int, int]]], word_ids: Sequence[int], span: str = "first"
) -> list[list[list[int]]]:
    """Mentions over words (the first, and that after the last) as the tokens of each; each token is one mention's.

    `word_ids` are the word of each token, -1 for none (`helpers.corpora.tokens.Subwords.word_ids`). By the `span` "first" a
    mention's first subword stands for it, as in the code of 2021; by "whole" all of them.

    Of mentions in mentions the shortest takes its subwords first (of two as long the first in the text), the others have what
    is left: of "my sister" beside "my" that is "sister". Mentions without a token are gone, since the text was cut before them
    or others hold all of theirs, and so are clusters of which fewer than two mentions are left.
    """
    if span not in SPANS:
        raise StudyError(f"A mention is linked by its {' or '.join(map(repr, SPANS))} subword(s), not by {span!r}: choose one.")
    tokens: dict[int, list[int]] = {}
    for place, word in enumerate(word_ids):
        tokens.setdefault(word, []).append(place)
    owner: dict[int, tuple[int, int]] = {}  # word -> the mention that has it
    for mention in sorted((mention for cluster in clusters for mention in cluster), key=lambda one: (one[1] - one[0], one)):
        for word in range(*mention):
            owner.setdefault(word, mention)
    found = []
    for cluster in clusters:
        own = {mention: [word for word in range(*mention) if owner[word] == mention] for mention in cluster}
        mentions = [[token for word in own[mention] for token in tokens.get(word, ())] for mention in cluster]
        kept = [mention if span == "whole" else mention[:1] for mention in mentions if mention]
        if len(kept) > 1:
            found.append(kept)
    return found


class Links:
    """The matrices of texts, found by the texts' own token ids: whoever runs the model need not carry them along."""

    def __init__(self) -> None:
        self._texts: dict[bytes, Sparse] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, ids: Sequence[int], links: Sparse) -> None:
        """Remember the links of a text; of two texts of the same tokens the first's count."""
        if links.length != len(ids):
            raise StudyError(
                f"A coreference matrix of {links.length} tokens does not fit a text of {len(ids)}: make it for this text."
            )
        self._texts.setdefault(np.asarray(ids, np.int32).tobytes(), links)

    def matrices(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, decoder: bool = False
    ) -> torch.Tensor:
        """The matrices [batch, tokens, tokens] of a batch that is padded on the right, as of `batched`."""
        rows = input_ids.cpu().numpy().astype(np.int32)
        width = rows.shape[1]
        lengths = [width] * len(rows) if attention_mask is None else attention_mask.sum(1).tolist()
        found = []
        for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            known = self._texts.get(row[:length].tobytes())
            if known is None:
                raise StudyError(
                    f"There are no links for text {number} of a batch ({length} tokens): resolve all texts that it reads."
                )
            found.append(known)
        return batched(found, width, decoder).to(input_ids.device)


def linked(ids: Sequence[int], clusters: Clusters, form: str = "full") -> Links:
    """The links of one text."""
    links = Links()
    links.add(ids, sparse(clusters, len(ids), form))
    return links


# --- what is done with them ------------------------------------------------------------------------------------------


@contextmanager
def injected(model, addresses: Iterable[tuple[str, int, int]], links: Links) -> Iterator[None]:
    """Replace the attention of heads by the links of the text that they read (Liu & Chen 2023), training or not.

    In a decoder alone links look back (`previous_link`), and words without links look at the first token (`batched`). Links are
    of whole texts: a text that is being generated has none.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        An encoder-decoder or a decoder alone that `helpers.heads.inject` accepts.
    addresses : iterable of (kind, layer, head)
        Heads of the encoder, or of a decoder alone.

    Raises
    ------
    StudyError
        If a head is none of these; or as `helpers.heads.inject`; in the forward pass as `Links.matrices`, and if links of a
        decoder look ahead.
    """
    addresses, reads = list(addresses), "decoder" if causal(model) else "encoder"
    for kind, *_ in addresses:
        if kind != reads:
            raise StudyError(f"Links of a text replace attention within the {reads}, not {kind} attention: choose other heads.")
    now: list[torch.Tensor] = []
    matrices = dict.fromkeys(addresses, lambda site, queries, keys, batch: now[0])
    with _reading(model, links, now), instrument.inject(model, matrices):
        yield


@contextmanager
def mixed(model, layers: Iterable[int], links: Links, share: float = 0.3) -> Iterator[None]:
    """Mix what encoder layers put out over links: H becomes (1 - share) H + share M H (the 2021 code's extra layer)."""
    instrument.sites(model, "encoder")  # a model without an encoder is refused
    stack = instrument.layers(model, "encoder")
    now: list[torch.Tensor] = []
    with _reading(model, links, now), ExitStack() as undo:

        def mix(module, args, output):
            hidden = output[0] if isinstance(output, tuple) else output
            hidden = (1 - share) * hidden + share * (now[0].to(hidden) @ hidden)
            return (hidden, *output[1:]) if isinstance(output, tuple) else hidden

        for layer in layers:
            undo.callback(stack[layer].register_forward_hook(mix).remove)
        yield


@contextmanager
def _reading(model, links: Links, now: list[torch.Tensor]) -> Iterator[None]:
    """Let the one entry of `now` be the matrices of the batch that the encoder, or a decoder alone, reads."""
    decoder = causal(model)

    def look(module, args, kwargs) -> None:
        ids = kwargs.get("input_ids", args[0] if args else None)
        if ids is None:
            raise StudyError("Links are found by a text's token ids: give the model input_ids, not embeddings.")
        mask = kwargs.get("attention_mask", args[1] if len(args) > 1 else None)
        now[:] = [links.matrices(ids, mask, decoder)]

    hook = (model.get_decoder() if decoder else model.get_encoder()).register_forward_pre_hook(look, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


# --- which heads -----------------------------------------------------------------------------------------------------


class _Cosine(Reducer):
    """Cosine of each head's flattened attention with the flattened matrix, a text at a time."""

    kinds = ("encoder",)

    def __init__(self, links: Links) -> None:
        super().__init__()
        self.links = links

    def start(self, view) -> None:
        super().start(view)
        present = view.present["encoder"]
        real = (present.unsqueeze(1) & present.unsqueeze(2)).float()
        self.real, self.matrix = real, self.links.matrices(view.ids["encoder"], present) * real

    def reduce(self, site, weights: torch.Tensor, view) -> torch.Tensor:
        weights = weights * self.real.unsqueeze(1)
        product = torch.einsum("bhqk,bqk->bh", weights, self.matrix.to(weights))
        return product / (weights.flatten(2).norm(dim=-1) * self.matrix.flatten(1).norm(dim=-1).unsqueeze(1))


def probing(model, batches: Iterable[Mapping[str, Any]], links: Links) -> pd.Series:
    """How much like the matrix each encoder head attends: cosine of the two, flattened, mean over texts (2021).

    Padding does not count. A Series on (kind, layer, head), named "probing".
    """
    cosine = _Cosine(links)
    places = one_pass(model, batches, cosine, label="probing for coreference")
    return pd.Series(cosine.per_sentence().mean(0, dtype=np.float64), index=places, name="probing")


def choose(scores: pd.Series, count: int = 1, order: str = "lowest", draw: int = 0) -> list[tuple[str, int, int]]:
    """Heads of each layer by their scores: those scored lowest, highest, or any.

    Parameters
    ----------
    scores : pandas.Series
        On (kind, layer, head). Of equal scores the first head comes first.
    count : int
        Heads of each layer.
    order : str
        "lowest", "highest" or "random".
    draw : int
        Seed of random heads.

    Raises
    ------
    StudyError
        If a layer has fewer heads, or there is no such order.
    """
    if order not in ORDERS:
        raise StudyError(f"Heads are chosen from the {', the '.join(ORDERS)} ones, not {order!r}: choose one.")
    found, rng = [], random.Random(f"heads {draw}")
    for (kind, layer), group in scores.groupby(level=["kind", "layer"]):
        if not 0 < count <= len(group):
            raise StudyError(f"Layer {layer} has {len(group)} heads, {count} cannot be chosen: give 1 to {len(group)}.")
        rows = list(group.sort_values(ascending=order != "highest", kind="stable").index)
        if order == "random":
            rng.shuffle(rows)
        found += [(kind, int(layer), int(head)) for _, _, head in rows[:count]]
    return found


def layers_of(layers: int, part: str) -> list[int]:
    """Numbers of the layers in the "upper" third of a stack, at least one, or "all"."""
    if part not in PARTS:
        raise StudyError(f"There is no part {part!r} of the layers: choose from {', '.join(PARTS)}.")
    third = max(1, round(layers / 3))
    return list(range(layers - third if part == "upper" else 0, layers))
