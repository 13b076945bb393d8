"""Confidence and head functions against slow twins, planted heads and hand-made cases, on tiny real models."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertTokenizerFast

from helpers import heads, measures
from helpers.corpora import Pair
from helpers.corpora.describe import arcs_of
from helpers.measures import functions
from helpers.measures.reducers import one_pass, view
from helpers.study import StudyError
from tests.reference import measures as slow
from tests.unit.tiny_models import EOS, FAMILIES, PAD, SEQ2SEQ, VOCABULARY, tiny_model

DOWN, UP = functions.DIRECTIONS  # from the head to its dependent, and back
families = pytest.mark.parametrize("family", FAMILIES)
LENGTHS, TARGETS = (7, 3, 9, 5), (6, 8, 2, 5)  # words of four sentences
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")  # empty totals are no reason to warn


def sentences(lengths, seed):
    """Random ids, each list closed by the end-of-sentence id."""
    rng = random.Random(seed)
    return [[*(rng.randrange(3, VOCABULARY) for _ in range(n)), EOS] for n in lengths]


def pad(rows, value):
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])


def collate(source, target=None, places=None, words=None):
    """A batch as a collator yields it, padded on the right."""
    lengths = torch.tensor([len(row) for row in source])
    batch = {"input_ids": pad(source, PAD), "attention_mask": (torch.arange(max(lengths)) < lengths[:, None]).long()}
    if target is not None:
        batch["labels"] = pad(target, -100)
    if places is not None:
        batch["index"] = torch.tensor(places)
    if words is not None:
        batch["word_ids"] = pad(words, -1)
    return batch


def word_ids(source, seed=5):
    """Random words of one or more subwords for each sentence.

    The end of the sentence has the last word's number half of the time: it is to be left out all the same.
    """
    rng = random.Random(seed)
    found = []
    for row in source:
        owners = list(itertools.accumulate((rng.randrange(2) for _ in row[2:]), initial=0))
        found.append([*owners, rng.choice([-1, owners[-1]])])
    return found


def random_arcs(words, seed=6):
    """Two to five arcs a sentence between its words; the second sentence has none."""
    rng = random.Random(seed)
    found = []
    for row in words:
        count = max(row) + 1
        arcs = [(rng.randrange(count), rng.randrange(count), rng.choice(functions.RELATIONS)) for _ in range(rng.randint(2, 5))]
        found.append(arcs if len(found) != 1 else [])
    return found


def corpus(family, words=False, groups=((1, 3), (2, 0))):
    """Four sentences in padded batches whose order is not the corpus's."""
    source, target = sentences(LENGTHS, 1), sentences(TARGETS, 2)
    sides = [source, target if family in SEQ2SEQ else None, word_ids(source) if words else None]
    batches = []
    for places in groups:
        ids, labels, owners = ([side[i] for i in places] if side else None for side in sides)
        batches.append(collate(ids, labels, places, owners))
    return batches


def one_batch(family):
    return collate(sentences(LENGTHS, 1), sentences(TARGETS, 2) if family in SEQ2SEQ else None)


def marked(batch):
    """A batch whose first and last token of each sentence are special."""
    mask = batch["attention_mask"]
    inner = mask * torch.nn.functional.pad(mask[:, 1:], (0, 1))
    inner[:, 0] = 0
    return batch | {"special_tokens_mask": 1 - inner}


def one_hot(positions, keys):
    """Attention that looks at positions[query] or positions[sentence][query] only."""
    return torch.nn.functional.one_hot(torch.tensor(positions), keys).float()


def assert_same(series, expected, tolerance):
    assert sorted(series.index) == sorted(expected)
    for address, value in expected.items():
        assert series[address] == pytest.approx(value, abs=tolerance, rel=0, nan_ok=True), address


@pytest.mark.parametrize("family", ["marian", "mbart", "opt", "bert", "llama"])
def test_confidence_is_the_slow_loop(family):
    """As the matrix holds it for every family; and of later keys, of batches in any order, of marked tokens."""
    model, tolerance = tiny_model(family).double(), 1e-6 if family in ("opt", "llama") else 1e-12  # softmaxes in float32
    for batches in ([one_batch(family)], [marked(one_batch(family))], corpus(family)):
        sentences = slow.read(model, batches)
        for name, beyond in (("confidence", False), ("confidence, later tokens", True)):
            found = measures.head_table(model, batches, names=[name])[name]
            assert_same(found, slow.confidence(sentences, beyond), tolerance)
    assert found.index.equals(heads.index(model)) and found.between(0, 1).all() and found.std() > 0.01
    if family == "llama":  # padding is no first token
        moved = {n: torch.stack([row.roll(-1 - length) for row, length in zip(part, LENGTHS, strict=True)])
                 for n, part in one_batch(family).items()}  # fmt: skip
        again = measures.head_table(model, [moved], names=[name])[name]
        assert_same(again, slow.confidence(slow.read(model, [one_batch(family)]), True), tolerance)


