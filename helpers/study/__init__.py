"""What a run is: profiles, settings, the store of made things, provenance, progress.

Nothing here knows about heads, models or corpora; every other module may import this one and it imports none of ours.
"""

# ruff: noqa: F401
from helpers.study.errors import StudyError, one_sentence, progress
from helpers.study.provenance import LIBRARIES, ROOT, hardware, portable, provenance, threads
from helpers.study.run import PARAMETERS, Run, begin, save_figure
from helpers.study.settings import OPTIONAL, PROFILES, parse_overrides, settings
from helpers.study.store import (
    code_version,
    data,
    data_root,
    digest,
    key,
    made,
    make,
    place,
    read_spec,
    run_file,
    runs,
    whole,
    write_bytes,
    write_json,
    write_text,
)  # fmt: skip
