"""Tables of injection: scores and changes by hand, text and resolvers, rankings, masking curves, clusters against gain."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from helpers import corpora, study
from helpers.corpora import clusters as clustering
from helpers.corpora import dialogues, gum, resolvers
from helpers.heads.families import ADDRESS
from helpers.methods import coreference
from helpers.methods.coreference import tables
from helpers.methods.coreference.runs import MAIN, PLAIN
from helpers.records import Dialogue, Event
from helpers.runs import subjects
from helpers.scores import scoring
from helpers.scores.coreference import coreference_scores
from helpers.study import StudyError, recipe
from helpers.world import conversations
from tests.unit import tiny_injection
from tests.unit.tiny_injection import SEED

MASKED, MIXED = "masked, lowest", "layer of its own, upper"
ROUGE = ["ROUGE-1", "ROUGE-2", "ROUGE-L"]
COLUMNS = ["row", "metric", "value", "low", "high", "change", "change_low", "change_high", "percent", "heads", "over"]


@pytest.fixture(scope="module")
def parts():
    """Rows by part."""
    return tiny_injection.rows()


@pytest.fixture(autouse=True)
def store(isolated, tmp_path_factory, monkeypatch):
    """Tests share a store, in which a row is trained when the first test reads it."""
    tiny_injection.go_to(tmp_path_factory.getbasetemp(), monkeypatch)


class Told(tables.Board):
    """A board of rows that wrote what is said here."""

    def __init__(self, rows, texts, settings=None):
        super().__init__(settings or tiny_injection.settings(), rows)
        self.texts = dict(zip(rows, texts, strict=True))

    def written(self, name):
        return self.texts[name]


def lossy(pairs, every):
    """Summaries of which each `every`th word is lost."""
    return [" ".join(word for n, word in enumerate(pair.target.split()) if (n + 1) % every) for pair in pairs]


def told_by(rows, *lost):
    """A board whose rows lost each so manieth word of every reference."""
    pairs = subjects.text_of(next(iter(rows.values()))["run"]).pairs("test")
    return Told(rows, [lossy(pairs, every) for every in lost])


def rouge(board, name):
    return scoring.rouge_statistics(board.texts[name], [pair.target for pair in board.task.pairs("test")])


def events(board, name):
    counts = conversations.consistency(board.texts[name], board.dialogues)
    return 100 * counts[:, 2].sum() / counts[:, 0].sum()


@pytest.fixture
def board(parts):
    main = parts["main"]
    return told_by({name: main[name] for name in (PLAIN, MASKED, MAIN, MIXED)}, 9, 7, 40, 5)


def heads_by(values, layers=2, kind="encoder"):
    """Scores by head, the columns' rows laid out layer by layer."""
    size = len(next(iter(values.values()))) // layers
    return pd.DataFrame(values, pd.MultiIndex.from_product([[kind], range(layers), range(size)], names=ADDRESS))


# --- boards ----------------------------------------------------------------------------------------------------------


def test_a_board_scores_what_is_in_the_store(parts, tmp_path):
    board = tables.Board(tiny_injection.settings(), parts["main"])
    texts = coreference.runs.written(parts["main"][MAIN], "test", 1)
    assert board.written(MAIN) == texts and board.metrics == [*ROUGE, "events"]
    np.testing.assert_array_equal(board.statistics(MAIN), board.count(texts))
    assert tables.examples(board, [MAIN], 2)[MAIN].tolist() == texts[:2]
    # natural dialogues have no events
    corpora.write(
        tmp_path / "dialogues" / "test.jsonl", [Dialogue(r.source, r.target, r.words, r.turns) for r in board.dialogues]
    )
    (tmp_path / "test.jsonl").write_bytes((board.task.folder / "test.jsonl").read_bytes())
    board.task = subjects.Subject(board.task.kind, board.task.corpus, tmp_path, board.task.source, board.task.target)
    assert board.metrics == ROUGE and list(tables.scores(board, [PLAIN]).metric) == ROUGE


