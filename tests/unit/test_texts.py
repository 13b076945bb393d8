"""Text for summarization and language modelling from generators and from small local files; no network."""

import io
import itertools
import json
import lzma
import re
import tarfile
import threading
import time
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from helpers import corpora, study
from helpers.corpora import texts
from helpers.corpora.sources import normalise
from helpers.records import Text
from helpers.study import StudyError

SIZES = {"train": 60, "dev": 10, "test": 10, "vocabulary": 300, "longest": 50}
ALL = {"train": 0, "dev": 0, "test": 0, "vocabulary": 300, "longest": 0}
NOUNS = "teacher sailor baker girl doctor farmer pilot nurse king clerk".split()
THINGS = "boat house letter garden".split()


def dialogues(word, count):
    """Distinct dialogues with summaries, told apart from other splits' by a word."""
    made = itertools.product(NOUNS, THINGS)
    return [
        {"id": f"{word}{i}", "dialogue": f"Ann: Where is the {n}?\r\nBob: In the {word} {t}.", "summary": f"The {n} is away."}
        for i, (n, t) in enumerate(itertools.islice(made, count))
    ]


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(lzma.compress(text) if path.suffix == ".xz" else text)


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
    for name, dev in (("samsum", "val"), ("dialogsum", "dev")):
        train = dialogues("red", 30)
        for split, rows in (("train", train), (dev, dialogues("blue", 8)), ("test", dialogues("white", 12))):
            write_rows(folder / f"{name}/{split}.jsonl.xz", rows)
    rows = [{"dialogue": r["dialogue"], "summary1": r["summary"], "summary2": "No."} for r in dialogues("white", 12)]
    write_rows(folder / "dialogsum/test.jsonl.xz", rows)
    books = {f"{i}_{noun}.txt": book(noun) for i, noun in enumerate(NOUNS)} | {"README.md": b"not a book"}
    write_archive(folder / "litbank/litbank_original_novels.tar.xz", books)
    for name in ("valid", "test"):
        lines = f" \n = The {name} lobster = \n \n It is 0 @.@ 7 cm , by @-@ passing . \n = = Food = = \n Fish . \n"
        lines += " = B = \n\n End . \n"
        path = folder / f"wikitext/wiki.{name}.txt.xz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lzma.compress(lines.encode()))
    monkeypatch.setenv("HEADS_DATA_ROOT", str(folder))
    return folder


def made(name, sizes=ALL, seed=3):
    return corpora.prepare(texts.spec(sizes, name, seed))


def report(folder):
    return pd.read_csv(folder / "report.csv").set_index("split")


def refused(sentence, call, *arguments):
    with pytest.raises(StudyError, match=f"^{re.escape(sentence)}"):
        call(*arguments)


# --- files of texts --------------------------------------------------------------------------------------------------


def test_texts_are_read_as_they_were_written(tmp_path):
    written = [Text("Ein Tür\u2028zu.", "a book"), Text("two")]
    corpora.write(tmp_path / "x.jsonl", written)
    assert corpora.read_texts(tmp_path / "x.jsonl") == written
    assert len((tmp_path / "x.jsonl").read_text(encoding="utf-8").split("\n")) == 3


@pytest.mark.parametrize("line", ["{", "[1]", '{"origin": "x"}', '{"text": "x", "more": 1}', "3", '{"text": "Tü'])
def test_a_broken_line_of_texts_is_named(tmp_path, line):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "fine"}\n' + line.encode().removesuffix(b"\xbc"))  # half a letter
    refused(f"Line 2 of {path} is not a text (", corpora.read_texts, path)


def test_files_without_texts(tmp_path):
    path = tmp_path / "x.jsonl"
    refused(f"There is no file {path}: prepare the corpus first.", corpora.read_texts, path)
    path.write_text("")
    refused(f"The file {path} holds no texts: prepare the corpus anew.", corpora.read_texts, path)


# --- specs -----------------------------------------------------------------------------------------------------------


