"""Pictures below a slider, for pages without a kernel."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import HTML

from helpers.study import StudyError


def slider(figures: Iterable[Any], label: str, start: int = 0, dpi: int = 80, places: Sequence[str] = ()) -> HTML:
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
        with plt.rc_context({"savefig.bbox": "standard"}):  # all of one size
            figure.savefig(file, format="png", dpi=dpi)
        plt.close(figure)
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
