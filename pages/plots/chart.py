"""Charts: Matplotlib figures as inline SVG that takes its colours and its font from the page.

Each role (ink, judge, human annotators ...) is drawn in a reserved colour, which a CSS variable then replaces, so that
one drawing serves the light and the dark page. Text stays text. The same input gives the same bytes.
"""

import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from ...errors import DeclarationError, install_hint
from ..formatting import MINUS, THIN, Unit, format_percent, format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, SOFT, LINE, JUDGE, PEOPLE, BASE, PAPER, THIRD = (f"#0101{index:02x}" for index in range(1, 9))
_VARIABLES = {
    INK: "--ink",
    SOFT: "--soft",
    LINE: "--line",
    JUDGE: "--judge",
    PEOPLE: "--people",
    BASE: "--base",
    PAPER: "--card",
    THIRD: "--third",
}
TEXT = 12.5  # px
SMALL = 11.5
HALF = 480.0  # px: the width of a chart that has another one beside it
WHOLE = 1000.0
ROW = 30.0
_STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a system may be called $x$
    "text.color": INK,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so that measures of text are the same everywhere
    "font.size": TEXT,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.labelsize": SMALL,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.linewidth": 1.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.major.pad": 6,
    "ytick.major.pad": 6,
    "lines.solid_capstyle": "round",
}


@dataclass(frozen=True)
class Chart:
    """A drawing with its title, its content in words, and a note on how to read it.

    Attributes:
        alt: the values, for readers who cannot see the drawing.
        narrow: the same drawing for small screens; empty if `svg` is narrow enough.
    """

    title: str
    svg: str
    alt: str
    note: str = ""
    narrow: str = ""


@dataclass(frozen=True)
class Margins:
    """The free space around the axes, in px."""

    left: float = 48
    right: float = 14
    top: float = 14
    bottom: float = 40

    def fractions(self, width: float, height: float) -> dict[str, float]:
        """The edges of the axes, as fractions of the figure's size."""
        return {
            "left": self.left / width,
            "right": 1 - self.right / width,
            "bottom": self.bottom / height,
            "top": 1 - self.top / height,
        }


def import_extra(module: str) -> ModuleType:
    """Import a module that the extra `report` installs.

    Raises:
        DeclarationError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise DeclarationError(f"report: {package} is not installed. {install_hint('report')}") from None


def draw(
    name: str,
    size: tuple[float, float],
    paint: "Callable[[Sequence[Axes]], None]",
    margins: Margins = Margins(),
    rows: Sequence[float] = (1,),
    spacing: float = 0.1,
) -> str:
    """The inline SVG of the axes that `paint` fills; several axes are stacked.

    Args:
        name: of the chart, unique on a page, so that no two charts share an id.
        size: width and height in px at full size.
        paint: is called with the axes.
        rows: relative heights of the axes.
        spacing: between the axes, in mean heights of them.
    """
    matplotlib = import_extra("matplotlib")
    svg = import_extra("matplotlib.backends.backend_svg")
    width, height = size
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the page's font has it, and draws it
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_STYLE, "svg.hashsalt": name})
        figure = import_extra("matplotlib.figure").Figure(figsize=(width / 72, height / 72), dpi=72)
        figure.patch.set_alpha(0)
        grid = figure.add_gridspec(
            len(rows), 1, height_ratios=list(rows), hspace=spacing, **margins.fractions(width, height)
        )
        axes = [figure.add_subplot(grid[index]) for index in range(len(rows))]
        for plot in axes:
            plot.patch.set_alpha(0)
        paint(axes)
        file = io.StringIO()
        svg.FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None, "Creator": None})
    return _inline(file.getvalue(), width, height)


def axis_format(unit: Unit) -> Callable[[float, float | None], str]:
    """The tick format of an axis: short, and a difference with its sign."""
    if unit == "percent":
        return lambda value, _: format_percent(value)
    if unit == "points":
        return lambda value, _: format_value(value, "points").split(THIN)[0].removesuffix(".0")
    return lambda value, _: f"{round(value, 6):g}".replace("-", MINUS)


def round_ticks(least: float, most: float) -> list[float]:
    """Ticks of a logarithmic axis: 1, 2 and 5 times the powers of ten; over four decades the powers only."""
    powers = [10.0**power for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)]
    steps = (1,) if len(powers) > 4 else (1, 2, 5)
    return [step * power for power in powers for step in steps if least <= step * power <= most]


def shortened(text: str, most: int) -> str:
    """One line of at most so many characters; control characters, which SVG does not allow, become spaces."""
    line = " ".join("".join(" " if ord(char) < 32 or 0x7F <= ord(char) < 0xA0 else char for char in text).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _inline(document: str, width: float, height: float) -> str:
    """The drawing without the parts of a stand-alone file: prolog, metadata, global style rules, names of groups."""
    body = document[document.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"<g id=\"[^\"]*\"", "<g", body)
    body = re.sub(r"<path [^>]*style=\"fill: none; opacity: 0\"/>", "", body)
    body = re.sub(r" transform=\"rotate\(-?0 [^\"]*\"", "", body)
    body = re.sub(r"font-family: [^;\"]*;? ?", "", body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var({variable})")
    head = f'<svg viewBox="0 0 {width:g} {height:g}" style="--w:{width:g}px" aria-hidden="true">'
    return head + re.sub(r"\s*\n\s*", "\n", body[body.index(">") + 1 :]).strip()
