"""Builds the tests, runs each target in a process of its own, several at a time, and watches over them.

- The event stream of each process is read while it runs. A test case that takes too long is ended with its process, and
  the stacks of all threads are kept; the tests that had not ended yet run in another process.
- Tests that ask an outside judge run in processes of their own beside the others. Only they may be repeated, once.
- What the tests print goes to a log file. The terminal gets one line for each target, and the failures.
"""

import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

import gate
import stacks
from shared_browser import SharedBrowser
from test_tally import Outcome, Tally, plain

# A test case that runs for longer is stuck, unless Tests/exceptions.json names it.
CASE_SECONDS = int(os.environ.get("SOUK_TEST_CASE_SECONDS", "60"))
# So is a process that ends no test for so long, or does not end after its last one.
SILENT_SECONDS = 3 * CASE_SECONDS
# How many processes run side by side. In each of them one test runs after the other: Swift Testing would begin hundreds
# at once, report each as started long before its turn, and let them wait for a processor while real deadlines pass.
LANES = min((os.cpu_count() or 2) + 1, 8)
# The targets that take longest, so that none of them is begun last.
# Their judges begin when they have ended, and those of the simulator take longest.
LONGEST_FIRST = ("AppStoreSimulatorTests", "EntitlementServerTests", "soukTests", "NetworkInterceptionTests",
                 "ZipExtractionTests", "SignedDataTests", "InAppStoreTests", "WebPagesTests", "HTTPListenerTests")
# Of these the suites with such first letters run in a process of their own, so that the longest target does not run alone
# in the end.
SPLIT = {"EntitlementServerTests": "[A-L]"}
QUARANTINE_DAYS = 7


class Exceptions:
    """Tests/exceptions.json: test cases that may take longer than a minute; suites that run in a process of their own, so
    that others need not wait for them; suites that take minutes under a sanitizer; the quarantine."""

    def __init__(self, root):
        file = root / "Tests" / "exceptions.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        self.slow, self.apart = known.get("slow", {}), known.get("apart", [])
        self.heavy, self.quarantine = known.get("heavy", {}), known.get("quarantine", [])

    def limit(self, test):
        """How many seconds a case of this test may take."""
        name = plain(test)
        found = [entry["seconds"] for prefix, entry in self.slow.items() if name.startswith(prefix)]
        return max([CASE_SECONDS, *found])

    @property
    def quarantined(self):
        return {entry["test"] for entry in self.quarantine}

    def faults(self, committed):
        """Yields the errors in the quarantine on the day of the last commit."""
        for entry in self.quarantine:
            missing = [word for word in ("test", "expires", "why") if not entry.get(word)]
            if missing:
                yield f"a quarantined test does not say {' and '.join(missing)}: {json.dumps(entry)}"
                continue
            expires = datetime.date.fromisoformat(entry["expires"])
            if expires < committed:
                yield (f"the quarantine of {entry['test']} expired on {expires}: mend the test or the code, and remove "
                       "the entry from Tests/exceptions.json")
            elif expires > committed + datetime.timedelta(days=QUARANTINE_DAYS):
                yield f"the quarantine of {entry['test']} lasts longer than {QUARANTINE_DAYS} days: until {expires}"


def commit_date(root):
    """The day of the last commit; today where there is none."""
    done = subprocess.run(["git", "-C", str(root), "log", "-1", "--format=%cs"], capture_output=True, text=True)
    text = done.stdout.strip()
    return datetime.date.fromisoformat(text) if done.returncode == 0 and text else datetime.date.today()


def make_judges(root):
    """Begins to make the environment of the outside judges, where a package has any; one that exists is kept."""
    script = root / "Scripts" / "install-dependencies"
    return subprocess.Popen([str(script), "judges"], stdin=subprocess.DEVNULL) if script.exists() else None


