"""What the tables of `benchmarks.costs` come to, in sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from benchmarks import removed_heads
from benchmarks.costs import LEAD, MAP, SLOW, TOGETHER, UNIT, numbers
from helpers.measures import lrp
from helpers.measures.table import named as called
from helpers.reading import count, ends, interval, listed, number, readable

TIMED = (
    "Measures were timed once in every training of the contest, in one process; one reading gives confidence and positional. "
    "L0's time is that of its own run, evaluations included; such clocks differ severalfold: rather trust its passes.\n\n"
    "All other times are of models with random weights. Every way runs once in every repeat, in random order. Nothing is timed "
    "before the study's way and the obvious way gave the same numbers. *Relevance*: one target token at a time, each with a "
    "forward pass of its own. *Gradient importance*: batches of one. *Loss without the head*: the whole model for every head. "
    "*Confidence, positions*: attention maps on disk."
)
REMOVED = (
    "The encoder-decoder loses single heads; the Llama-style decoder loses query heads group by group, and a key-value head "
    "with its last query head."
)
LIMITS = "Small models, most with random weights, on two cores."


def absent(remarks: pd.DataFrame) -> str:
    """Of `remarks`: the libraries that are not compared because they, or what they need, are not here; "" if there are none."""
    gone = remarks[remarks.note.str.contains("does not import|not installed")]["what"].str.split(", ").str[-1]
    return f"Not compared: {listed(dict.fromkeys(gone))}, for this environment lacks their dependencies." if len(gone) else ""


def told_apart(steps: pd.DataFrame) -> str:
    """Of what `additions` lists: what is clear of timing noise (its upper quartile) on every model, and the rest's most."""
    clear = (steps.cost_low > steps.again_high).groupby(steps["what"], sort=False).all()
    told = [f"{name} ({ends(steps.cost[steps['what'] == name], '%')})" for name in clear.index[clear]]
    rest = steps.cost[steps["what"].isin(clear.index[~clear])]
    said = f"Clear of noise on every model timed: {listed(told)}."
    return f"{said} The rest adds at most {number(rest.max(), '%')}, on some model within noise." if len(rest) else said


def cheapest(table: pd.DataFrame, ranked: pd.DataFrame, priced: pd.DataFrame) -> str:
    """Which measure to prune by, in bold and in sentences: of `pruning`, `contested` and `priced`."""
    rows = table.dropna(subset="cost").set_index("measure").sort_values("cost")
    made = f"{ranked.model.iloc[0]} ({count(int(ranked.seeds.iloc[0]), 'training')}; 95 %, not corrected)"
    good = rows[rows.above]
    if good.empty:
        return f"**We cannot tell.** On {made} no measure's interval against random heads excludes zero."
    if UNIT not in good.index:
        return f"**As much as {called(good.index[0])} is enough.** On {made} no cheaper choice is shown to beat random heads."
    dear, cheap = rows[rows.cost > rows.cost[UNIT]], rows[rows.cost < rows.cost[UNIT]]
    better = dear[dear.lead_high < 0]
    said = f"On {made} it beats random heads after {number(priced.seconds[UNIT], '.1f')} seconds"
    said += f"; L0 trains {number(priced.seconds[MAP], '.0f')}" if MAP in priced.index else ""
    said += f". Of {count(len(dear), 'choice')} at {ends(dear.cost, '.0f')} times its price"
    lines = [f"{said} {_listed(better) if len(better) else 'none'} is shown better."]
    if len(cheap):
        beat = f"only {listed(map(called, cheap.index[cheap.above]))}" if cheap.above.any() else "none"
        lines.append(f"Of forward passes alone, {ends(cheap.cost, '.1f')} times its price, {beat} is shown to beat random.")
    return f"**Gradient importance (one forward, one backward pass) is enough.** {' '.join(lines)}"


