"""Natural corpora from small files in the layout of a local folder, and from Hub sets on disk; no network."""

import itertools
import lzma
from collections import Counter

import pandas as pd
import pytest

from helpers.corpora import natural, pairs
from tests.unit.tiny_text import NOUNS, THINGS, refused, write, write_hub

VERBS = "sees finds helps calls knows meets".split()
LONG = "Oh" + " very" * 100


def sentences(word, count):
    """Distinct English sentences, told apart from other sets' by a word."""
    made = (f"The {n} {v} the {word} {t}." for n, v, t in itertools.product(NOUNS, VERBS, THINGS))
    return list(itertools.islice(made, count))


def german(english, again=""):
    return english.replace("The", "Die").replace("the", "das") + again


def write_cells(path, rows):
    write(path, "".join("\t".join(row) + "\n" for row in rows))


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Some 700 pairs in five sets; every third Tatoeba sentence has two translations."""
    monkeypatch.delenv("HEADS_DATA_ROOT", raising=False)
    tatoeba = [(e, german(e, a)) for i, e in enumerate(sentences("red", 200)) for a in ("", " Ja.")[: 1 + (i % 3 == 0)]]
    write_cells(tmp_path / "tatoeba/en-de.tsv.xz", tatoeba)
    for name, word, count in (("train", "green", 150), ("val", "blue", 20), ("test_2016_flickr", "white", 30)):
        rows = [(e, german(e), e.replace("The", "Le")) for e in sentences(word, count)]
        write_cells(tmp_path / f"multi30k/{name}.en-de-fr.tsv.xz", rows)
    sets = {"newstest2017": "old", "newstest2018": "new", "tatoeba-test-v2021-08-07": "red"}
    rows = [(name, e, german(e)) for name, word in sets.items() for e in sentences(word, 60)]
    rows += [("newstest2018", "The new dog sleeps.", "Der neue Hund schläft.")] * 2 + [("newstest2018", LONG, "Oh.")]
    rows += [("page", e, german(e)) for e in sentences("old", 30)]  # the English of newstest2017, again
    rows += [("page", "the NEW dog, sleeps", "Der neue Hund schläft!")]  # a test sentence but for case and punctuation
    write_cells(tmp_path / "wmt_tests/en-de.tsv.xz", rows)
    write_cells(tmp_path / "tatoeba/en-ru.tsv.xz", [(e, "Да, это так и есть, да.") for e in sentences("red", 40)])
    return tmp_path


def test_splits_share_no_english_sentence_and_test_sets_are_whole(root):
    splits = natural.read("de", root, dev=100).splits
    keys = {name: {natural.normalise(pair.source) for pair in pairs} for name, pairs in splits.items()}
    assert list(splits) == ["train", "dev", "multi30k_test2016", "newstest2018"]
    for one, other in itertools.combinations(keys, 2):
        assert not keys[one] & keys[other], (one, other)
    assert len(splits["dev"]) == len(keys["dev"]) == 100
    assert [pair.source for pair in splits["newstest2018"]] == sentences("new", 60) + ["The new dog sleeps."] * 2 + [LONG]
    assert [pair.source for pair in splits["multi30k_test2016"]] == sentences("white", 30)


def test_report_accounts_for_every_row(root):
    loaded = natural.read("de", root, dev=50, limit=300)
    report = loaded.report.set_index("origin")
    assert (report.drop(columns="rows").sum(axis=1) == report["rows"]).all()
    assert report.loc["total", "rows"] == 267 + 150 + 20 + 30 + 183 + 31 and len(report) == 9
    assert report.loc["page", "in_test"] == 1 and report.loc["page", "duplicate"] == 30
    assert report.loc["newstest2017", ["train", "dev", "over_limit"]].sum() == 60  # other years are trained on
    assert report.loc["tatoeba-test-v2021-08-07", "aside"] == report.loc["tatoeba-test-v2021-08-07", "rows"] == 60


def test_filters_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(natural, "MAX_WORDS", 12)
    long = " ".join(["word"] * 13)
    rows = [("A dog.", "Ein Hund."), ("A dog.", "Ein Hund."), ("", "Nichts."), (long, long)]
    rows += [("Yes.", "Aber ja doch bitte sehr."), ("No.", "Aber nein doch nicht.")]  # more than 2 (1 + 1) words, and no more
    write_cells(tmp_path / "tatoeba/en-de.tsv", rows)  # a plain file will do
    report = natural.read("de", tmp_path, dev=0).report.set_index("origin").loc["tatoeba"]
    assert report[["duplicate", "empty", "long", "ratio", "train"]].tolist() == [1, 1, 1, 1, 2]


def test_dev_is_drawn_by_seed_over_origins_whatever_the_order_of_rows(root):
    dev = natural.read("de", root, dev=200).splits["dev"]
    origins = Counter(pair.origin for pair in dev)
    for origin, count in {"tatoeba": 200, "multi30k": 150, "multi30k_val": 20, "newstest2017": 60}.items():
        assert abs(origins[origin] - 200 * count / 430) < 15, origins
    path = root / "tatoeba/en-de.tsv.xz"
    path.write_bytes(lzma.compress(b"".join(reversed(lzma.decompress(path.read_bytes()).splitlines(keepends=True)))))
    assert {pair.source for pair in natural.read("de", root, dev=200).splits["dev"]} == {pair.source for pair in dev}


def test_a_smaller_limit_is_a_prefix(root):
    small, large = (natural.read("de", root, dev=50, limit=limit).splits["train"] for limit in (40, 200))
    assert len(small) == 40 and large[:40] == small


def test_every_language_finds_its_files(root, monkeypatch):
    assert {pair.origin for pair in natural.read("ru", root, dev=5).splits["train"]} == {"tatoeba"}
    french = natural.read("fr", root, dev=5).splits
    assert list(french) == ["train", "dev", "multi30k_test2016"] and french["train"][0].target.startswith("Le ")
    monkeypatch.setenv("HEADS_DATA_ROOT", str(root))
    assert natural.read("fr", dev=5).splits == french
    assert [path.name for path in natural.files("local", "ru", "")] == ["en-ru.tsv.xz"]


def test_a_folder_with_parts_of_its_own_needs_no_code(root):
    rows = {"train": sentences("red", 60) + sentences("blue", 3), "dev": sentences("blue", 30), "test": sentences("red", 5)}
    for part, texts in rows.items():
        again = " Ja." if part == "train" else ""
        write_cells(root / f"chats/{part}.en-de.tsv.xz", [("page", "7", e, german(e, again)) for e in texts])
    loaded = natural.read("de", root, dev=20, source="chats")
    splits, report = loaded.splits, loaded.report.set_index("origin")
    assert {name: len(pairs) for name, pairs in splits.items()} == {"train": 55, "dev": 20, "chats_test": 5}
    assert {pair.source for pair in splits["dev"]} < set(rows["dev"])
    assert [pair.source for pair in splits["chats_test"]] == rows["test"]
    assert not {pair.source for pair in splits["train"]} & set(rows["dev"] + rows["test"])
    assert report.loc["chats", ["in_test", "dev_other", "train"]].tolist() == [5, 3, 55]
    assert report.loc["chats_dev", ["dev", "over_limit"]].tolist() == [20, 10] and report.loc["total", "rows"] == 98
    assert len(natural.read("de", root, dev=0, source="chats").splits["dev"]) == 30
    more = natural.read("de", root, dev=40, source="chats").splits  # what the dev set lacks is taken out of train
    assert {pair.source for pair in more["dev"]} > set(rows["dev"]) and (len(more["dev"]), len(more["train"])) == (40, 45)
    assert not {pair.source for pair in more["train"]} & {pair.source for pair in more["dev"]}
    (root / "chats").rename(root / "europarl_en-de")  # a row of the table: the folder by its own name, and a further test set
    assert list(natural.read("de", root, dev=20, source="europarl").splits) == ["train", "dev", "newstest2018", "europarl_test"]
    (root / "half").mkdir()
    refused(f"no file {root}/half/test.en-de.tsv.xz", natural.read, "de", root, source="half")
    spec = {"corpus": "natural", "train": 0, "dev": 20, "test": 0, "vocabulary": 300}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADS_DATA_ROOT", str(root))
        before = pairs.spec(spec, "de", "europarl", 1)["files"]
        write_cells(root / "europarl_en-de/dev.en-de.tsv.xz", [("page", "7", e, german(e)) for e in rows["dev"][:25]])
        assert pairs.spec(spec, "de", "europarl", 1)["files"] != before
    write(root / "europarl_en-de/train.en-de.tsv.xz", "one column\n")
    refused("has one column", natural.read, "de", root, source="europarl")


@pytest.mark.parametrize(("language", "more", "said"), [
    ("es", {}, "'es'"), ("de", {"source": "paracrawl"}, "'paracrawl' for 'de'"),
    ("ru", {"dev": 40}, "dev=40 takes them all"),
    ("de", {"data_root": None, "source": "local"}, "HEADS_DATA_ROOT"), ("de", {"data_root": "/nowhere"}, "no folder /nowhere"),
])  # fmt: skip
def test_what_there_is_not(root, language, more, said):
    refused(said, natural.read, language, **{"data_root": root} | more)


@pytest.mark.parametrize(("raw", "said"), [
    (lzma.compress(b"wesnoth\tA dog.\tEin Hund.\nA cat.\tEine Katze.\n"), "Line 2 of {} has 2 columns, not 3"),
    (lzma.compress("x\tA dog.\tHund.\nx\tA door.\tEine Tür.\n".encode("latin-1")), "Line 2 of {} is not UTF-8"),
    (lzma.compress(b"wesnoth\tA dog.\tEin Hund.\n" * 999)[:-40], "{} is damaged or cut off after line"),
    (lzma.compress(b""), "{} is empty"),
    (lzma.compress(b"newstest2017\t\tLeer.\nnewstest2018\tA dog.\t \n"), "Line 2 of {} has an empty sentence"),
])  # fmt: skip
def test_broken_files_are_named(root, raw, said):
    path = root / "wmt_tests/en-de.tsv.xz"
    path.write_bytes(raw)
    refused(said.format(path), natural.read, "de", root)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A data set in the Hub's form, on disk: configuration de-en of {language: sentence}."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    rows = {split: [{"de": german(e), "en": e} for e in sentences(word, count)]
            for split, word, count in (("train", "red", 200), ("test", "new", 20))}  # fmt: skip
    folder = write_hub(tmp_path / "hub", {"de-en": {s: pd.DataFrame({"translation": pairs}) for s, pairs in rows.items()}})
    monkeypatch.setitem(natural.HUB, ("wmt", "de"), natural.HubSet(str(folder), "de-en", "newstest2014", pairs=150))


def test_a_hub_set_is_a_seeded_sample_and_a_whole_test_set(hub):
    splits = natural.read("de", source="wmt", dev=20).splits
    assert {name: len(pairs) for name, pairs in splits.items()} == {"train": 130, "dev": 20, "newstest2014": 20}
    assert all(pair.target == german(pair.source) for pairs in splits.values() for pair in pairs)
    assert splits["newstest2014"] == natural.read("de", source="wmt", dev=20, seed=1).splits["newstest2014"]
    small = natural.read("de", source="wmt", dev=2, limit=3).splits
    assert {name: len(pairs) for name, pairs in small.items()} == {"train": 3, "dev": 2, "newstest2014": 20}
