import Foundation
import HTTPCore
import Primitives

/// A JSON file with a list of florets and their settings. Documentation/Formats.md describes it.
///
///     let florets = try FloretsFile(contentsOfFile: "florets.json").florets
///     let interceptor = Interceptor(florets)
package struct FloretsFile: Sendable {
    /// The florets of the file, created when it is parsed.
    package let florets: [any Floret]

    /// Parses the content of a file.
    ///
    /// - Parameters:
    ///   - bytes: The content.
    ///   - folder: The folder to which paths in the file are relative.
    ///   - redaction: The rules that remove secrets from the recordings of a `mock` floret.
    ///   - wait: The wait function of florets that cause delays.
    /// - Throws: `InterceptionError` with the code `invalidFile`, whose reason names the location in the file (RFC
    ///   6901), and `storageFailed` if recordings cannot be read.
    package init(
        parsing bytes: some Sequence<UInt8>, folder: String = ".", redaction: Redaction = .standard,
        wait: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) throws {
        let file: FileValue
        do {
            file = FileValue(json: try JSONValue(parsing: bytes), pointer: "")
        } catch {
            throw InterceptionError(.invalidFile, "The file is not JSON: \(error).", underlying: error)
        }
        let reader = FloretReader(folder: folder, redaction: redaction, wait: wait)
        florets = try file.object("florets").required("florets").array().map { try reader.floret($0) }
    }

    /// Reads a file. Paths in it are relative to its folder. Throws the errors of `init(parsing:)` with the path of the
    /// file, and `InterceptionError.storageFailed` if the file cannot be read.
    package init(
        contentsOfFile path: String, redaction: Redaction = .standard,
        wait: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) throws {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw InterceptionError(
                .storageFailed, "The file \(path) cannot be read: check that it exists and may be read.",
                underlying: error)
        }
        do {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            try self.init(parsing: bytes, folder: folder, redaction: redaction, wait: wait)
        } catch let error as InterceptionError {
            throw InterceptionError(error.code, "\(path): \(error.reason)", underlying: error.underlying)
        }
    }
}

/// Creates florets from the values of a file.
struct FloretReader {
    private enum Kind: String, CaseIterable {
        case inspector, mock, findReplace, noCache, mapRemote, bodyStream, fault, throttle
    }

    let folder: String
    let redaction: Redaction
    let wait: @Sendable (Duration) async throws -> Void

    func floret(_ value: FileValue) throws -> any Floret {
        let kind = try value.required("floret").oneOf(Kind.self)
        let enabled = try value["enabled"]?.bool() ?? true
        switch kind {
        case .inspector:
            _ = try value.object("floret")
            return InspectorFloret()
        case .mock:
            let mock = try mock(value)
            mock.enabled = enabled
            return mock
        case .findReplace:
            _ = try value.object("floret", "enabled", "name", "summary", "request", "response")
            return FindReplaceFloret(
                willRequest: try value["request"]?.array().map(modifier) ?? [],
                didRespond: try value["response"]?.array().map(modifier) ?? [],
                name: try value["name"]?.text() ?? "FindReplaceFloret", summary: try value["summary"]?.text(),
                enabled: enabled)
        case .noCache:
            _ = try value.object("floret", "enabled")
            return NoCacheFloret(enabled: enabled)
        case .mapRemote:
            _ = try value.object("floret", "enabled", "mappings")
            return MapRemoteFloret(try value.required("mappings").array().map(mapping), enabled: enabled)
        case .bodyStream:
            _ = try value.object("floret", "enabled", "maximumBytes", "match")
            return BodyStreamFloret(
                maximumConvertedByteSize: try value["maximumBytes"]?.int() ?? 50 << 10, selector: try selector(value),
                enabled: enabled)
        case .fault:
            _ = try value.object("floret", "enabled", "seed", "rules")
            return FaultFloret(
                try value.required("rules").array().map(rule), seed: UInt64(try value["seed"]?.int() ?? 1),
                enabled: enabled, wait: wait)
        case .throttle:
            _ = try value.object("floret", "enabled", "up", "down", "latency")
            return ThrottleFloret(
                .init(
                    up: try value["up"]?.int(1...Int.max), down: try value["down"]?.int(1...Int.max),
                    latency: try value["latency"]?.duration() ?? .zero),
                enabled: enabled, wait: wait)
        }
    }
}

