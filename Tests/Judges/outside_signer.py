"""Signs as the App Store does, with independent libraries: cryptography creates the chain, PyJWT signs.

Reads one JSON object on standard input, a payload for each name:
    {"transaction": {...}, "renewal": {...}}

Prints one JSON object: the root's DER in base64, and for each name the JWS of its payload:
    {"root": "...", "transaction": "<JWS>", "renewal": "<JWS>"}

Root and intermediate are of P-384 and the leaf of P-256, as Apple's are, with Apple's marks. "transaction" is signed under
other algorithms too ("algorithm none", "algorithm HS256", ...) and "without chain"; a verifier must refuse those.

Exit status 0, or 2 for an invalid request. Needs the packages of Scripts/requirements.txt.
"""

import base64
import datetime
import json
import sys

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

LEAF_MARK = x509.ObjectIdentifier("1.2.840.113635.100.6.11.1")
INTERMEDIATE_MARK = x509.ObjectIdentifier("1.2.840.113635.100.6.2.1")


def issue(name, key, issuer_name, issuer_key, authority, mark=None):
    """Creates a certificate valid from 2020 to 2049."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer_name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2020, 1, 1))
        .not_valid_after(datetime.datetime(2049, 1, 1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
    )
    if mark is not None:
        builder = builder.add_extension(x509.UnrecognizedExtension(mark, b"\x05\x00"), critical=False)
    return builder.sign(issuer_key, hashes.SHA384())


def main():
    try:
        payloads = json.load(sys.stdin)
        assert isinstance(payloads, dict) and all(isinstance(payload, dict) for payload in payloads.values())
    except (ValueError, AssertionError) as error:
        print(f"outside_signer: the request makes no sense: {error!r}", file=sys.stderr)
        return 2
    root_key, intermediate_key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    leaf_key = ec.generate_private_key(ec.SECP256R1())
    chain = [
        issue("Outside Leaf", leaf_key, "Outside Relations", intermediate_key, False, LEAF_MARK),
        issue("Outside Relations", intermediate_key, "Outside Root", root_key, True, INTERMEDIATE_MARK),
        issue("Outside Root", root_key, "Outside Root", root_key, True),
    ]
    encoded = [
        base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode() for certificate in chain
    ]
    answer = {"root": encoded[2]}
    for name, payload in payloads.items():
        answer[name] = jwt.encode(payload, leaf_key, algorithm="ES256", headers={"x5c": encoded})
    if "transaction" in payloads:
        payload = payloads["transaction"]
        public = leaf_key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        keys = {
            "none": None,
            # The algorithm confusion attack: the public key as a shared secret.
            "HS256": public,
            "ES384": ec.generate_private_key(ec.SECP384R1()),
            "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
        }
        for algorithm, key in keys.items():
            answer[f"algorithm {algorithm}"] = jwt.encode(payload, key, algorithm=algorithm, headers={"x5c": encoded})
        answer["without chain"] = jwt.encode(payload, leaf_key, algorithm="ES256")
    json.dump(answer, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
