"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
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


def half(table: pd.DataFrame) -> str:
    """Of `tables.half_left` with `tables.worth`: BLEU lost by each model, and what it keeps by either yardstick."""
    table = table[table.share.notna()].droplevel("test set")
    if table.empty:
        return "No run is left with half of its encoder heads or fewer."
    lost = [f"{name} {number(-row.change, '.1f')} BLEU" for name, row in table.iterrows()]
    if len(table) > 3:
        lost[1:] = [f"others {number(-table.change[1:].max(), '.1f')} to {number(-table.change[1:].min(), '.1f')}"]
    kept = f"Yardstick all heads removed: {listed(f'{100 * x:.1f}' for x in table.share)} % kept"
    known = table[table[NEVER].notna()] if NEVER in table else table[:0]
    never = [f"{number(row['share from the start'], '%')} ({name}, first training)" for name, row in known.iterrows()]
    return f"Lost with half of the heads or fewer: {listed(lost)}. {kept}{f'; never there: {listed(never)}' if never else ''}."


def lead(table: pd.DataFrame, corpus: str, first: Mapping[str, pd.DataFrame], there: pd.DataFrame | None = None,
         curves: Mapping[str, pd.DataFrame] | None = None, depths: Mapping[str, int] | None = None) -> str:  # fmt: skip
    """The answer, of `tables.half_left` of this run, of `tables.quality` with `tables.worth` of its models' first trainings,
    of `tables.half_left` of the other corpus, of `tables.over_trainings` and of how many encoder layers each model has."""
    table, there, depths = table[table.share.notna()], table[:0] if there is None else there, depths or {}
    if table.empty:
        return half(table)
    layers = {model: f"the {depths[model]}-layer model of {model}" if model in depths else model for model, _ in table.index}
    name, top, least = table.index[0][0], table.iloc[0], table.iloc[table.total.argmin()]
    gone = f"In {layers[name]} ({TEXTS[corpus]} text, BLEU {top.bleu - top.change:.0f}) {_gone(top)}"
    if curves and least.total < top.total:  # how far this holds
        own = curves[least.name[0]]
        little = own[(own.method == NAMES["l0"]) & (own.change >= -LOSS) & (own.heads < own.total)].sort_values("heads")[:1]
        few = [
            f"{at.total - at.heads:.0f} of {at.total:.0f} cost {number(-at.change, '.1f')} and " for at in little.itertuples()
        ]
        more = f"{least.total - least['heads']:.0f} cost {number(-least.change, '.1f')}"
        gone = f"{gone}; in {layers[least.name[0]]} {''.join(few)}{more}"
    said = [f"**{gone}.**", never(first[name]), _printed(pd.concat([table, there]))]
    if len(there):
        row, where = there.iloc[0], answer(there[:1], corpus).model[0].replace(",", " text,", 1)
        said.append(f"On {where}, {row.total - row['heads']:.0f} of {row.total:.0f} cost {number(-row.change, '.1f')}.")
    return " ".join(filter(None, said))


def _gone(row: pd.Series) -> str:
    return f"{row.total - row['heads']:.0f} of {row.total:.0f} encoder heads go for {number(-row.change, '.1f')} BLEU"


def _printed(table: pd.DataFrame) -> str:
    """What the paper's share of heads costs; "in no model" where each loses more with as many gone, or with fewer."""
    (loss, few, whole), at = PAPER, table["at printed"]
    if pd.isna(at.iloc[0]):
        return ""
    told, cost = f"The paper's {whole - few} of {whole}", number(-at.iloc[0], ".1f")
    if (at.fillna(table.change) < -loss).all():
        return f"{told} for {loss:g} BLEU is reproduced in no model ({table.index[0][0]}: {cost}, interpolated)."
    return f"{told} cost {cost} BLEU here (interpolated; WMT: {loss:g})."


def short(table: pd.DataFrame, first: Mapping[str, pd.DataFrame], speeds: str = "") -> str:
    """The first model's numbers of `lead`, and what is said of speed."""
    if (table := table[table.share.notna()]).empty:
        return half(table)
    said = [f"{_gone(table.iloc[0])} ({table.index[0][0]}).", _printed(table), never(first[table.index[0][0]]), speeds]
    return " ".join(filter(None, said))


