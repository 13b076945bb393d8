"""Published runs stay valid while code moves: the key of each is computed from its spec, and nothing is trained."""

import json
import tarfile
from collections import defaultdict
from pathlib import Path

import pytest

from helpers import plan, study
from helpers.experiments import regimes  # noqa: F401
from helpers.methods.contest import matched  # noqa: F401  # whose analyses, as those of regimes, notebooks do not read
from helpers.runs import subjects

FOLDER = study.ROOT / "data" / "published"
RUNS = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))["runs"]
ELSEWHERE = {"b99a0108bc9a7921": "it needs links that lie in a file of SAMSum, whose digest is part of their key"}


@pytest.fixture(scope="module")
def manifests():
    """What the archives of published runs say of them, by key."""
    found = {}
    for file in {entry["parts"]["results"]["file"] for entry in RUNS.values()}:
        with tarfile.open(FOLDER / file, "r:xz") as archive:
            for name in (name for name in archive.getnames() if name.endswith("made.json")):
                key = name.partition("/")[0] if "/" in name else Path(file).name.partition(".")[0]
                found[key] = json.load(archive.extractfile(name))
    return found


@pytest.fixture(autouse=True)
def published_here(monkeypatch):
    monkeypatch.setenv("HEADS_PUBLISHED", str(FOLDER))
    monkeypatch.setenv("HEADS_DEVICE", "cpu")


def computed_on(entry):
    """The class of device that a run's numbers are of; a key of one with a GPU can be computed without it."""
    return "cuda" if "NVIDIA" in entry["hardware"] else "cpu"


@pytest.mark.parametrize("kind", sorted({entry["kind"] for entry in RUNS.values()}))
def test_every_published_run_has_the_key_of_its_spec(kind, manifests, monkeypatch):
    wrong = defaultdict(list)
    for key in (key for key, entry in RUNS.items() if entry["kind"] == kind and key not in ELSEWHERE):
        monkeypatch.setenv("HEADS_DEVICE", computed_on(RUNS[key]))
        recipe = study.kind(manifests[key]["kind"]).of(manifests[key]["spec"])
        if recipe.key != key:
            raised = f"version {RUNS[key]['version']} is {recipe.version} now" if recipe.version != RUNS[key]["version"] else ""
            wrong[raised or "its spec or what it needs is another now"].append(manifests[key]["label"])
    assert not wrong, "\n".join(f"{len(labels)} of {kind}: {why}, such as {labels[0]}" for why, labels in wrong.items())


@pytest.mark.parametrize("key", ELSEWHERE)
def test_a_run_of_text_that_is_not_here_has_the_key_of_its_spec_and_of_what_it_needed(key, manifests):
    made = manifests[key]
    kind = study.kind(made["kind"])
    version = kind.version(made["spec"]) if callable(kind.version) else kind.version
    assert study.key([kind.name, version, made["spec"], sorted(made["needs"]), ["cpu", "float32"]]) == key
    with pytest.raises(study.StudyError, match="cannot be read"):
        kind.of(made["spec"]).key  # noqa: B018


def test_the_index_says_what_the_archives_say(manifests):
    for key, made in manifests.items():
        assert all(RUNS[key][name] == made[name] for name in ("kind", "version", "what", "label")), key
        assert study.key([made["kind"], made["spec"]]) == made["what"], key


def test_what_the_notebooks_read_is_published():
    """A setting of another name in the specs that are built today would train everything anew that has it."""
    settings = study.settings("laptop")
    needs = plan.goals(settings, subjects.names(settings, ""), 1)
    recipes = plan.closure(need for read in needs.values() for need in read)
    anew = [recipe.label for recipe in recipes if recipe.key not in RUNS]
    assert len(recipes) > 500
    assert not anew, f"{len(anew)} of {len(recipes)} would be made anew, such as {anew[:3]}: publish them"
