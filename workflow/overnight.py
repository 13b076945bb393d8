"""Make long runs one after another: `python workflow/overnight.py PART ...`. Killed, it goes on where it was.

Parts: sizes, strengths, main, numbers, wide, sixteen, tight, parts, lite, recover, language, debates
(helpers.experiments.regimes); once, matched (helpers.methods.contest); linked, drawn, crossed, longer, kinds, europarl,
deep, choices, pretrained (helpers.experiments). tables writes what is made of these to figures/regimes and
figures/pretrained, with a sidecar each. publish puts it into data/published, without weights.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core for what runs beside other work
import numpy as np
import pandas as pd

from helpers import claims, plan, study
from helpers.experiments import comparison, grouping_runs, injection, pretrained, pruning, regimes
from helpers.measures.analysis import FILE
from helpers.measures.measured import WITHOUT
from helpers.measures.removal import RANDOM
from helpers.methods import contest
from helpers.methods.contest import matched
from helpers.methods.coreference import runs
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import published, values
from helpers.study.recipe import read_since

TRAIN, DROPOUT, STRENGTH = 20_000, 0.0, 30.0  # by the rules of docs/results.md
MATCHED = 1, 2, 4  # the weights of training 3 are not kept, and another kind of processor would make other ones
SIXTEEN = 2, 3, 4, 5, 6  # fresh seeds: the first one raised the question
TIGHT = 6, 7, 8, 9, 10  # as fresh
DRAWN = 9, 10, 11, 12, 13  # trainings with links that have random heads of their own
LANGUAGE = 4, 5, 6  # as fresh: language models and translators of Europarl
ENGLISH = ((grouping_runs.GHT, grouping_runs.VANILLA, 0.0), (grouping_runs.PS, grouping_runs.VANILLA, -np.log(1.01)))
FRESH = {  # parts of fresh trainings: what is compared in them, and the parts whose trainings stand beside
    "sixteen": (regimes.CLAIMS[:1], ()), "tight": (regimes.CLAIMS[:2], ()), "parts": (regimes.NEEDED, ("tight",)),
    "lite": (regimes.LIGHT, ("tight",)), "recover": (regimes.CLAIMS[1:2], ()), "language": (ENGLISH, ()),
    "debates": (regimes.CLAIMS[:2], ()),
}  # fmt: skip
OWN = "injected, own random heads"
FURTHER = 2, 3  # trainings of the Europarl translator beside the first
ON_HEADS = (  # claims whose verdict on natural text was that of its first training
    "relevance-confidence", "few-dominate", "positional", "syntax", "rare", "relevant-functions", "functions-stay",
    "gates-settle",
)  # fmt: skip


def sweeps(settings: Mapping[str, Any], seeds: int) -> list[dict[str, Any]]:
    """Of the first trainings of the EN-RU news model what L0 is run on, encoder heads alone."""
    jobs = contest.runs.jobs(study.changed(settings, {"seeds": max(MATCHED)}), subjects.names(settings), 1)
    chosen = (job for job in jobs if job["name"] == "ru-news" and job["sweep"]["kinds"] == ["encoder"])
    return [job["sweep"] for job in chosen if job["seed"] in MATCHED[:seeds]]


def linked_seeds(seeds: int) -> range:
    """Seeds of trainings with links that lie side by side: those after the five of notebook 05."""
    return range(6, 6 + seeds)


def drawn(seed: int) -> dict[str, Any]:
    """Rows of a training with links: without injection, with links in idle heads, and in random ones drawn for it alone.

    Rule, written before a number was seen: random heads gain less than idle ones if the gain of idle heads in ROUGE-1 minus
    that of the draw is above zero, paired within each training, by a t interval over five.
    """
    rows = runs.Rows(study.settings("laptop"), seed, 1)
    random = runs.row(rows.tuned(rows.injected(order="random", draw=100 + seed)))  # draws 0 to 2 were seen
    return {name: rows.main()[name] for name in (runs.PLAIN, runs.MAIN)} | {OWN: random}


def crossed(seed: int) -> dict[str, dict[str, Any]]:
    """Rows of the same trainings: without injection, and what trained on the resolver's links or true ones reads of either.

    Rule, written before a number was seen: wrong links harm in training if ROUGE-1 is higher after training on true links, mean
    over what is read, and in reading if it is higher when true links are read, mean over what was trained on; paired within
    each training, by t intervals over five.
    """
    rows = runs.Rows(study.settings("laptop"), seed, 1).main()
    given = {"resolver's": rows[runs.MAIN], "true": rows[f"{runs.MAIN}, gold"]}
    turned = ("resolver's", "true"), ("true", "resolver's")
    read = {f"{one}, {other}": runs.row(given[one]["run"], given[other]["run"]["control"]) for one, other in turned}
    return {runs.PLAIN: rows[runs.PLAIN]} | {f"{name}, {name}": row for name, row in given.items()} | read


def boards(rows: Mapping[int, Mapping[str, Any]]) -> dict[int, injection.Board]:
    """Scores of rows by training, of those trainings that are made."""
    settings = study.settings("laptop")
    made = {seed: one for seed, one in rows.items() if all(recipe.made() for recipe in injection.made_of(settings, one, ""))}
    return {seed: injection.Board(settings, one) for seed, one in made.items()}


def minus_random() -> pd.DataFrame:
    """Links in idle heads against each training's own random ones, of what is made of `drawn`: `injection.against_controls`."""
    made = boards({seed: drawn(seed) for seed in DRAWN})
    return injection.against_controls(made, [OWN]) if len(made) > 1 else pd.DataFrame()


