import CCurl
import HTTPCore
import Primitives

/// An `HTTPTransport` over libcurl, for Linux.
///
/// Messages pass unchanged: header names keep their spelling and order, bodies are not decompressed, and redirects are
/// not followed. The transport adds only `Host` and, from the body, `Content-Length` or `Transfer-Encoding`. It ignores
/// `Content-Length` and `Transfer-Encoding` in the request's headers. It reuses connections.
///
/// The body of a response is `.bytes` if its length is known and at most `Configuration.maximumBufferedBytes`.
/// Otherwise it is a `.stream`, and the response is returned when its headers are complete. A stream reads from the
/// network only as fast as its reader consumes it.
///
///     let transport = CurlTransport()
///     let response = try await transport.send(HTTPRequest(method: .get, url: "http://127.0.0.1:8080/healthz"))
public final class CurlTransport: HTTPTransport {
    /// The timeouts and limits of a transport.
    public struct Configuration: Sendable {
        /// The timeout of an exchange, including the response body, for a request that sets none.
        public var timeout: Duration = .seconds(30)
        /// The timeout for opening a connection, including TLS. libcurl always measures it with the machine's clock.
        public var connectTimeout: Duration = .seconds(10)
        /// The maximum number of open connections. Further requests wait for a free one.
        public var maximumConnections = 256
        /// The maximum number of open connections to one host and port.
        public var maximumConnectionsPerHost = 128
        /// The longest response body, in bytes, that `send` collects before it returns.
        public var maximumBufferedBytes = 1 << 20
        /// The maximum number of bytes of a streamed response that are buffered for its reader.
        public var streamWindow = 256 << 10
        /// A PEM file with the certificate authorities to trust for https, or `nil` for those of the system.
        public var certificateAuthorityFile: String?
        /// The clock that measures the timeouts of exchanges. A test can pass a clock that it moves itself.
        public var clock = MonotonicClock()

        /// Creates a configuration with the default values.
        public init() {}
    }

    private let configuration: Configuration
    private let engine: CurlEngine

    /// Creates a transport. It opens connections when it sends requests.
    ///
    /// - Parameter configuration: The timeouts and limits.
    public init(configuration: Configuration = .init()) {
        self.configuration = configuration
        engine = CurlEngine(configuration)
    }

    deinit { engine.stop() }

    /// Sends a request and returns its response.
    ///
    /// The stream of a response can throw the same errors.
    ///
    /// - Parameter request: A request with an absolute URL.
    /// - Returns: The response, whatever its status.
    /// - Throws: `HTTPError` with one of the codes `invalidURL`, `invalidHeader`, `hostNotFound`, `connectionFailed`,
    ///   `noAnswer`, `connectionLost`, `tlsFailed`, `timeout`, `cancelled`, `protocolError`, `bodyFailed` and
    ///   `unsupported`.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let prepared = try PreparedRequest(request, configuration)
        let transfer = Transfer(prepared, configuration, engine: engine, owner: self)
        return try await withTaskCancellationHandler {
            let answer = Promise<HTTPResponse>()
            if !engine.post(.start(transfer, answer)) { throw CurlEngine.shutDown }
            return try await answer.value()
        } onCancel: {
            engine.cancel(transfer)
        }
    }

    /// Ends every exchange with `HTTPError.cancelled`, closes all connections, and then returns. Later requests fail
    /// with the same error.
    public func shutdown() async { await engine.shutdown() }
}

extension CurlTransport {
    /// Returns a transport for this platform: `URLSessionTransport` on Apple platforms, otherwise a `CurlTransport`.
    public static func platformDefault() -> any HTTPTransport {
        #if canImport(Darwin)
            URLSessionTransport()
        #else
            CurlTransport()
        #endif
    }
}
