"""Checks JUnit XML against the rules of Jenkins' schema (xunit-plugin, junit-10.xsd), and the numbers that it declares.

Reads {"document": "…"} on standard input. Prints {"problems": ["…"], "suites": [[tests, failures, skipped], …],
"failures": ["…"]}, where "failures" has the texts of the failures. Exit status 0 if there are no problems, else 1.
"""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree

COUNT = re.compile(r"[0-9]+")
# Seconds, without the commas of Surefire.
TIME = re.compile(r"[0-9]+\.[0-9]{3}")
TEXT = re.compile(r"(?s).+")

# The required attributes, optional attributes and possible children of each element.
RULES = {
    "testsuites": ({"tests": COUNT, "failures": COUNT, "errors": COUNT, "time": TIME}, {"name": TEXT}, {"testsuite"}),
    "testsuite": (
        {"name": TEXT, "tests": COUNT, "failures": COUNT, "errors": COUNT, "skipped": COUNT, "time": TIME},
        {"timestamp": TEXT, "hostname": TEXT, "id": TEXT, "package": TEXT, "file": TEXT},
        {"testcase", "properties", "system-out", "system-err"}),
    "testcase": ({"name": TEXT, "classname": TEXT, "time": TIME}, {"group": TEXT}, {"failure", "skipped", "error"}),
    "failure": ({"message": TEXT, "type": TEXT}, {}, set()),
    "skipped": ({}, {"message": TEXT, "type": TEXT}, set()),
}


def problems(element, path):
    here = f"{path}/{element.tag}"
    if element.tag not in RULES:
        yield f"{here}: unknown element"
        return
    needed, allowed, children = RULES[element.tag]
    for name, pattern in needed.items():
        if not pattern.fullmatch(element.get(name, "")):
            yield f"{here}@{name}: {element.get(name)!r}"
    for name in element.keys():
        if name not in needed and not (name in allowed and allowed[name].fullmatch(element.get(name))):
            yield f"{here}@{name}: not allowed"
    for child in element:
        if child.tag not in children:
            yield f"{here}/{child.tag}: not allowed here"
        yield from problems(child, here)
    if children and (element.text or "").strip():
        yield f"{here}: text between elements"


def counted(suite):
    cases = suite.findall("testcase")
    return [len(cases), sum(case.find("failure") is not None for case in cases),
            sum(case.find("skipped") is not None for case in cases)]


def judge(text):
    root = ElementTree.fromstring(text)
    found = list(problems(root, ""))
    if root.tag != "testsuites":
        found.append("the root element is not testsuites")
    suites = root.findall("testsuite")
    for suite in suites:
        declared = [int(suite.get(name, "-1")) for name in ("tests", "failures", "skipped")]
        if declared != counted(suite):
            found.append(f"{suite.get('name')} declares {declared} and has {counted(suite)}")
        names = [case.get("name") for case in suite.findall("testcase")]
        if names != sorted(set(names)):
            found.append(f"{suite.get('name')} has test cases that share a name or are out of order")
    for index, name in enumerate(("tests", "failures")):
        total = sum(counted(suite)[index] for suite in suites)
        if root.get(name) != str(total):
            found.append(f"testsuites declares {root.get(name)} {name}, but there are {total}")
    return {"problems": found, "suites": [counted(suite) for suite in suites],
            "failures": [failure.text for failure in root.iter("failure")]}


verdict = judge(json.load(sys.stdin)["document"])
print(json.dumps(verdict))
sys.exit(1 if verdict["problems"] else 0)
