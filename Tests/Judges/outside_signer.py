"""Signs as the App Store does, with independent libraries: cryptography creates the chain, PyJWT signs.

Reads one JSON object on standard input, a payload for each name:
    {"transaction": {...}, "renewal": {...}}

Prints one JSON object: the root's DER in base64, and for each name the JWS of its payload:
    {"root": "...", "transaction": "<JWS>", "renewal": "<JWS>"}

As in Apple's chain, the keys of the root and the intermediate are P-384 keys, the key of the leaf is a P-256 key, and the
intermediate and the leaf have Apple's marker extensions. The payload "transaction" is also signed with other algorithms
("algorithm none", "algorithm HS256", ...) and without certificates ("without chain"). A verifier must refuse these.

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

LEAF_MARKER = x509.ObjectIdentifier("1.2.840.113635.100.6.11.1")
INTERMEDIATE_MARKER = x509.ObjectIdentifier("1.2.840.113635.100.6.2.1")


def issue(name, key, issuer_name, issuer_key, is_authority, marker=None):
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
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
    )
    if marker is not None:
        builder = builder.add_extension(x509.UnrecognizedExtension(marker, b"\x05\x00"), critical=False)
    return builder.sign(issuer_key, hashes.SHA384())


def main():
    try:
        payloads = json.load(sys.stdin)
        assert isinstance(payloads, dict) and all(isinstance(payload, dict) for payload in payloads.values())
    except (ValueError, AssertionError) as error:
        print(f"outside_signer: invalid request: {error!r}", file=sys.stderr)
        return 2
    root_key, intermediate_key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    leaf_key = ec.generate_private_key(ec.SECP256R1())
    chain = [
        issue("Outside Leaf", leaf_key, "Outside Relations", intermediate_key, False, LEAF_MARKER),
        issue("Outside Relations", intermediate_key, "Outside Root", root_key, True, INTERMEDIATE_MARKER),
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
            # An algorithm confusion attack uses the public key as the shared secret.
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
