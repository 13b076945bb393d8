"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd
import torch
from scipy.stats import fisher_exact, hypergeom

from helpers import study
from helpers.drawing import KIND_TITLES
from helpers.measures import snapshots
from helpers.measures.removal import RANDOM
from helpers.measures.table import MEASURES
from helpers.methods.l0 import runs
from helpers.methods.l0.figures import FEW
from helpers.methods.l0.tables import ALL, LOSS, NAMES, PRINTED_ENCODER, printed_by_kind
from helpers.reading import count, ends, interval, listed, number
from helpers.runs import subjects
from helpers.scores.intervals import over_runs
from helpers.study import layout

SURVIVAL = "kept by L0"
SURE = 0.05
NEVER = "worth from the start"
TEXTS = {"controlled": "generated", "natural": "natural"}  # what people call a corpus
PAPER = next((-x, kept, max(one)) for one in PRINTED_ENCODER.values() for kept, x in one.items() if x)  # BLEU, heads, of all
_CALLED = {
    RANDOM: "random heads", NAMES["l0"]: "L0, gates and training at once", NAMES["map"]: "L0's heads, trained as the others",
    NAMES["gradual"]: "gradual pruning", SURVIVAL: "how long L0 keeps it",
}  # fmt: skip


def named(criterion: str) -> str:
    """What people call a way to choose heads: a criterion of the settings, a measure or a method."""
    measure = runs.called(criterion)
    return _CALLED.get(measure) or (MEASURES[measure].title if measure in MEASURES else measure)


def chosen(run: str) -> str:
    """What people call the way in which a run chose its heads: its name without the penalty, draws in words."""
    name, _, draw = run.partition(" #")
    bare = named(name.rpartition(" ")[0] or name)
    return f"{bare}, draw {draw or 1}" if draw or bare == named(RANDOM) else bare


def asked(kinds: Iterable[str]) -> str:
    """Which heads a sweep asks about."""
    found = [KIND_TITLES[kind].removesuffix(" self") for kind in kinds]
    return "heads of all kinds" if len(found) == len(KIND_TITLES) else f"{listed(found)} heads"


def decoder_of(subject: subjects.Subject) -> str:
    """Layers × heads of a model's decoder."""
    own = [heads for (kind, _), heads in subject.kept.items() if kind == "decoder"]
    return f"{len(own)} × {max(map(len, own), default=0)}"


def decoder_in(profile: str, name: str) -> str:
    """The same of a profile's model by its name in a file, which ends in its sibling's if it is one."""
    settings = study.settings(profile)
    for one in settings["siblings"]:
        if name.endswith(f"-{one['name']}"):
            settings = study.changed(settings, study.parse_overrides(one["changes"]))
    return snapshots.shape(settings)["decoder"]


def called(title: str, table: pd.DataFrame) -> str:
    """A model's title, with its first test set where that has a name of its own."""
    split = table.index[0][1]
    return f"{title}, {split.partition('_')[0].capitalize()}" if "_" in split else title


def without(tables: Mapping[str, pd.DataFrame]) -> str:
    """Of `tables.quality` with `tables.worth` of first trainings: what is left beside models without encoder heads."""
    told = "; ".join(f"{called(title, table)}: {later}" for title, table in tables.items() if (later := never(table)))
    return "Brackets: decoders. White: one training." + f" Right: {told}." * bool(told)