def test_boards_of_several_seeds(parts):
    found = tables.boards(tiny_injection.settings(), parts, SEED)
    assert list(found) == [1, 2, 3]
    assert set(found[1].rows) == {name for part, named in parts.items() if not part.startswith("seed") for name in named}
    assert found[2].rows == parts["seed 2"] and found[3].rows == parts["seed 3"]


def test_of_translation_there_are_no_events(parts):
    rows = tiny_injection.rows(kind=subjects.TRANSLATION)["main"]
    board = told_by({name: rows[name] for name in (PLAIN, MIXED)}, 7, 9)
    assert board.metrics == ["BLEU"] and board.dialogues == []
    table, references = tables.scores(board), [pair.target for pair in board.task.pairs("test")]
    bleu = [scoring.bleu(board.texts[name], references, 1)["bleu"] for name in (PLAIN, MIXED)]
    np.testing.assert_allclose(table.value, bleu)
    np.testing.assert_allclose(table.change, [0, bleu[1] - bleu[0]])
    np.testing.assert_allclose(table.percent, [0, 100 * (bleu[1] / bleu[0] - 1)])


# --- scores ----------------------------------------------------------------------------------------------------------


def test_scores_by_hand(board):
    table = tables.scores(board).set_index(["row", "metric"])
    assert list(table.reset_index()) == COLUMNS and len(table) == 16
    base = np.array([*rouge(board, PLAIN).mean(0), events(board, PLAIN)])
    for name in board.rows:
        own, line = np.array([*rouge(board, name).mean(0), events(board, name)]), table.loc[name]
        assert list(line.index) == [*ROUGE, "events"]
        np.testing.assert_allclose(line.value, own)
        np.testing.assert_allclose(line.change, own - base, atol=1e-12)
        np.testing.assert_allclose(line.percent, 100 * (own / base - 1), atol=1e-12)
        assert ((line.low <= line.value) & (line.value <= line.high)).all()
    assert (table.loc[MAIN].change > 0).all() and (table.loc[MIXED].change[:3] < 0).all()
    paired = scoring.mean_interval(rouge(board, MAIN), rouge(board, PLAIN), 100)
    np.testing.assert_allclose(table.loc[MAIN, ["change_low", "change_high"]][:3], np.array(paired[1:]).T)
    assert table["heads"].xs("events", level="metric").to_dict() == {PLAIN: 0, MASKED: 3, MAIN: 3, MIXED: 0}
    against = tables.scores(board, [MIXED], MASKED)
    np.testing.assert_allclose(against.change[:3], (rouge(board, MIXED) - rouge(board, MASKED)).mean(0))
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


def test_events_that_rows_tell(board):
    table = tables.events_told(board, [PLAIN, MIXED])
    assert list(table.index) == ["reference", PLAIN, MIXED] and (table.loc["reference"] == 100).all()
    for name in (PLAIN, MIXED):
        whole, *told = conversations.consistency(board.texts[name], board.dialogues).sum(0)
        np.testing.assert_allclose(table.loc[name], [100 * number / whole for number in told])


def test_baselines_tell_the_right_events_of_guessed_people(board):
    table = tables.baselines(board, 3).set_index(["row", "metric"])
    names = [f"baseline: {name}" for name in ("random people", "the speaker", "nearest name")]
    assert list(table.index.unique("row")) == names and list(table) == COLUMNS[2:]
    plain = tables.scores(board, [PLAIN]).set_index("metric")
    for name, way in zip(names, ("random", "speaker", "nearest"), strict=True):
        texts = conversations.guesses(board.dialogues, way, 3)
        counts = conversations.consistency(texts, board.dialogues).sum(0)
        own = scoring.rouge_statistics(texts, [pair.target for pair in board.task.pairs("test")]).mean(0)
        np.testing.assert_allclose(table.loc[name].value, [*own, 100 * counts[2] / counts[0]])
        np.testing.assert_allclose(table.loc[name].change, table.loc[name].value - plain.value)
    beside = tables.beside_baselines(tables.scores(board, [PLAIN]), board)
    assert beside.row.tolist() == [PLAIN] * 4 + names and (beside.metric[4:] == "events").all()


