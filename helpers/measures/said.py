"""What the tables of notebooks 01 and 02 say, in a sentence or two each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.measures import ranks
from helpers.measures.functions import LABELS, MARGIN, RAREST, RELATIONS, way
from helpers.reading import count, ends, interval, listed, number
from helpers.study import layout


def natural(figures: Path) -> pd.DataFrame:
    """Of published runs of natural text, the paper's width last: encoder heads, those with functions; relations with a head."""
    there = pd.read_csv(layout.Chapter(figures / "natural" / "02_head_functions").table("models_beside"), index_col="model")
    found = there[["with functions", "heads", "positional heads"]].join(there[[*RELATIONS]] >= MARGIN)
    for name, title in (("techdocs", "EN-RU technical documentation"), ("gpu-quarter", "EN-FR europarl at the paper's width")):
        own = pd.read_csv(figures / "summaries" / f"{name}.csv", index_col="what")
        title += f" ([{own.value['minutes']:.0f} GPU minutes](../docs/clusters.md))" * name.startswith("gpu")
        (none, of), place = own.loc["encoder heads, none"][["value", "n"]], own.value["encoder heads, positional"]
        found.loc[title] = [of - none, of, place, *(own.value[f"encoder heads, {relation}"] > 0 for relation in RELATIONS)]
    return found


def on_natural(figures: Path) -> str:
    """Of `natural`: how many encoder heads of each training have a function."""
    rows = natural(figures)
    told = [
        f"{name} {has:.0f} of {of:.0f}{f', {at:.0f} of them positional' * bool(at)}"
        for name, has, of, at, *_ in rows.itertuples()
    ]
    more = f"{rows.dobj.sum()} of the {len(rows)} have an object head"
    return f"Heads with a function in trainings of natural text: {'; '.join(told)}; {more}."


def seeds(each: pd.DataFrame, seed: int, beside: pd.DataFrame, text: str) -> str:
    """Of `measured.by_training` and `snapshots.beside`: which case has a head in most trainings; and what seeds agree on."""
    known = {title for title, _ in each.index}
    rows = [(title, cell) for (title, _), cell in each.cases.items()]
    rows += [(title, cell) for title, cell in beside.cases.items() if title not in known]
    have = {label: [label in cell.split(", ") for _, cell in rows] for label in LABELS.values()}
    most = max(have, key=lambda label: sum(have[label]))
    lack = [str(title).rpartition(", ")[2] for (title, _), has in zip(rows, have[most], strict=True) if not has]
    lack = ["shorter word pieces" if name == "short pieces" else f"*{name}*" for name in lack]
    but = f" (the model with {lack[0]} has none)" if len(lack) == 1 < len(rows) else ""
    told = f"*{way(most)}* has a head in {sum(have[most]) or 'none'} of {count(len(rows), 'training')} of {text} text{but}"
    sets = [frozenset(filter(None, cell.split(", "))) for cell in each.cases[each.index[0][0]]]
    always, some = len(frozenset.intersection(*sets)), len(frozenset.union(*sets))
    if always < some:
        told += f". Of {count(some, 'case')} above the line in some seed of {each.index[0][0]}, {always or 'none'}"
        told += f" {'are' if always > 1 else 'is'} in all {len(sets)}"
        if (~each.xs(seed, level="seed").index.str.contains(", ")).sum() > 1:  # without siblings
            told += ". So we cannot tell whether languages and registers differ"
    higher = (
        f"{(each.difference > 0).sum()} of {count(len(each), 'training')} below (interval above zero: {(each.low > 0).sum()})"
    )
    return f"{told}. Heads with a function cost more than the others of their layer in {higher}."


