"""Make ``docs/page.png``, the HTML report of the front page: a classifier with two known values.

    DISCBAYES_DATA=... python docs/make_report_picture.py

It needs Playwright (extra ``test``) and an installed Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from discbayes import BayesNetClassifier, load_dataset

PICTURE = Path(__file__).parent / "page.png"
COLUMNS = {
    "preg": "pregnancies", "plas": "glucose", "pres": "blood pressure", "skin": "skin fold",
    "insu": "insulin", "mass": "body mass index", "pedi": "pedigree", "age": "age",
}  # fmt: skip
KNOWN = {"glucose": "150", "age": "52"}
SIZE = {"width": 1180, "height": 1000}


def main() -> None:
    """Fit, write the report, type the known values, and take the picture."""
    data = load_dataset("diabetes")
    labels = np.where(data.y == "tested_positive", "diabetic", "healthy")
    y = pd.Series(labels, name="diagnosis")
    clf = BayesNetClassifier().fit(data.X.rename(columns=COLUMNS), y)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        clf.report(path, data.X.rename(columns=COLUMNS), y)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(path.as_uri())
        for name, value in KNOWN.items():
            field = page.locator(f"input[aria-label*='{name}']").first
            field.fill(value)
            field.press("Enter")
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
