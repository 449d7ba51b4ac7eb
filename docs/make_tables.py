"""Write the tables and figures of the README and of other pages, from stored measurements and the
pages of the papers.

python docs/make_tables.py

A page has a comment where a table or a figure within a sentence begins, with its name, and one
where it ends.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results"
PAGES = (
    HERE.parent / "README.md",
    HERE / "performance.md",
    HERE / "start.md",
    HERE / "faq.md",
    HERE / "guide" / "choosing.md",
    HERE / "guide" / "decisions.md",
    HERE / "guide" / "experts.md",
    HERE / "guide" / "missing.md",
    HERE / "guide" / "models.md",
    HERE / "coming-from" / "scikit-learn.md",
)
MARK = re.compile(r"<!-- (?P<name>(?!end)[a-z-]+) -->.*?<!-- end -->", re.S)
HEADS = {
    "nb": ("scikit-learn's CategoricalNB", ", vs CategoricalNB"),
    "tan": ("pyAgrum's BNClassifier", ", vs pyAgrum"),
    "parameters": ("scikit-learn's LogisticRegression", ", to the loss of LogisticRegression"),
    "search": ("bnclassify's tan_hc", ", vs bnclassify tan_hc"),
}


def table(case: str) -> str:
    """The lines of a case that have a peer, as a table of Markdown."""
    peer, ending = HEADS[case]
    lines = [f"| | discbayes, s | {peer}, s | times as fast |", "|:--|--:|--:|--:|"]
    for row in read(case):
        if row["what"].endswith(ending):
            what = row["what"].removesuffix(ending).replace(" x ", " × ")
            lines.append(
                f"| {what} | {short(row['ours'])} | {short(row['peer'])} |"
                f" {float(row['ratio']):.0f} |"
            )
    return "\n".join(lines)


def alone(case: str, *wanted: str) -> str:
    """Lines of a case that have no peer."""
    lines = ["| | |", "|:--|--:|"]
    rows = {row["what"]: row for row in read(case)}
    for what in wanted:
        unit = rows[what]["unit"]
        lines.append(f"| {what.replace(' x ', ' × ')} | {short(rows[what]['ours'])} {unit} |")
    return "\n".join(lines)


def read(case: str) -> list[dict[str, str]]:
    """The stored lines of a case."""
    with (RESULTS / f"{case}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def short(number: float | str) -> str:
    """Two digits that count."""
    value = float(number)
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def fill(text: str) -> str:
    """A page with the tables and figures of now."""
    return MARK.sub(
        lambda found: f"<!-- {found['name']} -->{_filled(found['name'])}<!-- end -->", text
    )


def _filled(name: str) -> str:
    return f"\n\n{TABLES[name]()}\n\n" if name in TABLES else FIGURES[name]()


# ---- tables of benchmarks


def default() -> str:
    """The default beside LightGBM: seconds, accuracy and log loss."""
    measured = {"fit": {}, "accuracy": {}, "log loss": {}}
    for row in read("default"):
        what, data = (
            row["what"].removesuffix(", vs LightGBM").removeprefix("default ").split(", ", 1)
        )
        measured[what][data] = float(row["ours"]), float(row["peer"])
    lines = [
        "| | fit, s | LightGBM, s | accuracy, % | LightGBM, % | log loss | LightGBM |",
        "|:--|--:|--:|--:|--:|--:|--:|",
    ]
    for data, times in measured["fit"].items():
        cells = [short(time) for time in times]
        cells += [f"{100 * share:.2f}" for share in measured["accuracy"][data]]
        cells += [f"{loss:.4f}" for loss in measured["log loss"][data]]
        lines.append(f"| {data.replace(' x ', ' × ')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def missing() -> str:
    """What marginalizing missing values costs."""
    lines = ["| | complete, s | 30 % missing, s | times as long |", "|:--|--:|--:|--:|"]
    for row in read("missing"):
        what, begin = row["what"].replace(" x ", " × "), "predict_proba, 30 % missing vs complete, "
        if what.startswith(begin):
            cells = (
                what.removeprefix(begin),
                short(row["peer"]),
                short(row["ours"]),
                f"{float(row['ratio']):.1f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def without_compiler() -> str:
    """What numpy alone predicts, beside the library."""
    lines = ["| | numpy alone, rows/s | the library, rows/s |", "|:--|--:|--:|"]
    begin = "rows a second by numpy alone, "
    for row in read("alone"):
        if row["what"].startswith(begin):
            rates = [f"{float(f'{float(row[column]):.2g}'):,.0f}" for column in ("ours", "peer")]
            lines.append(f"| {row['what'].removeprefix(begin)} | {' | '.join(rates)} |")
    return "\n".join(lines)


def intervals() -> str:
    """How often error bars hold the truth, and accuracies of few rows that of all."""
    lines = ["| rows of random trees | `dirichlet` | `bootstrap` |", "|:--|--:|--:|"]
    held: dict[str, list[str]] = {}
    for row in read("bars"):
        found = re.fullmatch(r"90 % intervals of P\(c \| x\) by \w+, (.+)", row["what"])
        if found:
            held.setdefault(found[1], []).append(f"{100 * float(row['ours']):.1f} %")
    return "\n".join(
        [*lines, *(f"| {what} | {' | '.join(cells)} |" for what, cells in held.items())]
    )


def sets_of_classes() -> str:
    """Coverage and size of sets of 90 %, with 0, 30 and 60 % missing."""
    rows = {row["what"]: float(row["ours"]) for row in read("bars")}
    names = dict.fromkeys(what.split(", ")[1] for what in rows if what.startswith("sets of 90 %"))
    lines = [
        "| | complete | 30 % missing | 60 % missing |",
        "|:--|--:|--:|--:|",
    ]
    for name in names:
        cells = [
            f"{100 * rows[what]:.1f} %, {rows[f'{what}: classes in a set']:.2f}"
            for what in (f"sets of 90 %, {name}, {share} % missing" for share in (0, 30, 60))
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def same_decisions() -> str:
    """ECE of same-decision probabilities, and what they cost."""
    lines = [
        "| | stay | ECE, not calibrated | ECE, calibrated | ms a row |",
        "|:--|--:|--:|--:|--:|",
    ]
    found: dict[str, dict[str, float]] = {}
    for row in read("same"):
        name, what = row["what"].split(": ", 1)
        found.setdefault(name, {})[what] = float(row["ours"])
    for name, row in found.items():
        stay, raw = row["share of decisions that stay"], row["ECE without held-out rows"]
        cells = [f"{100 * stay:.1f} %", f"{raw:.3f}", f"{row['ECE']:.3f}"]
        lines.append(f"| {name} | {' | '.join(cells)} | {short(row['processor time of a row'])} |")
    return "\n".join(lines)


def questionnaires() -> str:
    """Questions and accuracy of questionnaires, against asking for everything."""
    lines = ["| | questions | columns | accuracy | with all columns |", "|:--|--:|--:|--:|--:|"]
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in read("questions"):
        name, what = row["what"].split(": ", 1)
        found.setdefault(name, {})[what] = float(row["ours"]), float(row["peer"])
    for name, row in found.items():
        (questions, columns), (accuracy, whole) = row["questions"], row["accuracy"]
        cells = [
            f"{questions:.1f}",
            f"{columns:.0f}",
            *(f"{100 * a:.1f} %" for a in (accuracy, whole)),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def networks() -> str:
    """Posteriors of published networks beside pyAgrum's, and networks learned from their rows."""
    lines = [
        "| | posteriors | largest difference | log loss | TAN | fit, s | TAN, s |",
        "|:--|--:|--:|--:|--:|--:|--:|",
    ]
    found: dict[str, dict[str, list[str]]] = {}
    for row in [*read("networks"), *read("blankets")]:
        name, what = row["what"].split(": ", 1)
        cells = found.setdefault(name, {"posteriors": ["–", "–"]})
        if "through a BIF file" in what:
            continue
        if what.endswith("difference to pyAgrum"):
            cells["posteriors"] = [what.split()[0], f"{float(row['ours']):.0e}"]
        elif what.endswith("log loss"):
            cells["loss"] = [f"{float(row[column]):.4f}" for column in ("ours", "peer")]
        elif "processor time" in what:
            cells.setdefault("time", []).append(short(row["ours"]))
    for name, cells in found.items():
        shown = [*cells["posteriors"], *cells.get("loss", "––"), *cells.get("time", "––")]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def mean_of_networks(*without: str) -> str:
    """The mean log loss of learned networks and of trees, over published networks."""
    kept = [
        [float(row["ours"]), float(row["peer"])]
        for row in read("blankets")
        if row["what"].endswith("log loss") and row["what"].split(": ")[0] not in without
    ]
    ours, trees = (sum(losses) / len(kept) for losses in zip(*kept, strict=True))
    return f"{ours:.4f} against {trees:.4f}"


