"""GUM (Zeldes 2017): real conversations with gold coreference."""

from __future__ import annotations

import lzma
import re
import tarfile
from collections.abc import Iterable
from pathlib import Path

from helpers.corpora.parsing import Parse, read_conllu
from helpers.corpora.turns import joined
from helpers.records import Cluster, Dialogue, Span
from helpers.study import StudyError

_GENRES = re.compile(r"(?:.*/)?GUM_(?:conversation|interview)_\w+\.conllu")
_TREES = re.compile(r"(?:.*/)?dep/GUM_\w+\.conllu")
_ENTITY = re.compile(r"\([^()]+\)?|[^()]+\)")


def gum(root: str | Path) -> list[Dialogue]:
    """Conversations and interviews of GUM (Zeldes 2017) with their gold coreference, by name.

    A turn is a run of sentences of one speaker ("?" where none is named), its words the syntactic words of the treebank; the
    target is the first summary. Clusters are those of what is said, labels being no mentions, and hold nested mentions as in
    GUM: for scoring set them beside `spoken`. Mentions in several parts are left out, and the second of two mentions of the
    same words.

    Parameters
    ----------
    root : path
        A folder that holds gum/gum.tar.xz: HEADS_DATA_ROOT.

    Raises
    ------
    StudyError
        If it is not there or damaged, or a file is no CoNLL-U with entities.
    """
    path = Path(root) / "gum" / "gum.tar.xz"
    texts = _archived(path)
    if not texts:
        raise StudyError(f"There is no conversation or interview of GUM in {path}: fetch it again, see data/README.md.")
    return [_document(Path(name).stem, text) for name, text in sorted(texts.items())]


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
    texts = _archived(Path(root) / "gum" / "gum.tar.xz", _TREES)
    return [parse for name, text in texts.items() for parse in read_conllu(text.splitlines(), name=name)]


def _archived(path: Path, names: re.Pattern[str] = _GENRES) -> dict[str, str]:
    try:
        with tarfile.open(path) as archive:
            wanted = (member for member in archive if names.fullmatch(member.name))
            return {Path(member.name).name: archive.extractfile(member).read().decode("utf-8") for member in wanted}
    except (tarfile.TarError, lzma.LZMAError, EOFError, UnicodeDecodeError):
        raise StudyError(f"The archive {path} is damaged or cut off: fetch it again.") from None
    except OSError as error:
        raise StudyError(f"The archive {path} cannot be read: {error.strerror}; see data/README.md.") from None


def _document(name: str, text: str) -> Dialogue:
    """A document of GUM as a dialogue."""
    turns: list[tuple[list[str], list[str], list[str]]] = []  # name, words, entities at each word
    summary, speaker = "", "?"
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# meta::summary1 = "):
            summary = re.sub(r"^\([^()]*\) *", "", line.partition(" = ")[2])
        elif line.startswith("# speaker = "):
            speaker = line.partition(" = ")[2].strip() or "?"
        elif not line.strip():
            speaker = "?"
        elif not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) != 10:
                raise StudyError(f"Line {number} of {name} has {len(cells)} columns, not the 10 of CoNLL-U.")
            if not cells[0].isdigit():
                continue
            if not turns or turns[-1][0] != [speaker]:
                turns.append(([speaker], [], []))
            entity = re.search(r"(?:^|\|)Entity=([^|]*)", cells[9])
            turns[-1][1].append(cells[1])
            turns[-1][2].append(entity[1] if entity else "")
    if not turns:
        raise StudyError(f"There is no word in {name}: it should be CoNLL-U.")
    dialogue = joined(((label, words) for label, words, _ in turns), summary, name)
    spoken_words = [word for _, speech, stop in dialogue.turns for word in range(speech, stop)]
    marks = [mark for *_, marks in turns for mark in marks]
    dialogue.clusters = _entities(zip(spoken_words, marks, strict=True), name)
    return dialogue


def _entities(marked: Iterable[tuple[int, str]], name: str) -> tuple[Cluster, ...]:
    """Clusters from the brackets at each word, "(1-person-...", "1)" or "(1-person-...)"."""
    opened: dict[str, list[int]] = {}
    clusters: dict[str, list[Span]] = {}
    seen: set[Span] = set()
    for word, brackets in marked:
        for bracket in _ENTITY.findall(brackets):
            key = bracket.strip("()").partition("-")[0]
            if "[" in key:
                continue
            if bracket[0] == "(":
                opened.setdefault(key, []).append(word)
            if bracket[-1] == ")":
                if not opened.get(key):
                    raise StudyError(f"The entity {key} in {name} ends without a beginning: the file is damaged.")
                span = opened[key].pop(), word + 1
                if span not in seen:
                    seen.add(span)
                    clusters.setdefault(key, []).append(span)
    left = next((key for key, starts in opened.items() if starts), None)
    if left is not None or not clusters:
        raise StudyError(f"The file {name} has no entities, or ends inside the entity {left}: it is damaged.")
    return tuple(sorted(tuple(sorted(cluster)) for cluster in clusters.values() if len(cluster) > 1))