def test_a_spec_holds_what_the_corpus_depends_on(root):
    spec = texts.spec(SIZES, "reports", 1)
    fixed = {"task": "summarization", "name": "reports", "corpus": "controlled", "seed": 1}
    assert spec == fixed | SIZES
    assert texts.spec(SIZES, "stories", 1)["task"] == texts.spec(ALL, "wikitext", 1)["task"] == "language modelling"
    others = [texts.spec(SIZES | {size: 77}, "reports", 1) for size in SIZES]
    keys = [study.key(s) for s in (spec, *others, texts.spec(SIZES, "reports", 2), texts.spec(SIZES, "stories", 1))]
    assert len(set(keys)) == len(keys)
    before = texts.spec(ALL, "samsum", 1)
    assert before["corpus"] == "natural" and before == texts.spec(ALL, "samsum", 1)
    write_rows(root / "samsum/val.jsonl.xz", dialogues("blue", 9))
    assert texts.spec(ALL, "samsum", 1)["files"] != before["files"]


def test_names_and_sizes_that_make_no_sense(root):
    refused("There is no text 'books': choose one of reports, dialogsum, samsum, cnn_dailymail,", texts.spec, ALL, "books", 1)
    sentence = "The sizes of a text are train, dev, test, vocabulary, longest, not train: give just these."
    refused(sentence, texts.spec, {"train": 3}, "reports", 1)
    refused("The sizes of a text are", texts.spec, ALL | {"beam": 4}, "samsum", 1)
    sentence = "The size 'dev' of reports is 0: give a whole number of 1 or more."
    refused(sentence, texts.spec, SIZES | {"dev": 0}, "reports", 1)
    refused("The size 'vocabulary' of samsum is 0:", texts.spec, ALL | {"vocabulary": 0}, "samsum", 1)
    for bad in (-1, 2.0, "2", True, None):
        sentence = f"The size 'train' of samsum is {bad!r}: give a whole number of 0 or more."
        refused(sentence, texts.spec, ALL | {"train": bad}, "samsum", 1)


def test_no_folder_or_file(root, monkeypatch, tmp_path):
    (root / "samsum/val.jsonl.xz").unlink()
    refused(f"There is no file {root / 'samsum/val.jsonl.xz'}: fetch it, see", texts.spec, ALL, "samsum", 1)
    write_rows(root / "samsum/val.jsonl", dialogues("blue", 2))  # a plain file will do
    assert texts.spec(ALL, "samsum", 1)["files"]
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path / "x"))
    refused(f"There is no folder {tmp_path / 'x'}: set HEADS_DATA_ROOT to one", texts.spec, ALL, "samsum", 1)
    monkeypatch.delenv("HEADS_DATA_ROOT")
    refused("No folder of natural text is set: set HEADS_DATA_ROOT, see data/README.md.", texts.spec, ALL, "novels", 1)


# --- the controlled track ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reports", "stories"])
def test_controlled_splits_are_full_and_share_nothing(name):
    folder = made(name, SIZES)
    read = corpora.read_pairs if name == "reports" else corpora.read_texts
    splits = {split: read(corpora.file(folder, split)) for split in ("train", "dev", "test")}
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 60, "dev": 10, "test": 10}
    rows = [row for rows in splits.values() for row in rows]
    said = [row.source if name == "reports" else row.text for row in rows]
    assert len(set(said)) == 80 and all(text == text.lower() for text in said)
    assert {row.origin for row in rows} == {f"controlled-{name}"}
    more = made(name, SIZES | {"train": 90})
    assert read(more / "test.jsonl") == splits["test"] and read(corpora.file(more, "train"))[:60] == splits["train"]
    assert read(made(name, SIZES, 4) / "test.jsonl") != splits["test"]


def test_repeated_controlled_text_is_left_out_and_counted(monkeypatch):
    from helpers.world import tales

    again = (Text(f"Text {number}.", "x") for number in [1, 1, 2, 1, 3, 3, 4, 2, 5, 6])
    monkeypatch.setattr(tales, "stories", lambda seed: again)
    folder = made("stories", SIZES | {"test": 2, "dev": 1, "train": 3})
    assert [text.text for text in corpora.read_texts(corpora.file(folder, "train"))] == ["text 4.", "text 5.", "text 6."]
    found = report(folder)
    assert found["rows"].tolist() == [3, 2, 5] and found["kept"].tolist() == [2, 1, 3]
    assert found["duplicate"].tolist() == [1, 0, 0] and found["overlap"].tolist() == [0, 1, 2]


def test_one_vocabulary_serves_documents_and_summaries():
    folder = made("reports", SIZES | {"longest": 1})  # whatever else is learnt can only come from summaries
    subwords = texts.subwords(folder)
    assert 50 < subwords.size <= 300 and (folder / "vocabulary.json").exists()
    pair = corpora.read_pairs(corpora.file(folder, "train"))[0]
    assert len(pair.source.split()) == 1
    assert subwords.decode_all(subwords.encode_all([pair.target]))[0].replace(" ", "") == pair.target.replace(" ", "")


