import Foundation
import Primitives

/// Writes types straight to JSON values, as `PayloadDecoder` reads them. Its errors are `EncodingError`.
struct PayloadEncoder: Encoder {
    /// What an encoder has written so far; its containers share it.
    fileprivate final class Node {
        enum Content {
            case nothing
            case value(JSONValue)
            case list([Node])
            case fields([(name: String, node: Node)])
        }

        var content = Content.nothing

        init(_ content: Content = .nothing) { self.content = content }

        var value: JSONValue {
            switch content {
            case .nothing: [:]
            case .value(let value): value
            case .list(let nodes): .array(nodes.map(\.value))
            case .fields(let fields): .object(JSONMembers(fields.map { ($0.name, $0.node.value) }))
            }
        }

        func add(_ name: String, _ node: Node) {
            guard case .fields(var fields) = content else { return content = .fields([(name, node)]) }
            content = .nothing
            fields.append((name, node))
            content = .fields(fields)
        }

        func append(_ node: Node) {
            guard case .list(var nodes) = content else { return content = .list([node]) }
            content = .nothing
            nodes.append(node)
            content = .list(nodes)
        }
    }

    fileprivate let node: Node
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func encode(_ value: some Encodable) throws -> JSONValue {
        let node = Node()
        try write(value, to: node, at: [])
        return node.value
    }

    fileprivate static func write<T: Encodable>(_ value: T, to node: Node, at path: [any CodingKey]) throws {
        switch value {
        case let value as JSONValue: node.content = .value(value)
        case let date as Date: node.content = .value(.string(RFC3339.string(from: date)))
        case let data as Data: node.content = .value(.string(data.base64EncodedString()))
        case let url as URL: node.content = .value(.string(url.absoluteString))
        case let decimal as Decimal: node.content = .value(try number("\(decimal)", decimal, path))
        default: try value.encode(to: PayloadEncoder(node: node, codingPath: path))
        }
    }

    fileprivate static func number(_ text: String, _ value: Any, _ path: [any CodingKey]) throws -> JSONValue {
        guard let number = JSONNumber(text: text) else {
            throw EncodingError.invalidValue(value, .init(codingPath: path, debugDescription: "It is no JSON number."))
        }
        return .number(number)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .nothing = node.content { node.content = .fields([]) }
        return KeyedEncodingContainer(Fields(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .nothing = node.content { node.content = .list([]) }
        return Elements(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(node: node, codingPath: codingPath) }
}

// MARK: - Containers

extension PayloadEncoder {
    private struct Fields<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let node: Node
        let codingPath: [any CodingKey]

        func encodeNil(forKey key: Key) { node.add(key.stringValue, Node(.value(.null))) }

        func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
            try PayloadEncoder.write(value, to: added(key), at: codingPath + [key])
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            encoder(key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            encoder(key).unkeyedContainer()
        }

        func superEncoder() -> any Encoder {
            let node = Node()
            self.node.add("super", node)
            return PayloadEncoder(node: node, codingPath: codingPath + [PayloadKey(stringValue: "super")])
        }

        func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

        private func encoder(_ key: Key) -> PayloadEncoder {
            PayloadEncoder(node: added(key), codingPath: codingPath + [key])
        }

        private func added(_ key: Key) -> Node {
            let node = Node()
            self.node.add(key.stringValue, node)
            return node
        }
    }

    private struct Elements: UnkeyedEncodingContainer {
        let node: Node
        let codingPath: [any CodingKey]

        var count: Int {
            if case .list(let nodes) = node.content { nodes.count } else { 0 }
        }

        func encodeNil() { node.append(Node(.value(.null))) }

        func encode<T: Encodable>(_ value: T) throws {
            let path = codingPath + [PayloadKey(intValue: count)]
            try PayloadEncoder.write(value, to: appended(), at: path)
        }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
            encoder.container(keyedBy: type)
        }

        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }

        func superEncoder() -> any Encoder { encoder }

        private var encoder: PayloadEncoder {
            let path = codingPath + [PayloadKey(intValue: count)]
            return PayloadEncoder(node: appended(), codingPath: path)
        }

        private func appended() -> Node {
            let node = Node()
            self.node.append(node)
            return node
        }
    }

    private struct Single: SingleValueEncodingContainer {
        let node: Node
        let codingPath: [any CodingKey]

        func encodeNil() { put(.null) }
        func encode(_ value: Bool) { put(.bool(value)) }
        func encode(_ value: String) { put(.string(value)) }
        func encode(_ value: Double) throws {
            if let whole = Int64(exactly: value) { return put(.number(whole)) }
            put(try PayloadEncoder.number("\(value)", value, codingPath))
        }
        func encode(_ value: Float) throws { put(try PayloadEncoder.number("\(value)", value, codingPath)) }
        func encode(_ value: Int) { put(value) }
        func encode(_ value: Int8) { put(value) }
        func encode(_ value: Int16) { put(value) }
        func encode(_ value: Int32) { put(value) }
        func encode(_ value: Int64) { put(value) }
        func encode(_ value: UInt) { put(value) }
        func encode(_ value: UInt8) { put(value) }
        func encode(_ value: UInt16) { put(value) }
        func encode(_ value: UInt32) { put(value) }
        func encode(_ value: UInt64) { put(value) }
        func encode<T: Encodable>(_ value: T) throws { try PayloadEncoder.write(value, to: node, at: codingPath) }

        private func put(_ value: JSONValue) { node.content = .value(value) }
        private func put(_ value: some FixedWidthInteger & Sendable) { put(.number(JSONNumber(value))) }
    }
}
