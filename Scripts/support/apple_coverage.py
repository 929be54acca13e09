"""The table of the items that Apple documents for its server APIs, and of the tests that cover them.

Documentation/AppleCoverage.txt is the table, and Documentation/AppleCoverage.md is made from it. The first word of a line
says what the line declares:

- `library NAME VERSION`: the version of Apple's Python library with which the table agrees.
- `test KEY | FILE | NAME`: a test in Swift, or a function of a script.
- `reason KEY | SENTENCE`: why an item is not covered, or covered only in part.
- `part TITLE`: a part of the document.
- `endpoints TITLE`, `parameters TITLE`, `fields TYPE`, `values TYPE`, `errors TITLE`: a group of rows. `= NAME` after the
  title is the name of the type in AppStorePayloads, if it has another one.
- `outside REASON`: types of the library that belong to no part. Each row is a name.

A row begins with two spaces: `ITEM | SINCE | SOURCE | TESTS | REASON`. An empty cell is `-`. SINCE is the version or the
date that added the item, if it is known. SOURCE is `library` if the library has the item, and otherwise `page`. For an
endpoint it is `library METHOD`.

A row with tests and no reason is tested. A row with both is partly tested. A row without tests is not covered.
"""

import ast
import collections
import dataclasses
import pathlib
import re
import subprocess

TABLE = "Documentation/AppleCoverage.txt"
DOCUMENT = "Documentation/AppleCoverage.md"
KINDS = ("endpoints", "parameters", "fields", "values", "errors")
STATES = ("tested", "partly tested", "not covered")
# Classes of the library that Apple's documentation does not have.
OWN_CLASSES = ("GetTransactionHistoryVersion", "HelperValidationUtils")
# The test of a row whose only check is that AppStorePayloads has the item.
COMPARED = "compared"
WHERE = """
import importlib.metadata, importlib.util
print(importlib.util.find_spec("appstoreserverlibrary").submodule_search_locations[0])
print(importlib.metadata.version("app-store-server-library"))
"""
SWIFT_ITEM = re.compile(
    r'class (?P<fields>\w+)Fields: AppStorePayloadFields|struct (?P<struct>\w+): OpenAppStoreValue'
    r'|^extension (?:\w+\.)*(?P<extension>\w+)|PayloadField<[^"()]*>\(\s*"(?P<field>\w+)"\)'
    r'|Self\(rawValue: (?:"(?P<text>[^"]+)"|(?P<number>[\d_]+))\)', re.MULTILINE)


@dataclasses.dataclass
class Row:
    name: str
    since: str
    source: str
    tests: list
    reason: str

    @property
    def state(self):
        return STATES[2] if not self.tests else STATES[1] if self.reason else STATES[0]

    @property
    def raw(self):
        """The value of an item whose name is a number and a word, as `4 WIN_BACK_OFFER`, or the name."""
        return self.name.split()[0] if self.name[0].isdigit() else self.name


@dataclasses.dataclass
class Group:
    kind: str
    title: str
    ours: str
    rows: list = dataclasses.field(default_factory=list)


class TableError(Exception):
    """A line that is not of the table's form."""


class Table:
    def __init__(self, text):
        self.library, self.tests, self.reasons, self.outside, self.parts = "", {}, {}, {}, []
        group = None
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            if line.startswith("  "):
                group.append(line.strip()) if isinstance(group, list) else self.add(group, number, line)
                continue
            word, _, rest = line.partition(" ")
            if word == "library":
                self.library = rest
            elif word == "test":
                key, file, name = cells(number, rest, 3)
                self.declare(self.tests, number, key, (file, name))
            elif word == "reason":
                self.declare(self.reasons, number, *cells(number, rest, 2))
            elif word == "part":
                self.parts.append((rest, []))
            elif word == "outside":
                group = self.outside.setdefault(rest, [])
            elif word in KINDS and self.parts:
                title, _, ours = rest.partition(" = ")
                group = Group(word, title, ours or title)
                self.parts[-1][1].append(group)
            else:
                raise TableError(f"line {number} begins with {word}")

    @staticmethod
    def declare(keys, number, key, value):
        if key in keys:
            raise TableError(f"line {number} declares {key} again")
        keys[key] = value

    @staticmethod
    def add(group, number, line):
        if group is None:
            raise TableError(f"line {number} is in no group")
        name, since, source, tests, reason = ("" if cell == "-" else cell for cell in cells(number, line, 5))
        group.rows.append(Row(name, since, source, tests.split(", ") if tests else [], reason))

    @property
    def groups(self):
        return [group for _, groups in self.parts for group in groups]


