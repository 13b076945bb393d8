"""The schema of all settings: what each is, its unit, its default, and which values make sense.

Defaults are what profiles (`helpers.study.settings`) have in common. What is refused is told in one sentence each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo

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
GroupRows = Literal["peers", "ablations", "numbers", "strengths", "sweep"]
Matrix = Literal["full", "adjacent", "previous"]
Span = Literal["first", "whole"]
Layers = Literal["all", "lower", "middle", "upper"]
InjectedRows = Literal[
    "selection", "where", "matrices", "quality", "inference", "training", "masks", "controls"
]  # fmt: skip


class Block(BaseModel):
    """Settings that belong together; numbers keep their type, and a name that is not there is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


# --- the schema ------------------------------------------------------------------------------------------------------


class Model(Block):
    """Shape of a model that starts from random weights."""

    layers: Count = Field(default=3, description="Layers of the encoder, and of the decoder where decoder_layers does not say.")
    width: Count = Field(default=128, description="Numbers in a token's representation, split evenly over the heads.")
    heads: Count = Field(default=8, description="Heads of an attention of each layer.")
    feed_forward: Count = Field(default=512, description="Hidden units of each feed-forward layer.")
    dropout: Share = Field(default=0.1, description="Probability with which a hidden unit is dropped in training.")
    decoder_layers: Count | None = Field(default=None, description="Layers of the decoder; as the encoder's if not set.")
    decoder_heads: Count | None = Field(
        default=None, description="Heads of a decoder's attention; as the encoder's if not set."
    )
    start: Literal["zero", "usual"] | None = Field(
        default=None,
        description="Start of attention's outputs: zero or usual (random) in all kinds; zero in the encoder alone if not set.",
    )


class Sibling(Block):
    """A model beside the first one that differs from it in what is said here: depth, training, vocabulary."""

    name: str = Field(pattern="^[a-z0-9-]+$", description="What it differs in, words joined by hyphens: deep-decoder.")
    changes: str = Field(description="Settings, NAME=VALUE separated by spaces; null leaves a setting open.")


class Training(Block):
    """Training of the translation models; what other trainings do not set themselves is as here."""

    steps: Count = Field(default=1000, description="Training steps.")
    batch_tokens: Count = Field(default=2048, description="Tokens of a batch at most: source, target and padding.")
    learning_rate: Positive = Field(default=2e-3, description="Learning rate of Adam at its peak, the end of the warm-up.")
    warmup: Amount = Field(default=200, description="Steps over which the learning rate rises; 0 is as 1.")
    cooldown: Share = Field(default=0.0, description="Share of the steps, the last, over which the learning rate goes to zero.")
    betas: list[Share] = Field(
        default=[0.9, 0.98], min_length=2, max_length=2, description="Decay of Adam's two moments, a step."
    )
    label_smoothing: Share = Field(
        default=0.1, description="Share of a target token's probability that is spread over all tokens."
    )
    clip: Weight = Field(default=1.0, description="Norm of the gradient at most; 0 for any.")
    evaluate_every: Count = Field(default=200, description="Steps between two measurements of the dev loss.")
    patience: Amount = Field(default=0, description="Dev losses without a better one after which training ends; 0 for never.")
    average: Amount = Field(
        default=0, description="How many of the last evaluated weights are averaged; 0 keeps the best ones."
    )
    compiled: Literal["eager", "aot_eager", "inductor"] | None = Field(
        default=None, description="Backend of torch.compile for the loss of a step; steps are not compiled if not set."
    )