def lead(half: pd.DataFrame, decoders: Mapping[str, str], least: float, ways: Mapping[str, pd.DataFrame]) -> str:
    """The answer: what half of the encoder heads or more cost, by decoder.

    Parameters
    ----------
    half : pandas.DataFrame
        `tables.half_left` of all models.
    decoders : mapping of title -> layers × heads
    least : float
        BLEU that encoder attention must be worth: with less a model is hollow and does not count.
    ways : mapping of title -> `choices`, with left and total (heads)
    """
    _, full, groups = _grouped(half, decoders, least)
    if not groups:
        return "No model whose encoder heads are worth enough lost half of them."
    names = [
        f"{one.decoder.iloc[0]} ({'layers × heads; ' * (at == 0)}{count(len(one), 'model')})" for at, one in enumerate(groups)
    ]
    costs = listed(f"{ends(-one.change, '.1f')} with {name}" for one, name in zip(groups, names, strict=True))
    pruning = f"he first pruning past half ({ends(full.gone, '%')}) of encoder heads costs"
    told = f"T{pruning}, in BLEU, {costs}."
    if len(groups) > 1 and _rising(groups, "change", "change"):
        told = f"**The smaller the decoder, the more BLEU t{pruning}: {costs}.** A correlation:"
        told += " text, encoder and training differ too."
    lost = [(-bleu, max(one) - left) for one in PRINTED_ENCODER.values() for left, bleu in one.items() if bleu]
    return f"{told} Printed with 6 × 8: {listed(f'{bleu:g} ({gone} of 48)' for bleu, gone in lost)}. {_chosen(ways)}".strip()


def besides(half: pd.DataFrame, decoders: Mapping[str, str], least: float) -> str:
    """What the answer (`lead`) leaves out: other test sets, hollow models, and the cost at the paper's share of heads."""
    first, full, groups = _grouped(half, decoders, least)
    apart = "do not touch" if _rising(groups, "change_high", "change_low") else "overlap"
    told = [f"Intervals of models with small and with large decoders {apart}."] * (len(groups) > 1)
    for (title, split), row in half.drop(first.index).iterrows():
        near = full[full.decoder != decoders[title]]
        touching = ((near.change_low <= row.change_high) & (near.change_high >= row.change_low)).any()
        touches = ", an interval that touches the other group's" if touching else ""
        told.append(f"On another test set, {split}, a model with {decoders[title]} loses {_cost(row)}{touches}.")
    own, (_, few, whole) = -full["at printed"].dropna(), PAPER
    if len(own):
        told.append(
            f"At {whole - few} of {whole}, between two prunings, ours lose {ends(own, '.1f')} ({count(len(own), 'model')})."
        )
    for (title, _), row in first[first.worth < least].iterrows():
        told.append(f"Not counted: {title} ({row.decoder}) loses {_cost(row)}, but is *hollow*: all its encoder heads together")
        told.append(f"are worth {row.worth:.1f} BLEU, and our rule asks {least:g}.")
    return " ".join(told)


def _grouped(half: pd.DataFrame, decoders: Mapping[str, str], least: float) -> tuple[pd.DataFrame, pd.DataFrame, list]:
    """Each model's first test set; of these, models that are not hollow; and these by decoder, the smallest first."""
    first = half.groupby(level="model", sort=False).head(1)
    titles = first.index.get_level_values("model")
    first = first.assign(decoder=[decoders[title] for title in titles], gone=1 - first["heads"] / first.total)
    full = first[first.worth >= least]
    by = full.decoder.map(lambda size: math.prod(map(int, size.split(" × "))))
    return first, full, [rows for _, rows in full.groupby(by)]


def _rising(groups: Sequence[pd.DataFrame], upper: str, lower: str) -> bool:
    """Whether in each group all of one column is below all of another column in the next group."""
    return all(one[upper].max() < other[lower].min() for one, other in pairwise(groups))


def _cost(row: pd.Series) -> str:
    return interval(-row.change, -row.change_high, -row.change_low, ".2f")


def _chosen(ways: Mapping[str, pd.DataFrame]) -> str:
    """How gradient importance chose beside gates, if both did."""
    name = named("gradient, example")
    rows = [row for table in ways.values() for row in table[table.index == name].itertuples()]
    found = [f"{interval(row.gap, row.low, row.high, '+.2f')} ({count(int(row.of), 'training')})" for row in rows]
    return f"{name.capitalize()} instead of gates: {listed(found)} BLEU." if found else ""