def crossing() -> pd.DataFrame:
    """Of what is made of `crossed` what ROUGE-1 gains over no injection, by links in training and in reading; differences."""
    made = boards({seed: crossed(seed) for seed in DRAWN})
    if len(made) < 2:
        return pd.DataFrame()
    score = pd.DataFrame({row: [one.statistics(row)[:, 0].mean() for one in made.values()] for row in crossed(DRAWN[0])})
    kinds = "resolver's", "true"
    gains = {(one, other): score[f"{one}, {other}"] - score[runs.PLAIN] for one in kinds for other in kinds}
    for one in kinds:
        gains["difference", one] = gains["true", one] - gains["resolver's", one]
        gains[one, "difference"] = gains[one, "true"] - gains[one, "resolver's"]
    gains["difference", "either"] = (gains["difference", "true"] + gains["difference", "resolver's"]) / 2
    gains["either", "difference"] = (gains["true", "difference"] + gains["resolver's", "difference"]) / 2
    rows = [(*links, *intervals.over_runs(gain)[:3], len(made)) for links, gain in gains.items()]
    return pd.DataFrame(rows, columns=["trained on", "reads", "change", "low", "high", "seeds"])


def fresh(part: str) -> dict[int, dict[str, Any]]:
    """Rows of fresh trainings by seed: of sixteen heads, or with ten times the weight (the other parts).

    Rules of tight, written before a number was seen: the constraint gains if GHT is above vanilla, and one head a group is
    enough if GHT-PS is at most half a BLEU below it, by t intervals over five trainings and Holm over the two. Of language
    likewise over three, in percent of perplexity, and one head a group is enough if it costs at most 1 %. Of parts: one is
    needed if BLEU is lower without it, over the trainings of tight. Of recover: GHT-PS lacked only time if after four times as
    many further steps it is at most half a BLEU below vanilla, trained for as long, over the first three trainings of tight.
    Of debates (translators of Europarl, scored on its own test set) as of tight, over three. Of lite (GHT-PS-LITE): half the
    feed-forward layers can go, too, if it is at most half a BLEU below the vanilla of tight, by a t interval over five.
    """
    if part in ("language", "debates"):
        kind = subjects.LANGUAGE if part == "language" else subjects.TRANSLATION
        return {seed: regimes.tight(study.settings("europarl"), seed, kind) for seed in LANGUAGE}
    rows, seeds = {
        "tight": (regimes.tight, TIGHT),
        "parts": (regimes.without_parts, TIGHT),
        "lite": (regimes.lighter, TIGHT),
        "recover": (regimes.longer_after, TIGHT[:3]),
        "sixteen": (regimes.more_heads, SIXTEEN),
    }[part]
    return {seed: rows(study.settings("laptop"), seed) for seed in seeds}


