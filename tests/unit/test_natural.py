"""Natural corpora from small files in the layout of a local folder; no network."""

import itertools
import lzma
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from helpers.corpora import natural
from helpers.study import StudyError

ROOT = Path(__file__).parents[2]
NOUNS = "teacher sailor baker girl doctor farmer pilot nurse king clerk".split()
VERBS = "sees finds helps calls knows meets".split()
LONG = "Oh" + " very" * 100
THINGS = "boat house letter garden".split()


def sentences(word, count):
    """Distinct English sentences, told apart from other sets' by a word."""
    made = (f"The {n} {v} the {word} {t}." for n, v, t in itertools.product(NOUNS, VERBS, THINGS))
    return list(itertools.islice(made, count))


def german(english, again=""):
    return english.replace("The", "Die").replace("the", "das") + again


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join("\t".join(row) + "\n" for row in rows).encode()
    path.write_bytes(lzma.compress(text) if path.suffix == ".xz" else text)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Some 700 pairs in five sets; every third Tatoeba sentence has two translations."""
    monkeypatch.delenv("HEADS_DATA_ROOT", raising=False)
    tatoeba = [(e, german(e, a)) for i, e in enumerate(sentences("red", 200)) for a in ("", " Ja.")[: 1 + (i % 3 == 0)]]
    write(tmp_path / "tatoeba/en-de.tsv.xz", tatoeba)
    for name, word, count in (("train", "green", 150), ("val", "blue", 20), ("test_2016_flickr", "white", 30)):
        rows = [(e, german(e), e.replace("The", "Le")) for e in sentences(word, count)]
        write(tmp_path / f"multi30k/{name}.en-de-fr.tsv.xz", rows)
    sets = {"newstest2017": "old", "newstest2018": "new", "tatoeba-test-v2021-08-07": "red"}
    rows = [(name, e, german(e)) for name, word in sets.items() for e in sentences(word, 60)]
    rows += [("newstest2018", "The new dog sleeps.", "Der neue Hund schläft.")] * 2 + [("newstest2018", LONG, "Oh.")]
    write(tmp_path / "wmt_tests/en-de.tsv.xz", rows)
    rows = [("wesnoth", e, german(e)) for e in sentences("old", 30)]  # the English of newstest2017, again
    rows += [("wesnoth", "the NEW dog, sleeps", "Der neue Hund schläft!")]  # a test sentence but for case and punctuation
    write(tmp_path / "catalogues/en-de.tsv.xz", rows)
    write(tmp_path / "smartool/en-ru.tsv.xz", [("A1", e, "Да, это так и есть, да.") for e in sentences("red", 40)])
    return tmp_path


def refused(sentence, *arguments, **more):
    with pytest.raises(StudyError, match=f"^{re.escape(sentence)}"):
        natural.read(*arguments, **more)


# --- splits ----------------------------------------------------------------------------------------------------------


def test_splits_share_no_english_sentence(root):
    splits = natural.read("de", root, dev=100).splits
    keys = {name: {natural.normalise(pair.source) for pair in pairs} for name, pairs in splits.items()}
    assert list(splits) == ["train", "dev", "multi30k_test2016", "newstest2018"]
    for one, other in itertools.combinations(keys, 2):
        assert not keys[one] & keys[other], (one, other)
    assert len(splits["dev"]) == len(keys["dev"]) == 100


def test_test_sets_are_whole_and_in_order(root):
    splits = natural.read("de", root, dev=10).splits
    assert [pair.source for pair in splits["newstest2018"]] == sentences("new", 60) + ["The new dog sleeps."] * 2 + [LONG]
    assert [pair.source for pair in splits["multi30k_test2016"]] == sentences("white", 30)


def test_other_years_are_training_data_and_the_tatoeba_test_is_not_used(root):
    loaded = natural.read("de", root, dev=10)
    origins = Counter(pair.origin for name in ("train", "dev") for pair in loaded.splits[name])
    assert origins["newstest2017"] == 60
    report = loaded.report.set_index("origin")
    assert report.loc["tatoeba-test-v2021-08-07", "aside"] == report.loc["tatoeba-test-v2021-08-07", "rows"] == 60


def test_dev_is_mixed_over_origins_in_proportion(root):
    dev = Counter(pair.origin for pair in natural.read("de", root, dev=200).splits["dev"])
    available = {"tatoeba": 200, "multi30k": 150, "multi30k_val": 20, "newstest2017": 60}
    for origin, count in available.items():
        assert abs(dev[origin] - 200 * count / 430) < 15, dev


def test_report_accounts_for_every_row(root):
    loaded = natural.read("de", root, dev=50, limit=300)
    report = loaded.report.set_index("origin")
    assert (report.drop(columns="rows").sum(axis=1) == report["rows"]).all()
    assert report.loc["total", "rows"] == 267 + 150 + 20 + 30 + 183 + 31 and len(report) == 9
    for split, column in (("train", "train"), ("dev", "dev")):
        assert report.loc["total", column] == len(loaded.splits[split])
    assert report.loc["wesnoth", "in_test"] == 1 and report.loc["wesnoth", "duplicate"] == 30
    assert report.loc["tatoeba", "dev_other"] > 0 and report.loc["total", "over_limit"] > 0


def test_filters_are_counted(tmp_path):
    long = " ".join(["word"] * 13)
    rows = [
        ("A dog.", "Ein Hund."),
        ("A dog.", "Ein Hund."),
        ("", "Nichts."),
        (long, long),
        ("Yes.", "Aber ja doch bitte sehr."),
    ]
    write(tmp_path / "tatoeba/en-de.tsv.xz", rows)
    report = natural.read("de", tmp_path, dev=0, max_words=12).report.set_index("origin").loc["tatoeba"]
    assert report[["duplicate", "empty", "long", "ratio", "train"]].tolist() == [1, 1, 1, 1, 1]


def test_result_depends_on_the_seed_and_not_on_the_process(root):
    code = (
        "import hashlib, sys; from helpers.corpora import natural\n"
        "splits = natural.read('de', sys.argv[1], dev=50, seed=7).splits\n"
        "print(hashlib.sha256(repr(sorted(splits.items())).encode()).hexdigest())"
    )
    digests = set()
    for hash_seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", code, str(root)]
        digests.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(digests) == 1
    assert natural.read("de", root, dev=50, seed=7).splits != natural.read("de", root, dev=50, seed=8).splits


def test_dev_does_not_depend_on_the_order_of_rows(root):
    before = {pair.source for pair in natural.read("de", root, dev=50).splits["dev"]}
    path = root / "tatoeba/en-de.tsv.xz"
    path.write_bytes(lzma.compress(b"".join(reversed(lzma.decompress(path.read_bytes()).splitlines(keepends=True)))))
    assert {pair.source for pair in natural.read("de", root, dev=50).splits["dev"]} == before


def test_a_smaller_limit_is_a_prefix(root):
    small, large = (natural.read("de", root, dev=50, limit=limit).splits["train"] for limit in (40, 200))
    assert len(small) == 40 and large[:40] == small
    assert len({pair.origin for pair in small}) >= 3


def test_normalise_folds_case_spacing_and_punctuation():
    assert natural.normalise("  “Hello”,  WORLD… ") == natural.normalise("hello world!") == "hello world"
    assert natural.normalise("?!") == "?!"


# --- local folder ----------------------------------------------------------------------------------------------------


def test_the_root_comes_from_the_environment(root, monkeypatch):
    monkeypatch.setenv("HEADS_DATA_ROOT", str(root))
    assert natural.read("de", dev=10).splits == natural.read("de", root, dev=10).splits
    assert [path.name for path in natural.files("ru", "")] == ["en-ru.tsv.xz"]


def test_every_language_finds_its_files(root):
    assert {pair.origin for pair in natural.read("ru", root, dev=5).splits["train"]} == {"smartool"}
    french = natural.read("fr", root, dev=5).splits
    assert list(french) == ["train", "dev", "multi30k_test2016"] and french["train"][0].target.startswith("Le ")


def test_sets_chooses(root):
    loaded = natural.read("de", root, sets=["tatoeba", "multi30k_test2016"], dev=5)
    assert list(loaded.splits) == ["train", "dev", "multi30k_test2016"]
    assert set(loaded.report["origin"]) == {"tatoeba", "multi30k_test2016", "total"}


def test_a_plain_file_will_do(tmp_path):
    write(tmp_path / "tatoeba/en-fr.tsv", [("A dog.", "Un chien."), ("A cat.", "Un chat.")])
    assert len(natural.read("fr", tmp_path, dev=1).splits["train"]) == 1


def test_a_set_can_be_added(tmp_path, monkeypatch):
    mine = natural.LocalSet("mine", "mine/{language}.tsv", ("target", "id", "en"))
    monkeypatch.setattr(natural, "LOCAL", (*natural.LOCAL, mine))
    write(tmp_path / "mine/ru.tsv", [("Собака.", "1", "A dog."), ("Кошка.", "2", "A cat.")])
    train = natural.read("ru", tmp_path, dev=0, sets=["mine"]).splits["train"]
    assert {(pair.source, pair.target, pair.origin) for pair in train} == {
        ("A dog.", "Собака.", "mine"),
        ("A cat.", "Кошка.", "mine"),
    }


# --- bad input, one sentence each --------------------------------------------------------------------------------------


def test_unknown_names(root):
    refused("There is no language 'es': choose one of ru, de, fr.", "es", root)
    refused("There is no set 'europarl': choose from tatoeba, multi30k,", "de", root, sets=["europarl"])
    sentence = "There is no source 'paracrawl' for 'de': choose auto, local, opensubtitles, wmt."
    refused(sentence, "de", source="paracrawl")
    sentence = "sets=['tatoeba'] chooses files of a local folder: leave it out with source='wmt'."
    refused(sentence, "de", sets=["tatoeba"], source="wmt")


@pytest.mark.parametrize("bad", [{"dev": -1}, {"limit": 0}, {"max_words": 0}])
def test_sizes_that_make_no_sense(root, bad):
    refused("Sizes must be positive: dev=", "de", root, **bad)


def test_dev_that_leaves_nothing(root):
    refused("There are 40 English sentences to train on and dev=40 takes them all: lower dev.", "ru", root, dev=40)


def test_no_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("HEADS_DATA_ROOT", raising=False)
    refused("No folder of natural text is set: give data_root or set HEADS_DATA_ROOT", "de", source="local")
    refused(f"There is no folder {tmp_path / 'x'}: set data_root or HEADS_DATA_ROOT to one", "de", tmp_path / "x")


def test_a_folder_without_training_sets(root):
    for path in root.glob("*/*"):
        if "test_2016" not in path.name:
            path.unlink()
    refused(
        f"There is no training set for 'de' in {root}: looked for tatoeba/en-de.tsv.xz, multi30k/train.en-de-fr.tsv.xz, "
        "multi30k/val.en-de-fr.tsv.xz, wmt_tests/en-de.tsv.xz, catalogues/en-de.tsv.xz, smartool/en-de.tsv.xz.",
        "de", root,
    )  # fmt: skip


def test_wrong_columns(root):
    path = root / "catalogues/en-de.tsv.xz"
    write(path, [("wesnoth", "A dog.", "Ein Hund."), ("A cat.", "Eine Katze.")])
    refused(f"Line 2 of {path} has 2 columns, not 3.", "de", root)


@pytest.mark.parametrize("content", [b"", lzma.compress(b"")])
def test_an_empty_file(root, content):
    path = root / "catalogues/en-de.tsv.xz"
    path.write_bytes(content)
    sentence = f"The file {path} is empty: fetch it again."
    refused(sentence if content else f"The file {path} is damaged or cut off after line 0: fetch it again.", "de", root)


def test_a_cut_off_file(root):
    path = root / "tatoeba/en-de.tsv.xz"
    rows = [(f"Number {i} is {i * i % 977}.", f"Nummer {i}.") for i in range(20_000)]
    write(path, rows)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StudyError, match=rf"^The file {re.escape(str(path))} is damaged or cut off after line \d+: fetch"):
        natural.read("de", root)


def test_a_file_that_is_not_xz(root):
    path = root / "tatoeba/en-de.tsv.xz"
    path.write_bytes(b"A dog.\tEin Hund.\n")
    refused(f"The file {path} is damaged or cut off after line 0: fetch it again.", "de", root)


def test_a_file_that_is_not_utf8(root):
    path = root / "tatoeba/en-de.tsv.xz"
    path.write_bytes(lzma.compress("A dog.\tEin Hund.\nA door.\tEine Tür.\n".encode("latin-1")))
    refused(f"Line 2 of {path} is not UTF-8 text.", "de", root)


def test_a_hole_in_a_test_set(root):
    path = root / "wmt_tests/en-de.tsv.xz"
    write(path, [("newstest2017", "", "Leer."), ("newstest2018", "A dog.", " ")])
    refused(f"Line 2 of {path} has an empty sentence in the test set newstest2018.", "de", root)


# --- Hub ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A data set in the Hub's form, on disk: configuration de-en of {language: sentence}, en-fr of two columns."""
    import datasets
    import pandas as pd

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "hub"
    for config in ("de-en", "en-fr"):
        (folder / config).mkdir(parents=True)
    for split, word, count in (("train", "red", 200), ("test", "new", 20)):
        rows = [{"de": german(e), "en": e} for e in sentences(word, count)]
        pd.DataFrame({"translation": rows}).to_parquet(folder / f"de-en/{split}-0.parquet")
    rows = [{"english": e, "non_english": e.replace("The", "Le")} for e in sentences("red", 50)]
    pd.DataFrame(rows).to_parquet(folder / "en-fr/train-0.parquet")
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: de-en\n  data_files:\n  - split: train\n    path: de-en/train-*\n"
        "  - split: test\n    path: de-en/test-*\n- config_name: en-fr\n  data_files:\n  - split: train\n"
        "    path: en-fr/train-*\n---\n"
    )
    entry = natural.HubSet(str(folder), "de-en", ("translation",), 150, ("test", "newstest2014"))
    monkeypatch.setitem(natural.HUB, ("wmt", "de"), entry)
    entry = natural.HubSet(str(folder), "en-fr", ("english", "non_english"), 1000)
    monkeypatch.setitem(natural.HUB, ("opensubtitles", "fr"), entry)
    return folder


