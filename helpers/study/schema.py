"""The schema of all settings: what each is, its unit, its default, and which values make sense.

Defaults are what profiles (`helpers.study.settings`) have in common. What is refused is told in one sentence each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

# --- kinds of values -------------------------------------------------------------------------------------------------

Count = Annotated[int, Field(ge=1)]
Amount = Annotated[int, Field(ge=0)]  # where a description says what 0 means
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Price = Annotated[float, Field(ge=0)]  # of an open gate (lambda)
Criterion = Literal[
    "random", "confidence", "relevance", "gradient, example", "gradient, token", "gradient, example, by layer",
    "gradient, token, by layer", "leave-one-out",
]  # fmt: skip
FeatureMap = Literal["V", "A", "O"]
GroupRows = Literal["peers", "ablations", "numbers", "strengths"]
Matrix = Literal["full", "adjacent", "previous"]
Span = Literal["first", "whole"]


class Block(BaseModel):
    """Settings that belong together; numbers keep their type, and a name that is not there is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


# --- the schema ------------------------------------------------------------------------------------------------------


class Model(Block):
    """Shape of a model that starts from random weights."""

    layers: Count = 3  # layers of the encoder, and of the decoder where decoder_layers does not say
    width: Count = 128  # numbers in a token's representation, split evenly over the heads
    heads: Count = 8  # heads of an attention of each layer
    feed_forward: Count = 512  # hidden units of each feed-forward layer
    dropout: Share = 0.1  # probability with which a hidden unit is dropped in training
    decoder_layers: Count | None = None  # layers of the decoder; as the encoder's if not set
    decoder_heads: Count | None = None  # heads of a decoder's attention; as the encoder's if not set
    start: Literal["usual"] | None = None  # of attention's outputs: random; if not set, zero in the encoder


class Sibling(Block):
    """A model beside the first one that differs from it in what is said here: depth, training, vocabulary."""

    name: str = Field(pattern="^[a-z0-9-]+$")  # what it differs in, words joined by hyphens: deep-decoder
    changes: str  # settings, NAME=VALUE separated by spaces; null leaves a setting open


class Training(Block):
    """Training of the translation models; what other trainings do not set themselves is as here."""

    steps: Count = 1000
    batch_tokens: Count = 2048  # tokens of a batch at most: source, target and padding
    learning_rate: Positive = 2e-3  # learning rate of Adam at its peak, the end of the warm-up
    warmup: Amount = 200  # steps over which the learning rate rises; 0 is as 1
    cooldown: Share = 0.0  # share of the steps, the last, over which the learning rate goes to zero
    betas: list[Share] = Field(default=[0.9, 0.98], min_length=2, max_length=2)  # decay of Adam's two moments, a step
    label_smoothing: Share = 0.1  # share of a target token's probability that is spread over all tokens
    clip: Weight = 1.0  # norm of the gradient at most; 0 for any
    evaluate_every: Count = 200  # steps between two measurements of the dev loss
    patience: Amount = 0  # dev losses without a better one after which training ends; 0 for never
    average: Amount = 0  # how many of the last evaluated weights are averaged; 0 keeps the best ones


class Pruning(Block):
    """Further training with gates or with heads gone (section 6 of Voita et al.): all runs of a model alike."""

    steps: Count = 250  # steps of further training
    learning_rate: Positive = 5e-4  # learning rate at its peak
    warmup: Amount = 50  # steps over which the learning rate rises; 0 is as 1
    cooldown: Share = 0.3  # share of the steps, the last, over which the learning rate goes to zero
    evaluate_every: Count = 50  # steps between two measurements of the dev loss
    dev: Count = 200  # dev sentences, the first, on which it is measured
    start: float = 2.0  # log alpha at which gates start: 2 is almost open
    gate_rate: Positive = 0.3  # learning rate of the gates at its peak
    temperature: Positive = 0.33  # temperature of the gates' Hard Concrete distribution
    # prices of an open gate (lambda, nats a token), encoder heads alone
    penalties: list[Price] = [0.001, 0.0025, 0.006, 0.015, 0.04]
    penalties_all: list[Price] = [0.003, 0.01, 0.03]  # the same, heads of all kinds
    compared: list[Price] = [0.015]  # prices at whose head counts heads are chosen in other ways too
    scratch: list[Price] = [0.01]  # prices whose head maps are trained from random weights too (Table 2)
    # other ways to choose heads, each followed by further training
    criteria: list[Criterion] = ["random", "confidence", "relevance", "gradient, example", "leave-one-out"]
    draws: Amount = 3  # random draws of heads; 0 for none
    variants: bool = True  # whether gates also start half-open, and with a temperature of 0.5
    beam: Count = 1  # beams in translating; 1 is greedy
    languages: Count = 1  # models of each register, the first, whose encoder heads are pruned
    all_kinds: Amount = 1  # models in all, the first, whose heads of all kinds are pruned; 0 for none (not in notebook 03)
    all_kinds_on: str = ""  # the sibling whose heads of all kinds are pruned in a model's place; empty: the model itself
    siblings: list[str] = []  # siblings of the first model whose encoder heads are pruned too
    rivals: Amount = 0  # models, the first, whose heads are also chosen in other ways and trained from scratch; 0 for all


