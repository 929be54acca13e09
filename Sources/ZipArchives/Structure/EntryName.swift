import Primitives
import StoreModel

/// The name of an entry. It cannot lead out of the folder into which the archive is extracted.
///
/// Names are UTF-8 and relative, with parts separated by `/`; a folder's name ends with `/`. An invalid name is not
/// repaired but refused: with `unsafeName`, or with `limitExceeded` if it has more bytes or parts than the limits
/// allow.
package struct EntryName: Hashable {
    let bytes: [UInt8]
    /// Without the `/` at the end.
    let parts: [String]
    let isFolder: Bool

    var path: String { parts.joined(separator: "/") }

    /// The name in messages.
    package var shown: String { "\"\(path)\"" }

    private static let longestPart = 255

    init(_ raw: ArraySlice<UInt8>, limits: ExtractionLimits) throws(ExtractionError) {
        bytes = Array(raw)
        func refusal(_ why: String) -> ExtractionError {
            let shown = Self.printable(raw)
            return ExtractionError(.unsafeName, "The name \(shown) \(why); create the archive again.", entry: shown)
        }
        guard !raw.isEmpty else { throw refusal("is empty") }
        guard raw.count <= limits.nameBytes else {
            let shown = Self.printable(raw)
            throw ExtractionError(
                .limitExceeded, "The name \(shown) has \(raw.count) bytes; at most \(limits.nameBytes) are allowed.",
                entry: shown)
        }
        guard let text = String(utf8: raw) else { throw refusal("is not UTF-8") }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw refusal("has a control character")
        }
        guard !text.utf8.contains(UInt8(ascii: "\\")) else { throw refusal("has a backslash; separate folders with /") }
        guard text.utf8.first != UInt8(ascii: "/") else { throw refusal("leads out of the folder") }
        guard !Self.beginsWithDrive(raw) else { throw refusal("begins with a drive letter") }
        isFolder = text.utf8.last == UInt8(ascii: "/")
        let parts = text.utf8.dropLast(isFolder ? 1 : 0).split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        for part in parts {
            guard part != ".." else { throw refusal("leads out of the folder") }
            guard !part.isEmpty, part != "." else { throw refusal("has an empty part, or a part \".\"") }
            guard part.utf8.count <= Self.longestPart else {
                throw refusal("has a part of more than \(Self.longestPart) bytes")
            }
        }
        guard parts.count <= limits.depth else {
            let shown = Self.printable(raw)
            throw ExtractionError(
                .limitExceeded,
                "The name \(shown) has \(parts.count) parts; at most \(limits.depth) are allowed.",
                entry: shown)
        }
        self.parts = parts
    }

    private static func beginsWithDrive(_ raw: ArraySlice<UInt8>) -> Bool {
        guard raw.count >= 2, let letter = raw.first else { return false }
        return raw[raw.startIndex + 1] == UInt8(ascii: ":")
            && (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letter & ~0x20)
    }

    /// The beginning of an arbitrary name. Quotation marks, backslashes and all bytes that are not printable ASCII are
    /// in hexadecimal.
    private static func printable(_ raw: ArraySlice<UInt8>) -> String {
        let text = raw.prefix(80).map { byte in
            (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
                ? String(UnicodeScalar(byte)) : "\\x" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "\"\(text.joined())\(raw.count > 80 ? "…" : "")\""
    }
}
