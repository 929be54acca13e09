import HTTPCore
import Primitives

/// Collects the header lines of a response from libcurl. Skips interim responses (1xx).
struct ResponseHeaderParser {
    private var status = 0
    private var headers = HTTPHeaders()

    /// Reads one line. Returns the head of the final response when `line` ends it.
    mutating func read(_ line: UnsafeRawBufferPointer) -> (status: Int, headers: HTTPHeaders)? {
        var end = line.count
        while end > 0, line[end - 1] == 0x0A || line[end - 1] == 0x0D { end -= 1 }
        let text = line[..<end]
        if text.isEmpty { return (100..<200).contains(status) ? nil : (status, headers) }
        if text.starts(with: "HTTP/".utf8) {
            status = Self.status(in: text)
            headers = HTTPHeaders()
        } else if text.first == UInt8(ascii: " ") || text.first == UInt8(ascii: "\t") {
            guard let last = headers.fields.indices.last else { return nil }  // A folded line, RFC 9112 section 5.2.
            headers.fields[last].value += " " + Self.trimmed(text)
        } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            headers.add(Self.decoded(text[..<colon]), Self.trimmed(text[(colon + 1)...]))
        }
        return nil
    }

    private static func status(in line: Slice<UnsafeRawBufferPointer>) -> Int {
        let parts = line.split(separator: UInt8(ascii: " "))
        return parts.count > 1 ? Int(decoded(parts[1])) ?? 0 : 0
    }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        var bytes = bytes
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return decoded(bytes)
    }

    /// Decodes a part of a header line as UTF-8, or as Latin-1 if it is not UTF-8. Servers use both.
    private static func decoded(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(utf8: bytes)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
