"""Fingerprints of recipes: what a tiny run of each kind leaves, in few numbers that survive another processor.

`python -m tests.unit.fingerprint` writes those of today to tests/fingerprints/. Whoever changes numbers on purpose raises the
kind's version first: a fingerprint names the version that it is of.
"""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file

from helpers import corpora, plan, study  # noqa: F401 (with plan all kinds are known)
from helpers.corpora import dialogues, texts
from helpers.experiments import grouping as grouped
from helpers.experiments import pruning, regimes
from helpers.heads.families import KINDS
from helpers.measures import analysis, measured
from helpers.methods import contest, coreference
from helpers.methods.contest import matched
from helpers.runs import outputs, subjects, training
from helpers.study import Recipe, values

FOLDER = Path(__file__).resolve().parents[1] / "fingerprints"
TOLERANCE = 0.004  # of a column's mean magnitude
ROUNDING = 2e-6  # what processors differ by where a number is nothing but rounding
TEXTS = 0.7  # share of texts that must be the same where a model wrote them
VOCABULARIES = ("source.json", "target.json", "vocabulary.json")
FEW = 20  # texts, more of which have one digest
UNSEEN = "k_proj.bias"  # no softmax sees it: its gradient is rounding, of which Adam makes steps that differ by processor
TIMES = ("seconds", "rate", "ratio", "low", "high")  # columns that are left out: times, and ends of intervals
SEED = 1

_MODEL = {"layers": 2, "width": 32, "heads": 4, "feed_forward": 48}
_TASKS = ("translation", "summarization", "language")
_SHAPE = {f"grouping.{task}.model.{name}": value for task in _TASKS for name, value in
          {"layers": 1, "width": 32, "heads": 16, "feed_forward": 32}.items()}  # fmt: skip
SETTINGS = {
    "train": 150, "dev": 12, "test": 6, "vocabulary": 150, "relevance": 6, "bootstrap": 50, "seeds": 1,
    **{f"model.{name}": value for name, value in _MODEL.items()},
    "training.steps": 40, "training.learning_rate": 1e-2, "training.batch_tokens": 400, "training.evaluate_every": 20,
    "pruning.steps": 8, "pruning.penalties": [0.05, 0.2], "pruning.compared": [0.2], "pruning.criteria": ["relevance"],
    "pruning.penalties_all": [0.1], "pruning.scratch": [0.1], "pruning.dev": 6, "pruning.variants": False,
    **_SHAPE, **{f"grouping.{task}.{name}": value for task in _TASKS for name, value in
                 {"train": 60, "dev": 8, "test": 6, "vocabulary": 150, "steps": 10, "warmup": 4, "groups": 5,
                  "longest": 32, "batch_tokens": 300}.items()},
    "coreference.summarization.train": 60, "coreference.summarization.dev": 8, "coreference.summarization.test": 4,
    "coreference.probe": 6,
}  # fmt: skip


def settings() -> dict[str, Any]:
    """Of profile tiny, smaller still."""
    return study.settings("tiny", SETTINGS)


