"""Draw the chart of ``docs/guide/choosing.md``: questions from top to bottom, with the way that a
yes leads to.

    python docs/make_chart.py

The drawing is narrow, so that it can be read on a telephone; its colours are those of the page
(``_static/site.css``).
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from textwrap import wrap

FILE = Path(__file__).parent / "guide" / "choosing.svg"
WIDTH, MARGIN, INDENT, PAD, LINE = 400, 6, 78, 12, 19
QUESTION_LETTERS, ANSWER_LETTERS = 50, 43

STEPS = [
    (
        "Do rows come in parts or from several places, or must the fit be quick above all?",
        'BayesNetClassifier("tan", "map")',
        "Counts add up: partial_fit and merge give the model of all rows.",
    ),
    (
        "Are all inputs there, and is the number of right decisions all that matters?",
        "compare(X, y)",
        "Boosting may decide better on your rows: see whether it does.",
    ),
    (
        "Is it to be a model of the table itself: samples, likelihoods, novelty?",
        'BayesNetClassifier("tan", "hierarchy")',
        "Generative estimates, smoothed along a back-off hierarchy.",
    ),
    (
        "Should tables be small enough to read on a page?",
        'BayesNetClassifier("tan", "hybrid")',
        "A tree over MDLP's few intervals, calibrated: the default of version 0.1.",
    ),
    (
        "Should it be as simple to explain as can be: one weight for each value?",
        'recipe("NB-D-R")',
        "Logistic regression on MDLP's intervals; weak where inputs are missing.",
    ),
]
LAST = (
    "BayesNetClassifier()",
    "The default: two resolutions, chosen by held-out rows, exact where inputs are missing.",
)


def main() -> None:
    """Write the drawing."""
    parts, y = [], MARGIN
    for question, code, why in STEPS:
        box, height = _box(
            MARGIN, y, WIDTH - 2 * MARGIN, "question", wrap(question, QUESTION_LETTERS)
        )
        below = y + height
        answer, tall = _answer(below + 16, code, why)
        parts += [
            box,
            answer,
            _arrow(40, below, 40, below + tall + 32),
            _text(16, below + 24, "no", "note"),
        ]
        middle = below + 16 + tall / 2
        parts += [_arrow(40, middle, INDENT, middle), _text(48, middle - 6, "yes", "note")]
        y = below + tall + 32
    box, height = _last(y)
    svg = (
        f'<svg viewBox="0 0 {WIDTH} {y + height + MARGIN}" role="img" aria-label="How to choose a'
        ' method">'
    )
    FILE.write_text(
        "\n".join(['<div class="chart">', svg, *parts, box, "</svg>", "</div>", ""]),
        encoding="utf-8",
    )


def _answer(y: float, code: str, why: str) -> tuple[str, float]:
    return _box(
        INDENT, y, WIDTH - MARGIN - INDENT, "answer", [code, *wrap(why, ANSWER_LETTERS)], code=True
    )


def _last(y: float) -> tuple[str, float]:
    return _box(
        MARGIN,
        y,
        WIDTH - 2 * MARGIN,
        "answer",
        [LAST[0], *wrap(LAST[1], QUESTION_LETTERS)],
        code=True,
    )


def _box(
    x: float, y: float, width: float, kind: str, lines: list[str], code: bool = False
) -> tuple[str, float]:
    """A box with lines of text, and its height."""
    height = LINE * len(lines) + 2 * PAD - 5
    drawn = [f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>']
    for number, line in enumerate(lines):
        kind = ("code" if number == 0 else "note") if code else ""
        drawn.append(_text(x + PAD, y + PAD + 10 + LINE * number, line, kind))
    return "\n".join(drawn), height


def _text(x: float, y: float, text: str, kind: str) -> str:
    size = 12 if kind else 13.5
    return (
        f'<text class="{kind}" x="{x}" y="{y}"'
        f' font-size="{size}">{escape(text, quote=False)}</text>'
    )


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """A straight line with a tip, downwards or to the right."""
    down = f"{to_x - 4},{to_y - 7} {to_x + 4},{to_y - 7}"
    right = f"{to_x - 7},{to_y - 4} {to_x - 7},{to_y + 4}"
    tip = down if x == to_x else right
    line = f'<path class="line" d="M{x} {y}L{to_x} {to_y}"/>'
    return f'{line}<polygon class="tip" points="{to_x},{to_y} {tip}"/>'


if __name__ == "__main__":
    main()
