"""Natural sentence pairs from small files in the layout of a local folder."""

import itertools
import lzma

import pytest

from helpers.corpora import natural, pairs
from tests.unit.tiny_text import NOUNS, THINGS, refused, write

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


TEST = [*sentences("new", 60), "The new dog sleeps.", "The new dog sleeps.", LONG]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Some 300 pairs; every third training sentence has two translations, and one stands in the test set but for its case."""
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path))
    train = [(e, german(e, a)) for i, e in enumerate(sentences("red", 200)) for a in ("", " Ja.")[: 1 + (i % 3 == 0)]]
    train += [
        ("the NEW dog, sleeps", "Der neue Hund schläft!"),
        *train[:4],
        *((e, german(e, " Nein.")) for e in sentences("blue", 3)),
    ]
    write_cells(tmp_path / "mine/train.en-de.tsv.xz", [("page", "7", *pair) for pair in train])
    write_cells(tmp_path / "mine/dev.tsv", [(e, german(e)) for e in sentences("blue", 30)])
    write_cells(tmp_path / "mine/test.en-de.tsv", [(e, german(e)) for e in TEST])
    return tmp_path


def read(dev=20, limit=None, seed=1, source="mine"):
    return natural.read(source, "de", dev, seed, limit)


def english(split):
    return [pair.source for pair in split]


def test_splits_share_no_english_sentence(root):
    splits = read()
    keys = {name: {natural.normalise(pair.source) for pair in part} for name, part in splits.items()}
    assert list(splits) == ["train", "dev", "mine_test"]
    assert not any(keys[one] & keys[other] for one, other in itertools.combinations(keys, 2))
    assert english(splits["mine_test"]) == TEST  # whole and unfiltered
    assert len(splits["dev"]) == len(keys["dev"]) == 20 and {*english(splits["dev"])} < {*sentences("blue", 30)}
    assert len(splits["train"]) == 267  # of 285, but for one that stands in the test set, four again, 13 of dev sentences
    assert {pair.origin for pair in splits["train"]} == {"mine"}


def test_filters(root, monkeypatch):
    monkeypatch.setattr(natural, "MAX_WORDS", 12)
    long = " ".join(["word"] * 13)
    rows = [("A dog.", "Ein Hund."), ("A dog.", "Ein Hund."), ("", "Nichts."), (long, long)]
    rows += [("Yes.", "Aber ja doch bitte sehr."), ("No.", "Aber nein doch nicht.")]  # more than 2 (1 + 1) words, and no more
    write_cells(root / "mine/train.en-de.tsv.xz", rows)
    assert sorted(english(read()["train"])) == ["A dog.", "No."]


def test_dev_is_the_folders_and_what_it_lacks_is_drawn_by_seed_whatever_the_order_of_rows(root):
    assert {*english(read(dev=0)["dev"])} == {*sentences("blue", 30)}
    splits = read(dev=80)
    dev = english(splits["dev"])
    assert {*dev} > {*sentences("blue", 30)} and len(dev) == 80 and not {*dev} & {*english(splits["train"])}
    path = root / "mine/train.en-de.tsv.xz"
    path.write_bytes(lzma.compress(b"".join(reversed(lzma.decompress(path.read_bytes()).splitlines(keepends=True)))))
    assert {*english(read(dev=80)["dev"])} == {*dev} != {*english(read(dev=80, seed=2)["dev"])}


def test_europarl_has_a_further_test_set_and_files_are_known_by_their_contents(root):
    (root / "mine").rename(root / "europarl_en-de")
    assert list(read(source="europarl")) == ["train", "dev", "europarl_test"]
    rows = [
        (name, e, german(e)) for name, word in (("newstest2017", "old"), ("newstest2018", "white")) for e in sentences(word, 9)
    ]
    write_cells(root / "wmt_tests/en-de.tsv.xz", rows)
    splits = read(source="europarl")
    assert list(splits) == ["train", "dev", "newstest2018", "europarl_test"]
    assert english(splits["newstest2018"]) == sentences("white", 9)
    spec = {"corpus": "natural", "train": 0, "dev": 20, "test": 0, "vocabulary": 300}
    before = pairs.spec(spec, "de", "europarl", 1)["files"]
    write_cells(root / "europarl_en-de/dev.tsv", [(e, german(e)) for e in sentences("blue", 25)])
    assert pairs.spec(spec, "de", "europarl", 1)["files"] != before


def test_what_there_is_not(root):
    refused("dev=300 takes them all", read, 300)
    (root / "half").mkdir()
    for name, folder in (("half", "half"), ("none", "none_en-de")):
        refused(f"no file {root}/{folder}/test.en-de.tsv.xz", read, source=name)


@pytest.mark.parametrize(("raw", "said"), [
    (b"1\tA dog.\tEin Hund.\nA cat.\tEine Katze.\n", "Line 2 of {} has 2 columns, not 3"),
    ("A dog.\tHund.\nA door.\tEine Tür.\n".encode("latin-1"), "The file {} is not UTF-8"),
    (b"", "{} is empty"), (b"one column\n", "Line 1 of {} has one column"),
    (b"A dog.\tEin Hund.\nA dog.\t \n", "Line 2 of {} has an empty sentence"),
])  # fmt: skip
def test_broken_files_are_named(root, raw, said):
    path = root / "mine/test.en-de.tsv"
    path.write_bytes(raw)
    refused(said.format(path), read)
    packed = lzma.compress(b"A dog.\tEin Hund.\n" * 999)[:-40]
    (root / "mine/test.en-de.tsv.xz").write_bytes(packed)
    refused(f"{path}.xz is damaged or cut off", read)
