"""inapppy, a client of Apple's /verifyReceipt that nobody here wrote, as a judge of what the simulator answers.

Reads one JSON object on standard input:
    {"production": "<URL>", "sandbox": "<URL>", "questions": [
        {"receipt": "<base64>", "secret": "..." or null, "excludeOld": true, "sandbox": true, "follow": true}, ...]}
`sandbox` says at which of the two addresses a question begins, `follow` whether inapppy may go on to the other. Each
question is asked twice, by inapppy's blocking client and by its asynchronous one. Prints an array with what each made of
it:
    [{"ok": true, "answer": {...}}, {"ok": false, "error": "Receipt authentication", "answer": {...}}]
Exit status 0, or 2 when the request makes no sense or the two clients do not agree.

Needs the PyPI package inapppy. Only its addresses are replaced.
"""

import asyncio
import json
import sys

from inapppy import AppStoreValidator, InAppPyValidationError
from inapppy.asyncio import AppStoreValidator as AsyncAppStoreValidator


def pointed(client, request):
    """The client's class with this store's addresses for Apple's."""

    class Pointed(client):
        def _change_url_by_sandbox(self):
            self.url = request["sandbox"] if self.sandbox else request["production"]

    return Pointed


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


async def ask_again(client, question):
    try:
        validator = client(**options(question))
        async with validator:
            return {"ok": True, "answer": await validator.validate(*arguments(question))}
    except InAppPyValidationError as error:
        return verdict(error)


def main():
    try:
        request = json.load(sys.stdin)
        blocking, waiting = pointed(AppStoreValidator, request), pointed(AsyncAppStoreValidator, request)
        verdicts = []
        for question in request["questions"]:
            verdicts.append(ask(blocking, question))
            again = asyncio.run(ask_again(waiting, question))
            if (again["ok"], again.get("error")) != (verdicts[-1]["ok"], verdicts[-1].get("error")):
                print(f"inapppy_receipt: the clients disagree: {verdicts[-1]} and {again}", file=sys.stderr)
                return 2
    except (ValueError, KeyError, TypeError) as error:
        print(f"inapppy_receipt: the request makes no sense: {error!r}", file=sys.stderr)
        return 2
    json.dump(verdicts, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