def never(table: pd.DataFrame) -> str:
    """Of one training's `tables.quality` with `tables.worth`: with how many heads gone a model is no better, and worse, than
    one trained without encoder heads, else what the fewest keep of the gap to it; empty where no model was trained so."""
    if NEVER not in table or table[NEVER].isna().all():
        return ""
    own, share = table.xs(table.index.get_level_values("test set")[0], level="test set"), "share from the start"
    rows = own[own.method == NAMES["l0"]].sort_values("heads", ascending=False)
    rows = rows.assign(gone=rows.total - rows["heads"], behind=-rows[share] * own[NEVER]["control"])
    even, worse = rows[rows[f"{share}_low"] <= 0], rows[rows[f"{share}_high"] < 0]
    if even.empty:
        last = rows.iloc[-1]
        return f"With {last.gone:.0f} gone {_share(last, share)} stay of what encoder attention adds to training without it."
    first, than = even.iloc[0], "one that never had encoder attention"
    if first.name in worse.index:
        return f"With {first.gone:.0f} gone the model is worse than {than}, by {number(first.behind, '.1f')} BLEU."
    more = f"; with {worse.gone.iloc[0]:.0f} gone it is worse, by {number(worse.behind.iloc[0], '.1f')}" if len(worse) else ""
    return f"With {first.gone:.0f} gone the model is no better than {than}{more} (first training)."


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


def all_kinds(within: pd.DataFrame, table: pd.DataFrame) -> str:
    """Of `tables.largest_pruning` and `tables.quality` of models pruned of all kinds: what the weakest penalty leaves and
    costs, and whether a loss of at most `tables.LOSS` is sure."""
    runs = table[table.method == NAMES["l0"]]
    weakest = runs.loc[runs.groupby(level="model", sort=False).penalty.idxmin()]
    left = listed(f"{row['heads']:.0f} of {row.total:.0f}" for _, row in weakest.iterrows())
    lost = listed(interval(row.change, row.change_low, row.change_high, "+.1f") for _, row in weakest.iterrows())
    sure = within.kept_surely < within.total
    told = "sure" if sure.all() else f"sure in {sure.sum()} of {len(sure)} models" if sure.any() else "not sure"
    leaves = f"The weakest penalty leaves {left} heads ({listed(weakest.index.unique('model'))}) and changes BLEU by {lost}"
    return f"{leaves}: that less than {LOSS:g} is lost is {told}."


def from_scratch(scratch: pd.DataFrame, judged: Sequence[Any] = ()) -> str:
    """Of `tables.against_scratch`: how often a head map is better from scratch than pruned, by how much, in how many steps;
    `judged`: the verdict's rows, which say how often that is so after Holm's correction."""
    if scratch.empty:
        return "No head map was trained from scratch."
    sure = [number(-row.value, "+.1f") for row in judged if row.side == "against"]
    said = f"From scratch the same map is better on average in {(scratch.change < 0).sum()} of {len(scratch)}"
    said = f"{said} ({-scratch.change.max():+.1f} to {-scratch.change.min():+.1f} BLEU)"
    said += f", significantly after Holm in {len(sure)}{f' ({listed(sure)})' if sure else ''}" if judged else ""
    models = count(scratch.index.get_level_values(0).nunique(), "model")
    steps = f"{scratch.steps.max():,} steps to adapt, pruned at most {scratch.steps_pruned.max():,}"
    return f"{said}, with {steps} ({models}, one training a map)."


def by_kind(table: pd.DataFrame) -> str:
    """Of `tables.kept_by_kind`: whether encoder heads go first, how many more cross-attention than decoder heads are left."""
    encoder, decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in KIND_TITLES)
    whole = (cross == 1) & (decoder == 1)
    first, clear = ((encoder < decoder) & (encoder < cross)).sum(), {True: "clear", False: "not clear"}
    said = f"Encoder heads go first in {first} of {len(table)} runs ({count(table.model.nunique(), 'training')})."
    if not whole.all():
        apart, total = (table.cross - table.decoder)[~whole], table.cross_total.iloc[0]
        said += f" Cross-attention minus decoder heads left: {', '.join(f'{x:+.0f}' for x in apart)} of {total}"
        said += f"; in {count(int(whole.sum()), 'run')}, which the verdict leaves out, neither goes" if whole.any() else ""
        said += f". Encoder-first is {clear[first == len(table)]}, cross-last {clear[(apart > 0).all()]}."
    return said if table["starts alike"].all() else f"{said} Only encoder attention starts from zero, so no order follows."


