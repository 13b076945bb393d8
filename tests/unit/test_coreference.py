"""Coreference matrices, injection, mixing, probing and choice of heads against loops over the tokens of a text."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import torch
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.t5.modeling_t5 import T5LayerNorm

from helpers.heads import gate, index, record, sites
from helpers.measures.worth import importance
from helpers.methods import coreference
from helpers.methods.coreference.matrices import (
    FORMS,
    ORDERS,
    Links,
    arcs,
    batched,
    choose,
    injected,
    layers_of,
    mixed,
    probing,
    sparse,
    tokens_of,
)
from helpers.study import StudyError
from tests.reference import coreference as slow
from tests.unit.tiny_models import LENGTHS, tiny_batch, tiny_model

FAMILIES = ("bart", "marian", "pegasus", "t5")
families = pytest.mark.parametrize("family", FAMILIES)
attentions = pytest.mark.parametrize("attention", ["sdpa", "eager"])
forms = pytest.mark.parametrize("form", FORMS)
FAST = {
    "full": coreference.full_link,
    "adjacent": coreference.adjacent_link,
    "previous": coreference.previous_link,
}
CLUSTERS = (  # of the three texts of a tiny batch, of 7, 4 and 6 tokens
    [[[0], [2, 3], [5]], [[1], [6]]],
    [],
    [[[1], [2], [3], [5]]],
)
HEADS = (("encoder", 0, 2), ("encoder", 1, 0), ("encoder", 1, 3))
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


# -------------------- helpers of the tests


@pytest.fixture(autouse=True)
def exact_t5(monkeypatch):
    """T5 computes its norms in single precision whatever the model, too coarse for nine digits."""
    monkeypatch.setattr(T5LayerNorm, "forward", lambda norm, x: norm.weight * x * (x.square().mean(-1, True) + 1e-6) ** -0.5)


def random_clusters(seed, longest=1):
    """(clusters, length) of a text at random; mentions of up to `longest` tokens, clusters of one mention among them."""
    rng = np.random.default_rng(seed)
    length, place, clusters = int(rng.integers(1, 25)), 0, [[] for _ in range(int(rng.integers(1, 5)))]
    while place < length:
        size = min(int(rng.integers(1, longest + 1)), length - place)
        if rng.random() < 0.5:
            clusters[int(rng.integers(len(clusters)))].append(list(range(place, place + size)))
        place += size
    return [cluster for cluster in clusters if cluster], length


def single(rows):
    """Rows of a matrix as the code holds them, in single precision."""
    return np.array(rows, np.float32)


def widened(form, width=7):
    """The twin's matrices of the three texts, padded, rounded as the code's are."""
    rows = [slow.padded(slow.FORMS[form](c, n), width) for c, n in zip(CLUSTERS, LENGTHS, strict=True)]
    return [single(matrix).tolist() for matrix in rows]


def links_for(batch, form="full"):
    """Links of the texts of a tiny batch."""
    links = Links()
    for row, clusters, length in zip(batch["input_ids"], CLUSTERS, LENGTHS, strict=True):
        links.add(row[:length].tolist(), sparse(clusters, length, form))
    return links


def exact(family, attention="sdpa", **settings):
    return tiny_model(family, 0, attention, **settings).double()


def logits(model, batch):
    with torch.no_grad():
        return model(**batch).logits


@contextmanager
def by_hand(model, addresses, form="full"):
    """The twin's self-attention in every encoder layer."""
    with pytest.MonkeyPatch.context() as patch:
        for site in sites(model, "encoder"):
            matrices = {head: widened(form) for _, layer, head in addresses if layer == site.layer}
            patch.setattr(site.module, "forward", slow.forward(site.module, LENGTHS, matrices))
        yield


def trace(model):
    """All that a block could leave behind, except numbers."""
    return (
        [module.config._attn_implementation for module in model.modules() if hasattr(module, "config")],
        [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.modules()],
        [sorted(vars(module)) for module in model.modules()],
    )


