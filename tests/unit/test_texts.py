"""Text for summarization and language modelling, splits of dialogues too, and files of records."""

import itertools
import json
import lzma
from dataclasses import asdict

import pytest

from helpers import corpora
from helpers.corpora import dialogues, texts
from helpers.corpora.sources import normalise
from helpers.records import Dialogue, Event, Pair, Text
from tests.unit.tiny_text import SPLITS, chats, refused, write, write_chats, write_rows

SIZES = {"train": 40, "dev": 8, "test": 8, "vocabulary": 300, "longest": 50}
ALL = {"train": 0, "dev": 0, "test": 0, "vocabulary": 300, "longest": 0}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Two sets of dialogues, laid out as a local folder."""
    folder = tmp_path / "local"
    write_chats(folder)
    monkeypatch.setenv("HEADS_DATA_ROOT", str(folder))
    return folder


def made(name, sizes=ALL, seed=3, module=texts):
    return corpora.prepare(module.spec(sizes, name, seed))


def read(folder, split, within=""):
    """The records of a split, whatever they are."""
    path = corpora.file(folder, split, within)
    if within:
        return corpora.read_dialogues(path)
    return (corpora.read_texts if path.read_text("utf-8").startswith('{"text"') else corpora.read_pairs)(path)


PAIRS = [
    Pair("", ""),
    Pair("the cat sees .", "кошка видит .", ("the", "cat", "sees", "."), (1, 2, -1, 2), ("det", "nsubj", "ROOT", "punct"),
         "controlled-news"),
    Pair('she said "no"\t\\ \u2028 next', "« non »"),
]  # fmt: skip
TEXTS = [Text("Ein Tür\u2028zu.", "a book"), Text("zwölf")]
DIALOGUES = [
    Dialogue(
        "# Zoë : I am\u2028. # Tom : ok", "Zoë is.", ("#", "Zoë", ":", "I", "am", ".", "#", "Tom", ":", "ok"),
        ((0, 3, 6), (6, 9, 10)), (((1, 2), (3, 4)),), (Event("give", "Zoë", "lamp", "Tom"), Event("lose", "Tom")), "a set",
    ),
    Dialogue("# É : hi", "", ("#", "É", ":", "hi"), ((0, 3, 4),)),
]  # fmt: skip
READ = {corpora.read_pairs: PAIRS, corpora.read_texts: TEXTS, corpora.read_dialogues: DIALOGUES}


@pytest.mark.parametrize(("reader", "written"), READ.items(), ids=["pairs", "texts", "dialogues"])
def test_records_are_read_as_they_were_written(tmp_path, reader, written):
    path = tmp_path / "a" / "b.jsonl"
    refused(f"no file {path}", reader, path)
    corpora.write(path, iter(written))
    assert reader(path) == written
    if reader is corpora.read_pairs:
        assert reader(path, bare=True) == [Pair(pair.source, pair.target) for pair in written]
    raw = path.read_bytes()
    assert raw.count(b"\n") == len(written) and b"\\u" not in raw  # a line each, letters as they are
    for end in range(raw.rindex(b"\n", 0, -1) + 2, len(raw) - 1):  # cut through the last line, or through a letter
        path.write_bytes(raw[:end])
        refused(f"Line {len(written)} of {path}", reader, path)
    path.write_text("")
    refused(str(path), reader, path)


PAIR, ROW = {"source": "x", "target": "y"}, asdict(DIALOGUES[1])


@pytest.mark.parametrize(("reader", "good", "bad"), [
    (corpora.read_pairs, PAIR, {"source": "x"}),
    *((corpora.read_pairs, PAIR, PAIR | bad) for bad in ({"colour": 1},)),
    (corpora.read_texts, {"text": "x"}, {"origin": "x"}),
    *((corpora.read_dialogues, ROW, ROW | bad) for bad in ({"more": 1}, {"clusters": [[1]]}, {"events": [{"who": "A"}]})),
])  # fmt: skip
def test_a_broken_line_is_named(tmp_path, reader, good, bad):
    write_rows(tmp_path / "x.jsonl", [good, bad])
    refused(f"Line 2 of {tmp_path / 'x.jsonl'}", reader, tmp_path / "x.jsonl")


@pytest.mark.parametrize("module", [texts, dialogues])
def test_a_spec_knows_files_by_their_contents(root, module):
    before = module.spec(ALL, "samsum", 1)
    write_rows(root / "samsum/val.jsonl.xz", chats("blue", 9))
    assert module.spec(ALL, "samsum", 1)["files"] != before["files"]
    refused("samsum are not those", corpora.prepare, before)


@pytest.mark.parametrize(("module", "name", "sizes", "said"), [
    (texts, "books", ALL, "'books'"), (texts, "reports", SIZES | {"dev": 0}, "'dev' of reports"),
    (dialogues, "samsum", ALL | {"longest": 7}, "7 subwords"),
])  # fmt: skip
def test_names_and_sizes_that_make_no_sense(root, module, name, sizes, said):
    refused(said, module.spec, sizes, name, 1)


def test_no_folder_or_file(root, monkeypatch, tmp_path):
    (root / "samsum/val.jsonl.xz").unlink()
    refused(root / "samsum/dev.jsonl.xz", texts.spec, ALL, "samsum", 1)
    write_rows(root / "samsum/val.jsonl", chats("blue", 2))  # a plain file will do
    assert texts.spec(ALL, "samsum", 1)["files"]
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path / "x"))
    refused(f"no folder {tmp_path / 'x'}", texts.spec, ALL, "europarl", 1)
    monkeypatch.delenv("HEADS_DATA_ROOT")
    refused("set HEADS_DATA_ROOT", texts.spec, ALL, "europarl", 1)
    refused("no text 'samsum': choose one of reports, stories", texts.spec, ALL, "samsum", 1)


@pytest.mark.parametrize(("module", "name"), [(texts, "reports"), (texts, "stories"), (dialogues, "dialogues")])
def test_controlled_splits_are_full_and_share_nothing(module, name):
    def said(sizes, seed=3):
        folder, within = made(name, sizes, seed, module), "dialogues" if module is dialogues else ""
        return {split: [getattr(row, "text", "") or row.source for row in read(folder, split, within)] for split in SPLITS}

    splits = said(SIZES)
    assert {split: len(found) for split, found in splits.items()} == {split: SIZES[split] for split in SPLITS}
    assert len({text for found in splits.values() for text in found}) == 56
    more = said(SIZES | {"train": 50})
    assert more["test"] == splits["test"] and more["train"][:40] == splits["train"]
    assert said(SIZES, 4)["test"] != splits["test"]


@pytest.mark.parametrize("module", [texts, dialogues])
def test_a_document_of_test_or_dev_is_in_no_other_split(root, module):
    train, blue, white = chats("red", 30), chats("blue", 8), chats("white", 12)
    shout = white[1] | {"dialogue": white[1]["dialogue"].upper().replace("\r\n", "\n\n").replace("?", "!")}
    rows = [*train, white[0], shout, blue[2], train[4], train[5] | {"summary": "Another."}]
    rows += [train[0] | {"dialogue": "Eve: New?", "summary": " \n"}, {"dialogue": " \r\n", "summary": "Nothing."}]
    write_rows(root / "samsum/train.jsonl.xz", rows)
    write_rows(root / "samsum/val.jsonl.xz", [*blue, white[3], blue[7]])
    write_rows(root / "samsum/test.jsonl.xz", [*white, white[0]])  # stays as it is
    folder = made("samsum", module=module)
    keys = {split: [normalise(pair.source) for pair in read(folder, split)] for split in SPLITS}
    assert not any(set(keys[one]) & set(keys[other]) for one, other in itertools.combinations(keys, 2))
    assert len(keys["train"]) == len(set(keys["train"])) == 30 and len(keys["dev"]) == 8 and len(keys["test"]) == 13


@pytest.mark.parametrize("module", [texts, dialogues])
def test_a_smaller_split_is_part_of_a_larger_one(root, module):
    def split(name, seed=3, **sizes):
        return [pair.source for pair in read(made("samsum", ALL | sizes, seed, module), name)]

    whole, some, few = split("train"), split("train", train=20), split("train", train=5)
    assert len(few) == 5 and some[:5] == few and whole[:20] == some and len(whole) == 30
    assert whole != split("train", 4) and set(whole) == set(split("train", 4))
    order, some, few = split("test"), split("test", test=7), split("test", test=3)
    assert len(few) == 3 and set(few) < set(some) < set(order) and some != order[:7]


def test_documents_are_lower_cased_and_cut(root):
    test = read(made("samsum"), "test")
    assert test[0].source == "ann: where is the teacher? bob: i saw it in the white boat."
    assert len(test) == 12 and test[0].target == "the teacher is away." and test[0].origin == "samsum"
    folder = made("samsum", ALL | {"longest": 12})
    assert read(folder, "test")[0].source.split()[-1] == "white"


GOOD = "".join(json.dumps(row) + "\n" for row in chats("red", 2)).encode()


@pytest.mark.parametrize(("raw", "said"), [
    (lzma.compress(GOOD + b'{"id": 1\n'), "Line 3 of {} is not a JSON object"),
    (lzma.compress(GOOD + b'{"id": 1, "dialogue": "Hello"}\n'), "'summary': it has id, dialogue"),
    (lzma.compress(GOOD + b'{"dialogue": null, "summary": "x"}\n'), "no text"),
])  # fmt: skip
def test_damaged_files_are_named(root, raw, said):
    path = root / "samsum/train.jsonl.xz"
    path.write_bytes(raw)
    refused(said.format(path), made, "samsum")


def test_sessions_are_running_text(root):
    for split, size in zip(SPLITS, (30, 2, 3), strict=True):
        places = itertools.product(range(size), range(20))
        rows = [f"day {day} {split}\tsentence {n} of {day} {split} {'word ' * 40}\tphrase\n" for day, n in places]
        write(root / f"europarl_en-fr/{split}.en-fr.tsv.xz", "".join(rows))
    folder = made("europarl")  # sessions of twenty sentences of 45 words: passages of nine, as eight do not make 400 words
    assert {split: len(read(folder, split)) for split in SPLITS} == {"train": 90, "dev": 6, "test": 9}
    first, second, third, *_ = read(folder, "dev")
    assert first.origin == third.origin == "day 0 dev" and second.text.startswith("sentence 9 of 0 dev word")
    assert [len(one.text.split()) for one in (first, second, third)] == [405, 405, 90]
    for split in SPLITS:  # any folder with titles and paragraphs
        write(root / f"wiki/{split}.tsv", f"A {split}\tOne.\nA {split}\tTwo {split}.\n")
    assert read(made("wiki"), "dev") == [Text("one. two dev.", "A dev")]
    refused("'wiki' is for language modelling", dialogues.spec, ALL, "wiki", 1)
    write(root / "wiki/dev.tsv", "no title\n")
    refused("Line 1 of", made, "wiki")


def test_blocks_join_documents_and_drop_the_rest():
    documents = [[5, 6, 7], [8], [], [9, 10, 11, 12]]
    stream = [5, 6, 7, 1, 8, 1, 9, 10, 11, 12]
    for length in (1, 3, 10):
        cut = texts.blocks(documents, 1, length)
        assert [i for block in cut for i in block] == stream[: len(stream) // length * length]
        assert all(len(block) == length for block in cut)
    assert texts.blocks([[*row, 1] for row in documents], 1, 3) == texts.blocks(documents, 1, 3)
    refused("3 tokens", texts.blocks, [[5], [6]], 1, 4)


def test_articles_of_wikitext():
    lines = ["", " = A = \n", " One @-@ two . \n", " = = B = = \n", " Second . \n", " = C = \n", " Third . \n"]
    assert list(texts.articles(lines)) == [("A", ["= A =", "One-two .", "= = B = =", "Second ."]), ("C", ["= C =", "Third ."])]