# --- dialogues -------------------------------------------------------------------------------------------------------


def test_a_document_of_test_or_dev_is_in_no_other_split(root):
    train, blue, white = dialogues("red", 30), dialogues("blue", 8), dialogues("white", 12)
    shout = white[1] | {"dialogue": white[1]["dialogue"].upper().replace("\r\n", "  ").replace("?", "!")}
    rows = [*train, white[0], shout, blue[2], train[4], train[5] | {"summary": "Another."}, train[0] | {"dialogue": " \r\n"}]
    write_rows(root / "samsum/train.jsonl.xz", [*rows, train[0] | {"dialogue": "New?", "summary": ""}])
    write_rows(root / "samsum/val.jsonl.xz", [*blue, white[3]])
    write_rows(root / "samsum/test.jsonl.xz", [*white, white[0]])
    folder = made("samsum")
    keys = {s: [normalise(p.source) for p in corpora.read_pairs(corpora.file(folder, s))] for s in ("train", "dev", "test")}
    for one, other in itertools.combinations(keys, 2):
        assert not set(keys[one]) & set(keys[other]), (one, other)
    assert len(keys["train"]) == len(set(keys["train"])) == 30 and len(keys["dev"]) == 8 and len(keys["test"]) == 13
    found = report(folder)
    assert found.loc["train", ["rows", "empty", "overlap", "duplicate", "kept"]].tolist() == [37, 2, 3, 2, 30]
    assert found.loc["dev", ["rows", "overlap", "kept"]].tolist() == [9, 1, 8]
    parts = found[["empty", "overlap", "duplicate", "over_limit", "kept"]]
    assert (parts.sum(axis=1) == found["rows"]).all() and list(found.index) == ["test", "dev", "train"]


def test_dialogues_are_lower_cased_and_cut(root):
    test = corpora.read_pairs(made("samsum") / "test.jsonl")
    assert [pair.source for pair in test[:1]] == ["ann: where is the teacher? bob: in the white boat."]
    assert len(test) == 12 and test[0].target == "the teacher is away." and test[0].origin == "samsum"
    folder = made("samsum", ALL | {"longest": 9})
    assert {pair.source.split()[-1] for pair in corpora.read_pairs(folder / "test.jsonl")} == {"white"}
    assert report(folder).loc["test", "cut"] == 12 and (report(made("samsum"))["cut"] == 0).all()
    folder = made("samsum", ALL | {"longest": 10})  # no more words than there are: nothing is cut
    assert report(folder)["cut"].sum() == 0


def test_the_first_summary_is_the_reference_where_there_are_three(root):
    folder = made("dialogsum")
    assert corpora.read_pairs(folder / "test.jsonl")[2].target == "the teacher is away."
    assert len(corpora.read_pairs(folder / "dev.jsonl")) == 8


def test_a_smaller_split_is_part_of_a_larger_one(root):
    def split(name, seed=3, **sizes):
        return [pair.source for pair in corpora.read_pairs(corpora.file(made("samsum", ALL | sizes, seed), name))]

    whole, some, few = split("train"), split("train", train=20), split("train", train=5)
    assert len(few) == 5 and some[:5] == few and whole[:20] == some and len(whole) == 30
    assert whole != split("train", 4)
    order = split("test")
    some = split("test", test=7)
    assert [source for source in order if source in some] == some and len(some) == 7
    assert set(split("test", test=3)) < set(some) and some != order[:7]


def test_a_split_with_nothing_left_is_refused(root):
    write_rows(root / "samsum/train.jsonl.xz", dialogues("white", 10))
    refused("Nothing is left of samsum in train: lower the other splits or take more text.", made, "samsum")


def test_files_changed_since_the_spec_are_refused(root):
    spec = texts.spec(ALL, "samsum", 1)
    write_rows(root / "samsum/val.jsonl.xz", dialogues("blue", 9))
    refused("The local files of samsum are not those that the spec was written for: write the spec", texts.prepare, spec)


