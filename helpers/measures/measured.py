"""Tables and examples of Voita et al. 2019, section 5, from what the measures found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import study
from helpers.corpora.describe import arcs_of
from helpers.heads import Site, index, record
from helpers.measures.analysis import Analysis
from helpers.measures.functions import (
    DIRECTIONS,
    LABELS,
    MARGIN,
    POSITIONAL,
    RAREST,
    RELATIONS,
    Alignment,
    Confidence,
    Positional,
    Rare,
    Syntactic,
    best_heads,
    confidence,
    roles,
    to_words,
    way,
)  # fmt: skip
from helpers.measures.lrp import BySentence, conservation, explain
from helpers.measures.ranks import places as ranked
from helpers.measures.reducers import Reducer, one_pass
from helpers.measures.sentence import single
from helpers.measures.worth import importance, kinds_off, leave_one_out, leave_one_out_bleu
from helpers.models import inputs
from helpers.runs import subjects, training
from helpers.scores import intervals

# Table 1 of the paper, EN-RU, %: best head and offset baseline on WMT, then on OpenSubtitles
PRINTED = {
    ("nsubj", DIRECTIONS[0]): (45, 35, 77, 45), ("nsubj", DIRECTIONS[1]): (52, 35, 70, 45),
    ("dobj", DIRECTIONS[0]): (78, 41, 61, 46), ("dobj", DIRECTIONS[1]): (73, 41, 84, 46),
    ("amod", DIRECTIONS[0]): (74, 72, 81, 80), ("amod", DIRECTIONS[1]): (82, 72, 81, 80),
    ("advmod", DIRECTIONS[0]): (48, 46, 38, 33), ("advmod", DIRECTIONS[1]): (52, 46, 42, 33),
}  # fmt: skip

# section 5.3: the head's share on one of the two rarest tokens (of WMT: more than), and on the rarest one where that is printed
PRINTED_RARE = {"WMT": {"two": 0.5}, "OpenSubtitles": {"two": 0.83, "one": 0.66}}

FUNCTIONAL = ("positional", "syntactic", "rare")


def measure(subject, model, repeats: int = 1000, names: Sequence[str] = (*FUNCTIONAL, "alignment")) -> dict[str, pd.DataFrame]:
    """Confidence, positional, syntactic, rare-token or alignment scores of a model in one pass over the subject's dev set.

    Parameters
    ----------
    subject : helpers.runs.subjects.Subject
        Whose sentences, trees, frequencies and alignments are used.
    model
        The subject's own model, or another one (random weights) to compare with.
    names : sequence of str
        Of "confidence", "positional", "syntactic", "rare" and "alignment".
    """
    made: dict[str, Callable[[], Reducer]] = {
        "confidence": Confidence, "positional": Positional, "syntactic": lambda: Syntactic(arcs_of(subject.sentences)),
        "rare": lambda: Rare(subject.counts), "alignment": lambda: Alignment(subject.links),
    }  # fmt: skip
    reducers = {name: made[name]() for name in names}
    heads = one_pass(model, subject.batches(), *reducers.values(), label=f"functions {subject.title}")
    return {name: reducer.frame(heads, repeats) for name, reducer in reducers.items()}


def confidence_and_functions(subject, repeats: int = 1000, model=None) -> tuple[pd.DataFrame, pd.Series]:
    """Confidence of every head with its interval, and the functions of every head (`roles`), in one pass over the dev set.

    Of the subject's own model, or of another one that reads the same text (one with heads removed).
    """
    found = measure(subject, model or subject.model, repeats, ("confidence", *FUNCTIONAL))
    return found["confidence"], roles(*(found[name] for name in FUNCTIONAL))


def relevance_columns(explained: Mapping[str, Any]) -> pd.DataFrame:
    """Relevance of every head by every rule as columns.

    A head's share of its layer is taken token by token and averaged ("step", the paper's way). Signed rules are also summed
    over tokens first ("ratio"), for a layer's sum that is near zero in one token spoils the mean of shares.

    Parameters
    ----------
    explained : mapping of rule -> helpers.measures.lrp.BySentence
    """
    columns: dict[str, pd.Series] = {}
    for rule, found in explained.items():
        ways = ("step",) if rule == "alpha_beta" else ("step", "ratio")
        columns |= {rule if len(ways) == 1 else f"{rule} {way}": found.series(way) for way in ways}
    return pd.DataFrame(columns)


def effects_that_differ(frames: Mapping[tuple[str, int], pd.DataFrame]) -> pd.DataFrame:
    """How many heads change the loss by their absence at all: what no measure can predict is not there.

    Parameters
    ----------
    frames : mapping of (model, seed) -> `helpers.measures.worth.leave_one_out`

    Returns
    -------
    pandas.DataFrame
        On (model, seed, kind): heads; differ (whose interval excludes zero); differ_holm (whose p-value corrected for all heads
        of the kind is below .05); share (differ over heads); shown (whether that is half or more: correlations with fewer are
        mostly with noise); over.
    """
    rows = {}
    for (model, seed), frame in frames.items():
        for kind, part in frame.groupby(level="kind", sort=False):
            differ = int(((part.low > 0) | (part.high < 0)).sum())
            sure = int(corrected(part).sum())
            row = {"heads": len(part), "differ": differ, "differ_holm": sure, "share": differ / len(part)}
            rows[model, seed, kind] = row | {"shown": 2 * differ >= len(part), "over": intervals.SENTENCES}
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["model", "seed", "kind"]))


def corrected(single: pd.DataFrame) -> pd.Series:
    """Whether each head of `leave_one_out` changes the loss, its p-value corrected (Holm) for all heads of its kind."""
    p = pd.Series(intervals.p_value(single.loss, single.low, single.high), single.index)
    return p.groupby(level="kind").transform(lambda own: intervals.holm(own.to_numpy())) < 0.05


def shown(differ: pd.DataFrame, kind: str, models: Sequence[str] | None = None) -> bool:
    """Whether half of the heads of a kind, of some models or all, differ from zero (`effects_that_differ`)."""
    part = differ[differ.index.isin([kind], level="kind")]
    part = part[part.index.isin(models, level="model")] if models is not None else part
    return bool(2 * part.differ.sum() >= part.heads.sum())


def from_one(table: pd.DataFrame) -> pd.DataFrame:
    """A table as people read it: layers and heads counted from 1, in its index or its columns."""
    names, flat = table.index.names, table.reset_index()
    flat = flat.assign(**{name: flat[name] + 1 for name in ("layer", "head") if name in flat})
    return flat.set_index(names) if names != [None] else flat.drop(columns="index")


def count_roles(roles: Mapping[str, pd.Series]) -> pd.DataFrame:
    """How many encoder heads of each model have each function; a head with several counts in each."""
    counts = {}
    for title, column in roles.items():
        column = column.xs("encoder", level="kind")
        names = [name for cell in column for name in sorted({function for function, _ in cell})]
        counts[title] = pd.Series(names, dtype=object).value_counts()
        counts[title]["none"] = sum(not cell for cell in column)
        counts[title]["heads"] = len(column)
    order = ["positional", *RELATIONS, "rare", "none", "heads"]
    return pd.DataFrame(counts).reindex(order).fillna(0).astype(int)


def lost_by_head(lost: Mapping[str, pd.DataFrame], roles: Mapping[str, pd.Series]) -> pd.DataFrame:
    """On (model, kind, layer, head) encoder heads of `leave_one_out` by title: loss, has (a function), sure (above 0)."""
    rows = {t: f.assign(has=roles[t].map(bool), sure=f.low > 0).loc[["encoder"]] for t, f in lost.items()}
    return pd.concat(rows)[["loss", "has", "sure"]]


def by_training(
    found: Mapping[str, Mapping], again: Mapping[tuple[str, int], pd.DataFrame], seed: int, lost: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """What encoder heads do in every training, by estimate on all dev sentences: how far counts depend on the seed.

    Parameters
    ----------
    found : mapping of title -> what `measure` found of the models of this seed
    again : mapping of (title, seed) -> head table of a further training (`helpers.measures.table.head_table`)
    lost : mapping of title -> `leave_one_out` of the models of this seed

    Returns
    -------
    pandas.DataFrame
        On (model, seed): heads, with functions (how many), cases (of `LABELS`, those with a head ten points above the offset
        baseline, listed), positional and rare (shares of the best head); difference, low, high (of `ranks.places` by loss).
    """
    rows: dict[tuple[str, int], tuple[pd.Series, pd.Series, float, float]] = {}
    for title, frames in found.items():
        does = roles(*(frames[name] for name in FUNCTIONAL)).loc[["encoder"]].map(lambda cell: [label for _, label in cell])
        best = frames["positional"].score.xs("encoder", level="kind").max(), frames["rare"].two_rarest.max()
        rows[title, seed] = does, lost[title].loss, *best
    for place, table in again.items():
        own = table.loc[["encoder"]]
        does = own.functions.fillna("").map(lambda cell: cell.split("; ") if cell else [])
        rows.setdefault(place, (does, own["leave-one-out"], own.positional.max(), own.rare.max()))
    titles = [title for title, _ in rows]
    rows = {place: rows[place] for place in sorted(rows, key=lambda place: (titles.index(place[0]), place[1]))}
    index = pd.MultiIndex.from_tuples(rows, names=["model", "seed"])
    told = [(len(does), sum(map(bool, does)), ", ".join(label for label in LABELS.values() if any(label in x for x in does)),
             *best) for does, _, *best in rows.values()]  # fmt: skip
    does, loss = ({str(place): row[at] for place, row in rows.items()} for at in (0, 1))
    gaps = ranked({"loss": loss}, does).iloc[:-1].set_index(index)[["difference", "low", "high"]]
    return pd.DataFrame(told, index, ["heads", "with functions", "cases", "positional", "rare"]).join(gaps)


def held_numbers(
    examples: Sequence[Mapping[str, Any]], relations: pd.DataFrame, sides: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """`best_of_models` with the fixed offset (guess) and verdicts of `syntactic_relations`, others from `sides`.

    sides: function -> model -> side. Shares are those on odd sentences where both chose one head; else `other` is set.
    """
    found = []
    for one in examples:
        own: dict[str, Any] = {"side": sides.get(one["function"], {}).get(one["model"], "")}
        for _, row in relations[relations.model == one["model"]].iterrows():
            label = LABELS[row.relation, row.direction]
            if label == one["label"]:
                own |= {"guess": int(row.offset), "passes": row.passes, "side": row.side, "other": True}
            if (label, row.layer - 1, row["head"] - 1) == (one["label"], one["layer"], one["head"]):
                own |= {"score": row["accuracy held out"], "needed": row["offset baseline"] + MARGIN}
                own["other"] = False
        found.append({**one, **own})
    return found


def positional_table(found: Mapping, untrained: Mapping) -> pd.DataFrame:
    """The best positional head of every model and kind of attention, beside the best with random weights.

    Returns
    -------
    pandas.DataFrame
        On (model, kind): layer and head (from 1), offset, score, low, high, of_all, verdict; best at random (the best of
        as many heads with random weights), heads, over.
    """
    rows = {}
    for title, frames in found.items():
        for kind, frame in frames["positional"].groupby(level="kind", sort=False):
            address = frame.score.idxmax()
            row = {"layer": address[1] + 1, "head": address[2] + 1, **frame.loc[address]}
            random = untrained[title]["positional"].xs(kind, level="kind").score.max()
            rows[title, kind] = row | {"best at random": random, "heads": len(frame), "over": intervals.SENTENCES}
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["model", "kind"]))


def syntactic_relations(found: Mapping[str, pd.DataFrame], untrained: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every relation and direction of every model, none left out, held to the paper's own rule and beside its Table 1.

    Parameters
    ----------
    found, untrained : mapping of title -> `helpers.measures.functions.Syntactic.held_out`
        Of the model, and of one of its shape with random weights.

    Returns
    -------
    pandas.DataFrame
        A row each (model, relation, direction): layer and head (from 1) of the best head, heads (of how many); accuracy held
        out, low, high; offset baseline; above offset, with low and high (paired); passes +10, below offset; best at random; n;
        printed accuracy and offset (WMT, OpenSubtitles; shares); over.
    """
    parts = []
    for title, frame in found.items():
        table = frame.assign(model=title, layer=frame.layer + 1, head=frame["head"] + 1)
        table["passes +10"] = frame.gain >= MARGIN - 1e-9
        table["below offset"] = frame.gain < -1e-9
        table["best at random"] = untrained[title].accuracy.reindex(frame.index)
        for place, text in ((0, "WMT"), (2, "OpenSubtitles")):
            for shift, what in ((0, "accuracy"), (1, "offset")):
                table[f"printed {what}, {text}"] = [PRINTED[key][place + shift] / 100 for key in frame.index]
        parts.append(table.reset_index())
    called = {"accuracy": "accuracy held out", "baseline": "offset baseline", "gain": "above offset",
              "gain_low": "above offset, low", "gain_high": "above offset, high"}  # fmt: skip
    whole = pd.concat(parts, ignore_index=True).rename(columns=called).assign(over=intervals.SENTENCES)
    return whole[
        ["model", "relation", "direction", *[name for name in whole if name not in ("model", "relation", "direction")]]
    ]


