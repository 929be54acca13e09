import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// One attempt to deliver a notification to the app's server: a POST of its signed payload.
///
///     let delivery = NotificationDelivery(transport: transport)
///     let result = try await delivery.send(signedPayload, to: "https://example.com/notifications")
///
/// Up to five redirects are followed as POST, but not status 303, and not from https to http. The body of the response
/// is read up to `answerLimit`; `send` discards it.
struct NotificationDelivery: Sendable {
    let transport: any HTTPTransport
    /// The timeout of the attempt in real time, with its redirects and the body of the last response.
    var deadline = Duration.seconds(30)

    /// The maximum number of bytes of a response that are read. Later bytes do not change the result.
    static let answerLimit = 64 << 10

    /// Sends the notification and returns Apple's result for it. Throws if the task is cancelled.
    func send(
        _ signedPayload: String, to url: String
    ) async throws(CancellationError) -> AppStoreServerAPI.SendAttemptResult {
        try await exchange(signedPayload, to: url).result
    }

    /// Sends a signed payload and returns Apple's result for it, with at most `answerLimit` bytes of the response. Throws
    /// if the task is cancelled.
    func exchange(
        _ signedPayload: String, to url: String
    ) async throws(CancellationError) -> (result: AppStoreServerAPI.SendAttemptResult, body: [UInt8]) {
        let end = ContinuousClock.now + deadline
        let body = HTTPBody.json(["signedPayload": .string(signedPayload)])
        var trail = RedirectTrail(from: url)
        while true {
            let answer: HTTPResponse
            let content: [UInt8]
            do {
                let request = HTTPRequest(
                    method: .post, url: trail.url, headers: ["Content-Type": "application/json"], body: body,
                    timeout: max(end - .now, .milliseconds(1)))
                answer = try await transport.send(request)
                content = try await Self.content(of: answer.body)
            } catch {
                if Task.isCancelled { throw CancellationError() }
                return (.init(error), [])
            }
            guard RedirectTrail.statuses.contains(answer.status) else { return (.init(answer), content) }
            if let result = trail.follow(answer.headers["Location"]) { return (result, []) }
        }
    }

    private static func content(of body: HTTPBody) async throws -> [UInt8] {
        guard case .stream(let stream) = body else { return Array((body.buffered ?? []).prefix(answerLimit)) }
        var content: [UInt8] = []
        while content.count < answerLimit, let chunk = try await stream.next() { content += chunk }
        stream.cancel()
        return content
    }
}

/// The URLs of an attempt's redirects.
struct RedirectTrail: Sendable {
    /// The URL of the next request.
    private(set) var url: String
    private var visited: Set<ExactString>

    /// The statuses that are followed with a POST.
    static let statuses: Set<Int> = [301, 302, 307, 308]
    static let limit = 5

    init(from url: String) {
        self.url = url
        visited = [ExactString(url)]
    }

    /// Follows `location`, the value of the header. Returns the result of the attempt if that is impossible.
    mutating func follow(_ location: String?) -> AppStoreServerAPI.SendAttemptResult? {
        guard let target = Self.resolve(location ?? "", against: url) else { return .invalidResponse }
        if Self.isSecure(url), !Self.isSecure(target) { return .unsuccessfulHttpResponseCode }
        guard visited.count <= Self.limit, visited.insert(ExactString(target)).inserted else {
            return .circularRedirect
        }
        url = target
        return nil
    }

    private static func isSecure(_ url: String) -> Bool { url.lowercased().hasPrefix("https:") }

    /// Returns `location` as an absolute http or https URL without a fragment (RFC 9110 section 10.2.2).
    private static func resolve(_ location: String, against url: String) -> String? {
        guard !location.isEmpty, let base = URL(string: url), let target = URL(string: location, relativeTo: base),
            var parts = URLComponents(url: target, resolvingAgainstBaseURL: true),
            ["http", "https"].contains(parts.scheme?.lowercased()), parts.host?.isEmpty == false
        else { return nil }
        parts.fragment = nil
        return parts.string
    }
}

extension AppStoreServerAPI.SendAttemptResult {
    /// The results of attempts that failed.
    static let failures: [Self] = [
        .timedOut, .tlsIssue, .circularRedirect, .noResponse, .socketIssue, .unsupportedCharset, .invalidResponse,
        .prematureClose, .unsuccessfulHttpResponseCode, .other,
    ]

    /// Creates the result of an attempt from its last response.
    init(_ answer: HTTPResponse) {
        switch answer.status {
        case 200...206: self = Self.hasKnownCharset(answer.headers["Content-Type"]) ? .success : .unsupportedCharset
        case 100...599: self = .unsuccessfulHttpResponseCode
        default: self = .invalidResponse
        }
    }

    /// Creates the result of an attempt for which the transport threw `error`.
    init(_ error: any Error) {
        self = (error as? HTTPError).flatMap { Self.results[$0.code] } ?? .other
    }

    private static let results: [HTTPError.Code: Self] = [
        .timeout: .timedOut, .tlsFailed: .tlsIssue, .noAnswer: .noResponse, .connectionLost: .prematureClose,
        .bodyFailed: .prematureClose, .hostNotFound: .socketIssue, .connectionFailed: .socketIssue,
        .protocolError: .invalidResponse, .bodyTooLarge: .invalidResponse,
    ]

    /// Whether the charset is known. The body is not decoded, but an unknown charset is a fault of the server.
    private static func hasKnownCharset(_ contentType: String?) -> Bool {
        for parameter in (contentType ?? "").split(separator: ";").dropFirst() {
            let parts = parameter.split(separator: "=", maxSplits: 1).map {
                $0.trimmingCharacters(in: CharacterSet(charactersIn: " \t\"")).lowercased()
            }
            if parts.count == 2, parts[0] == "charset" { return charsets.contains(parts[1]) }
        }
        return true
    }

    /// The charsets of common web servers. Apple does not document which it supports.
    private static let charsets: Set<String> = [
        "utf-8", "utf8", "utf-16", "utf-16be", "utf-16le", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15", "latin1",
        "windows-1252",
    ]
}
