import Primitives

/// A JSON document as bytes, in which one value can change without a change to the rest. White space, escapes and the
/// order of the rest stay.
struct JSONText {
    private(set) var bytes: [UInt8]

    /// Creates a text from `bytes`, which must be a JSON document.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Writes a document as Xcode writes a configuration file: two spaces for each level, a space on both sides of a
    /// colon, an empty line in an empty object or list.
    init(xcode document: JSONValue) {
        self.bytes = Style.xcode.render(document, at: [])
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Sets the value at a place, or removes it.
    ///
    /// A new member of an object is inserted in the order of the names, or at the end if they have none. An element can
    /// be added after the last. Returns `false` if the document cannot have a value at the place.
    mutating func set(_ steps: [String], to value: JSONValue?) -> Bool {
        var position = skippingSpace(0)
        guard let last = steps.last else {
            guard let value else { return false }
            bytes.replaceSubrange(position..<valueEnd(position), with: style.render(value, at: []))
            return true
        }
        for step in steps.dropLast() {
            guard let container = container(at: position), let index = container.index(of: step) else { return false }
            position = container.entries[index].value.lowerBound
        }
        guard let container = container(at: position) else { return false }
        switch (container.index(of: last), value) {
        case (let index?, let value?):
            let entry = container.entries[index]
            bytes.replaceSubrange(entry.value, with: style.render(value, at: indentation(at: entry.start)))
        case (let index?, nil): remove(index, from: container)
        case (nil, let value?):
            guard container.isObject || Int(last) == container.entries.count else { return false }
            insert(value, named: last, into: container)
        case (nil, nil): break
        }
        return true
    }

    // MARK: - Finding

    /// An object or an array: its range and its content.
    private struct Container {
        var range: Range<Int>
        var isObject: Bool
        var entries: [Entry] = []

        func index(of step: String) -> Int? {
            if isObject { return entries.firstIndex { $0.name == step } }
            return Int(step).flatMap { entries.indices.contains($0) && String($0) == step ? $0 : nil }
        }
    }

    private struct Entry {
        var name: String?
        /// The start of the name, or of the element.
        var start: Int
        /// The end of the name.
        var nameEnd: Int
        var value: Range<Int>
    }

    private func container(at start: Int) -> Container? {
        guard bytes[start] == UInt8(ascii: "{") || bytes[start] == UInt8(ascii: "[") else { return nil }
        var container = Container(range: start..<valueEnd(start), isObject: bytes[start] == UInt8(ascii: "{"))
        var position = skippingSpace(start + 1)
        while position < container.range.upperBound - 1 {
            var entry = Entry(name: nil, start: position, nameEnd: position, value: position..<position)
            if container.isObject {
                entry.nameEnd = valueEnd(position)
                entry.name = (try? JSONValue(parsing: bytes[position..<entry.nameEnd]))?.stringValue
                position = skippingSpace(skippingSpace(entry.nameEnd) + 1)
            }
            entry.value = position..<valueEnd(position)
            container.entries.append(entry)
            position = skippingSpace(entry.value.upperBound)
            if position < bytes.count, bytes[position] == UInt8(ascii: ",") { position = skippingSpace(position + 1) }
        }
        return container
    }

    private func skippingSpace(_ start: Int) -> Int {
        bytes[start...].firstIndex { !Self.isSpace($0) } ?? bytes.count
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    /// Returns the end of the value that begins at `start`.
    private func valueEnd(_ start: Int) -> Int {
        var position = start
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position = stringEnd(position)
                if depth == 0 { return position }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return position }
                depth -= 1
                if depth == 0 { return position + 1 }
            case UInt8(ascii: ",") where depth == 0, 0x20 where depth == 0, 0x0A where depth == 0,
                0x0D where depth == 0,
                0x09 where depth == 0:
                return position
            default: break
            }
            position += 1
        }
        return position
    }

    private func stringEnd(_ start: Int) -> Int {
        var position = start + 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return position + 1
    }

    /// The white space at the start of the line that contains `position`.
    private func indentation(at position: Int) -> [UInt8] {
        let start = bytes[..<position].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return Array(bytes[start..<position].prefix { $0 == 0x20 || $0 == 0x09 })
    }

    // MARK: - Changing

    private mutating func insert(_ value: JSONValue, named name: String, into container: Container) {
        var style = style
        let outer = indentation(at: container.range.lowerBound)
        guard let first = container.entries.first else {
            let inner = outer + style.unit
            let entry = style.render(value, named: container.isObject ? name : nil, at: inner)
            let filled = style.isMultiline ? style.lineBreak + inner + entry + style.lineBreak + outer : entry
            return bytes.replaceSubrange(inside(container), with: filled)
        }
        if first.name != nil { style.colon = Array(bytes[first.nameEnd..<first.value.lowerBound]) }
        let gap = Array(bytes[(container.range.lowerBound + 1)..<first.start])
        style.isMultiline = style.isMultiline && gap.contains(UInt8(ascii: "\n"))
        let entry = style.render(
            value, named: container.isObject ? name : nil, at: style.isMultiline ? indentation(at: first.start) : outer)
        let index = container.isObject ? place(for: name, in: container) : container.entries.count
        let comma = [UInt8(ascii: ",")] + (style.isMultiline ? gap : between(container))
        if index == 0 {
            bytes.insert(contentsOf: entry + comma, at: first.start)
        } else {
            bytes.insert(contentsOf: comma + entry, at: container.entries[index - 1].value.upperBound)
        }
    }

    /// Returns the index for a new member: its place in the order of the names, or the end if they have no order.
    private func place(for name: String, in container: Container) -> Int {
        let names = container.entries.map { ($0.name ?? "").lowercased() }
        let isSorted = zip(names, names.dropFirst()).allSatisfy { $0 <= $1 }
        return isSorted ? names.firstIndex { $0 > name.lowercased() } ?? names.count : names.count
    }

    /// The white space after the first comma of a container that is on one line.
    private func between(_ container: Container) -> [UInt8] {
        guard container.entries.count > 1 else { return [] }
        let gap = bytes[container.entries[0].value.upperBound..<container.entries[1].start]
        return Array(gap.reversed().prefix { $0 == 0x20 })
    }

    private mutating func remove(_ index: Int, from container: Container) {
        let entries = container.entries
        if entries.count == 1 {
            let isMultiline = bytes[inside(container)].contains(UInt8(ascii: "\n"))
            let empty = isMultiline ? style.empty(at: indentation(at: container.range.lowerBound)) : []
            bytes.replaceSubrange(inside(container), with: empty)
        } else if index == 0 {
            bytes.removeSubrange(entries[0].start..<entries[1].start)
        } else {
            bytes.removeSubrange(entries[index - 1].value.upperBound..<entries[index].value.upperBound)
        }
    }

    private func inside(_ container: Container) -> Range<Int> {
        (container.range.lowerBound + 1)..<(container.range.upperBound - 1)
    }

    // MARK: - Style

    /// The style of this document; defaults where the document does not show it.
    private var style: Style {
        var style = Style.xcode
        guard let lineEnd = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            style.isMultiline = false
            style.colon = Array(bytes.contains(0x20) ? ": ".utf8 : ":".utf8)
            return style
        }
        if lineEnd > 0, bytes[lineEnd - 1] == UInt8(ascii: "\r") { style.lineBreak = Array("\r\n".utf8) }
        let unit = bytes[(lineEnd + 1)...].prefix { $0 == 0x20 || $0 == 0x09 }
        if !unit.isEmpty { style.unit = Array(unit) }
        if let root = container(at: skippingSpace(0)), root.isObject, let first = root.entries.first {
            style.colon = Array(bytes[first.nameEnd..<first.value.lowerBound])
        }
        return style
    }
}

