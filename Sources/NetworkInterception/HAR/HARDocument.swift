import Foundation
import HTTPCore
import Primitives

/// An HTTP archive (HAR 1.2), the file format of browsers and proxies for recorded traffic.
///
///     let archive = try HARDocument(parsing: bytes)         // another program's file
///     for entry in archive.entries { print(entry.record.originalRequest.url) }
///     let ours = HARDocument(await interceptor.storage.records(100, after: nil))
///
/// The document keeps the file as it is: unknown members, the text of numbers, and the order of members, headers,
/// cookies and query items.
public struct HARDocument: Sendable, Hashable {
    /// The whole document, an object with the member `log`.
    public let json: JSONValue
    /// Warnings, for example timings that do not add up and missing numbers. Browsers write such files.
    package let warnings: [HARFinding]

    /// Parses a file, with or without a byte order mark. A lone surrogate, which JavaScript may write, is read as
    /// U+FFFD. The caller limits the size.
    ///
    /// - Parameter bytes: The content of the file.
    /// - Throws: `InterceptionError.invalidFile`, with the line and column if the content is not JSON, or with the JSON
    ///   pointer of the first error if it is not HAR.
    public init(parsing bytes: [UInt8]) throws(InterceptionError) {
        let json = try Self.json(bytes)
        let findings = HARRules.findings(in: json)
        if let fault = findings.first(where: \.isError) {
            throw InterceptionError(.invalidFile, "This is not a HAR file: \(fault.pointer): \(fault.reason)")
        }
        self.json = json
        warnings = findings
    }

    /// Returns the errors and warnings of a file: first those of the schema and then, if the schema has no error, those
    /// of the values. Throws like `init(parsing:)` if the content is not JSON.
    package static func findings(in bytes: [UInt8]) throws(InterceptionError) -> [HARFinding] {
        HARRules.findings(in: try json(bytes))
    }

    init(json: JSONValue) {
        self.json = json
        warnings = []
    }

    /// Returns the content of the file, without a byte order mark.
    ///
    /// - Parameter pretty: Whether to indent the JSON.
    public func encoded(pretty: Bool = false) -> [UInt8] { Array((json.text(pretty: pretty) + "\n").utf8) }

    /// The exchanges, in the order of the file.
    package var entries: [HAREntry] { (json["log"]?["entries"]?.arrayValue ?? []).map(HAREntry.init) }

    /// The exchanges as records, in the order of the file.
    public var records: [Record] { entries.map(\.record) }

    /// The program that wrote the file, for example `WebInspector 537.36`.
    public var creator: String {
        let creator = json["log"]?["creator"]
        return [creator?["name"]?.stringValue, creator?["version"]?.stringValue].compactMap { $0 }.joined(
            separator: " ")
    }

    private static func json(_ bytes: [UInt8]) throws(InterceptionError) -> JSONValue {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        do {
            return try JSONValue(parsing: text.repairingSurrogates())
        } catch {
            throw InterceptionError(.invalidFile, "This is not JSON: \(error)", underlying: error)
        }
    }
}

/// An error or a warning in a HAR file.
package struct HARFinding: Sendable, Hashable {
    /// Whether it is an error, which prevents the use of the file.
    package let isError: Bool
    /// The location, as an RFC 6901 pointer.
    package let pointer: String
    package let reason: String
}

extension [UInt8] {
    /// Replaces the escape sequence of every lone surrogate in JSON text with that of U+FFFD, which has the same
    /// length.
    fileprivate func repairingSurrogates() -> [UInt8] {
        var text = self
        var place = 0
        while let backslash = text[place...].firstIndex(of: UInt8(ascii: "\\")) {
            guard let unit = text.escapedUnit(at: backslash) else {
                place = Swift.min(backslash + 2, text.count)
                continue
            }
            place = backslash + 6
            guard (0xD800...0xDFFF).contains(unit) else { continue }
            if unit < 0xDC00, let low = text.escapedUnit(at: place), (0xDC00...0xDFFF).contains(low) {
                place += 6
            } else {
                text.replaceSubrange(backslash..<place, with: "\\uFFFD".utf8)
            }
        }
        return text
    }

    private func escapedUnit(at place: Int) -> UInt16? {
        guard place + 6 <= count, self[place] == UInt8(ascii: "\\"), self[place + 1] == UInt8(ascii: "u") else {
            return nil
        }
        return UInt16(String(decoding: self[place + 2..<place + 6], as: UTF8.self), radix: 16)
    }
}