class Run:
    """One run of test targets: how they are built, and where their output goes."""

    def __init__(self, root, scratch_path=None, sanitize=None, judges=True, quiet=False, slowness=1, targets=None, leaving_out=(),
                 whole_modules=True):
        self.root, self.sanitize, self.judges, self.quiet = root, sanitize, judges, quiet
        self.scratch = pathlib.Path(scratch_path or root / ".build")
        # How much longer than usual everything takes, under a sanitizer for instance.
        self.slowness = slowness
        # Suites that do not run, as `Module.Suite`.
        self.leaving_out = leaving_out
        # With these the manifest declares only their test targets.
        self.declared = targets
        self.whole_modules = whole_modules
        self.exceptions = Exceptions(root)
        self.log = self.scratch / "tests.log"
        self.lock = threading.RLock()
        self.began = time.monotonic()
        self.retried = []

    # MARK: Building

    def environment(self):
        made = dict(os.environ)
        # Under a sanitizer the backtracer can wait for ever on a crash.
        made.setdefault("SWIFT_BACKTRACE", "enable=no" if self.sanitize else "interactive=no,color=no")
        if self.declared:
            made["SOUK_TESTS"] = ",".join(self.declared)
        return made

    def arguments(self):
        made = ["--package-path", str(self.root), "--scratch-path", str(self.scratch), *gate.BUILD_FLAGS, *gate.jobs()]
        made += gate.WHOLE_MODULES if self.whole_modules else ()
        return made + (["--sanitize", self.sanitize] if self.sanitize else [])

    def build(self):
        """Builds the tests and, beside it, the environment of the outside judges where there is none."""
        judges = make_judges(self.root) if self.judges else None
        built = gate.build(["--build-tests", *self.arguments()], self.environment(), self.say)
        return (judges is None or judges.wait() == 0) and built

    @property
    def program(self):
        """The one program that SwiftPM links all tests into."""
        done = subprocess.run(
            ["swift", "build", *self.arguments(), "--show-bin-path"], capture_output=True, text=True,
            env=self.environment(), check=True)
        found = sorted(pathlib.Path(done.stdout.strip()).glob("*PackageTests.xctest"))
        if not found:
            raise SystemExit(f"run-tests: there is no test program in {done.stdout.strip()}; build it first")
        return found[0]

    # MARK: Running

    def targets(self):
        """The test targets, those first that take longest."""
        targets = [target["name"] for target in gate.dump_package(self.root, self.environment())["targets"]
                   if target["type"] == "test"]
        return sorted(targets, key=lambda name: (
            LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST), name))

    def run(self, targets=None, filters=()):
        """Builds once and runs everything, or what the filters choose. Returns the `Outcome`."""
        faults = list(self.exceptions.faults(commit_date(self.root)))
        if faults or not self.build():
            nothing = Tally("the build")
            nothing.stray += faults or ["it failed, so no test could run"]
            return Outcome([nothing])
        program = self.program
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        if filters:
            # Chosen tests may lie in any target, so they run together.
            tallies = [self.run_job(program, "the chosen tests", list(filters), judges=True)]
        else:
            tallies = self.run_side_by_side(program, targets or self.targets())
        return Outcome(tallies, self.retried, self.exceptions.quarantined)

    def run_side_by_side(self, program, targets):
        self.say(f"{len(targets)} test targets, {LANES} at a time; everything they print is in {self.log}")
        with concurrent.futures.ThreadPoolExecutor(LANES) as pool, SharedBrowser() as browser:
            judging = []

            def run_part(name):
                """A target without the suites that run apart from it, or one of these."""
                target, _, suite = name.partition(".")
                split = SPLIT.get(target)
                skipping = [rf"^{re.escape(each)}/" for each in [*self.exceptions.apart, *self.leaving_out]
                            if each.startswith(f"{target}.") and each != name]
                if suite and suite == split:
                    chosen = rf"^{re.escape(target)}\.{split}"
                elif suite:
                    chosen = rf"^{re.escape(name)}/"
                else:
                    chosen = rf"^{re.escape(target)}\."
                    skipping += [rf"^{re.escape(target)}\.{split}"] if split else []
                tally = self.run_job(program, name, [chosen], judges=False, skipping=skipping)
                if self.judges and tally.judges:
                    with self.lock:
                        # With few targets the judges of one have the lanes to themselves.
                        shares = max(1, LANES // len(parts))
                        judging.extend(
                            pool.submit(self.judge, program, tally, share, browser.environment())
                            for share in (tally.judges[number::shares] for number in range(shares)) if share)
                return tally

            parts = [part for target in targets for part in [
                *(suite for suite in self.exceptions.apart if suite.startswith(f"{target}.")),
                *([f"{target}.{SPLIT[target]}"] if target in SPLIT else []), target]]
            tallies = [each.result() for each in [pool.submit(run_part, part) for part in parts]]
            for each in judging:
                each.result()
        return tallies

    def judge(self, program, tally, tests, more):
        """Runs the tests of a target that ask outside judges, and those that fail a second time."""
        name = f"{tally.target}, judges"
        asked = self.run_job(program, name, exactly(tests), judges=True, more=more)
        failed = {test: why for test, why in asked.failures if test}
        if failed:
            again = self.run_job(program, f"{name}, again", exactly(failed), judges=True, more=more)
            for test in again.passed:
                reason = failed[test].splitlines()[0]
                self.retried.append(f"{asked.describe(test)}: {reason}")
            asked.join(again, is_rest=True)
        with self.lock:
            tally.join(asked)

    def run_job(self, program, name, filters, judges, more=None, skipping=()):
        """Runs tests in one process, and in further ones what a process that was ended or crashed has left."""
        began = time.monotonic()
        tally = self.run_process(program, name, filters, judges, more, skipping)
        whole = tally
        while not tally.finished:
            self.settle(tally)
            left = [test for test in tally.names if test not in tally.started and test not in tally.skipped]
            if tally is not whole:
                whole.join(tally, is_rest=True)
            if not left or not tally.started:
                break
            tally = self.run_process(program, name, exactly(left), judges, more)
        if tally is not whole:
            whole.join(tally, is_rest=True)
        seconds = time.monotonic() - began
        failures = len(whole.failures)
        verdict = f"{len(whole.passed)} passed" + (f", {failures} FAILED" if failures else "")
        self.say(f"  {name:<34} {verdict:<24} {seconds:6.1f} s   {time.monotonic() - self.began:6.0f} s in all")
        for test, why in whole.failures:
            self.say(f"    FAILED {whole.describe(test)}\n      " + why.replace("\n", "\n      "))
        return whole

    @staticmethod
    def settle(tally):
        """Counts what was running when a process ended too soon as failed."""
        for test in tally.started - tally.ended:
            if test in tally.names:
                words = tally.last_words()
                tally.fail(test, f"it began and never ended; the process ended with {tally.exit_code}{words}")

    def run_process(self, program, name, filters, judges, more=None, skipping=()):
        command = [str(program), "--testing-library", "swift-testing", "--no-parallel"]
        for pattern in filters:
            command += ["--filter", pattern]
        for pattern in skipping:
            command += ["--skip", pattern]
        environment = {**self.environment(), **(more or {})}
        if not judges:
            environment["SOUK_JUDGES"] = "skip"
        tally = Tally(name)
        with tempfile.TemporaryDirectory(prefix="souk-tests-") as folder:
            events, printed = pathlib.Path(folder) / "events.jsonl", pathlib.Path(folder) / "output"
            command += ["--event-stream-output-path", str(events), "--event-stream-version", "0"]
            with printed.open("wb") as output:
                process = subprocess.Popen(
                    command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                    start_new_session=True, cwd=self.root)
            with ended_with_all_it_started(process):
                Watch(self, tally, process, events).until_the_end()
            tally.output = printed.read_text(errors="replace")
            with self.lock, self.log.open("a") as log:
                log.write(f"==== {name} ====\n{tally.output}\n")
        return tally

    def say(self, text):
        if not self.quiet:
            with self.lock:
                print(text, flush=True)


def exactly(tests):
    """Filters for these tests and no others."""
    return ["^" + re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", plain(test)) + "(/|$)" for test in tests]


class Watch:
    """Reads what a process reports, and ends it when a test case takes too long."""

    def __init__(self, run, tally, process, events):
        self.run, self.tally, self.process, self.events = run, tally, process, events
        self.rest, self.offset, self.last_event = b"", 0, time.monotonic()

    def until_the_end(self):
        while self.process.poll() is None:
            time.sleep(0.1)
            self.read()
            if self.is_stuck():
                break
        self.read()
        self.tally.exit_code = self.process.poll()

    def read(self):
        if not self.events.exists():
            return
        with self.events.open("rb") as file:
            file.seek(self.offset)
            *lines, self.rest = (self.rest + file.read()).split(b"\n")
            self.offset = file.tell()
        now = time.monotonic()
        for line in lines:
            self.last_event = now
            self.tally.take(line, now)

    def is_stuck(self):
        """Ends the process when something takes too long, and says so in the tally."""
        now, slowness = time.monotonic(), self.run.slowness
        late = {test: now - since for (test, _), since in self.tally.running.items()
                if now - since > self.run.exceptions.limit(test) * slowness}
        if late:
            where = self.stacks()
            for test, seconds in late.items():
                self.tally.fail(test, f"it ran for {seconds:.0f} s, so its process was ended; {where}")
            # The others were not at fault: they run again.
            for test in {test for test, _ in self.tally.running} - set(late):
                self.tally.started.discard(test)
            return True
        if not self.tally.running and now - self.last_event > SILENT_SECONDS * slowness:
            self.tally.stray.append(f"no test ran, and the process did not end; {self.stacks()}")
            return True
        return False

    def stacks(self):
        """Where every thread of the process is: the only trace that a hang leaves."""
        text = stacks.of_session(self.process.pid)
        with self.run.lock, self.run.log.open("a") as log:
            log.write(f"==== stacks of {self.tally.target} ====\n{text}\n")
        own = [line for line in text.splitlines() if "Tests" in line or "hangs" in line]
        return "\n".join([f"the stacks of all threads are in {self.run.log}", *(own or text.splitlines())[:40]])


@contextlib.contextmanager
def ended_with_all_it_started(process):
    """Nothing that the process started outlives the block."""
    try:
        yield
    finally:
        for end, target in [(os.kill, member) for member in stacks.session(process.pid)] + [(os.killpg, process.pid)]:
            try:
                end(target, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()