def setting(ranked: pd.DataFrame) -> str:
    """Of `contested`: model, trainings and how many encoder heads are left, as a title."""
    left = f"{number(ranked['heads'].mean(), '.0f')} encoder heads left (mean)"
    return f"{ranked.model.iloc[0]}, {count(int(ranked.seeds.iloc[0]), 'training')}, {left}"


def elsewhere(there: pd.DataFrame) -> str:
    """Of `contested` on natural text: what the unit, confidence and positional gained over random heads, and the price."""
    values = there.pivot(index="test set", columns="criterion", values="value")
    if not {"random", UNIT, *(half := TOGETHER[:2])} <= {*values}:
        return ""
    own, *gains = (ends(values[name] - values["random"], "+.1f") for name in (UNIT, *half))
    more = listed(f"{called(name)} {gain}" for name, gain in zip(half, gains, strict=True))
    price = number(there.price[there.criterion == half[0]].iloc[0], ".1f")
    said = f"On {there.model.iloc[0]} ({count(int(there.seeds.iloc[0]), 'training')}, {count(len(values), 'test set')},"
    return f"{said} untested) it gains {own} BLEU over random, {more} at {price} times its price."


def closing(
    table: pd.DataFrame, ranked: pd.DataFrame, shots: Mapping[str, pd.DataFrame], small: pd.DataFrame, speed: str
) -> str:
    """The last words: what to do if one trains on, if not, and for speed.

    Parameters
    ----------
    table, ranked, shots, small
        As `pruning`, `contested`, `at_once` by text, and `smaller` return them.
    speed : str
        How many times as fast generation is with few encoder heads left, and how many.
    """
    rows, lines, half = table.set_index("measure"), [], [*TOGETHER[:2]]
    known = {text: part.pivot(index=["model", "heads"], columns="criterion", values="change") for text, part in shots.items()}
    dear = ("L1 gates", "leave-one-out")
    known = {text: part[part.any(axis=1)] for text, part in known.items() if {UNIT, *dear, *half} <= {*part}}
    if UNIT in rows.index and not (rows.lead_high[rows.cost > rows.cost[UNIT]] < 0).any():
        made = f"{ranked.model.iloc[0]}, {count(int(ranked.seeds.iloc[0]), 'training')}"
        said = f"Choose by gradient importance: nothing dearer is shown better ({made}), and training on takes as"
        lines.append(f"*You train on.* {said} many steps as L0.")
    if {*dear} <= {*rows.index} and known:
        ahead = {text: part[half].min(axis=1) - part[UNIT] for text, part in known.items()}
        less = listed(f"{(lead > 0).sum()} of {len(lead)} on {text}" for text, lead in ahead.items())
        still = listed(
            f"{listed((part[name] < part[UNIT]).sum() for part in known.values())} by {called(name)}"
            f" ({number(rows.cost[name], '.0f')} times)"
            for name in dear
        )
        said = f"Gradient importance costs less loss than confidence and positional in {less} (there by"
        said += f" {ends([*ahead.values()][-1], '.3f')} nats; cases: models by heads left; means, untested). Dearer is not"
        lines.append(f"*You do not train on.* {said} surely better: less still in {still}.")
    fewer, cut = (small.loc[name] for name in ("fewer layers", "gradient importance"))
    said = (
        f"Train fewer layers ({fewer.value:.1f} BLEU, {fewer.ratio:.1f} times as fast as the whole); as small without heads, by"
    )
    said += f" gradient importance: {cut.value:.1f} and {cut.ratio:.1f} (notebook 4, {fewer.seeds:.0f} trainings)"
    lines.append(f"*You want speed.* {said}. {speed}.")
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


