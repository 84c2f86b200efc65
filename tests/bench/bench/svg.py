"""Parts of SVG pictures: text, lines, marks, and panels with logarithmic axes. Pure Python.

The pictures have a white background, so that they are readable on dark pages, too.
"""

import dataclasses
import html
import math

INK, PALE, GRID = "#1b2a33", "#546e7a", "#dfe5e8"
SIZE = 3.4  # pixels, of a mark


def picture(width, height, title, parts):
    """A whole file."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="11" role="img">',
        f"<title>{html.escape(title, quote=False)}</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6" fill="#fff" '
        'stroke="#b0bec5"/>',
        text(16, 26, title, size=15, weight="bold"),
        *parts, "</svg>", ""])


def pixel(value):
    return f"{value:.1f}".removesuffix(".0")


def text(x, y, words, anchor="start", color=INK, size=None, weight=None, turn=None):
    extra = f' font-size="{size}"' if size else ""
    extra += f' font-weight="{weight}"' if weight else ""
    extra += f' transform="rotate({turn} {pixel(x)} {pixel(y)})"' if turn else ""
    return (f'<text x="{pixel(x)}" y="{pixel(y)}" text-anchor="{anchor}" fill="{color}"{extra}>'
            f"{html.escape(words, quote=False)}</text>")


def line(x1, y1, x2, y2, color=GRID, width=1, dashes=None):
    extra = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (f'<path d="M{pixel(x1)} {pixel(y1)}L{pixel(x2)} {pixel(y2)}" stroke="{color}" '
            f'stroke-width="{width}"{extra}/>')


@dataclasses.dataclass(frozen=True)
class Mark:
    """How points look: a color, and one of the forms "circle", "square", "cross", "bar"."""

    color: str
    form: str = "circle"


FORMS = {"circle": "h0", "square": "h0", "cross": "m-2.5 -2.5l5 5m0-5l-5 5", "bar": "m-3.5 0h7"}


def points(places, mark):
    """One path for all points, because a file may have thousands."""
    if not places:
        return ""
    path = "".join(f"M{pixel(x)} {pixel(y)}{FORMS[mark.form]}" for x, y in places)
    is_line = mark.form in ("cross", "bar")
    cap = "butt" if is_line else "round" if mark.form == "circle" else "square"
    width = 1.3 if is_line else SIZE + 1 if mark.form == "circle" else SIZE
    return (f'<path d="{path}" fill="none" stroke="{mark.color}" stroke-width="{pixel(width)}" '
            f'stroke-linecap="{cap}"/>')


def legend(x, y, entries):
    """Entries (mark, words) from left to right."""
    parts = []
    for mark, words in entries:
        parts += [points([(x, y - 4)], mark), text(x + 9, y, words)]
        x += 30 + 5.6 * len(words)
    return parts


def short(value):
    """A number with a unit prefix: 1k, 10M."""
    for power, prefix in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10**power:
            return f"{value / 10**power:g}{prefix}"
    return f"{value:g}"


@dataclasses.dataclass(frozen=True)
class Axis:
    """A logarithmic axis. Values outside of it are placed at its ends."""

    low: float
    high: float
    ticks: tuple

    @staticmethod
    def of(values, most=5):
        """From power of 10 to power of 10 around the values, with at most `most` ticks."""
        low = math.floor(math.log10(min(values, default=1)))
        high = max(math.ceil(math.log10(max(values, default=10))), low + 1)
        step = -(-(high - low) // (most - 1))
        return Axis(10.0**low, 10.0**high, tuple(10.0**power for power in range(low, high + 1, step)))

    def place(self, value):
        """0 at the low end to 1 at the high end."""
        part = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return min(1.0, max(0.0, part))


@dataclasses.dataclass(frozen=True)
class Panel:
    """A rectangle of pixels with two axes."""

    left: float
    top: float
    width: float
    height: float
    x: Axis
    y: Axis

    def place(self, x, y):
        return self.left + self.width * self.x.place(x), self.top + self.height * (1 - self.y.place(y))

    def frame(self, title, x_title, y_title="", y_labels=True):
        right, bottom = self.left + self.width, self.top + self.height
        parts = [text(self.left, self.top - 6, title, weight="bold")]
        for tick in self.x.ticks:
            x = self.place(tick, self.y.low)[0]
            parts += [line(x, self.top, x, bottom), text(x, bottom + 13, short(tick), "middle", PALE, 10)]
        for tick in self.y.ticks:
            y = self.place(self.x.low, tick)[1]
            parts.append(line(self.left, y, right, y))
            if y_labels:
                parts.append(text(self.left - 4, y + 3.5, short(tick), "end", PALE, 10))
        parts.append(text(self.left + self.width / 2, bottom + 26, x_title, "middle", PALE))
        if y_title:
            parts.append(text(self.left - 34, self.top + self.height / 2, y_title, "middle", PALE, turn=-90))
        return parts

    def across(self, y, **style):
        """A line at a value of y."""
        return line(*self.place(self.x.low, y), *self.place(self.x.high, y), **style)

    def points(self, values, mark):
        return points([self.place(x, y) for x, y in values], mark)
