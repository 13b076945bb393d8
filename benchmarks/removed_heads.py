"""What removed heads save on a Marian model: parameters, operations and time, beside gates of 0, from one interleaved run.

Every repeat runs the full, the masked (gates of 0) and the removed models once, in random order, and each ratio is taken
within a repeat, so that a slow spell of the machine hits all of them. Nothing is timed before removed and masked models
gave equal outputs. A speed-up is claimed up to the FLOP ceiling only, operations of the full over those of the removed
model: what is measured beyond is caches, threads and noise. Operations are those of matrix products, two a multiply-add:
linear layers and both products of attention, by torch's FlopCounterMode. Softmax, norms, activations, embeddings, the KV
cache and the Python around them are not counted. Inputs have no padding.
"""

from __future__ import annotations

import copy
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import pandas as pd
import torch
import transformers

from benchmarks import common
from helpers.heads import KINDS, gate, index, remove, sites
from helpers.models import flops, parameters

SETTINGS = {  # seconds: for one case at most, after its first 4 repeats
    "tiny": {"shape": {"layers": 2, "width": 32, "heads": 4, "feed_forward": 64, "vocabulary": 100}, "batches": (1,),
             "lengths": (8,), "new_tokens": 4, "repeats": 4, "seconds": 0.5},
    "laptop": {"shape": {"layers": 3, "width": 128, "heads": 8, "feed_forward": 512, "vocabulary": 1000}, "batches": (1, 8, 64),
               "lengths": (16, 64), "new_tokens": 8, "repeats": 15, "seconds": 2.0},
    "base": {"shape": {"layers": 6, "width": 512, "heads": 8, "feed_forward": 2048, "vocabulary": 8000}, "batches": (1, 8, 64),
             "lengths": (16, 64), "new_tokens": 16, "repeats": 31, "seconds": 2.5},
}  # fmt: skip
LONG = 128  # one more length of an encoder pass, of the largest models
TOLERANCE = 1e-4  # between removed and masked outputs, in single precision


def marian(shape: dict[str, int]) -> transformers.MarianMTModel:
    """A Marian model of this shape with random weights, in evaluation mode."""
    side = {"layers": shape["layers"], "attention_heads": shape["heads"], "ffn_dim": shape["feed_forward"]}
    config = transformers.MarianConfig(
        vocab_size=shape["vocabulary"],
        d_model=shape["width"],
        **{f"{part}_{what}": number for part in ("encoder", "decoder") for what, number in side.items()},
        max_position_embeddings=256,
        init_std=0.02 * (512 / shape["width"]) ** 0.5,  # narrow models would else hardly heed their heads
        pad_token_id=0,
        eos_token_id=1,
        forced_eos_token_id=None,
        decoder_start_token_id=0,
    )
    return transformers.MarianMTModel(config).eval()


# -------------------- which heads go


