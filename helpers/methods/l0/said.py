"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
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
from helpers.methods.l0.tables import ALL, ENDS, LOSS, NAMES, PRINTED_ENCODER, printed_by_kind
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
    """Of `tables.quality` with `tables.worth` of first trainings: where nothing is left beside models without encoder heads."""
    told = "; ".join(f"{called(title, table)}: {later}" for title, table in tables.items() if (later := never(table)))
    begin = "Brackets: decoders; texts and lengths of training differ too. White inside: one training."
    return begin + f" Right, cut off below: {told}." * bool(told)


def lead(half: pd.DataFrame, decoders: Mapping[str, str], least: float = 0.0) -> str:
    """The answer: how many encoder heads can go by the size of the decoder, smallest first.

    Parameters
    ----------
    half : pandas.DataFrame
        `tables.half_left` of all models.
    decoders : mapping of title -> layers × heads
    least : float
        A model whose encoder heads are worth less (BLEU) is hollow, and is said to be.
    """
    if half.empty:
        return "No model lost half of its encoder heads."
    own = half.groupby("model", sort=False).head(1)  # its first test set
    parts = {end: own[f"gone{end}"] / own.total for end in ENDS}
    own = own.assign(decoder=[decoders[title] for title, _ in own.index], **parts).sort_values("")
    told: dict[str, list[str]] = {}
    for (size, total), rows in own.groupby(["decoder", "total"]):
        each = listed(_gone(row).rpartition(" of ")[0] for _, row in rows.iterrows())
        told.setdefault(size, []).append(f"{each} of {total:.0f}{' (hollow)' * bool((rows.worth < least).all())}")
    said = "; ".join(
        f"{size}{' (layers × heads)' * (not at)}: {', '.join(each)}" for at, (size, each) in enumerate(told.items())
    )
    grows, bold = own.decoder.is_monotonic_increasing, f"Encoder heads that can go for {LOSS:g} BLEU"
    bold = f"By estimate, more encoder heads can go for {LOSS:g} BLEU beside larger decoders" if grows else bold
    lost = {text: (max(one) - min(one), -one[min(one)]) for text, one in PRINTED_ENCODER.items()}
    printed = ", ".join(f"{gone} ({text}{f', for {bleu:g}' * (bleu != LOSS)})" for text, (gone, bleu) in lost.items())
    said = f"**{bold}.** {said}; the paper's 6 × 8: {printed}."
    spans = own.groupby("decoder").agg({"_low": "min", "_high": "max"})
    apart = [f"{a}'s and {b}'s" for a, b in combinations(spans.index, 2) if spans._high[a] < spans._low[b]]
    overlap = f"Only {', '.join(apart)} intervals lie apart" if apart else "Intervals overlap"
    said += f" {overlap}; no pruning changed the decoder alone." * grows
    return said.replace(" × ", "×")


def decoder_alone(beside: pd.DataFrame) -> str:
    """Of notebook 2's models beside: what training without encoder heads costs where nothing but the decoder differs."""
    known = beside[beside.gained.notna() & (beside.encoder == beside.encoder.iloc[0])].sort_values("decoder")
    rows = zip(known.gained, known["gained, low"], known["gained, high"], known.decoder, strict=True)
    lost = ", ".join(f"{interval(gain, low, high, '.1f')} beside {decoder}" for gain, low, high, decoder in rows)
    told = f" With the decoder alone changed, {known.model.iloc[-1]} trained without heads loses BLEU: {lost}."
    return told * (len(known) > 1)


def _gone(row: pd.Series) -> str:
    return f"{interval(row.gone, row.gone_low, row.gone_high, '.0f')} of {row.total:.0f}"


def cheap(ways: Mapping[str, pd.DataFrame]) -> bool:
    """Of `choices` by model: does gradient importance choose as well as L0 wherever both did?"""
    rows = [row for table in ways.values() for row in table[table.index == named("gradient, example")].itertuples()]
    return bool(rows) and not any(row.high < 0 or (row.high != row.high and row.gap < -LOSS) for row in rows)


def short(ways: Mapping[str, pd.DataFrame]) -> str:
    """What to do."""
    rows = [table.iloc[0] for table in ways.values() if len(table)]
    tried = listed(f"{row.total - row.left:.0f} of {row.total:.0f}" for row in rows)
    told = f"Rank encoder heads by {named('gradient, example')}" if cheap(ways) else "Let gates choose the encoder heads"
    told += "; remove a quarter, half and three quarters of them from the same model; train each on; keep the smallest whose"
    told += f" loss you accept{f' (tried with {tried} gone)' * cheap(ways)}. Judge it by what heads"
    return f"{told} add to your model: train one without."


