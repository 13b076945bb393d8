"""Splitting natural dialogues, resolvers on small ones, stored links, GUM, and what is refused."""

import io
import re
import tarfile
from itertools import islice, pairwise

import pytest

from helpers.corpora import clusters as clustering
from helpers.corpora import gum, resolvers, turns
from helpers.records import TURN
from helpers.scores.coreference import conll_f1
from helpers.study import StudyError
from helpers.world.conversations import conversations


def fails(sentence):
    return pytest.raises(StudyError, match=re.escape(sentence))


def said(dialogue, clusters):
    """Clusters as sets of "place-of-mention words", e.g. {"1 Anna", "5 my"}."""
    return [{" ".join((str(start), *dialogue.words[start:stop])) for start, stop in cluster} for cluster in clusters]


def ruled(text):
    """What `rule` finds: each cluster as its mentions' words in text order."""
    dialogue = turns.from_text(text, "", "here")
    (clusters,) = resolvers.resolver("rule")([dialogue])
    return [[" ".join(dialogue.words[start:stop]) for start, stop in cluster] for cluster in clusters]


# --- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Betty's number?", "Betty 's number ?"),
        ("I'm sure they’ll say I'd go", "I 'm sure they ’ll say I 'd go"),
        ("don't, can't stand-up o'clock", "don't , can't stand-up o'clock"),
        ("we've 2 (or 3) 'quoted' dogs'", "we 've 2 ( or 3 ) ' quoted ' dogs '"),
        ("<file_gif> :-) haha...", "< file _ gif > : - ) haha . . ."),
        ("Zoë 🙂 ok-", "Zoë 🙂 ok -"),
        ("'sup 's", "' sup ' s"),
    ],
)
def test_words_and_marks(text, words):
    assert turns.split(text) == words.split()


def test_turns_of_natural_text():
    dialogue = turns.from_text(
        "Anna: Hi Tom!\r\nhow are you\nMr. Tom :fine\nTom: at 10:30: ok\n\nor not\nAnna:", "They talk.", "a set"
    )
    assert dialogue.source == "# Anna : Hi Tom ! how are you Mr . Tom : fine # Tom : at 10 : 30 : ok or not # Anna :"
    assert dialogue.source == " ".join(dialogue.words)
    assert [dialogue.words[start] for start, _, _ in dialogue.turns] == [TURN] * 3
    spoken = [" ".join(dialogue.words[speech:stop]) for _, speech, stop in dialogue.turns]
    assert spoken == ["Hi Tom ! how are you Mr . Tom : fine", "at 10 : 30 : ok or not", ""]
    assert [dialogue.words[start + 1 : speech] for start, speech, _ in dialogue.turns] == [
        ("Anna", ":"),
        ("Tom", ":"),
        ("Anna", ":"),
    ]
    assert (dialogue.target, dialogue.origin, dialogue.clusters) == ("They talk.", "a set", ())


def test_labels_of_several_words_and_unknown_speakers():
    dialogue = turns.from_text("well then\n#Person1#: yes\nAunt May: no", "", "")
    assert dialogue.source == "# ? : well then # Person1 : yes # Aunt May : no"
    assert dialogue.turns == ((0, 3, 5), (5, 8, 9), (9, 13, 14))


def test_a_dialogue_without_words_has_no_turns():
    empty = turns.from_text(" \n\n", "Nothing.", "samsum")
    assert (empty.source, empty.words, empty.turns) == ("", (), ())


# --- clusters --------------------------------------------------------------------------------------------------------


def test_checked_clusters_are_in_order_and_of_two_mentions_or_more():
    assert clustering.checked([[(6, 7), (4, 5)], [(9, 10)], [[3, 4], (0, 2)]], 10, "here") == (
        ((0, 2), (3, 4)),
        ((4, 5), (6, 7)),
    )
    assert clustering.checked([], 0, "here") == ()


