/// The names of headers whose values are secrets. Redaction replaces these values wherever a message is stored or
/// displayed.
public struct SensitiveHeaders: Sendable {
    /// The text that replaces a secret value.
    public static let replacement = "[redacted]"

    /// The credential headers of HTTP, of Souk's own API and of common gateways.
    public static let standard = SensitiveHeaders([
        "Authorization", "Proxy-Authorization", "Authentication-Info", "Proxy-Authentication-Info", "Cookie",
        "Set-Cookie", "x-api-key", "api-key", "Souk-Customer-Token", "X-Auth-Token", "X-Access-Token", "X-CSRF-Token",
        "X-Amz-Security-Token", "X-Goog-Api-Key", "Stripe-Signature",
    ])

    /// The names by length, because few names have the length of the name to find.
    private let names: [[String]]

    /// Creates a set of header names.
    ///
    /// - Parameter names: The names, in any case.
    public init(_ names: some Sequence<String>) {
        let names = Set(names.map { $0.lowercased() })
        self.names = (0...(names.map(\.utf8.count).max() ?? 0)).map { length in
            names.filter { $0.utf8.count == length }
        }
    }

    /// Returns a set that also contains further names.
    ///
    /// - Parameter more: The names to add, in any case.
    /// - Returns: The larger set.
    public func adding(_ more: some Sequence<String>) -> SensitiveHeaders {
        SensitiveHeaders(names.joined() + Array(more))
    }

    /// Returns whether a header is sensitive.
    ///
    /// - Parameter name: The name of the header, in any case.
    /// - Returns: Whether the set contains the name.
    public func contains(_ name: String) -> Bool {
        let length = name.utf8.count
        return length < names.count && names[length].contains { $0.equalsIgnoringCase(name) }
    }

    /// Returns the same fields, in the same spelling and order, with every secret value replaced.
    ///
    /// - Parameter headers: The fields to redact.
    /// - Returns: The redacted fields.
    public func redacted(_ headers: HTTPHeaders) -> HTTPHeaders {
        HTTPHeaders(
            headers.fields.map { field in
                contains(field.name) ? .init(name: field.name, value: Self.replacement) : field
            })
    }
}

extension HTTPHeaders {
    /// Returns these headers with every secret value replaced.
    ///
    /// - Parameter sensitive: The names of the secret headers.
    /// - Returns: The redacted headers.
    public func redacted(_ sensitive: SensitiveHeaders = .standard) -> HTTPHeaders { sensitive.redacted(self) }
}
