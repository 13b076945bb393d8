"""Settings: the schema, the profiles, overrides, and what is refused."""

from __future__ import annotations

import json
import math

import pytest

from helpers import study
from helpers.study import StudyError, schema
from helpers.study import settings as read
from helpers.study.configuration import dotted

PROFILES = study.profiles()
OPTIONAL = ("decoder_layers", "decoder_heads", "model.start")


def refused(profile, overrides, *parts):
    """The sentence in which overrides are refused, with these parts."""
    with pytest.raises(StudyError) as caught:
        read(profile, overrides)
    said = str(caught.value)
    assert "\n" not in said and said.endswith(".") and all(part in said for part in parts), said
    return said


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_gives_every_setting_as_plain_values(profile):
    found = read(profile)
    assert json.loads(json.dumps(found)) == found and None not in dotted(found).values()
    required = {name for name in schema.names() if not name.endswith(OPTIONAL)}
    assert {name for name in dotted(found) if not name.endswith(OPTIONAL)} == required


@pytest.mark.parametrize("profile", ["huge", "../study/profiles/tiny"])
def test_an_unknown_profile_names_the_profiles(profile):
    refused(profile, {}, f"no profile {profile!r}", *PROFILES)


def test_overrides_change_what_they_name_and_nothing_else():
    given = {"beam": 4, "training.steps": 7, "training.learning_rate": 1, "relevance": 9, "model.decoder_layers": 3}
    before, after = dotted(read("laptop")), dotted(found := read("laptop", given))
    assert {name: value for name, value in after.items() if before.get(name) != value} == given
    assert type(found["training"]["learning_rate"]) is float  # where a number is wanted
    found["training"]["betas"].append(0)
    assert dotted(read("laptop")) == before


def test_parse_overrides():
    assert study.parse_overrides("") == {}
    assert study.parse_overrides(' training.steps=200  beam=4 corpus=natural training.betas=[0.9,0.98] a="b=c" d=') == {
        "training.steps": 200, "beam": 4, "corpus": "natural", "training.betas": [0.9, 0.98], "a": "b=c", "d": "",
    }  # fmt: skip
    with pytest.raises(StudyError, match="NAME=VALUE"):
        study.parse_overrides("training.steps=3 beam")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("stepz", "training.steps"), ("pruning.stps", "pruning.steps"), ("training", "training."),
     ("training.steps.more", "training.steps"), ("", "schema.py")],
)  # fmt: skip
def test_an_unknown_setting_names_the_nearest(name, nearest):
    assert len(refused("tiny", {name: 1}, f"no setting {name!r}", nearest)) < 200, "not a list of all"


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [*(({name: value}, [name]) for name, value in (
        ("beam", "4"), ("beam", 4.5), ("beam", None), ("training.betas", ["a", 0.9]), ("training.betas", [0.9]),
        ("pruning.variants", 1), ("training.steps", 0), ("model.dropout", 1.5), ("training.learning_rate", math.nan))),
     ({"corpus": "wmt"}, ["'corpus'", "'wmt'", "'natural'"]),
     ({"model.heads": 3}, ["32", "3 heads", "model.width"]), ({"model.decoder_heads": 3}, ["3 heads", "model.width"]),
     ({"grouping.language.model.width": 30}, ["30", "grouping.language.model.width"]),
     ({"grouping.language.model.decoder_heads": 1}, ["2 groups of 1 heads", "grouping.language.groups"]),
     ({"grouping.numbers": [2, 8]}, ["8 groups of 4 heads", "grouping.numbers"]), ({"grouping.first": 0.0}, ["grouping.first"]),
     ({"grouping.first": 1}, ["grouping.first"]), ({"grouping.language.steps": 1}, ["grouping.language.steps"]),
     ({"coreference.summarization.piece": 1}, ["piece"]), ({"pruning.penalties": [-1]}, ["pruning.penalties", "-1"]),
     ({"comparison.again": ["ru-news+smal"]}, ["sibling 'smal'", "comparison.again"]),
     ({"siblings": ["small"]}, ["siblings", "'small'"]), ({"siblings": [{}]}, ["siblings.0.name"]),
     ({"siblings": [{"name": "a", "changes": "beam=2", "of": 1}]}, ["siblings.0.of"])],
)  # fmt: skip
def test_settings_that_make_no_sense_or_contradict_each_other(overrides, parts):
    refused("tiny", overrides, *parts)
