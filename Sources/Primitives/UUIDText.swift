import Foundation

extension UUID {
    /// Parses the 36 characters of RFC 9562 section 4, with digits in either case. Returns `nil` for any other string.
    ///
    /// Foundation's `UUID(uuidString:)` also accepts a sign in place of a digit: `+f` for `0f`. Two strings would then
    /// be the same identifier.
    package init?(text: String) {
        let bytes = text.utf8
        guard bytes.count == 36 else { return nil }
        for (index, byte) in bytes.enumerated() {
            switch (index, byte) {
            case (8, UInt8(ascii: "-")), (13, UInt8(ascii: "-")), (18, UInt8(ascii: "-")), (23, UInt8(ascii: "-")):
                break
            case (8, _), (13, _), (18, _), (23, _): return nil
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")),
                (_, UInt8(ascii: "A")...UInt8(ascii: "F")):
                break
            default: return nil
            }
        }
        self.init(uuidString: text)
    }
}
