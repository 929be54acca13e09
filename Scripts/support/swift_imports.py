"""Finds the import statements of a Swift file, in every form the language allows."""

import re

STATEMENT = re.compile(
    r"(?:^|(?<=[;\n]))[ \t]*"
    r"(?P<attributes>(?:@\w+(?:\([^)]*\))?\s+)*)"
    r"(?:(?:public|package|internal|fileprivate|private)\s+)?"
    r"import\s+"
    r"(?:(?:typealias|struct|class|enum|protocol|let|var|func|actor)\s+)?"
    r"(?P<module>[A-Za-z_]\w*)")
KEYWORD = re.compile(r"(?<![.\w])import\b(?!\s*[:(])")


class UnreadableImport(Exception):
    """The keyword `import` is not part of any known form of the statement."""


def code_only(text):
    """Returns the text with comments, string contents and backquoted names blanked. All offsets stay the same."""
    out = list(text)
    position, end = 0, len(text)

    def blank(start, stop):
        for index in range(start, min(stop, end)):
            if out[index] != "\n":
                out[index] = " "

    while position < end:
        if text.startswith("//", position):
            stop = text.find("\n", position)
            stop = end if stop < 0 else stop
        elif text.startswith("/*", position):
            stop = _end_of_comment(text, position)
        elif text[position] == "`":
            stop = text.find("`", position + 1)
            stop = end if stop < 0 else stop + 1
        elif text[position] == '"' or (text[position] == "#" and re.match(r'#+"', text[position:position + 8])):
            stop = _end_of_string(text, position)
        else:
            position += 1
            continue
        blank(position, stop)
        position = stop
    return "".join(out)


def _end_of_comment(text, start):
    depth, position = 0, start
    while position < len(text):
        if text.startswith("/*", position):
            depth, position = depth + 1, position + 2
        elif text.startswith("*/", position):
            depth, position = depth - 1, position + 2
            if depth == 0:
                return position
        else:
            position += 1
    return position


def _end_of_string(text, start):
    position = start
    while text[position] == "#":
        position += 1
    hashes = text[start:position]
    quote = '"""' if text.startswith('"""', position) else '"'
    position += len(quote)
    escape = "\\" + hashes
    while position < len(text):
        if text.startswith(quote + hashes, position):
            return position + len(quote) + len(hashes)
        if text.startswith(escape + "(", position):
            position = _end_of_interpolation(text, position + len(escape))
        elif text.startswith(escape, position):
            position += len(escape) + 1
        elif text[position] == "\n" and quote == '"':
            return position
        else:
            position += 1
    return position


def _end_of_interpolation(text, start):
    depth, position = 0, start
    while position < len(text):
        character = text[position]
        if character == '"':
            position = _end_of_string(text, position)
            continue
        depth += {"(": 1, ")": -1}.get(character, 0)
        position += 1
        if depth == 0:
            break
    return position


def imports_of(text):
    """Returns (line, module, is re-exported) of each import statement."""
    code = code_only(text)
    found, understood = [], set()
    for match in STATEMENT.finditer(code):
        line = code.count("\n", 0, match.start("module")) + 1
        understood.add(code.rfind("import", match.start(), match.start("module")))
        found.append((line, match["module"], "@_exported" in match["attributes"]))
    for keyword in KEYWORD.finditer(code):
        if keyword.start() not in understood:
            raise UnreadableImport(f"line {code.count(chr(10), 0, keyword.start()) + 1}")
    return found
