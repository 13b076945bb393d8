"""What the tables of `benchmarks.costs` come to, in sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from benchmarks import removed_heads
from benchmarks.costs import GRADIENT, LEAD, MAP, PRICED, TOGETHER, UNIT
from helpers.measures import lrp
from helpers.measures.table import named as called
from helpers.reading import count, ends, interval, listed, number, readable

TIMED = (
    "Measures were timed once in every training of the contest, in one process; one reading gives confidence and positional. "
    "L0's time is that of its own run, evaluations included; such clocks differ severalfold: rather trust its passes.\n\n"
    "All other times are of models with random weights. Every way runs once in every repeat, in random order. Nothing is timed "
    "before the study's code and ordinary code gave the same numbers."
)
REMOVED = (
    "The encoder-decoder loses single heads; the Llama-style decoder loses query heads group by group, and a key-value head "
    "with its last query head."
)
LIMITS = "Small models, most with random weights, on two cores."


def told_apart(steps: pd.DataFrame) -> str:
    """Of what `additions` lists: what is clear of timing noise (its upper quartile) on every model, and the rest's most."""
    clear = (steps.cost_low > steps.again_high).groupby(steps["what"], sort=False).all()
    told = [f"{name} ({ends(steps.cost[steps['what'] == name], '%')})" for name in clear.index[clear]]
    rest = steps.cost[steps["what"].isin(clear.index[~clear])]
    said = f"Clear of noise on every model timed: {listed(told)}."
    return f"{said} The rest adds at most {number(rest.max(), '%')}, on some model within noise." if len(rest) else said


def cheapest(table: pd.DataFrame, ranked: pd.DataFrame, priced: pd.DataFrame) -> str:
    """Which measure to prune by, in bold and in sentences: of `pruning`, `contested` and `priced`."""
    rows = table.dropna(subset="cost").set_index("measure").sort_values("run")
    made = f"{ranked.model.iloc[0]} ({count(int(ranked.seeds.iloc[0]), 'training')})"
    good = rows[rows.above]
    if good.empty:
        return f"**We cannot tell.** On {made} no measure's interval against random heads excludes zero."
    if UNIT not in good.index:
        return f"**As much as {called(good.index[0])} is enough.** On {made} no cheaper choice is shown to beat random heads."
    others = rows.drop(UNIT)
    better = others[others.lead_high < 0]
    said = f"On {made} it beats random heads after {number(priced.seconds[UNIT], '.1f')} seconds"
    said += f"; L0 takes {number(priced.seconds[MAP], '.0f')}, but trains meanwhile" if MAP in priced.index else ""
    said += f". Of {count(len(others), 'other choice')}, at {ends(others.run, '.3g')} times its price,"
    said = f"{said} {_listed(better) if len(better) else 'none'} is shown better."
    return f"**To choose encoder heads, gradient importance (one forward, one backward pass) is enough.** {said}"


def setting(ranked: pd.DataFrame) -> str:
    """Of `contested`: model, trainings and how many encoder heads are left, as a title."""
    left = f"{number(ranked['heads'].mean(), '.0f')} encoder heads left (mean)"
    return f"{ranked.model.iloc[0]}, {count(int(ranked.seeds.iloc[0]), 'training')}, {left}"


def elsewhere(there: pd.DataFrame, small: pd.DataFrame) -> str:
    """Of `contested` on natural text: what measures gained over random heads; of `smaller`: that chance may do."""
    values = there.pivot(index="test set", columns="criterion", values="value")
    if not {"random", UNIT, *(near := ("leave-one-out", *TOGETHER[:2])), "votes"} <= {*values}:
        return ""
    gains = values.sub(values["random"], axis=0)
    more, least = (ends(gains[[*names]].stack(), "+.1f") for names in ((UNIT, *near), ["votes"]))
    said = f"On {there.model.iloc[0]} ({count(int(there.seeds.iloc[0]), 'training')}, untested) it,"
    said = f"{said} {listed(map(called, near))} gain {more} BLEU over random, votes {least}."
    chance, chosen = (number(small.value[name], ".1f") for name in ("random heads off", GRADIENT))
    said += f" In notebook 4 ({small.seeds[GRADIENT]:.0f} trainings) as many random heads of grouped models reach"
    return f"{said} {chance} BLEU, its choice {chosen}."


