import Foundation
import HTTPCore
import PluginHub
import Primitives

/// Redirects requests to another server, another version of an API or another machine.
///
///     MapRemoteFloret([
///         .init(
///             "local", from: .init(host: "api.example.com", path: "/v1/**"),
///             to: .init(protocol: .http, host: "127.0.0.1", port: 8080, path: "/v2/$1"))
///     ])
///
/// The enabled mappings are applied in order, each to the result of the previous mapping. A `Host` header is updated
/// with the URL. A request that already has a result is not changed.
public final class MapRemoteFloret: InterceptableFloret, DisplayableFloret {
    /// The mappings in the order in which they are applied.
    public let mappings: [Mapping]
    private let power: Switch
    /// The indices of the disabled mappings.
    private let disabledMappings: Locked<Set<Int>>

    /// Creates a floret.
    ///
    /// - Parameters:
    ///   - mappings: The mappings in the order in which they are applied.
    ///   - enabled: Whether the floret is initially enabled.
    public init(_ mappings: [Mapping], enabled: Bool = true) {
        self.mappings = mappings
        power = Switch(enabled)
        disabledMappings = Locked(Set(mappings.indices.filter { !mappings[$0].isInitiallyEnabled }))
    }

    public var summary: String? { "Redirects requests to other servers." }

    public var enabled: Bool {
        get { power.isOn }
        set { power.isOn = newValue }
    }

    /// Enables or disables all mappings with a name, for requests that begin from now on.
    ///
    /// - Parameters:
    ///   - name: The name of the mappings.
    ///   - enabled: Whether the mappings are enabled.
    public func setMapping(_ name: String, enabled: Bool) {
        let indices = mappings.indices.filter { mappings[$0].name.hasSameBytes(as: name) }
        disabledMappings.withLock { if enabled { $0.subtract(indices) } else { $0.formUnion(indices) } }
    }

    public func willRequest(_ record: Record) async -> Record {
        guard record.result == nil else { return record }
        let disabledMappings = disabledMappings.withLock { $0 }
        var record = record
        for (index, mapping) in mappings.enumerated() where !disabledMappings.contains(index) {
            guard let url = mapping.url(for: record.designatedRequest.url) else { continue }
            record.designatedRequest.redirect(to: url)
        }
        return record
    }

    public func view(_ interceptor: Interceptor) -> ViewDocument? {
        let disabledMappings = disabledMappings.withLock { $0 }
        let rows: [ViewDocument.Row] = mappings.enumerated().map { index, mapping in
            .toggle(
                id: "mapping\(index)", label: "\(mapping.name): \(mapping.source) → \(mapping.destination)",
                isOn: !disabledMappings.contains(index),
                action: .init("mapRemote.switch", values: ["mapping": .number(index)]))
        }
        return ViewDocument(title: name, sections: [.init(title: "Mappings", rows: rows)])
    }

    public func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
        guard action.id == "mapRemote.switch" else { throw unknown(action) }
        let index = try action.index("mapping", below: mappings.count)
        let isOn = try action.bool("mapping\(index)")
        disabledMappings.withLock { if isOn { $0.remove(index) } else { $0.insert(index) } }
    }
}

extension MapRemoteFloret {
    /// Parts of a URL. In a source, an absent part matches anything; in a destination, it is left unchanged.
    public struct Location: Sendable, Hashable {
        /// The schemes of HTTP.
        public enum Scheme: String, Sendable, Hashable, CaseIterable { case http, https }

        /// The scheme.
        public var `protocol`: Scheme?
        /// The host, compared without case. In a source, `*.example.com` matches every host below `example.com`. The
        /// brackets of an IPv6 address are optional.
        public var host: String?
        /// The port. In a source, the default port of the scheme also matches a URL without a port.
        public var port: Int?
        /// The path. In a source, `*` matches any characters within a segment and `**` matches any characters. In a
        /// destination, `$1` to `$9` insert the matched parts. The path `/` equals the empty path.
        public var path: String?
        /// The query, with or without its `?`. An empty string means no query.
        public var query: String?

        /// Creates a location.
        ///
        /// - Parameters:
        ///   - protocol: The scheme.
        ///   - host: The host.
        ///   - port: The port.
        ///   - path: The path.
        ///   - query: The query, with or without its `?`.
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

    /// Redirects requests from a source to a destination.
    public struct Mapping: Sendable {
        /// The name.
        public let name: String
        /// The URLs that are redirected.
        public let source: Location
        /// The parts that replace those of the URL.
        public let destination: Location
        let isInitiallyEnabled: Bool
        private let path: NSRegularExpression?

        /// Creates a mapping.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - source: The URLs that are redirected.
        ///   - destination: The parts that replace those of the URL.
        ///   - enabled: Whether the mapping is initially enabled.
        public init(_ name: String, from source: Location, to destination: Location, enabled: Bool = true) {
            self.name = name
            self.source = source
            self.destination = destination
            isInitiallyEnabled = enabled
            path = source.path.flatMap { try? NSRegularExpression(pattern: Self.expression($0)) }
        }

        /// Returns the URL to which a request to `url` is redirected, or `nil` if the source does not match it.
        public func url(for url: String) -> String? {
            guard var parts = URLParts(url), source.matches(parts) else { return nil }
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

        /// Returns `template` with `$1` to `$9` replaced.
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
    /// Whether this source matches the URL, without regard to its path.
    fileprivate func matches(_ url: URLParts) -> Bool {
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