def rare_table(found: Mapping, untrained: Mapping) -> pd.DataFrame:
    """The best rare-token head of every model and of its layer 1 (layers and heads from 1), that of random weights, chance."""
    rows = {}
    for title, frames in found.items():
        frame, random = frames["rare"], untrained[title]["rare"]
        best = frame.two_rarest.fillna(0).idxmax()
        row = frame.loc[best]
        rows[title] = {
            "layer": best[1] + 1, "head": best[2] + 1, "heads": len(frame), "rarest": row.rarest, "two rarest": row.two_rarest,
            "low": row.two_rarest_low, "high": row.two_rarest_high,
            "layer 1": frame.two_rarest.xs(0, level="layer").max(), "best at random": random.two_rarest.max(),
            "chance": row.chance, "chance, two": row.chance_two, "tokens": row.tokens, "sentences": row.sentences,
            "over": intervals.SENTENCES,
        }  # fmt: skip
    whole = dict.fromkeys(("layer", "head", "heads", "tokens", "sentences"), int)
    return pd.DataFrame(rows).T.infer_objects().astype(whole)


def published_scores(folder: Path, text: str) -> tuple[dict[str, dict[str, pd.DataFrame]], dict[str, dict[str, pd.DataFrame]]]:
    """Positional and rare-token scores in a published run's folder of tables, by "text: title"; of random weights the best."""
    index, found, luck = ["kind", "layer", "head"], dict[str, Any](), dict[str, Any]()
    parts = (("positional", "positional_heads", "score"), ("rare", "rare_tokens", "two_rarest"))
    for path in sorted({*folder.glob("positional_*.csv")} - {folder / "positional_heads.csv"}):
        title = subjects.title(name := path.stem.partition("_")[2])
        for what, table, column in parts:
            own = pd.read_csv(folder / f"{what}_{name}.csv", index_col=index)
            best = pd.read_csv(folder / f"{table}.csv", index_col=0).loc[[title], "best at random"].iloc[0]  # the encoder's
            found.setdefault(f"{text} text: {title}", {})[what] = own
            luck.setdefault(f"{text} text: {title}", {})[what] = own[:1].assign(**{column: best})
    return found, luck