def cells(number, text, count):
    made = [cell.strip() for cell in text.split("|")]
    if len(made) != count or not all(made):
        raise TableError(f"line {number} does not have {count} cells")
    return made


# MARK: - The items of Apple's library and of AppStorePayloads


def find_library(python):
    """Returns the folder and the version of Apple's library, or None if the interpreter does not have it."""
    try:
        done = subprocess.run([str(python), "-c", WHERE], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError:
        return None
    return tuple(done.stdout.split("\n")[:2]) if done.returncode == 0 else None


def library_items(folder):
    """Returns the items of Apple's library as (kind, type, name). The files are not imported, because this takes seconds."""
    items = set()
    for file in sorted(pathlib.Path(folder, "models").glob("*.py")):
        for model in classes(file):
            fields = [each.target.id for each in model.body if isinstance(each, ast.AnnAssign)]
            # For an enumeration, the library also keeps the undecoded value: rawStatus beside status.
            items |= {("fields", model.name, name) for name in fields
                      if not (name.startswith("raw") and name[3:4].lower() + name[4:] in fields)}
            items |= {("values", model.name, value_name(each)) for each in constants(model)}
    for model in classes(pathlib.Path(folder, "api_client.py")):
        if model.name == "APIError":
            items |= {("errors", "", value_name(each)) for each in constants(model)}
        elif model.name == "AppStoreServerAPIClient":
            items |= {("endpoints", "", each.name) for each in model.body
                      if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")}
    return {item for item in items if item[1] not in OWN_CLASSES}


def classes(file):
    return [each for each in ast.parse(file.read_text()).body if isinstance(each, ast.ClassDef)]


def constants(model):
    return [each for each in model.body if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)]


def value_name(constant):
    value = constant.value.value
    return f"{value} {constant.targets[0].id}" if isinstance(value, int) else str(value)


def payload_items(root):
    """Returns the items of our types for Apple's documents as (kind, type, name or value)."""
    items = set()
    files = [*(root / "Sources/AppStorePayloads").rglob("*.swift"), root / "Sources/StoreModel/AppStoreValues.swift"]
    for file in files:
        owner = None
        lines = file.read_text().splitlines() if file.exists() else []
        for found in SWIFT_ITEM.finditer("\n".join(line for line in lines if not line.lstrip().startswith("//"))):
            owner = found["fields"] or found["struct"] or found["extension"] or owner
            value = found["text"] or (found["number"] or "").replace("_", "")
            if owner and found["field"]:
                items.add(("fields", owner, found["field"]))
            elif owner and value:
                items.add(("errors", "", value) if owner == "ErrorCode" else ("values", owner, value))
    return items


# MARK: - The check


def faults(root, library):
    """Yields the faults of the table and of the document. `library` is the result of `find_library`."""
    file = root / TABLE
    if not file.exists():
        yield f"{TABLE} does not exist"
        return
    try:
        table = Table(file.read_text())
    except TableError as error:
        yield f"{TABLE} is malformed: {error}"
        return
    found = [*row_faults(table), *test_faults(root, table), *library_faults(table, library), *payload_faults(root, table)]
    yield from (f"{TABLE} {fault}" for fault in found)
    document = root / DOCUMENT
    if not found and (not document.exists() or document.read_text() != render(table)):
        yield f"{DOCUMENT} is not made from {TABLE}; run Scripts/check-docs --write"


def row_faults(table):
    used = set(table.outside)
    for group in table.groups:
        names = [row.name for row in group.rows]
        for name, count in collections.Counter(names).items():
            if count > 1:
                yield f"has {name} of {group.title} {count} times"
        ordered = sorted(names, key=sorting)
        if names != ordered:
            yield f"does not have the rows of {group.title} in their order: {next(a for a, b in zip(ordered, names) if a != b)}"
        for row in group.rows:
            used |= {row.reason, *row.tests}
            if not row.tests and not row.reason:
                yield f"has neither a test nor a reason for {row.name} of {group.title}"
            for key in row.tests:
                if key not in table.tests:
                    yield f"names the test {key} for {row.name} of {group.title}, which it does not declare"
            if row.reason and row.reason not in table.reasons:
                yield f"names the reason {row.reason} for {row.name} of {group.title}, which it does not declare"
    yield from (f"declares {key}, which no row uses" for key in [*table.tests, *table.reasons] if key not in used)
    yield from (f"names the reason {key}, which it does not declare" for key in table.outside if key not in table.reasons)


def sorting(name):
    """Numbers come first, in the order of their values."""
    word = name.split()[0]
    return (0, int(word), name) if word.isdigit() else (1, 0, name)


def test_faults(root, table):
    for key, (file, name) in table.tests.items():
        path = root / file
        text = path.read_text() if path.is_file() else ""
        if (f"func `{name}`" if file.endswith(".swift") else f"def {name}(") not in text:
            yield f'names the test "{name}" in {file}, which does not exist'


def library_faults(table, library):
    if library is None:
        yield "cannot be compared with app-store-server-library, which is not installed; run Scripts/install-dependencies judges"
        return
    folder, version = library
    if table.library != f"app-store-server-library {version}":
        yield f"is for {table.library}, but version {version} is installed"
    known = {item for item in library_items(folder) if item[1] not in sum(table.outside.values(), [])}
    listed = set()
    for group in table.groups:
        for row in group.rows:
            if group.kind == "endpoints" and row.source.startswith("library "):
                listed |= {("endpoints", "", method) for method in row.source.split()[1:]}
            elif row.source == "library" and group.kind != "parameters":
                listed.add((group.kind, "" if group.kind == "errors" else group.title, row.name))
    yield from (f"does not have {described(item)} of Apple's library" for item in sorted(known - listed))
    yield from (f"has {described(item)}, which Apple's library does not have" for item in sorted(listed - known))


def payload_faults(root, table):
    listed, compared = set(), set()
    for group in table.groups:
        for row in group.rows:
            item = (group.kind, "" if group.kind == "errors" else group.ours, row.raw)
            listed.add(item)
            compared |= {item} if COMPARED in row.tests else set()
    ours = payload_items(root)
    yield from (f"does not have {described(item)} of AppStorePayloads" for item in sorted(ours - listed))
    yield from (f"has {described(item)}, which AppStorePayloads does not have" for item in sorted(compared - ours))


def described(item):
    kind, owner, name = item
    return f"{name} of {owner} ({kind})" if owner else f"{name} ({kind})"


# MARK: - The document


def write(root):
    (root / DOCUMENT).write_text(render(Table((root / TABLE).read_text())))


def render(table):
    every = [row for group in table.groups for row in group.rows]
    lines = [INTRODUCTION, "| part | items | tested | partly tested | not covered |", "|---|---|---|---|---|"]
    for title, groups in table.parts:
        lines.append(f"| [{title}](#{anchor(title)}) | {counted([row for group in groups for row in group.rows])} |")
    lines += [f"| all | {counted(every)} |", "", "| items | state | reason |", "|---|---|---|"]
    reasons = collections.Counter((row.state, row.reason) for row in every if row.reason)
    for (state, reason), count in sorted(reasons.items(), key=lambda each: (each[0][0], -each[1], each[0][1])):
        lines.append(f"| {count} | {state} | `{reason}`: {table.reasons[reason]} |")
    lines += ["", SOURCES.format(version=table.library.split()[-1])]
    for title, groups in table.parts:
        lines += [f"## {title}", ""]
        for group in groups:
            lines += rendered_group(group)
    lines += ["## Beside the three APIs", "", "The library also has these types:", ""]
    for reason, types in table.outside.items():
        lines += [f"{', '.join(f'`{name}`' for name in types)}. {table.reasons[reason]}", ""]
    lines += ["## Tests", "", "| name in the tables | file | test |", "|---|---|---|"]
    for key, (file, name) in sorted(table.tests.items()):
        lines.append(f"| `{key}` | [{file.rpartition('/')[2]}](../{file}) | {name} |")
    return "\n".join(lines) + "\n"


def rendered_group(group):
    heading = group.title if group.kind in ("endpoints", "errors") else f"{group.kind.capitalize()} of {group.title}"
    states = collections.Counter(row.state for row in group.rows)
    counts = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
    return [f"### {heading}", "", f"{counts}.", "", "| item | since | known from | tests | what is missing |",
            "|---|---|---|---|---|", *map(rendered, group.rows), ""]


def counted(rows):
    states = collections.Counter(row.state for row in rows)
    return " | ".join(str(count) for count in [len(rows), *(states[state] for state in STATES)])


def rendered(row):
    tests = ", ".join(f"`{key}`" for key in row.tests)
    source = row.source.split()[0]
    return f"| `{row.name}` | {row.since or '–'} | {source} | {tests or '–'} | {f'`{row.reason}`' if row.reason else ''} |"


def anchor(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


INTRODUCTION = """\
# What is covered of Apple's server APIs

This page lists every endpoint, field, notification type, subtype and error of Apple's App Store Server API, App Store Server Notifications and Retention Messaging that was found. Each has the tests that cover it, or the reason why none does.

- **tested**: a test fails if the item has the wrong name, kind, value or effect, in the simulator, the server or the libraries.
- **partly tested**: the tests check less than that, and the last column has the reason.
- **not covered**: no test fails.

`Scripts/check-docs --write` makes this page from [AppleCoverage.txt](AppleCoverage.txt). `Scripts/check-docs` fails if the page is old or if a test does not exist. It also fails if an item of Apple's Python library or of our module `AppStorePayloads` is missing. The [last table](#tests) has the tests.

## Counts
"""
SOURCES = """\
## Which documentation was found

| documentation | newest version in its changelog | newest version on a page |
|---|---|---|
| [App Store Server API](https://developer.apple.com/documentation/appstoreserverapi) | 1.21 (2026-04-27) | 1.23 |
| [App Store Server Notifications](https://developer.apple.com/documentation/appstoreservernotifications) | 2026-04-27 | 2.23 |
| [Retention Messaging API](https://developer.apple.com/documentation/retentionmessaging) | 1.5 (2026-04-27) | – |
| [Apple's Python library](https://github.com/apple/app-store-server-library-python) | {version} | – |

Only stored copies of Apple's pages could be read, and most of them not to the end. The column "known from" has `library` if Apple's Python library has the item, and `page` if only a page of the documentation has it. The column "since" has the version or the date of a page or a changelog, where one is given.

**Versions 1.22 and 1.23** (2.23 of the notifications) add customer groups and subscriptions with several seats. Pages about their endpoints, objects and errors were found, and the tables below have these items. The paths of the endpoints come from the identifiers of the pages. Apple's Python library has none of these items. These facts were not found, so more items can exist:

- the changelogs of these versions, and the complete pages of the transaction, the renewal info, the notification types and the subtypes;
- the numbers of the new errors;
- values of `additionalTransactionReason` besides `SEAT_ADDITION`, which is on a page of StoreKit;
- the name of the list of members in `GetGroupMembersResponse`.

**Subscription bundles:** StoreKit's documentation has the properties `bundleProductID`, `bundleSubscriptionGroupID`, `bundleTransactionID` and `bundleOriginalTransactionID` of a transaction, and `willUnbundle` of a renewal. It also has the revocation reason `upgradedToBundle` and the expiration reason `unbundled`. Their names and values in the App Store Server API were not found. Only `BundleTransactionIdNotSupportedError` and `previousOriginalTransactionId` were.

Version 1 of the notifications, which Apple has deprecated, is not listed.
"""