def functions(table: pd.DataFrame) -> tuple[str, str]:
    """Of `tables.retained_more_than_chance`: do heads with a function stay more often than others? And could the test tell?"""
    of_any = table[table.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay.", ""
    sure, alone = (of_any.p_holm < SURE).sum(), (of_any.p < SURE).sum()
    found = f"{sure or 'None'} significantly after Holm, {alone} before" if alone else "None significantly, even uncorrected"
    low, high = hypergeom.interval(0.95, of_any.of, of_any.had, of_any["heads"])
    if not alone and of_any.stay.between(low, high).all():
        found = "All lie within chance (grey)"
    told = []
    for model, rows in of_any.groupby("model", sort=False):
        gone, had = rows["heads"][rows.stay == 0], rows.had.max()
        last = f"; none among the last {gone.max()}" if had and len(gone) else ""
        which, heads = ("of", "") if told else ("prunings of", " heads")
        told.append(f"{(rows.stay > rows.expected).sum()} of {len(rows)} {which} {model} ({had}{heads}{last})")
    said = f"Heads with a function stay above chance in {listed(told)}. {found}."
    every, most = of_any[of_any.had > 0], of_any[of_any.had > 0][["had", "heads"]].min(axis=1)  # the most that could stay
    best, family = hypergeom.sf(most - 1, every.of, every.had, every.heads), len(table)
    could, whole = int((best < SURE / family).sum()), every[every.stay == every.had]
    asked = f"{len(of_any)} of any function, {family - len(of_any)} of single ones"
    power = f"With {family} tests ({asked}) only {could} of {len(of_any)} prunings could pass Holm's first bar whatever stays"
    if len(whole) and not (whole.p_holm < SURE).any():
        power = (
            f"In {len(whole)} of {len(of_any)} every head with a function stayed, the best outcome there is, and even that is"
            f" not significant (p {number(whole.p.min(), 'p')} or more). The test lacks power: {power[0].lower()}{power[1:]}"
        )
    return said, f"{power}." if could < len(of_any) else ""


def always(functions: Mapping[str, Mapping[int, pd.Series]]) -> str:
    """Of `tables.retained_functions` by model: heads with a function that no pruning takes."""
    told = []
    for model, by_count in functions.items():
        before, *pruned = by_count.values()
        heads = [at for at, does in before.items() if does and pruned and all(at in left.index for left in pruned)]
        told += [f"{model} {listed(f'layer {n + 1} head {head + 1}' for _, n, head in heads)}"] if heads else []
    return f"Of heads with a function, at every penalty stay: {'; '.join(told) or 'none'}."


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
    return f"Layers of the encoder against those of decoder and cross-attention: {here} (paper: 6 each)."


def had(table: pd.DataFrame) -> str:
    """Of `tables.retained_more_than_chance`: which functions heads had before pruning, by model."""
    told = []
    for model, rows in table.groupby("model", sort=False):
        most = rows.groupby("function").had.max()
        own = [f"{called} {most[name]}" for name, called in FUNCTIONS.items() if most.get(name)]
        told.append(f"{model} {most['any']}{f' ({listed(own)})' if own else ''}")
    return f"Heads with a function before pruning: {'; '.join(told)}."


def drifted(table: pd.DataFrame, functions: Mapping[str, Mapping[int, pd.Series]]) -> tuple[pd.DataFrame, str]:
    """Of `tables.drift` by model and `tables.retained_functions`: what became of the functions of heads left in all pruned
    models together, by model; and a sentence on heads without one and on how many heads those that lost one are."""
    flat = table.reset_index()
    pruned = flat[flat["heads"] < flat.groupby("model")["heads"].transform("max")]
    groups = pruned.groupby("model", sort=False)
    own = groups[["heads", "functional_before", "kept", "lost", "other", "found"]].sum().assign(pruned=groups.size())
    losing = []
    for model, by_count in functions.items():
        before, *later = by_count.values()
        lose = {at for left in later for at, now in left.items() if {f for f, _ in now} < {f for f, _ in before[at]}}
        if lose and (cases := own.lost.get(model, 0)) > len(lose):
            losing.append(f"the {cases} of {model} are {count(len(lose), 'head')}, seen at several penalties")
    without = (own["heads"] - own.functional_before).sum()
    bare = f"Of heads that had none, counted at every penalty, {own.found.sum():.0f} of {without:.0f} gained one"
    return own, f"{'; '.join([bare, *losing])}."


def gone_at_once(points: pd.DataFrame) -> str:
    """Of `tables.removed_at_once`: what keeps most at how many heads, beside random heads, and what is below all draws."""
    own, chance = points[points.method != ALL], named(RANDOM)
    cells, names = own.pivot_table("value", ["panel", "heads"], "method"), own.method.unique()
    if chance not in cells or len(cells.columns) < 2:
        return "There is nothing to compare: random heads alone, or none, were removed at once."
    cells = cells.loc[cells.index[0][0], [name for name in names if name in cells]].sort_index(ascending=False)
    best = cells.drop(columns=chance).idxmax(axis=1).str.partition(",")[0]  # variants of a measure together
    most = cells.drop(columns=chance).max(axis=1)
    name, below = best.value_counts().index[0], cells.lt(own[own.method == chance].groupby("heads").value.min(), axis=0)
    first, rest = best.index[best == name], best[best != name]
    at = first[len(first) // 2]
    curves = [one for one in cells.columns if one.partition(",")[0] == name]
    which = f"one of the {len(curves)} *{name}* curves keeps" if len(curves) > 1 else f"heads chosen by *{name}* keep"
    together = len(first) > 2 and [*cells.index[: len(first)]] == [*first]
    told = f"Removed at once, {which} most at {f'{first[0]} to {first[-1]}' if together else listed(first)} heads"
    told = f"{told} (at {at}: {number(most[at])} BLEU, random on average {number(cells[chance][at])})"
    here = own[own.panel == own.panel.iloc[0]].set_index("heads")
    for heads, one in rest.items():
        low = here[here.method.str.startswith(one)].loc[[heads]].sort_values("value").low.iloc[-1]
        near = here.high[here.method.isin(curves)][heads].max() >= low
        does = f"it and *{one}* ({{}}) have overlapping intervals" if near else f"*{one}* does ({{}})"
        told += f"; at {heads} {does.format(number(most[heads]))}"
    worse = [f"*{one}* with {listed(below.index[below[one]])}" for one in cells if below[one].any()]
    return f"{told}.{f' Below all random draws: {listed(worse)}.' if worse else ''}"


def further(tables: Sequence[pd.DataFrame], brief: bool = False) -> str:
    """Of `tables.trained_on` of one model's trainings: which choices equal L0's, mean over trainings; not `brief`, also
    how much others lose, and in how many trainings a choice is above all random draws."""
    parts = [table.bleu.groupby(lambda place: chosen(place[0]), sort=False).mean() for table in tables]
    bleu, maps = pd.concat(parts, axis=1, join="inner"), [named(NAMES["map"]), named(NAMES["l0"])]
    drawn, own = bleu[bleu.index.str.startswith(named(RANDOM))], bleu.reindex(maps).dropna()
    others = bleu.drop([*drawn.index, *own.index])
    if drawn.empty or own.empty or others.empty:
        return ""
    gaps = others.sub(own.iloc[0]).mean(axis=1).sort_values(ascending=False)
    when = f"over {count(len(tables), 'training')}" if len(tables) > 1 else "in this one training"
    said = {f"*{name}*": number(gap, "+.1f") for name, gap in gaps.items()}
    if len(tables) > 1:  # paired over trainings
        paired = {f"*{name}*": over_runs(row)[:3] for name, row in others.sub(own.iloc[0]).iterrows()}
        said |= {name: interval(*paired[name], "+.2f") for name, gap in said.items() if not gap.startswith("-")}
    good = [f"{name} ({gap} BLEU{', paired' * (len(tables) > 1)})" for name, gap in said.items() if not gap.startswith("-")]
    less = [f"{name} {gap[1:]}" for name, gap in said.items() if gap.startswith("-")]
    first = f"Trained further, {when}, no worse than L0's choice: {listed(good)}."
    if brief:
        return first
    first += f" Worse{' on average' * (len(tables) > 1)}, BLEU: {', '.join(less)}." if less else ""
    wins = (others > drawn.max()).sum(axis=1)[gaps.index]
    best = [f"*{name}* in {won}" for name, won in wins.items() if won] or ["none"]
    return f"{first} Above every random draw of its training, of {len(tables)}: {listed(best)}."


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


def few_matter(losses: Mapping[str, pd.Series]) -> str:
    """Of how much the loss rises without each head, by model: how little most heads do to it when they alone go."""
    half, most = (ends([f(own) for own in losses.values()], ".4f") for f in (pd.Series.median, pd.Series.max))
    told = f"the median head raises it by {half} nats a token, the most needed by {most}"
    return f"Few heads change the loss when they alone go: {told}, so that most ranks rest on small differences."
