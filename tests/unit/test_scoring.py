"""BLEU, ROUGE, perplexity, grammatical phenomena on hand-written translations, bootstrap intervals."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest
import sacrebleu

from helpers.scores.scoring import (
    ORDER,
    bleu,
    bleu_of,
    bleu_statistics,
    gap,
    mean_interval,
    perplexity_interval,
    phenomena,
    ratio,
    ratio_interval,
    resamples,
    rouge_statistics,
)
from helpers.study import StudyError
from tests.reference import measures as slow


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# -------------------- BLEU


def texts(number, seed=0):
    """References, and hypotheses with a fifth of their words changed."""
    rng = random.Random(seed)
    words = "der die das hund katze maus sieht jagt hört große kleine alte . nicht heute".split()
    references = [" ".join(rng.choice(words) for _ in range(rng.randint(5, 14))) for _ in range(number)]
    hypotheses = [" ".join(rng.choice(words) if rng.random() < 0.2 else w for w in text.split()) for text in references]
    return hypotheses, references


def test_bleu_is_sacrebleus():
    hypotheses, references = texts(40)
    found = bleu(hypotheses, references, 200)
    assert found["bleu"] == sacrebleu.corpus_bleu(hypotheses, [references]).score
    metric = sacrebleu.BLEU()
    expected = metric.corpus_score(hypotheses, [references], n_bootstrap=200)
    assert (found["low"] + found["high"]) / 2 == pytest.approx(expected._mean)
    assert (found["high"] - found["low"]) / 2 == pytest.approx(expected._ci)
    assert found["signature"] == str(metric.get_signature()) and "bs:200|seed:12345" in found["signature"]
    assert found["low"] < found["bleu"] < found["high"] and found["high"] - found["low"] < 25
    assert bleu(hypotheses, references, 200) == found
    assert bleu(references, references, 0)["bleu"] == pytest.approx(100)
    # iterables of other kinds than lists
    assert bleu(tuple(hypotheses), tuple(references), 0)["bleu"] == found["bleu"]


def test_bleu_of_summed_statistics():
    hypotheses, references = texts(30)
    hypotheses[3], hypotheses[4] = "", " ".join(reversed(references[4].split()))  # no pairs of words: smoothed
    statistics = bleu_statistics(hypotheses, references)
    assert statistics.shape == (30, 10)
    parts = np.stack([statistics.sum(0), statistics[:5].sum(0), statistics[3], statistics[4]])
    chosen = [list(range(30)), list(range(5)), [3], [4]]
    expected = [bleu([hypotheses[i] for i in c], [references[i] for i in c], 0)["bleu"] for c in chosen]
    assert bleu_of(parts).tolist() == expected and bleu_of(parts.reshape(2, 2, 10)).shape == (2, 2)
    assert bleu_of(parts[0]) == expected[0] and expected[2] == 0 < expected[3] < expected[1]
    # weights of resamples are floats
    assert bleu_of(resamples(30, 4) @ statistics).shape == (4,)


def test_bleu_without_an_interval():
    hypotheses, references = texts(5)
    for resampled in (0, 1):
        found = bleu(hypotheses, references, resampled)
        assert math.isnan(found["low"]) and math.isnan(found["high"]) and "bs:" not in found["signature"]
    one = bleu(["der hund sieht die katze ."], ["der hund sieht die maus ."])
    assert 0 < one["bleu"] < 100 and math.isnan(one["low"]) and math.isnan(one["high"])
    assert bleu([""], ["der hund"], 10)["bleu"] == 0


@pytest.mark.parametrize("hypotheses, references", [([], []), (["a"], []), (["a"], ["a", "b"]), ([], ["a"])])
def test_bleu_of_a_mismatch_is_refused(hypotheses, references):
    for score in (bleu, bleu_statistics):
        with pytest.raises(StudyError, match="BLEU"):
            score(hypotheses, references)


# -------------------- ROUGE


def f1(common, ours, theirs):
    return 200 * common / (ours + theirs)


def test_rouge_by_hand():
    hypotheses = [
        "the dog chased the cat .",  # in order: the dog chased
        "a cat",
        "the man was there",
        "Cats, sitting, ran!",  # case, punctuation and English endings do not count, other words do
        "",
        "nothing alike",
    ]
    references = [
        "The cat saw the dog chased",
        "a cat",
        "there the man was",
        "cat sits running",
        "the cat",
        "the cat",
    ]
    expected = [
        [f1(5, 5, 6), f1(3, 4, 5), f1(3, 5, 6)],
        [100, 100, 100],
        [100, f1(2, 3, 3), f1(3, 4, 4)],
        [f1(2, 3, 3), f1(1, 2, 2), f1(2, 3, 3)],
        [0, 0, 0],
        [0, 0, 0],
    ]
    found = rouge_statistics(hypotheses, references)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(rouge_statistics(tuple(hypotheses), tuple(references)), found)


def test_rouge_l_takes_lines_for_one_text():
    """Line by line both lines would be found again."""
    found = rouge_statistics(["dogs bark\ncats sleep"], ["cats sleep\ndogs bark"])[0]
    np.testing.assert_allclose(found, [100, f1(2, 3, 3), f1(2, 4, 4)])
    np.testing.assert_array_equal(rouge_statistics(["dogs bark cats sleep"], ["cats sleep dogs bark"])[0], found)


@pytest.mark.parametrize("hypotheses, references", [([], []), (["a"], []), (["a"], ["a", "b"]), ([], ["a"])])
def test_rouge_of_a_mismatch_is_refused(hypotheses, references):
    with pytest.raises(StudyError, match="ROUGE"):
        rouge_statistics(hypotheses, references)


# -------------------- means and perplexity


def drawn_middle(score, size, repeats):
    """The slow bootstrap: `score` of the examples that each resample draws, as often as it draws them."""
    draws = [np.repeat(np.arange(size), weights.astype(int)) for weights in resamples(size, repeats)]
    return np.quantile([score(draw) for draw in draws], [0.025, 0.975], axis=0)


def test_the_mean_and_its_interval():
    values, others = np.random.default_rng(0).random((2, 40, 3))
    found, low, high = mean_interval(values, repeats=300)
    np.testing.assert_allclose(found, values.mean(0), rtol=1e-14)
    np.testing.assert_allclose([low, high], drawn_middle(lambda draw: values[draw].mean(0), 40, 300))
    assert (low < found).all() and (found < high).all()
    found, low, high = mean_interval(values, others, 300)
    np.testing.assert_allclose(found, values.mean(0) - others.mean(0), rtol=1e-12)
    np.testing.assert_allclose(
        [low, high], drawn_middle(lambda draw: values[draw].mean(0) - others[draw].mean(0), 40, 300), rtol=1e-9
    )


def test_the_mean_without_an_interval():
    for values, repeats in ((np.array([[3.0, 4.0]]), 1000), (np.array([[2.0, 4.0], [4.0, 4.0]]), 0)):
        for other, expected in ((None, [3, 4]), (np.ones_like(values), [2, 3])):
            found, low, high = mean_interval(values, other, repeats)
            assert found.tolist() == expected and low.shape == high.shape == (2,)
            assert np.isnan(low).all() and np.isnan(high).all()


def test_perplexity_and_its_interval():
    rng = np.random.default_rng(3)
    tokens = rng.integers(1, 50, 30)
    loss, other = tokens * rng.random((2, 30)) * 3
    found, low, high = perplexity_interval(loss, tokens, repeats=300)
    assert found == pytest.approx(math.exp(loss.sum() / tokens.sum()), rel=1e-14)
    assert found != pytest.approx(np.exp(loss / tokens).mean(), rel=0.01)
    expected = drawn_middle(lambda draw: np.exp(loss[draw].sum() / tokens[draw].sum()), 30, 300)
    assert [low, high] == pytest.approx(expected) and low < found < high
    found, low, high = perplexity_interval(loss, tokens, other, 300)
    assert found == pytest.approx(math.exp(loss.sum() / tokens.sum()) - math.exp(other.sum() / tokens.sum()))
    expected = drawn_middle(
        lambda draw: np.exp(loss[draw].sum() / tokens[draw].sum()) - np.exp(other[draw].sum() / tokens[draw].sum()), 30, 300
    )
    assert [low, high] == pytest.approx(expected)
    assert perplexity_interval(loss, tokens, loss) == (0, 0, 0)
    assert perplexity_interval(list(loss), list(tokens), list(other), 300) == (found, low, high)


def test_perplexity_without_an_interval():
    for loss, tokens, repeats in (([6.0], [2], 1000), ([2.0, 4.0], [1, 1], 0)):
        for other, expected in ((None, math.exp(3)), ([0.0] * len(loss), math.exp(3) - 1)):
            found, low, high = perplexity_interval(loss, tokens, other, repeats)
            assert found == pytest.approx(expected) and math.isnan(low) and math.isnan(high)


def test_means_and_perplexities_of_a_mismatch_are_refused():
    for sides in ([np.zeros((0, 3))], [np.zeros((2, 3)), np.zeros((3, 3))], [np.zeros((2, 3)), np.zeros((2, 1))]):
        with pytest.raises(StudyError, match="mean"):
            mean_interval(*sides)
    for sides in (([], []), ([1.0], [1, 2]), ([1.0, 2.0], [1]), ([1.0], [1], [1.0, 2.0]), ([1.0, 2.0], [1, 2], [1.0])):
        with pytest.raises(StudyError, match="Perplexity"):
            perplexity_interval(*sides)
    with pytest.raises(StudyError, match="token"):
        perplexity_interval([1.0, 0.0], [2, 0])


# -------------------- phenomena


COLUMNS = ["n", "accuracy", "found", "of_found"]


def test_marks_of_form():
    """Case, agreement, tense, word sense: the wanted word, another of its forms, or neither."""
    case = ("case", "den hund", ("der hund", "dem hund"))
    marks = [[case, ("tense", "sieht", ("sah",))], [case], [case], [case], [("tense", "sieht", ("sah",))], []]
    hypotheses = [
        "die katze sieht den hund .",  # both right
        "die katze sieht dem hund .",  # another case
        "die katze sieht die maus .",  # no hund at all
        "die katze sieht den großen hund .",  # the run is broken: found in no form
        "die katze sah die maus .",
        "oh !",
    ]
    found = phenomena(hypotheses, marks)
    assert found.index.tolist() == ["case", "tense"]
    assert found.columns.tolist() == [*COLUMNS, "sentences"]
    assert found.loc["case", COLUMNS].tolist() == [4, 0.25, 0.5, 0.5]
    assert found.loc["tense", COLUMNS].tolist() == [2, 0.5, 1.0, 0.5]


def test_share_of_sentences_with_all_marks_met():
    marks = [[("case", "a", ()), ("case", "b", ()), ("tense", "c", ())], [("case", "a", ())], [("case", "b", ())]]
    found = phenomena(["a b", "a", "a"], marks)
    assert found.sentences["case"] == pytest.approx(2 / 3) and found.sentences["tense"] == 0
    assert phenomena(["a", "a", "a"], marks).sentences["case"] == pytest.approx(1 / 3)


def test_gap_between_two_models():
    marks = [[("case", "a", ()), ("case", "b", ())], [("case", "a", ())]]
    found = gap(phenomena(["a b", "a"], marks), phenomena(["a", "a"], marks)).loc["case"]
    assert found["marks, all heads"] == 100 and found["marks, without"] == pytest.approx(200 / 3)
    assert found["marks, gap"] == pytest.approx(100 / 3) and found["sentences, gap"] == pytest.approx(50)


def test_marks_are_whole_words():
    mark = [[("agreement", "ein", ("eine", "einen"))]]
    assert phenomena(["eine maus ."], mark).loc["agreement", COLUMNS].tolist() == [1, 0, 1, 0]
    assert phenomena(["kein hund ."], mark).accuracy["agreement"] == 0
    assert phenomena(["kein hund ."], mark).found["agreement"] == 0
    assert math.isnan(phenomena(["kein hund ."], mark).of_found["agreement"])
    for text in ("ein", "ein hund", "da ist ein", "  da  ein\thund "):  # at either end, and with odd spaces
        assert phenomena([text], mark).accuracy["agreement"] == 1
    assert phenomena([""], mark).accuracy["agreement"] == 0
    # the wanted form counts where a wrong one stands beside it
    assert phenomena(["ein hund und eine maus"], mark).loc["agreement", COLUMNS].tolist() == [1, 1, 1, 1]
    # marks without other forms
    assert phenomena(["ein"], [[("agreement", "ein", ())]]).accuracy["agreement"] == 1


@pytest.mark.parametrize("phenomenon", ORDER)
def test_marks_of_order(phenomenon):
    mark = [[(phenomenon, "gesehen", ("hat",))]]
    expected = {
        "weil er ihn gesehen hat .": [1, 1, 1, 1],
        "weil er hat ihn gesehen .": [1, 0, 1, 0],
        "gesehen weil er ihn hat": [1, 1, 1, 1],
        "hat gesehen": [1, 0, 1, 0],
        "hat gesehen hat": [1, 0, 1, 0],  # the first of each counts
    }
    for text, row in expected.items():
        assert phenomena([text], mark).loc[phenomenon, COLUMNS].tolist() == row, text
    for text in ("weil er ihn sah .", "gesehen", "er hat ihn", "ungesehen hat", ""):
        row = phenomena([text], mark).loc[phenomenon]
        assert row[["n", "accuracy", "found"]].tolist() == [1, 0, 0] and math.isnan(row.of_found)


def test_no_marks_and_mismatches():
    assert phenomena(["a", "b"], [[], []]).empty
    assert phenomena([], []).empty
    with pytest.raises(ValueError):
        phenomena(["a", "b"], [[]])


# -------------------- bootstrap


def test_resamples_draw_with_replacement():
    weights = resamples(7, 500)
    assert weights.shape == (500, 7) and weights.dtype == np.float32
    assert (weights.sum(1) == 7).all() and (weights >= 0).all() and (weights == 0).any()
    np.testing.assert_allclose(weights.mean(0), 1, atol=0.15)
    np.testing.assert_allclose(weights.var(0), 6 / 7, atol=0.2)
    np.testing.assert_array_equal(weights, resamples(7, 500))
    assert (weights != resamples(7, 500, seed=1)).any()


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_the_interval_is_the_slow_bootstrap(level):
    rng = np.random.default_rng(1)
    totals = rng.integers(0, 4, (15, 3, 2)).astype(float)
    totals[:, 1, 0] = 0
    totals[1:, 2, 1], totals[0, 2, 1] = 0, 3  # one sentence alone: not drawn in a third of the draws
    hits = np.floor(rng.random((15, 3, 2)) * (totals + 1)).clip(max=totals)
    found = ratio_interval(hits, totals, 200, level)
    assert all(part.shape == (3, 2) for part in found)
    draws = resamples(15, 200).tolist()
    for i in range(3):
        for j in range(2):
            share, low, high = (part[i, j] for part in found)
            if totals[:, i, j].sum() == 0:
                assert math.isnan(share) and math.isnan(low) and math.isnan(high)
                continue
            assert share == pytest.approx(hits[:, i, j].sum() / totals[:, i, j].sum(), rel=1e-14)
            expected = slow.bootstrap(hits[:, i, j].tolist(), totals[:, i, j].tolist(), draws, level)
            assert (low, high) == pytest.approx(expected, abs=1e-6)


def test_the_ratio_keeps_double_precision():
    hits = np.full((9, 1), 1 / 3)
    assert ratio_interval(hits, np.ones((9, 1)), 10)[0][0] == pytest.approx(1 / 3, rel=1e-15)
    many = np.full((40000, 1), 1 / 3, np.float32)
    assert ratio(many, np.ones((40000, 1), np.float32))[0] == pytest.approx(float(np.float32(1 / 3)), rel=1e-15)


def test_shapes_that_broadcast():
    hits, totals = np.random.default_rng(0).random((6, 4, 8)), np.arange(1.0, 49).reshape(6, 1, 8)
    found, full = ratio_interval(hits, totals, 50), ratio_interval(hits, np.broadcast_to(totals, hits.shape), 50)
    for one, other in zip(found, full, strict=True):
        np.testing.assert_array_equal(one, other)
    flat = ratio_interval(hits[:, 0, 0], totals[:, 0, 0], 50)
    assert all(part.shape == () for part in flat)
    assert [float(part) for part in flat] == pytest.approx([float(part[0, 0]) for part in found])
    lists = ratio_interval([1, 0, 1], [1, 1, 2], 50)
    assert lists[0] == 0.5 and lists[1] <= 0.5 <= lists[2]


def test_nothing_to_divide_by():
    for totals in (np.zeros((5, 3)), np.zeros(5)):
        share, low, high = ratio_interval(np.zeros_like(totals), totals, 20)
        assert np.isnan(share).all() and np.isnan(low).all() and np.isnan(high).all()
        assert share.shape == low.shape == totals.shape[1:]
    share, low, high = ratio_interval(np.ones((1, 2)), np.array([[2.0, 0.0]]), 20)
    assert (share[0], low[0], high[0]) == (0.5, 0.5, 0.5) and np.isnan([share[1], low[1], high[1]]).all()


def test_the_interval_knows_that_tokens_of_a_sentence_are_alike():
    """Sentences with chances of their own spread wider than independent tokens would."""
    rng = np.random.default_rng(8)
    totals = np.full((100, 200), 10.0)
    hits = rng.binomial(10, rng.choice([0.1, 0.9], (100, 200))).astype(float)
    _, low, high = ratio_interval(hits, totals, 500)
    assert 0.88 <= ((low <= 0.5) & (high >= 0.5)).mean() <= 0.99
    tokenwise = 2 * 1.96 * math.sqrt(0.25 / 1000)
    assert (high - low).mean() > 2 * tokenwise
