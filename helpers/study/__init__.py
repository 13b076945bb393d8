"""What a run is: profiles, settings, the store of made things, provenance, progress.

Nothing here knows about heads, models or corpora; every other module may import this one and it imports none of ours.
"""

# ruff: noqa: F401
from helpers.study.code import code_version
from helpers.study.configuration import changed, parse_overrides, profiles, settings
from helpers.study.errors import StudyError, one_sentence, progress
from helpers.study.origin import LIBRARIES, ROOT, hardware, portable, provenance, threads
from helpers.study.recipe import KINDS, Kind, Need, Place, Recipe, at, kind, make
from helpers.study.run import OWN, PARAMETERS, Run, begin, compare, save_figure
from helpers.study.store import (
    data,
    data_root,
    device,
    digest,
    key,
    made_on,
    read_json,
    read_spec,
    read_toml,
    room_for,
    runs,
    say,
    use,
    whole,
    write_bytes,
    write_json,
    write_text,
)
