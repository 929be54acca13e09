import Foundation
import HTTPCore

/// The headers of a request for a file: the version that the client has, and the part that it requests (RFC 9110
/// sections 13 and 14).
struct ConditionalRequest: Sendable {
    private let headers: HTTPHeaders

    init(_ headers: HTTPHeaders) { self.headers = headers }

    /// Whether the client already has this version, so that the status is 304.
    func isUnchanged(_ entityTag: String, modified: Int64) -> Bool {
        if let tags = headers["If-None-Match"] {
            return tags.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.contains {
                $0 == "*" || ($0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0) == entityTag
            }
        }
        guard let since = headers["If-Modified-Since"].flatMap(HTTPDate.seconds) else { return false }
        return modified <= since
    }

    enum Wanted: Hashable {
        case whole
        case part(Range<Int>)
        case unsatisfiable
    }

    /// The requested part of `size` bytes. An invalid range, several ranges, and a range of another version mean the
    /// whole, as section 14.2 allows.
    func range(of size: Int, _ entityTag: String, modified: Int64) -> Wanted {
        guard let text = headers["Range"], text.hasPrefix("bytes=") else { return .whole }
        if let version = headers["If-Range"], version != entityTag, HTTPDate.seconds(version) != modified {
            return .whole
        }
        let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard ends.count == 2 else { return .whole }
        switch (Self.number(ends[0]), Self.number(ends[1])) {
        case (let first?, let last?):
            guard first <= last else { return .whole }
            return first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
        case (let first?, nil) where ends[1].isEmpty: return first < size ? .part(first..<size) : .unsatisfiable
        case (nil, let count?) where ends[0].isEmpty:
            return count > 0 && size > 0 ? .part(max(size - count, 0)..<size) : .unsatisfiable
        default: return .whole
        }
    }

    /// Parses a number that consists only of digits. Limits it to `Int.max - 1`.
    private static func number(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return min(Int(text) ?? .max, .max - 1)
    }
}

/// The media type of a file, by the end of its name.
enum ContentType {
    static func ofFile(named name: String) -> String {
        guard let dot = name.lastIndex(of: "."), !name[dot...].contains("/") else { return binary }
        return byExtension[name[name.index(after: dot)...].lowercased()] ?? binary
    }

    private static let binary = "application/octet-stream"
    private static let byExtension = [
        "zip": "application/zip", "json": "application/json", "pdf": "application/pdf", "xml": "application/xml",
        "plist": "application/xml", "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8",
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "csv": "text/csv; charset=utf-8", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
        "gif": "image/gif", "webp": "image/webp", "heic": "image/heic", "svg": "image/svg+xml", "mp3": "audio/mpeg",
        "m4a": "audio/mp4", "wav": "audio/wav", "mp4": "video/mp4", "mov": "video/quicktime", "woff2": "font/woff2",
        "gz": "application/gzip", "wasm": "application/wasm",
    ]
}
