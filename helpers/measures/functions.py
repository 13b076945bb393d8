"""Confidence and functions of heads (Voita et al. 2019, sections 4 and 5): positional, syntactic, rare tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn import functional as F

from helpers import study
from helpers.corpora.describe import Arc
from helpers.corpora.parsing import RELATIONS
from helpers.heads import Site, causal, compat, index, sites
from helpers.measures.reducers import Reducer, View, check_finite, evaluating, given, one_pass, view
from helpers.papers import MARGIN
from helpers.scores.scoring import ratio, ratio_interval
from helpers.study import StudyError

DIRECTIONS = ("head to dependent", "dependent to head")  # the verb looks at its subject; the subject looks at its verb
POSITIONAL = 0.9  # section 5.1: the share of tokens whose maximum lies at one offset
RAREST = 0.5  # section 5.3: the share of tokens that look at one of the two rarest ones (WMT)


# --- confidence --------------------------------------------------------------------------------------------------------


class Confidence(Reducer):
    """Per sentence and head: the sum over real query tokens of the largest weight on a real key token, and their number.

    conf(l, h) = mean over query tokens t of max over j != EOS of A[t, j]. The end-of-sentence key is left out and the
    weights are not renormalised. Query rows of the end-of-sentence token, of the decoder's start symbol and of padding are
    no real tokens and are left out too (the paper does not say). In decoder self-attention the start symbol is left out as
    a key: like EOS it is where a head rests. A head of a decoder fed no start symbol rests on the first token of the text
    instead, which is a real one: see `ConfidenceBeyondFirst`.
    """

    column = "confidence"

    def reduce(self, site: Site, weights: torch.Tensor, view: View) -> torch.Tensor:
        largest = weights.masked_fill(~view.keys[site.kind][:, None, None, :], 0).amax(-1)  # [B, H, Q]
        real = view.queries[site.kind][:, None, :].expand_as(largest)
        return torch.stack([largest.masked_fill(~real, 0).sum(-1), real.sum(-1, dtype=largest.dtype)], -1)


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


# --- the first token ---------------------------------------------------------------------------------------------------


def _first(site: Site, view: View) -> tuple[torch.Tensor, torch.Tensor]:
    """The place of the first token [B], and queries [B, Q] without that of a decoder's first token, which sees only itself."""
    present, real = view.present[site.kind], view.queries[site.kind]
    first = present.long().argmax(-1)
    if site.kind == "decoder":
        real = real & (torch.arange(real.shape[1], device=real.device) != first[:, None])
    return first, real


class First(Reducer):
    """Per sentence and head: the sum over real query tokens of the weight on the first token, and their number.

    The first token is the first key that is no padding, whatever it is: heads of decoders rest there (Xiao et al. 2024). In
    decoder self-attention its own query, which sees nothing else, does not count.
    """

    column = "share"

    def reduce(self, site: Site, weights: torch.Tensor, view: View) -> torch.Tensor:
        first, real = _first(site, view)
        on = weights.gather(-1, first[:, None, None, None].expand(*weights.shape[:-1], 1)).squeeze(-1)  # [B, H, Q]
        real = real[:, None, :].expand_as(on)
        return torch.stack([on.masked_fill(~real, 0).sum(-1), real.sum(-1, dtype=on.dtype)], -1)


class ConfidenceBeyondFirst(Confidence):
    """`Confidence` whose largest weight is not that on the first token, as `First` has it: how sure a head is when not at rest.

    In decoder self-attention the first token's own query does not count.
    """

    def reduce(self, site: Site, weights: torch.Tensor, view: View) -> torch.Tensor:
        first, real = _first(site, view)
        later = view.keys[site.kind].scatter(1, first[:, None], False)
        narrowed = replace(view, keys={site.kind: later}, queries={site.kind: real})
        return super().reduce(site, weights, narrowed)


# --- output norm -------------------------------------------------------------------------------------------------------


