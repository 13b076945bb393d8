"""A report to read: the executed notebooks, the README's results and the head explorer as pages of a static site.

`python -m helpers.publish.site --run runs/laptop-controlled --output runs/report` writes pages that need no server and load
nothing from elsewhere. Notebooks come from the run's folder or, where it has none, from `notebooks/`, which carry a run's
outputs.
"""

from __future__ import annotations

import ast
import base64
import html
import importlib
import io
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
import mistune
import nbformat
from matplotlib.colors import to_hex
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextPath
from PIL import Image
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from helpers import drawing, study
from helpers.publish import explorer
from helpers.runs import subjects
from helpers.study import StudyError, layout

SITE = "The story of heads"
ASSETS = ("style.css", "page.js", "explorer.js")
LEFT_OUT, LAST = ("More",), ("Two commands", "Five lines")  # of the README's sections on the front page
NAMES = {"nsubj": "subject", "dobj": "object", "amod": "adjective", "advmod": "adverb", "rare": "rare tokens", "none": "none"}
_PICTURES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/svg+xml": "svg"}


# --- text --------------------------------------------------------------------------------------------------------------


class _Text(mistune.HTMLRenderer):
    """Markdown as HTML: headings with names for a table of contents, formulas as pictures of glyphs, links within the site."""

    def __init__(self, links: Mapping[str, str]) -> None:
        super().__init__(escape=False)
        self.links, self.toc = links, []

    def heading(self, text: str, level: int, **attributes: Any) -> str:
        plain = html.unescape(re.sub("<[^>]+>", "", text))
        name = re.sub(r"\W+", "-", plain.lower()).strip("-") or "section"
        known = {entry["id"] for entry in self.toc}
        name = next(n for n in [name, *(f"{name}-{i}" for i in range(2, len(known) + 3))] if n not in known)
        self.toc.append({"id": name, "text": plain, "level": level})
        return f'<h{level} id="{name}">{text}</h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        outside = re.match(r"[a-z]+:|#", url)
        there = url if outside else self.links.get(url.partition("#")[0])
        return f'<a href="{html.escape(there)}">{text}</a>' if there else text  # a file that is no page: its name

    def image(self, text: str, url: str, title: str | None = None) -> str:
        if url not in self.links:
            raise StudyError(f"The picture {url} of the README is not there: run `make reference`, or correct the README.")
        return f'<img src="{self.links[url]}" alt="{html.escape(text)}">'

    def block_code(self, code: str, info: str | None = None) -> str:
        return f'<pre tabindex="0"><code>{html.escape(code)}</code></pre>\n'

    def block_math(self, text: str) -> str:
        return f'<div class="formula" tabindex="0">{formula(text, 20)}</div>\n'

    def inline_math(self, text: str) -> str:
        return formula(text, 17)


def _markdown(renderer: _Text):
    return mistune.create_markdown(renderer=renderer, plugins=["table", "math", "strikethrough"])


def formula(tex: str, size: float) -> str:
    """A formula as inline SVG in the text's colour and on its line, `size` pixels high, its source as the label.

    Raises
    ------
    StudyError
        If it uses what matplotlib's mathtext lacks.
    """
    tex = " ".join(tex.split())
    try:
        path = TextPath((0, 0), f"${tex}$", size=size, prop=FontProperties(math_fontfamily="stix"))
    except ValueError:
        raise StudyError(f"The formula {tex!r} cannot be drawn: write it with what matplotlib's mathtext knows.") from None
    letters = {Outline.MOVETO: "M", Outline.LINETO: "L", Outline.CURVE3: "Q", Outline.CURVE4: "C", Outline.CLOSEPOLY: "Z"}
    parts = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        parts.append(letters[code] + ("" if code == Outline.CLOSEPOLY else " ".join(f"{number:.2f}" for number in points)))
    box = path.get_extents()
    view = f"{box.x0 - 1:.1f} {-box.y1 - 1:.1f} {box.width + 2:.1f} {box.height + 2:.1f}"
    return (
        f'<svg role="img" aria-label="{html.escape(tex)}" viewBox="{view}" width="{box.width + 2:.0f}" '
        f'height="{box.height + 2:.0f}" style="vertical-align: {box.y0 - 1:.1f}px">'
        f'<path transform="scale(1 -1)" fill="currentColor" d="{"".join(parts)}"/></svg>'
    )


