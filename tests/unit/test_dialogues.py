"""Dialogues with summaries: their words, cuts, stored clusters, and tasks and checkpoints on them (splits: test_texts)."""

import itertools

import pytest

from helpers import corpora, study
from helpers.corpora import dialogues, resolvers
from helpers.pretrained import PACKAGES
from helpers.runs import subjects
from helpers.world import conversations
from tests.unit import tiny_pretrained
from tests.unit.tiny_text import SPLITS, refused, write_chats

SIZES = {"train": 30, "dev": 6, "test": 8, "vocabulary": 300, "longest": 60}
ALL = {"train": 0, "dev": 0, "test": 0, "vocabulary": 200, "longest": 0}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """SAMSum as it is fetched, a set of our own as plain files, in a local folder."""
    write_chats(tmp_path / "local")
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path / "local"))
    return tmp_path / "local"


@pytest.fixture
def store(tmp_path_factory, monkeypatch):
    """Generated dialogues are made once for all tests that look at them."""
    monkeypatch.setenv("HEADS_DATA", str(tmp_path_factory.getbasetemp() / "dialogues"))


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A tokenizer as one downloads it."""
    folder = tmp_path_factory.mktemp("tokenizer")
    texts = [row.source for row in itertools.islice(conversations.conversations(9), 20)]
    tiny_pretrained.tokenizer(texts, "bert").save_pretrained(folder)
    return str(folder)


def made(name="dialogues", sizes=SIZES, seed=3, tokenizer=""):
    return corpora.prepare(dialogues.spec(sizes, name, seed, tokenizer))


def pairs(folder, split):
    return corpora.read_pairs(corpora.file(folder, split))


def whole(folder, split):
    return corpora.read_dialogues(corpora.file(folder, split, "dialogues"))


@pytest.mark.parametrize(("own", "longest"), [(True, 40), (False, 61)])
def test_cut_dialogues_fill_the_limit_and_no_more(store, pretrained, own, longest):
    spec = dialogues.spec(SIZES | {"longest": longest}, "dialogues", 3, "" if own else pretrained)
    folder = corpora.prepare(spec)
    side = subjects.of_text(spec, spec["tokenizer"]).source
    assert side.own == own == (folder / "vocabulary.json").exists()
    full = made(sizes=SIZES | {"longest": 0})
    for split in SPLITS:
        assert whole(folder, split) == whole(full, split)
        for pair, row in zip(pairs(folder, split), whole(folder, split), strict=True):
            size = len(pair.words)
            assert pair.words == row.words[:size] and pair.source == " ".join(pair.words) and pair.target == row.target
            assert len(side.encode(pair.source)) <= longest
            assert size == len(row.words) or len(side.encode(" ".join(row.words[: size + 1]))) > longest


def test_natural_dialogues_keep_case_turns_and_words(root):
    folder = made("samsum", ALL)
    row, pair = whole(folder, "test")[0], pairs(folder, "test")[0]
    assert row.source == pair.source == "# Ann : Where is the teacher ? # Bob : I saw it in the white boat ."
    assert row.turns == ((0, 3, 8), (8, 11, 19)) and pair.words == row.words and row.clusters == row.events == ()
    assert pair.target == row.target == "The teacher is away." and pair.origin == row.origin == "samsum"
    folder = made("calls", ALL)  # a folder, which no list in the code names
    names = {" ".join(row.words[at + 1 : speech - 1]) for row in whole(folder, "train") for at, speech, _ in row.turns}
    assert names == {"Person1", "Person2"}
    assert pairs(folder, "test")[0].target == "The teacher is away."
    refused("/nowhere/x", made, "samsum", ALL, 1, "/nowhere/x")  # no such tokenizer


def clusters_made():
    return sorted((study.data() / "clusters").glob("[!.]*"))


def test_clusters_of_a_resolver_are_stored_once_a_split(store, root, tmp_path, monkeypatch):
    assert dialogues.resolved(made(), "dev", "gold") == [row.clusters for row in whole(made(), "dev")]
    monkeypatch.setenv("HEADS_DATA", str(tmp_path / "data"))
    folder = made("samsum", ALL)
    found = dialogues.resolved(folder, "dev", "rule")
    assert found == resolvers.resolver("rule")(whole(folder, "dev")) and any(found)
    (place,) = clusters_made()
    file = place / "results" / "clusters.json"
    study.write_json(file, [[[[0, 1], [2, 4]]]] + [[]] * 7)
    refused(f"{file} is damaged", dialogues.resolved, folder, "dev", "rule")
    assert len(dialogues.resolved(folder, "train", "rule")) == 30 and len(clusters_made()) == 2


def test_the_spec_of_a_checkpoint_knows_weights_and_text(store, pretrained, tmp_path):
    corpus, other = (dialogues.spec(SIZES, "dialogues", seed, pretrained) for seed in (3, 4))
    specs = [subjects.checkpoint_spec(pretrained, *told) for told in ((corpus, 1), (corpus, 2), (other, 1))]
    for weights in (b"some", b"other"):
        (tmp_path / "model.safetensors").write_bytes(weights)
        specs.append(subjects.checkpoint_spec(str(tmp_path), corpus, 1))
    assert len({study.key(spec) for spec in specs}) == 5
    assert subjects.checkpoint_spec("facebook/bart-large", corpus, 1)["files"] == []
    assert subjects.checkpoint_spec("smollm2", corpus, 1)["files"] == [PACKAGES["smollm2"].sha256]