@pytest.mark.parametrize(
    ("clusters", "reason"),
    [
        ([[(0, 1), (9, 11)]], "The mention (9, 11) in row 12 of samsum test is outside of its 10 words"),
        ([[(-1, 1), (2, 3)]], "(-1, 1) in row 12 of samsum test is outside"),
        ([[(0, 1), (3, 3)]], "The mention (3, 3) in row 12 of samsum test has no word"),
        ([[(4, 3), (0, 1)]], "(4, 3) in row 12 of samsum test has no word"),
        ([[(0, 3), (5, 6)], [(1, 2), (7, 8)]], "The mentions (0, 3) and (1, 2) in row 12 of samsum test share a word"),
        ([[(0, 3), (5, 6)], [(2, 4), (7, 8)]], "(0, 3) and (2, 4)"),
        ([[(0, 3), (5, 6)], [(0, 3), (7, 8)]], "(0, 3) and (0, 3)"),
        ([[(0, 3), (0, 3)]], "share a word"),
        ([[(0, 1), (2, 3)], [(2, 3)]], "share a word"),  # also with a cluster that is dropped
        ([[(0, 1), (2, 3)], []], "A cluster in row 12 of samsum test has no mention"),
    ],
)
def test_bad_clusters_are_refused(clusters, reason):
    with fails(reason):
        clustering.checked(clusters, 10, "row 12 of samsum test")


def test_labels_are_no_mentions_of_what_is_spoken():
    dialogue = turns.from_text("Aunt May: I see\nTom: you do", "", "")
    clusters = (((1, 3), (4, 5), (9, 10)), ((7, 8), (10, 11)))
    assert clustering.spoken(dialogue, clusters) == (((4, 5), (9, 10)),)


def test_first_words_of_mentions():
    assert clustering.first_words([((0, 3), (5, 6))]) == (((0, 1), (5, 6)),)


def many(count=60):
    return [tuple(tuple((m, m + 1) for m in range(c * 10, c * 10 + 4 + (d + c) % 4)) for c in range(4)) for d in range(count)]


def test_corruption_lowers_the_score_steadily():
    gold = many()
    assert clustering.corrupt(gold, 0, 1) == gold
    scores = [conll_f1(clustering.corrupt(gold, rate / 10, 1), gold) for rate in range(11)]
    assert scores[0] == pytest.approx(100) and 20 < scores[-1] < 40
    assert all(3 < before - after < 12 for before, after in pairwise(scores))


def test_corruption_is_drawn_by_seed_and_place():
    gold = many()
    first = clustering.corrupt(gold, 0.5, 1)
    assert first == clustering.corrupt(gold, 0.5, 1) != clustering.corrupt(gold, 0.5, 2)
    assert clustering.corrupt(gold[:7], 0.5, 1) == first[:7]
    alike = clustering.corrupt([gold[0]] * 20, 0.5, 1)
    assert len(set(alike)) > 15


def test_corruption_cuts_drops_and_joins_as_often_as_it_says():
    pairs = [(((0, 1), (1, 2), (2, 3), (3, 4)),)] * 4000
    done = clustering.corrupt(pairs, 0.4, 3)
    kept = {mention for cluster in done[0] for mention in cluster}
    assert kept <= set(pairs[0][0])
    far = [(((0, 1), (1, 2), (2, 3), (3, 4)), tuple((m, m + 1) for m in range(9, 29)))] * 4000
    # a cut of the long cluster with two mentions of it in different clusters, none in one with the short cluster's
    long = [[cluster for cluster in clusters if cluster[-1][0] >= 9] for clusters in clustering.corrupt(far, 0.4, 3)]
    mentions = [sum(m[0] >= 9 for cluster in clusters for m in cluster) for clusters in long]
    assert sum(mentions) / 4000 / 20 == pytest.approx(0.8, abs=0.02)
    joined = sum(any(c[0][0] < 9 and c[-1][0] >= 9 for c in clusters) for clusters in long) / 4000
    assert 0.15 < joined < 0.35  # short to long, or long to the short one's second part
    whole = sum(len({id(c) for c in clusters}) == 1 for clusters in long) / 4000
    assert 0.55 < whole < 0.75  # not cut, or cut and joined again, or cut next to an end


def test_mentions_of_a_corrupted_dialogue_stand_once_and_in_order():
    for clusters in clustering.corrupt(many(), 0.7, 5):
        assert clustering.checked(clusters, 50, "here") == clusters


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_bad_rates_are_refused(rate):
    with fails("rate of corruption must be from 0 to 1"):
        clustering.corrupt(many(1), rate, 1)