def head_inputs(model, batch, layer=0):
    """What the output projection of an encoder layer is given, [batch, tokens, heads, head_dim]."""
    site, seen = sites(model, "encoder")[layer], []
    hook = site.projection("out").register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    try:
        model(**batch)
    finally:
        hook.remove()
    return seen[0].unflatten(-1, (site.heads, site.head_dim))


# -------------------- matrices


@forms
@pytest.mark.parametrize("longest", [1, 4])
def test_matrices_of_random_clusters_are_those_of_the_definition(form, longest):
    differ = 0
    for seed in range(60):
        clusters, length = random_clusters(seed, longest)
        found = FAST[form](clusters, length)
        assert found.shape == (length, length) and found.dtype == torch.float32
        np.testing.assert_array_equal(found, single(slow.FORMS[form](clusters, length)))
        torch.testing.assert_close(found.sum(1), torch.ones(length))
        differ += not torch.equal(found, torch.eye(length))
    assert differ > 30


@forms
def test_a_token_is_a_mention_of_one_token(form):
    clusters, length = random_clusters(3)
    bare = [[token for (token,) in cluster] for cluster in clusters]
    spans = [[range(token, token + 1) for token in cluster] for cluster in bare]
    assert torch.equal(FAST[form](bare, length), FAST[form](clusters, length))
    assert torch.equal(FAST[form](spans, length), FAST[form](clusters, length))


def test_weights_of_a_cluster():
    third, half = 1 / 3, 1 / 2
    expected = {
        "full": [[third, 0, third, 0, third], [0, 1, 0, 0, 0], [third, 0, third, 0, third], [0, 0, 0, 1, 0]],
        "adjacent": [[half, 0, half, 0, 0], [0, 1, 0, 0, 0], [third, 0, third, 0, third], [0, 0, 0, 1, 0]],
        "previous": [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0]],
    }
    last = {"full": expected["full"][0], "adjacent": [0, 0, half, 0, half], "previous": [0, 0, 1, 0, 0]}
    for form, fast in FAST.items():
        np.testing.assert_array_equal(fast([[0, 2, 4]], 5), single([*expected[form], last[form]]))


def test_whole_spans_attend_to_whole_spans():
    spans = [[[0, 1], [3]]]
    np.testing.assert_array_equal(FAST["previous"](spans, 4)[3], single([0.5, 0.5, 0, 0]))
    np.testing.assert_array_equal(FAST["adjacent"](spans, 4)[1], single([0, 0.5, 0, 0.5]))  # not the rest of its own mention
    np.testing.assert_array_equal(FAST["adjacent"](spans, 4)[3], single([1 / 3, 1 / 3, 0, 1 / 3]))
    np.testing.assert_array_equal(FAST["full"](spans, 4)[1], single([1 / 3, 1 / 3, 0, 1 / 3]))


def test_the_order_of_mentions_matters_to_chains_alone_and_that_of_clusters_to_none():
    one, other = [0, 2, 5], [1, 4]
    for form, fast in FAST.items():
        assert torch.equal(fast([one, other], 6), fast([other, one], 6))
        assert torch.equal(fast([one], 6), fast([[2, 0, 5]], 6)) == (form == "full")


@forms
def test_texts_without_links_attend_to_themselves(form):
    for clusters in ([], [[2]], [[0], [3]]):
        assert torch.equal(FAST[form](clusters, 4), torch.eye(4))
    lone = FAST[form]([[[1, 2]]], 4)  # only in a full link the tokens of a mention see each other
    assert torch.equal(lone, torch.eye(4)) == (form != "full")
    assert FAST[form]([], 0).shape == (0, 0)


def test_arcs_go_both_ways():
    rng = np.random.default_rng(2)
    for _ in range(40):
        length = int(rng.integers(1, 12))
        pairs = rng.integers(0, length, (int(rng.integers(0, 12)), 2)).tolist()  # some twice, some of a token with itself
        found = batched([arcs(map(tuple, pairs), length)], length)[0]
        np.testing.assert_array_equal(found, single(slow.arcs(pairs, length)))


