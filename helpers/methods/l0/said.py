"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import fisher_exact, mannwhitneyu

from helpers import study
from helpers.drawing import KIND_TITLES
from helpers.measures import snapshots
from helpers.measures.removal import RANDOM
from helpers.measures.table import MEASURES
from helpers.methods.l0 import runs
from helpers.methods.l0.tables import ALL, LOSS, NAMES, PRINTED_ENCODER, printed_by_kind
from helpers.reading import count, ends, interval, listed, number
from helpers.runs import subjects
from helpers.scores.intervals import holm, over_runs
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
    band = f"Band: {LOSS:g} BLEU, the paper's largest loss."
    return f"Brackets: decoders. White: one training. {band}" + f" Right: {told}." * bool(told)


def lead(half: pd.DataFrame, decoders: Mapping[str, str], least: float) -> str:
    """The answer: what is kept and lost with half of the encoder heads or fewer.

    Parameters
    ----------
    half : pandas.DataFrame
        `tables.half_left` of all models.
    decoders : mapping of title -> layers × heads
    least : float
        BLEU that encoder attention must be worth: with less a model is hollow and does not count.
    """
    full = half[half.worth >= least]
    if full.empty:
        return "No model whose encoder heads are worth enough lost half of them."
    full = full.assign(decoder=[decoders[title] for title, _ in full.index]).reindex(
        columns=dict.fromkeys([*half, "decoder", NEVER])
    )
    gone, known = ends(1 - full["heads"] / full.total, "%"), full[full[NEVER].notna()]
    told, costs = f"The first pruning past half of the encoder heads ({gone} gone)", list[str]()
    if len(known):
        kept = listed(_share(row, "share from the start").removesuffix(" %") for _, row in known.iterrows())
        told = f"**{told} keeps {kept} % of the BLEU that training with them adds.** That"
    for size, rows in full.groupby("decoder"):
        models, adds = (part.index.unique("model") for part in (rows, rows[rows[NEVER].notna()]))
        adds = f"; heads of {len(adds)} add {ends(rows[NEVER], '.1f')}" * bool(len(adds))
        shape = f"{size} {'decoders (layers × heads; ' if not costs else '('}{count(len(models), 'model')}{adds})"
        costs.append(f"{ends(-rows.change, '.1f')}{'' if costs else ' BLEU'} with {shape}")
    own, (loss, few, whole) = full["at printed"].dropna(), PAPER
    models = count(own.index.unique("model").size, "model")
    at = f" At {whole - few} of {whole} gone ours lose {ends(-own, '.1f')} ({models}, interpolated), the paper {loss:g}."
    return f"{told} costs {listed(costs)}.{at * bool(len(own))}"


def besides(least: float, beside: pd.DataFrame | None = None) -> str:
    """What *hollow* means; and what encoder heads add where nothing but the decoder differs, of notebook 2's models beside."""
    told = f"*Hollow*: less than {least:g} BLEU."
    if beside is not None and len(known := beside[beside.gained.notna() & (beside.encoder == beside.encoder.iloc[0])]) > 1:
        gains = zip(known.gained, known["gained, low"], known["gained, high"], known.decoder, strict=True)
        adds = listed(f"{interval(gain, low, high, '.1f')} with {decoder}" for gain, low, high, decoder in gains)
        told += f" With nothing but the decoder changed ({known.model.iloc[0]}, [notebook 2](02_head_functions.ipynb)) training"
        told += f" with encoder heads adds {adds}."
    return told


def short(ways: Mapping[str, pd.DataFrame], saved: str) -> str:
    """What to do, of the same and of what removal saves."""
    rows = [row for table in ways.values() for row in table[table.index == named("gradient, example")].itertuples()]
    cheap = bool(rows) and not any(row.high < 0 or (row.high != row.high and row.gap < -LOSS) for row in rows)
    tried = listed(f"{row.total - row.left:.0f} of {row.total:.0f}" for row in rows)
    told = f"Rank encoder heads by {named('gradient, example')}" if cheap else "Let gates choose the encoder heads"
    told += "; remove a quarter, half and three quarters of them from the same model; train each on; keep the smallest whose"
    told += f" loss you accept{f' (tried with {tried} gone)' * cheap}. Judge it by what heads"
    told += " add to your model: train one without."
    return f"{told} {saved}"


