"""Settings: the schema, the profiles, overrides, and what is refused."""

from __future__ import annotations

import json
import math
import re

import pytest

from helpers import study
from helpers.methods import coreference, grouping, l0
from helpers.study import StudyError, schema
from helpers.study import settings as read
from helpers.study.configuration import FOLDER, dotted

PROFILES = study.profiles()
OPTIONAL = ("decoder_layers", "decoder_heads")


def refused(profile, overrides, *parts):
    """The sentence in which overrides are refused, with these parts."""
    with pytest.raises(StudyError) as caught:
        read(profile, overrides)
    said = str(caught.value)
    assert "\n" not in said and said.endswith(".") and all(part in said for part in parts), said
    return said


# --- the schema ------------------------------------------------------------------------------------------------------


def test_every_setting_and_every_block_is_described():
    names = dict(schema.fields())
    assert len(names) > 100 and set(dotted(read("laptop"))) <= set(names)
    blocks = [kind for kind in vars(schema).values() if isinstance(kind, type) and issubclass(kind, schema.Block)]
    for field in (*names.values(), *(field for block in blocks for field in block.model_fields.values())):
        assert field.description and field.description[0].isupper() and field.description.endswith(".")
    assert all(block.__doc__ for block in blocks)


def test_names_in_lists_are_those_that_the_methods_know():
    def known(name):
        wrong = ["?"] if isinstance(dotted(read("tiny"))[name], list) else "?"
        return re.split("choose from |write one of ", refused("tiny", {name: wrong}, "'?'"))[1].rstrip(".")

    assert known("pruning.criteria") == ", ".join((l0.runs.RANDOM, *l0.runs.CRITERIA))
    assert known("grouping.which") == ", ".join(grouping.MAPS)
    assert known("coreference.parts") == ", ".join(coreference.runs.PARTS)
    assert known("coreference.matrix") == ", ".join(coreference.FORMS)
    assert known("coreference.span") == ", ".join(coreference.SPANS)
    assert known("coreference.mixed") == ", ".join(coreference.PARTS)


# --- profiles --------------------------------------------------------------------------------------------------------


def test_there_are_these_profiles():
    assert {"tiny", "quick", "laptop", "natural", "paper"} <= set(PROFILES)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_gives_every_setting_as_plain_values(profile):
    found = read(profile)
    assert json.loads(json.dumps(found)) == found and None not in dotted(found).values()
    required = {name for name, _ in schema.fields() if not name.endswith((*OPTIONAL, "model.start"))}
    assert {name for name in dotted(found) if not name.endswith((*OPTIONAL, "model.start"))} == required
    assert list(dotted(found)) == [name for name, _ in schema.fields() if name in dotted(found)], "in the schema's order"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_holds_only_what_differs(profile):
    usual = dotted(schema.Settings().model_dump())
    assert [name for name, value in dotted(study.read_toml(FOLDER / f"{profile}.toml")).items() if usual[name] == value] == []


def test_stored_runs_of_small_profiles_are_found_beside_a_gpu():
    assert [read(profile)["device"] for profile in ("tiny", "quick", "laptop")] == ["cpu"] * 3
    assert read("paper")["device"] == "auto"


def test_quick_is_a_small_laptop():
    quick, laptop = read("quick"), read("laptop")
    assert quick["model"] == laptop["model"]
    for block in ("grouping", "coreference"):
        for name, task in quick[block].items():
            assert not isinstance(task, dict) or task.get("model") == laptop[block][name].get("model")
    few, many = dotted(quick), dotted(laptop)
    for name, value in few.items():
        if isinstance(value, list) and name not in ("training.betas", "siblings"):
            assert len(value) <= len(many[name]) and set(value) <= set(many[name]), name
        elif isinstance(value, int | float):
            assert value <= many[name], name
    assert few["training.steps"] * 2 <= many["training.steps"] and few["train"] * 2 <= many["train"]