def never(table: pd.DataFrame) -> str:
    """Of one training's `tables.quality` with `tables.worth`: with how many heads left a model is no better than one trained
    without encoder heads or worse; empty where none is, or no model was trained so."""
    if NEVER not in table or table[NEVER].isna().all():
        return ""
    own, share = table.xs(table.index.get_level_values("test set")[0], level="test set"), "share from the start"
    rows = own[own.method == NAMES["l0"]].sort_values("heads", ascending=False)
    even, worse = (rows[rows[f"{share}_{end}"] < 0]["heads"] for end in ("low", "high"))
    unsure = even[~even.isin(worse)]
    told = [f"with {at.max():.0f} left {what}" for at, what in ((unsure, "not told from"), (worse, "worse than")) if len(at)]
    return f"{', '.join(told)} trained without heads" * bool(told)


def answer(table: pd.DataFrame, corpus: str, decoders: Mapping[str, str], least: float) -> pd.DataFrame:
    """Of `tables.half_left` of models of a corpus and of others: a line a model and test set, for people, small decoders first;
    `decoders` and `least` as of `lead`."""
    rows = []
    for (model, split), row in table.iterrows():
        several = table.index.get_level_values("model").tolist().count(model) > 1
        trained = f", mean of {row.trainings:.0f} trainings" if row.get("trainings", 1) > 1 else ""
        known, called = row.get(NEVER, 0) > 0, split.partition("_")[0].capitalize() if "_" in split else split
        whose = model if model.startswith(tuple(TEXTS.values())) else f"{TEXTS[corpus]}, {model}"
        whose, steps = f"{whose}, {called}" if several or "_" in split else whose, row.schedule.partition(" ")[0]
        kept = _share(row, "share from the start") if known else ""
        of_one = f" (first training, {row.heads_first:.0f} left)" * bool(trained)
        none = "nothing lost" if pd.notna(row.get(NEVER)) else "not trained"
        rows.append({
            "model": f"{whose} ({steps})",
            "decoder": decoders[model],
            "gone": _gone(row),
            "heads": f"{round(row['heads'], 1):g} of {row.total:.0f}{trained}",
            "change": interval(row.change, row.change_low, row.change_high, "+.2f"),
            "share": f"{_share(row)}, of {row.worth:.1f}" + (" (hollow)" if row.worth < least else ""),
            "never": f"{kept}, of {row[NEVER]:.1f}{of_one}" if known else none,
        })  # fmt: skip
    return pd.DataFrame(rows).sort_values("decoder", kind="stable") if rows else pd.DataFrame(rows)


def _share(row: Mapping[Any, Any] | pd.Series, name: str = "share") -> str:
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