# ---- tables of the pages of results


@cache
def made(page: str, title: str) -> dict[str, dict[str, str]]:
    """A table of a page of results: its rows by their first cell, cells by the heads of their
    columns.
    """
    text = (HERE / "results" / f"{page}.md").read_text(encoding="utf-8")
    lines = text[text.index(f"**{title}") :].split("\n\n")[1].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads = list(cells[0])
    for at, head in enumerate(heads):  # ranks stand beside what they rank
        heads[at] = f"{heads[at - 1]}, rank" if head == "rank" else head
    return {row[0]: dict(zip(heads, row, strict=True)) for row in cells[2:]}


def n_sets(page: str = "peers") -> int:
    """Over how many data sets the means of a page go."""
    text = (HERE / "results" / f"{page}.md").read_text(encoding="utf-8")
    return int(re.search(r"Means over (\d+) data sets", text)[1])


COLUMNS = (
    "accuracy",
    "log loss",
    "log loss, rank",
    "accuracy, 30 % missing",
    "log loss, 30 % missing",
)
SHOWN = {
    "**discbayes, default of 0.1**": "discbayes, default of 0.1",
    "RBF SVM": "RBF SVM *",
    "HistGradientBoosting": "HistGradientBoosting",
    "logistic regression": "logistic regression",
    "k-NN": "k-NN *",
    "decision tree": "decision tree",
    "CategoricalNB": "CategoricalNB",
}