class Pruning(Block):
    """Further training with gates or with heads gone (section 6 of Voita et al.): all runs of a model alike."""

    steps: Count = Field(default=250, description="Steps of further training.")
    learning_rate: Positive = Field(default=5e-4, description="Learning rate at its peak.")
    warmup: Amount = Field(default=50, description="Steps over which the learning rate rises; 0 is as 1.")
    cooldown: Share = Field(default=0.3, description="Share of the steps, the last, over which the learning rate goes to zero.")
    evaluate_every: Count = Field(default=50, description="Steps between two measurements of the dev loss.")
    dev: Count = Field(default=200, description="Dev sentences, the first, on which it is measured.")
    start: float = Field(default=2.0, description="Log alpha at which gates start: 2 is almost open.")
    gate_rate: Positive = Field(default=0.3, description="Learning rate of the gates at its peak.")
    temperature: Positive = Field(default=0.33, description="Temperature of the gates' Hard Concrete distribution.")
    penalties: list[Price] = Field(
        default=[0.001, 0.0025, 0.006, 0.015, 0.04],
        description="Prices of an open gate (lambda, nats a token), encoder heads alone.",
    )
    penalties_all: list[Price] = Field(default=[0.003, 0.01, 0.03], description="The same, heads of all kinds.")
    compared: list[Price] = Field(
        default=[0.015], description="Prices at whose head counts heads are chosen in other ways too."
    )
    scratch: list[Price] = Field(
        default=[0.01], description="Prices whose head maps are trained from random weights too (Table 2)."
    )
    criteria: list[Criterion] = Field(
        default=["random", "confidence", "relevance", "gradient, example", "leave-one-out"],
        description="Other ways to choose heads, each followed by further training.",
    )
    draws: Amount = Field(default=3, description="Random draws of heads; 0 for none.")
    variants: bool = Field(default=True, description="Whether gates also start half-open, and with a temperature of 0.5.")
    beam: Count = Field(default=1, description="Beams in translating; 1 is greedy.")
    seeds: Count = Field(default=1, description="Seeds of the runs with gates.")
    languages: Count = Field(default=1, description="Models of each register, the first, whose encoder heads are pruned.")
    all_kinds: Amount = Field(
        default=1, description="Models in all, the first, whose heads of all kinds are pruned; 0 for none."
    )
    all_kinds_on: str = Field(
        default="", description="The sibling whose heads of all kinds are pruned in a model's place; empty: the model itself."
    )
    siblings: list[str] = Field(default=[], description="Siblings of the first model whose encoder heads are pruned too.")
    rivals: Amount = Field(
        default=0,
        description="Models, the first, whose heads are also chosen in other ways and trained from scratch; 0 for all.",
    )


class Task(Block):
    """A text and the training of a model on it."""

    text: str = Field(
        default="", description="Name of the text: LANGUAGE-REGISTER in translation, else one of helpers/corpora."
    )
    train: Amount = Field(default=0, description="Training examples; 0 for all there are, of a natural text.")
    dev: Amount = Field(default=500, description="Dev examples; 0 for all there are, of a natural text.")
    test: Amount = Field(default=500, description="Test examples; 0 for all there are, of a natural text.")
    vocabulary: Count = Field(default=1000, description="Subwords of a vocabulary, at most.")
    longest: Amount = Field(
        default=64,
        description="Words kept of a document to be summarized, subwords of a dialogue (0 for all); tokens of an example of a "
        "language model.",
    )
    steps: int = Field(default=1500, description="Training steps; 0 leaves the task out.")  # below 0: refused by the methods
    batch_tokens: Count = Field(default=512, description="Tokens of a batch at most: source, target and padding.")
    learning_rate: Positive = Field(default=8e-3, description="Learning rate at its peak.")
    warmup: Amount = Field(default=200, description="Steps over which the learning rate rises; 0 is as 1.")
    model: Model = Field(
        default_factory=lambda: Model(layers=2, width=64, feed_forward=256, dropout=0.0), description="Shape of the model."
    )


class GroupedTask(Task):
    """A task of grouped heads; both stages together take its steps. Counts are checked by helpers.experiments.grouping_runs."""

    groups: int = Field(default=2, description="Groups that the heads of a layer are put into; as many heads stay.")
    votes: int = Field(default=0, description="Batches that vote for the heads that stay; 0 for an epoch.")


class Today(GroupedTask):
    """Language modelling by a decoder of today's make."""

    seeds: Count = Field(default=1, description="Seeds.")


