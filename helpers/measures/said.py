"""What the tables of notebooks 01 and 02 say, in a sentence or two each."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.measures.functions import LABELS, MARGIN, RAREST, way
from helpers.measures.measured import PRINTED_RARE
from helpers.measures.table import named
from helpers.reading import count, ends, interval, listed, number


def positional(best: pd.DataFrame) -> str:
    """Of `measured.positional_table`, encoder heads by model: how many models have a positional head, and the best one."""
    row, models = best.loc[best.score.idxmax()], count(len(best), "model")
    top = interval(row.score, row.low, row.high, "%")
    return f"{int(best.verdict.sum())} of {models} have a positional head; the best, of {row.name}, reaches {top}"


def admitted(truths: Mapping[str, pd.DataFrame], shown: bool) -> str:
    """Whether encoder heads change the loss (`worth.leave_one_out` by model) enough for notebook 06 to count correlations."""
    median = ends([frame.loss.xs("encoder").abs().median() for frame in truths.values()], ".4f")
    told = f"the median head changes it, either way, by {median} nats"
    few = "Too few encoder heads change the loss for this to count (notebook 06 asks for half, judges decoder heads)"
    return f"{'Half of the encoder heads or more change the loss' if shown else few}; {told}."


def costliest(truths: Mapping[str, pd.DataFrame], title: str, shares: pd.DataFrame, cost: str = "") -> str:
    """Where the costliest encoder heads are (`worth.leave_one_out` by model), and `relevance_columns` of one model's first."""
    tops = {name: frame.loss.xs("encoder").nlargest(3) for name, frame in truths.items()}
    early = [layer == 0 for top in tops.values() for layer in top.index.get_level_values("layer")]
    layer, head = tops[title].index[0]
    columns = {"alpha_beta": "LRP αβ", "attnlrp ratio": "AttnLRP", "cp ratio": "conservative"}
    own = shares.xs("encoder").loc[layer][[*columns]].rename(columns=columns)
    rank = own.abs().rank(ascending=False).loc[head]
    told = listed(f"{own[rule][head]:.3f} by {rule} (rank {place:.0f})" for rule, place in rank.items())
    return (
        f"Of encoder heads the three costliest of each model are in {sum(early)} of {len(early)} cases in layer 1. The"
        f" costliest of {title}, layer {layer + 1} head {head + 1} ({number(tops[title].iloc[0], '+.3f')} nats{cost}), has"
        f" of its layer's relevance {told}; ranks by size, of {len(own)}."
    )


def carried(table: pd.DataFrame) -> list[str]:
    """Of `measured.few_heads`: how many heads carry more than half of a layer, by the default rule and by the signed ones."""
    told = []
    for which, own in (("default rule", table.rule == "alpha_beta"), ("two signed rules", table.rule != "alpha_beta")):
        mean = table[own].pivot_table(["value", "even"], "heads", "weights")
        row = mean[mean.value.trained > 0.5].iloc[0]
        beside = f"even: {100 * row.even.trained:.3g} %, random weights: {number(row.value.random, '%')}"
        told.append(f"by the {which} {row.name} of {len(mean)} carry {number(row.value.trained, '%')} ({beside})")
    return told


def followed(each: pd.DataFrame) -> tuple[str, int]:
    """Of `ranks.follows_function`: where a difference is above shuffled ones, its interval above 0; models by default rule."""
    own = each.drop(index="all models", level="model", errors="ignore")
    above = own.difference > own.null_high + 1e-9
    clear = ((own.low > 0) & above).unstack("rule").reindex(own.index.unique("model"))
    default, signed = clear["alpha_beta"], clear.drop(columns="alpha_beta")
    small = own.xs("alpha_beta", level="rule")[~default]
    no = []
    for row in small.itertuples():
        few = ", too few to tell" * (row.functional <= 2)  # two heads of eight can be shuffled in 28 ways
        no.append(f"{row.Index} ({count(int(row.functional), 'head')} in {count(int(row.layers), 'layer')}{few})")
    told = [f"by the default rule in {listed(default.index[default])}" + (f", not in {listed(no)}" if no else "")]
    found: dict[str, list[str]] = {}
    for model, row in signed.iterrows():
        by = (
            "both signed rules"
            if row.all()
            else f"{listed(named(rule) for rule in row.index[row])} alone"
            if row.any()
            else "neither"
        )
        found.setdefault(by.removeprefix("relevance, "), []).append(str(model))
    told.append(", ".join(f"by {by} in {listed(models)}" for by, models in sorted(found.items())))
    if half := [f"{named(rule).removeprefix('relevance, ')} in {model}" for model, rule in own.index[above & ~(own.low > 0)]]:
        told.append(f"above shuffled ones only: {listed(half)}")
    return "; ".join(told), int(default.sum())