class Task(Block):
    """A text and the training of a model on it."""

    text: str = ""  # name of the text: LANGUAGE-REGISTER in translation, else one of helpers/corpora
    train: Amount = 0  # training examples; 0 for all there are, of a natural text
    dev: Amount = 500  # dev examples; 0 for all there are, of a natural text
    test: Amount = 500  # test examples; 0 for all there are, of a natural text
    vocabulary: Count = 1000  # subwords of a vocabulary, at most
    # words kept of a document to be summarized, subwords of a dialogue (0 for all); tokens of an example of a language model
    longest: Amount = 64
    steps: int = 1500  # 0 leaves the task out; below 0 is refused by the methods
    batch_tokens: Count = 512  # tokens of a batch at most: source, target and padding
    learning_rate: Positive = 8e-3  # learning rate at its peak
    warmup: Amount = 200  # steps over which the learning rate rises; 0 is as 1
    model: Model = Model(layers=2, width=64, feed_forward=256, dropout=0.0)


class GroupedTask(Task):
    """A task of grouped heads; both stages together take its steps. Counts are checked by helpers.experiments.grouping_runs."""

    groups: int = 2  # groups that the heads of a layer are put into; as many heads stay
    votes: int = 0  # batches that vote for the heads that stay; 0 for an epoch


class InjectedTask(Task):
    """A task of coreference; all its rows start from one model."""

    links: str = "gold"  # whose clusters are injected: a resolver of helpers/corpora/resolvers.py
    checkpoint: str = ""  # pretrained model to start from, by Hub name or folder; "" for none
    denoising: Amount = 1000  # steps of a warm-up that fills holes in the texts; 0 for none
    piece: int = Field(default=40, ge=2)  # tokens of a piece of text in which holes are filled
    further: Count = 400  # steps of further training, which every row takes from there
    rate: Positive = 2e-3  # learning rate of further training at its peak
    betas: list[Share] = Field(default=[0.9, 0.98], min_length=2, max_length=2)  # decay of Adam's two moments, a step


class Gates(Block):
    """Gates of the row of grouped translation whose heads L0 chooses."""

    rate: Positive = 0.3  # learning rate of the gates
    penalty: Price = 0.01  # price of an open gate (lambda, nats a token)


class Rung(Block):
    """A width of heads at which translation's main rows are trained: the model is as wide as its heads together."""

    head: Count  # numbers of a head
    learning_rate: Positive | None = None  # learning rate at its peak; as the first model's if not set
    seeds: Count = 1