@forms
def test_padded_matrices_are_the_single_ones_and_see_no_padding(form):
    texts = [random_clusters(seed, 3) for seed in range(12)]
    width = max(length for _, length in texts) + 2
    found = batched([sparse(*text, form) for text in texts], width)
    assert found.shape == (12, width, width)
    for matrix, (clusters, length) in zip(found, texts, strict=True):
        np.testing.assert_array_equal(matrix, single(slow.padded(slow.FORMS[form](clusters, length), width)))
        assert torch.equal(matrix[:length, :length], FAST[form](clusters, length))
        assert not matrix[:length, length:].any()
    torch.testing.assert_close(found.sum(-1), torch.ones(12, width))


@pytest.mark.parametrize(
    ("clusters", "said"),
    [
        ([[0, 5]], "token 5 of a text of 5 tokens"),
        ([[-1, 2]], "token -1 of a text of 5 tokens"),
        ([[0, 2], [2, 3]], "Token 2 is in two mentions"),
        ([[[0, 1], [1, 2]]], "Token 1 is in two mentions"),
        ([[[3, 3], [1]]], "Token 3 is in two mentions"),
        ([[0, 1], []], "is empty"),
        ([[0, []]], "is empty"),
    ],
)
@forms
def test_bad_clusters_are_refused(form, clusters, said):
    with pytest.raises(StudyError, match=said):
        FAST[form](clusters, 5)


def test_bad_matrices_are_refused():
    with pytest.raises(StudyError, match="no coreference matrix 'all': choose from full, adjacent, previous"):
        sparse([], 3, "all")
    for pair in ((0, 3), (-1, 1)):
        with pytest.raises(StudyError, match="An arc joins tokens"):
            arcs([pair], 3)
    with pytest.raises(StudyError, match=r"text of 4 tokens does not fit a batch of 3"):
        batched([sparse([], 2, "full"), sparse([], 4, "full")], 3)


# -------------------- mentions over subwords

WORD_IDS = [0, 1, 1, 2, 3, 3, 3, 4, 5, -1]


def test_mentions_over_words_become_mentions_over_subwords():
    clusters = [((0, 1), (3, 5)), ((1, 3), (5, 6))]
    assert tokens_of(clusters, WORD_IDS) == ([[[0], [4]], [[1], [8]]], 0)
    assert tokens_of(clusters, WORD_IDS, "first") == tokens_of(clusters, WORD_IDS)
    assert tokens_of(clusters, WORD_IDS, "whole") == ([[[0], [4, 5, 6, 7]], [[1, 2, 3], [8]]], 0)
    assert tokens_of([], WORD_IDS) == ([], 0)


def test_mentions_beyond_the_cut_are_counted_and_lone_ones_gone():
    clusters = [((0, 1), (3, 5), (5, 6)), ((1, 3), (4, 5)), ((4, 5), (5, 6))]
    cut = [*WORD_IDS[:5], -1]  # within word 3
    assert tokens_of(clusters, cut) == ([[[0], [4]]], 4)
    assert tokens_of(clusters, cut, "whole") == ([[[0], [4]]], 4)
    assert tokens_of([((0, 1), (2, 5))], cut, "whole") == ([[[0], [3, 4]]], 0)  # what is left of a mention stands for it
    assert tokens_of(clusters, [-1]) == ([], 7)
    assert tokens_of([((0, 1),)], WORD_IDS) == ([], 0)  # alone without a cut: nothing was dropped


def test_unknown_spans_are_refused():
    with pytest.raises(StudyError, match=r"'first' or 'whole' subword.*not by 'last'"):
        tokens_of([], [0], "last")


# -------------------- links of texts


