"""What a run is: profiles, settings, the store of made things, provenance, progress.

Nothing here knows about heads, models or corpora. Every other file may import this one.
"""

# ruff: noqa: F401
from helpers.errors import StudyError, one_sentence, progress
from helpers.gpu import device_name as device
from helpers.gpu import use
from helpers.study.configuration import changed, parse_overrides, profiles, settings
from helpers.study.origin import ROOT, hardware, provenance
from helpers.study.recipe import KINDS, Kind, Need, Place, Recipe, at, kind, make, make_together
from helpers.study.run import OWN, PARAMETERS, Run, begin, compare, save_figure
from helpers.study.store import (
    data,
    data_root,
    digest,
    key,
    read_json,
    read_toml,
    room_for,
    runs,
    say,
    whole,
    write_bytes,
    write_json,
    write_text,
)
