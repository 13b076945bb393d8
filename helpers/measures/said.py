"""What the tables of notebook 02 say, in a sentence or two each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.measures.functions import LABELS, POSITIONAL, RAREST, WORDS
from helpers.measures.measured import PRINTED_RARE
from helpers.reading import count, ends, interval, listed, number


def positional(best: pd.DataFrame) -> str:
    """Of `measured.positional_table`, encoder heads by model: how many models have a positional head, and the best one."""
    row = best.loc[best.score.idxmax()]
    top = interval(row.score, row.low, row.high, "%")
    return f"{int(best.verdict.sum())} of {count(len(best), 'model')} have one; the best, of {row.name}, reaches {top}"


def no_reason(table: pd.DataFrame) -> str:
    """Of `snapshots.beside`: whether a change of size or setting makes a positional head; empty where one does."""
    others = table.iloc[1:]
    if others.empty or others.positional.max() >= POSITIONAL:
        return ""
    names = listed(name.removeprefix(f"{table.index[0]}, ") for name in others.index)
    told = f"In {count(len(others), 'sibling')} ({names}) the best stays at {ends(others.positional, '%')}"
    return f"{told}, so none of these explains it."


def larger(path: Path) -> str:
    """Of the stored summary of a model of the paper's size (`docs/clusters.md`): how many encoder heads are positional."""
    if not path.exists():
        return ""
    row = pd.read_csv(path, index_col="what").loc["encoder heads, positional"]
    told = f"A model of the paper's size, trained on Europarl, has {row.value:.0f} of {row.n:.0f}"
    return f"{told} ([one training](../docs/clusters.md))."


def alike(table: pd.DataFrame) -> str:
    """Of `measured.syntactic_relations`: whether models of other languages and registers have heads for the same cases."""
    cases = table.assign(case=[way(row.relation, row.direction) for row in table.itertuples()])
    passes, scores = (cases.pivot_table(name, "case", "model", sort=False) for name in ("passes +10", "accuracy held out"))
    if passes.shape[1] < 2:
        return ""
    whole, own = passes.index[passes.all(axis=1)], [f"{n:.0f}" for n in passes.sum()]
    same = all((passes[name] == passes.iloc[:, 0]).all() for name in passes)
    spread = (scores.max(axis=1) - scores.min(axis=1)).nlargest(2).index
    wide = listed(f"*{case}* from {ends(scores.loc[case], '%')}" for case in spread)
    every = f"{'only ' * (0 < len(whole) < len(passes))}{listed(f'*{case}*' for case in whole)} in all of them"
    return (
        f"{'alike' if same else 'not alike'}: {listed(own)} of {len(passes)} cases pass by estimate, {every}; the best head's"
        f" share ranges for {wide}"
    )


def way(relation: str, direction: str) -> str:
    """A case in words: "verb→object"."""
    return "→".join(WORDS[part] for part in LABELS[relation, direction].split("→"))


def needed(share: float, of: int, passed: int, undecided: int) -> str:
    """How many cases the rule needs, and whether those that are undecided could still make up for it."""
    least = math.ceil(share * of - 1e-9)
    if passed >= least:
        return f"needed: {least} of {of}"
    far = "out of reach even if all" if passed + undecided < least else "within reach if enough of the"
    return f"needed: {least} of {of}, {far} {undecided} undecided passed"


def rare(table: pd.DataFrame) -> str:
    """Of `measured.rare_table`: how many models have a rare-token head, and the best one beside the paper's."""
    row = table.sort_values("two rarest", ascending=False).iloc[0]
    top, bar = interval(row["two rarest"], row.low, row.high, "%"), number(PRINTED_RARE["WMT"], "%")
    open_ = f" and does not exclude the paper's {bar}" if row["two rarest"] <= RAREST < row.high else ""
    where = f", in layer {row.layer:.0f} instead of 1" if row.layer > 1 else ", in layer 1 as in the paper"
    told = f"{int((table['two rarest'] > RAREST).sum())} of {count(len(table), 'model')} have one by estimate; the best, of"
    return f"{told} {row.name}, reaches {top}{open_}{where}"


def cross(best: pd.DataFrame, every: pd.DataFrame) -> str:
    """Of the best cross head of each model and all of them (`Alignment.frame`): which source token they align with."""
    fed = every.loc[every.fed.groupby("model", sort=False).idxmax()]
    layers = sorted({layer + 1 for layer in fed.index.get_level_values("layer")})
    place = f", another one in layer {layers[0]}," if len(layers) == 1 else ""
    return (
        f"the best cross head aligns with the token about to be written for {ends(best.predicted, '%')} and with the token just"
        f" read for {ends(best.fed, '%')}; the best head for the latter{place} reaches {ends(fed.fed, '%')}"
    )


def decoder(own: pd.DataFrame) -> str:
    """Of `measured.positional_table`, decoder heads by model: does one look at a fixed offset?"""
    offsets = sorted({f"{x:+.0f}" for x in own.offset})
    where = "its own position" if offsets == ["+0"] else f"one offset ({', '.join(offsets)})"
    return (
        f"Decoder self-attention: {int(own.verdict.sum())} of {count(len(own), 'model')} have a positional head; the best looks"
        f" at {where} for {ends(own.score, '%')} of tokens (best with random weights {ends(own['best at random'], '%')})."
    )


def elsewhere(judged: Mapping[str, Any], text: str, profile: str) -> str:
    """Of the verdicts on a published run of other text, by claim: number and verdict of each in a line."""
    names = {"positional": "positional", "syntax": "syntactic", "rare": "rare-token"}
    told = [f"{name} {judged[key].number} (*{judged[key].verdict}*)" for key, name in names.items() if judged[key].number]
    return f"**{text.capitalize()} text** (published run of profile {profile}): {'; '.join(told)}." if told else ""
