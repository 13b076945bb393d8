"""BLEU, ROUGE, perplexity, bootstrap intervals."""

import math
import random

import numpy as np
import pytest

from helpers.scores import scoring
from helpers.study import StudyError

pytestmark = pytest.mark.filterwarnings("error")


def texts(number, seed=0):
    """References, and hypotheses with a fifth of their words changed."""
    rng = random.Random(seed)
    words = "der die das hund katze maus sieht jagt hört große kleine alte . nicht heute".split()
    references = [" ".join(rng.choice(words) for _ in range(rng.randint(5, 14))) for _ in range(number)]
    return [" ".join(rng.choice(words) if rng.random() < 0.2 else w for w in text.split()) for text in references], references


def test_bleu_of_summed_statistics():
    hypotheses, references = texts(30)
    hypotheses[3], hypotheses[4] = "", " ".join(reversed(references[4].split()))  # no pairs of words: smoothed
    statistics = scoring.bleu_statistics(hypotheses, references)
    chosen = [list(range(30)), list(range(5)), [3], [4]]
    parts = np.stack([statistics[rows].sum(0) for rows in chosen])
    expected = [scoring.bleu([hypotheses[i] for i in c], [references[i] for i in c], 0)["bleu"] for c in chosen]
    assert scoring.bleu_of(parts.reshape(2, 2, 10)).ravel().tolist() == expected
    assert expected[2] == 0 < expected[3] < expected[1]


def test_the_interval_of_bleu_is_paired():
    (ours, references), theirs = texts(20), texts(20, 1)[1]
    theirs = [f"{one} {other}" for one, other in zip(ours, theirs, strict=True)]
    one, other = scoring.bleu_statistics(ours, references), scoring.bleu_statistics(theirs, references)

    def drawn(statistics):
        return [scoring.bleu_of(weights @ statistics) for weights in scoring.resamples(20, 100)]

    values = [scoring.bleu(texts, references, 0)["bleu"] for texts in (ours, theirs)]
    value, *ends = scoring.bleu_interval(one, other, 100)
    assert value == pytest.approx(values[0] - values[1])
    assert ends == pytest.approx(np.quantile(np.subtract(drawn(one), drawn(other)), [0.025, 0.975]))
    assert scoring.bleu_interval(one, one, 100) == (0, 0, 0) and np.isnan(scoring.bleu_interval(one[:1])[1:]).all()


def f1(common, ours, theirs):
    return 200 * common / (ours + theirs)


def test_rouge_by_hand():
    rows = [
        ("the dog chased the cat .", "The cat saw the dog chased", [f1(5, 5, 6), f1(3, 4, 5), f1(3, 5, 6)]),
        ("Cats, sitting, ran!", "cat sits running", [f1(2, 3, 3), f1(1, 2, 2), f1(2, 3, 3)]),  # English endings do not count
        ("dogs bark\ncats sleep", "cats sleep\ndogs bark", [100, f1(2, 3, 3), f1(2, 4, 4)]),  # lines are one text
        ("", "the cat", [0, 0, 0]),
    ]
    hypotheses, references, expected = zip(*rows, strict=True)
    np.testing.assert_allclose(scoring.rouge_statistics(hypotheses, references), expected)


def drawn_middle(score, size, repeats):
    """The slow bootstrap: `score` of the examples that each resample draws, as often as it draws them."""
    draws = [np.repeat(np.arange(size), weights.astype(int)) for weights in scoring.resamples(size, repeats)]
    return np.quantile([score(draw) for draw in draws], [0.025, 0.975], axis=0)


@pytest.mark.parametrize("paired", [False, True])
def test_the_mean_and_its_interval(paired):
    values, others = np.random.default_rng(0).random((2, 40, 3))
    other, apart = (others, values - others) if paired else (None, values)
    found, *ends = scoring.mean_interval(values, other, 300)
    np.testing.assert_allclose(found, apart.mean(0), rtol=1e-12)
    np.testing.assert_allclose(ends, drawn_middle(lambda draw: apart[draw].mean(0), 40, 300), rtol=1e-9)


