"""Tables of pruning: against the store they are read from, against numbers made by hand, and against the printed ones."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from helpers import heads, study, training
from helpers.experiments import pruning
from helpers.heads import KINDS
from helpers.runs import outputs, subjects
from helpers.scores import scoring
from tests.unit import tiny_sweep

STORE = "sweep"
REPEATS = 50


@pytest.fixture(scope="module")
def swept():
    """The sweeps, the model that they start from, and the quality of their runs."""
    sweeps = tiny_sweep.sweeps()
    subject = subjects.of_spec(sweeps["encoder"]["start"], tiny_sweep.NAME)
    drawn = {which: pruning.draws(sweep, subject, REPEATS) for which, sweep in sweeps.items()}
    return {which: (one, subject, pruning.quality(one, subject, drawn[which])) for which, one in sweeps.items()}


def sides(sweep, subject):
    """Statistics of what every run put out."""
    references = [pair.target for pair in subject.pairs("test")]
    texts = {name: outputs.read(pruning.pruned(run), "test", 1) for name, run in sweep["runs"].items()}
    return {name: scoring.bleu_statistics(made, references) for name, made in texts.items()}


def test_a_row_for_each_run_and_test_set(swept):
    for sweep, subject, table in swept.values():
        section = [name for name, run in sweep["runs"].items() if run["method"]["name"] in pruning.NAMES]
        assert list(table.index) == [(name, split) for name in section for split in subject.tests]
        found = sides(sweep, subject)
        for name in {"control", "L0 0.03", "scratch 0.03"} & found.keys():
            row, model = table.loc[(name, "test")], pruning.opened(sweep["runs"][name])
            number = {kind: sum(len(left) for (k, _), left in heads.kept(model).items() if k == kind) for kind in KINDS}
            assert {kind: row[kind] for kind in KINDS} == number
            assert row.heads == sum(number[kind] for kind in sweep["kinds"]) and row.total == 8 * len(sweep["kinds"])
            for columns, other in {"bleu low high": None, "change change_low change_high": "control"}.items():
                wanted = scoring.bleu_interval(found[name], found[other] if other else None, REPEATS)
                assert row[columns.split()].tolist() == pytest.approx(wanted, abs=1e-12)
            assert row.dev_loss == pytest.approx(training.dev_loss(model, subject.batches(4 * 1024, 16)), abs=1e-6)


def test_what_encoder_attention_is_worth(swept):
    sweep, subject, table = swept["encoder"]
    found = pruning.worth(
        sweep, subject, pruning.draws(sweep, subject, REPEATS), subject
    )  # as if the start were the model without from the start
    whole = found.xs("test", level="test set")
    of = table.bleu.xs("test", level="test set")[whole.index]
    np.testing.assert_allclose(whole.worth, of.control - of.floor)
    np.testing.assert_allclose(whole.share[of.index], (of - of.floor) / (of.control - of.floor))
    start = scoring.bleu_statistics(outputs.written_by(subject, "test", 1), [pair.target for pair in subject.pairs("test")])
    assert whole["worth from the start"].to_numpy() == pytest.approx(of.control - scoring.bleu_interval(start, None, 1)[0])
    # the control keeps all and the floor nothing, whatever sentences are drawn
    ends = ["share", "share_low", "share_high"]
    assert found.loc[("control", "test"), ends].eq(1).all() and found.loc[("floor", "test"), ends].eq(0).all()


def by_hand(*rows, total=24):
    """`quality` of one test set: rows of name, method, heads left, change, its low and high."""
    table = pd.DataFrame(rows, columns=["run", "method", "heads", "change", "change_low", "change_high"])
    return table.assign(total=total, bleu=20 + table.change, **{"test set": "test"}).set_index(["run", "test set"])


HAND = by_hand(
    ("control", "further training", 24, 0.0, 0.0, 0.0), ("L0 0.1", "L0", 21, 0.5, 0.1, 0.9),
    ("L0 0.2", "L0", 15, -0.1, -0.2, 0.4), ("L0 0.3", "L0", 12, -0.25, -0.6, 0.1), ("L0 0.3 #2", "L0", 12, -0.05, -0.5, 0.2),
    ("L0 0.4", "L0", 3, -2.0, -3.0, -1.0), ("scratch 0.3", "from scratch", 12, -2.5, -3.0, -2.0),
    ("L0, half-open start, 0.3", "L0, half-open start", 1, 0.0, 0.0, 0.0), ("random 0.3", "random", 12, 0.2, 0.1, 0.3),
)  # fmt: skip


def test_no_pruning_of_all_kinds_is_no_figure_9():
    with pytest.raises(study.StudyError, match="of all kinds"):
        pruning.kinds_of_all([])


def test_half_of_the_heads_left():
    many = by_hand(("L0 0.1", "L0", 5, -0.3, -0.4, -0.2), total=8)
    tables = {"EN-RU": HAND, "none": many, "EN-DE": HAND.drop(["L0 0.3", "L0 0.3 #2"], level="run")}
    found = pruning.half_left(pd.concat(tables, names=["model"]))
    assert found.index.tolist() == [("EN-RU", "test"), ("EN-DE", "test")]  # of a model that keeps more than half no row
    assert found[["run", "heads", "change"]].values.tolist() == [["L0 0.3", 12, -0.25], ["L0 0.4", 3, -2.0]]


def test_heads_needed_are_read_off_the_line_where_a_curve_leaves_the_loss_allowed():
    points = pd.DataFrame({"heads": [8, 4, 2, 1], "change": [0, -0.3, -0.2, -0.4]}).assign(translator="mine", model="gates")
    points["bleu"], points["low"], points["high"] = 30 + points.change, points.change - 0.1, [0, -0.1, -0.1, -0.2]
    points = pd.concat([points, points.assign(model="chance", change=-9), points.assign(model=pruning.SHARE, change=-0.31)])
    found = pruning.needed(points, 0.25).set_index(["translator", "lost"])[["unpruned", "worth", "fewest", "best", "most"]]
    wanted = {"0.25 BLEU": [30, 6.2, np.nan, 1.75, 6], pruning.SHARE: [30, 6.2, np.nan, 1.45, 1.95]}  # no upper end as low
    for lost, numbers in wanted.items():
        assert found.loc["mine", lost].tolist() == pytest.approx(numbers, nan_ok=True)
    assert found.best["paper, OpenSubtitles", "0.25 BLEU"] == 4  # goes below 0.25 with one head


def test_heads_by_layer_add_up_to_heads_by_kind():
    layers, kinds = (pd.read_csv(study.ROOT / "figures" / "regimes" / f"{name}.csv") for name in ("kinds_by_layer", "kinds"))
    kept = layers.groupby(["penalty", "kind"]).kept.sum().unstack()
    wanted = kinds[kinds.method == "L0"].set_index("penalty")[[*kept]].sort_index()
    assert kept.to_numpy().tolist() == wanted.to_numpy().tolist() and len(layers) == 18 * len(kept)


def test_how_long_heads_survive(swept):
    for sweep, subject, _ in swept.values():
        found, runs = pruning.survival(sweep), pruning.l0_runs(sweep)
        assert found.index.equals(heads.index(subject.model, tuple(sweep["kinds"])))
        kept = [pruning.retained(run) for run in runs]
        times = np.array([sum(head in left[kind, layer] for left in kept) for kind, layer, head in found.index])
        assert (np.floor(found) == times).all() and (found > times).all() and (found < times + 1).all()
        opened = np.mean([1 - pruning.gates(run)[0].p_closed()[-1].numpy() for run in runs], axis=0)
        np.testing.assert_allclose(found - times, 0.99 * opened, rtol=1e-9)


def test_whether_functions_stay_against_all_draws():
    does = {0: "rare", 1: "rare, dobj", 3: "dobj"}
    rows = [("a", 1, 0.1, *divmod(at, 3), at in (0, 2, 5), does.get(at, "")) for at in range(6)]
    table = pd.DataFrame(rows, columns=["model", "seed", "penalty", "layer", "head", "stays", "functions"])
    found = pruning.retained_more_than_chance(table).set_index("function")
    for function, having in {"any": {0, 1, 3}, "rare": {0, 1}, "dobj": {1, 3}}.items():
        row, counted = found.loc[function], [len(having & {*left}) for left in itertools.combinations(range(6), 3)]
        assert [row["heads"], row.had, row.stay] == [3, len(having), len(having & {0, 2, 5})]
        assert row.expected == pytest.approx(np.mean(counted))
        assert row.p == pytest.approx(np.mean(np.array(counted) >= row.stay))
        pairs = itertools.product(itertools.combinations(range(3), 2), range(3, 6))  # as many of each layer
        within = np.array([len(having & {*two, one}) for two, one in pairs])
        assert [row["expected in layers"], row["p in layers"]] == pytest.approx([within.mean(), np.mean(within >= row.stay)])
    assert [found.low["any"], found.high["any"]] == [min(counted), 3]
    assert pruning.functions_left(table).does.tolist() == [["rare", "rare, dobj", "dobj"], ["rare"]]


def test_the_gap_of_kinds_is_the_smaller_rise_in_the_order_of_the_paper(swept):
    sweep, subject, _ = swept["all"]
    table = pruning.kept_by_kind(sweep, subject)
    encoder, decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in KINDS)
    wanted = [min(pair) for pair in zip(decoder - encoder, cross - decoder, strict=True)]
    np.testing.assert_allclose(table.gap, np.where((decoder == 1) & (cross == 1), np.nan, wanted))