def test_shuffled_mentions_keep_their_dialogue_and_sizes():
    gold = many()
    done = clustering.shuffled(gold, 1)
    assert done == clustering.shuffled(gold, 1) != clustering.shuffled(gold, 2)
    for ours, theirs in zip(done, gold, strict=True):
        assert sorted(map(len, ours)) == sorted(map(len, theirs))
        assert sorted(m for c in ours for m in c) == sorted(m for c in theirs for m in c)
        assert clustering.checked(ours, 50, "here") == ours
    assert conll_f1(done, gold) < 50


# --- the rule --------------------------------------------------------------------------------------------------------


def test_labels_and_first_and_second_persons():
    found = ruled("Anna: I like your hat\nTom: you gave me mine\nAnna: my, u")
    assert found == [["Anna", "I", "you", "Anna", "my"], ["your", "Tom", "me", "mine", "u"]]


def test_an_address_by_name_changes_who_you_are():
    found = ruled("Anna: hello\nTom: can you come? Hi Sue, can you?\nSue: ok\nAnna: Tom, you too")
    assert found == [["Anna", "you", "Anna"], ["Tom", "Tom", "you"], ["Sue", "you", "Sue"]]
    # without an address it is the speaker before, or else after
    assert ruled("Ann: you\nBob: hm\nSue: you") == [["you", "Bob", "you"]]
    # a name that is only spoken of does not
    assert ruled("Anna: I saw Tom there, did you?\nSue: no\nTom: yes") == [["Anna", "I"], ["Tom", "Tom"], ["you", "Sue"]]


def test_quotes_and_fillers_are_left():
    assert ruled('Anna: He said "I saw you" to me\nTom: “my” my, you know , you know me') == [
        ["Anna", "me", "you"], ["Tom", "my", "me"],
    ]  # fmt: skip


def test_names_of_speakers_anywhere_and_of_others_in_capitals():
    found = ruled("Aunt Rose: Tom knows Zarek. Great Zarek!\nTom: Zarek? Great. I\nSue: it rose? Rose!")
    assert found == [["Aunt Rose", "Rose"], ["Tom", "Tom", "I"], ["Zarek", "Zarek", "Zarek"]]
    assert ruled("Ann: well, Zarek ! Zarek ?") == [["Zarek", "Zarek"]]
    # begins sentences only, or stands in lower case too: no name
    assert ruled("Ann: Sunny. Sunny!\nBob: see Flower\nAnn: a flower, Flower") == [["Ann", "Ann"]]
    assert ruled("Ann: Larry is here\nBob: Larry Berg?\nAnn: Mr. Berg")[-1] == ["Larry", "Larry Berg", "Berg"]


def test_gender_of_forenames_kin_titles_and_endings():
    text = "Ann: I met {} and {}. He is here, she is not"
    for man, woman in (
        ("Larry", "Betty"),
        ("my dad", "my aunt"),
        ("Mr Zok", "Mrs Zok-Zik"),
        ("Mr. Zok", "Mrs. Zik"),
        ("Zok", "Zira"),
    ):
        found = ruled(text.format(man, woman))
        assert found[1:] == [[man.split()[-1], "He"], [woman.split()[-1], "she"]]
    # learnt from the first pronoun that takes the name
    assert ruled("Ann: I met Zok\nBob: did he say it ?\nAnn: Lily and he say she does")[1:] == [
        ["Zok", "he", "he"],
        ["Lily", "she"],
    ]


def test_third_persons_are_no_speaker_and_nobody_addressed():
    found = ruled("Anna: Lily is sick\nBeth: she rests\nAnna: Beth, is she ok")
    assert found == [["Anna", "Anna"], ["Lily", "she", "she"], ["Beth", "Beth"]]
    assert ruled("Anna: Larry saw Bill, he ran") == [["Bill", "he"]]
    assert ruled("Anna: Lily came. Anna did too, she waved")[1] == ["Lily", "she"]
    assert ruled("Anna: Lily came with Beth, she waved\nBeth: no")[0] == ["Lily", "she"]
    # nobody fits: somebody new, who stays
    assert ruled("Anna: he came\nBeth: his dog") == [["he", "his"]]


