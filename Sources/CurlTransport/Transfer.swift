import CCurl
import HTTPCore
import Primitives

/// One exchange on the engine's thread.
///
/// Sendable: after `init` only the engine's thread uses the mutable state, in commands and in libcurl's callbacks.
/// `feed` and `pipe` have their own locks.
final class Transfer: @unchecked Sendable {
    private enum Phase {
        case headers
        /// A short response is collected before it is delivered.
        case collecting(HTTPResponse)
        /// The response is delivered. Its body goes to the pipe.
        case streaming(BodyPipe)
    }

    let deadline: ContinuousClock.Instant
    var isCancelled = false
    private(set) var handle: UnsafeMutableRawPointer?

    private let request: PreparedRequest
    private let maximumBufferedBytes: Int
    private let streamWindow: Int
    private let engine: CurlEngine
    /// Keeps the transport alive as long as a response stream exists.
    private let owner: CurlTransport
    /// The promise on which `send` waits for the response.
    var answer: Promise<HTTPResponse>?
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var parser = ResponseHeaderParser()
    private var phase = Phase.headers
    private var collected: [UInt8] = []
    private var feed: BodyFeed?
    private var sent = 0
    private var sendingFailure: HTTPError?

    init(
        _ request: PreparedRequest, _ configuration: CurlTransport.Configuration, engine: CurlEngine,
        owner: CurlTransport
    ) {
        self.request = request
        self.engine = engine
        self.owner = owner
        maximumBufferedBytes = configuration.maximumBufferedBytes
        streamWindow = configuration.streamWindow
        deadline = configuration.clock.now + request.timeout
    }

    /// The error for a transfer whose deadline passed.
    var timeout: HTTPError {
        HTTPError(.timeout, "The exchange was not complete within \(request.timeout).")
    }

    // MARK: - Lifecycle

    var origin: String { request.origin }

    func begin(on handle: UnsafeMutableRawPointer) {
        self.handle = handle
        headerList = request.configure(handle)
        let context = Unmanaged.passUnretained(self).toOpaque()
        souk_curl_set_callback(handle, CURLOPT_HEADERFUNCTION, Self.onHeader, CURLOPT_HEADERDATA, context)
        souk_curl_set_callback(handle, CURLOPT_WRITEFUNCTION, Self.onBody, CURLOPT_WRITEDATA, context)
        guard case .stream(let stream) = request.body else { return }
        souk_curl_set_callback(handle, CURLOPT_READFUNCTION, Self.onRead, CURLOPT_READDATA, context)
        let feed = BodyFeed(stream) { [engine, self] in engine.post(.proceed(self)) }
        self.feed = feed
        feed.start()
    }

    func outcome(of result: CURLcode) -> Result<Void, HTTPError> {
        if let sendingFailure { return .failure(sendingFailure) }
        return result == CURLE_OK ? .success(()) : .failure(HTTPError(reportedByCurl: result))
    }

    /// Delivers the outcome once and releases all resources. At this point libcurl does not use the handle.
    func end(_ outcome: Result<Void, HTTPError>) {
        handle = nil
        feed?.cancel()
        feed = nil
        curl_slist_free_all(headerList)
        headerList = nil
        switch (phase, outcome) {
        case (.streaming(let pipe), .success): pipe.finish(nil)
        case (.streaming(let pipe), .failure(let error)): pipe.finish(error)
        case (.collecting(var response), .success):
            response.body = .bytes(collected)
            answer?.resolve(.success(response))
        case (.headers, .success):
            answer?.resolve(.failure(HTTPError(.connectionLost, "The connection ended within the answer's headers.")))
        case (_, .failure(let error)):
            answer?.resolve(.failure(error))
        }
        answer = nil
        collected = []
    }

    // MARK: - The answer

    private func receiveHeader(_ line: UnsafeRawBufferPointer) {
        guard case .headers = phase, let (status, headers) = parser.read(line) else { return }
        let response = HTTPResponse(status: status, headers: headers)
        let length = headers["Transfer-Encoding"] == nil ? headers["Content-Length"].flatMap { Int($0) } : nil
        let hasNoBody = request.method == .head || status == 204 || status == 304
        if hasNoBody || length.map({ $0 <= maximumBufferedBytes }) ?? false {
            phase = .collecting(response)
            if !hasNoBody { collected.reserveCapacity(length ?? 0) }
        } else {
            deliver(response, streamOf: length)
        }
    }

    private func deliver(_ response: HTTPResponse, streamOf length: Int?) {
        let pipe = BodyPipe(window: streamWindow) { [engine, self] in engine.post(.proceed(self)) }
        phase = .streaming(pipe)
        var response = response
        response.body = .stream(
            HTTPBodyStream(length: length) { [self] in
                try await withTaskCancellationHandler {
                    try await pipe.next()
                } onCancel: {
                    engine.cancel(self)
                }
            } cancel: { [self] in
                engine.cancel(self)
            })
        answer?.resolve(.success(response))
        answer = nil
    }

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch phase {
        case .headers: return 0
        case .collecting: collected.append(contentsOf: bytes)
        case .streaming(let pipe):
            guard pipe.offer(bytes) else { return souk_curl_write_pause }
        }
        return bytes.count
    }

    // MARK: - The request's body

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let feed, case .stream(let stream) = request.body else { return souk_curl_read_abort }
        switch feed.take(into: buffer) {
        case .wait: return souk_curl_read_pause
        case .bytes(let count):
            sent += count
            guard let length = stream.length, sent > length else { return count }
        case .end:
            guard let length = stream.length, sent != length else { return 0 }
        case .failed(let error):
            sendingFailure =
                error as? HTTPError ?? HTTPError(.bodyFailed, "The request's body stream failed.", underlying: error)
            return souk_curl_read_abort
        }
        sendingFailure = HTTPError(.bodyFailed, "The request's body stream does not have its stated length.")
        return souk_curl_read_abort
    }

    // MARK: - Callbacks

    private static func transfer(_ context: UnsafeMutableRawPointer) -> Transfer {
        Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    private static let onHeader: souk_curl_callback = { bytes, size, count, context in
        guard let context else { return 0 }
        Transfer.transfer(context).receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
        return size * count
    }

    private static let onBody: souk_curl_callback = { bytes, size, count, context in
        guard let context else { return 0 }
        return Transfer.transfer(context).receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }

    private static let onRead: souk_curl_callback = { bytes, size, count, context in
        guard let context else { return souk_curl_read_abort }
        return Transfer.transfer(context).fill(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }
}
