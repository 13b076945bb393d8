"""Relevance by the rules `cp` and `attnlrp` in today's decoders, by definition: one sentence, unit by unit, no gradients.

Every step y = f(x) of the forward pass has a rule that hands the relevance of y to x. Norms without a mean and activations are
diagonal maps, which relevance passes unchanged; a linear map gives each input its part of the sum; rotary positions are one.
"""

import numpy as np
import torch

from tests.reference.importance import Sentence

Relevance = dict[tuple[str, int, int], float]


def explain(model, ids: list[int], rule: str, starts: np.ndarray | None = None) -> list[Relevance]:
    """Head relevance of the largest logit at every position but the last; of `starts` [position, word] where it is given.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Llama, Mistral, Qwen 2 or 3, Gemma 2 or 3 or Phi-3, in float64 with norms in float64.
    """
    passed = _Pass(model, ids)
    if starts is not None:
        return [passed.back(starts, rule)]
    found = []
    for t in range(len(ids) - 1):
        start, top = np.zeros_like(passed.logits), passed.logits[t].argmax()
        start[t, top] = passed.logits[t, top]
        found.append(passed.back(start, rule))
    return found


def patched(model, sentences: list[Sentence], rule: str) -> Relevance:
    """Minus the loss's slopes at the logits, times the logits, as relevance: nats a predicted token, over all sentences."""
    total, tokens = {}, 0
    for sentence in sentences:
        ids = sentence.inputs["input_ids"][0].tolist()
        logits = _Pass(model, ids).logits
        starts = np.zeros_like(logits)
        for t, word in sentence.predicts.items():
            slope = np.exp(logits[t] - logits[t].max())
            slope /= slope.sum()
            slope[word] -= 1
            starts[t] = -slope * logits[t]
        for address, value in explain(model, ids, rule, starts)[0].items():
            total[address] = total.get(address, 0.0) + value
        tokens += len(sentence.predicts)
    return {address: value / tokens for address, value in total.items()}


def _linear(x, weight, bias, R):
    """y_j = sum_i W_ji x_i + b_j: each input gets its part of every y_j, token by token and unit by unit."""
    found = np.zeros_like(x)
    for t in range(len(x)):
        for j in np.flatnonzero(R[t]):
            parts = weight[j] * x[t]
            found[t] += parts / (parts.sum() + bias[j]) * R[t, j]
    return found