def output_norm(model, batches: Iterable[Mapping[str, Any]]) -> pd.Series:
    """Euclidean norm of what a head adds to the residual stream, mean over real query tokens (Kobayashi et al. 2020).

    That is its part of what the output projection gives, without the bias; a norm behind it (BERT, Gemma) is not counted. Open
    `gate` and `inject` blocks are respected. Text is that of `confidence`; the column, float64, is in the units of the residual
    stream, nan where there is no real token.
    """
    heads, places = index(model), sites(model)
    sums, counts = torch.zeros(len(heads), dtype=torch.float64), torch.zeros(len(heads), dtype=torch.float64)
    starts = np.cumsum([0, *(site.heads for site in places)])
    seen: View

    def add(place: int, module: nn.Module, args: tuple) -> None:
        site, real = places[place], seen.queries[places[place].kind]
        weights = compat.output_matrix(module).split(site.head_dim, 1) if site.heads else ()
        given = args[0].view(*real.shape, -1).split(site.head_dim, -1)
        for head, (part, weight) in enumerate(zip(given, weights, strict=False), int(starts[place])):
            norms = F.linear(part, weight)[real].double().norm(dim=-1)
            check_finite(norms)
            sums[head] += float(norms.sum())
            counts[head] += int(real.sum())

    count = 0
    with evaluating(model), torch.no_grad(), ExitStack() as undo:
        for place, site in enumerate(places):
            undo.callback(site.projection("out").register_forward_pre_hook(partial(add, place)).remove)
        for batch in study.progress(batches, "output norms"):
            seen = view(model, batch, count)
            model.base_model(**given(model, batch, seen), use_cache=False)
            count += len(seen.index)
    if not count:
        raise StudyError("There are no batches to measure on: check the corpus.")
    return pd.Series((sums / counts).numpy(), index=heads, name="output norm")


# --- positional ------------------------------------------------------------------------------------------------------


class Positional(Reducer):
    """Per sentence and head: how many query tokens put their largest weight at each offset (key minus query position).

    All keys count, the end-of-sentence key too: a head that rests there is not positional. Offsets beyond `reach` share the
    outermost bins. Beside the hits stands how many query tokens have a key at that offset at all: the first token of a
    sentence has nothing before it, and in short sentences that alone keeps a perfect -1 head under 90 % of all tokens.
    """

    reach = 8

    def reduce(self, site: Site, weights: torch.Tensor, view: View) -> torch.Tensor:
        present, real = view.present[site.kind], view.queries[site.kind].to(weights.dtype)
        best = weights.masked_fill(~present[:, None, None, :], -1).argmax(-1)  # [B, H, Q]
        places = torch.arange(present.shape[1], device=best.device)
        if site.kind == "cross":  # padding before the source is no part of an offset between two texts
            first = present.long().argmax(-1, keepdim=True)  # [B, 1]
            best = best - first[:, None]
            present = present.gather(1, (places + first).clamp(max=places[-1])) & (places + first <= places[-1])
        offset = best - torch.arange(best.shape[-1], device=best.device)
        bins = offset.clamp(-self.reach, self.reach) + self.reach
        hits = (F.one_hot(bins, 2 * self.reach + 1) * real[:, None, :, None]).sum(2)
        keys = F.pad(present.to(weights.dtype), (self.reach, self.reach + real.shape[1]))
        windows = keys.unfold(1, 2 * self.reach + 1, 1)[:, : real.shape[1]]  # [B, Q, 2 reach + 1]
        having = (windows * real[..., None]).sum(1)[:, None].expand_as(hits)
        return torch.stack([hits, having], -1)

    def frame(self, heads: pd.MultiIndex, repeats: int = 1000) -> pd.DataFrame:
        """Columns offset (the most frequent), score, low, high, of_all (the share of all tokens), verdict."""
        hits, having = np.moveaxis(self.per_sentence(), -1, 0)
        total = hits.sum(-1)
        inner = hits.sum(0)[:, 1:-1]  # the outermost bins are no single offset
        offset = inner.argmax(-1)
        chosen, possible = (np.take_along_axis(t[..., 1:-1], offset[None, :, None], -1)[..., 0] for t in (hits, having))
        score, low, high = ratio_interval(chosen, possible, repeats)
        scores = {"score": score, "low": low, "high": high, "of_all": ratio(chosen, total), "verdict": score >= POSITIONAL}
        return pd.DataFrame({"offset": offset + 1 - self.reach, **scores}, index=heads)