def test_means_over_seeds_have_t_intervals(parts):
    rows = {name: parts["main"][name] for name in (PLAIN, MIXED)}
    boards = {seed: told_by(rows, *lost) for seed, lost in enumerate(((9, 11), (7, 12), (8, 8)), 1)}
    table = tables.over_seeds(boards, [PLAIN, MIXED]).set_index(["row", "metric"])
    each = {name: np.array([rouge(one, name).mean(0) for one in boards.values()]) for name in rows}
    shown = {("value", "low", "high"): each[MIXED], ("change", "change_low", "change_high"): each[MIXED] - each[PLAIN]}
    for columns, values in shown.items():
        low, high = stats.t.interval(0.95, 2, values.mean(0), stats.sem(values))
        np.testing.assert_allclose(table.loc[MIXED, list(columns)][:3], np.array([values.mean(0), low, high]).T)
    np.testing.assert_allclose(table.loc[MIXED].percent[:3], (100 * (each[MIXED] / each[PLAIN] - 1)).mean(0))
    assert (table.seeds == 3).all() and (table.loc[PLAIN][["change", "change_low", "change_high"]] == 0).all(axis=None)
    single = tables.over_seeds({1: boards[1]}, [MIXED])
    assert single[["low", "high", "change_low", "change_high"]].isna().all(axis=None) and (single.seeds == 1).all()


# --- text and resolvers ----------------------------------------------------------------------------------------------

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
    (line,) = tables.text_statistics(two, ["test"], "rule").to_dict("records")
    rule = resolvers.resolver("rule")(COUNTED)
    assert line["clusters"] == sum(map(len, rule)) / 2 and line["words"] == 11.5


def test_resolvers_are_scored_against_gold(parts):
    of = subjects.text_of(parts["main"][PLAIN]["run"])
    names = ["rule", "gold+shuffled", "gold+corrupt:0.5", "gold"]
    table = tables.resolver_scores(of.folder, "test", names).set_index("clusters")
    told = corpora.read_dialogues(of.folder / "dialogues" / "test.jsonl")
    gold = [row.clusters for row in told]
    systems = {
        "rule": resolvers.resolver("rule")(told), "gold+shuffled": clustering.shuffled(gold, 0),
        "gold+corrupt:0.5": clustering.corrupt(gold, 0.5, 0), "gold": gold,
    }  # fmt: skip
    assert list(table) == ["against", "MUC", "B-cubed", "CEAF-e", "CoNLL"] and (table.against == "gold").all()
    for name, system in systems.items():
        assert table.loc[name].drop("against").to_dict() == coreference_scores(system, gold).f1.to_dict()
    assert table.CoNLL["gold"] == 100 > table.CoNLL.drop("gold").max()
    other = tables.resolver_scores(of.folder, "test", ["gold"], "rule")
    assert other.loc[0].drop(["clusters", "against"]).to_dict() == coreference_scores(gold, systems["rule"]).f1.to_dict()
    assert other.against.tolist() == ["rule"]


def test_stored_links_are_compared_by_first_words(two, tmp_path):
    rows = []
    for tokens, links in (
        ("# ĠAunt ĠMay Ġ: ĠI Ġlost Ġit Ġ# ĠTom Ġ: Ġmy Ġhat Ġ? Ġyou Ġdid", [(4, 1), (13, 4), (11, 6)]),
        ("# ĠTom Ġ: Ġyes Ġ# ĠTom Ġ: Ġno", [(3, 1)]),
    ):
        size = len(tokens.split())
        rows.append(
            " ##### ".join((tokens, str(list(range(size))), *(str(list(side)) for side in zip(*links, strict=True)), str(size)))
        )
    (tmp_path / "links").write_text("\n".join(rows) + "\n", encoding="utf-8")
    table = tables.resolver_scores(two, "test", [f"stored:{tmp_path / 'links'}"])
    assert table.CoNLL.tolist() == [100]  # though gold has "Aunt May"


def conllu(speaker, *words):
    """Lines of a sentence whose words are "form" or "form entity"."""
    lines = [f"# speaker = {speaker}"]
    for number, word in enumerate(words, 1):
        form, _, entity = word.partition(" ")
        lines.append("\t".join((str(number), form, *"_______", f"Entity={entity}" if entity else "_")))
    return "\n".join([*lines, "", ""])