def test_noun_phrases_and_it():
    found = ruled("Ann: I sold the old car\nBob: the car? it was yours\nAnn: a car broke, it was new\nBob: its door")
    assert found[1:] == [["the old car", "the car", "it"], ["Bob", "Bob"], ["a car", "it", "its"]]
    owners = ruled("Ann: my phone is new\nBob: your phone? my phone!\nAnn: this phone?")
    assert [cluster for cluster in owners if "phone" in cluster] == [["phone", "phone"], ["phone", "this phone"]]


def test_a_word_of_kinship_before_a_name_is_that_person():
    found = ruled("ann: my brother mirok came\nbob: mirok ? how is he ?\nann: my brother is ill")
    assert found[1] == ["mirok", "mirok", "he", "brother"]
    assert ruled("ann: is zok here ?\nbob: my aunt zok is , he is not , she is")[0] == ["zok", "zok", "she"]
    assert ruled("ann: my brother laughed\nbob: he laughed")[1:] == [["brother", "he"]]


def test_resolved_mentions_never_share_words_and_unknown_speakers_are_nobody():
    assert ruled("I am here\nAnn: me too, me") == [["Ann", "me", "me"]]
    dialogues = [turns.from_text("Ann: Her mom's friend, the King of my Old Town, the This\nB: #!\n\nAnn: “", "", "")]
    assert len(resolvers.resolver("rule")(dialogues)[0]) == 1  # `checked` on odd text


def test_the_rule_resolves_most_of_a_controlled_dialogue():
    dialogues = list(islice(conversations(3), 60))
    gold = resolvers.resolver("gold")(dialogues)
    assert gold == [dialogue.clusters for dialogue in dialogues]
    found = resolvers.resolver("rule")(dialogues)
    assert conll_f1(found, gold) > 85 > 60 > conll_f1(clustering.shuffled(gold, 1), gold)


# --- other resolvers -------------------------------------------------------------------------------------------------


def test_gold_clusters_that_are_not_there_are_refused():
    with fails("There are no gold clusters in dialogue 0 of samsum"):
        resolvers.resolver("gold")([turns.from_text("Ann: hi", "", "samsum")])


@pytest.mark.parametrize("name", ["", "silver", "stored", "stored:", "rule:x", "gold:1", "fastcoref:", "stanza:"])
def test_unknown_resolvers_are_refused(name):
    with fails(f"There is no resolver {name!r}: choose one of gold, rule, stored:PATH"):
        resolvers.resolver(name)


def test_stanza_without_its_model_is_one_sentence(tmp_path):
    with fails(f"Stanza's coreference model cannot be loaded from {tmp_path}"):
        resolvers.resolver(f"stanza:{tmp_path}")


def test_fastcoref_without_package_or_model_is_one_sentence(tmp_path):
    with fails("or choose the resolver rule."):
        resolvers.resolver(f"fastcoref:{tmp_path}")


def test_places_in_turns_become_places_in_the_dialogue():
    dialogue = turns.from_text("Ann: hi you\nBob: me", "", "")
    chains = [[(0, 0, 1)], [(0, 3, 4), (1, 0, 1), (1, (1, 1), (1, 1)), (1, 2, 3)], [(0, (1, 1), (1, 1))]]
    assert said(dialogue, resolvers.from_stanza(chains, dialogue)) == [{"1 Ann"}, {"4 you", "6 Bob", "8 me"}]


def test_characters_become_words():
    dialogue = turns.from_text("Ann: my old hat\nBob: it's", "", "")
    text, places = resolvers.plain(dialogue)
    assert text == "Ann : my old hat\nBob : it 's\n"
    assert [(dialogue.words[word], text[start:end]) for word, start, end in places] == [
        (word, word) for word in ("Ann", ":", "my", "old", "hat", "Bob", ":", "it", "'s")
    ]
    spans = [[(6, 16), (23, 25)], [(0, 3), (3, 4)], [(5, 6)], [(9, 11), (17, 19)]]  # whole; between words; parts of words
    assert resolvers.from_characters(spans, places) == [[(3, 6), (9, 10)], [(1, 2)], [(4, 5), (7, 8)]]


# --- stored links ----------------------------------------------------------------------------------------------------

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


