/// A tree of path segments. Finding a literal path allocates no memory.
struct RouteTable: Sendable {
    enum Outcome {
        case found(Router.Route, PathParameters)
        case refused(Router.Refusal)
    }

    private struct Entry: Sendable {
        let method: HTTPRequest.Method
        let names: [String]
        let respond: Router.Route
    }

    private struct Node: Sendable {
        var literals: [(bytes: [UInt8], node: Int)] = []
        var parameter: Int?
        var routes: [Entry] = []
    }

    private typealias Bytes = UnsafeBufferPointer<UInt8>
    private var nodes = [Node()]

    mutating func add(_ method: HTTPRequest.Method, _ pattern: String, _ respond: @escaping Router.Route) {
        precondition(pattern.hasPrefix("/"), "a pattern starts with /")
        var node = 0
        var names: [String] = []
        for segment in pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            if let name = Self.parameter(in: segment) {
                names.append(name)
                node = parameterChild(of: node)
            } else {
                node = literalChild(of: node, Array(segment.utf8))
            }
        }
        precondition(Set(names).count == names.count, "\(pattern) names a parameter twice")
        precondition(!nodes[node].routes.contains { $0.method == method }, "\(method) \(pattern) is routed twice")
        nodes[node].routes.append(Entry(method: method, names: names, respond: respond))
    }

    /// Returns the name in a segment `{name}`, or `nil` for a literal segment.
    static func parameter(in segment: Substring) -> String? {
        guard segment.hasPrefix("{"), segment.hasSuffix("}") else { return nil }
        return String(segment.dropFirst().dropLast())
    }

    private mutating func parameterChild(of node: Int) -> Int {
        if let child = nodes[node].parameter { return child }
        nodes.append(Node())
        nodes[node].parameter = nodes.count - 1
        return nodes.count - 1
    }

    private mutating func literalChild(of node: Int, _ bytes: [UInt8]) -> Int {
        if let child = nodes[node].literals.first(where: { $0.bytes == bytes }) { return child.node }
        nodes.append(Node())
        nodes[node].literals.append((bytes, nodes.count - 1))
        return nodes.count - 1
    }

    func find(_ method: HTTPRequest.Method, _ url: String) -> Outcome {
        var url = url
        return url.withUTF8 { bytes in
            guard let path = Self.path(in: bytes) else { return .refused(.notFound) }
            var captured: [Range<Int>] = []
            if let route = walk(path, from: 0, at: 0, &captured, { self.route($0, for: method) }) {
                return Self.outcome(of: route, path, captured)
            }
            captured = []
            var allow: [HTTPRequest.Method] = []
            _ = walk(path, from: 0, at: 0, &captured) { node -> Void? in
                allow += nodes[node].routes.map(\.method).filter { !allow.contains($0) }
                return nil
            }
            if allow.isEmpty { return .refused(.notFound) }
            if allow.contains(.get), !allow.contains(.head) { allow.append(.head) }
            return .refused(.methodNotAllowed(allow: allow.sorted { $0.rawValue < $1.rawValue }))
        }
    }

    /// Returns the path of a request target in origin form or absolute form, without its leading slash.
    private static func path(in url: Bytes) -> Bytes? {
        var start = 0
        if url.first != UInt8(ascii: "/") {
            guard let colon = url.firstIndex(of: UInt8(ascii: ":")), url[colon...].starts(with: "://".utf8),
                let slash = url[(colon + 3)...].firstIndex(of: UInt8(ascii: "/"))
            else { return nil }
            start = slash
        }
        let rest = url[(start + 1)...]
        let end = rest.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? url.endIndex
        return Bytes(rebasing: url[(start + 1)..<end])
    }

    private func route(_ node: Int, for method: HTTPRequest.Method) -> Entry? {
        let routes = nodes[node].routes
        if let exact = routes.first(where: { $0.method == method }) { return exact }
        return method == .head ? routes.first { $0.method == .get } : nil
    }

    /// Calls `body` for the nodes that match `path`, literal nodes first, until `body` returns a value.
    private func walk<Found>(
        _ path: Bytes, from start: Int, at node: Int, _ captured: inout [Range<Int>], _ body: (Int) -> Found?
    ) -> Found? {
        guard start <= path.count else { return body(node) }
        var end = start
        var isEscaped = false
        while end < path.count, path[end] != UInt8(ascii: "/") {
            if path[end] == UInt8(ascii: "%") { isEscaped = true }
            end += 1
        }
        let segment = Bytes(rebasing: path[start..<end])
        if let child = literal(of: node, segment, isEscaped),
            let found = walk(path, from: end + 1, at: child, &captured, body)
        {
            return found
        }
        guard let child = nodes[node].parameter, start < end else { return nil }
        captured.append(start..<end)
        if let found = walk(path, from: end + 1, at: child, &captured, body) { return found }
        captured.removeLast()
        return nil
    }

    private func literal(of node: Int, _ segment: Bytes, _ isEscaped: Bool) -> Int? {
        if isEscaped {
            let decoded = PercentEncoding.decodeBytes(segment, plusIsSpace: false)
            return nodes[node].literals.first { $0.bytes == decoded }?.node
        }
        let literals = nodes[node].literals
        let index = literals.indices.first { index in
            literals[index].bytes.count == segment.count
                && literals[index].bytes.withUnsafeBytes { $0.elementsEqual(UnsafeRawBufferPointer(segment)) }
        }
        return index.map { literals[$0].node }
    }

    private static func outcome(of route: Entry, _ path: Bytes, _ captured: [Range<Int>]) -> Outcome {
        var values: [String] = []
        values.reserveCapacity(captured.count)
        for range in captured {
            let segment = Bytes(rebasing: path[range])
            guard segment.contains(UInt8(ascii: "%")) else {
                values.append(String(decoding: segment, as: UTF8.self))
                continue
            }
            guard let value = PercentEncoding.decode(segment, plusIsSpace: false) else {
                return .refused(.malformedPath)
            }
            values.append(value)
        }
        return .found(route.respond, PathParameters(names: route.names, values: values))
    }
}
