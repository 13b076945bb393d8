"""Published runs: fill them from the store, or make some anew and compare.

`python -m helpers.publish.archives publish` packs what the notebooks of a study read into `data/published`, with the weights
of the translation models that it is about; `python -m helpers.publish.archives verify --runs 5` makes some published runs anew.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from helpers import plan, study
from helpers.experiments import pretrained
from helpers.measures.analysis import ANALYSES, ANALYSIS
from helpers.methods import contest
from helpers.runs import training
from helpers.study import Need, Recipe, published, values

LIMIT = 80  # MB of all published runs
OF_MODELS = "02_head_functions"  # a notebook about the models whose weights are published
TIMED = {"seconds", "rate", "ratio", "speed"}  # columns, and files, of times: they are never the same
UNREAD = {"halves"}  # files of head tables that were published when their halves were measured too
TOLERANCE = 0.05  # relative, of losses and scores of runs that were made on other hardware
STEADY = 0.8  # rank correlation of other numbers that were


# --- fill ------------------------------------------------------------------------------------------------------------


def publish(notebooks: Mapping[str, Sequence[Need]]) -> str:
    """Publish what notebooks read and the store has; what they no longer read is dropped, but what was handed over from a GPU.

    Weights are published of the models that notebook 02 is about, of those that something still to be made starts from, and of
    those of the first seed that have a head table in notebook 06: a measure that is entered there looks at the model itself.

    Of several profiles the names of notebooks have the profile before them. Says how much there is now; if it would be more
    than `LIMIT` MB, nothing is dropped or added, and a StudyError says so.
    """
    needs = plan.together(notebooks)
    asked = [need for name, read in notebooks.items() if name.endswith(OF_MODELS) for need in read]
    asked += [need for recipe in plan.closure(needs) if not recipe.made() for need in recipe.needs if need.weights]
    weighty = {need.recipe for need in asked if need.recipe.kind is training.MODEL}
    tables = [recipe for recipe in plan.closure(needs) if recipe.kind is contest.runs.TABLE]
    looked_at = {need.recipe for recipe in tables for need in recipe.needs if need.weights}
    least = min((made.spec["seed"] for made in looked_at), default=0)
    weighty |= {made for made in looked_at if made.spec["seed"] == least}
    before, entries, absent = published.index(), {}, 0
    for recipe in study.progress([*plan.closure(needs), *cells(before)], "publishing"):
        if not publishable(recipe):
            continue
        known, manifest = before.get(recipe.key), recipe.folder / "made.json"
        wanted = recipe in weighty and (recipe.folder / "weights").exists() and (not known or _same(recipe))
        if known and (not wanted or "weights" in known["parts"]):
            parts = {name: part for name, part in known["parts"].items() if name != "weights" or recipe in weighty}
            entries[recipe.key] = known | {"parts": parts}
        elif manifest.exists():
            entries[recipe.key] = published.pack(recipe.folder, wanted)
        else:
            absent += 1
    files = {one["parts"]["results"]["file"] for one in entries.values()}  # a shared archive keeps all that is in it
    left = {key: one for key, one in before.items() if one.get("handed") or one["parts"]["results"]["file"] in files}
    entries = left | entries
    entries = published.shared(entries)
    size = sum({part["file"]: part["bytes"] for one in entries.values() for part in one["parts"].values()}.values()) / 1e6
    if size > LIMIT:
        published.write_index(before)
        raise study.StudyError(f"Published runs would take {size:.1f} MB of {LIMIT:g}: publish fewer weights.")
    published.write_index(entries)
    return f"{len(entries)} published, {size:.1f} MB; {absent} not made yet"


def cells(before: Mapping[str, Any]) -> list[Recipe]:
    """What functions of notebooks made (`helpers.study.Run.stored`), here or published, that stand there as they were run."""
    specs = [study.read_json(path)["spec"] for path in sorted((study.runs() / "cell").glob("*/made.json"))]
    for key in (key for key, entry in before.items() if entry["kind"] == "cell"):
        with tempfile.TemporaryDirectory() as folder:
            specs.append(published.unpacked(key, Path(folder))["spec"])
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (study.ROOT / "notebooks" / "py").glob("*.py")}
    return [study.kind("cell").of(spec) for spec in specs if spec["code"] in texts.get(spec["notebook"], "")]


def _same(recipe: Recipe) -> bool:
    """Whether the store has the weights of the very training that is published: what came of that does not fit another's."""
    with tempfile.TemporaryDirectory() as folder:
        files = published.unpacked(recipe.key, Path(folder))["files"]
    local = study.read_json(recipe.folder / "made.json")["files"]
    return all(local.get(name) == digest for name, digest in files.items() if name.startswith("weights/"))


def publishable(recipe: Recipe) -> bool:
    """Whether a recipe's results hold no sentences of others' text, which are not ours; what a model writes are its own."""
    shown = recipe.kind.text or (recipe.kind is ANALYSIS and ANALYSES[recipe.spec["what"]].sentences)
    return not shown or _generated(recipe.spec)


def _generated(spec: Any) -> bool:
    """Whether all corpora in a spec are of generated sentences."""
    if isinstance(spec, Mapping):
        corpus = spec.get("corpus")
        return not (isinstance(corpus, str) and corpus != "controlled") and all(map(_generated, spec.values()))
    return not isinstance(spec, list | tuple) or all(map(_generated, spec))


# --- make anew -------------------------------------------------------------------------------------------------------