@pytest.mark.parametrize("family", ["bert", "llama", "marian"])
def test_special_tokens_are_those_of_the_configuration_and_of_the_batch(family):
    """A BERT names none: the tokenizer's mask, or the caller's, says them."""
    model, batch = tiny_model(family).double(), one_batch(family)
    found = measures.confidence(model, [marked(batch)])
    assert_same(functions.output_norm(model, [marked(batch)]), slow.output_norm(model, [marked(batch)]), 1e-6)
    assert (found - measures.confidence(model, [batch])).abs().max() > 0.05


def test_a_tokenizer_says_its_special_tokens(tmp_path):
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat"]
    (tmp_path / "vocab.txt").write_text("\n".join(names))
    tokenizer, model = (
        BertTokenizerFast.from_pretrained(tmp_path),
        tiny_model("bert", vocab_size=len(names), bos_token_id=None, eos_token_id=None),
    )
    batch = tokenizer(["the cat sat", "the cat"], return_special_tokens_mask=True, padding=True, return_tensors="pt")
    assert view(model, batch).keys["encoder"].tolist() == [[False, True, True, True, False], [False, True, True, False, False]]
    del batch["special_tokens_mask"]
    assert view(model, batch).keys["encoder"][0].all()


BATCH = one_batch("marian")
RARE = functions.Rare(torch.arange(VOCABULARY))
BAD = {
    "no batches": lambda: measures.confidence(tiny_model("marian"), iter(())),
    "no sentences": lambda: measures.confidence(tiny_model("marian"), [{n: part[:0] for n, part in BATCH.items()}]),
    "needs labels": lambda: measures.confidence(tiny_model("marian"), [{"input_ids": BATCH["input_ids"]}]),
    "needs input_ids": lambda: measures.confidence(tiny_model("opt"), [{"labels": BATCH["labels"]}]),
    "none of the attention kinds": lambda: one_pass(tiny_model("opt"), [one_batch("opt")], RARE),
    "no encoder attention": lambda: RARE.per_sentence(),
    "has no count": lambda: measures.rare(tiny_model("marian"), [BATCH], torch.arange(40)),
    "'obj'": lambda: functions.Syntactic([[(0, 1, "nsubj")], [(2, 1, "obj")]]),
    "parse the corpus": lambda: measures.syntactic(tiny_model("marian"), corpus("marian"), [[]] * 4),
}


@pytest.mark.parametrize("said", BAD)
def test_what_cannot_be_measured_is_refused(said):
    with pytest.raises(StudyError, match=said):
        BAD[said]()


@families
def test_offsets_are_the_slow_loop(family):
    model, batches, reducer = tiny_model(family).double(), corpus(family), functions.Positional()
    reducer.reach = 3
    frame = reducer.frame(one_pass(model, batches, reducer), 200)
    sentences = slow.read(model, batches)
    for address, found in slow.offsets(sentences).items():
        row, inside = frame.loc[address], {offset: number for offset, number in found.items() if abs(offset) < 3}
        number = inside.get(row.offset, 0)
        assert number == max(inside.values(), default=0)
        assert row.score == pytest.approx(number / slow.having(sentences, address, row.offset))
        assert row.of_all == pytest.approx(number / sum(found.values()))
        assert row.low <= row.score <= row.high and row.verdict == (row.score >= 0.9)


