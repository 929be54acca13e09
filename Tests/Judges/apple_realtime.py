"""Reads an answer to a realtime request with Apple's own client library, and checks the signature of its offer.

Reads one JSON object on standard input:
    {"privateKey": "<PEM>", "keyID": "...", "issuerID": "...", "bundleID": "...", "productID": "...", "offerID": "...",
     "transactionID": "...", "answer": "<the body of the response>"}

Decodes the answer with Apple's model RealtimeResponseBody and refuses unknown members. Signs the same offer with Apple's
library, and compares the header and the claims, or for version 1 verifies the signature. Prints the choice in the answer:
    {"kind": "none"}      or "message", "alternateProduct", "V1", "V2"
Exit status 0, 1 with the reason on standard error if the answer is refused, or 2 for an invalid request.

Needs the PyPI package app-store-server-library, which brings PyJWT and cryptography. Uses no network.
"""

import base64
import json
import sys
import uuid

import attrs
import cattrs
import jwt
from appstoreserverlibrary.jws_signature_creator import PromotionalOfferV2SignatureCreator
from appstoreserverlibrary.models.RealtimeResponseBody import RealtimeResponseBody
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key


class Refused(Exception):
    pass


def decode(body):
    """Decodes the answer with Apple's model. Its identifiers are UUIDs in lower case."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook(uuid.UUID, read_uuid)
    return converter.structure(json.loads(body), RealtimeResponseBody)


def read_uuid(text, _):
    if str(uuid.UUID(text)) != text:
        raise ValueError(f"{text} is not a UUID in lower case")
    return uuid.UUID(text)


def judge_v2(request, key, signature):
    own = PromotionalOfferV2SignatureCreator(
        request["privateKey"].encode(), request["keyID"], request["issuerID"], request["bundleID"]
    ).create_signature(request["productID"], request["offerID"], request["transactionID"])
    expected = jwt.decode(own, options={"verify_signature": False})
    claims = jwt.decode(
        signature, key, algorithms=["ES256"], audience="promotional-offer", issuer=request["issuerID"],
        options={"require": ["iss", "iat", "aud", "bid", "nonce"], "strict_aud": True, "verify_iat": False})
    if jwt.get_unverified_header(signature) != jwt.get_unverified_header(own):
        raise Refused("the header differs from that of Apple's library")
    if claims.keys() != expected.keys():
        raise Refused(f"the claims are {sorted(claims)}, those of Apple's library {sorted(expected)}")
    for name in claims.keys() - {"iat", "nonce"}:
        if claims[name] != expected[name]:
            raise Refused(f"{name} is {claims[name]}, in Apple's library {expected[name]}")


def judge_v1(request, key, offer):
    if (offer.productId, offer.offerIdentifier, offer.keyId) != (
            request["productID"], request["offerID"], request["keyID"]):
        raise Refused("the signature names another product, offer or key")
    fields = [
        request["bundleID"], request["keyID"], request["productID"], request["offerID"],
        str(offer.appAccountToken or ""), str(offer.nonce), str(offer.timestamp)]
    key.verify(
        base64.b64decode(offer.encodedSignature, validate=True), "\u2063".join(fields).encode(), ECDSA(SHA256()))


def judge(request):
    answer = decode(request["answer"])
    chosen = [field.name for field in attrs.fields(RealtimeResponseBody) if getattr(answer, field.name) is not None]
    if not chosen:
        return "none"
    if len(chosen) > 1:
        raise Refused(f"the answer has {len(chosen)} choices")
    choice = getattr(answer, chosen[0])
    if choice.messageIdentifier is None:
        raise Refused("there is no messageIdentifier")
    if chosen[0] != "promotionalOffer":
        return chosen[0]
    key = load_pem_private_key(request["privateKey"].encode(), password=None).public_key()
    if (choice.promotionalOfferSignatureV1 is None) == (choice.promotionalOfferSignatureV2 is None):
        raise Refused("an offer has one of the two signatures")
    if choice.promotionalOfferSignatureV2 is not None:
        judge_v2(request, key, choice.promotionalOfferSignatureV2)
        return "V2"
    judge_v1(request, key, choice.promotionalOfferSignatureV1)
    return "V1"


def main():
    try:
        request = json.load(sys.stdin)
        request["answer"], request["privateKey"]
    except (ValueError, KeyError, TypeError) as error:
        print(f"apple_realtime: invalid request: {error!r}", file=sys.stderr)
        return 2
    try:
        kind = judge(request)
    except (Refused, InvalidSignature, jwt.InvalidTokenError, cattrs.BaseValidationError, ValueError, TypeError) as error:
        print(f"apple_realtime: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    json.dump({"kind": kind}, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