def verify(count: int) -> pd.DataFrame:
    """Make so many published runs anew, in a store of its own, and compare their results with those that are published.

    On key: run (its label), hardware ("the same" or the published one's), equal (whether all results are, to the last digit),
    passed, note (what is different).
    """
    index = published.index()
    if not index:
        raise study.StudyError("Nothing is published: run make publish after make study.")
    drawn = [key for key in sorted(index) if not study.kind(index[key]["kind"]).text]  # text lies in another store
    rows = []
    for key in random.sample(drawn, min(count, len(drawn))):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scratch:
            manifest = published.unpacked(key, Path(folder))
            recipe = study.kind(manifest["kind"]).of(manifest["spec"], manifest["label"])
            if not (_generated(recipe.spec) or study.data_root()):
                note = "of natural text, not made anew: set HEADS_DATA_ROOT"
                rows.append({"run": recipe.label, "key": key, "passed": True, "note": note})
                continue
            with mock.patch.dict(os.environ, {"HEADS_RUNS": scratch, "HEADS_FRESH": key}):
                if recipe.key == key:
                    rows.append(_compared(recipe, recipe.results, Path(folder) / "results", index[key]))
                else:
                    rows.append({"run": recipe.label, "key": key, "passed": True, "note": "of another version or device"})
    return pd.DataFrame(rows).set_index("key")


def _compared(recipe: Recipe, made: Path, stored: Path, entry: Mapping[str, Any]) -> dict[str, Any]:
    changed = differences(made, stored)
    here = entry["hardware"] == study.hardware()
    equal = not changed
    passed = equal or (not here and all(alike for _, alike in changed.values()))
    note = "; ".join(f"{name}: {text}" for name, (text, _) in changed.items())
    hardware = "the same" if here else entry["hardware"]
    return {"run": recipe.label, "key": recipe.key, "hardware": hardware, "equal": equal, "passed": passed, "note": note}


def differences(one: Path, other: Path) -> dict[str, tuple[str, bool]]:
    """Files of two folders of results that are not the same: what is different, and whether it is within the tolerance.

    Times are left out. The tolerance, for runs on other hardware: losses within `TOLERANCE`; other numbers, and texts by their
    words, so that they correlate with `STEADY` at least.
    """
    changed = {}
    names = {file.name for folder in (one, other) for file in folder.iterdir()}
    for name in sorted(name for name in names if name.partition(".")[0] not in TIMED | UNREAD):
        if not ((one / name).exists() and (other / name).exists()):
            changed[name] = ("only on one side", False)
        elif (mine := _content(one / name)) != (reference := _content(other / name)):
            changed[name] = _likeness(name, mine, reference)
    return changed


def _content(path: Path) -> list[str]:
    """What a file holds, as a list of numbers and texts in a fixed order, without times."""
    if path.suffix == ".csv":
        return list(_leaves(pd.read_csv(path)))
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return list(_leaves({name: arrays[name] for name in sorted(arrays)}))
    return list(_leaves(values.read(path) if path.name.endswith(".json.gz") else study.read_json(path)))


def _leaves(tree: Any) -> Iterator[str]:
    """Numbers and texts of a tree of values, tables included, as Python writes them, so that nan is nan."""
    if dataclasses.is_dataclass(tree):
        tree = vars(tree)
    if isinstance(tree, pd.DataFrame | dict):
        for name, part in tree.items():
            if name not in TIMED:
                yield from _leaves(part)
    elif isinstance(tree, pd.Series | pd.Index | np.ndarray):
        yield from _leaves(tree.tolist())
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from _leaves(part)
    else:
        yield repr(tree)


def _likeness(name: str, mine: Sequence[str], others: Sequence[str]) -> tuple[str, bool]:
    """How far two lists of values are alike, in words, and whether that is within the tolerance."""
    if len(mine) != len(others):
        return f"{len(mine)} values instead of {len(others)}", False
    numbers = pd.DataFrame({"mine": mine, "others": others}).apply(pd.to_numeric, errors="coerce")
    known = numbers[np.isfinite(numbers).all(axis=1)]
    if known.empty:
        same = float(np.mean([a == b for a, b in zip(mine, others, strict=True)]))
        return f"{same:.0%} of the texts are the same", same >= STEADY / 2
    worst = float((known.mine.sub(known.others).abs() / known.abs().max(axis=1).clip(lower=1e-6)).max())
    if "loss" in name or name == "history.csv":
        return f"largest difference {worst:.1%}", worst <= TOLERANCE
    rank = float(known.corr("spearman").iloc[0, 1])
    return f"rank correlation {rank:.3f}, largest difference {worst:.1%}", rank >= STEADY or worst <= TOLERANCE


# --- the command -----------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Publish the runs of a study, or make some published ones anew and compare."""
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.archives", description=main.__doc__)
    parser.add_argument("what", choices=("publish", "verify"))
    plan.options(parser)
    parser.add_argument("--runs", type=int, default=5, help="how many are made anew")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        if chosen.what == "publish":
            every = {}
            for profile in chosen.profile.split():
                read = plan.needs_of(argparse.Namespace(**vars(chosen) | {"profile": profile}))
                every |= {f"{profile} {name}": needs for name, needs in read.items()}
            every["pretrained models"] = list(map(Need, pretrained.recipes(study.settings("laptop"))))
            print(publish(every))
            return
        plan.needs_of(chosen)  # computes where the profile says
        table = verify(chosen.runs)
        print(table.to_string())
        if not table.passed.all():
            raise study.StudyError(f"{(~table.passed).sum()} of {len(table)} runs came out otherwise: read the table above.")


if __name__ == "__main__":
    main(sys.argv[1:])
