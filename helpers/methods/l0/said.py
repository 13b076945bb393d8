"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import torch
from scipy.stats import hypergeom

from helpers import study
from helpers.drawing import KIND_TITLES
from helpers.measures import snapshots
from helpers.measures.removal import RANDOM
from helpers.measures.table import MEASURES
from helpers.methods.l0 import runs
from helpers.methods.l0.tables import ALL, LOSS, NAMES, PRINTED_ENCODER
from helpers.reading import count, ends, interval, listed, number
from helpers.runs import subjects
from helpers.scores.intervals import over_runs
from helpers.study import layout

KEPT = 0.95  # of what encoder attention is worth: then heads "can go"
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


def prices(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.prices` of several models: a line a model, all penalties in one cell."""
    flat = table.reset_index()
    told = {name: lambda each: ", ".join(f"{value:g}" for value in each) for name in ("lambda", "concrete_coef")}
    return flat.groupby("model", sort=False).agg(told | {"gated layers": "first"})


def half(table: pd.DataFrame, first: Mapping[str, pd.DataFrame]) -> str:
    """Of `tables.half_left` and of `tables.quality` with `tables.worth` of first trainings: what the first model loses with
    half of its encoder heads or fewer, and with how many it is no better than one that never had any."""
    if (table := table[table.share.notna()]).empty:
        return "No run is left with half of its encoder heads or fewer."
    (name, _), row = table.index[0], table.iloc[0]
    cost = f"{name} loses {number(-row.change, '.1f')} BLEU with {row['heads']:.0f} of {row.total:.0f} encoder heads left"
    return f"{'; '.join(filter(None, (cost, never(first[name]))))}{' (first training)' if never(first[name]) else ''}."


def lead(
    table: pd.DataFrame, corpus: str, curves: Mapping[str, pd.DataFrame], depths: Mapping[str, int],
    there: pd.DataFrame | None = None, chosen: pd.DataFrame | None = None,
) -> str:  # fmt: skip
    """The answer, of `tables.half_left` of this run, of `tables.over_trainings`, of how many encoder layers each model has, of
    `tables.half_left` of the other corpus, and of `choices`."""
    table, there = table[table.share.notna()], table[:0] if there is None else there
    if table.empty:
        return half(table, {})
    (name, _), top, least = table.index[0], table.iloc[0], table.iloc[table.total.argmin()]
    told = f"In a {_layers(depths[name])} model of {TEXTS[corpus]} text ({name}), removing {_gone(top)} encoder heads costs"
    others = [(f"a {_layers(depths[least.name[0]])} model", least)] if least.total < top.total else []
    others += [
        (f"the model of {next(TEXTS[one] for one in TEXTS if one != corpus)} text", row) for _, row in there[:1].iterrows()
    ]
    costs = [(who, number(-row.change, ".1f"), _gone(row)) for who, row in others]
    beside = [
        f"{who} {cost} with {gone}" if at else f"{who} loses {cost} with {gone} gone"
        for at, (who, cost, gone) in enumerate(costs)
    ]
    answers = [f"**{_much(curves[name])} of the encoder heads.** {told} {number(-top.change, '.1f')} BLEU."]
    answers += [f"{', '.join(beside)}.".capitalize()] if beside else []
    return " ".join(filter(None, [*answers, _printed(pd.concat([table, there])), _cheap(chosen)]))


def _much(curve: pd.DataFrame) -> str:
    """How large a share of heads goes at a loss of at most `tables.LOSS`, in words."""
    within = curve[(curve.method == NAMES["l0"]) & (curve.change >= -LOSS)]
    gone = 1 - (within.heads / within.total).min() if len(within) else 0.0
    return "Most" if gone > 0.6 else "About half" if gone >= 0.45 else "Fewer than half"


def _layers(number_of: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six")
    return f"{words[number_of] if number_of < len(words) else number_of}-layer"


def _cheap(chosen: pd.DataFrame | None) -> str:
    """Of `choices`: whether gradient importance chooses as well as gates; empty where several trainings do not tell."""
    if chosen is None or (name := named("gradient, example")) not in chosen.index or chosen.low.isna().all():
        return ""
    gap, low, high = chosen.loc[name, ["gap", "low", "high"]]
    if high < 0:
        return f"Trained gates choose better than {name}, by {number(-gap, '.1f')} BLEU."
    return f"It takes no trained gates: {name}, one backward pass, chooses {'better' if low > 0 else 'as well'}."


def _gone(row: pd.Series) -> str:
    return f"{row.total - row['heads']:.0f} of {row.total:.0f}"


def _printed(table: pd.DataFrame) -> str:
    """What the paper's share of heads costs; "none" where each model loses more with as many gone, or with fewer."""
    (loss, few, whole), at = PAPER, table["at printed"]
    if pd.isna(at.iloc[0]):
        return ""
    if (at.fillna(table.change) < -loss).all():
        return f"None can give up the paper's share, {whole - few} of {whole}, for {loss:g} BLEU."
    return f"The paper's share, {whole - few} of {whole}, costs {number(-at.iloc[0], '.1f')} BLEU here (in the paper {loss:g})."


def short(chosen: pd.DataFrame | None, scratch: pd.DataFrame, faster: str) -> str:
    """What to do, of `choices`, of `tables.against_scratch` and of what removal saves."""
    cheap = chosen is not None and (name := named("gradient, example")) in chosen.index and not chosen.high[name] < 0
    how = f"Rank encoder heads by {name}" if cheap else "Let gates choose the encoder heads"
    told = f"{how}, remove about half of them, train on, and look at what it costs: a smaller model may lose more. {faster}"
    better = len(scratch) and (scratch.change < 0).all()
    return f"{told} Where a small model is all you want, train it from scratch." if better else told


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
            "share": f"{_share(row)} of {row.worth:.1f}",
            "never": f"{_share(row, 'share from the start')} of {row[NEVER]:.1f}{alone}" if known else "not trained",
        })  # fmt: skip
    return pd.DataFrame(rows)


def laxer() -> str:
    """How the verdict's rule stands to what is printed."""
    loss, few, whole = PAPER
    rule = f"half of the heads gone, {number(KEPT, '%')} of what removing all costs kept"
    return f"The verdict's rule ({rule}) is laxer than the printed result ({whole - few} of {whole} gone, {-loss:g} BLEU)."


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
    sure = f", {sum(row.side == 'against' for row in judged)} of them significantly" if judged else ""
    better = (scratch.change < 0).sum()
    whose = listed(scratch.index.unique(0))
    return (
        f"Trained from scratch, the head map of {whose} is better in {better} of {len(scratch)} cases{sure if better else ''}."
    )


def by_kind(table: pd.DataFrame) -> str:
    """Of `tables.kept_by_kind`: whether encoder heads go first, and whether cross-attention goes after the decoder's heads."""
    encoder, decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in KIND_TITLES)
    part, first = ~((cross == 1) & (decoder == 1)), ((encoder < decoder) & (encoder < cross)).sum()
    said = f"Encoder heads go first in {first} of {len(table)} runs"
    said += (
        f"; cross-attention goes last in {(cross > decoder)[part].sum()} of the {part.sum()} that can tell"
        if part.any()
        else ""
    )
    return f"{said}." if table["starts alike"].all() else f"{said}. Only encoder attention starts from zero: no order follows."


def functions(table: pd.DataFrame) -> tuple[str, str]:
    """Of `tables.retained_more_than_chance`: do heads with a function stay more often than others? And could the test tell?"""
    of_any = table[table.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay.", ""
    sure, above = (of_any.p_holm < SURE).sum(), (of_any.stay > of_any.expected).sum()
    said = f"In {above} of {len(of_any)} pruned models more heads with a function stay than of random heads,"
    said = f"{said} significantly in {sure or 'none'}."
    most = of_any[["had", "heads"]].min(axis=1)  # the most that could stay
    could = int((hypergeom.sf(most - 1, of_any.of, of_any.had, of_any["heads"]) < SURE / len(table)).sum())
    power = (
        f"The test can hardly tell: even if every such head stayed, only {could} of {len(of_any)} pruned models would pass it."
    )
    return said, power if could < len(of_any) else ""


def kinds_elsewhere(chapter: layout.Chapter, corpus: str, least: float) -> str:
    """The order of kinds in a published run's `tables.kept_by_kind`, and whether removing all encoder heads costs that model
    the BLEU that the rule asks for (`least`); empty where there is no such run."""
    path, summary = chapter.table("fig9_heads_by_kind"), study.ROOT / "figures" / "summaries" / "europarl-deep-decoder.csv"
    if not path.exists():
        return ""
    table = pd.read_csv(path)
    decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in ("decoder", "cross"))
    orders = {"cross-attention goes before the decoder": cross < decoder, "after it": cross > decoder}
    told = [f"{order} at {found.sum()}" for order, found in orders.items() if found.any()]
    worth = float("inf")
    if corpus == "natural" and summary.exists():
        worth = pd.read_csv(summary, index_col="what").value["worth of encoder attention, removed, europarl_test"]
    hollow = f" (not counted: encoder attention is worth too little there, {worth:.1f} BLEU where the rule asks {least:g})"
    where = f"On {TEXTS[corpus]} text ({listed(table.model.unique())})"
    return f"{where} {listed(told or ['no order shows at any'])} of {len(table)} penalties{hollow if worth < least else ''}."


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
    here = listed("{} against {} and {}".format(*one) for one in told)
    return f"Depth may matter too: the encoder's layers against those of the other kinds are {here} (in the paper 6 each)."


def had(table: pd.DataFrame) -> str:
    """Of `tables.retained_more_than_chance`: which functions heads had before pruning, by model."""
    told = []
    for model, rows in table.groupby("model", sort=False):
        most = rows.groupby("function").had.max()
        own = [f"{called} {most[name]}" for name, called in FUNCTIONS.items() if most.get(name)]
        told.append(f"{model} {most['any']}{f' ({listed(own)})' if own else ''}")
    return f"Heads with a function before pruning: {'; '.join(told)}."


def drifted(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.drift` by model: what became of the functions of heads left in all pruned models together, by model."""
    flat = table.reset_index()
    pruned = flat[flat["heads"] < flat.groupby("model")["heads"].transform("max")]
    groups = pruned.groupby("model", sort=False)
    return groups[["functional_before", "kept", "lost", "other"]].sum().assign(pruned=groups.size())


def gone_at_once(points: pd.DataFrame) -> str:
    """Of `tables.removed_at_once`: what keeps most at most head counts, and how much, beside random heads."""
    own, chance = points[points.method != ALL], named(RANDOM)
    cells = own.pivot_table("value", ["panel", "heads"], "method")
    if chance not in cells or len(cells.columns) < 2:
        return "There is nothing to compare: random heads alone, or none, were removed at once."
    cells = cells.loc[cells.index[0][0]].sort_index(ascending=False)
    best = cells.drop(columns=chance).idxmax(axis=1)
    name = best.value_counts().index[0]
    at = best.index[best == name][(best == name).sum() // 2]
    told = f"With {at} heads left, those chosen by *{name}* keep {number(cells[name][at], '.1f')} BLEU, random ones"
    return f"{told} {number(cells[chance][at], '.1f')} on average."


def main(table: pd.DataFrame) -> pd.DataFrame:
    """Of `pooled` the rows that the story is of: gradient importance, gates, random heads, and confidence."""
    told = tuple(map(named, ("gradient, example", NAMES["map"], NAMES["l0"], NAMES["gradual"], RANDOM, "confidence")))
    return table[table.index.get_level_values("run").str.startswith(told)]


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
    """Of `choices`: how the best of them stands to L0's heads."""
    if found.empty:
        return ""
    best, row = found.index[0], found.iloc[0]
    trainings = f"over {row.of:.0f} trainings" if row.of > 1 else "in this one training"
    told = f"Trained on alike, heads chosen by *{best}* differ from L0's by {interval(row.gap, row.low, row.high, '+.2f')} BLEU"
    return f"{told} {trainings}."


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


def truths(told: pd.DataFrame, names: Collection[str]) -> str:
    """Of rank correlations by (truth and model, criterion): the best cheap criterion for each truth, beside the other truth, as
    ranges over models."""
    said, models = [], 0
    for truth in names:
        part = told[told.index.get_level_values("truth").str.startswith(truth)].rho
        mean, models = part.groupby("criterion").mean(), max(models, part.index.get_level_values("truth").nunique())
        cheap = mean.drop(list(names), errors="ignore")
        if cheap.notna().any():
            known = [name for name in names if name != truth and pd.notna(mean.get(name))]
            at = {name: ends(part.xs(name, level="criterion"), ".2f") for name in (cheap.idxmax(), *known)}
            best = f"by {cheap.idxmax()} ({'; '.join([at[cheap.idxmax()], *(f'by {name} {at[name]}' for name in known)])})"
            said.append(f"{truth} {best}" if said else f"{truth} is predicted best {best}")
    said = "; ".join(said) or "none could be told"
    return f"Of the cheap criteria, rank correlations over {count(models, 'model')}: {said}."
