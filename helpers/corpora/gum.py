"""GUM (Zeldes 2017): English of many genres with gold trees."""

from __future__ import annotations

import lzma
import re
import tarfile
from pathlib import Path

from helpers.corpora.parsing import Parse, read_conllu
from helpers.study import StudyError

_TREES = re.compile(r"(?:.*/)?dep/GUM_\w+\.conllu")


def trees(root: str | Path) -> list[Parse]:
    """Gold trees of all documents of GUM, without those of GENTLE (`helpers.corpora.parsing.read_conllu`).

    Parameters
    ----------
    root : path
        A folder that holds gum/gum.tar.xz: HEADS_DATA_ROOT.

    Raises
    ------
    StudyError
        If it is not there or damaged, or a file is no CoNLL-U.
    """
    path = Path(root) / "gum" / "gum.tar.xz"
    try:
        with tarfile.open(path) as archive:
            wanted = (member for member in archive if _TREES.fullmatch(member.name))
            texts = {Path(member.name).name: archive.extractfile(member).read().decode("utf-8") for member in wanted}
    except (tarfile.TarError, lzma.LZMAError, EOFError, UnicodeDecodeError):
        raise StudyError(f"The archive {path} is damaged or cut off: fetch it again.") from None
    except OSError as error:
        raise StudyError(f"The archive {path} cannot be read: {error.strerror}; see data/README.md.") from None
    return [parse for name, text in texts.items() for parse in read_conllu(text.splitlines(), name)]
