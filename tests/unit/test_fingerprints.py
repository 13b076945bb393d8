"""Numbers do not move without a version: a tiny run of every kind of recipe, held to the fingerprint that is kept."""

import pytest

from helpers import study
from tests.unit import fingerprint

STORE = "fingerprints"  # most start from the same few runs
NAMES = list(fingerprint.recipes())


@pytest.fixture(autouse=True)
def on_a_processor(isolated, monkeypatch):
    monkeypatch.setenv("HEADS_DEVICE", "cpu")


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_the_version(name):
    was, now = fingerprint.stored(name), fingerprint.taken(fingerprint.recipes()[name]())
    assert was, f"{name} has no fingerprint: python -m tests.unit.fingerprint"
    assert was["version"] == now["version"], f"version {now['version']} of {name} has no fingerprint: write it"
    assert fingerprint.moved(was, now) == [], f"the numbers of {name} moved: raise the version of its kind"


def test_every_kind_and_every_analysis_has_a_fingerprint():
    known = {fingerprint.recipes()[name]().kind.name for name in NAMES}
    kinds = {kind.name for kind in study.KINDS.values() if kind.build.__module__.startswith("helpers.")}
    assert kinds - known == {"parses", "cell", "pretrained-part", "pretrained-summarizer"}
    known = {recipe().spec["what"] for name, recipe in fingerprint.recipes().items() if name.startswith("analysis")}
    assert known == set(fingerprint.analysis.ANALYSES)
