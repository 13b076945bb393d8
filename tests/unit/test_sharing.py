"""Sharing of key-value heads: what must not change anything, changes nothing; groups against all that there are."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from helpers import heads
from helpers.methods.grouping import sharing, units
from helpers.study import StudyError
from tests.unit.tiny_models import generate, logits, prompts, tiny_batch, tiny_model

OLD = {"num_key_value_heads": 4}
BATCHES = [tiny_batch("llama", seed) for seed in range(3)]
LABELS = torch.tensor([[0, 1, 0, 1], [0, 1, 1, 0]])


def apart(model, labels):
    """A model of grouped queries written with a key-value head for each query head: the group's own, as many times."""
    alone, state = tiny_model(model.config.model_type.removesuffix("_text"), **OLD).to(model.dtype), model.state_dict()
    for site, row in zip(heads.sites(alone), labels, strict=True):
        back = row.argsort(stable=True).argsort()  # where query heads stand in `model`
        for part, order in ((site.q, back), (site.k, row), (site.v, row)):
            for name in {f"{site.name}.{part}.weight", f"{site.name}.{part}.bias"} & state.keys():
                state[name] = state[name].unflatten(0, (-1, site.head_dim))[order].flatten(0, 1)
        out = f"{site.out_name}.weight"
        state[out] = state[out].unflatten(1, (4, -1))[:, back].flatten(1)
    alone.load_state_dict(state)
    return alone


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3", "gemma3"])
def test_heads_that_are_the_same_are_shared_without_loss(family, tmp_path):
    model = tiny_model(family).double()
    alone, batch = apart(model, LABELS), tiny_batch(family, labels=False)
    torch.testing.assert_close(logits(alone, batch), logits(model, batch), rtol=1e-6, atol=1e-6)
    for winner in (None, torch.tensor([[2, 1], [3, 2]])):
        shared = sharing.shared(alone, LABELS, winner)
        torch.testing.assert_close(logits(shared, batch), logits(model, batch), rtol=1e-6, atol=1e-6)
    assert shared.config.num_key_value_heads == 2 and alone.config.num_key_value_heads == 4
    heads.save(shared, tmp_path / "shared")
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "shared").double()
    assert torch.equal(generate(plain, prompts(family)), generate(shared, prompts(family)))


def test_a_group_gets_the_mean_of_its_members_or_the_winners_own():
    model, winners = tiny_model("llama", **OLD), [[2, 3], [0, 1]]
    mean, won = sharing.shared(model, LABELS), sharing.shared(model, LABELS, torch.tensor(winners))
    for layer, members in enumerate((((0, 2), (1, 3)), ((0, 3), (1, 2)))):
        for part in ("k_proj", "v_proj"):
            old, new, own = (getattr(m.model.layers[layer].self_attn, part).weight.view(-1, 8, 32) for m in (model, mean, won))
            torch.testing.assert_close(new, torch.stack([(old[one] + old[other]) / 2 for one, other in members]))
            assert torch.equal(own, old[winners[layer]])
    less = sharing.shared(mean, torch.tensor([[0, 0], [0, 0]]))  # from grouped queries on to one key-value head
    assert less.config.num_key_value_heads == 1 and logits(less, BATCHES[0]).shape == logits(model, BATCHES[0]).shape


def turned(model):
    """The same model, values and keys of each head in a basis of its own."""
    generator = torch.Generator().manual_seed(0)
    for site in heads.sites(model):
        q, k, v, out = (site.projection(part).weight.data for part in ("q", "k", "v", "out"))
        for first in range(0, 8 * site.heads, 8):
            rows, pairs = slice(first, first + 8), torch.arange(first, first + 4)
            turn = torch.linalg.qr(torch.randn(8, 8, generator=generator, dtype=q.dtype)).Q
            v[rows], out[:, rows] = turn.T @ v[rows], out[:, rows] @ turn
            c, s = (angle[:, None] for angle in (lambda a: (a.cos(), a.sin()))(6 * torch.rand(4, generator=generator)))
            for weight in (q, k):
                one, other = weight[pairs], weight[pairs + 4]
                weight[pairs], weight[pairs + 4] = c * one - s * other, s * one + c * other
    return model


