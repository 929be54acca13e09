import Dispatch
import HTTPCore
import Primitives

/// Serves an `HTTPHandler` on a socket: HTTP/1.1 with keep-alive, on a few threads.
///
///     let listener = HTTPListener(handler: router)
///     let address = try listener.start()      // http://127.0.0.1:40123
///     …
///     await listener.stop()
///
/// Replies that are `.ready` are sent from the listener's own thread; `.suspended` ones run as tasks meanwhile. The
/// request target reaches the handler byte for byte; one that is not UTF-8 is refused. In a header's value, bytes that are
/// not UTF-8 arrive as U+FFFD: a value that identifies something must not contain it. Bodies are read whole before the
/// handler is called.
///
/// A request that breaks a limit or a rule is refused with a problem (RFC 9457) before the handler is called. What the
/// listener cannot parse at all is answered by libmicrohttpd, in HTML and without `refusalHeaders`: a request line that
/// is none, another HTTP version, a header line without a colon, a `Content-Length` that is no number of 64 bits, a
/// broken chunk, and headers more than twice as long as allowed.
///
/// A 304 should state as `Content-Length` how long the 200 would have been; without it, the connection ends.
public final class HTTPListener: Sendable {
    /// Where a listener can be reached.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        public let host: String
        public let port: Int
        public let isSecure: Bool

        /// The base URL, without a slash at its end.
        public var url: String {
            "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
        }

        public var description: String { url }
    }

    private enum State {
        case new, failed, stopped
        case running(Daemon)
    }

    private let handler: any HTTPHandler
    private let configuration: Configuration
    private let state = Locked(State.new)
    /// Starting and stopping block their thread, one at a time.
    private let control = DispatchQueue(label: "HTTPListener.control")

    public init(handler: any HTTPHandler, configuration: Configuration = .init()) {
        self.handler = handler
        self.configuration = configuration
    }

    deinit {
        guard case .running(let daemon) = state.withLock({ $0 }) else { return }
        // The last reference may be dropped on a thread of the daemon, which cannot wait for itself.
        control.async { daemon.stop(grace: .zero) }
    }

    /// Binds the socket and begins to answer.
    ///
    /// Throws `HTTPListenerError`: `addressInUse`, `invalidAddress`, `notPermitted`, `tlsFailed`, `alreadyStarted`,
    /// `systemFailed`. A listener starts once.
    @discardableResult public func start() throws -> Address {
        try control.sync {
            guard case .new = state.withLock({ $0 }) else {
                throw HTTPListenerError(.alreadyStarted, "A listener can be started only once; make another one.")
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

    /// Stops: no new connections; those on which no whole request has arrived end at once; requests the handler works on
    /// are answered within the grace period, the rest refused with 503 and their tasks cancelled. Returns when the
    /// socket and every thread are gone.
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
    /// Limits and address. The defaults suit a service on one machine.
    public struct Configuration: Sendable {
        /// An address of this machine, or a name of one.
        public var host = "127.0.0.1"
        /// 0 lets the system choose.
        public var port = 0
        public var threads = 2
        /// Each takes a descriptor. For one more, the connection that has waited longest for its client is closed; where
        /// all have a request that is being answered, it waits in the system's queue.
        public var maximumConnections = 1024
        /// How long a connection may wait for a request, or for the rest of one, before it can be closed for another one.
        public var givesWayAfter: Duration = .seconds(1)
        /// Request line and headers; more is answered 431, a longer target alone 414.
        public var maximumHeaderBytes = 16 << 10
        /// More is answered 413.
        public var maximumBodyBytes = 1 << 20
        /// How much of a body that is too large is read and thrown away so that its sender gets to read the 413.
        public var maximumDiscardedBytes = 64 << 20
        /// From the connection, or from the first moment an idle one may be closed, to the end of the headers.
        public var headerTimeout: Duration = .seconds(10)
        /// From the end of the headers to the end of the body.
        public var bodyTimeout: Duration = .seconds(30)
        /// A connection on which nothing moves for so long is closed; at least a second. Suspended replies do not count.
        ///
        /// libmicrohttpd applies it as well, always on the machine's clock.
        public var idleTimeout: Duration = .seconds(60)
        /// How long `stop()` waits for requests under way.
        public var stopGracePeriod: Duration = .seconds(10)
        /// Made for each answer the listener gives without its handler (400, 413, 414, 431, 500, 501, 503) and added to
        /// it, such as a request id. Called on the listener's threads.
        public var refusalHeaders: @Sendable () -> HTTPHeaders = { [:] }
        /// What the timeouts and periods above are measured with. A test can pass a clock that it moves itself.
        public var clock = MonotonicClock()
        /// Certificate and key for https; `nil` is plain http.
        public var tls: TLS?

        public init(host: String = "127.0.0.1", port: Int = 0, tls: TLS? = nil) {
            self.host = host
            self.port = port
            self.tls = tls
        }
    }

    /// PEM files: the certificate with its intermediates, and its unencrypted private key.
    public struct TLS: Sendable, Hashable {
        public var certificateFile: String
        public var privateKeyFile: String

        public init(certificateFile: String, privateKeyFile: String) {
            self.certificateFile = certificateFile
            self.privateKeyFile = privateKeyFile
        }
    }
}
