import Foundation
import Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An `HTTPTransport` over URLSession, for Apple platforms.
///
/// Bodies are buffered in both directions, up to `Configuration.maximumBodyBytes`. Cookies and caches are disabled.
/// Redirects are returned, not followed. The transport enforces the timeout of a request itself.
///
/// Use `CurlTransport` on Linux, where URLSession changes the spelling of header names, joins repeated headers and
/// loses their order.
public final class URLSessionTransport: HTTPTransport {
    /// The timeout of a transport and the size limit of its bodies.
    public struct Configuration: Sendable {
        /// The timeout of a request that sets none.
        public var timeout: Duration = .seconds(30)
        /// The longest body, in bytes, that is sent or accepted. A longer one throws `HTTPError.bodyTooLarge`.
        public var maximumBodyBytes = 64 << 20

        /// Creates a configuration with the default values.
        public init() {}
    }

    private let configuration: Configuration
    private let session: URLSession
    private let delegate: SessionDelegate

    /// Creates a transport with a session of its own.
    ///
    /// - Parameter configuration: The timeout and the size limit of bodies.
    public init(configuration: Configuration = .init()) {
        let settings = URLSessionConfiguration.ephemeral
        settings.urlCache = nil
        settings.httpCookieStorage = nil
        settings.httpShouldSetCookies = false
        settings.requestCachePolicy = .reloadIgnoringLocalCacheData
        self.configuration = configuration
        delegate = SessionDelegate(maximumBodyBytes: configuration.maximumBodyBytes)
        session = URLSession(configuration: settings, delegate: delegate, delegateQueue: nil)
    }

    deinit { session.invalidateAsynchronously() }

    /// Sends a request and returns its response.
    ///
    /// - Parameter request: A request with an absolute URL.
    /// - Returns: The response, whatever its status.
    /// - Throws: `HTTPError` with the code `invalidURL`, `invalidHeader`, `timeout`, `cancelled` or `bodyTooLarge`, or
    ///   with a code for the error of the session.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let prepared = try await prepare(request)
        let (session, delegate) = (session, delegate)
        return try await withDeadline(request.timeout ?? configuration.timeout) {
            let task = session.dataTask(with: prepared)
            return try await withTaskCancellationHandler {
                let answer = delegate.begin(task)
                // Handles a cancellation that came before the exchange was registered.
                if Task.isCancelled { delegate.abandon(task) }
                return try await answer.value()
            } onCancel: {
                delegate.abandon(task)
            }
        }
    }

    private func prepare(_ request: HTTPRequest) async throws -> URLRequest {
        try request.headers.validate()
        guard let url = URL(string: request.url, encodingInvalidCharacters: false), url.host?.isEmpty == false,
            ["http", "https"].contains(url.scheme?.lowercased())
        else { throw HTTPError(.invalidURL, "The URL must be an absolute http or https URL, percent-encoded.") }
        var prepared = URLRequest(url: url)
        prepared.httpMethod = request.method.rawValue
        for field in request.headers where !field.name.equalsIgnoringCase("Content-Length") {
            prepared.addValue(field.value, forHTTPHeaderField: field.name)
        }
        let body = try await request.body.collect(upTo: configuration.maximumBodyBytes)
        if !body.isEmpty { prepared.httpBody = Data(body) }
        return prepared
    }
}

private final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct Exchange {
        let answer = Promise<HTTPResponse>()
        var body: [UInt8] = []
    }

    private let maximumBodyBytes: Int
    private let exchanges = Locked<[Int: Exchange]>([:])

    init(maximumBodyBytes: Int) { self.maximumBodyBytes = maximumBodyBytes }

    func begin(_ task: URLSessionTask) -> Promise<HTTPResponse> {
        let (key, exchange) = (task.taskIdentifier, Exchange())
        exchanges.withLock { $0[key] = exchange }
        task.resume()
        return exchange.answer
    }

    /// Ends the exchange at once. The session can report the cancellation of a task late, or never.
    func abandon(_ task: URLSessionTask) {
        task.cancelAsynchronously()
        let exchange = exchanges.withLock { [key = task.taskIdentifier] in $0.removeValue(forKey: key) }
        exchange?.answer.resolve(.failure(HTTPError(.cancelled, "The request was cancelled.")))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let (key, limit) = (dataTask.taskIdentifier, maximumBodyBytes)
        let oversized = exchanges.withLock { exchanges -> Exchange? in
            guard var exchange = exchanges.removeValue(forKey: key) else { return nil }
            guard data.count <= limit - exchange.body.count else { return exchange }
            exchange.body += data
            exchanges[key] = exchange
            return nil
        }
        guard let oversized else { return }
        dataTask.cancelAsynchronously()
        oversized.answer.resolve(
            .failure(HTTPError(.bodyTooLarge, "The body of the response is longer than the \(limit) bytes allowed.")))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(task, error)
    }

    private func end(_ task: URLSessionTask, _ error: (any Error)? = nil) {
        let key = task.taskIdentifier
        guard let exchange = exchanges.withLock({ $0.removeValue(forKey: key) }) else { return }
        if let error {
            exchange.answer.resolve(.failure(HTTPError(reportedBySession: error)))
        } else if let response = task.response as? HTTPURLResponse {
            exchange.answer.resolve(
                .success(
                    HTTPResponse(
                        status: response.statusCode, headers: HTTPHeaders(response), body: .bytes(exchange.body))))
        } else {
            exchange.answer.resolve(.failure(HTTPError(.protocolError, "The server's response is not HTTP.")))
        }
    }

    #if !canImport(Darwin)
        /// Ends the exchange and cancels the challenge. On Linux a response 401 with a challenge does not end
        /// otherwise.
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            end(task)
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    #endif

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
