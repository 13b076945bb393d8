"""What people read of results: tables in plain words, and numbers inside sentences.

Tables are Markdown, which every viewer of notebooks shows alike; what files hold (`helpers.study.Run.table`) stays as it is.
"""

from __future__ import annotations

import base64
import html
import io
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
from IPython.display import HTML, Markdown
from matplotlib import pyplot

from helpers.drawing import KIND_TITLES
from helpers.study import StudyError

COLUMNS = 7  # of a table that people read, at most
NOTHING = "–"
_ENDS = ("{}_low", "{}_high"), ("{}, low", "{}, high"), ("{} low", "{} high")


def number(value: Any, form: str = "") -> str:
    """A value as people read it: "9.2 million", "12,345", "0.64", "–" for none.

    Parameters
    ----------
    form : str
        How numbers are written, as `format` takes it; "%" for a share in whole per cent, "+%" the same with its sign, "p" for
        the chance of an error, of which little below a thousandth can be known. Without it whole numbers stay whole and others
        have two digits after the point below 10, one below 100.
    """
    if value is None or (isinstance(value, numbers.Real) and value != value):
        return NOTHING
    if isinstance(value, str) or not isinstance(value, numbers.Real):
        return str(value)
    if type(value).__name__.startswith("bool"):
        return "yes" if value else "no"
    if form == "p":
        return f"{value:.3f}" if value >= 0.001 else "< 0.001"
    if form in ("%", "+%"):
        return f"{100 * value + 0.0:{form[:-1]}.0f} %".replace("-0 %", "0 %")
    if form:
        said = format(float(value), form).replace("%", " %")
        return format(0.0, form.replace("+", "")).replace("%", " %") if not said.strip("-+0.,% ") else said  # zero has no sign
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:,.1f} million"
    if isinstance(value, numbers.Integral) or size >= 100:
        return f"{value:,.0f}"
    if size and size < 0.005:
        return f"{value:.0e}"
    return f"{value:.{2 if size < 9.995 else 1}f}"