def functions_found(
    best: pd.DataFrame, relations: pd.DataFrame, rare: pd.DataFrame, sides: Mapping[str, Sequence[str]], texts: Sequence[str]
) -> pd.DataFrame:  # fmt: skip
    """How far the best head of every function and model lies from what its test asks, beside what the paper prints.

    Parameters
    ----------
    best, relations, rare : pandas.DataFrame
        `positional_table` of encoder heads by model, `syntactic_relations`, `rare_table`.
    sides : mapping of "positional", "syntax" and "rare" -> of each of their rows "for", "open" or "against" (claims' rules)
    texts : sequence of str
        Texts of the paper's Table 1 whose numbers are added.

    Returns
    -------
    pandas.DataFrame
        A row each: function; case (for people); model; beyond (share minus what is asked); side; printed (of the paper, of
        which `model` is the text, without a side); least (whether it says only that much is reached); passes (side "for").
    """
    rows = [("positional", "positional", *row, False, False)
            for row in zip(best.index, best.score - POSITIONAL, sides["positional"], strict=True)]  # fmt: skip
    rows += [("positional", "positional", text, 0.0, "", True, True) for text in texts]
    for key, label in LABELS.items():
        own = (relations.relation == key[0]) & (relations.direction == key[1])
        beyond = (relations["above offset"] - MARGIN)[own]
        models = zip(relations.model[own], beyond, pd.Series(sides["syntax"], relations.index)[own], strict=True)
        rows += [(key[0], way(label), *row, False, False) for row in models]
        for text in texts if own.any() else ():
            head, offset = PRINTED[key][0 if text == "WMT" else 2 :][:2]
            rows.append((key[0], way(label), text, (head - offset) / 100 - MARGIN, "", True, False))
    rows += [("rare", "two rarest tokens", *row, False, False)
             for row in zip(rare.index, rare["two rarest"] - RAREST, sides["rare"], strict=True)]  # fmt: skip
    rows += [("rare", "two rarest tokens", x, PRINTED_RARE[x]["two"] - RAREST, "", True, x == "WMT") for x in texts]
    table = pd.DataFrame(rows, columns=["function", "case", "model", "beyond", "side", "printed", "least"])
    return table.assign(passes=table.side == "for")


