"""Counts the results of a test process from Swift Testing's event stream.

The stream is written while the tests run, so it is correct after a crash too: a test that began and did not end has failed.
"""

import json

# The reason that the trait `.outsideJudge` gives when it skips a test (Sources/BaseTestSupport/OutsideJudge.swift).
JUDGE = "outside judge"


class Tally:
    """The test functions of one target and their results, in the order of the event stream."""

    def __init__(self, target):
        self.target = target
        self.names, self.started, self.ended = {}, set(), set()
        self.skipped, self.issues, self.other_issues = {}, {}, []
        # By test: the number of cases and the longest case in seconds. By test and case: the start of each that is running.
        self.cases, self.seconds, self.running, self.parameterized = {}, {}, {}, set()
        self.finished, self.exit_code, self.output = False, 0, ""

    def read_record(self, line, now):
        """Reads one line of the stream. `now` is when it arrived, in seconds of any clock that does not jump."""
        record = json.loads(line)
        payload = record["payload"]
        if record["kind"] == "test":
            if payload["kind"] == "function":
                self.names.setdefault(payload["id"], payload.get("displayName") or payload["name"].strip("`"))
                if payload.get("isParameterized"):
                    self.parameterized.add(payload["id"])
            return
        kind, test = payload["kind"], payload.get("testID")
        if kind == "testStarted":
            self.started.add(test)
            # A test without arguments is one case, for which the stream has no other event.
            if test in self.names and test not in self.parameterized:
                self.running[test, None] = now
        elif kind == "testEnded":
            self.ended.add(test)
            if (test, None) in self.running:
                self._end_case(test, None, now)
        elif kind == "testCaseStarted":
            self.cases[test] = self.cases.get(test, 0) + 1
            self.running[test, payload["_testCase"]["id"]] = now
        elif kind == "testCaseEnded":
            self._end_case(test, payload["_testCase"]["id"], now)
        elif kind == "testSkipped":
            reasons = payload.get("_comments") or [message["text"] for message in payload.get("messages", [])[:1]]
            self.skipped[test] = " ".join(reasons)
        elif kind == "runEnded":
            self.finished = True
        elif kind == "issueRecorded":
            self._record_issue(test, payload)

    def _end_case(self, test, case, now):
        since = self.running.pop((test, case), now)
        self.seconds[test] = max(self.seconds.get(test, 0), now - since)

    def _record_issue(self, test, payload):
        issue = payload.get("issue", {})
        if issue.get("isKnown") or not issue.get("isFailure", True):
            return
        text = "\n".join(message["text"] for message in payload.get("messages", []))
        place = issue.get("sourceLocation") or payload.get("sourceLocation") or {}
        if place.get("fileID"):
            text += f"\n(at {place['fileID']}:{place.get('line')})"
        if test in self.names:
            self.issues.setdefault(test, []).append(text)
        else:
            self.other_issues.append(text)

    def fail(self, test, why):
        """Counts a test as failed, independent of its events."""
        self.started.add(test)
        self.ended.add(test)
        self.issues.setdefault(test, []).append(why)

    @property
    def judges(self):
        """The tests that were skipped because they need an outside judge."""
        return [test for test in self.names if self.skipped.get(test) == JUDGE]

    @property
    def not_started(self):
        """The tests that neither started nor were skipped."""
        return [test for test in self.names if test not in self.started and test not in self.skipped]

    @property
    def ran(self):
        return [test for test in self.names if test in self.started]

    @property
    def failures(self):
        """(test, reason) of every failure. The test is `None` if the failure belongs to no test."""
        found = []
        for test in self.names:
            if test in self.issues:
                found.append((test, "\n".join(self.issues[test])))
            elif test in self.started and test not in self.ended:
                found.append((test, "it began and never ended" + self.last_output()))
            elif not self.finished and test in self.not_started:
                found.append((test, "the run ended before it started"))
        found += [(None, text) for text in self.other_issues]
        if not found and not self.finished:
            found.append((None, "the run did not reach its end" + self.last_output()))
        if not found and self.exit_code != 0:
            found.append((None, f"every test passed, but the run ended with {self.exit_code}" + self.last_output()))
        if not found and not self.ran and not self.judges:
            found.append((None, "no test ran"))
        return found

    def last_output(self):
        lines = [line for line in self.output.splitlines() if line.strip()][-30:]
        return "\nThe last lines of its output:\n" + "\n".join(lines) if lines else ""

    @property
    def passed(self):
        failed = {test for test, _ in self.failures}
        return [test for test in self.ran if test not in failed]

    def join(self, later, is_rest=False):
        """Adds the results of a later process. With `is_rest` that process ran all remaining tests, and its end is the end of
        the run."""
        for test, name in later.names.items():
            self.names.setdefault(test, name)
        for test in later.ran:
            # The last result of a test counts.
            self.issues.pop(test, None)
        for mine, theirs in ((self.started, later.started), (self.ended, later.ended)):
            mine |= theirs
        for test in later.ran:
            self.skipped.pop(test, None)
        for mine, theirs in ((self.issues, later.issues), (self.cases, later.cases), (self.seconds, later.seconds)):
            mine.update(theirs)
        self.other_issues += later.other_issues
        if is_rest:
            self.finished, self.exit_code = later.finished, later.exit_code
        else:
            self.finished, self.exit_code = self.finished and later.finished, self.exit_code or later.exit_code
        self.output = later.output

    def describe(self, test):
        return f"{test.partition('.')[0]}: {self.names[test]}" if test in self.names else self.target


