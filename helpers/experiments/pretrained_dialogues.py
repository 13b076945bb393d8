"""A pretrained model as a summarizer of dialogues: coreference links in its idle heads (part f, Liu & Chen 2023).

SmolLM2 reads a dialogue of SAMSum and continues it with a summary. Trained on SAMSum once, it is trained further with links in
one head of every layer, or without. Links come from rules, look back (`previous_link`), and are of the dialogue alone: words of
the summary, as all words without links, look at the first token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pad_sequence

from helpers import gpu, heads, study, training
from helpers.corpora import clusters, resolvers, sources, turns
from helpers.corpora.files import numbered_lines
from helpers.corpora.tokens import Subwords
from helpers.experiments.pretrained_measured import Settings, Spec, part, read, recipe
from helpers.experiments.pretrained_removed import PLAN, training_loss
from helpers.experiments.pretrained_text import pretrained
from helpers.measures import worth
from helpers.measures.removal import Address
from helpers.methods import coreference
from helpers.methods.coreference.matrices import Links, Sparse, sparse, tokens_of
from helpers.records import Cluster, Dialogue
from helpers.runs import training as translators
from helpers.runs.passages import Batch
from helpers.scores import intervals, scoring

ENDING = "\nSummary:"
ROWS, RATE, FURTHER_RATE = 8, 1e-4, 5e-5  # examples of a step, and learning rates
FIRST, RULE, SHUFFLED, STORED, RESTING = "no links", "rule", "shuffled", "SpanBERT", "first token"
LINKS_OF = "samsum_coref/samsum_coref_val_test.tar.xz:data/SAMsum_data/test.source"
ARMS = [("none", FIRST), ("lowest", RULE), ("lowest", SHUFFLED), ("random", RULE), ("highest", RULE)]  # heads, links
ANEW = [("lowest", RULE), ("lowest", RESTING), ("none", FIRST)]  # in three more seeds, of a summarizer trained anew
METRICS = ("ROUGE-1", "ROUGE-2", "ROUGE-L")


# --- dialogues -------------------------------------------------------------------------------------------------------


class Example(NamedTuple):
    """A dialogue in a model's tokens, its summary, and its place in the file."""

    dialogue: Dialogue
    prompt: list[int]
    summary: list[int]
    words: list[int]
    place: int


@cache
def dialogues(split: str) -> list[Dialogue]:
    """Dialogues of SAMSum in the order of the file ("train", "val" or "test")."""
    rows = [json.loads(line) for _, line in numbered_lines(sources.root() / "samsum" / f"{split}.jsonl.xz")]
    return [turns.from_text(row["dialogue"], " ".join(row["summary"].split()), f"samsum {split}") for row in rows]


@cache
def examples(name: str, split: str, count: int, longest: int) -> list[Example]:
    """The first dialogues that have, with their summary, at most so many tokens; too few of them are refused."""
    tokenizer = pretrained(name)[1]
    subwords, found = Subwords(tokenizer), []
    ending = tokenizer(ENDING, add_special_tokens=False)["input_ids"]
    for place, dialogue in enumerate(dialogues(split)):
        ids = subwords.encode(dialogue.source)
        prompt = [tokenizer.bos_token_id, *ids, *ending]
        summary = [*subwords.encode(" " + dialogue.target), tokenizer.eos_token_id]
        if dialogue.turns and len(prompt) + len(summary) <= longest:
            words = [-1, *subwords.word_ids(dialogue.source, dialogue.words), *[-1] * len(ending)]
            found.append(Example(dialogue, prompt, summary, words, place))
        if len(found) == count:
            return found
    raise study.StudyError(f"SAMSum ({split}) has {len(found)} dialogues of at most {longest} tokens, not {count}.")


def batches(rows: Sequence[Example], device: torch.device) -> list[Batch]:
    """Examples as batches; only tokens of summaries have labels."""
    made = []
    for first in range(0, len(rows), ROWS):
        ids = [torch.tensor(row.prompt + row.summary) for row in rows[first : first + ROWS]]
        labels = [torch.tensor([-100] * len(row.prompt) + row.summary) for row in rows[first : first + ROWS]]
        batch = {"input_ids": pad_sequence(ids, True, 0), "labels": pad_sequence(labels, True, -100)}
        batch["attention_mask"] = pad_sequence([torch.ones_like(row) for row in ids], True, 0)
        made.append({name: value.to(device) for name, value in batch.items()})
    return made


