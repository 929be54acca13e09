"""Reads the `#if` branches of a Swift file and evaluates them for several systems."""

import re

from swift_imports import code_only

DIRECTIVE = re.compile(r"^[ \t]*#(if|elseif|else|endif)\b[ \t]*(.*)$", re.MULTILINE)
TOKEN = re.compile(r"\s*(?:(&&|\|\||[!()])|(\w+)\s*\(([^()]*)\)|(\w+))")
# The modules that Apple's systems lack. All others exist on each of them, except UIKit and AppKit.
ELSEWHERE = {"Glibc", "Musl", "Bionic", "Android", "WinSDK", "CRT", "WASILibc", "FoundationNetworking", "FoundationXML"}
# The modules of a Linux toolchain that conditions name.
ON_LINUX = {
    "Foundation", "FoundationEssentials", "FoundationNetworking", "FoundationXML", "Glibc", "Dispatch", "Observation",
    "Synchronization", "Testing"}
# The modules that can be imported on all of Apple's systems without a stub.
ON_APPLE = {"Foundation", "Darwin", "Dispatch", "ObjectiveC", "Observation", "Synchronization", "Testing", "SQLite3"}


class UnreadableCondition(Exception):
    """A condition that cannot be evaluated."""


class Platform:
    """A system for which code is compiled, with its importable modules."""

    def __init__(self, system, can_import, environment=""):
        self.system, self.can_import, self.environment = system, can_import, environment

    def holds(self, atom, argument):
        if atom == "canImport":
            return self.can_import(argument.split(",")[0].split(".")[0].strip())
        if atom == "os":
            return argument.strip() == self.system
        if atom == "targetEnvironment":
            return argument.strip() == self.environment
        if atom in ("compiler", "swift", "hasFeature", "hasAttribute"):
            return True
        raise UnreadableCondition(f"{atom}({argument})")


def linux(extra=()):
    return Platform("Linux", (ON_LINUX | set(extra)).__contains__)


def retargeted(system, stubs):
    """Returns a system for which Scripts/retarget compiles with these stubs."""
    foreign = "UIKit" if system == "macOS" else "AppKit"
    return Platform(system, lambda name: name in ON_APPLE or name in stubs and name != foreign)


def apple():
    def platform(system, environment=""):
        own = {"UIKit": system != "macOS", "AppKit": system == "macOS"}
        return Platform(system, lambda name: own.get(name, name not in ELSEWHERE), environment)

    return [platform(system) for system in ("iOS", "macOS", "tvOS", "watchOS", "visionOS")] + [
        platform("iOS", environment) for environment in ("simulator", "macCatalyst")]


def holds(condition, platform):
    """Returns whether a condition is true on a platform."""
    tokens, position = [], 0
    while condition[position:].strip():
        match = TOKEN.match(condition, position)
        if not match:
            raise UnreadableCondition(condition.strip())
        tokens.append(match)
        position = match.end()

    def either():
        value = both()
        while tokens and tokens[0][1] == "||":
            tokens.pop(0)
            value = both() or value
        return value

    def both():
        value = single()
        while tokens and tokens[0][1] == "&&":
            tokens.pop(0)
            value = single() and value
        return value

    def single():
        if not tokens:
            raise UnreadableCondition(condition.strip())
        token = tokens.pop(0)
        if token[1] == "!":
            return not single()
        if token[1] == "(":
            value = either()
            if not tokens or tokens.pop(0)[1] != ")":
                raise UnreadableCondition(condition.strip())
            return value
        if token[2]:
            return platform.holds(token[2], token[3])
        if token[4] in ("true", "false"):
            return token[4] == "true"
        raise UnreadableCondition(condition.strip())

    value = either()
    if tokens:
        raise UnreadableCondition(condition.strip())
    return value


def branches(text, *platforms):
    """Returns [line, directive, content, whether each platform compiles it] of every branch, in order.

    A branch inside one that is not compiled is not compiled either.
    """
    code = code_only(text)
    everywhere = tuple(True for _ in platforms)
    found, chains = [], []
    for match in DIRECTIVE.finditer(code):
        keyword, condition = match[1], match[2].strip()
        if keyword == "if":
            # The platforms on which no earlier branch of the chain holds. At first: all of the enclosing branch.
            chains.append({"left": chains[-1]["here"] if chains else everywhere})
        else:
            begun = chains[-1]["begun"]
            begun[2] = code[begun[2]:match.start()].strip()
        if keyword == "endif":
            chains.pop()
            continue
        left = chains[-1]["left"]
        here = tuple(rest and (keyword == "else" or holds(condition, platform)) for rest, platform in zip(left, platforms))
        line = code.count("\n", 0, match.start(1)) + 1
        found.append([line, f"#{keyword} {condition}".strip(), match.end(), here])
        chains[-1] = {
            "left": tuple(rest and not taken for rest, taken in zip(left, here)), "here": here, "begun": found[-1]}
    return found
