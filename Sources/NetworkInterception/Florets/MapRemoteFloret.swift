import Foundation
import HTTPCore
import PluginHub
import Primitives

/// Sends requests elsewhere: to a test server, to another version of an API, to the machine of a colleague.
///
///     MapRemoteFloret([
///         .init(
///             "local", from: .init(host: "api.example.com", path: "/v1/**"),
///             to: .init(protocol: .http, host: "127.0.0.1", port: 8080, path: "/v2/$1"))
///     ])
///
/// The mappings that are switched on are applied in their order, each to what those before it made of the URL. A `Host`
/// header follows the URL. A request that a floret has answered already stays as it is.
public final class MapRemoteFloret: InterceptableFloret, DisplayableFloret {
    /// The mappings in the order they are applied.
    public let mappings: [Mapping]
    private let power: Switch
    /// The mappings that are switched off.
    private let off: Locked<Set<Int>>

    public init(_ mappings: [Mapping], enabled: Bool = true) {
        self.mappings = mappings
        power = Switch(enabled)
        off = Locked(Set(mappings.indices.filter { !mappings[$0].isInitiallyEnabled }))
    }

    public var summary: String? { "Sends requests elsewhere." }

    public var enabled: Bool {
        get { power.isOn }
        set { power.isOn = newValue }
    }

    /// Switches all mappings of this name on or off, from the next request on.
    public func setMapping(_ name: String, enabled: Bool) {
        let indices = mappings.indices.filter { mappings[$0].name.hasSameBytes(as: name) }
        off.withLock { if enabled { $0.subtract(indices) } else { $0.formUnion(indices) } }
    }

    public func willRequest(_ record: Record) async -> Record {
        guard record.result == nil else { return record }
        let off = off.withLock { $0 }
        var record = record
        for (index, mapping) in mappings.enumerated() where !off.contains(index) {
            guard let url = mapping.url(for: record.designatedRequest.url) else { continue }
            record.designatedRequest.redirect(to: url)
        }
        return record
    }

    public func view(_ interceptor: Interceptor) -> ViewDocument? {
        let off = off.withLock { $0 }
        let rows: [ViewDocument.Row] = mappings.enumerated().map { index, mapping in
            .toggle(
                id: "mapping\(index)", label: "\(mapping.name): \(mapping.source) → \(mapping.destination)",
                isOn: !off.contains(index), action: .init("mapRemote.switch", values: ["mapping": .number(index)]))
        }
        return ViewDocument(title: name, sections: [.init(title: "Mappings", rows: rows)])
    }

    public func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
        guard action.id == "mapRemote.switch" else { throw unknown(action) }
        let index = try action.index("mapping", below: mappings.count)
        let isOn = try action.bool("mapping\(index)")
        off.withLock { if isOn { $0.remove(index) } else { $0.insert(index) } }
    }
}

extension MapRemoteFloret {
    /// What a location does not say is anything in a source, and stays as it was in a destination.
    public struct Location: Sendable, Hashable {
        public enum Scheme: String, Sendable, Hashable, CaseIterable { case http, https }

        public var `protocol`: Scheme?
        /// Compared without case; as a source `*.example.com` is every host below `example.com`. An address of IPv6 with
        /// or without its brackets.
        public var host: String?
        /// As a source it also matches the protocol's own port where the URL names none.
        public var port: Int?
        /// As a source `*` stands for anything within a segment and `**` for anything, and a destination takes what they
        /// stood for as `$1`, `$2`, … `/` and the empty path are one.
        public var path: String?
        /// With or without its `?`; empty is no query.
        public var query: String?

        public init(
            protocol: Scheme? = nil, host: String? = nil, port: Int? = nil, path: String? = nil, query: String? = nil
        ) {
            self.protocol = `protocol`
            self.host = host.map { $0.filter { $0 == ":" }.count > 1 && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
            self.port = port
            self.path = path
            self.query = query.map { $0.hasPrefix("?") ? String($0.dropFirst()) : $0 }
        }
    }

    /// Where requests to `source` go instead.
    public struct Mapping: Sendable {
        public let name: String
        public let source: Location
        public let destination: Location
        let isInitiallyEnabled: Bool
        private let path: NSRegularExpression?

        public init(_ name: String, from source: Location, to destination: Location, enabled: Bool = true) {
            self.name = name
            self.source = source
            self.destination = destination
            isInitiallyEnabled = enabled
            path = source.path.flatMap { try? NSRegularExpression(pattern: Self.expression($0)) }
        }

        /// Where a request to `url` goes; `nil` when it is not from the source.
        public func url(for url: String) -> String? {
            guard var parts = URLParts(url), source.covers(parts) else { return nil }
            let written = parts.path.isEmpty ? "/" : parts.path
            let whole = NSRange(written.startIndex..., in: written)
            let match = path?.firstMatch(in: written, range: whole)
            guard path == nil || match != nil else { return nil }
            if let scheme = destination.protocol { parts.scheme = scheme.rawValue }
            if let host = destination.host { parts.host = host }
            if let port = destination.port { parts.port = port }
            if let query = destination.query { parts.query = query.isEmpty ? nil : query }
            if let template = destination.path {
                parts.path = Self.filled(template) { number in
                    guard let match, number < match.numberOfRanges,
                        let range = Range(match.range(at: number), in: written)
                    else { return "" }
                    return String(written[range])
                }
                if !parts.path.hasPrefix("/") { parts.path = "/" + parts.path }
            }
            return parts.text
        }

        private static func expression(_ pattern: String) -> String {
            let pattern = pattern.hasPrefix("/") || pattern.hasPrefix("**") ? pattern : "/" + pattern
            var expression = "\\A"
            var rest = pattern[...]
            while let first = rest.first {
                if rest.hasPrefix("**") {
                    expression += "(.*)"
                    rest = rest.drop { $0 == "*" }
                } else {
                    expression += first == "*" ? "([^/]*)" : NSRegularExpression.escapedPattern(for: String(first))
                    rest = rest.dropFirst()
                }
            }
            return expression + "\\z"
        }

        /// `template` with `$1` to `$9` replaced.
        private static func filled(_ template: String, _ part: (Int) -> String) -> String {
            var filled = ""
            var rest = template[...]
            while let dollar = rest.firstIndex(of: "$") {
                filled += rest[..<dollar]
                rest = rest[rest.index(after: dollar)...]
                if let digit = rest.first, digit.isASCII, let number = digit.wholeNumberValue, number > 0 {
                    filled += part(number)
                    rest = rest.dropFirst()
                } else {
                    filled += "$"
                }
            }
            return filled + rest
        }
    }
}

extension MapRemoteFloret.Location {
    /// Whether a URL is from here, its path aside.
    fileprivate func covers(_ url: URLParts) -> Bool {
        if let scheme = self.protocol, !url.scheme.equalsIgnoringCase(scheme.rawValue) { return false }
        if let host {
            let (wanted, given) = (host.lowercased(), url.host.lowercased())
            guard wanted.hasPrefix("*.") ? given.hasSuffix(wanted.dropFirst()) : given == wanted else { return false }
        }
        if let port, url.effectivePort != port { return false }
        if let query, query != url.query ?? "" { return false }
        return true
    }
}

extension MapRemoteFloret.Location: CustomStringConvertible {
    public var description: String {
        "\(self.protocol?.rawValue ?? "*")://\(host ?? "*")\(port.map { ":\($0)" } ?? "")\(path ?? "/**")"
            + (query.map { $0.isEmpty ? "" : "?\($0)" } ?? "")
    }
}
