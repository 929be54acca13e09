import Foundation
import HTTPCore
import Primitives

/// A connection to one backend over an `HTTPTransport`. Repeats retryable requests, and converts every error response
/// to a `PurchaseError`.
struct ServiceConnection: Sendable {
    /// The addresses, the key and the limits.
    struct Settings: Sendable {
        /// The URL before the paths of requests.
        var baseURL: String
        /// Other URLs of the same backend.
        var otherURLs: [String] = []
        /// The credential, which is sent with every request and removed from the server's messages.
        var key: Credential
        var timeout: Duration
        var backoff: Backoff
        var maximumAnswerBytes: Int
        var sleep: @Sendable (Duration) async throws -> Void
        /// Returns a number from 0 to 1.
        var random: @Sendable () -> Double
        var answerRequirements = AnswerProof.Requirements()
    }

    /// An API key and the header that this backend requires for it.
    enum Credential: Sendable {
        case bearer(APIKey)
        case apiKeyHeader(APIKey)

        var key: APIKey {
            switch self {
            case .bearer(let key), .apiKeyHeader(let key): key
            }
        }

        var header: HTTPHeaders.Field {
            switch self {
            case .bearer(let key): .init(name: "Authorization", value: "Bearer \(key.secret)")
            case .apiKeyHeader(let key): .init(name: "x-api-key", value: key.secret)
            }
        }
    }

    struct Answer: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let bytes: [UInt8]
        /// The base URL that answered.
        let address: String
        /// Whether the answer has a valid signature.
        var isVerified = false
    }

    private let settings: Settings
    private let transport: any HTTPTransport
    private let addresses: ServiceAddresses

    init(settings: Settings, transport: any HTTPTransport) {
        self.settings = settings
        self.transport = transport
        addresses = ServiceAddresses([settings.baseURL] + settings.otherURLs)
    }

    /// Sends a request whose `url` is a path below the base URL and whose body is not a stream. Returns an answer with
    /// status 200–299 or 304.
    ///
    /// - Throws: `PurchaseError`, or `CancellationError` when the task is cancelled.
    func send(_ request: HTTPRequest) async throws -> Answer {
        var request = request
        let proof = try settings.answerRequirements.proof(for: &request)
        request.timeout = settings.timeout
        let credential = settings.key.header
        request.headers.add(credential.name, credential.value)
        var attempt = 1
        while true {
            do {
                return try await sendToAddresses(request, verifiedBy: proof)
            } catch let error as PurchaseError {
                let pause = settings.backoff.pause(
                    after: attempt, asked: error.retryAfter, spread: settings.random())
                guard error.isRetryable, let pause else { throw error }
                try await settings.sleep(pause)
                attempt += 1
            }
        }
    }

    /// Tries one address after another until one gives a final answer.
    private func sendToAddresses(_ request: HTTPRequest, verifiedBy proof: AnswerProof?) async throws -> Answer {
        var failure = PurchaseError(.unreachable)
        for address in addresses.ordered {
            try Task.checkCancellation()
            do {
                let answer = try await sendOnce(request, to: address, verifiedBy: proof)
                addresses.answered(address)
                return answer
            } catch let error as PurchaseError {
                guard error.isRetryable, [.unreachable, .serverError].contains(error.code) else {
                    addresses.answered(address)
                    throw error
                }
                failure = error
            }
        }
        throw failure
    }

    private func sendOnce(
        _ request: HTTPRequest, to address: String, verifiedBy proof: AnswerProof?
    ) async throws -> Answer {
        var answer: Answer
        do {
            let response = try await transport.send(request.below(address))
            answer = Answer(
                status: response.status, headers: response.headers,
                bytes: try await response.body.collect(upTo: settings.maximumAnswerBytes), address: address)
        } catch {
            try Task.checkCancellation()
            throw PurchaseError(transport: error)
        }
        answer.isVerified = try proof?.verify(answer) ?? false
        guard (200..<300).contains(answer.status) || answer.status == 304 else {
            throw PurchaseError(refusal: answer, isTrusted: answer.isVerified || proof == nil, key: settings.key.key)
        }
        return answer
    }
}

extension HTTPRequest {
    /// Returns the request with `address` before its path.
    fileprivate func below(_ address: String) -> HTTPRequest {
        var request = self
        request.url = address + url
        return request
    }
}

extension ServiceConnection.Answer {
    /// The server's time of the answer, to the second: its `Date` (RFC 9110 section 6.6.1). `nil` for an answer from a
    /// cache. For a signed answer, the signed date, or `nil` if it differs from `Date` by a minute or more.
    var serverTime: Date? {
        guard headers["Age"] == nil, let seconds = headers["Date"].flatMap(HTTPDate.seconds) else { return nil }
        let date = Date(timeIntervalSince1970: TimeInterval(seconds))
        guard isVerified else { return date }
        guard let signed = headers[SignedAnswer.dateField].flatMap(RFC3339.date),
            abs(signed.timeIntervalSince(date)) < 60
        else { return nil }
        return signed
    }

    func decoded<T: Decodable>(_ type: T.Type) throws(PurchaseError) -> T {
        do {
            return try WireJSON.decode(type, from: bytes)
        } catch {
            throw PurchaseError(.decodingError, underlying: error)
        }
    }

    /// Returns the problem in the body, without the key if the server repeats it.
    fileprivate func problem(without key: APIKey) -> HTTPProblem? {
        guard headers["Content-Type"]?.lowercased().hasPrefix("application/problem+json") ?? false,
            var problem = HTTPProblem(parsing: bytes)
        else { return nil }
        if !key.secret.isEmpty {
            problem.detail = problem.detail.replacingOccurrences(of: key.secret, with: key.description)
            problem.title = problem.title.replacingOccurrences(of: key.secret, with: key.description)
        }
        return problem
    }
}

extension PurchaseError {
    /// Creates an error from the error of a transport.
    init(transport error: any Error) {
        guard let error = error as? HTTPError else {
            self.init(.unreachable, underlying: error)
            return
        }
        switch error.code {
        case .bodyTooLarge, .protocolError, .invalidURL, .invalidHeader, .unsupported:
            self.init(.protocolError, "The request failed: \(error.reason)", underlying: error)
        case .tlsFailed:
            self.init(
                .unreachable, "The server's identity could not be verified; check the network and the device's date.",
                underlying: error)
        default: self.init(.unreachable, underlying: error)
        }
    }

    /// Creates an error from an answer that is neither a success nor 304. Unless `isTrusted`, ignores the body.
    fileprivate init(refusal answer: ServiceConnection.Answer, isTrusted: Bool, key: APIKey) {
        let problem = isTrusted ? answer.problem(without: key) : nil
        let code: Code =
            switch answer.status {
            case 401: .invalidKey
            case 403: .notAllowed
            case 400, 413, 422: .validationError
            case 429: .rateLimited
            case 501: .unsupported
            case 500...: .serverError
            default: .protocolError
            }
        self.init(
            code, problem.map { "The server refused (\($0.code)): \($0.detail)" },
            isRetryable: problem?.isRetryable ?? [.rateLimited, .serverError].contains(code),
            retryAfter: Self.retryAfter(answer.headers["Retry-After"]), underlying: problem)
    }

    /// Returns the seconds in `Retry-After`. For its other form, a date, the retry schedule decides.
    private static func retryAfter(_ text: String?) -> Duration? {
        guard let text, let seconds = Int(text.trimmingCharacters(in: .whitespaces)), (0...86_400).contains(seconds)
        else { return nil }
        return .seconds(seconds)
    }
}
