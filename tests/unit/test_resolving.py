"""Splitting natural dialogues, resolvers on small ones, stored links, and what is refused."""

from itertools import islice

import pytest

from helpers.corpora import clusters as clustering
from helpers.corpora import parsing, resolvers, turns
from helpers.records import TURN
from helpers.scores.coreference import conll_f1
from helpers.world.conversations import conversations
from tests.unit.tiny_text import refused, write_archive


def said(dialogue, clusters):
    """Clusters as sets of "place-of-mention words", e.g. {"1 Anna", "5 my"}."""
    return [{" ".join((str(start), *dialogue.words[start:stop])) for start, stop in cluster} for cluster in clusters]


@pytest.mark.parametrize(("text", "words"), [
    ("I'm sure they’ll say I'd go", "I 'm sure they ’ll say I 'd go"),
    ("don't, can't stand-up o'clock", "don't , can't stand-up o'clock"),
    ("we've 2 (or 3) 'quoted' dogs'", "we 've 2 ( or 3 ) ' quoted ' dogs '"),
])  # fmt: skip
def test_words_and_marks(text, words):
    assert turns.split(text) == words.split()


def test_turns_of_natural_text():
    text = "Anna: Hi Tom!\r\nhow are you\nMr. Tom :fine\nTom: at 10:30: ok\n\nor not\nAnna:"
    dialogue = turns.from_text(text, "They talk.", "a set")
    assert dialogue.source == "# Anna : Hi Tom ! how are you Mr . Tom : fine # Tom : at 10 : 30 : ok or not # Anna :"
    assert dialogue.source == " ".join(dialogue.words)
    assert [dialogue.words[start] for start, _, _ in dialogue.turns] == [TURN] * 3
    spoken = [" ".join(dialogue.words[speech:stop]) for _, speech, stop in dialogue.turns]
    assert spoken == ["Hi Tom ! how are you Mr . Tom : fine", "at 10 : 30 : ok or not", ""]
    assert (dialogue.target, dialogue.origin, dialogue.clusters) == ("They talk.", "a set", ())
    dialogue = turns.from_text("well then\n#Person1#: yes\nAunt May: no", "", "")
    assert dialogue.source == "# ? : well then # Person1 : yes # Aunt May : no"
    assert dialogue.turns == ((0, 3, 5), (5, 8, 9), (9, 13, 14))


def test_checked_clusters_are_in_order_and_of_two_mentions_or_more():
    clusters = [[(6, 7), (4, 5)], [(9, 10)], [[3, 4], (0, 2)]]
    assert clustering.checked(clusters, 10, "here") == (((0, 2), (3, 4)), ((4, 5), (6, 7)))
    refused("(9, 11) in row 12 is outside of its 10", clustering.checked, [[(0, 1), (9, 11)]], 10, "row 12")
    refused("(3, 3) in row 12 has no word", clustering.checked, [[(0, 1), (3, 3)]], 10, "row 12")
    assert clustering.checked([[(0, 3), (5, 6)], [(2, 4), (7, 8)]], 10, "row 12")  # they may share words
    assert clustering.distinct([[(0, 6), (4, 6)], [(4, 6), (9, 10)], [(0, 6)]]) == [[(0, 6), (4, 6)], [(9, 10)]]
    refused("(5, 6) stands in row 12 more than once", clustering.checked, [[(0, 3), (5, 6)], [(5, 6), (7, 8)]], 10, "row 12")


def test_of_mentions_that_share_words_the_shortest_stays():
    nested = [[(0, 6), (8, 9)], [(0, 2), (4, 6)], [(1, 3), (8, 10)], [(5, 9)]]
    assert clustering.flat(nested) == [[(8, 9)], [(0, 2), (4, 6)]]
    assert clustering.flat([[(1, 3)], [(0, 2)]]) == [[(0, 2)]]  # of two as long, the first


def many(count=60):
    return [tuple(tuple((m, m + 1) for m in range(c * 10, c * 10 + 4 + (d + c) % 4)) for c in range(4)) for d in range(count)]


def test_shuffled_mentions_keep_their_dialogue_and_sizes():
    gold = many()
    done = clustering.shuffled(gold, 1)
    assert done == clustering.shuffled(gold, 1) != clustering.shuffled(gold, 2)
    for ours, theirs in zip(done, gold, strict=True):
        assert sorted(map(len, ours)) == sorted(map(len, theirs))
        assert sorted(m for c in ours for m in c) == sorted(m for c in theirs for m in c)
    assert conll_f1(done, gold) < 50