def marked(rows: dict[str, dict[str, str]], columns: Sequence[str]) -> dict[str, list[str]]:
    """The cells of some columns, with the best of each in bold."""
    best = {
        column: (max if column.startswith("accuracy") else min)(
            float(row[column]) for row in rows.values()
        )
        for column in columns
    }
    return {
        name: [
            f"**{row[column]}**" if float(row[column]) == best[column] else row[column]
            for column in columns
        ]
        for name, row in rows.items()
    }


def peers() -> str:
    """The default of version 0.1 beside what one would pick instead."""
    found = made("peers", "Ours and others")
    lines = [
        (
            "| | accuracy, % | log loss | rank in log loss"
            " | accuracy, 30 % missing | log loss, 30 % missing |"
        ),
        "|:--|--:|--:|--:|--:|--:|",
    ]
    for name, cells in marked(
        {name: found[method] for name, method in SHOWN.items()}, COLUMNS
    ).items():
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(
        [*lines, "", f"Means over {n_sets()} data sets, five folds each; ranks among 13 methods."]
    )


def scenarios() -> str:
    """The default beside boosting and forests, complete and with missing values."""
    complete = made("scenarios", "complete rows: all data sets")
    missing = made("scenarios", "30 % of the test cells missing: all data sets")
    columns = ("accuracy", "log loss", "log loss, rank")
    cells = {
        name: {column: complete[name][column] for column in columns}
        | {f"{column}, missing": missing[name][column] for column in columns[:2]}
        for name in complete
    }
    shown = (*columns, *(f"{column}, missing" for column in columns[:2]))
    lines = [
        (
            "| | accuracy, % | log loss | rank in log loss"
            " | accuracy, 30 % missing | log loss, 30 % missing |"
        ),
        "|:--|--:|--:|--:|--:|--:|",
        *(f"| {name} | {' | '.join(row)} |" for name, row in marked(cells, shown).items()),
        "",
        (
            f"Means over {n_sets('scenarios')} data sets, five folds each, at most 10,000 training"
            f" rows of a fold; ranks among {len(cells)} methods."
        ),
    ]
    return "\n".join(lines)