extension FloretReader {
    /// Returns the selector of the member `match`. Without that member, returns a selector that selects everything.
    func selector(_ value: FileValue) throws -> RecordSelector { try value["match"].map(matcher) ?? .all() }

    private func matcher(_ value: FileValue) throws -> RecordSelector {
        _ = try value.object("method", "host", "path", "contentType", "bodyContains", "bodyJSON", "not", "any")
        var selector = RecordSelector.all()
        if let method = value["method"] {
            let names = try method.json.arrayValue == nil ? [method.text()] : method.array().map { try $0.text() }
            selector = selector && RecordSelector { names.contains($0.designatedRequest.method.rawValue) }
        }
        if let host = value["host"] { selector = selector && .host(try host.text()) }
        if let path = value["path"] { selector = selector && .path(try path.text()) }
        if let type = value["contentType"] { selector = selector && .contentType(try type.text()) }
        if let text = value["bodyContains"] { selector = selector && .body(containing: try text.text()) }
        if let json = value["bodyJSON"] { selector = selector && .bodyJSON(json.json) }
        if let not = value["not"] { selector = selector && !(try matcher(not)) }
        if let any = value["any"] {
            let matchers = try any.array().map(matcher)
            selector = selector && RecordSelector { record in matchers.contains { $0.selects(record) } }
        }
        return selector
    }
}

extension FloretReader {
    private enum Change: String, CaseIterable { case setHeader, appendHeader, removeHeader, replace }
    private enum Place: String, CaseIterable { case url, body, header }

    private func modifier(_ value: FileValue) throws -> RecordModifier {
        let modifier: RecordModifier
        switch try value.required("change").oneOf(Change.self) {
        case .setHeader:
            _ = try value.object("change", "name", "value", "match")
            modifier = .header(.set(try headerName(value), try headerValue(value.required("value"))))
        case .appendHeader:
            _ = try value.object("change", "name", "value", "match")
            modifier = .header(.append(try headerName(value), try headerValue(value.required("value"))))
        case .removeHeader:
            _ = try value.object("change", "name", "match")
            modifier = .header(.remove(try headerName(value)))
        case .replace:
            _ = try value.object("change", "in", "name", "text", "expression", "with", "match")
            let pattern = try pattern(value)
            let replacement = try value.required("with").text()
            switch try value.required("in").oneOf(Place.self) {
            case .url: modifier = .url(replacing: pattern, with: replacement)
            case .body: modifier = .body(replacing: pattern, with: replacement)
            case .header: modifier = .header(.replace(try headerName(value), pattern, with: replacement))
            }
        }
        return value["match"] == nil ? modifier : modifier.when(try selector(value))
    }

    private func pattern(_ value: FileValue) throws -> TextPattern {
        switch (value["text"], value["expression"]) {
        case (let text?, nil): return .literal(try text.text())
        case (nil, let expression?):
            do {
                return try .regularExpression(expression.text())
            } catch let error as InterceptionError where error.code == .invalidSetting {
                throw expression.refusal("is not a regular expression", error)
            }
        default: throw value.refusal("must have either \"text\" or \"expression\"")
        }
    }

    private func headerName(_ value: FileValue) throws -> String {
        let name = try value.required("name")
        guard try name.text().isHTTPToken else { throw name.refusal("must be the name of a header") }
        return try name.text()
    }