def recipes() -> dict[str, Callable[[], Recipe]]:
    """A recipe of each kind, and of a kind that does several things one of each, by name."""
    chosen = settings()
    few = chosen["relevance"]
    found: dict[str, Callable[[], Recipe]] = {}
    for language in corpora.LANGUAGES:
        for register in corpora.REGISTERS:
            spec = corpora.spec(chosen, language, register, SEED)
            found[f"pairs, {language} {register}"] = lambda spec=spec: corpora.recipe(spec)
    sizes = {"train": 30, "dev": 6, "test": 6, "vocabulary": 150, "longest": 40}
    for name in ("reports", "stories"):
        found[f"texts, {name}"] = lambda name=name: texts.TEXTS.of(texts.spec(sizes, name, SEED))
    talk = dialogues.spec(sizes, "dialogues", SEED)
    found["dialogues"] = lambda: dialogues.DIALOGUES.of(talk)
    found["clusters"] = lambda: dialogues.clusters(talk, "dev", "rule")

    start = subjects.spec(chosen, "ru-news", SEED)
    model = training.trained(start)
    found["model"] = lambda: model
    found["model, no encoder attention"] = lambda: training.trained(subjects.spec(chosen, "ru-news" + subjects.NONE, SEED))
    found["outputs"] = lambda: outputs.recipe(model, 1)
    sweep = pruning.sweep(chosen, "ru-news", start, ("encoder",), SEED)
    every = pruning.sweep(chosen, "ru-news", start, KINDS, SEED)
    for name in ("control", "floor", "L0 0.2", "L0's heads 0.2", "relevance 0.2"):
        found[f"pruned, {name}"] = lambda name=name: pruning.pruned(sweep["runs"][name])
    like = sweep["runs"]["L0 0.2"]
    matching = {**like, "method": {"name": "matched", "like": like, "draw": 0}}
    found["pruned, matched"] = lambda: pruning.pruned(matching)
    found["pruned, all kinds"] = lambda: pruning.pruned(every["runs"]["L0 0.1"])
    found["pruned, scratch"] = lambda: pruning.pruned(every["runs"]["scratch 0.1"])
    found["scores"] = lambda: pruning.scored(start, chosen["relevance"])
    job = contest.runs.jobs(chosen, ["ru-news"], SEED)[0]
    table, first, *_, once, first_once = contest.runs.recipes(job)
    decoder = next(job for job in contest.runs.jobs(chosen, ["ru-news"], SEED) if "decoder" in job)
    for found_as, recipe in (("head table", table), ("head table, first order", first), ("measures removed at once", once),
                             ("measures removed at once, first order", first_once)):  # fmt: skip
        found[found_as] = lambda recipe=recipe: recipe
    found["head table, decoder"] = lambda: next(contest.runs.recipes(decoder))
    found["measures removed at once, decoder"] = lambda: contest.runs.removed_at_once(decoder)

    rows = grouped.runs.Rows(chosen, subjects.TRANSLATION, SEED)
    ght, kept = rows.first(rows.constraint()), rows.pruned(rows.constraint())
    ght_run = grouped.runs.run(ght)
    found["grouped, constraint"] = lambda: ght_run
    found["grouped, votes"] = lambda: grouped.runs.run(kept)
    found["grouped, L0"] = lambda: grouped.runs.run(rows.peers()[grouped.runs.L0])
    found["grouped, gradient"] = lambda: grouped.runs.run(rows.peers()[grouped.runs.GRADIENT])
    spoken = grouped.runs.Rows(chosen, subjects.LANGUAGE, SEED)
    found["grouped, language model"] = lambda: grouped.runs.run(spoken.first(spoken.constraint()))
    found["outputs, language model"] = lambda: outputs.recipe(grouped.runs.run(spoken.first(spoken.constraint())), 1)

    put = coreference.runs.Rows(chosen, SEED)
    found["injected, holes and plain"] = lambda: coreference.runs.run(put.plain())
    controls = {"masked": put.masked(), "full": put.injected(), "own layer": put.mixed("all")}
    for name, control in (controls | {"rule": put.injected({"links": "rule"})}).items():
        found[f"injected, {name}"] = lambda control=control: coreference.runs.run(put.tuned(control))
    found["ranking"] = lambda: coreference.runs.ranked(put.plain(), chosen["coreference"]["probe"], put.links())

    options: dict[str, dict[str, Any]] = {
        "confidence and functions": {"repeats": 50}, "scores of functions": {"repeats": 50},
        "relevance of a word through one sentence": {},
        "relevance of random weights": {"first": few, "draws": 1}, "leave one out": {"first": few},
        "syntactic heads held out": {"repeats": 50},
    }  # fmt: skip
    for name, told in options.items():
        found[f"analysis, {name}"] = lambda name=name, told=told: analysis.ANALYSES[name].recipe(model, **told)
    for rule in ("alpha_beta", "attnlrp", "cp"):
        found[f"analysis, relevance, {rule}"] = lambda rule=rule: measured.EXPLAINED.recipe(model, rule=rule, first=few)
    found["analysis, size"] = lambda: grouped.COST.recipe(grouped.runs.run(kept))
    found["analysis, grouping in its regime"] = lambda: regimes.MEASURED.recipe(ght_run, grouped.runs.run(kept), beam=1)
    found["analysis, dev loss and BLEU"] = lambda: matched.SCORE.recipe(pruning.pruned(matching), beam=1)
    out = {"L0": [["encoder", 0, 0], ["encoder", 1, 2]]}
    found["analysis, matched heads removed at once"] = lambda: matched.AT_ONCE.recipe(model, out=out, first=few, draws=2)
    plain = grouped.runs.run(spoken.first())
    found["analysis, test scores with kinds off"] = lambda: grouped.OFF.recipe(plain, beam=1, repeats=50)
    return found


def taken(recipe: Recipe) -> dict[str, Any]:
    """The fingerprint of a recipe: its version, and of every file and column of its results some numbers, or digests."""
    found: dict[str, Any] = {}
    parts = [recipe.results] + ([recipe.weights] if recipe.kind.text else [])  # training text is a large part of its own
    for file, part in sorted((file, folder) for folder in parts for file in folder.rglob("*")):
        if file.is_file():
            for column, values_of in columns(file):
                found[f"{file.relative_to(part)}: {column}"] = summed(values_of)
    if (recipe.folder / "weights" / "model.safetensors").exists():
        for name, tensor in load_file(recipe.folder / "weights" / "model.safetensors").items():
            if not name.endswith(UNSEEN):
                found[f"weights: {name}"] = summed(tensor.double().flatten().tolist())
    return {"version": recipe.version, "found": found}