def _numbers(tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


class _Map:
    """A linear map; of a fused one some rows."""

    def __init__(self, module, rows=slice(None)):
        self.weight = _numbers(module.weight)[rows]
        self.bias = np.zeros(len(self.weight)) if module.bias is None else _numbers(module.bias)[rows]

    def __call__(self, x):
        return x @ self.weight.T + self.bias

    def back(self, x, R):
        return _linear(x, self.weight, self.bias, R)


class _Norm:
    def __init__(self, module, gemma):
        self.gain = _numbers(module.weight) + (1.0 if gemma else 0.0)
        self.eps = module.eps if gemma else module.variance_epsilon

    def __call__(self, x):
        return self.gain * x / np.sqrt((x**2).mean(-1, keepdims=True) + self.eps)


class _Layer:
    """One layer and what it computed for a sentence."""

    def __init__(self, model, layer, x):
        config, self.width = model.config, layer.self_attn.head_dim
        gemma = config.model_type.startswith("gemma")
        attention, mlp = layer.self_attn, layer.mlp
        queries, keys = config.num_attention_heads, getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        self.share, self.scale, self.cap = queries // keys, attention.scaling, getattr(config, "attn_logit_softcapping", None)
        window = getattr(attention, "sliding_window", getattr(config, "sliding_window", None) or None)
        self.window = (window or len(x)) if config.model_type != "qwen2" else len(x)
        if hasattr(attention, "qkv_proj"):
            ends = np.cumsum([0, queries * self.width, keys * self.width, keys * self.width])
            self.q, self.k, self.v = (_Map(attention.qkv_proj, slice(*ends[i : i + 2])) for i in range(3))
            half = len(mlp.gate_up_proj.weight) // 2
            self.gate, self.up = _Map(mlp.gate_up_proj, slice(half)), _Map(mlp.gate_up_proj, slice(half, None))
        else:
            self.q, self.k, self.v = _Map(attention.q_proj), _Map(attention.k_proj), _Map(attention.v_proj)
            self.gate, self.up = _Map(mlp.gate_proj), _Map(mlp.up_proj)
        self.o, self.down = _Map(attention.o_proj), _Map(mlp.down_proj)
        act = getattr(mlp, "act_fn", None) or mlp.activation_fn
        self.rotation = _rotations(model, layer, len(x), self.width)
        same = lambda values: values  # noqa: E731
        norm = lambda name, at=layer: _Norm(getattr(at, name), gemma) if hasattr(at, name) else same  # noqa: E731
        after = norm("post_attention_layernorm") if gemma else same

        self.x, self.read = x, norm("input_layernorm")(x)
        heads, groups = range(queries), range(keys)
        cut = lambda values, i: values[:, i * self.width : (i + 1) * self.width]  # noqa: E731
        self.plain_q = [norm("q_norm", attention)(cut(self.q(self.read), h)) for h in heads]
        self.plain_k = [norm("k_norm", attention)(cut(self.k(self.read), g)) for g in groups]
        self.turned_q = [self.turn(values) for values in self.plain_q]
        self.turned_k = [self.turn(values) for values in self.plain_k]
        self.values = [cut(self.v(self.read), g) for g in groups]
        done = [self.attend(h) for h in heads]
        self.scores, self.weights = [one[0] for one in done], [one[1] for one in done]
        self.outs = [self.weights[h] @ self.values[h // self.share] for h in heads]
        self.mixed = np.concatenate(self.outs, 1)
        self.added = after(self.o(self.mixed))
        self.middle = x + self.added
        before = "pre_feedforward_layernorm" if gemma else "post_attention_layernorm"
        self.fed = norm(before)(self.middle)
        gated = _numbers(act(torch.tensor(self.gate(self.fed))))
        self.product = gated * self.up(self.fed)
        last = norm("post_feedforward_layernorm") if gemma else same
        self.grown = last(self.down(self.product))
        self.out = self.middle + self.grown

    def turn(self, values):
        return np.stack([matrix @ row for matrix, row in zip(self.rotation, values, strict=True)])

    def attend(self, h):
        """Scores (after a cap) and weights of a head, row by row."""
        size = len(self.x)
        scores, weights = np.zeros((size, size)), np.zeros((size, size))
        for t in range(size):
            seen = range(max(0, t - self.window + 1), t + 1)
            for j in seen:
                score = self.scale * self.turned_q[h][t] @ self.turned_k[h // self.share][j]
                scores[t, j] = self.cap * np.tanh(score / self.cap) if self.cap else score
            risen = np.exp(scores[t, seen] - scores[t, seen].max())
            weights[t, seen] = risen / risen.sum()
        return scores, weights

    def back(self, R, rule, number, found):
        """Relevance of what enters the layer; that of its heads goes into `found`."""
        R_grown, R = self.grown / self.out * R, self.middle / self.out * R
        R_product = self.down.back(self.product, R_grown)  # the norms around it pass it unchanged
        R_gate, R_up = (0.0 * R_product, R_product) if rule == "cp" else (R_product / 2, R_product / 2)
        R = R + self.gate.back(self.fed, R_gate) + self.up.back(self.fed, R_up)
        R_added, R = self.added / self.middle * R, self.x / self.middle * R
        R_mixed = self.o.back(self.mixed, R_added)
        R_q, R_k, R_v = ([np.zeros_like(one) for one in many] for many in (self.turned_q, self.turned_k, self.values))
        for h, out in enumerate(self.outs):
            g, R_h = h // self.share, R_mixed[:, h * self.width : (h + 1) * self.width]
            found["decoder", number, h] = float(R_h.sum())
            R_weights = np.zeros_like(self.weights[h])
            for t in range(len(out)):
                for j in range(t + 1):
                    parts = self.weights[h][t, j] * self.values[g][j] / out[t] * R_h[t]
                    R_v[g][j] += parts if rule == "cp" else parts / 2
                    R_weights[t, j] = parts.sum() / 2
            if rule == "attnlrp":
                R_scores = self.scores[h] * (R_weights - self.weights[h] * R_weights.sum(1, keepdims=True))
                for t in range(len(out)):
                    for j in np.flatnonzero(self.weights[h][t]):
                        parts = self.turned_q[h][t] * self.turned_k[g][j]
                        R_q[h][t] += parts / parts.sum() * R_scores[t, j] / 2
                        R_k[g][j] += parts / parts.sum() * R_scores[t, j] / 2
        R_q = [self.unturn(plain, one) for plain, one in zip(self.plain_q, R_q, strict=True)]
        R_k = [self.unturn(plain, one) for plain, one in zip(self.plain_k, R_k, strict=True)]
        for map_, parts in ((self.q, R_q), (self.k, R_k), (self.v, R_v)):
            R = R + map_.back(self.read, np.concatenate(parts, 1))
        return R

    def unturn(self, plain, R):
        none = np.zeros(self.width)
        rows = [_linear(plain[t : t + 1], self.rotation[t], none, R[t : t + 1])[0] for t in range(len(plain))]
        return np.stack(rows)


def _rotations(model, layer, length, width) -> np.ndarray:
    """The rotation of each position as a matrix [position, width, width], from the model's own sines and cosines."""
    rotary, places = model.model.rotary_emb, torch.arange(length)[None]
    more = {"layer_type": layer.self_attn.layer_type} if model.config.model_type == "gemma3_text" else {}
    cos, sin = (_numbers(part[0]) for part in rotary(torch.zeros(1, dtype=torch.float64), places, **more))
    found, half = np.zeros((length, width, width)), width // 2
    for t in range(length):
        for i in range(width):
            found[t, i, i] = cos[t, i]
            found[t, i, (i + half) % width] = -sin[t, i] if i < half else sin[t, i]
    return found


class _Pass:
    """The forward pass of one sentence, remembered layer by layer."""

    def __init__(self, model, ids):
        ids = torch.tensor([ids])
        x, self.layers = _numbers(model.model.embed_tokens(ids)[0]), []
        for layer in model.model.layers:
            self.layers.append(_Layer(model, layer, x))
            x = self.layers[-1].out
        self.hidden, self.words = _Norm(model.model.norm, model.config.model_type.startswith("gemma"))(x), _Map(model.lm_head)
        self.logits, cap = self.words(self.hidden), getattr(model.config, "final_logit_softcapping", None)
        if cap:
            self.logits = cap * np.tanh(self.logits / cap)
        with torch.no_grad():
            own = _numbers(model(input_ids=ids, use_cache=False).logits[0])
        limit = 1e-4 if model.config.model_type == "gemma2" else 1e-10  # eager attention has its softmax in single precision
        assert np.abs(own - self.logits).max() < limit, "another forward pass"

    def back(self, R, rule) -> Relevance:
        found: Relevance = {}
        R = self.words.back(self.hidden, R)
        for number in reversed(range(len(self.layers))):
            R = self.layers[number].back(R, rule, number, found)
        return found
