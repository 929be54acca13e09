import HTTPCore
import Primitives

extension Redaction {
    /// The record without its secrets, its bodies looked through as what they are in a HAR: decoded, though the headers
    /// still tell how they were encoded. What is no text is as encoded as its headers say.
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

    /// The lines that say how a text was encoded, and where they stood.
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
