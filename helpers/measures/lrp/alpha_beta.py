"""The rule `alpha_beta` of the authors' public code: relevance of all heads for all targets at once, exactly.

Under teacher forcing the share that input i of a token has in output j does not depend on the target that is explained, so
it is computed once for all of them, and relevance goes down by one matrix product a token. Everything is laid out token
first: relevance is [tokens, targets, d]. The rule (alpha = beta = 1/2), for an output j whose inputs i add up in z_ji:

    T_ji = 1/2 max(z_ji, 0) / (sum_i max(z_ji, 0) + eps) + 1/2 min(z_ji, 0) / (sum_i min(z_ji, 0) - eps),  R_i = sum_j R_j T_ji

after which the inputs' relevance is rescaled to the sum of the outputs'. All relevance is >= 0.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from helpers.heads import Site, compat
from helpers.measures.lrp.layout import Block, Found, Layout, Norm, Stack, Tape, layout, play

EPS = 1e-5
CELLS = 1 << 19  # shares computed at a time: both signs of them stay in the cache


def _coefficients(positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """What sums of positive and of negative z are divided by, with the rule's halves."""
    return 0.5 / (positive + EPS), 0.5 / (negative - EPS)


def _through(shares: Tensor, relevance: Tensor) -> Tensor:
    """Relevance [N, C, o] of N tokens' outputs to their inputs [N, C, i], given z as [N, 2, o, i]: overwrites z.

    z stands in `shares[:, 0]`.
    """
    torch.clamp_max(shares[:, 0], 0, out=shares[:, 1])
    shares[:, 0].clamp_min_(0)
    positive, negative = _coefficients(*shares.sum(-1).unbind(1))
    weighed = torch.cat([relevance * positive.unsqueeze(1), relevance * negative.unsqueeze(1)], -1)
    return weighed.matmul(shares.flatten(1, 2))