def closing(table: pd.DataFrame, ranked: pd.DataFrame, shots: Mapping[str, pd.DataFrame], small: pd.DataFrame) -> str:
    """The last words: what to do if one trains on, if not, and for speed.

    Parameters
    ----------
    table, ranked, shots, small
        As `pruning`, `contested`, `at_once` by text, and `smaller` return them.
    """
    rows, lines, half = table.set_index("measure"), [], [*TOGETHER[:2]]
    known = {text: part.pivot(index=["model", "heads"], columns="criterion", values="change") for text, part in shots.items()}
    dear = ("L1 gates", "leave-one-out")
    known = {text: part[part.any(axis=1)] for text, part in known.items() if {UNIT, *dear, *half} <= {*part}}
    if UNIT in rows.index and not (rows.lead_high[rows.cost != rows.cost[UNIT]] < 0).any():
        said = (
            f"By gradient importance: nothing is shown better ({ranked.model.iloc[0]}). Training on takes as many steps as L0."
        )
        lines.append(f"*You train on.* {said}")
    if {*dear} <= {*rows.index} and known:
        losses = [part.assign(half=part[half].min(axis=1)) for part in known.values()]
        less = {name: [(part[name] < part[UNIT]).sum() for part in losses] for name in (*dear, "half")}
        first, other = (f"{called(name)} ({number(rows.cost[name], '.0f')} times" for name in dear)
        cases = listed(f"{n} of {len(part)} on {text}" for n, (text, part) in zip(less[dear[0]], known.items(), strict=True))
        said = (
            f"Heads cost less loss by {first} the price) than by gradient importance in {cases} (cases: models by heads left;"
        )
        said = f"{said} untested), by {other}) in {listed(less[dear[1]])}, by confidence or positional in"
        lines.append(f"*You do not train on.* {said} {listed(less['half'])}.")
    times, bleu = (
        {name: interval(value, low, high, ".1f") for name, value, low, high in small[[*columns]].itertuples()}
        for columns in (("ratio", "ratio_low", "ratio_high"), ("value", "low", "high"))
    )
    told, chance = {name: f"{small.value[name]:.1f} and {said}" for name, said in times.items()}, bleu["random heads off"]
    whole, rest = map(number, small.attrs["steps"])
    said = f"Train small: with fewer layers BLEU {told['fewer layers']} times the whole's speed; narrower, {told['narrower']}"
    said = f"{said} (notebook 4, {small.seeds.iloc[0]:.0f} trainings, {whole} steps). As small without heads, trained on for"
    said = f"{said} {rest}: by gradient importance {told[GRADIENT]}; at random, as many a layer, in grouped models {chance}."
    lines.append(f"*You want speed.* {said}")
    return f"{chr(10).join(f'- {line}' for line in lines)}\n\n*Limits.* {LIMITS}"


def ordinary(priced: pd.DataFrame) -> str:
    """Of `priced`: what relevance costs by ordinary code beside ours."""
    dear = priced.loc[priced.index.intersection([*lrp.RULES])]
    other = dear.captum.dropna().sort_values()
    said = f"At {dear.model.iloc[0].rpartition(', ')[2]} ordinary code, one token after another, takes"
    said = f"{said} {ends(dear.times, '.0f')} times as long as ours"
    said += f", the library Captum {ends(other, '.0f')} ({listed(map(_rule, other.index))})" if len(other) else ""
    return f"{said}."


def _rule(name: str) -> str:
    """A rule of relevance without the word."""
    return called(name).removeprefix("relevance, ")


def read(priced: pd.DataFrame, sentences: int, every: int) -> str:
    """Of `priced`: which measures read all sentences in the contest, and what they cost on the few."""
    cheap = priced.cost[priced.index.intersection(["confidence", "votes"])]
    said = f"Prices as run: confidence, positional and votes read {number(every)} sentences, gradient importance"
    return f"{said} {sentences}. On {sentences} they cost {ends(cheap, '.1f')} (bars), but what they then choose is not tested."


def worse(table: pd.DataFrame) -> str:
    """Of `pruning`: what chose worse than gradient importance; "" if nothing did."""
    rows = table.set_index("measure").drop("random", errors="ignore")
    bad = rows[rows.lead_low > 0]
    said = "Worse than gradient importance, by how much BLEU (paired by training, not corrected; *syntactic*, looks along a"
    return f"{said} parser's arcs, is not priced): {_listed(bad)}." if len(bad) else ""


def _listed(rows: pd.DataFrame) -> str:
    """Measures of `pruning`, each with what gradient importance is ahead of it."""
    each = zip(rows.index, *(rows[end] for end in LEAD), strict=True)
    return listed(f"{_rule(name)} ({interval(value, low, high, '+.1f')})" for name, value, low, high in each)


def details(priced: pd.DataFrame, sentences: int) -> str:
    """What measures cost as a table in Markdown; of `priced`, on so many sentences."""
    columns = {"what": "what", "seconds": "seconds", "cost": "times gradient importance", "run": "as run"}
    told = (
        f"What measures cost in the contest on {sentences} sentences (brackets: least to most of trainings; of L1 gates and L0"
    )
    forms = dict.fromkeys(("seconds", "cost", "run"), ".3g")
    return readable(priced.reset_index(drop=True), columns, forms, caption=f"{told} their training)").data