class _Keep:
    """Word-level maps of one batch: for a handful of example sentences only."""

    def __init__(self, word_ids: torch.Tensor) -> None:
        self.word_ids = word_ids
        self.maps: dict[int, np.ndarray] = {}

    def __call__(self, site: Site, weights: torch.Tensor) -> None:
        self.maps[site.layer] = to_words(weights, self.word_ids).cpu().numpy()


def hits_and_misses(
    subject, frames: Mapping[str, pd.DataFrame], words: tuple[int, int] = (6, 10), most: int = 150
) -> list[dict]:
    """For each function one encoder head, a word where it looks where it should, and one where it does not.

    The head is the best one of the function, passing or not; of a relation in the direction in which it does better by its
    test. The words are typical: of all hits (misses) in readable sentences those with the median weight on the word that the
    head looks at; of syntactic hits those that the fixed offset misses, if there are any.

    Parameters
    ----------
    frames : mapping
        What `measure` found of this model: positional, syntactic and rare.
    words : two ints
        Sentences of so many words are readable.
    most : int
        Of the first so many of them.

    Returns
    -------
    list of dict
        function; label; layer, head (from 0); score, needed (shares; the test's threshold); passes; guess (of a relation:
        its offset); hit and miss: None where there is none, or words, query (a place), wanted (places), weights (of the query).
    """
    every, rare = arcs_of(subject.sentences), _rare_words(subject)
    picked = [i for i, pair in enumerate(subject.sentences) if words[0] <= len(pair.words) <= words[1]][:most]
    maps = {i: _word_maps(subject, i) for i in picked or range(min(most, len(subject.sentences)))}
    found = []
    for told, wanted in _candidates(frames, every, rare):
        seen: dict[str, list[dict[str, Any]]] = {"hit": [], "miss": [], "easy": []}
        for i, by_layer in maps.items():
            weights, own = by_layer[told["layer"]][told["head"]], subject.sentences[i].words
            for query, places in wanted(i, len(own)).items():
                which = "easy" if query + told.get("guess", len(own)) in places else "hit"
                which = which if int(weights[query].argmax()) in places else "miss"
                seen[which].append({"words": list(own), "query": query, "wanted": sorted(places), "weights": weights[query]})
        typical = {}
        for which, those in (("hit", seen["hit"] or seen["easy"]), ("miss", seen["miss"])):
            ordered = sorted(those, key=lambda one: float(one["weights"].max()))
            typical[which] = ordered[len(ordered) // 2] if ordered else None
        found.append(told | typical)
    return found


def best_of_models(typical: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Of each function the head that does best by its test in any model, with the model: of `hits_and_misses` by title."""
    every = [{**one, "model": title} for title, found in typical.items() for one in found]
    names = dict.fromkeys(one["function"] for one in every)
    return [max((o for o in every if o["function"] == name), key=lambda o: o["score"] - o["needed"]) for name in names]


def _candidates(frames: Mapping[str, pd.DataFrame], every: Sequence, rare: Sequence) -> Iterator[tuple[dict, Callable]]:
    """The head of each function, and what gives (sentence, its words) -> query word -> words where it should look."""

    def told(function: str, label: str, place: tuple, score: float, needed: float) -> dict[str, Any]:
        own = {"function": function, "label": label, "layer": int(place[0]), "head": int(place[1])}
        return own | {"score": float(score), "needed": float(needed), "passes": bool(score >= needed)}

    positional = frames["positional"].xs("encoder")
    place = positional.score.idxmax()
    step = int(positional.offset[place])
    yield (
        told("positional", f"{step:+d}", place, positional.score[place], POSITIONAL),
        lambda _, count: {query: {query + step} for query in range(count) if 0 <= query + step < count},
    )
    best = best_heads(frames["syntactic"])
    best = best.assign(above=best.score - best.baseline)
    for relation in best.index.unique("relation"):
        direction = best.loc[relation].above.idxmax()
        row, down = best.loc[relation, direction], direction == DIRECTIONS[0]

        def arcs(i: int, _: int, relation: str = relation, down: bool = down) -> dict[int, set[int]]:
            wanted: dict[int, set[int]] = {}
            for dependent, governor, name in every[i]:
                if name == relation:
                    query, place = (governor, dependent) if down else (dependent, governor)
                    wanted.setdefault(query, set()).add(place)
            return wanted

        one = told(relation, LABELS[relation, direction], (row.layer, row["head"]), row.score, row.baseline + MARGIN)
        yield one | {"guess": int(row.offset)}, arcs
    share = frames["rare"].two_rarest.fillna(0)
    place = share.idxmax()
    yield (
        told("rare", "two rarest tokens", place[1:], share[place], RAREST),
        lambda i, count: {query: rare[i] - {query} for query in range(count) if rare[i] - {query}},
    )


def _word_maps(subject, sentence: int) -> dict[int, np.ndarray]:
    """Word-level encoder attention in a sentence, by layer: [heads, words, words]."""
    batch = single(subject, sentence)
    keep = _Keep(batch["word_ids"])
    with torch.no_grad(), record(subject.model, keep, kinds=("encoder",)):
        subject.model(**inputs(batch), use_cache=False)
    return {layer: maps[0] for layer, maps in keep.maps.items()}


def _rare_words(subject) -> list[set[int]]:
    """For each sentence whose rarest token is rare the words of its two rarest tokens."""
    border = int(subject.counts.sort(descending=True).values[min(500, len(subject.counts) - 1)])
    found = []
    for ids, owners in zip(subject.encoded.source, subject.encoded.words, strict=True):
        ranked = sorted((int(subject.counts[t]), w) for t, w in zip(ids, owners, strict=True) if w >= 0)
        found.append({w for _, w in ranked[:2]} if ranked and ranked[0][0] < border else set())
    return found


# --- analyses: what notebooks 01 and 02 read -------------------------------------------------------------------------


def _explained(subject, rule: str, first: int, untrained: bool = False) -> BySentence:
    model, more = (subject.untrained(), ", random weights") if untrained else (subject.model, "")
    return explain(model, subject.batches(2048, first), rule, label=f"{rule} {subject.title}{more}").by_sentence()


def _conserved(subject, rule: str, first: int) -> Any:
    return conservation(subject.model, subject.batches(2048, first), rule)


def _functions(subject, repeats: int) -> dict[str, Any]:
    table, functions = confidence_and_functions(subject, repeats)
    return {"confidence": table, "functions": functions}


def _scored(subject, repeats: int, untrained: bool = False) -> dict[str, pd.DataFrame]:
    return measure(subject, subject.untrained() if untrained else subject.model, repeats)


def _held(subject, repeats: int, untrained: bool = False) -> pd.DataFrame:
    model, reducer = subject.untrained() if untrained else subject.model, Syntactic(arcs_of(subject.sentences))
    return reducer.held_out(one_pass(model, subject.batches(), reducer, label=f"held out {subject.title}"), repeats)


def _kinds_off(subject, first: int) -> pd.DataFrame:
    return kinds_off(subject.model, subject.batches(4096, first))


def _typical(subject, repeats: int) -> list[dict[str, Any]]:
    return hits_and_misses(subject, SCORED.value(subject, repeats=repeats))


def _diffuse(subject) -> pd.Series:
    return confidence(subject.untrained(), subject.batches())


def _without(subject, first: int) -> pd.DataFrame:
    return leave_one_out(subject.model, subject.batches(4096, first), label=f"without {subject.title}")


def _without_bleu(subject, first: int, repeats: int) -> pd.DataFrame:
    held = subject.sentences[:first]
    sources, references = [pair.source for pair in held], [pair.target for pair in held]

    def translate(model) -> list[str]:
        return training.translate(model, sources, subject.source, subject.target, 1)

    return leave_one_out_bleu(subject.model, translate, references, index(subject.model), repeats)


def _gradient(subject, first: int) -> pd.Series:
    return importance(subject.model, subject.batches(4096, first), norm=None)


EXPLAINED = Analysis("relevance", 1, _explained)  # of `first` dev sentences by a rule: `BySentence`
CONSERVED = Analysis("conservation", 1, _conserved)
FUNCTIONS = Analysis("confidence and functions", 1, _functions)  # `confidence_and_functions` by name
SCORED = Analysis("scores of functions", 1, _scored)  # `measure`
HELD = Analysis("syntactic heads held out", 1, _held)  # `Syntactic.held_out`
KINDS_OFF = Analysis("kinds off", 1, _kinds_off)  # `kinds_off` on `first` dev examples
TYPICAL = Analysis("a hit and a miss of each function", 2, _typical, sentences=True)  # `hits_and_misses`
DIFFUSE = Analysis("confidence of random weights", 1, _diffuse)
WITHOUT = Analysis("leave one out", 1, _without)
WITHOUT_BLEU = Analysis("leave one out, BLEU", 1, _without_bleu)
GRADIENT = Analysis("gradient importance", 1, _gradient)


def function_recipes(settings: Mapping[str, Any], runs: Sequence[study.Recipe]) -> Iterator[study.Recipe]:
    """The analyses of models that notebook 02 reads."""
    for run in runs:
        yield SCORED.recipe(run, repeats=settings["bootstrap"])
        yield SCORED.recipe(run, repeats=settings["bootstrap"], untrained=True)
        yield HELD.recipe(run, repeats=settings["bootstrap"])
        yield HELD.recipe(run, repeats=settings["bootstrap"], untrained=True)
        yield TYPICAL.recipe(run, repeats=settings["bootstrap"])
