"""What the tables of notebooks 01 and 02 say, in a sentence or two each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.measures import ranks
from helpers.measures.lrp import RULES
from helpers.measures.sentence import against_fixed, needing
from helpers.measures.table import TRUTH, named
from helpers.reading import ends, interval, listed, number
from helpers.study import layout, values


def carried(table: pd.DataFrame, natural: pd.DataFrame | None = None) -> str:
    """Of `measured.few_heads`: what part of a layer its largest head carries, by each rule, here and on natural text."""
    rules, told, alike = [named(rule).removeprefix("relevance, ") for rule in RULES], [], []
    for frame in (one for one in (table, natural) if one is not None):
        own = frame[frame.heads == 1].pivot(index="rule", columns="weights", values="value").loc[[*RULES]]
        told += [", ".join(number(100 * share, ".0f") for share in own[weights]) for weights in ("trained", "random")]
        alike = [rule for rule, gap in zip(rules, own.trained - own.random, strict=True) if abs(gap) < 0.05]
    said = f"The largest head carries by {listed(rules)} {told[0]} % of a layer (random weights {told[1]})"
    said += f"; on Europarl {told[2]} % ({told[3]})" if told[2:] else ""
    return f"{said}{f', by {listed(alike)} much as random weights' * bool(alike)}."


def ranked_alike(mean: pd.DataFrame, natural: pd.DataFrame | None = None) -> str:
    """Of rank correlations of rules, here and on natural text: how far rules agree."""
    two = ["attnlrp ratio", "cp ratio"]
    told = [(number(f.loc[*two], ".2f"), ends(f.loc[two, "alpha_beta"], ".2f")) for f in (mean, natural) if f is not None]
    signed, default = (", on Europarl at ".join(parts) for parts in zip(*told, strict=True))
    return f"The rankings of the two signed rules correlate at {signed}; with the default rule at {default}."


def beyond(root: Path) -> dict[str, tuple[float, float, float]]:
    """Relevance (default rule; of Europarl by each) and confidence in published runs elsewhere: rho, low, high by run.

    `root`: the folder of all tracks' figures; what is not there is left out.
    """
    found: dict[str, tuple[float, float, float]] = {}
    table = root / "natural" / "01_relevance_and_confidence" / "tables" / "relevance_and_confidence.csv"
    summed, whole = {"what": "relevance with confidence, encoder"}, {"kind": "encoder", "weights": "trained"}
    for name, path, where in (
        ("Europarl", table, whole | {"rule": "alpha_beta"}),
        ("Europarl (conservative)", table, whole | {"rule": "cp", "normalised": "ratio"}),
        ("Europarl (AttnLRP)", table, whole | {"rule": "attnlrp", "normalised": "ratio"}),
        ("documentation", root / "summaries" / "techdocs.csv", summed),
        ("Europarl at the paper's width", root / "summaries" / "gpu-quarter.csv", summed),
    ):
        rows = pd.read_csv(path).rename(columns={"value": "rho"}) if path.exists() else pd.DataFrame(columns=[*where])
        if (own := (rows[[*where]] == pd.Series(where)).all(axis=1)).any():
            found[name] = tuple(rows.loc[own, ["rho", "low", "high"]].iloc[0])
    return found


def of_natural(root: Path) -> dict[str, Any]:
    """What notebook 01 draws of the published run of natural text beside its own, {} where there is none.

    relevance, functions, confidence: Series by title; ranks: trained rows of `ranks.confidence_by_rank`; follows:
    `ranks.follows_function`; bleu: with encoder attention, without, both trained on: with, heads removed; words_and_heads:
    `sentence.one_by_one`; rules: `ranks.rank_agreement` by size; few_heads, dominance: as `measured` has them; removed: BLEU
    lost by removal, over trainings; gradient: gradient importance.
    """
    chapter = layout.Chapter(root / "natural" / "01_relevance_and_confidence")
    if not (drawn := chapter.inputs("relevance_by_function")).exists():
        return {}
    ranked, follows, bleu = (pd.read_csv(chapter.table(name)) for name in ("confidence_by_rank", "follows_function", "bleu"))
    found: dict[str, Any] = values.read(drawn)
    title, first = next(iter(found["relevance"])), bleu[bleu["test set"] == bleu["test set"].iloc[0]].set_index("model").bleu
    found |= {"ranks": ranked[ranked.weights == "trained"].assign(weights="natural"), "follows": follows.iloc[0]}
    found["confidence"] = values.read(chapter.inputs("fig1_relevance_and_confidence"))["confidence"]
    found |= {name: pd.read_csv(chapter.table(name)) for name in ("dominance", "few_heads", "words_and_heads")}
    several = pd.read_csv(layout.Chapter(root / "controlled" / "03_l0_pruning").table("half_left"), index_col="model")
    found["removed"] = several.loc[several.trainings > 1, ["worth", "worth_low", "worth_high", "trainings"]]
    heads = next((root / "natural" / "06_do_measures_agree" / "tables").glob("head_table_*.csv"))
    heads = pd.read_csv(heads, index_col=["kind", "layer", "head"]).rename(columns={r: f"{r} ratio" for r in ("attnlrp", "cp")})
    found["gradient"] = heads["gradient, example"]
    found["rules"] = ranks.rank_agreement(heads[["alpha_beta", "attnlrp ratio", "cp ratio"]].abs())
    on = (title, f"{title}, no encoder heads", f"{title}, trained on", f"{title}, encoder heads removed, trained on")
    return found | {"bleu": (*first[[*on]],)}


def judged(root: Path) -> dict[str, pd.DataFrame]:
    """How measures correlate with the loss without a head, in published trainings where half of the encoder heads change it.

    By "model, training n", natural text first: `ranks.correlations` within layers, by size, and with the sign (signed rho, …);
    differ, holm: how many heads change the loss, by single intervals and after Holm's correction.
    """
    found, names = {}, ["alpha_beta", "cp", "attnlrp", "confidence", "gradient, example"]
    for tables in (root / track / "06_do_measures_agree" / "tables" for track in ("natural", "controlled")):
        path = tables / "effects_of_heads.csv"
        for row in pd.read_csv(path).query("kind == 'encoder' and shown").itertuples() if path.exists() else ():
            name = row.model.lower().removeprefix("en-").replace(",", "").replace(" ", "-")
            name += f"-seed-{row.seed}" * (row.seed > 1)
            heads = pd.read_csv(tables / f"head_table_{name}.csv", index_col=["kind", "layer", "head"])
            size, signed = (
                ranks.correlations(heads[TRUTH], dict(own.items()), kinds="encoder", within_layer=True)
                for own in (heads[names].abs(), heads[names])
            )
            own = size.join(signed.add_prefix("signed ")).assign(differ=row.differ, holm=row.differ_holm)
            found[f"{row.model}, training {row.seed}"] = own
    return found


def finding(need: pd.DataFrame, found: pd.DataFrame, same: pd.DataFrame, gradient: pd.Series) -> str:
    """Of `sentence.needing` and `fixed`: which rules name the needed head for more words than a fixed head, or fewer.

    gradient: gradient importance, whose largest heads are fixed before the words are looked at.
    """
    within, inside = ", in its layer", found["in its layer"]
    beside, hindsight, before = against_fixed(need), against_fixed(need, within), against_fixed(need, within, gradient)
    each = ", ".join(f"{name} {beside.said[name]} (p={beside.p[name]:.1g})" for name in found.index)
    told, ahead = hindsight.index[hindsight.p < 0.05], before.index[before.said == "more"]
    layers = f"Within layers {listed(told)} ({ends(inside)}) is told from it ({same['in its layer'].iloc[-1]})"
    more = f"; {listed(ahead)} beat gradient importance's heads ({same['in its layer'].iloc[0]})" * bool(len(ahead))
    return f"Sign tests (Holm) against the best fixed head: {each}. {layers}{more}."


def answered(elsewhere: Mapping[str, Any], frames: Mapping[str, pd.DataFrame], words: pd.DataFrame) -> str:
    """The answer of notebook 01: `beyond`; `judged` and this run's; `one_by_one`."""
    sure = {name: 2 * frame.differ.iloc[0] >= frame.heads.iloc[0] for name, frame in frames.items()}
    enough, few = ([frame for name, frame in frames.items() if sure[name] == which] for which in (True, False))
    if not enough:
        return "**Single removals cost too little to judge.**"
    every, rest = (pd.concat([pd.Series(dtype=float), *(frame.rho for frame in some)]) for some in (enough, few))
    groups = ["gradient, example"], [*RULES], ["confidence"]
    (gradient, rules, confidence), others = ([ends(rho[rho.index.isin(g)], ".2f") for g in groups] for rho in (every, rest))
    need, found = needing(words)
    beside = against_fixed(need).said
    best = beside.index[beside == "more"]
    who = f"only *{best[0]}* beats" if len(best) == 1 else f"{len(best) or 'no'} rules beat"
    partly = "partly" if every.drop("gradient, example").min() > 0 else "not by every measure"
    confidence += "; Europarl's intervals overlap" * bool(elsewhere and enough[0].low.max() < enough[0].high.min())
    first = "; Europarl, small model" * bool(elsewhere)
    told = (
        f"**For a model, {partly}; for one word, {who} one fixed head.** Gradient importance ranks a layer's heads like the"
        f" loss without each at {gradient} (rank correlation{first}), relevance at {rules}, confidence at {confidence}."
    )
    told += f" In {len(few)} others, where fewer cost: {', '.join(others)}." * bool(few)
    same = f" Of {len(need)} {'Europarl ' * bool(elsewhere)}words {need.needs.value_counts().max()} need the same head most;"
    each = [f"{name}{' is right' * (i < 1)} for {found.found[name]} ({beside[name]})" for i, name in enumerate(found.index)]
    return told + f"{same} {', '.join(each)}." * bool(len(need))