def test_links_are_found_whatever_the_batch():
    batch = tiny_batch("bart")
    ids, mask, links = batch["input_ids"], batch["attention_mask"], links_for(batch)
    assert len(links) == 3
    expected = torch.tensor(widened("full"))
    for rows in ([0, 1, 2], [2, 0, 1], [1], [2, 2, 0, 2]):
        for kind in (torch.int32, torch.int64):
            assert torch.equal(links.matrices(ids[rows].to(kind), mask[rows]), expected[rows])
            assert torch.equal(links.matrices(ids[rows], mask[rows].to(kind)), expected[rows])
        assert torch.equal(links.matrices(ids[rows], mask[rows].bool()), expected[rows])
    assert torch.equal(links.matrices(ids[1:, :6], mask[1:, :6]), expected[1:, :6, :6])
    wide = links.matrices(torch.nn.functional.pad(ids, (0, 3)), torch.nn.functional.pad(mask, (0, 3)))
    np.testing.assert_array_equal(wide, single(widened("full", 10)))
    assert torch.equal(links.matrices(ids[:1]), expected[:1])  # no mask: no padding


def test_of_texts_of_the_same_tokens_the_first_counts():
    links = Links()
    for clusters in ([[0, 1]], [[1, 2]]):
        links.add([5, 6, 7], sparse(clusters, 3, "full"))
    links.add((5, 6), sparse([], 2, "full"))
    links.add(np.array([5, 6, 7], np.int64), sparse([], 3, "full"))
    assert len(links) == 2
    assert torch.equal(links.matrices(torch.tensor([[5, 6, 7]]))[0], FAST["full"]([[0, 1]], 3))


def test_unknown_texts_are_named_by_their_place():
    batch = tiny_batch("bart")
    links = links_for(batch)
    batch["input_ids"][1, 0] += 1
    with pytest.raises(StudyError, match=r"no links for text 1 of a batch \(4 tokens\)"):
        links.matrices(batch["input_ids"], batch["attention_mask"])
    model = tiny_model("bart")
    for block in (injected(model, HEADS, links), mixed(model, [0], links)):
        with block, pytest.raises(StudyError, match="no links for text 1"):
            logits(model, batch)


def test_links_of_another_length_are_refused():
    with pytest.raises(StudyError, match="matrix of 4 tokens does not fit a text of 3"):
        Links().add([5, 6, 7], sparse([], 4, "full"))


# -------------------- injection


@families
@attentions
def test_injected_heads_attend_by_their_matrix(family, attention):
    model, batch = exact(family, attention), tiny_batch(family)
    plain, links = logits(model, batch), links_for(batch)
    with by_hand(model, ()):
        torch.testing.assert_close(logits(model, batch), plain, **CLOSE)
    with by_hand(model, HEADS):
        expected = logits(model, batch)
    with injected(model, HEADS, links):
        found = logits(model, batch)
    assert (expected - plain).abs().max() > 1e-2
    torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize("form", ["adjacent", "previous"])
def test_other_matrices_are_injected_alike(form):
    model, batch = exact("bart"), tiny_batch("bart")
    with by_hand(model, HEADS, form):
        expected = logits(model, batch)
    with injected(model, iter(HEADS), links_for(batch, form)):
        torch.testing.assert_close(logits(model, batch), expected, **CLOSE)


@families
def test_a_text_is_read_alike_alone_and_in_a_batch(family):
    model, batch = exact(family), tiny_batch(family)
    batch["input_ids"] = batch["input_ids"].to(torch.int32)
    with injected(model, HEADS, links_for(batch)):
        together = logits(model, batch)
        for row, length in enumerate(LENGTHS):
            one = {name: part[row : row + 1] for name, part in batch.items()}
            del one["attention_mask"]
            one["input_ids"] = one["input_ids"][:, :length]
            torch.testing.assert_close(logits(model, one)[0], together[row], **CLOSE)


