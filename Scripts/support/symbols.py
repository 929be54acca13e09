"""Reads the public symbols of the package's libraries from the modules that `swift build` compiled."""

import json
import pathlib
import subprocess

import gate


def build_arguments(root):
    """Returns the arguments with which check-build and the tests build, so that nothing is compiled twice."""
    return ["--package-path", str(root), "--scratch-path", str(root / gate.SCRATCH), *gate.BUILD_FLAGS,
            *gate.WHOLE_MODULES, *gate.jobs()]


def library_names(root):
    return sorted(name for each in gate.dump_package(root)["products"] if "library" in each["type"]
                  for name in each["targets"])


def compiled(root):
    """Returns the folder of the compiled modules, and their target triple."""
    shown = subprocess.run(
        ["swift", "build", *build_arguments(root), "--show-bin-path"], capture_output=True, text=True, check=True)
    info = json.loads(subprocess.run(["swiftc", "-print-target-info"], capture_output=True, text=True).stdout)
    return pathlib.Path(shown.stdout.strip()) / "Modules", info["target"]["triple"]


def read(root, module, modules, folder, target):
    """Writes the symbol graphs of a module to the folder. Returns its symbols and relationships, including its extensions of
    other modules' types."""
    done = subprocess.run(
        ["swift-symbolgraph-extract", "-module-name", module, "-I", str(modules), "-target", target,
         *(flag for each in sorted((root / "Sources").glob("C*/module.modulemap"))
           for flag in ("-Xcc", f"-fmodule-map-file={each}")),
         "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", str(folder)],
        capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"Cannot read the API of {module}:\n{done.stderr.strip()}")
    symbols, relationships = [], []
    for file in sorted(folder.glob(f"{module}.symbols.json")) + sorted(folder.glob(f"{module}@*.symbols.json")):
        graph = json.loads(file.read_text())
        symbols += graph["symbols"]
        relationships += graph["relationships"]
    return symbols, relationships