def test_what_a_run_gets_is_its_own():
    one = read("laptop")
    one["training"]["betas"].append(0)
    one["model"]["layers"] = 99
    assert read("laptop") == study.settings("laptop") != one


@pytest.mark.parametrize("profile", ["huge", "", "Laptop", "../study/profiles/tiny", 3, None])
def test_an_unknown_profile_names_the_profiles(profile):
    refused(profile, {}, f"no profile {profile!r}", *PROFILES)


@pytest.mark.parametrize("text", ["steps = ", "[training\nsteps = 3", "beam = 1\nbeam = 2", b"text = '\xff'"])
def test_a_broken_profile(tmp_path, text):
    path = tmp_path / "broken.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for file in (path, tmp_path / "none.toml"):
        with pytest.raises(StudyError, match=file.name) as caught:
            study.read_toml(file)
        assert "\n" not in str(caught.value)


# --- overrides -------------------------------------------------------------------------------------------------------


def test_overrides_change_what_they_name_and_nothing_else():
    before, after = read("laptop"), read("laptop", {"beam": 4, "training.steps": 7, "training.learning_rate": 1})
    changed = {name: value for name, value in dotted(after).items() if dotted(before)[name] != value}
    assert changed == {"beam": 4, "training.steps": 7, "training.learning_rate": 1.0}


def test_a_whole_number_for_a_number_becomes_one():
    found = read("tiny", {"training.clip": 2, "pruning.penalties": [1, 0], "training.betas": [0, 0.5]})
    given = [found["training"]["clip"], *found["pruning"]["penalties"], *found["training"]["betas"]]
    assert given == [2.0, 1.0, 0.0, 0.0, 0.5] and all(type(value) is float for value in given)


@pytest.mark.parametrize("profile", PROFILES)
def test_settings_that_a_profile_leaves_open_can_be_given(profile):
    for place in ("model", "coreference.summarization.model", "coreference.translation.model", "grouping.translation.model"):
        found = dotted(read(profile, {f"{place}.decoder_layers": 2, f"{place}.decoder_heads": 8}))
        assert [found[f"{place}.{name}"] for name in OPTIONAL] == [2, 8]
    assert not set(OPTIONAL) & set(read("laptop", {f"model.{name}": None for name in OPTIONAL})["model"])


def test_parse_overrides():
    assert study.parse_overrides("") == {}
    assert study.parse_overrides(' training.steps=200  beam=4 corpus=natural training.betas=[0.9,0.98] a="b=c" d=') == {
        "training.steps": 200, "beam": 4, "corpus": "natural", "training.betas": [0.9, 0.98], "a": "b=c", "d": "",
    }  # fmt: skip
    with pytest.raises(StudyError, match="NAME=VALUE"):
        study.parse_overrides("training.steps=3 beam")


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("stepz", "training.steps"), ("training.stepz", "training.steps"), ("pruning.stps", "pruning.steps"), ("beams", "beam"),
     ("training", "training."), ("grouping.language.model", "grouping.language.model.width"),
     ("training.steps.more", "training.steps"), ("grouping.summarisation.train", "grouping.summarization.train"),
     ("a.b.c", "schema.py"), ("", "schema.py"), (".", "schema.py")],
)  # fmt: skip
def test_an_unknown_setting_names_the_nearest(name, nearest):
    assert len(refused("tiny", {name: 1}, f"no setting {name!r}", nearest)) < 200, "not a list of all"


@pytest.mark.parametrize(
    ("name", "value"),
    [("beam", "4"), ("beam", 4.5), ("beam", True), ("beam", None), ("beam", {"a": 1}), ("training.clip", "1"),
     ("training.clip", True), ("training.betas", 0.9), ("training.betas", ["a", 0.9]), ("training.steps", 1e3),
     ("model.decoder_heads", "two"), ("model.decoder_heads", True), ("pruning.variants", 1), ("pruning.criteria", [1]),
     ("pruning.penalties", ["a"]), ("coreference.heads", [1.5]), ("grouping.translation.text", 3), ("comparison.l1", 3)],
)  # fmt: skip
def test_values_of_another_type(name, value):
    refused("tiny", {name: value}, repr(name))


