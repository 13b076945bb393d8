"""The generated text stays as it is, byte for byte: whoever means to change it changes a digest here and a version there."""

import hashlib
import json
from itertools import islice
from pathlib import Path

import pytest

from helpers import world
from helpers.world import conversations, tales

DIGESTS = Path(__file__).with_name("world_text.json")


def corpora() -> dict:
    """Streams of generated text by name, with how many of each are held."""
    streams = {
        f"{register} {language} {seed}": (world.pairs(register, language, seed), 400)
        for register in world.LENGTHS
        for language in world.LANGUAGES
        for seed in (1, 2)
    }
    made = {"reports": tales.reports, "stories": tales.stories, "conversations": conversations.conversations}
    return streams | {name: (make(1), 60) for name, make in made.items()}


def digest(stream, count: int) -> str:
    """SHA-256 of all that the items of a stream hold: words, heads and relations, or clusters and events."""
    return hashlib.sha256("\n".join(map(repr, islice(stream, count))).encode()).hexdigest()


@pytest.mark.parametrize("name", corpora())
def test_text_is_as_it_was(name):
    assert digest(*corpora()[name]) == json.loads(DIGESTS.read_text())[name]
