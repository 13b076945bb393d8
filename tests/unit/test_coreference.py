"""Coreference matrices, injection, mixing, probing and choice of heads against loops over the tokens of a text."""

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.heads import index, inject
from helpers.methods import coreference
from helpers.study import StudyError
from tests.reference import coreference as slow
from tests.unit.tiny_models import LENGTHS, exact_norms, logits, tiny_batch, tiny_model

families = pytest.mark.parametrize("family", ("bart", "t5"))
forms = pytest.mark.parametrize("form", coreference.matrices.FORMS)
FAST = {form: getattr(coreference.matrices, f"{form}_link") for form in coreference.matrices.FORMS}
CLUSTERS = [[[0], [2, 3], [5]], [[1], [6]]], [], [[[1], [2], [3], [5]]]  # of the texts of a tiny batch: 7, 4, 6 tokens
HEADS = (("encoder", 0, 2), ("encoder", 1, 0), ("encoder", 1, 3))
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(autouse=True)
def exact_t5(monkeypatch):
    exact_norms(monkeypatch)


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
    links = coreference.Links()
    for row, clusters, length in zip(batch["input_ids"], CLUSTERS, LENGTHS, strict=True):
        links.add(row[:length].tolist(), coreference.sparse(clusters, length, form))
    return links


def exact(family, attention="sdpa", **settings):
    return tiny_model(family, 0, attention, **settings).double()


@forms
@pytest.mark.parametrize("longest", [1, 4])
def test_matrices_of_random_clusters_are_those_of_the_definition(form, longest):
    for seed in range(60):
        clusters, length = random_clusters(seed, longest)
        found = FAST[form](clusters, length)
        assert found.shape == (length, length) and found.dtype == torch.float32
        np.testing.assert_array_equal(found, single(slow.FORMS[form](clusters, length)))
        if longest == 1:
            bare = [[token for (token,) in cluster] for cluster in clusters]
            assert torch.equal(FAST[form](bare, length), found)  # a token is a mention of one
    turned = FAST[form]([[2, 0, 5]], 6)
    assert torch.equal(turned, FAST[form]([[0, 2, 5]], 6)) == (form == "full")  # to chains the order of mentions matters


WORD_IDS = [0, 1, 1, 2, 3, 3, 3, 4, 5, -1]


def test_of_mentions_in_mentions_the_shortest_takes_its_subwords_first():
    clusters = [((0, 1), (5, 6)), ((0, 3), (4, 5)), ((1, 2), (2, 3), (0, 2))]  # "my", "my big hat", "big", "hat", "my big"
    assert coreference.tokens_of(clusters, WORD_IDS, "whole") == [[[0], [8]], [[1, 2], [3]]]  # of two nothing is left
    nested = [((0, 1), (5, 6)), ((0, 3), (4, 5))]
    assert coreference.tokens_of(nested, WORD_IDS) == [[[0], [8]], [[1], [7]]]


def test_mentions_beyond_the_cut_and_lone_ones_are_gone():
    clusters = [((0, 1), (3, 5), (5, 6)), ((1, 3), (4, 5)), ((4, 5), (5, 6))]
    cut = [*WORD_IDS[:5], -1]  # within word 3
    assert coreference.tokens_of(clusters, cut) == [[[0], [4]]]
    assert coreference.tokens_of([((0, 1), (2, 5))], cut, "whole") == [[[0], [3, 4]]]  # what is left stands for it
    assert coreference.tokens_of(clusters, [-1]) == coreference.tokens_of([((0, 1),)], WORD_IDS) == []


def test_of_texts_of_the_same_tokens_the_first_counts():
    links = coreference.Links()
    for clusters in ([[0, 1]], [[1, 2]]):
        links.add([5, 6, 7], coreference.sparse(clusters, 3, "full"))
    links.add((5, 6), coreference.sparse([], 2, "full"))
    links.add(np.array([5, 6, 7], np.int64), coreference.sparse([], 3, "full"))
    assert len(links) == 2
    assert torch.equal(links.matrices(torch.tensor([[5, 6, 7]]))[0], FAST["full"]([[0, 1]], 3))


@pytest.mark.parametrize(
    ("family", "form"), [("bart", "full"), ("marian", "previous"), ("pegasus", "adjacent"), ("t5", "previous")]
)
def test_injected_heads_attend_by_their_matrix(family, form):
    model, batch = exact(family), tiny_batch(family)
    matrices = torch.tensor(widened(form)).double()
    with inject(model, dict.fromkeys(HEADS, matrices)):  # which tests of heads hold to a slow twin
        expected = logits(model, batch)
    with coreference.injected(model, iter(HEADS), links_for(batch, form)):
        found = logits(model, batch)
    assert (expected - logits(model, batch)).abs().max() > 1e-2
    torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize("family", ["llama", "gpt2", "opt", "gpt_neox"])
def test_heads_of_a_decoder_look_back_and_rest_on_the_first_token(family):
    model, batch = exact(family), tiny_batch(family, labels=False)
    places = [("decoder", 0, 2), ("decoder", 1, 0)]
    rows = [slow.previous(c, n, first=True) for c, n in zip(CLUSTERS, LENGTHS, strict=True)]
    by_text = [{place: torch.tensor(single(matrix)).double() for place in places} for matrix in rows]
    with coreference.injected(model, places, links_for(batch, "previous")):
        found = logits(model, batch)
        for row, (length, matrices) in enumerate(zip(LENGTHS, by_text, strict=True)):
            with inject(model, matrices):  # the inner one wins
                expected = logits(model, {"input_ids": batch["input_ids"][row : row + 1, :length]})[0]
            torch.testing.assert_close(found[row, :length], expected, rtol=1e-6, atol=1e-6)
        with pytest.raises(StudyError, match="text 0"):  # not generated
            model.generate(**{name: part[:1] for name, part in batch.items()}, max_new_tokens=2, do_sample=False)
    assert (found - logits(model, batch)).abs().max() > 0.01


