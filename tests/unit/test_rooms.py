"""The house: rooms import one way, no circle, no private name of another file, and they keep their sizes."""

from helpers.publish import rooms
from helpers.publish.rooms import ROOMS


def test_imports_run_one_way():
    assert [(one.file, one.of) for one in rooms.backwards()] == []


def test_no_files_import_each_other_in_a_circle():
    assert rooms.circles() == []


def test_no_file_takes_a_private_name_of_another():
    assert [(one.file, one.of, one.private) for one in rooms.imports() if one.private] == []


def test_rooms_keep_their_sizes():
    counted = rooms.lines()
    assert {one.place: counted[one.place] for one in ROOMS if counted[one.place] > one.lines} == {}
    assert min(counted.values()) > 0


def test_kinds_of_code_keep_their_budgets():
    spent = rooms.spent()
    assert {one.what: spent[one.what] for one in rooms.BUDGETS if not 0 < spent[one.what] <= one.lines} == {}


def test_every_module_is_in_a_room():
    folders = ("helpers", "benchmarks")
    modules = {path.relative_to(rooms.ROOT).as_posix() for place in folders for path in (rooms.ROOT / place).rglob("*.py")}
    assert modules - {path.relative_to(rooms.ROOT).as_posix() for path in rooms.files()} == {"helpers/__init__.py"}


def test_a_circle_and_a_private_name_are_seen(tmp_path, monkeypatch):
    for name, text in {
        "one.py": "from helpers.a import two\n\nx = two._hidden\n",
        "two.py": "def f():\n    from helpers.a.one import x\n    return x\n",
    }.items():
        (tmp_path / "helpers" / "a").mkdir(parents=True, exist_ok=True)
        (tmp_path / "helpers" / "a" / name).write_text(text)
    monkeypatch.setattr(rooms, "ROOT", tmp_path)
    monkeypatch.setattr(rooms, "ROOMS", (rooms.Room("helpers/a", "a room", 10),))
    rooms.imports.cache_clear(), rooms.module_file.cache_clear()
    try:
        assert rooms.circles() == [["helpers/a/one.py", "helpers/a/two.py"]]
        assert [one.private for one in rooms.imports()] == [("_hidden",), ()]
    finally:
        rooms.imports.cache_clear(), rooms.module_file.cache_clear()
