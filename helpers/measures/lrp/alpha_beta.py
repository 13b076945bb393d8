"""The rule `alpha_beta` of the authors' public code: relevance of all heads for all targets at once, exactly.

Under teacher forcing the share that input i of a token has in output j does not depend on the target that is explained, so
it is computed once for all of them, and relevance goes down by one matrix product a token. Everything is laid out token
first: relevance is [tokens, targets, d]. The rule (alpha = beta = 1/2), for an output j whose inputs i add up in z_ji:

    T_ji = 1/2 max(z_ji, 0) / (sum_i max(z_ji, 0) + eps) + 1/2 min(z_ji, 0) / (sum_i min(z_ji, 0) - eps),  R_i = sum_j R_j T_ji

after which the inputs' relevance is rescaled to the sum of the outputs'. All relevance is >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from helpers.heads import compat
from helpers.measures.lrp.layout import Attention, FeedForward, Found, Layout, Norm, Stack, Tape
from helpers.study import StudyError

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


class _Linear(_PerToken):
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


def joint(q: Tensor, k: Tensor, v: Tensor, weights: Tensor, constant: Tensor, relevance: Tensor, *, own: bool) -> list[Tensor]:
    """One rule over queries, keys and values of a head at once, from the Jacobian of softmax(q k) v.

    Of output (s, d): from v[j, d] comes A[s, j] v[j, d]; from k[j, e] comes a[s, j, d] q[s, e] k[j, e] with
    a = A[s, j] (v[j, d] - o[s, d]); from q[s, e] the sum of that over j. Positive and negative parts of the products
    factorise, so that no array has four indices.

    Parameters
    ----------
    q, k, v : tensors [G, n, e], [G, m, e], [G, m, d]
        Of G heads, sentences times heads; q scaled.
    weights : tensor [G, n, m]
    constant : bool tensor [G]
        Heads whose weights do not come from q and k: all goes to v.
    relevance : tensor [G, n, C, d]
        C targets, or with `own` one target a query (C = 1).

    Returns
    -------
    list of tensors [G, n, C, e], [G, m, C, e], [G, m, C, d]
        Of q, k and v, not rescaled; with `own` k and v have n targets.
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
    w = (weights.clamp_min(0), weights.clamp_max(0)) if (weights < 0).any() else (weights, None)  # injected ones may be < 0
    v_plus, v_minus = v.clamp_min(0), v.clamp_max(0)
    value = [w[0].matmul(v_plus), w[0].matmul(v_minus)]
    if w[1] is not None:
        value = [value[0] + w[1].matmul(v_minus), value[1] + w[1].matmul(v_plus)]
    positive = value[0] + query.clamp_min(0).sum(-1) + from_up[:, :, 0] + from_down[:, :, 1]
    negative = value[1] + query.clamp_max(0).sum(-1) + from_up[:, :, 1] + from_down[:, :, 0]
    positive, negative = _coefficients(positive, negative)
    r_plus, r_minus = relevance * positive.unsqueeze(2), relevance * negative.unsqueeze(2)  # [G, n, C, d]
    both = torch.cat([r_plus, r_minus], -1)
    r_query = both.matmul(torch.cat([query.clamp_min(0), query.clamp_max(0)], 2))

    def met(shares: Tensor, rows: Tensor) -> Tensor:
        """Shares [G, n, C, m] and rows [G, n, e] summed over queries, with `own` not: [G, m, C or n, e]."""
        if own:
            return shares.squeeze(2).mT.unsqueeze(-1) * rows.unsqueeze(1)
        return shares.flatten(2).mT.matmul(rows).unflatten(1, shares.shape[2:]).transpose(1, 2)

    # what stands before the positive and the negative part of q k: [G, n, C, m]
    u_plus, u_minus = both.matmul(torch.cat([up, down], -1).mT), both.matmul(torch.cat([down, up], -1).mT)
    r_key = k_plus.unsqueeze(2) * (met(u_plus, q_plus) + met(u_minus, q_minus))
    r_key += k_minus.unsqueeze(2) * (met(u_plus, q_minus) + met(u_minus, q_plus))
    if own:
        values = [[part.squeeze(2).unsqueeze(1) * t.mT.unsqueeze(-1) for t in w if t is not None] for part in (r_plus, r_minus)]
    else:
        values = [
            [t.mT.matmul(part.flatten(2)).unflatten(2, part.shape[2:]) for t in w if t is not None]
            for part in (r_plus, r_minus)
        ]
    (p0, *p1), (n0, *n1) = values
    r_value = v_plus.unsqueeze(2) * (p0 + n1[0] if n1 else p0) + v_minus.unsqueeze(2) * (n0 + p1[0] if p1 else n0)
    return [r_query, r_key, r_value]