class InjectedTask(Task):
    """A task of coreference; all its rows start from one model."""

    links: str = Field(default="gold", description="Whose clusters are injected: a resolver of helpers/corpora/resolvers.py.")
    checkpoint: str = Field(default="", description='Pretrained model to start from, by Hub name or folder; "" for none.')
    denoising: Amount = Field(default=1000, description="Steps of a warm-up that fills holes in the texts; 0 for none.")
    piece: int = Field(default=40, description="Tokens of a piece of text in which holes are filled.")
    further: Count = Field(default=400, description="Steps of further training, which every row takes from there.")
    rate: Positive = Field(default=2e-3, description="Learning rate of further training at its peak.")
    betas: list[Share] = Field(
        default=[0.9, 0.98], min_length=2, max_length=2, description="Decay of Adam's two moments, a step."
    )


class Gates(Block):
    """Gates of the row of grouped translation whose heads L0 chooses."""

    rate: Positive = Field(default=0.3, description="Learning rate of the gates.")
    penalty: Price = Field(default=0.01, description="Price of an open gate (lambda, nats a token).")


class Sweep(Block):
    """Weights of the group constraint that are tried one at a time; the best by dev loss is shown beside the usual ones."""

    alpha: list[Weight] = Field(default=[0.3, 0.7, 1.0], description="Weights of homogenisation.")
    beta: list[Weight] = Field(default=[0.3, 0.7, 1.0], description="Weights of diversification.")


class Rung(Block):
    """A width of heads at which translation's main rows are trained: the model is as wide as its heads together."""

    head: Count = Field(description="Numbers of a head.")
    learning_rate: Positive | None = Field(
        default=None, description="Learning rate at its peak; as the first model's if not set."
    )
    seeds: Count = Field(default=1, description="Seeds.")
    from_start: bool = Field(default=True, description="Also train as few heads as stay, from the first step on.")


class Grouping(Block):
    """Grouped heads (Ni et al.): trained from random weights in two stages, with votes for the heads that stay in between."""

    translation: GroupedTask = Field(
        default_factory=lambda: GroupedTask(text="de-subtitles", train=20_000), description="Translation."
    )
    summarization: GroupedTask = Field(
        default_factory=lambda: GroupedTask(text="reports", train=12_000, longest=100), description="Summarization."
    )
    language: GroupedTask = Field(
        default_factory=lambda: GroupedTask(text="stories", train=8000), description="Language modelling."
    )
    today: Today = Field(
        default_factory=lambda: Today(text="stories", train=8000, steps=0), description="A decoder of today's make."
    )
    first: float = Field(default=0.6, description="Share of the steps that stage 1 takes, above 0 and below 1.")
    alpha: Weight = Field(default=0.5, description="Weight of homogenisation: heads close to the centre of their group.")
    beta: Weight = Field(default=0.5, description="Weight of diversification: centres of groups apart.")
    which: FeatureMap = Field(
        default="V", description="What heads are compared by: value vectors (V), attention (A) or outputs (O)."
    )
    weight: Weight = Field(default=0.01, description="Weight of the group constraint beside the cross-entropy.")
    settled: Weight = Field(
        default=0.4, description="Shift of the centres below which groups count as settled (rho of algorithm 1)."
    )
    gates: Gates = Field(default_factory=Gates, description="The row whose heads L0 chooses.")
    numbers: list[Count] = Field(default=[1, 2, 4, 8], description="Numbers of groups that are tried.")
    strengths: list[Weight] = Field(
        default=[0.1, 10.0, 100.0], description="Factors on the constraint's weight that are tried."
    )
    sweep: Sweep = Field(default_factory=Sweep, description="Rows from which alpha, beta and the map are chosen on dev.")
    ladder: list[Rung] = Field(default=[], description="Widths of a head that the main rows are trained at; empty for none.")
    more_heads: Amount = Field(
        default=0, description="Heads of a model as wide for which numbers of groups are tried too; 0 for none."
    )
    ablation_seeds: Count = Field(default=1, description="Seeds of the eight rows of the paper's ablation.")
    probe: int = Field(default=16, description="Dev examples on which heads are compared while training.")
    shots: int = Field(default=20, description="How often in a stage they are compared.")
    parts: list[GroupRows] = Field(
        default=["peers", "ablations", "numbers", "strengths"], description="Rows of translation beside the main ones."
    )
    jobs: Count = Field(default=2, description="Jobs that the rows of translation are split into, to run side by side.")
    seeds: Count = Field(default=1, description="Seeds of the main rows.")
    beam: Count = Field(default=1, description="Beams in writing test sets; 1 is greedy.")
    converged: Amount = Field(default=1, description="Whether a converged translation model is grouped too: 1, or 0 for no.")
    converged_steps: Count = Field(default=150, description="Steps of each of its two stages.")
    converged_rate: Positive = Field(default=5e-4, description="Its learning rate at its peak.")
    converged_votes: Amount = Field(default=200, description="Batches that vote for its heads; 0 for an epoch.")