def positional(model, batches: Iterable[Mapping[str, Any]], repeats: int = 1000) -> pd.DataFrame:
    """Positional score of every head (section 5.1): share of tokens whose largest weight lies at the head's best offset.

    Of the tokens that have a key at that offset; `of_all` is the share of all tokens, which a short sentence keeps low.

    Returns
    -------
    pandas.DataFrame
        Indexed by (kind, layer, head): offset, score, low, high, of_all, verdict (score >= 0.9).
    """
    reducer = Positional()
    return reducer.frame(one_pass(model, batches, reducer), repeats)


# --- syntactic -------------------------------------------------------------------------------------------------------


def to_words(weights: torch.Tensor, word_ids: torch.Tensor) -> torch.Tensor:
    """Word-level attention from subword attention.

    Attention to a word is the sum over its subwords (keys), attention from a word the mean over its subwords (queries). From
    weights [B, H, S, S] and the word of each position [B, S], -1 for none, to [B, H, W, W], W the largest number of words; rows
    and columns of absent words are 0.
    """
    count = max(int(word_ids.max()) + 1, 1)
    return torch.stack([between_words(one, words, words, count, count) for one, words in zip(weights, word_ids, strict=True)])


def between_words(weights: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor, down: int, across: int) -> torch.Tensor:
    """`to_words` of one sentence [H, Q, K], whose queries and keys may be of different words: [H, down, across].

    `rows` [Q] and `columns` [K] say the word of each query and key; others than 0 to `down` - 1 or `across` - 1 belong to none.
    """
    queries, keys = (
        F.one_hot(part.clamp(0, count - 1), count).to(weights.dtype) * ((part >= 0) & (part < count))[:, None]
        for part, count in ((rows, down), (columns, across))
    )
    return torch.einsum("hqk,qv,kw->hvw", weights, queries / queries.sum(0).clamp(min=1), keys)


def reads(model) -> str:
    """The kind of attention by which a model reads its text: of the encoder, or of a decoder alone."""
    return "decoder" if causal(model) else "encoder"


