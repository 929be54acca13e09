"""Builds the tests, runs each target in its own process, several at a time, and ends processes that hang.

- The event stream of each process is read while it runs. If a test case takes too long, its process is killed, the stacks of
  all threads are logged, and the tests that had not ended run in another process.
- Tests that need an outside judge run in separate processes at the same time. Only they are repeated after a failure, once.
- The output of the tests goes to a log file. The terminal gets one line for each target, and the failures.
"""

import concurrent.futures
import contextlib
import datetime
import heapq
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

# The longest time of a test case, unless Tests/exceptions.json names it.
CASE_SECONDS = int(os.environ.get("SOUK_TEST_CASE_SECONDS", "60"))
# The longest time for which a process may run no test, and report none, before it is killed.
SILENT_SECONDS = 3 * CASE_SECONDS
# The number of processes at a time. Each runs one test after another: otherwise Swift Testing starts hundreds at once, which
# wait for a processor while their deadlines pass.
MAX_PROCESSES = min((os.cpu_count() or 2) + 2, 8)
# The targets that take longest, which start first. The judges of a target start when it has ended, before later targets.
LONGEST_FIRST = ("EntitlementServerTests", "AppStoreSimulatorTests", "soukTests", "NetworkInterceptionTests",
                 "ZipExtractionTests", "SignedDataTests", "InAppStoreTests", "WebPagesTests", "HTTPListenerTests")
# Maps a target to the first letters of suites that run in a separate process, so that the longest targets do not run alone
# at the end.
SPLIT = {"EntitlementServerTests": "[A-L]", "soukTests": "[A-L]"}
# The number of judges that one process runs, about.
JUDGES = 20
QUARANTINE_DAYS = 7
# The file system in memory, and the bytes that must be free in it, and in memory, for the temporary files of the tests.
MEMORY = pathlib.Path("/dev/shm")
MEMORY_NEEDED = 8 << 30


class Exceptions:
    """Tests/exceptions.json: test cases that may take longer than a minute; suites that run in a separate process, so that
    others need not wait for them; suites that take minutes under a sanitizer; the quarantine."""

    def __init__(self, root):
        file = root / "Tests" / "exceptions.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        self.slow, self.apart = known.get("slow", {}), known.get("apart", [])
        self.heavy, self.quarantine = known.get("heavy", {}), known.get("quarantine", [])

    def limit(self, test):
        """Returns the longest time of a case of this test, in seconds."""
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
                yield f"an entry of the quarantine lacks {' and '.join(missing)}: {json.dumps(entry)}"
                continue
            expires = datetime.date.fromisoformat(entry["expires"])
            if expires < committed:
                yield (f"the quarantine of {entry['test']} expired on {expires}: repair the test or the code, and remove "
                       "the entry from Tests/exceptions.json")
            elif expires > committed + datetime.timedelta(days=QUARANTINE_DAYS):
                yield f"the quarantine of {entry['test']} lasts longer than {QUARANTINE_DAYS} days: until {expires}"


def commit_date(root):
    """Returns the day of the last commit, or today if there is none."""
    done = subprocess.run(["git", "-C", str(root), "log", "-1", "--format=%cs"], capture_output=True, text=True)
    text = done.stdout.strip()
    return datetime.date.fromisoformat(text) if done.returncode == 0 and text else datetime.date.today()


def make_judges(root):
    """Starts to install the environment of the outside judges, if the package has the script for it. Returns the process. The
    script keeps an environment that exists."""
    script = root / "Scripts" / "install-dependencies"
    return subprocess.Popen([str(script), "judges"], stdin=subprocess.DEVNULL) if script.exists() else None


