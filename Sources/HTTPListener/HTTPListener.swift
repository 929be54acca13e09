import Dispatch
import HTTPCore
import Primitives

/// Serves an `HTTPHandler` on a socket, over HTTP/1.1 with keep-alive, on a few threads.
///
///     let listener = HTTPListener(handler: router)
///     let address = try listener.start()      // http://127.0.0.1:40123
///     …
///     await listener.stop()
///
/// The listener sends `.ready` replies from its own thread and runs `.suspended` ones as tasks. It reads each body
/// completely before it calls the handler.
///
/// The handler receives the request target byte for byte; a target that is not UTF-8 is refused. In a header value,
/// U+FFFD replaces bytes that are not UTF-8, so a handler must refuse it in a value that identifies something.
///
/// If a request violates a size limit or a rule, the listener responds with a problem (RFC 9457) and does not call the
/// handler. After a timeout it closes the connection without a response. If the listener cannot parse a request at all,
/// libmicrohttpd responds, in HTML and without `refusalHeaders`. This applies to a malformed request line, another HTTP
/// version, a header line without a colon, a `Content-Length` that is not a 64-bit number, a malformed chunk, and
/// headers more than twice as long as allowed.
///
/// A response 304 should contain the `Content-Length` of the corresponding response 200. Without it, the connection
/// is closed.
public final class HTTPListener: Sendable {
    /// The address of a running listener.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        /// The host from the configuration.
        public let host: String
        /// The bound port.
        public let port: Int
        /// Whether the listener uses TLS.
        public let isSecure: Bool

        package init(host: String, port: Int, isSecure: Bool) {
            self.host = host
            self.port = port
            self.isSecure = isSecure
        }

        /// The base URL, without a slash at its end.
        public var url: String {
            "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
        }

        /// The base URL.
        public var description: String { url }
    }

    private enum State {
        case new, failed, stopped
        case running(Daemon)
    }

    private let handler: any HTTPHandler
    private let configuration: Configuration
    private let state = Locked(State.new)
    /// The queue on which the listener starts and stops, because both operations block their thread.
    private let control = DispatchQueue(label: "HTTPListener.control")

    /// Creates a listener. It opens its socket in ``start()``.
    ///
    /// - Parameters:
    ///   - handler: The handler that responds to the requests.
    ///   - configuration: The address and the limits.
    public init(handler: any HTTPHandler, configuration: Configuration = .init()) {
        self.handler = handler
        self.configuration = configuration
    }

    deinit {
        guard case .running(let daemon) = state.withLock({ $0 }) else { return }
        // The last reference can be released on a thread of the daemon, which cannot wait for itself.
        control.async { daemon.stop(grace: .zero) }
    }

    /// Binds the socket and starts to serve. A listener starts once.
    ///
    /// - Returns: The address of the listener.
    /// - Throws: `HTTPListenerError` with the code `addressInUse`, `invalidAddress`, `notPermitted`, `tlsFailed`,
    ///   `alreadyStarted` or `systemFailed`.
    @discardableResult public func start() throws -> Address {
        try control.sync {
            guard case .new = state.withLock({ $0 }) else {
                throw HTTPListenerError(.alreadyStarted, "A listener can be started only once; create another one.")
            }
            do {
                let daemon = try Daemon(handler: handler, configuration: configuration)
                state.withLock { $0 = .running(daemon) }
                return daemon.address
            } catch {
                state.withLock { $0 = .failed }
                throw error
            }
        }
    }

    /// The number of open connections; 0 while the listener does not run.
    package var connectionCount: Int {
        guard case .running(let daemon) = state.withLock({ $0 }) else { return 0 }
        return daemon.connectionCount
    }

    /// Throws the error that `start()` would throw because of the certificate or the key. Opens no socket.
    package static func check(_ configuration: Configuration) throws { try Daemon.check(configuration) }

    /// A certificate that was checked and can be used. It must be used or discarded.
    package struct PreparedCertificate: Sendable {
        fileprivate let daemon: Daemon
        fileprivate let workers: WorkerSet

        /// Stops what the certificate would need.
        package func discard() { workers.stop() }
    }

    /// Serves new connections with the certificate in these files. Open connections and their requests continue with
    /// the former certificate.
    ///
    /// - Throws: `HTTPListenerError` with `tlsFailed`, or with `systemFailed`, also if the listener does not run or has
    ///   no TLS. The former certificate stays in use then.
    package func replaceCertificate(_ files: TLS) throws { use(try prepareCertificate(files)) }

    /// Does everything of `replaceCertificate` that can fail.
    package func prepareCertificate(_ files: TLS) throws -> PreparedCertificate {
        try control.sync {
            guard configuration.tls != nil, case .running(let daemon) = state.withLock({ $0 }) else {
                throw HTTPListenerError(.systemFailed, "The listener does not serve https.")
            }
            return PreparedCertificate(daemon: daemon, workers: try daemon.workers(with: files))
        }
    }

    /// Serves new connections with a prepared certificate. Discards it if the listener was stopped meanwhile.
    package func use(_ certificate: PreparedCertificate) {
        control.sync {
            guard case .running(let daemon) = state.withLock({ $0 }), daemon === certificate.daemon else {
                return certificate.discard()
            }
            daemon.use(certificate.workers)
        }
    }

    /// Stops the listener. Returns when the socket is closed and every thread has ended.
    ///
    /// The listener accepts no new connections and closes those without a complete request at once. Requests that the
    /// handler works on can finish within the grace period. After that, their tasks are cancelled, and requests without
    /// a response get 503.
    public func stop() async {
        await withCheckedContinuation { continuation in
            control.async { [self] in
                let daemon = state.withLock { state -> Daemon? in
                    defer { state = .stopped }
                    if case .running(let daemon) = state { return daemon }
                    return nil
                }
                daemon?.stop(grace: configuration.stopGracePeriod)
                continuation.resume()
            }
        }
    }
}