class Syntactic(Reducer):
    """Per sentence, head, relation and direction: arcs whose partner word gets the largest word-level weight.

    A decoder sees no later word: of its arcs those count whose partner stands earlier, in either direction. `arcs` are those of
    each sentence of the corpus, (dependent, head, relation) by word positions; `kind` is what the model reads by (`reads`).
    """

    def __init__(self, arcs: Sequence[Sequence[Arc]], kind: str = "encoder") -> None:
        super().__init__()
        unknown = sorted({relation for sentence in arcs for _, _, relation in sentence} - set(RELATIONS))
        if unknown:
            raise StudyError(f"There is no relation {unknown[0]!r} in this study: choose from {', '.join(RELATIONS)}.")
        self.arcs, self.kinds, self.earlier = arcs, (kind,), kind == "decoder"

    def _cases(self, sentence: int) -> Iterator[tuple[int, int, int]]:
        """Word, partner, and number of the relation and direction of all arcs that count."""
        for dependent, head, relation in self.arcs[sentence]:
            for way, (word, partner) in enumerate(((head, dependent), (dependent, head))):
                if partner < word or not self.earlier:
                    yield word, partner, 2 * RELATIONS.index(relation) + way

    def start(self, view: View) -> None:
        super().start(view)
        if view.word_ids is None:
            raise StudyError("Syntactic scores need the words of each sentence: parse the corpus first.")
        if max(view.index) >= len(self.arcs):
            raise StudyError(f"There are arcs of {len(self.arcs)} sentences, none of sentence {max(view.index)}: parse all.")
        self._words = view.word_ids.masked_fill(~view.keys[self.kinds[0]], -1)
        rows = [(row, *case) for row, sentence in enumerate(view.index) for case in self._cases(sentence)]
        self._flat = torch.tensor(rows, dtype=torch.long, device=view.word_ids.device).reshape(-1, 4)

    def reduce(self, site: Site, weights: torch.Tensor, view: View) -> torch.Tensor:
        largest, best = to_words(weights, self._words).max(-1)  # [B, H, W]
        row, query, partner, kind = self._flat.unbind(-1)
        # a word without tokens of its own, or that looks at no word, hits nothing
        hits = ((best[row, :, query] == partner[:, None]) & (largest[row, :, query] > 0)).to(weights.dtype)  # [arcs, H]
        sums = torch.zeros(len(view.index), 2 * len(RELATIONS), weights.shape[1], dtype=weights.dtype, device=weights.device)
        sums.index_put_((row, kind), hits, accumulate=True)
        return sums.transpose(1, 2)  # [B, H, 8]

    def totals(self) -> np.ndarray:
        """Number of arcs per sentence and (relation, direction): [sentences, 8] in corpus order."""
        table = np.zeros((len(self.order), 2 * len(RELATIONS)), np.float32)
        for place, sentence in enumerate(sorted(self.order)):
            for *_, number in self._cases(sentence):
                table[place, number] += 1
        return table

    def frame(self, heads: pd.MultiIndex, repeats: int = 1000) -> pd.DataFrame:
        """One row a head, relation and direction: score, low, high, n, baseline, offset, verdict."""
        hits, totals, heads = self.per_sentence(), self.totals(), self.of_kinds(heads)
        score, low, high = ratio_interval(hits, totals[:, None, :], repeats)
        base = offset_baseline([self.arcs[i] for i in sorted(self.order)], self.earlier)
        columns = pd.MultiIndex.from_product([RELATIONS, DIRECTIONS], names=["relation", "direction"])

        def long(values: np.ndarray) -> pd.Series:
            return pd.DataFrame(values, index=heads, columns=columns).stack(["relation", "direction"])

        frame = pd.DataFrame({"score": long(score), "low": long(low), "high": long(high)})
        frame = frame.join(base, on=["relation", "direction"])
        frame["verdict"] = frame.score - frame.baseline > MARGIN - 1e-9  # shares of equal value differ in their last digit
        return frame

    def held_out(self, heads: pd.MultiIndex, repeats: int = 1000) -> pd.DataFrame:
        """The best head of each relation, chosen on even sentences and scored on odd ones, beside the best offset, likewise.

        On (relation, direction): layer, head; accuracy and baseline (of the offset), and gain (accuracy minus baseline), each
        on odd sentences, accuracy and gain with low and high (bootstrap over sentences, paired); offset; n (odd arcs), heads
        (among which the head is the best). Relations that a half has no arcs of are left out.
        """
        hits, totals, order, heads = self.per_sentence(), self.totals(), sorted(self.order), self.of_kinds(heads)
        even, rows = ratio(hits[::2], totals[::2, None, :]), {}
        for place, key in enumerate((relation, direction) for relation in RELATIONS for direction in DIRECTIONS):
            if not totals[::2, place].any() or not totals[1::2, place].any():
                continue
            best = int(even[:, place].argmax())
            base = offset_baseline([self.arcs[i] for i in order[::2]], self.earlier).offset[key]
            toward = 1 if key[1] == DIRECTIONS[0] else -1  # an arc's offset is the dependent's or the head's
            guessed = [
                sum(r == key[0] and toward * (d - h) == base for d, h, r in self.arcs[sentence]) for sentence in order[1::2]
            ]
            mine, guesses, count = hits[1::2, best, place], np.array(guessed, np.float32), totals[1::2, place]
            row: dict[str, Any] = dict(zip(("accuracy", "low", "high"), ratio_interval(mine, count, repeats), strict=True))
            row |= {"baseline": ratio(guesses, count), "offset": int(base)}
            row |= dict(zip(("gain", "gain_low", "gain_high"), ratio_interval(mine - guesses, count, repeats), strict=True))
            values = {"layer": heads[best][1], "head": heads[best][2], **{name: float(x) for name, x in row.items()}}
            rows[key] = values | {"n": int(count.sum()), "heads": len(heads)}
        index = pd.MultiIndex.from_tuples(rows, names=["relation", "direction"])
        return pd.DataFrame(list(rows.values()), index)


