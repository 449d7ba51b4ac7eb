"""Evidence of every kind in the page of a classifier, in a real browser: the answers are those of
the library.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from conformance import fitted, shop
from discbayes import Between, Likelihood, Not, OneOf

COLUMNS = list(shop()[0].columns)
SIZE, AGE, COLOR = (COLUMNS.index(name) for name in ("size", "age", "color"))


class Asking:
    """The section Ask of a page."""

    def __init__(self, page, classifier):
        self.page = page
        self.classifier = classifier

    def field(self, feature, kind):
        """Open the fields of a feature, for evidence of a kind."""
        row = self.page.locator(f'#features li[data-feature="{feature}"]')
        row.locator("> button").click()
        row.locator(".evidence > select").select_option(kind)
        return row.locator(".values")

    def choose(self, feature, kind, labels):
        field = self.field(feature, kind)
        for label in labels:
            field.get_by_label(label, exact=True).check()

    def between(self, feature, low, high):
        first, last = self.field(feature, "between").locator("input").all()
        first.fill("" if low is None else str(low))
        last.fill("" if high is None else str(high))

    def weigh(self, feature, numbers):
        fields = self.field(feature, "likelihood").locator("input").all()
        for field, number in zip(fields, numbers, strict=False):
            field.fill(str(number))

    def check(self, row):
        """Posterior, reasons and questions are those of the library."""
        clf = self.classifier
        found = [float(bar.get_attribute("data-value")) for bar in self.bars()]
        np.testing.assert_allclose(found, clf.predict_proba([row])[0], rtol=0, atol=1e-9)
        explanation = clf.explain([row])
        for c in range(len(clf.classes_)):
            self.page.select_option("#class-choice", str(c))
            shown = self.page.locator("#reasons .value").all()
            got = sorted(float(one.get_attribute("data-value")) for one in shown)
            values = explanation.contributions[0, :, c]
            expected = sorted([explanation.base_of(0)[c], *values[~np.isnan(values)]])
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
        gains = [
            float(one.get_attribute("data-gain"))
            for one in self.page.locator("#questions li").all()
        ]
        expected = clf.value_of_information(row).gain[: len(gains)]
        np.testing.assert_allclose(gains, expected, rtol=0, atol=1e-9)

    def bars(self):
        return self.page.locator("#posterior li").all()


@pytest.fixture(scope="module", params=["tan", "missing", "default"])
def classifier(request):
    settings = {
        "tan": (("tan", "map"), {}),
        "missing": (("tan", "map"), {"missing": "value"}),
        "default": ((), {}),
    }
    positional, named = settings[request.param]
    return fitted(*positional, **named)


def test_evidence_of_every_kind_is_answered_as_by_the_library(open_page, classifier):
    asking = Asking(open_page(classifier.report()), classifier)
    asking.choose(COLOR, "one_of", ["red", "blue"])
    row = {"color": OneOf("red", "blue")}
    asking.check(row)
    asking.between(AGE, 12, 30.5)
    row["age"] = Between(12, 30.5)
    asking.check(row)
    numbers = np.linspace(1, 0.25, len(classifier.domain_.features[SIZE].labels)).round(3)
    n_real = len(numbers) - classifier.domain_.features[SIZE].missing_value
    asking.weigh(SIZE, numbers[:n_real])
    row["size"] = Likelihood(numbers[:n_real].tolist())
    asking.check(row)
    asking.page.locator(f'#features li[data-feature="{COLOR}"] .evidence > select').select_option(
        "not"
    )
    asking.page.get_by_label("red", exact=True).check()
    row["color"] = Not("red")
    asking.check(row)
    assert asking.page.text_content("#count") == f"3 of {len(COLUMNS)}"
    asking.page.click("#reset")
    assert asking.page.locator(".evidence").count() == 0
    asking.check({})


def test_a_range_may_be_open_and_a_value_takes_the_place_of_evidence(open_page, classifier):
    asking = Asking(open_page(classifier.report()), classifier)
    asking.between(SIZE, 0.5, None)
    asking.check({"size": Between(0.5, None)})
    asking.page.select_option(f"#value-{SIZE}", "0")
    low = classifier.domain_.features[SIZE].cuts[0] - 1
    asking.check({"size": low})
    assert asking.page.locator(".evidence").count() == 0


def test_nothing_follows_from_fields_that_are_not_filled_in(open_page):
    classifier = fitted("tan", "map")
    asking = Asking(open_page(classifier.report()), classifier)
    asking.field(COLOR, "one_of")
    asking.between(SIZE, 3, 1)
    asking.weigh(AGE, [-1])
    asking.check({})
    assert asking.page.text_content("#count") == f"0 of {len(COLUMNS)}"


def test_a_page_knows_which_values_mean_missing():
    model = json.loads(
        fitted("tan", "map", missing="value")
        .report()
        .html.split('id="model"')[1]
        .split(">", 1)[1]
        .split("</script>")[0]
    )
    assert any(model["has_missing"])
