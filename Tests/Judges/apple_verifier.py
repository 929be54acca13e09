"""Verifies Souk's signed data with Apple's own client library.

Reads one JSON object on standard input:
    {"root": "<base64 of the root's DER>" or "<path of the DER file>", "bundleID": "...", "environment": "Sandbox",
     "appAppleID": 123, "transaction": "<JWS>", "renewal": "<JWS>", "notification": "<JWS>", "appTransaction": "<JWS>",
     "realtimeRequest": "<JWS>"}
The documents and appAppleID are optional; a list of JWS instead of one is answered by a list. Prints one JSON object with
a member for each document given:
    {"transaction": {"ok": true, "payload": {...}}, "renewal": {"ok": false, "error": "INVALID_ENVIRONMENT"}}
Exit status 0 when every document was accepted, 1 when one was not, 2 for an invalid request.

Needs the PyPI package app-store-server-library. Uses no network: online checks are off.
"""

import base64
import json
import os
import sys

import attrs
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException


def plain(value):
    """A decoded model as JSON, without the members it does not have."""
    if attrs.has(type(value)):
        members = {field.name: plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
        return {name: member for name, member in members.items() if member is not None}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    value = getattr(value, "value", value)
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def verdict(judge, document):
    try:
        return {"ok": True, "payload": plain(judge(document))}
    except VerificationException as error:
        cause = f": {error.__cause__}" if error.__cause__ else ""
        return {"ok": False, "error": error.status.name + cause}


def main():
    try:
        request = json.load(sys.stdin)
        root = request["root"]
        if os.path.exists(root):
            with open(root, "rb") as file:
                certificate = file.read()
        else:
            certificate = base64.b64decode(root, validate=True)
        verifier = SignedDataVerifier(
            root_certificates=[certificate],
            enable_online_checks=False,
            environment=Environment(request["environment"]),
            bundle_id=request["bundleID"],
            app_apple_id=request.get("appAppleID"),
        )
    except (ValueError, KeyError, TypeError) as error:
        print(f"apple_verifier: the request makes no sense: {error!r}", file=sys.stderr)
        return 2
    judges = {
        "transaction": verifier.verify_and_decode_signed_transaction,
        "renewal": verifier.verify_and_decode_renewal_info,
        "notification": verifier.verify_and_decode_notification,
        "appTransaction": verifier.verify_and_decode_app_transaction,
        "realtimeRequest": verifier.verify_and_decode_realtime_request,
    }
    answer = {}
    for name, judge in judges.items():
        if name not in request:
            continue
        given = request[name]
        answer[name] = [verdict(judge, one) for one in given] if isinstance(given, list) else verdict(judge, given)
    json.dump(answer, sys.stdout)
    print()
    verdicts = [one for entry in answer.values() for one in (entry if isinstance(entry, list) else [entry])]
    return 0 if verdicts and all(one["ok"] for one in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
