"""Grouped heads on Gram matrices against loops over explicit vectors and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import silhouette_score

from helpers.heads import remove, sites
from helpers.methods import grouping as units
from helpers.models import inputs
from helpers.study import StudyError
from tests.reference import grouping as slow
from tests.unit.tiny_models import PAD, tiny_batch, tiny_model

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def cases(count, dim=(2, 9), heads=(1, 17)):
    """(heads' vectors [heads, dim], groups, seed of the starts), at random; groups from 1 to all heads."""
    rng = np.random.default_rng(7)
    for seed in range(count):
        size = int(rng.integers(*heads))
        groups = (1, size, int(rng.integers(1, size // 3 + 2)))[min(2, seed % 8)]
        yield rng.standard_normal((size, int(rng.integers(*dim)))) + rng.standard_normal(), groups, seed


def layers(count=20, dim=6, size=7, groups=3):
    """Random vectors [layers, heads, dim] that may learn, and their groups."""
    generator = torch.Generator().manual_seed(3)
    vectors = torch.randn(count, size, dim, generator=generator, dtype=torch.float64) + 0.5
    labels = units.clusters(vectors @ vectors.mT, groups, 1)
    return vectors.requires_grad_(), labels


def exact(family, seed=0, **settings):
    return tiny_model(family, seed, **settings).double()


def two_batches(family):
    """Two padded batches; an OPT's second one is padded on the left."""
    found = [tiny_batch(family, seed) for seed in (1, 2)]
    if family == "opt":
        order = found[1]["attention_mask"].argsort(dim=-1, stable=True)
        found[1] = {name: part.gather(-1, order) for name, part in found[1].items()}
        assert (found[1]["input_ids"][:, 0] == PAD).any()
    return found


def seen(model, batches, which, **more):
    """Grams of each batch, from one forward pass a batch."""
    with units.watch(model, which, **more) as watched, torch.no_grad():
        found = []
        for batch in batches:
            watched.feed(batch)
            model(**inputs(batch))
            found.append(watched.grams)
    return found


def test_groups_are_those_of_a_slow_loop_from_the_same_starts():
    uneven = 0
    for vectors, groups, seed in cases(120):
        (first,) = units.starts(len(vectors), groups, seed)
        labels, centres = units.hidden_units(torch.tensor(vectors), groups, seed)
        assert labels.dtype == torch.int64
        assert labels.tolist() == slow.k_means(vectors.tolist(), first)
        np.testing.assert_allclose(centres, slow.centres(vectors.tolist(), labels.tolist()), **CLOSE)
        uneven += labels.tolist() != slow.by_first_head(np.argmin(((vectors[:, None] - vectors[first]) ** 2).sum(-1), -1))
    assert uneven > 12  # the first assignment is not the last one
    drawn = [units.starts(8, 3, seed)[0] for seed in range(50)]
    assert drawn == [units.starts(8, 3, seed)[0] for seed in range(50)] and len(set(map(tuple, drawn))) > 30


def test_of_several_tries_each_layer_keeps_the_one_of_least_inertia():
    vectors, _ = layers(count=30, size=9)
    grams = (vectors @ vectors.mT).detach()
    best = units.clusters(grams, 3, 4, tries=10)
    assert torch.equal(best, units.clusters(grams, 3, 4, tries=10))
    moved = 0
    for heads, labels in zip(vectors.tolist(), best.tolist(), strict=True):
        tried = [slow.k_means(heads, first) for first in units.starts(9, 3, 4, 10)]
        inertias = [slow.inertia(heads, one) for one in tried]
        assert slow.inertia(heads, labels) == pytest.approx(min(inertias)) and labels in tried
        moved += min(inertias) < inertias[0] * (1 - 1e-9)
    assert moved > 10 and units.starts(9, 3, 4, 10)[0] == units.starts(9, 3, 4)[0]  # the one try of training is the first


def test_equal_heads_are_grouped_as_by_a_slow_loop():
    rng, relocated = np.random.default_rng(5), 0
    for seed in range(120):
        size = int(rng.integers(2, 11))
        # whole numbers: products are exact, so that equal heads are equally far from everything
        vectors = rng.integers(-5000, 5000, (size // 2 + 1, 4)).astype(float)[rng.integers(0, size // 2 + 1, size)]
        groups = int(rng.integers(1, len(np.unique(vectors, axis=0)) + 1))
        (first,) = units.starts(size, groups, seed)
        relocated += len(np.unique(vectors[first], axis=0)) < groups  # a group is empty at first
        labels = units.hidden_units(torch.tensor(vectors), groups, seed)[0].tolist()
        assert labels == slow.k_means(vectors.tolist(), first)
    assert relocated > 12


def test_no_group_is_empty_even_with_more_groups_than_different_heads():
    rng = np.random.default_rng(6)
    for seed in range(50):
        size = int(rng.integers(3, 10))
        kinds = rng.integers(0, max(1, size // 2), size)
        groups = int(rng.integers(len(set(kinds)) + 1, size + 1))
        labels = units.hidden_units(torch.tensor(rng.standard_normal((size, 4))[kinds]), groups, seed)[0].tolist()
        assert sorted(set(labels)) == list(range(groups))


def test_autocast_does_not_round_what_groups_rest_on():
    """Heads that differ by a thousandth: in bfloat16 all are one."""
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(1, 64, generator=generator) + 1e-3 * torch.randn(8, 64, generator=generator)
    labels = torch.arange(8) % 3
    wanted = units.gram(vectors)
    both = units.closeness(wanted, labels, 3)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(units.gram(vectors), wanted)
        assert all(map(torch.equal, units.closeness(wanted, labels, 3), both))
        assert units.gram(vectors.bfloat16()).dtype == torch.float32


def test_the_constraint_is_that_of_the_paper():
    vectors, own = layers()
    for groups, beta, labels in ((3, 0.4, own), (1, 0.0, own * 0)):  # one group has no diversity
        loss, near, apart = units.group_loss(vectors @ vectors.mT, labels, groups, 0.7, beta)
        for layer, (heads, mine) in enumerate(zip(vectors.tolist(), labels.tolist(), strict=True)):
            found = near[layer], apart[layer], loss[layer].detach()
            wanted = slow.homogeneity(heads, mine), slow.diversity(heads, mine), slow.group_loss(heads, mine, 0.7, beta)
            np.testing.assert_allclose(found, wanted, **CLOSE)
        assert loss.requires_grad and not near.requires_grad and not apart.requires_grad


def test_gradients_flow_through_heads_and_centres():
    vectors, labels = layers(count=2, dim=4)
    for alpha, beta in ((0.7, 0.4), (0.0, 0.4)):
        assert torch.autograd.gradcheck(lambda v, a=alpha, b=beta: units.group_loss(v @ v.mT, labels, 3, a, b)[0], (vectors,))


def test_compactness_is_silhouette_and_dunn_index():
    checked = 0
    for vectors, groups, seed in cases(40, heads=(4, 13)):
        labels, _ = units.hidden_units(torch.tensor(vectors), groups, seed)
        found = units.compactness(torch.tensor(vectors @ vectors.T), labels)
        if 1 < groups < len(vectors):
            checked += 1
            assert found["silhouette"] == pytest.approx(silhouette_score(vectors, labels), abs=1e-7)
            assert found["dunn"] == pytest.approx(slow.dunn(vectors.tolist(), labels.tolist()), abs=1e-7)
        else:
            assert all(math.isnan(value) for value in found.values())
    assert checked > 20


LOST = [("encoder", 0, 1), ("cross", 1, 0), ("cross", 1, 3), *[("decoder", 0, head) for head in range(4)]]


@pytest.mark.parametrize("lost", [[], LOST], ids=["whole", "cut"])
@pytest.mark.parametrize(
    ("family", "which"),
    [*(("marian", which) for which in "VAO"), ("bart", "O"), ("opt", "V"), ("opt", "A"), ("gpt2", "O"), ("llama", "V")],
)
def test_inner_products_are_those_of_unpadded_sentences(family, which, lost):
    model, batches = exact(family), two_batches(family)
    remove(model, [address for address in lost if address[0] in {site.kind for site in sites(model)}])
    found = seen(model, batches, which)
    # these form their attention weights, or norms, in single precision whatever the model
    close = {"rtol": 1e-6, "atol": 1e-5} if (family, which) == ("opt", "A") or family == "llama" else CLOSE
    together = slow.vectors(model, batches, which)  # all batches joined
    for expected, grams in (
        *((slow.vectors(model, [batch], which), own) for batch, own in zip(batches, found, strict=True)),
        (together, [sum(parts) for parts in zip(*found, strict=True)]),
    ):
        for site, gram in zip((site for site in sites(model) if site.heads), grams, strict=True):
            vectors = np.array(expected[site.kind, site.layer])
            np.testing.assert_allclose(gram, vectors @ vectors.T, **close)


@pytest.mark.parametrize(("family", "which", "groups"), [("marian", "V", 2), ("bart", "A", 3), ("opt", "O", 1)])
def test_votes_are_counted_as_in_the_paper(family, which, groups):
    model, batches = exact(family), [tiny_batch(family, seed) for seed in range(6)]
    found = units.ballot(model, batches, which, groups)
    expected = slow.ballot(model, batches, which, lambda heads: units.starts(heads, groups)[0])
    for place, (votes, scores, labels) in enumerate(expected.values()):
        assert found.votes[place].tolist() == votes and found.labels[place].tolist() == labels
        np.testing.assert_allclose(found.scores[place], scores, **CLOSE)
        assert sum(votes) == len(batches) * groups


def test_voting_freezes_the_model_and_leaves_it_as_it_was():
    model = tiny_model("marian", dropout=0.5, attention_dropout=0.5).double()
    batches = two_batches("marian")
    calm = units.ballot(model, batches, "A", 2)
    model.train()
    torch.testing.assert_close(units.ballot(model, batches, "A", 2).scores, calm.scores, rtol=0, atol=0)
    assert model.training and all(weight.grad is None for weight in model.parameters())
    with pytest.raises(StudyError, match="cannot be put"):
        units.ballot(model, batches, "A", 9)
    assert model.training


def test_heads_that_stay():
    rng, places = np.random.default_rng(11), sites(tiny_model("marian"))
    for groups in (1, 2, 3, 4):
        for _ in range(15):
            labels = [slow.by_first_head([*rng.permutation(groups), *rng.integers(0, groups, 4 - groups)]) for _ in range(6)]
            votes = rng.integers(0, 3, (6, 4))  # many are equal: the first stays
            columns = [list(torch.as_tensor(column)) for column in (votes, votes / 9, labels)]
            found = units.stay(units.Ballot(places, *columns, 9, groups))
            kept = [(site, slow.stay(count.tolist(), own)) for site, count, own in zip(places, votes, labels, strict=True)]
            assert found == [(site.kind, site.layer, head) for site, stays in kept for head in stays]


def watched(family, which):
    with units.watch(tiny_model(family), which):
        pass


def constrained(labels, groups, beta, zero=()):
    """The constraint on layers, of which one may have a head of zeros."""
    vectors = layers()[0].detach().clone()
    vectors[zero] = 0.0 if zero else vectors[zero]
    units.group_loss(vectors @ vectors.mT, torch.as_tensor(labels).expand(20, 7), groups, 1.0, beta)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: units.starts(4, 5), "4 heads .* 5 groups"),
        (lambda: constrained([0] * 7, 1, 0.1), "beta"),
        (lambda: constrained([0, 1] * 3 + [0], 2, 1.0, (4, 5)), "head 5 in layer 4"),
        (lambda: watched("marian", "K"), "'K'"),
        (lambda: watched("gpt2", "V"), "GPT2LMHeadModel"),
        (lambda: units.ballot(tiny_model("marian"), []), "batches"),
        (lambda: units.Grouped(tiny_model("marian"), "class"), "'class'"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(StudyError, match=said):
        call()
