import HTTPCore
import Primitives

/// Which trace a request belongs to (W3C Trace Context, `traceparent`): written into the log and passed on to whoever
/// is asked because of the request. A header that is not of the form is as good as none, as the standard says.
struct Traceparent: Sendable, Equatable {
    static let field = "traceparent"
    /// The trace of the request that the current task works on.
    @TaskLocal static var current: Traceparent?

    let text: String
    /// 32 hexadecimal digits, the same for all that belongs together.
    var traceID: Substring { text.dropFirst(3).prefix(32) }

    init?(_ text: String?) {
        guard let text, text.utf8.count <= 256 else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        // Later versions may say more; the first four parts stay what they are.
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
