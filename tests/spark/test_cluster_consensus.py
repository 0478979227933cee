"""A consensus on Spark: that of the same responses here, from executors that have neither this package nor pandas."""

from __future__ import annotations

import gc
import shutil
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import crowdopt
from crowdopt.consensus import skills
from crowdopt.data import parts
from crowdopt.errors import CrowdoptError
from crowdopt.results.cluster import sent
from crowdopt.results.cluster.consensus import ClusterConsensus
from crowdopt.results.cluster.sending import explaining, zipped_sources
from support.clusters import cluster, placed, wait_until
from support.needs import need

pytestmark = pytest.mark.xdist_group("spark")

SMALL = 500
"""Responses of a part, and of the sample."""

LACKING = """
import sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        sent = any("/sent-" in one for one in sys.path)
        if name in {"pandas", "narwhals", "duckdb", "scipy", "highspy"} or (name == "crowdopt" and not sent):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
"""
"""Has executors find no packages but those that they need."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    need(bool(find_spec("pyspark") and shutil.which("java")), "Spark (pyspark, and Java)")
    folder = tmp_path_factory.mktemp("executors")
    (folder / "sitecustomize.py").write_text(LACKING)
    with cluster(**{"spark.executorEnv.PYTHONPATH": str(folder)}) as session:
        yield session


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    for name in ("SAMPLE", "PART"):
        monkeypatch.setattr(parts, name, SMALL)


def crowd(n_tasks: int = 900, n_workers: int = 700, seed: int = 0) -> pd.DataFrame:
    """Few workers with many responses and many with few, most of them not in the sample; and what is true."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(n_tasks), rng.integers(1, 6, n_tasks))
    worker = np.where(rng.random(len(task)) < 0.5, rng.zipf(1.3, len(task)) % 7, rng.integers(0, n_workers, len(task)))
    truth, skill = rng.integers(0, 3, n_tasks), rng.uniform(0.3, 0.95, n_workers)
    label = np.where(rng.random(len(task)) < skill[worker], truth[task], rng.integers(0, 3, len(task)))
    frame = pd.DataFrame({"task": task, "worker": worker, "label": label, "true": truth[task]})
    return frame.drop_duplicates(["task", "worker"])


def named(frame: pd.DataFrame) -> pd.DataFrame:
    names = {"task": "täsk {}", "worker": "w{}", "label": "label {}", "true": "label {}"}
    return frame.apply(lambda column: column.map(names[column.name].format))


def compared(there, here) -> None:
    """Whether two tables have the same rows, but for rounding."""
    there, here = (one if isinstance(one, pd.DataFrame) else one.toArrow().to_pandas() for one in (there, here))
    assert list(there) == list(here)
    assert len(there) == len(here)
    for name in here:
        if here[name].dtype == float:
            assert np.allclose(there[name].astype(float), here[name], rtol=0, atol=1e-9, equal_nan=True), name
        else:
            assert there[name].astype(object).where(there[name].notna(), None).tolist() == (
                here[name].astype(object).where(here[name].notna(), None).tolist()
            ), name


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return round(value, 8) if isinstance(value, float) else value


def same_facts(there, here) -> None:
    assert rounded(there.summary()) == rounded(here.summary())
    assert there.words() == here.words()


def test_texts_known_labels_a_longer_scale_and_a_truth(spark, tmp_path):
    frame = named(crowd())
    truth = frame[["task", "true"]].drop_duplicates().rename(columns={"true": "label"})
    silent = pd.DataFrame({"task": ["nobody's", "täsk 9999"], "worker": "w1", "label": None})
    frame = pd.concat([frame.drop(columns="true"), silent])
    gold = truth[:40].set_index("task")["label"].to_dict() | {"nobody's": "label 1", "täsk 3": "label 9"}
    asked = {
        "gold": gold,
        "labels": ["label 2", "label 1", "label 9", "label 0"],
        "missing": "drop",
        "truth": truth,
        "keep": ["worker"],
    }
    data = placed(pa.Table.from_pandas(frame, preserve_index=False), spark)
    there, here = crowdopt.aggregate(data, **asked), crowdopt.aggregate(frame, **asked)
    assert isinstance(there.tasks, ClusterConsensus)
    compared(there.answers_frame(probabilities=True), here.answers_frame(probabilities=True))
    same_facts(there, here)
    assert (there.fingerprint, there.doubts, there.advice) == (here.fingerprint, here.doubts, here.advice)
    for name in ("value", "n_tasks", "n_unknown", "log_loss", "vote"):
        assert getattr(there.accuracy, name) == pytest.approx(getattr(here.accuracy, name), abs=1e-9)
    assert there.worker_names == here.worker_names
    sampled = set(here.tasks.parts.sample()[0].workers.to_pylist())
    assert len(sampled) < len(here.worker_names)
    for name, values in here.parameters.workers.items():
        assert np.abs(there.parameters.workers[name] - values).max() < 1e-9
    there.save(tmp_path / "there.json")
    for source in (data, frame):
        assert crowdopt.verify(tmp_path / "there.json", source).verdict.value == "REPRODUCED"