@pytest.mark.parametrize(
    "line, sentence",
    [
        (b'{"id": 1', "Line 3 of {path} is not a JSON object ("),
        (b'["a", "b"]', "Line 3 of {path} is not a JSON object ("),
        (b'{"id": 1, "dialogue": "Hello"}', "Line 3 of {path} has no field 'summary': it has id, dialogue."),
        (b'{"dialogue": null, "summary": "x"}', "Line 3 of {path} holds no text in 'dialogue' or 'summary': fetch"),
        ('{"dialogue": "Tür", "summary": "x"}'.encode("latin-1"), "Line 3 of {path} is not UTF-8 text."),
    ],
)
def test_a_broken_line_is_named(root, line, sentence):
    path = root / "samsum/train.jsonl.xz"
    good = "".join(json.dumps(row) + "\n" for row in dialogues("red", 2)).encode()
    path.write_bytes(lzma.compress(good + line + b"\n" + good))
    refused(sentence.format(path=path), made, "samsum")


def test_damaged_files_are_named(root):
    path = root / "samsum/train.jsonl.xz"
    write_rows(path, [{"dialogue": f"Number {i} is {i * i % 977}.", "summary": f"{i}."} for i in range(20_000)])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StudyError, match=rf"^The file {re.escape(str(path))} is damaged or cut off after line \d+: fetch"):
        made("samsum")
    path.write_bytes(b'{"dialogue": "no", "summary": "xz"}\n')
    refused(f"The file {path} is damaged or cut off after line 0: fetch it again.", made, "samsum")
    path.write_bytes(lzma.compress(b""))
    refused(f"The file {path} is empty: fetch it again.", made, "samsum")


# --- novels ----------------------------------------------------------------------------------------------------------


def test_novels_are_split_by_book(root):
    folder = made("novels")
    books = {s: {text.origin for text in corpora.read_texts(corpora.file(folder, s))} for s in ("train", "dev", "test")}
    assert [len(books[split]) for split in ("train", "dev", "test")] == [8, 1, 1]
    assert len(set().union(*books.values())) == 10
    held = {corpora.read_texts(made("novels", ALL, seed) / "test.jsonl")[0].origin for seed in range(4)}
    assert len(held) > 1


def test_novels_are_split_alike_whatever_their_order_in_the_archive(root):
    before = {text.origin for text in corpora.read_texts(made("novels") / "test.jsonl")}
    books = {f"{i}_{noun}.txt": book(noun, 11) for i, noun in reversed(list(enumerate(NOUNS)))}
    write_archive(root / "litbank/litbank_original_novels.tar.xz", books)
    assert {text.origin for text in corpora.read_texts(made("novels") / "test.jsonl")} == before


def test_passages_are_whole_paragraphs(root):
    """Twelve paragraphs of 105 words: passages of four, as three do not make 400 words."""
    rows = corpora.read_texts(made("novels") / "dev.jsonl")
    assert [len(row.text.split()) for row in rows] == [4 * 105] * 3
    assert [row.text.split()[:2] for row in rows] == [["chapter", "0"], ["chapter", "4"], ["chapter", "8"]]
    short = [text.text for text in texts._passages(["one two", "three"], "x")]
    assert short == ["one two three"]


def test_wikitext_is_a_further_test_beside_novels(root):
    rows = corpora.read_texts(made("novels", ALL | {"test": 1}) / "wikitext.jsonl")
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
        with pytest.raises(
            StudyError, match=rf"^The archive {re.escape(str(path))} is damaged or cut off after \d+ books: fetch"
        ):
            made("novels")
    write_archive(path, {"a.txt": book("a"), "b.txt": book("b")})
    refused(f"The file {path} holds 2 books, fewer than 3: fetch it again.", made, "novels")
    write_archive(path, {"a.txt": book("a"), "b.txt": "Tür".encode("latin-1")})
    refused(f"The book b in {path} is not UTF-8 text: fetch it again.", made, "novels")


# --- blocks ----------------------------------------------------------------------------------------------------------


