"""Reads the `#if` branches of a Swift file and evaluates them for several systems."""

import re

from swift_imports import code_only

DIRECTIVE = re.compile(r"^[ \t]*#(if|elseif|else|endif)\b[ \t]*(.*)$", re.MULTILINE)
TOKEN = re.compile(r"\s*(?:(&&|\|\||[!()])|(\w+)\s*\(([^()]*)\)|(\w+))")
# What Apple's platforms lack. UIKit and AppKit are the only others that depend on which of them it is.
ELSEWHERE = {"Glibc", "Musl", "Bionic", "Android", "WinSDK", "CRT", "WASILibc", "FoundationNetworking", "FoundationXML"}
# What a toolchain for Linux brings, of that which is also asked for.
ON_LINUX = {
    "Foundation", "FoundationEssentials", "FoundationNetworking", "FoundationXML", "Glibc", "Dispatch", "Observation",
    "Synchronization", "Testing"}
# What can be imported on every one of Apple's systems without a stub.
ON_APPLE = {"Foundation", "Darwin", "Dispatch", "ObjectiveC", "Observation", "Synchronization", "Testing", "SQLite3"}


class UnreadableCondition(Exception):
    """A condition that cannot be evaluated."""


class World:
    """A system with its importable modules, for which code is compiled."""

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
    return World("Linux", (ON_LINUX | set(extra)).__contains__)


def retargeted(system, stubs):
    """A system that Scripts/retarget compiles for, with these stubs."""
    foreign = "UIKit" if system == "macOS" else "AppKit"
    return World(system, lambda name: name in ON_APPLE or name in stubs and name != foreign)


def apple():
    def world(system, environment=""):
        own = {"UIKit": system != "macOS", "AppKit": system == "macOS"}
        return World(system, lambda name: own.get(name, name not in ELSEWHERE), environment)

    return [world(system) for system in ("iOS", "macOS", "tvOS", "watchOS", "visionOS")] + [
        world("iOS", environment) for environment in ("simulator", "macCatalyst")]


def holds(condition, world):
    """Whether a condition is true in a world."""
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
            return world.holds(token[2], token[3])
        if token[4] in ("true", "false"):
            return token[4] == "true"
        raise UnreadableCondition(condition.strip())

    value = either()
    if tokens:
        raise UnreadableCondition(condition.strip())
    return value


def branches(text, *worlds):
    """Yields (line, directive, content, whether each world compiles it) of every branch, in order.

    A branch inside one that is not compiled is not compiled either.
    """
    code = code_only(text)
    everywhere = tuple(True for _ in worlds)
    found, chains = [], []
    for match in DIRECTIVE.finditer(code):
        keyword, condition = match[1], match[2].strip()
        if keyword == "if":
            # What none of the chain's earlier branches has taken: at first all that the enclosing branch has.
            chains.append({"left": chains[-1]["here"] if chains else everywhere})
        else:
            begun = chains[-1]["begun"]
            begun[2] = code[begun[2]:match.start()].strip()
        if keyword == "endif":
            chains.pop()
            continue
        left = chains[-1]["left"]
        here = tuple(rest and (keyword == "else" or holds(condition, world)) for rest, world in zip(left, worlds))
        line = code.count("\n", 0, match.start(1)) + 1
        found.append([line, f"#{keyword} {condition}".strip(), match.end(), here])
        chains[-1] = {
            "left": tuple(rest and not taken for rest, taken in zip(left, here)), "here": here, "begun": found[-1]}
    return found
