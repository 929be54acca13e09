"""Runs `swift test` and counts what happened from Swift Testing's event stream.

The stream is written while the tests run, so a crash leaves the truth behind: a test that began and never ended has
failed, and so has every one that never got its turn.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import gate

# A run that takes this long is stuck; whoever waits for it learns in which test.
DEADLINE_SECONDS = int(os.environ.get("SOUK_TEST_DEADLINE", "1800"))

# How many tests of a process run at once. Swift Testing would begin them all, and on a small machine, or under a
# sanitizer, hundreds that wait for a processor run into the time limits of exchanges that have nothing to do with it.
# On a large machine all of them together open over a thousand files, and then Foundation crashes when one starts a
# program: it reads past its list of them.
WIDTH = min(4 * (os.cpu_count() or 2), 32)


class Tally:
    """The test functions of one target by what became of them, in the order they were listed."""

    def __init__(self, target):
        self.target = target
        self.names, self.started, self.ended = {}, set(), set()
        self.skipped, self.issues, self.stray = {}, {}, []
        self.cases, self.finished, self.exit_code = {}, False, 0

    def take(self, line):
        record = json.loads(line)
        payload = record["payload"]
        if record["kind"] == "test":
            if payload["kind"] == "function":
                self.names[payload["id"]] = payload.get("displayName") or payload["name"].strip("`")
            return
        kind, test = payload["kind"], payload.get("testID")
        if kind == "testStarted":
            self.started.add(test)
        elif kind == "testEnded":
            self.ended.add(test)
        elif kind == "testCaseStarted":
            self.cases[test] = self.cases.get(test, 0) + 1
        elif kind == "testSkipped":
            reasons = payload.get("_comments") or [message["text"] for message in payload.get("messages", [])[:1]]
            self.skipped[test] = " ".join(reasons)
        elif kind == "runEnded":
            self.finished = True
        elif kind == "issueRecorded":
            issue = payload.get("issue", {})
            if not issue.get("isKnown") and issue.get("isFailure", True):
                text = " ".join(message["text"] for message in payload.get("messages", []))
                if test in self.names:
                    self.issues.setdefault(test, []).append(text)
                else:
                    self.stray.append(text)

    @property
    def ran(self):
        return [test for test in self.names if test in self.started]

    @property
    def failures(self):
        """(test, why) of everything that did not hold."""
        found = []
        for test in self.names:
            if test in self.issues:
                found.append((test, self.issues[test][0]))
            elif test in self.started and test not in self.ended:
                found.append((test, "it began and never ended"))
            elif not self.finished and test not in self.started and test not in self.skipped:
                found.append((test, "the run ended before its turn"))
        found += [(None, text) for text in self.stray]
        if not found and not self.finished:
            found.append((None, "the tests were never run to their end"))
        if not found and self.exit_code != 0:
            found.append((None, f"every test passed, but the run ended with {self.exit_code}"))
        if not found and not self.ran:
            found.append((None, "not a single test ran"))
        return found

    @property
    def passed(self):
        failed = {test for test, _ in self.failures}
        return [test for test in self.ran if test not in failed]

    def describe(self, test):
        return f"{test.partition('.')[0]}: {self.names[test]}" if test in self.names else self.target


class Outcome:
    """What became of several test targets."""

    def __init__(self, tallies):
        self.ran = sum(len(tally.ran) for tally in tallies)
        # A test without arguments is one case.
        self.cases = sum(tally.cases.get(test, 1) for tally in tallies for test in tally.ran)
        self.passed = sum(len(tally.passed) for tally in tallies)
        self.failures = [f"{tally.describe(test)} — {why}" for tally in tallies for test, why in tally.failures]
        self.skipped = [
            f"{tally.describe(test)} — {tally.skipped[test]}" for tally in tallies for test in tally.names
            if test in tally.skipped]
        self.targets = len({test.partition(".")[0] for tally in tallies for test in tally.ran})

    def print(self):
        """Everything a reader needs, the count last."""
        for title, lines in (("Skipped", self.skipped), ("Failed", self.failures)):
            if lines:
                print(f"\n{title} {len(lines)}:")
                for line in lines:
                    print(f"  {line}")
        print(f"\n{self.ran} tests ran ({self.cases} cases) in {self.targets} targets, {len(self.skipped)} skipped")
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)


def run_each(root, targets, filters=(), **options):
    """Builds once, then runs each test target in a process of its own.

    A crash in one hides nothing of the others, and on a small machine they do not starve each other until real
    deadlines pass.
    """
    if not build(root, **options):
        nothing = Tally("the build")
        nothing.stray.append("it failed, so no test could run")
        return Outcome([nothing])
    return Outcome([run(root, target, filters or [rf"^{re.escape(target)}\."], **options) for target in targets])


def build(root, quiet=False, **options):
    command = ["swift", "build", "--build-tests", *_arguments(root, **options)]
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output).returncode == 0


def _arguments(root, scratch_path=None, sanitize=None):
    arguments = ["--package-path", str(root), *gate.jobs(), *gate.EXPLICIT_IMPORTS]
    arguments += ["--scratch-path", str(scratch_path)] if scratch_path else []
    return arguments + (["--sanitize", sanitize] if sanitize else [])


def run(root, target, filters, quiet=False, **options):
    """Runs what the filters choose of the tests that were built."""
    command = ["swift", "test", "--skip-build", "--disable-xctest", *_arguments(root, **options)]
    command += ["--experimental-maximum-parallelization-width", str(WIDTH)]
    for pattern in filters:
        command += ["--filter", pattern]
    environment = dict(os.environ)
    environment.setdefault("SWIFT_BACKTRACE", "interactive=no,color=no")
    tally = Tally(target)
    with tempfile.TemporaryDirectory(prefix="souk-tests-") as folder:
        events = pathlib.Path(folder) / "events.jsonl"
        command += ["--event-stream-output-path", str(events), "--event-stream-version", "0"]
        tally.exit_code = _supervise(command, environment, quiet)
        if events.exists():
            # The last line is empty, or the one that was being written when the process died.
            *lines, _ = events.read_bytes().split(b"\n")
            for line in lines:
                tally.take(line)
    return tally


def _supervise(command, environment, quiet):
    """Runs the command in a session of its own, so that nothing it started outlives it."""
    output = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    try:
        return process.wait(timeout=DEADLINE_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"\nrun-tests: still running after {DEADLINE_SECONDS} s, stopped", flush=True)
        print(_stacks(process.pid), flush=True)
        return 1
    finally:
        for end, target in [(os.kill, member) for member in _session(process.pid)] + [(os.killpg, process.pid)]:
            try:
                end(target, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()


def _session(leader):
    """The processes of a session with their parents, as Linux lists them; SwiftPM gives the tests a group of their own."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            _state, parent, _group, session, *_ = stat.read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue  # It has ended meanwhile.
        if int(session) == leader:
            found[int(stat.parent.name)] = int(parent)
    return found


def _stacks(leader):
    """Where every thread of the tests stands: the only trace a hang leaves."""
    if not shutil.which("gdb"):
        return "gdb is not installed, so the stacks of the tests are not known"
    members = _session(leader)
    found = []
    for process in sorted(set(members) - set(members.values())):
        try:
            done = subprocess.run(
                ["gdb", "-p", str(process), "-batch", "-ex", "thread apply all backtrace"], stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace", timeout=120)
            found += [line for line in done.stdout.splitlines() if line.startswith(("Thread ", "#"))]
        except subprocess.TimeoutExpired:
            found.append(f"gdb could not look into process {process} in time")
    return "\n".join(found) or "gdb could not look into the tests"
