"""Reports with summaries, and stories: what they say hangs together and can be told from their text."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice, pairwise

import pytest

from helpers.world import tales
from helpers.world.lexicon import names, nouns, verbs

HE, SHE = {"he", "him"}, {"she", "her"}
FORENAMES = {key: word.kind for key, word in names().items() if word.kind.startswith("forename")}
PLACES = r"\b(?:in|at|on|to) (?:the \w+|[A-Z]\w+burg)\b"
ABOUT = r"(?:is|report|story|article) about "


@pytest.fixture(scope="module")
def reports():
    return list(islice(tales.reports(1), 300))


@pytest.fixture(scope="module")
def texts(reports):
    return [pair.source for pair in reports] + [story.text for story in islice(tales.stories(1), 300)]


def sentences(text):
    return [sentence + " ." for sentence in text.removesuffix(" .").split(" . ")]


def hero(report):
    """Whom the announcement is about, by name: resolved through "X is a doctor" or "the doctor is X" where it is a trade."""
    (about,) = re.findall(ABOUT + r"((?:an? |the )?[\w ]+?) \.", report)
    *article, trade = about.split()
    if article not in (["a"], ["an"], ["the"]):
        return about
    found = re.findall(rf"(\w+)(?: \w+)? is an? {trade} \.|the {trade} is (\w+)", report)
    assert len(found) == 1, (trade, report)
    return "".join(found[0])


# --- both ------------------------------------------------------------------------------------------------------------


def test_streams_follow_their_seed_and_do_not_disturb_each_other(reports, texts):
    one, other = tales.reports(1), tales.reports(2)
    mixed = [next(stream) for _ in range(20) for stream in (one, other)]
    assert mixed[::2] == reports[:20] != mixed[1::2]
    assert len({*texts, *(pair.target for pair in reports)}) == len(texts) + len(reports)  # hardly any comes twice


def test_a_pronoun_is_said_only_where_one_person_or_thing_can_be_meant():
    text = tales._Text(lambda: 0.0)  # dice that choose a pronoun wherever there may be one
    ann, eve, tom = (tales._Person(name, "", "doctor", female, True) for name, female in
                     (("Dadulana", True), ("Koketa", True), ("Belub", False)))  # fmt: skip
    key, ring = tales._Thing("key", told=True), tales._Thing("ring", told=True)
    text.near = [ann, tom, key]
    assert [text.person(who).pronoun for who in (ann, tom)] == [True, True] and text.thing(key).pronoun
    text.near, text.now = [ann, eve, tom, key, ring], []
    assert [text.person(who).pronoun for who in (ann, eve, tom)] == [False, False, True] and not text.thing(key).pronoun
    text.near, text.now = [ann], []
    assert not text.person(tom).pronoun and not text.person(eve).pronoun
    assert not text.person(ann).pronoun  # "Koketa thanked her": the sentence has another she
    text.near = []
    assert not text.person(ann).pronoun and not text.thing(key).pronoun


def test_he_she_it_and_there_take_up_what_the_sentence_before_says(texts):
    people = {key for key, noun in nouns().items() if noun.cls == "person"} | FORENAMES.keys() | HE | SHE
    for before, sentence in (pair for text in texts for pair in pairwise(["", *sentences(text)])):
        words = set(sentence.split())
        for pronouns, kind in ((HE, "forename_m"), (SHE, "forename_f")):
            if pronouns & words:
                said = [word for word in before.split() if word in people]
                assert any(FORENAMES.get(word, kind) == kind for word in said), (before, sentence)
        assert "there" not in words or re.search(PLACES + "| there ", before), (before, sentence)
        assert "it" not in words or re.search(r" ?(?:an?|the|it|'s) ", before), (before, sentence)
    assert sum(" there " in text for text in texts) > len(texts) / 10


# --- reports ---------------------------------------------------------------------------------------------------------


def test_the_summary_tells_of_the_person_that_the_report_is_said_to_be_about(reports):
    firsts, right = Counter(), Counter()
    for pair in reports:
        assert hero(pair.source).split()[0] == pair.target.split()[0], pair
        told = sentences(pair.source)
        places = [place for place, sentence in enumerate(told) if re.search(ABOUT, sentence)]
        assert places in ([0], [len(told) - 1]), pair
        firsts[places == [0]] += 1
        named = [word for s in told if " about " not in s for word in s.split() if word in FORENAMES]
        right.update(place for place in (0, -1) if named[place] == pair.target.split()[0])
    assert 0.55 < firsts[True] / len(reports) < 0.85
    assert max(right.values()) / len(reports) < 0.75  # neither the first nor the last who is named is always the one


def test_a_summary_fuses_what_its_report_says_and_adds_nothing(reports):
    shares, free = [], set("a an the in at on to it and , .".split())
    for pair in reports:
        wanted = set(pair.target.split())
        assert wanted - free <= set(pair.source.split()) and not wanted & (HE | SHE), pair
        shares.append(max(len(wanted & set(sentence.split())) / len(wanted) for sentence in sentences(pair.source)))
    assert max(shares) < 0.9 and sum(shares) / len(shares) < 0.55


def test_a_summary_says_who_did_what_followed(reports):
    """What the actor hands on is said of the actor, and thanks and arrests befall the actor."""
    past = {verb.past for verb in verbs().values()}
    for pair in reports:
        actor, after = pair.target.split()[0], pair.target.split(" , and ")[1]
        verb = next(word for word in after.split() if word in past)
        if verb in ("gave", "sold", "showed", "sent"):
            assert after.startswith(f"{verb} it to "), pair
        elif verb in ("thanked", "caught"):
            assert after.endswith(f" {verb} {actor} ."), pair
        elif verb in ("found", "took", "repaired", "visited", "bought", "saw"):
            assert after.endswith(f" {verb} it .") and not after.startswith((verb, actor)), pair


# --- stories ---------------------------------------------------------------------------------------------------------


def test_what_is_lost_is_found_where_it_was_lost_and_gifts_pass_where_both_are():
    world = tales.World("news")
    world.random = tales.random.Random("found again").random
    found = passed = 0
    for _ in range(200):
        story = tales._Story(world)
        story.begin()
        for _ in range(10):
            before = {item: item.holder or item.place for item in story.items}
            lost = {item for item in story.items if item.holder is None}
            story.beat()
            for item in story.items:
                assert item.holder in story.people or item.place in story.places
                if item.holder is None or item not in before or item.holder is before[item]:
                    continue
                assert story.at[item.holder] is (before[item] if item in lost else story.at[before[item]])
                found, passed = found + (item in lost), passed + (item not in lost)
    assert found > 20 and passed > 50


def test_a_class_of_which_all_are_used_ends_the_text_and_not_the_generator():
    cast = tales._Cast(tales.World("news"))
    cast.noun("officer")
    with pytest.raises(tales._Spent):  # there is one word for officers; drawing for another would never end
        cast.noun("officer")
