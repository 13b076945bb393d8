"""Dialogues with summaries: their files, specs, splits, cuts, stored clusters, and tasks and checkpoints on them."""

from __future__ import annotations

import itertools
import json
import lzma
import re
from dataclasses import replace

import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as kinds
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from helpers import corpora, heads, models, study
from helpers.corpora import dialogues, resolvers, texts, tokens, turns
from helpers.corpora.sources import normalise
from helpers.records import TURN, Dialogue, Event
from helpers.runs import subjects
from helpers.study import StudyError
from helpers.world.conversations import conversations

SIZES = {"train": 30, "dev": 6, "test": 8, "vocabulary": 300, "longest": 60}
ALL = {"train": 0, "dev": 0, "test": 0, "vocabulary": 200, "longest": 0}
SPLITS = ("train", "dev", "test")
NOUNS = "teacher sailor baker girl doctor farmer pilot nurse king clerk".split()
THINGS = "boat house letter garden".split()


def chats(word, count, form="Ann: Where is the {}?\r\nBob: I saw it in the {} {}."):
    """Distinct dialogues with summaries, told apart from other splits' by a word."""
    made = itertools.islice(itertools.product(NOUNS, THINGS), count)
    return [{"id": "1", "dialogue": form.format(n, word, t), "summary": f"The {n} \n is away."} for n, t in made]


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(lzma.compress(text) if path.suffix == ".xz" else text)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """SAMSum as it is fetched, DialogSum as plain files, in a local folder."""
    folder = tmp_path / "local"
    for split, word, count in (("train", "red", 30), ("val", "blue", 8), ("test", "white", 12)):
        write_rows(folder / f"samsum/{split}.jsonl.xz", chats(word, count))
        form = "#Person1#: Where is the {}?\n#Person2#: In the {} {}, #Person1#."
        rows = chats(word, count, form)
        if split == "test":
            rows = [{"dialogue": row["dialogue"], "summary1": row["summary"], "summary2": "No."} for row in rows]
        write_rows(folder / f"dialogsum/{'dev' if split == 'val' else split}.jsonl", rows)
    monkeypatch.setenv("HEADS_DATA_ROOT", str(folder))
    return folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def store(kept, monkeypatch):
    """Generated dialogues are made once for all tests that look at them."""
    monkeypatch.setenv("HEADS_DATA", str(kept))


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A byte-level tokenizer as one downloads it, which puts an id before a text and one after it."""
    inner = Tokenizer(kinds.BPE())
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<mask>"]
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=letters, show_progress=False)
    inner.train_from_iterator([row.source for row in itertools.islice(conversations(9), 20)], trainer)
    inner.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    named = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "mask_token": "<mask>"}
    folder = tmp_path_factory.mktemp("tokenizer")
    PreTrainedTokenizerFast(tokenizer_object=inner, **named).save_pretrained(folder)
    return str(folder)


def made(name="dialogues", sizes=SIZES, seed=3, tokenizer=""):
    return corpora.prepare(dialogues.spec(sizes, name, seed, tokenizer))


def pairs(folder, split):
    return corpora.read_pairs(corpora.file(folder, split))


def whole(folder, split):
    return corpora.read_dialogues(corpora.file(folder, split, "dialogues"))


def report(folder):
    return pd.read_csv(folder / "report.csv").set_index("split")


def refused(sentence, call, *arguments):
    with pytest.raises(StudyError, match=f"^{re.escape(sentence)}") as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)


# --- files of dialogues ----------------------------------------------------------------------------------------------

ROW = {"source": "# A : hi", "target": "x", "words": ["#", "A", ":", "hi"], "turns": [[0, 3, 4]]}


def test_dialogues_are_read_as_they_were_written(tmp_path):
    written = [
        Dialogue(
            "# Zoë : I am\u2028. # Tom : ok", "Zoë is.", ("#", "Zoë", ":", "I", "am", ".", "#", "Tom", ":", "ok"),
            ((0, 3, 6), (6, 9, 10)), (((1, 2), (3, 4)),), (Event("give", "Zoë", "lamp", "Tom"), Event("lose", "Tom")), "a set",
        ),
        Dialogue("# A : hi", "", ("#", "A", ":", "hi"), ((0, 3, 4),)),
    ]  # fmt: skip
    path = tmp_path / "a" / "b.jsonl"
    corpora.write(path, iter(written))
    assert corpora.read_dialogues(path) == written
    lines = path.read_text(encoding="utf-8").split("\n")
    assert len(lines) == 3 and "Zoë" in lines[0] and "clusters" not in lines[1]


@pytest.mark.parametrize(
    "line",
    ["{", "[1]", "3", '"x"', '{"source": "x", "target": "x", "words": ["x"]}', json.dumps(ROW | {"more": 1}),
     json.dumps(ROW | {"clusters": [[1]]}), json.dumps(ROW | {"events": [{"who": "A"}]}), json.dumps(ROW | {"words": None}),
     json.dumps({name: ROW[name] for name in ("source", "words", "turns")}), '{"source": "Tü'],
)  # fmt: skip
def test_a_broken_line_of_dialogues_is_named(tmp_path, line):
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps(ROW).encode() + b"\n" + line.encode().removesuffix(b"\xbc"))  # half a letter
    refused(f"Line 2 of {path} is not a dialogue (", corpora.read_dialogues, path)


def test_files_without_dialogues(tmp_path):
    path = tmp_path / "x.jsonl"
    refused(f"There is no file {path}: prepare the corpus first.", corpora.read_dialogues, path)
    path.write_text("")
    refused(f"The file {path} holds no dialogues: prepare the corpus anew.", corpora.read_dialogues, path)


# --- specs -----------------------------------------------------------------------------------------------------------


def test_a_spec_holds_what_the_corpus_depends_on(root):
    spec = dialogues.spec(SIZES | {"steps": 5}, "dialogues", 1)  # other settings of a task stay out
    fixed = {"task": "summarization", "layout": "dialogue", "name": "dialogues", "corpus": "controlled", "seed": 1}
    assert spec == fixed | SIZES | {"tokenizer": ""} == dialogues.spec(SIZES, "dialogues", 1)
    others = [dialogues.spec(SIZES | {size: 77}, "dialogues", 1) for size in SIZES]
    others += [dialogues.spec(SIZES, "dialogues", 2), dialogues.spec(SIZES, "dialogues", 1, "facebook/bart-large")]
    others += [dialogues.spec(SIZES, name, 1) for name in dialogues.SOURCES if name != "dialogues"]
    assert len({study.key(s) for s in (spec, *others)}) == len(others) + 1
    assert {s["name"]: s["corpus"] for s in others if s["corpus"] != "controlled"} == dict.fromkeys(
        ("samsum", "dialogsum", "samsum-hub", "dialogsum-hub"), "natural"
    )


@pytest.mark.parametrize(("name", "dev"), [("samsum", "samsum/val.jsonl.xz"), ("dialogsum", "dialogsum/dev.jsonl")])
def test_a_spec_knows_local_files_by_their_contents(root, name, dev):
    before = dialogues.spec(ALL, name, 1)
    assert before == dialogues.spec(ALL, name, 1)
    write_rows(root / dev, chats("blue", 9))
    assert dialogues.spec(ALL, name, 1)["files"] != before["files"]
    sentence = f"The local files of {name} are not those that the spec was written for: write the spec anew."
    refused(sentence, corpora.prepare, before)


def test_names_and_sizes_that_make_no_sense(root):
    refused("There are no dialogues 'reports': choose one of dialogues, samsum, dia", dialogues.spec, ALL, "reports", 1)
    for size in SIZES:
        few = {name: value for name, value in SIZES.items() if name != size}
        sentence = f"The sizes of a set of dialogues are train, dev, test, vocabulary, longest: {size!r} is missing."
        refused(sentence, dialogues.spec, few, "dialogues", 1)
    for size in ("train", "dev", "test", "vocabulary"):
        sentence = f"The size {size!r} of dialogues is 0: give a whole number of 1 or more."
        refused(sentence, dialogues.spec, SIZES | {size: 0}, "dialogues", 1)
    refused("The size 'vocabulary' of samsum is 0:", dialogues.spec, ALL | {"vocabulary": 0}, "samsum", 1)
    for size, bad in itertools.product(("train", "longest"), (-1, 2.0, "2", True, None)):
        sentence = f"The size {size!r} of samsum is {bad!r}: give a whole number of 0 or more."
        refused(sentence, dialogues.spec, ALL | {size: bad}, "samsum", 1)
    assert dialogues.spec(SIZES | {"longest": 0}, "dialogues", 1)["longest"] == 0


def test_no_folder_or_file(root, monkeypatch, tmp_path):
    (root / "samsum/val.jsonl.xz").unlink()
    refused(f"There is no file {root / 'samsum/val.jsonl.xz'}: fetch it, see", dialogues.spec, ALL, "samsum", 1)
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path / "x"))
    refused(f"There is no folder {tmp_path / 'x'}: set HEADS_DATA_ROOT to one", dialogues.spec, ALL, "samsum", 1)
    monkeypatch.delenv("HEADS_DATA_ROOT")
    refused("No folder of natural text is set: set HEADS_DATA_ROOT, see", dialogues.spec, ALL, "dialogsum", 1)


# --- generated dialogues -----------------------------------------------------------------------------------------------


def test_generated_splits_are_full_and_share_nothing(store):
    folder = made()
    rows = {split: whole(folder, split) for split in SPLITS}
    assert {split: len(found) for split, found in rows.items()} == {split: SIZES[split] for split in SPLITS}
    assert len({normalise(row.source) for found in rows.values() for row in found}) == 44
    assert [len(pairs(folder, split)) for split in SPLITS] == [30, 6, 8]
    found = report(folder)
    assert list(found.index) == ["test", "dev", "train"] and list(found.columns) == list(dialogues.REPORT)
    assert found["kept"].to_dict() == {split: SIZES[split] for split in SPLITS}
    assert (found[["empty", "overlap", "duplicate", "over_limit", "kept"]].sum(axis=1) == found["rows"]).all()


def test_generated_text_follows_from_its_seed(store):
    folder, more = made(), made(sizes=SIZES | {"train": 40})
    assert whole(more, "test") == whole(folder, "test") and whole(more, "train")[:30] == whole(folder, "train")
    assert whole(made(seed=4), "test") != whole(folder, "test")


def test_the_same_spec_makes_the_same_files(store, tmp_path, monkeypatch):
    first = made()
    monkeypatch.setenv("HEADS_DATA", str(tmp_path / "again"))
    again = made()
    first, again = first.parent, again.parent
    names = {str(path.relative_to(first)) for path in first.rglob("*") if path.is_file() and path.name != "made.json"}
    parts = {"train": "weights", "dev": "results", "test": "results"}  # training text lies apart
    files = {f"{part}/{folder}{split}.jsonl" for split, part in parts.items() for folder in ("", "dialogues/")}
    assert names == files | {"results/report.csv", "results/vocabulary.json"}
    assert first != again and all((first / name).read_bytes() == (again / name).read_bytes() for name in names)


def test_repeated_generated_dialogues_are_left_out_and_counted(monkeypatch):
    from helpers.world import conversations

    known = list(itertools.islice(conversations.conversations(1), 6))
    again = (replace(known[number], origin="x") for number in [0, 0, 1, 0, 2, 2, 3, 1, 4, 5])
    monkeypatch.setattr(conversations, "conversations", lambda seed: again)
    folder = made(sizes=SIZES | {"test": 2, "dev": 1, "train": 3})
    assert [row.source for row in whole(folder, "train")] == [row.source for row in known[3:]]
    found = report(folder)
    assert found["rows"].tolist() == [3, 2, 5] and found["kept"].tolist() == [2, 1, 3]
    assert found["duplicate"].tolist() == [1, 0, 0] and found["overlap"].tolist() == [0, 1, 2]


def test_one_vocabulary_covers_dialogues_and_summaries(store):
    folder = made()
    side = dialogues.vocabulary(dialogues.spec(SIZES, "dialogues", 3), folder)
    assert side.own and 60 < side.size <= 300
    for split in SPLITS:
        for row in whole(folder, split):
            for text in (row.source, row.target):
                ids = side.encode(text)
                assert 2 not in ids and max(ids) < side.size and side.decode_all([ids]) == [text]


def test_letters_of_summaries_alone_are_learnt_too(root):
    write_rows(root / "samsum/train.jsonl.xz", [row | {"summary": "Déjà."} for row in chats("red", 30)])
    folder = made("samsum", ALL)
    side = texts.subwords(folder)
    assert side.decode_all(side.encode_all([row.target for row in whole(folder, "train")])) == ["déjà."] * 30


def test_words_of_pairs_stand_in_their_source(store):
    folder = made(sizes=SIZES | {"longest": 0})
    for pair, row in zip(pairs(folder, "train"), whole(folder, "train"), strict=True):
        assert (pair.source, pair.words, pair.target) == (row.source, row.words, row.target)
        assert pair.source == " ".join(pair.words) and pair.origin == row.origin == "controlled-dialogues"
        assert row.turns[-1][2] == len(row.words) and all(row.words[start] == TURN for start, _, _ in row.turns)
        assert row.clusters and row.events
    assert not report(folder)[["cut", "mentions_lost"]].any().any()


def test_a_task_of_dialogues_encodes_and_batches(store):
    spec = dialogues.spec(SIZES, "dialogues", 3)
    task = subjects.of_text(spec)
    assert (task.kind, task.tests, task.metrics) == ("summarization", ["test"], subjects.METRICS["summarization"])
    assert task.folder == made() and task.source is task.target and task.corpus == spec
    batches = list(task.epoch(400, 5, torch.device("cpu"))(0))
    assert sorted(torch.cat([batch["index"] for batch in batches]).tolist()) == list(range(30))
    read = pairs(task.folder, "train")
    for batch in batches:
        assert batch["input_ids"].numel() + batch["labels"].numel() <= 400 and batch["input_ids"].shape[1] <= 60
        for row, index in enumerate(batch["index"].tolist()):
            labels = batch["labels"][row]
            assert labels[labels != -100].tolist() == task.target.encode(read[index].target)
            length = int(batch["attention_mask"][row].sum())
            assert batch["input_ids"][row, :length].tolist() == task.source.encode(read[index].source)


# --- dialogues that are too long ---------------------------------------------------------------------------------------


def test_dialogues_are_cut_after_the_last_word_that_fits():
    """A mark and two letters a word, and one id that ends the text."""
    side = tokens.Subwords(tokens.learn_vocabulary(["aa bb cc"], 7))
    row = Dialogue("aa bb cc", "x", ("aa", "bb", "cc"), ((0, 1, 3),))
    assert [dialogues.kept_words([row], side, longest) for longest in (0, 99, 11, 10)] == [[3]] * 4
    assert [dialogues.kept_words([row], side, longest) for longest in (9, 8, 7, 6, 5, 4)] == [[2]] * 3 + [[1]] * 3
    assert dialogues.kept_words([row, replace(row, source="aa bb", words=("aa", "bb"))], side, 8) == [2, 2]


@pytest.mark.parametrize("longest", [40, 61, 90])
@pytest.mark.parametrize("own", [True, False])
def test_cut_dialogues_fill_the_limit_and_no_more(store, pretrained, own, longest):
    spec = dialogues.spec(SIZES | {"longest": longest}, "dialogues", 3, "" if own else pretrained)
    folder = corpora.prepare(spec)
    side = dialogues.vocabulary(spec, folder)
    assert side.own == own == (folder / "vocabulary.json").exists()
    ends = 0
    for split in SPLITS:
        cut = lost = 0
        for pair, row in zip(pairs(folder, split), whole(folder, split), strict=True):
            size = len(pair.words)
            assert pair.words == row.words[:size] and pair.source == " ".join(pair.words) and pair.target == row.target
            assert len(side.encode(pair.source)) <= longest
            assert max(side.word_ids(pair.source, pair.words)) == size - 1
            if size < len(row.words):
                assert len(side.encode(" ".join(row.words[: size + 1]))) > longest
                ends += len(side.encode(pair.source)) == longest
            cut += size < len(row.words)
            lost += sum(any(word >= size for word in range(*span)) for cluster in row.clusters for span in cluster)
        assert report(folder).loc[split, ["cut", "mentions_lost"]].tolist() == [cut, lost]
    assert ends  # some end on the last subword that there may be
    assert report(folder)["cut"].sum() > 20 and report(folder)["mentions_lost"].sum() > 20
    full = made(sizes=SIZES | {"longest": 0})
    assert all(whole(folder, split) == whole(full, split) for split in SPLITS)


def test_a_mention_that_is_cut_through_is_lost(monkeypatch):
    from helpers.world import conversations

    words = tuple("# a : the big lamp is a lamp".split())
    row = Dialogue(" ".join(words), "x", words, ((0, 3, 9),), (((1, 2), (8, 9)), ((3, 6), (7, 8))))
    rows = [row, *itertools.islice(conversations.conversations(1), 6)]
    monkeypatch.setattr(conversations, "conversations", lambda seed: iter(rows))
    sizes = SIZES | {"test": 1, "dev": 1, "train": 5, "vocabulary": 40, "longest": 15}
    folder = made(sizes=sizes)  # a vocabulary of letters
    assert pairs(folder, "test")[0].words == words[:5]
    assert report(folder).loc["test", ["cut", "mentions_lost"]].tolist() == [1, 3]  # all but "a"


# --- natural dialogues -------------------------------------------------------------------------------------------------


def test_a_dialogue_of_test_or_dev_is_in_no_other_split(root):
    train, blue, white = chats("red", 30), chats("blue", 8), chats("white", 12)
    shout = white[1] | {"dialogue": white[1]["dialogue"].upper().replace("\r\n", "\n\n").replace("?", "!")}
    rows = [*train, white[0], shout, blue[2], train[4], train[5] | {"summary": "Another."}]
    write_rows(root / "samsum/train.jsonl.xz", [*rows, train[0] | {"dialogue": "Eve: New?", "summary": " \n"}])
    write_rows(root / "samsum/val.jsonl.xz", [*blue, white[3], blue[7]])
    write_rows(root / "samsum/test.jsonl.xz", [*white, white[0]])
    folder = made("samsum", ALL)
    keys = {split: [normalise(row.source) for row in whole(folder, split)] for split in SPLITS}
    assert not any(set(keys[one]) & set(keys[other]) for one, other in itertools.combinations(keys, 2))
    assert len(keys["train"]) == len(set(keys["train"])) == 30 and len(keys["dev"]) == 8
    sources = [turns.from_text(row["dialogue"], "", "").source for row in (*white, white[0])]
    assert [row.source for row in whole(folder, "test")] == sources  # a test set stays as it is
    found = report(folder)
    assert found.loc["train", ["rows", "empty", "overlap", "duplicate", "kept"]].tolist() == [36, 1, 3, 2, 30]
    assert found.loc["dev", ["rows", "empty", "overlap", "duplicate", "kept"]].tolist() == [10, 0, 1, 1, 8]
    assert found.loc["test", ["rows", "duplicate", "kept"]].tolist() == [13, 0, 13]
    parts = found[["empty", "overlap", "duplicate", "over_limit", "kept"]]
    assert (parts.sum(axis=1) == found["rows"]).all() and not found[["cut", "mentions_lost"]].any().any()


def test_dialogues_without_words_are_left_out_and_counted(root):
    write_rows(root / "samsum/train.jsonl.xz", [*chats("red", 30), {"dialogue": " \r\n", "summary": "Nothing."}])
    assert report(made("samsum", ALL)).loc["train", ["rows", "empty", "kept"]].tolist() == [31, 1, 30]


def test_natural_dialogues_keep_case_turns_and_words(root):
    folder = made("samsum", ALL)
    row, pair = whole(folder, "test")[0], pairs(folder, "test")[0]
    assert row.source == pair.source == "# Ann : Where is the teacher ? # Bob : I saw it in the white boat ."
    assert row.turns == ((0, 3, 8), (8, 11, 19)) and pair.words == row.words and row.clusters == row.events == ()
    assert pair.target == row.target == "The teacher is away." and pair.origin == row.origin == "samsum"


def test_speakers_of_dialogsum_are_called_without_marks(root):
    row = turns.from_text("#Person1#: hi\n#Person2#: hello", "", "")
    assert row.words == ("#", "Person1", ":", "hi", "#", "Person2", ":", "hello") and row.turns == ((0, 3, 4), (4, 7, 8))
    folder = made("dialogsum", ALL)
    names = {" ".join(row.words[at + 1 : speech - 1]) for row in whole(folder, "train") for at, speech, _ in row.turns}
    assert names == {"Person1", "Person2"} and {len(row.turns) for row in whole(folder, "train")} == {2}
    assert report(folder)["kept"].to_dict() == {"test": 12, "dev": 8, "train": 30}
    assert pairs(folder, "test")[0].target == "The teacher is away."  # the first of three


def test_fewer_natural_dialogues_are_a_part_of_more(root):
    def split(name, seed=3, **sizes):
        return [row.source for row in whole(made("samsum", ALL | sizes, seed), name)]

    order, some, few = split("train"), split("train", train=20), split("train", train=5)
    assert len(few) == 5 and order[:5] == some[:5] == few and order[:20] == some and len(order) == 30
    assert order != split("train", 4) and set(order) == set(split("train", 4))
    for name in ("dev", "test"):
        every, some, few = split(name), split(name, **{name: 6}), split(name, **{name: 3})
        assert len(few) == 3 and set(few) < set(some) < set(every) and set(some) != set(every[:6])
        assert set(split(name, 5, **{name: 3})) != set(few)
    found = report(made("samsum", ALL | {"train": 20, "dev": 6}))
    assert found["over_limit"].to_dict() == {"test": 0, "dev": 2, "train": 10}


def test_natural_dialogues_are_cut_too(root, pretrained):
    for tokenizer in ("", pretrained):
        spec = dialogues.spec(ALL | {"longest": 16}, "samsum", 1, tokenizer)
        folder = corpora.prepare(spec)
        side = dialogues.vocabulary(spec, folder)
        sizes = [len(side.encode(row.source)) for row in whole(folder, "train")]
        assert report(folder).loc["train", "cut"] == sum(size > 16 for size in sizes) > 0
        assert max(len(side.encode(pair.source)) for pair in pairs(folder, "train")) <= 16
        assert len(whole(folder, "train")[0].words) == 19


def test_a_split_with_nothing_left_is_refused(root):
    write_rows(root / "samsum/train.jsonl.xz", chats("white", 10))
    sentence = "Nothing is left of samsum in train: lower the other splits or take other dialogues."
    refused(sentence, made, "samsum", ALL)


def test_a_broken_line_of_a_local_file_is_named(root):
    path = root / "samsum/train.jsonl.xz"
    for row, sentence in (
        ({"dialogue": "Ann: hi"}, f"Line 2 of {path} has no field 'summary': it has dialogue."),
        ({"dialogue": None, "summary": "x"}, f"Line 2 of {path} holds no text in 'dialogue' or 'summary': fetch"),
        (["x"], f"Line 2 of {path} is not a JSON object ("),
    ):
        write_rows(path, [chats("red", 1)[0], row])
        refused(sentence, made, "samsum", ALL)


def test_a_tokenizer_that_is_not_there_costs_one_sentence(root, tmp_path):
    refused(f"Cannot load the tokenizer '{tmp_path / 'x'}' (", made, "samsum", ALL, 1, str(tmp_path / "x"))


# --- Hub ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["samsum-hub", "dialogsum-hub"])
def test_a_cache_without_the_set_costs_one_sentence(monkeypatch, tmp_path, name):
    import datasets
    import huggingface_hub

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    where = f"knkarthick/{name.removesuffix('-hub')} (default)"
    refused(f"The Hub set {where}, split test, cannot be loaded (", made, name, ALL)


def test_a_hub_set_of_dialogues(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "set"
    folder.mkdir()
    for split, word, count in (("train", "red", 20), ("validation", "blue", 6), ("test", "white", 5)):
        pd.DataFrame(chats(word, count)).to_parquet(folder / f"{split}-0.parquet")
    files = "".join(f"  - split: {s}\n    path: {s}-*\n" for s in ("train", "validation", "test"))
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n")
    source = replace(dialogues.SOURCES["samsum-hub"], hub=str(folder))
    monkeypatch.setitem(dialogues.SOURCES, "samsum-hub", source)
    found = made("samsum-hub", ALL | {"train": 15})
    assert report(found)["kept"].to_dict() == {"test": 5, "dev": 6, "train": 15}
    assert whole(found, "test")[0].source == "# Ann : Where is the teacher ? # Bob : I saw it in the white boat ."
    assert whole(found, "test")[0].origin == str(folder)


def test_every_source_says_where_it_comes_from():
    for name, source in dialogues.SOURCES.items():
        assert source.task == texts.SUMMARIZATION and source.what, name
        assert (source.corpus == "natural") == bool(source.hub or source.files) == bool(source.columns), name
        assert not (source.hub and source.files) and bool(source.hub) == name.endswith("-hub"), name


# --- who is who ------------------------------------------------------------------------------------------------------


def clusters_made():
    return sorted((study.data() / "clusters").glob("[!.]*"))


def test_gold_clusters_are_those_of_the_dialogues(store):
    folder = made()
    assert dialogues.resolved(folder, "dev", "gold") == [row.clusters for row in whole(folder, "dev")]
    assert not clusters_made()


def test_clusters_of_a_resolver_are_stored_once_a_split(root):
    folder = made("samsum", ALL)
    found = dialogues.resolved(folder, "dev", "rule")
    assert found == resolvers.resolver("rule")(whole(folder, "dev")) and any(found)
    (place,) = clusters_made()
    made_json = json.loads((place / "made.json").read_text())
    altered, file = [[[[0, 1], [2, 4]]]] + [[]] * 7, place / "results" / "clusters.json"
    study.write_json(file, altered)
    refused(f"The stored file {file} is damaged: delete", dialogues.resolved, folder, "dev", "rule")
    made_json["files"] = {"results/clusters.json": study.digest(file)}
    study.write_json(place / "made.json", made_json)
    assert dialogues.resolved(folder, "dev", "rule") == [(((0, 1), (2, 4)),)] + [()] * 7  # what is there is not made anew
    assert len(dialogues.resolved(folder, "test", "rule")) == 12 and len(clusters_made()) == 2
    other = made("dialogsum", ALL)
    assert len(dialogues.resolved(other, "dev", "rule")) == 8 and len(clusters_made()) == 3


def links(row, *pairs):
    """A row of a file of links between words of a dialogue."""
    sources, targets = zip(*pairs, strict=True)
    cells = (" ".join(f"Ġ{word}" for word in row.words), "[]", str(list(sources)), str(list(targets)), str(len(row.words)))
    return " ##### ".join(cells) + "\n"


def test_stored_links_are_known_by_their_contents(root, tmp_path):
    folder, path = made("samsum", ALL), tmp_path / "links.source"
    rows = whole(folder, "dev")
    path.write_text("".join(links(row, (4, 1)) for row in rows), "utf-8")
    first = dialogues.resolved(folder, "dev", f"stored:{path}")
    assert first == [(((1, 2), (4, 5)),)] * 8 == dialogues.resolved(folder, "dev", f"stored:{path}")
    assert len(clusters_made()) == 1
    path.write_text("".join(links(row, (4, 1), (9, 6)) for row in rows), "utf-8")
    assert dialogues.resolved(folder, "dev", f"stored:{path}") == [(((1, 2), (4, 5)), ((6, 7), (9, 10)))] * 8
    assert len(clusters_made()) == 2
    sentence = f"The file {path} has 8 rows for 12 dialogues: give those of the same set."
    refused(sentence, dialogues.resolved, folder, "test", f"stored:{path}")
    path.unlink()
    refused(f"The file {path} cannot be read: No such file", dialogues.resolved, folder, "dev", f"stored:{path}")


def test_clusters_that_cannot_be_had_leave_nothing_behind(root):
    folder = made("samsum", ALL)
    refused("There is no resolver 'magic': choose one of", dialogues.resolved, folder, "dev", "magic")
    refused("There are no gold clusters in dialogue 0 of samsum: choose", dialogues.resolved, folder, "dev", "gold")
    assert not clusters_made()
    missing = folder / "dialogues/valid.jsonl"
    refused(f"There is no file {missing}: prepare the corpus first.", dialogues.resolved, folder, "valid", "rule")


# --- pretrained models on dialogues ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(pretrained, tmp_path_factory):
    """A folder as one downloads it: a tiny model of the BART class with its tokenizer."""
    folder, tokenizer = tmp_path_factory.mktemp("checkpoint"), models.load_tokenizer(pretrained)
    shape = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16, "dropout": 0.0}
    models.build_bart(shape, len(tokenizer), 1).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_task_takes_the_vocabulary_of_a_checkpoint(store, checkpoint):
    corpus = dialogues.spec(SIZES, "dialogues", 3, str(checkpoint))
    subject = subjects.of_spec(subjects.checkpoint_spec(str(checkpoint), corpus, 1), "")
    task = subjects.text_of({"corpus": corpus, "start": {"pretrained": str(checkpoint)}})
    assert task.kind == "summarization" and task.source.encode("a lamp") == subject.source.encode("a lamp")
    assert task.folder == subject.folder == corpora.prepare(corpus) and not (task.folder / "vocabulary.json").exists()
    given = task.held_out(400, 4, torch.device("cpu"))
    ids = {
        tuple(row[mask.bool()].tolist()) for b in given for row, mask in zip(b["input_ids"], b["attention_mask"], strict=True)
    }
    assert ids == {tuple(subject.source.encode(pair.source)) for pair in task.pairs("dev")[:4]}
    assert max(map(len, ids)) <= 60 and {(row[0], row[-1]) for row in ids} == {(0, 2)}
    with torch.no_grad():
        assert subject.model(**models.inputs(given[0])).loss.isfinite()
    assert {site.kind for site in heads.sites(subject.model)} == {"encoder", "decoder", "cross"}


def test_the_spec_of_a_checkpoint_knows_weights_and_text(store, checkpoint, tmp_path):
    corpus = dialogues.spec(SIZES, "dialogues", 3, str(checkpoint))
    spec = subjects.checkpoint_spec(str(checkpoint), corpus, 1)
    assert spec["pretrained"] == str(checkpoint) and spec["corpus"] == corpus and spec["seed"] == 1
    assert spec["files"] == [study.digest(checkpoint / "model.safetensors")] and spec["corpus"] is not corpus
    others = [subjects.checkpoint_spec(str(checkpoint), corpus, 2), subjects.checkpoint_spec(str(tmp_path), corpus, 1)]
    others.append(subjects.checkpoint_spec(str(checkpoint), dialogues.spec(SIZES, "dialogues", 4, str(checkpoint)), 1))
    (tmp_path / "model.safetensors").write_bytes(b"other")
    others.append(subjects.checkpoint_spec(str(tmp_path), corpus, 1))
    assert len({study.key(s) for s in (spec, *others)}) == 5
    assert subjects.checkpoint_spec("facebook/bart-large", corpus, 1)["files"] == []
