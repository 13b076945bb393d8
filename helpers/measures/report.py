"""Tables and examples of Voita et al. 2019, section 5, from what the measures found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import study, training
from helpers.heads import Site, index, record
from helpers.measures.agreement import correlations
from helpers.measures.analysis import Analysis
from helpers.measures.confidence import Confidence, confidence
from helpers.measures.functions import (
    DIRECTIONS,
    LABELS,
    RELATIONS,
    Alignment,
    Positional,
    Rare,
    Syntactic,
    arcs_of,
    best_heads,
    chance,
    roles,
    to_words,
)  # fmt: skip
from helpers.measures.importance import importance, leave_one_out, leave_one_out_bleu
from helpers.measures.one_pass import one_pass
from helpers.measures.relevance import RULES, BySentence, conservation, explain
from helpers.models import inputs

# Table 1 of the paper, EN-RU, %: best head and offset baseline on WMT, then on OpenSubtitles
PRINTED = {
    ("nsubj", DIRECTIONS[0]): (45, 35, 77, 45), ("nsubj", DIRECTIONS[1]): (52, 35, 70, 45),
    ("dobj", DIRECTIONS[0]): (78, 41, 61, 46), ("dobj", DIRECTIONS[1]): (73, 41, 84, 46),
    ("amod", DIRECTIONS[0]): (74, 72, 81, 80), ("amod", DIRECTIONS[1]): (82, 72, 81, 80),
    ("advmod", DIRECTIONS[0]): (48, 46, 38, 33), ("advmod", DIRECTIONS[1]): (52, 46, 42, 33),
}  # fmt: skip


def measure(subject, model, repeats: int = 1000) -> dict[str, pd.DataFrame]:
    """Positional, syntactic, rare-token and alignment scores of a model in one pass over the subject's dev set.

    Parameters
    ----------
    subject : helpers.subjects.Subject
        Whose sentences, trees, frequencies and alignments are used.
    model
        The subject's own model, or another one (random weights) to compare with.
    """
    reducers = {
        "positional": Positional(),
        "syntactic": Syntactic(arcs_of(subject.dev)),
        "rare": Rare(subject.counts),
        "alignment": Alignment(subject.links),
    }
    heads = one_pass(model, subject.batches(), *reducers.values(), label=f"functions {subject.title}")
    return {name: reducer.frame(heads, repeats) for name, reducer in reducers.items()}


def confidence_and_functions(subject, repeats: int = 1000, model=None) -> tuple[pd.DataFrame, pd.Series]:
    """Confidence of every head with its interval, and the functions of every head (`roles`), in one pass over the dev set.

    Of the subject's own model, or of another one that reads the same text (one with heads removed).
    """
    reducers = Confidence(), Positional(), Syntactic(arcs_of(subject.dev)), Rare(subject.counts)
    heads = one_pass(model or subject.model, subject.batches(), *reducers, label=f"confidence {subject.title}")
    confident, *functions = (reducer.frame(heads, repeats) for reducer in reducers)
    return confident, roles(*functions)


def relevance_columns(explained: Mapping[str, Any]) -> pd.DataFrame:
    """Relevance of every head by every rule as columns: a positive rule normalised per step, a signed one both ways.

    Parameters
    ----------
    explained : mapping of rule -> helpers.measures.relevance.Explained
    """
    columns = {}
    for rule, found in explained.items():
        ways = ("step",) if rule == "alpha_beta" else ("step", "ratio")
        columns |= {rule if len(ways) == 1 else f"{rule} {way}": found.series(way) for way in ways}
    return pd.DataFrame(columns)


def conditioning(explained: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """How well divisions by a layer's sum are conditioned: `Explained.sums` by (model, rule, kind, layer)."""
    tables = {(title, rule): found.sums() for title, by_rule in explained.items() for rule, found in by_rule.items()}
    return pd.concat(tables, names=["model", "rule"])


def worst_conditioning(table: pd.DataFrame, untrained: str) -> pd.DataFrame:
    """`conditioning` in short, trained models apart from the `untrained` one: means of shares and the largest value."""
    random = table.index.get_level_values("model") == untrained
    groups = [pd.Index(np.where(random, untrained, "trained models"), name="models"), "rule", "kind"]
    return table.groupby(groups, sort=False).agg({"negative": "mean", "near_zero": "mean", "largest": "max"})


