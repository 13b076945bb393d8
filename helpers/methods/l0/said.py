"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import torch
from scipy.stats import hypergeom

from helpers.drawing import KIND_TITLES
from helpers.measures import snapshots
from helpers.measures.removal import RANDOM
from helpers.measures.table import MEASURES
from helpers.methods.l0 import runs
from helpers.methods.l0.figures import FEW
from helpers.methods.l0.tables import ALL, LOSS, NAMES, PRINTED_ENCODER, half_left, largest_pruning, printed_by_kind
from helpers.reading import count, ends, interval, listed, number
from helpers.runs import subjects
from helpers.scores.intervals import over_runs
from helpers.study import layout

SURVIVAL = "kept by L0"
SURE = 0.05
NEVER = "worth from the start"
TEXTS = {"controlled": "generated", "natural": "natural"}  # what people call a corpus
FUNCTIONS = {name: name for name in ("positional", "rare")}
FUNCTIONS |= {"nsubj": "subject", "dobj": "object", "amod": "adjective", "advmod": "adverb"}
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


def half(table: pd.DataFrame, first: Mapping[str, pd.DataFrame]) -> str:
    """Of `tables.half_left` and of `tables.quality` with `tables.worth` of first trainings: what the first model loses with
    half of its encoder heads or fewer, and with how many it is no better than one that never had any."""
    if (table := table[table.share.notna()]).empty:
        return "No run is left with half of its encoder heads or fewer."
    (name, _), row = table.index[0], table.iloc[0]
    cost = f"{name} loses {number(-row.change, '.1f')} BLEU with {row['heads']:.0f} of {row.total:.0f} encoder heads left"
    later = never(first[name])
    return f"{cost}; {later} (right panel: first training)." if later else f"{cost}."