GUM = conllu("Ann", "I (1-person)", "saw", "the (2-thing", "lamp 2)") + conllu("Bob", "you (1-person)", "saw", "it (2-thing)")


def pack(root):
    """A local folder with an archive of one conversation."""
    (root / "gum").mkdir()
    with tarfile.open(root / "gum" / "gum.tar.xz", "w:xz") as archive:
        member = tarfile.TarInfo("dep/GUM_conversation_a.conllu")
        member.size = len(GUM.encode())
        archive.addfile(member, io.BytesIO(GUM.encode()))
    return str(root)


def test_rules_are_scored_on_what_is_said_in_gum(tmp_path):
    table = tables.gum_scores(pack(tmp_path))
    (told,) = gum.gum(str(tmp_path))
    (system,) = resolvers.resolver("rule")([told])
    assert any((1, 2) in cluster for cluster in system)  # a label, which is no mention of what is said
    said = tuple(c for c in (tuple(m for m in cluster if m[0] not in (1, 8)) for cluster in system) if len(c) > 1)
    scored = coreference_scores([said], [told.clusters]).f1.to_dict()
    assert table.to_dict("records") == [{"clusters": "rule", "against": "GUM, 1 documents", **scored}]


def test_resolvers_of_a_profile(parts, tmp_path, monkeypatch):
    settings = tiny_injection.settings({"coreference.rates": [0.5, 1.0], "coreference.written": ["rule", "gold+corrupt:0.2"]})
    folder = subjects.text_of(parts["main"][PLAIN]["run"]).folder
    table = tables.resolvers(settings, folder, "test")
    names = ["rule", "gold+corrupt:0.2", "gold+corrupt:0.5", "gold+corrupt:1", "gold+shuffled"]
    pd.testing.assert_frame_equal(table, tables.resolver_scores(folder, "test", names))
    monkeypatch.setenv("HEADS_DATA_ROOT", pack(tmp_path))
    assert tables.resolvers(settings, folder, "test").against.tolist() == ["gold"] * 5 + ["GUM, 1 documents"]
    ruled = tables.resolvers(tiny_injection.settings({"coreference.summarization.links": "rule"}), folder, "test")
    assert ruled.clusters[:3].tolist() == ["rule+corrupt:0.5", "rule+shuffled", "rule"][:3] and ruled.against[0] == "rule"


def test_mentions_are_marked_by_their_cluster(two):
    assert tables.marked(two, "test", "gold", 0).split("\n") == [
        "# [0: Aunt May] : [0: I] lost [1: it]", "# Tom : my [1: hat] ? [0: you] did",
    ]  # fmt: skip
    assert tables.marked(two, "test", "gold", 1) == "# [0: Tom] : [0: yes]\n# Tom : no"
    assert tables.marked(two, "test", "gold+corrupt:0", 1) == "# [0: Tom] : [0: yes]\n# Tom : no"


@pytest.mark.parametrize("span", coreference.SPANS)
def test_shown_matrices_are_those_of_the_text(parts, span):
    run = parts["main"][PLAIN]["run"]
    of = subjects.text_of(run)
    words, found = tables.shown_matrices(run, "test", "gold", span, 1, 30)
    ids = of.source.encode(of.pairs("test")[1].source)
    assert list(found) == ["full link", "adjacent link", "previous link"] and words == of.source.pieces(ids)[:30]
    for form, matrix in zip(coreference.FORMS, found.values(), strict=True):
        links, _ = coreference.runs.links_of(run, {"matrix": form, "span": span, "links": "gold"}, ("test",))
        np.testing.assert_array_equal(matrix, links.matrices(torch.tensor([ids]))[0][:30, :30])
        assert (matrix != np.eye(30)).any()


# --- heads -----------------------------------------------------------------------------------------------------------


