"""The shared code of the gates: the path of the package, running commands, and the self-tests.

A gate is a script that exits 0 when the tree meets its rules and 1 when it does not. With `--self-test` it plants faults in
temporary copies, and checks that it finds each and accepts the copy without a fault.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# Warnings are errors in everything that the gates or the tests build.
os.environ.setdefault("SOUK_STRICT", "1")

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The paths that SwiftPM needs to read the manifest and build its targets.
PACKAGE = (
    "Package.swift", "Sources", "Tests", "Benchmarks", "Examples/darkroom.storekit", "Examples/FourPlugins/App",
    "Examples/FirstPurchase/Sources", "Examples/PromoCodes/App", "Examples/PromoCodes/Tests",
    "Examples/Florets/App")
# Output that the compiler always prints for modules compiled whole.
IGNORED_OUTPUT = ("warning: ignoring '-enable-batch-mode'", "remark: Incremental compilation has been disabled")
PROGRESS = re.compile(r"^\[(\d+)/(\d+)\] ")
SOURCE_FOLDERS = ("Sources", "Tests", "Benchmarks", "Examples")
# Flags for all builds of the gates and the tests. Debugger information would take a tenth of the time. SwiftPM needs an index
# of our modules, but not of the toolchain's.
BUILD_FLAGS = (
    "--explicit-target-dependency-import-check", "error", "-debug-info-format", "none", "-Xswiftc",
    "-index-ignore-system-modules", "-Xswiftc", "-index-ignore-clang-modules")
# Modules compiled whole take a quarter less work on a fresh clone, and more after an edit. The index needs an output for each
# file, which the compiler writes only with several threads. The same compiler run writes the module's interface, because
# another run would check every declaration again.
WHOLE_MODULES = ("-Xswiftc", "-whole-module-optimization", "-Xswiftc", "-num-threads", "-Xswiftc", "2",
                 "-Xswiftc", "-no-emit-module-separately-wmo")
# Not `.build`, so that neither `swift build` after the gates nor the gates after `swift build` compile everything again.
SCRATCH = ".build-tests"


def parser(document):
    """Returns a parser with the arguments of every gate. `document` is the gate's docstring."""
    made = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--root", type=pathlib.Path, default=ROOT, help="the package to check")
    made.add_argument("--self-test", action="store_true", help="plant faults in copies, and check that the gate finds them")
    return made


def jobs():
    return ["-j", os.environ.get("JOBS") or str(os.cpu_count() or 2)]


def build(arguments, environment, say, every=30):
    """Runs `swift build`. Reports its progress twice a minute, and the compiler's output on failure. Returns its success."""
    began = time.monotonic()
    process = subprocess.Popen(
        ["swift", "build", *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace")
    reported, messages = began, []
    for line in process.stdout:
        step = PROGRESS.match(line)
        if not step:
            if not line.startswith(IGNORED_OUTPUT):
                messages.append(line.rstrip())
        elif time.monotonic() - reported > every:
            reported = time.monotonic()
            say(f"  building: step {step[1]} of {step[2]}, {reported - began:.0f} s")
    if process.wait() != 0:
        say("\n".join(messages))
        return False
    say(f"built in {time.monotonic() - began:.0f} s")
    return True


def dump_package(root, environment=None):
    """Returns the manifest as SwiftPM reads it, so that no script parses Swift with regular expressions."""
    done = subprocess.run(
        ["swift", "package", "--package-path", str(root), "dump-package"], capture_output=True, text=True,
        env=environment)
    if done.returncode != 0:
        raise SystemExit(f"swift package dump-package failed in {root}:\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def folder(root, target):
    above = "Tests" if target["type"] == "test" else "Sources"
    return root / (target.get("path") or f"{above}/{target['name']}")


def swift_targets(dump, root):
    """Returns the targets with Swift files by name, without system libraries and C targets."""
    return {
        target["name"]: target for target in dump["targets"]
        if target["type"] != "system" and any(folder(root, target).rglob("*.swift"))}


def report(gate, faults, summary):
    """Prints every fault, or the summary if there is none. Returns the exit code."""
    for fault in faults:
        print(f"{gate}: {fault}", file=sys.stderr)
    if faults:
        print(f"{gate}: {len(faults)} fault{'s' if len(faults) != 1 else ''}", file=sys.stderr)
        return 1
    print(f"{gate}: {summary}")
    return 0


@contextlib.contextmanager
def copy_of(*names):
    """A temporary folder with copies of these paths of the repository, without build products."""
    with tempfile.TemporaryDirectory(prefix="souk-gate-") as folder:
        target = pathlib.Path(folder)
        for name in names:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(
                    source, target / name, symlinks=True, ignore=shutil.ignore_patterns(".build*", "Package.resolved"))
            elif source.exists():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target / name)
        yield target


class SelfTest:
    """Runs a gate on copies and collects unexpected results. `gate` returns (exit code, output) for a root."""

    def __init__(self, name, gate):
        self.name, self.gate, self.wrong, self.cases = name, gate, [], 0

    def passes(self, what, root):
        self.cases += 1
        code, output = self.gate(root)
        if code != 0:
            self.wrong.append(f"{what}: expected to pass, but it ended with {code}:\n{output}")

    def fails(self, what, root, naming):
        """The gate must fail and name the fault. A failure for another reason does not show that the gate finds the fault."""
        self.cases += 1
        code, output = self.gate(root)
        if code == 0:
            self.wrong.append(f"{what}: the fault was not found")
        elif naming not in output:
            self.wrong.append(f"{what}: it failed without naming {naming!r}:\n{output}")

    def fails_with(self, root, expected):
        """The gate must name each of several planted faults. `expected` has pairs of a description and a regular expression."""
        self.cases += len(expected)
        code, output = self.gate(root)
        if code == 0:
            self.wrong.append("none of the planted faults was found")
        for what, pattern in expected:
            if not re.search(pattern, output):
                self.wrong.append(f"{what}: it failed without naming {pattern!r}:\n{output}")

    def finish(self):
        return report(f"{self.name} --self-test", self.wrong, f"{self.cases} cases, every planted fault was found")


def run_gate(script, *arguments):
    """Returns a gate for `SelfTest`: a function that runs the script on another root."""

    def gate(root):
        done = subprocess.run(
            [sys.executable, script, "--root", str(root), *arguments], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return gate


@contextlib.contextmanager
def planted(path, change):
    """Changes one file until the end of the block. `change` maps the old text to the new, which must differ. Creates a missing
    file, and removes it at the end."""
    before = path.read_text() if path.exists() else None
    after = change(before or "")
    assert after != (before or ""), f"nothing was planted in {path}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(after)
    try:
        yield
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before)