@pytest.mark.parametrize("seed", range(4))
def test_words_from_subwords(seed):
    rng = random.Random(seed)
    size, count = rng.randint(1, 9), rng.randint(1, 5)
    # any assignment: words in pieces, words without tokens, tokens without words
    owners = [[rng.randrange(-1, count) for _ in range(size)] for _ in range(3)]
    weights = torch.rand(3, 2, size, size, dtype=torch.float64)
    found = functions.to_words(weights, torch.tensor(owners))
    width = max(max(max(row) for row in owners) + 1, 1)
    for row in range(3):
        expected = [slow.to_words(weights[row, head].tolist(), owners[row], owners[row], width, width) for head in range(2)]
        np.testing.assert_allclose(found[row], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("family", [*SEQ2SEQ, "bert", "llama", "opt"])
def test_syntactic_accuracy_is_the_slow_loop(family):
    """A decoder alone is asked for the arcs whose partner stands earlier."""
    kind = "decoder" if family in ("llama", "opt") else "encoder"
    model, batches = tiny_model(family).double(), corpus(family, words=True)
    arcs = random_arcs(word_ids(sentences(LENGTHS, 1)))
    frame = measures.syntactic(model, batches, arcs, 200)
    found = slow.syntactic(slow.read(model, batches), arcs, kind)
    base = slow.baseline(arcs, kind == "decoder")
    assert len(frame) == 8 * 8 and frame.index.names == ["kind", "layer", "head", "relation", "direction"]
    assert_same(frame.score, {address: slow.share(pairs) for address, pairs in found.items()}, 1e-12)
    for address, row in frame.iterrows():
        assert row.baseline == pytest.approx(base[address[3:]], nan_ok=True)
        assert row.n == sum(total for _, total in found[address])
    assert (frame.score.max() > 0) and (kind == "encoder" or (frame.offset <= 0).all())


def test_batches_may_come_in_any_order_and_without_an_index():
    model = tiny_model("marian").double()
    arcs = random_arcs(word_ids(sentences(LENGTHS, 1)))

    def measured_on(batches):
        reducers = [functions.Syntactic(arcs), functions.Confidence()]
        one_pass(model, batches, *reducers)
        return [reducer.per_sentence() for reducer in reducers]

    in_order = corpus("marian", True, ([0], [1], [2], [3]))
    expected = measured_on(in_order)
    bare = [{name: values for name, values in batch.items() if name != "index"} for batch in in_order]
    for batches in (bare, corpus("marian", True, ([0, 1, 2, 3],)), corpus("marian", True, ([1, 3], [0], [2]))):
        for one, two in zip(expected, measured_on(batches), strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


def test_the_offset_baseline_by_hand():
    arcs = [[(0, 1, "nsubj"), (2, 3, "amod")], [(0, 2, "nsubj"), (1, 0, "amod")], [(1, 2, "nsubj")], []]  # dependent, head
    table = functions.offset_baseline(arcs)
    assert table.loc["nsubj", DOWN].to_dict() == {"baseline": pytest.approx(2 / 3), "offset": -1, "n": 3}
    assert table.loc["nsubj", UP].to_dict() == {"baseline": pytest.approx(2 / 3), "offset": 1, "n": 3}
    assert table.loc["amod", UP].to_dict() == {"baseline": 0.5, "offset": -1, "n": 2}  # a tie: the smaller offset of the head
    assert math.isnan(table.baseline["advmod", DOWN]) and table.n["advmod", UP] == 0
    rng = random.Random(0)
    many = [[(rng.randrange(9), rng.randrange(9), rng.choice(functions.RELATIONS)) for _ in range(5)] for _ in range(40)]
    for earlier in (False, True):
        assert_same(functions.offset_baseline(many, earlier).baseline, slow.baseline(many, earlier), 1e-12)


def test_arcs_by_hand():
    pairs = [
        Pair("", "", ("he", "saw", "her", "."), (1, -1, 1, 1), ("nsubj", "root", "dobj", "punct")),
        Pair("", "", ("she", "left"), (1, -1), ("nsubj", "root")),
        Pair("", "", ("oh",), (-1,), ("advmod",)),  # an odd parse: a root with a relation
    ]
    assert arcs_of(pairs) == [[(0, 1, "nsubj"), (2, 1, "dobj")], [(0, 1, "nsubj")], []]


@pytest.mark.parametrize("base, n", [(1, 5), (7, 10), (29, 100)])
def test_ten_points_above_the_baseline_are_enough(base, n):
    """Exactly baseline + 10 points is syntactic, one arc less is not, whatever binary fractions make of it."""
    size = 40 * n  # arcs, one a sentence
    best, enough = size * base // n, size * base // n + size // 10
    # the partner is the previous word in `best` sentences, and else at offsets of which none is more frequent
    far = -(-(size - best) // best) if best < size else 0
    spread = [2 + i % max(far, 1) for i in range(size - best)]
    arcs = [[(9 - offset, 9, "nsubj")] for offset in [1] * best + spread]
    hits = np.zeros((size, 2, 8), np.float32)
    hits[:enough, 0, 0] = 1
    hits[: enough - 1, 1, 0] = 1
    reducer = functions.Syntactic(arcs)
    reducer.order = list(range(size))
    reducer._parts = {("encoder", 0): [torch.tensor(hits)]}
    index = pd.MultiIndex.from_tuples([("encoder", 0, 0), ("encoder", 0, 1)], names=["kind", "layer", "head"])
    frame = reducer.frame(index, 2).xs(("nsubj", DOWN), level=("relation", "direction"))
    assert frame.baseline.iloc[0] == pytest.approx(base / n)
    assert frame.score.tolist() == pytest.approx([base / n + 0.1, base / n + 0.1 - 1 / size])
    assert frame.verdict.tolist() == [True, False]


@pytest.mark.parametrize("family", [*SEQ2SEQ, "bert", "llama", "opt"])
def test_rare_is_the_slow_loop(family):
    """What a decoder does not see yet is no rarest token of it."""
    kind = "decoder" if family in ("llama", "opt") else "encoder"
    model, batches = tiny_model(family).double(), corpus(family)
    rng = random.Random(4)
    counts = [rng.randrange(1, 12) for _ in range(VOCABULARY)]  # many ties
    for frequent in (0, 40, 57):
        reducer = functions.Rare(torch.tensor(counts), kind, frequent)
        frame = reducer.frame(one_pass(model, batches, reducer), 100)
        found = slow.rare(slow.read(model, batches), counts, frequent, kind)
        if not found:
            assert frame[["two_rarest", "chance_two"]].isna().all(axis=None)
            assert not frame.verdict.any() and (frame.tokens == 0).all()
        for address, (two, total, chance) in found.items():
            row = frame.loc[address]
            assert (row.two_rarest, row.tokens, row.chance_two) == pytest.approx((two / total, total, chance / total))
            assert row.verdict == (row.two_rarest > 0.5)


def test_rare_takes_the_papers_border():
    batch = one_batch("marian")
    batch["input_ids"][2, 1], batch["input_ids"][3, 1] = 500, 499  # the 501st and the 500th most frequent
    frame = measures.rare(tiny_model("marian", vocab_size=600), [batch], torch.arange(600, 0, -1), 10)
    assert (frame.tokens == LENGTHS[2]).all()


def test_roles_of_heads():
    index = pd.MultiIndex.from_product([["encoder", "decoder"], [0, 1], [0, 1]], names=["kind", "layer", "head"])
    offsets = pd.Series(2, index)
    offsets["encoder", 0, 0], offsets["decoder", 1, 1] = -1, 1
    positional = pd.DataFrame({"offset": offsets, "score": 0.95, "low": 0.9, "high": 1.0, "verdict": offsets < 2})
    rare = pd.DataFrame({"two_rarest": [0.2, 0.6, math.nan, 0.5], "verdict": [False, True, False, False]}, index[:4])
    labels = pd.MultiIndex.from_product([index[:4], functions.RELATIONS, functions.DIRECTIONS])
    follows = [(("encoder", 0, 0), "nsubj", DOWN), (("encoder", 1, 0), "dobj", DOWN), (("encoder", 1, 0), "dobj", UP)]
    syntactic = pd.DataFrame({"verdict": labels.isin(follows)}, pd.MultiIndex.from_tuples([(*a, r, d) for a, r, d in labels]))
    found = functions.roles(positional, syntactic, rare)
    assert found.index.equals(positional.index)
    assert {address: cell for address, cell in found.items() if cell} == {
        ("encoder", 0, 0): [("positional", "-1"), ("nsubj", "v→s")],
        ("encoder", 0, 1): [("rare", "rare")],
        ("encoder", 1, 0): [("dobj", "v→o"), ("dobj", "o→v")],
        ("decoder", 1, 1): [("positional", "+1")],
    }


def test_relations_are_held_out_with_their_offset():
    rng = random.Random(2)
    source = sentences([rng.randrange(4, 9) for _ in range(12)], 3)
    words = [[*range(len(row) - 1), -1] for row in source]
    ways = ([1, 1, 1, 2], [1, 2, 2, 2])  # offsets of even sentences, of odd ones
    arcs = [
        [(d, (d + rng.choice(ways[n % 2])) % (len(row) - 1), "nsubj") for d in range(len(row) - 1)]
        for n, row in enumerate(words)
    ]
    reducer = functions.Syntactic(arcs)
    model = tiny_model("marian")
    heads_of = one_pass(model, [collate(source, sentences([2] * 12, 4), list(range(12)), words)], reducer)
    found = reducer.held_out(heads_of, 300)
    assert found.index.tolist() == [("nsubj", DOWN), ("nsubj", UP)] and found.heads.eq(8).all()
    hits = reducer.per_sentence()
    for place, (direction, sign) in enumerate(((DOWN, 1), (UP, -1))):
        row = found.loc["nsubj", direction]
        rates = [sum(hits[i, head, place] for i in range(0, 12, 2)) / sum(map(len, arcs[::2])) for head in range(8)]
        best = int(np.argmax(rates))
        assert (row.layer, row["head"]) == heads_of[best][1:]
        odd, count = range(1, 12, 2), sum(map(len, arcs[1::2]))
        ways = Counter(sign * (d - h) for sentence in arcs[::2] for d, h, _ in sentence)
        guessed = [sum(sign * (d - h) == row.offset for d, h, _ in arcs[i]) for i in odd]
        assert ways[row.offset] == max(ways.values()) and row.n == count
        assert row.accuracy == pytest.approx(sum(hits[i, best, place] for i in odd) / count)
        assert row.baseline == pytest.approx(sum(guessed) / count) and row.gain == pytest.approx(row.accuracy - row.baseline)
        assert row.gain_low < row.gain < row.gain_high and row.low < row.accuracy < row.high
