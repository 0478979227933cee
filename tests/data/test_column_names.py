"""Columns that are not there: everything that is wrong, and the columns that were likely meant."""

from __future__ import annotations

import pytest

from crowdopt.data.columns import choose_responses
from crowdopt.data.reading import Reading
from crowdopt.errors import ColumnError


def said(columns, **options):
    with pytest.raises(ColumnError) as caught:
        choose_responses(Reading(**options))(columns)
    return str(caught.value)


REAL = {
    "_unit_id _worker_id airline_sentiment": "--task _unit_id --worker _worker_id",
    "orig_id Annotator Label": "--task orig_id --worker Annotator --label Label",
    "custom_id model verdict": "--task custom_id --worker model --label verdict",
    "HITId WorkerId Answer": "--task HITId --worker WorkerId --label Answer",
    "subject_ids user_name annotations": "--task subject_ids --worker user_name --label annotations",
    "sample_id scorer grade": "--task sample_id --worker scorer --label grade",
    "tweet_id contributor_id sentiment": "--task tweet_id --worker contributor_id --label sentiment",
    "Item-ID Rater Score": "--task Item-ID --worker Rater --label Score",
    "text annotator_name choice": "--task text --worker annotator_name --label choice",
    "id question judge verdict": "--task id --worker judge --label verdict",
    "id task_id user_id value": "--task task_id --worker user_id --label value",
    "question judge verdict": "--task question --worker judge --label verdict",
}


@pytest.mark.parametrize("columns", REAL)
def test_names_that_tools_and_people_use_are_suggested_for_their_roles(columns):
    assert f"; did you mean {REAL[columns]}? (" in said(columns.split())


def test_all_wrong_names_are_told_at_once():
    told = said(["id", "who", "answer"], task="item", keep=("note",))
    assert told == (
        "no column named 'item' for the task, and none named 'worker' for the worker, and none named 'label' for the "
        "label, and none named 'note' for the --keep option; did you mean --task id --label answer? (columns: id, who, "
        "answer)"
    )


def test_where_neither_workers_nor_labels_have_a_column_the_table_may_be_wide():
    wide = "; if each worker has a column, say --wide or --worker-columns"
    assert f"{wide}; did you mean --task id? (columns: id, question, gpt-4o" in said(["id", "question", "gpt-4o", "b"])
    assert f"'label' for the label{wide} (columns: task, gpt-4o" in said(["task", "gpt-4o", "claude-3.5"])
    assert wide not in said(["id", "judge", "x"])
    assert wide not in said(["id", "worker", "x"])
    assert wide not in said(["task", " worker", "x"])


def test_no_column_is_suggested_twice_or_if_it_has_a_role():
    assert "did you mean --worker" not in said(["task", "model", "score"], label="model")
    assert said(["task", "id", "worker"]).startswith("no column named 'label' for the label (columns")
    assert "--task annotation_id" not in said(["class", "user"], task="class")


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        (
            ["task", " worker", "label"],
            "; the column is named ' worker', with a blank before it: mend the header, or say --worker ' worker' (",
        ),
        (["task ", "worker", "label"], "; the column is named 'task ', with a blank behind it: mend the header"),
        (
            [" task", " worker ", "label"],
            "with blanks around them: mend the header, or say --task ' task' --worker ' worker ' (",
        ),
        ([" task", "user", "label"], "--task ' task'; did you mean --worker user? ("),
    ],
)
def test_a_header_with_stray_blanks_is_told_as_such(columns, match):
    assert match in said(columns)
