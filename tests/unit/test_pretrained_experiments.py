"""Experiments on pretrained models, on a tiny Llama and a tiny BERT: what is read, what is counted, what tables hold."""

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import study
from helpers.corpora import parsing
from helpers.experiments import functions, pretrained
from helpers.experiments import pretrained_dialogues as dialogues
from helpers.experiments import pretrained_functions as functions_of
from helpers.experiments import pretrained_measured as measured
from helpers.experiments import pretrained_removed as removed
from helpers.experiments import pretrained_text as text
from helpers.measures import ranks, worth
from helpers.methods import coreference
from helpers.methods.coreference.matrices import batched
from helpers.runs.passages import batches
from helpers.study import StudyError
from tests.unit import tiny_pretrained

STORE = "pretrained"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    tiny_pretrained.make(place)
    return place


@pytest.fixture(autouse=True)
def settings(isolated, folder, monkeypatch):
    monkeypatch.setenv("HEADS_DATA_ROOT", str(folder))
    monkeypatch.setenv("HEADS_DEVICE", "cpu")
    return tiny_pretrained.settings(folder)


@pytest.mark.parametrize("name", pretrained.TABLES)
def test_every_table_is_tidy_and_as_the_committed_one(name, settings):
    table, committed = pretrained.TABLES[name](settings), study.ROOT / "figures" / "pretrained" / f"{name}.csv"
    assert len(table) and isinstance(table.index, pd.RangeIndex) and table.columns.is_unique
    if committed.exists():
        assert list(table.columns) == list(pd.read_csv(committed, nrows=1))
    if "perplexity" in table:
        assert table.heads[0] == 0 and table.change[0] == 0 and (table.low <= table.perplexity).all()
    if {"layer", "head"} <= set(table.columns):
        assert table.layer.min() >= 1 and table["head"].between(1, 12).all()


def test_the_last_verb_is_guessed_for_objects_of_odd_sentences():
    words, tags = "she told the man to buy bread they ate".split(), "PRON VERB DET NOUN PART VERB NOUN PRON VERB".split()
    heads, relations = (1, -1, 3, 1, 5, 1, 1, 8, 6), ("nsubj", "root", "det", "dobj", "mark", "xcomp", "dobj", "nsubj", "relcl")
    parse = parsing.Parse(tuple(words), heads, relations, "", tuple(tags))
    assert functions_of.last_verb([parse, parse]).to_numpy().tolist() == [[1, True], [1, False]]


def test_choices_are_compared_at_as_many_heads(settings):
    table = pd.concat([pretrained.TABLES[name](settings) for name in ("removed_at_once", "drawn_at_once")])
    table = table.dropna(subset="by").fillna({"random": ""}).drop_duplicates(["by", "random", "draw", "heads"])
    change = table.groupby(["by", "random", "heads"]).change.mean()
    others = {"gradient, example": ("gradient, example", ""), "random": ("random", "any")}
    found = pretrained.TABLES["compared"](settings).query("by in @table.by")
    for row in found.itertuples():
        one = change[row.by, "any" if row.by == "random" else "", row.heads]
        assert row.change == pytest.approx(one - change[*others.get(row.minus, (row.by, "same number a layer")), row.heads])
    assert set(found.minus) == {*others, "random, same layers"}