def ends(values: Iterable[Any], form: str = "") -> str:
    """The least and the largest of some values, "53 to 68 %"; one number where both are written alike.

    Parameters
    ----------
    form : str
        As `number`.
    """
    known = [value for value in values if value == value]
    low, high = (number(end(known), form) if known else NOTHING for end in (min, max))
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def count(number: int, noun: str) -> str:
    """A number of things: "1 model", "2 models"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def interval(value: Any, low: Any = None, high: Any = None, form: str = "") -> str:
    """ "0.64 [0.43, 0.75]", one unit at the end, or the number alone; no end is written as zero where zero is outside."""
    if any(number(end) == NOTHING for end in (value, low, high)):
        return number(value, form)
    size = max(map(abs, (value, low, high)))
    if not form and not all(isinstance(part, numbers.Integral) for part in (value, low, high)) and 0.005 <= size < 1e6:
        form = f",.{0 if size >= 100 else 1 if size >= 9.995 else 2}f"  # all three alike
    said = [number(part, form) for part in (value, low, high)]
    if low * high > 0 and form:
        finer = f"{'+' * form.startswith('+')}.1g"
        least = [number(100 * end, finer) + " %" if form.endswith("%") else number(end, finer) for end in (low, high)]
        said[1:] = [one if one.strip("-+0., %") else exact for one, exact in zip(said[1:], least, strict=True)]
    unit = " %" if all(part.endswith(" %") for part in said) else ""
    middle, *ends = (part.removesuffix(unit) if unit else part for part in said)
    return f"{middle} [{', '.join(ends)}]{unit}"


def listed(names: Iterable[Any]) -> str:
    """ "a, b and c"; "none" where there is nothing."""
    *most, last = [str(name) for name in names] or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def readable(
    table: pd.DataFrame, columns: Mapping[str, str] | Sequence[str] = (), forms: Mapping[str, str] | None = None,
    best: Mapping[str, Literal["most", "least"]] | None = None, caption: str = "",
) -> Markdown:  # fmt: skip
    """A table for people: chosen columns in words, an interval beside its value, heads from 1, the winners bold.

    Parameters
    ----------
    table : pandas.DataFrame
        Levels of its index that have names come first. `X_low` and `X_high` (or `low` and `high` right behind X) are the
        interval of X. Layers and heads of an index (kind, layer, head), which counts from 0, are shown from 1.
    columns : mapping of column -> what people call it, or sequence
        Which to show, in this order; all by default.
    forms : mapping of column -> form, optional
        As `number` takes it.
    best : mapping of column -> "most" or "least", optional
        Columns whose largest or smallest value is bold.
    caption : str
        In bold above the table.

    Raises
    ------
    StudyError
        For a column that is not there, or more than seven of them.
    """
    flat, shown, names = _shown(table, columns, forms or {}, best or {})
    sides = ["---:" if _numeric(flat[name]) else ":---" for name in names]
    lines = [[said or " " for said in names.values()], sides, *shown.to_numpy().tolist()]
    written = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return Markdown(f"**{caption}**\n\n{written}" if caption else written)


def folded(title: str, *parts: str | Markdown) -> Markdown:
    """What most readers pass by, text and tables under a line that unfolds them."""
    text = "\n\n".join(filter(None, (part if isinstance(part, str) else str(part.data) for part in parts)))
    return Markdown(f"<details><summary>{title}</summary>\n\n{text}\n\n</details>" if text else "")


def _shown(
    table: pd.DataFrame, columns: Mapping[str, str] | Sequence[str], forms: Mapping[str, str],
    best: Mapping[str, Literal["most", "least"]],
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:  # fmt: skip
    """A table with its index as columns; the text of the chosen columns; and what people call these."""
    heads = {"kind", "layer", "head"} <= {*table.index.names}
    flat = table.reset_index() if table.index.names != [None] else table.reset_index(drop=True)
    flat = flat.set_axis([_called(name) for name in flat.columns], axis=1)
    if heads:
        flat = flat.assign(layer=flat.layer + 1, head=flat["head"] + 1)
    ends = _intervals(list(flat.columns))
    hidden = {end for pair in ends.values() for end in pair}
    names = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    names = names or {name: name.replace("_", " ") for name in flat.columns if name not in hidden}
    if missing := [name for name in (*names, *forms, *best) if name not in flat]:
        raise StudyError(f"The table has no column {missing[0]!r}: it has {', '.join(flat.columns)}.")
    if len(names) > COLUMNS:
        raise StudyError(f"{len(names)} columns are more than people read: choose {COLUMNS} or fewer.")
    shown = pd.DataFrame({name: _cells(flat, name, ends.get(name), forms.get(name, ""), best.get(name)) for name in names})
    return flat, shown, names


def _numeric(column: pd.Series) -> bool:
    return all(isinstance(value, numbers.Real) for value in column.dropna())


def _called(name: Any) -> str:
    """A column's name, of several levels as one."""
    return ", ".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name)