def test_heads_are_turned_into_one_basis_and_the_model_stays_what_it_was():
    model = tiny_model("llama").double()
    alone = turned(apart(model, LABELS))
    batch = tiny_batch("llama", 9, labels=False)
    torch.testing.assert_close(logits(alone, batch), logits(model, batch), rtol=1e-6, atol=1e-6)
    lost = logits(sharing.shared(alone, LABELS), batch) - logits(model, batch)
    assert lost.abs().max() > 0.1  # means of vectors in different bases are means of nothing
    seen = sharing.seen(alone, BATCHES)
    straight = sharing.aligned(alone, LABELS, seen.inputs)
    torch.testing.assert_close(logits(straight, batch), logits(model, batch), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(logits(sharing.shared(straight, LABELS), batch), logits(model, batch), rtol=1e-5, atol=1e-5)
    alike = sharing.likeness(alone, seen.inputs)
    assert torch.equal(sharing.alike(alike, 2), LABELS) and not torch.equal(sharing.alike(seen.grams.sum(0), 2), LABELS)


def test_what_heads_see_is_what_watching_them_says():
    model = tiny_model("llama", **OLD).double()
    seen, total = sharing.seen(model, BATCHES), 0
    for number, batch in enumerate(BATCHES):
        with torch.no_grad(), units.watch(model, "V") as watched:
            watched.feed(batch)
            model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        torch.testing.assert_close(seen.grams[number], torch.stack(watched.grams), rtol=1e-6, atol=1e-6)
        total = total + torch.stack(watched.grams)
    one = sharing.likeness(model, seen.inputs)
    torch.testing.assert_close(one.diagonal(dim1=1, dim2=2), total.diagonal(dim1=1, dim2=2), rtol=1e-6, atol=1e-6)
    assert (one >= total.abs() - 1e-6).all()
    for labels in (sharing.alike(total, 2), sharing.drawn(2, 4, 2, 0)):
        votes = np.zeros((2, 2, 4))  # of each layer and group
        for gram in seen.grams:
            own = units.closeness(gram, labels, 2)[0]
            for layer, group in ((0, 0), (0, 1), (1, 0), (1, 1)):
                members = (labels[layer] == group).nonzero()[:, 0].tolist()
                votes[layer, group, max(members, key=lambda head: own[layer, head])] += 1
        assert sharing.winners(seen.grams, labels).tolist() == votes.argmax(-1).tolist()


def test_groups_of_one_size_are_the_best_there_are():
    generator = torch.Generator().manual_seed(0)
    every = set(permutations([0, 0, 1, 1, 2, 2]))
    for _ in range(20):
        vectors = torch.randn(6, 3, generator=generator, dtype=torch.float64)
        found = sharing.alike((vectors @ vectors.T)[None], 3)[0].tolist()

        def cost(labels, vectors=vectors):
            parts = [vectors[torch.tensor(labels) == group] for group in range(3)]
            return sum(float(((part - part.mean(0)) ** 2).sum()) for part in parts)

        assert cost(found) == pytest.approx(min(map(cost, every))) and found[0] == 0
    truth = torch.tensor([0, 1, 2, 2, 1, 0, 0, 1, 2, 1, 0, 2])
    vectors = 5 * torch.eye(3, dtype=torch.float64)[truth] + torch.randn(12, 3, generator=generator, dtype=torch.float64)
    assert torch.equal(sharing.alike((vectors @ vectors.T)[None], 3)[0], truth)
    assert sharing.neighbours(1, 6, 3).tolist() == [[0, 0, 1, 1, 2, 2]]
    assert sorted(sharing.drawn(2, 6, 3, 1)[1].tolist()) == [0, 0, 1, 1, 2, 2]


def test_what_cannot_share_is_refused():
    model = tiny_model("llama", **OLD)
    with pytest.raises(StudyError, match="choose a divisor"):
        sharing.neighbours(2, 4, 3)
    with pytest.raises(StudyError, match="of one size"):
        sharing.shared(model, torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]]))
    for family in ("opt", "gpt2", "phi3", "bart"):
        with pytest.raises(StudyError, match="such as a Llama"):
            sharing.places(tiny_model(family))
    with pytest.raises(StudyError, match="no batches"):
        sharing.seen(model, [])
    for other, said in ((tiny_model("llama"), "share keys and values"), (tiny_model("qwen2", **OLD), "biases or norms")):
        with pytest.raises(StudyError, match=said):
            sharing.aligned(other, LABELS, torch.zeros(2, 32, 32))
    heads.remove(model, [("decoder", 0, 1)])
    with pytest.raises(StudyError, match="remove afterwards"):
        sharing.places(model)