RULED = [  # text, and its clusters
    # first and second persons; "you" without an address is the speaker before, or else after
    ("Anna: I like your hat\nTom: you gave me mine\nAnna: my, u",
     ["Anna I you Anna my", "your Tom me mine u"]),
    ("Ann: you\nBob: hm\nSue: you", ["you Bob you"]),
    # an address by name changes who you are, a name that is spoken of does not
    ("Anna: hello\nTom: can you come? Hi Sue, can you?\nSue: ok\nAnna: Tom, you too",
     ["Anna you Anna", "Tom Tom you", "Sue you Sue"]),
    # quotes and fillers are left
    ('Anna: He said "I saw you" to me\nTom: “my” my, you know , you know me', ["Anna me you", "Tom my me"]),
    # names of speakers anywhere, of others in capitals; what begins sentences only, or stands in lower case too, is no name
    ("Aunt Rose: Tom knows Zarek. Great Zarek!\nTom: Zarek? Great. I\nSue: it rose? Rose!",
     ["Aunt_Rose Rose", "Tom Tom I", "Zarek Zarek Zarek"]),
    # gender is learnt from the first pronoun that takes the name
    ("Ann: I met Zok\nBob: did he say it ?\nAnn: Lily and he say she does", ["Ann I Ann", "Zok he he", "Lily she"]),
    # third persons are no speaker and nobody addressed; where nobody fits, somebody new
    ("Anna: Lily is sick\nBeth: she rests\nAnna: Beth, is she ok", ["Anna Anna", "Lily she she", "Beth Beth"]),
    ("Anna: Lily came with Beth, she waved\nBeth: no", ["Lily she", "Beth Beth"]),
    ("Anna: he came\nBeth: his dog", ["he his"]),
    # noun phrases, "it", and owners
    ("Ann: I sold the old car\nBob: the car? it was yours\nAnn: a car broke, it was new\nBob: its door",
     ["Ann I yours Ann", "the_old_car the_car it", "Bob Bob", "a_car it its"]),
    ("Ann: my phone is new\nBob: your phone? my phone!\nAnn: this phone?",
     ["Ann my your Ann", "phone phone", "Bob my", "phone this_phone"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), RULED)
def test_the_rule_resolves(text, wanted):
    dialogue = turns.from_text(text, "", "here")
    (clusters,) = resolvers.resolver("rule")([dialogue])
    found = [[" ".join(dialogue.words[start:stop]) for start, stop in cluster] for cluster in clusters]
    assert found == [[mention.replace("_", " ") for mention in cluster.split()] for cluster in wanted]


@pytest.mark.parametrize(("name", "wanted"), [
    ("match", ["Ann Ann Ann", "the_car a_car", "Zarek Zarek"]),
    ("nearest", ["Ann I you Ann he Ann me", "Zarek She Zarek His", "Bob my"]),
])  # fmt: skip
def test_worse_ones_know_the_same_words_or_the_nearest_name(name, wanted):
    text = "Ann: I sold the car, Zarek knows. She drove\nBob: did Tom tell you? Ann, he saw the cars, is Zarek my friend?"
    dialogue = turns.from_text(f"{text}\nAnn: a car is it, to me. His", "", "here")
    (clusters,) = resolvers.resolver(name)([dialogue])
    assert [["_".join(dialogue.words[slice(*mention)]) for mention in one] for one in clusters] == list(map(str.split, wanted))


def test_the_rule_resolves_most_of_a_controlled_dialogue():
    dialogues = list(islice(conversations(3), 60))
    gold = resolvers.resolver("gold")(dialogues)
    assert gold == [dialogue.clusters for dialogue in dialogues]
    found = resolvers.resolver("rule")(dialogues)
    assert conll_f1(found, gold) > 85 > 60 > conll_f1(clustering.shuffled(gold, 1), gold)


def test_unknown_resolvers_and_models_are_refused(tmp_path):
    for name in ("", "silver", "stored:", "rule:x"):
        refused(f"no resolver {name!r}", resolvers.resolver, name)
    refused("dialogue 0 of samsum", resolvers.resolver("gold"), [turns.from_text("Ann: hi", "", "samsum")])
    refused(f"Stanza's models for tokenize,coref cannot be loaded from {tmp_path}", resolvers.resolver, f"stanza:{tmp_path}")


def test_places_in_turns_become_places_in_the_dialogue():
    dialogue = turns.from_text("Ann: hi you\nBob: me", "", "")
    chains = [[(0, 0, 1)], [(0, 3, 4), (1, 0, 1), (1, (1, 1), (1, 1)), (1, 2, 3)], [(0, (1, 1), (1, 1))]]
    assert said(dialogue, resolvers.from_stanza(chains, dialogue)) == [{"1 Ann"}, {"4 you", "6 Bob", "8 me"}]


TOKENS = "# ĠAn na : ĠHey , ĠB etty 's Ġhat ! ĠZo Ã« ? Ġ# ĠTom : ĠI Ġgave Ġher Ġit Ġ# ĠAn na : ĠI Ġsee Ġ:)".split()
TEXT = "Anna: Hey, Betty's hat! Zoë?\nTom: I gave her it 🙂\nAnna: I see :)"


def row(links, tokens=TOKENS):
    sources, targets = zip(*links, strict=True) if links else ((), ())
    ids = list(range(len(tokens)))
    return " ##### ".join((" ".join(tokens), str(ids), str(list(sources)), str(list(targets)), str(len(tokens))))


def links(tmp_path, *rows, texts=(TEXT,)):
    path = tmp_path / "links.source"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    dialogues = [turns.from_text(text, "", "") for text in texts]
    return dialogues[0], resolvers.resolver(f"stored:{path}")(dialogues)


@pytest.mark.parametrize(
    ("linked", "text", "wanted"),
    [
        ([(19, 6), (20, 9), (22, 1), (25, 22)], TEXT, ["1 Anna;20 Anna;22 I", "5 Betty;16 her", "7 hat;17 it"]),
        ([(22, 1), (19, 6), (25, 20), (25, 22)], TEXT, ["1 Anna;17 it;20 Anna;22 I", "5 Betty;16 her"]),  # joined by a link
        # tokens that begin inside a word or a character stand for the word
        ([(17, 15), (23, 2), (12, 8)], TEXT, ["1 Anna;20 Anna", "6 's;9 Zoë", "12 Tom;14 I"]),
        ([(19, 6), (22, 1), (25, 22)], TEXT.split("\nAnna: I")[0], ["5 Betty;16 her"]),  # words that are cut off
    ],
)
def test_stored_links_become_clusters_of_first_words(tmp_path, linked, text, wanted):
    dialogue, (found,) = links(tmp_path, row(linked), texts=(text,))
    assert said(dialogue, found) == [set(cluster.split(";")) for cluster in wanted]


def test_links_are_read_from_an_archive_below_the_data_root(tmp_path, monkeypatch):
    _, plain = links(tmp_path, row([(19, 6)]))
    write_archive(tmp_path / "sub" / "a.tar.xz", {"data/test.source": (tmp_path / "links.source").read_bytes()})
    dialogues = [turns.from_text(TEXT, "", "")]
    refused("cannot be read", resolvers.stored, dialogues, "sub/a.tar.xz:data/test.source")
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path))
    assert resolvers.stored(dialogues, "sub/a.tar.xz:data/test.source") == plain
    refused("no file data/val.source in", resolvers.stored, dialogues, "sub/a.tar.xz:data/val.source")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("# ĠAn na ##### [1] ##### [] ##### []", "4 columns in row 2 of"),
        (row([(19, 99)]), "(19, 99) in row 2 of"),
        (row([(1, 0)], "# ĠTom : ĠI Ġsee Ġ# ĠAn na : ĠHey ,".split()), "19% of its dialogue's words in row 2 of"),
        ("\n".join([row([])] * 3), "4 rows for 2"),
    ],
)
def test_broken_rows_are_named(tmp_path, broken, reason):
    refused(reason, links, tmp_path, row([(19, 6)]), broken, texts=(TEXT, TEXT))


def test_gum_that_is_missing_or_damaged_is_named(tmp_path):
    path = tmp_path / "gum" / "gum.tar.xz"
    refused(f"{path} cannot be read", parsing.gum, path)
    write_archive(path, {"dep/GUM_news_c.conllu": "no table\n"})
    refused("Line 1 of GUM_news_c.conllu has 1 columns", parsing.gum, path)
    path.write_bytes(path.read_bytes()[:100])
    refused("damaged or cut off", parsing.gum, path)
