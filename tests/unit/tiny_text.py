"""Small text as it lies in a local folder: chats with summaries, sentence pairs, and what errors say."""

import io
import itertools
import json
import lzma
import re
import tarfile

import pytest

from helpers.study import StudyError

NOUNS = "teacher sailor baker girl doctor farmer pilot nurse king clerk".split()
THINGS = "boat house letter garden".split()
SPLITS = ("train", "dev", "test")


def refused(words, call, *arguments, **more):
    """Whether a call is refused in one line with these words."""
    with pytest.raises(StudyError, match=re.escape(str(words))) as caught:
        call(*arguments, **more)
    assert "\n" not in str(caught.value)


def chats(word, count, form="Ann: Where is the {}?\r\nBob: I saw it in the {} {}."):
    """Distinct dialogues with summaries, told apart from other splits' by a word."""
    made = itertools.islice(itertools.product(NOUNS, THINGS), count)
    return [{"id": "1", "dialogue": form.format(n, word, t), "summary": f"The {n} \n is away."} for n, t in made]


def write(path, text):
    """A file of text or bytes, packed where its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(lzma.compress(raw) if path.suffix == ".xz" else raw)


def write_archive(path, files):
    """An archive of texts or bytes by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:xz") as archive:
        for name, text in files.items():
            raw, member = text if isinstance(text, bytes) else text.encode(), tarfile.TarInfo(name)
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))


def write_rows(path, rows):
    write(path, "".join(json.dumps(row) + "\n" for row in rows))


def write_chats(folder):
    """SAMSum as it is fetched, a set of our own as plain files, of 30, 8 and 12 dialogues."""
    for split, word, count in (("train", "red", 30), ("val", "blue", 8), ("test", "white", 12)):
        write_rows(folder / f"samsum/{split}.jsonl.xz", chats(word, count))
        rows = chats(word, count, "#Person1#: Where is the {}?\n#Person2#: In the {} {}, #Person1#.")
        write_rows(folder / f"calls/{'dev' if split == 'val' else split}.jsonl", rows)