# --- notebooks ---------------------------------------------------------------------------------------------------------


def notebooks(run: Path) -> list[Path]:
    """The executed notebooks of a run or, where it has none, those that are committed.

    Raises
    ------
    StudyError
        If none of them was executed.
    """
    for folder in (run, study.ROOT / "notebooks"):
        found = [path for path in sorted(folder.glob("*.ipynb")) if _executed(path)]
        if found:
            return found
    raise StudyError(f"There is no executed notebook in {run}: run `make study` first.")


def _executed(path: Path) -> bool:
    cells = nbformat.read(path, as_version=4).cells
    return any(cell.cell_type == "code" and cell.outputs for cell in cells)


def _page(path: Path, links: Mapping[str, str], pictures: Path) -> dict[str, Any]:
    """A notebook's cells as HTML, with its table of contents; its pictures are written to `pictures`."""
    renderer = _Text(links)
    render, cells = _markdown(renderer), []
    read = nbformat.read(path, as_version=4).cells
    known = _figure_modules(read)
    for cell in read:
        if cell.cell_type == "markdown":
            cells.append({"text": _scrolling(render(cell.source), "prose")})
        elif cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", []):
            where, number = renderer.toc[-1]["text"] if renderer.toc else path.stem, cell.execution_count or ""
            alts = _alts(cell.source, known, where)
            outputs = []
            for output in cell.outputs:
                drawn = sum("<img" in shown for shown in outputs)
                name = f"{path.stem}-{len(cells):02}-{drawn}"
                outputs.append(_output(output, pictures / name, alts[min(drawn, len(alts) - 1)], where, render))
            code = highlight(cell.source, PythonLexer(), HtmlFormatter(nowrap=True))
            shown = f'<pre tabindex="0"><code>{code}</code></pre>'
            cells.append({"code": shown, "number": number, "outputs": [output for output in outputs if output]})
    if [entry["level"] for entry in renderer.toc].count(1) != 1:
        raise StudyError(f"The notebook {path.name} must have one heading of the first level: it is the page's title.")
    title, *toc = renderer.toc
    return {"cells": cells, "title": title["text"], "toc": [entry for entry in toc if entry["level"] < 4]}


def _figure_modules(cells: Sequence[Any]) -> dict[str, str]:
    """Modules that draw figures, by the expression with which a notebook names them."""
    found = {}
    for cell in cells:
        for node in ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else ():
            for part in node.names if isinstance(node, ast.ImportFrom) else ():
                name, module = part.asname or part.name, f"{node.module}.{part.name}"
                if part.name in ("drawing", "figures"):
                    found[name] = module
                elif node.module == "helpers.methods":
                    found[f"{name}.figures"] = f"{module}.figures"
    return found


def _alts(source: str, modules: Mapping[str, str], where: str) -> list[str]:
    """What the figures of a cell show: the first lines of what draws them; otherwise the section's heading."""
    found = []
    for module, name in re.findall(r"(?<![\w.])([\w.]+)\.(\w+)\(", source):
        function = getattr(importlib.import_module(modules[module]), name, None) if module in modules else None
        if getattr(function, "redrawable", False):
            found.append(f"{where}: {function.__doc__.splitlines()[0].replace('`', '')}")
    return found or [f"Figure: {where}"]


def _output(output: Any, picture: Path, alt: str, where: str, render: Callable[[str], str]) -> str:
    """An output as HTML; "" for what is of no use to a reader (progress bars, warnings)."""
    if output.output_type == "error":
        raise StudyError(f"A cell under {where!r} failed ({output.ename}): run the notebook again.")
    if output.output_type == "stream":
        return "" if output.name == "stderr" else f'<pre tabindex="0">{html.escape(output.text)}</pre>'
    data = output.get("data", {})
    if "application/vnd.jupyter.widget-view+json" in data:
        return ""
    for kind, ending in _PICTURES.items():
        if kind in data:
            return _picture(data[kind], picture.with_name(f"{picture.name}.{ending}"), alt)
    if "text/html" in data:
        shown = re.sub(r"<style scoped>.*?</style>", "", data["text/html"], flags=re.DOTALL).replace(' border="1"', "")
        return _scrolling(shown, "", where)
    if "text/markdown" in data:
        return _scrolling(render(data["text/markdown"]), "prose", where)
    return f'<pre tabindex="0">{html.escape(data.get("text/plain", ""))}</pre>'