def corrected(rows: Iterable[Any], titles: Mapping[str, str]) -> str:
    """Of a claim's rows in the ledger: which are on its side after Holm's correction, which by their own interval alone."""
    told: dict[str, list[str]] = {"significantly": [], "by their interval, not after Holm's correction": [], "neither": []}
    for row in rows:
        told[list(told)[0 if row.side == "for" else 1 if row.p < 0.05 else 2]].append(titles[row.label])
    return "; ".join(f"{which}: {listed(names)}" for which, names in told.items() if names)


def beyond(root: Path) -> dict[str, tuple[float, float, float]]:
    """Relevance (default rule) and confidence in published runs of other text and size: rho, low, high by run.

    Under "loss" those of relevance with the loss without a head, where half of the heads change it. `root`: the folder of all
    tracks' figures; what is not there is left out.
    """
    found: dict[str, tuple[float, float, float]] = {}
    tables = root / "natural" / "01_relevance_and_confidence" / "tables"
    for name, path, where in (
        ("Europarl", tables / "relevance_and_confidence.csv", {"kind": "encoder", "rule": "alpha_beta", "weights": "trained"}),
        ("the paper's width", root / "summaries" / "gpu-quarter.csv", {"what": "relevance with confidence, encoder"}),
        ("loss", tables / "truth_agreement.csv", {"truth": "loss, all models", "measure": "alpha_beta", "shown": True}),
    ):
        rows = pd.read_csv(path).rename(columns={"value": "rho"}) if path.exists() else pd.DataFrame(columns=[*where])
        if (own := (rows[[*where]] == pd.Series(where)).all(axis=1)).any():
            found[name] = tuple(rows.loc[own, ["rho", "low", "high"]].iloc[0])
    return found


def larger(path: Path) -> str:
    """Of the stored summary of a model of the paper's size (`docs/clusters.md`): how many encoder heads are positional."""
    if not path.exists():
        return ""
    table = pd.read_csv(path, index_col="what")
    row, minutes = table.loc["encoder heads, positional"], number(table.value.get("minutes"), ".0f")
    told = f"A model of the paper's width, trained on Europarl for {minutes} GPU minutes, has {row.value:.0f} of {row.n:.0f}"
    return f"{told} heads positional ([one training](../docs/clusters.md))."


def alike(each: pd.DataFrame, seed: int) -> str:
    """Of `measured.by_training`: whether models of other languages and registers have heads for the same cases, given seeds."""
    cases = each.cases.map(lambda cell: frozenset(filter(None, cell.split(", "))))
    own = cases.xs(seed, level="seed")
    own = own[[title for title in own.index if own.index[0] + ", " not in title]]  # no siblings
    every = [*own, *(again := cases[own.index[0]]).drop(index=seed)]
    whole = listed(f"*{way(label)}*" for label in LABELS.values() if all(label in one for one in every))
    whole += f" in all {len(every)} trainings of this size" if len(every) > 1 else " in the one training"
    if len(own) < 2:
        return f"one model, no comparison; {whole}"
    told = f"heads for {listed(map(len, own))} of {len(LABELS)} cases"
    verdict = "not decided" if len({*again}) > 1 else "alike" if len({*own}) == 1 else "not alike"
    if len(again) > 1:
        same = "the same ones" if len({*again}) == 1 else "not the same ones"
        told += f", against {listed(map(len, again))} for {len(again)} seeds of one model, {same}"
    return f"{verdict}: {told}; {whole}"


