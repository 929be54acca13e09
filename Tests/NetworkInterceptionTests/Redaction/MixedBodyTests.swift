import HTTPCore
import NetworkInterception
import Testing

/// Bodies of which only a part is UTF-16.
@Suite struct MixedBodyTests {
    private static let secret = "PLANTED7xK9mQ2vT4rB8nL5w"
    private static let rows = "id;name;city\r\n" + String(repeating: "17;Anna;Berlin\r\n", count: 40)

    private static func form(_ file: [UInt8], field: String = "password", value: String = secret) -> [UInt8] {
        Array("--B\r\nContent-Disposition: form-data; name=\"\(field)\"\r\n\r\n\(value)\r\n".utf8)
            + Array("--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n".utf8)
            + Array("Content-Type: text/csv\r\n\r\n".utf8) + file + Array("\r\n--B--\r\n".utf8)
    }

    private static func redacted(_ body: [UInt8], _ type: String) -> [UInt8] {
        let request = HTTPRequest(
            method: .post, url: "http://a/", headers: ["Content-Type": type], body: .bytes(body))
        return Redaction.standard.redacted(Record(request)).originalRequest.body.buffered ?? []
    }

    private static func redacted(form body: [UInt8]) -> [UInt8] {
        redacted(body, "multipart/form-data; boundary=B")
    }

    @Test(arguments: Planted.Encoding.allCases, [0, 1, 2, 3])
    func `a password beside a file in UTF-16 is removed, and the file stays`(_ encoding: Planted.Encoding, pad: Int) {
        let file = [UInt8](repeating: 0x78, count: pad) + encoding.bytes(Self.rows)
        #expect(Self.redacted(form: Self.form(file)) == Self.form(file, value: "[redacted]"), "\(encoding)")
        let harmless = Self.form(file, field: "note", value: "hello")
        #expect(Self.redacted(form: harmless) == harmless)
    }

    @Test(arguments: Planted.Encoding.allCases)
    func `a secret in a small part in UTF-16 is removed too`(_ encoding: Planted.Encoding) {
        let note = String(repeating: "a note of words. ", count: 300)
        let file = encoding.bytes("a: 1\npassword: \(Self.secret)\n")
        let expected = encoding.bytes("a: 1\npassword: [redacted]\n")
        #expect(
            Self.redacted(form: Self.form(file, field: "note", value: note))
                == Self.form(expected, field: "note", value: note), "\(encoding)")
    }

    @Test func `JSON with a string in UTF-16 is redacted, and the string stays`() {
        let json = #"{"password":"§","file":""#
        for encoding in Planted.Encoding.allCases {
            func body(_ secret: String) -> [UInt8] {
                Array(json.replacing("§", with: secret).utf8) + encoding.bytes(Self.rows) + Array("\"}".utf8)
            }
            #expect(Self.redacted(body(Self.secret), "application/json") == body("[redacted]"), "\(encoding)")
        }
    }

    @Test func `a declared charset does not hide the real encoding of a body`() {
        let text = "user=anna password=\(Self.secret) ok"
        for type in ["text/plain; charset=utf-16be", "text/plain; charset=utf-16", "text/plain; charset=utf-32le"] {
            for encoding in [Planted.Encoding.utf8, .utf16LE, .utf16BE] {
                let redacted = Self.redacted(encoding.bytes(text), type)
                #expect(redacted == encoding.bytes("user=anna password=[redacted] ok"), "\(type) \(encoding)")
            }
        }
    }
}