def kept(figures: Path) -> str:
    """Of the published contests (notebook 06): what choices of heads gain over random ones, on generated text and Europarl."""
    told, names = [], {"gradient, example": "gradient", "syntactic": "syntactic", "positional": "positional"}
    for track in layout.TRACKS:
        chapter = layout.Chapter(figures / track / "06_do_measures_agree")
        gains = pd.read_csv(chapter.table("contest_paired"), index_col=0, header=[0, 1])["random"].astype(float)
        left = pd.read_csv(chapter.table("contest"), index_col="criterion")["heads"].loc[["syntactic"]].iloc[0]
        rows = ((names[name], gains.loc[name]) for name in names)
        told.append((left, *(f"{name} {interval(row.difference, row.low, row.high, '+.1f')}" for name, row in rows)))
    (left, *here), (most, *there) = told
    return (
        f"BLEU gained over random heads, chosen over all layers and trained on: on generated text with {left:.0f} encoder heads"
        f" {listed(here)}; over the tests of Europarl and news, in one training with {most:.0f}, {listed(there)} ([notebook"
        " 6](06_do_measures_agree.ipynb))"
    )


def no_better(table: pd.DataFrame) -> str:
    """Of `measured.syntactic_relations` the most accurate head that stays below the line: why a baseline is needed."""
    below = table[~table["passes +10"]]
    if below.empty:
        return ""
    row = below.loc[below["accuracy held out"].idxmax()]
    right, guess = (number(row[name], "%") for name in ("accuracy held out", "offset baseline"))
    return (
        f"The baseline is what makes this a test: the best {way(LABELS[row.relation, row.direction])} head of {row.model} is"
        f" right for {right} of words, and the fixed offset for {guess}."
    )


def matter(table: pd.DataFrame, elsewhere: pd.DataFrame, text: str, figures: Path) -> str:
    """Of `ranks.places`, and of those of other text: in which models heads with a function stand above others of their layer.

    figures: of all tracks, published, of which it is told how positional score ranks heads.
    """
    if not table.layers.any():
        return "No layer has both heads with a function and heads without."
    every, relevant = table.loc[LOSS, "all models"], table.loc["relevance"].drop(index="all models")
    rows = pd.concat([table.loc[LOSS].drop(index="all models"), elsewhere.loc[LOSS].loc[["all models"]].set_axis([text])])
    generated, natural = graded(figures)
    return (
        f"Of {(every.functional + every.others) / every.layers:.0f} places, heads with a function stand higher by cost in their"
        f" layer: surely in {listed(higher(rows, True))}; undecided in {listed(higher(rows, False))}. By relevance it is"
        f" {ends(relevant.difference, '.1f')} places, surely in {listed(relevant.index[relevant.clear.astype(bool)])}. No head"
        f" of Europarl passes as positional, yet there more positional heads of a layer cost more (rank correlation {natural});"
        f" on generated text it is undecided ({generated})."
    )


def higher(rows: pd.DataFrame, clear: bool) -> list[str]:
    """Of rows of `ranks.places` each model with its places, where the difference is clear or where it is not."""
    return [f"{x.Index} {interval(x.difference, x.low, x.high, '.1f')}" for x in rows.itertuples() if bool(x.clear) == clear]


def graded(figures: Path, measure: str = "positional") -> list[str]:
    """How a score of encoder heads ranks a layer's like their cost, published, on generated and natural text."""
    where = f"kind == 'encoder' and truth == 'leave-one-out' and heads == 'within layers' and measure == '{measure}'"
    paths = (layout.Chapter(figures / track / "06_do_measures_agree").table("predictors") for track in layout.TRACKS)
    rows = [pd.read_csv(path).query(where).iloc[0] for path in paths]
    return [f"{interval(row.rho, row.low, row.high, '.2f')}, {count(int(row.models), 'model')}" for row in rows]


def dearest(every: pd.DataFrame, far: pd.DataFrame, text: str) -> str:
    """Of `measured.lost_by_head` here and of other text: in how many models one layer costs most; its heads with a function."""
    layer = ranks.costliest(every)
    models = [ranks.costliest(own) for part in (every, far) for _, own in part.groupby(level=0)]
    return (
        f"Layer {layer + 1} costs most in {models.count(layer)} of {count(len(models), 'model')} of both texts, and"
        f" {of_layer(every, layer)} heads there has a function (on {text} {of_layer(far, layer)})."
    )


def of_layer(every: pd.DataFrame, layer: int) -> str:
    """Of `measured.lost_by_head`: how many heads of a layer have a function."""
    has = every.has.xs(layer, level="layer")
    return f"{has.sum() or 'none'} of {len(has)}"


