"""Profiles, and what a run changes in them.

A profile (profiles/NAME.toml) holds only what differs from the schema's defaults (`helpers.study.schema`), or from the profile
that it names as its `base`. It only sets settings; every one can be overridden by its dotted name, such as "training.steps".
All are checked together, once.
"""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from helpers.errors import StudyError
from helpers.study.schema import Settings, fields
from helpers.study.store import read_toml

FOLDER = Path(__file__).with_name("profiles")
_WANTED = {  # by pydantic's name of what is wrong
    "int_type": "a whole number", "float_type": "a number", "bool_type": "true or false", "string_type": "text",
    "list_type": "a list", "finite_number": "a finite number", "greater_than_equal": "{ge:g} or more",
    "greater_than": "above {gt:g}", "less_than_equal": "{le:g} or less", "too_short": "a list of {min_length} or more",
    "too_long": "a list of {max_length} or fewer", "model_type": "a table of settings",
}  # fmt: skip


def profiles() -> list[str]:
    """Names of the profiles."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def settings(profile: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A profile's settings with `overrides`, whose names may be dotted ("training.steps").

    Returns
    -------
    dict
        All settings of the schema, nested; those that may be left open are not in it unless they are set.

    Raises
    ------
    StudyError
        For an unknown profile or one that cannot be read, an unknown name, a value of the wrong type or out of its range, or
        settings that contradict each other.
    """
    if profile not in profiles():
        raise StudyError(f"There is no profile {profile!r}: choose one of {', '.join(profiles())}.")
    return changed(Settings().model_dump(exclude_none=True), _told(profile) | dict(overrides or {}))


def _told(profile: str) -> dict[str, Any]:
    """What a profile sets, with what its base sets, by dotted names."""
    told = read_toml(FOLDER / f"{profile}.toml")
    base = told.pop("base", None)
    return (_told(base) if base else {}) | dotted(told)


def changed(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with `overrides`, whose names may be dotted; None leaves a setting open. `settings` stay as they are.

    Raises
    ------
    StudyError
        As `settings`.
    """
    chosen, names = copy.deepcopy(dict(settings)), [name for name, _ in fields()]
    for name, value in overrides.items():
        if name not in names:
            raise StudyError(f"There is no setting {name!r}: {_near(name, names)}.")
        *path, last = name.split(".")
        place = chosen
        for part in path:
            place = place[part]
        place[last] = value
    try:
        return Settings.model_validate(chosen).model_dump(exclude_none=True)
    except ValidationError as error:
        raise StudyError(_sentence(error.errors()[0])) from None


def dotted(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= dotted(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def _near(name: str, names: list[str]) -> str:
    """The settings within a block of that name, or those whose names are most like it, in whole and in their last part."""

    def likeness(known: str) -> float:
        pairs = ((name, known), (name.rpartition(".")[2], known.rpartition(".")[2]))
        return sum(difflib.SequenceMatcher(None, *pair).ratio() for pair in pairs) + 2 * known.startswith(f"{name}.")

    near = [known for known in sorted(names, key=likeness, reverse=True)[:3] if likeness(known) > 1]
    return f"the nearest are {', '.join(near)}" if near else "helpers/study/schema.py says which there are"


def _sentence(error: Mapping[str, Any]) -> str:
    """What is wrong with a value, and of which setting."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    name = ".".join(part for part in error["loc"] if isinstance(part, str))
    if error["type"] == "missing":
        return f"An item of the settings lacks {name!r}: give it, as the profiles in helpers/study/profiles do."
    if error["type"] == "extra_forbidden":
        return f"There is no setting {name!r} of a list's items: helpers/study/schema.py says which there are."
    if error["type"] == "literal_error":
        choices = error["ctx"]["expected"].replace("'", "")
        return f"There is no {name} {error['input']!r}: choose {choices}."
    whose = "The setting" if isinstance(error["loc"][-1], str) else "Every item of the setting"
    wanted = _WANTED[error["type"]].format(**error.get("ctx", {}))
    return f"{whose} {name!r} must be {wanted}, not {error['input']!r}."


def parse_overrides(text: str) -> dict[str, Any]:
    """Read "training.steps=200 beam=4" as overrides; values are JSON, and anything else is a string."""
    overrides = {}
    for item in text.split():
        name, equals, value = item.partition("=")
        if not equals:
            raise StudyError(f"Cannot read the setting {item!r}: write NAME=VALUE.")
        try:
            overrides[name] = json.loads(value)
        except json.JSONDecodeError:
            overrides[name] = value
    return overrides