def _picture(data: str, path: Path, alt: str) -> str:
    """Write a picture; an animation gets its last frame beside it, for readers who want nothing to move."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".svg":
        path.write_text(data, encoding="utf-8")
        size = ""
    else:
        path.write_bytes(base64.b64decode(data))
        with Image.open(io.BytesIO(path.read_bytes())) as opened:
            size = f' width="{opened.width}" height="{opened.height}"'
            if still := path.with_suffix(".still.png") if path.suffix == ".gif" else None:
                opened.seek(opened.n_frames - 1)
                opened.convert("RGB").save(still)
    shown = f'<img src="{_beside(path)}" alt="{html.escape(alt)}"{size} loading="lazy">'
    if path.suffix == ".gif":
        quiet = f'<source srcset="{_beside(still)}" media="(prefers-reduced-motion: reduce), print">'
        shown = f"<picture>{quiet}{shown}</picture>"
    return f'<figure><a href="{_beside(path)}">{shown}</a></figure>'


def _beside(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _scrolling(text: str, kind: str, label: str = "") -> str:
    """Tables in boxes that scroll by themselves, with header cells that say of what."""
    for part, scope in (("thead", "col"), ("tbody", "row")):
        scoped = partial(re.sub, r"<th(?=[ >])", f'<th scope="{scope}"')
        text = re.sub(f"<{part}>.*?</{part}>", lambda found, scoped=scoped: scoped(found[0]), text, flags=re.DOTALL)
    label = html.escape(f"Table: {label}" if label else "Table")
    box = f'<div class="scroll {kind}" role="region" tabindex="0" aria-label="{label}">'
    return re.sub(r"<table.*?</table>", lambda table: f"{box}{table[0]}</div>", text, flags=re.DOTALL)


# --- the site ----------------------------------------------------------------------------------------------------------


def build(run: Path, output: Path) -> Path:
    """Build the site of a run.

    Parameters
    ----------
    run : pathlib.Path
        A run's folder. Its head tables (or those of the reference of its track) fill the explorer, with gates and attention of
        the models that are in the store; nothing is trained.
    output : pathlib.Path
        Pages of an earlier report there are replaced; other files stay.

    Returns
    -------
    pathlib.Path
        The front page.

    Raises
    ------
    StudyError
        If no notebook was executed, or one of them failed.
    """
    paths = notebooks(run)
    pictures = output / "images"
    output.mkdir(parents=True, exist_ok=True)
    results = _results(run)
    pages = [{"file": "index.html", "number": "", "name": "The study", "about": ""}]
    for path in paths:
        number, _, name = path.stem.partition("_")
        pages.append({"file": f"{path.stem}.html", "number": number, "name": name[:1].upper() + name[1:].replace("_", " ")})
    every = "Every head of every model: measures, functions, gates, attention on example sentences"
    pages.append({"file": "explorer.html", "number": "", "name": "Head explorer", "about": every})
    links = {f"notebooks/{path.name}": f"{path.stem}.html" for path in paths}
    made = {f"{path.stem}.html": _page(path, links, pictures) for path in paths}
    for page in pages[1:-1]:
        page["about"] = made[page["file"]]["title"].partition("·")[2].strip()
    frame = _Frame(output, pages, _about(run, results))
    front = _front(links, pictures)
    frame.write("index.html", "front.html", title=SITE, **front)
    for path in paths:
        frame.write(f"{path.stem}.html", "notebook.html", **made[f"{path.stem}.html"])
    look = {
        "scale": _colours("viridis"), "lines": _colours("plasma")[2:7],
        "colours": drawing.COLOURS, "kinds": drawing.KIND_TITLES, "names": NAMES,
    }  # fmt: skip
    models = _models(results, output / "heads")
    frame.write("explorer.html", "explorer.html", title="Head explorer", models=models, look=json.dumps(look), toc=[])
    for name in ASSETS:
        shutil.copy(Path(__file__).parent / name, output / name)
    return output / "index.html"


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    strict = {"undefined": jinja2.StrictUndefined, "autoescape": True}
    return jinja2.Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, **strict)


class _Frame:
    """What all pages have in common."""

    def __init__(self, output: Path, pages: Sequence[Mapping[str, str]], about: str) -> None:
        self.output, self.pages = output, pages
        self.common = {"site": SITE, "pages": pages, "about": about}

    def write(self, file: str, template: str, **parts: Any) -> None:
        """Fill a template for one of `pages`, with links to its neighbours."""
        order = [page["file"] for page in self.pages]
        at = order.index(file)
        before, after = self.pages[max(at - 1, 0) : at][-1:], self.pages[at + 1 : at + 2]
        around = {"before": before[0] if before else None, "after": after[0] if after else None}
        text = _templates().get_template(template).render(file=file, **around, **self.common, **parts)
        study.write_text(self.output / file, text)


def _front(links: Mapping[str, str], pictures: Path) -> dict[str, Any]:
    """The README's story, and every claim with its verdict from docs/results.md."""
    text = (study.ROOT / "README.md").read_text(encoding="utf-8")
    results = (study.ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    text += "\n" + re.sub(r"^#(?=#* )", "##", results, flags=re.MULTILINE)
    shown = dict(links)
    for url in {*re.findall(r"!\[[^]]*\]\(([^)]+)\)", text), *re.findall(r'<img src="([^"]+)"', text)}:
        if (study.ROOT / url).exists():
            pictures.mkdir(parents=True, exist_ok=True)
            shown[url] = f"images/{'-'.join(Path(url).parts[1:])}"
            shutil.copy(study.ROOT / url, pictures.parent / shown[url])
            text = text.replace(f'<img src="{url}"', f'<img src="{shown[url]}"')
    intro, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    title = {section: section.splitlines()[0].removeprefix("## ").strip() for section in sections}
    kept = [section for section in sections if title[section] not in LEFT_OUT]
    kept.sort(key=lambda section: title[section] in LAST)
    renderer = _Text(shown)
    render = _markdown(renderer)
    parts = {"intro": render(intro), "body": _scrolling(render("\n".join(kept)), "prose")}
    return parts | {"toc": [entry for entry in renderer.toc if 1 < entry["level"] < 4]}


def _results(run: Path) -> Path:
    """Where the tables are: the run's folder or, where that holds none, the reference of its track."""
    track = run.name.rpartition("-")[2]
    return run if layout.tables(run) or track not in layout.TRACKS else study.ROOT / "figures" / track


def _about(run: Path, results: Path) -> str:
    """Where the numbers come from, from the first sidecar that says so."""
    for path in filter(Path.exists, map(layout.table_sidecar, layout.tables(results))):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if {"commit", "time", "hardware"} <= set(facts):
            return f"Run {run.name}, code {facts['commit']}, {facts['time'][:10]}; {facts['hardware']}."
    return f"Run {run.name}."


def _colours(name: str) -> list[str]:
    return [to_hex(matplotlib.colormaps[name](step / 8)) for step in range(9)]


def _models(results: Path, folder: Path) -> list[dict[str, str]]:
    """Write the explorer's data of every model that has a head table."""
    models = []
    found = explorer.tables(results)
    for name in study.progress(found, "head explorer"):
        facts = found[name].attrs["facts"]
        subject, sweep = explorer.stored(name, facts)
        model = facts.get("model", name)
        more = name.removeprefix(model).strip()  # of another seed
        said = {"name": name, "title": subjects.title(model) + (f", {more}" if more else "")}
        path = explorer.write(folder, explorer.export(subject or name, found[name], sweep) | said)
        models.append({**said, "file": _beside(path)})
    first = list(found)
    return sorted(models, key=lambda model: [*subjects.CONTROLLED, *first].index(model["name"]))