@attentions
def test_other_heads_of_the_layer_compute_what_they_did(attention):
    model, batch = tiny_model("bart", 0, attention), tiny_batch("bart")
    seen = []
    with torch.no_grad():
        plain = head_inputs(model, batch)
        with injected(model, HEADS, links_for(batch)):
            found = head_inputs(model, batch)
            with record(model, lambda site, weights: seen.append(weights), kinds="encoder"):
                model(**batch)
    assert torch.equal(found[:, :, [0, 1, 3]], plain[:, :, [0, 1, 3]])
    assert not torch.allclose(found[:, :, 2], plain[:, :, 2], atol=1e-2)
    np.testing.assert_array_equal(seen[0][:, 2], single(widened("full")))
    assert not torch.allclose(seen[0][:, 1], seen[0][:, 2], atol=1e-2)


@pytest.mark.parametrize("family", ["bart", "t5"])
@pytest.mark.parametrize("beams", [1, 3])
def test_injection_in_generation(family, beams):
    model, batch = exact(family), tiny_batch(family, labels=False)
    options = {"max_new_tokens": 8, "num_beams": beams, "do_sample": False, "no_repeat_ngram_size": 1}
    plain = model.generate(**batch, **options)
    with by_hand(model, HEADS), torch.no_grad():
        memory = model.get_encoder()(**batch).last_hidden_state
    expected = model.generate(
        encoder_outputs=BaseModelOutput(last_hidden_state=memory), attention_mask=batch["attention_mask"], **options
    )
    with injected(model, HEADS, links_for(batch)):
        found = model.generate(**batch, **options)
    assert torch.equal(found, expected)
    assert not torch.equal(found, plain)


# -------------------- training under injection


def unregularised(family, **settings):
    """A model that trains without dropout."""
    off = dict.fromkeys(("dropout_rate",) if family == "t5" else ("dropout", "attention_dropout", "activation_dropout"), 0.0)
    return exact(family, **{**off, **settings}).train()


def rows_of_heads(model, which, layer, grad=True):
    """A projection's weights (or their gradient) of an encoder layer by head, [heads, ...]."""
    site = sites(model, "encoder")[layer]
    weight = site.projection(which).weight
    part = weight.grad if grad else weight.detach().clone()
    part = part.T if which == "out" else part
    return part.unflatten(0, (site.heads, site.head_dim))


@families
def test_gradients_are_those_of_the_definition_and_reach_no_query_or_key(family):
    model, batch = unregularised(family), tiny_batch(family)
    with by_hand(model, HEADS):
        model(**batch).logits.square().mean().backward()
    expected = {name: weight.grad for name, weight in model.named_parameters()}
    model.zero_grad()
    with injected(model, HEADS, links_for(batch)):
        model(**batch).logits.square().mean().backward()
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight.grad, expected[name], rtol=1e-8, atol=1e-10, msg=name)
    for layer, heads in enumerate(([2], [0, 3])):
        for which, reached in (("q", False), ("k", False), ("v", True), ("out", True)):
            slopes = rows_of_heads(model, which, layer)[heads].flatten(1)
            assert slopes.ne(0).all() if reached else slopes.eq(0).all(), (layer, which)
        others = [head for head in range(4) if head not in heads]
        assert rows_of_heads(model, "q", layer)[others].ne(0).any(1).any(1).all()


def test_one_step_changes_what_it_should():
    model, batch = unregularised("bart"), tiny_batch("bart")
    before = {which: rows_of_heads(model, which, 0, grad=False) for which in ("q", "k", "v", "out")}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with injected(model, HEADS, links_for(batch)):
        first = model(**batch).loss
        first.backward()
        optimizer.step()
        assert model(**batch).loss < first
    for which, old in before.items():
        moved = (rows_of_heads(model, which, 0, grad=False) != old).flatten(1).any(1)
        assert moved.tolist() == [True, True, which in ("v", "out"), True]


