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
from helpers.study.schema import Settings, names
from helpers.study.store import read_toml, wrong

FOLDER = Path(__file__).with_name("profiles")


def profiles() -> list[str]:
    """Names of the profiles."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def settings(profile: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A profile's settings with `overrides`, whose names may be dotted ("training.steps"), checked.

    All settings of the schema, nested; those that may be left open are not in it unless they are set.
    """
    if profile not in profiles():
        raise StudyError(f"There is no profile {profile!r}: choose one of {', '.join(profiles())}.")
    return changed(Settings().model_dump(exclude_none=True), _of_profile(profile) | dict(overrides or {}))


def _of_profile(profile: str) -> dict[str, Any]:
    """What a profile sets, with what its base sets, by dotted names."""
    table = read_toml(FOLDER / f"{profile}.toml")
    base = table.pop("base", None)
    return (_of_profile(base) if base else {}) | dotted(table)


def changed(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with `overrides`, whose names may be dotted; None leaves a setting open. `settings` stay as they are."""
    chosen, known = copy.deepcopy(dict(settings)), list(names())
    for name, value in overrides.items():
        if name not in known:
            raise StudyError(f"There is no setting {name!r}: {_near(name, known)}.")
        *path, last = name.split(".")
        place = chosen
        for part in path:
            place = place[part]
        place[last] = value
    try:
        return Settings.model_validate(chosen).model_dump(exclude_none=True)
    except ValidationError as error:
        raise wrong(error, "settings") from None


def dotted(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= dotted(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _near(name: str, known: list[str]) -> str:
    """The settings within a block of that name, or those whose names are most like it, in full or in their last part."""
    lasts = difflib.get_close_matches(name.rpartition(".")[2], {one.rpartition(".")[2] for one in known}, 1)
    near = [one for one in known if one.startswith(f"{name}.")] or difflib.get_close_matches(name, known)
    near = near or [one for one in known if one.rpartition(".")[2] in lasts]
    return f"the nearest are {', '.join(near[:3])}" if near else "helpers/study/schema.py says which there are"


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