class Outcome:
    """The results of all test targets."""

    def __init__(self, tallies, retried=(), quarantined=()):
        self.tallies = tallies
        self.ran = sum(len(tally.ran) for tally in tallies)
        # A test without arguments is one case.
        self.cases = sum(tally.cases.get(test, 1) for tally in tallies for test in tally.ran)
        failures = [(tally, test, why) for tally in tallies for test, why in tally.failures]
        in_quarantine = [entry for entry in failures if entry[1] and plain(entry[1]) in quarantined]
        self.quarantined = [f"{tally.describe(test)} — {why}" for tally, test, why in in_quarantine]
        self.failures = [
            f"{tally.describe(test)} — {why}" for tally, test, why in failures
            if not (test and plain(test) in quarantined)]
        self.passed = sum(len(tally.passed) for tally in tallies)
        self.retried = list(retried)
        self.skipped = [
            f"{tally.describe(test)} — {tally.skipped[test]}" for tally in tallies for test in tally.names
            if test in tally.skipped and test not in tally.judges]
        self.left_to_judges = sum(len(tally.judges) for tally in tallies)
        self.targets = len({test.partition(".")[0] for tally in tallies for test in tally.ran})

    @property
    def slowest(self):
        """The ten test cases that took longest, as (seconds, name)."""
        found = [(seconds, tally.describe(test)) for tally in self.tallies for test, seconds in tally.seconds.items()
                 if test in tally.names]
        return sorted(found, reverse=True)[:10]

    def print(self):
        """Prints the skipped, quarantined, failed, slowest and repeated tests, and the count in the last line."""
        for title, lines in (("Skipped", self.skipped), ("In quarantine, failed", self.quarantined),
                             ("Failed", self.failures)):
            if lines:
                print(f"\n{title} {len(lines)}:")
                for line in lines:
                    first, *rest = line.splitlines()
                    print("\n      ".join([f"  {first}", *rest]))
        if self.slowest:
            print("\nThe slowest test cases:")
            for seconds, name in self.slowest:
                print(f"  {seconds:6.1f} s  {name}")
        if self.retried:
            print()
            for line in self.retried:
                print(f"RETRIED {line}")
        if self.left_to_judges:
            print(f"\n{self.left_to_judges} tests need an outside judge and did not run; with FILTER, JUDGES=1 runs them")
        print(f"\n{self.ran} tests ran ({self.cases} cases) in {self.targets} targets, {len(self.skipped)} skipped")
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)


def plain(test):
    """Returns a test's id without its place in the file: `Module.Suite/name()`."""
    return test.rpartition("/")[0] if test.rpartition("/")[2].count(":") == 2 else test
