"""The rules `cp` and `attnlrp` in any model, without gradients: what they hold constant is stored, and logits are compared.

One pass stores deviations, ratios of activations and attention. Later passes compute with what is stored: `cp` leaves the model
a straight line in each head's output, `attnlrp` a polynomial, of whose factors only half moves. A head's relevance is the slope
of a logit in its gate.
"""

import math
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from copy import deepcopy
from functools import partial
from unittest.mock import patch

import torch
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from helpers.heads.families import sites
from tests.reference.importance import Sentence, read

GATES, GATED, FUSED = ("gate_proj", "wi_0"), ("up_proj", "wi_1"), "gate_up_proj"


def exact(model):
    """The model in double precision, also its RMS norms and the softmax of eager attention, which libraries take in single."""
    model = model.double()
    for module in model.modules():
        if _named(module).endswith(("RMSNorm", "T5LayerNorm")):
            module.forward = partial(_rms, module, 1.0 if _named(module).startswith("Gemma") else 0.0)
    if model.config._attn_implementation == "eager":
        model.set_attn_implementation("exact")
    return model


def relevance(model, batches, rule: str) -> tuple[dict, list]:
    """Raw head relevance of every predicted position's largest logit: {head: mean} and a {head: value} for each, in order."""
    found = [
        {a: float(moved[t, logits[t].argmax()]) for a, moved in slopes.items()}
        for sentence in read(model, batches)
        for logits, slopes in [Frozen(model, rule).slopes(sentence)]
        for t in sentence.predicts
    ]
    return {a: sum(one[a] for one in found) / len(found) for a in found[0]}, found


class Frozen:
    """A copy of a model with hooks that store in the first pass and hold to that in later ones."""

    def __init__(self, model, rule: str):
        self.model, self.rule, self.known = deepcopy(model).eval(), rule, {}
        self.model.set_attn_implementation("exact")
        for site in sites(self.model):
            site.module.twin = self
        for name, module in self.model.named_modules():
            last = name.rpartition(".")[2]
            if isinstance(module, nn.LayerNorm):
                module.register_forward_hook(self._layer_norm)
            elif _named(module).endswith(("RMSNorm", "T5LayerNorm")) or "activation" in type(module).__module__:
                module.register_forward_hook(lambda module, args, out: self.ratio(module, args[0], out))
            elif last in (*GATES, *GATED, FUSED):
                module.register_forward_hook(partial(self._gated, last))

    def slopes(self, sentence: Sentence) -> tuple[torch.Tensor, dict]:
        """Logits [position, word], and {head: slope of each in the head's gate}; four points, exact for straight lines."""
        heads = [(site, head) for site in sites(self.model) for head in range(site.heads)]
        step = 0.5 if self.rule == "cp" else 2e-3
        plain, gates = self.logits(sentence, []), [1 + k * step for k in (2, 1, -1, -2)]
        ends = self.logits(sentence, [(*one, gate) for one in heads for gate in gates]).unflatten(0, (len(heads), 4))
        same = self.logits(sentence, [])
        assert (same - plain).abs().max() < 1e-9, "another model"
        if self.rule == "cp":
            assert (ends[:, 0] + ends[:, 3] - 2 * plain).abs().max() < 1e-9 * plain.abs().max(), "no straight line"
        moved = (8 * (ends[:, 1] - ends[:, 2]) - (ends[:, 0] - ends[:, 3])) / (12 * step)
        return plain[0], {(site.kind, site.layer, head): one for (site, head), one in zip(heads, moved, strict=True)}

    def logits(self, sentence: Sentence, changes: Sequence[tuple] = ()) -> torch.Tensor:
        """Logits [changes, position, word], each with another gate of one head; as they are where there is no change."""
        hooks = []
        for site in sites(self.model):
            factors = torch.ones(max(1, len(changes)), 1, site.heads, dtype=torch.float64)
            for row, (where, head, gate) in enumerate(changes):
                if where == site:
                    factors[row, 0, head] = gate
            factors = factors.repeat_interleave(site.head_dim, -1)
            hooks.append(site.projection("out").register_forward_pre_hook(lambda module, args, f=factors: (args[0] * f,)))
        hooks.append(self.model.get_output_embeddings().register_forward_hook(lambda module, args, out: raw.append(out)))
        raw, inputs = [], {n: values.repeat(max(1, len(changes)), 1) for n, values in sentence.inputs.items()}
        file = sys.modules[type(self.model).__module__]
        shaped = patch.object(file, "gelu", self._gelu) if hasattr(file, "gelu") else nullcontext()
        with torch.no_grad(), shaped:
            logits = self.model(**inputs, use_cache=False).logits
        for hook in hooks:
            hook.remove()
        return self.ratio("logits", raw[0], logits) if getattr(self.model.config, "final_logit_softcapping", None) else logits

    def keep(self, key, value):
        """What was stored under a key in the first pass, for as many sentences as `value` has (OPT flattens them)."""
        stored = self.known.setdefault(key, value)
        return stored.repeat(len(value) // len(stored), *[1] * (value.ndim - 1))

    def ratio(self, key, x, out):
        return x * self.keep(key, torch.where(x == 0, 0.0, out / x))

    def _gelu(self, x):  # RoBERTa's before its output layer is a function
        return self.ratio("gelu", x, nn.functional.gelu(x))

    def half(self, key, x):
        return (x + self.keep(key, x)) / 2 if self.rule == "attnlrp" else x

    def _layer_norm(self, module, args, out):
        x = args[0] - args[0].mean(-1, keepdim=True)
        scaled = x / self.keep(module, (x.square().mean(-1, keepdim=True) + module.eps).sqrt())
        scaled = scaled if module.weight is None else scaled * module.weight
        return scaled if module.bias is None else scaled + module.bias

    def _gated(self, name, module, args, out):
        if self.rule == "attnlrp":
            return self.half(module, out)
        gates = out.shape[-1] // 2 if name == FUSED else out.shape[-1] if name in GATES else 0
        return torch.cat([self.keep(module, out)[..., :gates], out[..., gates:]], -1)

    def attend(self, module, scores, value):
        """Output of attention from scores: weights stored, or linear in how far scores are from the stored ones."""
        weights = self.keep((module, "weights"), scores.softmax(-1))
        if self.rule == "attnlrp":
            moved = scores - self.keep((module, "scores"), scores)
            weights = weights + weights * (moved - (weights * moved).sum(-1, keepdim=True)) / 2
        return weights @ value


def _attention(module, query, key, value, mask, scaling=None, softcap=None, position_bias=None, **options):
    """The library's attention in the tensors' own precision; of a module with a twin by its rule."""
    twin = getattr(module, "twin", None)
    half = twin.half if twin else lambda key, x: x
    share = query.shape[1] // key.shape[1]
    query, key, value = query, key.repeat_interleave(share, 1), value.repeat_interleave(share, 1)
    query, key, value = (half((module, i), part) for i, part in enumerate((query, key, value)))
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scaling is None else scaling)
    if softcap:
        capped = softcap * torch.tanh(scores / softcap)
        scores = twin.ratio((module, "cap"), scores, capped) if twin else capped
    for part in (position_bias, mask):
        scores = scores if part is None else scores + part
    out = twin.attend(module, scores, value) if twin else scores.softmax(-1) @ value
    return out.transpose(1, 2).contiguous(), None


def _named(module) -> str:
    return type(module).__name__


def _rms(norm, one, x):
    eps = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
    return (norm.weight + one) * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


AttentionInterface.register("exact", _attention)
AttentionMaskInterface.register("exact", eager_mask)
