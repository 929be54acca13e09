import Primitives
import SignedData

/// The public RSA keys of a service (RFC 7517), by key id.
package struct JSONWebKeySet: Sendable {
    package let keys: [String: RSAVerificationKey]

    package init(_ keys: [String: RSAVerificationKey]) { self.keys = keys }

    /// Reads the RSA keys of a set. Other keys are ignored. Throws `SignedDataError` (`keyMalformed`) if there is none.
    package init(json: JSONValue) throws(SignedDataError) {
        var keys: [String: RSAVerificationKey] = [:]
        for key in json["keys"]?.arrayValue ?? [] where key["kty"] == "RSA" {
            guard let id = key["kid"]?.stringValue, let modulus = Self.number(key["n"]),
                let exponent = Self.number(key["e"])
            else { continue }
            keys[id] = try RSAVerificationKey(modulus: modulus, exponent: exponent)
        }
        guard !keys.isEmpty else { throw SignedDataError(.keyMalformed, "The key set has no RSA key.") }
        self.keys = keys
    }

    package var json: JSONValue {
        let keys = keys.sorted { $0.key < $1.key }.map { id, key -> JSONValue in
            [
                "kty": "RSA", "alg": "RS256", "use": "sig", "kid": .string(id),
                "n": .string(Base64.encodeURL(key.modulus)), "e": .string(Base64.encodeURL(key.exponent)),
            ]
        }
        return ["keys": .array(keys)]
    }

    private static func number(_ value: JSONValue?) -> [UInt8]? {
        value?.stringValue.flatMap { $0.utf8.count <= 2048 ? Base64.decodeURL($0) : nil }
    }
}