def fresh_tables() -> dict[str, pd.DataFrame]:
    """Of every part of `FRESH` what is made, and as PART_claims what is judged by its rule."""
    tables = {part: regimes.made_table(fresh(part)) for part in FRESH}
    if len(tables["language"]):
        tables["language"]["gain"] = -np.log(tables["language"].perplexity)
    for part, (compared, beside) in FRESH.items():
        if len(tables[part]):
            table = pd.concat([tables[one] for one in (*beside, part)])
            claims = regimes.judged(table, compared, "gain" if part == "language" else "BLEU")
            tables[f"{part}_claims"] = percent(claims) if part == "language" else claims
    return tables


def longer() -> dict[str, Any]:
    """The sweep of the EN-RU news model's encoder heads with four times as many steps, without the floor."""
    plan = {"steps": 8000, "evaluate_every": 800, "penalties": [0.003, 0.001, 0.008, 0.0003], "compared": [], "variants": False}
    settings = study.changed(study.settings("laptop"), {f"pruning.{name}": value for name, value in plan.items()})
    sweep = pruning.of_training(settings, ["ru-news"], 1)[0]
    return sweep | {"runs": {run: spec for run, spec in sweep["runs"].items() if run != "floor"}}


def kinds(seed: int) -> dict[str, Any]:
    """The sweep of all kinds of heads of an EN-RU news translator whose decoder has six layers of eight heads, as its encoder.

    So each kind has 48 heads, as in the paper, and all begin alike. Rules, written before a number was seen: the order is the
    paper's if at every price at which decoder or cross-attention heads go a smaller share of encoder heads stays than of
    decoder heads, and of these than of cross-attention heads. Pruning beats training from scratch at a price if the interval
    of the difference in BLEU over sentences is above zero.
    """
    sibling = {"name": "even-decoder", "changes": "model.decoder_layers=6"}
    plan = {"all_kinds": 1, "all_kinds_on": "even-decoder", "penalties_all": [0.008, 0.003, 0.02, 0.001], "scratch": [0.008]}
    usual = study.settings("laptop")
    changes = {"siblings": [*usual["siblings"], sibling]} | {f"pruning.{name}": value for name, value in plan.items()}
    return pruning.all_kinds_sweeps(study.changed(usual, changes), ["ru-news"], seed)[0]


def europarl(seed: int) -> dict[str, Any]:
    """The job of a training of the Europarl translator: the sweep of its encoder heads, all measures of them, their removal.

    Rule, written before a number was seen: that of the claim on pruning, over three trainings, at the first price at which at
    most half of the heads are left.
    """
    fewer = {"pruning.compared": [], "pruning.scratch": [], "pruning.variants": False}
    return contest.runs.jobs(study.changed(study.settings("europarl"), fewer), ["fr-europarl"], seed)[0]


def over_measured() -> dict[str, pd.DataFrame]:
    """Over the three: how well measures rank heads as their removal does, and what removal costs; none until all are made.

    Rule, written before a number of the second was seen: the claim on the gradient is judged by a t interval over the three.
    """
    jobs = [europarl(seed) for seed in (1, *FURTHER)]
    if not all(contest.runs.removed_at_once(job).made() for job in jobs):
        return {}
    tables = {(comparison.title(job), job["seed"]): contest.runs.tables(job) for job in jobs}
    ranks = comparison.predictors(tables, comparison.effects(jobs, jobs[0]["sweep"]["settings"]["relevance"]))
    rows = comparison.removed(jobs, tables)
    rises = comparison.rises(rows, comparison.EN_FR, list(dict.fromkeys(by for by, *_ in rows)))
    return {"europarl_ranks": ranks, "europarl_rises": rises.query("model == @comparison.EN_FR")}


