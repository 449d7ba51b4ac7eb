"""Dates become year, month, weekday, hour and days; later tables have the dates themselves."""

import datetime
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discbayes import BayesNetClassifier, BayesNetEnsemble, Between, load, predict
from discbayes.data import FrameEncoder
from discbayes.data.dates import (
    ORDERS,
    PARTS,
    DatePart,
    order_of_dates,
    parse_date,
    seconds_of_objects,
)
from discbayes.io.document import seal
from discbayes.io.errors import ModelFileError

N = 600


def admissions(seed=0):
    """A table in which winters and weekends tell the class, and the year does not."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2021-01-01", "s") + rng.integers(0, 1000, N) * np.timedelta64(86_400, "s")
    size = rng.normal(size=N)
    stamps = pd.DatetimeIndex(days)
    odds = size + 3.0 * stamps.month.isin([12, 1, 2]) + 3.0 * (stamps.day_of_week >= 5) - 2
    y = np.where(rng.random(N) < 1 / (1 + np.exp(-odds)), "yes", "no")
    frame = pd.DataFrame({"size": size, "admitted": days, "ward": rng.choice(["a", "b"], N)})
    frame.loc[::17, "admitted"] = pd.NaT
    return frame, y


FRAME, Y = admissions()
NAMES = [
    "size",
    "admitted (year)",
    "admitted (month)",
    "admitted (weekday)",
    "admitted (days since 2000)",
    "ward",
]


@pytest.fixture(scope="module")
def model():
    return BayesNetClassifier("nb", "map").fit(FRAME, Y)


def test_parts_are_those_of_the_calendar():
    rng = np.random.default_rng(1)
    start = datetime.datetime(1899, 12, 31)
    times = [start + datetime.timedelta(minutes=int(m)) for m in rng.integers(0, 10**8, 300)]
    seconds = seconds_of_objects([*times, None], "day")
    found = {part: DatePart("day", part).values(seconds) for part in PARTS}
    first = datetime.date(2000, 1, 1)
    for row, time in enumerate(times):
        expected = [time.year, time.month, time.isoweekday(), time.hour, (time.date() - first).days]
        assert [found[part][row] for part in PARTS] == expected
    assert all(np.isnan(values[-1]) for values in found.values())


@pytest.mark.parametrize(
    ("order", "form"),
    list(zip(ORDERS, ("%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M", "%m/%d/%y"), strict=True)),
)
def test_texts_are_parsed_as_python_does(order, form):
    rng = np.random.default_rng(2)
    for days in rng.integers(0, 15_000, 200):
        time = datetime.datetime(1970, 1, 1, 13, 5) + datetime.timedelta(days=int(days))
        text = time.strftime(form)
        expected = datetime.datetime.strptime(text, form) - datetime.datetime(2000, 1, 1)
        assert parse_date(text, order) == expected.total_seconds()


@pytest.mark.parametrize("text", ["2024-02-30", "2024-13-01", "2024", "24-02-01", "2024-02-01x"])
def test_what_is_no_date_is_not_parsed(text):
    assert parse_date(text, "year-month-day") is None


def test_the_order_is_told_by_all_texts_together():
    assert order_of_dates(["1.2.2024", "3.4.2024"]) == "day.month.year"
    assert order_of_dates(["1/2/2024", "13/2/2024"]) == "day.month.year"
    assert order_of_dates(["1/2/2024", "2/13/2024"]) == "month/day/year"
    assert order_of_dates(["1/2/2024", "3/4/2024"]) is None
    assert order_of_dates(["13/2/2024", "2/13/2024"]) is None
    assert order_of_dates([]) is None


def test_what_tells_nothing_of_the_class_is_not_used():
    clf = BayesNetClassifier("nb", "map").fit(FRAME, Y)
    used = {v.name for v in clf.domain_.features if v.card > 1}
    assert {"admitted (month)", "admitted (weekday)"} <= used
    assert "admitted (days since 2000)" not in used
    assert clf.domain_.unused == []  # a part of the dates is used
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="'admitted .days since 2000.'"):
        noise = BayesNetClassifier("nb", "map").fit(FRAME[["admitted"]], rng.permutation(Y))
    assert len(noise.domain_.unused) == 4


def test_columns_are_those_of_the_table(model):
    assert model.domain_.names == NAMES
    assert model.domain_.columns == list(FRAME.columns)
    assert model.n_features_in_ == 3
    assert list(model.feature_names_in_) == list(FRAME.columns)
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.sum() == pytest.approx(1)


def in_other_forms():
    dates = [None if day is pd.NaT else day.date() for day in FRAME["admitted"]]
    polars = pl.DataFrame(FRAME.assign(admitted=dates))
    return {
        "objects": FRAME.assign(admitted=dates),
        "text": FRAME.assign(admitted=FRAME["admitted"].dt.strftime("%Y-%m-%d")),
        "zone": FRAME.assign(admitted=FRAME["admitted"].dt.tz_localize("Asia/Tokyo")),
        "polars": polars,
        "arrow": polars.to_arrow(),
    }


@pytest.mark.parametrize("form", in_other_forms())
def test_the_same_dates_in_other_forms_are_the_same(form, model):
    table = in_other_forms()[form]
    assert np.array_equal(model.predict_proba(table), model.predict_proba(FRAME))
    again = BayesNetClassifier("nb", "map").fit(table, Y)
    assert [v.cuts for v in again.domain_.features] == [v.cuts for v in model.domain_.features]
    assert np.array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_columns_without_names_are_taken_in_their_order(model):
    text = FRAME.assign(admitted=FRAME["admitted"].dt.strftime("%Y-%m-%d"))
    for rows in (FRAME.to_numpy(dtype=object), text.to_numpy(dtype=object)):
        assert np.array_equal(model.predict_proba(rows), model.predict_proba(FRAME))
    with pytest.raises(ValueError, match="column 'admitted' held dates at fit"):
        model.predict_proba(np.zeros((2, 3)))


def test_parts_are_the_columns_that_one_would_have_made(model):
    day = FRAME["admitted"].dt
    made = FRAME.drop(columns="admitted").assign(
        year=day.year,
        month=day.month,
        weekday=day.isocalendar().day.astype(float),
        days=(FRAME["admitted"] - pd.Timestamp("2000-01-01")).dt.days,
    )
    by_hand = BayesNetClassifier("nb", "map").fit(made, Y)
    assert np.allclose(by_hand.predict_proba(made), model.predict_proba(FRAME), atol=1e-12)


def test_files_in_batches_are_learned_as_tables(model, tmp_path):
    table = in_other_forms()["polars"].with_columns(y=pl.Series(Y))
    table.write_parquet(tmp_path / "t.parquet")
    table.write_csv(tmp_path / "t.csv")
    for name in ("t.parquet", "t.csv"):
        path = tmp_path / name
        clf = BayesNetClassifier("nb", "map").fit(path, "y")
        assert clf.domain_.features == model.domain_.features
        assert clf.n_features_in_ == 3
        assert np.array_equal(clf.predict_proba(path), model.predict_proba(FRAME))
        assert clf.score(path, "y") == model.score(FRAME, Y)


def test_batches_that_can_be_read_once(model):
    batches = ((FRAME[k : k + 200], Y[k : k + 200]) for k in range(0, N, 200))
    clf = BayesNetClassifier("nb", "map").fit(batches)
    parts = [v.date and v.date.part for v in clf.domain_.features]
    assert parts == [None, "year", "month", "weekday", "hour", "days", None]
    assert clf.predict(FRAME).tolist() == model.predict(FRAME).tolist()


def test_a_model_goes_on_with_more_rows():
    clf = BayesNetClassifier("nb", "map", discretizer="mdlp")
    clf.partial_fit(FRAME[:400], Y[:400]).partial_fit(FRAME[400:], Y[400:])
    assert clf.domain_.columns == list(FRAME.columns)
    assert clf.predict_proba(FRAME).shape == (N, 2)


def test_a_missing_date_is_missing_in_all_parts(model):
    codes = model.encode(FRAME)
    missing = FRAME["admitted"].isna().to_numpy()
    for position, variable in enumerate(model.domain_.features):
        if variable.date is not None:
            assert ((codes[position] == variable.card) == missing).all()


def test_rows_by_name(model):
    one = FRAME.iloc[[1]]
    row = {"size": float(one["size"].iloc[0]), "ward": one["ward"].iloc[0]}
    expected = model.predict_proba(one)
    for day in (one["admitted"].iloc[0], str(one["admitted"].dt.date.iloc[0])):
        assert np.array_equal(model.predict_proba({**row, "admitted": day}), expected)
    month = float(one["admitted"].dt.month.iloc[0])
    assert model.value_of_information({"admitted": "2021-05-06"}).names == ["size", "ward"]
    some = model.network_.query("class", {"admitted (month)": Between(month, month)})
    assert some.probabilities.sum() == pytest.approx(1)
    by_name = BayesNetClassifier("nb", "map", columns="by-name").fit(FRAME, Y)
    lacking = FRAME.assign(admitted=pd.NaT)
    assert np.array_equal(
        by_name.predict_proba(FRAME[["ward", "size"]]), model.predict_proba(lacking)
    )


def test_explanations_name_the_parts(model):
    assert "admitted (weekday)" in str(model.explain(FRAME.iloc[[0]]))
    assert "admitted (month)" in str(model.summary())
    assert "admitted (month)" in model.report(None, FRAME, Y).html


def test_dates_may_be_left_out_or_refused():
    with pytest.warns(UserWarning, match="'admitted .days since 2000.'"):
        clf = BayesNetClassifier("nb", "map", dates="drop").fit(FRAME, Y)
    without = BayesNetClassifier("nb", "map").fit(FRAME.drop(columns="admitted"), Y)
    rest = FRAME.drop(columns="admitted")
    assert np.allclose(clf.predict_proba(FRAME), without.predict_proba(rest), atol=1e-12)
    with pytest.raises(ValueError, match="column 'admitted' holds dates"):
        BayesNetClassifier("nb", "map", dates="error").fit(FRAME, Y)
    with pytest.raises(ValueError, match="dates must be one of"):
        BayesNetClassifier("nb", "map", dates="days").fit(FRAME, Y)


def test_few_texts_and_declared_ones_are_categories():
    quarters = pd.DataFrame({"q": ["2024-01-01", "2024-04-01", "2024-07-01"] * 20})
    y = np.arange(60) % 2
    assert FrameEncoder().fit_transform(quarters, y).domain.names == ["q"]
    text = in_other_forms()["text"]
    kept = FrameEncoder(categorical=["admitted"]).fit_transform(text, Y).domain
    assert kept.names == list(text.columns)


def test_what_does_not_fit_is_refused(model):
    odd = FRAME.assign(admitted=["soon", *["2024-01-01"] * (N - 1)])
    with pytest.raises(ValueError, match=r"'admitted' holds dates .*'soon', which is not one"):
        model.predict(odd)
    with pytest.raises(ValueError, match="held dates at fit and now holds numbers"):
        model.predict(FRAME.assign(admitted=1.5))
    with pytest.raises(ValueError, match="'size' holds dates, and held none at fit"):
        model.predict(FRAME.assign(size=FRAME["admitted"]))
    mixed = FRAME.assign(admitted=[datetime.date(2024, 1, 1), 3, *[None] * (N - 2)])
    with pytest.raises(ValueError, match="column 'admitted' mixes dates and other values"):
        BayesNetClassifier("nb", "map").fit(mixed, Y)
    with pytest.raises(ValueError, match="categorical must have names"):
        BayesNetClassifier("nb", "map", categorical=[0]).fit(FRAME, Y)
    taken = FRAME.assign(**{"admitted (year)": 1.0})
    with pytest.raises(ValueError, match=r"has a column 'admitted \(year\)'"):
        BayesNetClassifier("nb", "map").fit(taken, Y)


@pytest.mark.parametrize("kind", [BayesNetClassifier, BayesNetEnsemble])
def test_files_keep_the_dates(kind, tmp_path):
    clf = (kind("nb", "map") if kind is BayesNetClassifier else kind(2)).fit(FRAME, Y)
    clf.save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 4
    again = load(tmp_path / "model.json")
    assert again.domain_ == clf.domain_
    assert list(again.feature_names_in_) == list(FRAME.columns)
    assert np.array_equal(again.predict_proba(FRAME), clf.predict_proba(FRAME))
    assert np.array_equal(pickle.loads(pickle.dumps(clf)).predict(FRAME), clf.predict(FRAME))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda f: f[1].update(date=["admitted", "century", ""]), "century"),
        (lambda f: f[1].update(date=["admitted", "month", ""]), "admitted .month."),
        (lambda f: f[1].update(date=["admitted", "year", "month/day/year"]), "not one column"),
        (lambda f: f[0].update(name="admitted"), "not one column"),
        (lambda f: f[0].update(ordered=True), "ordered is for values"),
        (lambda f: f[1].update(date=["admitted"]), "date"),
    ],
)
def test_hostile_files_are_refused(change, match, model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    content = json.loads(path.read_text())["model"]
    change(content["domain"]["features"])
    path.write_bytes(seal(content, 4))
    with pytest.raises(ModelFileError, match=match):
        load(path)


def test_numpy_alone_answers_rows_with_dates(model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    alone = predict.load(path)
    expected = model.predict_proba(FRAME)
    assert np.allclose(alone.predict_proba(FRAME), expected, atol=1e-12)
    days = [None if day is pd.NaT else day.date().isoformat() for day in FRAME["admitted"]]
    columns = {"size": FRAME["size"].to_list(), "admitted": days, "ward": FRAME["ward"].to_list()}
    assert np.allclose(alone.predict_proba(columns), expected, atol=1e-12)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert np.allclose(alone.predict_proba(rows), expected, atol=1e-12)
    matrix = np.array([list(row.values()) for row in rows], dtype=object)
    assert np.allclose(alone.predict_proba(matrix), expected, atol=1e-12)


def test_the_schema_has_the_fields_of_dates(model, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    folder = Path(__file__).parents[2] / "docs" / "model-file"
    schema = json.loads((folder / "model.schema.json").read_text(encoding="utf-8"))
    model.save(tmp_path / "model.json")
    jsonschema.validate(json.loads((tmp_path / "model.json").read_text()), schema)