def test_a_hub_set_is_a_seeded_sample_and_a_whole_test_set(hub):
    loaded = natural.read("de", source="wmt", dev=20)
    assert {name: len(pairs) for name, pairs in loaded.splits.items()} == {"train": 130, "dev": 20, "newstest2014": 20}
    assert all(pair.target == german(pair.source) for pairs in loaded.splits.values() for pair in pairs)
    assert loaded.splits == natural.read("de", source="wmt", dev=20).splits
    assert loaded.splits["newstest2014"] == natural.read("de", source="wmt", dev=20, seed=1).splits["newstest2014"]
    small = natural.read("de", source="wmt", dev=2, limit=3).splits
    assert {name: len(pairs) for name, pairs in small.items()} == {"train": 3, "dev": 2, "newstest2014": 20}


def test_a_hub_set_of_two_columns(hub):
    splits = natural.read("fr", source="opensubtitles", dev=10).splits
    assert len(splits["train"]) == 40 and splits["train"][0].target.startswith("Le ")


def test_a_hub_set_without_the_columns_or_the_configuration(hub, monkeypatch):
    wrong = natural.HubSet(str(hub), "en-fr", ("english", "french"), 10)
    monkeypatch.setitem(natural.HUB, ("wmt", "de"), wrong)
    refused(f"The Hub set {hub} (en-fr) has no column 'french': it has english, non_english.", "de", source="wmt")
    monkeypatch.setitem(natural.HUB, ("wmt", "de"), natural.HubSet(str(hub), "en-de", ("translation",), 10))
    refused(f"The Hub set {hub} (en-de), split train, cannot be loaded (BuilderConfig 'en-de' not found.", "de", source="wmt")


