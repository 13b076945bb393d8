"""A report to read: the executed notebooks, the README's results and the head explorer as pages of a static site.

`python -m helpers.publish.report --run runs/laptop-controlled --output runs/report` writes pages that need no server and load
nothing from elsewhere. Notebooks come from the run's folder or, where it has none, from `notebooks/`, which carry a run's
outputs.
"""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
import nbformat
from bs4 import BeautifulSoup
from matplotlib.colors import to_hex
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextPath
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import ExtractOutputPreprocessor, TagRemovePreprocessor
from traitlets.config import Config

from helpers import drawing, study
from helpers.publish import explorer, reference
from helpers.runs import subjects
from helpers.study import StudyError, layout

HERE = Path(__file__).parent
SITE = "The story of heads"
ASSETS = ("style.css", "page.js", "explorer.js")
PICTURES = ("image/svg+xml", "image/png", "image/jpeg")
SHOWN = (*PICTURES, "text/html", "text/markdown", "text/plain")  # of an output the first that it has
HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]


# --- text --------------------------------------------------------------------------------------------------------------


class _Text(IPythonRenderer):
    """nbconvert's Markdown, with formulas as pictures of glyphs: nothing has to be loaded for them."""

    def block_math(self, body: str) -> str:
        return f'<span class="formula" tabindex="0">{formula(body, 20)}</span>'

    def inline_math(self, body: str) -> str:
        return formula(body, 17)


def _markdown(text: str) -> str:
    return MarkdownWithMath(renderer=_Text(escape=False, exclude_anchor_links=True)).render(text)


def _slug(heading: str) -> str:
    return re.sub(r"\W+", "-", heading.lower()).strip("-")


def _finished(text: str, links: Mapping[str, str]) -> tuple[str, list[dict[str, Any]]]:
    """HTML with names for its headings, links within the site and tables that scroll by themselves; and its headings."""
    page, toc = BeautifulSoup(text, "html.parser"), []
    for style in page("style", scoped=True):
        style.decompose()
    for heading in page(HEADINGS):
        plain, known = heading.get_text(), {entry["id"] for entry in toc}
        name = _slug(plain) or "section"
        heading["id"] = next(n for n in [name, *(f"{name}-{i}" for i in range(2, len(known) + 3))] if n not in known)
        toc.append({"id": heading["id"], "text": plain, "level": int(heading.name[1])})
    for link in page("a", href=re.compile("^#")):  # JupyterLab names headings as they are written
        link["href"] = "#" + _slug(link["href"])
    for link in page("a", href=lambda url: not re.match(r"[a-z]+:|#|images/", url)):
        if there := links.get(Path(link["href"].partition("#")[0]).name):
            link["href"] = there
        else:
            link.unwrap()  # a file that is no page: its name
    for table in page("table"):
        del table["border"]
        for cell in table.select(":is(thead, tbody) th"):
            cell["scope"] = "col" if cell.find_parent("thead") else "row"
        above = table.find_previous(HEADINGS)
        label = f"Table: {above.get_text()}" if above else "Table"
        kind = "scroll" if table.get("class") or table.get("id") else "scroll prose"  # of pandas, or of Markdown
        table.wrap(page.new_tag("div", attrs={"class": kind, "role": "region", "tabindex": "0", "aria-label": label}))
    for code in page("pre"):
        code["tabindex"] = "0"
    return str(page), toc


def formula(tex: str, size: float) -> str:
    """A formula as inline SVG in the text's colour and on its line, `size` pixels high, its source as the label."""
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
    """The executed notebooks of a run or, where it has none, those that are committed."""
    for folder in (run, study.ROOT / "notebooks"):
        cells = {path: nbformat.read(path, as_version=4).cells for path in sorted(folder.glob("*.ipynb"))}
        if paths := [path for path, read in cells.items() if any(cell.get("outputs") for cell in read)]:
            return paths
    raise StudyError(f"There is no executed notebook in {run}: run `make study` first.")


def _page(path: Path, links: Mapping[str, str], output: Path) -> dict[str, Any]:
    """A notebook as HTML, with its title and table of contents; its pictures are written below `output`."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.outputs = reference.for_readers(cell.get("outputs", []))
        cell.metadata["open"] = _open(cell)
    _described(notebook.cells, path.stem)
    preprocessors = [
        TagRemovePreprocessor(enabled=True, remove_cell_tags={"injected-parameters"}),
        ExtractOutputPreprocessor(enabled=True, extract_output_types=set(PICTURES)),
    ]
    exporter = HTMLExporter(
        Config({"NbConvertBase": {"display_data_priority": list(SHOWN)}}), extra_template_paths=[str(HERE)],
        template_file="cells.html.j2", filters={"markdown2html": _markdown}, preprocessors=preprocessors,
    )  # fmt: skip
    body, resources = exporter.from_notebook_node(notebook, {"unique_key": path.stem, "output_files_dir": "images"})
    for name, content in resources["outputs"].items():
        study.write_bytes(output / name, content)
    body, toc = _finished(body, links)
    if [entry["level"] for entry in toc].count(1) != 1:
        raise StudyError(f"The notebook {path.name} must have one heading of the first level: it is the page's title.")
    title, *toc = toc
    return {"body": body, "title": title["text"], "toc": [entry for entry in toc if entry["level"] < 4]}


def _open(cell: Any) -> bool:
    """Whether a cell's code is to be read: notebooks show it, and it is not what they all begin with."""
    hidden = cell.metadata.get("jupyter", {}).get("source_hidden") or "parameters" in cell.metadata.get("tags", [])
    return cell.cell_type == "code" and not hidden and "study.begin(" not in cell.source


