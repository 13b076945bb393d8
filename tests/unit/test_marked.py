"""Clusters of one's own dialogues from files in the common formats."""

import json

import pytest

from helpers.corpora import resolvers, turns
from tests.unit.tiny_text import refused

TEXTS = ("Ann: I saw Bob's son.\nBob: He's ill.", "Eve: nobody came\nAnn: so what", "Tom: My dog bit the vet.\nEve: It would!")
DIALOGUES = [turns.from_text(text, "", "mine") for text in TEXTS]
WORDS = ["I saw Bob 's son . He 's ill .", "nobody came so what", "My dog bit the vet . It would !"]  # names are left out
SPANS = [[[(2, 5), (6, 7)]], [], [[(0, 2), (6, 7)]]]
SAID = [{"Bob 's son", "He"}, set(), {"My dog", "It"}]


def places(text, *mentions):
    return [[text.index(mention), text.index(mention) + len(mention)] for mention in mentions]


def columns(form):
    """The documents as CoNLL-2012 or CoNLL-U, with a mention in two parts, which is left out."""
    lines = []
    for name, (words, clusters) in enumerate(zip(WORDS, SPANS, strict=True)):
        lines.append(f"#begin document ({name}); part 000" if form == "conll" else f"# newdoc id = {name}")
        for place, word in enumerate(words.split()):
            begin = ["(7-person-giv"] if form == "conllu" else ["(7"]
            marks = [mark for one in clusters for start, stop in one
                     for mark in (begin if place == start else []) + (["7)"] if place == stop - 1 else [])]  # fmt: skip
            if form == "conll":
                lines.append(f"{name} 0 {place} {word} X {'|'.join(marks) or '-'}")
            else:
                entity = "".join(marks) + ("(8[1/2]-x)" if place == 0 else "")
                lines.append("\t".join([str(place + 1), word, *["_"] * 7, f"A=b|Entity={entity}" if entity else "_"]))
        lines.append("#end document" if form == "conll" else "")
    return "\n".join(lines)


FILES = {
    "text.jsonl": "\n".join(
        json.dumps({"text": text, "clusters": [places(text, *one)] if one else []})
        for text, one in zip(TEXTS, (("Bob's son", "He"), (), ("My dog", "It")), strict=True)
    ),
    "words.jsonl": "\ufeff"
    + "\r\n".join(json.dumps({"words": words.split(), "clusters": one}) for words, one in zip(WORDS, SPANS, strict=True)),
    "made.conll": columns("conll"),
    "made.conllu": columns("conllu"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kept", [(0, 1, 2), (0, 2)], ids=["all", "without one"])
def test_clusters_of_a_file_are_those_of_the_dialogues(tmp_path, name, kept):
    path = tmp_path / name
    path.write_bytes(FILES[name].encode())
    dialogues = [DIALOGUES[place] for place in kept]
    clusters = resolvers.resolver(f"file:{path}")(dialogues)
    said = [
        {" ".join(dialogue.words[start:stop]) for one in found for start, stop in one}
        for dialogue, found in zip(dialogues, clusters, strict=True)
    ]
    assert said == [SAID[place] for place in kept]
    assert [len(found) for found in clusters] == [len(SPANS[place]) for place in kept]


@pytest.mark.parametrize(("name", "text", "words"), [
    ("a.jsonl", FILES["text.jsonl"].splitlines()[1], "No document of .* fits dialogue 1 of mine"),
    ("a.jsonl", '{"text": "I saw"}', "Line 1 of .* has no text, words or clusters"),
    ("a.conll", "#begin\na b\n", "Line 2 of .* has 2 columns"),
    ("a.conll", FILES["made.conll"].rpartition("#end")[0], "no line `#end document`"),
    ("a.conll", "#begin\na 0 0 I X (1\n#end", "mention 1 does not end"),
    ("a.conllu", "1\tI\t_\t_\t_\t_\t_\t_\t_\tEntity=1)\n", "mention 1 ends without a beginning"),
    ("a.conllu", "1 I\n", "Line 1 of .* has 1 columns, not the 10"),
    ("a.txt", "", "end in .jsonl, .conll, .conllu"),
])  # fmt: skip
def test_other_files_are_refused(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(resolvers.StudyError, match=words):
        resolvers.resolver(f"file:{path}")(DIALOGUES)


def test_a_file_that_is_not_there_is_said(tmp_path):
    refused("none.jsonl cannot be read", resolvers.resolver(f"file:{tmp_path}/none.jsonl"), DIALOGUES)