def verdicts() -> pd.DataFrame:
    """Verdicts on the heads of each training of the Europarl translator: claim, seed, verdict, number; none until all are made.

    Rule, written before a number was seen: a verdict of the first training stands if the second and third give it, too; else it
    becomes *cannot tell*. Of training N notebooks 01 and 02 are run by papermill with profile europarl, seed N, output
    runs/europarl-N, and ``pruning.siblings=[] without_encoder=false`` as overrides.
    """
    if not all(written(seed).is_dir() and pruning.head_table(europarl(seed)["sweep"]).made() for seed in FURTHER):
        return pd.DataFrame()
    rows, scores = [], trainings()
    for seed in (1, *FURTHER):
        tables = tables_of(seed, scores)
        judged = (claims.judge(claim, "europarl", tables) for claim in claims.ledger() if claim.id in ON_HEADS)
        rows += [(one.claim.id, seed, one.words, one.number) for one in judged if one.rows]
    return pd.DataFrame(rows, columns=["claim", "seed", "verdict", "number"]).sort_values(["claim", "seed"])


def tables_of(seed: int, scores: pd.DataFrame) -> claims.Tables:
    """Those of a training of the Europarl translator, by name: of the first as published, of others as notebooks wrote them.

    Those of notebook 03 are made here, from the `scores` of `trainings` and the sweep.
    """
    if seed not in FURTHER:
        return claims.tables_in(claims.FIGURES / "natural")
    sweep, of_notebooks = europarl(seed)["sweep"], claims.tables_in(written(seed))
    made = {
        "fig7_bleu_by_heads": scores.reset_index(),
        "gates_settled": pruning.settled(scores, scores.iloc[:0], seed),
        "retained_more_than_chance": pruning.retained_more_than_chance(pruning.survivors([sweep])),
    }
    return lambda name: made.get(name.partition("/")[2]) if name.startswith("03") else of_notebooks(name)


def written(seed: int) -> Path:
    """Where notebooks put what they say of a further training of the Europarl translator."""
    return study.runs() / f"europarl-{seed}"


def deep() -> dict[str, Any]:
    """The sweep of encoder heads of the Europarl translator with a decoder of three layers."""
    return pruning.of_training(study.settings("europarl"), ["fr-europarl+deep-decoder"], 1)[0]


def deep_kinds(seed: int) -> dict[str, Any]:
    """The sweep of all kinds of heads of a training of that translator.

    Rule, written before a number of the second was seen: as `verdicts`, the first training's verdict on the order of kinds
    stands if the second and third give it, too.
    """
    usual = study.settings("europarl")
    sweep = pruning.all_kinds_sweeps(study.changed(usual, {"pruning.scratch": []}), ["fr-europarl"], seed)[0]
    return sweep | {"runs": {run: spec for run, spec in sweep["runs"].items() if run.startswith("L0")}}


def quarter(seed: int) -> dict[str, Any]:
    """The sweep of encoder heads of a Europarl translator trained and pruned for a quarter of the steps, with its choices.

    Rule, written before a number was seen: a choice beats random heads if its BLEU on Europarl's own test set is above the mean
    of its draws, by a t interval over three trainings and Holm over the three choices. So against draws over all layers, and
    against such as have as many heads in each layer (`helpers.methods.contest.matched`). All train on.
    """
    plan = {"training.steps": 6500, "training.warmup": 500, "training.evaluate_every": 1000, "pruning.steps": 500,
            "pruning.gate_rate": 0.16, "pruning.evaluate_every": 100, "pruning.penalties": [0.008], "pruning.compared": [0.008],
            "pruning.criteria": ["gradient, example", "leave-one-out", "random"]}  # fmt: skip
    sweep = pruning.of_training(study.changed(study.settings("europarl"), plan), ["fr-europarl"], seed)[0]
    return sweep | {"runs": {run: spec for run, spec in sweep["runs"].items() if run.split()[0] not in ("floor", "L0's")}}