def test_without_resamples_or_with_one_example_there_is_no_interval():
    for rows, repeats in (([[3.0, 4.0]], 1000), ([[2.0, 4.0], [4.0, 4.0]], 0)):
        values, tokens = np.array(rows), np.ones(len(rows))
        for other, mean, perplexity in ((None, [3, 4], math.exp(3)), (np.ones_like(values), [2, 3], math.exp(3) - math.e)):
            found, *ends = scoring.mean_interval(values, other, repeats)
            assert found.tolist() == mean and np.isnan(ends).all() and np.shape(ends) == (2, 2)
            found, *ends = scoring.perplexity_interval(values[:, 0], tokens, None if other is None else other[:, 0], repeats)
            assert found == pytest.approx(perplexity) and np.isnan(ends).all()


@pytest.mark.parametrize(
    ("call", "sides", "said"),
    [("bleu", ([], []), "BLEU"), ("bleu_statistics", (["a"], ["a", "b"]), "BLEU"), ("rouge_statistics", ([], []), "ROUGE"),
     ("mean_interval", [np.zeros((0, 3))], "mean"), ("mean_interval", [np.zeros((2, 3)), np.zeros((2, 1))], "mean"),
     ("perplexity_interval", ([1.0], [1], [1.0, 2.0]), "Perplexity")],
)  # fmt: skip
def test_mismatches_are_refused(call, sides, said):
    with pytest.raises(StudyError, match=said):
        getattr(scoring, call)(*sides)


@pytest.mark.parametrize("paired", [False, True])
def test_perplexity_and_its_interval(paired):
    rng = np.random.default_rng(3)
    tokens = rng.integers(1, 50, 30)
    loss, other = tokens * rng.random((2, 30)) * 3

    def score(draw):
        own, theirs = (math.exp(side[draw].sum() / tokens[draw].sum()) for side in (loss, other))
        return own - theirs if paired else own

    found, *ends = scoring.perplexity_interval(list(loss), tokens, other if paired else None, 300)
    assert found == pytest.approx(score(np.arange(30))) and ends == pytest.approx(drawn_middle(score, 30, 300))
    assert scoring.perplexity_interval(loss, tokens, loss) == (0, 0, 0)


def test_the_interval_is_the_slow_bootstrap():
    rng = np.random.default_rng(1)
    totals = rng.integers(0, 4, (15, 3, 2)).astype(float)
    totals[:, 1, 0] = 0
    totals[1:, 2, 1], totals[0, 2, 1] = 0, 3  # one sentence alone: not drawn in a third of the draws
    hits = np.floor(rng.random((15, 3, 2)) * (totals + 1)).clip(max=totals)
    found = scoring.ratio_interval(hits, totals, 200)
    assert all(part.shape == (3, 2) for part in found)
    draws = scoring.resamples(15, 200)
    for i in range(3):
        for j in range(2):
            share, low, high = (part[i, j] for part in found)
            if totals[:, i, j].sum() == 0:
                assert math.isnan(share) and math.isnan(low) and math.isnan(high)
                continue
            assert share == pytest.approx(hits[:, i, j].sum() / totals[:, i, j].sum(), rel=1e-14)
            some = draws[draws @ totals[:, i, j] > 0]  # draws without a total do not count
            ratios = [sum(draw * hits[:, i, j]) / sum(draw * totals[:, i, j]) for draw in some]
            assert (low, high) == pytest.approx(np.quantile(ratios, [0.025, 0.975]), abs=1e-6)


def test_resamples_draw_as_many_as_there_are_with_replacement():
    weights = scoring.resamples(7, 500)
    assert (weights.sum(1) == 7).all() and (weights == 0).any()
    np.testing.assert_allclose(weights.mean(0), 1, atol=0.15)
    np.testing.assert_array_equal(weights, scoring.resamples(7, 500))


def test_ratios_keep_double_precision_and_may_have_nothing_to_divide_by():
    many = np.full((40000, 1), 1 / 3, np.float32)
    assert scoring.ratio(many, np.ones((40000, 1), np.float32))[0] == pytest.approx(float(np.float32(1 / 3)), rel=1e-15)
    found = np.stack(scoring.ratio_interval(np.ones((1, 2)), np.array([[2.0, 0.0]]), 20))
    assert (found[:, 0] == 0.5).all() and np.isnan(found[:, 1]).all()
