"""Start `trailbench ui` for a home folder, and ask it over GraphQL."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from tests.trailbench.documentation import documented

# The backfill daemon's tick is a constant of 30 s in Dagster: a test would mostly wait for it.
QUICK_TICKS = """
import sys
if "dagster._daemon" in sys.orig_argv:
    import dagster._daemon.controller
    dagster._daemon.controller.DEFAULT_DAEMON_INTERVAL_SECONDS = 4
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(home, shards):
    """The environment of `trailbench` for a home folder, with nothing of the caller's own home."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("TRAILBENCH_", "DAGSTER_"))}
    quick = {"TRAILBENCH_EXPECTATIONS": os.environ.get("TRAILBENCH_EXPECTATIONS", "gx")}
    return {**ours, **quick, "TRAILBENCH_HOME": str(home), "TRAILBENCH_SHARDS": str(shards), "TZ": "Pacific/Chatham"}


class Servers:
    """`trailbench ui` in a process group of its own."""

    def __init__(self, home, shards=2, port=None):
        self.home, self.port = Path(home), port or free_port()
        quick = self.home.with_name(self.home.name + "-ticks")
        quick.mkdir(parents=True, exist_ok=True)
        (quick / "sitecustomize.py").write_text(QUICK_TICKS)
        self.log = self.home.with_name(self.home.name + "-ui.log")
        words = documented("trailbench ui --home DIR", {"DIR": self.home})
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "trailbench.cli", *words[1:], "--port", str(self.port)],
                env={**environment(home, shards), "PYTHONPATH": str(quick)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started = time.time()
        self.url = f"http://127.0.0.1:{self.port}"

    def wait_ready(self, seconds=120):
        def ready():
            assert self.process.poll() is None, self.log.read_text()
            try:
                return bool(self.ask("{assetsOrError{... on AssetConnection{nodes{id}}} instance{daemonHealth{id}}}"))
            except (OSError, AssertionError):
                return False

        wait_for(ready, seconds, self.log.read_text)
        wait_for(lambda: self._sensors() != {}, seconds, self.log.read_text)
        return self

    def ask(self, query, **variables):
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            answered = json.load(answer)
        assert "errors" not in answered, answered["errors"]
        return answered["data"]

    def _sensors(self):
        # With a limit alone, Dagster answers with ticks under the origin of the first start only.
        found = self.ask(
            """{sensorsOrError(repositorySelector: {repositoryName: "__repository__",
                repositoryLocationName: "assets.definitions"}) {
              ... on Sensors {results {name sensorState {
                ticks(limit: 500, statuses: [SKIPPED, SUCCESS, FAILURE]) {timestamp status}}}}}}"""
        )
        return {one["name"]: one["sensorState"] for one in found["sensorsOrError"].get("results", [])}

    def looks(self, sensor):
        """How often a sensor looked since these servers were started; none of them may have failed."""
        ticks = [tick for tick in self._sensors()[sensor]["ticks"] if tick["timestamp"] > self.started]
        assert "FAILURE" not in {tick["status"] for tick in ticks}
        return sum(tick["status"] in ("SKIPPED", "SUCCESS") for tick in ticks)

    def runs(self):
        found = self.ask("{runsOrError {... on Runs {results {runId status jobName tags {key value}}}}}")
        return [{**one, "tags": _tags(one)} for one in found["runsOrError"]["results"]]

    def backfills(self):
        found = self.ask(
            """{partitionBackfillsOrError {... on PartitionBackfills {
              results {id status title tags {key value}}}}}"""
        )
        return {one["id"]: {**one, "tags": _tags(one)} for one in found["partitionBackfillsOrError"]["results"]}

    def causes(self, run):
        """What the failed steps of a run say, innermost cause last."""
        found = self.ask(
            """query($run: ID!) {logsForRun(runId: $run) {... on EventConnection {events {
              ... on ExecutionStepFailureEvent {error {message causes {message}}}}}}}""",
            run=run,
        )
        errors = [event["error"] for event in found["logsForRun"]["events"] if event.get("error")]
        return "".join(error["message"] + "".join(one["message"] for one in error["causes"]) for error in errors)

    def metadata(self, asset, partition):
        """Label → value of the newest materialisation of a partition; numbers, truths and texts only."""
        found = self.ask(
            """query($asset: [String!]!, $partitions: [String!]) {assetOrError(assetKey: {path: $asset}) {
              ... on Asset {assetMaterializations(partitions: $partitions, limit: 1) {metadataEntries {label
                ... on TextMetadataEntry {text} ... on IntMetadataEntry {intValue}
                ... on BoolMetadataEntry {boolValue}}}}}}""",
            asset=[asset],
            partitions=[partition],
        )
        (newest,) = found["assetOrError"]["assetMaterializations"]
        values = {}
        for entry in newest["metadataEntries"]:
            for kind in ("text", "intValue", "boolValue"):
                if entry.get(kind) is not None:
                    values[entry["label"]] = entry[kind]
        return values

    def checks(self, asset, partition):
        """Check → status and verdict of its newest evaluation of a partition."""
        names = self.ask(
            """query($asset: [String!]!) {assetNodeOrError(assetKey: {path: $asset}) {... on AssetNode {
              assetChecksOrError {... on AssetChecks {checks {name}}}}}}""",
            asset=[asset],
        )["assetNodeOrError"]["assetChecksOrError"]["checks"]
        verdicts = {}
        for check in names:
            (newest,) = self.ask(
                """query($asset: [String!]!, $check: String!, $partition: String!) {assetCheckExecutions(
                  assetKey: {path: $asset}, checkName: $check, partition: $partition, limit: 1) {
                    status evaluation {success}}}""",
                asset=[asset],
                check=check["name"],
                partition=partition,
            )["assetCheckExecutions"]
            verdicts[check["name"]] = (newest["status"], newest["evaluation"]["success"])
        return verdicts

    def processes(self):
        """Processes alive that belong to this home folder: all of them carry it in their environment."""
        mine = f"TRAILBENCH_HOME={self.home}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mine in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
            except OSError:
                continue
        return [number for number in found if number != os.getpid()]

    def stop(self, signum=signal.SIGINT, seconds=60):
        self.process.send_signal(signum)
        return self.process.wait(seconds)

    def kill(self):
        """As a power cut would: every process at once, and those that one of them was just starting."""
        deadline = time.monotonic() + 30
        while alive := self.processes():
            assert time.monotonic() < deadline, f"processes {alive} do not end"
            for number in alive:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.05)
        self.process.wait(30)


def _tags(found):
    return {tag["key"]: tag["value"] for tag in found["tags"]}


def wait_for(happened, seconds, says=lambda: ""):
    deadline = time.monotonic() + seconds
    while True:
        if found := happened():
            return found
        assert time.monotonic() < deadline, f"waited {seconds} s in vain\n{says()[-3000:]}"
        time.sleep(1)