def choices() -> dict[str, pd.DataFrame]:
    """BLEU of what is made of `quarter`, and as choices_claims what is judged by its rule; none until all sweeps are made.

    criterion, penalty, draw, seed, dev_loss, test set, BLEU, layers (`matched.table`), of random heads of all layers, too.
    """
    sweeps = [quarter(seed) for seed in LANGUAGE]
    if not all(recipe.made() for sweep in sweeps for recipe in pruning.recipes(sweep, sweep["runs"])):
        return {}
    rows = []
    for sweep in sweeps:
        spread = [run for run in sweep["runs"] if run.startswith(RANDOM)]
        for draw, run in enumerate(["control", *spread]):
            labels = {"criterion": RANDOM if draw else run, "draw": draw, "seed": sweep["seed"]}
            scored = matched.scores(sweep["runs"][run], sweep["settings"]["pruning"]["beam"])
            loss = scored.pop("dev_loss")
            rows += [labels | {"dev_loss": loss, "test set": split, "BLEU": value} for split, value in scored.items()]
    table = pd.concat([pd.DataFrame(rows), matched.table(sweeps)], ignore_index=True)
    means = matched.means(table[table["test set"] == "europarl_test"])
    everywhere = [(criterion, f"random like {RANDOM}", 0.0) for criterion in matched.CRITERIA]
    claims = [regimes.judged(means, pairs) for pairs in (everywhere, matched.COMPARED)]
    return {"choices": table, "choices_claims": pd.concat(claims, ignore_index=True).query("seeds > 0")}


def of_kinds() -> pd.DataFrame:
    """What the trainings of `deep_kinds` kept of every kind, with that of the first, as published (`pruning.kept_by_kind`)."""
    kept = {1: pd.read_csv(pruning.NATURAL / "fig9_heads_by_kind.csv").drop(columns="model")}
    for seed, sweep in ((seed, deep_kinds(seed)) for seed in FURTHER):
        if all(pruning.pruned(spec).made() for spec in sweep["runs"].values()):
            kept[seed] = pruning.kept_by_kind(sweep, pruning.subject_of(sweep))
    return pd.concat(kept, names=["seed", "row"]).reset_index("seed")


def made_runs(sweep: Mapping[str, Any]) -> dict[str, Any]:
    """A sweep with those of its runs that are made."""
    runs = sweep["runs"].items()
    return {
        **sweep,
        "runs": {run: spec for run, spec in runs if all(one.made() for one in pruning.recipes(sweep, {run: spec}))},
    }


def quality(sweep: Mapping[str, Any]) -> pd.DataFrame:
    """`pruning.quality` of those runs of a sweep that are made; empty without the control."""
    made = made_runs(sweep)
    if "control" not in made["runs"]:
        return pd.DataFrame()
    subject = pruning.subject_of(made)
    return pruning.quality(made, subject, pruning.draws(made, subject)).reset_index()


def trainings() -> pd.DataFrame:
    """`pruning.quality_of_all` of all trainings of the Europarl translator that are made."""
    sweeps = (made_runs(europarl(seed)["sweep"]) for seed in (1, *FURTHER))
    return pruning.quality_of_all([sweep for sweep in sweeps if "floor" in sweep["runs"]])


def against_scratch(sweep: Mapping[str, Any]) -> pd.DataFrame:
    """`pruning.against_scratch` of the runs that are made."""
    made = made_runs(sweep)
    return pruning.against_scratch(made, pruning.subject_of(made)).reset_index() if made["runs"] else pd.DataFrame()


