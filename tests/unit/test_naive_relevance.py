"""Relevance the way it is taught gives the numbers of the fast way."""

import ast
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import heads, study
from helpers.measures import sentence
from helpers.measures.lrp import conservation, explain, naive
from helpers.models import inputs
from helpers.study import StudyError
from tests.unit.test_relevance import batch_for, small


def one(name):
    return {key: value[:1] for key, value in batch_for(name).items()}


@pytest.mark.parametrize("name", ["marian", "bart", "mbart", "pegasus"])
def test_the_naive_way_gives_the_numbers_of_the_fast_one(name):
    model, batch = small(name), one(name)
    heads, flow, top = naive.explain(model, batch)
    assert np.allclose(heads, explain(model, [batch], "cp").values, rtol=0, atol=1e-10 * np.abs(heads).max())
    logits = model(**inputs(batch)).logits[0, : len(top)].detach()
    assert top == logits.argmax(-1).tolist()
    shares = conservation(model, [batch], "cp")
    assert flow[:, 0].sum() == pytest.approx(shares["source"] * float(logits.max(-1).values.sum()))
    assert flow.shape == (len(top), model.config.encoder_layers + 1, int(batch["attention_mask"].sum()))


def test_what_it_is_not_written_for():
    with pytest.raises(StudyError, match="not for t5"):
        naive.explain(small("t5"), one("t5"))
    with pytest.raises(StudyError, match="one sentence"):
        naive.explain(small("marian"), batch_for("marian"))


def test_the_block_that_notebook_01_writes_out_gives_the_numbers_of_the_fast_way():
    text = (study.ROOT / "notebooks" / "py" / "01_relevance_and_confidence.py").read_text(encoding="utf-8")
    shown = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    exec("\n".join(map(ast.unparse, shown)), here := {"torch": torch})
    model, batch, target, fast = small("mbart").double(), one("mbart"), 1, explain(small("mbart"), [one("mbart")], "cp")
    for layer in range(2):
        given = {name: torch.tensor(array) for name, array in naive.one_block(small("mbart"), batch, target, layer).items()}
        heads, below = (found.detach() for found in here["through_attention"](model.model.encoder.layers[layer], **given))
        own = [address[:2] == ("encoder", layer) for address in fast.heads]
        np.testing.assert_allclose(heads, fast.values[target, own], rtol=0, atol=1e-10 * np.abs(fast.values).max())
        np.testing.assert_allclose(below.sum(1), naive.explain(small("mbart"), batch)[1][target, layer], rtol=1e-8)
    assert naive.one_block(small("marian"), one("marian"), 0, 0) == {}


def test_a_sentence_is_found_again_by_its_tokens():
    ids = [4, 5, 2]
    subject = SimpleNamespace(
        source=SimpleNamespace(pieces=list), encoded=SimpleNamespace(source=[[4, 5, 6, 2], [4, 6, 2], ids])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence, "single", lambda _, place: place)
        assert sentence.batch_of(subject, {"source": ids}) == 2


def test_a_word_is_its_tokens_and_the_sentence_says_where_its_relevance_stands():
    pieces = ["▁a", "▁ro", "ll", "▁", ".", "</s>"]
    assert sentence.whole_words(pieces) == [0] and sentence.whole_words(["▁no", "▁yes"]) == [0, 1]
    assert sentence.by_word(pieces, np.arange(6.0)).to_dict() == {"a": 0, "roll": 3, ".": 7, "</s>": 5}
    flow = np.array([[[1.0, 2, 1, 0, 0, 0], [0, 2, 2, 0, 0, 0]]])  # [targets, below and above, tokens]
    heads = pd.DataFrame([[0.5, -2.0]], columns=pd.MultiIndex.from_tuples([("encoder", 0, 0), ("encoder", 0, 1)]))
    found = {"source": pieces, "predicted": ["▁ja"], "flow": flow, "heads": heads, "target": 0, "layer": 0, "head": 1}
    said = sentence.said_of_sentence(found)
    for part in ("100 % of the relevance of 'ja' stands at 'roll'", "25 % stands at 'a'", "head 2 carries 50 %"):
        assert part in said


