import HTTPCore
import Primitives

/// The `traceparent` of a request (W3C Trace Context): the trace and the span that the request belongs to. A malformed
/// header is ignored, as the standard requires.
struct Traceparent: Sendable, Equatable {
    static let field = "traceparent"

    let text: String
    /// The trace id: 32 hexadecimal digits.
    var traceID: Substring { text.dropFirst(3).prefix(32) }
    /// The span id: 16 hexadecimal digits.
    var spanID: Substring { text.dropFirst(36).prefix(16) }
    /// Whether the sender records its part of the trace.
    var isSampled: Bool { text.dropFirst(53).prefix(2).last?.hexDigitValue.map { $0 & 1 == 1 } ?? false }

    init?(_ text: String?) {
        guard let text, text.utf8.count <= 256 else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4 || parts.count > 4 && parts[0] != "00",
            zip(parts, [2, 32, 16, 2]).allSatisfy({ Self.isHex($0, length: $1) }), parts[0] != "ff",
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        self.text = text
    }

    /// Creates the `traceparent` of a span of this server.
    init(traceID: some StringProtocol, spanID: some StringProtocol, isSampled: Bool) {
        text = "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")"
    }

    private static func isHex(_ part: Substring, length: Int) -> Bool {
        part.utf8.count == length
            && part.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