class _PerToken:
    """A map of every token's numbers on its own, a few tokens at a time."""

    inputs: int
    outputs: int

    def impacts(self, tokens: slice, out: Tensor) -> None:
        """Write z [tokens, outputs, inputs]."""
        raise NotImplementedError

    def down(self, relevance: Tensor) -> Tensor:
        """Relevance [N, C, outputs] of the outputs to that of the inputs, rescaled for each token."""
        size, step = len(relevance), max(1, CELLS // max(1, self.inputs * self.outputs))
        shares = relevance.new_empty(min(step, size), 2, self.outputs, self.inputs)
        total = relevance.new_empty(size, relevance.shape[1], self.inputs)
        for first in range(0, size, step):
            tokens = slice(first, min(first + step, size))
            part = shares[: tokens.stop - first]
            self.impacts(tokens, part[:, 0])
            total[tokens] = _through(part, relevance[tokens])
        return total * (relevance.sum(-1, keepdim=True) / (total.sum(-1, keepdim=True) + EPS))


class Linear(_PerToken):
    """z_ji = W_ji x_i + b_j / N at tokens x [N, i]; inputs that are `absent` (heads gated to 0) are none of the N."""

    def __init__(self, weight: Tensor, bias: Tensor | None, x: Tensor, present: Tensor | None = None) -> None:
        self.weight, self.x = weight, x
        self.outputs, self.inputs = weight.shape
        self.present = present
        number = self.inputs if present is None else present.sum(-1).clamp_min(1)[:, None, None]  # [N, 1, 1]
        self.bias = None if bias is None else bias[:, None] / number  # [o, 1] or [N, o, 1]

    def impacts(self, tokens: slice, out: Tensor) -> None:
        x = self.x[tokens].unsqueeze(1)
        if self.bias is None:
            torch.mul(self.weight, x, out=out)
        elif self.present is None:
            torch.addcmul(self.bias, self.weight, x, out=out)
        else:
            torch.addcmul(self.bias[tokens], self.weight, x, out=out)
            out *= self.present[tokens].unsqueeze(1)


class _Row(_PerToken):
    """The output layer, of which only the row of the explained token carries relevance: z_i = W_top,i x_i + b_top / N."""

    def __init__(self, rows: Tensor, bias: Tensor, x: Tensor) -> None:
        self.rows, self.bias, self.x = rows, bias / rows.shape[-1], x
        self.outputs, self.inputs = 1, rows.shape[-1]

    def impacts(self, tokens: slice, out: Tensor) -> None:
        torch.addcmul(self.bias[tokens, None, None], self.rows[tokens].unsqueeze(1), self.x[tokens].unsqueeze(1), out=out)


class _Norm(_PerToken):
    """z_ji = J_ji x_i + beta_j / N with the full Jacobian of a norm: gamma_j / std (delta_ji - 1 / d - xhat_j xhat_i / d)."""

    def __init__(self, norm: Norm, x: Tensor) -> None:
        self.inputs = self.outputs = x.shape[-1]
        centred, inverse = norm.statistics(x)
        self.x, self.unit = x, centred * inverse
        self.gain = norm.weight * inverse  # [N, d]
        self.centred = norm.centred
        bias = getattr(norm.module, "bias", None)
        self.bias = None if bias is None else bias[:, None] / self.inputs

    def impacts(self, tokens: slice, out: Tensor) -> None:
        x, unit, gain = self.x[tokens], self.unit[tokens], self.gain[tokens]
        torch.mul((unit * (-gain / self.inputs)).unsqueeze(2), (unit * x).unsqueeze(1), out=out)
        if self.centred:
            out -= (gain / self.inputs).unsqueeze(2) * x.unsqueeze(1)
        out.diagonal(dim1=1, dim2=2).add_(gain * x)
        if self.bias is not None:
            out += self.bias


def joint(q: Tensor, k: Tensor, v: Tensor, weights: Tensor, constant: Tensor, relevance: Tensor) -> list[Tensor]:
    """One rule over queries, keys and values of a head at once, from the Jacobian of softmax(q k) v.

    Of output (s, d): from v[j, d] comes A[s, j] v[j, d]; from k[j, e] comes a[s, j, d] q[s, e] k[j, e] with
    a = A[s, j] (v[j, d] - o[s, d]); from q[s, e] the sum of that over j. Positive and negative parts of the products
    factorise, so that no array has four indices. Of G heads (sentences times heads) q, scaled, [G, n, e], k [G, m, e],
    v [G, m, d] and weights [G, n, m]; those of `constant` heads [G] do not come from q and k: all goes to v. From relevance
    [G, n, C, d] of C targets to that of q, k and v, not rescaled: [G, n, C, e], [G, m, C, e], [G, m, C, d].
    """
    slopes = weights.unsqueeze(-1) * (v.unsqueeze(1) - weights.matmul(v).unsqueeze(2))  # a [G, n, m, d]
    slopes = slopes.masked_fill(constant[:, None, None, None], 0)
    up, down = slopes.clamp_min(0), slopes.clamp_max(0)
    query = slopes.transpose(2, 3).flatten(1, 2).matmul(k).unflatten(1, (q.shape[1], -1)) * q.unsqueeze(2)  # [G, n, d, e]
    q_plus, q_minus, k_plus, k_minus = q.clamp_min(0), q.clamp_max(0), k.clamp_min(0), k.clamp_max(0)
    # sums over e of the positive and the negative part of q[s, e] k[j, e]
    plus = q_plus.matmul(k_plus.mT) + q_minus.matmul(k_minus.mT)
    minus = q_plus.matmul(k_minus.mT) + q_minus.matmul(k_plus.mT)
    sums = torch.stack([plus, minus], 2)  # [G, n, 2, m]
    from_up, from_down = sums.matmul(up), sums.matmul(down)  # [G, n, 2, d]
    w_plus, w_minus = weights.clamp_min(0), weights.clamp_max(0)  # injected ones may be below 0
    v_plus, v_minus = v.clamp_min(0), v.clamp_max(0)
    positive = w_plus.matmul(v_plus) + w_minus.matmul(v_minus)
    negative = w_plus.matmul(v_minus) + w_minus.matmul(v_plus)
    positive = positive + query.clamp_min(0).sum(-1) + from_up[:, :, 0] + from_down[:, :, 1]
    negative = negative + query.clamp_max(0).sum(-1) + from_up[:, :, 1] + from_down[:, :, 0]
    positive, negative = _coefficients(positive, negative)
    r_plus, r_minus = relevance * positive.unsqueeze(2), relevance * negative.unsqueeze(2)  # [G, n, C, d]
    both = torch.cat([r_plus, r_minus], -1)
    r_query = both.matmul(torch.cat([query.clamp_min(0), query.clamp_max(0)], 2))

    def met(shares: Tensor, rows: Tensor) -> Tensor:
        """Shares [G, n, C, m] and rows [G, n, e] summed over queries: [G, m, C, e]."""
        return shares.flatten(2).mT.matmul(rows).unflatten(1, shares.shape[2:]).transpose(1, 2)

    def read(shares: Tensor, rows: Tensor) -> Tensor:
        """Shares [G, n, m] and rows [G, n, C, d] summed over queries: [G, m, C, d]."""
        return shares.mT.matmul(rows.flatten(2)).unflatten(2, rows.shape[2:])

    # what stands before the positive and the negative part of q k: [G, n, C, m]
    u_plus, u_minus = both.matmul(torch.cat([up, down], -1).mT), both.matmul(torch.cat([down, up], -1).mT)
    r_key = k_plus.unsqueeze(2) * (met(u_plus, q_plus) + met(u_minus, q_minus))
    r_key += k_minus.unsqueeze(2) * (met(u_plus, q_minus) + met(u_minus, q_plus))
    r_value = v_plus.unsqueeze(2) * (read(w_plus, r_plus) + read(w_minus, r_minus))
    r_value += v_minus.unsqueeze(2) * (read(w_plus, r_minus) + read(w_minus, r_plus))
    return [r_query, r_key, r_value]


# --- a batch -----------------------------------------------------------------------------------------------------------


class _Places:
    """The positions that relevance [B, n, C, .] of C targets stands at: `carries`, bool [B, n], is no padding."""

    def __init__(self, carries: Tensor) -> None:
        self.carries, self.index = carries, carries.flatten().nonzero()[:, 0]

    def tokens(self, values: Tensor) -> Tensor:
        """Values [B, n, ...] at these positions, without padding: [N, ...]."""
        return values.flatten(0, 1)[self.index]

    def spread(self, tokens: Tensor) -> Tensor:
        """Tokens [N, C, i] back to their positions [B, n, C, i]."""
        whole = tokens.new_zeros(self.carries.numel(), *tokens.shape[1:])
        return whole.index_copy_(0, self.index, tokens).unflatten(0, self.carries.shape)

    def down(self, part: _PerToken, relevance: Tensor) -> Tensor:
        """Through a map of every token, rescaled for each token and then for each target."""
        total = self.spread(part.down(self.tokens(relevance)))
        return total * (_mass(relevance) / (_mass(total) + EPS))

    def split(self, relevance: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
        """Of a residual sum to its addends [B, n, d], element by element, rescaled for each token."""
        a, b = self.tokens(a), self.tokens(b)
        positive, negative = _coefficients(a.clamp_min(0) + b.clamp_min(0), a.clamp_max(0) + b.clamp_max(0))
        shares = [(t.clamp_min(0) * positive + t.clamp_max(0) * negative).unsqueeze(1) for t in (a, b)]
        gathered = self.tokens(relevance)
        parts = [gathered * share for share in shares]
        factor = gathered.sum(-1, keepdim=True) / (sum(part.sum(-1, keepdim=True) for part in parts) + EPS)
        return [self.spread(part * factor) for part in parts]


def _mass(relevance: Tensor) -> Tensor:
    """The sum for each target, [B, 1, C, 1]."""
    return relevance.sum((1, 3), keepdim=True)


class AlphaBeta:
    """The rule on one model; where ``encoder`` is none of the kinds nothing goes below the encoder's output."""

    def __init__(self, model, kinds: tuple[str, ...]) -> None:
        self.model, self.kinds, self.plan = model, kinds, layout(model)

    def numbers(self, targets: int, source: int) -> tuple[float, float]:
        """Numbers that one sentence of these lengths needs, about: once, and for each target explained at a time."""
        once, each, joint = 2 * targets * self.plan.head.out_features, 0, 0
        for stack, length in ((self.plan.encoder, source), (self.plan.decoder, targets)):
            for block in stack.blocks if stack else ():
                width, inside = block.out.out_features, block.out.in_features
                if site := block.site:
                    keys = source if site.kind == "cross" else length
                    once += length * 14 * width + 4 * site.heads * length * keys
                    each = max(each, (length + keys) * 8 * width + 3 * site.heads * length * keys)
                    joint = max(joint, 12 * length * keys * site.head_dim)  # of one head
                else:
                    once += length * (4 * width + 5 * inside)
                    each = max(each, length * (4 * width + 2 * inside))
        return once + joint, each

    def explain(self, fed: dict[str, Tensor], live: Tensor, carries: dict[str, Tensor], size: float) -> Found:
        """Relevance of all heads for the live targets [B, n] of a batch: {(kind, layer): [B, n, heads]}.

        `carries` are positions of the encoder and the decoder that can have relevance, bool [B, n]. Targets are explained in
        chunks so that no more than `size` numbers are held.
        """
        bias, plain = compat.logits_bias(self.model), self.plan.head.bias
        bias = self.plan.head.weight.new_zeros(self.plan.head.out_features) if bias is None else bias
        tape = play(self.model, self.plan, fed)
        replay = _Replay(self.plan, tape, "encoder" in self.kinds, bias if plain is None else bias + plain, carries)
        once, each = self.numbers(live.shape[1], fed["input_ids"].shape[1])
        targets, step = int(live.any(0).nonzero().max()) + 1, max(1, int((size / len(live) - once) / each))
        chunks = [replay.chunk(first, min(first + step, targets)) for first in range(0, targets, step)]
        found: Found = {}
        for place in chunks[0]:
            values = torch.cat([chunk[place] for chunk in chunks], 1)
            found[place] = values.new_zeros(live.shape + values.shape[2:])
            found[place][:, :targets] = values
        return found


class _Replay:
    """What one forward pass over a batch computed, and the way down; `bias` [vocabulary] is that of the logits."""

    def __init__(self, plan: Layout, tape: Tape, encoder: bool, bias: Tensor, carries: dict[str, Tensor]) -> None:
        self.plan, self.tape, self.bias = plan, tape, bias
        self.encoder = plan.encoder if encoder else None
        self.places = {side: _Places(where) for side, where in carries.items()}

    def chunk(self, first: int, last: int) -> Found:
        """Head relevance of targets first to last - 1: {(kind, layer): [B, targets, heads]}."""
        plan, tape, places = self.plan, self.tape, self.places["decoder"]
        heads: Found = {}
        tops, at = places.tokens(tape.top), torch.arange(last - first, device=tape.top.device)
        relevance = plan.head.weight.new_zeros(*tape.top.shape, last - first, 1)
        relevance[:, first + at, at] = 1.0  # each target at its own position
        output = _Row(plan.head.weight[tops], self.bias[tops], places.tokens(tape.given[plan.head]))
        relevance = places.down(output, relevance)
        if plan.project is not None:
            relevance = self._linear(places, relevance, plan.project)
        memory = self._stack(plan.decoder, places, relevance, heads)
        if self.encoder is not None and memory is not None:
            self._stack(self.encoder, self.places["encoder"], memory, heads)
        return heads

    def _stack(self, stack: Stack, places: _Places, relevance: Tensor, heads: Found) -> Tensor | None:
        """From the top of the encoder or decoder to its lowest heads; what goes to the encoder's output."""
        memory, tape = None, self.tape
        if stack.final:
            relevance = self._norm(places, relevance, stack.final)
        for block in reversed(stack.blocks):
            mass, below = _mass(relevance), None
            if not stack.pre_norm:
                relevance = self._norm(places, relevance, block.norm)
            stream = tape.given[block.norm.module] if stack.pre_norm else tape.given[block.inner[0]]
            rest, relevance = places.split(relevance, stream, tape.made[block.out])
            if block.site is None:
                relevance = self._linear(places, relevance, block.out)
                relevance = self._linear(places, relevance, block.inner[0])
            else:
                relevance = self._to_heads(block, block.site, places, relevance)
                heads[block.site.kind, block.site.layer] = relevance.sum((1, 4))
                if block is stack.blocks[0]:
                    break
                relevance, below = self._below_heads(block, block.site, places, relevance)
            if stack.pre_norm:
                relevance = self._norm(places, relevance, block.norm)
            relevance = relevance + rest
            if below is not None:
                # the block's two outputs together carry what entered it
                total = _mass(relevance) + _mass(below)
                factor = mass / total.clamp_min(torch.finfo(total.dtype).tiny)
                relevance, below = relevance * factor, below * factor
                memory = below if memory is None else memory + below
        return memory

    def _to_heads(self, block: Block, site: Site, places: _Places, relevance: Tensor) -> Tensor:
        """From the output of an attention block to its heads: [B, n, C, heads, head_dim]."""
        gates, present = self.tape.gates[site.kind, site.layer], None
        if gates is not None:
            open_heads = (gates != 0).repeat_interleave(site.head_dim, -1)[:, None]  # [B or 1, 1, heads * head_dim]
            present = open_heads.expand_as(self.tape.given[block.out]).to(relevance)
        relevance = self._linear(places, relevance, block.out, present=present)
        return relevance.unflatten(-1, (site.heads, site.head_dim))

    def _below_heads(self, block: Block, site: Site, places: _Places, by_head: Tensor) -> tuple[Tensor, Tensor | None]:
        """From the heads of an attention block to its input, and of cross-attention to the encoder's output."""
        query, key, value = self._joint(block, site, places, by_head)
        if site.kind != "cross":
            return self._linear(places, torch.cat([query, key, value], -1), *block.inner), None
        below = self._linear(self.places["encoder"], torch.cat([key, value], -1), *block.inner[1:])
        return self._linear(places, query, block.inner[0]), below

    def _joint(self, block: Block, site: Site, places: _Places, relevance: Tensor) -> list[Tensor]:
        """The joint rule for all heads; rescaled for each head, then for all of them: [B, n or m, C, heads * head_dim] each."""
        batch, queries, targets = relevance.shape[:3]
        weights = self.tape.weights[site.kind, site.layer]
        weights = weights.masked_fill(~places.carries[:, None, :, None], 0).flatten(0, 1)  # those of padding may be nan
        keys = weights.shape[-1]
        if not site.heads:  # removed for good
            return [relevance.new_zeros(batch, size, targets, 0) for size in (queries, keys, keys)]
        q, k, v = (part.flatten(0, 1) for part in self.tape.heads(block, site))
        given = (q * site.module.scaling, k, v, weights, self.tape.constant(site))  # type: ignore[operator]
        r = relevance.permute(0, 3, 1, 2, 4).flatten(0, 1)  # [B * heads, n, C, head_dim]
        step = max(1, 8 * CELLS // max(1, queries * keys * site.head_dim))
        pieces = [joint(*(part[i : i + step] for part in (*given, r))) for i in range(0, len(r), step)]
        parts = [torch.cat(part) for part in zip(*pieces, strict=True)]
        wanted, total = r.sum((1, 3)), sum(part.sum((1, 3)) for part in parts)  # [B * heads, C]
        factor = wanted / (total + EPS)
        whole = (factor * total).unflatten(0, (batch, -1)).sum(1) + EPS  # [B, C]
        factor *= (wanted.unflatten(0, (batch, -1)).sum(1) / whole).repeat_interleave(site.heads, 0)
        scaled = [part * factor[:, None, :, None] for part in parts]
        return [part.unflatten(0, (batch, -1)).permute(0, 2, 3, 1, 4).flatten(-2) for part in scaled]

    def _linear(self, places: _Places, relevance: Tensor, *linears: nn.Linear, present: Tensor | None = None) -> Tensor:
        """Down a linear map, or several of one input as one."""
        weight = torch.cat([linear.weight for linear in linears]) if len(linears) > 1 else linears[0].weight
        bias = None if linears[0].bias is None else torch.cat([linear.bias for linear in linears])
        x = places.tokens(self.tape.given[linears[0]])
        return places.down(Linear(weight, bias, x, None if present is None else places.tokens(present)), relevance)

    def _norm(self, places: _Places, relevance: Tensor, norm: Norm) -> Tensor:
        return places.down(_Norm(norm, places.tokens(self.tape.given[norm.module])), relevance)
