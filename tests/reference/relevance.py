"""The rule `alpha_beta` (Voita et al. 2021) by definition: one unpadded sentence, one target position at a time.

The forward pass is written out from the weights and remembered step by step; relevance starts at the largest logit of a
position and goes down those steps.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.functional import jacobian

from helpers.heads.families import Site, sites
from tests.reference.importance import read

EPS = 1e-5  # in the generic rule and in rescaling
NORM_FIRST = ("mbart", "pegasus", "t5")


Heads = dict  # {(kind, layer, head): raw relevance, read at the input of the output projection, after the gate}


@torch.no_grad()
def explain(
    model, batch, row: int, gates: Mapping[tuple, float] | None = None, injected: Mapping[tuple, Tensor] | None = None
) -> list[Heads]:
    """Explain the largest logit at each real target position of one of the sentences that have any, in order.

    `gates` are factors of heads' outputs, `injected` matrices [query, key] that stand for heads' attention weights: of a larger
    one, for a batch padded on the right, the first rows and columns.
    """
    model = deepcopy(model).eval()
    model.set_attn_implementation("sdpa")  # eager attention of some families has its softmax in float32
    sentence = read(model, [batch])[row]
    expected, streams = _own_pass(model, sentence.inputs)
    passed = _Pass(model, streams, gates or {}, injected or {})
    if not gates and not injected:
        limit = 1e-8 if expected.dtype == torch.float64 else 1e-3
        assert (passed.logits - expected).abs().max() <= limit * max(1.0, expected.abs().max()), "another forward pass"
    return [passed.explain(t) for t in sorted(sentence.predicts)]


def _own_pass(model, inputs) -> tuple[Tensor, dict[str, Tensor]]:
    """What the model itself computes: logits [position, word], and the streams that enter its first layers."""
    streams, hooks = {}, []
    for kind in ("encoder", "decoder") if model.config.is_encoder_decoder else ("decoder",):

        def keep(module, args, kwargs, kind=kind):
            streams[kind] = (args[0] if args else kwargs["hidden_states"])[0].clone()

        hooks.append(_layers(model, kind)[0].register_forward_pre_hook(keep, with_kwargs=True))
    logits = model(**inputs, use_cache=False).logits[0]
    for hook in hooks:
        hook.remove()
    return logits, streams


def _layers(model, kind: str):
    stack = getattr(model.base_model, kind)
    return stack.block if hasattr(stack, "block") else stack.layers


class _Head:
    """One attention head: q [query, width]; k and v [key, width]; the bias in its scores and what it may see [query, key]."""

    def __init__(self, q, k, v, scale, position, seen, given):
        self.q, self.k, self.v, self.scale, self.position, self.seen, self.given = q, k, v, scale, position, seen, given
        self.weights = self.attend(q, k)
        self.out = self.weights @ v

    def attend(self, q, k):
        if self.given is not None:
            return self.given
        return torch.softmax((self.scale * q @ k.T + self.position).masked_fill(~self.seen, -torch.inf), -1)

    def run(self, q, k, v):
        return self.attend(q, k) @ v


class _Attention:
    """Attention of the stream x to itself or to a memory, with the projections around it."""

    def __init__(self, site: Site, x, memory, position, gates, injected):
        self.site, self.x, self.memory = site, x, memory
        keys = self.keys = x if memory is None else memory
        q, k, v = site.projection("q")(x), site.projection("k")(keys), site.projection("v")(keys)
        seen = torch.ones(len(x), len(keys), dtype=torch.bool)
        if site.kind == "decoder":
            seen = seen.tril()
        self.heads, self.gates = [], []
        self.mixed = torch.zeros_like(q)  # what the output projection is given
        for head in range(site.heads):
            cut, address = self.cut(head), (site.kind, site.layer, head)
            given = injected.get(address)
            given = None if given is None else given[: len(x), : len(keys)].to(x)
            bias = x.new_zeros(len(x), len(keys)) if position is None else position[head]
            self.heads.append(_Head(q[:, cut], k[:, cut], v[:, cut], site.module.scaling, bias, seen, given))
            self.gates.append(float(gates.get(address, 1.0)))
            self.mixed[:, cut] = self.gates[head] * self.heads[head].out
        self.out = site.projection("out")(self.mixed)

    def cut(self, head: int) -> slice:
        return slice(head * self.site.head_dim, (head + 1) * self.site.head_dim)

    def back(self, R, found):
        """Relevance of x, and of the memory (None without one); that of the heads goes into `found`."""
        alive = torch.tensor([gate != 0 for gate in self.gates], dtype=torch.bool).repeat_interleave(self.site.head_dim)
        R = _linear(self.mixed, *_map(self.site.projection("out")), R, alive)
        R_q, R_k, R_v = (R.new_zeros(len(stream), R.shape[1]) for stream in (self.x, self.keys, self.keys))
        for number, head in enumerate(self.heads):
            cut = self.cut(number)
            found[self.site.kind, self.site.layer, number] = float(R[:, cut].sum())
            # the gate is a constant factor, through which relevance passes unchanged
            R_q[:, cut], R_k[:, cut], R_v[:, cut] = _core(head, R[:, cut])
        R_q, R_k, R_v = _rescale(R, R_q, R_k, R_v)
        q, k, v = (self.site.projection(name) for name in "qkv")
        if self.memory is None:
            return _linear(self.x, *_map(q, k, v), torch.cat([R_q, R_k, R_v], -1)), None
        R_x = _linear(self.x, *_map(q), R_q)
        return R_x, _linear(self.memory, *_map(k, v), torch.cat([R_k, R_v], -1))


class _FeedForward:
    """outer(act(inner x))."""

    def __init__(self, inner, act, outer, x):
        self.x, self.inner, self.outer, self.mixed = x, inner, outer, act(inner(x))
        self.out = outer(self.mixed)

    def back(self, R, found):
        R = _linear(self.mixed, *_map(self.outer), R)
        return _linear(self.x, *_map(self.inner), R), None


@dataclass
class _Block:
    """A part with its residual connection: y = x + part(norm x) if `first`, else y = norm(x + part(x))."""

    x: Tensor
    norm: nn.Module
    first: bool
    part: _Attention | _FeedForward

    @property
    def out(self):
        total = self.x + self.part.out
        return total if self.first else _normed(self.norm, total)

    def back(self, R, found):
        entered = R
        if not self.first:
            R = _norm(self.norm, self.x + self.part.out, R)
        R_x, R_part = _add(self.x, self.part.out, R)
        R_through, R_memory = self.part.back(R_part, found)
        if self.first:
            R_through = _norm(self.norm, self.x, R_through)
        R_x = R_x + R_through
        return (R_x, None) if R_memory is None else _balance((R_x, R_memory), entered)


class _Pass:
    """The forward pass of one sentence from the streams that enter the first layers, and the ways back down."""

    def __init__(self, model, streams, gates, injected):
        self.model, self.gates, self.injected = model, gates, injected
        self.sites = {(site.kind, site.layer): site for site in sites(model)}
        self.memory = None
        if "encoder" in streams:
            self.source, raw = self._stack("encoder", streams["encoder"], None)
            self.source_end = raw, self._last_norm("encoder")
            self.memory = _normed(self.source_end[1], raw)
        self.target, raw = self._stack("decoder", streams["decoder"], self.memory)
        self.target_end = raw, self._last_norm("decoder")
        self.normed = self.hidden = _normed(self.target_end[1], raw)
        self.project = getattr(model.base_model.decoder, "project_out", None)
        if self.project is not None:
            self.hidden = self.project(self.hidden)
        if getattr(model.config, "scale_decoder_outputs", False):
            self.hidden = self.hidden * model.config.d_model**-0.5
        head, extra = model.get_output_embeddings(), getattr(model, "final_logits_bias", None)
        self.words = head.weight
        self.words_bias = head.weight.new_zeros(len(head.weight)) if head.bias is None else head.bias
        if extra is not None:
            self.words_bias = self.words_bias + extra[0]
        self.logits = self.hidden @ self.words.T + self.words_bias

    def _stack(self, kind, x, memory):
        """The blocks of all layers, and what the last one yields (before the final norm)."""
        blocks, position = [], None
        first = self.model.config.model_type in NORM_FIRST or getattr(self.model.config, "do_layer_norm_before", False)
        for number, layer in enumerate(_layers(self.model, kind)):
            if hasattr(layer, "layer"):  # T5
                norms = [part.layer_norm for part in layer.layer]
                dense = layer.layer[-1].DenseReluDense
                feed = dense.wi, dense.act, dense.wo
            else:
                names = ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")
                norms = [getattr(layer, name) for name in names if hasattr(layer, name)]
                feed = layer.fc1, layer.activation_fn, layer.fc2
            for site, norm in zip((kind, "cross"), norms[:-1], strict=False):
                site = self.sites[site, number]
                bias = None
                if site.kind != "cross":
                    if getattr(site.module, "has_relative_attention_bias", False):
                        position = site.module.compute_bias(len(x), len(x))[0]  # the later layers use it, too
                    bias = position
                given = _normed(norm, x) if first else x
                to = memory if site.kind == "cross" else None
                blocks.append(_Block(x, norm, first, _Attention(site, given, to, bias, self.gates, self.injected)))
                x = blocks[-1].out
            given = _normed(norms[-1], x) if first else x
            blocks.append(_Block(x, norms[-1], first, _FeedForward(*feed, given)))
            x = blocks[-1].out
        return blocks, x

    def _last_norm(self, kind):
        stack = getattr(self.model.base_model, kind)
        return getattr(stack, "final_layer_norm", getattr(stack, "layer_norm", None))

    def explain(self, t: int) -> Heads:
        found, top, one = {}, int(self.logits[t].argmax()), slice(t, t + 1)
        R_t = self.logits.new_tensor([[1.0]])
        R_t = _linear(self.hidden[one], self.words[top : top + 1], self.words_bias[top : top + 1], R_t)
        # the scale of T5's decoder output is a constant factor, through which relevance passes unchanged
        if self.project is not None:
            R_t = _linear(self.normed[one], *_map(self.project), R_t)
        R = torch.zeros_like(self.normed)
        R[t] = R_t[0]
        R_memory = self._down(self.target, self.target_end, R, found)
        if self.memory is not None:
            self._down(self.source, self.source_end, R_memory, found)
        return found

    def _down(self, blocks, end, R, found):
        """From the output of a stack down; the memory's relevance."""
        x, norm = end
        if norm is not None:
            R = _norm(norm, x, R)
        memory = 0.0
        for block in reversed(blocks):
            R, R_memory = block.back(R, found)
            memory = memory if R_memory is None else memory + R_memory
        return memory


