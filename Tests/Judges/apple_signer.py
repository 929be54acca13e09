"""Signs with Apple's own client library as an app's server does, and checks signatures with PyJWT and cryptography.

Reads one JSON object on standard input:
    {"privateKey": "<PEM>", "keyID": "...", "issuerID": "...", "bundleID": "...",
     "productID": "...", "offerID": "...", "transactionID": "...", "applicationUsername": "...", "nonce": "<UUID>",
     "timestamp": 1700000000000,
     "offer": "<base64 of a V1 signature of the promotional offer>",
     "requests": [{"audience": "promotional-offer", "jws": "<JWS>"}, ...], "token": "<JWT>"}

"offer", "requests" and "token" are signatures to check. They are optional.

Prints one JSON object:
    {"signed": {"offer": "<base64>", "promotionalOffer": "<JWS>", "promotionalOfferAlone": "<JWS>", "eligibility": "<JWS>",
                "advancedCommerce": "<JWS>", "token": "<JWT>"},
     "offer": true, "requests": [{"header": {...}, "claims": {...}}, ...], "token": {"header": {...}, "claims": {...}}}

"signed" has the signatures of Apple's library; "promotionalOfferAlone" names no transaction. The other members have the
results of the checks; that of a refused signature is the reason. Exit status 0, or 2 for an invalid request.

Needs the PyPI package app-store-server-library, which brings PyJWT and cryptography. Uses no network.
"""

import base64
import json
import sys
import uuid

import jwt
from appstoreserverlibrary.api_client import AppStoreServerAPIClient
from appstoreserverlibrary.jws_signature_creator import (
    AdvancedCommerceAPIInAppSignatureCreator,
    IntroductoryOfferEligibilitySignatureCreator,
    PromotionalOfferV2SignatureCreator,
)
from appstoreserverlibrary.models.AdvancedCommerceOneTimeChargeCreateRequest import (
    AdvancedCommerceOneTimeChargeCreateRequest,
)
from appstoreserverlibrary.models.AdvancedCommerceOneTimeChargeItem import AdvancedCommerceOneTimeChargeItem
from appstoreserverlibrary.models.AdvancedCommerceRequestInfo import AdvancedCommerceRequestInfo
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.promotional_offer import PromotionalOfferSignatureCreator
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key


def sign(request):
    """Returns one signature of each kind by Apple's library."""
    key, identity = request["privateKey"].encode(), (request["keyID"], request["issuerID"], request["bundleID"])
    product, offer, transaction = request["productID"], request["offerID"], request["transactionID"]
    charge = AdvancedCommerceOneTimeChargeCreateRequest(
        currency="USD",
        item=AdvancedCommerceOneTimeChargeItem(
            SKU="print-30x40", description="A print", displayName="Print", price=4990),
        taxCode="C003-00-2",
        requestInfo=AdvancedCommerceRequestInfo(requestReferenceId=uuid.UUID(request["nonce"])))
    client = AppStoreServerAPIClient(key, *identity, Environment.SANDBOX)
    offers = PromotionalOfferV2SignatureCreator(key, *identity)
    return {
        "offer": PromotionalOfferSignatureCreator(key, request["keyID"], request["bundleID"]).create_signature(
            product, offer, request["applicationUsername"], uuid.UUID(request["nonce"]), request["timestamp"]),
        "promotionalOffer": offers.create_signature(product, offer, transaction),
        "promotionalOfferAlone": offers.create_signature(product, offer, None),
        "eligibility": IntroductoryOfferEligibilitySignatureCreator(key, *identity).create_signature(
            product, False, transaction),
        "advancedCommerce": AdvancedCommerceAPIInAppSignatureCreator(key, *identity).create_signature(charge),
        # The library has no public function that returns a token.
        "token": client._generate_token(),
    }


def judge_token(request, token, audience, required):
    """Returns the header and the claims of a JWT, or the reason why PyJWT or Apple's rules refuse it."""
    try:
        key = load_pem_private_key(request["privateKey"].encode(), password=None).public_key()
        header = jwt.get_unverified_header(token)
        if header != {"alg": "ES256", "kid": request["keyID"], "typ": "JWT"}:
            return f"the header is {header}"
        claims = jwt.decode(
            token, key, algorithms=["ES256"], audience=audience, issuer=request["issuerID"],
            options={"require": required, "strict_aud": True})
        if claims["bid"] != request["bundleID"]:
            return f"the bundle is {claims['bid']}"
        if "exp" in claims and not 0 < claims["exp"] - claims["iat"] <= 3600:
            return f"it is valid for {claims['exp'] - claims['iat']} seconds, not for 1 to 3600"
        return {"header": header, "claims": claims}
    except jwt.InvalidTokenError as error:
        return f"{type(error).__name__}: {error}"


def judge_offer(request):
    """Checks the V1 signature of a promotional offer. Returns True, or the reason of the refusal."""
    fields = [
        request["bundleID"], request["keyID"], request["productID"], request["offerID"],
        request["applicationUsername"], request["nonce"].lower(), str(request["timestamp"])]
    key = load_pem_private_key(request["privateKey"].encode(), password=None).public_key()
    try:
        signature = base64.b64decode(request["offer"], validate=True)
        key.verify(signature, "\u2063".join(fields).encode(), ECDSA(SHA256()))
        return True
    except (InvalidSignature, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def main():
    try:
        request = json.load(sys.stdin)
        answer = {"signed": sign(request)}
    except (ValueError, KeyError, TypeError) as error:
        print(f"apple_signer: invalid request: {error!r}", file=sys.stderr)
        return 2
    if "offer" in request:
        answer["offer"] = judge_offer(request)
    answer["requests"] = [
        judge_token(request, entry["jws"], entry["audience"], ["iss", "iat", "aud", "bid", "nonce"])
        for entry in request.get("requests", [])]
    if "token" in request:
        answer["token"] = judge_token(request, request["token"], "appstoreconnect-v1", ["iss", "iat", "exp", "aud", "bid"])
    json.dump(answer, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
