import Foundation
import HTTPCore
import Primitives

/// One backend behind an `HTTPTransport`: sends, repeats what may be repeated, and turns every refusal into a
/// `PurchaseError`.
struct ServiceConnection: Sendable {
    /// Where the backend is and how patiently it is asked.
    struct Settings: Sendable {
        /// Paths of requests are appended to it.
        var baseURL: String
        /// Where the same backend can be asked besides.
        var otherURLs: [String] = []
        /// Sent with every request, and cut out of whatever the server says.
        var key: Credential
        var timeout: Duration
        var backoff: Backoff
        var maximumAnswerBytes: Int
        var sleep: @Sendable (Duration) async throws -> Void
        /// A number from 0 to 1.
        var random: @Sendable () -> Double
        /// Which answers are believed.
        var proof = AnswerProof.Demand()
    }

    /// An API key and the header in which this backend wants it.
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
        /// The base URL at which it was given.
        let address: String
        /// The answer's signature was found true.
        var isProven = false
    }

    private let settings: Settings
    private let transport: any HTTPTransport
    private let addresses: ServiceAddresses

    init(settings: Settings, transport: any HTTPTransport) {
        self.settings = settings
        self.transport = transport
        addresses = ServiceAddresses([settings.baseURL] + settings.otherURLs)
    }

    /// The answer with status 200–299 or 304. The request's `url` is a path below the base URL, its body is bytes.
    ///
    /// Throws `PurchaseError`, or `CancellationError` when the task is cancelled.
    func send(_ request: HTTPRequest) async throws -> Answer {
        var request = request
        let proof = try settings.proof.proof(askedFor: &request)
        request.timeout = settings.timeout
        let credential = settings.key.header
        request.headers.add(credential.name, credential.value)
        var attempt = 1
        while true {
            do {
                return try await sendAround(request, provenBy: proof)
            } catch let error as PurchaseError {
                let pause = settings.backoff.pause(
                    after: attempt, asked: error.retryAfter, spread: settings.random())
                guard error.isRetryable, let pause else { throw error }
                try await settings.sleep(pause)
                attempt += 1
            }
        }
    }

    /// Asks one address after the other until one answers what another would not know better.
    private func sendAround(_ request: HTTPRequest, provenBy proof: AnswerProof?) async throws -> Answer {
        var failure = PurchaseError(.unreachable)
        for address in addresses.ordered {
            try Task.checkCancellation()
            do {
                let answer = try await sendOnce(request, to: address, provenBy: proof)
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
        _ request: HTTPRequest, to address: String, provenBy proof: AnswerProof?
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
        answer.isProven = try proof?.judge(answer) ?? false
        guard (200..<300).contains(answer.status) || answer.status == 304 else {
            throw PurchaseError(refusal: answer, isBelieved: answer.isProven || proof == nil, key: settings.key.key)
        }
        return answer
    }
}

extension HTTPRequest {
    /// A request whose `url` is a path, at a host.
    fileprivate func below(_ address: String) -> HTTPRequest {
        var request = self
        request.url = address + url
        return request
    }
}

extension ServiceConnection.Answer {
    /// What time it was at the server when it answered: its `Date` (RFC 9110 section 6.6.1), to the second. `nil` for what
    /// comes out of a cache, and, of a signed answer, when the signature is of another time: its date is what is proven.
    var saidAt: Date? {
        guard headers["Age"] == nil, let seconds = headers["Date"].flatMap(HTTPDate.seconds) else { return nil }
        let said = Date(timeIntervalSince1970: TimeInterval(seconds))
        guard isProven else { return said }
        guard let signed = headers[SignedAnswer.dateField].flatMap(RFC3339.date),
            abs(signed.timeIntervalSince(said)) < 60
        else { return nil }
        return signed
    }

    /// The body as one of the wire's types.
    func decoded<T: Decodable>(_ type: T.Type) throws(PurchaseError) -> T {
        do {
            return try WireJSON.decode(type, from: bytes)
        } catch {
            throw PurchaseError(.decodingError, underlying: error)
        }
    }

    /// The refusal's reasons, without the key, should the server repeat it.
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
    /// What a transport threw.
    init(transport error: any Error) {
        guard let error = error as? HTTPError else {
            self.init(.unreachable, underlying: error)
            return
        }
        switch error.code {
        case .bodyTooLarge, .protocolError, .invalidURL, .invalidHeader, .unsupported:
            self.init(.protocolError, "The server cannot be asked: \(error.reason)", underlying: error)
        case .tlsFailed:
            self.init(
                .unreachable, "The server's identity could not be verified; check the network and the device's date.",
                underlying: error)
        default: self.init(.unreachable, underlying: error)
        }
    }

    /// An answer that is neither success nor 304. What one says that proves nothing is not looked at.
    fileprivate init(refusal answer: ServiceConnection.Answer, isBelieved: Bool, key: APIKey) {
        let problem = isBelieved ? answer.problem(without: key) : nil
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

    /// The seconds of a `Retry-After`; its other form, a date, is left to the back-off.
    private static func retryAfter(_ text: String?) -> Duration? {
        guard let text, let seconds = Int(text.trimmingCharacters(in: .whitespaces)), (0...86_400).contains(seconds)
        else { return nil }
        return .seconds(seconds)
    }
}