def test_stored_links_become_clusters_of_first_words(tmp_path):
    dialogue, (found,) = links(tmp_path, row([(19, 6), (20, 9), (22, 1), (25, 22)]))
    assert said(dialogue, found) == [{"1 Anna", "20 Anna", "22 I"}, {"5 Betty", "16 her"}, {"7 hat", "17 it"}]


def test_stored_tokens_that_begin_inside_a_word_or_character_stand_for_the_word(tmp_path):
    dialogue, (found,) = links(tmp_path, row([(17, 15), (23, 2), (12, 8)]))
    assert said(dialogue, found) == [{"1 Anna", "20 Anna"}, {"6 's", "9 Zoë"}, {"12 Tom", "14 I"}]
    assert links(tmp_path, row([(2, 1), (25, 2)]))[1] == [(((1, 2), (22, 23)),)]  # one word twice


def test_a_word_is_one_mention_of_the_first_cluster(tmp_path):
    _, (found,) = links(tmp_path, row([(22, 1), (25, 2)]))  # "An" and "na"
    assert found == (((1, 2), (20, 21)),)


def test_links_into_words_that_are_cut_off_are_dropped(tmp_path):
    short = TEXT.split("\nAnna: I")[0]
    dialogue, (found,) = links(tmp_path, row([(19, 6), (22, 1), (25, 22)]), texts=(short,))
    assert said(dialogue, found) == [{"5 Betty", "16 her"}]


def test_links_are_read_from_an_archive_below_the_data_root(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    _, plain = links(tmp_path, row([(19, 6)]))
    with tarfile.open(tmp_path / "sub" / "a.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "links.source", "data/test.source")
    dialogues = [turns.from_text(TEXT, "", "")]
    assert resolvers.stored(dialogues, f"{tmp_path}/sub/a.tar.xz:data/test.source") == plain
    with fails("cannot be read: No such file"):
        resolvers.stored(dialogues, "sub/a.tar.xz:data/test.source")
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path))
    assert resolvers.stored(dialogues, "sub/a.tar.xz:data/test.source") == plain
    with fails("There is no file data/val.source in"):
        resolvers.stored(dialogues, "sub/a.tar.xz:data/val.source")
    damaged = tmp_path / "b.tar.xz"
    damaged.write_bytes((tmp_path / "sub" / "a.tar.xz").read_bytes()[:150])
    with fails("is damaged or cut off"):
        resolvers.stored(dialogues, f"{damaged}:data/test.source")
    (tmp_path / "latin").write_bytes(b"\xe9")
    with fails("is not UTF-8"):
        resolvers.stored(dialogues, str(tmp_path / "latin"))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("# ĠAn na ##### [1] ##### [] ##### []", "There are 4 columns in row 2 of"),
        (row([(19, 6)]).replace("[6]", "[6, 1]"), "not two lists of the same length"),
        (row([(19, 6)]).replace("[6]", "[6"), "not two lists"),
        (row([(19, 6)]).replace("[6]", "7"), "not two lists"),
        (row([(19, 99)]), "The link (19, 99) in row 2 of"),
        (row([(19, -1)]), "leads outside of its 28 tokens"),
        (row([(19, 6)]).replace("[6]", "['a']"), "leads outside"),
        (row([], ["# ĠAnna", "ĠЖ"]), "'Ж' in row 2 of"),
        (
            row([(1, 0)], "# ĠTom : ĠI Ġsee Ġ# ĠAn na : ĠHey ,".split()),
            "There are only 19% of its dialogue's words in row 2 of",
        ),
    ],
)
def test_broken_rows_are_named(tmp_path, broken, reason):
    with fails(reason):
        links(tmp_path, row([(19, 6)]), broken, texts=(TEXT, TEXT))


def test_rows_and_dialogues_are_as_many(tmp_path):
    with fails("has 1 rows for 2 dialogues"):
        links(tmp_path, row([]), texts=(TEXT, TEXT))
    with fails("has 2 rows for 1 dialogues"):
        links(tmp_path, row([]), row([]))


# --- GUM -------------------------------------------------------------------------------------------------------------