def never(table: pd.DataFrame) -> str:
    """Of one training's `tables.quality` with `tables.worth`: with how many heads left a model is no better than one trained
    without encoder heads or worse, else what the fewest keep of the gap to it; empty where no model was trained so."""
    if NEVER not in table or table[NEVER].isna().all():
        return ""
    own, share = table.xs(table.index.get_level_values("test set")[0], level="test set"), "share from the start"
    rows = own[own.method == NAMES["l0"]].sort_values("heads", ascending=False)
    even, worse = (rows[rows[f"{share}_{end}"] < 0]["heads"] for end in ("low", "high"))
    if even.empty:
        return f"with {rows['heads'].iloc[-1]:.0f} left keeps {_share(rows.iloc[-1], share)}"
    unsure = even[~even.isin(worse)]
    told = [f"with {at.max():.0f} left {what}" for at, what in ((unsure, "not told from"), (worse, "worse than")) if len(at)]
    return f"{', '.join(told)} trained without heads"


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
        whose, steps = f"{whose}, {called}" if several or "_" in split else whose, row.schedule.partition(" ")[0]
        rows.append({
            "model": f"{whose} ({steps})",
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


def from_scratch(scratch: pd.DataFrame, judged: Sequence[Any] = (), first: Mapping[str, pd.DataFrame] | None = None) -> str:
    """Of `tables.against_scratch`: how often a head map is better from scratch than pruned; `judged`: the verdict's rows, which
    say how often that is so after Holm's correction; `first`: `tables.quality` with `tables.worth`, for what maps can lose."""
    if scratch.empty:
        return "No head map was trained from scratch."
    whose = scratch.index.unique(0)
    told = f"Of {len(scratch)} head maps ({listed(whose)}, one training)"
    if not judged:
        return f"{told} {(scratch.change < 0).sum()} have more BLEU from scratch."
    lost = [interval(-row.value, -row.high, -row.low, ".1f") for row in judged if row.side == "against"]
    won, open_ = (sum(row.side == side for row in judged) for side in ("for", "open"))
    told += f" {len(lost) or 'none'} are surely better from scratch{f' (by {listed(lost)} BLEU)' if lost else ''},"
    told += f" {won or 'none'} pruned; {open_ or 'none'} undecided."
    known = [table[NEVER].iloc[0] for title, table in (first or {}).items() if title in whose and NEVER in table]
    return told + f" Even no encoder heads cost only {ends(known, '.1f')} from scratch: little to lose." * bool(known)


def by_kind(table: pd.DataFrame) -> str:
    """Of `tables.kept_by_kind`: whether encoder heads go first, and whether cross-attention goes after the decoder's heads."""
    encoder, decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in KIND_TITLES)
    part, first = ~((cross == 1) & (decoder == 1)), ((encoder < decoder) & (encoder < cross)).sum()
    said = f"Encoder heads go first in {first} of {count(len(table), 'pruning')}, one training a model"
    if not table["starts alike"].all():
        return f"{said}. Only encoder attention starts from zero: no order follows."
    if part.any():
        last, told = (cross > decoder)[part].sum(), table[part]
        chance = min(_chances(told))
        few = f"too few to tell (Fisher's p ≥ {chance:.2f}), though the verdict counts them"
        sure = few if chance >= SURE else "in one surely"
        said += f"; cross-attention last in {last} of {len(told)} in which it or the decoder loses any: {sure}"
    return f"{said}."


def _chances(table: pd.DataFrame) -> list[float]:
    """Of each pruning the chance that decoder and cross-attention keep shares as different, if nothing but luck differs."""
    kinds = ("decoder", "cross")
    both = [[[row[kind], row[f"{kind}_total"] - row[kind]] for kind in kinds] for _, row in table.iterrows()]
    return [fisher_exact(one)[1] for one in both]


def functions(table: pd.DataFrame) -> str:
    """Of `tables.retained_more_than_chance`: do heads with a function stay more often than others?"""
    of_any = table[table.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay."
    sure, rest = (of_any.p_holm < SURE).sum(), of_any.stay - of_any.expected
    told = f"Of {len(of_any)} prunings {(rest > 0).sum()} keep more such heads than chance expects, {(rest < 0).sum()} fewer,"
    return f"{told} {(rest == 0).sum()} as many; significantly more in {sure or 'none'} (Holm, {len(table)} tests)."


def outlast(tables: Iterable[pd.DataFrame]) -> str:
    """Of head tables of trainings (kind, functions, kept by L0): does an encoder head with a function outlast one without?

    The chance that it does, a tie as half (Mann and Whitney's U over all pairs), and its two-sided p.
    """
    found = []
    for table in tables:
        own = table[table.kind == "encoder"]
        has = own.functions.notna()
        if has.any() and not has.all():
            test = mannwhitneyu(own[SURVIVAL][has], own[SURVIVAL][~has])
            found.append((test.statistic / (has.sum() * (~has).sum()), test.pvalue))
    if not found:
        return ""
    chances, p = map(np.array, zip(*found, strict=True))
    above, sure = (chances > 0.5).sum(), ((np.array(holm(p)) < SURE) & (chances > 0.5)).sum()
    told = f"One test a training, asked afterwards: in {above} of {len(found)} published trainings"
    told += " ([notebook 6](06_do_measures_agree.ipynb)) a head with a function tends to outlast one without"
    told += f" (chance {ends(chances, '.2f')}; even: {0.5}), surely in {sure} (Mann and Whitney, Holm; layers not matched)."
    return told


def kinds_elsewhere(chapter: layout.Chapter, corpus: str, brief: str = "") -> str:
    """What a published run's `tables.kept_by_kind` says of decoder heads and cross-attention; empty where there is none;
    `brief`: why its verdict is none."""
    if not (path := chapter.table("fig9_heads_by_kind")).exists():
        return ""
    table = pd.read_csv(path)
    whose = listed(dict.fromkeys(name.partition(", ")[2] or name for name in table.model))
    more = f"more decoder heads than cross-attention heads stay in {(table.cross < table.decoder).sum()} of {len(table)}"
    apart = f"{ends((table.decoder - table.cross).abs(), '.0f')} of {ends(table.cross_total, '.0f')}"
    apart += f" (Fisher's p {ends(_chances(table), '.2f')})"
    return f" On {TEXTS[corpus]} text ({whose}{f'; {brief}' * bool(brief)}) {more}, by {apart}."


def learned(stay: torch.Tensor, before: float, after: float, drawn: Sequence[float]) -> str:
    """What the few steps of the method's cell came to: which gates stay (1, else 0), the loss with all heads, with these and
    with as many drawn at random."""
    told = f"{int(stay.sum())} of {stay.numel()} gates are still more likely fully open than closed; without the other heads"
    told += f" the loss on this batch is {after:.2f}, with as many random heads {ends(drawn, '.2f')} ({len(drawn)} draws)"
    return f"{told}, with all heads {before:.2f}."


def elsewhere(judged: Iterable[Any], corpus: str) -> str:
    """Verdicts (`helpers.publish.claims`) on the other corpus."""
    told = [
        f"*{one.claim.id.replace('-', ' ')}* **{one.verdict}** ({one.brief if one.hollow else one.number})" for one in judged
    ]
    hollow = " *Hollow*: encoder heads are worth too little to judge." * any(one.hollow for one in judged)
    return f"On {TEXTS[corpus]} text: {listed(told)}.{hollow}" if told else ""


def half_open(table: pd.DataFrame, penalty: float) -> str:
    """Of `tables.quality` at a price: what the public code's start, gates half open, changes; empty where it was not run."""
    rows = table[np.isclose(table.penalty, penalty)].groupby("method", sort=False).head(1).set_index("method")
    if "L0, half-open start" not in rows.index:
        return ""
    other, usual = rows.loc["L0, half-open start"], rows.loc["L0"]
    told = f" The public code starts half open: with λ = {penalty:g} then {other['heads']:.0f} heads stay and not"
    return f"{told} {usual['heads']:.0f} ({other.change:+.2f} and {usual.change:+.2f} BLEU)."


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
    """Of `tables.removed_at_once`: what keeps most, beside random heads and the next way; and where others do;
    `first`: how many test sentences were translated, if not all."""
    own, chance = points[(points.method != ALL) & (points.panel == points.panel.iloc[0])], named(RANDOM)
    drawn = own[own.method == chance].groupby("heads").value.agg(["min", "max", "count"])
    cells = own[own.method != chance].pivot_table("value", "heads", "method").sort_index(ascending=False)
    if drawn.empty or cells.empty:
        return "There is nothing to compare: random heads alone, or none, were removed at once.", ""
    best, drawn = cells.idxmax(axis=1), drawn.reindex(cells.index)
    name, rows, rest = best.value_counts().index[0], own.set_index(["method", "heads"]), []
    at, sure = best.index[best == name][(best == name).sum() // 2], []
    for left, values in cells.iterrows():
        (first_way, leads), (_, other) = ((way, rows.loc[(way, left)]) for way in values.nlargest(2).index)
        sure += [left] * bool(first_way == name and leads.low > other.high)
        if first_way != name:
            both = leads, rows.loc[(name, left)]
            alike = "keeps more" if both[0].low > both[1].high else "cannot be told from it"
            said = " against ".join(interval(row.value, row.low, row.high, ".1f") for row in both)
            rest.append(f"With {left} left *{first_way}* {alike} ({said}).")
    told = (
        f"Heads chosen by *{name}* keep most BLEU at {(best == name).sum()} of {len(best)} numbers of heads, clear of the next"
    )
    told += (
        f" interval at {len(sure)}{f' ({listed(sure)} left)' * bool(sure)}. With {at} left: {number(cells[name][at], '.1f')}"
    )
    told += f" ({first} test sentences)" * bool(first) + f", random heads {ends(drawn.loc[at, ['min', 'max']], '.1f')}"
    return f"{told} ({drawn['count'][at]:.0f} draws).", " ".join(rest)


def variants(points: pd.DataFrame) -> str:
    """Of `tables.removed_at_once`: what other kinds of gradient importance keep, by token and normalised within each layer."""
    own = points[points.panel == points.panel.iloc[0]].pivot_table("value", "heads", "method")
    name, told = named("gradient, example"), []
    for other, way in {
        "gradient, token": "by token",
        "gradient, example, by layer": "normalised by layer (Michel et al.)",
    }.items():
        if {name, named(other)} <= {*own}:
            change = (own[named(other)] - own[name]).dropna()
            told.append(f"{way} at {(change > 0).sum()} of {len(change)} ({change.min():+.1f} to {change.max():+.1f})")
    return f"Not drawn: importance keeps more BLEU {listed(told)}." if told else ""


def choices(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Of `tables.trained_on` of one model's trainings: BLEU of each way to choose heads minus that of L0 itself.

    Returns
    -------
    pandas.DataFrame
        By way, best first: gap, with low and high (paired over trainings, nan of one), of how many trainings. Empty where there
        is nothing to compare.
    """
    parts = [table.bleu.groupby(lambda place: chosen(place[0]), sort=False).mean() for table in tables]
    bleu, maps = pd.concat(parts, axis=1, join="inner"), [named(NAMES["l0"]), named(NAMES["map"])]
    drawn, own = bleu[bleu.index.str.startswith(named(RANDOM))], bleu.reindex(maps).dropna()
    others = bleu.drop([*drawn.index, *own.index])
    columns = ["gap", "low", "high", "of"]
    if drawn.empty or own.empty:
        return pd.DataFrame(columns=columns)
    several = len(tables) > 1
    rows = {
        name: (*(over_runs(row)[:3] if several else (row.mean(), float("nan"), float("nan"))), len(tables))
        for name, row in others.sub(own.iloc[0]).iterrows()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).sort_values("gap", ascending=False)


def further(found: pd.DataFrame) -> str:
    """Of `choices`: how gradient importance stands to L0."""
    if (name := named("gradient, example")) not in found.index or found.of[name] < 2:
        return ""  # of one training there is no interval
    row = found.loc[name]
    gap = interval(row.gap, row.low, row.high, "+.2f")
    return f"*{name.capitalize()}* minus L0, gates and training at once: {gap} BLEU over {row.of:.0f} trainings."


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
