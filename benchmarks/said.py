"""What the tables of `benchmarks.costs` come to, in sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import removed_heads
from benchmarks.costs import HEART, LEAD, OVERHEADS, SLOW, TOGETHER, UNIT, numbers
from helpers.measures import lrp
from helpers.measures.table import named as called
from helpers.reading import count, ends, interval, listed, number, readable

TIMED = (
    "Measures were timed once in every training of the contest, one after the other in one process. Confidence, positional and "
    "syntactic come of one reading. L1 gates read as much text as their training needs. L0's time is that of its own run, "
    "evaluations included; such clocks differ severalfold: rather trust its passes.\n\n"
    "All other times are of models with random weights. Every way runs once in every repeat, in random order. Nothing is timed "
    "before the study's way and the obvious way, the one that people write down first, gave the same numbers. *Relevance*: one "
    "target token at a time, each with a forward pass of its own. *Gradient importance*: batches of one. *Loss without the "
    "head*: the whole model for every head. *Confidence, positions*: attention maps on disk. Only Captum is somebody else's "
    "code."
)
REMOVED = (
    "The encoder-decoder loses single heads; the Llama-style decoder loses query heads group by group, and a key-value head "
    "with its last query head. What is saved beyond operations is caches, threads and noise."
)
LIMITS = "Most times are of small models with random weights on two cores."


def absent(remarks: pd.DataFrame) -> str:
    """Of `remarks`: the libraries that are not compared because they, or what they need, are not here; "" if there are none."""
    gone = remarks[remarks.note.str.contains("does not import|not installed")]["what"].str.split(", ").str[-1]
    return f"Not compared: {listed(dict.fromkeys(gone))}, for this environment lacks their dependencies." if len(gone) else ""


def told_apart(steps: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> str:
    """Of what `additions` lists, on all models timed: what adds how much, and what timing noise (its upper quartile) hides."""
    every = numbers(found, OVERHEADS, "ratio").set_index(["benchmark", "group"])
    noise = every.high[every["what"].str.endswith("once more (noise)")]
    every = every.assign(what=every["what"].map({own: what for what, *_, own, _ in HEART if what in steps.index}))
    every = every.dropna(subset="what").join(noise.rename("noise"))
    told: list[str] = []
    hidden: list[str] = []
    for what, rows in every.groupby("what", sort=False):
        clear = rows.low > rows.noise
        said = f"{what} adds {ends(rows.value - 1, '%')}{', on some models within noise' * bool(clear.any() > clear.all())}"
        (told if clear.any() else hidden).append(said)
    told += [f"{listed(hidden)}, nowhere clear of noise by this rule"] if hidden else []
    return f"On all models timed ({'; '.join(every.index.unique('group'))}): {'; '.join(told)}."


def cheapest(table: pd.DataFrame, trainings: int, text: str) -> str:
    """Which measure to prune by, in bold and in a sentence: the cheapest of `pruning` whose interval clears random heads."""
    rows = table.set_index("measure")
    good = rows[rows.above & rows.cost.notna()].sort_values("cost")
    if good.empty:
        return f"**We cannot tell.** In our contest on {text} no measure's interval against random heads excludes zero."
    told = "One forward and one backward pass is" if good.index[0] == UNIT else f"As much as {called(good.index[0])} is"
    name, made = called(good.index[0]), count(int(trainings), "training")
    said = f"{name[0].upper()}{name[1:]} is the cheapest choice, as run, whose heads beat random"
    return f"**{told} enough.** {said} ({text}, {made}; 95 % interval, not corrected)."


def alone(priced: pd.DataFrame, sentences: int, every: int) -> str:
    """Of `priced`: what measures by forward passes alone took, which read all `every` sentences, the unit the first ones."""
    if "seconds" not in priced or not priced.seconds.get("votes", np.nan) > 0:
        return ""
    took = ends(priced.cost[["confidence", "votes"]], ".1f")
    told = f"Confidence, positional and votes, forward passes alone, read {number(every)} sentences, not {sentences}, and took"
    return f"{told} {took} times as long."


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
    said = f"On {there.model.iloc[0]} ({count(int(there.seeds.iloc[0]), 'training')}, {count(len(values), 'test set')}; not"
    more = listed(f"{called(name)} {gain}" for name, gain in zip(half, gains, strict=True))
    price = number(there.price[there.criterion == half[0]].iloc[0], ".0f")
    return f"{said} tested) it gains {own} BLEU over random heads, {more} at {price} times the price."


def closing(
    table: pd.DataFrame, ranked: pd.DataFrame, shots: Mapping[str, pd.DataFrame], slim: pd.DataFrame, speed: str
) -> str:
    """The last words: what to do if one trains on, if not, and for speed; of `pruning`, `contested`, `at_once` by text, `slim`.

    Parameters
    ----------
    speed : str
        How many times as fast generation is with few encoder heads left, and how many.
    """
    rows, lines = table.set_index("measure"), []
    known = {text: part.pivot(index=["model", "heads"], columns="criterion", values="change") for text, part in shots.items()}
    known = {text: part[part.any(axis=1)] for text, part in known.items() if {UNIT, "L1 gates", *TOGETHER[:2]} <= {*part}}
    if UNIT in rows.index and not (rows.lead_high[rows.cost > rows.cost[UNIT]] < 0).any():
        made = f"{ranked.model.iloc[0]}, {count(int(ranked.seeds.iloc[0]), 'training')}"
        said = (
            f"Choose by gradient importance: nothing dearer is shown to choose better ({made}); only L0 itself, which chooses"
        )
        lines.append(f"*You train on.* {said} while it trains on, needs no time for it.")
    if "L1 gates" in rows.index and known:
        less = [
            f"{(part[UNIT] < part[[*TOGETHER[:2]]].min(axis=1)).sum()} of {len(part)} on {text}" for text, part in known.items()
        ]
        still = listed((part["L1 gates"] < part[UNIT]).sum() for part in known.values())
        said = f"Removal by gradient importance costs less loss than by confidence and positional in {listed(less)}"
        said = f"{said}; by L1 gates, at {number(rows.cost['L1 gates'], '.2g')} times the price, less still in {still}"
        lines.append(f"*You do not train on.* {said} (cases: models by heads left; means, not tested).")
    kept = [f"{interval(*one, '+.1f')}" for one in slim[["change", "change_low", "change_high"]].to_numpy()]
    said = f"Cut heads out. {speed}. L0 with {listed(slim.encoder)} left changes BLEU by {listed(kept)} ({listed(slim.text)})"
    said += ", fewer layers: notebook 4"
    lines.append(f"*You want speed.* {said}.")
    return f"{chr(10).join(f'- {line}' for line in lines)}\n\n*Limits.* {LIMITS}"


def times_as_long(priced: pd.DataFrame) -> tuple[str, str]:
    """Of `priced`: what relevance costs beside gradient importance by our clock, and by ordinary code beside ours."""
    dear = priced.loc[priced.index.intersection([*lrp.RULES])]
    other = dear.captum.dropna().sort_values()
    price = f"Relevance took {ends(dear.cost, '.0f')} times as long."
    said = f"At {dear.model.iloc[0].rpartition(', ')[2]} ordinary code, one token after another, takes"
    said = f"{said} {ends(dear.times, '.0f')} times as long as ours"
    said += f", the library Captum {ends(other, '.0f')} ({listed(map(_rule, other.index))})" if len(other) else ""
    return price, f"{said}."


def _rule(name: str) -> str:
    """A rule of relevance without the word."""
    return called(name).removeprefix("relevance, ")


def better(table: pd.DataFrame, sentences: int) -> str:
    """Of `pruning`: gradient importance, chosen on so many sentences, beside what is dearer (paired by training)."""
    rows = table.dropna(subset="cost").set_index("measure")
    if UNIT not in rows.index:
        return ""
    dear = rows[rows.cost > rows.cost[UNIT]]
    more = dear[dear.lead_high < 0]
    said = f"Of {count(len(dear), 'dearer choice')} {_listed(more) if len(more) else 'none'} is shown to be better than"
    said += (
        f" {called(UNIT)} (paired by training, not corrected). A sentence costs confidence, positional and votes less; how they"
    )
    return f"{said} choose on {sentences} was not measured."


def worse(table: pd.DataFrame) -> str:
    """Of `pruning`: what is dearer than gradient importance and chose worse; "" if nothing is."""
    rows = table.set_index("measure")
    dear = rows[(rows.cost > rows.cost.get(UNIT)) & (rows.lead_low > 0)] if UNIT in rows.index else rows[:0]
    return f"Dearer and worse, by how much BLEU (paired by training, not corrected): {_listed(dear)}." if len(dear) else ""


def _listed(rows: pd.DataFrame) -> str:
    """Measures of `pruning`, each with what gradient importance is ahead of it."""
    each = zip(rows.index, *(rows[end] for end in LEAD), strict=True)
    return listed(f"{_rule(name)} ({interval(value, low, high, '+.1f')})" for name, value, low, high in each)


def details(priced: pd.DataFrame, points: pd.DataFrame, sentences: int, every: int) -> str:
    """What measures cost as a table in Markdown; of `priced` (on so many sentences, or all), and the points of `growth`."""
    at = sorted({*points["at"][(points.axis == "length") & (points["at"] <= 64)]})
    columns = {"what": "what", "cost": "times gradient importance"}
    columns |= {"short": f"at {at[-2]:.0f} tokens", "long": f"at {at[-1]:.0f} tokens"}
    columns |= {"times": "obvious way / ours", "captum": "Captum / ours"}
    forms = dict.fromkeys(("cost", "times"), ".3g") | dict.fromkeys(("short", "long", "captum"), ".2g")
    told = f"What measures cost in the contest: on {sentences} sentences, confidence, positions and votes on {number(every)}"
    told += " (brackets: least to most of trainings); then on equal text by length, in batches of two. Last columns: other"
    told += f" benchmarks ({listed(dict.fromkeys(model.rpartition(', ')[0] for model in priced.model.dropna()))}); the"
    told += " *obvious way* is what people write down first"
    return readable(priced.reset_index(drop=True), columns, forms, caption=told).data


def understood(table: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> str:
    """Of `beside`: how near counted operations come to measured costs, where not, and what the way forward saves."""
    ratio = (table.cost / table.counted).drop(UNIT, errors="ignore")
    near, far = ratio[ratio.between(0.5, 2)], ratio[~ratio.between(0.5, 2)]
    said = [f"Counted operations are within a factor of two for {len(near)} of {len(ratio)} measured costs"]
    said += [f"{_rule(name)} took {number(value, '.1f')} times what they say" for name, value in far.items()]
    turned = numbers(found, "relevance_speed", "ratio")
    turned = turned[turned["what"].str.endswith("both over reverse")]
    saved = f"{ends(turned.value, '.1f')} times as fast ({turned.group.iloc[0].rpartition(', ')[2]}, random weights)"
    return f"{'; '.join(said)}. Running forward makes signed rules {saved}; other savings were not timed."


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
    why = ["the shortcut above"] * int(passes.max() < 4) + ["overhead"] * int(early.max() < passes.min())
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
