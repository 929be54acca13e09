import HTTPCore

/// What is taken out of a record before anybody stores, shows or exports it. The traffic itself is not touched.
///
///     configuration.redaction = .standard.adding(queryItems: ["session"])
public struct Redaction: Sendable {
    /// Headers whose values are secrets.
    public var headers: SensitiveHeaders
    /// Query items whose values are secrets, compared without case.
    public var queryItems: Set<String>

    public init(headers: SensitiveHeaders = SensitiveHeaders([]), queryItems: Set<String> = []) {
        self.headers = headers
        self.queryItems = queryItems
    }

    /// The credentials of HTTP and of Souk.
    public static let standard = Redaction(headers: .standard, queryItems: ["access_token", "api_key", "token"])

    /// Nothing is taken out. For traffic that has no secrets.
    public static let none = Redaction()

    /// The record without its secrets.
    public func redacted(_ record: Record) -> Record {
        var record = record
        record.originalRequest.headers = record.originalRequest.headers.redacted(headers)
        record.designatedRequest.headers = record.designatedRequest.headers.redacted(headers)
        if case .success(var response)? = record.result {
            response.headers = response.headers.redacted(headers)
            record.result = .success(response)
        }
        return record
    }
}
