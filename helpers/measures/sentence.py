"""One sentence of a model's dev set: relevance drawn through it the naive way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import binomtest

from helpers.corpora.tokens import collate
from helpers.heads import gate, index
from helpers.measures.analysis import Analysis
from helpers.measures.lrp import RULES, explain, naive
from helpers.measures.table import named
from helpers.models import inputs
from helpers.reading import listed, number
from helpers.scores.intervals import holm

NEEDS = -math.log(0.9)  # nats: a word needs a head without which a tenth of its probability is gone


def single(subject, *sentences: int) -> dict[str, torch.Tensor]:
    """A dev sentence, or some, as a batch of its own."""
    device = next(subject.model.parameters()).device
    return {name: value.to(device) for name, value in collate(subject.encoded, sentences, subject.source.pad).items()}


def one_sentence(subject, words: tuple[int, int] = (6, 9), first: int = 30) -> dict[str, Any]:
    """Relevance drawn through one dev sentence the naive way, and what the fast way says of the same.

    Of the first readable sentences it is the one in which most relevance of a whole predicted word comes through one head.

    Parameters
    ----------
    words : two ints
        Sentences of so many words are readable.
    first : int
        So many of them are looked at.

    Returns
    -------
    dict
        source and predicted: tokens; heads: table [predicted, heads], raw relevance by `lrp.naive.explain` in logits; fast: the
        same by `lrp.explain`; flow [predicted, encoder layers + 1, source], see there; target, layer and head (from 0): that
        word's first token and the head; block: `lrp.naive.one_block` of these; of: sentences looked at.
    """
    fits = _readable(subject, words, first)
    found = [_busiest(subject, single(subject, i)) for i in fits]
    chosen = max(range(len(fits)), key=lambda place: found[place][0])
    batch, (_, target, (_, layer, head)) = single(subject, fits[chosen]), found[chosen]
    values, flow, top = naive.explain(subject.model, batch)
    fast = explain(subject.model, [batch], "cp")
    tokens = subject.source.pieces(batch["input_ids"][0].tolist()), subject.target.pieces(top)
    tables = {"heads": pd.DataFrame(values, columns=fast.heads), "fast": pd.DataFrame(fast.values, columns=fast.heads)}
    told = {"target": target, "layer": layer, "head": head, "of": len(fits)}
    block = naive.one_block(subject.model, batch, target, layer)
    return {"source": tokens[0], "predicted": tokens[1], "flow": flow, "block": block} | tables | told


def _readable(subject, words: tuple[int, int], first: int) -> list[int]:
    """The first sentences of so many words."""
    return [i for i, pair in enumerate(subject.sentences) if words[0] <= len(pair.words) <= words[1]][:first] or [0]


@torch.no_grad()
def one_by_one(subject, words: tuple[int, int] = (6, 9), first: int = 30) -> pd.DataFrame:
    """Of every whole word in the sentences of `one_sentence`, which encoder head it needs most, and whether relevance says so.

    Returns
    -------
    pandas.DataFrame
        A row a predicted word: cost, what its log-probability loses without that head (nats); needs, that head; for each rule,
        whether it is the most relevant one by size, or so in its layer (bools); names, the most relevant one.
    """
    batch = single(subject, *_readable(subject, words, first))
    model, live, every = subject.model, batch["labels"] != -100, index(subject.model, "encoder")
    plain = model(**inputs(batch), use_cache=False).logits[live].log_softmax(-1)
    top, lost = plain.argmax(-1, keepdim=True), []
    for address in every:
        with gate(model, {address: 0.0}):
            cut = model(**inputs(batch), use_cache=False).logits[live].log_softmax(-1)
        lost.append((plain.gather(-1, top) - cut.gather(-1, top))[:, 0].cpu().numpy())
    cost, parts = np.array(lost), top[:, 0].split(live.sum(1).tolist())
    whole = np.concatenate([np.isin(range(len(part)), whole_words(subject.target.pieces(part.tolist()))) for part in parts])
    called, layers = (np.array(x) for x in zip(*((_called(a, b), a) for _, a, b in every), strict=True))
    need = cost.argmax(0)
    table = pd.DataFrame({"cost": cost.max(0), "needs": called[need]})
    for rule in RULES:
        size = np.abs(explain(model, [batch], rule, "encoder").values)
        own = np.where(layers == layers[need][:, None], size, -1.0)
        table[rule], table[f"{rule}, names"] = size.argmax(1) == need, called[size.argmax(1)]
        table[f"{rule}, in its layer"] = own.argmax(1) == need
    return table[whole].reset_index(drop=True)


def needing(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of `one_by_one`: words that need a head; by rule: found, how often it names that head; the same in its layer; words."""
    need = table[table.cost > NEEDS]
    found = {named(r).removeprefix("relevance, "): [need[r].sum(), need[f"{r}, in its layer"].sum(), len(need)] for r in RULES}
    return need, pd.DataFrame(found, ["found", "in its layer", "words"]).T.sort_values("found", ascending=False, kind="stable")


