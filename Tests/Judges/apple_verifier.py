"""Verifies Souk's signed data with Apple's own client library.

Reads one JSON object on standard input:
    {"root": "<base64 of the root's DER>" or "<path of the DER file>", "bundleID": "...", "environment": "Sandbox",
     "appAppleID": 123, "transaction": "<JWS>", "renewal": "<JWS>", "notification": "<JWS>", "appTransaction": "<JWS>",
     "realtimeRequest": "<JWS>"}
The documents and appAppleID are optional. Instead of a JWS, a document can be a list of JWS; its result is then a list.
Prints one JSON object with the result of each document:
    {"transaction": {"ok": true, "payload": {...}}, "renewal": {"ok": false, "error": "INVALID_ENVIRONMENT"}}
Exit status 0 if there are documents and all are accepted, 1 otherwise, 2 for an invalid request.

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
    """Returns a decoded model as JSON, without the members that are None."""
    if attrs.has(type(value)):
        members = {field.name: plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
        return {name: member for name, member in members.items() if member is not None}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    value = getattr(value, "value", value)
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def verdict(decode, document):
    try:
        return {"ok": True, "payload": plain(decode(document))}
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
        print(f"apple_verifier: invalid request: {error!r}", file=sys.stderr)
        return 2
    decoders = {
        "transaction": verifier.verify_and_decode_signed_transaction,
        "renewal": verifier.verify_and_decode_renewal_info,
        "notification": verifier.verify_and_decode_notification,
        "appTransaction": verifier.verify_and_decode_app_transaction,
        "realtimeRequest": verifier.verify_and_decode_realtime_request,
    }
    answer = {}
    for name, decode in decoders.items():
        if name not in request:
            continue
        given = request[name]
        answer[name] = [verdict(decode, jws) for jws in given] if isinstance(given, list) else verdict(decode, given)
    json.dump(answer, sys.stdout)
    print()
    verdicts = [result for entry in answer.values() for result in (entry if isinstance(entry, list) else [entry])]
    return 0 if verdicts and all(result["ok"] for result in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
