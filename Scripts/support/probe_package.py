"""A package with one function and one test file, for the self-tests of gates that run tests."""

import contextlib
import pathlib
import tempfile

MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Probe",
    targets: [.target(name: "Probe"), .testTarget(name: "ProbeTests", dependencies: ["Probe"])],
    swiftLanguageModes: [.v6])
"""


class Probe:
    def __init__(self, root):
        self.root = root
        self.write("Package.swift", MANIFEST)
        self.write("Sources/Probe/Probe.swift", "public func answer() -> Int { 42 }\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def write_tests(self, body):
        self.write("Tests/ProbeTests/ProbeTests.swift", f"import Probe\nimport Testing\n\n{body}\n")


@contextlib.contextmanager
def made():
    with tempfile.TemporaryDirectory(prefix="souk-probe-") as folder:
        yield Probe(pathlib.Path(folder))