def dominance(columns: Mapping[str, pd.Series], kind: str = "encoder") -> pd.DataFrame:
    """Do a few heads dominate their layer? A row each (model, layer) of shares that sum to 1 in a layer.

    Returns
    -------
    pandas.DataFrame
        heads; largest and two_largest: shares; even: 1 / heads; effective: exp of the entropy, the number of equal heads that
        would be as spread.
    """
    rows = {}
    for title, column in columns.items():
        for layer, shares in column.xs(kind, level="kind").groupby(level="layer"):
            ordered = shares.sort_values(ascending=False).to_numpy()
            positive = ordered[ordered > 0]
            rows[title, layer + 1] = {
                "heads": len(ordered), "largest": ordered[0], "two_largest": ordered[:2].sum(), "even": 1 / len(ordered),
                "effective": float(np.exp(-(positive * np.log(positive)).sum())),
            }  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["model", "layer"])
    return table


def pooled(columns: Mapping[str, pd.Series]) -> pd.Series:
    """Columns of several models as one, whose layers are "MODEL LAYER": for comparisons within layers over all models."""
    parts = []
    for title, column in columns.items():
        renamed = [(kind, f"{title} {layer}", head) for kind, layer, head in column.index]
        parts.append(column.set_axis(pd.MultiIndex.from_tuples(renamed, names=column.index.names)))
    return pd.concat(parts)


def truth_agreement(
    truths: Mapping[str, pd.Series], measures: Mapping[str, pd.DataFrame], kind: str = "encoder"
) -> pd.DataFrame:
    """Rank correlation of every measure with a truth, on ranks within layers pooled over models.

    Parameters
    ----------
    truths : mapping of title -> Series on (kind, layer, head), larger = matters more
    measures : mapping of title -> table on the same index with a column a measure

    Returns
    -------
    pandas.DataFrame
        A row a measure: rho, low, high, heads (`helpers.measures.agreement.correlation`).
    """
    names = next(iter(measures.values())).columns
    columns = {name: pooled({title: table[name] for title, table in measures.items() if title in truths}) for name in names}
    return correlations(pooled(truths), columns, kinds=kind, within_layer=True)


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


def best_of_all(subjects: Sequence[Any], found: Mapping, untrained: Mapping) -> pd.DataFrame:
    """The best head of every model for each relation and direction, with the random-weight head and chance beside it."""
    parts = []
    for subject in subjects:
        best = best_heads(found[subject.title]["syntactic"])
        best["untrained"] = best_heads(untrained[subject.title]["syntactic"]).score
        best["chance"] = chance(subject.dev).reindex(best.index.get_level_values("relation")).to_numpy()
        parts.append(best.reset_index().assign(model=subject.title))
    return pd.concat(parts, ignore_index=True)


def table_1(best: pd.DataFrame) -> pd.DataFrame:
    """Our best heads in the shape of the paper's Table 1, in %, the printed numbers last."""
    columns = {}
    for model, part in best.groupby("model", sort=False):
        part = part.set_index(["relation", "direction"])
        for name in ("score", "held_out", "baseline"):
            columns[model, {"score": "best", "held_out": "held out", "baseline": "base"}[name]] = 100 * part[name]
    table = pd.DataFrame(columns)
    table = table.loc[[key for key in PRINTED if key in table.index]]
    for i, (text, what) in enumerate([("WMT", "best"), ("WMT", "base"), ("OpenSub", "best"), ("OpenSub", "base")]):
        table[f"printed EN-RU {text}", what] = [PRINTED[key][i] for key in table.index]
    table.index = pd.MultiIndex.from_tuples([(r, LABELS[r, d]) for r, d in table.index], names=["relation", "direction"])
    return table