def _dialogues(**other: Any) -> InjectedTask:
    shape = Model(layers=3, width=64, feed_forward=256, dropout=0.0)
    return InjectedTask(
        text="dialogues", train=12_000, dev=300, longest=256, batch_tokens=1024, learning_rate=3e-3, model=shape, **other
    )


class Coreference(Block):
    """Coreference in the heads that matter least (Liu et al.)."""

    summarization: InjectedTask = Field(default_factory=_dialogues, description="Summaries of dialogues.")
    translation: InjectedTask = Field(
        default_factory=lambda: _dialogues(steps=0), description="Translation with syntactic arcs instead; left out if not set."
    )
    matrix: Matrix = Field(default="full", description="Which mentions of a cluster attend to which.")
    span: Span = Field(default="first", description="Subwords by which a mention is linked: its first, or the whole.")
    probe: Count = Field(default=200, description="Dev texts on which heads are ranked.")
    draws: Count = Field(default=2, description="Random draws of heads that are injected.")
    heads: list[Count] = Field(default=[1, 2, 4], description="Numbers of injected heads of a layer that are tried.")
    mixed: list[Layers] = Field(
        default=["upper", "all"], description="Layers after which the matrix stands in a layer of its own."
    )
    most: Amount = Field(
        default=0, description="Heads of a pretrained model's layer masked at most; 0: summarization.model.heads."
    )
    rates: list[Share] = Field(default=[0.1, 0.3, 0.6, 1.0], description="Rates of errors in the clusters that are tried.")
    resolvers: list[str] = Field(default=["rule"], description="Resolvers whose clusters are used in training and in writing.")
    written: list[str] = Field(default=["rule"], description="Resolvers whose clusters are used in writing alone.")
    orders: Amount = Field(default=1, description="Further orders of the training text in which heads are ranked; 0 for none.")
    paces: list[Positive] = Field(
        default=[0.3, 3.0], description="Factors on the rate of further training in which heads are ranked."
    )
    lengths: list[Positive] = Field(
        default=[0.5], description="Factors on the steps of further training in which heads are ranked."
    )
    masks: Amount = Field(default=3, description="Random draws of each number of heads that are off; 0 for none.")
    parts: list[InjectedRows] = Field(
        default=["selection", "where", "matrices", "quality", "inference", "training", "masks"],
        description="Rows of summarization beside the main ones.",
    )
    jobs: Count = Field(default=2, description="Jobs that the rows of summarization are split into, to run side by side.")
    seeds: Count = Field(default=1, description="Seeds of the main rows.")
    alone: Amount = Field(default=2, description="Seeds of the plain row, if more than of the main ones.")
    beam: Count = Field(default=1, description="Beams in writing test sets; 1 is greedy.")


class L1(Block):
    """Gates under an L1 price on a model whose weights are frozen."""

    steps: Count = Field(default=100, description="Training steps of the gates.")
    rate: Positive = Field(default=0.02, description="Learning rate of the gates.")
    penalty: Weight = Field(default=0.01, description="Price of a gate's size, nats a token.")
    batch_tokens: Count = Field(default=1024, description="Tokens of a batch at most: source, target and padding.")


