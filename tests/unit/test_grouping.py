"""Grouped heads on Gram matrices against loops over explicit vectors, scikit-learn and finite differences."""

from __future__ import annotations

import math
import warnings
from functools import cache

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score
from transformers.models.t5.modeling_t5 import T5LayerNorm

from helpers.heads import KINDS, remove, sites
from helpers.methods.grouping.units import (
    Ballot,
    ballot,
    class_loss,
    closeness,
    clusters,
    compactness,
    disagreement,
    group_loss,
    hidden_units,
    starts,
    stay,
    watch,
)
from helpers.models import inputs
from helpers.study import StudyError
from tests.reference import grouping as slow
from tests.unit.tiny_models import PAD, tiny_batch, tiny_model

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
MAPS = [
    (family, which)
    for family in ("pegasus", "marian", "bart", "t5", "opt", "gpt2")
    for which in "VAO"
    if (family, which) != ("gpt2", "V")
]
maps = pytest.mark.parametrize(("family", "which"), MAPS)


# -------------------- helpers of the tests


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
    labels = clusters(vectors @ vectors.mT, groups, 1)
    return vectors.requires_grad_(), labels


def library(vectors, first):
    """Groups that scikit-learn finds from the same first centres."""
    search = KMeans(len(first), init=vectors[first].copy(), n_init=1, algorithm="lloyd", max_iter=1000, tol=0)
    return slow.by_first_head(search.fit(vectors).labels_.tolist())


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
    with watch(model, which, **more) as watched, torch.no_grad():
        found = []
        for batch in batches:
            watched.feed(batch)
            model(**inputs(batch))
            found.append(watched.grams)
    return found


def tolerance(family, which):
    """OPT forms its attention weights in single precision whatever the model."""
    return {"rtol": 1e-6, "atol": 1e-5} if (family, which) == ("opt", "A") else CLOSE


@pytest.fixture(autouse=True)
def exact_t5(monkeypatch):
    """T5 computes its norms in single precision whatever the model, too coarse for ten digits."""
    monkeypatch.setattr(T5LayerNorm, "forward", lambda norm, x: norm.weight * x * (x.square().mean(-1, True) + 1e-6) ** -0.5)


# -------------------- hidden units


def test_groups_are_those_of_scikit_learn_from_the_same_starts():
    uneven = 0
    for vectors, groups, seed in cases(300):
        first = starts(len(vectors), groups, seed)
        labels, centres = hidden_units(torch.tensor(vectors), groups, seed)
        assert labels.dtype == torch.int64
        assert labels.tolist() == library(vectors, first) == slow.k_means(vectors.tolist(), first)
        np.testing.assert_allclose(centres, slow.centres(vectors.tolist(), labels.tolist()), **CLOSE)
        uneven += labels.tolist() != slow.by_first_head(np.argmin(((vectors[:, None] - vectors[first]) ** 2).sum(-1), -1))
    assert uneven > 30  # the first assignment is not the last one