def test_training_differs_from_evaluation_by_dropout_alone():
    batch = tiny_batch("bart")
    model, links = unregularised("bart"), links_for(batch)
    with injected(model, HEADS, links):
        trained = logits(model, batch)
        assert torch.equal(trained, logits(model.eval(), batch))
    # where links are dropped: each token is alone, so that a head hands on its value, doubled, or nothing
    alone, half = Links(), unregularised("bart", attention_dropout=0.5)
    for row, length in zip(batch["input_ids"], LENGTHS, strict=True):
        alone.add(row[:length].tolist(), sparse([], length, "full"))
    with injected(half, HEADS, alone), torch.no_grad():
        dropped = head_inputs(half, batch)[:, :, 2]
        values = head_inputs(half.eval(), batch)[:, :, 2]
    kept = dropped.ne(0).any(-1)
    assert 3 < kept.sum() < 18  # of 21
    torch.testing.assert_close(dropped, 2 * values * kept.unsqueeze(-1))


# -------------------- what blocks leave behind, and what stands around them


@families
def test_blocks_are_undone_also_on_an_error(family):
    model, batch = tiny_model(family), tiny_batch(family)
    links, plain, before = links_for(batch), logits(model, batch), trace(model)
    for block in (lambda: injected(model, HEADS, links), lambda: mixed(model, [0, 1], links)):
        with block():
            assert not torch.allclose(logits(model, batch), plain, atol=1e-3)
        assert trace(model) == before and torch.equal(logits(model, batch), plain)
        with pytest.raises(ZeroDivisionError), block():
            logits(model, batch)
            raise ZeroDivisionError
        assert trace(model) == before and torch.equal(logits(model, batch), plain)
    for wrong in (lambda: injected(model, [*HEADS, ("encoder", 0, 4)], links), lambda: mixed(model, [0, 2], links)):
        with pytest.raises(StudyError), wrong():
            pass
        assert trace(model) == before and torch.equal(logits(model, batch), plain)


def test_heads_that_cannot_be_injected_are_refused():
    model, links = tiny_model("bart"), Links()
    for kind in ("decoder", "cross"):
        with pytest.raises(StudyError, match=f"not {kind} attention"), injected(model, [*HEADS, (kind, 0, 0)], links):
            pass
    for address in (("encoder", 0, 4), ("encoder", 2, 0), ("encoder", 0, -1)):
        with pytest.raises(StudyError, match=r"no head \('encoder', .* in BartFor"), injected(model, [address], links):
            pass
    with pytest.raises(StudyError, match="no head"), injected(tiny_model("opt"), HEADS, links):
        pass
    for layer in (2, -1):
        with pytest.raises(StudyError, match=f"no encoder layer {layer}: the model has 2"), mixed(model, [0, layer], links):
            pass
    with pytest.raises(StudyError, match="GPT2LMHeadModel shows no layers"), mixed(tiny_model("gpt2"), [0], links):
        pass


def test_links_need_token_ids():
    model, batch = tiny_model("bart"), tiny_batch("bart")
    links = links_for(batch)
    batch["inputs_embeds"] = model.get_input_embeddings()(batch.pop("input_ids"))
    for block in (injected(model, HEADS, links), mixed(model, [0], links)):
        with block, pytest.raises(StudyError, match="give the model input_ids, not embeddings"):
            logits(model, batch)


def test_of_nested_blocks_the_inner_one_wins_where_both_name_a_head():
    model, batch = exact("bart"), tiny_batch("bart")
    with injected(model, HEADS, links_for(batch, "previous")):
        outer = logits(model, batch)
        with injected(model, HEADS, links_for(batch, "full")):
            inner = logits(model, batch)
        assert torch.equal(logits(model, batch), outer)
    with injected(model, HEADS, links_for(batch, "full")):
        assert torch.equal(logits(model, batch), inner)
    assert not torch.allclose(inner, outer, atol=1e-3)


@pytest.mark.parametrize("outside", ["gate", "injected"])
def test_gates_scale_injected_heads(outside):
    model, batch = exact("bart"), tiny_batch("bart")
    gates, links = {("encoder", 0, 2): 0.3, ("encoder", 1, 1): 0.0}, links_for(batch)
    blocks = [lambda: gate(model, gates), lambda: injected(model, HEADS, links)]
    one, other = blocks if outside == "gate" else blocks[::-1]
    with one(), other():
        found = logits(model, batch)
    with torch.no_grad():
        for (_, layer, head), value in gates.items():
            sites(model, "encoder")[layer].projection("out").weight[:, 8 * head : 8 * head + 8] *= value
    with by_hand(model, HEADS):
        torch.testing.assert_close(found, logits(model, batch), **CLOSE)