def test_ratings_of_numbered_tasks_known_shares_and_what_comes_to_the_driver_when_asked(spark):
    frame = crowd(seed=1).drop(columns="true")
    data = placed(pa.Table.from_pandas(frame, preserve_index=False), spark)
    shares = {"0": 0.2, "1": 0.3, "2": 0.5}
    there, here = (crowdopt.aggregate(source, label_shares=shares) for source in (data, frame))
    kinds = {field.name: field.dataType.simpleString() for field in there.answers.schema}
    assert (kinds["task"], kinds["label"], kinds["mean"]) == ("bigint", "bigint", "double")
    compared(there.answers, here.answers)
    same_facts(there, here)
    assert np.abs(there.need_tasks().probabilities - here.need_tasks().probabilities).max() < 1e-9
    compared(there.predict(data), here.predict(frame))
    compared(there.workers(), here.workers())
    compared(there.next_tasks(n=5), here.next_tasks(n=5))


@pytest.mark.parametrize("why", ["labels", "workers"])
def test_workers_that_have_a_skill_each_are_learnt_on_the_driver(spark, monkeypatch, why):
    frame = named(crowd(300, 30)).drop(columns="true")
    if why == "labels":
        frame["label"] += frame["task"].str[-2:]
    else:
        monkeypatch.setattr(skills, "MOST_IN_MATRICES", 30 * 9 - 1)
    data = placed(pa.Table.from_pandas(frame, preserve_index=False), spark)
    there, here = crowdopt.aggregate(data), crowdopt.aggregate(frame)
    assert there.by_skill
    compared(there.answers, here.answers)
    same_facts(there, here)


def test_what_comes_to_the_driver_is_the_sample_and_sums(spark, monkeypatch):
    from pyspark.sql.classic.dataframe import DataFrame

    monkeypatch.setattr(parts, "PART", 10 * SMALL)  # each part adds a few hundred bytes to what the sample has
    sizes = []
    frame = named(crowd(600)).drop(columns="true")
    for times in (1, 6):
        copies = [frame.assign(task=frame["task"] + f" {at}", worker=frame["worker"] + f" {at}") for at in range(times)]
        data = placed(pa.Table.from_pandas(pd.concat(copies), preserve_index=False), spark)
        seen = []
        with monkeypatch.context() as patch:
            for method in ("collect", "toArrow"):
                brought = getattr(DataFrame, method)

                def counted(self, *arguments, brought=brought, seen=seen):
                    found = brought(self, *arguments)
                    seen.append(found.nbytes if isinstance(found, pa.Table) else 100 * len(found))
                    return found

                patch.setattr(DataFrame, method, counted)
            solution = crowdopt.aggregate(data)
            solution.answers.write.format("noop").mode("overwrite").save()
        sizes.append(sum(seen))
    assert sizes[1] < 1.5 * sizes[0], "with six times the tasks, workers and responses"


def test_an_interrupt_leaves_nothing_that_spark_keeps_and_answers_keep_what_they_need(spark):
    kept = spark._jsparkSession.sharedState().cacheManager()
    gc.collect()
    wait_until(kept.isEmpty, "to forget all tables")
    data = placed(pa.Table.from_pandas(crowd(400).drop(columns="true"), preserve_index=False), spark)
    shares: list[float] = []

    def interrupt(share: float) -> None:
        shares.append(share)
        if share > 0.8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crowdopt.aggregate(data, on_share=interrupt)
    assert shares == sorted(shares)
    wait_until(kept.isEmpty, "to forget all tables after an interrupt")
    answers = crowdopt.aggregate(data).answers
    gc.collect()
    assert not kept.isEmpty()
    assert answers.count() == 400
    del answers
    gc.collect()
    wait_until(kept.isEmpty, "to forget all tables with the answers")


def test_executors_without_numba_are_told_what_to_install(monkeypatch):
    monkeypatch.setattr(sent, "find_spec", lambda name: None if name == "numba" else name)
    with pytest.raises(ImportError, match="of the executors has no numba") as found:
        sent.run_sent(zipped_sources(), b"")
    with pytest.raises(CrowdoptError, match=r"no numba, which .*: install numba for it") as said, explaining():
        raise RuntimeError(f"Job aborted:\nImportError: {found.value}\n\tat org.apache.spark")
    assert "\n" not in str(said.value)


def test_the_sources_that_are_sent_are_the_same_bytes_and_leave_other_versions_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sources = zipped_sources()
    zipped_sources.cache_clear()
    assert zipped_sources() == sources
    with sent._sources_at_hand(sources):
        from crowdopt.consensus import grid

        assert str(tmp_path) in grid.__file__
    import crowdopt.consensus.grid

    assert str(tmp_path) not in crowdopt.consensus.grid.__file__