def rare_table(found: Mapping, untrained: Mapping) -> pd.DataFrame:
    """The best rare-token head of every model beside the best of random weights and chance."""
    rows = {}
    for title, frames in found.items():
        frame, random = frames["rare"], untrained[title]["rare"]
        best = frame.two_rarest.fillna(0).idxmax()
        row = frame.loc[best]
        rows[title] = {
            "layer": best[1] + 1, "head": best[2], "rarest": row.rarest, "two rarest": row.two_rarest,
            "low": row.two_rarest_low, "high": row.two_rarest_high, "untrained, two rarest": random.two_rarest.max(),
            "chance": row.chance, "chance, two": row.chance_two, "tokens": row.tokens, "sentences": row.sentences,
        }  # fmt: skip
    return pd.DataFrame(rows).T.infer_objects().astype({"layer": int, "head": int, "tokens": int, "sentences": int})


class _Keep:
    """Word-level maps of one batch: for a handful of example sentences only."""

    def __init__(self, word_ids: torch.Tensor) -> None:
        self.word_ids, self.maps = word_ids, {}

    def __call__(self, site: Site, weights: torch.Tensor) -> None:
        self.maps[site.layer] = to_words(weights, self.word_ids).cpu().numpy()


def examples(subject, frames: Mapping[str, pd.DataFrame], words: tuple[int, int] = (7, 12)) -> list[dict[str, Any]]:
    """Word-level attention of the best head of each function on one dev sentence each, for `helpers.figures.attention`.

    The sentence is the first of readable length that shows the function (holds the relation; has a rare token).
    """
    best = best_heads(frames["syntactic"]).sort_values("score", ascending=False, kind="stable")
    wanted = []
    for (relation, direction), row in best.groupby(level="relation", sort=False).head(1).iterrows():
        arcs = [
            [(h, d) if direction == DIRECTIONS[0] else (d, h) for d, h, r in s if r == relation] for s in arcs_of(subject.dev)
        ]
        title = f"{relation} {LABELS[relation, direction]}: layer {int(row.layer) + 1} head {int(row['head'])}"
        wanted.append((title, int(row.layer), int(row["head"]), arcs))
    place = frames["positional"].xs("encoder").score.idxmax()
    offset = int(frames["positional"].xs("encoder").offset[place])
    wanted.insert(0, (f"positional {offset:+d}: layer {place[0] + 1} head {place[1]}", *place, None))
    place = frames["rare"].xs("encoder").two_rarest.fillna(0).idxmax()
    wanted.append((f"rare tokens: layer {place[0] + 1} head {place[1]}", *place, _rare_words(subject)))
    out, used = [], set()
    for title, layer, head, arcs in wanted:
        fits = [
            i
            for i, pair in enumerate(subject.dev)
            if words[0] <= len(pair.words) <= words[1] and i not in used and (arcs is None or arcs[i])
        ] or [i for i, pair in enumerate(subject.dev) if arcs is None or arcs[i]]
        if not fits:
            continue
        used.add(fits[0])
        out.append(_example(subject, fits[0], title, layer, head, arcs[fits[0]] if arcs else ()))
    return out


def _example(subject, sentence: int, title: str, layer: int, head: int, arcs) -> dict[str, Any]:
    batch = _single(subject, sentence)
    keep = _Keep(batch["word_ids"])
    with torch.no_grad(), record(subject.model, keep, kinds=("encoder",)):
        subject.model(**inputs(batch), use_cache=False)
    words = subject.dev[sentence].words
    return {"title": title, "rows": words, "columns": words, "weights": keep.maps[layer][0, head], "arcs": arcs}


def _single(subject, sentence: int) -> dict[str, torch.Tensor]:
    from helpers.corpora.tokens import collate

    device = next(subject.model.parameters()).device
    return {name: value.to(device) for name, value in collate(subject.encoded, [sentence], subject.source.pad).items()}


def _rare_words(subject) -> list[list[tuple[int, int]]]:
    """For each sentence whose rarest token is rare: a frame around the columns of the words with its two rarest tokens."""
    border = int(subject.counts.sort(descending=True).values[min(500, len(subject.counts) - 1)])
    frames = []
    for ids, owners, pair in zip(subject.encoded.source, subject.encoded.words, subject.dev, strict=True):
        ranked = sorted((int(subject.counts[t]), w) for t, w in zip(ids, owners, strict=True) if w >= 0)
        rare = list(dict.fromkeys(w for _, w in ranked[:2])) if ranked and ranked[0][0] < border else []
        frames.append([(row, w) for w in rare for row in range(len(pair.words))])
    return frames