def also(text: str, each: pd.DataFrame, beside: pd.DataFrame) -> str:
    """Of cases named in `text` (`alike`): whether small models (`measured.by_training`) and siblings (`beside`) have them."""
    told, few = "", dict[str, list[str]]()
    small = each.cases[each.index.get_level_values("model").str.contains(", ")]
    for relation, label in ((key[0], label) for key, label in LABELS.items() if f"*{way(label)}*" in text):
        told += f", in {sum(label in cell.split(', ') for cell in small)} of {len(small)} small ones" * bool(len(small))
        gains = beside[relation] if relation in beside else pd.Series(dtype=float)  # of the better direction
        for model, gain in gains[gains < MARGIN - 1e-9].items():
            few.setdefault(str(model).rpartition(", ")[2], []).append(f"{100 * gain:+.0f}")
    return told + "".join(f", not with *{model}* ({listed(points)} points)" for model, points in few.items())


def cases(table: pd.DataFrame, texts: Mapping[str, str], each: pd.DataFrame) -> str:
    """How many cases pass and lie above the line, here and in print, and which way a relation never goes.

    Parameters
    ----------
    table : pandas.DataFrame
        `measured.syntactic_relations`, with a column passes: significantly, by the claim's rule.
    texts : mapping of title -> text of the paper's Table 1 ("WMT" or "OpenSubtitles")
        The EN-RU models, if any.
    each : pandas.DataFrame
        `measured.by_training`, whose further seeds are looked at too.
    """
    passes, above, there = table.passes, table["passes +10"], printed_above(table)
    told = [f"{passes.sum()} of {len(table)} cases pass (Holm, 5 %), {above.sum()} lie above the line."]
    if texts:
        theirs = pd.concat([there[text][table.model == title] for title, text in texts.items()])
        own, sure = above[theirs.index], passes[theirs.index]
        both = f"{(sure & theirs).sum()} and {(own & theirs).sum()} are among the paper's {theirs.sum()}"
        told.append(f"Of {len(own)} EN-RU cases {sure.sum()} pass, {own.sum()} lie above; {both}.")
    labels = pd.Series([LABELS[key] for key in zip(table.relation, table.direction, strict=True)], table.index)
    share, of = above.groupby(labels, sort=False).mean(), table.model.nunique()
    for one, other in zip(list(LABELS.values())[::2], list(LABELS.values())[1::2], strict=True):
        if sorted((share.get(one, 0), share.get(other, 0))) == [0, 1]:
            always, never = (one, other) if share[one] else (other, one)
            cells = each.cases[each.index.isin(table.model.unique(), level="model")]
            seeds = sum(never in cell.split(", ") for cell in cells)
            more = f" (another seed: {seeds})" * bool(seeds)
            told.append(f"{way(always).capitalize()} lies above in {of} of {count(of, 'model')}, {way(never)} in none{more}.")
    return " ".join(told)


def printed_above(table: pd.DataFrame) -> pd.DataFrame:
    """Whether the paper's head lies at or above the line, a row a case of `measured.syntactic_relations`, a column a text."""
    texts = ("WMT", "OpenSubtitles")
    return pd.DataFrame({x: table[f"printed accuracy, {x}"] - table[f"printed offset, {x}"] for x in texts}) >= MARGIN - 1e-9


def directions(table: pd.DataFrame) -> str:
    """In how many pairs of model and relation both directions lie above the line, one, or none; and how many cases below."""
    here = table["passes +10"].groupby([table.model, table.relation]).sum()
    there = printed_above(table[table.model == table.model.iloc[0]]).groupby(table.relation).all()
    both, one, none = (int((here == number).sum()) for number in (2, 1, 0))
    return (
        f"The best head lies below the baseline in {table['below offset'].sum()} of {len(table)} cases (paper, EN-RU: none)."
        f" Both directions lie above the line in {both} of {len(here)} pairs of model and relation, one in {one}, none in"
        f" {none}; in the paper both in {int(there.to_numpy().sum())} of {there.size}."
    )


