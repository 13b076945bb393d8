"""The instrument on tiny real models: open gates change nothing, records are eager's weights, blocks leave no trace."""

import copy
import itertools
import pickle
from contextlib import ExitStack, contextmanager

import pandas as pd
import pytest
import torch
import transformers as hf
from torch import nn

from helpers.heads import KINDS, gate, index, inject, locate, record, sites
from helpers.study import StudyError
from tests.reference.importance import columns
from tests.unit.tiny_models import EVERY, FAMILIES, SEQ2SEQ, TODAY, generate, logits, prompts, tiny_batch, tiny_model

families = pytest.mark.parametrize("family", FAMILIES)
some = pytest.mark.parametrize("family", ["marian", "t5", "opt", "gpt2"])  # one of each way of building attention


def recorded(model, batch, kinds=None):
    """All attention weights of one forward pass, {(kind, layer): [batch, heads, query, key]}, and its logits."""
    seen = {}
    with record(model, lambda site, weights: seen.update({(site.kind, site.layer): weights.detach()}), kinds=kinds):
        out = logits(model, batch)
    return seen, out


def eager_attentions(model, batch):
    """The same by output_attentions=True of a model that runs eager attention."""
    with torch.no_grad():
        out = model(**batch, output_attentions=True)
    if model.config.is_encoder_decoder:
        maps = {"encoder": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
    else:
        maps = {"decoder": out.attentions}
    return {(kind, layer): weights for kind, layers in maps.items() for layer, weights in enumerate(layers)}


@contextmanager
def slow_injection(site, head, matrix):
    """Injection written as two hooks: a head's part of what the output projection reads is M @ V_h."""
    columns, kept = slice(head * site.head_dim, (head + 1) * site.head_dim), []

    def keep(module, args, output):
        kept.append(output[..., -site.heads * site.head_dim :])  # of GPT-2's fused projection the last third

    def replace(module, args):
        hidden = args[0].clone()
        hidden[..., columns] = matrix @ kept[-1][..., columns]
        return (hidden,)

    first = (site.projection("v") or site.module.c_attn).register_forward_hook(keep)
    second = site.projection("out").register_forward_pre_hook(replace)
    yield
    first.remove()
    second.remove()


def matrix_for(batch, site, seed=3):
    """A random matrix of the right size whose rows sum to 1; a decoder's looks at no later token."""
    source = batch["input_ids"].shape
    target = (batch["labels"] if "decoder_attention_mask" in batch else batch["input_ids"]).shape
    query = source if site.kind == "encoder" else target
    key = target if site.kind == "decoder" else source
    scores = torch.randn(query[0], query[1], key[1], generator=torch.Generator().manual_seed(seed))
    later = torch.ones_like(scores).triu(1).bool() & (site.kind == "decoder")
    return scores.masked_fill(later, -torch.inf).softmax(-1)


def trace(model):
    """All that a block could leave behind, except numbers."""
    return (
        [module.config._attn_implementation for module in model.modules() if hasattr(module, "config")],
        [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.modules()],
        [sorted(vars(module)) for module in model.modules()],
        list(model.state_dict()),
    )


@pytest.mark.parametrize("family", EVERY)
def test_sites_and_index(family):
    model = tiny_model(family, attention="eager")
    found, shared = sites(model), getattr(model.config, "num_key_value_heads", None) == 2
    kinds = KINDS if family in SEQ2SEQ else ("encoder",) if family in ("bert", "roberta") else ("decoder",)
    assert [(s.kind, s.layer, s.heads, s.head_dim) for s in found] == [(k, i, 4, 8) for k in kinds for i in (0, 1)]
    for site in found:
        assert model.get_submodule(site.name) is site.module
        assert model.get_submodule(site.out_name) is site.projection("out")
        assert site.groups == ((0, 0, 1, 1) if shared and family in TODAY else (0, 1, 2, 3))
    assert index(model).tolist() == [(k, i, h) for k in kinds for i in (0, 1) for h in range(4)]
    assert index(model, kinds[-1]).tolist() == [(kinds[-1], i, h) for i in (0, 1) for h in range(4)]
    assert [site.module for site in sites(model.base_model)] == [site.module for site in found]


def test_what_is_not_supported_is_refused_by_name():
    small = {"vocab_size": 60, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
    cases = {
        "ElectraModel": hf.ElectraModel(hf.ElectraConfig(**small)),
        "BERT used as a decoder": hf.BertModel(hf.BertConfig(**small, is_decoder=True)),
        r"DataParallel is not .*\(.module\)": nn.DataParallel(tiny_model("marian")),
        "MarianEncoder has no .* pass the whole model": tiny_model("marian").get_encoder(),
        "str is not": "bart",
    }
    for message, model in cases.items():
        with pytest.raises(StudyError, match=message), gate(model, {}):
            pass
    with pytest.raises(StudyError, match="unknown kind of attention 'self'"):
        index(tiny_model("opt"), "self")
    with pytest.raises(StudyError, match="OPTForCausalLM has no cross attention"):
        index(tiny_model("opt"), ["cross"])


def test_unknown_addresses_are_refused():
    model = tiny_model("opt")
    for address in [("encoder", 0, 0), ("decoder", 2, 0), ("decoder", 0, 4), ("decoder", 0, -1), ("decoder",), "decoder"]:
        with pytest.raises(StudyError, match=r"no head .* in OPTForCausalLM, which has .*: decoder layer 0 \(4\)"):
            locate(model, {address: 0.0})
    twice = pd.Series([0.0, 1.0], pd.MultiIndex.from_tuples([("decoder", 0, 0)] * 2))
    with pytest.raises(StudyError, match="has two values"):
        locate(model, twice)


@families
def test_open_gates_change_nothing(family):
    model, batch = tiny_model(family), tiny_batch(family)
    plain, heads = logits(model, batch), index(model)
    for values in (
        pd.Series(1.0, index=heads), dict.fromkeys(heads, torch.tensor(1.0, requires_grad=True)),
        {(site.kind, site.layer): torch.ones(3, 4) for site in sites(model)}, {},
    ):  # fmt: skip
        with gate(model, values):
            assert torch.equal(logits(model, batch), plain)
    with gate(model, pd.Series(1.0, index=heads)):  # gates that are the number 1 cost nothing: no hook at all
        assert not any(site.projection("out")._forward_pre_hooks for site in sites(model))


@families
def test_a_gate_scales_the_columns_of_its_head(family):
    batch, factor = tiny_batch(family), -1.7
    for kind in KINDS if family in SEQ2SEQ else ("decoder",):
        model, scaled = tiny_model(family), tiny_model(family)
        columns(scaled, (kind, 1, 2)).mul_(factor)
        expected, plain = logits(scaled, batch), logits(model, batch)
        assert (expected - plain).abs().max() > 1e-2
        for values in (
            pd.Series({(kind, 1, 2): factor}),
            {(kind, 1, 2): torch.tensor(factor)},
            {(kind, 1): torch.tensor([1.0, 1.0, factor, 1.0])},
        ):
            with gate(model, values):
                torch.testing.assert_close(logits(model, batch), expected, atol=1e-5, rtol=0)


def test_gates_of_the_wrong_kind_are_refused():
    model = tiny_model("marian")
    for values, message in (
        ({("encoder", 0, 0): float("nan")}, "finite number"), ({("encoder", 0, 0): "open"}, "finite number .* not 'open'"),
        ({("encoder", 0, 0): torch.ones(2)}, "0-dim tensor"),
        ({("encoder", 0): torch.ones(3)}, r"must be a tensor \[4\] or \[batch, 4\], not \(3,\)"),
        ({("encoder", 0): 0.5}, "not float"), ({("encoder", 0): torch.ones(4), ("encoder", 0, 1): 0.5}, "given twice"),
    ):  # fmt: skip
        with pytest.raises(StudyError, match=message), gate(model, values):
            pass
        assert not any(site.projection("out")._forward_pre_hooks for site in sites(model))
    with gate(model, {("encoder", 1): torch.ones(2, 4)}), pytest.raises(StudyError, match=r"2 examples.* batch of 3 rows"):
        logits(model, tiny_batch("marian"))


@families
@pytest.mark.parametrize("padded", [True, False])
def test_recorded_weights_are_those_of_eager_attention(family, padded):
    # with nothing padded SDPA is given no mask at all, only the word that it is causal
    batch = tiny_batch(family) if padded else {name: part[:, :3].contiguous() for name, part in tiny_batch(family).items()}
    eager, model = tiny_model(family, attention="eager"), tiny_model(family)
    expected = eager_attentions(eager, batch)
    assert max(weights.max() for weights in expected.values()) > 0.9  # far from uniform, so that scales and masks matter
    seen, _ = recorded(eager, batch)
    assert list(seen) == [(s.kind, s.layer) for s in sites(eager) if s.kind == "encoder"] + [
        (kind, layer) for layer in (0, 1) for kind in ("decoder", "cross") if (kind, layer) in expected
    ]
    assert all(torch.equal(seen[place], weights) for place, weights in expected.items())
    seen, out = recorded(model, batch)
    assert torch.equal(out, logits(model, batch))  # recording changes nothing
    doubled, exact = recorded(model.double(), batch)[0], eager_attentions(eager.double(), batch)
    for place, weights in expected.items():  # inputs of later layers differ in their last digits
        torch.testing.assert_close(seen[place], weights, atol=1e-5, rtol=0)
        torch.testing.assert_close(doubled[place], exact[place], atol=1e-6, rtol=0)


@some
def test_dropout_is_the_same_under_open_gates_and_records(family):
    rate = {"t5": "dropout_rate", "gpt2": "attn_pdrop"}.get(family, "attention_dropout")
    model, batch, sums = tiny_model(family, **{rate: 0.3}).train(), tiny_batch(family), []

    def run():
        torch.manual_seed(0)
        return logits(model, batch)

    plain = run()
    with gate(model, pd.Series(1.0, index(model))), record(model, lambda s, w: sums.append(w.sum(-1))):
        assert torch.equal(run(), plain)
    assert all(torch.allclose(rows, torch.ones(rows.shape)) for rows in sums)  # before dropout, rows sum to 1
    assert not torch.equal(plain, logits(model.eval(), batch))


def test_record_refuses_what_it_would_get_wrong():
    model = tiny_model("marian")
    with pytest.raises(StudyError, match="at least one reducer"), record(model):
        pass
    model.activation_checkpointing_enable()
    with pytest.raises(StudyError, match="gradient checkpointing"), record(model.train(), print):
        pass
    with record(model.eval(), print):
        pass
    model.config._attn_implementation = "flex_attention"
    with pytest.raises(StudyError, match="runs flex_attention attention"), record(model, print):
        pass


@some
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_injection_equals_the_slow_reference(family, attention):
    model, batch = tiny_model(family, attention=attention), tiny_batch(family)
    plain = logits(model, batch)
    for site in sites(model)[1::2]:  # one a kind
        matrix = matrix_for(batch, site)
        with slow_injection(site, 1, matrix):
            expected = logits(model, batch)
        mask = batch.get("decoder_attention_mask", batch["attention_mask"]).bool()
        assert (expected - plain)[mask].abs().max() > 1e-2  # at real tokens
        for given in (matrix, matrix.double(), lambda asked, query, key, rows, matrix=matrix: matrix):
            with inject(model, {(site.kind, site.layer, 1): given}):
                torch.testing.assert_close(logits(model, batch), expected, atol=2e-5, rtol=0)
        with slow_injection(site, 1, matrix[:1].expand(3, -1, -1)):
            expected = logits(model, batch)
        with inject(model, {(site.kind, site.layer, 1): matrix[0]}):  # one matrix for all examples
            torch.testing.assert_close(logits(model, batch), expected, atol=2e-5, rtol=0)


def test_injection_shows_in_records_and_returned_attentions():
    model, batch = tiny_model("bart", attention="eager"), tiny_batch("bart")
    matrix = matrix_for(batch, sites(model)[0])
    block, seen = {("encoder", 0, 1): matrix}, {}
    with inject(model, block):
        inside, _ = recorded(model, batch)
    with record(model, lambda at, weights: seen.update({(at.kind, at.layer): weights})), inject(model, block):
        returned = eager_attentions(model, batch)
    for maps in (returned, inside, seen):
        assert torch.equal(maps["encoder", 0][:, 1], matrix)
        assert not torch.equal(maps["encoder", 0][:, 0], matrix)
        assert all(torch.equal(maps[place], weights) for place, weights in returned.items())


def test_attention_dropout_applies_to_an_injected_matrix_in_training():
    model, batch = tiny_model("marian", attention_dropout=0.5), tiny_batch("marian")
    with inject(model, {("encoder", 0, head): torch.eye(7) for head in range(4)}):
        still = logits(model, batch)
        assert torch.equal(still, logits(model, batch))
        model.get_submodule("model.encoder.layers.0.self_attn").train()
        assert not torch.equal(still, logits(model, batch))


def test_injection_of_the_wrong_size_is_refused():
    model, batch = tiny_model("marian"), tiny_batch("marian")
    for kind, matrix, shapes in (
        ("encoder", torch.ones(6, 7), r"\(6, 7\).*\(7, 7\)"),
        ("decoder", torch.ones(8, 8), r"\(8, 8\).*\(6, 6\)"),
        ("cross", lambda site, query, key, rows: torch.ones(query, key + 1), r"\(6, 8\).*\(6, 7\)"),
        ("encoder", torch.ones(2, 7, 7), "2 examples.* batch of 3 rows"),
    ):
        message = f"{kind} layer 1 head 0.*{shapes}"
        with inject(model, {(kind, 1, 0): matrix}), pytest.raises(StudyError, match=message):
            logits(model, batch)
    for address, given in ((("encoder", 0, 0), [[1.0]]), (("encoder", 0, 0), torch.ones(3)), (("encoder", 0), print)):
        with pytest.raises(StudyError, match="injection into encoder layer 0 takes"), inject(model, {address: given}):
            pass


@some
def test_everything_is_undone_also_after_an_error(family):
    model, batch = tiny_model(family), tiny_batch(family)
    site = sites(model)[0]
    plain, before = logits(model, batch), trace(model)
    blocks = (
        lambda: gate(model, dict.fromkeys(index(model), torch.tensor(0.5))),
        lambda: record(model, lambda s, w: None),
        lambda: inject(model, {(site.kind, site.layer, 0): matrix_for(batch, site)}),
    )

    def fail(s, w):
        raise RuntimeError("stop")

    for first, second in itertools.product(blocks, repeat=2):
        with first(), second():
            logits(model, batch)
        assert trace(model) == before
        with pytest.raises(RuntimeError, match="stop"), first(), second(), record(model, fail):
            logits(model, batch)
        assert trace(model) == before
    assert torch.equal(logits(model, batch), plain)


def test_the_inner_injection_wins_and_gates_multiply():
    model, batch = tiny_model("marian"), tiny_batch("marian")
    one, two = matrix_for(batch, sites(model)[0], 1), matrix_for(batch, sites(model)[0], 2)
    head = ("encoder", 0, 1)
    with inject(model, {head: two}), gate(model, {head: 0.25}):
        expected = logits(model, batch)
    with gate(model, {head: 0.5}), inject(model, {head: one}), inject(model, {head: two}), gate(model, {head: 0.5}):
        assert torch.equal(logits(model, batch), expected)
    with inject(model, {head: one}):
        outer = logits(model, batch)
        with inject(model, {head: two}):
            assert not torch.equal(logits(model, batch), outer)
        assert torch.equal(logits(model, batch), outer)  # the end of the inner block is not the end of the outer one


def test_two_models_at_once_do_not_meet():
    batch, one = tiny_batch("marian"), tiny_model("marian")
    two = type(one)(one.config).eval()  # shares the very config that says which attention runs
    two.load_state_dict(tiny_model("marian", seed=9).state_dict())
    plain_one, plain_two = logits(one, batch), logits(two, batch)
    matrices = {("encoder", 0, 0): matrix_for(batch, sites(two)[0])}
    with inject(two, matrices):
        injected = logits(two, batch)
    seen = []
    with record(one, lambda s, w: seen.append(s.module)):
        with inject(two, matrices):
            assert torch.equal(logits(two, batch), injected)
            assert not seen
        assert torch.equal(logits(two, batch), plain_two)
        assert torch.equal(logits(one, batch), plain_one)
    assert {id(module) for module in seen} == {id(s.module) for s in sites(one)}
    assert one.config._attn_implementation == two.config._attn_implementation == "sdpa"


@some
def test_a_copy_does_what_its_model_does_and_no_longer(family):
    model, batch = tiny_model(family), tiny_batch(family)
    site, plain = sites(model)[-1], logits(model, batch)
    leaf = torch.full((4,), 0.5, requires_grad=True)
    learnt = leaf * 1  # what is no leaf cannot be copied
    blocks = {
        "numbers": lambda: gate(model, {(site.kind, 0, 1): 0.0, (site.kind, 1, 2): 0.3}),
        "tensors": lambda: gate(model, {(site.kind, 0): learnt, (site.kind, 1, 0): torch.tensor(0.2)}),
        "nested": lambda: gate(model, {(site.kind, 0, 0): 0.7}),
        "inject": lambda: inject(model, {(site.kind, site.layer, 1): matrix_for(batch, site)}),
    }
    for name, block in blocks.items():
        with ExitStack() as outer:
            if name == "nested":
                outer.enter_context(gate(model, {(site.kind, 0, 0): -0.4, (site.kind, 1, 3): 0.0}))
            with block():
                inside, copied = logits(model, batch), copy.deepcopy(model)
                with pytest.raises(StudyError, match="pickled inside an open block"):
                    pickle.dumps(model)
                again = copy.deepcopy(copied)
                assert not torch.equal(inside, plain), name
                for other in (copied, again):
                    assert torch.equal(logits(other, batch), inside), name
            assert torch.equal(logits(copied, batch), logits(model, batch)), name  # with what an outer block left
        for other in (model, copied, again, copy.deepcopy(copied)):
            assert torch.equal(logits(other, batch), plain), name
        pickle.loads(pickle.dumps(copied))  # nothing that the block was given is left in it


def test_gradients_under_gradient_checkpointing():
    batch, found = tiny_batch("marian"), []
    for checkpointing in (False, True):
        model = tiny_model("marian", dropout=0.0).train()
        if checkpointing:
            model.activation_checkpointing_enable()
        gates = {(site.kind, site.layer): torch.full((4,), 0.7, requires_grad=True) for site in sites(model)}
        with gate(model, gates), inject(model, {("encoder", 1, 0): torch.eye(7)}):
            model(**batch).loss.backward()  # inside the block, for the layers that are computed again
        found.append([values.grad for values in gates.values()])
    for plain, again in zip(*found, strict=True):
        torch.testing.assert_close(plain, again)


def test_generation_with_gates_per_example():
    model, batch = tiny_model("marian"), prompts("marian")
    gates = torch.rand(3, 4, generator=torch.Generator().manual_seed(8)) * 2
    places = [(site.kind, site.layer) for site in sites(model)]
    with gate(model, dict.fromkeys(places, gates)):
        together = generate(model, batch, num_beams=4)
    for row in range(3):
        single = {name: values[row : row + 1] for name, values in batch.items()}
        with gate(model, dict.fromkeys(places, gates[row])):
            alone = generate(model, single, num_beams=4)[0]
        assert torch.equal(alone, together[row, : len(alone)]) and (together[row, len(alone) :] <= 1).all()


def test_a_decoder_matrix_that_looks_ahead_is_refused():
    model, batch = tiny_model("opt"), tiny_batch("opt")
    block = {("decoder", 0, 1): torch.eye(7).roll(1, 1)}  # each token looks at the next
    with inject(model, block), pytest.raises(StudyError, match="decoder layer 0 head 1 looks at later tokens"):
        logits(model, batch)