def columns(file: Path) -> Iterator[tuple[str, list[Any]]]:
    """What a file holds, column by column."""
    if file.suffix == ".csv":
        table = pd.read_csv(file)
        yield from ((str(name), table[name].tolist()) for name in table if name != "seconds")
    elif file.suffix == ".npz":
        with np.load(file) as arrays:
            yield from ((name, np.asarray(arrays[name], float).ravel().tolist()) for name in sorted(arrays))
    elif file.name.endswith(".json.gz"):
        yield from leaves(values.read(file))
    elif file.suffix == ".json" and file.name not in VOCABULARIES:
        yield from leaves(json.loads(file.read_text(encoding="utf-8")))
    else:
        yield "lines", file.read_text(encoding="utf-8").splitlines()


def leaves(tree: Any, name: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Columns of a tree of values."""
    if hasattr(tree, "__dataclass_fields__"):
        tree = vars(tree)
    if isinstance(tree, pd.DataFrame):
        tree = {part: tree[part].tolist() for part in tree if part not in TIMES or "relevance" in tree}
    if isinstance(tree, dict):
        for part, inside in tree.items():
            yield from leaves(inside, f"{name}.{part}")
    elif isinstance(tree, pd.Index):
        yield name, [str(one) for one in tree]
    elif isinstance(tree, pd.Series | np.ndarray):
        yield name, np.asarray(tree).ravel().tolist()
    elif isinstance(tree, list | tuple) and any(isinstance(one, dict | np.ndarray) or hasattr(one, "__dict__") for one in tree):
        for number, part in enumerate(tree):
            yield from leaves(part, f"{name}.{number}")
    elif isinstance(tree, list | tuple) and tree and all(map(_numbers, tree)):
        yield name, [one for row in tree for one in row]
    else:
        yield name, tree if isinstance(tree, list | tuple) else [tree]


def _numbers(row: Any) -> bool:
    """Whether it is a list of numbers: as text it would differ by a rounding."""
    return isinstance(row, list | tuple) and bool(row) and all(isinstance(one, int | float) for one in row)


def summed(part: list[Any]) -> dict[str, Any]:
    """A column in few numbers: how many, their mean magnitude, two sums that see their order; or a digest of texts."""
    if not all(isinstance(one, int | float) for one in part):
        digests = [hashlib.sha256(str(one).encode()).hexdigest()[:8] for one in part]
        if len(part) > FEW:  # of generated text, which no processor changes
            digests = [hashlib.sha256("".join(digests).encode()).hexdigest()[:16]]
        return {"texts": digests, "count": len(part)}
    numbers = np.nan_to_num(np.asarray(part, float), nan=-7.0, posinf=1e6, neginf=-1e6)
    size = float(np.abs(numbers).mean()) if len(numbers) else 0.0
    waves = [np.cos(np.arange(len(numbers)) * pace) for pace in (0.7, 2.3)]
    sums = [float((numbers * wave).mean()) if len(numbers) else 0.0 for wave in waves]
    return {"count": len(numbers), "size": float(f"{size:.6g}"), "sums": [float(f"{one:.6g}") for one in sums]}


def moved(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Columns whose numbers are others now, beyond the tolerance, or that are only on one side."""
    names = sorted(was["found"].keys() | now["found"].keys())
    return [name for name in names if not _alike(was["found"].get(name), now["found"].get(name))]


def _alike(was: dict[str, Any] | None, now: dict[str, Any] | None) -> bool:
    if was is None or now is None or was.keys() != now.keys() or was["count"] != now["count"]:
        return False
    if "texts" in was:
        same = sum(a == b for a, b in zip(was["texts"], now["texts"], strict=True))
        return same >= TEXTS * len(was["texts"])
    room = TOLERANCE * was["size"] + ROUNDING
    return all(abs(a - b) <= room for a, b in zip([was["size"], *was["sums"]], [now["size"], *now["sums"]], strict=True))


def stored(name: str) -> dict[str, Any] | None:
    """The fingerprint of a name that is kept, None if there is none."""
    path = FOLDER / f"{name.partition(',')[0].replace(' ', '_')}.json"
    return study.read_json(path).get(name) if path.exists() else None


def main() -> None:
    """Write the fingerprints of today."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        places = {"HEADS_RUNS": f"{folder}/runs", "HEADS_DATA": f"{folder}/data", "HEADS_PUBLISHED": folder}
        os.environ.update(places, HEADS_DEVICE="cpu")
        by_file: dict[str, dict[str, Any]] = {}
        for name, recipe in recipes().items():
            by_file.setdefault(name.partition(",")[0], {})[name] = taken(recipe())
            print(name, flush=True)
        for name, found in by_file.items():
            study.write_json(FOLDER / f"{name.replace(' ', '_')}.json", found)


if __name__ == "__main__":
    sys.exit(main())