def test_whether_the_lowest_head_is_the_lowest_elsewhere():
    values = {
        "one": [0.1, 0.2, 0.3, 0.4, 0.4, 0.3, 0.2, 0.1],  # lowest: 0 and 3
        "near": [0.2, 0.1, 0.3, 0.4, 0.9, 0.8, 0.7, 0.1],
        "far": [0.4, 0.3, 0.2, 0.1, 0.4, 0.3, 0.1, 0.2],
        "none": [0.3, 0.1, 0.2, 0.4, 0.1, 0.2, 0.3, 0.4],
    }
    table = tables.same_lowest(heads_by(values), "one").set_index("row")
    assert table["same head"].to_dict() == {"one": 1, "near": 0.5, "far": 0, "none": 0}
    assert table["in the lower half"].to_dict() == {"one": 1, "near": 1, "far": 0.5, "none": 0}


def test_masking_curves_begin_at_the_plain_model_and_end_at_no_heads(parts):
    names = ["lowest, 1 a layer", "highest, 1 a layer", "random, 1 a layer", "random 2, 1 a layer", "lowest, 3 a layer"]
    rows = {name: parts["masks"][name] for name in names}
    board = told_by({PLAIN: parts["main"][PLAIN], **rows}, 50, 20, 8, 12, 10, 3)
    table = tables.masking(board, rows)
    rouge_1 = table[table.metric == "ROUGE-1"].set_index(["order", "number", "draw"]).sort_index()
    values = {name: rouge(board, name).mean(0)[0] for name in (PLAIN, *names)}
    wanted = {("random", 1, 1): values["random 2, 1 a layer"]}
    for order in coreference.ORDERS:
        wanted |= {(order, 0, 0): values[PLAIN], (order, 1, 0): values[f"{order}, 1 a layer"]}
        wanted[order, 3, 0] = values["lowest, 3 a layer"]
    wanted = pd.Series(wanted).sort_index()
    assert rouge_1.index.tolist() == wanted.index.tolist() and len(table) == 4 * len(wanted)
    np.testing.assert_allclose(rouge_1.value, wanted)
    np.testing.assert_allclose(rouge_1.change, wanted - values[PLAIN])
    every = values["lowest, 3 a layer"] - values[PLAIN]
    np.testing.assert_allclose(rouge_1["all off"], every)
    np.testing.assert_allclose(rouge_1["share of all"], (wanted - values[PLAIN]) / every)
    assert rouge_1["heads"]["lowest"].tolist() == [0, 3, 9]


def test_injected_heads_before_and_after(parts):
    rows = parts["main"]
    table = tables.before_after(rows, [MAIN, MASKED], 6)
    before = coreference.runs.ranking(rows[PLAIN]["run"], 6)
    assert table.row.tolist() == [MAIN] * 3 + [MASKED] * 3 and (table["heads"] == 3).all()
    for name, lines in table.groupby("row"):
        run = rows[name]["run"]
        after = coreference.runs.ranking(run, 6, control=run["control"])
        assert lines[[*ADDRESS]].apply(tuple, axis=1).tolist() == coreference.runs.addresses(run["control"]["heads"])
        for line in lines.itertuples():
            for when, scores in (("before", before), ("after", after)):
                own = scores.loc[line.kind, line.layer]
                found = (getattr(line, when), getattr(line, f"loss_{when}"), getattr(line, f"rank_{when}"))
                larger = int((own.importance > own.importance[line.head]).sum())
                assert found == (own.importance[line.head], own.loss[line.head], larger + 1)
    assert (table.rank_before == 3).all() and (table[table.row == MASKED].after == 0).all()  # the lowest of three
    main = tables.Board(tiny_injection.settings(), rows)
    boards = {1: main, 2: main, 3: tables.Board(tiny_injection.settings(), parts["seed 3"])}  # the last has the plain row alone
    over = tables.before_after_over_seeds(boards, [MAIN], 6)
    assert over.seed.tolist() == [1] * 3 + [2] * 3
    pd.testing.assert_frame_equal(over[:3].drop(columns="seed"), table[:3])