def _called(layer: int, head: int) -> str:
    return f"layer {layer + 1} head {head + 1}"


def fixed(need: pd.DataFrame, measures: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Of `needing`: the same of answers that never change: a measure's largest head, of all or of the layer; the best one."""
    found, same = {}, need.needs.value_counts()
    for name, own in ((name, column.xs("encoder", level="kind")) for name, column in measures.items()):
        one, *each = (_called(*at) for at in (own.idxmax(), *own.groupby(level="layer").idxmax()))
        found[name] = (need.needs == one).sum(), need.needs.isin(each).sum(), len(need)
    best = max(same, default=0), same.groupby(lambda at: at.partition(" head")[0]).max().sum(), len(need)
    return pd.DataFrame(found | {"best fixed head": best}, ["found", "in its layer", "words"]).T


def against_fixed(need: pd.DataFrame, part: str = "", measure: pd.Series | None = None) -> pd.DataFrame:
    """Of `needing`, by rule: on how many words it alone (more), or alone a fixed head (fewer), is right; said: in words.

    p: exact sign test over words as if independent (McNemar 1947), Holm's over rules; ", in its layer": a fixed head a layer.
    That head is the one needed by most words, or the largest one by a measure of encoder heads.
    """
    same = need.needs.value_counts() if measure is None else measure.set_axis([_called(*at) for at in measure.index])
    best = same.groupby(lambda at: at.partition(" head")[0]).idxmax() if part else same.nlargest(1).index
    own, right = need[[f"{rule}{part}" for rule in RULES]].astype(bool), need.needs.isin(best)
    found = pd.DataFrame({"more": own[~right].sum(), "fewer": (~own[right]).sum()})
    found["p"] = holm([binomtest(more, max(more + fewer, 1)).pvalue for more, fewer in found.to_numpy()])
    found["said"] = np.where(found.p >= 0.05, "undecided", np.where(found.more > found.fewer, "more", "fewer"))
    return found.set_axis([named(rule).removeprefix("relevance, ") for rule in RULES])


def said_of_words(table: pd.DataFrame, natural: pd.DataFrame | None = None) -> str:
    """Of `one_by_one`, here and on natural text: how many words need one head, and whether each rule finds it."""
    told = ["Is this word an exception?"]
    for where, own in (("Here", table), ("On Europarl", natural)):
        if own is not None:
            (need, found), same = needing(own), own["alpha_beta, names"].value_counts()
            hits = listed(f"{rule} for {row.found} ({row['in its layer']})" for rule, row in found.iterrows())
            more = f" whole words need a head; the one needed most is named, by size (in its layer), by {hits};"
            sure = f"{where} {'yes' if 2 * len(need) < len(own) else 'no'}: {len(need)} of {len(own)}"
            told.append(f"{sure}{more if own is table else ' do;'} LRP αβ names {same.index[0]} for {same.iloc[0]} of all.")
    return " ".join(told)


def batch_of(subject, sentence: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The sentence of `one_sentence`, as a batch of its own."""
    pieces, ids = sentence["source"], subject.encoded.source
    fits = (i for i in range(len(ids)) if len(ids[i]) == len(pieces) and subject.source.pieces(list(ids[i])) == pieces)
    return single(subject, next(fits))


@torch.no_grad()
def _busiest(subject, batch: Mapping[str, torch.Tensor]) -> tuple[float, int, tuple[str, int, int]]:
    """The most relevance that one encoder head carries of a whole predicted word; the word's place; the head."""
    found = explain(subject.model, [batch], "cp", "encoder")
    top = subject.model(**inputs(batch), use_cache=False).logits[0].argmax(-1).tolist()[: len(found.values)]
    size = pd.DataFrame(np.abs(found.values), columns=found.heads)
    size = size.loc[whole_words(subject.target.pieces(top)) or [*size.index]]
    target = int(size.max(axis=1).idxmax())
    return float(size.loc[target].max()), target, size.loc[target].idxmax()


def whole_words(tokens: Sequence[str]) -> list[int]:
    """Places of tokens that are a word of letters each: the next token begins another word or ends the text."""
    after = [*tokens[1:], "</s>"]
    pairs = enumerate(zip(tokens, after, strict=True))
    return [place for place, (one, other) in pairs if one[1:].isalpha() and one[0] == "▁" and other.startswith(("▁", "<"))]


def by_word(tokens: Sequence[str], values: np.ndarray) -> pd.Series:
    """Values of tokens summed over the words that they make up, in the order of the text."""
    starts = np.cumsum([place == 0 or token.startswith(("▁", "<")) for place, token in enumerate(tokens)])
    words = pd.Series(list(tokens)).groupby(starts).agg("".join).str.replace("▁", "")
    return pd.Series(values).groupby(starts).sum().set_axis(words)


def said_of_sentence(sentence: Mapping[str, Any]) -> str:
    """What `one_sentence` found, in a sentence: where the followed word's relevance stands above and below, and in one head."""
    target, flow = sentence["target"], sentence["flow"][sentence["target"]]
    below, above = (by_word(sentence["source"], flow[at] / flow[at].sum()) for at in (0, -1))
    place, moved = int(above.to_numpy().argmax()), below.to_numpy() - above.to_numpy()
    moved[place] = -np.inf
    came = int(moved.argmax())
    part = sentence["heads"].loc[target].abs()["encoder", sentence["layer"], sentence["head"]] / abs(flow[-1].sum())
    word = sentence["predicted"][target].replace("▁", "")
    return (
        f"After the last encoder layer {number(above.iloc[place], '%')} of the relevance of {word!r} stands at"
        f" {above.index[place]!r}; layer {sentence['layer'] + 1} head {sentence['head'] + 1} carries {number(part, '%')} of it,"
        f" and of what reaches the input words {number(below.iloc[came], '%')} stands at {below.index[came]!r}."
    )


_MEANT = {  # what changes with a word, where someone has looked
    ("выхлебала", "выпила"): " Both mean *drank*. In this generated text the verb of cows is 'выхлебать', that of people"
    " 'выпить': without the head the model writes the person's verb."
}


def said_without(table: pd.DataFrame, sentence: Mapping[str, Any]) -> str:
    """What a model would write without the head of `one_sentence`, beside what it writes without each other encoder head.

    Parameters
    ----------
    table : pandas.DataFrame
        On (layer, head), from 0, and (-1, -1) for all heads: probability of the followed word, and the word that is then
        likeliest (likeliest).
    """
    own, whole = table.loc[(sentence["layer"], sentence["head"])], table.loc[(-1, -1)]
    others, word = table.probability.drop([own.name, whole.name]), whole.likeliest
    then = "still writes it" if own.likeliest == word else f"writes {own.likeliest!r} instead"
    least = math.floor(100 * others.min())
    rest = f" Without any one of the other {len(others)} encoder heads it keeps at least {least} %." if len(others) else ""
    first = f"**With all heads the model gives {word!r} {number(whole.probability, '%')}; without this head"
    first += f" {number(own.probability, '%')}, and it {then}.**"
    return first + rest + _MEANT.get((word, own.likeliest), "")


ONE_SENTENCE = Analysis("relevance of a word through one sentence", 1, one_sentence, sentences=True)