def kept_by_kind(sweep: Mapping[str, Any]) -> pd.DataFrame:
    """`pruning.kept_by_kind` of the runs that are made."""
    made = made_runs(sweep)
    return pruning.kept_by_kind(made, pruning.subject_of(made)) if "control" in made["runs"] else pd.DataFrame()


def by_layer(sweep: Mapping[str, Any]) -> pd.DataFrame:
    """Heads that the L0 runs that are made kept in every layer, from 0 (figure 10)."""
    rows = []
    for run in pruning.l0_runs(made_runs(sweep)):
        kept = {place: len(left) for place, left in pruning.retained(run).items()}
        rows += [(pruning.penalty(run), sum(kept.values()), *place, left) for place, left in kept.items()]
    return pd.DataFrame(rows, columns=["penalty", "total_kept", "kind", "layer", "kept"])


def recipes(part: str, seeds: int) -> Iterator[study.Recipe]:
    """What a part makes, in the order of its worth."""
    settings = study.settings("regimes")
    if part == "pretrained":
        yield from pretrained.recipes(settings)
        return
    if part == "linked":
        for seed in linked_seeds(seeds):
            yield from injection.side_by_side(study.settings("laptop"), seed)
        return
    if part in ("drawn", "crossed"):
        rows = {"drawn": drawn, "crossed": crossed}[part]
        for seed in DRAWN:
            yield from injection.made_of(study.settings("laptop"), rows(seed), f"{part}, seed {seed}")
        return
    if part in FRESH:
        rows = fresh(part)
        for name in next(iter(rows.values())):
            yield from (regimes.measured(rows[seed][name], f"{part}, seed {seed}, {name}") for seed in rows)
        return
    if part == "europarl":
        for seed in FURTHER:
            yield from contest.runs.recipes(job := europarl(seed))
            yield from (
                WITHOUT.recipe(run, first=job["sweep"]["settings"]["relevance"])
                for run in comparison.trained_models([job]).values()
            )
        return
    swept = {
        "longer": lambda: [longer()],
        "kinds": lambda: [kinds(1)],
        "deep": lambda: [*map(deep_kinds, FURTHER)],
        "choices": lambda: [*map(quarter, LANGUAGE)],
    }
    if part in swept:
        yield from (recipe for sweep in swept[part]() for recipe in pruning.recipes(sweep, sweep["runs"]))
        yield from (recipe for sweep in swept[part]() if part == "choices" for recipe in matched.recipes(sweep))
        return
    if part in ("once", "matched"):
        for sweep in sweeps(settings, seeds):
            yield from [matched.at_once(sweep)] if part == "once" else matched.recipes(sweep)
        return
    ways = {
        "sizes": regimes.sizes,
        "strengths": lambda: regimes.strengths(TRAIN, DROPOUT),
        "main": lambda: regimes.main(TRAIN, DROPOUT, STRENGTH, seeds),
        "numbers": lambda: regimes.numbers(TRAIN, DROPOUT, STRENGTH, seeds),
        "wide": lambda: map(regimes.paper_heads, regimes.main(TRAIN, DROPOUT, STRENGTH, seeds)),
    }
    if part == "strengths":  # whether heads are grouped is seen after stage 1
        yield from (grouping_runs.run(grouping_runs.stages(regimes.spec(settings, row))[0], "stage 1") for row in ways[part]())
        return
    yield from (regimes.recipe(settings, row) for row in ways[part]())


def percent(claims: pd.DataFrame) -> pd.DataFrame:
    """Differences in minus the logarithm of perplexity as percent of perplexity, which less of is a gain."""
    columns = ["bound", "change", "low", "high"]
    return claims.assign(**-100 * np.expm1(-claims[columns]))


