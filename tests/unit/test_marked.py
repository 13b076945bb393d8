"""Clusters of one's own dialogues from files."""

import json

import pytest

from helpers.corpora import resolvers, turns
from tests.unit.tiny_text import refused

TEXTS = (
    "Ann: I saw Bob's son.\nBob: He's\u2028ill",
    "Eve: nobody came\nAnn: so what",
    "Tom: My dog bit the vet.\nEve: It would!",
)
DIALOGUES = [turns.from_text(text, "", "mine") for text in TEXTS]
WORDS = ["I saw Bob 's son . He 's ill", "nobody came so what", "My dog bit the vet . It did !"]  # names are left out
SPANS = [[[(2, 5), (6, 7)]], [], [[(0, 2), (6, 7)]]]
MENTIONS = (["Bob's son", "He"], [], ["My dog", "It"])
SAID = [{"Bob 's son", "He"}, set(), {"My dog", "It"}]


def places(text, mentions):
    return [[text.index(mention), text.index(mention) + len(mention)] for mention in mentions]


FILES = {
    "text": [{"text": text, "clusters": [places(text, one)] if one else []} for text, one in zip(TEXTS, MENTIONS, strict=True)],
    "words": [{"words": words.split(), "clusters": one} for words, one in zip(WORDS, SPANS, strict=True)],
}


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("kept", [(0, 1, 2), (0, 2)], ids=["all", "without one"])
def test_clusters_of_a_file_are_those_of_the_dialogues(tmp_path, form, kept):
    path = tmp_path / "a.jsonl"
    path.write_bytes("\r\n".join(json.dumps(row, ensure_ascii=False) for row in FILES[form]).encode("utf-8-sig") + b"\n")
    dialogues = [DIALOGUES[place] for place in kept]
    clusters = resolvers.resolver(f"file:{path}")(dialogues)
    said = [
        {" ".join(dialogue.words[start:stop]) for one in found for start, stop in one}
        for dialogue, found in zip(dialogues, clusters, strict=True)
    ]
    assert said == [SAID[place] for place in kept]
    assert [len(found) for found in clusters] == [len(SPANS[place]) for place in kept]


def test_files_that_do_not_fit_are_refused(tmp_path):
    path, resolve = tmp_path / "a.jsonl", resolvers.resolver(f"file:{tmp_path}/a.jsonl")
    refused("a.jsonl cannot be read", resolve, DIALOGUES)
    path.write_text(json.dumps(FILES["text"][1]))
    refused(f"No document of {path} fits dialogue 1 of mine", resolve, DIALOGUES)
    path.write_text('{"text": "I saw"}')
    refused(f"Line 1 of {path} has no text, words or clusters", resolve, DIALOGUES)
