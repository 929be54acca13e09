"""Tests a running server against its own OpenAPI document, with schemathesis (PyPI).

Reads one JSON object on standard input: the `url` of the document, the number of `examples` of an operation in each phase,
and the optional members below. Prints {"cases": N, "operations": N, "accepted": ["GET /path", …], "problems": ["…"]}. Exit
status 0 if there are no problems, else 1.

Sends everything that schemathesis derives from the document: its examples, the limits of its schemas, valid and invalid
data, methods that it does not have, and sequences of calls.

- `only`: the paths to test.
- `known`: existing values of path parameters and of members of bodies ({"account": ["ada"]}; null omits the member). They
  replace most random values, so that requests succeed. The operations in `untouched` keep random values.
- `without`: operations that are not called.
- `headers`: headers of every request. Requests without them must be refused.
- `mayRefuse`: for each operation, the statuses of requests that are refused by rules that no schema can express.
- `refused`: statuses that, beside 400, 404 and 405, may answer data that a schema forbids.
- `declared`: statuses from 500 on that are not problems, if the document has them for the operation.
- `seed`: the seed of random data; without it, every run sends the same data.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unicodedata

CONFIGURATION = """
{seed}
request-timeout = 20.0
continue-on-failure = true

[generation]
deterministic = {deterministic}

[checks]
not_a_server_error.enabled = false
# A valid request can name an object that does not exist, or conflict with the current state.
positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422", {declared}]
negative_data_rejection.expected-statuses = ["400", "404", "405", {refused}]
ignored_auth.enabled = {signs_in}
"""

OPERATION = """
[[operations]]
include-operation-id = {id}

[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422", {statuses}]
"""


def hooks():
    """Registers the hooks of schemathesis. It runs in the process of schemathesis, which imports this file."""
    import schemathesis

    request = json.loads(os.environ["SOUK_JUDGE"])
    known, declared = request.get("known", {}), request.get("declared", [])

    def stand_in(name, value):
        """Returns an existing value instead of each Boolean and of about six of seven other values. It replaces "0", with
        which most series of random values begin."""
        existing = known.get(name)
        number = sum(str(value).encode("utf-8", "replace"))
        return existing[number // 7 % len(existing)] if existing and (number % 7 or isinstance(value, bool)) else value

    def in_form_nfc(value):
        """Converts all strings of a value to the Unicode form NFC. Names must have it, which JSON Schema cannot express."""
        if isinstance(value, dict):
            return {name: in_form_nfc(member) for name, member in value.items()}
        if isinstance(value, list):
            return [in_form_nfc(element) for element in value]
        return unicodedata.normalize("NFC", value) if isinstance(value, str) else value

    def stand_ins(members):
        changed = {name: stand_in(name, value) for name, value in members.items()}
        return {name: value for name, value in changed.items() if value is not None}

    @schemathesis.hook
    def before_call(context, case, **kwargs):
        if case.meta is None or not case.meta.generation.mode.is_positive:
            return
        if case.operation.definition.raw.get("operationId") in request.get("untouched", []):
            return
        if case.query:
            case.query = in_form_nfc(case.query)
        if case.path_parameters:
            case.path_parameters = stand_ins(case.path_parameters)
        if isinstance(case.body, dict):
            case.body = stand_ins(case.body)

    @schemathesis.check
    def no_server_error(ctx, response, case):
        assert response.status_code < 500 or response.status_code in declared, f"status {response.status_code}"


def judge(request):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        configuration, report = folder / "schemathesis.toml", folder / "report.json"
        declared = ", ".join(f'"{status}"' for status in request.get("declared", []))
        seed = request.get("seed")
        headers = request.get("headers", {})
        configuration.write_text(
            CONFIGURATION.format(
                declared=declared, refused=json.dumps(request.get("declared", []) + request.get("refused", []))[1:-1],
                deterministic=str(seed is None).lower(), signs_in=str(bool(headers)).lower(),
                seed="" if seed is None else f"seed = {seed}")
            + "".join(
                OPERATION.format(id=json.dumps(id), statuses=json.dumps(statuses)[1:-1] + (f", {declared}" if declared else ""))
                for id, statuses in request.get("mayRefuse", {}).items()))
        limits = ["-n", str(request["examples"])]
        options = [word for path in request.get("only", []) for word in ("--include-path", path)]
        options += [word for id in request.get("without", []) for word in ("--exclude-operation-id", id)]
        options += [word for name, value in headers.items() for word in ("--header", f"{name}: {value}")]
        outcome = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration), "run", request["url"],
             *limits, *options, "--warnings", "off", "--report", "json", "--report-json-path", str(report)],
            cwd=folder, capture_output=True, text=True,
            env={**os.environ, "SOUK_JUDGE": json.dumps(request), "SCHEMATHESIS_HOOKS": __file__, "NO_COLOR": "1",
                 "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"})
        if not report.exists():
            return {"cases": 0, "operations": 0, "problems": [outcome.stdout[-4000:] + outcome.stderr[-4000:]]}
        found = json.loads(report.read_text())
    problems = [f"{fault['code']} {fault['title']}: {', '.join(fault['operations'])}" for fault in found["failures"]]
    problems += [json.dumps(error) for error in found["errors"]]
    if outcome.returncode and not problems:
        problems = ["schemathesis failed"]
    if problems:
        problems.append(outcome.stdout[-8000:] + outcome.stderr[-2000:])
    accepted = [
        operation for operation, phases in (found["valid_rates"] or {}).items()
        if any(rate["accepted"] for rate in phases.values())]
    return {
        "cases": found["test_cases"]["generated"], "operations": found["operations"]["tested"], "accepted": accepted,
        "problems": problems}


if __name__ == "__main__":
    verdict = judge(json.load(sys.stdin))
    json.dump(verdict, sys.stdout)
    print()
    sys.exit(1 if verdict["problems"] else 0)
elif "SOUK_JUDGE" in os.environ:
    hooks()