def _described(cells: Sequence[Any], where: str) -> None:
    """Give every picture that was shown without words those of the heading that it stands below; refuse a cell that failed."""
    for cell in cells:
        if cell.cell_type == "markdown":
            where = next(iter(re.findall(r"^#+ (.*)", cell.source, re.MULTILINE)[-1:]), where)
        for output in cell.outputs:
            if output.output_type == "error":
                raise StudyError(f"A cell under {where!r} failed ({output.ename}): run the notebook again.")
            for kind in set(PICTURES) & set(output.get("data", {})):
                output.metadata.setdefault(kind, {}).setdefault("alt", f"{where}: figure")


# --- the site ----------------------------------------------------------------------------------------------------------


def build(run: Path, output: Path) -> Path:
    """Build the site of a run in the folder `output`; returns its front page.

    The head tables of the run (or of the reference of its track) fill the explorer, with attention of the models that are in
    the store; nothing is trained. Pages of an earlier report are replaced; other files stay.
    """
    made = {f"{path.stem}.html": path for path in notebooks(run)}
    (output / "images").mkdir(parents=True, exist_ok=True)
    track = run.name.rpartition("-")[2]
    results = run if layout.tables(run) or track not in layout.TRACKS else study.ROOT / "figures" / track
    links = {path.name: file for file, path in made.items()}
    read = {file: _page(path, links, output) for file, path in made.items()}
    pages = [{"file": "index.html", "number": "", "name": "The study", "about": ""}]
    for file, path in made.items():
        number, _, name = path.stem.partition("_")
        about = read[file]["title"].partition("·")[2].strip()
        pages.append({"file": file, "number": number, "name": name[:1].upper() + name[1:].replace("_", " "), "about": about})
    every = "Every head of every model: measures, functions, attention on example sentences"
    pages.append({"file": "explorer.html", "number": "", "name": "Head explorer", "about": every})
    scale = [to_hex(matplotlib.colormaps["viridis"](step / 8)) for step in range(9)]
    look = {"scale": scale, "colours": drawing.COLOURS, "kinds": drawing.KIND_TITLES, "names": drawing.FUNCTIONS}
    models = _models(results, output / "heads")
    filled = {
        "index.html": {"title": SITE, **_front(links, output)},
        **read,
        "explorer.html": {"title": "Head explorer", "models": models, "look": json.dumps(look), "toc": []},
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, autoescape=True, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    around, about = [None, *pages, None], _about(run, results)
    for at, (file, parts) in enumerate(filled.items()):
        template = environment.get_template({"index.html": "front.html", "explorer.html": file}.get(file, "page.html"))
        common = {"site": SITE, "pages": pages, "about": about, "file": file, "before": around[at], "after": around[at + 2]}
        study.write_text(output / file, template.render(**common, **parts))
    for name in ASSETS:
        shutil.copy(HERE / name, output / name)
    return output / "index.html"


def _front(links: Mapping[str, str], output: Path) -> dict[str, Any]:
    """The README's story, and every claim with its verdict from docs/results.md."""
    text = (study.ROOT / "README.md").read_text(encoding="utf-8")
    results = (study.ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    text += "\n" + re.sub(r"^#(?=#* )", "##", results, flags=re.MULTILINE)
    page = BeautifulSoup(_markdown(re.sub(r"^## ", "<main></main>\n\n## ", text, count=1, flags=re.MULTILINE)), "html.parser")
    for image in page("img"):
        picture = study.ROOT / image["src"]
        image["src"] = f"images/{'-'.join(Path(image['src']).parts[1:])}"
        shutil.copy(picture, output / image["src"])
    finished, toc = _finished(str(page), links)
    intro, _, body = finished.partition("<main></main>")  # the notebooks' cards stand between them
    return {"intro": intro, "body": body, "toc": [entry for entry in toc if 1 < entry["level"] < 4]}


def _about(run: Path, results: Path) -> str:
    """Where the numbers come from, from the first sidecar that says so."""
    for table in layout.tables(results):
        facts = study.read_json(layout.table_sidecar(table))
        return f"Run {run.name}, code {facts['commit']}, {facts['time'][:10]}; {facts['hardware']}."
    return f"Run {run.name}."


def _models(results: Path, folder: Path) -> list[dict[str, str]]:
    """Write the explorer's data of every model that has a head table, a model once."""
    models, tables = [], explorer.head_tables(results)
    order = [*subjects.CONTROLLED, *tables]
    for name in study.progress(sorted(tables, key=order.index), "head explorer"):
        facts = tables[name].attrs["facts"]
        model = facts["model"]
        subject = explorer.in_store(model, facts)
        more = name.removeprefix(model).strip()  # of another seed
        entry = {"name": name, "title": subjects.title(model) + (f", {more}" if more else "")}
        path = explorer.write(folder, explorer.export(subject or name, tables[name]) | entry)
        models.append({**entry, "file": f"{path.parent.name}/{path.name}"})
    return models
