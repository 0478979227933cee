"""A real browser, and a report opened in it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from support.needs import need

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    need(CHROMIUM is not None, "the browser chromium (.ci/system installs it)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Page:
    """A report in the browser, which must neither complain nor ask for anything."""

    def __init__(self, browser, path, **options):
        self.complaints, self.requests = [], []
        self.page = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options)).new_page()
        self.page.set_default_timeout(120_000)  # of milliseconds: machines are shared
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def close(self):
        self.page.context.close()
        assert self.complaints == []
        assert len(self.requests) == 1  # the file itself
        assert self.requests[0].startswith("file://")

    @property
    def value(self):
        return float(self.page.get_attribute("#value", "data-value"))

    @property
    def labels(self):
        return np.array(self.page.eval_on_selector_all(".bucket", "nodes => nodes.map(n => Number(n.dataset.label))"))

    def column(self, table, number):
        return self.page.eval_on_selector_all(
            f"#table-{table} tbody tr:not([hidden])", f"rows => rows.map(row => row.cells[{number}].textContent)"
        )
