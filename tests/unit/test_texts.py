"""Text for summarization and language modelling, splits of dialogues too, and files of records."""

from __future__ import annotations

import io
import itertools
import json
import lzma
import re
import tarfile
import threading
from dataclasses import asdict, replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from helpers import corpora, study
from helpers.corpora import dialogues, texts
from helpers.corpora.sources import normalise
from helpers.records import Dialogue, Event, Pair, Text
from helpers.world import conversations, tales
from tests.unit.tiny_text import NOUNS, SPLITS, chats, refused, write, write_chats, write_hub, write_rows

SIZES = {"train": 40, "dev": 8, "test": 8, "vocabulary": 300, "longest": 50}
ALL = {"train": 0, "dev": 0, "test": 0, "vocabulary": 300, "longest": 0}


def write_archive(path, books):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:xz") as archive:
        for name, content in books.items():
            member = tarfile.TarInfo(f"original/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def book(word, paragraphs=12):
    return "\r\n\r\n".join(f"Chapter {i} of the {word} book.\r\n" + f"{word} " * 99 for i in range(paragraphs)).encode()


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Two sets of dialogues, ten books and two files of WikiText, laid out as a local folder."""
    folder = tmp_path / "local"
    write_chats(folder)
    books = {f"{i}_{noun}.txt": book(noun) for i, noun in enumerate(NOUNS)} | {"README.md": b"not a book"}
    write_archive(folder / "litbank/litbank_original_novels.tar.xz", books)
    for name in ("valid", "test"):
        lines = f" \n = The {name} lobster = \n \n It is 0 @.@ 7 cm , by @-@ passing . \n = = Food = = \n Fish . \n"
        write(folder / f"wikitext/wiki.{name}.txt.xz", lines + " = B = \n\n End . \n")
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


def report(folder):
    return pd.read_csv(folder / "report.csv").set_index("split")


# --- files of records ------------------------------------------------------------------------------------------------

PAIRS = [
    Pair("", ""),
    Pair("the cat sees .", "кошка видит .", ("the", "cat", "sees", "."), (1, 2, -1, 2), ("det", "nsubj", "ROOT", "punct"),
         (("case", "кошка", ("кошку", "кошке")), ("sense", "видит", ())), "controlled-news"),
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


ROW = asdict(DIALOGUES[1])


@pytest.mark.parametrize(
    ("reader", "good", "bad"),
    [
        *((corpora.read_pairs, {"source": "x", "target": "y"}, bad) for bad in (
            3, [], None, {}, {"source": "x"}, {"source": "x", "target": "y", "colour": 1},
            {"source": "x", "target": "y", "marks": [["case"]]},
        )),
        *((corpora.read_texts, {"text": "x"}, bad) for bad in ([1], {"origin": "x"}, {"text": "x", "more": 1})),
        *((corpora.read_dialogues, ROW, bad) for bad in (
            "x", {"source": "x", "target": "x", "words": ["x"]}, ROW | {"more": 1}, ROW | {"clusters": [[1]]},
            ROW | {"events": [{"who": "A"}]}, ROW | {"words": None}, {name: ROW[name] for name in ("source", "words", "turns")},
        )),
    ],
)  # fmt: skip
def test_a_broken_line_is_named(tmp_path, reader, good, bad):
    write_rows(tmp_path / "x.jsonl", [good, bad])
    refused(f"Line 2 of {tmp_path / 'x.jsonl'}", reader, tmp_path / "x.jsonl")


# --- specs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name", "fixed"),
    [
        (texts, "reports", {"task": "summarization"}),
        (texts, "stories", {"task": "language modelling"}),
        (dialogues, "dialogues", {"task": "summarization", "layout": "dialogue", "tokenizer": ""}),
    ],
)
def test_a_spec_holds_what_the_corpus_depends_on(root, module, name, fixed):
    spec = module.spec(SIZES, name, 1)
    assert spec == fixed | {"name": name, "corpus": "controlled", "seed": 1} | SIZES
    others = [module.spec(SIZES | {size: 77}, name, 1) for size in SIZES] + [module.spec(SIZES, name, 2)]
    others += [module.spec(SIZES, other, 1) for other in module.SOURCES if other != name]
    assert len({study.key(other) for other in (spec, *others)}) == len(others) + 1
    before = module.spec(ALL, "samsum", 1)
    assert before["corpus"] == "natural" and before == module.spec(ALL, "samsum", 1)
    write_rows(root / "samsum/val.jsonl.xz", chats("blue", 9))
    assert module.spec(ALL, "samsum", 1)["files"] != before["files"]
    refused("samsum are not those", corpora.prepare, before)


@pytest.mark.parametrize(
    ("module", "name", "sizes", "said"),
    [
        (texts, "books", ALL, "'books'"),
        (dialogues, "books", ALL, "'books'"),
        (texts, "reports", {"train": 3}, "not train:"),
        (texts, "samsum", ALL | {"beam": 4}, "beam"),
        (dialogues, "dialogues", {"train": 3}, "'dev' is missing"),
        (dialogues, "samsum", ALL | {"longest": 7}, "7 subwords"),
        (texts, "reports", SIZES | {"dev": 0}, "'dev' of reports is 0"),
        (dialogues, "dialogues", SIZES | {"test": 0}, "'test' of dialogues is 0"),
        *((module, "samsum", ALL | {"vocabulary": 0}, "'vocabulary' of samsum is 0") for module in (texts, dialogues)),
        *((texts, "samsum", ALL | {"train": bad}, f"'train' of samsum is {bad!r}") for bad in (-1, 2.0, "2", True, None)),
        *((dialogues, "samsum", ALL | {"longest": bad}, f"'longest' of samsum is {bad!r}") for bad in (-1, 2.0, "2", True)),
    ],
)
def test_names_and_sizes_that_make_no_sense(root, module, name, sizes, said):
    refused(said, module.spec, sizes, name, 1)


def test_no_folder_or_file(root, monkeypatch, tmp_path):
    (root / "samsum/val.jsonl.xz").unlink()
    refused(root / "samsum/val.jsonl.xz", texts.spec, ALL, "samsum", 1)
    write_rows(root / "samsum/val.jsonl", chats("blue", 2))  # a plain file will do
    assert texts.spec(ALL, "samsum", 1)["files"]
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path / "x"))
    refused(f"no folder {tmp_path / 'x'}", texts.spec, ALL, "samsum", 1)
    monkeypatch.delenv("HEADS_DATA_ROOT")
    refused("set HEADS_DATA_ROOT", texts.spec, ALL, "novels", 1)


# --- splits of texts and of dialogues --------------------------------------------------------------------------------


@pytest.mark.parametrize(("module", "name"), [(texts, "reports"), (texts, "stories"), (dialogues, "dialogues")])
def test_controlled_splits_are_full_and_share_nothing(module, name):
    def rows(folder, split):
        return read(folder, split, "dialogues" if module is dialogues else "")

    folder = made(name, SIZES, module=module)
    splits = {split: rows(folder, split) for split in SPLITS}
    assert {split: len(found) for split, found in splits.items()} == {split: SIZES[split] for split in SPLITS}
    said = [row.text if name == "stories" else row.source for found in splits.values() for row in found]
    assert len(set(said)) == 56 and all(text == text.lower() for text in said)
    assert {row.origin for found in splits.values() for row in found} == {f"controlled-{name}"}
    more = made(name, SIZES | {"train": 50}, module=module)
    assert rows(more, "test") == splits["test"] and rows(more, "train")[:40] == splits["train"]
    assert rows(made(name, SIZES, 4, module), "test") != splits["test"]


@pytest.mark.parametrize(
    ("module", "world", "name"),
    [(texts, tales, "stories"), (texts, tales, "reports"), (dialogues, conversations, "conversations")],
)
def test_repeated_controlled_text_is_left_out_and_counted(monkeypatch, module, world, name):
    known = list(itertools.islice(getattr(world, name)(1), 6))
    again = (replace(known[number], origin="x") for number in [0, 0, 1, 0, 2, 2, 3, 1, 4, 5])
    monkeypatch.setattr(world, name, lambda seed: again)
    sizes = SIZES | {"test": 2, "dev": 1, "train": 3, "longest": 0}
    folder = made("dialogues" if module is dialogues else name, sizes, module=module)
    side = "text" if name == "stories" else "source"
    assert [getattr(row, side) for row in read(folder, "train")] == [getattr(row, side).lower() for row in known[3:]]
    found = report(folder)
    assert found["rows"].tolist() == [3, 2, 5] and found["kept"].tolist() == [2, 1, 3]
    assert found["duplicate"].tolist() == [1, 0, 0] and found["overlap"].tolist() == [0, 1, 2]


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
    found = report(folder)
    assert list(found.index) == ["test", "dev", "train"]
    assert found[["rows", "empty", "overlap", "duplicate", "over_limit", "kept"]].to_numpy().tolist() == [
        [13, 0, 0, 0, 0, 13], [10, 0, 1, 1, 0, 8], [37, 2, 3, 2, 0, 30],
    ]  # fmt: skip


@pytest.mark.parametrize("module", [texts, dialogues])
def test_a_smaller_split_is_part_of_a_larger_one(root, module):
    def split(name, seed=3, **sizes):
        return [pair.source for pair in read(made("samsum", ALL | sizes, seed, module), name)]

    whole, some, few = split("train"), split("train", train=20), split("train", train=5)
    assert len(few) == 5 and some[:5] == few and whole[:20] == some and len(whole) == 30
    assert whole != split("train", 4) and set(whole) == set(split("train", 4))
    order, some, few = split("test"), split("test", test=7), split("test", test=3)
    assert len(few) == 3 and set(few) < set(some) < set(order) and some != order[:7]
    assert module is dialogues or [source for source in order if source in some] == some
    assert report(made("samsum", ALL | {"train": 20}, module=module)).loc["train", "over_limit"] == 10


@pytest.mark.parametrize("module", [texts, dialogues])
def test_a_split_with_nothing_left_is_refused(root, module):
    write_rows(root / "samsum/train.jsonl.xz", chats("white", 10))
    refused("samsum in train", made, "samsum", module=module)


# --- summarization ---------------------------------------------------------------------------------------------------


def test_one_vocabulary_serves_documents_and_summaries():
    folder = made("reports", SIZES | {"longest": 1})  # whatever else is learnt can only come from summaries
    subwords, pair = texts.subwords(folder), read(folder, "train")[0]
    assert 50 < subwords.size <= 300 and len(pair.source.split()) == 1
    assert subwords.decode_all(subwords.encode_all([pair.target]))[0].replace(" ", "") == pair.target.replace(" ", "")


def test_documents_are_lower_cased_and_cut(root):
    test = read(made("samsum"), "test")
    assert test[0].source == "ann: where is the teacher? bob: i saw it in the white boat."
    assert len(test) == 12 and test[0].target == "the teacher is away." and test[0].origin == "samsum"
    for longest, last, cut in ((12, "white", 12), (13, "boat.", 0)):
        folder = made("samsum", ALL | {"longest": longest})
        assert read(folder, "test")[0].source.split()[-1] == last and report(folder).loc["test", "cut"] == cut
    assert read(made("dialogsum"), "test")[2].target == "the teacher is away."  # the first of three summaries


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"id": 1', "JSON object"),
        (b'["a", "b"]', "JSON object"),
        (b'{"id": 1, "dialogue": "Hello"}', "'summary': it has id, dialogue"),
        (b'{"dialogue": null, "summary": "x"}', "no text"),
        ('{"dialogue": "Tür", "summary": "x"}'.encode("latin-1"), "UTF-8"),
    ],
)
def test_a_broken_line_of_a_local_file_is_named(root, line, said):
    path = root / "samsum/train.jsonl.xz"
    good = "".join(json.dumps(row) + "\n" for row in chats("red", 2)).encode()
    write(path, good + line + b"\n" + good)
    spec = texts.spec(ALL, "samsum", 3)
    refused(f"Line 3 of {path}", texts.prepare, spec)
    refused(said, texts.prepare, spec)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (lzma.compress(b'{"dialogue": "x", "summary": "y"}\n' * 2000)[:-40], "is damaged or cut off after line"),
        (b'{"dialogue": "no", "summary": "xz"}\n', "is damaged or cut off after line 0"),
        (lzma.compress(b""), "is empty"),
    ],
)
def test_damaged_files_are_named(root, raw, said):
    path = root / "samsum/train.jsonl.xz"
    path.write_bytes(raw)
    refused(f"{path} {said}", made, "samsum")


# --- novels ----------------------------------------------------------------------------------------------------------


def test_novels_are_split_by_book_in_passages_of_whole_paragraphs(root):
    """Twelve paragraphs of 105 words: passages of four, as three do not make 400 words."""
    folder = made("novels")
    books = {split: {text.origin for text in read(folder, split)} for split in SPLITS}
    assert [len(books[split]) for split in SPLITS] == [8, 1, 1] and len(set().union(*books.values())) == 10
    rows = read(folder, "dev")
    assert [len(row.text.split()) for row in rows] == [4 * 105] * 3
    assert [row.text.split()[:2] for row in rows] == [["chapter", "0"], ["chapter", "4"], ["chapter", "8"]]
    assert len({read(made("novels", ALL, seed), "test")[0].origin for seed in range(3)}) > 1
    again = {f"{i}_{noun}.txt": book(noun, 11) for i, noun in reversed(list(enumerate(NOUNS)))}
    write_archive(root / "litbank/litbank_original_novels.tar.xz", again)  # in another order
    assert {text.origin for text in read(made("novels"), "test")} == books["test"]
    assert [len(row.text.split()) for row in read(made("novels"), "dev")] == [420, 420, 315]


def test_wikitext_is_a_further_test_beside_novels(root):
    rows = read(made("novels", ALL | {"test": 1}), "wikitext")
    body = "= the {} lobster = it is 0.7 cm , by-passing . = = food = = fish ."
    assert [row.text for row in rows] == [body.format("valid"), "= b = end .", body.format("test"), "= b = end ."]
    assert [row.origin for row in rows] == ["The valid lobster", "B", "The test lobster", "B"]
    for name in ("valid", "test"):
        (root / f"wikitext/wiki.{name}.txt.xz").unlink()
    assert not (made("novels") / "wikitext.jsonl").exists()


def test_bad_archives_are_named(root):
    path = root / "litbank/litbank_original_novels.tar.xz"
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"no archive", lzma.compress(b"no archive" * 200)):
        path.write_bytes(damaged)
        refused(f"{path} is damaged or cut off", made, "novels")
    write_archive(path, {"a.txt": book("a"), "b.txt": book("b")})
    refused(f"{path} holds 2 books", made, "novels")
    write_archive(path, {"a.txt": book("a"), "b.txt": "Tür".encode("latin-1")})
    refused(f"book b in {path} is not UTF-8", made, "novels")


# --- blocks ----------------------------------------------------------------------------------------------------------


def test_blocks_join_documents_and_drop_the_rest():
    documents = [[5, 6, 7], [8], [], [9, 10, 11, 12]]
    stream = [5, 6, 7, 1, 8, 1, 9, 10, 11, 12]
    for length in (1, 2, 3, 4, 10):
        cut = texts.blocks(documents, 1, length)
        assert all(len(block) == length for block in cut)
        assert [i for block in cut for i in block] == stream[: len(stream) // length * length]
    closed = [[*row, 1] for row in documents]
    assert texts.blocks(closed, 1, 3) == texts.blocks(documents, 1, 3) and closed[0] == [5, 6, 7, 1]
    refused("3 tokens", texts.blocks, [[5], [6]], 1, 4)
    refused("0 tokens", texts.blocks, [[5]], 1, 0)


# --- Hub ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Data sets in the Hub's form, on disk: articles with highlights, and lines of text."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    wiki = ["", " = A = \n", " First . \n", " = = B = = \n", None, " Second . \n", " = C = \n", " Third {} . \n"]
    lines, articles = {}, {}
    for split, word, count in (("train", "red", 20), ("validation", "blue", 6), ("test", "white", 5)):
        lines[split] = pd.DataFrame({"text": [line and line.replace("{}", word).replace("First", word) for line in wiki]})
        articles[split] = pd.DataFrame(chats(word, count)).rename(columns={"dialogue": "article", "summary": "highlights"})
    for name, tables in (("cnn_dailymail", articles), ("wikitext", lines)):
        folder = write_hub(tmp_path / name, {texts.SOURCES[name].config: tables})
        monkeypatch.setitem(texts.SOURCES, name, replace(texts.SOURCES[name], hub=str(folder), revision="main"))


def test_hub_sets_of_articles_and_of_lines(hub, monkeypatch):
    folder = made("cnn_dailymail", ALL | {"train": 15})
    assert {split: len(read(folder, split)) for split in SPLITS} == report(folder)["kept"].to_dict()
    assert report(folder).loc["train", ["rows", "over_limit", "kept"]].tolist() == [20, 5, 15]
    assert read(folder, "test")[0].target == "the teacher is away."
    folder = made("wikitext")
    assert read(folder, "test") == [Text("= a = white . = = b = = second .", "A"), Text("= c = third white .", "C")]
    assert len(read(folder, "train")) == 2
    source = texts.SOURCES["cnn_dailymail"]
    monkeypatch.setitem(texts.SOURCES, "cnn_dailymail", replace(source, columns=("article", "summary")))
    refused("'summary': it has id, article, highlights", made, "cnn_dailymail")
    monkeypatch.setitem(texts.SOURCES, "cnn_dailymail", replace(source, config="4"))
    refused(f"{source.hub} (4), split test", made, "cnn_dailymail")


def test_a_hub_that_does_not_answer_costs_one_sentence(monkeypatch, tmp_path):
    import datasets
    import huggingface_hub

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    refused("Salesforce/wikitext (wikitext-103-raw-v1), split test", made, "wikitext")  # no network is asked
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    refused("cannot be reached for Salesforce/wikitext", made, "wikitext")
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:  # answers 404 to what it has not
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        refused("Salesforce/wikitext at revision b08601e04326c7", made, "wikitext")
        server.shutdown()


def test_hub_sets_are_fixed_by_their_commits():
    for name, source in texts.SOURCES.items():
        assert (source.corpus == "natural") == bool(source.hub or source.files), name
        assert not source.hub or re.fullmatch("[0-9a-f]{40}", source.revision), name
