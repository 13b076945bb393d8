"""Natural dialogues from their text: turns, speakers, words."""

from __future__ import annotations

import re

from helpers.records import TURN, Dialogue

_CLITIC = r"['’](?:s|m|d|re|ve|ll)(?![^\W_])"
WORD = re.compile(rf"(?<=[^\W_]){_CLITIC}|[^\W_]+(?:(?!{_CLITIC})['’-][^\W_]+)*|\S", re.IGNORECASE)
_LABEL = re.compile(r"\s*([^:]{1,40}?)\s*:(?=\s|$)")


def split(text: str) -> list[str]:
    """Words and marks of natural text.

    A word is a run of letters and digits, with the hyphens and apostrophes inside ("don't", "stand-up"); 's, 'm, 'd, 're, 've
    and 'll are words of their own. Every other mark stands alone, so that emoticons fall apart.
    """
    return WORD.findall(text)


def from_text(dialogue: str, summary: str, origin: str) -> Dialogue:
    """A natural dialogue, case kept, without gold clusters; one without turns if there is no word in it.

    A turn is a line "Name: speech". A line without a name continues the turn before; the first one's speaker is "?".
    """
    turns: list[tuple[list[str], list[str]]] = []  # words of the speaker's name, and of the speech
    for line in dialogue.splitlines():
        label = _LABEL.match(line)
        name = split(label[1].strip("# ")) if label else []
        if name:
            turns.append((name, split(line[label.end() :])))
        elif turns:
            turns[-1][1].extend(split(line))
        elif line.strip():
            turns.append((["?"], split(line)))
    words, places = [], []
    for name, speech in turns:
        start = len(words)
        words += [TURN, *name, ":", *speech]
        places.append((start, start + len(name) + 2, len(words)))
    return Dialogue(" ".join(words), summary, tuple(words), tuple(places), origin=origin)