@pytest.mark.parametrize("family", ["bart", "t5"])
def test_importance_of_injected_heads_equals_finite_differences(family):
    model, batch = exact(family), tiny_batch(family)
    step, labels = 1e-6, batch["labels"]  # a larger step of a T5 crosses kinks of its ReLU

    def losses():
        rows = logits(model, batch).transpose(1, 2)
        return torch.nn.functional.cross_entropy(rows, labels, reduction="none").sum(1)

    with injected(model, HEADS, links_for(batch)):
        found = importance(model, [batch], "encoder", norm=None)
        for address in (*HEADS, ("encoder", 0, 1)):
            sides = []
            for value in (1 + step, 1 - step):
                with gate(model, {address: value}):
                    sides.append(losses())
            slope = ((sides[0] - sides[1]) / (2 * step)).abs().mean()
            assert found[address] == pytest.approx(slope.item(), rel=1e-6) and slope > 1e-3
    assert not np.allclose(found, importance(model, [batch], "encoder", norm=None), rtol=0.1)


# -------------------- the layer of its own


@families
@attentions
@pytest.mark.parametrize("layers", [(0,), (1,), (0, 1)])
def test_mixed_layers(family, attention, layers):
    model, batch = exact(family, attention), tiny_batch(family)
    encoder = model.get_encoder()
    stack = encoder.block if family == "t5" else encoder.layers

    def mixing(plain, matrices, share):
        def forward(*args, **kwargs):
            out = plain(*args, **kwargs)
            if isinstance(out, tuple):
                return slow.mixed(out[0], matrices, share), *out[1:]
            return slow.mixed(out, matrices, share)

        return forward

    plain = logits(model, batch)
    for form, options in (("full", {}), ("previous", {"share": 0.8})):  # the second is not symmetric
        with pytest.MonkeyPatch.context() as patch:
            for layer in layers:
                own = mixing(stack[layer].forward, widened(form), options.get("share", 0.3))
                patch.setattr(stack[layer], "forward", own)
            expected = logits(model, batch)
        with mixed(model, iter(layers), links_for(batch, form), **options):
            torch.testing.assert_close(logits(model, batch), expected, **CLOSE)
        assert (expected - plain).abs().max() > 1e-3


# -------------------- which heads


@families
def test_probing_is_the_mean_cosine_of_texts(family):
    model, batches = exact(family, "eager"), [tiny_batch(family, seed) for seed in (1, 2)]
    links, maps = Links(), []
    for batch in batches:
        for row, clusters, length in zip(batch["input_ids"], CLUSTERS, LENGTHS, strict=True):
            links.add(row[:length].tolist(), sparse(clusters, length, "full"))
        with torch.no_grad():
            layers = model(**batch, output_attentions=True).encoder_attentions
        maps += [[weights[row].tolist() for weights in layers] for row in range(3)]
    matrices = [slow.full(clusters, length) for clusters, length in zip(CLUSTERS, LENGTHS, strict=True)]
    expected = slow.probing(maps, matrices * 2)
    model.set_attn_implementation("sdpa")
    found = probing(model.train(), batches, links)
    assert found.name == "probing" and found.index.equals(index(model, "encoder")) and model.training
    np.testing.assert_allclose(found, [expected[address] for address in found.index], rtol=1e-6)
    assert found.max() - found.min() > 0.05


def test_probing_a_head_for_its_own_matrix_gives_1():
    model, batch = tiny_model("bart"), tiny_batch("bart")
    links = links_for(batch)
    with injected(model, HEADS, links):
        found = probing(model, [batch], links)
    np.testing.assert_allclose(found[list(HEADS)], 1.0, rtol=1e-6)
    assert (found.drop(list(HEADS)) < 0.95).all()