def refused_by_the_hub(tmp_path, environment, sentence):
    code = (
        "from helpers.corpora import natural; from helpers.study import one_sentence\n"
        "with one_sentence(): natural.read('ru', source='wmt')"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    more = {"PYTHONPATH": str(ROOT), "HF_HOME": str(tmp_path)} | environment
    started = time.time()
    done = subprocess.run([sys.executable, "-c", code], env=clean | more, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith(f"error: {sentence}"), done.stderr
    assert "data_root" in done.stderr and time.time() - started < 30


def test_a_hub_that_cannot_be_reached_costs_one_sentence(tmp_path):
    refused_by_the_hub(tmp_path, {"HF_ENDPOINT": "http://127.0.0.1:9"}, "The Hub cannot be reached for wmt/wmt16 (")


def test_a_cache_without_the_set_costs_one_sentence(tmp_path):
    sentence = "The Hub set wmt/wmt16 (ru-en), split train, cannot be loaded ("
    refused_by_the_hub(tmp_path, {"HF_HUB_OFFLINE": "1"}, sentence)


def test_a_hub_without_the_set_costs_one_sentence(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:  # answers 404 to what it has not
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
        refused_by_the_hub(tmp_path, environment, "The Hub does not give wmt/wmt16 at revision 049ba6fb74fdfa56f")
        server.shutdown()


def test_the_papers_sets_are_declared():
    assert set(natural.HUB) == set(itertools.product(("wmt", "opensubtitles"), natural.LANGUAGES))
    for entry in natural.HUB.values():
        assert entry.revision == "main" or re.fullmatch("[0-9a-f]{40}", entry.revision)
