"""Checks the simulator's answers with inapppy, an independent client of Apple's /verifyReceipt.

Reads one JSON object on standard input:
    {"production": "<URL>", "sandbox": "<URL>", "questions": [
        {"receipt": "<base64>", "secret": "..." or null, "excludeOld": true, "sandbox": true, "follow": true}, ...]}

If `sandbox` is true, inapppy asks the sandbox URL first, else the production URL. With `follow` it may ask the other URL
afterwards. Each question is sent twice, by inapppy's blocking client and by its asynchronous one. Prints the results:
    [{"ok": true, "answer": {...}}, {"ok": false, "error": "Receipt authentication", "answer": {...}}]
Exit status 0, or 2 for an invalid request or if the two clients have different results.

Needs the PyPI package inapppy. Only its URLs are replaced.
"""

import asyncio
import json
import sys

from inapppy import AppStoreValidator, InAppPyValidationError
from inapppy.asyncio import AppStoreValidator as AsyncAppStoreValidator


def redirected(client, request):
    """Returns a subclass of the client that uses the URLs of the request instead of Apple's."""

    class Redirected(client):
        def _change_url_by_sandbox(self):
            self.url = request["sandbox"] if self.sandbox else request["production"]

    return Redirected


def options(question):
    return {
        "sandbox": question.get("sandbox", False),
        "auto_retry_wrong_env_request": question.get("follow", False),
        "http_timeout": 30,
    }


def arguments(question):
    return question["receipt"], question.get("secret"), question.get("excludeOld", False)


def verdict(error):
    return {"ok": False, "error": error.message, "answer": error.raw_response}


def ask(client, question):
    try:
        return {"ok": True, "answer": client(**options(question)).validate(*arguments(question))}
    except InAppPyValidationError as error:
        return verdict(error)


async def ask_asynchronously(client, question):
    try:
        validator = client(**options(question))
        async with validator:
            return {"ok": True, "answer": await validator.validate(*arguments(question))}
    except InAppPyValidationError as error:
        return verdict(error)


def main():
    try:
        request = json.load(sys.stdin)
        blocking = redirected(AppStoreValidator, request)
        asynchronous = redirected(AsyncAppStoreValidator, request)
        verdicts = []
        for question in request["questions"]:
            verdicts.append(ask(blocking, question))
            again = asyncio.run(ask_asynchronously(asynchronous, question))
            if (again["ok"], again.get("error")) != (verdicts[-1]["ok"], verdicts[-1].get("error")):
                print(f"inapppy_receipt: the clients disagree: {verdicts[-1]} and {again}", file=sys.stderr)
                return 2
    except (ValueError, KeyError, TypeError) as error:
        print(f"inapppy_receipt: invalid request: {error!r}", file=sys.stderr)
        return 2
    json.dump(verdicts, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
