"""Text in: controlled (generated, gold structure) and natural (Hub or local folder) corpora, one Example type per task.

A corpus is prepared once into a folder of plain files (sentence pairs as JSON lines, two subword vocabularies, a report)
that a machine with torch alone can train from. Text for summarization and language modelling is that of
`helpers.corpora.texts`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from helpers import study
from helpers.study import StudyError

LANGUAGES = {"ru": "Russian", "de": "German", "fr": "French"}
REGISTERS = ("news", "subtitles")


@dataclass(slots=True)
class Pair:
    """One translation example.

    Attributes
    ----------
    source, target : str
        The sentences as a model reads and writes them.
    words : tuple of str
        The source's words in text order; each occurs in `source` after the one before it. Empty until parsed.
    heads : tuple of int
        For each word the position of its syntactic head, -1 for the root. Empty until parsed.
    relations : tuple of str
        For each word its relation to its head, in the vocabulary of `helpers.corpora.parsing`. Empty until parsed.
    marks : tuple of (phenomenon, wanted, others)
        What a right translation must show (controlled corpus only), see `helpers.scores.scoring.phenomena`.
    origin : str
        Where the pair comes from: a named test set, a file, a generator's register.
    """

    source: str
    target: str
    words: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    marks: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    origin: str = ""


def write_pairs(path: Path, pairs: Sequence[Pair]) -> None:
    """Write pairs as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for pair in pairs:
            row = {k: v for k, v in asdict(pair).items() if v or k in ("source", "target")}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_pairs(path: Path, bare: bool = False) -> list[Pair]:
    """Read what `write_pairs` wrote.

    Parameters
    ----------
    bare : bool
        Source and target alone, which is all that training takes: without words the text is encoded in a quarter of the time.

    Raises
    ------
    StudyError
        If the file is missing, empty, or a line is broken.
    """
    if not path.exists():
        raise StudyError(f"There is no file {path}: prepare the corpus first.")
    pairs = []
    with path.open("rb") as file:  # bytes: a cut may go through a letter
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                if bare:
                    pairs.append(Pair(row["source"], row["target"]))
                    continue
                row["marks"] = tuple((p, w, tuple(o)) for p, w, o in row.get("marks", ()))
                pairs.append(Pair(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}))
            except (ValueError, TypeError, AttributeError, KeyError) as error:
                raise StudyError(f"Line {number} of {path} is not a sentence pair ({error}): prepare it anew.") from None
    if not pairs:
        raise StudyError(f"The file {path} holds no sentence pairs: prepare the corpus anew.")
    return pairs


def file(folder: Path, split: str, within: str = "") -> Path:
    """The file of a split of a prepared corpus, or of what its part `within` says of it.

    Training text lies apart, with what is large: who reads a test set of a published corpus does not wait for it. It is made
    here if only the rest is there.
    """
    whole = folder / within / f"{split}.jsonl"
    if split != "train" or whole.exists():  # a store may be older than this
        return whole
    return study.at(folder).weights / within / whole.name


def new_file(place: study.Place, split: str, within: str = "") -> Path:
    """The file that `file` finds, for who makes it."""
    folder = (place.weights if split == "train" else place.results) / within
    folder.mkdir(exist_ok=True)
    return folder / f"{split}.jsonl"


def spec(settings: Mapping[str, Any], language: str, register: str, seed: int) -> dict[str, Any]:
    """Everything that a prepared corpus depends on.

    Parameters
    ----------
    settings : mapping
        A profile's settings (`helpers.study.settings`).
    language, register : str
        Target language; for the natural track the register is "local" (a folder, `HEADS_DATA_ROOT`) or a Hub set of
        `helpers.corpora.natural`.
    """
    if language not in LANGUAGES:
        raise StudyError(f"There is no language {language!r}: choose one of {', '.join(LANGUAGES)}.")
    chosen = {name: settings[name] for name in ("corpus", "train", "dev", "test", "vocabulary")}
    chosen |= {"language": language, "register": register, "seed": seed}
    if chosen["corpus"] == "controlled":
        if register not in REGISTERS:
            raise StudyError(f"There is no register {register!r}: choose one of {', '.join(REGISTERS)}.")
        chosen |= {"surnames": settings["surnames"]} if settings.get("surnames") else {}
    elif chosen["corpus"] == "natural":
        if register == "local":
            chosen["files"] = _fingerprint(study.data_root(), language)
    else:
        raise StudyError(f"There is no corpus {chosen['corpus']!r}: choose controlled or natural.")
    return chosen


