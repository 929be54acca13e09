import HTTPCore
import Primitives

extension Redaction {
    /// Returns the record without its secrets. The bodies of the record are as in HAR: text is decoded, although the
    /// headers still name its encoding, and other bodies are encoded as the headers say.
    package func redactedAsDecoded(_ record: Record) -> Record {
        var record = record
        let signed = SignedText.found(in: record, self)
        let original = Self.takeEncoding(from: &record.originalRequest.headers, of: record.originalRequest.body)
        let designated = Self.takeEncoding(from: &record.designatedRequest.headers, of: record.designatedRequest.body)
        var answered: [(Int, HTTPHeaders.Field)] = []
        if case .success(var response)? = record.result {
            answered = Self.takeEncoding(from: &response.headers, of: response.body)
            record.result = .success(response)
        }
        record = redacted(record)
        Self.putBack(original, into: &record.originalRequest.headers)
        Self.putBack(designated, into: &record.designatedRequest.headers)
        if case .success(var response)? = record.result {
            Self.putBack(answered, into: &response.headers)
            record.result = .success(response)
        }
        if !signed.isEmpty { record.signedTexts = signed }
        return record
    }

    /// Removes and returns the `Content-Encoding` lines of a text body, with their positions.
    private static func takeEncoding(
        from headers: inout HTTPHeaders, of body: HTTPBody
    ) -> [(Int, HTTPHeaders.Field)] {
        guard headers.contains("Content-Encoding"), let bytes = body.buffered,
            String(utf8: bytes) != nil
        else { return [] }
        let lines = headers.fields.enumerated().filter { $0.element.name.equalsIgnoringCase("Content-Encoding") }
        headers["Content-Encoding"] = nil
        return lines.map { ($0.offset, $0.element) }
    }

    private static func putBack(_ lines: [(Int, HTTPHeaders.Field)], into headers: inout HTTPHeaders) {
        for (place, line) in lines { headers.fields.insert(line, at: place) }
    }
}