def matter(judged: Mapping[str, Any], follows: pd.DataFrame | None) -> str:
    """Whether heads that matter have functions: of the claims on relevance and pruning, and `ranks.follows_function`."""
    more, stay = judged["relevant-functions"], judged["functions-stay"]
    if not more.number or not stay.number or follows is None:
        return "not in this run"
    row, own = follows.iloc[0], follows[follows.model == follows.model.iloc[0]]  # a row a rule, of all models if any
    if not row.layers:
        return "no layer has heads with a function and heads without"
    hits, of = own.top - own.top_none, (row.functional + row.others) / row.layers  # of: heads of a layer
    having, luck = row.layers + row.left_out / of, (row.functional + row.left_out) / of
    rules = f"by the other rules of relevance in {listed(f'{hit:.0f}' for hit in hits[1:])}; " * (len(hits) > 1)
    return (
        f"{'mostly' if 2 * hits.iloc[0] > having else 'seldom'}: in {hits.iloc[0]:.0f} of the {having:.0f}"
        f" layers with a functional head the most relevant head is one ({luck:.1f} expected by chance),"
        f" {row.top - having:.0f} layers have none; {rules}on average functional heads have more relevance than"
        f" the others of their layer, by {more.number} of its mean (*{more.verdict}*,"
        f" [notebook 1](01_relevance_and_confidence.ipynb)); pruning keeps them longest in"
        f" {re.sub('^0 ', 'none ', stay.number)} significantly (*{stay.verdict}*, [notebook 3](03_l0_pruning.ipynb))"
    )


def headline(verdict: str, table: pd.DataFrame, rule: str, others: Mapping[str, int]) -> str:
    """The answer in a line: cases of `measured.syntactic_relations` that pass, by `needed`, and heads of other functions."""
    short = {"seen": "yes", "partly": "in part", "no": "no"}.get(verdict, verdict)
    counts = listed(count(number, name) if number else f"no {name}" for name, number in others.items())
    cases = f"{table.passes.sum()} of {len(table)} cases pass, {rule.partition(',')[0]} ({table['passes +10'].sum()} above"
    return f"Syntax {short}: {cases} the line by estimate). {counts.capitalize()}."


def needed(share: float, of: int, passed: int, undecided: int) -> str:
    """How many cases the rule needs, and whether those that are undecided could still make up for it."""
    least = math.ceil(share * of - 1e-9)
    if passed >= least:
        return f"{least} needed"
    far = "out of reach even if all" if passed + undecided < least else "within reach if enough of the"
    return f"{least} needed, {far} {undecided} undecided passed"


def rare(table: pd.DataFrame) -> str:
    """Of `measured.rare_table`: the best heads on each register, in any layer and in the first, beside the paper's."""
    told = []
    texts = pd.Series([printed_text(str(title)) for title in table.index], table.index)
    for text, part in table.groupby(texts, sort=False):
        row = part.iloc[0]
        top = ends(part["two rarest"], "%") if len(part) > 1 else interval(row["two rarest"], row.low, row.high, "%")
        paper = f"{'more than ' * (text == 'WMT')}{number(PRINTED_RARE[str(text)]['two'], '%')}"
        kinds = {next((kind for kind in ("news", "subtitles") if kind in str(title)), str(title)) for title in part.index}
        told.append(f"{listed(sorted(kinds))} {top} in any layer, {ends(part['layer 1'], '%')} in layer 1 (paper: {paper})")
    several, above = count(len(table), "model"), int((table["two rarest"] > RAREST).sum())
    return f"best heads: {'; '.join(told)}; {above} of {several} above {number(RAREST, '%')}"


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


def sizes(frames: Mapping[str, pd.DataFrame]) -> str:
    """Which models other text has (tables on (kind, layer, head) by "text, title"), and how many encoder layers and heads."""
    heads = [frame.loc["encoder"].index for frame in frames.values()]
    shapes = sorted({f"{one.unique('layer').size} × {one.unique('head').size}" for one in heads})
    return f"{listed(title.partition(', ')[2] for title in frames)}, {listed(shapes)} encoder heads, one training each"


def elsewhere(judged: Mapping[str, Any], text: str, which: str, names: Mapping[str, str] = CLAIMS) -> str:
    """Of the verdicts on a published run of other text (`which` models), by claim: number and verdict of each in a line."""
    told = []
    for key, one in ((key, judged[key]) for key in names if judged[key].number):
        near = sum(row.side == "open" and row.value >= row.threshold for row in one.rows) if key == "syntax" else 0
        told.append(f"{names[key]} {one.number}{f' significantly, {near} more by estimate' * bool(near)} (*{one.verdict}*)")
    return f"**{text.capitalize()} text** (published run of {which}): {'; '.join(told)}." if told else ""