def understood(table: pd.DataFrame, points: pd.DataFrame) -> str:
    """Of `beside` and `growth`: how near counted operations come to measured costs, where not, and confidence."""
    ratio = (table.cost / table.counted).drop(UNIT, errors="ignore")
    near, far = ratio[ratio.between(0.5, 2)], ratio[~ratio.between(0.5, 2)]
    said = f"Counted operations are within a factor of two for {len(near)} of {len(ratio)} measured costs"
    more = listed(f"{_rule(name)} {number(value, '.1f')}" for name, value in far.items())
    said += f" ({more} times what they say)" if more else ""
    last, times = _longest(points)
    reading, unit = (number(times[PRICED[name][0]], ".3f") for name in ("confidence", UNIT))
    return f"{said}. At {last:.0f} tokens confidence takes {reading} seconds, gradient importance {unit}."


def _longest(points: pd.DataFrame) -> tuple[float, pd.Series]:
    """Of `growth`: the greatest length, and seconds there."""
    along = points[points.axis == "length"]
    return along["at"].max(), along[along["at"] == along["at"].max()].set_index("what").value


def removing(papers: Mapping[tuple[str, str], tuple[float, float]], case: str, every: str) -> tuple[pd.DataFrame, str]:
    """What cut and masked heads save: ends by (call, form), as of `ONCE`, where as many are left as `case` and `every` say.

    Returns
    -------
    pandas.DataFrame, str
        what, removed, ceiling (ends); and of which batches they are.
    """
    known, setting = {of: ends(papers[of], ".2f") for of in papers}, dict[str, Any](removed_heads.SETTINGS["base"])
    one, both = (" of ".join(re.findall(r"\d+", of)[:2]) for of in (case, every))
    rows = [
        (f"{call} with {left} left", known[call, f"removed{more}"], known[call, f"ceiling{more}"])
        for call, left, more in (
            ("encoder pass", f"{one} encoder heads", ""),
            ("generation", f"{one} encoder heads", ""),
            ("generation", f"{both} heads of every kind", ", all kinds"),
        )
    ]
    said = f"Masked heads save nothing ({known['generation', 'masked']} times as fast). Batches are of"
    said = f"{said} {listed(setting['batches'])} sentences of {listed(setting['lengths'])} tokens, in the encoder also"
    return pd.DataFrame(rows, columns=["what", "removed", "ceiling"]), f"{said} {removed_heads.LONG}."


def steepest(points: pd.DataFrame, priced: pd.DataFrame) -> str:
    """Of `growth` and `priced`: how many times as long relevance takes at twice the length, and its price at the longest."""
    last, seconds = _longest(points)
    half = points[(points.axis == "length") & (points["at"] == last / 2)].set_index("what").value
    rules = priced.index.intersection([*lrp.RULES])
    known = [PRICED[rule][0] for rule in rules]
    dear, near = (listed(number(price, ".3g") for price in prices) for prices in
                  (seconds[known] / seconds[PRICED[UNIT][0]], priced.cost[rules]))  # fmt: skip
    said = (
        f"From {last / 2:.0f} to {last:.0f} tokens relevance takes {ends(seconds[known] / half[known], '.1f')} times as long."
    )
    said = f"{said} At {last:.0f} its price is {dear} gradient importances ({listed(map(_rule, rules))}), in the contest"
    return f"{said} {near}."


def unpruned(frame: pd.DataFrame) -> str:
    """Of `pruned`: what timing a model against itself gives for a token, which is noise."""
    none = frame[(frame.share == 0) & (frame.quantity == "time of a token") & frame.criterion.str.contains("evenly")]
    return f"With no head removed, a token takes {ends(none.value, '%')} of the time of the same model timed again."


def left(frame: pd.DataFrame) -> str:
    """Of `pruned`: what is left of cache and time where most heads are gone, evenly: the least and the most of its models."""
    most = frame[frame.criterion.str.contains("evenly") & (frame.share == frame.share.max())].groupby("quantity").value
    cache, time = (ends(most.get_group(name), "%") for name in ("cache bytes", "time of a token"))
    size = listed(frame.model.str.extract(r", (\d+ layers, width \d+)", expand=False).dropna().unique())
    said = (
        f"Without {frame.share.max()} % of all heads ({size}) the cache is down to {cache}, but a token still takes {time} of"
    )
    return f"{said} its time: feed-forward layers and the output vocabulary stay."


def machines(facts: pd.DataFrame, spent: pd.DataFrame, large: str) -> str:
    """What was timed on which machine: benchmarks, models of the papers' size (`large`), and the contest (as of `spent`)."""
    own = spent.attrs.get("hardware")
    said = f"Benchmarks: {listed(facts.hardware.unique())}; removed heads at the papers' size: {large}"
    return f"{said}{f'; the contest: {listed(own)}' if own else ''}."
