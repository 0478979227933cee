"""A real Label Studio: what its server exports goes in, and what we write for it is read back from the server.

python -m campaigns.label_studio_server [--label-studio COMMAND] [--tasks N] [--minutes M]

Installs Label Studio from PyPI into an environment of its own in a temporary folder, unless one is named, and starts it
there on the loopback address with SQLite. Through its API it gets annotators, a project with a control of every type
whose answers we read, tasks and annotations: some are skipped, some change, some tasks have nobody. Every format that
the server exports is aggregated, and must give the labels of the others. The answers go back in both ways: as
predictions for the tasks of the project, and as tasks with predictions for a new one. Read back from the server, each
must be at its task, with its value and score, and no task may be there twice. Ends with a table, and exit code 1 if
anything was wrong. The server is ended by its process, whatever happens.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import crowdopt

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Any

TOKEN = "0123456789abcdef0123456789abcdef01234567"  # noqa: S105 - no secret
"""Of a server that lives for minutes, in a temporary folder, on the loopback address."""

CONFIG = """
<View>
  <Text name="text" value="$text"/><Text name="other" value="$other"/>
  <Choices name="sentiment" toName="text"><Choice value="Good, really"/><Choice value="Bad 😀"/></Choices>
  <Rating name="stars" toName="text"/>
  <Number name="amount" toName="text"/>
  <Taxonomy name="animal" toName="text">
    <Choice value="Animal"><Choice value="Cat"/><Choice value="Dog"/></Choice><Choice value="Plant"/>
  </Taxonomy>
  <Pairwise name="better" toName="text,other"/>
</View>
"""

VALUES: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "sentiment": ("choices", "choices", (["Good, really"], ["Bad 😀"])),
    "stars": ("rating", "rating", (1, 3, 5)),
    "amount": ("number", "number", (2, 7)),
    "animal": ("taxonomy", "taxonomy", ([["Animal", "Cat"]], [["Animal", "Dog"]], [["Plant"]])),
    "better": ("pairwise", "selected", ("left", "right")),
}
"""The type, the field and the values of the answers to each control."""

FORMATS = {"JSON": "json", "JSON_MIN": "json", "CSV": "csv", "TSV": "tsv"}


@dataclass(frozen=True)
class Server:
    """A server, by its address."""

    url: str

    def call(self, method: str, path: str, body: Json = None, *, raw: bool = False) -> Json:
        """What it answers, as JSON or as it is."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        try:
            with urlopen(Request(self.url + path, data, headers, method=method), timeout=120) as answer:  # noqa: S310 - of our own
                content = answer.read()
        except HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code} {error.read()[:500].decode()}") from error
        return content if raw else json.loads(content or b"null")


