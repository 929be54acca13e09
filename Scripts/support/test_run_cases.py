"""The cases of the test runner's self-test: files of tests, and the expected results of their runs."""

import contextlib
import datetime
import io
import json
import re
import shutil

import gate
import probe_package
import test_run

CASES = [
    # (description, body of the test file, exit code, last line)
    ("a test that passes", "@Test func holds() { #expect(answer() == 42) }", 0, "1 passed, 0 failed"),
    ("one that fails", "@Test func holds() {}\n@Test func fails() { #expect(answer() == 1) }", 1, "1 passed, 1 failed"),
    ("one that throws", "struct E: Error {}\n@Test func throwing() throws { throw E() }", 1, "0 passed, 1 failed"),
    ("one case of many", "@Test(arguments: [42, 1]) func cases(_ n: Int) { #expect(answer() == n) }", 1,
     "0 passed, 1 failed"),
    ("a name with a line separator",
     '@Test("two\u2028lines", arguments: ["\u2028", "\u0085"]) func odd(_ text: String) { #expect(!text.isEmpty) }', 0,
     "1 passed, 0 failed"),
    ("a known issue", '@Test func known() { withKnownIssue { #expect(answer() == 1) } }', 0, "1 passed, 0 failed"),
    ("a skipped one beside another", '@Test(.disabled("no data")) func skipped() {}\n@Test func holds() {}', 0,
     "1 passed, 0 failed"),
    ("nothing but a skipped one", '@Test(.disabled("no data")) func skipped() {}', 1, "0 passed, 1 failed"),
    ("a crash", "@Suite(.serialized) struct S {\n@Test func a() {}\n"
     "@Test func b() { let e: [Int] = []; _ = e[answer()] }\n@Test func `(c) goes [on]`() {} }", 1,
     "2 passed, 1 failed"),
    ("an early exit", "import Foundation\n@Test func leaves() { exit(0) }", 1, "0 passed, 1 failed"),
    ("a file that does not compile", "@Test func holds() { nonsense() }", 1, "0 passed, 1 failed"),
]

# One test never ends. The others must still be counted.
HANG = """\
import Foundation
@inline(never) func waitsForever() { while true { sleep(60) } }
@Suite(.serialized) struct S {
@Test func before() {}
@Test func hangs() { waitsForever() }
@Test func after() {}
}
"""

# Works like the trait `.outsideJudge`. A file records the first run, so that the judge can refuse once or always.
JUDGE = """\
import Foundation
let skips = ProcessInfo.processInfo.environment["SOUK_JUDGES"] == "skip"
@Test(skips ? .disabled("outside judge") : .enabled(if: true, "")) func asks() throws {
    let file = URL(fileURLWithPath: "%s")
    let first = !FileManager.default.fileExists(atPath: file.path)
    try Data().write(to: file)
    #expect(%s, "the judge refused")
}
@Test func holds() {}
"""


def self_test(run):
    wrong, cases = [], 0
    with probe_package.made() as probe:
        def ends(what, code, *expected):
            nonlocal cases
            cases += 1
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                ended = run(probe.root)
            text = output.getvalue()
            missing = [part for part in expected if part not in text]
            if ended != code or missing or not re.fullmatch(r"\d+ passed, \d+ failed", text.splitlines()[-1]):
                wrong.append(f"{what}: expected exit code {code} and {expected}, got {ended} and:\n{text}")

        for what, body, code, closing in CASES:
            probe.write_tests(body)
            ends(what, code, f"\n{closing}\n")
        probe.write_tests(HANG)
        with time_limit(5):
            seen = "waitsForever" if shutil.which("gdb") else "gdb is not installed"
            ends("a hang", 1, "hangs() — it ran for", seen, "\n2 passed, 1 failed\n")
        for what, refuses, code, closing, said in [
            ("a judge that refuses once", "!first", 0, "2 passed, 0 failed", "RETRIED ProbeTests: asks()"),
            ("a judge that refuses twice", "first && !first", 1, "1 passed, 1 failed", "the judge refused"),
        ]:
            mark = probe.root / f"asked-{cases}"
            probe.write_tests(JUDGE % (mark, refuses))
            ends(what, code, f"\n{closing}\n", said)
        probe.write_tests("@Test func fails() { #expect(answer() == 1) }\n@Test func holds() {}")
        today = test_run.commit_date(probe.root)
        for what, days, code, said in [
            ("a quarantined failure", 3, 0, "In quarantine, failed 1"),
            ("a quarantine that has expired", -1, 1, "expired on"),
            ("a quarantine that is too long", 8, 1, "lasts longer than 7 days"),
        ]:
            entry = {"test": "ProbeTests.fails()", "why": "a test",
                     "expires": (today + datetime.timedelta(days=days)).isoformat()}
            probe.write("Tests/exceptions.json", json.dumps({"quarantine": [entry]}))
            ends(what, code, said)
    return gate.report("run-tests --self-test", wrong, f"{cases} runs had the expected count")


@contextlib.contextmanager
def time_limit(seconds):
    before = test_run.CASE_SECONDS
    test_run.CASE_SECONDS = seconds
    try:
        yield
    finally:
        test_run.CASE_SECONDS = before