# --- a batch -----------------------------------------------------------------------------------------------------------


@dataclass
class _Places:
    """The positions that relevance [B, n, C, .] stands at: C targets everywhere, or (`own`) each position its own target."""

    carries: Tensor  # bool [B, n], no padding
    rows: slice
    own: bool = False

    def __post_init__(self) -> None:
        self.index = self.carries[:, self.rows].flatten().nonzero()[:, 0]

    def tokens(self, values: Tensor) -> Tensor:
        """Values [B, all positions, ...] at these positions, without padding: [N, ...]."""
        return values[:, self.rows].flatten(0, 1)[self.index]

    def mass(self, relevance: Tensor) -> Tensor:
        """Sum over what belongs to one target, with the summed dimensions kept."""
        return relevance.sum(3 if self.own else (1, 3), keepdim=True)

    def gather(self, relevance: Tensor) -> Tensor:
        return relevance.flatten(0, 1)[self.index]

    def spread(self, tokens: Tensor, like: Tensor) -> Tensor:
        """Tokens [N, C, i] back to their positions [B, n, C, i]."""
        whole = like.new_zeros(like.shape[0] * like.shape[1], *tokens.shape[1:])
        return whole.index_copy_(0, self.index, tokens).unflatten(0, like.shape[:2])

    def down(self, part: _PerToken, relevance: Tensor) -> Tensor:
        """Through a map of every token, rescaled for each token and then for each target."""
        total = self.spread(part.down(self.gather(relevance)), relevance)
        return total * (self.mass(relevance) / (self.mass(total) + EPS))

    def split(self, relevance: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
        """Of a residual sum to its addends [B, all positions, d], element by element, rescaled for each token."""
        a, b = self.tokens(a), self.tokens(b)
        positive, negative = _coefficients(a.clamp_min(0) + b.clamp_min(0), a.clamp_max(0) + b.clamp_max(0))
        shares = [(t.clamp_min(0) * positive + t.clamp_max(0) * negative).unsqueeze(1) for t in (a, b)]
        gathered = self.gather(relevance)
        parts = [gathered * share for share in shares]
        factor = gathered.sum(-1, keepdim=True) / (sum(part.sum(-1, keepdim=True) for part in parts) + EPS)
        return [self.spread(part * factor, relevance) for part in parts]

    def everywhere(self, relevance: Tensor, keys: int) -> Tensor:
        """Relevance of targets at their own positions [B, n, 1, d] as [B, keys, n, d]."""
        batch, targets, _, size = relevance.shape
        whole, at = relevance.new_zeros(batch, keys, targets, size), torch.arange(targets, device=relevance.device)
        whole[:, self.rows.start + at, at] = relevance[:, :, 0]
        return whole


class Replay:
    """All targets of one batch.

    Parameters
    ----------
    plan : Layout
    tape : Tape
        One forward pass.
    kinds : collection of str
        Kinds of attention that are asked for; without ``encoder`` nothing goes below the encoder's output.
    bias : tensor [vocabulary]
        Of the logits.
    carries : dict of side -> bool tensor [B, n]
        Positions of the encoder and the decoder that can have relevance.
    full : bool
        Go on to the bottom of both stacks and say what arrives there.
    """

    def __init__(
        self, plan: Layout, tape: Tape, kinds: tuple[str, ...], bias: Tensor, carries: dict[str, Tensor], full: bool = False
    ) -> None:
        self.plan, self.tape, self.bias, self.carries, self.full = plan, tape, bias, carries, full
        self.encoder = plan.encoder if "encoder" in kinds else None
        for stack in (plan.encoder, plan.decoder):
            for block in stack.blocks if stack else ():
                if isinstance(block, FeedForward) and len(block.inner) > 1:
                    raise StudyError("The rule alpha_beta has no rule for gated feed-forward blocks: choose attnlrp or cp.")

    def chunk(self, first: int, last: int) -> Found:
        """Head relevance of targets first to last - 1: {(kind, layer): [B, targets, heads]}.

        With `full` also "target" and "source": what arrives at the first layers' inputs [B, targets].
        """
        plan, tape = self.plan, self.tape
        heads: Found = {}
        places = _Places(self.carries["decoder"], slice(first, last), own=True)
        tops = places.tokens(tape.top)
        relevance = plan.head.weight.new_ones(len(tape.top), last - first, 1, 1)
        output = _Row(plan.head.weight[tops], self.bias[tops], places.tokens(tape.given[plan.head]))
        relevance = places.down(output, relevance)
        if plan.project is not None:
            relevance = self._linear(places, relevance, plan.project)
        places, relevance, memory = self._stack(plan.decoder, places, relevance, heads)
        if self.full:
            heads["target"] = relevance.sum((1, 3))
        if self.encoder is not None and memory is not None:
            places, relevance = _Places(self.carries["encoder"], slice(memory.shape[1])), memory
            _, relevance, _ = self._stack(self.encoder, places, relevance, heads)
            if self.full:
                heads["source"] = relevance.sum((1, 3))
        return heads

    def _stack(self, stack: Stack, places: _Places, relevance: Tensor, heads: Found) -> tuple[_Places, Tensor, Tensor | None]:
        """From the top of the encoder or decoder to its bottom; the last is what goes to the encoder's output."""
        memory, tape = None, self.tape
        if stack.final:
            relevance = self._norm(places, relevance, stack.final)
        for block in reversed(stack.blocks):
            entered, mass = places, places.mass(relevance)
            if not stack.pre_norm:
                relevance = self._norm(places, relevance, block.norm)
            stream = tape.given[block.norm.module] if stack.pre_norm else tape.given[block.inner[0]]
            rest, relevance = places.split(relevance, stream, tape.made[block.out])
            below = None
            if isinstance(block, FeedForward):
                relevance = self._linear(places, relevance, block.out)
                relevance = self._linear(places, relevance, block.inner[0])
            else:
                last = block is stack.blocks[0] and not self.full
                places, relevance, below = self._attention(block, places, relevance, heads, last)
                if last:
                    break
            if stack.pre_norm:
                relevance = self._norm(places, relevance, block.norm)
            if entered.own and not places.own:
                rest = entered.everywhere(rest, relevance.shape[1])
            relevance = relevance + rest
            if below is not None:
                # the block's two outputs together carry what entered it
                total = places.mass(relevance).flatten(1) + below.sum((1, 3))
                factor = mass.flatten(1) / total.clamp_min(torch.finfo(total.dtype).tiny)
                relevance = relevance * factor.view(mass.shape)
                below = below * factor[:, None, :, None]
                memory = below if memory is None else memory + below
        return places, relevance, memory

    def _attention(
        self, block: Attention, places: _Places, relevance: Tensor, found: Found, last: bool
    ) -> tuple[_Places, Tensor, Tensor | None]:
        """From the output of an attention block to its input, with `last` to its heads only; to the encoder's output too."""
        site, tape = block.site, self.tape
        where, cross = (site.kind, site.layer), site.kind == "cross"
        gates, present = tape.gates[where], None
        if gates is not None:
            open_heads = (gates != 0).repeat_interleave(site.head_dim, -1)[:, None]  # [B or 1, 1, heads * head_dim]
            present = open_heads.expand_as(tape.given[block.out]).to(relevance)
        relevance = self._linear(places, relevance, block.out, present=present)
        by_head = relevance.unflatten(-1, (site.heads, site.head_dim))  # [B, n, C, heads, head_dim]
        found[where] = by_head.sum(-1)[:, :, 0] if places.own else by_head.sum((1, 4))
        if last:
            return places, relevance, None
        keys = tape.weights[where].shape[-1] if cross else places.rows.stop
        query, key, value = self._joint(block, places, by_head, keys)
        if cross:
            memory = _Places(self.carries["encoder"], slice(keys))
            below = self._linear(memory, torch.cat([key, value], -1), *block.inner[1:])
            return places, self._linear(places, query, block.inner[0]), below
        if places.own:
            query, places = places.everywhere(query, keys), _Places(places.carries, slice(keys))
        joined = torch.cat([query, key, value], -1)
        return places, self._linear(places, joined, *block.inner), None

    def _joint(self, block: Attention, places: _Places, relevance: Tensor, keys: int) -> list[Tensor]:
        """The joint rule for all heads; rescaled for each head, then for all of them: [B, n or m, C, heads * head_dim] each."""
        site, own, tape = block.site, places.own, self.tape
        batch, targets = len(relevance), relevance.shape[1 if own else 2]
        if not site.heads:  # removed for good
            return [relevance.new_zeros(batch, *size, 0) for size in (relevance.shape[1:3], *2 * [(keys, targets)])]
        q, k, v = (part.flatten(0, 1) for part in tape.heads(block))
        q, k, v = q[:, places.rows] * compat.scaling(site.module), k[:, :keys], v[:, :keys]
        weights = tape.weights[site.kind, site.layer][:, :, places.rows, :keys].flatten(0, 1)
        constant = tape.constant(site)
        r = relevance.permute(0, 3, 1, 2, 4).flatten(0, 1)  # [B * heads, n, C, head_dim]
        step = max(1, 8 * CELLS // max(1, weights.shape[1] * keys * site.head_dim))
        slices = [slice(i, i + step) for i in range(0, len(r), step)]
        pieces = [joint(*(t[some] for t in (q, k, v, weights, constant, r)), own=own) for some in slices]
        parts = [torch.cat(part) for part in zip(*pieces, strict=True)]
        sums = [part.sum((1, 3)) for part in parts]  # [B * heads, targets]
        if own:
            sums[0] = parts[0].sum((2, 3))
        wanted = r.sum((2, 3) if own else (1, 3))
        total = sum(sums)
        factor = wanted / (total + EPS)
        whole = (factor * total).unflatten(0, (batch, -1)).sum(1) + EPS  # [B, targets]
        factor *= (wanted.unflatten(0, (batch, -1)).sum(1) / whole).repeat_interleave(site.heads, 0)
        spread = [
            factor.view(-1, targets, 1, 1) if own else factor.view(-1, 1, targets, 1),
            *2 * [factor.view(-1, 1, targets, 1)],
        ]
        scaled = [part * scale for part, scale in zip(parts, spread, strict=True)]
        return [part.unflatten(0, (batch, -1)).permute(0, 2, 3, 1, 4).flatten(-2) for part in scaled]

    def _linear(self, places: _Places, relevance: Tensor, *linears: nn.Linear, present: Tensor | None = None) -> Tensor:
        """Down a linear map, or several of one input as one."""
        weight = torch.cat([linear.weight for linear in linears]) if len(linears) > 1 else linears[0].weight
        biases = [linear.bias for linear in linears]
        if any(bias is not None for bias in biases):
            bias = torch.cat(
                [linear.weight.new_zeros(linear.out_features) if linear.bias is None else linear.bias for linear in linears]
            )
        else:
            bias = None
        x = places.tokens(self.tape.given[linears[0]])
        return places.down(_Linear(weight, bias, x, None if present is None else places.tokens(present)), relevance)

    def _norm(self, places: _Places, relevance: Tensor, norm: Norm) -> Tensor:
        return places.down(_Norm(norm, places.tokens(self.tape.given[norm.module])), relevance)
