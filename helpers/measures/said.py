"""What the tables of notebooks 01 and 02 say, in a sentence or two each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
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


def followed(each: pd.DataFrame) -> str:
    """Of `ranks.follows_function` by (model, rule): in which models its difference lies above functions shuffled in layers."""
    own = each.drop(index="all models", level="model", errors="ignore")
    clear = ((own.low > 0) & (own.difference > own.null_high + 1e-9)).unstack("rule").reindex(own.index.unique("model"))
    default, signed = clear["alpha_beta"], clear.drop(columns="alpha_beta").all(axis=1)
    small = own.xs("alpha_beta", level="rule")[~default]
    no = []
    for row in small.itertuples():
        few = ", too few to tell" * (row.functional <= 2)  # two heads of eight can be shuffled in 28 ways
        no.append(f"{row.Index} ({count(int(row.functional), 'head')} in {count(int(row.layers), 'layer')}{few})")
    told = f"above shuffled functions in {listed(default.index[default])}" + (f", not in {listed(no)}" if no else "")
    return told + (f"; by both signed rules in {listed(too)} too" if len(too := default.index[signed & ~default]) else "")


def corrected(rows: Iterable[Any], called: Mapping[str, str]) -> str:
    """Of a claim's rows in the ledger: which are on its side after Holm's correction, which by their own interval alone."""
    told: dict[str, list[str]] = {
        "after Holm's correction too": [], "not after Holm's correction": [], "not by the interval either": []
    }  # fmt: skip
    for row in rows:
        told[list(told)[0 if row.side == "for" else 1 if row.p < 0.05 else 2]].append(called[row.label])
    return "; ".join(f"{which}: {listed(names)}" for which, names in told.items() if names)


def neighbours(frames: Mapping[str, pd.DataFrame]) -> str:
    """Of heads by model (`Positional.frame`): the best encoder heads at each neighbour, how many look at the token itself."""
    every = pd.concat({title: frame.xs("encoder") for title, frame in frames.items()}, names=["model"])
    best = every.groupby(["offset", "model"]).score.max()
    told = [f"at {at:+d} ({ends(best[at], '%') if at in best.index.unique('offset') else 'none'})" for at in (-1, 1)]
    itself = (every.offset == 0).groupby(level="model").sum()
    return f"best heads {listed(told)}; {ends(itself)} heads per model look most often at the token itself"


def no_reason(table: pd.DataFrame) -> str:
    """Of `snapshots.beside`: whether a change of size or setting makes a positional head; empty where one does."""
    others = table.iloc[1:]
    if others.empty or others.positional.max() >= POSITIONAL:
        return ""
    told = f"In none of {count(len(others), 'sibling')} does a head pass (best {ends(others.positional, '%')})"
    return f"{told}; combinations of their changes were not tried."


def larger(path: Path) -> str:
    """Of the stored summary of a model of the paper's size (`docs/clusters.md`): how many encoder heads are positional."""
    if not path.exists():
        return ""
    table = pd.read_csv(path, index_col="what")
    row, minutes = table.loc["encoder heads, positional"], number(table.value.get("minutes"), ".0f")
    told = f"A model of the paper's width, trained on Europarl for {minutes} GPU minutes, has {row.value:.0f} of {row.n:.0f}"
    return f"{told} heads positional ([one training](../docs/clusters.md))."


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
    """Of `measured.rare_table`: the best head on each register beside the paper's, and how many models pass by our rule."""
    told: dict[str, str] = {}
    for title, row in table.sort_values("two rarest", ascending=False).iterrows():
        text, top = printed_text(str(title)), interval(row["two rarest"], row.low, row.high, "%")
        paper = f"{text} {'more than ' * (text == 'WMT')}{number(PRINTED_RARE[text], '%')}"
        told.setdefault(text, f"{title} {top} (layer {row.layer:.0f}; paper, {paper})")
    passed = f"{int((table['two rarest'] > RAREST).sum())} of {count(len(table), 'model')} pass by estimate"
    return f"best heads: {listed(told.values())}; {passed} (rule: {number(RAREST, '%')} in all)"


def printed_text(title: str) -> str:
    """Which text of the paper is of the register of a model."""
    return "OpenSubtitles" if "subtitles" in title else "WMT"


def cross(best: pd.DataFrame, every: pd.DataFrame) -> str:
    """Of the best cross head of each model and all of them (`Alignment.frame`): which source token they align with."""
    fed = every[every.fed > every.predicted]
    most = ""
    if len(fed):
        (model, _, layer, head), row = fed.fed.idxmax(), fed.loc[fed.fed.idxmax()]
        most = f", most {model} layer {layer + 1} head {head + 1} ({100 * row.fed:.0f} against {100 * row.predicted:.0f} %)"
    return (
        f"best cross heads: {ends(best.predicted, '%')} with the token about to be written, {ends(best.fed, '%')} with that fed"
        f" in; {len(fed)} of {count(len(every), 'head')} align more with that fed in{most}"
    )


def decoder(own: pd.DataFrame) -> str:
    """Of `measured.positional_table`, decoder heads by model: does one look at a fixed offset?"""
    offsets = sorted({f"{x:+.0f}" for x in own.offset})
    where = "its own position" if offsets == ["+0"] else f"one offset ({', '.join(offsets)})"
    return (
        f"Decoder self-attention: {int(own.verdict.sum())} of {count(len(own), 'model')} have a positional head; the best looks"
        f" at {where} for {ends(own.score, '%')} of tokens (best with random weights {ends(own['best at random'], '%')})."
    )


CLAIMS = {"positional": "positional", "syntax": "syntactic", "rare": "rare-token"}


def elsewhere(judged: Mapping[str, Any], text: str, profile: str, names: Mapping[str, str] = CLAIMS) -> str:
    """Of the verdicts on a published run of other text, by claim: number and verdict of each in a line."""
    told = []
    for key, one in ((key, judged[key]) for key in names if judged[key].number):
        near = sum(row.side == "open" and row.value >= row.threshold for row in one.rows) if key == "syntax" else 0
        told.append(f"{names[key]} {one.number}{f' significantly, {near} more by estimate' * bool(near)} (*{one.verdict}*)")
    return f"**{text.capitalize()} text** (small model, published run of profile {profile}): {'; '.join(told)}." if told else ""