def test_equal_heads_are_grouped_as_by_scikit_learn():
    rng, relocated = np.random.default_rng(5), 0
    for seed in range(300):
        size = int(rng.integers(2, 11))
        # whole numbers: products are exact, so that equal heads are equally far from everything
        vectors = rng.integers(-5000, 5000, (size // 2 + 1, 4)).astype(float)[rng.integers(0, size // 2 + 1, size)]
        groups = int(rng.integers(1, len(np.unique(vectors, axis=0)) + 1))
        first = starts(size, groups, seed)
        relocated += len(np.unique(vectors[first], axis=0)) < groups  # a group is empty at first
        labels = hidden_units(torch.tensor(vectors), groups, seed)[0].tolist()
        assert labels == library(vectors, first) == slow.k_means(vectors.tolist(), first)
    assert relocated > 30


def test_no_group_is_empty_even_with_more_groups_than_different_heads():
    rng = np.random.default_rng(6)
    for seed in range(100):
        size = int(rng.integers(3, 10))
        kinds = rng.integers(0, max(1, size // 2), size)
        vectors = rng.standard_normal((size, 4))[kinds]
        groups = int(rng.integers(len(set(kinds)) + 1, size + 1))
        labels = hidden_units(torch.tensor(vectors), groups, seed)[0].tolist()
        assert sorted(set(labels)) == list(range(groups))
    assert hidden_units(torch.ones(4, 3), 4)[0].tolist() == [0, 1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert library(np.ones((4, 3)), [0, 1, 2, 3]) == [0, 0, 0, 0]  # where scikit-learn leaves groups empty


def test_groups_are_numbered_by_their_first_head():
    far = torch.tensor([[9.0, 0], [0, 9], [9, 1], [0, 8], [-9, 0]])
    for seed in range(20):
        labels, centres = hidden_units(far, 3, seed)
        assert labels.tolist() == slow.by_first_head(labels.tolist())
        torch.testing.assert_close(centres[0], far[labels == 0].mean(0))
    assert {tuple(hidden_units(far, 3, seed)[0].tolist()) for seed in range(20)} >= {(0, 1, 0, 1, 2)}


def test_groups_from_inner_products_are_groups_of_vectors():
    generator = torch.Generator().manual_seed(2)
    vectors = torch.randn(2, 3, 8, 5, generator=generator, dtype=torch.float64)
    for groups, seed in ((1, 0), (2, 1), (3, 2), (8, 0)):
        together = clusters(vectors @ vectors.mT, groups, seed)
        assert together.shape == (2, 3, 8) and together.dtype == torch.int64
        for row in range(2):
            for column in range(3):
                one = vectors[row, column]
                assert together[row, column].equal(hidden_units(one, groups, seed)[0])
                assert together[row, column].equal(clusters(one @ one.mT, groups, seed))


def test_inner_products_of_joined_vectors_are_sums():
    generator = torch.Generator().manual_seed(4)
    parts = [torch.randn(6, dim, generator=generator, dtype=torch.float64) for dim in (3, 7, 12)]
    joined = torch.cat(parts, -1)
    total = sum(part @ part.mT for part in parts)
    torch.testing.assert_close(total, joined @ joined.mT, rtol=1e-12, atol=1e-12)
    for seed in range(10):
        expected = slow.k_means(joined.tolist(), starts(6, 3, seed))
        assert clusters(total, 3, seed).tolist() == hidden_units(joined, 3, seed)[0].tolist() == expected


def test_starts_are_different_heads_drawn_by_the_seed():
    drawn = [starts(8, 3, seed) for seed in range(50)]
    assert drawn == [starts(8, 3, seed) for seed in range(50)] and len(set(map(tuple, drawn))) > 30
    assert all(len(set(one)) == 3 and set(one) <= set(range(8)) for one in drawn)
    assert {head for one in drawn for head in one} == set(range(8))
    assert sorted(starts(5, 5)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("groups", [0, -1, 5])
def test_groups_must_be_at_least_one_and_at_most_the_heads(groups):
    for ask in (lambda: starts(4, groups), lambda: hidden_units(torch.eye(4), groups), lambda: clusters(torch.eye(4), groups)):
        with pytest.raises(StudyError, match=f"4 heads cannot be put into {groups} groups"):
            ask()


# -------------------- the group constraint


def test_group_constraint_is_that_of_the_paper():
    vectors, labels = layers()
    loss, near, apart = group_loss(vectors @ vectors.mT, labels, 3, 0.7, 0.4)
    for layer, heads in enumerate(vectors.tolist()):
        groups = labels[layer].tolist()
        assert near[layer].item() == pytest.approx(slow.homogeneity(heads, groups), abs=1e-10)
        assert apart[layer].item() == pytest.approx(slow.diversity(heads, groups), abs=1e-10)
        assert loss[layer].item() == pytest.approx(slow.group_loss(heads, groups, 0.7, 0.4), abs=1e-10)
    assert loss.requires_grad and not near.requires_grad and not apart.requires_grad
    assert (apart.std() > 0.1) and (near.std() > 0.01)
    by_layer = group_loss((vectors @ vectors.mT).unflatten(0, (4, 5)), labels.unflatten(0, (4, 5)), 3, 0.7, 0.4)
    for whole, flat in zip(by_layer, (loss, near, apart), strict=True):
        torch.testing.assert_close(whole.flatten(), flat)
    alone = group_loss(vectors[0] @ vectors[0].mT, labels[0], 3, 0.7, 0.4)
    assert [part.shape for part in alone] == [()] * 3 and alone[0].item() == pytest.approx(loss[0].item())


def test_closeness_is_the_cosine_with_centres_and_between_them():
    vectors, labels = layers()
    own, between = closeness(vectors @ vectors.mT, labels, 3)
    assert own.shape == (20, 7) and between.shape == (20, 3, 3)
    for layer, heads in enumerate(vectors.tolist()):
        groups = labels[layer].tolist()
        units = slow.centres(heads, groups)
        expected = [slow.cosine(head, units[group]) for head, group in zip(heads, groups, strict=True)]
        np.testing.assert_allclose(own[layer].detach(), expected, **CLOSE)
        expected = [[slow.cosine(one, other) for other in units] for one in units]
        np.testing.assert_allclose(between[layer].detach(), expected, **CLOSE)


def test_the_size_of_a_head_moves_its_centre_but_no_cosine_of_its_own():
    vectors, labels = layers()
    units = slow.centres(vectors[0].tolist(), labels[0].tolist())
    scaled = 3 * vectors
    for one, other in zip(
        group_loss(scaled @ scaled.mT, labels, 3, 1, 1), group_loss(vectors @ vectors.mT, labels, 3, 1, 1), strict=True
    ):
        torch.testing.assert_close(one, other)
    longer = vectors.detach().clone()
    member = labels[0].tolist().index(labels[0].mode().values.item())
    longer[0, member] *= 3
    assert slow.centres(longer[0].tolist(), labels[0].tolist()) != units
    own = closeness(longer @ longer.mT, labels, 3)[0]
    expected = slow.homogeneity(longer[0].tolist(), labels[0].tolist())
    assert own[0].mean().item() == pytest.approx(expected, abs=1e-10)
    assert abs(expected - slow.homogeneity(vectors[0].tolist(), labels[0].tolist())) > 1e-3


def test_gradients_flow_through_heads_and_centres():
    vectors, labels = layers(count=3)
    (slopes,) = torch.autograd.grad(group_loss(vectors @ vectors.mT, labels, 3, 0.7, 0.4)[0].sum(), vectors)
    step = 1e-5
    for layer in range(3):
        groups, heads = labels[layer].tolist(), vectors[layer].tolist()
        for head in range(7):
            for place in range(6):
                ends = []
                for move in (step, -step):
                    moved = [list(one) for one in heads]
                    moved[head][place] += move
                    ends.append(slow.group_loss(moved, groups, 0.7, 0.4))
                assert slopes[layer, head, place].item() == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)
    # centres that are held fixed give another gradient
    units = torch.stack([torch.tensor(slow.centres(vectors[i].tolist(), labels[i].tolist())) for i in range(3)])
    own = units.gather(1, labels[..., None].expand(-1, -1, 6))
    fixed = -0.7 * torch.cosine_similarity(vectors, own, -1).mean(-1).sum()
    (frozen,) = torch.autograd.grad(fixed, vectors)
    (near,) = torch.autograd.grad(group_loss(vectors @ vectors.mT, labels, 3, 0.7, 0.0)[0].sum(), vectors)
    assert (near - frozen).abs().max() > 1e-3
    (apart,) = torch.autograd.grad(group_loss(vectors @ vectors.mT, labels, 3, 0.0, 0.4)[0].sum(), vectors)
    assert apart.abs().max() > 1e-3  # centres held fixed would give none at all


def test_gradients_of_all_constraints():
    vectors, labels = layers(count=2, dim=4)
    logits = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: group_loss(v @ v.mT, labels, 3, 0.7, 0.4)[0], (vectors,))
    assert torch.autograd.gradcheck(lambda v: disagreement(v @ v.mT), (vectors,))
    assert torch.autograd.gradcheck(lambda z: class_loss(z, labels, 0.7, 0.4), (logits,))


def test_a_step_against_the_gradient_makes_groups_closer_and_further_apart():
    vectors, labels = layers(count=5)
    for alpha, beta in ((1.0, 0.0), (0.0, 1.0)):
        loss, near, apart = group_loss(vectors @ vectors.mT, labels, 3, alpha, beta)
        (slopes,) = torch.autograd.grad(loss.sum(), vectors)
        moved = vectors.detach() - 0.1 * slopes
        _, nearer, further = group_loss(moved @ moved.mT, labels, 3, alpha, beta)
        assert (nearer > near).all() if alpha else (further < apart).all()


def test_one_group_has_no_diversity():
    vectors, _ = layers(count=2)
    labels = torch.zeros(2, 7, dtype=torch.int64)
    loss, near, apart = group_loss(vectors @ vectors.mT, labels, 1, 0.7, 0.0)
    assert apart.tolist() == [0, 0]
    expected = [slow.homogeneity(heads, [0] * 7) for heads in vectors.tolist()]
    np.testing.assert_allclose(near, expected, **CLOSE)
    np.testing.assert_allclose(loss.detach(), [-0.7 * one for one in expected], **CLOSE)
    logits = torch.zeros(2, 7, 1, dtype=torch.float64)
    assert class_loss(logits, labels, 0.7, 0.0).tolist() == [0, 0]
    for ask in (lambda: group_loss(vectors @ vectors.mT, labels, 1, 0.7, 0.1), lambda: class_loss(logits, labels, 0.7, 0.1)):
        with pytest.raises(StudyError, match=r"One group has no other to differ from: set beta to 0, not 0\.1"):
            ask()


def test_a_group_for_every_head():
    vectors, _ = layers(count=2)
    labels = torch.arange(7).expand(2, 7)
    loss, near, apart = group_loss(vectors @ vectors.mT, labels, 7, 0.7, 0.4)
    np.testing.assert_allclose(near, 1.0, **CLOSE)
    expected = [(49 * slow.disagreement(heads) - 7) / 42 for heads in vectors.tolist()]  # all pairs but those of one head
    np.testing.assert_allclose(apart, expected, **CLOSE)
    np.testing.assert_allclose(loss.detach(), [0.4 * one - 0.7 for one in expected], **CLOSE)


def test_a_head_of_zeros_is_named():
    vectors = layers()[0].detach().clone()
    labels = layers()[1]
    vectors[4, 5] = 0
    with pytest.raises(StudyError, match=r"head 5 in layer 4 .* all zero"):
        group_loss(vectors @ vectors.mT, labels, 3, 1.0, 1.0)
    with pytest.raises(StudyError, match="head 5 is all zero"):
        group_loss(vectors[4] @ vectors[4].mT, labels[4], 3, 1.0, 1.0)


def test_categorical_constraint_is_that_of_the_paper():
    generator = torch.Generator().manual_seed(8)
    for groups in (2, 3, 5):
        logits = 3 * torch.randn(4, 6, groups, generator=generator, dtype=torch.float64)
        labels = torch.randint(groups, (4, 6), generator=generator)
        found = class_loss(logits, labels, 0.7, 0.4)
        expected = [slow.class_loss(*one, 0.7, 0.4) for one in zip(logits.tolist(), labels.tolist(), strict=True)]
        np.testing.assert_allclose(found, expected, **CLOSE)
        assert class_loss(logits[0], labels[0], 0.7, 0.4).item() == pytest.approx(expected[0])


def test_disagreement_is_the_mean_cosine_of_all_pairs_of_heads():
    vectors, _ = layers()
    found = disagreement((vectors @ vectors.mT).unflatten(0, (4, 5)))
    expected = [slow.disagreement(heads) for heads in vectors.tolist()]
    np.testing.assert_allclose(found.detach().flatten(), expected, **CLOSE)
    assert disagreement(torch.ones(3, 3)).item() == pytest.approx(1) and disagreement(torch.eye(4)).item() == 0.25


def test_compactness_is_silhouette_and_dunn_index():
    checked = 0
    for vectors, groups, seed in cases(60, heads=(4, 13)):
        labels, _ = hidden_units(torch.tensor(vectors), groups, seed)
        found = compactness(torch.tensor(vectors @ vectors.T), labels)
        if 1 < groups < len(vectors):
            checked += 1
            assert found["silhouette"] == pytest.approx(silhouette_score(vectors, labels), abs=1e-7)
            assert found["silhouette"] == pytest.approx(slow.silhouette(vectors.tolist(), labels.tolist()), abs=1e-7)
            assert found["dunn"] == pytest.approx(slow.dunn(vectors.tolist(), labels.tolist()), abs=1e-7)
        else:
            assert found.keys() == {"silhouette", "dunn"} and all(math.isnan(value) for value in found.values())
    assert checked > 30
    pairs = torch.tensor([[0.0], [1], [10], [12]])
    found = compactness(pairs @ pairs.T, torch.tensor([0, 0, 1, 1]))
    assert found["dunn"] == pytest.approx(9 / 2)
    assert found["silhouette"] == pytest.approx((10 / 11 + 9 / 10 + 7.5 / 9.5 + 9.5 / 11.5) / 4)


# -------------------- feature maps


@maps
def test_inner_products_are_those_of_unpadded_sentences(family, which):
    model, batches = exact(family), two_batches(family)
    found = seen(model, batches, which)
    for batch, grams in zip(batches, found, strict=True):
        expected = slow.vectors(model, [batch], which)
        assert len(grams) == len(expected) == len(sites(model))
        for site, gram in zip(sites(model), grams, strict=True):
            vectors = np.array(expected[site.kind, site.layer])
            assert gram.shape == (4, 4)
            np.testing.assert_allclose(gram, vectors @ vectors.T, **tolerance(family, which))
    # all batches joined
    for place, heads in enumerate(slow.vectors(model, batches, which).values()):
        vectors = np.array(heads)
        np.testing.assert_allclose(sum(one[place] for one in found), vectors @ vectors.T, **tolerance(family, which))


@pytest.mark.parametrize("which", "VAO")
def test_padding_may_be_counted_too(which):
    model, (batch, _) = exact("marian"), two_batches("marian")
    ids, labels = batch["input_ids"], batch["labels"]
    full = {"input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)}
    (without,), (counted,) = (seen(model, [batch], which, padding=padding) for padding in (False, True))
    places = [place for place, site in enumerate(sites(model)) if site.kind != "decoder" or which != "A"]
    assert all((counted[place].diagonal() > without[place].diagonal()).all() for place in places)
    (plain,) = seen(model, [full], which)
    (same,) = seen(model, [full], which, padding=True)
    for site, one, other in zip(sites(model), plain, same, strict=True):
        if site.kind == "encoder":
            torch.testing.assert_close(one, other)


def test_without_a_mask_all_source_tokens_are_real():
    model, (batch, _) = exact("bart"), two_batches("bart")
    ones = {**batch, "attention_mask": torch.ones_like(batch["input_ids"])}
    bare = {name: part for name, part in batch.items() if name != "attention_mask"}
    for which in "VAO":
        for one, other in zip(*(seen(model, [given], which)[0] for given in (ones, bare)), strict=True):
            torch.testing.assert_close(one, other)


def test_kinds_choose_the_layers_that_are_seen():
    model, batches = exact("pegasus"), two_batches("pegasus")
    for which in "VAO":
        whole, some = seen(model, batches, which)[1], seen(model, batches, which, kinds=("cross", "encoder"))[1]
        wanted = [gram for site, gram in zip(sites(model), whole, strict=True) if site.kind != "decoder"]
        assert len(some) == 4
        for one, other in zip(some, wanted, strict=True):
            torch.testing.assert_close(one, other)


def test_watching_changes_nothing_and_ends_with_the_block():
    model, (batch, other) = exact("marian"), two_batches("marian")
    plain = model(**inputs(batch)).logits
    for which in "VAO":
        with pytest.raises(KeyError, match="stop"), watch(model, which) as watched:
            watched.feed(batch)
            torch.testing.assert_close(model(**inputs(batch)).logits, plain, **CLOSE)
            grams = watched.grams
            raise KeyError("stop")
        torch.testing.assert_close(model(**inputs(batch)).logits, plain, rtol=0, atol=0)
        model(**inputs(other))
        assert all(one is two for one, two in zip(watched.grams, grams, strict=True))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_layers_that_lost_heads():
    model = exact("marian")
    remove(model, [("encoder", 0, 1), ("cross", 1, 0), ("cross", 1, 3), *[("decoder", 0, head) for head in range(4)]])
    batches = two_batches("marian")
    left = [site for site in sites(model) if site.heads]
    assert [site.heads for site in left] == [3, 4, 4, 4, 2]
    for which in "VAO":
        expected = slow.vectors(model, batches[:1], which)
        for site, gram in zip(left, seen(model, batches, which)[0], strict=True):
            vectors = np.array(expected[site.kind, site.layer])
            np.testing.assert_allclose(gram, vectors @ vectors.T, **CLOSE)
    found = ballot(model, batches, "O", 2)
    assert [len(votes) for votes in found.votes] == [3, 4, 4, 4, 2]
    assert [sum(votes.tolist()) for votes in found.votes] == [4] * 5
    assert len(stay(found)) == 10
    with pytest.raises(StudyError, match="2 heads cannot be put into 3 groups"):
        ballot(model, batches, "O", 3)


@pytest.mark.parametrize("which", "VAO")
def test_gradients_reach_the_model(which):
    model, (batch, _) = exact("marian"), two_batches("marian")
    with watch(model, which) as watched:
        watched.feed(batch)
        model(**inputs(batch))
        grams = torch.stack(watched.grams)
    labels = clusters(grams, 2)
    weights = [site.projection(name).weight for site in sites(model, ("encoder", "cross")) for name in ("q", "v")]
    slopes = torch.autograd.grad(group_loss(grams, labels, 2, 0.7, 0.4)[0].sum(), weights, allow_unused=True)
    generator = torch.Generator().manual_seed(9)
    along = [torch.randn(weight.shape, generator=generator, dtype=torch.float64) for weight in weights]
    expected = sum(float((slope * way).sum()) for slope, way in zip(slopes, along, strict=True) if slope is not None)
    ends, step = [], 1e-5
    for move in (step, -2 * step):
        with torch.no_grad():
            for weight, way in zip(weights, along, strict=True):
                weight += move * way
        heads = slow.vectors(model, [batch], which).values()
        ends.append(sum(slow.group_loss(one, groups, 0.7, 0.4) for one, groups in zip(heads, labels.tolist(), strict=True)))
    assert abs(expected) > 0.01
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(expected, rel=1e-5)


def test_maps_that_are_not_there_are_refused():
    for family in ("marian", "gpt2"):
        with pytest.raises(StudyError, match="no feature map 'K': choose from V, A, O"), watch(tiny_model(family), "K"):
            pass
    with pytest.raises(StudyError, match="GPT2LMHeadModel has no value projection of its own"), watch(tiny_model("gpt2"), "V"):
        pass
    with pytest.raises(StudyError, match="has no encoder attention"), watch(tiny_model("opt"), "V", ("encoder",)):
        pass


# -------------------- voting to stay


@pytest.mark.parametrize(("family", "which", "groups"), [("marian", "V", 2), ("bart", "A", 3), ("t5", "O", 2), ("opt", "V", 1)])
def test_votes_are_counted_as_in_the_paper(family, which, groups):
    model = exact(family)
    batches = [tiny_batch(family, seed) for seed in range(6)]
    found = ballot(model, batches, which, groups, seed=3)
    expected = slow.ballot(model, batches, which, lambda heads: starts(heads, groups, 3))
    assert [(site.kind, site.layer) for site in found.places] == list(expected) and found.batches == 6
    for place, (votes, scores, labels) in enumerate(expected.values()):
        assert found.votes[place].tolist() == votes and sum(votes) == 6 * groups
        np.testing.assert_allclose(found.scores[place], scores, **CLOSE)
        assert found.labels[place].tolist() == labels
    for by, column in (("votes", 0), ("scores", 1)):
        kept = [(*place, head) for place, one in expected.items() for head in slow.stay(one[column], one[2], "group")]
        assert stay(found, "group", by) == kept and len(kept) == groups * len(expected)
    again = ballot(model, batches, which, groups, seed=3)
    assert all(one.equal(other) for one, other in zip(found.scores, again.scores, strict=True))


def test_votes_by_distance():
    model = exact("pegasus", encoder_attention_heads=8, decoder_attention_heads=8)
    differing = 0
    for seed in range(6):
        batch = tiny_batch("pegasus", seed)
        far, near = (ballot(model, [batch], "V", 2, seed=seed, measure=measure) for measure in ("distance", "cosine"))
        expected = slow.ballot(model, [batch], "V", lambda heads, seed=seed: starts(heads, 2, seed), "distance")
        for place, (votes, scores, labels) in enumerate(expected.values()):
            assert far.labels[place].tolist() == labels
            np.testing.assert_allclose(far.scores[place], scores, **CLOSE)  # the cosine in any case
            for group in range(2):
                own = [head for head in range(8) if labels[head] == group]
                won = far.votes[place][own].tolist()
                assert sum(won) == 1
                if len(own) != 2:  # two are equally far from their mean
                    assert won == [votes[head] for head in own]
                    differing += won != near.votes[place][own].tolist()
    assert differing > 5


def test_kinds_and_seed_of_a_ballot():
    model, batches = exact("marian"), two_batches("marian")
    some = ballot(model, batches, "V", 2, kinds=("cross",), seed=1)
    assert [(site.kind, site.layer) for site in some.places] == [("cross", 0), ("cross", 1)]
    whole = ballot(model, batches, "V", 2, seed=1)
    assert [one.tolist() for one in some.votes] == [one.tolist() for one in whole.votes[-2:]]
    assert {kind for kind, _, _ in stay(some)} == {"cross"} and {kind for kind, _, _ in stay(whole)} == set(KINDS)
    labels = {tuple(tuple(one.tolist()) for one in ballot(model, batches, "V", 2, seed=seed).labels) for seed in range(4)}
    assert len(labels) > 1


def test_voting_freezes_the_model_and_leaves_it_as_it_was():
    model = tiny_model("marian", dropout=0.5, attention_dropout=0.5).double()
    batches = two_batches("marian")
    calm = ballot(model, batches, "A", 2)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    model.train()
    assert [one.tolist() for one in ballot(model, batches, "A", 2).scores] == [one.tolist() for one in calm.scores]
    assert model.training and all(weight.equal(before[name]) for name, weight in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())
    with pytest.raises(StudyError, match="cannot be put"):
        ballot(model, batches, "A", 9)
    assert model.training


@cache
def real_sites():
    return sites(tiny_model("marian"))


def made(votes, labels, groups, scores=None):
    """A ballot of chosen votes and groups in the layers of a real model."""
    places = real_sites()
    votes, labels = torch.as_tensor(votes), torch.as_tensor(labels)
    scores = votes.double() if scores is None else torch.as_tensor(scores)
    return Ballot(places, list(votes), list(scores), list(labels), [torch.eye(4)] * len(places), 9, groups)


@pytest.mark.parametrize("rule", ["group", "total"])
@pytest.mark.parametrize("by", ["votes", "scores"])
def test_heads_that_stay(rule, by):
    rng = np.random.default_rng(11)
    for groups in (1, 2, 3, 4):
        for _ in range(15):
            labels = [slow.by_first_head([*rng.permutation(groups), *rng.integers(0, groups, 4 - groups)]) for _ in range(6)]
            votes, scores = rng.integers(0, 3, (6, 4)), rng.integers(0, 3, (6, 4)) / 2  # many are equal
            counts = votes if by == "votes" else scores
            found = stay(made(votes, labels, groups, scores), rule, by)
            expected = [
                (site.kind, site.layer, head)
                for site, count, own in zip(real_sites(), counts, labels, strict=True)
                for head in slow.stay(count.tolist(), own, rule)
            ]
            assert found == expected and len(found) == 6 * groups


def test_of_equal_heads_the_first_stays_and_the_rules_differ():
    labels = [[0, 0, 1, 1]] * 6
    kept = {rule: stay(made([[5, 5, 2, 2]] * 6, labels, 2), rule) for rule in ("group", "total")}
    places = [(site.kind, site.layer) for site in real_sites()]
    assert kept["group"] == [(*place, head) for place in places for head in (0, 2)]
    assert kept["total"] == [(*place, head) for place in places for head in (0, 1)]
    assert {head for _, _, head in stay(made([[3, 3, 3, 3]] * 6, labels, 2), "total")} == {0, 1}
    # votes and scores are counted apart
    made_apart = made([[5, 1, 1, 5]] * 6, labels, 2, [[0.1, 0.9, 0.9, 0.1]] * 6)
    assert {head for _, _, head in stay(made_apart)} == {0, 3}
    assert {head for _, _, head in stay(made_apart, by="scores")} == {1, 2}


def test_ballots_and_rules_that_make_no_sense_are_refused():
    model = tiny_model("marian")
    with pytest.raises(StudyError, match="no batches to vote on"):
        ballot(model, [])
    with pytest.raises(StudyError, match="no feature map"):
        ballot(model, two_batches("marian"), "Q")
    for bad in ({"rule": "best"}, {"by": "luck"}):
        with pytest.raises(StudyError, match=r"Heads stay by rule 'group' or 'total' and by 'votes' or 'scores'"):
            stay(made([[1, 1, 1, 1]] * 6, [[0, 0, 0, 0]] * 6, 1), **bad)