def summary(curves: Mapping[str, pd.DataFrame], corpus: str, ways: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Of `tables.over_trainings` or `tables.quality` and of `choices` with heads left, by title: a row a model, on its first
    test set: share, gone and total (heads gone at a loss of at most `tables.LOSS`), worth (BLEU lost when all are removed),
    half (change of the first run with at most half of the heads), gap (gradient importance minus L0's heads), choice (the
    same in words), tried (heads gone there), beyond (gone on a further test set, in words)."""
    later, rows = half_left(curves), []
    for title, curve in curves.items():
        split, most = curve.index[0][1], largest_pruning(curve)
        for own in most[most.index == split].itertuples():
            whose = title if title.startswith(tuple(TEXTS.values())) else f"{TEXTS[corpus]}, {title}"
            whose += f", {split.partition('_')[0].capitalize()}" if "_" in split else ""
            row = {"model": whose, "share": own.pruned / own.total, "gone": own.pruned, "total": own.total, "half": "–"}
            row |= {"worth": curve.worth.iloc[0], "gap": float("nan"), "low": 0, "high": 0, "choice": "–", "tried": ""}
            row["beyond"] = ", ".join(f"{each.pruned:.0f} on {at}" for at, each in most.drop(split).iterrows())
            means = curve.get("trainings", pd.Series([1])).max()
            told = [row["beyond"], f"mean of {means:.0f} trainings" if means > 1 else ""]
            row["spared"] = f"{own.pruned or 'none'} of {own.total}" + "".join(f" ({one})" for one in told if one)
            if (title, split) in later.index:
                at = later.loc[(title, split)]
                row["half"] = f"{interval(at.change, at.change_low, at.change_high, '+.2f')} ({_gone(at)} gone)"
            for best in ways.get(title, pd.DataFrame())[lambda table: table.index == named("gradient, example")].itertuples():
                row |= {"gap": best.gap, "low": best.low, "high": best.high}
                gap, over = interval(best.gap, best.low, best.high, "+.2f"), count(int(best.of), "training")
                row["choice"] = f"{gap} ({best.left:.0f} left, {over})"
                row["tried"] = f"{own.total - best.left:.0f} of {own.total}"
            rows.append(row)
    return pd.DataFrame(rows)


def lead(summed: pd.DataFrame, half: pd.DataFrame, spared: Iterable[pd.DataFrame] = (), whose: str = "") -> str:
    """The answer, of `summary`, of `tables.half_left` of this run and of the other corpus, and of stored `tables.quality` of a
    further model (`whose`) with gates on all heads, whose encoder may spare what the paper's does."""
    rows = summed.sort_values("share", ascending=False, kind="stable")
    much, least = (_fraction(end) for end in (rows.share.max(), rows.share.min()))
    much = (f"from {least} to {much}" if least != much else much) + " of the encoder heads"
    places = []
    for row, before in zip(rows.itertuples(), rows.total.shift(), strict=True):
        of = "" if row.total == before else f" of {row.total}"
        where = "; ".join(filter(None, (row.model.partition(", ")[2], row.beyond)))
        places.append(f"{row.gone or 'none'}{of} ({where})")
    told = [f"**{much[0].upper()}{much[1:]}.** By point estimate at most {LOSS:g} BLEU, the paper's loss on OpenSubtitles,"]
    told[0] += f" is lost without {listed(places)}."
    if len(half := half[half.share.notna()]):
        told.append(_printed(half, spared, whose))
    if summed.low.lt(0).any():  # compared over several trainings
        how = "worse than" if _worse(summed) else "about as well as"
        told.append(f"{named('gradient, example').capitalize()} chose {how} gates.")
    return " ".join(filter(None, told))


def _worse(summed: pd.DataFrame) -> bool:
    """Of `summary`: whether gradient importance chooses worse than L0 in a model, surely, or by much in a single training."""
    return bool((summed.gap.notna() & (summed.high.lt(0) | summed.high.isna() & summed.gap.lt(-LOSS))).any())


def _fraction(share: float) -> str:
    words = {0: "none", 0.1: "a tenth", 1 / 6: "a sixth", 0.2: "a fifth", 0.25: "a quarter", 1 / 3: "a third"}
    words |= {0.4: "two fifths", 0.5: "half", 2 / 3: "two thirds", 0.75: "three quarters", 0.8: "four fifths", 1: "all"}
    least = max(known for known in words if known <= share + 0.03)  # hardly rounded up
    return f"just over {words[least]}" if 0 < least < share - 0.03 else words[least]


def _gone(row: pd.Series) -> str:
    return f"{row.total - row['heads']:.0f} of {row.total:.0f}"


def _printed(table: pd.DataFrame, spared: Iterable[pd.DataFrame], whose: str) -> str:
    """What the paper's share of heads costs; whether no model, or only that of `spared`, loses as little."""
    (loss, few, whole), at = PAPER, table["at printed"]
    if pd.isna(at.iloc[0]):
        return ""
    if (at.fillna(table.change) >= -loss).any():
        return f"The paper's share, {whole - few} of {whole}, costs {number(-at.iloc[0], '.1f')} BLEU (in the paper {loss:g})."
    told = f"the paper's {whole - few} of {whole} for {loss:g} BLEU"
    for one in spared:
        good = (one.encoder <= few) & (one.change >= -loss) & (one["test set"] == one["test set"].iloc[0])
        for own in one[good & (one.method == NAMES["l0"])][:1].itertuples():
            change = interval(own.change, own.change_low, own.change_high, "+.2f")
            return f"Only the {whose}, with gates on all heads, spares {told} ({own.encoder} left: {change})."
    return f"None can spare {told}."


def short(summed: pd.DataFrame, scratch: pd.DataFrame, saved: str) -> str:
    """What to do, of `summary`, of `tables.against_scratch` and of what removal saves."""
    cheap = summed.gap.notna().any() and not _worse(summed)
    told = f"Rank encoder heads by {named('gradient, example')}" if cheap else "Let gates choose the encoder heads"
    told += "; remove a quarter, half and three quarters of them from the same model; train each on; keep the smallest whose"
    told += " loss you accept"
    told += f" (tried with {listed(sorted({row.tried for row in summed.itertuples() if row.tried}))} gone)." if cheap else "."
    if len(scratch) and (scratch.change < 0).all():
        told += f" In one training all {len(scratch)} maps had more BLEU from scratch ({ends(-scratch.change, '.1f')}), for"
        told += f" {scratch.steps.max():,.0f} steps instead of {scratch.steps_pruned.max():,.0f}: prune a model that exists; if"
        told += " you must train anyway, train it small."
    return f"{told} {saved}"


def _smallest(table: pd.DataFrame) -> list[tuple[pd.Series, float]]:
    """Of `tables.quality` of all kinds: the L0 run with the fewest heads and BLEU of its map from scratch, if trained."""
    rows = table[table.method == NAMES["l0"]].sort_values("heads")[:1]
    twins = table[(table.method == NAMES["scratch"]) & table.penalty.isin(rows.penalty)]
    return [(rows.iloc[0], float(twins.bleu.iloc[0]))] if len(twins) else []


def damage(pruned: pd.DataFrame, table: pd.DataFrame) -> str:
    """Of `tables.quality` of all kinds and of encoder heads with `tables.worth`: is the smallest model worse than its map from
    scratch and than one without encoder heads?"""
    whole, told = table.loc["control"].iloc[0], ""
    for row, twin in _smallest(pruned):
        if row.bleu < (none := whole.bleu - whole.get(NEVER, float("nan"))):
            told = f"With {'/'.join(f'{row[kind]:.0f}' for kind in KIND_TITLES)} heads left the pruned model has"
            told += f" {number(row.bleu, '.1f')} BLEU, the same map from scratch {number(twin, '.1f')}, a model trained with no"
            told += f" encoder head but all {row.total - whole.total:.0f} others {number(none, '.1f')}."
    return told


def never(table: pd.DataFrame) -> str:
    """Of one training's `tables.quality` with `tables.worth`: with how many heads left a model is no better than one trained
    without encoder heads, else what the fewest keep of the gap to it; empty where no model was trained so."""
    if NEVER not in table or table[NEVER].isna().all():
        return ""
    own, share = table.xs(table.index.get_level_values("test set")[0], level="test set"), "share from the start"
    rows = own[own.method == NAMES["l0"]].sort_values("heads", ascending=False)
    even = rows[rows[f"{share}_low"] <= 0]
    if even.empty:
        return (
            f"with {rows['heads'].iloc[-1]:.0f} left it keeps {_share(rows.iloc[-1], share)} of what training with heads adds"
        )
    first, than = even.iloc[0], "one trained without encoder heads"
    if first[f"{share}_high"] < 0:
        return f"with {first['heads']:.0f} left it is worse than {than}"
    return f"with {first['heads']:.0f} left it is no better than {than}"


def answer(table: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """Of `tables.half_left` of this run's models, of a corpus, and of others: a line a model and test set, for people."""
    rows = []
    for (model, split), row in table.iterrows():
        several = table.index.get_level_values("model").tolist().count(model) > 1
        trained = f", mean of {row.trainings:.0f} trainings" if row.get("trainings", 1) > 1 else ""
        alone = f" (first training, {row.get('heads_first', row['heads']):.0f} heads)" if trained else ""
        known, called = pd.notna(row.get(NEVER)), split.partition("_")[0].capitalize() if "_" in split else split
        whose = model if model.startswith(tuple(TEXTS.values())) else f"{TEXTS[corpus]}, {model}"
        rows.append({
            "model": f"{whose}, {called}" if several or "_" in split else whose,
            "heads": f"{round(row['heads'], 1):g} of {row.total:.0f}{trained}",
            "change": interval(row.change, row.change_low, row.change_high, "+.1f"),
            "share": f"{_share(row)}, of {row.worth:.1f} BLEU",
            "never": f"{_share(row, 'share from the start')}, of {row[NEVER]:.1f} BLEU{alone}" if known else "not trained",
        })  # fmt: skip
    return pd.DataFrame(rows)


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
    sure = f", {sum(row.side == 'against' for row in judged)} of them significantly after Holm's correction" if judged else ""
    better = (scratch.change < 0).sum()
    whose = listed(scratch.index.unique(0))
    return (
        f"Trained from scratch, the head map of {whose} is better in {better} of {len(scratch)} cases{sure if better else ''}."
    )


def by_kind(table: pd.DataFrame, there: str = "") -> str:
    """Of `tables.kept_by_kind`: whether encoder heads go first, and whether cross-attention goes after the decoder's heads;
    `there`: of `kinds_elsewhere`."""
    encoder, decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in KIND_TITLES)
    part, first = ~((cross == 1) & (decoder == 1)), ((encoder < decoder) & (encoder < cross)).sum()
    said = f"Encoder heads go first in {first} of {len(table)} runs"
    if part.any():
        said += f"; cross-attention goes last in {(cross > decoder)[part].sum()} of the {part.sum()} that can tell"
    said += there if table["starts alike"].all() else ""
    return f"{said}." if table["starts alike"].all() else f"{said}. Only encoder attention starts from zero: no order follows."


def functions(table: pd.DataFrame) -> tuple[str, str]:
    """Of `tables.retained_more_than_chance`: do heads with a function stay more often than others? And could the test tell?"""
    of_any = table[table.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay.", ""
    of_any = of_any[of_any.had >= min(FEW, of_any.had.max())]
    sure, above = (of_any.p_holm < SURE).sum(), (of_any.stay > of_any.expected).sum()
    enough = f"the {len(of_any)} prunings with enough such heads"
    said = f"In {above} of {enough} more of them stay than chance expects, significantly in {sure or 'none'}."
    most = of_any[["had", "heads"]].min(axis=1)  # the most that could stay
    could = int((hypergeom.sf(most - 1, of_any.of, of_any.had, of_any["heads"]) < SURE / len(table)).sum())
    power = "The test can hardly tell: even if as many such heads stayed as there is room for, only"
    power += f" {could} of these {len(of_any)} would pass it."
    return said, power if could < len(of_any) else ""


def kinds_elsewhere(chapter: layout.Chapter, corpus: str) -> str:
    """What a published run's `tables.kept_by_kind` says against the order of decoder heads and cross-attention, as the end of a
    sentence; empty where there is no such run."""
    if not (path := chapter.table("fig9_heads_by_kind")).exists():
        return ""
    table = pd.read_csv(path)
    decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in ("decoder", "cross"))
    before = (cross < decoder).sum()
    whose = listed(dict.fromkeys(name.partition(", ")[2] or name for name in table.model))
    return f"; on {TEXTS[corpus]} text ({whose}) before the decoder in {before} of {len(table)}" if before else ""


def learned(stay: torch.Tensor, before: float, after: float) -> str:
    """What the few steps of the method's cell came to: which gates stay (1, else 0), the loss with all heads and with these."""
    told = f"{int(stay.sum())} of {stay.numel()} gates are still more likely fully open than closed"
    return f"{told}; without the other heads the loss on this batch is {after:.2f}, with all heads {before:.2f}."


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


def had(table: pd.DataFrame) -> str:
    """Of `tables.retained_more_than_chance`: which functions heads had before pruning, by model."""
    told = []
    for model, rows in table.groupby("model", sort=False):
        most = rows.groupby("function").had.max()
        own = [f"{called} {most[name]}" for name, called in FUNCTIONS.items() if most.get(name)]
        told.append(f"{model} {most['any']}{f' ({listed(own)})' if own else ''}")
    return f"Heads with a function before pruning (one head may have several): {'; '.join(told)}."


def drifted(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.drift` by model: what became of the functions of heads left in all pruned models together, by model."""
    flat = table.reset_index()
    pruned = flat[flat["heads"] < flat.groupby("model")["heads"].transform("max")]
    groups = pruned.groupby("model", sort=False)
    return groups[["functional_before", "kept", "lost", "other"]].sum().assign(pruned=groups.size())


def gone_at_once(points: pd.DataFrame, first: int | None = None) -> str:
    """Of `tables.removed_at_once`: what keeps most at most head counts, and how much, beside random heads; `first`: how many
    test sentences were translated, if not all."""
    own, chance = points[points.method != ALL], named(RANDOM)
    cells = own.pivot_table("value", ["panel", "heads"], "method")
    if chance not in cells or len(cells.columns) < 2:
        return "There is nothing to compare: random heads alone, or none, were removed at once."
    cells = cells.loc[cells.index[0][0]].sort_index(ascending=False)
    best = cells.drop(columns=chance).idxmax(axis=1)
    name = best.value_counts().index[0]
    at, fewest = best.index[best == name][(best == name).sum() // 2], cells.index.min()
    told = f"With {at} heads left, those chosen by *{name}* keep {number(cells[name][at], '.1f')} BLEU"
    told += f" ({first} test sentences)" if first else ""
    told += f", random ones {number(cells[chance][at], '.1f')}"
    if best[fewest] != name:
        pair = (number(cells[way][fewest], ".1f") for way in (best[fewest], name))
        told += f"; with {fewest} left *{best[fewest].partition(',')[0]}* keeps more ({' against '.join(pair)})"
    least = own[(own.method == chance) & (own.panel == own.panel.iloc[0])].groupby("heads").value.min()
    for left, row in cells.drop(columns=chance).iterrows():
        if len(worse := row.index[row < least[left]]):
            return f"{told}. With {left} left {listed(worse)} does worse than every random draw."
    return f"{told}."


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