# --- links -----------------------------------------------------------------------------------------------------------


def links_of(rows: Sequence[Example], by: str) -> list[Sparse]:
    """The links of each dialogue; "shuffled" ones join the same mentions at random, of "first token" there are none.

    The last says whether links help, or their heads are missed. Rule, written before a number was seen: links help if the loss
    with the resolver's is lower, paired within each training, by a t interval over three; the heads are missed if the loss
    without links is above that without injection.
    """
    if by == RESTING:
        return [_sparse(row, ()) for row in rows]
    if by == STORED:
        every = resolvers.resolver(f"stored:{LINKS_OF}")(dialogues("test"))
        return [_sparse(row, every[row.place]) for row in rows]
    found = resolvers.resolver(RULE)([row.dialogue for row in rows])
    found = clusters.shuffled(found, 0) if by == SHUFFLED else found
    return [_sparse(row, one) for row, one in zip(rows, found, strict=True)]


def _sparse(row: Example, of: Sequence[Cluster]) -> Sparse:
    tokens = tokens_of(of, row.words)
    return sparse(tokens, len(row.prompt) + len(row.summary), "previous")


def known(*parts: tuple[Sequence[Example], Sequence[Sparse]]) -> Links:
    """Links that a model finds by the tokens that it reads."""
    links = Links()
    for rows, matrices in parts:
        for row, matrix in zip(rows, matrices, strict=True):
            links.add(row.prompt + row.summary, matrix)
    return links


@contextmanager
def writing(model: Any, addresses: Sequence[Address], links: Sequence[Sparse], starts: Sequence[int]) -> Iterator[None]:
    """Links of dialogues in heads while summaries are written: the prompts stand at the right, from `starts` on."""
    made: dict[int, torch.Tensor] = {}

    def matrix(site: Any, queries: int, keys: int, batch: int) -> torch.Tensor:
        if keys not in made:
            made.clear()
            made[keys] = torch.eye(keys).repeat(batch, 1, 1)
            for row, one, start in zip(made[keys], links, starts, strict=True):
                row[start:] = 0.0
                row[start:, start] = 1.0
                inside = one.rows + start < keys
                row[one.rows[inside] + start, start] = 0.0
                row[one.rows[inside] + start, one.columns[inside] + start] = torch.tensor(one.values[inside], dtype=row.dtype)
        return made[keys].to(model.device)

    with heads.inject(model, dict.fromkeys(addresses, matrix)) if addresses else nullcontext():
        yield


def written(
    model: Any, rows: Sequence[Example], addresses: Sequence[Address], links: Sequence[Sparse], end: int
) -> list[list[int]]:
    """Tokens that a model writes after each prompt, greedily, with links in some heads, until the token `end`."""
    order = sorted(range(len(rows)), key=lambda place: len(rows[place].prompt))
    found, most = [[0]] * len(rows), max(len(row.summary) for row in rows)
    for first in study.progress(range(0, len(rows), ROWS), "summaries"):
        places = order[first : first + ROWS]
        prompts = [torch.tensor(rows[place].prompt) for place in places]
        ids = pad_sequence(prompts, True, end, padding_side="left").to(model.device)
        starts = [ids.shape[1] - len(prompt) for prompt in prompts]
        mask = torch.arange(ids.shape[1]) >= torch.tensor(starts)[:, None]
        fed = {"input_ids": ids, "attention_mask": mask.long().to(ids.device)}
        with writing(model, addresses, [links[place] for place in places], starts):
            out = model.generate(**fed, max_new_tokens=most, do_sample=False, eos_token_id=end, pad_token_id=end)
        for place, row in zip(places, out[:, ids.shape[1] :].tolist(), strict=True):
            found[place] = row[: row.index(end)] if end in row else row
    return found


# --- trainings -------------------------------------------------------------------------------------------------------


def text_spec(settings: Settings) -> dict[str, Any]:
    """What a summarizer is trained and scored on, for specs."""
    chosen = settings["pretrained"]
    names = ("trained_dialogues", "further_dialogues", "test_dialogues", "longest")
    return {"corpus": "samsum", "model": chosen["decoder"]} | {name: chosen[name] for name in names}


