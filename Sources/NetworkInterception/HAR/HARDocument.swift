import Foundation
import HTTPCore
import Primitives

/// An HTTP archive (HAR 1.2), as browsers and proxies write it.
///
///     let archive = try HARDocument(parsing: bytes)         // somebody's file
///     for entry in archive.entries { print(entry.record.originalRequest.url) }
///     let ours = HARDocument(await interceptor.storage.records(100, after: nil))
///
/// What is read is kept and written again as it stood: members that HAR does not know, the order of members, headers,
/// cookies and query items, the text of numbers.
public struct HARDocument: Sendable, Hashable {
    /// The whole document: an object with the member `log`.
    public let json: JSONValue
    /// What is doubtful in it: timings that do not add up, figures that are missing. Browsers write such files.
    package let warnings: [HARFinding]

    /// Reads a file, with or without a byte order mark. Half of a surrogate pair, as JavaScript may write it, is read as
    /// U+FFFD. The caller bounds the size.
    ///
    /// Throws `InterceptionError.invalidFile`, naming line and column of what is no JSON, or the place, as a JSON pointer, of
    /// the first thing that makes it no HAR.
    public init(parsing bytes: [UInt8]) throws(InterceptionError) {
        let json = try Self.json(bytes)
        let findings = HARRules.findings(in: json)
        if let fault = findings.first(where: \.isError) {
            throw InterceptionError(.invalidFile, "This is no HAR file: \(fault.pointer): \(fault.reason)")
        }
        self.json = json
        warnings = findings
    }

    /// Everything that is wrong or doubtful in a file, in its order. Throws as `init` does for what is no JSON.
    package static func findings(in bytes: [UInt8]) throws(InterceptionError) -> [HARFinding] {
        HARRules.findings(in: try json(bytes))
    }

    init(json: JSONValue) {
        self.json = json
        warnings = []
    }

    /// The file: what was read, without a byte order mark.
    public func encoded(pretty: Bool = false) -> [UInt8] { Array((json.text(pretty: pretty) + "\n").utf8) }

    /// The exchanges, in the order of the file.
    package var entries: [HAREntry] { (json["log"]?["entries"]?.arrayValue ?? []).map(HAREntry.init) }

    /// The exchanges as records, in the order of the file.
    public var records: [Record] { entries.map(\.record) }

    /// Which program wrote it, for example `WebInspector 537.36`.
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
            throw InterceptionError(.invalidFile, "This is no JSON: \(error)", underlying: error)
        }
    }
}

/// What is wrong or doubtful in a HAR file.
package struct HARFinding: Sendable, Hashable {
    /// Whether the file cannot be used so; otherwise it is a warning.
    package let isError: Bool
    /// Where, as an RFC 6901 pointer.
    package let pointer: String
    package let reason: String
}

extension [UInt8] {
    /// JSON text in which every escape of half a surrogate pair is one of U+FFFD, of the same length.
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