def offset_baseline(arcs: Iterable[Sequence[Arc]], earlier: bool = False) -> pd.DataFrame:
    """Accuracy of always guessing a relation's most frequent relative offset, in words.

    On (relation, direction): baseline, offset (partner minus word), n. With `earlier` only arcs count whose partner stands
    earlier, which are all that a decoder sees.
    """
    rows = [(r, h - d) for sentence in arcs for d, h, r in sentence]
    table = pd.DataFrame(rows, columns=["relation", "offset"])
    out = []
    for relation in RELATIONS:
        for direction, toward in zip(DIRECTIONS, (-1, 1), strict=True):
            offsets = table.offset[table.relation == relation]
            offsets = offsets[toward * offsets < 0] if earlier else offsets
            best = int(offsets.mode().min()) if len(offsets) else 0  # of several the least
            out.append((relation, direction, (offsets == best).mean(), toward * best, len(offsets)))
    return pd.DataFrame(out, columns=["relation", "direction", "baseline", "offset", "n"]).set_index(["relation", "direction"])


def syntactic(model, batches: Iterable[Mapping[str, Any]], arcs: Sequence[Sequence[Arc]], repeats: int = 1000) -> pd.DataFrame:
    """Accuracy of every head that reads the text on the four relations, both directions (section 5.2.1).

    The share of arcs for which the largest word-level weight from one word, the end-of-sentence key left out, lies on its
    partner. A head counts as syntactic at the accuracy of the relation's most frequent offset plus 10 points. Of a decoder
    both are of the arcs whose partner stands earlier; feed it a start symbol, else its heads rest on the first word.

    Parameters
    ----------
    batches : iterable of dict
        With `word_ids` [B, S] and `index` [B].
    arcs : sequence of lists of (dependent, head, relation)
        By corpus position; word positions.

    Returns
    -------
    pandas.DataFrame
        Indexed by (kind, layer, head, relation, direction): score, low, high (bootstrap over sentences), baseline, offset, n,
        verdict. Arcs of words that have no token of their own count as missed.
    """
    reducer = Syntactic(arcs, reads(model))
    return reducer.frame(one_pass(model, batches, reducer), repeats)


# --- rare tokens -----------------------------------------------------------------------------------------------------