def short(ways: Mapping[str, pd.DataFrame], saved: str) -> str:
    """What to do, of the same and of what removal saves."""
    rows = [row for table in ways.values() for row in table[table.index == named("gradient, example")].itertuples()]
    cheap = bool(rows) and not any(row.high < 0 or (row.high != row.high and row.gap < -LOSS) for row in rows)
    tried = listed(f"{row.total - row.left:.0f} of {row.total:.0f}" for row in rows)
    told = f"Rank encoder heads by {named('gradient, example')}" if cheap else "Let gates choose the encoder heads"
    told += "; remove a quarter, half and three quarters of them from the same model; train each on; keep the smallest whose"
    told += f" loss you accept{f' (tried with {tried} gone)' * cheap}. Models with a smaller decoder lost more, a correlation;"
    told += " hollow ones do not count."
    return f"{told} {saved}"


def never(table: pd.DataFrame) -> str:
    """Of one training's `tables.quality` with `tables.worth`: with how many heads left a model is no better than one trained
    without encoder heads, else what the fewest keep of the gap to it; empty where no model was trained so."""
    if NEVER not in table or table[NEVER].isna().all():
        return ""
    own, share = table.xs(table.index.get_level_values("test set")[0], level="test set"), "share from the start"
    rows = own[own.method == NAMES["l0"]].sort_values("heads", ascending=False)
    even = rows[rows[f"{share}_low"] <= 0]
    if even.empty:
        return f"with {rows['heads'].iloc[-1]:.0f} left keeps {_share(rows.iloc[-1], share)} of what heads add"
    first, than = even.iloc[0], "trained without heads"
    if first[f"{share}_high"] < 0:
        return f"with {first['heads']:.0f} left worse than {than}"
    return f"with {first['heads']:.0f} left no better than {than}"


def answer(table: pd.DataFrame, corpus: str, decoders: Mapping[str, str], least: float) -> pd.DataFrame:
    """Of `tables.half_left` of models of a corpus and of others: a line a model and test set, for people, small decoders first;
    `decoders` and `least` as of `lead`."""
    rows = []
    for (model, split), row in table.iterrows():
        several = table.index.get_level_values("model").tolist().count(model) > 1
        trained = f", mean of {row.trainings:.0f} trainings" if row.get("trainings", 1) > 1 else ""
        alone = f" (first training, {row.get('heads_first', row['heads']):.0f} heads)" if trained else ""
        known, called = pd.notna(row.get(NEVER)), split.partition("_")[0].capitalize() if "_" in split else split
        whose = model if model.startswith(tuple(TEXTS.values())) else f"{TEXTS[corpus]}, {model}"
        rows.append({
            "model": f"{whose}, {called}" if several or "_" in split else whose,
            "decoder": decoders[model],
            "heads": f"{round(row['heads'], 1):g} of {row.total:.0f}{trained}",
            "change": interval(row.change, row.change_low, row.change_high, "+.2f"),
            "worth": f"{row.worth:.1f}" + (" (hollow)" if row.worth < least else ""),
            "share": _share(row),
            "never": f"{_share(row, 'share from the start')}, of {row[NEVER]:.1f} BLEU{alone}" if known else "not trained",
        })  # fmt: skip
    return pd.DataFrame(rows).sort_values("decoder", kind="stable") if rows else pd.DataFrame(rows)


def _share(row: pd.Series, name: str = "share") -> str:
    """With a decimal where the estimate would else equal an end of its interval."""
    own = [row[name], row[f"{name}_low"], row[f"{name}_high"]]
    first, *others = (number(value, "%") for value in own)
    return interval(*own, ".1%" if first in others else "%")


def from_scratch(scratch: pd.DataFrame, judged: Sequence[Any] = ()) -> str:
    """Of `tables.against_scratch`: how often a head map is better from scratch than pruned; `judged`: the verdict's rows, which
    say how often that is so after Holm's correction."""
    if scratch.empty:
        return "No head map was trained from scratch."
    whose, steps = listed(scratch.index.unique(0)), f"(pruned in {scratch.steps_pruned.max():,.0f} steps)"
    told = f"Of {len(scratch)} head maps of one training of {whose} {steps}"
    if not judged:
        return f"{told} {(scratch.change < 0).sum()} have more BLEU from scratch."
    lost = [interval(-row.value, -row.high, -row.low, ".1f") for row in judged if row.side == "against"]
    won, open_ = (sum(row.side == side for row in judged) for side in ("for", "open"))
    better = f"{len(lost) or 'none'} are surely better from scratch{f' (by {listed(lost)} BLEU)' if lost else ''}"
    return f"{told} {better}, {won or 'none'} pruned; {open_ or 'none'} undecided."