def test_blocks_join_documents_and_drop_the_rest():
    documents = [[5, 6, 7], [8], [], [9, 10, 11, 12]]
    stream = [5, 6, 7, 1, 8, 1, 9, 10, 11, 12]
    for length in (1, 2, 3, 4, 10):
        cut = texts.blocks(documents, 1, length)
        assert all(len(block) == length for block in cut)
        assert [i for block in cut for i in block] == stream[: len(stream) // length * length]
    closed = [[*row, 1] for row in documents]
    assert texts.blocks(closed, 1, 3) == texts.blocks(documents, 1, 3)
    assert closed[0] == [5, 6, 7, 1]


def test_blocks_that_cannot_be_cut():
    refused("The texts hold 3 tokens, too few for a block of 4: take more text.", texts.blocks, [[5], [6]], 1, 4)
    refused("Blocks of 0 tokens cannot be cut: give a length of 1 or more.", texts.blocks, [[5]], 1, 0)


# --- Hub ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Data sets in the Hub's form, on disk: articles with highlights, and lines of text."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    wiki = ["", " = A = \n", " First . \n", " = = B = = \n", None, " Second . \n", " = C = \n", " Third {} . \n"]
    for name, config in (("cnn_dailymail", "3.0.0"), ("wikitext", "wikitext-103-raw-v1")):
        folder = tmp_path / name
        folder.mkdir()
        for split, word, count in (("train", "red", 20), ("validation", "blue", 6), ("test", "white", 5)):
            if name == "wikitext":
                table = pd.DataFrame({"text": [line and line.replace("{}", word).replace("First", word) for line in wiki]})
            else:
                rows = dialogues(word, count)
                table = pd.DataFrame({"article": [r["dialogue"] for r in rows], "highlights": [r["summary"] for r in rows]})
            table.to_parquet(folder / f"{split}-0.parquet")
        files = "".join(f"  - split: {s}\n    path: {s}-*\n" for s in ("train", "validation", "test"))
        (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: {config}\n  data_files:\n{files}---\n")
        monkeypatch.setitem(texts.SOURCES, name, replace(texts.SOURCES[name], hub=str(folder), revision="main"))
    return tmp_path


def test_a_hub_set_of_articles(hub):
    folder = made("cnn_dailymail", ALL | {"train": 15})
    sizes = {split: len(corpora.read_pairs(corpora.file(folder, split))) for split in ("train", "dev", "test")}
    assert sizes == {"train": 15, "dev": 6, "test": 5} == report(folder)["kept"].to_dict()
    assert report(folder).loc["train", ["rows", "over_limit"]].tolist() == [20, 5]
    assert corpora.read_pairs(folder / "test.jsonl")[0].target == "the teacher is away."


def test_a_hub_set_of_lines_becomes_articles(hub):
    folder = made("wikitext")
    test = corpora.read_texts(folder / "test.jsonl")
    assert test == [Text("= a = white . = = b = = second .", "A"), Text("= c = third white .", "C")]
    assert len(corpora.read_texts(corpora.file(folder, "train"))) == 2


def test_a_hub_set_without_the_columns_or_the_configuration(hub, monkeypatch):
    source = texts.SOURCES["cnn_dailymail"]
    monkeypatch.setitem(texts.SOURCES, "cnn_dailymail", replace(source, columns=("article", "summary")))
    refused(f"The Hub set {source.hub} (3.0.0) has no column 'summary': it has article, highlights.", made, "cnn_dailymail")
    monkeypatch.setitem(texts.SOURCES, "cnn_dailymail", replace(source, config="4"))
    sentence = f"The Hub set {source.hub} (4), split test, cannot be loaded (BuilderConfig '4' not found."
    refused(sentence, made, "cnn_dailymail")


def refused_by_the_hub(monkeypatch, endpoint, sentence):
    import datasets
    import huggingface_hub

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", endpoint)
    started = time.time()
    with pytest.raises(StudyError, match=f"^{re.escape(sentence)}.*choose a controlled text or one of a local folder"):
        made("wikitext")
    assert time.time() - started < 20


def test_a_hub_that_cannot_be_reached_costs_one_sentence(monkeypatch):
    refused_by_the_hub(monkeypatch, "http://127.0.0.1:9", "The Hub cannot be reached for Salesforce/wikitext (")


def test_a_hub_without_the_set_costs_one_sentence(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:  # answers 404 to what it has not
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sentence = "The Hub does not give Salesforce/wikitext at revision b08601e04326c7"
        refused_by_the_hub(monkeypatch, f"http://127.0.0.1:{server.server_port}", sentence)
        server.shutdown()


def test_a_cache_without_the_set_costs_one_sentence(monkeypatch, tmp_path):
    import datasets
    import huggingface_hub

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    refused("The Hub set Salesforce/wikitext (wikitext-103-raw-v1), split test, cannot be loaded (", made, "wikitext")


def test_every_source_says_where_it_comes_from():
    for name, source in texts.SOURCES.items():
        assert source.task in ("summarization", "language modelling") and source.what, name
        assert (source.corpus == "natural") == bool(source.hub or source.files), name
        if source.hub:
            assert re.fullmatch("[0-9a-f]{40}", source.revision) and source.config, name
