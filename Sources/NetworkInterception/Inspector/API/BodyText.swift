import Foundation
import HTTPCore
import Primitives

/// A body as readable text: indented JSON, text, or a hex dump of its first bytes.
struct BodyText: Sendable, Equatable {
    enum Kind: String, Sendable { case empty, json, text, binary }

    let kind: Kind
    let text: String
    /// Whether `text` is only a part of the recorded body.
    let isShortened: Bool

    /// The greatest number of bytes of `text`.
    static let limit = 512 << 10
    private static let dumpLimit = 1 << 10

    init(_ bytes: [UInt8], headers: HTTPHeaders) {
        guard !bytes.isEmpty else {
            (kind, text, isShortened) = (.empty, "", false)
            return
        }
        if bytes.count <= 2 * Self.limit, Self.looksLikeJSON(bytes, headers), let json = try? JSONValue(parsing: bytes)
        {
            kind = .json
            (text, isShortened) = Self.shortened(json.text(pretty: true))
        } else if let whole = Self.readable(bytes) {
            kind = .text
            (text, isShortened) = Self.shortened(whole)
        } else {
            kind = .binary
            text = Self.dump(bytes.prefix(Self.dumpLimit))
            isShortened = bytes.count > Self.dumpLimit
        }
    }

    private static func looksLikeJSON(_ bytes: [UInt8], _ headers: HTTPHeaders) -> Bool {
        if (headers["Content-Type"] ?? "").lowercased().contains("json") { return true }
        let first = bytes.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Returns the text if the bytes are UTF-8 without control characters other than white space. A body may be cut in
    /// the middle of a character.
    private static func readable(_ bytes: [UInt8]) -> String? {
        for missing in 0...min(3, bytes.count - 1) {
            guard let text = String(utf8: bytes.dropLast(missing)) else { continue }
            let isText = text.utf8.allSatisfy { $0 >= 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
            return isText ? text : nil
        }
        return nil
    }

    private static func shortened(_ text: String) -> (String, Bool) {
        guard text.utf8.count > limit else { return (text, false) }
        return (String(decoding: text.utf8.prefix(limit), as: UTF8.self), true)
    }

    private static func dump(_ bytes: ArraySlice<UInt8>) -> String {
        stride(from: 0, to: bytes.count, by: 16).map { start in
            let row = bytes.dropFirst(start).prefix(16)
            let hex = row.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(separator: " ")
            let place = String(start, radix: 16)
            let letters = row.map { (0x20..<0x7F).contains($0) ? String(UnicodeScalar($0)) : "·" }.joined()
            return String(repeating: "0", count: 4 - place.count) + place + "  "
                + hex.padding(toLength: 47, withPad: " ", startingAt: 0) + "  " + letters
        }.joined(separator: "\n")
    }
}

/// The changes that florets made to a request, as a line-by-line difference.
struct RequestDifference: Sendable, Equatable {
    enum Kind: String, Sendable { case same = " ", removed = "-", added = "+" }

    struct Line: Sendable, Equatable {
        let kind: Kind
        let text: String
    }

    let lines: [Line]

    /// The greatest number of body lines that are compared. A longer body is compared as a whole.
    private static let bodyLimit = 1000

    /// `nil` if the requests are equal.
    init?(from original: HTTPRequest, to designated: HTTPRequest) {
        let bodies = [original, designated].map { Self.body($0) }
        let isComparable = bodies.allSatisfy { $0.count <= Self.bodyLimit } || bodies[0] == bodies[1]
        func lines(_ request: HTTPRequest, _ body: [String]) -> [String] {
            let shown = isComparable ? body : ["a body of \(request.body.length ?? 0) bytes in \(body.count) lines"]
            return ["\(request.method) \(request.url)"] + request.headers.map { "\($0.name): \($0.value)" }
                + (body.isEmpty ? [] : [""] + shown)
        }
        let before = lines(original, bodies[0])
        let after = lines(designated, bodies[1])
        guard before != after || bodies[0] != bodies[1] else { return nil }
        let change = after.difference(from: before)
        var removed: [Int: String] = [:]
        var inserted: [Int: String] = [:]
        for step in change {
            switch step {
            case .remove(let offset, let text, _): removed[offset] = text
            case .insert(let offset, let text, _): inserted[offset] = text
            }
        }
        var result: [Line] = []
        var (left, right) = (0, 0)
        while left < before.count || right < after.count {
            if let text = removed[left] {
                result.append(Line(kind: .removed, text: text))
                left += 1
            } else if let text = inserted[right] {
                result.append(Line(kind: .added, text: text))
                right += 1
            } else {
                result.append(Line(kind: .same, text: before[left]))
                left += 1
                right += 1
            }
        }
        self.lines = result
    }

    private static func body(_ request: HTTPRequest) -> [String] {
        let text = BodyText(request.body.buffered ?? [], headers: request.headers).text
        return text.isEmpty ? [] : text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}