def _fingerprint(root: str, language: str) -> str:
    """Digest of the local files that hold a language's pairs."""
    from helpers.corpora import natural

    digest = hashlib.sha256()
    for path in natural.files(language, root):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def recipe(spec: Mapping[str, Any]) -> study.Recipe:
    """The recipe of a corpus: of sentence pairs, of another task's texts (`helpers.corpora.texts`), or of dialogues."""
    from helpers.corpora import dialogues, texts

    kind = dialogues.DIALOGUES if "layout" in spec else texts.TEXTS if "task" in spec else PAIRS
    parts = [str(spec[part]) for part in ("name", "language", "register", "seed") if part in spec]
    return kind.of(spec, " ".join(["text", *parts]))


def prepare(spec: Mapping[str, Any]) -> Path:
    """Make the corpus folder of a spec, or find it made.

    Returns
    -------
    pathlib.Path
        A folder with dev.jsonl, one file a test set, source.json and target.json (vocabularies) and report.csv; where the
        training text is says `file`. Everything is lower-cased, as in the paper's recipe (appendix B.1). Of a spec that names
        a task it is that of `helpers.corpora.texts.prepare`, of dialogues that of `helpers.corpora.dialogues.prepare`.
    """
    return recipe(spec).results


def _build(spec: Mapping[str, Any], place: study.Place) -> None:
    from helpers.corpora import tokens

    folder = place.results
    splits = _controlled(spec) if spec["corpus"] == "controlled" else _natural(spec, folder)
    for name, pairs in splits.items():
        write_pairs(new_file(place, name), [_lower(pair) for pair in pairs])
    for side in ("source", "target"):
        texts = (getattr(pair, side) for pair in splits["train"])
        tokens.learn_vocabulary(texts, spec["vocabulary"]).save(str(folder / f"{side}.json"))


def _version(spec: Mapping[str, Any]) -> int:
    """Of a language's text: other languages' keys do not hang on its words."""
    from helpers import world

    return world.VERSIONS[spec["language"]] if spec["corpus"] == "controlled" else NATURAL_VERSION


NATURAL_VERSION = 1
PAIRS = study.Kind("pairs", _version, _build, text=True)


def _lower(pair: Pair) -> Pair:
    marks = tuple((p, w.lower(), tuple(o.lower() for o in others)) for p, w, others in pair.marks)
    words = tuple(w.lower() for w in pair.words)
    return Pair(pair.source.lower(), pair.target.lower(), words, pair.heads, pair.relations, marks, pair.origin)


def _controlled(spec: Mapping[str, Any]) -> dict[str, list[Pair]]:
    from helpers import world

    sizes = {name: spec[name] for name in ("train", "dev", "test")} | {"surnames": spec.get("surnames", 0)}
    return world.splits(spec["register"], spec["language"], **sizes, seed=spec["seed"])


def _natural(spec: Mapping[str, Any], folder: Path) -> dict[str, list[Pair]]:
    from helpers.corpora import natural

    loaded = natural.load(
        spec["language"], study.data_root(), dev=spec["dev"], seed=spec["seed"], limit=spec["train"] or None,
        source=spec["register"],
    )  # fmt: skip
    loaded.report.to_csv(folder / "report.csv", index=False)
    limit = spec["test"] or None
    return {name: pairs if name in ("train", "dev") else pairs[:limit] for name, pairs in loaded.splits.items()}


def parsed(folder: Path, split: str, parser: str = "spacy") -> list[Pair]:
    """The pairs of a split with words and dependencies: those of the corpus, or a parser's, which are stored.

    Parameters
    ----------
    folder : pathlib.Path
        A prepared corpus.
    parser : str
        For pairs that carry no trees: "spacy", "stanza", or the path of a CoNLL-U file.
    """
    pairs = read_pairs(file(folder, split))
    if pairs[0].words:
        return pairs
    described = {"corpus": study.at(folder).spec, "split": split, "parser": parser}
    return read_pairs(PARSES.of(described, f"parses of {split}").results / f"{split}.jsonl")


def parses(corpus: Mapping[str, Any], split: str = "dev", parser: str = "spacy") -> list[study.Recipe]:
    """What `parsed` reads of a corpus beside its pairs: nothing where these carry their trees."""
    if corpus["corpus"] == "controlled" or "task" in corpus:
        return []
    return [PARSES.of({"corpus": dict(corpus), "split": split, "parser": parser}, f"parses of {split}")]


def _parse(spec: Mapping[str, Any], place: study.Place) -> None:
    from helpers.corpora import parsing

    pairs = read_pairs(file(prepare(spec["corpus"]), spec["split"]))
    write_pairs(place.results / f"{spec['split']}.jsonl", parsing.annotate(pairs, parsing.parser(spec["parser"])))


PARSES = study.Kind("parses", 1, _parse, lambda spec: [recipe(spec["corpus"])], text=True)
