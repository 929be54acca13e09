"""Reads the tables of ARCHITECTURE.md that the gates enforce."""

import re

TABLE, FRAMEWORKS = "## The import table", "## System frameworks"


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


class ImportTable:
    """The allowed imports of each target in ARCHITECTURE.md."""

    def __init__(self, root):
        file = root / "ARCHITECTURE.md"
        if not file.exists():
            raise SystemExit(f"cannot find {file}, which has the import table")
        document = file.read_text()
        self.level, self.imports, self.links = {}, {}, {}
        for level, target, _, imports, links in _rows(document, TABLE):
            for name in quoted(target):
                self.level[name], self.imports[name], self.links[name] = level, quoted(imports), set(quoted(links))
        self.frameworks = {}
        for names, where in _rows(document, FRAMEWORKS):
            for name in quoted(names):
                self.frameworks[name] = None if where.startswith("every target") else quoted(where)

    def allows_framework(self, name, target, path):
        if name not in self.frameworks:
            return False
        places = self.frameworks[name]
        return places is None or any(
            place in (target["name"], path) or (place == "tests" and target["type"] == "test") for place in places)


def _rows(document, heading):
    """Returns the body rows of the first Markdown table under a heading, as lists of cells."""
    _, found, rest = document.partition(heading + "\n")
    if not found:
        raise SystemExit(f"ARCHITECTURE.md has no section {heading!r}")
    section = re.split(r"\n## ", rest)[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