# --- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["decoder", "encoder"])
def test_tokens_belong_to_the_words_that_they_spell(side, settings):
    name = settings["pretrained"][side]
    read, tokenizer = text.sentences(name, "ewt", 12), text.pretrained(name)[1]
    parses = text.treebank("ewt")
    for batch in read.batches:
        for ids, mask, special, words, place in zip(*batch.values(), strict=True):
            real = ids[mask == 1].tolist()
            marked = words[mask == 1].tolist()
            parse = parses[int(place) * len(parses) // 12]
            for word, spelled in enumerate(parse.words):
                pieces = [token for token, owner in zip(real, marked, strict=True) if owner == word]
                assert tokenizer.decode(pieces).replace(" ", "") == spelled
            assert [owner == -1 for owner in marked] == special[mask == 1].bool().tolist()
            assert special[mask == 0].all() and (words[mask == 0] == -1).all()
    first = read.batches[0]["input_ids"][:, 0]
    assert (first == (tokenizer.bos_token_id if side == "decoder" else tokenizer.cls_token_id)).all()


def test_text_is_written_as_people_write_it():
    spaced = "He said , \" it 's odd ( or 2 – 5 of the dogs ) ; is n't it ? \" He left ."
    assert text.joined(spaced) == "He said, \"it's odd (or 2–5 of the dogs); isn't it?\" He left."
    found = text.articles("valid")
    assert len(found) == 8 and not any("<unk>" in one or "=" in one or " ." in one for one in found)
    assert found[-1].endswith("It is 1,000.")


def test_what_is_missing_gets_a_sentence(settings, monkeypatch):
    name = settings["pretrained"]["decoder"]
    with pytest.raises(StudyError, match="passages of 10000 tokens"):
        text.passages(name, "valid", 4, 10_000)
    with pytest.raises(StudyError, match="sentences to measure on, not 1000"):
        text.sentences(name, "gum", 1000)
    monkeypatch.delenv("HEADS_DATA_ROOT")
    text.treebank.cache_clear()
    for trees in text.TREES:
        with pytest.raises(StudyError, match="set HEADS_DATA_ROOT"):
            text.treebank(trees)


# --- what is measured ------------------------------------------------------------------------------------------------


def test_columns_are_those_of_the_measures_on_all_pieces(settings):
    spec = measured.text_spec(settings)
    model, _ = text.pretrained(spec["model"])
    rows = batches(text.passages(spec["model"], "valid", 4, 12).unflatten(1, (2, 6)).flatten(0, 1))
    table = pretrained.head_table(settings)
    for per in ("example", "token"):
        expected = worth.importance(model, rows, per=per, norm=None)
        np.testing.assert_allclose(table[f"gradient, {per}"], expected, rtol=1e-4)
    np.testing.assert_allclose(table["gradient, signed"], worth.patching(model, rows), rtol=1e-3, atol=1e-6)
    assert table["key-value head"].tolist() == [1, 1, 2, 2] * 2 and (table["leave-one-out low"] <= table["leave-one-out"]).all()


def test_correlation_over_passages_is_that_of_means():
    drawn = np.random.default_rng(0)
    index = pd.MultiIndex.from_product([["decoder"], range(3), range(4)], names=["kind", "layer", "head"])
    truth, measure = (pd.DataFrame(drawn.normal(size=(6, 12)), columns=index) for _ in range(2))

    def correlated(places):
        means = (table.iloc[places].mean() for table in (truth, measure))
        return ranks.correlation(*means, within_layer=True, repeats=1)["rho"]

    found = ranks.over_passages(truth, measure)
    without = [correlated([place for place in range(6) if place != gone]) for gone in range(6)]
    error = np.sqrt(5 / 6 * sum((one - np.mean(without)) ** 2 for one in without))
    assert found["rho"] == pytest.approx(correlated(range(6))) and (found["heads"], found["passages"]) == (12, 6)
    assert found["high"] == pytest.approx(min(1, found["rho"] + 2.571 * error), abs=1e-3)
    assert found["low"] == pytest.approx(max(-1, found["rho"] - 2.571 * error), abs=1e-3)
    alike = ranks.over_passages(truth, 2 * truth + 1)
    assert alike["rho"] == alike["low"] == alike["high"] == pytest.approx(1)


# --- what is removed -------------------------------------------------------------------------------------------------


def test_gates_close_more_heads_at_a_higher_price(settings):
    table = pretrained.gates(study.changed(settings, {"pretrained.steps": 30, "pretrained.prices": [0.0, 10.0]}))
    free, dear = (table[(table.price == price) & (table.choice == "gates") & (table.random == "")].heads for price in (0, 10))
    assert int(free.iloc[0]) < int(dear.iloc[0]) == 8
    assert (table[table.price == 10].heads == 8).all()


def test_one_head_a_group_and_k_of_every_layer(settings):
    made = removed.removal_recipes(settings)
    column = measured.column(made["masked"][0].spec)
    for row in measured.read(made["kept"][0]):
        left = sorted(set(range(8)) - set(row["closed"]))
        assert len(left) == 4 and (row["groups"] != removed.PAIRS or [place // 2 for place in left] == [0, 1, 2, 3])
        if (row["groups"], row["by"]) == (removed.PAIRS, removed.BY):
            assert [column.iloc[place] for place in left] == column.to_numpy().reshape(4, 2).max(1).tolist()
    for row in measured.read(made["masked"][0]):
        layers = np.bincount([place // 4 for place in row["closed"]], minlength=2)
        assert (layers == row["k"]).all()
        if not row["random"]:
            kept = column.drop(column.index[row["closed"]])
            for layer in (0, 1):
                gone = column.iloc[row["closed"]].xs(layer, level="layer")
                assert gone.max() <= kept.xs(layer, level="layer").min()


def test_models_without_heads_are_trained_on(settings):
    """The same heads are off as before; training moves the loss, and rows are held against the whole model trained alike."""
    made = removed.trained_recipes(settings)
    assert len(made) == 1 + 3 + 6 and measured.read(made[0])["closed"] == []
    for one in made[1:]:
        before, after = removed.without_training(one.spec), measured.read(one)
        assert before["closed"] == after["closed"] and before["losses"] != after["losses"]
    table, plain = pretrained.trained_on(settings), np.array(measured.read(made[0])["losses"])
    losses = np.array([measured.read(one)["losses"] for one in made])
    assert table.change.iloc[0] == 0 and np.allclose(table.change, (losses - plain).mean(1), atol=1e-6)


def test_links_of_dialogues_lead_back_to_the_one_who_spoke(settings):
    name = settings["pretrained"]["decoder"]
    rows = dialogues.examples(name, "test", 6, 90)
    for row, rule, stored in zip(
        rows, *(dialogues.links_of(rows, by) for by in (dialogues.RULE, dialogues.STORED)), strict=True
    ):
        words = row.dialogue.words
        for links, mention in ((rule, "I"), (stored, "she")):
            pairs = {
                (words[row.words[one]], words[row.words[other]]) for one, other in zip(links.rows, links.columns, strict=True)
            }
            assert (mention, words[1]) in pairs
            assert (links.columns <= links.rows).all() and links.length == len(row.prompt) + len(row.summary)
    nobody = dialogues.links_of(rows, dialogues.RESTING)
    assert (batched(nobody, 90, decoder=True)[:, :, 0] == 1).all()  # all words look at the first token


def test_what_is_written_with_links_is_what_training_with_them_would_expect(settings):
    """Token by token, after padded prompts: each is the likeliest after those before it, by the matrices of training."""
    name = settings["pretrained"]["decoder"]
    model, rows = text.pretrained(name)[0], dialogues.examples(name, "test", 6, 90)
    links, chosen = dialogues.links_of(rows, dialogues.RULE), [("decoder", 0, 1), ("decoder", 1, 2)]
    ids = dialogues.written(model, rows, chosen, links, end=3)
    assert ids != dialogues.written(model, rows, [], links, end=3) and len({len(row.prompt) for row in rows}) > 1
    for row, link, own in zip(rows, links, ids, strict=True):
        whole = row._replace(summary=own)
        link.length = len(row.prompt) + len(own)
        with coreference.injected(model, chosen, dialogues.known(([whole], [link]))), torch.no_grad():
            logits = model(torch.tensor([row.prompt + own])).logits[0]
        assert logits.argmax(-1)[len(row.prompt) - 1 : -1].tolist() == own


def test_jobs_say_what_their_tables_say():
    source = pd.read_csv(study.ROOT / "figures" / "pretrained" / "rare.csv").set_index(["model", "trees"]).loc["minilm", "gum"]
    rows = functions.jobs().query("job == 'rare words' and model == 'MiniLM, GUM'")
    assert [*rows.value, rows.low.iloc[0]] == [100 * source[name] for name in ("score", "best_random", "chance", "low")]