class Comparison(Block):
    """Notebook 06: all measures of all models, and heads removed by each at equal numbers."""

    votes: Count = Field(default=512, description="Tokens of a batch that votes for the heads that stay.")
    l1: L1 = Field(default_factory=L1, description="Gates under an L1 price.")
    criteria: list[str] = Field(
        default=["attnlrp", "cp", "votes", "L1 gates", "syntactic", "positional"],
        description="Columns of the head table by which heads are removed, beside pruning.criteria.",
    )
    dialogues: Count = Field(default=60, description="Dev dialogues on which a summarizer's heads are measured.")
    matched: Count = Field(default=80, description="Dev sentences on which heads of two seeds are matched.")
    first_order: bool = Field(
        default=True, description="Estimates of the loss without a head from one gradient; they need the models' weights."
    )
    decoder: bool = Field(default=True, description="A small decoder of today, as one more model.")
    again: list[str] = Field(
        default=[], description='Models that have the further seeds, such as "ru-news" or "ru-news+small"; empty: all of them.'
    )


class Pretrained(Block):
    """Experiments on pretrained models (`helpers.experiments.pretrained`)."""

    decoder: str = Field(default="smollm2", description="The model that continues texts: a name, a folder, or one of the Hub.")
    encoder: str = Field(default="minilm", description="The model that reads both ways, likewise.")
    passages: Count = Field(default=20, description="Passages of text that heads are measured on: the unit of intervals.")
    pieces: Count = Field(default=4, description="Pieces of a passage.")
    piece: Count = Field(default=80, description="Tokens of a piece.")
    left_out: Count = Field(
        default=20, description="Passages, the first, on whose first piece heads are left out one by one; a multiple of 4."
    )
    window: Count = Field(default=160, description="Tokens of a passage on which perplexity is scored and gates learn.")
    sentences: Count = Field(default=400, description="Sentences of each treebank.")
    fractions: list[Share] = Field(default=[0.1, 0.25, 0.5, 0.75], description="Shares of the heads that are removed at once.")
    draws: Count = Field(default=1, description="Random draws of heads beside each choice; three times as many of any heads.")
    prices: list[Price] = Field(
        default=[0.0025, 0.005, 0.01, 0.02, 0.04], description="Prices of an open gate (lambda, nats a token)."
    )
    trained: list[Price] = Field(default=[0.01, 0.02], description="Of these, where the model is trained on without the heads.")
    steps: Count = Field(default=120, description="Training steps of the gates, and of models without heads.")
    trained_dialogues: Count = Field(default=1600, description="Dialogues of SAMSum that the summarizer is trained on.")
    further_dialogues: Count = Field(default=480, description="Dialogues after these, with links in some heads.")
    test_dialogues: Count = Field(
        default=200, description="Dialogues that heads are chosen on, and that summaries are scored on."
    )
    longest: Count = Field(default=160, description="Tokens of a dialogue and its summary at most; longer ones are left out.")
    link_seeds: Count = Field(default=3, description="Trainings with links.")