@pytest.mark.parametrize(
    ("name", "value"),
    [("training.steps", 0), ("training.evaluate_every", 0), ("training.batch_tokens", -1), ("seeds", 0), ("model.heads", 0),
     ("model.layers", 0), ("grouping.seeds", 0), ("pruning.steps", 0), ("beam", 0), ("grouping.numbers", [0]), ("truth", -1),
     ("model.dropout", 1.5), ("training.label_smoothing", -0.1), ("pruning.cooldown", 2), ("coreference.rates", [1.1]),
     ("training.betas", [0.9]), ("training.betas", [0.9, 0.9, 0.9]), ("training.learning_rate", 0.0),
     ("training.learning_rate", math.nan), ("pruning.start", math.inf), ("comparison.l1.penalty", -1.0),
     ("grouping.alpha", -1)],
)  # fmt: skip
def test_values_out_of_range(name, value):
    refused("tiny", {name: value}, repr(name))


@pytest.mark.parametrize(
    "name",
    ["truth", "grouping.translation.steps", "coreference.summarization.steps", "training.warmup", "training.patience",
     "pruning.all_kinds", "grouping.converged"],
)  # fmt: skip
def test_zero_where_it_means_none(name):
    assert dotted(read("laptop", {name: 0}))[name] == 0


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [({"corpus": "wmt"}, ["corpus 'wmt'", "controlled or natural"]),
     ({"device": "cuda"}, ["device 'cuda'", "cpu or auto"]),
     ({"model.heads": 3}, ["32", "3 heads", "model.width"]),
     ({"model.decoder_heads": 3}, ["3 heads", "model.width"]),
     ({"grouping.language.model.width": 30}, ["30", "grouping.language.model.width"]),
     ({"grouping.summarization.groups": 5}, ["5 groups of 4 heads", "grouping.summarization.groups"]),
     ({"grouping.language.model.decoder_heads": 1}, ["2 groups of 1 heads", "grouping.language.groups"]),
     ({"grouping.numbers": [2, 8]}, ["8 groups of 4 heads", "grouping.numbers"]),
     ({"grouping.first": 0.0}, ["grouping.first"]),
     ({"grouping.first": 1}, ["grouping.first"]),
     ({"grouping.language.steps": 1}, ["grouping.language.steps"]),
     ({"grouping.parts": ["tables"]}, ["'tables'", "peers"]),
     ({"coreference.parts": ["masks", "tables"]}, ["'tables'", "selection"]),
     ({"coreference.mixed": []}, ["mixed"]),
     ({"coreference.mixed": ["top"]}, ["'top'", "upper"]),
     ({"coreference.summarization.piece": 1}, ["piece"]),
     ({"coreference.heads": [4]}, ["3 heads", "coreference.heads"]),
     ({"pruning.criteria": ["luck"]}, ["'luck'", "relevance"]),
     ({"pruning.penalties": [-1]}, ["lambda", "-1"]),
     ({"grouping.gates.penalty": math.nan}, ["lambda"]),
     ({"train": 0}, ["train"])],
)  # fmt: skip
def test_settings_that_contradict_each_other(overrides, parts):
    refused("tiny", overrides, *parts)


def test_what_is_left_out_is_not_checked():
    off = {f"grouping.{task}.steps": 0 for task in ("translation", "summarization", "language")}
    assert read("tiny", off | {"grouping.first": 0.0, "grouping.language.groups": 9})["grouping"]["first"] == 0.0
    assert read("tiny", {"grouping.parts": [], "grouping.numbers": [9]})["grouping"]["numbers"] == [9]
    assert read("tiny", {"coreference.summarization.denoising": 0, "coreference.summarization.piece": 0})
    assert read("natural")["test"] == 0
