import Foundation
import HTTPCore
import Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends the requests of an interceptor through a URLSession. It streams responses, returns redirects and does not
/// request credentials. A streamed upload is read completely before it is sent. On Linux there is no cache.
///
/// On Linux a 401 with a challenge does not end until the challenge is cancelled, so the transport ends the response at
/// the challenge.
final class SessionTransport: HTTPTransport {
    /// The app's request, for properties that `HTTPRequest` does not have: cache policy, cookies, cellular access.
    @TaskLocal static var template: URLRequest?

    private let session: URLSession
    private let delegate = SessionDelegate()

    /// Creates a session. On Linux, removes the cache of `configuration`.
    init(_ configuration: URLSessionConfiguration) {
        #if !canImport(Darwin)
            // With a cache, a cancelled task can start. If this task ends before its cancellation is reported, the
            // process crashes.
            configuration.urlCache = nil
        #endif
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    deinit { session.invalidateAsynchronously() }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var prepared = try prepared(request)
        var upload: SpooledBody?
        switch request.body {
        case .bytes(let bytes): prepared.httpBody = bytes.isEmpty ? nil : Data(bytes)
        case .stream(let stream): upload = try await SpooledBody(stream)
        }
        let task =
            upload.map { session.uploadTask(with: prepared, fromFile: $0.file) } ?? session.dataTask(with: prepared)
        let delegate = delegate
        return try await withTaskCancellationHandler {
            let answer = delegate.begin(task, upload)
            // A cancellation before `begin` had no effect, so it is repeated.
            if Task.isCancelled { delegate.abandon(task) }
            return try await answer.value()
        } onCancel: {
            delegate.abandon(task)
        }
    }

    private func prepared(_ request: HTTPRequest) throws -> URLRequest {
        try request.headers.validate()
        guard let url = URL(string: request.url) else {
            throw HTTPError(.invalidURL, "The URL must be an absolute http or https URL, percent-encoded.")
        }
        var prepared = Self.template ?? URLRequest(url: url)
        prepared.url = url
        prepared.httpMethod = request.method.rawValue
        prepared.allHTTPHeaderFields = [:]
        for field in request.headers { prepared.addValue(field.value, forHTTPHeaderField: field.name) }
        prepared.httpBodyStream = nil
        prepared.httpBody = nil
        if let timeout = request.timeout { prepared.timeoutInterval = timeout / .seconds(1) }
        return prepared
    }
}

final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct Exchange {
        let answer = Promise<HTTPResponse>()
        /// The uploaded file, which is removed at the end of the exchange.
        let upload: SpooledBody?
        var body: AsyncThrowingStream<[UInt8], any Error>.Continuation?
    }

    private let exchanges = Locked<[Int: Exchange]>([:])

    fileprivate func begin(_ task: URLSessionTask, _ upload: SpooledBody?) -> Promise<HTTPResponse> {
        let (key, exchange) = (task.taskIdentifier, Exchange(upload: upload))
        exchanges.withLock { $0[key] = exchange }
        task.resume()
        return exchange.answer
    }

    /// Ends the wait for the head at once, because a session may report the cancellation of a task late or never.
    fileprivate func abandon(_ task: URLSessionTask) {
        let exchange = exchanges.withLock { [key = task.taskIdentifier] exchanges in
            exchanges[key]?.body == nil ? exchanges.removeValue(forKey: key) : nil
        }
        guard let exchange else { return }
        task.cancelAsynchronously()
        exchange.answer.resolve(.failure(HTTPError(.cancelled, "The request was cancelled.")))
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        defer { completionHandler(.allow) }
        guard let response = response as? HTTPURLResponse else { return }
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        let answer = exchanges.withLock { [key = dataTask.taskIdentifier] exchanges -> Promise<HTTPResponse>? in
            // Redirects that are not followed are reported twice.
            guard exchanges[key]?.body == nil else { return nil }
            exchanges[key]?.body = continuation
            return exchanges[key]?.answer
        }
        let chunks = Chunks(stream)
        let body = HTTPBodyStream(next: { try await chunks.next() }, cancel: { dataTask.cancelAsynchronously() })
        answer?.resolve(
            .success(HTTPResponse(status: response.statusCode, headers: HTTPHeaders(response), body: .stream(body))))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchanges.withLock { [key = dataTask.taskIdentifier] in $0[key]?.body }?.yield(Array(data))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = exchanges.withLock({ [key = task.taskIdentifier] in $0.removeValue(forKey: key) }) else {
            return
        }
        let failure = error.map { HTTPError(reportedBySession: $0) }
        if let body = exchange.body {
            body.finish(throwing: failure)
        } else {
            exchange.answer.resolve(
                .failure(failure ?? HTTPError(.protocolError, "The server's response is not HTTP.")))
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    #if !canImport(Darwin)
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let body = exchanges.withLock { [key = task.taskIdentifier] in $0[key]?.body }
            body?.finish()
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    #endif
}

/// The chunks of a response body.
///
/// Sendable: a body stream has one reader, which reads one chunk at a time.
private final class Chunks: @unchecked Sendable {
    private var iterator: AsyncThrowingStream<[UInt8], any Error>.Iterator

    init(_ stream: AsyncThrowingStream<[UInt8], any Error>) { iterator = stream.makeAsyncIterator() }

    func next() async throws -> [UInt8]? { try await iterator.next() }
}

/// A streamed upload as a complete file. URLSession reads upload streams on the queue that all sessions share, where a
/// stream that waits for another task can wait forever.
private final class SpooledBody: Sendable {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")

    init(_ stream: HTTPBodyStream) async throws {
        let rights: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: file.path, contents: nil, attributes: rights) else {
            throw HTTPError(.bodyFailed, "The request's body could not be written to \(file.path).")
        }
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        for try await piece in stream { try handle.write(contentsOf: piece) }
    }

    deinit { try? FileManager.default.removeItem(at: file) }
}