def write_tables(seeds: int) -> None:
    """What is made already: a row a training, the claims of the main regime, matched random heads; and of pretrained models."""
    settings = study.settings("regimes")
    main_rows = regimes.main(TRAIN, DROPOUT, STRENGTH, seeds)
    other = [*regimes.sizes(), *regimes.strengths(TRAIN, 0.3)[:1], *regimes.strengths(TRAIN, DROPOUT)]
    table = regimes.table(settings, main_rows)
    random = matched.table(one for one in sweeps(settings, seeds) if all(row.made() for row in matched.recipes(one)))
    europarl_trainings = trainings()
    tables = {
        "grouped": pd.concat([table, regimes.table(settings, other)]).drop_duplicates(ignore_index=True),
        "grouped_claims": regimes.judged(table),
        "grouped_numbers": regimes.table(settings, regimes.numbers(TRAIN, DROPOUT, STRENGTH, seeds)),
        "grouped_wide": regimes.table(settings, map(regimes.paper_heads, main_rows)),
        "matched_at_once": values.read(matched.at_once(sweeps(settings, 1)[0]).results / FILE),
        "matched": random,
        "matched_claims": regimes.judged(matched.means(random), matched.COMPARED),
        **fresh_tables(),
        "longer": quality(longer()).drop(columns=["decoder", "cross"], errors="ignore"),
        "kinds": quality(kinds(1)),
        "kinds_by_layer": by_layer(kinds(1)),
        "kinds_kept": kept_by_kind(kinds(1)),
        "kinds_scratch": against_scratch(kinds(1)),
        "linked": injection.side_by_side_table(study.settings("laptop"), linked_seeds(seeds)),
        "drawn": minus_random(),
        "crossed": crossing(),
        "europarl": europarl_trainings.reset_index(),
        "europarl_half_left": pruning.half_left(pruning.means(europarl_trainings)).reset_index(),
        "europarl_verdicts": verdicts(),
        **over_measured(),
        "deep": quality(deep()),
        "deep_kinds": of_kinds(),
        **choices(),
    }
    read = _write("regimes", {name: rows.round(4) for name, rows in tables.items() if len(rows)}, 0)
    _write("pretrained", {name: table(settings) for name, table in pretrained.TABLES.items()}, read)


def _write(name: str, tables: Mapping[str, pd.DataFrame], since: int) -> int:
    """Tables of a folder in figures, with one sidecar: what made them, and what was read of the store after `since` things.

    A table of more rows than are made stays: its trainings are on another machine.
    """
    folder, read = study.ROOT / "figures" / name, read_since(since)
    for title, rows in tables.items():
        path = folder / f"{title}.csv"
        if not path.exists() or len(pd.read_csv(path)) <= len(rows):
            rows.to_csv(path, index=False)
    before = study.read_json(folder / "sidecar.json")["read"]
    facts = {"command": "python workflow/overnight.py tables", "tables": sorted(path.stem for path in folder.glob("*.csv"))}
    facts["read"] = sorted({*before, *(f"{one.parent.name}/{one.name}" for one in read)})
    study.write_json(folder / "sidecar.json", facts | study.provenance())
    return since + len(read)


def publish(seeds: int) -> None:
    """Publish what is made of most parts, as if it were handed over: few notebooks read it. For the others there is no room."""
    index = published.index()
    parts = "main matched linked drawn crossed longer kinds sixteen tight parts recover language europarl pretrained"
    needs = [study.Need(recipe) for part in parts.split() for recipe in recipes(part, seeds)]
    made = (one for one in plan.closure(needs) if not one.kind.text and one.key not in index and one.made())
    entries = {one.key: published.pack(one.folder, False) | {"handed": True} for one in made}
    published.write_index(published.shared(index | entries))
    study.say(f"{len(entries)} published")


def main() -> None:
    """Make the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    with study.one_sentence():
        for part in chosen.parts:
            if part in ("tables", "publish"):
                {"tables": write_tables, "publish": publish}[part](chosen.seeds)
                continue
            for recipe in recipes(part, chosen.seeds):
                study.say(f"{part}: {recipe.label}")
                study.make(recipe)


if __name__ == "__main__":
    main()
