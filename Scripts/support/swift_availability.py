"""Judges by the text whether newer declarations of the stubs are used only where they are available.

The compiler for Linux knows nothing of Apple's versions. A stub says `@available(iOS 18, macOS 15, *)` on the line before
a declaration that is newer than the platforms of Package.swift. A use is looked for as a member, `.name`; where that is
too common a name, `// used as: transaction.offer` behind the attribute says how it is written.
"""

import re

from swift_imports import code_only

ATTRIBUTE = re.compile(r"@available\(([^)]*)\)")
DECLARATION = re.compile(
    r"\b(?:func|var|let|case|struct|class|enum|protocol|typealias)\s+(\w+)\s*(?:<[^>]*>)?\s*(?:\(\s*(\w+))?")
USED_AS = re.compile(r"[^\n]*// used as: (.+)")
CHECK = re.compile(r"[#@]available\(([^)]*)\)")


def versions(text):
    return {system.lower(): tuple(map(int, number.split(".")))
            for system, number in re.findall(r"(\w+)\s+(\d+(?:\.\d+)*)", text)}


def covers(given, needed):
    return all(_padded(given.get(system, (0,))) >= _padded(number) for system, number in needed.items())


def _padded(number):
    return (number + (0, 0, 0))[:3]


def newer_declarations(stubs, floors):
    """(what a use looks like, the versions it needs, what it is called) of every declaration newer than the floors."""
    for file in sorted(stubs.rglob("*.swift")):
        text = file.read_text()
        code = code_only(text)
        for attribute in ATTRIBUTE.finditer(code):
            needed = {system: number for system, number in versions(attribute[1]).items()
                      if _padded(number) > _padded(floors.get(system, (0,)))}
            declared = DECLARATION.search(code, attribute.end())
            if needed and declared:
                name, label = declared[1], declared[2]
                written = USED_AS.match(text, attribute.end())
                if written:
                    called = rf"\b{re.escape(written[1].strip())}\b"
                elif label and label != "_":
                    called = rf"\.{name}\s*\(\s*{label}\s*:"
                else:
                    called = rf"\.{name}\s*\(" if declared[0].startswith("func") else rf"\.{name}\b"
                yield re.compile(called), needed, name


def availability_faults(root, stubs, platforms):
    floors = {each["platformName"].lower(): tuple(map(int, each["version"].split("."))) for each in platforms}
    newer = list(newer_declarations(stubs, floors))
    for file in sorted((root / "Sources").rglob("*.swift")):
        text = file.read_text()
        if "canImport" not in text:
            continue
        code = code_only(text)
        for use, needed, name in newer:
            for match in use.finditer(code):
                if not any(covers(versions(given), needed) for given in checks_around(code, match.start())):
                    wanted = ", ".join(f"{system} {'.'.join(map(str, number))}" for system, number in needed.items())
                    line = code.count("\n", 0, match.start()) + 1
                    yield f"{file.relative_to(root)}:{line}: {name} is there from {wanted} on: ask with #available"


def checks_around(code, place):
    """The versions asked for where a place is reached: before an enclosing brace, or by a guard before the place."""
    depth, position, end = 0, place, place
    while position > 0:
        position -= 1
        if code[position] == "}":
            depth += 1
        elif code[position] == "{" and depth:
            depth -= 1
        elif code[position] == "{":
            yield from _guards(code[position + 1:end])
            head = max(code.rfind(mark, 0, position) for mark in "{}")
            yield from CHECK.findall(code[head + 1:position].rpartition("\n\n")[2])
            end = position
    yield from _guards(code[:end])
    # Attributes of the declaration the place is in, where that has no braces.
    yield from ATTRIBUTE.findall(code[max(code.rfind(mark, 0, place) for mark in "{};"):place])


def _guards(scope):
    return re.findall(r"guard\s[^{}]*#available\(([^)]*)\)[^{}]*else", scope)
