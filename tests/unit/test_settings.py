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


@pytest.mark.parametrize("profile", ["huge", "../study/profiles/tiny", 3])
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
    given = {"beam": 4, "training.steps": 7, "training.learning_rate": 1, "truth": 0, "model.decoder_layers": 2}
    before, after = dotted(read("laptop")), dotted(found := read("laptop", given))
    assert {name: value for name, value in after.items() if before.get(name) != value} == given
    assert type(found["training"]["learning_rate"]) is float  # where a number is wanted
    found["training"]["betas"].append(0)
    assert dotted(read("laptop")) == before
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
    [("stepz", "training.steps"), ("pruning.stps", "pruning.steps"), ("training", "training."),
     ("training.steps.more", "training.steps"), ("grouping.summarisation.train", "grouping.summarization.train"),
     ("a.b.c", "schema.py"), ("", "schema.py")],
)  # fmt: skip
def test_an_unknown_setting_names_the_nearest(name, nearest):
    assert len(refused("tiny", {name: 1}, f"no setting {name!r}", nearest)) < 200, "not a list of all"


@pytest.mark.parametrize(
    ("name", "value"),
    [("beam", "4"), ("beam", 4.5), ("beam", True), ("beam", None), ("training.betas", ["a", 0.9]), ("training.steps", 1e3),
     ("model.decoder_heads", "two"), ("pruning.variants", 1), ("pruning.criteria", [1]), ("coreference.heads", [1.5]),
     ("comparison.l1", 3), ("training.steps", 0), ("training.batch_tokens", -1), ("model.heads", 0), ("grouping.numbers", [0]),
     ("truth", -1), ("model.dropout", 1.5), ("coreference.rates", [1.1]), ("training.betas", [0.9]),
     ("training.betas", [0.9, 0.9, 0.9]), ("training.learning_rate", 0.0), ("training.learning_rate", math.nan),
     ("pruning.start", math.inf), ("grouping.alpha", -1)],
)  # fmt: skip
def test_values_of_another_type_or_out_of_range(name, value):
    refused("tiny", {name: value}, repr(name))


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
