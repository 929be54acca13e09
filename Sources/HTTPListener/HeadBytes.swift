import CMicrohttpd
import Foundation

/// A part of a request's head, where microhttpd has it.
///
/// Fragile: microhttpd before 1.0 does not say that a part held a NUL; it ends there, and the rest is skipped. So a key
/// followed by NUL and anything else would pass for the key. It does leave the head in one piece, in the order in which
/// it came, with a NUL in the place of each byte that ended a part. Where more lies between two parts than their line
/// end, something was skipped. From 1.0 on microhttpd refuses such requests itself.
struct HeadBytes {
    static let areInPlace = souk_mhd_ends_texts_in_place() != 0

    let start: UnsafeRawPointer
    let count: Int

    init(_ text: UnsafePointer<CChar>) { self.init(text, strlen(text)) }

    init(_ start: UnsafePointer<CChar>, _ count: Int) {
        self.start = UnsafeRawPointer(start)
        self.count = count
    }

    private var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether there is a control character other than a tab, which no field value may have (RFC 9110 section 5.5).
    var hasControlCharacters: Bool { bytes.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } }

    /// Whether `next` begins behind this part and nothing but its end, which takes so many bytes.
    func isFollowed(by next: UnsafeRawPointer, after gap: Int) -> Bool {
        Int(bitPattern: next) - Int(bitPattern: start) - count == gap
    }
}

/// The target of a request line, as microhttpd shows it before it takes it apart.
struct RequestTarget {
    /// `nil` where it is not UTF-8.
    let text: String?
    /// `nil` where there is none.
    private let bytes: HeadBytes?

    init(_ target: UnsafePointer<CChar>?) {
        text = target.map { String(validatingCString: $0) } ?? ""
        bytes = target.map { HeadBytes($0) }
    }

    /// Whether nothing but a space stood between it and the method, and between it and the version.
    func isWhole(after method: UnsafePointer<CChar>, before version: UnsafePointer<CChar>) -> Bool {
        guard HeadBytes.areInPlace else { return true }
        guard let bytes else { return false }
        return HeadBytes(method).isFollowed(by: bytes.start, after: 1) && bytes.isFollowed(by: version, after: 1)
    }
}
