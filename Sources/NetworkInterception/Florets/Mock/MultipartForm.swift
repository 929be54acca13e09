import HTTPCore

/// The parts of a `multipart/form-data` body (RFC 7578), so that bodies with different boundaries can be compared.
struct MultipartForm {
    struct Part: Hashable {
        /// The name of the field. Empty if it has none.
        let name: String
        /// The head and the content, without the line ends around them.
        let bytes: [UInt8]

        /// The part as an item, to describe differences. Its value is exact only for UTF-8.
        var item: HTTPQuery.Item { .init(name: name, value: String(decoding: bytes, as: UTF8.self)) }
    }

    let parts: [Part]

    /// Parses a body. Ignores the text before the first boundary and after the last one. `nil` if it is not a multipart
    /// body with a boundary.
    init?(_ body: [UInt8], contentType: String) {
        guard contentType.lowercased().hasPrefix("multipart/"),
            let boundary = Self.parameter("boundary", of: contentType)
        else { return nil }
        let mark = Array("--\(boundary)".utf8)
        guard let first = body.firstRange(of: mark) else { return nil }
        var rest = body[first.upperBound...]
        var parts: [Part] = []
        while !rest.starts(with: "--".utf8), !rest.isEmpty {
            let next = rest.firstRange(of: mark)
            parts.append(Part(rest[..<(next?.lowerBound ?? rest.endIndex)]))
            rest = rest[(next?.upperBound ?? rest.endIndex)...]
        }
        self.parts = parts
    }

    /// A parameter of a header value, without quotation marks.
    fileprivate static func parameter(_ name: String, of value: some StringProtocol) -> String? {
        for member in value.split(separator: ";").dropFirst() {
            let halves = member.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, String(halves[0].drop { $0 == " " }).equalsIgnoringCase(name) else { continue }
            let text = halves[1].drop { $0 == " " }
            return text.hasPrefix("\"")
                ? String(text.dropFirst().prefix { $0 != "\"" }) : String(text.prefix { $0 != " " })
        }
        return nil
    }
}

extension MultipartForm.Part {
    fileprivate init(_ between: ArraySlice<UInt8>) {
        var bytes = between
        for end in ["\r\n", "\n"] where bytes.starts(with: end.utf8) {
            bytes = bytes.dropFirst(end.utf8.count)
            break
        }
        for end in ["\r\n", "\n"] where bytes.reversed().starts(with: end.utf8.reversed()) {
            bytes = bytes.dropLast(end.utf8.count)
            break
        }
        self.bytes = Array(bytes)
        let lines = String(decoding: bytes.prefix(4096), as: UTF8.self).split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        name =
            lines.prefix { !$0.isEmpty }.first { $0.lowercased().hasPrefix("content-disposition:") }
            .flatMap { MultipartForm.parameter("name", of: $0) } ?? ""
    }
}
