import Foundation
import HTTPCore
import Primitives

/// The decoded header and claims of a JWS (RFC 7515) that an App Store simulator signed. The signature is not verified.
///
/// Redaction removes every JWS from a record, because anyone who has a JWS can present it. The JWS of a simulator is
/// test data, whose content a tester needs. Its header and claims are therefore stored beside the record, without their
/// secrets. Without the signature, the JWS cannot be restored. A JWS counts as a simulator's if the last certificate in
/// its header has the name of a simulator's root. Anyone can issue such a certificate.
struct SignedText: Sendable, Hashable {
    /// The message that contained the JWS.
    enum Place: String, Sendable { case request, response }

    let place: Place
    /// Indented JSON without secrets. In `x5c`, each certificate is replaced by its name and digest.
    let header: String
    /// Indented JSON without secrets.
    let claims: String
    /// The common name of the last certificate's subject.
    let root: String
    /// SHA-256 of the last certificate in DER, as lower-case hexadecimal.
    let digest: String

    /// The common names of the root certificates of `souk simulate`.
    static let simulatorRoots: Set<String> = ["Souk Test Root CA"]
    /// The greatest number of JWS decoded in one message.
    private static let countLimit = 32
    /// The greatest length of a part that is decoded, in bytes of base64.
    private static let partLimit = 128 << 10
    /// The depth of nesting that is decoded. A notification contains signed transactions.
    private static let depthLimit = 2
}

extension SignedText {
    /// The JWS in the bodies of a record before redaction.
    static func found(in record: Record, _ redaction: Redaction) -> [SignedText] {
        found(in: record.designatedRequest.body.buffered ?? [], .request, redaction)
            + found(in: record.response?.body.buffered ?? [], .response, redaction)
    }

    private static func found(
        in body: [UInt8], _ place: Place, _ redaction: Redaction, depth: Int = 0
    ) -> [SignedText] {
        var found: [SignedText] = []
        for parts in parts(in: body) {
            guard let (text, claims) = SignedText.decoded(body, parts, place, redaction) else { continue }
            found.append(text)
            if depth < depthLimit { found += Self.found(in: claims, place, redaction, depth: depth + 1) }
            if found.count >= countLimit { return Array(found.prefix(countLimit)) }
        }
        return found
    }

    /// The ranges of the header and the claims of each JWS. Both begin with `eyJ`, which encodes the start of an
    /// object.
    private static func parts(in body: [UInt8]) -> [(header: Range<Int>, claims: Range<Int>)] {
        guard body.count > 8 else { return [] }
        return body.withUnsafeBufferPointer { text in
            var parts: [(header: Range<Int>, claims: Range<Int>)] = []
            var position = 1
            // The search for the start of a header stops here, so that no byte is scanned more than twice.
            var floor = 0
            while let found = firstDot(in: text, from: position), found < text.count - 4 {
                position = found
                guard isObject(text, at: position + 1) else {
                    position += 1
                    continue
                }
                var start = position
                while start > floor, isBase64(text[start - 1]) { start -= 1 }
                var end = position + 1
                while end < text.count, isBase64(text[end]) { end += 1 }
                let isSigned = end + 1 < text.count && text[end] == dot && isBase64(text[end + 1])
                if isSigned, start + 3 <= position, isObject(text, at: start), position - start <= partLimit,
                    end - position <= partLimit
                {
                    parts.append((start..<position, position + 1..<end))
                }
                floor = position + 1
                position = end
            }
            return parts
        }
    }

    private static let dot = UInt8(ascii: ".")

    private static func firstDot(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard let base = text.baseAddress, start < text.count,
            let found = memchr(base + start, Int32(dot), text.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// Whether the text at `place` is base64 of a JSON object that begins with `{"`.
    private static func isObject(_ text: UnsafeBufferPointer<UInt8>, at place: Int) -> Bool {
        text[place] == UInt8(ascii: "e") && text[place + 1] == UInt8(ascii: "y") && text[place + 2] == UInt8(ascii: "J")
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
    }

    /// Decodes a JWS, and returns its claims also as bytes. `nil` if it is not a simulator's JWS.
    private static func decoded(
        _ body: [UInt8], _ parts: (header: Range<Int>, claims: Range<Int>), _ place: Place, _ redaction: Redaction
    ) -> (SignedText, claims: [UInt8])? {
        guard var header = Base64.decodeURL(body[parts.header]).flatMap({ try? JSONValue(parsing: $0) }),
            let chain = header["x5c"]?.arrayValue?.map({ $0.stringValue.flatMap { Base64.decode($0) } ?? [] }),
            let last = chain.last, let root = commonName(inCertificate: last), simulatorRoots.contains(root),
            let claims = Base64.decodeURL(body[parts.claims]), let json = try? JSONValue(parsing: claims)
        else { return nil }
        header["x5c"] = .array(
            chain.map { der in
                .string("\(commonName(inCertificate: der) ?? "unnamed"), SHA-256 \(Hex.encode(SHA256.hash(der)))")
            })
        let text = SignedText(
            place: place, header: redaction.redacted(header.text(pretty: true)),
            claims: redaction.redacted(json.text(pretty: true)), root: root, digest: Hex.encode(SHA256.hash(last)))
        return (text, claims)
    }

    /// The common name of a certificate's subject, which follows the issuer's (RFC 5280 section 4.1): the second
    /// attribute of type 2.5.4.3, or the only one. `nil` if there is none or a name is longer than 127 bytes.
    private static func commonName(inCertificate der: [UInt8]) -> String? {
        let type: [UInt8] = [0x06, 0x03, 0x55, 0x04, 0x03]
        var names: [String] = []
        var position = 0
        while position + 7 <= der.count, names.count < 2 {
            guard der[position] == type[0], der[position..<position + 5].elementsEqual(type) else {
                position += 1
                continue
            }
            let (start, length) = (position + 7, Int(der[position + 6]))
            guard length < 128, start + length <= der.count,
                let name = String(utf8: der[start..<start + length])
            else { return nil }
            names.append(name)
            position = start + length
        }
        return names.last
    }
}

extension SignedText {
    /// A title with the kind of payload and the message that contained it.
    var title: String {
        let claims = try? JSONValue(parsing: self.claims)
        func text(_ name: String) -> String? { claims?[name]?.stringValue }
        let subject: String
        if let type = text("notificationType") {
            subject = "Notification \(type)"
        } else if let id = text("transactionId") {
            subject = "Transaction \(id)"
        } else if let product = text("autoRenewProductId") {
            subject = "Renewal info of \(product)"
        } else if text("receiptType") != nil {
            subject = "App transaction"
        } else {
            subject = "Signed payload"
        }
        return "\(subject), in the \(place.rawValue)"
    }

    /// A note that the signature was not checked.
    var caveat: String {
        """
        Decoded only: the signature was not checked. The last certificate in its header has the \
        name of a simulator's root certificate, "\(root)" (SHA-256 \(digest)). souk jws verify --root FILE checks a signature.
        """
    }
}

extension SignedText {
    var json: JSONValue {
        [
            "place": .string(place.rawValue), "header": .string(header), "claims": .string(claims),
            "root": .string(root), "digest": .string(digest),
        ]
    }

    /// `nil` where a member is missing.
    init?(_ json: JSONValue) {
        guard let place = json["place"]?.stringValue.flatMap(Place.init), let header = json["header"]?.stringValue,
            let claims = json["claims"]?.stringValue, let root = json["root"]?.stringValue,
            let digest = json["digest"]?.stringValue
        else { return nil }
        self.init(place: place, header: header, claims: claims, root: root, digest: digest)
    }
}