MEASURED = ("accuracy", "log loss", "accuracy, 30 % missing", "log loss, 30 % missing")
STRONGEST = ("RBF SVM", "HistGradientBoosting", "logistic regression")
CHOICES = {
    "discbayes, default of 0.1": "TAN-E-G+T",
    "naive Bayes, conditional likelihood": "NB-D-R",
    "tree, conditional likelihood": "TAN-D-R",
    "tree by classification rate, hybrid": "TAN-CR-E-G",
    "tree, generative with Laplace smoothing, temperature": "TAN-LAPLACE+T",
    "tree, generative": "TAN-MAP",
    "naive Bayes, generative": "NB-MAP",
}


def choices() -> str:
    """Some of our recipes, and the strongest of the others on the same data sets; what these rows
    say.
    """
    ours = made("default", "Recipes by their mean rank")
    rows = {name: ours[method] for name, method in CHOICES.items()}
    rows |= {name: others_on_sets_of_default(SHOWN[name]) for name in STRONGEST}
    lines = [
        "| | tag | accuracy, % | log loss | accuracy, missing | log loss, missing | time to fit |",
        "|:--|:--|--:|--:|--:|--:|--:|",
    ]
    for name, cells in marked(rows, MEASURED).items():
        time = "100" if name == "HistGradientBoosting" else rows[name].get("time, %", "–")
        lines.append(f"| {name} | {CHOICES.get(name, '')} | {' | '.join(cells)} | {time} |")
    lack = re.search(
        r"Not run on ([^.]+)\.", (HERE / "results" / "default.md").read_text(encoding="utf-8")
    )
    without = (
        f", those on which all {len(ours)} recipes were run (without {lack[1]})" if lack else ""
    )
    gains = {
        "a tree over naive Bayes, generative": ("TAN-MAP", "NB-MAP"),
        "a tree over naive Bayes, conditional likelihood": ("TAN-D-R", "NB-D-R"),
        "a tree by classification rate over that of the default of 0.1": (
            "TAN-CR-E-G",
            "TAN-E-G+T",
        ),
    }
    lines += [
        "",
        (
            f"Means over {n_sets('default')} data sets{without}, five folds each. Differences in"
            " accuracy, in points:"
        ),
        "",
        *(f"- {what}: {difference(ours[a], ours[b])}" for what, (a, b) in gains.items()),
    ]
    return "\n".join(lines)


def difference(row: dict[str, str], other: dict[str, str]) -> str:
    """How many points more are right on complete rows."""
    return f"{float(row['accuracy']) - float(other['accuracy']):+.1f}".replace("-", "−")


def others_on_sets_of_default(method: str) -> dict[str, str]:
    """The means of a method of the peers over the data sets that our recipes were chosen on."""
    sets = made("default", "Data set by data set")
    found = {}
    for column in MEASURED:
        figures = made("peers", f"Data set by data set: {column}**")
        mean = sum(float(figures[name][method]) for name in sets) / len(sets)
        found[column] = f"{mean:.2f}" if column.startswith("accuracy") else f"{mean:.4f}"
    return found


P10 = "[Pernkopf & Bilmes 2010](docs/results/p10-table7.md)"
P12 = "[Pernkopf & Wohlmayr 2012](docs/results/p12-table2.md)"
C11 = "[Carvalho et al. 2011](docs/results/c11-table3.md)"
Z17 = "[Zaidi et al. 2017](docs/results/z17-table4.md)"
P13 = "[Peharz et al. 2013](docs/results/p13-table1.md)"
IN_P10 = {
    "TAN by mutual information, generative parameters": ("TAN-CMI", "ML"),
    "TAN by classification rate, generative parameters": ("TAN-CR", "ML"),
    "TAN by classification rate, conditional likelihood": ("TAN-CR", "CL"),
    "TAN along one order, by classification rate, conditional likelihood": ("TAN-OMI-CR", "CL"),
    "SuperParent, conditional likelihood": ("TAN-SuperParent", "CL"),
    "2-tree by classification rate, conditional likelihood": ("2-tree-CR", "CL"),
}