def by_kind(table: pd.DataFrame) -> str:
    """Of `tables.kept_by_kind`: whether encoder heads go first, and whether cross-attention goes after the decoder's heads."""
    encoder, decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in KIND_TITLES)
    part, first = ~((cross == 1) & (decoder == 1)), ((encoder < decoder) & (encoder < cross)).sum()
    said = f"Encoder heads go first in {first} of {count(len(table), 'pruning')}, one training a model"
    if not table["starts alike"].all():
        return f"{said}. Only encoder attention starts from zero: no order follows."
    if part.any():
        last, told = (cross > decoder)[part].sum(), table[part]
        both = [[[row[kind], row[f"{kind}_total"] - row[kind]] for kind in ("decoder", "cross")] for _, row in told.iterrows()]
        chance = min(fisher_exact(one)[1] for one in both)
        sure = f"too few to tell (Fisher's p ≥ {chance:.2f})" if chance >= SURE else "in one surely"
        said += f"; cross-attention last in {last} of {len(told)} in which it or the decoder loses any: {sure}"
    return f"{said}."


def _apart(table: pd.DataFrame) -> str:
    return f"{ends((table.decoder - table.cross).abs(), '.0f')} of {ends(table.cross_total, '.0f')}"


def functions(table: pd.DataFrame) -> tuple[str, str]:
    """Of `tables.retained_more_than_chance`: do heads with a function stay more often than others? And could the test tell?"""
    of_any = table[table.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay.", ""
    of_all, of_any = of_any, of_any[of_any.had >= min(FEW, of_any.had.max())]
    sure, above, rest = (of_any.p_holm < SURE).sum(), (of_any.stay > of_any.expected).sum(), len(of_all) - len(of_any)
    below = (of_any.stay < of_any.expected).sum()
    told = f"Of {len(of_any)} prunings of models with {FEW} or more such heads, {above} keep more of them than chance expects,"
    told += f" {below} fewer, {len(of_any) - above - below} as many; significantly more in {sure or 'none'}."
    if rest:
        told += f" ({rest} more, of models with fewer such heads, say little and are not counted.)"
    most = of_any[["had", "heads"]].min(axis=1)  # the most that could stay
    could = int((hypergeom.sf(most - 1, of_any.of, of_any.had, of_any["heads"]) < SURE / len(table)).sum())
    power = "The test can hardly tell: even if as many such heads stayed as there is room for, only"
    power += f" {could} of these {len(of_any)} would pass it."
    return told, power if could < len(of_any) else ""


def kinds_elsewhere(chapter: layout.Chapter, corpus: str, brief: str = "") -> str:
    """What a published run's `tables.kept_by_kind` says of decoder heads and cross-attention; empty where there is none;
    `brief`: why its verdict is none."""
    if not (path := chapter.table("fig9_heads_by_kind")).exists():
        return ""
    table = pd.read_csv(path)
    whose = listed(dict.fromkeys(name.partition(", ")[2] or name for name in table.model))
    more = f"more decoder heads than cross-attention heads stay in {(table.cross < table.decoder).sum()} of {len(table)}"
    return f" On {TEXTS[corpus]} text ({whose}{f'; {brief}' * bool(brief)}) {more}, by {_apart(table)}."


def learned(stay: torch.Tensor, before: float, after: float, drawn: Sequence[float]) -> str:
    """What the few steps of the method's cell came to: which gates stay (1, else 0), the loss with all heads, with these and
    with as many drawn at random."""
    told = f"{int(stay.sum())} of {stay.numel()} gates are still more likely fully open than closed; without the other heads"
    told += f" the loss on this batch is {after:.2f}, with as many random heads {ends(drawn, '.2f')} ({len(drawn)} draws)"
    return f"{told}, with all heads {before:.2f}."


def elsewhere(judged: Iterable[Any], corpus: str) -> str:
    """Verdicts (`helpers.publish.claims`) on the other corpus, in their order."""
    told = [f"**{one.verdict}** ({one.brief if one.brief == 'hollow' else one.number})" for one in judged]
    return f"On {TEXTS[corpus]} text the same claims, in this order, are {listed(told)}." if told else ""


def settle(settled: pd.DataFrame) -> str:
    """Of `tables.settled`: in how many runs that close a gate few gates are unsettled in the end."""
    told = settled[settled.undecided.notna()]
    none = f" ({len(settled) - len(told)} more close none and count for nothing)" if len(told) < len(settled) else ""
    few = int((told.undecided <= told.total / 10).sum())
    return f"Of {len(told)} runs that close a gate{none}, {few} end with at most a tenth of their gates unsettled."


def same(removed: pd.DataFrame) -> str:
    """Of `tables.removal`, a row a pruned model: do removed heads equal masked ones, and a reloaded model the saved one?"""
    most = removed[["removed minus masked", "reloaded minus removed"]].abs().max().max()
    alike = "identical" if most == 0 else "alike but for rounding" if most < 1e-4 else "not alike"
    return f"Logits of removed, masked and reloaded heads are {alike} in all {len(removed)} (largest difference {most:.1g})."


def layers(models: Iterable[Mapping[tuple[str, int], Any]]) -> str:
    """Of heads kept by (kind, layer) of models: how many layers each kind has, as an order of kinds may come from that."""
    told = dict.fromkeys(tuple(len({at for kind, at in kept if kind == one}) for one in KIND_TITLES) for kept in models)
    here = listed(f"{encoder} layers here and the decoder {decoder}" for encoder, decoder, _ in told)
    printed = printed_by_kind()
    held = sum(printed.encoder.lt(printed.decoder) & printed.decoder.lt(printed.cross))
    return (
        f"The encoder has {here} (in the paper 6 and 6); that may explain part of the order. In the paper it holds in {held} of"
        f" {len(printed)} maps."
    )


def gone_at_once(points: pd.DataFrame, first: int | None = None) -> tuple[str, str]:
    """Of `tables.removed_at_once`: what keeps most, beside random heads; and where others do, and which measures these beat;
    `first`: how many test sentences were translated, if not all."""
    own, chance = points[(points.method != ALL) & (points.panel == points.panel.iloc[0])], named(RANDOM)
    drawn = own[own.method == chance].groupby("heads").value.agg(["min", "max"])
    cells = own[own.method != chance].pivot_table("value", "heads", "method").sort_index(ascending=False)
    if drawn.empty or cells.empty:
        return "There is nothing to compare: random heads alone, or none, were removed at once.", ""
    best, drawn = cells.idxmax(axis=1), drawn.reindex(cells.index)
    name = best.value_counts().index[0]
    at = best.index[best == name][(best == name).sum() // 2]
    told = f"Heads chosen by *{name}* keep most BLEU at {(best == name).sum()} of {len(best)} numbers of heads: with {at} left"
    told += f" {number(cells[name][at], '.1f')}" + (f" ({first} test sentences)" if first else "")
    told += f", random heads {ends(drawn.loc[at], '.1f')}"
    rows, rest = own.set_index(["method", "heads"]), []
    for left, other in best[best != name].items():
        both = [rows.loc[(way, left)] for way in (other, name)]
        alike = "cannot be told from it" if both[0].low <= both[1].high else "keeps more"
        said = " against ".join(interval(row.value, row.low, row.high, ".1f") for row in both)
        rest.append(f"With {left} left *{other}* {alike} ({said}).")
    for way, values in cells.items():
        over, under = (listed(values.index[beats]) for beats in (values > drawn["max"], values < drawn["min"]))
        if under != "none":
            rest.append(f"{way.capitalize()} beats every random draw with {over} left and none with {under}.")
    return f"{told}.", " ".join(rest)


def normalised(points: pd.DataFrame) -> str:
    """Of `tables.removed_at_once`: what normalising gradient importance within each layer changes; empty where it was not."""
    own = points[points.panel == points.panel.iloc[0]].pivot_table("value", "heads", "method")
    name, other = (named(f"gradient, example{by}") for by in ("", ", by layer"))
    if not {name, other} <= {*own}:
        return ""
    change = (own[other] - own[name]).dropna()
    told = f"Michel et al. also normalise importance within each layer; that keeps less BLEU at {(change < 0).sum()} of"
    return f"{told} {len(change)} numbers of heads (from {change.min():+.1f} to {change.max():+.1f}), so we do not."


def choices(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Of `tables.trained_on` of one model's trainings: BLEU of each way to choose heads minus that of L0's heads.

    Returns
    -------
    pandas.DataFrame
        By way, best first: gap, with low and high (paired over trainings, nan of one); wins (trainings in which it is above
        every random draw) of how many. Empty where there is nothing to compare.
    """
    parts = [table.bleu.groupby(lambda place: chosen(place[0]), sort=False).mean() for table in tables]
    bleu, maps = pd.concat(parts, axis=1, join="inner"), [named(NAMES["map"]), named(NAMES["l0"])]
    drawn, own = bleu[bleu.index.str.startswith(named(RANDOM))], bleu.reindex(maps).dropna()
    others = bleu.drop([*drawn.index, *own.index])
    columns = ["gap", "low", "high", "wins", "of"]
    if drawn.empty or own.empty:
        return pd.DataFrame(columns=columns)
    gaps, wins = others.sub(own.iloc[0]), (others > drawn.max()).sum(axis=1)
    several = len(tables) > 1
    rows = {
        name: (*(over_runs(row)[:3] if several else (row.mean(), float("nan"), float("nan"))), wins[name], len(tables))
        for name, row in gaps.iterrows()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).sort_values("gap", ascending=False)


def further(found: pd.DataFrame) -> str:
    """Of `choices`: how gradient importance stands to L0's heads."""
    if (name := named("gradient, example")) not in found.index:
        return ""
    row = found.loc[name]
    over = f"over {row.of:.0f} trainings" if row.of > 1 else "in this one training"
    gap = interval(row.gap, row.low, row.high, "+.2f")
    return f"Trained on alike, heads chosen by *{name}* differ from L0's by {gap} BLEU {over}."


def pooled(part: pd.DataFrame, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """`tables.trained_on` of the mean over trainings, named for people, all random draws of all trainings in one row.

    Theirs is a range, written out: draws share trainings, so that no t-interval holds for them.
    """
    part, every = (table.rename(chosen, level="run") for table in (part, pd.concat(list(tables))))
    lots, own = (table[table.index.get_level_values("run").str.startswith(named(RANDOM))] for table in (every, part))
    lines = []
    for split, draws in lots.groupby(level="test set", sort=False):
        row = own.xs(split, level="test set", drop_level=False).iloc[:1]
        row = row.rename({row.index[0][0]: f"{named(RANDOM)}, {count(len(draws), 'draw')} (their range)"})
        row = row.assign(**dict.fromkeys(("low", "high", "change_low", "change_high"), float("nan")))
        for name, form in (("bleu", ".1f"), ("change", "+.1f")):
            mean, low, high = (number(x, form) for x in draws[name].agg(["mean", "min", "max"]))
            row[name] = pd.Series([f"{mean} ({low} to {high})"], row.index, dtype=object)
        lines.append(row.assign(dev_loss=draws.dev_loss.mean(), order=draws.bleu.mean()))
    rest = part.drop(own.index)
    return pd.concat([rest.assign(order=rest.bleu), *lines]).sort_values("order", ascending=False).drop(columns="order")


def sizes(studied: Sequence[subjects.Subject]) -> str:
    """Encoder and decoder of models that differ from the first in size; empty where none does."""
    shapes = {one.title: snapshots.shape(one.run.spec) for one in studied if one.run}
    first = next(iter(shapes.values()), {})
    other = [f"{title}: encoder {own['encoder']}, decoder {own['decoder']}" for title, own in shapes.items() if own != first]
    return "; ".join(other)