def by_rank(confidence: pd.DataFrame) -> str:
    """Of `ranks.confidence_by_rank`: the rank of confidence of the most relevant head."""
    first = {weights: number(own.value.iloc[0], ".1f") for weights, own in confidence.groupby("weights")}
    there = f" ({first['natural']} in the Europarl model)" if "natural" in first else ""
    said = f"The most relevant head of a layer has on average rank {first['trained']} of confidence{there}."
    return f"{said} Chance gives {number(confidence.even.iloc[0], '.1f')}."


def worth(title: str, lost: str, never: float, natural: Sequence[float] = ()) -> str:
    """BLEU that encoder attention is worth: lost by removal; by training without (never, or nan); `of_natural`'s bleu."""
    told = f"Trained without encoder attention, {title} is {number(never, '.1f')} BLEU worse" * bool(never == never)
    there = f", the Europarl model {number(natural[2] - natural[3], '.1f')} (one training)" if natural else ""
    if told and natural:
        told += f", the Europarl model, whose decoder is smaller, {number(natural[0] - natural[1], '.1f')}"
    removed = f"If all its encoder heads are removed after training, {title} loses {lost}{there};"
    return f"{told}{'. ' * bool(told)}{removed} the decoder was frozen and could not adapt."


def repeats(root: Path) -> str:
    """How far the loss without a head repeats on other sentences, in published runs of both texts; and what it bounds."""
    paths = [root / track / "06_do_measures_agree" / "tables" / "stability.csv" for track in ("natural", "controlled")]
    if not all(path.exists() for path in paths):
        return ""
    row, own = (pd.read_csv(path).query("measure == 'leave-one-out' and kind == 'encoder'").iloc[0] for path in paths)
    most = interval(own.bound, own.reliability_low**0.5, own.reliability_high**0.5)
    told = (
        f"On Europarl the loss on one half of the sentences ranks heads like that on the other at {number(row.rho)}: no measure"
    )
    return f"{told} can be expected above {number(row.bound)}; on generated text {most}."