class Grouping(Block):
    """Grouped heads (Ni et al.): trained from random weights in two stages, with votes for the heads that stay in between."""

    translation: GroupedTask = GroupedTask(text="de-subtitles", train=20_000)
    summarization: GroupedTask = GroupedTask(text="reports", train=12_000, longest=100)
    language: GroupedTask = GroupedTask(text="stories", train=8000)
    today: GroupedTask = GroupedTask(text="stories", train=8000, steps=0)  # a decoder of today's make
    first: float = Field(default=0.6, gt=0, lt=1)  # share of the steps that stage 1 takes
    alpha: Weight = 0.5  # weight of homogenisation: heads close to the centre of their group
    beta: Weight = 0.5  # weight of diversification: centres of groups apart
    which: FeatureMap = "V"  # what heads are compared by: value vectors (V), attention (A) or outputs (O)
    weight: Weight = 0.01  # weight of the group constraint beside the cross-entropy
    gates: Gates = Gates()  # the row whose heads L0 chooses
    numbers: list[Count] = [1, 2, 4, 8]  # numbers of groups that are tried
    strengths: list[Weight] = [0.1, 10.0, 100.0]  # factors on the constraint's weight that are tried
    ladder: list[Rung] = []  # widths of a head that the main rows are trained at; empty for none
    more_heads: Amount = 0  # heads of a model as wide that docs/regimes.md trains; 0 for none
    ablation_seeds: Count = 1  # seeds of the paper's ablation and of models of one size
    probe: int = 16  # dev examples on which heads are compared while training
    shots: int = 20  # how often in a stage they are compared
    parts: list[GroupRows] = ["peers", "ablations", "numbers", "strengths"]  # rows of translation beside the main ones
    seeds: Count = 1  # seeds of the main rows
    beam: Count = 1  # beams in writing test sets; 1 is greedy


class Coreference(Block):
    """Coreference in the heads that matter least (Liu et al.)."""

    summarization: InjectedTask = InjectedTask(  # summaries of dialogues
        text="dialogues", train=12_000, dev=300, longest=256, batch_tokens=1024, learning_rate=3e-3,
        model=Model(layers=3, width=64, feed_forward=256, dropout=0.0),
    )  # fmt: skip
    matrix: Matrix = "full"  # which mentions of a cluster attend to which
    span: Span = "first"  # subwords by which a mention is linked: its first, or the whole
    probe: Count = 200  # dev texts on which heads are ranked
    masks: Amount = 3  # random draws of each number of heads that are off; 0 for none
    seeds: Count = 1  # seeds of the main rows
    beam: Count = 1  # beams in writing test sets; 1 is greedy


class L1(Block):
    """Gates under an L1 price on a model whose weights are frozen."""

    steps: Count = 100  # training steps of the gates
    rate: Positive = 0.02  # learning rate of the gates
    penalty: Weight = 0.01  # price of a gate's size, nats a token
    batch_tokens: Count = 1024  # tokens of a batch at most: source, target and padding


class Comparison(Block):
    """Notebook 06: all measures of all models, and heads removed by each at equal numbers."""

    votes: Count = 512  # tokens of a batch that votes for the heads that stay
    l1: L1 = L1()
    # columns of the head table by which heads are removed, beside pruning.criteria
    criteria: list[str] = ["attnlrp", "cp", "votes", "L1 gates", "syntactic", "positional"]
    dialogues: Count = 60  # dev dialogues on which a summarizer's heads are measured
    first_order: bool = True  # estimates of the loss without a head from one gradient; they need the models' weights
    decoder: bool = True  # a small decoder of today, as one more model
    again: list[str] = []  # models that have the further seeds, such as "ru-news" or "ru-news+small"; empty: all of them


class Pretrained(Block):
    """Experiments on pretrained models (`helpers.experiments.pretrained`)."""

    decoder: str = "smollm2"  # the model that continues texts: a name, a folder, or one of the Hub
    encoder: str = "minilm"  # the model that reads both ways, likewise
    passages: Count = 20  # passages of text that heads are measured on: the unit of intervals
    pieces: Count = 4  # pieces of a passage
    piece: Count = 80  # tokens of a piece
    left_out: Count = 20  # passages, the first, on whose first piece heads are left out one by one; a multiple of 4
    window: Count = 160  # tokens of a passage on which perplexity is scored and gates learn
    sentences: Count = 400  # sentences of each treebank
    fractions: list[Share] = [0.1, 0.25, 0.5, 0.75]  # shares of the heads that are removed at once
    draws: Count = 1  # random draws of heads beside each choice; three times as many of any heads
    prices: list[Price] = [0.0025, 0.005, 0.01, 0.02, 0.04]  # prices of an open gate (lambda, nats a token)
    trained: list[Price] = [0.01, 0.02]  # of these, where the model is trained on without the heads
    steps: Count = 120  # training steps of the gates, and of models without heads
    trained_dialogues: Count = 1600  # dialogues of SAMSum that the summarizer is trained on
    further_dialogues: Count = 480  # dialogues after these, with links in some heads
    test_dialogues: Count = 200  # dialogues that heads are chosen on, and that summaries are scored on
    longest: Count = 160  # tokens of a dialogue and its summary at most; longer ones are left out
    link_seeds: Count = 3  # trainings with links


