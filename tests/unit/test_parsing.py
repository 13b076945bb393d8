"""Mapping, reading and scoring of parses on hand-written trees, and the parsers on a few sentences."""

import importlib.util

import pytest

from helpers import corpora
from helpers.corpora import Pair, parsing
from tests.unit.tiny_text import refused, write


def rows(*words):
    """CoNLL-U lines of "form lemma TAG head relation" words; multiword tokens and empty nodes are given as whole lines."""
    lines, number = [], 0
    for word in words:
        if "\t" in word:
            lines.append(word)
            continue
        form, lemma, tag, head, relation = word.split()
        number += 1
        lines.append("\t".join((str(number), form, lemma, tag, "_", "_", head, relation, f"{head}:{relation}", "_")))
    return lines


def tree(*words):
    (parse,) = parsing.read_conllu([*rows(*words), ""])
    return parse


def arcs(parse):
    """{word: (head or None, relation)}; fine for trees whose words differ."""
    heads = [parse.words[head] if head >= 0 else None for head in parse.heads]
    return dict(zip(parse.words, zip(heads, parse.relations, strict=True), strict=True))


@pytest.mark.parametrize("word", ["n't not", "n't _", "never never", "often often"])
def test_negation_is_no_adverb(word):
    parse = tree("I I PRON 4 nsubj", "do do AUX 4 aux", f"{word} PART 4 advmod", "sing sing VERB 0 root")
    assert parse.relations[2] == ("advmod" if word.startswith("often") else "neg")


def test_copular_clause_with_a_noun():
    words = (
        "She she PRON 6 nsubj", "is be AUX 6 cop", "n't not PART 6 advmod", "a a DET 6 det", "good good ADJ 6 amod",
        "doctor doctor NOUN 0 root", "now now ADV 6 advmod", ". . PUNCT 6 punct",
    )  # fmt: skip
    parse = tree(*words)
    assert arcs(parse) == {
        "She": ("is", "nsubj"), "is": (None, "root"), "n't": ("is", "neg"), "a": ("doctor", "det"),
        "good": ("doctor", "amod"), "doctor": ("is", "attr"), "now": ("is", "advmod"), ".": ("is", "punct"),
    }  # fmt: skip


def test_a_copular_clause_in_a_complement():
    parse = tree(
        "I I PRON 2 nsubj", "know know VERB 0 root", "that that SCONJ 8 mark", "he he PRON 8 nsubj", "is be AUX 8 cop",
        "probably probably ADV 8 advmod", "very very ADV 8 advmod", "tall tall ADJ 2 ccomp",
    )  # fmt: skip
    assert arcs(parse) == {
        "I": ("know", "nsubj"), "know": (None, "root"), "that": ("is", "mark"), "he": ("is", "nsubj"),
        "is": ("know", "ccomp"), "probably": ("is", "advmod"), "very": ("tall", "advmod"), "tall": ("is", "acomp"),
    }  # fmt: skip


def test_clearnlp_existentials_have_a_subject():
    words = ["There", "'s", "a", "doctor", "who", "is", "tall"]
    parse = parsing.from_clearnlp(words, [1, -1, 3, 1, 5, 3, 5], ["expl", "ROOT", "det", "attr", "nsubj", "relcl", "acomp"])
    assert parse.relations == ("expl", "root", "det", "nsubj", "nsubj", "relcl", "acomp")


CAN_NOT = rows(
    "I I PRON 4 nsubj", "2-3\tcannot\t_\t_\t_\t_\t_\t_\t_\t_", "can can AUX 4 aux", "not not PART 4 advmod",
    "sing sing VERB 0 root", "4.1\tsing\tsing\tVERB\t_\t_\t_\t_\t0:root\t_", "and and CCONJ 6 cc", "you you PRON 4 conj",
)  # fmt: skip


def test_multiword_tokens_and_empty_nodes_are_passed_over(tmp_path):
    text = "\n".join(["# newdoc id = 1", "# text = I cannot sing and you", *CAN_NOT, "", *rows("Go go VERB 0 root"), "", ""])
    write(tmp_path / "two.conllu.xz", text)
    first, second = parsing.read_conllu(tmp_path / "two.conllu.xz")
    assert first.words == ("I", "can", "not", "sing", "and", "you") and first.heads == (3, 3, 3, -1, 5, 3)
    assert first.text == "I cannot sing and you" and (len(second.words), second.text) == (1, "")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["1\tGo\tgo\tVERB\t_\t_\t0\troot\t_"], "Line 1 of {} has 9 columns"),
        (["# text = Go", "2\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_"], "Line 2 of {} is no word"),
        (rows("Go go VERB 3 root"), "line 1 of {} has a head 3"),
        (rows("We we PRON 2 nsubj", "go go VERB 1 root"), "line 2 of {} is no tree"),
        (["# nothing"], "no sentence in {}"),
    ],
)
def test_broken_lines(tmp_path, lines, said):
    path = tmp_path / "broken.conllu"
    path.write_text("\n".join(lines) + "\n")
    refused(said.format(path), parsing.read_conllu, path)