def most_relevant(rows: pd.DataFrame, natural: Mapping[str, float] | None = None) -> str:
    """Of `ranks.follows_function` by rule, elsewhere by LRP αβ: in how many layers the most relevant head has a function."""
    row = rows.loc["alpha_beta"]
    if not row["layers"]:
        return "No layer has both heads with a function and heads without."
    of = (row["functional"] + row["others"]) / row["layers"]  # heads of a layer
    having, luck = row["layers"] + row["left_out"] / of, (row["functional"] + row["left_out"]) / of
    told = listed(f"{n:.0f} by {named(rule).removeprefix('relevance, ')}" for rule, n in (rows.top - rows.top_none).items())
    there = natural if natural is not None else {"layers": 0, "top": 0, "top_none": 0}
    more = f"; on Europarl in {there['top'] - there['top_none']:.0f} of {there['layers']:.0f} by LRP αβ" * bool(there["layers"])
    return (
        f"Of {having:.0f} layers that have a head with a function, the most relevant has one in {told}"
        f" ({luck:.1f} by chance){more}."
    )


def elsewhere(judged: Mapping[str, Any], text: str, which: str, names: Mapping[str, str]) -> str:
    """Of the verdicts on a published run of other text (`which` models), by claim: number and verdict of each in a line."""
    told = []
    for key, one in ((key, judged[key]) for key in names if judged[key].number):
        near = sum(row.side == "open" and row.value >= row.threshold for row in one.rows) if key == "syntax" else 0
        told.append(f"{names[key]} {one.number}{f' significantly, {near} more by estimate' * bool(near)} (*{one.verdict}*)")
    return f"**{text.capitalize()} text** (published run of {which}): {'; '.join(told)}." if told else ""
