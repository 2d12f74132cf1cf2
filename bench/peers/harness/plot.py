"""A picture of the rates: one bar for each runtime, its median; a line over its range. The axis is
logarithmic, for what is compared differs by orders of magnitude."""

import math
from html import escape

from figures import FIGURES, median, text_of

WIDTH = 960
LEFT = 300
RIGHT = 110
BAR = 16
GAP = 4
TOP = 40
COLOURS = ("#1b6ca8", "#5aa9dd", "#0f766e", "#5fb8ad", "#b45309", "#e0a458", "#7c3aed", "#b79cf0",
           "#be123c", "#e58aa0")
PUSH_COLOUR = "#8a8f98"


def decades(values):
    """The powers of ten around the values: (exponent of the left edge, of the right edge)."""
    least, most = min(values), max(values)
    low = math.floor(math.log10(least))
    high = math.ceil(math.log10(most))
    return low, max(high, low + 1)


def place(value, low, high):
    """Where a value stands on the axis."""
    share = (math.log10(value) - low) / (high - low)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def plain(title):
    return title.replace("`", "")


def label(exponent):
    return f"{10 ** exponent:,}".replace(",", " ") if exponent >= 0 else f"{10.0 ** exponent:g}"


def text(x, y, words, anchor="start", size=12, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def group(figure, rows, y, low, high):
    """The bars of one figure; (lines of SVG, y below it)."""
    out = [text(8, y + 14, f"{figure.title} ({figure.unit})", size=13, weight="bold")]
    y += 22
    top = y
    for title, colour, values in rows:
        end = place(median(values), low, high)
        middle = y + BAR / 2
        out.append(text(LEFT - 8, y + BAR - 4, plain(title), "end"))
        out.append(f'<rect x="{LEFT}" y="{y:.1f}" width="{max(end - LEFT, 1):.1f}" height="{BAR}" '
                   f'fill="{colour}"/>')
        out.append(f'<line x1="{place(min(values), low, high):.1f}" x2="{place(max(values), low, high):.1f}" '
                   f'y1="{middle:.1f}" y2="{middle:.1f}" stroke="#111" stroke-width="1.5"/>')
        out.append(text(max(end, place(max(values), low, high)) + 6, y + BAR - 4, text_of(median(values))))
        y += BAR + GAP
    for exponent in range(low, high + 1):
        x = place(10 ** exponent, low, high)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{y - GAP}" stroke="#999" '
                   f'stroke-width="0.5" stroke-dasharray="2 3"/>')
        out.append(text(x, y + 10, label(exponent), "middle", 10))
    return out, y + 26


def draw(runtimes, samples):
    groups = []
    for figure in FIGURES:
        rows = []
        for at, one in enumerate(runtimes):
            of = samples.get(one.key, {}).get(figure.key)
            values = [value for value in of.values if value > 0] if of else []
            if values:
                colour = PUSH_COLOUR if one.only_pushes else COLOURS[at % len(COLOURS)]
                rows.append((one.title, colour, values))
        if figure.more_is_better and rows:
            groups.append((figure, rows))
    body = [text(8, 22, "Medians; the line is the range over the rounds; logarithmic axis", size=14)]
    y = TOP
    for figure, rows in groups:
        low, high = decades([value for _, _, values in rows for value in values])
        lines, y = group(figure, rows, y, low, high)
        body += lines
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
        'font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>', *body, "</svg>", ""])