def test_probing_needs_batches_and_links():
    model = tiny_model("bart")
    with pytest.raises(StudyError, match="no batches"):
        probing(model, [], Links())
    with pytest.raises(StudyError, match="no links for text 0"):
        probing(model, [tiny_batch("bart")], Links())


def scores_of(rows):
    """Scores by head of encoder layers."""
    return pd.Series({("encoder", layer, head): score for layer, row in enumerate(rows) for head, score in enumerate(row)})


def random_scores(layers, heads=8):
    scores = scores_of(np.random.default_rng(layers).random((layers, heads)))
    scores.index.names = ["kind", "layer", "head"]
    return scores


def test_heads_are_chosen_by_score_in_every_layer():
    scores = random_scores(3)
    for count in (1, 3, 8):
        for order in ("lowest", "highest"):
            found = choose(scores, count, order)
            assert len(found) == len(set(found)) == 3 * count
            for layer in range(3):
                own = scores.xs(layer, level="layer").sort_values(ascending=order == "lowest")
                chosen = [head for _, number, head in found if number == layer]
                assert chosen == [head for _, head in own.index[:count]]
    assert choose(scores) == choose(scores, 1, "lowest", "all")
    assert all(type(part) is kind for part, kind in zip(choose(scores)[0], (str, int, int), strict=True))


@pytest.mark.parametrize("order", ["lowest", "highest"])
def test_of_equal_scores_the_first_head_comes_first(order):
    scores = scores_of([[0.5] * 40, [0.2, 0.7, 0.2, 0.7, *[0.5] * 36]])
    scores.index.names = ["kind", "layer", "head"]
    expected = {"lowest": [0, 2], "highest": [1, 3]}[order]
    heads = [[head for _, layer, head in choose(scores, 2, order) if layer == number] for number in (0, 1)]
    assert heads == [[0, 1], expected]


def test_random_heads_differ_by_draw_and_a_parts_are_those_of_the_whole():
    scores = random_scores(6)
    draws = [choose(scores, 2, "random", draw=draw) for draw in range(30)]
    assert len(set(map(tuple, draws))) == 30 and choose(scores, 2, "random", draw=7) == draws[7]
    assert {head for draw in draws for head in draw} == set(scores.index)
    assert len({tuple(head for _, layer, head in draws[0] if layer == number) for number in range(6)}) > 1
    for part in ("lower", "middle", "upper"):
        wanted = layers_of(6, part)
        for draw in range(5):
            assert choose(scores, 2, "random", part, draw) == [head for head in draws[draw] if head[1] in wanted]
    assert [choose(scores, 1, "random", draw=draw) for draw in range(30)] == [one[::2] for one in draws]  # more: these first


@pytest.mark.parametrize(
    ("layers", "lower", "middle", "upper"),
    [
        (1, [0], [0], [0]),
        (2, [0], [0], [1]),
        (3, [0], [1], [2]),
        (6, [0, 1], [2, 3], [4, 5]),
        (12, [0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]),
    ],
)
def test_parts_of_the_layers(layers, lower, middle, upper):
    expected = {"lower": lower, "middle": middle, "upper": upper, "all": list(range(layers))}
    scores = random_scores(layers)
    for part, wanted in expected.items():
        assert layers_of(layers, part) == wanted
        for order in ORDERS:
            assert [layer for _, layer, _ in choose(scores, 1, order, part)] == wanted


def test_choices_that_cannot_be_made_are_refused():
    scores = random_scores(2)
    for count in (0, -1, 9):
        with pytest.raises(StudyError, match=f"Layer 0 has 8 heads, {count} cannot be chosen: give 1 to 8"):
            choose(scores, count)
    with pytest.raises(StudyError, match="not 'best'"):
        choose(scores, 1, "best")
    for asked in (lambda: choose(scores, 1, "lowest", "first"), lambda: layers_of(3, "first")):
        with pytest.raises(StudyError, match="no part 'first'"):
            asked()