def test_gain_against_the_quality_of_clusters(parts):
    quality = parts["quality"]
    board = told_by({name: parts["main"][name] for name in (PLAIN, MAIN)} | quality, 9, 40, 20, 6, 11)
    table = tables.quality_curve(board, quality)
    links = {MAIN: "gold"} | {name: name.removeprefix(f"{MAIN}, ") for name in quality}
    assert list(table) == [*COLUMNS, "clusters", "conll"] and dict(zip(table.row, table.clusters, strict=True)) == links
    scored = tables.resolver_scores(board.task.folder, "test", list(links.values())).set_index("clusters").CoNLL
    assert (
        table.groupby("clusters").conll.first().to_dict() == scored.to_dict() and scored.gold == 100 > scored.drop("gold").max()
    )
    for name in links:
        np.testing.assert_allclose(table.change[table.row == name][:3], (rouge(board, name) - rouge(board, PLAIN)).mean(0))
    # a ceiling can be what clusters are held against
    table = tables.quality_curve(board, {}, main=f"{MAIN}, gold+shuffled", truth="gold")
    assert (table.conll == scored["gold+shuffled"]).all()


def test_changes_by_the_size_of_a_dialogues_largest_cluster(parts):
    board = told_by({name: parts["main"][name] for name in (PLAIN, MAIN)}, 9, 40)
    table = tables.by_cluster_size(board, [MAIN], "gold", 2)
    clusters = coreference.runs.clusters_of(board.task.folder, "test", "gold")
    sizes = np.array([max(map(len, row), default=0) for row in clusters])
    half = sizes <= np.median(sizes)
    counts = conversations.consistency(board.texts[MAIN], board.dialogues)
    change = rouge(board, MAIN) - rouge(board, PLAIN)
    for part, (told, lines) in zip((half, ~half), table.groupby("mentions", sort=False), strict=True):
        assert told == f"{sizes[part].min()} to {sizes[part].max()}" and (lines.dialogues == part.sum()).all()
        np.testing.assert_allclose(lines.change[:3], change[part].mean(0))
    finely = tables.by_cluster_size(board, [MAIN], "gold", len(sizes) - 1)  # cut at sizes that there are
    assert finely.drop_duplicates("mentions").dialogues.sum() == len(sizes)
    for told, lines in finely[finely.metric == "events"].groupby("mentions"):  # shares of the events of these alone
        low, high = map(int, told.split(" to "))
        own = counts[(sizes >= low) & (sizes <= high)]
        assert lines.value.item() == pytest.approx(100 * own[:, 2].sum() / own[:, 0].sum())


def test_masking_in_a_training_setting_is_held_against_its_own_model(parts):
    settings = {PLAIN: parts["main"][PLAIN], **parts["training"]}
    names = [f"{PLAIN}: lowest, 1 a layer", "steps x 2: lowest, 1 a layer", "steps x 2: highest, 3 a layer"]
    rows = {name: parts["settings"][name] for name in names}
    board = told_by({**settings, **rows}, 50, 20, 8, 12, 10, 3, 5)
    table = tables.masking_by_setting(board, rows, settings)
    assert table.drop_duplicates(["setting", "order", "number"])[["setting", "order", "number"]].to_numpy().tolist() == [
        [PLAIN, "lowest", 1], ["steps x 2", "lowest", 1], ["steps x 2", "highest", 3],
    ]  # fmt: skip
    lines = table[table.setting == "steps x 2"]
    for name, (_, part) in zip(names[1:], lines.groupby("order", sort=False), strict=True):
        np.testing.assert_allclose(part.change[:3], (rouge(board, name) - rouge(board, "steps x 2")).mean(0))
    with pytest.raises(StudyError, match="'steps x 2'"):
        tables.masking_by_setting(board, rows, {PLAIN: settings[PLAIN]})


def test_whether_better_clusters_gain_more():
    rows = [("up", c, g) for c, g in ((100, 5.0), (60, 3.0), (40, 2.0), (20, 2.5))]
    rows += [("down", c, g) for c, g in ((100, 1.0), (60, 2.0), (40, 3.0), (20, 4.0))] + [("two", 100, 1.0), ("two", 60, 0.0)]
    table = tables.gained(pd.DataFrame(rows, columns=["metric", "conll", "change"])).set_index("metric")
    assert table.points.to_dict() == {"up": 4, "down": 4, "two": 2}
    found = table["rank correlation of gain and CoNLL F1"]
    assert found["up"] == pytest.approx(0.8) and found["down"] == pytest.approx(-1) and np.isnan(found["two"])


