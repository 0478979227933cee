"""Labels of Label Studio: what stands in the value of a result, for each type of control that gives one label."""

from __future__ import annotations

from crowdopt.data.readers.tools.base import field_of, list_of

VALUES = {
    "choices": "choices",
    "rating": "rating",
    "taxonomy": "taxonomy",
    "number": "number",
    "pairwise": "selected",
}
"""The types of results that are labels of a whole task, and the field that has the label."""

TYPES = tuple(VALUES)

READ = "choices, ratings, taxonomies, numbers or pairwise choices"
"""What is read, in words."""

LISTS = ("choices", "taxonomy")
"""The types whose labels are a list, of which one item is wanted."""

PLACES = (
    "start", "end", "startOffset", "endOffset", "globalOffsets", "x", "y", "points", "vertices", "radiusX", "rle",
    "imageDataURL", "sequence", "ranges", "item_index",
)  # fmt: skip
"""Fields of a value that say where in the task it belongs, so that it is no label of the whole."""

STEP = " > "
"""Between the steps of a path through a taxonomy."""


def label_in(value: str) -> str:
    """The expression for the label in a value, as JSON."""
    plain = ", ".join(field_of(value, field) for kind, field in VALUES.items() if kind not in LISTS)
    return f"coalesce({_first_choice(value)}, {plain}, {path_label(path_in(value))})"


def several_in(value: str) -> str:
    """The condition that more than one label was given."""
    return " OR ".join(f"len({list_of(field_of(value, VALUES[kind]))}) > 1" for kind in LISTS)


def is_placed(value: str) -> str:
    """The condition that a value belongs to a part of the task: a span, a box, an item."""
    return f"list_has_any(json_keys({value}), {list(PLACES)})"


def path_in(value: str) -> str:
    """The expression for the path through a taxonomy, a list."""
    return f"{list_of(field_of(value, 'taxonomy'))}[1]"


def path_label(path: str) -> str:
    """The expression for the label that a path makes; no value if it has no step."""
    steps = f"list_transform({list_of(path)}, lambda step: json_extract_string(step, '$'))"
    return f"to_json(nullif(array_to_string({steps}, '{STEP}'), ''))"


def _first_choice(value: str) -> str:
    """What was chosen: the only item of the list, or a text, as scripts that write annotations have it."""
    choices = field_of(value, "choices")
    return f"CASE json_type({choices}) WHEN 'VARCHAR' THEN {choices} ELSE {list_of(choices)}[1] END"
