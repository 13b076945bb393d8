"""Tables of injection: scores and changes by hand, text and resolvers, rankings, masking curves, clusters against gain."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from helpers import corpora, study
from helpers.corpora import clusters as clustering
from helpers.corpora import dialogues, resolvers
from helpers.heads.families import ADDRESS
from helpers.methods import coreference
from helpers.methods.coreference import tables
from helpers.methods.coreference.runs import MAIN, PLAIN
from helpers.records import Dialogue, Event
from helpers.runs import subjects
from helpers.scores import scoring
from helpers.scores.coreference import coreference_scores
from helpers.study import StudyError
from helpers.world import conversations
from tests.unit import tiny_injection

STORE = tiny_injection.go_to
MASKED, MIXED = "masked, lowest", "layer of its own, upper"
ROUGE = ["ROUGE-1", "ROUGE-2", "ROUGE-L"]


@pytest.fixture(scope="module")
def parts():
    """Rows by part."""
    return tiny_injection.rows()


class Told(tables.Board):
    """A board of rows that wrote what is said here."""

    def __init__(self, rows, texts):
        super().__init__(tiny_injection.settings(), rows)
        self.texts = dict(zip(rows, texts, strict=True))

    def written(self, name):
        return self.texts[name]


def told_by(rows, *lost):
    """A board whose rows lost each so manieth word of every reference."""
    pairs = subjects.text_of(next(iter(rows.values()))["run"]).pairs("test")
    said = [[" ".join(w for n, w in enumerate(pair.target.split(), 1) if n % every) for pair in pairs] for every in lost]
    return Told(rows, said)


def rouge(board, name):
    return scoring.rouge_statistics(board.texts[name], [pair.target for pair in board.task.pairs("test")])


def events(board, name):
    counts = conversations.consistency(board.texts[name], board.dialogues)
    return 100 * counts[:, 2].sum() / counts[:, 0].sum()


def test_natural_dialogues_and_translations_have_no_events(parts, tmp_path):
    board = tables.Board(tiny_injection.settings(), parts["main"])
    bare = [replace(row, events=()) for row in board.dialogues]
    corpora.write(tmp_path / "dialogues" / "test.jsonl", bare)
    board.task = subjects.Subject(board.task.kind, board.task.corpus, tmp_path, board.task.source, board.task.target)
    assert board.metrics == ROUGE
    rows = tiny_injection.rows(kind=subjects.TRANSLATION)["main"]
    board = told_by({name: rows[name] for name in (PLAIN, MIXED)}, 7, 9)
    table, references = tables.scores(board), [pair.target for pair in board.task.pairs("test")]
    bleu = [scoring.bleu(board.texts[name], references, 1)["bleu"] for name in (PLAIN, MIXED)]
    assert table.metric.tolist() == ["BLEU"] * 2
    np.testing.assert_allclose(table.change, [0, bleu[1] - bleu[0]])


@pytest.fixture
def board(parts):
    return told_by({name: parts["main"][name] for name in (PLAIN, MASKED, MAIN, MIXED)}, 9, 7, 40, 5)


def test_scores_by_hand(board):
    table = tables.scores(board).set_index(["row", "metric"])
    base = np.array([*rouge(board, PLAIN).mean(0), events(board, PLAIN)])
    for name in board.rows:
        own, line = np.array([*rouge(board, name).mean(0), events(board, name)]), table.loc[name]
        assert list(line.index) == [*ROUGE, "events"]
        np.testing.assert_allclose(line.value, own)
        np.testing.assert_allclose(line.change, own - base, atol=1e-12)
        np.testing.assert_allclose(line.percent, 100 * (own / base - 1), atol=1e-12)
    paired = scoring.mean_interval(rouge(board, MAIN), rouge(board, PLAIN), 100)
    np.testing.assert_allclose(table.loc[MAIN, ["change_low", "change_high"]][:3], np.array(paired[1:]).T)
    assert table["heads"].xs("events", level="metric").to_dict() == {PLAIN: 0, MASKED: 3, MAIN: 3, MIXED: 0}
    nothing = Told(board.rows, [["."] * 8, *list(board.texts.values())[1:]])  # of nothing there is no percentage
    assert tables.scores(nothing, [MAIN]).percent.isna().all()


def test_right_people_by_hand():
    one, other = sorted(name for names in conversations._names() for name in names)[:2]
    told = [
        Dialogue("", "", (), (), events=(Event("lose", one, "key"), Event("repair", other, "lamp", one, "on monday"))),
        Dialogue("", "", (), (), events=(Event("lose", other, "bag"),)),
    ]
    right = [conversations.render_summary(row.events) for row in told]
    wrong = conversations.render_summary([Event("lose", other, "key"), Event("repair", other, "lamp", one, "on tuesday")])
    np.testing.assert_allclose(tables.right_people(right, told), [100 * 2 / 1.5, 100 / 1.5])
    np.testing.assert_allclose(tables.right_people([wrong, right[1]], told), [100 / 1.5, 100 / 1.5])  # the time does not count


def test_baselines_tell_the_right_events_of_guessed_people(board):
    table, plain = tables.baselines(board, 3), tables.scores(board, [PLAIN])
    line = table[table.row == "baseline: the speaker"].set_index("metric")
    counts = conversations.consistency(conversations.guesses(board.dialogues, "speaker", 3), board.dialogues).sum(0)
    assert line.value["events"] == pytest.approx(100 * counts[2] / counts[0])
    assert line.change["events"] == pytest.approx(line.value["events"] - plain.set_index("metric").value["events"])


def test_changes_over_seeds_are_each_against_its_own_plain_model(parts):
    rows = {name: parts["main"][name] for name in (PLAIN, MIXED)}
    boards = {seed: told_by(rows, *lost) for seed, lost in enumerate(((9, 11), (7, 12), (8, 8)), 1)}
    line = tables.over_seeds(boards, [PLAIN, MIXED]).set_index(["row", "metric"]).loc[MIXED]
    each = [(rouge(one, MIXED) - rouge(one, PLAIN)).mean(0) for one in boards.values()]
    np.testing.assert_allclose(line.change[:3], np.mean(each, 0))
    paired = tables.against_controls(boards, [PLAIN, MIXED], row=MIXED).set_index(["control", "metric"])
    pd.testing.assert_frame_equal(paired.loc[PLAIN][["change", "change_low", "change_high"]], line.filter(like="change"))
    assert set(paired.index.levels[0]) == {PLAIN} and set(paired.seeds) == {3}
    back = tables.against_controls(boards, [PLAIN, MIXED], row=PLAIN)  # a control that is not the plain model
    np.testing.assert_allclose(back.change[:3], -line.change[:3])
    one = tables.against_controls({1: boards[1]}, [PLAIN], row=MIXED).set_index("metric")
    np.testing.assert_allclose(one.change.iloc[:3], each[0])
    assert set(one.seeds) == {1} and (one.change_low <= one.change_high).all()


ONE = "# Aunt May : I lost it # Tom : my hat ? you did"
OTHER = "# Tom : yes # Tom : no"
COUNTED = [
    Dialogue(
        ONE, "May lost a hat .", tuple(ONE.split()), ((0, 4, 7), (7, 10, 15)),
        (((1, 3), (4, 5), (13, 14)), ((6, 7), (11, 12))), (Event("lose", "May", "hat"),),
    ),
    Dialogue(OTHER, "Tom says yes", tuple(OTHER.split()), ((0, 3, 4), (4, 7, 8)), (((1, 2), (3, 4)),)),
]  # fmt: skip


@pytest.fixture
def two():
    """The folder of a corpus of these."""

    def build(spec, place):
        corpora.write(place.results / "dialogues" / "test.jsonl", COUNTED)

    text = dialogues.DIALOGUES.of({"name": "two"})
    return study.make(text, build=build) / "results"


def test_text_is_counted(two):
    (line,) = tables.text_statistics(two, ["test"], "gold").to_dict("records")
    assert line == {
        "split": "test", "dialogues": 2, "words": 11.5, "longest": 15, "turns": 2.0, "speakers": 1.5, "summary words": 4.0,
        "events": 0.5, "clusters": 1.5, "mentions a cluster": pytest.approx(7 / 3),
        "linked words, %": pytest.approx(100 * 8 / 23),
    }  # fmt: skip


def test_resolvers_are_scored_against_gold(parts):
    folder = subjects.text_of(parts["main"][PLAIN]["run"]).folder
    told = corpora.read_dialogues(folder / "dialogues" / "test.jsonl")
    rule, gold = resolvers.resolver("rule")(told), [row.clusters for row in told]
    table = tables.resolver_scores(folder, "test", ["rule", "gold+corrupt:0.5", "gold"]).set_index("clusters")
    for name, system in {"rule": rule, "gold+corrupt:0.5": clustering.corrupt(gold, 0.5, 0)}.items():
        assert table.loc[name].drop("against").to_dict() == coreference_scores(system, gold).f1.to_dict()
    assert table.CoNLL["gold"] == 100 > table.CoNLL.drop("gold").max()
    other = tables.resolver_scores(folder, "test", ["gold"], "rule")
    assert other.CoNLL.tolist() == [coreference_scores(gold, rule).f1["CoNLL"]] and other.against.tolist() == ["rule"]


def test_stored_links_are_compared_by_first_words(two, tmp_path):
    rows = [
        "# ĠAunt ĠMay Ġ: ĠI Ġlost Ġit Ġ# ĠTom Ġ: Ġmy Ġhat Ġ? Ġyou Ġdid ##### [] ##### [4, 13, 11] ##### [1, 4, 6] ##### 15",
        "# ĠTom Ġ: Ġyes Ġ# ĠTom Ġ: Ġno ##### [] ##### [3] ##### [1] ##### 8",
    ]
    (tmp_path / "links").write_text("\n".join(rows) + "\n", encoding="utf-8")
    table = tables.resolver_scores(two, "test", [f"stored:{tmp_path / 'links'}"])
    assert table.CoNLL.tolist() == [100]  # though gold has "Aunt May"


def test_mentions_are_marked_by_their_cluster(two):
    assert tables.marked(two, "test", "gold", 0).split("\n") == [
        "# [0: Aunt May] : [0: I] lost [1: it]", "# Tom : my [1: hat] ? [0: you] did",
    ]  # fmt: skip
    assert tables.marked(two, "test", "gold", 1) == "# [0: Tom] : [0: yes]\n# Tom : no"
    assert tables.marked(two, "test", "gold+corrupt:0", 1) == "# [0: Tom] : [0: yes]\n# Tom : no"


def test_the_chosen_example_gains_most(board):
    place = tables.best_example(board, MAIN, MASKED)
    gap = board.statistics(MAIN)[:, -1] - board.statistics(MASKED)[:, -1]
    pairs = board.task.pairs("test")
    assert gap[place] == gap.max() and len(pairs[place].words) == min(
        len(pairs[i].words) for i in np.flatnonzero(gap == gap.max())
    )


def test_masking_curves_begin_at_the_plain_model_and_end_at_no_heads(parts):
    names = [*(f"{order}, 1 a layer" for order in coreference.ORDERS), "random 2, 1 a layer", "lowest, 3 a layer"]
    rows = {name: parts["masks"][name] for name in names}
    board = told_by({PLAIN: parts["main"][PLAIN], **rows}, 50, 20, 8, 12, 10, 3)
    table = tables.masking(board, rows)
    values = {name: rouge(board, name).mean(0)[0] for name in (PLAIN, *names)}
    wanted = {("random", 1, 1): values["random 2, 1 a layer"]}
    for order in coreference.ORDERS:
        wanted |= {(order, 0, 0): values[PLAIN], (order, 1, 0): values[f"{order}, 1 a layer"]}
        wanted[order, 3, 0] = values["lowest, 3 a layer"]
    wanted = pd.Series(wanted).sort_index()
    rouge_1 = table[table.metric == "ROUGE-1"].set_index(["order", "number", "draw"]).sort_index()
    assert rouge_1.index.tolist() == wanted.index.tolist() and rouge_1["heads"]["lowest"].tolist() == [0, 3, 9]
    np.testing.assert_allclose(rouge_1.value, wanted)
    every = values["lowest, 3 a layer"] - values[PLAIN]
    np.testing.assert_allclose(rouge_1["share of all"], (wanted - values[PLAIN]) / every)


def test_masking_in_a_training_setting_is_held_against_its_own_model(parts):
    settings, name = {PLAIN: parts["main"][PLAIN], **parts["training"]}, "steps x 2: lowest, 1 a layer"
    board = told_by({**settings, name: parts["settings"][name]}, 50, 20, 8, 12, 10)
    table = tables.masking_by_setting(board, {name: parts["settings"][name]}, settings)
    np.testing.assert_allclose(table.change[:3], (rouge(board, name) - rouge(board, "steps x 2")).mean(0))
    with pytest.raises(StudyError, match="'steps x 2'"):
        tables.masking_by_setting(board, {name: parts["settings"][name]}, {PLAIN: settings[PLAIN]})


def test_injected_heads_before_and_after(parts):
    rows = parts["main"]
    table = tables.before_after(rows, [MAIN, MASKED], 6)
    before = coreference.runs.ranking(rows[PLAIN]["run"], 6)
    for name, lines in table.groupby("row"):
        run = rows[name]["run"]
        after = coreference.runs.ranking(run, 6, control=run["control"])
        assert lines[[*ADDRESS]].apply(tuple, axis=1).tolist() == coreference.runs.addresses(run["control"]["heads"])
        for line in lines.itertuples():
            for when, scores in (("before", before), ("after", after)):
                own = scores.loc[line.kind, line.layer]
                larger = int((own.importance > own.importance[line.head]).sum())
                found = (getattr(line, when), getattr(line, f"loss_{when}"), getattr(line, f"rank_{when}"))
                assert found == (own.importance[line.head], own.loss[line.head], larger + 1)
    assert (table.rank_before == 3).all() and (table[table.row == MASKED].after == 0).all()  # the lowest of three


def test_injection_in_one_table(parts):
    masks = {name: parts["masks"][name] for name in ("lowest, 1 a layer", "lowest, 3 a layer")}
    chosen = {"main": {name: parts["main"][name] for name in (PLAIN, MAIN)}, "masks": masks}
    boards = {seed: told_by(chosen["main"] | masks, *lost) for seed, lost in enumerate(((9, 40, 8, 3), (8, 30, 7, 4)), 1)}
    each = tables.over_seeds(boards, [PLAIN, MAIN]).set_index(["row", "metric"])
    boards[3] = told_by({PLAIN: parts["main"][PLAIN]}, 7)  # a training whose injection is not made yet counts nowhere
    table = tables.summed(boards, chosen)
    wanted = {f"{MAIN}: ROUGE-2": "value low high", f"{MAIN}: ROUGE-2, change": "change change_low change_high"}
    for what, names in wanted.items():
        assert table.loc[what].tolist() == [*each.loc[MAIN, "ROUGE-2"][names.split()], 2]
    gap = [(rouge(boards[1], "lowest, 3 a layer") - rouge(boards[1], PLAIN)).mean(0)[0], 1]
    assert table.loc["all heads off: ROUGE-1, change", ["value", "n"]].tolist() == pytest.approx(gap)
    rise = tables.before_after(parts["main"], [MAIN], 6).loss_after.mean() * 1000
    assert table.value[f"{MAIN}: loss without these heads, after"] == pytest.approx(rise) and table.index.is_unique


@pytest.mark.parametrize(("steps", "what"), [(0, "any row;"), (7, r"\S+ plain, main, stage . and \d+ more;")])
def test_what_is_not_made_is_not_summed_up(steps, what):
    with pytest.raises(StudyError, match=f"^Not made: {what}"):
        coreference.runs.made_of(tiny_injection.settings({"coreference.summarization.steps": steps}), 1)


def test_heads_matter_more_than_the_same_heads_under_an_empty_matrix():
    after = {MAIN: (0.9, 0.7, 0.8), f"{MAIN}, no links": (0.4, 0.6, 0.2), "injected, random": (0.1, 0.1, 0.1)}
    rows = [(row, "encoder", 2, 0 if seed < 3 or row != "injected, random" else 5, value, seed) for row, values in after.items()
            for seed, value in enumerate(values, 1)]  # fmt: skip
    (line,) = tables.matter_more(pd.DataFrame(rows, columns=["row", *ADDRESS, "after", "seed"])).to_dict("records")
    mean, low, high = np.mean(gaps := [0.5, 0.1, 0.6]), *stats.t.interval(0.95, 2, np.mean(gaps), stats.sem(gaps))
    assert (line["control"], line["layer"], line["seeds"]) == (f"{MAIN}, no links", 2, 3)
    np.testing.assert_allclose([line["more"], line["low"], line["high"]], [mean, low, high])


def test_gain_against_the_quality_of_clusters(parts):
    quality = {name: parts["quality"][name] for name in (f"{MAIN}, gold+shuffled", f"{MAIN}, rule")}
    board = told_by({name: parts["main"][name] for name in (PLAIN, MAIN)} | quality, 9, 40, 20, 6)
    table = tables.quality_curve(board, quality)
    scored = tables.resolver_scores(board.task.folder, "test", ["gold", "gold+shuffled", "rule"]).set_index("clusters").CoNLL
    assert table.groupby("clusters").conll.first().to_dict() == scored.to_dict()
    for name in (MAIN, *quality):
        np.testing.assert_allclose(table.change[table.row == name][:3], (rouge(board, name) - rouge(board, PLAIN)).mean(0))
    # a ceiling can be what clusters are held against
    table = tables.quality_curve(board, {}, main=f"{MAIN}, gold+shuffled", truth="gold")
    assert (table.conll == scored["gold+shuffled"]).all()


def test_gains_beside_what_the_chosen_heads_cost(parts):
    board = told_by({name: parts["main"][name] for name in (PLAIN, MAIN, "injected, highest")}, 9, 40, 6)
    alone = tables.ablation({1: board.rows[PLAIN]}, 6)
    table = tables.choices({1: board}, [MAIN, "injected, highest", "injected, probing"], alone)
    assert table.row.tolist() == [MAIN, "injected, highest"] and table.seed.tolist() == [1, 1]
    loss = alone["seed 1"].loss
    for name, line in zip(table.row, table.itertuples(), strict=True):
        heads = coreference.runs.addresses(board.rows[name]["run"]["control"]["heads"])
        assert line.loss == pytest.approx(1000 * sum(loss[at] for at in heads))
        assert line.first == pytest.approx(1000 * sum(loss[at] for at in heads if at[1] == 0))
        assert line.change == pytest.approx((rouge(board, name) - rouge(board, PLAIN)).mean(0)[0])


def test_tokens_of_one_person_are_linked(parts):
    spec = parts["main"][PLAIN]["run"]
    tokens, ids, clusters = tables.linked_tokens(spec, "test", "gold", "whole", 0)
    side = subjects.text_of(spec).source
    assert len(tokens) == len(ids) and side.pieces(ids) == tokens and clusters
    places = [token for cluster in clusters for token in cluster]
    assert len(places) == len(set(places)) and max(places) < len(ids)
    matrix = coreference.linked(ids, clusters).matrices(torch.tensor([ids]))[0]
    torch.testing.assert_close(matrix, coreference.matrices.full_link(clusters, len(ids)))