def surely(every: pd.DataFrame, far: pd.DataFrame, text: str) -> str:
    """Of `measured.lost_by_head` here and of other text: how many heads with a function surely cost loss, and how many without.

    Of each model, beside the costliest layer.
    """
    layer, told = ranks.costliest(every), []
    for name, own in [*every.groupby(level=0, sort=False), (text, far)]:
        own = own.drop(index=layer, level="layer")
        has, lack = (f"{part.sum()}/{len(part)}" for part in (own.sure[own.has], own.sure[~own.has]))
        told.append(f"{name} {has} ({lack})")
    return f"Outside layer {layer + 1} surely cost, of heads with a function (without): {listed(told)}."


LOSS = "loss without the head"
_KINDS = {"syntactic": RELATIONS, "positional": ("positional",), "rare-token": ("rare",)}


def answer(found: pd.DataFrame, table: pd.DataFrame, rare: pd.DataFrame, every: pd.DataFrame, figures: Path) -> str:
    """The answer of notebook 02: which functions pass (`measured.functions_found`), and whether their heads matter.

    table: `ranks.places`; rare: `measured.rare_table`; every: `measured.lost_by_head`; figures: of all tracks, published.
    """
    own, printed = found[~found.printed], found[found.printed & (found.function == "rare")]
    syntax = own[own.function.isin(RELATIONS)]
    have = [name for name, keys in _KINDS.items() if own.passes[own.function.isin(keys)].any()]
    lack = [f"no {name} head" for name in _KINDS if name not in have]
    if "positional" not in have:
        place, of = natural(figures).iloc[-1][["positional heads", "heads"]]
        lack[lack.index("no positional head")] += f" (Europarl, paper's width: {place:.0f} of {of:.0f})"
    if "rare-token" not in have:
        best, undecided = rare.loc[rare["two rarest"].fillna(0).idxmax()], (own.side[own.function == "rare"] == "open").sum()
        paper = f"; paper {number(RAREST + printed.beyond.max(), '%')}" * bool(len(printed))
        reached = interval(best["two rarest"], best.low, best.high, "%")
        lack[-1] += f" ({f'{undecided} undecided: ' * bool(undecided)}{reached}{paper})"
    told = "Yes" if not lack else "Only in part" if have else "No"
    paper = found.beyond[found.function.isin(RELATIONS) & found.printed]  # whole per cents
    share = f"; paper {ends([(paper > 1e-9).sum(), (paper >= -1e-9).sum()], '.0f')} of {len(paper)}" * bool(len(paper))
    above = f" (by estimate {(syntax.beyond >= -1e-9).sum()} of {len(syntax)} cases{share})"
    parts = [listed(f"{name} heads{above * (name == 'syntactic')}" for name in have)] * bool(have) + [listed(lack)] * bool(lack)
    rows, layer = table.loc[LOSS].drop(index="all models"), ranks.costliest(every)
    sure, unsure = higher(rows, True), higher(rows, False)
    often = f"In {len(sure)} of {len(rows)} models yes, in {len(unsure)} we cannot tell" if sure else "We cannot tell"
    one, two = (graded(figures, name)[1].rpartition(",")[0] for name in ("positional", "syntactic"))
    value, low, high = table.loc[LOSS].loc["all models", ["difference", "low", "high"]]
    pooled = interval(value, low, high, ".1f")
    more = (
        f" Do they matter? {often}** (pooled {pooled} places higher by cost). In layer {layer + 1}, the costliest,"
        f" {of_layer(every, layer)} has one. On Europarl more positional ({one}) and syntactic heads ({two}) cost more"
        f" (rank correlation)."
    )
    return f"**{told}: {', but '.join(parts)}.{more if table.layers.any() else '**'}"