def fitted(model: Any, rows: Sequence[Example], spec: Spec, rate: float, seed: int, label: str) -> pd.DataFrame:
    """Train all weights on dialogues, once each; the last weights stay."""
    text = batches(rows, model.device)
    order = torch.randperm(len(text), generator=torch.Generator().manual_seed(seed)).tolist()
    plan = PLAN | {"steps": len(text), "learning_rate": rate, "evaluate_every": len(text)}
    held_out = batches(examples(spec["model"], "val", 2 * ROWS, spec["longest"]), model.device)
    return training.fit(model, lambda epoch: [text[place] for place in order], held_out, plan, None, seed, training_loss, label)


def _build(spec: Spec, place: study.Place) -> None:
    model = pretrained(spec["model"])[0].requires_grad_(True)
    rows = examples(spec["model"], "train", spec["trained_dialogues"], spec["longest"])
    history = fitted(model, rows, spec, RATE, 0, "summarizer of dialogues")
    history.to_csv(place.results / "history.csv", index=False)
    translators.keep(model, place)
    pretrained.cache_clear()  # whose weights have learnt


SUMMARIZER = study.Kind("pretrained-summarizer", 1, _build)


def summarizer(spec: Spec) -> study.Recipe:
    """The recipe of the summarizer that a spec is about."""
    own = {name: spec[name] for name in ("corpus", "model", "trained_dialogues", "longest")}
    return SUMMARIZER.of(own, "pretrained models: summarizer of dialogues")


def needs(spec: Spec) -> list[study.Need]:
    """A part reads the summarizer's weights."""
    return [study.Need(summarizer(spec), True)]


def opened(spec: Spec) -> Any:
    """The summarizer, whose weights do not learn yet."""
    return heads.load(summarizer(spec).weights).float().requires_grad_(False).to(gpu.device())


@part(version=1, needs=needs)
def idle_heads(spec: Spec) -> pd.Series:
    """Gradient importance of the summarizer's heads on dialogues of the validation set, means over them."""
    model = opened(spec)
    rows = examples(spec["model"], "val", spec["test_dialogues"], spec["longest"])
    return worth.slopes(model, batches(rows, model.device)).abs().mean()


def importance_of(spec: Spec) -> study.Recipe:
    """The recipe of the importance by which heads of a spec are chosen."""
    return recipe("idle_heads", {name: value for name, value in spec.items() if name not in ("part", "heads", "links", "seed")})


@part(version=1, needs=lambda spec: [*needs(spec), importance_of(spec)])
def injected(spec: Spec) -> dict[str, Any]:
    """Losses and ROUGE on test dialogues after further training with links in one head a layer, or without.

    The losses are of summary tokens.
    """
    model, tokenizer = opened(spec).requires_grad_(True), pretrained(spec["model"])[1]
    every = examples(spec["model"], "train", spec["trained_dialogues"] + spec["further_dialogues"], spec["longest"])
    rows, seed = every[spec["trained_dialogues"] :], spec["seed"]
    test = examples(spec["model"], "test", spec["test_dialogues"], spec["longest"])
    val = examples(spec["model"], "val", 2 * ROWS, spec["longest"])
    order, by = ("lowest", RULE) if spec["heads"] == "none" else (spec["heads"], spec["links"])
    chosen = [] if spec["heads"] == "none" else coreference.choose(read(importance_of(spec)), 1, order, draw=seed)
    links = [links_of(part, by) for part in (rows, test, val)]
    context = (
        coreference.injected(model, chosen, known(*zip((rows, test, val), links, strict=True))) if chosen else nullcontext()
    )
    with context:
        fitted(model, rows, spec, FURTHER_RATE, seed, f"links: {spec['heads']}, {spec['links']}, seed {seed}")
        with gpu.in_bfloat16(model.device):
            loss, tokens = worth.losses_of_examples(model.eval(), batches(test, model.device))
    found = {"heads": chosen, "losses": (loss / tokens).tolist()}
    ways = {"rouge": links[1]}
    if (spec["heads"], spec["links"]) == ("lowest", RULE):
        ways["rouge, stored links"] = links_of(test, STORED)
    for name, way in ways.items():
        with gpu.in_bfloat16(model.device):
            ids = written(model, test, chosen, way, tokenizer.eos_token_id)
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        found[name] = scoring.rouge_statistics(texts, [row.dialogue.target for row in test]).tolist()
    return found