    private func headerValue(_ value: FileValue) throws -> String {
        let text = try value.text()
        guard (try? HTTPHeaders([.init(name: "a", value: text)]).validate()) != nil else {
            throw value.refusal("must have no line break and no NUL")
        }
        return text
    }

    private func mapping(_ value: FileValue) throws -> MapRemoteFloret.Mapping {
        _ = try value.object("name", "from", "to", "enabled")
        return .init(
            try value.required("name").text(), from: try location(value.required("from")),
            to: try location(value.required("to")), enabled: try value["enabled"]?.bool() ?? true)
    }

    private func location(_ value: FileValue) throws -> MapRemoteFloret.Location {
        _ = try value.object("protocol", "host", "port", "path", "query")
        return .init(
            protocol: try value["protocol"]?.oneOf(MapRemoteFloret.Location.Scheme.self),
            host: try value["host"]?.text(), port: try value["port"]?.int(1...65535), path: try value["path"]?.text(),
            query: try value["query"]?.text())
    }

    private enum FaultKind: String, CaseIterable { case latency, drop, status, truncate, corrupt }

    private func rule(_ value: FileValue) throws -> FaultFloret.Rule {
        func checkMembers(with own: String) throws {
            _ = try value.object("fault", "name", "match", "probability", "requests", own)
        }
        let fault: Fault
        switch try value.required("fault").oneOf(FaultKind.self) {
        case .latency:
            try checkMembers(with: "seconds")
            fault = .latency(try latency(value.required("seconds")))
        case .drop:
            try checkMembers(with: "moment")
            fault = .drop(try value["moment"]?.oneOf(Fault.Phase.self) ?? .beforeSending)
        case .status:
            try checkMembers(with: "answer")
            let answer = try value.required("answer")
            let response = try response(answer, "afterSending")
            fault = .status(
                response.status, headers: response.headers, body: response.body.buffered ?? [],
                afterSending: try answer["afterSending"]?.bool() ?? false)
        case .truncate:
            try checkMembers(with: "after")
            fault = .truncated(after: try value.required("after").int())
        case .corrupt:
            try checkMembers(with: "every")
            fault = .corrupted(every: try value["every"]?.int(1...Int.max) ?? 64)
        }
        return FaultFloret.Rule(
            fault, try selector(value), name: try value["name"]?.text(),
            probability: try value["probability"]?.double(0...1) ?? 1, requests: try value["requests"].map(requests))
    }

    private func requests(_ value: FileValue) throws -> ClosedRange<Int> {
        guard let bounds = value.json.arrayValue?.compactMap(\.intValue), bounds.count == 2, bounds[0] >= 1,
            bounds[0] <= bounds[1]
        else { throw value.refusal("must be the first and the last request, counted from 1, as in [2, 3]") }
        return bounds[0]...bounds[1]
    }

    private func latency(_ value: FileValue) throws -> Latency {
        if value.json.doubleValue != nil { return .constant(try value.duration()) }
        _ = try value.object("uniform", "normal", "exponential", "pareto")
        if let uniform = value["uniform"] {
            let bounds = try uniform.array().map { try $0.duration() }
            guard bounds.count == 2, bounds[0] <= bounds[1] else {
                throw uniform.refusal("must be the shortest and the longest delay in seconds, as in [0.1, 0.5]")
            }
            return .uniform(bounds[0]...bounds[1])
        }
        if let normal = try value["normal"]?.object("mean", "deviation") {
            return .normal(
                mean: try normal.required("mean").duration(), deviation: try normal.required("deviation").duration())
        }
        if let exponential = try value["exponential"]?.object("mean") {
            return .exponential(mean: try exponential.required("mean").duration())
        }
        if let pareto = try value["pareto"]?.object("minimum", "shape") {
            return .pareto(
                minimum: try pareto.required("minimum").duration(),
                shape: try pareto.required("shape").double(0.1...100))
        }
        throw value.refusal("must be a number of seconds, or one of uniform, normal, exponential, pareto")
    }
}