def papers() -> str:
    """Methods by paper: the recipe, what was measured, ours and the published figure."""
    rows = []
    averages = made("p10-table7", "Average accuracy")
    for method, (structure, parameters) in IN_P10.items():
        found = both(averages[structure][parameters])
        rows.append((method, P10, f"{structure}-{parameters}", "accuracy, 25 sets", *found))
    margins = made("p12-table2", "Accuracy in per cent with MM")
    for method, tag in {
        "TAN by margin, greedy; margin": "TAN-HC-MM",
        "TAN by margin, annealed; margin": "TAN-SA-MM",
    }.items():
        rows += [
            (method, P12, f"{tag}-MM", f"accuracy, {data}", *both(margins[tag][data]))
            for data in ("mnist14", "spambase")
        ]
    tests = made("c11-table3", "Signed-rank tests over 25 sets, cut points of all rows")
    for tag in ("TAN-fCLL-OFE", "TAN-aCLL-OFE"):
        found = both(tests[f"{tag} – TAN-LL-OFE"]["Z"])
        rows.append(
            (
                f"TAN by {tag[4:8]}, generative parameters",
                C11,
                tag,
                "Z against TAN by likelihood, 25 sets",
                *found,
            )
        )
    wins = wins_of_weights()
    for name, tag in {"NB": "NB-W", "TAN": "TAN-W"}.items():
        rows.append(
            (
                f"{name} with weights (CCBN)",
                Z17,
                tag,
                "wins/draws/losses against generative parameters, big sets",
                *wins[name],
            )
        )
    ours, published = mean_of_margins()
    rows.append(("TAN, ML-BN-SVM", P13, "TAN-MLBNSVM", "accuracy, 26 sets", ours, published))
    lines = [
        "| method | paper | recipe | measured | ours | published |",
        "|:--|:--|:--|:--|--:|--:|",
    ]
    return "\n".join(
        [*lines, *(f"| {a} | {b} | `{c}` | {d} | {e} | {f} |" for a, b, c, d, e, f in rows)]
    )


def both(cell: str) -> tuple[str, str]:
    """Ours and the published figure of a cell such as ``84.50 (84.82) ▼``."""
    ours, published = re.match(r"(\S+) \(([^)]+)\)", cell).groups()
    return ours.replace("-", "−"), published.replace("-", "−")


def wins_of_weights() -> dict[str, tuple[str, str]]:
    """The row of the 0-1 loss on the big sets, ours and that of Z17, for each structure."""
    text = (HERE / "results" / "z17-table4.md").read_text(encoding="utf-8")
    cells = [
        cell.strip().split()[0]
        for cell in re.search(r"^\| big \| 0-1 loss \|(.*)\|$", text, re.M)[1].split("|")
    ]
    return {"NB": (cells[0], cells[2]), "TAN": (cells[4], cells[6])}


def mean_of_margins() -> tuple[str, str]:
    """Mean accuracies of ML-BN-SVM over the sets that are in both."""
    rows = made("p13-table1", "Accuracy in per cent, TAN").values()
    pairs = [both(row["ML-BN-SVM"]) for row in rows if not row["ML-BN-SVM"].startswith("–")]
    assert len(pairs) == 26
    return tuple(f"{sum(float(pair[k]) for pair in pairs) / len(pairs):.2f}" for k in (0, 1))


# ---- figures within sentences


def ratios(case: str, begin: str) -> list[float]:
    """How many times as fast as the peer, in the lines of a case that begin so."""
    return sorted(float(row["ratio"]) for row in read(case) if row["what"].startswith(begin))


def span(numbers: Sequence[float]) -> str:
    """The least and the largest number, or the one that both are."""
    return " to ".join(dict.fromkeys((f"{numbers[0]:.0f}", f"{numbers[-1]:.0f}")))


def figure(case: str, *whats: str) -> str:
    """The sum of some lines of a case, with their unit."""
    rows = {row["what"]: row for row in read(case)}
    return f"{short(sum(float(rows[what]['ours']) for what in whats))} {rows[whats[0]]['unit']}"