def closed_heads(model, total: dict[str, int], bare: dict[str, int]) -> list[tuple]:
    """All heads but `total` of each kind, which are spread evenly over its layers, except those of a `bare` layer."""
    chance, stay = random.Random(0), set()
    for kind, number in total.items():
        places = [site for site in sites(model, kind) if site.layer != bare.get(kind)]
        shares = [places[n * len(places) // number].layer for n in range(number)]
        for site in places:
            stay |= {(kind, site.layer, head) for head in chance.sample(range(site.heads), shares.count(site.layer))}
    return [head for head in index(model) if head[0] in total and head not in stay]


def head_maps(model) -> dict[str, list[tuple]]:
    """Name -> heads that go: 10 of 48 stay in the encoder, as in Voita et al. 2019, section 6.2.1; a third everywhere."""
    layers, heads = model.config.encoder_layers, len(index(model, "encoder"))
    bare = {"encoder": layers - 1, "decoder": 0, "cross": 1}
    return {
        "encoder": closed_heads(model, {"encoder": round(heads * 10 / 48)}, {}),
        "all kinds": closed_heads(model, dict.fromkeys(KINDS, heads // 3), bare),
    }


# -------------------- what is timed: functions that prepare a call, and give it and what undoes it


def encoder_pass(model, source, new_tokens) -> tuple[Callable, Callable]:
    """The encoder over the source."""
    return lambda: model.get_encoder()(input_ids=source).last_hidden_state, lambda: None


def decoder_step(model, source, new_tokens) -> tuple[Callable, Callable]:
    """One more token after as many as the source has, from the KV cache."""
    encoded = model.get_encoder()(input_ids=source)
    cache = model(encoder_outputs=encoded, decoder_input_ids=source, use_cache=True).past_key_values
    step = {"encoder_outputs": encoded, "decoder_input_ids": source[:, -1:], "past_key_values": cache}
    return lambda: model(**step, use_cache=True).logits, lambda: cache.self_attention_cache.crop(-1)


def generation(model, source, new_tokens) -> tuple[Callable, Callable]:
    """Encoder and greedy search for a fixed number of new tokens, with the KV cache."""
    options = {"min_new_tokens": new_tokens, "max_new_tokens": new_tokens, "do_sample": False, "num_beams": 1}
    mask = torch.ones_like(source)
    return lambda: model.generate(input_ids=source, attention_mask=mask, **options), lambda: None


CALLS = {"encoder pass": encoder_pass, "decoder step": decoder_step, "generation": generation}


def tokens(batch: int, length: int, vocabulary: int) -> torch.Tensor:
    """Sentences without padding, [batch, length]."""
    return torch.randint(2, vocabulary, (batch, length), generator=torch.Generator().manual_seed(0))


def check(models, maps, calls, setting) -> float:
    """The largest difference between what calls give from removed and from masked models.

    Raises
    ------
    SystemExit
        If one is larger than `TOLERANCE`, or these heads do not matter.
    """
    apart = 0.0
    for call, length in calls:
        source = tokens(4, length, setting["vocabulary"])
        found = {name: CALLS[call](model, source, setting["new_tokens"])[0]() for name, model in models.items()}
        for name in maps:
            removed, masked = found[f"removed, {name}"], found[f"masked, {name}"]
            apart = max(apart, common.held(f"{call}, {name}", float((removed - masked).abs().max()), TOLERANCE))
            if call != "generation" and torch.allclose(masked, found["full"], atol=10 * TOLERANCE, rtol=0):
                raise SystemExit(f"{call}, {name}: outputs without these heads are those of the full model.")
    return apart


def measure_case(models, prepare, source, new_tokens, repeats, seconds, shuffle) -> dict[str, list[float]]:
    """Seconds of one call, {model: one number a repeat}: at least 4 repeats, then more while there is time."""
    calls = {name: prepare(model, source, new_tokens) for name, model in models.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    begin = time.perf_counter()
    while len(times["full"]) < 4 or (len(times["full"]) <= repeats and time.perf_counter() - begin < seconds):
        for name in shuffle.sample(list(calls), len(calls)):
            run, undo = calls[name]
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
            undo()
    warm = slice(len(times["full"]) > 4, None)  # the first repeat warms up, but is not spared where calls are long
    return {name: numbers[warm] for name, numbers in times.items()}


def measure(setting: dict) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Sizes of the models, one row per call, batch, length and map of heads, and what the gate found."""
    torch.manual_seed(0)
    full = marian(setting["shape"])
    maps = head_maps(full)
    models = {"full": full}
    with ExitStack() as stack, torch.no_grad():
        for name, heads in maps.items():
            models[f"masked, {name}"] = masked = copy.deepcopy(full)
            stack.enter_context(gate(masked, dict.fromkeys(heads, 0.0)))
            models[f"removed, {name}"] = remove(copy.deepcopy(full), heads)
        cases = [(c, b, n) for c, lengths in setting["lengths"].items() for n in lengths for b in setting["batches"]]
        apart = check(models, maps, sorted({(call, length) for call, _, length in cases}), setting)
        rows, shuffle = [], random.Random(0)
        for call, batch, length in shuffle.sample(cases, len(cases)):
            source, new = tokens(batch, length, setting["vocabulary"]), setting["new_tokens"]
            # operations are as many for each sentence of a batch
            counts = {
                n: batch * flops(models[n], CALLS[call](models[n], source[:1], new)[0]) for n in models if "masked" not in n
            }
            times = measure_case(models, CALLS[call], source, new, setting["repeats"], setting["seconds"], shuffle)
            for name in maps:
                low, middle, high = common.quartiles(times["full"], times[f"removed, {name}"])
                ceiling = counts["full"] / counts[f"removed, {name}"]
                rows.append(
                    {
                        "call": call,
                        "length": length,
                        "batch": batch,
                        "map": name,
                        "full_seconds": statistics.median(times["full"]),
                        "full_gflop": counts["full"] / 1e9,
                        "removed_gflop": counts[f"removed, {name}"] / 1e9,
                        "masked_speed_up": common.quartiles(times["full"], times[f"masked, {name}"]),
                        "speed_up": middle,
                        "q1": low,
                        "q3": high,
                        "ceiling": ceiling,
                        "beyond_ceiling": low > ceiling,
                        "claim": min(middle, ceiling),
                        "repeats": len(times["full"]),
                    }
                )
    table = pd.DataFrame(rows)
    order = table.assign(call=table["call"].map(list(CALLS).index)).sort_values(["call", "length", "batch"], kind="stable")
    return sizes(models), table.loc[order.index].reset_index(drop=True), apart


def sizes(models) -> pd.DataFrame:
    """Heads by kind and parameters of each model, with and without embeddings (positions too)."""
    rows = []
    for name, model in models.items():
        if name.startswith("masked"):
            continue
        rows.append(
            {
                "model": name,
                "heads": "/".join(str(len(index(model, kind))) for kind in KINDS),
                "parameters": sum(p.numel() for p in model.parameters()),
                "without_embeddings": parameters(model),
            }
        )
    return pd.DataFrame(rows)


def rows_of(group: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows that are kept: speed-ups by gates of 0 and by removal, and the ceiling of FLOPs."""
    found = []
    for row in table.itertuples():
        place = f"{group}; {row.call}, length {row.length}, batch {row.batch}"
        removed, masked = (row.q1, row.speed_up, row.q3), row.masked_speed_up
        for form, (low, middle, high) in {"removed": removed, "masked": masked, "ceiling": (row.ceiling,) * 3}.items():
            named = (
                "speed over that of the full model"
                if form != "ceiling"
                else "FLOPs of the full model over those of the removed"
            )
            values = (f"{row.map}, {form}", place, "speed-up", middle, low, high, row.repeats, named)
            found.append(dict(zip(common.COLUMNS, values, strict=True)))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "removed_heads", arguments)
    options.device = "cpu"  # whatever is asked
    setting = dict(SETTINGS[options.size])
    setting |= {"vocabulary": setting["shape"]["vocabulary"], "lengths": dict.fromkeys(CALLS, setting["lengths"])}
    if options.size == "base":
        setting["lengths"]["encoder pass"] += (LONG,)
    setting["repeats"] = options.repeats or setting["repeats"]
    shape = setting["shape"]
    said = {
        "model": "Marian {layers}+{layers} layers, width {width}, {heads} heads, feed-forward {feed_forward}, vocabulary"
        " {vocabulary}, random weights".format(**shape),
        "calls": f"source of `length` tokens; a decoder step after as many; generation of {setting['new_tokens']} tokens",
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()} CPU, load {os.getloadavg()[0]:.1f} before",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    begin = time.perf_counter()
    sized, table, apart = measure(setting)
    print("removed and masked outputs are equal; ratios to the full model, median and quartiles within repeats\n")
    print("\n".join(f"{name:<13}{value}" for name, value in said.items()), end="\n\n")
    print(f"{'model':<22}{'heads e/d/c':>12}{'parameters':>13}{'w/o embeddings':>16}")
    for row in sized.itertuples():
        print(f"{row.model:<22}{row.heads:>12}{row.parameters:>13,}{row.without_embeddings:>16,}")
    head = f"{'call':<14}{'length':>6}{'batch':>6}  {'map':<10}{'full':>10}{'GFLOP full > removed':>22}{'full/masked':>22}"
    print(f"\n{head}{'full/removed':>22}{'ceiling':>9}{'beyond':>8}{'claim':>7}{'n':>4}")
    for row in table.itertuples():
        low, middle, high = row.masked_speed_up
        print(
            f"{row.call:<14}{row.length:>6}{row.batch:>6}  {row.map:<10}{row.full_seconds * 1000:7.1f} ms"
            f"{f'{row.full_gflop:.3g} > {row.removed_gflop:.3g}':>22}"
            f"{f'{middle:.2f} [{low:.2f}, {high:.2f}]':>22}{f'{row.speed_up:.2f} [{row.q1:.2f}, {row.q3:.2f}]':>22}"
            f"{row.ceiling:9.2f}{'yes' if row.beyond_ceiling else 'no':>8}{row.claim:7.2f}{row.repeats:4}"
        )
    print(f"\n{int(table.beyond_ceiling.sum())} of {len(table)} measured speed-ups are beyond their FLOP ceiling, with q1.")
    print(f"{time.perf_counter() - begin:.0f} s in all")
    group = "{layers}+{layers} layers, width {width}".format(**shape)
    frame = pd.DataFrame(rows_of(group, table), columns=common.COLUMNS)
    common.keep("removed_heads", frame, common.facts(options, int(frame.repeats.max()), apart, TOLERANCE))


if __name__ == "__main__":
    main()
