"""What the tables of `benchmarks.costs` come to, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pandas as pd

from benchmarks.costs import HEART, OVERHEADS, PASSES, SLOW, TODAY, TOGETHER, TRAINED, UNIT, numbers, operations
from helpers.measures import lrp
from helpers.measures.table import named as called
from helpers.methods.contest.runs import DECODER
from helpers.reading import count, ends, listed, number, readable

TIMED = (
    "Measures were timed once in every training of the contest, one after the other in one process, on the same batches; "
    "brackets go from the least to the most of these trainings. L0 is what its training took. Votes and L1 gates read text of "
    "their own, as much as they need. Confidence and positions read other text there: their cost is that of the growth "
    "benchmark over all lengths. Syntax was not timed beside them.\n\n"
    "All other times are of benchmarks on models with random weights. Every way runs once in every repeat, in random order, "
    "and ratios are taken within the repeat (of growth and the Llama-style decoder medians are divided). Brackets are "
    "quartiles. Nothing is timed before the study's way and the obvious way, the one that people write down first, gave the "
    "same numbers. *Relevance*: one target token at a time, each with a forward pass of its own. *Gradient importance*: "
    "batches of one. *Loss without the head*: the whole model for every head. *Confidence, positions, syntax*: attention maps "
    "on disk. Only Captum is somebody else's code."
)
GROWN = (
    "Exponents of the last doubling, one axis at a time, in batches of two sentences: much smaller than the contest's, so that "
    "overhead of calls is much of the time of short sentences."
)
REMOVED = (
    "The encoder-decoder loses single heads; the Llama-style decoder loses query heads group by group, and a key-value head "
    "with its last query head. What is saved beyond operations is caches, threads and noise. The time of a prompt and other "
    "orders are in the files; for random weights orders are no guide to trained models."
)
ADDED = (
    "Brackets are quartiles over repeats. The *obvious way* to group heads is the protocol of the public code, K-means from "
    "scratch in every module."
)
LIMITS = "Most times are of small models with random weights on two cores; on a GPU or larger models they will differ."
RULES_TOLD = (
    "*Signed* rules let parts for and against a prediction cancel, *LRP αβ* keeps them apart; the *conservative* rule holds"
    " attention weights constant."
)


def _plain(names: Iterable[str]) -> str:
    """Measures in a list, without the family of rules they are of."""
    return listed(called(name).removeprefix("relevance, ").removesuffix(" (trained)") for name in names)


def absent(remarks: pd.DataFrame) -> str:
    """Of `remarks`: the libraries that are not compared because they, or what they need, are not here; "" if there are none."""
    gone = remarks[remarks.note.str.contains("does not import|not installed")]["what"].str.split(", ").str[-1]
    return f"Not compared: {listed(dict.fromkeys(gone))}, for this environment lacks their dependencies." if len(gone) else ""


def told_apart(steps: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> str:
    """Of `additions`: what timing noise hides, what others add; and all that add most on another model, where one adds more."""
    dear, of = steps.cost_low > steps.again_high, {own: what for what, *_, own, _ in HEART if what in steps.index}
    brief = steps.index.str.replace(" (on every|in) .*heads?.*", "", regex=True)
    parts = [f"{listed(brief[~dear].unique())} cannot be told from timing noise"] if (~dear).any() else []
    parts += [f"{listed(brief[dear].unique())} add {ends(steps.cost[dear], '%')}"] if dear.any() else []
    told = f"On {listed(dict.fromkeys(steps.model))}, {'; '.join(parts)}."
    other = numbers(found, OVERHEADS, "ratio")
    other = other[other["what"].isin(of) & ~other.group.isin(steps.model)]
    other = other.merge(other.nlargest(1, "value")[["benchmark", "group"]])
    each = [f"{of[row.what]} adds {number(row.value - 1, '%')}" for row in other.itertuples()]
    return f"{told} On {other.group[0]}, {listed(each)}." if each else told


def cheapest(table: pd.DataFrame, trainings: int, text: str) -> str:
    """Which measure to prune by, in bold and in a sentence: the cheapest of `pruning` whose interval clears random heads."""
    rows = table.set_index("measure")
    good = rows[rows.above & rows.cost.notna() & (rows.index != TRAINED)].sort_values("cost")
    if good.empty:
        return f"**We cannot tell.** In our contest on {text} no measure's interval against random heads excludes zero."
    told = "One forward and one backward pass is" if good.index[0] == UNIT else f"As much as {called(good.index[0])} is"
    name, made = called(good.index[0]), count(int(trainings), "training")
    said = f"{name[0].upper()}{name[1:]} is the cheapest measure whose heads beat random ones"
    return f"**{told} enough.** {said} ({text}, {made}; 95 % interval, not corrected)."


def elsewhere(there: pd.DataFrame) -> str:
    """Of `contested` on natural text: what measures of half the passes and the unit gained over random heads; "" if unknown."""
    rows = there.dropna(subset="gain").drop_duplicates("criterion").set_index("criterion")
    if not {UNIT, *(half := TOGETHER[:2])} <= {*rows.index}:
        return ""
    gains = listed(number(rows.gain[name], "+.1f") for name in half)
    made = f"{rows.model.iloc[0]}, {count(int(rows.seeds.iloc[0]), 'training')}"
    said = f"On natural text ({made}) {listed(half)}, at half the passes, were {gains} BLEU above random heads"
    return f"{said}, {called(UNIT)} {number(rows.gain[UNIT], '+.1f')}."


def closing(table: pd.DataFrame, ranked: pd.DataFrame, shots: pd.DataFrame, there: pd.DataFrame) -> str:
    """The last words: what to do if one trains on, if not, and for speed; of `pruning`, `contested` and `at_once`, if any.

    Parameters
    ----------
    there : pandas.DataFrame
        As `contested`, of natural text; empty if there is none.
    """
    rows, lines, rests = table.set_index("measure"), [], ""
    own = pd.Series(dtype=float)
    if {UNIT, TRAINED} <= {*rows.index}:
        dear = _plain([*rows.index[rows.choose > rows.on / 10], TRAINED])
        said = f"Choosing is nearly free except by {dear}: choose by quality; {called(rows.value.idxmax())} had the best mean."
        lines.append(f"*You train on.* {said}")
        made = (f"{count(int(one.seeds.iloc[0]), 'training')} of {one.model.iloc[0]}" for one in (ranked, there) if len(one))
        rests = f"How well measures choose rests on {listed(made)}. "
        left, known = round(ranked["heads"].mean()), shots[shots.criterion.isin(rows.index[rows.cost.notna()])]
        own = known[(known.model == ranked.model.iloc[0]) & (known["heads"] == left)].set_index("criterion").change
    less = own[rows.cost.reindex(own.index) < 1]
    if UNIT in own and less.min() > own[UNIT]:
        every = known.pivot(index=["model", "heads"], columns="criterion", values="change")
        worse = every.index[every[[*less.index]].max(axis=1) < every[UNIT]]
        said = f"Gradient importance too: removed at once, its heads cost less loss than those of {_plain(less.index)}"
        but = [f"{heads} left in {model.replace(DECODER, f'a {TODAY}')}" for model, heads in worse]
        not_in = f"; with {listed(but)} they cost more" if but else ""
        said = f"{said} ({ranked.model.iloc[0]}, {left} left; means, notebook 6){not_in}. L0 would cost a training of its own."
        lines.append(f"*You do not train on.* {said}")
    said = "Cut encoder heads for a faster encoder pass, decoder heads for a smaller cache; a gate only masks them."
    lines.append(f"*You want speed.* {said}")
    return f"{chr(10).join(f'- {line}' for line in lines)}\n\n*Limits.* {rests}{LIMITS}"


def times_as_long(priced: pd.DataFrame, table: pd.DataFrame) -> str:
    """What relevance costs beside gradient importance, of `priced`; and with training on, of `pruning` (none if empty)."""
    dear = priced.cost[priced.index.intersection([*lrp.RULES])]
    said = f"Choosing by relevance costs {ends(dear, '.0f')} times as much"
    bills = table.set_index("measure")
    if not {UNIT, "alpha_beta", TRAINED} <= set(bills.index[bills.on.notna()] if len(bills) else ()):
        return f"{said}."
    whole, alike = (bills.choose + bills.on) / (bills.choose + bills.on)[UNIT] - 1, bills.on.drop(TRAINED)
    one, both, noise = (number(more, "%") for more in (whole["alpha_beta"], whole[TRAINED], alike.max() / alike.min() - 1))
    said = f"{said} on the contest's sentences. With training on counted, LRP αβ costs {one} more and L0 {both}"
    return f"{said}; equal work varied by {noise} (one training)."


def better(table: pd.DataFrame) -> str:
    """Of `pruning`: what takes half the passes and does not clear random heads; what is dearer and has a better mean."""
    rows = table.dropna(subset="cost").set_index("measure")
    if UNIT not in rows.index:
        return ""
    less, dear = rows[(rows.cost < rows.cost[UNIT]) & ~rows.above], rows[rows.cost > rows.cost[UNIT]]
    best = list(map(called, dear.index[dear.value > rows.value[UNIT]]))
    said = f"{listed(best)} cost more and had a better mean." if best else "no dearer measure was shown to be better."
    if TRAINED in rows.index and not rows.apart[UNIT]:
        said = f"{said[:-1]}, and {called(UNIT)} and L0 cannot be told apart."
    if len(less):
        took = f"({ends((*less.cost_low, *less.cost_high), '.2g')} times the time)"
        verbs = ("takes", "is") if len(less) == 1 else ("take", "are")
        who = f"{listed(map(called, less.index))} {verbs[0]} half the passes {took}"
        said = f"{who} but {verbs[1]} not shown to beat random heads here; {said}"
    return said[0].upper() + said[1:]


def details(priced: pd.DataFrame, points: pd.DataFrame, sentences: int) -> str:
    """What measures cost as a table in Markdown; of `priced` (on so many sentences), and the points of `growth`."""
    at = points["at"][points.axis == "length"]
    columns = {"what": "what", "cost": "times gradient importance"}
    columns |= {"short": f"at {at.min():.0f} tokens", "long": f"at {at[at <= 64].max():.0f} tokens"}
    columns |= {"times": "obvious way / ours", "captum": "Captum / ours"}
    forms = dict.fromkeys(("cost", "times"), ".3g") | dict.fromkeys(("short", "long", "captum"), ".2g")
    told = f"What measures cost: on the contest's {sentences} sentences, L0's in all (brackets: least to most of trainings, of"
    told += " confidence of lengths); then by length of sentences, in batches of two; last two columns from other benchmarks"
    told += f" ({listed(dict.fromkeys(model.rpartition(', ')[0] for model in priced.model.dropna()))}; confidence with syntax)"
    return f"{readable(priced.reset_index(drop=True), columns, forms, caption=told).data}\n\n{RULES_TOLD}"


def understood(table: pd.DataFrame) -> str:
    """Of `priced` beside `counted`: how near counted operations come to measured costs, and where they do not."""
    ratio = (table.cost / table.counted).drop(UNIT, errors="ignore")
    near, far = ratio[ratio.between(0.5, 2)], ratio[~ratio.between(0.5, 2)]
    said = [f"Counted operations are within a factor of two for {len(near)} of {len(ratio)} measured costs"]
    said += [f"{called(name)} took {number(value, '.1f')} times what they say" for name, value in far.items()]
    return f"{'; '.join(said)}."


def removing(papers: Mapping[tuple[str, str], tuple[float, float]], case: str) -> str:
    """What cut and masked encoder heads save: ends by (call, form), as of `ONCE`, where as many are left as `case` says."""
    known = {of: ends(papers[of], ".2f") for of in papers}
    left = " of ".join(re.findall(r"\d+", case)[:2])
    cut, made = (
        f"{known[call, 'removed']} times as fast (by operations {known[call, 'ceiling']})"
        for call in ("encoder pass", "generation")
    )
    said = f"With {left} encoder heads left an encoder pass is {cut} and generation {made}"
    return f"{said}; with the others masked, {known['generation', 'masked']}."


def decoder(frame: pd.DataFrame) -> str:
    """Of the benchmark `decoder_speed`: the study's way beside the obvious one, in passes forward and back."""
    of, told = frame[frame.quantity == "seconds"].set_index("what").value, []
    for name, said in (("importance", "gradient importance"), ("relevance", "relevance by AttnLRP"),
                       ("leave one out", "the loss without the head")):  # fmt: skip
        ours, other = (number(of[name + way] / of[PASSES[name]], ".2g") for way in ("", ", obvious"))
        told.append(f"{said} {ours} ({other})")
    where = f"On a {TODAY} ({frame.group.iloc[0]}; random tokens), in passes forward and back with gradients of all weights"
    return f"{where}, in brackets the obvious way: {listed(told)}."


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


def expected(counts: pd.DataFrame, size: str) -> str:
    """How operations of one pass per token grow at twice the length, and those of `counted_growth`."""
    told = ""
    for at, grown in counts.filter(like="relevance", axis=0).items():
        passes = number(operations(size, at) / operations(size, at / 2), ".1f")
        each = [f"{value:.1f} ({called(rule[11:]).removeprefix('relevance, ')})" for rule, value in grown.items()]
        told += f"From {at / 2:.0f} to {at:.0f} tokens the operations of one pass per token grow {passes} times; those torch"
        told += f" counts in the study's code grow {listed(each)} times. "
    return told


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
