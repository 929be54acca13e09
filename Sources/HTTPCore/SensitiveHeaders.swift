/// The headers whose values are secrets, and what stands in their place wherever a message is kept or shown.
public struct SensitiveHeaders: Sendable {
    /// What replaces a secret.
    public static let replacement = "[redacted]"

    /// Credentials of HTTP itself, of Souk's wire contract and of the common gateways.
    public static let standard = SensitiveHeaders([
        "Authorization", "Proxy-Authorization", "Authentication-Info", "Proxy-Authentication-Info", "Cookie",
        "Set-Cookie", "x-api-key", "api-key", "Souk-Customer-Token", "X-Auth-Token", "X-Access-Token", "X-CSRF-Token",
        "X-Amz-Security-Token", "X-Goog-Api-Key", "Stripe-Signature",
    ])

    /// By their lengths, because few names are as long as one that is looked for.
    private let names: [[String]]

    public init(_ names: some Sequence<String>) {
        let names = Set(names.map { $0.lowercased() })
        self.names = (0...(names.map(\.utf8.count).max() ?? 0)).map { length in
            names.filter { $0.utf8.count == length }
        }
    }

    /// These and more.
    public func adding(_ more: some Sequence<String>) -> SensitiveHeaders {
        SensitiveHeaders(names.joined() + Array(more))
    }

    public func contains(_ name: String) -> Bool {
        let length = name.utf8.count
        return length < names.count && names[length].contains { $0.equalsIgnoringCase(name) }
    }

    /// The same fields, spelling and order, with every secret value replaced.
    public func redacted(_ headers: HTTPHeaders) -> HTTPHeaders {
        HTTPHeaders(
            headers.fields.map { field in
                contains(field.name) ? .init(name: field.name, value: Self.replacement) : field
            })
    }
}

extension HTTPHeaders {
    /// These headers without their secrets.
    public func redacted(_ sensitive: SensitiveHeaders = .standard) -> HTTPHeaders { sensitive.redacted(self) }
}