# --- analyses: what notebooks 01 and 02 read -------------------------------------------------------------------------


def _explained(studied, rule: str, first: int, untrained: bool = False) -> BySentence:
    subject = studied.subject
    model, more = (subject.untrained(), ", random weights") if untrained else (subject.model, "")
    return explain(model, subject.batches(2048, first), rule, label=f"{rule} {subject.title}{more}").by_sentence()


def _conserved(studied, rule: str, first: int) -> Any:
    return conservation(studied.subject.model, studied.subject.batches(2048, first), rule)


def _functions(studied, repeats: int) -> dict[str, Any]:
    table, functions = confidence_and_functions(studied.subject, repeats)
    return {"confidence": table, "functions": functions}


def _scored(studied, repeats: int, untrained: bool = False) -> dict[str, pd.DataFrame]:
    subject = studied.subject
    return measure(subject, subject.untrained() if untrained else subject.model, repeats)


def _examples(studied, repeats: int) -> list[dict[str, Any]]:
    return examples(studied.subject, SCORED.of(studied.subject, repeats=repeats))


def _diffuse(studied) -> pd.Series:
    return confidence(studied.subject.untrained(), studied.subject.batches())


def _without(studied, first: int) -> pd.DataFrame:
    return leave_one_out(studied.subject.model, studied.subject.batches(4096, first), label=f"without {studied.subject.title}")


def _without_bleu(studied, first: int, repeats: int) -> pd.DataFrame:
    subject = studied.subject
    held = subject.dev[:first]
    sources, references = [pair.source for pair in held], [pair.target for pair in held]

    def translate(model) -> list[str]:
        return training.translate(model, sources, subject.source, subject.target, 1)

    return leave_one_out_bleu(subject.model, translate, references, index(subject.model), repeats)


def _gradient(studied, first: int) -> pd.Series:
    return importance(studied.subject.model, studied.subject.batches(4096, first), norm=None)


EXPLAINED = Analysis("relevance", 1, _explained)  # of `first` dev sentences by a rule: `BySentence`
CONSERVED = Analysis("conservation", 1, _conserved)
FUNCTIONS = Analysis("confidence and functions", 1, _functions)  # `confidence_and_functions` by name
SCORED = Analysis("scores of functions", 1, _scored)  # `measure`
EXAMPLES = Analysis("attention examples", 1, _examples)  # `examples`
DIFFUSE = Analysis("confidence of random weights", 1, _diffuse)
WITHOUT = Analysis("leave one out", 1, _without)
WITHOUT_BLEU = Analysis("leave one out, BLEU", 1, _without_bleu)
GRADIENT = Analysis("gradient importance", 1, _gradient)


def relevance_recipes(settings: Mapping[str, Any], runs: Sequence[study.Recipe]) -> Iterator[study.Recipe]:
    """The analyses of models that notebook 01 reads, the first of them with random weights beside."""
    few, repeats, truth = settings["relevance"], settings["bootstrap"], settings["truth"]
    for number, run in enumerate(runs):
        for rule in RULES:
            yield EXPLAINED.recipe(run, rule=rule, first=few)
            yield CONSERVED.recipe(run, rule=rule, first=min(few, 20))
            if not number:
                yield EXPLAINED.recipe(run, rule=rule, first=min(few, 50), untrained=True)
        yield FUNCTIONS.recipe(run, repeats=repeats)
        yield WITHOUT.recipe(run, first=few)
        yield GRADIENT.recipe(run, first=few)
        if not number:
            yield DIFFUSE.recipe(run)
            yield from [WITHOUT_BLEU.recipe(run, first=truth, repeats=repeats)] if truth else []


def function_recipes(settings: Mapping[str, Any], runs: Sequence[study.Recipe]) -> Iterator[study.Recipe]:
    """The analyses of models that notebook 02 reads."""
    for number, run in enumerate(runs):
        yield SCORED.recipe(run, repeats=settings["bootstrap"])
        yield SCORED.recipe(run, repeats=settings["bootstrap"], untrained=True)
        if not number:
            yield EXAMPLES.recipe(run, repeats=settings["bootstrap"])