def test_stored_parses_are_found_by_text(tmp_path):
    stored, more = tmp_path / "stored.conllu", ["# text = Go!", *rows("Go go VERB 0 root", "! ! PUNCT 1 punct")]
    stored.write_text("\n".join(["# text = I  cannot sing and you", *CAN_NOT, "", *more, ""]))
    pairs = [Pair("Go!", "Los!", origin="b"), Pair("I cannot sing and you", "Ich kann nicht singen und du", origin="a")]
    done = parsing.annotate(pairs, parsing.parser(str(stored)))
    assert [pair.words for pair in done] == [("Go", "!"), ("I", "can", "not", "sing", "and", "you")]
    assert done[1].heads == (3, 3, 3, -1, 5, 3) and done[1].relations[:4] == ("nsubj", "aux", "neg", "root")
    assert [(p.source, p.target, p.origin) for p in done] == [(p.source, p.target, p.origin) for p in pairs]
    assert pairs[0].words == ()
    refused("'Stay!'", parsing.annotate, [Pair("Go!", ""), Pair("Stay!", "")], parsing.parser(str(stored)))
    stored.write_text("\n".join(["# text = Go!", *rows("Went go VERB 0 root")]))
    refused("'Went'", parsing.annotate, [Pair("Go!", "")], parsing.parser(str(stored)))


def test_trees_of_a_file_that_has_changed_are_read_anew(tmp_path):
    corpus, stored = {"corpus": "natural", "train": 2}, tmp_path / "stored.conllu"
    stored.write_text("\n".join(["# text = Go!", *rows("Go go VERB 0 root", "! ! PUNCT 1 punct")]))
    (before,) = corpora.parses(corpus, parser=str(stored))
    assert corpora.parses(corpus, parser=str(stored)) == [before]
    stored.write_text("\n".join(["# text = Go!", *rows("Go go NOUN 0 root", "! ! PUNCT 1 punct")]))
    (after,) = corpora.parses(corpus, parser=str(stored))
    (usual,) = corpora.parses(corpus)
    assert before.key != after.key and "file" not in usual.spec


def test_parsers_that_there_are_not(monkeypatch):
    refused("'corenlp'", parsing.parser, "corenlp")
    monkeypatch.setattr(parsing, "SPACY_MODELS", ("en_core_web_xx",))
    refused("en_core_web_xx", parsing.parser, "spacy")


@pytest.fixture(scope="module")
def spacy_parser():
    if not any(importlib.util.find_spec(name) for name in parsing.SPACY_MODELS):
        pytest.skip(f"neither {' nor '.join(parsing.SPACY_MODELS)} is installed: see requirements/spacy.lock")
    return parsing.parser("spacy")


def test_spacy_parses_in_the_studys_vocabulary(spacy_parser):
    texts = ["She  never gave him an old book.", "He is probably a very good doctor.", " ", "It broke. We ran."]
    never, doctor, blank, two = spacy_parser(texts)
    assert arcs(never) == {
        "She": ("gave", "nsubj"), "never": ("gave", "neg"), "gave": (None, "root"), "him": ("gave", "dative"),
        "an": ("book", "det"), "old": ("book", "amod"), "book": ("gave", "dobj"), ".": ("gave", "punct"),
    }  # fmt: skip
    assert arcs(doctor)["He"] == ("is", "nsubj")
    assert blank.words == () and two.heads.count(-1) == 2


def test_spacy_annotates_odd_text(spacy_parser):
    pair = Pair(" Well\u00a0… “it’s\t5:30”\n, isn't it?  ", "")
    (done,) = parsing.annotate([pair], spacy_parser)
    assert "".join(done.words) == "".join(pair.source.split()) and len(done.words) == len(done.heads) == len(done.relations)
    assert all(-1 <= head < len(done.words) for head in done.heads)


def test_stanza_documents_become_parses():
    from stanza.models.common.doc import Document

    def word(number, text, lemma, upos, head, deprel):
        return {"id": number, "text": text, "lemma": lemma, "upos": upos, "head": head, "deprel": deprel}

    sentences = [
        [word(1, "It", "it", "PRON", 3, "nsubj"), word(2, "is", "be", "AUX", 3, "cop"), word(3, "ok", "ok", "ADJ", 0, "root")],
        [word(1, "Go", "go", "VERB", 0, "root"), word(2, "home", "home", "ADV", 1, "advmod")],
    ]  # fmt: skip
    parse = parsing.from_stanza(Document(sentences), "It is ok Go home")
    assert parse.words == ("It", "is", "ok", "Go", "home") and parse.heads == (1, -1, 1, -1, 3)
    assert parse.relations == ("nsubj", "root", "acomp", "root", "advmod")
    assert parsing.from_stanza(Document([])).words == ()