def test_groups_of_rows_stand_beside_the_main_row(parts):
    own = {name: parts["main"][name] for name in (PLAIN, MAIN, MIXED, MASKED)}
    board = told_by(own, 9, 40, 5, 6)
    table = tables.by_group(board, {"a": {MIXED: own[MIXED]}, "none": {}, "b": {MASKED: own[MASKED]}})
    assert list(zip(table.group, table.row, strict=True))[::4] == [("a", MAIN), ("a", MIXED), ("b", MAIN), ("b", MASKED)]
    assert list(table.index) == list(range(16))
    pd.testing.assert_frame_equal(table[:8].drop(columns="group"), tables.scores(board, [MAIN, MIXED]))
    assert tables.by_group(board, {"none": {}}).empty


def test_importance_against_what_a_heads_absence_costs(parts):
    board = tables.Board(tiny_injection.settings(), {PLAIN: parts["main"][PLAIN]})
    scored = coreference.runs.ranking(parts["main"][PLAIN]["run"], 6)
    alone = tables.ablation({1: parts["main"][PLAIN]}, 6)
    pd.testing.assert_frame_equal(alone["seed 1"], scored[["loss", "low", "high"]])
    orders = scored.importance.groupby(level="layer").rank(), -scored.nats.rank()
    for loss, within in zip(orders, (1, -1), strict=True):
        frame = pd.DataFrame({"loss": loss / 100, "low": loss / 100 - 0.015, "high": 1.0})
        (line,) = tables.against_ablation({"seed 1": frame}, {1: board}, 6).to_dict("records")
        assert line == {
            "model": "seed 1", "heads": 9, "largest rise": frame.loss.max(), "within layers": pytest.approx(within),
            "all heads (nats)": pytest.approx(stats.spearmanr(scored.nats, loss).statistic),
            "heads that cost nothing": (frame.low <= 0).sum(),
        }  # fmt: skip


def test_mentions_beyond_the_cut_are_counted(parts):
    run = parts["main"][MAIN]["run"]
    folder = subjects.text_of(run).folder
    table, clusters = tables.lost(run, ["dev"]).iloc[0], coreference.runs.clusters_of(folder, "dev", "gold")
    sizes = [len(pair.words) for pair in corpora.read_pairs(folder / "dev.jsonl")]
    starts = [start >= size for row, size in zip(clusters, sizes, strict=True) for cluster in row for start, _ in cluster]
    assert (table.mentions, table["beyond the cut"]) == (len(starts), sum(starts)) and sum(starts) > 0
    assert table.percent == pytest.approx(100 * sum(starts) / len(starts))


# --- what is read ----------------------------------------------------------------------------------------------------


def test_tables_read_only_what_the_study_makes_and_every_ranking_of_it(parts):
    """Of both tasks, with heads chosen by importance and by probing, and as few rows as show it."""
    changes = {"coreference.parts": ["selection", "training", "matrices"], "coreference.draws": 1, "coreference.seeds": 1}
    changes |= {"coreference.alone": 2, "coreference.paces": [], "coreference.lengths": []}
    settings = tiny_injection.settings(changes)
    rows, others = (coreference.runs.rows_of(settings, kind, SEED) for kind in coreference.runs.TASKS)
    boards, since = tables.boards(settings, rows, SEED), len(recipe.read_since(0))
    tables.scores(boards[SEED])
    tables.scores(tables.Board(settings, others["main"]))
    tables.rankings(rows["training"], 6)
    tables.against_ablation(tables.ablation({seed: one.rows[PLAIN] for seed, one in boards.items()}, 6), boards, 6)
    after = coreference.runs.moved(rows)
    assert list(after) == [MAIN, "injected, random", "injected, highest", "injected, lowest, no links"]
    tables.before_after(boards[SEED].rows, list(after), 6)
    found = {folder for folder in recipe.read_since(since) if study.runs() in folder.parents}
    wanted = list(coreference.runs.recipes(settings, SEED))
    assert found <= {one.folder for one in wanted}
    assert {one.folder for one in wanted if one.kind is coreference.runs.RANKING} <= found