class Rare(Reducer):
    """Per sentence and head: query tokens whose largest weight lies on one of the two rarest tokens.

    Of the tokens that a query sees: in an encoder the whole sentence, in a decoder itself and what stands before it; so is
    what chance gives. Only queries whose rarest token is outside the `frequent` most frequent ones count (section 5.3).
    Frequencies are those of the training text's subword tokens, `counts` [vocabulary]; tokens as rare as the second count as
    it. EOS is left out. `kind` is that of the attention by which the model reads the text (`reads`).
    """

    column = "two_rarest"

    def __init__(self, counts: torch.Tensor, kind: str = "encoder", frequent: int = 500) -> None:
        super().__init__()
        self.counts, self.kinds, self.frequent = counts, (kind,), frequent
        ranked = torch.argsort(counts, descending=True, stable=True)
        self.rank = torch.empty_like(ranked)
        self.rank[ranked] = torch.arange(len(ranked))
        self.chances: list[torch.Tensor] = []

    def start(self, view: View) -> None:
        super().start(view)
        ids, real = view.ids[self.kinds[0]], view.keys[self.kinds[0]]
        if int(ids.max()) >= len(self.counts):
            raise StudyError(f"Token {int(ids.max())} has no count: count all {int(ids.max()) + 1} ids or more.")
        counts, rank = (table.to(ids.device)[ids].unsqueeze(1) for table in (self.counts, self.rank))
        visible = real.unsqueeze(1)  # [B, 1, K], of a decoder [B, Q, K]
        if self.kinds == ("decoder",):
            visible = visible & torch.ones_like(ids[0]).bool().expand(ids.shape[1], -1).tril()
        sorted_counts = counts.masked_fill(~visible, torch.iinfo(counts.dtype).max).sort(-1).values
        eligible = (rank.masked_fill(~visible, -1).amax(-1) >= self.frequent) & visible.any(-1)
        second = sorted_counts[..., min(1, ids.shape[1] - 1), None]
        self._visible = visible
        self._two = visible & (counts <= second)
        self._weight = real & eligible
        share = self._two.sum(-1) / visible.sum(-1).clamp(min=1)
        self.chances.append(torch.stack([(share * self._weight).sum(1), self._weight.sum(-1)], -1).cpu())

    def reduce(self, site: Site, weights: torch.Tensor, view: View) -> torch.Tensor:
        best = weights.masked_fill(~self._visible.unsqueeze(1), -1).argmax(-1, keepdim=True)  # [B, H, Q, 1]
        count = self._weight[:, None, :].to(weights.dtype)
        hit = self._two.unsqueeze(1).expand_as(weights).gather(-1, best).squeeze(-1) * count
        return torch.stack([hit.sum(-1), count.sum(-1).expand(-1, best.shape[1])], -1)

    def frame(self, heads: pd.MultiIndex, repeats: int = 1000) -> pd.DataFrame:
        """Columns two_rarest with its interval, chance_two, the number of tokens that count, verdict."""
        chance, tokens = torch.cat(self.chances).double().sum(0).tolist()
        frame = super().frame(self.of_kinds(heads), repeats)
        frame = frame.rename(columns={"low": "two_rarest_low", "high": "two_rarest_high"})
        chance = chance / tokens if tokens else float("nan")
        return frame.assign(chance_two=chance, tokens=int(tokens), verdict=frame.two_rarest > RAREST)


def rare(model, batches: Iterable[Mapping[str, Any]], counts: torch.Tensor, repeats: int = 1000) -> pd.DataFrame:
    """Rare-token score of every head that reads the text (section 5.3); counts as of `Rare`.

    Returns
    -------
    pandas.DataFrame
        Indexed by (kind, layer, head): two_rarest (share, with two_rarest_low and two_rarest_high), chance_two, tokens, verdict
        (two_rarest > 0.5, the paper's figure for WMT).
    """
    reducer = Rare(counts, reads(model))
    return reducer.frame(one_pass(model, batches, reducer), repeats)


# --- what each head does -----------------------------------------------------------------------------------------------

LABELS = {
    ("nsubj", DIRECTIONS[0]): "v→s", ("nsubj", DIRECTIONS[1]): "s→v",
    ("dobj", DIRECTIONS[0]): "v→o", ("dobj", DIRECTIONS[1]): "o→v",
    ("amod", DIRECTIONS[0]): "n→adj", ("amod", DIRECTIONS[1]): "adj→n",
    ("advmod", DIRECTIONS[0]): "v→adv", ("advmod", DIRECTIONS[1]): "adv→v",
}  # fmt: skip


def roles(
    positional: pd.DataFrame, syntactic: pd.DataFrame | None = None, rare: pd.DataFrame | None = None
) -> pd.Series:  # fmt: skip
    """The functions of every head as lists of (function, label); an empty list where it has none.

    A positional head is not called syntactic as well, unless it beats the offset baseline as any other head must.
    """
    functions: dict[tuple, list[tuple[str, str]]] = {address: [] for address in positional.index}
    for address, row in positional[positional.verdict].iterrows():
        functions[address].append(("positional", f"{row.offset:+d}"))
    if syntactic is not None:
        for (*address, relation, direction), _ in syntactic[syntactic.verdict].iterrows():
            functions[tuple(address)].append((relation, LABELS[relation, direction]))
    if rare is not None:
        for address, _ in rare[rare.verdict].iterrows():
            functions[address].append(("rare", "rare"))
    return pd.Series(functions.values(), index=positional.index, name="functions")