def _map(*modules) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of linear layers with the same input, as one map to the outputs of all."""
    weights = torch.cat([module.weight for module in modules])
    biases = [weights.new_zeros(len(module.weight)) if module.bias is None else module.bias for module in modules]
    return weights, torch.cat(biases)


def _statistics(norm, token) -> tuple[Tensor, Tensor, Tensor, bool]:
    """Gain, bias and 1 / standard deviation at one token (or at each of many), and whether the norm subtracts the mean."""
    centred = not hasattr(norm, "variance_epsilon")  # T5's does not
    if centred:
        inverse = (token.var(-1, unbiased=False, keepdim=True) + norm.eps).rsqrt()
    else:
        # T5 forms this in float32 whatever the model's type
        inverse = torch.rsqrt(token.float().pow(2).mean(-1, keepdim=True) + norm.variance_epsilon).to(token)
    gain = token.new_ones(token.shape[-1]) if norm.weight is None else norm.weight
    bias = getattr(norm, "bias", None)
    return gain, token.new_zeros(token.shape[-1]) if bias is None else bias, inverse, centred


def _normed(norm, x):
    if norm is None:
        return x
    gain, bias, inverse, centred = _statistics(norm, x)
    return gain * (x - x.mean(-1, keepdim=True) if centred else x) * inverse + bias


def _jacobian(norm, token) -> tuple[Tensor, Tensor]:
    """The norm at one token as a matrix [output, input] and a bias."""
    gain, bias, inverse, centred = _statistics(norm, token)
    scaled = (token - token.mean() if centred else token) * inverse
    inside = torch.eye(len(token)).to(token) - torch.outer(scaled, scaled) / len(token)
    return gain[:, None] * inverse * (inside - 1 / len(token) if centred else inside), bias


def _ratios(z):
    """What part of an output's relevance each input gets; z is [..., output, input]."""
    positive, negative = z.clamp(min=0), z.clamp(max=0)
    return 0.5 * positive / (positive.sum(-1, keepdim=True) + EPS) + 0.5 * negative / (negative.sum(-1, keepdim=True) - EPS)


