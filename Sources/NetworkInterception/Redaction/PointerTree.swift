import HTTPCore
import Primitives

/// A tree of JSON pointers to secret values. The redaction also handles malformed JSON and JSON whose end is cut.
struct PointerTree: Sendable {
    private var children: [String: PointerTree] = [:]
    private var isSecret = false

    private init() {}

    /// - Parameter pointers: Pointers (RFC 6901). A missing slash at the start is added.
    init(_ pointers: [String]) {
        for pointer in pointers {
            let names = JSONPointer.steps(pointer) ?? JSONPointer.steps("/" + pointer)
            insert((names ?? [])[...])
        }
    }

    private mutating func insert(_ path: ArraySlice<String>) {
        guard let name = path.first else { return isSecret = true }
        children[name, default: PointerTree()].insert(path.dropFirst())
    }

    /// Returns the document without its secrets, or `nil` if it has none.
    func redacted(_ document: [UInt8]) -> [UInt8]? {
        var walk = Walk(text: document)
        walk.value(self)
        guard !walk.secrets.isEmpty else { return nil }
        let mark = Array("\"\(SensitiveHeaders.replacement)\"".utf8)
        var result: [UInt8] = []
        var written = 0
        for secret in walk.secrets {
            result += document[written..<secret.lowerBound] + mark
            written = secret.upperBound
        }
        return result + document[written...]
    }

    private struct Walk {
        let text: [UInt8]
        var secrets: [Range<Int>] = []
        var position = 0

        init(text: [UInt8]) {
            self.text = text
            if text.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        }

        private var next: UInt8? { position < text.count ? text[position] : nil }

        private mutating func skipSpace() { while let byte = next, byte <= 0x20 { position += 1 } }

        /// Skips a value and records the secrets in it that `tree` selects.
        mutating func value(_ tree: PointerTree?) {
            skipSpace()
            let start = position
            if let tree, !tree.isSecret, !tree.children.isEmpty {
                switch next {
                case UInt8(ascii: "{"): return object(tree)
                case UInt8(ascii: "["): return array(tree)
                default: break
                }
            }
            skipValue()
            if tree?.isSecret == true, start < position { secrets.append(start..<position) }
        }

        private mutating func object(_ tree: PointerTree) {
            position += 1
            while next != nil {
                skipSpace()
                switch next {
                case UInt8(ascii: "\""):
                    let name = string()
                    skipSpace()
                    guard next == UInt8(ascii: ":") else { continue }
                    position += 1
                    value(tree.children[name])
                case UInt8(ascii: "}"):
                    position += 1
                    return
                default: if next != nil { position += 1 }
                }
            }
        }

        private mutating func array(_ tree: PointerTree) {
            position += 1
            var index = 0
            while next != nil {
                skipSpace()
                switch next {
                case UInt8(ascii: "]"):
                    position += 1
                    return
                case UInt8(ascii: ","), nil: position += 1
                default:
                    let before = position
                    value(tree.children[String(index)])
                    index += 1
                    if position == before { position += 1 }
                }
            }
        }

        /// Reads a string and decodes it as far as possible.
        private mutating func string() -> String {
            let start = position
            skipString()
            let raw = text[min(start + 1, position)..<max(min(start + 1, position), position - 1)]
            let decoded = try? JSONValue(parsing: text[start..<position]).stringValue
            return decoded ?? String(decoding: raw, as: UTF8.self)
        }

        private mutating func skipString() {
            position += 1
            while let byte = next, byte != UInt8(ascii: "\"") { position += byte == UInt8(ascii: "\\") ? 2 : 1 }
            position = min(position + 1, text.count)
        }

        private mutating func skipValue() {
            var level = 0
            repeat {
                switch next {
                case nil: return
                case UInt8(ascii: "\""): skipString()
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    level += 1
                    position += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if level == 0 { return }
                    level -= 1
                    position += 1
                case UInt8(ascii: ",") where level == 0: return
                default:
                    position += 1
                    if level == 0 {
                        while let byte = next, byte > 0x20, !",]}".utf8.contains(byte) { position += 1 }
                    }
                }
            } while level > 0
        }
    }
}