extension HTTPListener {
    /// The address and limits of a listener. The defaults suit a service on one machine.
    public struct Configuration: Sendable {
        /// An address or host name of this machine.
        public var host = "127.0.0.1"
        /// The port, or 0 to let the system choose one.
        public var port = 0
        /// The number of threads that serve connections.
        public var threads = 2
        /// The greatest number of open connections. Each needs a file descriptor.
        ///
        /// For a further connection, the listener closes the one that has waited longest for its client. If none has
        /// waited for `minimumWaitBeforeEviction`, the new connection waits in the system's queue.
        public var maximumConnections = 1024
        /// The time that a connection can wait for a request, or for the rest of one, before it may be closed for
        /// another connection.
        public var minimumWaitBeforeEviction: Duration = .seconds(1)

        /// The former name of `minimumWaitBeforeEviction`.
        @available(*, deprecated, renamed: "minimumWaitBeforeEviction")
        public var givesWayAfter: Duration {
            get { minimumWaitBeforeEviction }
            set { minimumWaitBeforeEviction = newValue }
        }

        /// The greatest length of the request line with the headers. A request with more bytes gets a response 431, and
        /// a request whose target alone is longer gets a response 414.
        public var maximumHeaderBytes = 16 << 10
        /// The greatest length of a request body. A longer one gets a response 413.
        public var maximumBodyBytes = 1 << 20
        /// The memory for the bodies of all requests together, in bytes.
        ///
        /// A body that does not fit into the free part of this memory is stored in an unnamed temporary file, and the
        /// handler receives it as a stream of known length. `nil`, the default, keeps all bodies in memory.
        public var maximumHeldBytes: Int?
        /// The greatest number of bytes that the listener reads of a body that is too long, so that the client reads
        /// the response 413. For a longer body, the listener responds at once if the request has `Content-Length`, and
        /// otherwise closes the connection without a response.
        public var maximumDiscardedBytes = 64 << 20
        /// The time until the headers are complete, from the start of the connection. Each later request on the
        /// connection has `headerTimeout` plus `idleTimeout`.
        public var headerTimeout: Duration = .seconds(10)
        /// The time from the end of the headers to the end of the body.
        public var bodyTimeout: Duration = .seconds(30)
        /// The time after which a connection without traffic is closed, at least one second. The time of a suspended
        /// reply does not count.
        ///
        /// libmicrohttpd also enforces it, always on the machine's clock.
        public var idleTimeout: Duration = .seconds(60)
        /// The time for which `stop()` waits for requests in progress.
        public var stopGracePeriod: Duration = .seconds(10)
        /// Returns headers, such as a request id, for each response that the listener sends without its handler (400,
        /// 413, 414, 431, 500, 501, 503). Called on the listener's threads.
        public var refusalHeaders: @Sendable () -> HTTPHeaders = { [:] }
        /// The clock that measures the timeouts and periods. A test can pass a clock that it moves itself.
        public var clock = MonotonicClock()
        /// The certificate and key for https, or `nil` for plain http.
        public var tls: TLS?
        /// A socket that listens already. `host` and `port` are not used then.
        package var socket: InheritedSocket?

        /// Creates a configuration with the default limits.
        ///
        /// - Parameters:
        ///   - host: An address or host name of this machine.
        ///   - port: The port, or 0 to let the system choose one.
        ///   - tls: The certificate and key for https, or `nil` for plain http.
        public init(host: String = "127.0.0.1", port: Int = 0, tls: TLS? = nil) {
            self.host = host
            self.port = port
            self.tls = tls
        }
    }

    /// The PEM files for TLS.
    public struct TLS: Sendable, Hashable {
        /// The path of the certificate with its intermediates.
        public var certificateFile: String
        /// The path of the unencrypted private key.
        public var privateKeyFile: String

        /// Creates a pair of paths.
        ///
        /// - Parameters:
        ///   - certificateFile: The path of the certificate with its intermediates.
        ///   - privateKeyFile: The path of the unencrypted private key.
        public init(certificateFile: String, privateKeyFile: String) {
            self.certificateFile = certificateFile
            self.privateKeyFile = privateKeyFile
        }
    }
}