def test_words_are_held_against_every_head():
    model, batch = small("mbart"), batch_for("mbart")
    subject = SimpleNamespace(model=model, sentences=[SimpleNamespace(words=[""] * 6)] * 2)
    subject.target = SimpleNamespace(pieces=lambda ids: ["▁word"] * len(ids))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence, "single", lambda _, *places: batch if places == (0, 1) else None)
        found = sentence.one_by_one(subject)
    live = batch["labels"] != -100
    plain = model(**inputs(batch)).logits[live].log_softmax(-1).detach()
    assert len(found) == live.sum() and {*found} >= {"cost", "needs", "alpha_beta", "attnlrp", "cp"}
    lost = []
    for address in heads.index(model, "encoder"):
        cut = heads.remove(deepcopy(model), [address])(**inputs(batch)).logits[live].log_softmax(-1).detach()
        lost.append((plain - cut)[range(len(plain)), plain.argmax(-1)].numpy())
    np.testing.assert_allclose(found.cost, np.max(lost, 0), atol=1e-5)
    most = np.abs(explain(model, [batch], "cp", "encoder").values).argmax(1)
    assert found.cp.tolist() == (most == np.argmax(lost, 0)).tolist()
    needs = [heads.index(model, "encoder")[place] for place in np.argmax(lost, 0)]
    assert found.needs.tolist() == [f"layer {layer + 1} head {head + 1}" for _, layer, head in needs]
    size = pd.DataFrame(np.abs(explain(model, [batch], "cp", "encoder").values), columns=heads.index(model, "encoder"))
    inside = [size.loc[i].xs(at[1], level=1).idxmax()[-1] == at[2] for i, at in enumerate(needs)]
    assert found["cp, in its layer"].tolist() == inside


def test_words_that_need_a_head_are_counted():
    table = pd.DataFrame({"cost": [0.2, 0.3, 0.1], "alpha_beta": [False] * 3, "attnlrp": [True] * 3, "cp": [True, False, True]})
    table = table.assign(**{f"{rule}, in its layer": True for rule in ("alpha_beta", "attnlrp", "cp")})
    table["alpha_beta, names"] = ["layer 1 head 1", "layer 1 head 2", "layer 1 head 2"]
    assert sentence.needing(table)[1].to_numpy().tolist() == [[2, 2, 2], [1, 2, 2], [0, 2, 2]]
    said = sentence.said_of_words(table)
    assert "Here no: 2 of 3 whole words need a head" in said and said.endswith("LRP αβ names layer 1 head 2 for 2 of all.")
    assert "by AttnLRP for 2 (2), conservative for 1 (2) and LRP αβ for 0 (2);" in said
    both = sentence.said_of_words(table.assign(cost=[0.2, 0, 0]), table.assign(cost=1.0))
    assert "Here yes: 1 of 3" in both and "On Europarl no: 3 of 3 do; LRP αβ names" in both


def test_what_a_model_writes_without_the_head_is_said():
    places = pd.MultiIndex.from_tuples([(-1, -1), (0, 0), (0, 1), (1, 0)], names=["layer", "head"])
    table = pd.DataFrame({"probability": [0.9, 0.05, 0.897, 0.95], "likeliest": ["ja", "no", "ja", "ja"]}, places)
    found = {"layer": 0, "head": 0}
    said = sentence.said_without(table, found)
    assert said.startswith("**With all heads the model gives 'ja' 90 %; without this head 5 %, and it writes 'no' instead.**")
    assert said.endswith("Without any one of the other 2 encoder heads it keeps at least 89 %.")
    assert "and it still writes it" in sentence.said_without(table.assign(likeliest="ja"), found)