def sentence(speaker, *words):
    """CoNLL-U lines of "form" or "form entities" words; "4-5" is a line that is no word."""
    lines, number = [f"# speaker = {speaker}"] * bool(speaker), 0
    for word in words:
        form, _, entity = word.partition(" ")
        number += form != "4-5"
        misc = f"Discourse=x|Entity={entity}|SpaceAfter=No" if entity else "_"
        lines.append("\t".join((str(number) if form != "4-5" else form, form, *"_______", misc)))
    return "\n".join([*lines, "", ""])


GUM = "# newdoc id = x\n# meta::summary1 = (human1) Two people (at home) talk.\n# meta::summary2 = (other) No.\n" + "".join(
    (
        sentence("", "Title (9-abstract-new-cf1)"),
        sentence("Ann", "The (1-person-new-nnnnn-cf1-1-coref", "man", "with", "my (2-person-ana)(3-thing", "hat 3)1)"),
        sentence("Ann", "saw", "me (2-person-acc)", "4-5"),
        sentence("Bob", "He (1-person-giv:act-ana)", "is (5[1/2]-event)", "it (3-thing)(6-thing)", "home (5[2/2]-event)(7-x"),
        sentence("Ann", "too 7)", "it (6-thing)", "that (8-event(7-y", "is 7)8)"),
        sentence("", "End (5[1/2]-event)", "a (4-x", "b (4-y", "c 4)", "d 4)"),
    )
)


def pack(path, **texts):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:xz") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(f"dep/GUM_{name}.conllu")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path.parent.parent


def test_gum_dialogues_and_their_nested_gold(tmp_path):
    root = pack(tmp_path / "gum" / "gum.tar.xz", interview_b=GUM, conversation_a=GUM, news_c="no table")
    first, second = gum.gum(root)
    assert (first.origin, second.origin) == ("GUM_conversation_a", "GUM_interview_b")
    assert first.target == "Two people (at home) talk."
    assert (
        first.source
        == "# ? : Title # Ann : The man with my hat saw me # Bob : He is it home # Ann : too it that is # ? : End a b c d"
    )
    assert first.turns == ((0, 3, 4), (4, 7, 14), (14, 17, 21), (21, 24, 28), (28, 31, 36))
    # 3 and 6 share a span: it is the first one's, so 6 is left with one mention; 5 is in parts; 7 crosses turns; 4 is in itself
    spans = {((7, 12), (17, 18)), ((10, 11), (13, 14)), ((10, 12), (19, 20)), ((20, 25), (26, 28)), ((32, 36), (33, 35))}
    assert set(first.clusters) == spans
    assert first.clusters == tuple(sorted(first.clusters))
    found = resolvers.resolver("rule")([first])[0]
    assert conll_f1([clustering.spoken(first, found)], [first.clusters]) > 20
    with fails("share a word"):
        resolvers.resolver("gold")([first])


def test_gum_in_a_folder(tmp_path):
    folder = tmp_path / "gum" / "dep"
    folder.mkdir(parents=True)
    (folder / "GUM_interview_x.conllu").write_text(GUM, "utf-8")
    (folder / "GUM_news_x.conllu").write_text("", "utf-8")
    assert [dialogue.origin for dialogue in gum.gum(tmp_path)] == ["GUM_interview_x"]


def test_gum_that_is_missing_or_damaged_is_named(tmp_path):
    with fails("gum.tar.xz cannot be read: No such file"):
        gum.gum(tmp_path)
    path = tmp_path / "gum" / "gum.tar.xz"
    pack(path, news_c="")
    with fails("no conversation or interview of GUM"):
        gum.gum(tmp_path)
    for text, reason in (
        (GUM.replace("1\tsaw\t", "1\tsaw "), "of GUM_interview_b has 9 columns"),
        (
            GUM.replace("Entity=3)1)", "Entity=3)"),
            "ends inside the entity 1",
        ),
        (GUM.replace("(1-person-new", "(4-person-new"), "The entity 1 in GUM_interview_b ends without a beginning"),
        (re.sub("Entity=[^|]*", "", GUM), "has no entities"),
        ("# newdoc\n", "no word in GUM_interview_b"),
    ):
        pack(path, interview_b=text)
        with fails(reason):
            gum.gum(tmp_path)
    pack(path, interview_b=GUM)
    path.write_bytes(path.read_bytes()[:150])
    with fails("gum.tar.xz is damaged or cut off"):
        gum.gum(tmp_path)
