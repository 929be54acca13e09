import HTTPCore
import Primitives

/// The `traceparent` of a request (W3C Trace Context), which is logged, and sent with the calls of Apple's API that the
/// request causes. A malformed header is ignored, as the standard requires.
struct Traceparent: Sendable, Equatable {
    static let field = "traceparent"
    /// The trace of the request that the current task answers.
    @TaskLocal static var current: Traceparent?

    let text: String
    /// The trace id: 32 hexadecimal digits.
    var traceID: Substring { text.dropFirst(3).prefix(32) }

    init?(_ text: String?) {
        guard let text, text.utf8.count <= 256 else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4 || parts.count > 4 && parts[0] != "00",
            zip(parts, [2, 32, 16, 2]).allSatisfy({ Self.isHex($0, length: $1) }), parts[0] != "ff",
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        self.text = text
    }

    private static func isHex(_ part: Substring, length: Int) -> Bool {
        part.utf8.count == length
            && part.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