class Run:
    """One run of test targets, with the settings of their build and output."""

    def __init__(self, root, scratch_path=None, sanitize=None, judges=True, quiet=False, slowness=1, targets=None, leaving_out=(),
                 whole_modules=True):
        self.root, self.sanitize, self.judges, self.quiet = root, sanitize, judges, quiet
        self.scratch = pathlib.Path(scratch_path or root / ".build")
        # The factor for all time limits, for example under a sanitizer.
        self.slowness = slowness
        # The suites that do not run, as `Module.Suite`.
        self.leaving_out = leaving_out
        # If present, the manifest declares only these test targets.
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
        # Under a sanitizer the backtracer can hang on a crash.
        made.setdefault("SWIFT_BACKTRACE", "enable=no" if self.sanitize else "interactive=no,color=no")
        if self.declared:
            made["SOUK_TESTS"] = ",".join(self.declared)
        return made

    def arguments(self):
        made = ["--package-path", str(self.root), "--scratch-path", str(self.scratch), *gate.BUILD_FLAGS, *gate.jobs()]
        made += gate.WHOLE_MODULES if self.whole_modules else ()
        return made + (["--sanitize", self.sanitize] if self.sanitize else [])

    def build(self):
        """Builds the tests and, at the same time, the environment of the outside judges if it is missing."""
        judges = make_judges(self.root) if self.judges else None
        built = gate.build(["--build-tests", *self.arguments()], self.environment(), self.say)
        return (judges is None or judges.wait() == 0) and built

    @property
    def program(self):
        """The program into which SwiftPM links all tests."""
        done = subprocess.run(
            ["swift", "build", *self.arguments(), "--show-bin-path"], capture_output=True, text=True,
            env=self.environment(), check=True)
        found = sorted(pathlib.Path(done.stdout.strip()).glob("*PackageTests.xctest"))
        if not found:
            raise SystemExit(f"run-tests: cannot find the test program in {done.stdout.strip()}; build it first")
        return found[0]

    # MARK: Running

    def targets(self):
        """Returns the test targets, with the longest first."""
        targets = [target["name"] for target in gate.dump_package(self.root, self.environment())["targets"]
                   if target["type"] == "test"]
        return sorted(targets, key=lambda name: (
            LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST), name))

    def run(self, targets=None, filters=()):
        """Builds once, and runs all tests or those that match the filters. Returns the `Outcome`."""
        faults = list(self.exceptions.faults(commit_date(self.root)))
        if faults or not self.build():
            nothing = Tally("the build")
            nothing.other_issues += faults or ["it failed, so no test could run"]
            return Outcome([nothing])
        program = self.program
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        if filters:
            # Filters can match tests in any target, so one process runs them.
            tallies = [self.run_job(program, "the chosen tests", list(filters), judges=True)]
        else:
            tallies = self.run_concurrently(program, targets or self.targets())
        return Outcome(tallies, self.retried, self.exceptions.quarantined)

    def run_concurrently(self, program, targets):
        self.say(f"{len(targets)} test targets, {MAX_PROCESSES} at a time; their output is in {self.log}")
        with SharedBrowser() as browser, JobQueue(MAX_PROCESSES) as jobs:
            def run_part(name):
                """Runs a target without its separate suites, or one separate suite."""
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
                        # With few targets, or with many judges, those of one target are divided over several processes.
                        shares = max(1, MAX_PROCESSES // len(parts), len(tally.judges) // JUDGES)
                        for share in (tally.judges[number::shares] for number in range(shares)):
                            if share:
                                jobs.add(parts.index(name), self.judge, program, tally, share, browser.environment())
                tallies[name] = tally

            parts = [part for target in targets for part in [
                *(suite for suite in self.exceptions.apart if suite.startswith(f"{target}.")),
                *([f"{target}.{SPLIT[target]}"] if target in SPLIT else []), target]]
            tallies = {}
            for rank, part in enumerate(parts):
                jobs.add(rank, run_part, part)
            jobs.wait()
        return [tallies[part] for part in parts]

    def judge(self, program, tally, tests, more):
        """Runs the tests of a target that need outside judges. Repeats those that fail, once."""
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
        """Runs tests in one process. If it crashes or is killed, runs the remaining tests in further processes."""
        began = time.monotonic()
        tally = self.run_process(program, name, filters, judges, more, skipping)
        whole = tally
        while not tally.finished:
            self.fail_unfinished(tally)
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
    def fail_unfinished(tally):
        """Counts the tests that were running at the early end of a process as failed."""
        for test in tally.started - tally.ended:
            if test in tally.names:
                output = tally.last_output()
                tally.fail(test, f"it began and never ended; the process ended with {tally.exit_code}{output}")

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
        with temporary_folder() as folder:
            events, printed, environment["TMPDIR"] = folder / "events.jsonl", folder / "output", str(folder / "t")
            command += ["--event-stream-output-path", str(events), "--event-stream-version", "0"]
            with printed.open("wb") as output:
                process = subprocess.Popen(
                    command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                    start_new_session=True, cwd=self.root)
            with session_ends_with_block(process):
                ProcessMonitor(self, tally, process, events).wait()
            tally.output = printed.read_text(errors="replace")
            with self.lock, self.log.open("a") as log:
                log.write(f"==== {name} ====\n{tally.output}\n")
        return tally

    def say(self, text):
        if not self.quiet:
            with self.lock:
                print(text, flush=True)


def exactly(tests):
    """Returns filters that match only these tests."""
    return ["^" + re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", plain(test)) + "(/|$)" for test in tests]


class JobQueue(concurrent.futures.ThreadPoolExecutor):
    """Runs jobs on several threads. A free thread takes the job with the lowest rank. A job may add others."""

    def __init__(self, threads):
        super().__init__(threads)
        self.waiting, self.futures, self.changes = [], [], threading.Lock()

    def add(self, rank, job, *arguments):
        with self.changes:
            heapq.heappush(self.waiting, (rank, len(self.futures), job, arguments))
            self.futures.append(self.submit(self.run_next))

    def run_next(self):
        with self.changes:
            _, _, job, arguments = heapq.heappop(self.waiting)
        job(*arguments)

    def wait(self):
        """Waits for all jobs, also those that are added meanwhile. Raises the first error of a job."""
        for future in self.futures:
            future.result()


class ProcessMonitor:
    """Reads the event stream of a process, and stops when a test case takes too long, so that the process is killed."""

    def __init__(self, run, tally, process, events):
        self.run, self.tally, self.process, self.events = run, tally, process, events
        self.rest, self.offset, self.last_event = b"", 0, time.monotonic()

    def wait(self):
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
            self.tally.read_record(line, now)

    def is_stuck(self):
        """Returns whether a test case, or the process between tests, takes too long. Records it in the tally."""
        now, slowness = time.monotonic(), self.run.slowness
        late = {test: now - since for (test, _), since in self.tally.running.items()
                if now - since > self.run.exceptions.limit(test) * slowness}
        if late:
            where = self.stacks()
            for test, seconds in late.items():
                self.tally.fail(test, f"it ran for {seconds:.0f} s, so its process was ended; {where}")
            # The other running tests are not late, so they run again.
            for test in {test for test, _ in self.tally.running} - set(late):
                self.tally.started.discard(test)
            return True
        if not self.tally.running and now - self.last_event > SILENT_SECONDS * slowness:
            self.tally.other_issues.append(f"no test ran, and the process did not end; {self.stacks()}")
            return True
        return False

    def stacks(self):
        """Logs the stacks of all threads of the process. Returns the lines that help to find a hang."""
        text = stacks.of_session(self.process.pid)
        with self.run.lock, self.run.log.open("a") as log:
            log.write(f"==== stacks of {self.tally.target} ====\n{text}\n")
        own = [line for line in text.splitlines() if "Tests" in line or "hangs" in line]
        return "\n".join([f"the stacks of all threads are in {self.run.log}", *(own or text.splitlines())[:40]])


@contextlib.contextmanager
def temporary_folder():
    """Makes a folder with the folder `t` for the temporary files of tests, and removes it at the end of the block.

    It is in memory if there is enough, because the tests waited for the disk during a third of their time. They prove nothing
    about a loss of power, and a killed process loses nothing that it gave to the kernel."""
    with tempfile.TemporaryDirectory(prefix="souk-", dir=MEMORY if has_memory() else None) as name:
        folder = pathlib.Path(name)
        # PostgreSQL runs as another user if the tests run as root.
        folder.chmod(0o755)
        (folder / "t").mkdir()
        (folder / "t").chmod(0o1777)
        yield folder


def has_memory():
    """Returns whether the temporary files of tests fit into memory."""
    if not os.access(MEMORY, os.W_OK):
        return False
    room = os.statvfs(MEMORY)
    available = re.search(r"^MemAvailable: +(\d+) kB$", pathlib.Path("/proc/meminfo").read_text(), re.MULTILINE)
    return min(room.f_bavail * room.f_frsize, int(available[1]) << 10 if available else 0) >= MEMORY_NEEDED


@contextlib.contextmanager
def session_ends_with_block(process):
    """Kills the process and all processes that it started at the end of the block."""
    try:
        yield
    finally:
        for end, target in [(os.kill, member) for member in stacks.session(process.pid)] + [(os.killpg, process.pid)]:
            try:
                end(target, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()
