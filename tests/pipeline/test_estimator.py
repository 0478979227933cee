"""Consensus and GlobalOptimum: crowd-kit's columns and names, scikit-learn's manners."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from crowdopt import Consensus, GlobalOptimum, Proof, aggregate, prove
from crowdopt.consensus.tilted import over_tilts
from crowdopt.errors import CheckWarning, CrowdoptError, DuplicateError, InputError


def crowd(seed: int = 0, n_tasks: int = 60, labels=("no", "yes")) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, n_tasks)
    task = np.repeat(np.arange(n_tasks), sizes)
    truth = rng.random(n_tasks) < 0.4
    yes = rng.random(len(task)) < np.where(truth[task], 0.8, 0.25)
    worker = np.concatenate([np.arange(size) for size in sizes])
    names = np.array([f"t{t:03}" for t in task], dtype=object)
    answers = [labels[int(one)] for one in yes]
    return pd.DataFrame({"task": names, "worker": worker, "label": answers}).sample(frac=1, random_state=seed)


VARIANTS = [{}, {"selectivity": "estimate"}, {"selectivity": {"no": 0.7, "yes": 0.3}, "space": "all"}]


@pytest.fixture(params=VARIANTS, ids=["none", "estimate", "given"])
def options(request):
    return request.param


def test_attributes_are_named_as_in_crowd_kit(options):
    data = crowd()
    model = GlobalOptimum(**options)
    assert model.fit(data) is model
    solution = prove(data, **options)
    assert model.certificate_ == solution.certificate == model.solution_.certificate
    assert model.certificate_.proof is Proof.PROVED
    tasks = sorted(data["task"].unique())
    assert (model.labels_.name, model.labels_.index.name) == ("agg_label", "task")
    assert model.labels_.index.tolist() == tasks
    assert model.labels_.tolist() == solution.answers["label"].tolist()
    assert model.probas_.index.tolist() == tasks
    assert model.probas_.columns.tolist() == ["no", "yes"]
    assert model.probas_.sum(axis=1).to_numpy() == pytest.approx(np.ones(len(tasks)))
    assert model.priors_.index.tolist() == ["no", "yes"]
    assert model.priors_.sum() == pytest.approx(1)
    if "space" in options:
        assert model.priors_.tolist() == [0.7, 0.3]
    else:
        assert model.priors_["yes"] == (model.labels_ == "yes").mean()


def test_errors_are_probabilities_of_answers_given_the_label(options):
    data = crowd()
    model = GlobalOptimum(**options).fit(data)
    assert model.errors_.index.names == ["worker", "label"]
    assert set(model.errors_.index.get_level_values("worker")) == set(data["worker"])
    assert model.errors_.columns.tolist() == ["no", "yes"]
    given = data.join(model.labels_, on="task")
    for worker in data["worker"].unique():
        block = model.errors_.loc[worker]
        assert block.sum().to_numpy() == pytest.approx(np.ones(2))
        for true in ("no", "yes"):
            for answered in ("no", "yes"):
                among = given[given["agg_label"] == true]["label"]
                assert block.loc[answered, true] == pytest.approx((among == answered).mean())


def test_fit_predict_and_proba(options):
    data = crowd()
    model = GlobalOptimum(**options)
    pd.testing.assert_series_equal(model.fit_predict(data), model.labels_)
    pd.testing.assert_frame_equal(model.fit_predict_proba(data), model.probas_)


def test_predicting_the_training_data_gives_its_labels(options):
    for seed in range(5):
        data = crowd(seed)
        model = GlobalOptimum(**options).fit(data)
        margin = model.solution_.answers.set_index("task")["margin"]
        sure = margin > model.certificate_.tolerance
        assert sure.mean() > 0.9
        predicted = model.predict(data)
        assert (predicted.name, predicted.index.name) == ("agg_label", "task")
        assert predicted.index.tolist() == model.labels_.index.tolist()
        assert predicted[sure].tolist() == model.labels_[sure].tolist()
        found = model.predict_proba(data)
        assert found.columns.tolist() == ["no", "yes"]
        assert found.to_numpy() == pytest.approx(model.probas_.to_numpy())


def test_predicting_new_tasks():
    model = GlobalOptimum().fit(crowd())
    new = pd.DataFrame({"task": ["x", "x", "x", "y"], "worker": [1, 2, 3, 99], "label": ["yes", "yes", "yes", "no"]})
    assert model.predict(new).to_dict() == {"x": "yes", "y": "no"}
    assert model.predict_proba(new).loc["x", "yes"] > 0.95


@pytest.mark.parametrize(
    ("labels", "column"),
    [((0, 1), None), ((False, True), None), ((0.5, 1.5), None), (("no", "yes"), "category"), ((0, 1), "Int64")],
    ids=["int", "bool", "float", "category", "nullable"],
)
def test_labels_keep_their_type(labels, column):
    data = crowd(labels=labels)
    if column:
        data["label"] = data["label"].astype(column)
    model = GlobalOptimum().fit(data)
    assert set(model.labels_) == set(labels)
    assert {type(value) for value in model.labels_.tolist()} == {type(labels[0])}
    assert model.probas_.columns.tolist() == list(labels)
    assert model.predict(data).tolist() == model.labels_.tolist()


def test_options_reach_the_engine():
    data = crowd()
    twice = pd.concat([data, data])
    every = GlobalOptimum(duplicates="all").fit(twice).certificate_
    assert every.objective < GlobalOptimum().fit(data).certificate_.objective
    assert GlobalOptimum().fit(twice).certificate_ == GlobalOptimum().fit(data).certificate_
    with pytest.raises(DuplicateError):
        GlobalOptimum(duplicates="error").fit(twice)
    assert GlobalOptimum(engine="vote").fit(data).certificate_.proof is Proof.NONE
    assert GlobalOptimum(labels=["yes", "no"]).fit(data).probas_.columns.tolist() == ["yes", "no"]
    with pytest.raises(InputError, match="rows are incomplete"):
        GlobalOptimum(missing="error").fit(data.assign(label=data["label"].where(data["worker"] > 0)))
    kept = GlobalOptimum().fit(data.assign(label=data["label"].where(data["worker"] > 0)))
    assert kept.labels_.isna().sum() == (data.groupby("task").size() == 1).sum() > 0


def test_labels_off_the_scale_and_missing_values_cannot_be_predicted():
    model = GlobalOptimum().fit(crowd())
    new = pd.DataFrame({"task": ["x", "y"], "worker": [1, 1], "label": ["maybe", "no"]})
    with pytest.raises(InputError, match="1 label not on the scale no, yes: 'maybe'"):
        model.predict(new)
    assert model.predict(new.assign(label=[None, "no"])).isna().tolist() == [True, False]
    strict = GlobalOptimum(missing="error").fit(crowd())
    with pytest.raises(InputError, match="1 of 2 rows is incomplete"):
        strict.predict_proba(new.assign(label=[None, "no"]))


@pytest.mark.parametrize("kind", [Consensus, GlobalOptimum])
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_predicting_before_fitting_is_an_error(kind, method):
    with pytest.raises(CrowdoptError, match=f"this {kind.__name__} is not fitted yet"):
        getattr(kind(), method)(crowd())


@pytest.mark.parametrize("kind", [Consensus, GlobalOptimum])
def test_only_pandas_frames_are_taken(kind):
    with pytest.raises(InputError, match=f"{kind.__name__} takes pandas frames, not list"):
        kind().fit([("a", "b", "c")])


def test_scikit_learn_can_clone_and_set():
    labels = ["no", "yes"]
    model = GlobalOptimum(labels=labels, selectivity="estimate", time_limit=5)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params() == model.get_params(deep=False)
    assert list(model.get_params()) == [
        "labels", "scale", "selectivity", "smoothing", "prior_matrix", "likelihood", "space", "engine", "seed", "gold",
        "classes", "ranked", "each", "find_classes", "time_limit", "duplicates", "missing", "verbatim", "tidy",
    ]  # fmt: skip
    assert not hasattr(clone(model.fit(crowd())), "solution_")
    assert model.set_params(selectivity="none", space="all") is model
    assert (model.selectivity, model.space) == ("none", "all")
    with pytest.raises(InputError, match="no parameter 'selektivity'"):
        model.set_params(selektivity="none")


def test_repr_shows_what_is_not_default():
    assert repr(GlobalOptimum()) == "GlobalOptimum()"
    assert repr(GlobalOptimum(["a", "b"], missing="error")) == "GlobalOptimum(labels=['a', 'b'], missing='error')"


def test_classes_have_errors_of_their_own_and_predict():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    rows = [
        (task, worker, int(truth[task] ^ (rng.random() < (0.05 if worker < 2 else 0.35))))
        for task in range(200)
        for worker in range(6)
    ]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    classes = {worker: "expert" if worker < 2 else "regular" for worker in range(6)}
    model = GlobalOptimum(classes=classes, ranked=["expert", "regular"]).fit(data)
    matrix = model.solution_.matrix
    for worker in range(6):
        assert model.errors_.loc[worker].to_numpy().tolist() == matrix[int(worker > 1)].T.tolist()
    assert (model.labels_.to_numpy() == truth).mean() > 0.9
    pd.testing.assert_frame_equal(model.predict_proba(data), model.probas_, check_names=False)
    frame = pd.DataFrame(classes.items(), columns=["worker", "class"])
    assert GlobalOptimum(classes=frame).fit_predict(data).tolist() == model.labels_.tolist()
    new = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [9, 0, 9, 5], "label": [1, 0, 1, 0]})
    found = model.solution_.predict(new, probabilities=True)
    assert model.predict(new).tolist() == found["label"].tolist()
    assert model.predict_proba(new).to_numpy().tolist() == found[["p_0", "p_1"]].to_numpy().tolist()


# ---- Consensus ----

KNOWN = [{}, {"label_shares": {"no": 0.7, "yes": 0.3}}, {"labels": ["yes", "no"], "scale": "nominal"}]


@pytest.fixture(params=KNOWN, ids=["plain", "shares", "labels"])
def knowledge(request):
    return request.param


def test_a_consensus_has_the_attributes_of_crowd_kit(knowledge):
    data = crowd()
    model = Consensus(**knowledge)
    assert model.fit(data) is model
    solution = aggregate(data, **knowledge)
    answers = solution.answers_frame(probabilities=True).set_index("task")
    values = list(solution.scale.values)
    assert (model.labels_.name, model.labels_.index.name) == ("agg_label", "task")
    assert model.labels_.to_dict() == answers["label"].to_dict()
    assert model.probas_.columns.tolist() == values == knowledge.get("labels", ["no", "yes"])
    assert model.probas_.to_numpy() == pytest.approx(answers[[f"p_{one}" for one in values]].to_numpy(), abs=1e-12)
    assert model.priors_.index.tolist() == values
    assert model.priors_.sum() == pytest.approx(1)
    if "label_shares" in knowledge:
        assert model.priors_.tolist() == pytest.approx([0.7, 0.3])
    pd.testing.assert_series_equal(model.fit_predict(data), model.labels_)
    pd.testing.assert_frame_equal(model.fit_predict_proba(data), model.probas_)


def test_a_consensus_knows_every_worker():
    data = crowd(n_tasks=200)
    careless = data["worker"] == 1
    data.loc[careless, "label"] = np.random.default_rng(1).choice(["no", "yes"], careless.sum())
    model = Consensus().fit(data)
    table = model.solution_.workers().set_index("worker")
    assert (model.skills_.name, model.skills_.index.name) == ("skill", "worker")
    assert model.skills_.to_dict() == table["skill"].to_dict()
    assert model.skills_.idxmin() == 1
    assert model.errors_.index.names == ["worker", "label"]
    assert set(model.errors_.index.get_level_values("worker")) == set(data["worker"])
    parameters = model.solution_.parameters
    matrices = over_tilts(parameters.workers["tilted_matrix"], parameters.population["tilted_kinds"])
    for worker in data["worker"].unique():
        block = model.errors_.loc[worker]
        assert block.sum().to_numpy() == pytest.approx(np.ones(2))
        number = model.solution_.worker_names.index(str(worker))
        assert block.to_numpy().tolist() == matrices[number].T.tolist()


def test_a_consensus_predicts_its_own_data_and_new_ones(knowledge):
    for seed in range(3):
        data = crowd(seed)
        model = Consensus(**knowledge).fit(data)
        found = model.predict_proba(data)
        assert found.columns.tolist() == model.probas_.columns.tolist()
        assert found.to_numpy() == pytest.approx(model.probas_.to_numpy(), abs=1e-9)
        pd.testing.assert_series_equal(model.predict(data), model.labels_)
    new = pd.DataFrame({"task": ["x", "x", "x", "y"], "worker": [1, 2, 3, 99], "label": ["yes", "yes", "yes", "no"]})
    assert model.predict(new).to_dict() == {"x": "yes", "y": "no"}


def test_gold_and_repeated_responses_reach_a_consensus():
    data = crowd()
    flipped = {"t000": "yes" if Consensus().fit(data).labels_["t000"] == "no" else "no"}
    model = Consensus(gold=flipped).fit(data)
    assert model.labels_["t000"] == flipped["t000"]
    assert model.probas_.loc["t000", flipped["t000"]] == 1
    twice = pd.concat([data, data])
    assert Consensus().fit(twice).solution_.totals.n_responses == len(data)
    assert Consensus(duplicates="all").fit(twice).solution_.totals.n_responses == 2 * len(data)
    with pytest.raises(DuplicateError):
        Consensus(duplicates="error").fit(twice)
    kept = Consensus().fit(data.assign(label=data["label"].where(data["worker"] > 0)))
    assert kept.labels_.isna().sum() == (data.groupby("task").size() == 1).sum() > 0
    assert set(kept.errors_.index.get_level_values("worker")) == set(data["worker"])


def test_scikit_learn_can_clone_and_set_a_consensus():
    model = Consensus(labels=["no", "yes"], label_shares={"no": 0.5, "yes": 0.5})
    assert clone(model).get_params() == model.get_params()
    assert list(model.get_params()) == [
        "labels", "scale", "gold", "label_shares", "duplicates", "missing", "verbatim", "tidy",
    ]  # fmt: skip
    assert not hasattr(clone(model.fit(crowd())), "solution_")
    assert model.set_params(missing="error").missing == "error"
    with pytest.raises(InputError, match="Consensus has no parameter 'engine'"):
        model.set_params(engine="vote")
    with pytest.raises(TypeError, match="unexpected keyword argument 'engine'"):
        Consensus(engine="vote")
    assert repr(Consensus()) == "Consensus()"
    assert repr(Consensus(["a", "b"], missing="error")) == "Consensus(labels=['a', 'b'], missing='error')"


def test_fitting_warns_of_what_there_is_to_doubt():
    alone = pd.DataFrame([("a", "ann", "yes"), ("b", "bob", "no")], columns=["task", "worker", "label"])
    with pytest.warns(CheckWarning, match="CHECK: no task was answered by two workers"):
        Consensus().fit(alone)
    rng = np.random.default_rng(5)
    rare = rng.random(400) < 0.1
    rows = [
        (task, worker, "yes" if rng.random() < (0.75 if rare[task] else 0.2) else "no")
        for task in range(400)
        for worker in range(3)
    ]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    with pytest.warns(UserWarning, match="CHECK: these labels overrule"):
        assert GlobalOptimum().fit(data).solution_.doubts