class Settings(Block):
    """All settings of a study."""

    device: Literal["cpu", "cuda", "auto"] = Field(
        default="auto",
        description='Where numbers are computed: "cpu" even where there is a GPU, so that stored and published runs of this '
        'profile are found everywhere; "cuda": on a GPU alone, and read everywhere; "auto": the GPU if torch sees one.',
    )
    models: str = Field(
        default="", description='Models to study, such as "ru-local fr-europarl"; empty: the usual ones of the corpus.'
    )
    corpus: Literal["controlled", "natural"] = Field(
        default="controlled", description="Text of the translation models: generated, or of a local folder or the Hub."
    )
    train: Amount = Field(default=55_000, description="Training pairs; 0 for all there are, of a natural corpus.")
    dev: Count = Field(default=1000, description="Dev pairs.")
    test: Amount = Field(default=500, description="Pairs of a test set; 0 for all there are, of a natural corpus.")
    vocabulary: Count = Field(default=2000, description="Subwords of each language's vocabulary, at most.")
    surnames: Amount = Field(
        default=0, description="Invented rare surnames beside the usual ones of generated text; 0 for none."
    )
    beam: Count = Field(default=1, description="Beams in translating test sets; 1 is greedy.")
    bootstrap: Count = Field(default=1000, description="Resamples of a bootstrap interval.")
    relevance: Count = Field(default=250, description="Dev sentences, the first, whose translation is explained.")
    truth: Amount = Field(
        default=200, description="Dev sentences, the first, that are translated without each head; 0 for none."
    )
    seeds: Count = Field(default=1, description="Seeds of the models that notebook 06 compares.")
    model: Model = Field(default_factory=Model, description="Shape of the translation models.")
    training: Training = Field(default_factory=Training, description="Their training.")
    siblings: list[Sibling] = Field(default=[], description="Models beside the first that differ in one thing.")
    without_encoder: list[str] = Field(
        default=[""], description='Siblings, and the first model as "", also trained without encoder attention all along.'
    )
    pruning: Pruning = Field(default_factory=Pruning, description="Their heads pruned.")
    grouping: Grouping = Field(default_factory=Grouping, description="Grouped heads.")
    coreference: Coreference = Field(default_factory=Coreference, description="Coreference in heads.")
    comparison: Comparison = Field(default_factory=Comparison, description="All measures compared.")
    pretrained: Pretrained = Field(default_factory=Pretrained, description="Pretrained models.")

    @model_validator(mode="after")
    def _agrees(self) -> Settings:
        for sentence in _contradictions(self):
            raise ValueError(sentence)
        return self


def _contradictions(chosen: Settings) -> Iterator[str]:
    """Of each contradiction between settings a sentence."""
    grouping, coreference = chosen.grouping, chosen.coreference
    grouped = {f"grouping.{name}": getattr(grouping, name) for name in ("translation", "summarization", "language", "today")}
    injected = {f"coreference.{name}": getattr(coreference, name) for name in ("summarization", "translation")}
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
    wanted["without_encoder"] = chosen.without_encoder
    wanted["comparison.again"] = [name.partition("+")[2] for name in chosen.comparison.again]
    for place, name in ((place, name) for place, names in wanted.items() for name in names):
        if name and name not in known:
            yield f"There is no sibling {name!r} for {place}: the setting siblings has {', '.join(known) or 'none'}."
    yield from _of_coreference(coreference)


def _of_groups(grouping: Grouping, place: str, task: GroupedTask) -> Iterator[str]:
    heads, tried = min(task.model.heads, task.model.decoder_heads or task.model.heads), [(f"{place}.groups", task.groups)]
    if place == "grouping.translation" and "numbers" in grouping.parts:
        tried += [("grouping.numbers", groups) for groups in grouping.numbers]
    for name, groups in tried:
        if groups > heads:
            yield f"There cannot be {groups} groups of {heads} heads: lower {name}."
    if not 0 < round(task.steps * grouping.first) < task.steps:
        yield (
            f"Of {task.steps} steps, a share of {grouping.first:g} in stage 1 leaves a stage without any: change "
            f"{place}.steps or grouping.first."
        )


def _of_coreference(coreference: Coreference) -> Iterator[str]:
    if not coreference.mixed:
        yield "The setting 'mixed' of coreference is empty: name a part of the layers, such as upper."
    task = coreference.summarization
    for one in (task, coreference.translation):
        if one.denoising and one.piece < 2:
            yield f"Holes cannot be made in pieces of {one.piece} tokens: raise 'piece' to 2 or more."
    most = max(coreference.heads, default=0)
    if task.steps and not task.checkpoint and "where" in coreference.parts and most > task.model.heads:
        yield f"A layer of {task.model.heads} heads has no {most} to be injected: lower coreference.heads."


def fields(block: type[Block] = Settings, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """All settings by their dotted names, with what the schema says of each."""
    for name, field in block.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Block):
            yield from fields(field.annotation, f"{prefix}{name}.")
        else:
            yield prefix + name, field