def accuracies_held() -> str:
    """How often the interval of an accuracy holds it."""
    [row] = [row for row in read("bars") if row["what"].endswith("accuracy on 60 rows, mean")]
    return f"{100 * float(row['ours']):.1f} %"


def questions_kept() -> str:
    """On how many sets a third of the columns is enough for at most a point less accuracy."""
    kept: dict[str, bool] = {}
    for row in read("questions"):
        name = row["what"].split(": ")[0]
        kept[name] = kept.get(name, True) and row["ok"] == "yes"
    return f"{sum(kept.values())} of {len(kept)}"


def times_as_long(recipe: str, other: str) -> str:
    """How many times as long as another recipe one took, where the default was chosen."""
    rows = made("default", "Recipes by their mean rank")
    return f"{float(rows[recipe]['time, %']) / float(rows[other]['time, %']):.0f}"


FIGURES = {
    "nb-fit": lambda: span(ratios("nb", "NB fit")),
    "tan-fit": lambda: span(ratios("tan", "TAN fit")),
    "missing-chess": lambda: (
        f"{ratios('missing', 'predict_proba, 30 % missing vs complete, chess')[0]:.1f}"
    ),
    "missing-letter": lambda: (
        f"{ratios('missing', 'predict_proba, 30 % missing vs complete, letter')[0]:.1f}"
    ),
    "machine": lambda: read("tan")[0]["machine"],
    "refits": partial(figure, "bars", "200 refits of a TAN, breast-cancer, processor time"),
    "accuracies-held": accuracies_held,
    "questions-kept": questions_kept,
    "networks-mean": mean_of_networks,
    "networks-mean-without-barley": partial(mean_of_networks, "barley"),
    "compiling": partial(
        figure,
        "start",
        "first default fit of a process, nothing cached",
        "first predict_proba of a process, default, nothing cached",
    ),
    "tree": partial(figure, "pairs", "TAN fit from uint8 codes, mnist14 60,000 x 196"),
    "all-pairs": partial(figure, "pairs", "all pairs with the class, mnist14 60,000 x 196"),
    "alone-import": partial(
        figure, "alone", "import discbayes.predict beyond numpy, processor time"
    ),
    "memory": partial(figure, "memory", "peak memory of a TAN fit on mnist14's uint8 codes"),
    "margin-hard": partial(figure, "margins", "ML-BN-SVM, TAN, λ = 16, γ = 10, letter 15,000 x 16"),
    "margin-easy": partial(figure, "margins", "ML-BN-SVM, TAN, λ = 1, γ = 1, letter 15,000 x 16"),
    "default-against-map": partial(times_as_long, "TAN-E-G+T", "TAN-MAP"),
    "two-parents": partial(times_as_long, "KDB2-E-G", "TAN-E-G"),
}
TABLES = {
    **{case: partial(table, case) for case in HEADS},
    "start": partial(
        alone,
        "start",
        "import beyond sklearn and numba",
        "first TAN fit of a process, kernels cached",
        "first TAN fit of a process, nothing cached",
        "first default fit of a process, kernels cached",
        "first default fit of a process, nothing cached",
    ),
    "large": partial(alone, "pairs", "TAN fit from uint8 codes, mnist14 60,000 x 196"),
    "searches": partial(
        alone,
        "search",
        "TAN-CR, letter 13,333 x 16",
        "TAN-CR, mnist14 60,000 x 196",
        "OMI-CR, mnist14",
        "SA-MM, λ = 0.05, mnist14",
        "HC-CL, mnist14",
    ),
    "default": default,
    "missing": missing,
    "alone": without_compiler,
    "peers": peers,
    "scenarios": scenarios,
    "choices": choices,
    "papers": papers,
    "intervals": intervals,
    "sets-of-classes": sets_of_classes,
    "same-decisions": same_decisions,
    "questionnaires": questionnaires,
    "networks": networks,
}

if __name__ == "__main__":
    for page in PAGES:
        page.write_text(fill(page.read_text(encoding="utf-8")), encoding="utf-8")