def functions(table: pd.DataFrame, elsewhere: Mapping[str, pd.DataFrame] | None = None) -> str:
    """Of `tables.retained_more_than_chance`, and of that of another text: do heads with a function stay more often than others?

    In how many prunings that could be seen at all: had every such head stayed, p would be below 0.05 after Holm's correction.
    """
    every = pd.concat([table, *(other.assign(model=text) for text, other in (elsewhere or {}).items())])
    of_any = every[every.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay."
    least = hypergeom.sf(of_any[["had", "heads"]].min(axis=1) - 1, of_any.of, of_any.had, of_any["heads"]) * of_any.family
    told = [
        f"{model} ({rows.had.iloc[0]}) {(rows.stay > rows.expected).sum()}/{(rows.stay < rows.expected).sum()}"
        for model, rows in of_any.groupby("model", sort=False)
    ]
    begin = "Prunings that keep more/fewer heads with a function (their number) than chance expects:"
    sure = f"Surely more: {(of_any.p_holm < SURE).sum()} (Holm); had all stayed, {(least < SURE).sum()} of {len(of_any)}."
    return f"{begin} {'; '.join(told)}. {sure}"


def scratch_elsewhere(chapter: layout.Chapter, corpus: str, brief: str = "") -> str:
    """What a published run's `tables.against_scratch` says, first test set; empty where there is none; `brief`: as below."""
    if not (path := chapter.table("trained_minus_scratch")).exists():
        return ""
    row = pd.read_csv(path).iloc[0]
    gap, whose = interval(row.change, row.low, row.high, "+.1f"), row.model.partition(", ")[2] or row.model
    told = f"On {TEXTS[corpus]} text ({whose}{f'; {brief}' * bool(brief)}; one map, one training) pruned minus scratch"
    runs_ = pd.concat(pd.read_csv(one) for one in sorted(path.parent.glob("all_kinds_*.csv")))
    own = runs_[(runs_.run == row.run) & (runs_["test set"] == row["test set"])].iloc[0]
    return f"{told} is {gap} BLEU, scratch minus unpruned {interval(own.change, own.change_low, own.change_high, '+.1f')}."


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
    told = f"{int(stay.sum())} of {stay.numel()} gates are still more likely fully open than closed; without the others"
    told += f" the loss on sentences not used for it is {after:.2f}, with as many random heads"
    return f"{told} {ends(drawn, '.2f')} ({len(drawn)} draws), with all heads {before:.2f}."


def elsewhere(judged: Iterable[Any], corpus: str) -> str:
    """Verdicts (`helpers.publish.claims`) on the other corpus."""
    told = [
        f"*{one.claim.id.replace('-', ' ')}* **{one.verdict}** ({one.brief if one.hollow else one.number})" for one in judged
    ]
    hollow = " *Hollow*: encoder heads are worth too little to judge." * any(one.hollow for one in judged)
    return f"On {TEXTS[corpus]} text: {listed(told)}.{hollow}" if told else ""


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


def gone_at_once(points: pd.DataFrame, first: int | None = None) -> str:
    """Of `tables.removed_at_once` of one training: which way keeps most, and how much beside random heads; `first`: how many
    test sentences were translated, if not all."""
    own, chance = points[(points.method != ALL) & (points.panel == points.panel.iloc[0])], named(RANDOM)
    drawn = own[own.method == chance].groupby("heads").value.agg(["min", "max", "count"])
    cells = own[own.method != chance].pivot_table("value", "heads", "method").sort_index(ascending=False)
    if drawn.empty or cells.empty:
        return "There is nothing to compare: random heads alone, or none, were removed at once."
    best = cells.idxmax(axis=1)
    name = best.value_counts().index[0]
    at = best.index[best == name][(best == name).sum() // 2]
    told = f"One training: heads chosen by *{name}* keep most BLEU at {(best == name).sum()} of {len(best)} numbers of heads."
    told += f" With {at} left: {number(cells[name][at], '.1f')}{f' ({first} test sentences)' * bool(first)}, random heads"
    return f"{told} {ends(drawn.loc[at, ['min', 'max']], '.1f')} ({drawn['count'][at]:.0f} draws)."


def contest(tables: Iterable[pd.DataFrame], models: Iterable[str], ways: Iterable[str]) -> str:
    """Of notebook 06's `removed_at_once` (rise of dev loss) of these models and ways: how often each way loses least, over all
    trainings and numbers of heads at which ways differ."""
    every = pd.concat(list(tables))
    every = every.assign(way=every.criterion.map(named))
    every = every[every.model.isin([*models]) & every.way.isin([*ways])]
    cells = every.pivot_table("change", ["model", "seed", "heads"], "way")
    cells = cells[cells.nunique(axis=1) > 1]
    times = cells.idxmin(axis=1).value_counts().reindex(cells.columns, fill_value=0).sort_values(ascending=False)
    best = [f"*{way}* at {at}" for way, at in times.items()]
    trained = cells.index.droplevel("heads").nunique()
    told = f"In all {count(trained, 'published training')} ([notebook 6](06_do_measures_agree.ipynb)) dev loss rises least by"
    told += f" {listed(best)} of {len(cells)} numbers of heads; by luck each at {len(cells) / max(1, len(best)):.1f}."
    return told * bool(len(cells))


def choices(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Of `tables.trained_on` of one model's trainings: BLEU of each way to choose heads minus that of L0 itself.

    Returns
    -------
    pandas.DataFrame
        By way, random heads as one, best first: gap, with low and high (paired over trainings, nan of one), of how many
        trainings. Empty where there is nothing to compare.
    """
    parts = [table.bleu.groupby(lambda place: chosen(place[0]), sort=False).mean() for table in tables]
    bleu, maps = pd.concat(parts, axis=1, join="inner"), [named(NAMES["l0"]), named(NAMES["map"])]
    drawn, own = bleu[bleu.index.str.startswith(named(RANDOM))], bleu.reindex(maps).dropna()
    others = pd.concat([bleu.drop([*drawn.index, *own.index]), drawn.mean().to_frame(named(RANDOM)).T])
    columns = ["gap", "low", "high", "of"]
    if drawn.empty or own.empty:
        return pd.DataFrame(columns=columns)
    several = len(tables) > 1
    rows = {
        name: (*(over_runs(row)[:3] if several else (row.mean(), float("nan"), float("nan"))), len(tables))
        for name, row in others.sub(own.iloc[0]).iterrows()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).sort_values("gap", ascending=False)


def beside_gates(ways: Mapping[str, pd.DataFrame], *names: str) -> str:
    """Of `choices` by model: BLEU of ways to choose heads minus that of L0 itself."""
    told = []
    for title, table in ways.items():
        own = table[table.index.isin(names)].reindex([name for name in names if name in table.index])
        if own.empty:
            continue
        each = (f"*{one.Index}* {interval(one.gap, one.low, one.high, '+.2f')}" for one in own.itertuples())
        left = f"{own.left.iloc[0]:.0f}/{own.total.iloc[0]:.0f} left"
        told.append(f"{title} ({count(int(own.of.iloc[0]), 'training')}, {left}): {', '.join(each)}")
    return "; ".join(told)


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