def install(folder: Path) -> Path:
    """Label Studio in an environment of its own."""
    venv.create(folder, with_pip=True)
    subprocess.run(
        [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "label-studio"],
        check=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return folder / "bin/label-studio"


@contextmanager
def running(command: Path, folder: Path, seconds: float) -> Iterator[Server]:
    """A server in a folder, until it is no longer needed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--data-dir", folder, "--internal-host", "127.0.0.1", "--port", str(port)]
    options += ["--username", "admin@example.com", "--password", "admin-of-a-test", "--user-token", TOKEN]
    environment = os.environ | {
        "LOG_LEVEL": "ERROR",
        "COLLECT_ANALYTICS": "false",
        "SENTRY_DSN": "",
        "LATEST_VERSION_CHECK": "false",
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [command, "start", *options, "--enable-legacy-api-token"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
        )  # fmt: skip
        try:
            yield _answering(Server(f"http://127.0.0.1:{port}"), process, folder / "server.log", seconds)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _answering(server: Server, process: subprocess.Popen[bytes], log: Path, seconds: float) -> Server:
    """The server, as soon as it answers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            server.call("GET", "/api/projects/")
        except (URLError, ConnectionError, RuntimeError, TimeoutError):
            time.sleep(1)
        else:
            return server
    raise RuntimeError(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")


def annotate(server: Server, n_tasks: int, rng: random.Random) -> int:
    """A project with tasks and annotations; its id."""
    users = [
        server.call("POST", "/api/users/", {"email": f"worker{n}@example.com", "username": f"worker{n}"})["id"]
        for n in range(5)
    ]
    project = server.call(
        "POST", "/api/projects/", {"title": "crowd", "label_config": CONFIG, "maximum_annotations": 5}
    )["id"]
    data = [{"text": f'Review {n}: größe\n"quoted", 日本', "other": f"b {n}", "n": n} for n in range(n_tasks)]
    server.call("POST", f"/api/projects/{project}/import", data)
    for place, task in enumerate(all_tasks(server, project)):
        if place % 20 == 19:
            continue  # nobody has this one
        truth = {name: rng.choice(values) for name, (_, _, values) in VALUES.items()}
        for user in rng.sample(users, rng.choice((3, 4, 5))):
            result = [
                _result(name, truth[name] if rng.random() < 0.8 else rng.choice(VALUES[name][2])) for name in VALUES
            ]
            skipped = rng.random() < 0.05
            body = {"result": [] if skipped else result, "completed_by": user, "was_cancelled": skipped, "lead_time": 5}
            made = server.call("POST", f"/api/tasks/{task['id']}/annotations/", body)
            if not skipped and rng.random() < 0.1:  # edited
                result[0] = _result("sentiment", truth["sentiment"])
                server.call("PATCH", f"/api/annotations/{made['id']}/", {"result": result})
    return int(project)


def _result(name: str, value: Json) -> Json:
    kind, field, _ = VALUES[name]
    to_name: Json = ["text", "other"] if kind == "pairwise" else "text"
    return {"from_name": name, "to_name": to_name, "type": kind, "value": {field: value}}


def all_tasks(server: Server, project: int) -> list[Json]:
    """The tasks of a project, each with the predictions that the server has for it."""
    content = server.call("GET", f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true", raw=True)
    tasks = {task["id"]: task | {"predictions": []} for task in json.loads(content)}
    for one in server.call("GET", f"/api/predictions/?project={project}"):
        tasks[one["task"]]["predictions"].append(one)
    return [tasks[task] for task in sorted(tasks)]


def aggregate(path: Path, question: str) -> Any:
    """The solution of one question."""
    return crowdopt.aggregate(path, question=question)


def labels(solution: Any) -> dict[str, str]:
    """The label of each task, as texts: a CSV has nothing else."""
    return {str(row["task"]): str(row["label"]) for row in solution.answers.to_pylist() if row["label"] is not None}


def check_formats(paths: dict[str, Path], rows: list[tuple[Any, ...]]) -> list[str]:
    """Aggregates every question of every format; what differs from the JSON."""
    wrong = []
    for question in VALUES:
        expected = labels(aggregate(paths["JSON"], question))
        for name, path in paths.items():
            solution = aggregate(path, question)
            total = solution.totals
            rows.append((name, question, total.n_tasks, total.n_workers, total.n_responses))
            if labels(solution) != expected:
                wrong.append(f"{name}, {question}: other labels than JSON")
    return wrong


def check_predictions(server: Server, project: int, path: Path, folder: Path, rows: list[tuple[Any, ...]]) -> list[str]:
    """Writes the answers back in both ways; what is not there as it was written."""
    wrong = []
    before = len(all_tasks(server, project))
    for n, question in enumerate(VALUES, 1):
        solution = aggregate(path, question)
        answers = {row["task"]: row for row in solution.answers.to_pylist() if row["label"] is not None}
        for form in ("label-studio-predictions", "label-studio"):
            target = folder / f"{question}-{form}.json"
            solution.write(target, output_format=form)
            body = json.loads(target.read_text(encoding="utf-8"))
            new = project
            if form == "label-studio":
                new = server.call("POST", "/api/projects/", {"title": f"new {question}", "label_config": CONFIG})["id"]
                server.call("POST", f"/api/projects/{new}/import", body)
            else:
                made = server.call("POST", f"/api/projects/{project}/import/predictions", body)["created"]
                wrong += [f"{form}, {question}: {made} of {len(body)} were taken"] if made != len(body) else []
            there = all_tasks(server, new)
            n_right = _count_right(there, answers, question, path, same=new == project)
            rows.append((form, question, len(there), len(body), n_right))
            if n_right != len(answers) or len(there) != (before if new == project else len(answers)):
                wrong.append(f"{form}, {question}: {n_right} of {len(answers)} are right, {len(there)} tasks")
        if sum(len(task["predictions"]) for task in all_tasks(server, project)) != n * len(answers):
            wrong.append(f"{question}: too many predictions or too few")
    return wrong


def _count_right(there: list[Json], answers: dict[int, Json], question: str, path: Path, *, same: bool) -> int:
    """How many answers the server has at their tasks, with their value and score."""
    texts = {task["id"]: task["data"]["text"] for task in json.loads(path.read_text(encoding="utf-8"))}
    ids = {task["id"] if same else text: task["id"] for task in there for text in [task["data"]["text"]]}
    tasks = {task["id"]: task for task in there}
    n_right = 0
    for task, row in answers.items():
        found = tasks[ids[task if same else texts[task]]]
        for prediction in found["predictions"]:
            (result,) = prediction["result"]
            if result["from_name"] == question:
                said = _label(result["value"][VALUES[question][1]])
                n_right += said == str(row["label"]) and abs(prediction["score"] - row["confidence"]) < 1e-9
    return n_right


def _label(value: Json) -> str:
    if isinstance(value, list):
        return " > ".join(value[0]) if isinstance(value[0], list) else str(value[0])
    return str(value)


def _version(command: Path) -> str:
    asked = "from importlib.metadata import version; print(version('label-studio'))"
    return subprocess.run(
        [command.parent / "python", "-c", asked], capture_output=True, text=True, check=True
    ).stdout.strip()


def main() -> int:
    """Everything, in a temporary folder."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server ends with us
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--label-studio", type=Path, help="the command, where it is installed already")
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=5, help="how long the server may take to start")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="label-studio-") as name:
        folder, start = Path(name), time.monotonic()
        command = options.label_studio or install(folder / "venv")
        print(f"Label Studio {_version(command)}", flush=True)
        print(f"installed after {time.monotonic() - start:.0f} s", flush=True)
        with running(command, folder, 60 * options.minutes) as server:
            print(f"started after {time.monotonic() - start:.0f} s", flush=True)
            project = annotate(server, options.tasks, random.Random(1))  # noqa: S311 - no secret
            paths = {}
            for form, suffix in FORMATS.items():
                paths[form] = folder / f"{form.lower()}.{suffix}"
                path = f"/api/projects/{project}/export?exportType={form}"
                paths[form].write_bytes(server.call("GET", path, raw=True))
            exported: list[tuple[Any, ...]] = [("format", "question", "tasks", "workers", "responses")]
            imported: list[tuple[Any, ...]] = [("form", "question", "tasks there", "written", "right")]
            wrong = check_formats(paths, exported)
            wrong += check_predictions(server, project, paths["JSON"], folder, imported)
        for rows in (exported, imported):
            print(
                "\n".join(
                    "  ".join(f"{cell!s:<{26 if at == 0 else 12}}" for at, cell in enumerate(row)) for row in rows
                )
            )
        print("\n".join(wrong) or "nothing was wrong", f"after {time.monotonic() - start:.0f} s", sep="; ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
