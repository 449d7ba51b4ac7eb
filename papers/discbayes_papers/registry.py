"""The experiments by name, and running one of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path

from discbayes._files import replace_file
from discbayes._lazy_imports import need
from discbayes._text import nearest_first
from discbayes.engine import Progress
from discbayes.evaluation.machine import provenance
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable, Text, as_markdown
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import run_tasks, unfinished
from discbayes_papers.causes import OPEN, cause, causes_table, marks
from discbayes_papers.experiment import PAPERS, Experiment, module_path, read_records
from discbayes_papers.figures import WORSE

EXPERIMENTS = (
    "p10-table1", "p10-table2", "p10-table4", "p10-table5", "p10-table7", "p10-table7-crcl",
    "p10-table8", "p10-table11", "p10-table13", "p10-readings", "p10-draws", "p10-fig3",
    "p10-fig7", "p10-fig9", "p10-fig10", "p10-fig13", "p12-table1", "p12-table2", "p12-table3",
    "p12-fig2-4", "p12-fig5", "c11-theorems", "c11-fig4-5", "c11-table3", "c11-table4",
    "c11-times", "z17-fig3", "z17-table4", "z17-table5-6", "z17-e-code", "z17-scatter",
    "z17-convergence", "z17-times", "z17-levels", "p13-fig1", "p13-fig2", "p13-fig3",
    "p13-table1", "p13-draws", "p13-fig4", "default", "peers", "scenarios", "small-tables",
    "ablation", "unlabeled", "blankets",
)  # fmt: skip
# What cannot be repeated, as its data cannot be had.
ABSENT = {
    "p10-table3": "TIMIT", "p10-table9": "TIMIT", "p10-table10": "TIMIT", "p10-table12": "TIMIT",
    "p10-fig8": "TIMIT", "p10-fig11": "TIMIT", "p10-fig12": "TIMIT",
    "p12-fig5 (its own data)": "DCMall", "SurfInsp (P10)": "SurfInsp",
    "USPS of P10 and P12": "the 11,000-sample version of USPS",
}  # fmt: skip
ROWS, QUICK = "rows", "quick"
# Whether the pages of papers are met, and if not, why.
STATUS = {line["page"]: line for line in read_records("status.csv")}


def find(name: str) -> Experiment:
    """The experiment of that name."""
    if name in EXPERIMENTS:
        module = module_path(name).replace("/", ".")
        return import_module(f"discbayes_papers.{module}").EXPERIMENT
    if name in ABSENT:
        raise ValueError(f"{name} cannot be repeated: {ABSENT[name]} cannot be had")
    near = nearest_first(name, EXPERIMENTS)[:3]
    raise ValueError(f"there is no experiment {name!r}; did you mean {', '.join(near)}?")


def reproduce(
    name: str,
    folder: str | Path,
    quick: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    run: bool = True,
) -> list[Block]:
    """Run what is not stored yet, and write the page of an experiment.

    Parameters
    ----------
    name : str
        One of ``EXPERIMENTS``.
    folder : path
        Where results and pages are: ``rows/NAME.csv``, ``NAME.md`` and its pictures. With ``quick``
        it is a folder in it, so that the two never mix.
    quick : bool
        Only a small part, to try it out.
    run : bool
        False makes the page of what is stored.

    Returns
    -------
    list of blocks
        What the page shows.
    """
    experiment, folder = find(name), Path(folder) / QUICK if quick else Path(folder)
    store = Store(folder / ROWS / f"{experiment.rows}.csv", experiment.metrics)
    if run:
        left = unfinished(experiment.tasks(quick), store)
        if left:  # noted first: whatever ends the run, its rows have their machine
            record_run(store.path, experiment.packages)
        run_tasks(left, store, n_jobs, progress, _figures)
    shown = experiment.page(store)
    why = causes_table(name, shown)
    blocks = [*_heading(experiment), *shown, *why, *_foot(experiment, store, quick)]
    folder.mkdir(parents=True, exist_ok=True)
    write_page(folder / f"{name}.md", blocks)
    return blocks


def write_index(folder: str | Path) -> None:
    """A page that lists the pages of a folder, and what cannot be repeated."""
    folder = Path(folder)
    rows = [
        _index_row(find(name), folder) for name in EXPERIMENTS if (folder / f"{name}.md").exists()
    ]
    absent = [[name, data] for name, data in ABSENT.items()]
    header = ["page", "source", "what it shows", "verdict", "why", WORSE, "open", "stored runs"]
    blocks: list[Block] = [
        Text("# The papers' tables and figures, and ours"),
        Text(
            "Made by `discbayes reproduce` from the stored rows; each page says what differs, and"
            " why. Met: what the paper says holds here. Met with a reading: where it leaves"
            " something open, or where a slip of its own, or other data, are allowed for. Not met:"
            f" the page has the cause, as far as it is known. {WORSE}: how many figures are marked"
            " as worse than the published ones beyond the tolerance of their table; each page lists"
            " their causes, and here is how many have none."
        ),
        ResultTable("", header, rows, left=5),
        ResultTable("Not to be had", ["table or figure", "data"], absent, left=2),
    ]
    write_page(folder / "README.md", blocks)


def _index_row(experiment: Experiment, folder: Path) -> list[str]:
    store = Store(folder / ROWS / f"{experiment.rows}.csv", ())
    marked = marks(experiment.page(store)) if experiment.name in STATUS else []
    without = sum(cause(experiment.name, mark) == OPEN for mark in marked)
    link = f"[{experiment.name}]({experiment.name}.md)"
    status = STATUS.get(experiment.name, {"verdict": "", "why": ""})
    return [
        link,
        f"{experiment.paper} {experiment.where}".strip(),
        experiment.title,
        status["verdict"],
        status["why"],
        str(len(marked) or ""),
        str(without or ""),
        str(len(store)),
    ]


def _figures(result: Result) -> str:
    return ", ".join(f"{metric} {value:.4g}" for metric, value in list(result.measured.items())[:2])


def _heading(experiment: Experiment) -> list[Block]:
    source = f"{PAPERS[experiment.paper]}" + (f": {experiment.where}" if experiment.where else "")
    return [Text(f"# {experiment.title}"), Text(source + "."), *_text(experiment.protocol)]


def _foot(experiment: Experiment, store: Store, quick: bool) -> list[Block]:
    said = _text(
        f"## Where ours differs\n\n{experiment.deviations}" if experiment.deviations else ""
    )
    warning = _text(
        "**Only a small part was run (--quick): these are no results.**" if quick else ""
    )
    runs = "".join(f"\n- {line}" for line in recorded_runs(store.path))
    return [
        *said,
        *warning,
        Text(f"Rows: `{ROWS}/{experiment.rows}.csv`, {len(store)} runs.{runs}"),
    ]


def _text(text: str) -> list[Block]:
    return [Text(text)] if text else []


def write_page(path: Path, blocks: Sequence[Block]) -> None:
    """A page as Markdown, and its pictures beside it."""

    def picture(block: Picture) -> str:
        file = path.with_name(f"{path.stem}-{block.name}.png")
        save_picture(block, file)
        return file.name

    text = as_markdown(blocks, picture)
    replace_file(path, lambda file: file.write(text.encode("utf-8")))


def save_picture(block: Picture, path: Path) -> None:
    """Draw a picture without a display, and write it as PNG."""
    need("matplotlib").use("agg")
    figure, data = block.draw(), BytesIO()
    figure.savefig(data, format="png", dpi=110, metadata={"Software": None})
    need("matplotlib.pyplot").close(figure)
    replace_file(path, lambda file: file.write(data.getvalue()))


# ---- where results come from


def record_run(store: Path, packages: Sequence[str] = ()) -> None:
    """Note beside a file of results where and when they were made, once for each machine, version
    and day.
    """
    line = provenance(packages)
    if line not in recorded_runs(store):
        store.parent.mkdir(parents=True, exist_ok=True)
        with _notes(store).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def recorded_runs(store: Path) -> list[str]:
    """Where and when the results of a file were made."""
    notes = _notes(store)
    return notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []


def _notes(store: Path) -> Path:
    return store.with_suffix(".machine.txt")
