import CMicrohttpd
import Foundation

/// A part of a request head in microhttpd's buffer.
///
/// This depends on details of microhttpd before 1.0, which ends a part at a NUL and skips the rest of it without
/// notice. An API key followed by NUL and other bytes would then be accepted as the key. But microhttpd keeps the head
/// in one piece and in order, and only replaces the byte after each part with NUL. So if there are more bytes between
/// two parts than the space or line end that separates them, microhttpd has skipped some. Since 1.0 microhttpd refuses
/// such requests itself.
struct HeadBytes {
    static let partsEndInPlace = souk_mhd_parses_in_place() != 0

    let start: UnsafeRawPointer
    let count: Int

    init(_ text: UnsafePointer<CChar>) { self.init(text, strlen(text)) }

    init(_ start: UnsafePointer<CChar>, _ count: Int) {
        self.start = UnsafeRawPointer(start)
        self.count = count
    }

    private var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether the part contains a control character that RFC 9110 section 5.5 forbids in field values: all except the
    /// tab.
    var hasControlCharacters: Bool { bytes.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } }

    /// Returns whether `next` begins exactly `gap` bytes after this part.
    func isFollowed(by next: UnsafeRawPointer, after gap: Int) -> Bool {
        Int(bitPattern: next) - Int(bitPattern: start) - count == gap
    }
}

/// The target of a request line, before microhttpd parses it.
struct RawRequestTarget {
    /// The target, or `nil` if it is not UTF-8.
    let text: String?
    /// The bytes of the target, or `nil` if there is none.
    private let bytes: HeadBytes?

    init(_ target: UnsafePointer<CChar>?) {
        text = target.map { String(validatingCString: $0) } ?? ""
        bytes = target.map { HeadBytes($0) }
    }

    /// Returns whether exactly one byte separates the method from the target, and the target from the version. Always
    /// true from microhttpd 1.0 on, which checks this itself.
    func isWhole(after method: UnsafePointer<CChar>, before version: UnsafePointer<CChar>) -> Bool {
        guard HeadBytes.partsEndInPlace else { return true }
        guard let bytes else { return false }
        return HeadBytes(method).isFollowed(by: bytes.start, after: 1) && bytes.isFollowed(by: version, after: 1)
    }
}
