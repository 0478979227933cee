"""The report in a real browser: what it computes, what it lets do, and what it must not do."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import crowdopt
from crowdopt.engines.scan import Cuts
from crowdopt.model.order import Order
from crowdopt.report.lattice import heaviest
from crowdopt.report.safe_text import visible
from support.browsing import Page
from support.lattice import respects
from support.reports import CASES, HOSTILE, ODD_TASKS, TURNED, crowd, hostile, solved, turned


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory):
    """Where screenshots are kept: a folder of the test run, or the one that CROWDOPT_ARTEFACTS names."""
    named = os.environ.get("CROWDOPT_ARTEFACTS")
    if not named:
        return tmp_path_factory.mktemp("screenshots")
    Path(named).mkdir(parents=True, exist_ok=True)
    return Path(named)


@pytest.fixture
def open_page(browser, folder):
    """Opens the report of a solution (by its name in CASES, or as it is); it is checked when the test ends."""
    opened = []

    def open_it(solution, **options):
        name = solution if isinstance(solution, str) else f"report-{len(list(folder.iterdir()))}"
        path = folder / f"{name}.html"
        if not path.exists():
            (solved(solution) if isinstance(solution, str) else solution).report(path)
        opened.append(Page(browser, path, **options))
        return opened[-1]

    yield open_it
    for page in opened:
        page.close()


def likelihood(solution, drawn_labels):
    """What the library says of the labels that the page shows; buckets that are not drawn keep theirs."""
    mapping = solution.mapping.copy()
    mapping[heaviest(solution.buckets)] = drawn_labels
    return solution.objective.of_mapping(solution.buckets, mapping)


@pytest.mark.parametrize("name", CASES)
def test_moving_a_bucket_shows_the_likelihood_of_the_library(open_page, name):
    solution, report = solved(name), open_page(name)
    assert report.value == pytest.approx(solution.certificate.objective, rel=1e-9)
    assert np.array_equal(report.labels, solution.mapping[heaviest(solution.buckets)])
    free = report.page.locator("#keep-order")
    if free.count():
        free.uncheck()
    rng = np.random.default_rng(0)
    for bucket in rng.choice(len(report.labels), min(8, len(report.labels)), replace=False):
        before, label = report.labels, int(rng.integers(solution.scale.n_labels))
        report.page.locator(f'[data-bucket="{bucket}"]').dispatch_event("click")
        report.page.select_option("#bucket-label", index=label)
        before[bucket] = label
        assert np.array_equal(report.labels, before)
        assert report.value == pytest.approx(likelihood(solution, before), rel=1e-9)
    report.page.evaluate("document.getElementById('reset').click()")
    assert report.value == pytest.approx(solution.certificate.objective, rel=1e-9)
    assert report.page.inner_text("#loss") == "These are the answers of this report."


@pytest.mark.parametrize("name", ["plane", "triangle", "arch", "ranked"])
def test_kept_in_order_what_is_above_and_below_follows(open_page, name):
    solution, report = solved(name), open_page(name)
    order = Order.of(solution.buckets.counts[heaviest(solution.buckets)], ranked=solution.ranked)
    assert respects(order, report.labels)
    rng = np.random.default_rng(1)
    for bucket in rng.choice(len(report.labels), 6, replace=False):
        label = int(rng.integers(solution.scale.n_labels))
        report.page.locator(f'[data-bucket="{bucket}"]').dispatch_event("click")
        report.page.select_option("#bucket-label", index=label)
        assert report.labels[bucket] == label
        assert respects(order, report.labels)
        assert report.value == pytest.approx(likelihood(solution, report.labels), rel=1e-9)


@pytest.mark.parametrize("name", ["triangle", "arch", "ranked"])
def test_stepping_a_cut_moves_one_bucket_across_it(open_page, name):
    solution, report = solved(name), open_page(name)
    order = Order.of(solution.buckets.counts[heaviest(solution.buckets)], ranked=solution.ranked)
    moved = 0
    for cut in range(1, solution.scale.n_labels):
        for way, (low, high) in {"down": (cut - 1, cut), "up": (cut, cut - 1)}.items():
            before = report.labels
            report.page.click(f'[data-cut="{cut}"][data-way="{way}"]')
            changed = np.flatnonzero(report.labels != before)
            assert len(changed) <= 1
            assert all((before[b], report.labels[b]) == (low, high) for b in changed)
            assert respects(order, report.labels)
            assert report.value == pytest.approx(likelihood(solution, report.labels), rel=1e-9)
            moved += len(changed)
    assert moved > 0


@pytest.mark.parametrize("name", ["line", "plane", "plane-knowledge", "line-shares"])
def test_every_place_of_the_slider_is_a_cut_of_the_library(open_page, name):
    solution, report = solved(name), open_page(name)
    cuts = Cuts(solution.problem)
    for place in range(len(cuts.values)):
        report.page.fill("#cut", str(place))
        assert report.value == pytest.approx(float(cuts.values[place]), rel=1e-9)
        assert np.array_equal(report.labels, cuts.mapping(place))
    report.page.click("#reset")
    assert report.value == pytest.approx(solution.certificate.objective, rel=1e-9)


def test_a_cut_moves_buckets_that_are_not_drawn(open_page):
    solution = crowdopt.prove(crowd(1500, 2, (1, 40), 20, n_workers=40))
    assert solution.buckets.n_buckets > 300
    report = open_page(solution)
    assert f"There are {solution.buckets.n_buckets} buckets. The 300 heaviest are drawn" in report.page.inner_text(
        "#buckets"
    )
    cuts = Cuts(solution.problem)
    for place in (0, 7, len(cuts.values) // 2, len(cuts.values) - 1):
        report.page.fill("#cut", str(place))
        assert report.value == pytest.approx(float(cuts.values[place]), rel=1e-9)
    report.page.locator('[data-bucket="5"]').dispatch_event("click")
    report.page.uncheck("#keep-order")
    report.page.select_option("#bucket-label", index=1)
    mapping = cuts.mapping(len(cuts.values) - 1)
    mapping[heaviest(solution.buckets)[5]] = 1
    assert report.value == pytest.approx(solution.objective.of_mapping(solution.buckets, mapping), rel=1e-9)


def test_impossible_labels_are_called_so(open_page):
    frame = crowd(30, 2, (3, 3), 21, names=["no", "yes"])
    report = open_page(crowdopt.prove(frame, selectivity={"no": 1.0, "yes": 0.0}))
    report.page.fill("#cut", "0")
    assert report.page.inner_text("#value") == "impossible"
    assert "share of zero" in report.page.inner_text("#loss")


def test_the_picture_is_used_by_keyboard(open_page):
    solution, report = solved("line"), open_page("line")
    first = report.page.locator('[data-bucket="0"]')
    first.focus()
    report.page.keyboard.press("ArrowLeft")
    assert report.page.evaluate("document.activeElement.dataset.bucket") == "1"
    report.page.uncheck("#keep-order")
    report.page.locator('[data-bucket="1"]').focus()
    before = report.labels
    report.page.keyboard.press("Enter")
    assert report.labels[1] == 1 - before[1]
    report.page.keyboard.press("1")
    assert report.labels[1] == 0
    report.page.keyboard.press("ArrowRight")
    assert report.page.evaluate("document.activeElement.dataset.bucket") == "0"
    assert report.page.get_attribute('[data-bucket="0"]', "aria-label").endswith(
        solution.scale.labels[report.labels[0]]
    )


def test_tables_sort_both_ways_and_filter(open_page):
    report = open_page("line")
    n_rows = len(report.column("tasks", 0))
    for column, key in ((0, str), (2, lambda text: float(text.rstrip("%"))), (4, int)):
        button = report.page.locator(f'[data-sort="tasks"][data-column="{column}"]')
        for way, reverse in (("ascending", False), ("descending", True)):
            button.click()
            assert button.locator("..").get_attribute("aria-sort") == way
            shown = [key(text) for text in report.column("tasks", column)]
            assert shown == sorted(shown, reverse=reverse)
    report.page.fill("#search-tasks", "T001 text")
    found = report.column("tasks", 0)
    assert sorted(found) == [f"t001{k}" for k in range(10)]
    assert report.page.inner_text('[data-shown="tasks"]') == f"{len(found)} found"
    report.page.fill("#search-tasks", "no such text")
    assert report.column("tasks", 0) == []
    report.page.fill("#search-tasks", "")
    assert len(report.column("tasks", 0)) == n_rows
    report.page.fill("#search-workers", "w1")
    assert all("w1" in text for text in report.column("workers", 0))


def test_what_users_bring_stays_text(open_page):
    solution = crowdopt.prove(hostile(), keep=["text"], labels=["calm", HOSTILE, "שלום"])
    report = open_page(solution)
    assert report.page.title() != "broken"
    assert report.page.locator("img").count() == 0
    assert report.page.locator("b").count() == 0
    assert report.page.locator("script").count() == 2
    tasks = {text.strip() for text in report.column("tasks", 0)}
    assert {visible(task) for task in ODD_TASKS} <= tasks
    assert HOSTILE in report.column("tasks", 1)
    assert HOSTILE in report.column("workers", 0)
    assert f"answers {HOSTILE}" in report.page.inner_text("#answers")
    report.page.locator('[data-bucket="0"]').dispatch_event("click")
    report.page.select_option("#bucket-label", index=1)
    assert HOSTILE in report.page.get_attribute('[data-bucket="0"]', "aria-label")
    assert report.page.locator("img").count() == 0


def test_numbers_beside_texts_from_right_to_left_stay_where_they_are(open_page):
    solution = crowdopt.prove(turned(), labels=["לא", TURNED])
    report = open_page(solution)
    n_tasks = [int(solution.buckets.weights[solution.mapping == j].sum()) for j in (0, 1)]
    # Of the line "labels: A n (share), B m (share)", the place on the screen of each number is right of its label.
    places = report.page.evaluate(
        """numbers => {
          const line = [...document.querySelectorAll('#answers dd')].find(n => n.textContent.includes(' ' + numbers[0]
            + ' (') && n.textContent.includes(' ' + numbers[1] + ' ('));
          const text = line.firstChild, whole = text.data;
          const left = (at, size) => {
            const range = document.createRange();
            range.setStart(text, at); range.setEnd(text, at + size);
            return range.getBoundingClientRect().left;
          };
          return [whole.indexOf('לא'), ...numbers.map(n => whole.indexOf(` ${n} (`) + 1)].map(at => left(at, 1));
        }""",
        n_tasks,
    )
    assert places == sorted(places)
    assert len(set(places)) == 3


UNNAMED = """() => [
    ...[...document.querySelectorAll('input, select')].filter(n => n.labels.length === 0),
    ...[...document.querySelectorAll('svg[role=img], [role=region], [role=group]')].filter(n => !n.ariaLabel),
    ...[...document.querySelectorAll('button')].filter(n => !(n.ariaLabel || n.textContent.trim())),
    ...[...document.querySelectorAll('th')].filter(n => !n.scope),
    ...[...document.querySelectorAll('section')].filter(
      n => !document.getElementById(n.getAttribute('aria-labelledby'))),
  ].map(n => n.outerHTML.slice(0, 80))"""
"""What has no name for screen readers."""

LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["line", "plane-knowledge", "triangle", "arch", "shelves", "classes"])
def test_it_fits_the_screen_in_light_and_dark(open_page, screenshots, name, look):
    report = open_page(name, **LOOKS[look])
    assert report.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    ground = report.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (look != "dark")
    # Tables are drawn when one comes near them, which a picture of the whole page does not.
    report.page.add_style_tag(content=".tall{content-visibility:visible!important}")
    target = screenshots / f"{name}-{look}.png"
    report.page.screenshot(path=target, full_page=True)
    assert target.stat().st_size > 10_000


@pytest.fixture(scope="module")
def consensus():
    """The page of a consensus with every part; the smallest crowd that has classes of confidence."""
    frame = crowd(90, 3, (2, 5), 70, names=["cat", "dog", "owl"])
    truth = frame.groupby("task", as_index=False)["label"].first()
    return crowdopt.aggregate(frame, truth=truth, keep=["text"])


@pytest.mark.parametrize("look", LOOKS)
def test_a_consensus_fits_the_screen_in_light_and_dark(open_page, screenshots, consensus, look):
    report = open_page(consensus, **LOOKS[look])
    assert report.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert report.page.evaluate(UNNAMED) == []
    report.page.add_style_tag(content=".tall{content-visibility:visible!important}")
    target = screenshots / f"consensus-{look}.png"
    report.page.screenshot(path=target, full_page=True)
    assert target.stat().st_size > 10_000


def test_the_tables_of_a_consensus_sort_and_filter(open_page, consensus):
    report = open_page(consensus)
    for column in (2, 4):
        button = report.page.locator(f'[data-sort="tasks"][data-column="{column}"]')
        for reverse in (False, True):
            button.click()
            shown = [float(text.rstrip("%")) for text in report.column("tasks", column)]
            assert shown == sorted(shown, reverse=reverse)
    report.page.fill("#search-tasks", "T001 text")
    assert sorted(report.column("tasks", 0)) == [f"t001{k}" for k in range(10)]
    report.page.fill("#search-workers", "w1")
    assert all("w1" in text for text in report.column("workers", 0))


GREENISH = r"""nodes => nodes.flatMap(n => ['color', 'backgroundColor'].map(k => getComputedStyle(n)[k]))
  .map(c => (c.match(/[\d.]+/g) || []).map(Number))
  .filter(([r, g, b, a]) => a !== 0 && g > r + 20 && g > b + 20)"""
"""Colours of texts and grounds that people call green."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_that_is_doubted_is_green(open_page, consensus, scheme):
    proof = replace(solved("line"), doubts=())
    for solution in (consensus, proof):
        report = open_page(replace(solution, doubts=("the labels are strange",)), color_scheme=scheme)
        assert report.page.inner_text("h1").startswith("CHECK The labels are strange.")
        assert report.page.eval_on_selector_all("body *", GREENISH) == []
    assert open_page(proof, color_scheme=scheme).page.eval_on_selector_all("body *", GREENISH) != []


def test_names_of_methods_are_not_broken_within_words_on_a_phone(open_page):
    report = open_page("triangle", **LOOKS["phone"])
    widths = report.page.eval_on_selector_all(".methods tbody th", "nodes => nodes.map(n => n.clientWidth)")
    assert len(widths) == 7
    assert min(widths) >= 11 * 16


def test_on_paper_long_tables_are_short_and_controls_are_gone(open_page):
    report = open_page("line")
    report.page.emulate_media(media="print")
    visible = "nodes => nodes.filter(n => n.getClientRects().length > 0).length"
    assert report.page.eval_on_selector_all("#table-tasks tbody tr", visible) == 40
    assert report.page.eval_on_selector_all("nav, .controls, .tools", visible) == 0


def test_everything_has_a_name_for_screen_readers(open_page):
    report = open_page("arch")
    assert report.page.evaluate(UNNAMED) == []
    assert report.page.locator("h1").count() == 1
    assert report.page.locator('#lattice [tabindex="0"]').count() == 1
