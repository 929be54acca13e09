import HTTPCore
import Primitives

extension MockFloret {
    /// The parts of a request that are compared with a recording: the method, the URL, and the parts chosen here. The
    /// order of query items with different names is never compared.
    public struct Matching: Sendable, Hashable {
        /// Whether the scheme, host and port are ignored.
        public var ignoresHost = false
        /// Whether the port is ignored.
        public var ignoresPort = false
        /// Whether the query is ignored.
        public var ignoresQuery = false
        /// The names of query items that are ignored, for example a timestamp.
        public var ignoredQueryItems: Set<String> = []
        /// The names of headers that are compared too.
        public var headers: [String] = []
        /// Whether the body is compared too: JSON by its values, a form by its items or parts, and anything else byte
        /// for byte.
        public var comparesBody = false
        /// The names of ignored top-level members of a JSON body, or of ignored items or parts of a form.
        public var ignoredBodyItems: Set<String> = []

        /// Creates the standard matching.
        public init() {}

        /// Compares the method and the URL.
        public static var standard: Matching { Matching() }
    }
}

/// The parts of a request that are compared with recordings.
struct MockKey: Hashable {
    enum Body: Hashable {
        case none, bytes([UInt8]), json(JSONValue), form([HTTPQuery.Item]), parts([MultipartForm.Part])
    }

    let method: String
    let origin: String
    let path: String
    let query: [HTTPQuery.Item]
    let headers: [HTTPHeaders.Field]
    let body: Body

    init(_ request: HTTPRequest, _ matching: MockFloret.Matching) {
        method = request.method.rawValue
        path = request.path
        let parts = URLParts(request.url)
        let port = matching.ignoresPort ? nil : parts?.effectivePort
        origin =
            matching.ignoresHost
            ? "" : parts.map { "\($0.scheme)://\($0.host)".lowercased() + (port.map { ":\($0)" } ?? "") } ?? ""
        query =
            matching.ignoresQuery
            ? [] : Self.items(parts?.query ?? "").filter { !matching.ignoredQueryItems.contains($0.name) }.inOrder
        headers = matching.headers.flatMap { name in
            request.headers.values(name).map { .init(name: name.lowercased(), value: $0) }
        }
        body = matching.comparesBody ? Self.body(of: request, without: matching.ignoredBodyItems) : .none
    }

    /// The items of a query. A text that is not a query is compared as one item.
    private static func items(_ text: String) -> [HTTPQuery.Item] {
        HTTPQuery(parsing: text)?.items ?? [.init(name: text, value: "")]
    }

    private static func body(of request: HTTPRequest, without ignored: Set<String>) -> Body {
        guard let bytes = request.body.buffered, !bytes.isEmpty else { return .none }
        let type = (request.headers["Content-Type"] ?? "").lowercased()
        if type.contains("json"), var json = try? JSONValue(parsing: bytes) {
            if case .object = json { for name in ignored { json[name] = nil } }
            return .json(json)
        }
        if type.hasPrefix("application/x-www-form-urlencoded"), let text = String(utf8: bytes) {
            return .form(items(text).filter { !ignored.contains($0.name) }.inOrder)
        }
        if let form = MultipartForm(bytes, contentType: request.headers["Content-Type"] ?? "") {
            return .parts(form.parts.filter { !ignored.contains($0.name) })
        }
        return .bytes(bytes)
    }
}

extension [HTTPQuery.Item] {
    /// The items ordered by name. Items with the same name keep their order.
    fileprivate var inOrder: [HTTPQuery.Item] {
        enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }.map(\.element)
    }
}

extension MockKey {
    /// The differences between a request and a recording, with a weight for their size.
    struct Difference {
        var weight = 0
        var sentences: [String] = []

        mutating func add(_ weight: Int, _ sentence: String) {
            self.weight += weight
            sentences.append(sentence)
        }
    }

    /// Returns the differences to `recorded`, without the values of headers and bodies.
    func difference(from recorded: MockKey) -> Difference {
        var difference = Difference()
        if method != recorded.method {
            difference.add(8, "the method is \(recorded.method) in the recording and \(method) in the request")
        }
        if origin != recorded.origin {
            difference.add(6, "the host is \(recorded.origin) in the recording and \(origin) in the request")
        }
        if path != recorded.path {
            let (mine, theirs) = (path.split(separator: "/"), recorded.path.split(separator: "/"))
            let differing = zip(mine, theirs).filter { $0 != $1 }.count + abs(mine.count - theirs.count)
            difference.add(
                4 + 4 * differing, "the path is \(recorded.path) in the recording and \(path) in the request")
        }
        addItems("query item", query, recorded.query, in: &difference, showsValues: true)
        addItems(
            "header", headers.map { .init(name: $0.name, value: $0.value) },
            recorded.headers.map { .init(name: $0.name, value: $0.value) }, in: &difference, showsValues: false)
        switch (body, recorded.body) {
        case (let mine, let theirs) where mine == theirs: break
        case (.json(let mine), .json(let theirs)):
            difference.add(2, "the body differs at \"\(theirs.pointer(toDifferenceFrom: mine) ?? "")\"")
        case (.form(let mine), .form(let theirs)):
            addItems("item of the form", mine, theirs, in: &difference, showsValues: false)
        case (.parts(let mine), .parts(let theirs)):
            addItems("part of the form", mine.map(\.item), theirs.map(\.item), in: &difference, showsValues: false)
        case (.bytes(let mine), .bytes(let theirs)):
            let same = zip(mine, theirs).prefix { $0 == $1 }.count
            difference.add(2, "the body differs at byte \(same)")
        default: difference.add(2, "the bodies have different formats")
        }
        return difference
    }

    private func addItems(
        _ kind: String, _ mine: [HTTPQuery.Item], _ theirs: [HTTPQuery.Item], in difference: inout Difference,
        showsValues: Bool
    ) {
        for name in Set(mine.map(\.name) + theirs.map(\.name)).sorted() {
            let requestValues = mine.filter { $0.name == name }.map(\.value)
            let recordedValues = theirs.filter { $0.name == name }.map(\.value)
            guard requestValues != recordedValues else { continue }
            if requestValues.isEmpty {
                difference.add(1, "the \(kind) \"\(name)\" is only in the recording")
            } else if recordedValues.isEmpty {
                difference.add(1, "the \(kind) \"\(name)\" is only in the request")
            } else if showsValues {
                difference.add(
                    1,
                    "the \(kind) \"\(name)\" is \"\(recordedValues.joined(separator: ", "))\" in the recording and \"\(requestValues.joined(separator: ", "))\" in the request"
                )
            } else {
                difference.add(1, "the \(kind) \"\(name)\" has another value")
            }
        }
    }
}

extension JSONValue {
    /// The pointer (RFC 6901) to the first difference; `nil` if there is none.
    fileprivate func pointer(toDifferenceFrom other: JSONValue) -> String? {
        switch (self, other) {
        case (.object(let mine), .object(let theirs)):
            for name in Set(mine.keys + theirs.keys).sorted() {
                let place = JSONPointer.member(name)
                guard let one = mine[name], let another = theirs[name] else { return place }
                if let inner = one.pointer(toDifferenceFrom: another) { return place + inner }
            }
            return nil
        case (.array(let mine), .array(let theirs)):
            for (index, pair) in zip(mine, theirs).enumerated() {
                if let inner = pair.0.pointer(toDifferenceFrom: pair.1) { return "/\(index)\(inner)" }
            }
            return mine.count == theirs.count ? nil : "/\(min(mine.count, theirs.count))"
        default: return self == other ? nil : ""
        }
    }
}