class Settings(Block):
    """All settings of a study."""

    # where numbers are computed: "cpu" even where there is a GPU, so that stored and published runs of this profile are found
    # everywhere; "cuda": on a GPU alone, and read everywhere; "auto": the GPU if torch sees one
    device: Literal["cpu", "cuda", "auto"] = "auto"
    models: str = ""  # models to study, such as "ru-news fr-europarl"; empty: the usual ones of the corpus
    # text of the translation models: generated, or of a local folder
    corpus: Literal["controlled", "natural"] = "controlled"
    train: Amount = 55_000  # training pairs; 0 for all there are, of a natural corpus
    dev: Count = 1000  # dev pairs
    test: Amount = 500  # pairs of a test set; 0 for all there are, of a natural corpus
    vocabulary: Count = 2000  # subwords of each language's vocabulary, at most
    beam: Count = 1  # beams in translating test sets; 1 is greedy
    bootstrap: Count = 1000  # resamples of a bootstrap interval
    relevance: Count = 250  # dev sentences, the first, whose translation is explained
    seeds: Count = 1  # seeds of the models that notebook 06 compares
    model: Model = Model()
    training: Training = Training()
    siblings: list[Sibling] = []  # models beside the first that differ in one thing
    without_encoder: bool = True  # whether the first model is also trained without encoder attention all along
    pruning: Pruning = Pruning()
    grouping: Grouping = Grouping()
    coreference: Coreference = Coreference()
    comparison: Comparison = Comparison()
    pretrained: Pretrained = Pretrained()

    @model_validator(mode="after")
    def _agrees(self) -> Settings:
        for sentence in _contradictions(self):
            raise ValueError(sentence)
        return self


def _contradictions(chosen: Settings) -> Iterator[str]:
    grouping, coreference = chosen.grouping, chosen.coreference
    grouped = {f"grouping.{name}": getattr(grouping, name) for name in ("translation", "summarization", "language", "today")}
    injected = {"coreference.summarization": coreference.summarization}
    for place, shape in {
        "model": chosen.model,
        **{f"{n}.model": task.model for n, task in (grouped | injected).items()},
    }.items():
        for heads in filter(None, (shape.heads, shape.decoder_heads)):
            if shape.width % heads:
                yield f"A width of {shape.width} cannot be split over {heads} heads: choose a multiple for {place}.width."
    for name in ("train", "test") if chosen.corpus == "controlled" else ():
        if not getattr(chosen, name):
            yield f"The setting {name!r} must be 1 or more, not 0: generated text has no end."
    for place, task in grouped.items():
        if task.steps:
            yield from _of_groups(grouping, place, task)
    known = [sibling.name for sibling in chosen.siblings]
    wanted = {"pruning.all_kinds_on": [chosen.pruning.all_kinds_on], "pruning.siblings": chosen.pruning.siblings}
    wanted["comparison.again"] = [name.partition("+")[2] for name in chosen.comparison.again]
    for place, name in ((place, name) for place, names in wanted.items() for name in names):
        if name and name not in known:
            yield f"There is no sibling {name!r} for {place}: the setting siblings has {', '.join(known) or 'none'}."


def _of_groups(grouping: Grouping, place: str, task: GroupedTask) -> Iterator[str]:
    heads, tried = min(task.model.heads, task.model.decoder_heads or task.model.heads), [(f"{place}.groups", task.groups)]
    if place == "grouping.translation" and "numbers" in grouping.parts:
        tried += [("grouping.numbers", groups) for groups in grouping.numbers]
    for name, groups in tried:
        if groups > heads:
            yield f"There cannot be {groups} groups of {heads} heads: lower {name}."
    if not 0 < round(task.steps * grouping.first) < task.steps:
        yield f"Of {task.steps} steps a share of {grouping.first:g} leaves a stage without any: change {place}.steps."


def names(block: type[Block] = Settings, prefix: str = "") -> Iterator[str]:
    """All settings by their dotted names."""
    for name, field in block.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Block):
            yield from names(field.annotation, f"{prefix}{name}.")
        else:
            yield prefix + name