def _rescale(R, *parts):
    """The parts, multiplied by one number that gives them together the L1 norm of R."""
    factor = R.abs().sum() / (sum(part.abs().sum() for part in parts) + EPS)
    return tuple(part * factor for part in parts)


def _linear(x, weight, bias, R, alive=None):
    """`alive` says which inputs count."""
    return _tokens(x, [(weight, bias)] * len(x), R, alive)


def _norm(norm, x, R):
    return _tokens(x, [_jacobian(norm, token) for token in x], R)


def _tokens(x, maps, R, alive=None):
    """One linear map for each token."""
    alive = torch.ones(x.shape[1], dtype=torch.bool) if alive is None else alive
    found = torch.zeros_like(x)
    for number, (weight, bias) in enumerate(maps):
        z = (weight * x[number] + bias[:, None] / max(int(alive.sum()), 1)) * alive
        (found[number],) = _rescale(R[number], R[number] @ _ratios(z))
    return _rescale(R, found)[0]


def _add(a, b, R):
    """The generic rule for each element, whose two inputs are the addends."""
    found = R[..., None] * _ratios(torch.stack([a, b], -1))
    tokens = [_rescale(R[number], found[number, :, 0], found[number, :, 1]) for number in range(len(R))]
    return tuple(torch.stack(part) for part in zip(*tokens, strict=True))


def _core(head: _Head, R):
    """One rule over q, k and v of all positions; a head with given weights has no slope in q and k."""
    inputs = head.q, head.k, head.v
    slopes = jacobian(head.run, inputs, vectorize=True)
    z = torch.cat([(slope * x).flatten(2) for slope, x in zip(slopes, inputs, strict=True)], -1).flatten(0, 1)
    parts = (R.flatten() @ _ratios(z)).split([x.numel() for x in inputs])
    return _rescale(R, *(part.view_as(x) for part, x in zip(parts, inputs, strict=True)))


def _balance(parts, R):
    """The two outputs of a decoder block: here the public code divides without eps."""
    return tuple(part * (R.sum() / sum(part.sum() for part in parts)) for part in parts)
