"""``discbayes recipes``: the tags of the papers with their descriptions."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from discbayes.cli import options
from discbayes.cli.console import UserError
from discbayes.recipes import recipes

SUMMARY = "list the recipes of the papers, by the tags that --recipe takes"
PAPERS = {
    "P10": "Pernkopf and Bilmes 2010",
    "P12": "Pernkopf and Wohlmayr 2012",
    "C11": "Carvalho et al. 2011",
    "Z17": "Zaidi et al. 2017",
    "P13": "Peharz et al. 2013",
}
LEGEND = (
    "C is the class, I mutual information, CR the classification rate, CL the conditional"
    " likelihood. The default of discbayes is chosen by held-out rows and has no tag; that of"
    " version 0.1 was TAN-E-G+T, which is not in the papers."
)
EXAMPLES = """examples:
  discbayes recipes
  discbayes recipes 'TAN-*-CL'
  discbayes recipes Z17

--recipe also takes any other structure with any parameters, such as KDB2-MM or TAN-SA-CR-W-I, and
+T or +ISO at the end of a tag for calibrated probabilities."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    text = "a tag with * and ?, or part of a tag, paper or description (default: all)"
    add("PATTERN", text, nargs="?", default="")


def run(args: Namespace) -> None:
    """Print the list."""
    found = recipes(args.pattern)
    if not found:
        raise UserError(
            f"no recipe of the papers has {args.pattern!r}; `discbayes recipes` lists all"
        )
    print(found)
    papers = "; ".join(
        f"{paper} {PAPERS[paper]}" for paper in dict.fromkeys(one.paper for one in found)
    )
    args.progress.stage(f"{papers}. {LEGEND}")