@families
def test_mixed_layers(family):
    model, batch = exact(family), tiny_batch(family)
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
    for layers, form, share in (((1,), "full", 0.3), ((0, 1), "previous", 0.8)):  # the second is not symmetric
        with pytest.MonkeyPatch.context() as patch:
            for layer in layers:
                patch.setattr(stack[layer], "forward", mixing(stack[layer].forward, widened(form), share))
            expected = logits(model, batch)
        with coreference.mixed(model, iter(layers), links_for(batch, form), share=share):
            torch.testing.assert_close(logits(model, batch), expected, **CLOSE)
        assert (expected - plain).abs().max() > 1e-3


@families
def test_probing_is_the_mean_cosine_of_texts(family):
    model, batches = exact(family, "eager"), [tiny_batch(family, seed) for seed in (1, 2)]
    links, maps = coreference.Links(), []
    for batch in batches:
        for row, clusters, length in zip(batch["input_ids"], CLUSTERS, LENGTHS, strict=True):
            links.add(row[:length].tolist(), coreference.sparse(clusters, length, "full"))
        with torch.no_grad():
            layers = model(**batch, output_attentions=True).encoder_attentions
        maps += [[weights[row].tolist() for weights in layers] for row in range(3)]
    matrices = [slow.full(clusters, length) for clusters, length in zip(CLUSTERS, LENGTHS, strict=True)]
    expected = slow.probing(maps, matrices * 2)
    model.set_attn_implementation("sdpa")
    found = coreference.probing(model.train(), batches, links)
    assert found.name == "probing" and found.index.equals(index(model, "encoder")) and model.training
    np.testing.assert_allclose(found, [expected[address] for address in found.index], rtol=1e-6)
    assert found.max() - found.min() > 0.05


def scores_of(rows):
    """Scores by head of encoder layers."""
    found = {("encoder", layer, head): score for layer, row in enumerate(rows) for head, score in enumerate(row)}
    return pd.Series(found).rename_axis(["kind", "layer", "head"])


def random_scores(layers, heads=8):
    return scores_of(np.random.default_rng(layers).random((layers, heads)))


@pytest.mark.parametrize(("order", "of_equal"), [("lowest", [0, 1, 0, 2]), ("highest", [0, 1, 1, 3])])
def test_heads_are_chosen_by_score_in_every_layer(order, of_equal):
    scores = random_scores(3)
    for layer, part in scores.groupby(level="layer"):
        wanted = part.sort_values(ascending=order == "lowest").index[:3]
        assert [head for head in coreference.choose(scores, 3, order) if head[1] == layer] == list(wanted)
    equal = scores_of([[0.5] * 40, [0.2, 0.7, 0.2, 0.7, *[0.5] * 36]])
    assert [head for _, _, head in coreference.choose(equal, 2, order)] == of_equal  # the first head comes first


@pytest.mark.parametrize(("layers", "upper"), [(1, [0]), (2, [1]), (5, [3, 4]), (6, [4, 5])])
def test_parts_of_the_layers(layers, upper):
    assert coreference.matrices.layers_of(layers, "upper") == upper
    assert coreference.matrices.layers_of(layers, "all") == list(range(layers))


def reading(block, *arguments, family="bart", embeds=False, unknown=False):
    """Run a batch, of embeddings or with a text that has no links, in a block."""
    model, batch = tiny_model(family), tiny_batch(family)
    links = links_for(batch)
    if embeds:
        batch["inputs_embeds"] = model.get_input_embeddings()(batch.pop("input_ids"))
    if unknown:
        batch["input_ids"][1, 0] += 1
    with block(model, *arguments, links):
        logits(model, batch)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: coreference.sparse([[0, 5]], 5, "full"), "token 5"),
    (lambda: coreference.sparse([[[0, 1], [1, 2]]], 5, "full"), "Token 1"),
    (lambda: coreference.Links().add([5, 6, 7], coreference.sparse([], 4, "full")), "4 tokens"),
    (lambda: reading(coreference.injected, [*HEADS, ("cross", 0, 0)]), "cross"),
    (lambda: reading(coreference.injected, [("decoder", 0, 0)]), "within the encoder, not decoder"),
    (lambda: reading(coreference.injected, [("encoder", 0, 0)], family="llama"), "within the decoder, not encoder"),
    (lambda: reading(coreference.injected, [("decoder", 0, 0)], family="llama"), "later tokens"),
    (lambda: reading(coreference.mixed, [0], family="gpt2"), "GPT2LMHeadModel"),
    (lambda: reading(coreference.injected, HEADS, embeds=True), "input_ids"),
    (lambda: reading(coreference.injected, HEADS, unknown=True), "text 1"),
    (lambda: coreference.probing(tiny_model("bart"), [], coreference.Links()), "batches"),
    (lambda: coreference.choose(random_scores(2), 9), "9 cannot"),
])  # fmt: skip
def test_bad_input_is_refused(call, said):
    with pytest.raises(StudyError, match=said):
        call()
