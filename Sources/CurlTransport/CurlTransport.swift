import CCurl
import HTTPCore
import Primitives

/// `HTTPTransport` over libcurl: the transport on Linux.
///
/// Messages pass unchanged: header names keep spelling and order, bodies are not decompressed, redirects are returned,
/// and nothing is added to a request but `Host` and the length. Connections are reused. An answer whose length is known
/// and at most `Configuration.maximumBufferedBytes` arrives as `.bytes`; every other one as a `.stream` as soon as its
/// headers are there, read from the network only as fast as its reader asks.
///
///     let transport = CurlTransport()
///     let answer = try await transport.send(HTTPRequest(method: .get, url: "http://127.0.0.1:8080/healthz"))
public final class CurlTransport: HTTPTransport {
    public struct Configuration: Sendable {
        /// The deadline of an exchange, answer's body included, that names none.
        public var timeout: Duration = .seconds(30)
        /// How long a connection may take to be made, TLS included. libcurl counts it, always on the machine's clock.
        public var connectTimeout: Duration = .seconds(10)
        /// Connections open at once; further requests wait for one.
        public var maximumConnections = 256
        /// Connections to one host and port.
        public var maximumConnectionsPerHost = 128
        /// The longest answer that is collected before `send` returns.
        public var maximumBufferedBytes = 1 << 20
        /// Bytes of a streamed answer that may wait for its reader.
        public var streamWindow = 256 << 10
        /// A PEM file of the authorities to trust for https; `nil` trusts the system's.
        public var certificateAuthorityFile: String?
        /// What the deadlines of exchanges are measured with. A test can pass a clock that it moves itself.
        public var clock = MonotonicClock()

        public init() {}
    }

    private let configuration: Configuration
    private let engine: CurlEngine

    public init(configuration: Configuration = .init()) {
        self.configuration = configuration
        engine = CurlEngine(configuration)
    }

    deinit { engine.stop() }

    /// Sends the request and returns its answer.
    ///
    /// Throws `HTTPError`: `invalidURL`, `invalidHeader`, `hostNotFound`, `connectionFailed`, `connectionLost`,
    /// `tlsFailed`, `timeout`, `cancelled`, `protocolError`, `bodyFailed`, `unsupported`. The stream of an answer can
    /// throw the same.
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

    /// Ends every exchange with `HTTPError.cancelled`, closes all connections, and returns when that is done. Later
    /// requests are refused the same way.
    public func shutdown() async { await engine.shutdown() }
}

extension CurlTransport {
    /// The transport that suits this platform: `URLSessionTransport` on Apple's, this one elsewhere.
    public static func platformDefault() -> any HTTPTransport {
        #if canImport(Darwin)
            URLSessionTransport()
        #else
            CurlTransport()
        #endif
    }
}