def found(cases: pd.DataFrame, texts: Mapping[str, str]) -> str:
    """The takeaway of the figure of `measured.functions_found`; texts: the like text of the paper by our title, if any."""
    own, alike = cases[~cases.printed], cases.function.isin(RELATIONS)
    told = f"{own.passes[alike].sum()} of {alike[~cases.printed].sum()} syntactic cases pass."
    if texts:
        beyond = cases[alike].pivot(index="case", columns="model", values="beyond")
        paper, ours = (beyond[[*names]].to_numpy() >= -1e-9 for names in (texts.values(), texts))
        luck = (paper.sum(0) * ours.sum(0)).sum() / len(paper)
        told = f"{told[:-1]}; the paper, without tests of significance, counts estimates. Of its {paper.sum()},"
        told += f" {(paper & ours).sum() or 'none'} return by estimate ({luck:.1f} by chance)"
        best = beyond[[*own.model.unique()]]
        never = beyond[paper.any(1) & (best < -1e-9).all(axis=1)]
        if len(never):  # the one that the paper sees most clearly
            there, name = never[[*texts.values()]], never[[*texts.values()]].max(axis=1).idxmax()
            told += f"; {name} (there {listed(f'{100 * x:+.0f}' for x in sorted(there.loc[name]))})"
            told += f" in none of these models ({ends(100 * best.loc[name], '+.0f')})"
        told += "."
    return told


def works(sides: Mapping[str, Iterable[str]]) -> str:
    """For which functions no head passes, because even the best one fails or is undecided: the takeaway of examples."""
    best = {name: "for" if "for" in own else "open" if "open" in own else "against" for name, own in sides.items()}
    parts = {"against": "of these models even the best head fails for {}", "open": "it is undecided for {}"}
    told = [said.format(listed(names)) for side, said in parts.items() if (names := [n for n in best if best[n] == side])]
    return f"{'; '.join(told).capitalize()}." if told else "A head passes for each function."


def counted(trained: pd.DataFrame, random: pd.DataFrame) -> str:
    """Of `measured.count_roles` of trained models and of random weights: how many encoder heads have a function."""
    own, luck = ((table.loc["heads"] - table.loc["none"]).sum() for table in (trained, random))
    of = count(int(trained.loc["heads"].sum()), "encoder head")
    return f"By estimate {own} of {of} have a function, and {luck or 'none'} of as many with random weights."


def others(
    best: pd.DataFrame, rare: pd.DataFrame, sides: Mapping[str, Sequence[str]],
    elsewhere: Mapping[str, Any], luck: Mapping[str, Any],
) -> str:  # fmt: skip
    """Of `measured.positional_table` (encoder heads by model) and `rare_table`: how near the best heads come to the tests.

    elsewhere, luck: `measured.published_scores` of other text, whose best head is told where it is better.
    """
    told = []
    for name, table, column, score, what in (
        ("positional", best, "score", "score", "One offset"), ("rare", rare, "two rarest", "two_rarest", "Rare tokens")
    ):  # fmt: skip
        row, own = table.loc[table[column].fillna(0).idxmax()], list(sides[name])
        parts = [f"{n} {words[n > 1]}" for side, words in _VERDICTS.items() if (n := own.count(side))]
        there, chance = ([frames[name].loc["encoder"][score].max() for frames in x.values()] for x in (elsewhere, luck))
        reached = interval(row[column], row.low, row.high, "%") if "open" in own else number(row[column], "%")
        text = next(iter(elsewhere), "").rpartition(": ")[2]
        more = f"{text}: {number(max(there), '%')}; " if max(there, default=0) > row[column] else ""
        most = number(max([table["best at random"].max(), *chance]), "%")
        told.append(f"{what}: {listed(parts) or 'no verdict'}; the best head reaches {reached} ({more}random weights: {most}).")
    return " ".join(told)


_VERDICTS = {"for": ("passes", "pass"), "against": ("fails", "fail"), "open": ("is undecided", "are undecided")}


CLAIMS = {"positional": "positional", "syntax": "syntactic", "rare": "rare-token"}


def elsewhere(judged: Mapping[str, Any], text: str, which: str, names: Mapping[str, str] = CLAIMS) -> str:
    """Of the verdicts on a published run of other text (`which` models), by claim: number and verdict of each in a line."""
    told = []
    for key, one in ((key, judged[key]) for key in names if judged[key].number):
        near = sum(row.side == "open" and row.value >= row.threshold for row in one.rows) if key == "syntax" else 0
        told.append(f"{names[key]} {one.number}{f' significantly, {near} more by estimate' * bool(near)} (*{one.verdict}*)")
    return f"**{text.capitalize()} text** (published run of {which}): {'; '.join(told)}." if told else ""