extension JSONText {
    /// The style of new values.
    struct Style {
        var isMultiline = true
        var unit = Array("  ".utf8)
        var colon = Array(" : ".utf8)
        var lineBreak = Array("\n".utf8)

        static let xcode = Style()

        /// The white space between the brackets of an empty value.
        func empty(at indentation: [UInt8]) -> [UInt8] { isMultiline ? lineBreak + lineBreak + indentation : [] }

        func render(_ value: JSONValue, named name: String?, at indentation: [UInt8]) -> [UInt8] {
            guard let name else { return render(value, at: indentation) }
            var writer = JSONWriter()
            writer.write(name)
            return writer.bytes + colon + render(value, at: indentation)
        }

        func render(_ value: JSONValue, at indentation: [UInt8]) -> [UInt8] {
            switch value {
            case .array(let elements):
                list("[", "]", elements.map { (nil, $0) }, at: indentation)
            case .object(let members):
                list("{", "}", members.map { ($0.key, $0.value) }, at: indentation)
            default: value.encoded()
            }
        }

        private func list(
            _ open: String, _ close: String, _ entries: [(String?, JSONValue)], at indentation: [UInt8]
        ) -> [UInt8] {
            var out = Array(open.utf8)
            if entries.isEmpty { out += empty(at: indentation) }
            for (index, entry) in entries.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                if isMultiline { out += lineBreak + indentation + unit }
                out += render(entry.1, named: entry.0, at: indentation + unit)
            }
            if isMultiline, !entries.isEmpty { out += lineBreak + indentation }
            return out + Array(close.utf8)
        }
    }
}
