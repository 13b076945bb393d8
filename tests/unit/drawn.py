"""What a drawn figure shows, read from its parts; every figure read by `whole` fits its page."""

import warnings

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb

from helpers import drawing


def table(columns, *rows, **attrs):
    frame = pd.DataFrame(rows, columns=columns.split())
    frame.attrs.update(attrs)
    return frame


def whole(figure):
    """Draw it: the layout works (else there is a warning), and it fits its page."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.draw_without_rendering()
    assert figure.get_figwidth() <= drawing.WIDTH + 0.01 and figure.get_figheight() <= 9.01  # a page's text, less a caption
    assert figure.get_tightbbox().width + 2 * drawing.STYLE["savefig.pad_inches"] <= drawing.WIDTH + 0.01  # as saved
    return figure


def ticks(axis, along="y"):
    return [text.get_text() for text in getattr(axis, f"get_{along}ticklabels")()]


def intervals(axis, along):
    """Ends of all intervals along x (0) or y (1), by colour of their dots: {colour: {value: ends}}."""
    found = {}
    for box in axis.containers:
        colour, values = to_rgb(box.lines[0].get_color()), box.lines[0].get_data()[along]
        segments = box.lines[2][0].get_segments() if box.lines[2] else [()] * len(values)
        for value, segment in zip(values, segments, strict=True):
            ends = tuple(np.round(np.asarray(segment)[:, along], 6).tolist()) if len(segment) else None
            found.setdefault(colour, {})[round(float(value), 6)] = ends
    return found


def marked(axis, colour, hollow=False):
    """Points with a marker of this colour, filled or white inside."""
    found = []
    for line in axis.lines:
        white = to_rgb(line.get_markerfacecolor()) == (1, 1, 1)
        if line.get_marker() not in ("None", "", None) and to_rgb(line.get_color()) == colour and white == hollow:
            found += [tuple(map(float, point)) for point in zip(*line.get_data(), strict=True)]
    return sorted(point for point in found if np.isfinite(point).all())


def cells(axis):
    """Values of a heat map, the first row at the top."""
    return np.ma.filled(axis.images[0].get_array().astype(float), np.nan)
