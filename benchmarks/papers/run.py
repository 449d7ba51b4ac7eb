"""Run an experiment of the papers: ``python benchmarks/papers/run.py table8 fig7``; without names, all of them."""

from __future__ import annotations

import argparse
from importlib import import_module

import tables

EXPERIMENTS = (
    "three_feature", "fcll", "fig7", "table8", "causes", "published", "parameters", "backoff",
    "convergence", "missing", "p13", "p13_missing",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)}")
    parser.add_argument("--tables", action="store_true", help="run nothing, show the stored results as tables")
    args = parser.parse_args()
    wrong = sorted(set(args.names) - set(EXPERIMENTS))
    if wrong:
        parser.error(f"no experiment {', '.join(wrong)}; there are {', '.join(EXPERIMENTS)}")
    if args.tables:
        tables.show()
        return
    for name in args.names or EXPERIMENTS:
        print(f"== {name}", flush=True)
        import_module(name).run()


if __name__ == "__main__":
    main()