@part(version=1)
def without_model(spec: Spec) -> dict[str, Any]:
    """ROUGE of the first three turns and of the longest turn, as summaries of the test dialogues."""
    rows = examples(spec["model"], "test", spec["test_dialogues"], spec["longest"])
    spoken = [[" ".join(row.dialogue.words[first + 1 : stop]) for first, _, stop in row.dialogue.turns] for row in rows]
    ways = {"first three turns": [" ".join(one[:3]) for one in spoken], "longest turn": [max(one, key=len) for one in spoken]}
    targets = [row.dialogue.target for row in rows]
    return {name: scoring.rouge_statistics(texts, targets).tolist() for name, texts in ways.items()}


def dialogue_recipes(settings: Settings) -> list[study.Recipe]:
    """Recipes of the trainings with links, seed by seed, and of what needs none."""
    seeds = range(1, settings["pretrained"]["link_seeds"] + 1)
    return [recipe("without_model", text_spec(settings)), *(_arm(settings, arm, seed) for seed in seeds for arm in ARMS)]


def resting_recipes(settings: Settings) -> list[study.Recipe]:
    """Recipes of three more trainings with the resolver's links, with links of nobody, and without injection."""
    first = settings["pretrained"]["link_seeds"] + 1
    return [_arm(settings, arm, seed) for arm in ANEW for seed in range(first, first + 3)]


def _arm(settings: Settings, arm: tuple[str, str], seed: int) -> study.Recipe:
    return recipe("injected", text_spec(settings) | dict(zip(("heads", "links"), arm, strict=True)), seed=seed)


def linked(settings: Settings) -> pd.DataFrame:
    """Summaries of SAMSum with links in one head of every layer of a pretrained summarizer.

    Columns heads (none, lowest: of least importance, random, highest), links, seed; loss (nats a token of the summary);
    ROUGE-1, -2, -L. Rows without a seed need no model.
    """
    first, *made = dialogue_recipes(settings)
    rows: list[dict[str, Any]] = [{"heads": name, "links": FIRST, **_means(value)} for name, value in read(first).items()]
    return pd.DataFrame(rows + _rows(made))


def _rows(made: Sequence[study.Recipe]) -> list[dict[str, Any]]:
    rows = []
    for one in made:
        value, labels = read(one), {name: one.spec[name] for name in ("heads", "links", "seed")}
        rows.append(labels | {"loss": float(np.mean(value["losses"]))} | _means(value["rouge"]))
        if "rouge, stored links" in value:
            rows.append(labels | {"links": STORED} | _means(value["rouge, stored links"]))
    return rows


def _means(rouge: Sequence[Sequence[float]]) -> dict[str, float]:
    return dict(zip(METRICS, np.mean(rouge, axis=0), strict=True))


def link_gains(settings: Settings) -> pd.DataFrame:
    """What links gain: differences of arms, paired by seed, with t intervals over seeds.

    Columns heads, links, minus_heads, minus_links, metric (loss or ROUGE-1, -2, -L), change, low, high, seeds.
    """
    return _gains(linked(settings).dropna(subset=["seed"]), [(ARMS[1], other) for other in ARMS if other != ARMS[1]])


def nobody_gains(settings: Settings) -> pd.DataFrame:
    """The same of the resolver's links against links of nobody, and of these against no injection, in three more seeds."""
    return _gains(pd.DataFrame(_rows(resting_recipes(settings))), [ANEW[:2], ANEW[1:]])


def _gains(table: pd.DataFrame, pairs: Sequence[Sequence[tuple[str, str]]]) -> pd.DataFrame:
    rows = []
    for one, other in pairs:
        sides = [table[(table["heads"] == part[0]) & (table.links == part[1])].set_index("seed") for part in (one, other)]
        for metric in ("loss", *METRICS):
            gaps = (sides[0][metric] - sides[1][metric]).to_numpy()
            value, low, high, _ = intervals.over_runs(gaps)
            rows.append(
                dict(zip(("heads", "links", "minus_heads", "minus_links"), (*one, *other), strict=True))
                | {"metric": metric, "change": value, "low": low, "high": high, "seeds": len(gaps)}
            )
    return pd.DataFrame(rows)