def steady(halves: pd.DataFrame, sentences: int, every: int) -> str:
    """Of `costs.steady`: how alike halves of the few sentences order heads by measures that read all in the contest."""
    if halves.empty:
        return ""
    rho = listed(interval(rho, low, high, ".2f") for rho, low, high in halves[["rho", "low", "high"]].to_numpy())
    said = f"Prices are for {sentences} sentences; {', '.join(halves.index)} and votes chose on {number(every)}. Halves of"
    said = (
        f"{said} {sentences // 2} order heads alike by the first two (rank correlation {rho}, {halves.models.iloc[0]} models)"
    )
    return f"{said}; votes on fewer: not measured."


def worse(table: pd.DataFrame) -> str:
    """Of `pruning`: what chose worse than gradient importance, whatever its price; "" if nothing did."""
    rows = table.dropna(subset="cost").set_index("measure")
    bad = rows[rows.lead_low > 0]
    said = "Worse than gradient importance, whatever the price, by how much BLEU (paired by training, not corrected)"
    return f"{said}: {_listed(bad)}." if len(bad) else ""


def _listed(rows: pd.DataFrame) -> str:
    """Measures of `pruning`, each with what gradient importance is ahead of it."""
    each = zip(rows.index, *(rows[end] for end in LEAD), strict=True)
    return listed(f"{_rule(name)} ({interval(value, low, high, '+.1f')})" for name, value, low, high in each)


def details(priced: pd.DataFrame, sentences: int) -> str:
    """What measures cost as a table in Markdown; of `priced`, on so many sentences."""
    columns = {"what": "what", "seconds": "seconds", "cost": "times gradient importance"}
    columns |= {"times": "obvious way / ours", "captum": "Captum / ours"}
    forms = dict.fromkeys(("seconds", "cost", "times"), ".3g") | {"captum": ".2g"}
    told = (
        f"What measures cost in the contest on {sentences} sentences (brackets: least to most of trainings; of L1 gates and L0"
    )
    told += " their training). Last columns: other benchmarks"
    told += f" ({listed(dict.fromkeys(model.rpartition(', ')[0] for model in priced.model.dropna()))}); the *obvious way* is"
    return readable(priced.reset_index(drop=True), columns, forms, caption=f"{told} what people write down first").data


def understood(table: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> str:
    """Of `beside`: how near counted operations come to measured costs, where not, and what the way forward saves."""
    ratio = (table.cost / table.counted).drop(UNIT, errors="ignore")
    near, far = ratio[ratio.between(0.5, 2)], ratio[~ratio.between(0.5, 2)]
    said = [f"Counted operations are within a factor of two for {len(near)} of {len(ratio)} measured costs"]
    said += [f"{_rule(name)} took {number(value, '.1f')} times what they say" for name, value in far.items()]
    turned = numbers(found, "relevance_speed", "ratio")
    turned = turned[turned["what"].str.endswith("both over reverse")]
    saved = f"{ends(turned.value, '.1f')} times as fast ({turned.group.iloc[0].rpartition(', ')[2]}, random weights)"
    return f"{'; '.join(said)}. Running forward makes signed rules {saved}."


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


def steepest(points: pd.DataFrame, counts: pd.DataFrame) -> str:
    """Of `growth` and `counted_growth`: how many times as long relevance takes at twice the length, and what torch counts."""
    near, last = counts.columns[0], counts.columns[-1]
    times = points[points.axis == "length"].pivot(index="what", columns="at", values="value").filter(like="relevance", axis=0)
    late, early = times[last] / times[last / 2], (times[near] / times[near / 2]).drop(f"relevance, {SLOW}")
    passes = counts[near][early.index]
    why = ["the savings above"] * int(passes.max() < 4) + ["overhead"] * int(early.max() < passes.min())
    end = f": {listed(why)} hide{'s' * (len(why) == 1)} the square" if why else ""
    said = f"From {last / 2:.0f} to {last:.0f} tokens relevance takes {ends(late, '.1f')} times as long. From {near / 2:.0f} to"
    said = f"{said} {near:.0f}, signed rules take {ends(early, '.1f')} times as long, counted {ends(passes, '.1f')}"
    return f"{said} times{end}."


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