def _intervals(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Columns that have an interval, with the two that hold its ends."""
    found = {}
    for name in names:
        pairs = [(low.format(name), high.format(name)) for low, high in _ENDS]
        if whole := [pair for pair in pairs if {*pair} <= {*names}]:
            found[name] = whole[0]
    if {"low", "high"} <= {*names} and (place := names.index("low")):
        found[names[place - 1]] = ("low", "high")
    return found


def _cells(flat: pd.DataFrame, name: str, ends: tuple[str, str] | None, form: str, best: str | None) -> list[str]:
    """A column as text."""
    values = flat[name]
    if name == "kind":
        return [KIND_TITLES.get(value, str(value)) for value in values]
    extreme = {"most": values.max, "least": values.min}[best]() if best else None
    cells = []
    for place, value in enumerate(values):
        low, high = (flat[end].iloc[place] for end in ends) if ends else (None, None)
        said = interval(value, low, high, form).replace("|", "\\|").replace("\n", " ")
        cells.append(f"**{said}**" if best and value == extreme else said)
    return cells


# sorts by the column whose button was pressed, the largest first, then the other way round; cells without a value come last
_SORT = """
const th = event.target.closest('th'), all = this.closest('div'), down = th?.ariaSort !== 'descending'; if (!th) return;
const value = (row) => { const v = row.cells[th.cellIndex].dataset.value; return v === '' ? null : isNaN(v) ? v : Number(v); };
const less = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(b);
const order = (a, b) => a === null ? 1 : b === null ? -1 : less(a, b) * (down ? -1 : 1);
const bodies = [...all.querySelectorAll('tbody')], sizes = bodies.map((body) => body.rows.length);
const rows = bodies.flatMap((body) => [...body.rows]).sort((p, q) => order(value(p), value(q)));
bodies.forEach((body, n) => body.append(...rows.splice(0, sizes[n])));
for (const h of all.querySelectorAll('th')) h.ariaSort = h.cellIndex-th.cellIndex ? 'none' : down ? 'descending' : 'ascending';
"""


def sortable(
    table: pd.DataFrame,
    columns: Mapping[str, str] | Sequence[str] = (),
    forms: Mapping[str, str] | None = None,
    caption: str = "",
    first: int | None = None,
) -> HTML:
    """A table as of `readable` that a reader sorts by any column, in a page, without a kernel: by mouse or keyboard.

    Where a viewer runs no scripts it stands in its own order. Rows behind the `first` are folded. It scrolls where it is long.
    """
    flat, shown, names = _shown(table, columns, forms or {}, {})
    sides = [f'style="text-align: {"right" if _numeric(flat[name]) else "left"}"' for name in names]
    head = "".join(
        f'<th scope="col" aria-sort="none" {side}><button type="button">{html.escape(name)}</button></th>'
        for name, side in zip(names.values(), sides, strict=True)
    )
    keys = flat[list(names)].astype(object).where(flat[list(names)].notna(), "")
    cells = [
        "".join(
            f'<td data-value="{html.escape(str(key))}" {side}>{html.escape(cell)}</td>'
            for key, cell, side in zip(*row, sides, strict=True)
        )
        for row in zip(keys.to_numpy(), shown.replace(r"\\\|", "|", regex=True).to_numpy(), strict=True)
    ]
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    top = f'<thead onclick="{html.escape(_SORT)}"><tr>{head}</tr></thead><tbody>'
    parts = [cells[:first], cells[first:] if first else []]
    bodies = [f"{top}<tr>{'</tr><tr>'.join(part)}</tr></tbody></table>" for part in parts]
    rest = f'<details><summary>The other {len(parts[1])} rows</summary><table class="sortable">{bodies[1]}</details>'
    written = f'<table class="sortable">{above}{bodies[0]}{rest if parts[1] else ""}'
    return HTML(f'<div style="max-height: 32em; overflow: auto">{written}</div>')


def frames(figures: Iterable[Any], label: str, start: int = 0, dpi: int = 80, places: Sequence[str] = ()) -> HTML:
    """Figures drawn beforehand below a slider that leads from one to the next: it works in a page, without a kernel.

    Parameters
    ----------
    figures : iterable of matplotlib.figure.Figure
        Each is closed when it is drawn.
    label : str
        What the slider moves.
    start : int
        The figure that is shown first, and alone where a viewer lets nothing move.
    places : sequence of str
        What each figure is called, for those who hear the slider; its number if not given.

    Raises
    ------
    StudyError
        If there are no figures, or not as many places.
    """
    pictures = []
    for figure in figures:
        file = io.BytesIO()
        with pyplot.rc_context({"savefig.bbox": "standard"}):  # all of one size
            figure.savefig(file, format="png", dpi=dpi)
        pyplot.close(figure)
        pictures.append(base64.b64encode(file.getvalue()).decode())
    names = [html.escape(str(place)) for place in places or range(1, len(pictures) + 1)]
    if not pictures or len(names) != len(pictures):
        raise StudyError(f"There is nothing to slide through: {len(pictures)} figures have {len(names)} places. Give one each.")
    move = """for (const one of this.closest('figure').querySelectorAll('img')) one.hidden = one.dataset.place != this.value;
this.setAttribute('aria-valuetext', this.closest('figure').querySelector('img:not([hidden])').alt)"""
    shown = "".join(
        f'<img data-place="{n}"{"" if n == start else " hidden"} src="data:image/png;base64,{picture}" alt="{names[n]}">'
        for n, picture in enumerate(pictures)
    )
    named, ends = html.escape(label), f'min="0" max="{len(pictures) - 1}" value="{start}"'
    slider = f'<input type="range" {ends} aria-label="{named}" aria-valuetext="{names[start]}" oninput="{move}">'
    return HTML(f"<figure><label>{named} {slider}</label><br>{shown}</figure>")
