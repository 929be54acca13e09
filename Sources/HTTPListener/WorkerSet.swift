import CMicrohttpd
import Dispatch
import Foundation
import Primitives

/// The daemons of microhttpd that serve with one certificate, or without TLS.
///
/// microhttpd cannot change the certificate of a daemon. For a new certificate, the listener starts another set, and
/// retires this one. A retired set gets no new connections, and ends with the last of its connections.
final class WorkerSet: Sendable {
    private struct State {
        /// The connections, and the accepts that may still bring one.
        var uses = 0
        var isRetired = false
        var isStopped = false
        var hasEnded = false
    }

    let service: Service
    private let daemons = Locked<[MHDDaemon]>([])
    private let state = Locked(State())
    /// Not empty while a retired set stops by itself.
    private let stopping = DispatchGroup()

    /// Starts a daemon for each thread.
    ///
    /// - Throws: `HTTPListenerError` with `tlsFailed` or `systemFailed`. No daemon runs then.
    init(_ service: Service, _ configuration: HTTPListener.Configuration, _ pem: PEM?) throws(HTTPListenerError) {
        self.service = service
        for _ in 0..<max(1, configuration.threads) {
            guard let started = start(configuration, pem) else {
                let number = errno
                stop()
                throw Self.failure(number, isSecure: pem != nil)
            }
            daemons.withLock { $0.append(MHDDaemon(pointer: started)) }
        }
    }

    private static func failure(_ errorNumber: Int32, isSecure: Bool) -> HTTPListenerError {
        guard !isSecure else {
            return HTTPListenerError(
                .tlsFailed, "The certificate and the private key do not match. Configure matching PEM files.")
        }
        return HTTPListenerError(
            .systemFailed, "The HTTP daemon did not start: \(String(cString: strerror(errorNumber))).")
    }

    private func start(_ configuration: HTTPListener.Configuration, _ pem: PEM?) -> OpaquePointer? {
        var settings = souk_mhd_settings()
        settings.flags = souk_mhd_flags(pem == nil ? 0 : 1)
        // The acceptor enforces the limit. microhttpd needs one more: it still counts a connection that just closed.
        settings.connections = UInt32(clamping: UInt(max(1, configuration.maximumConnections)) + 1)
        settings.idle_seconds = UInt32(max(1, configuration.idleTimeout.components.seconds))
        settings.memory_per_connection = max(32 << 10, configuration.maximumHeaderBytes * 2)  // Also for responses.
        settings.context = Unmanaged.passUnretained(self).toOpaque()
        settings.request_line = Callbacks.requestLine
        settings.access = Callbacks.access
        settings.completed = Callbacks.completed
        settings.connection = Callbacks.connection
        guard let pem else { return souk_mhd_start(&settings) }
        return pem.privateKey.withCString { key in
            pem.certificate.withCString { certificate in
                tlsPriorities.withCString { priorities in
                    settings.private_key = key
                    settings.certificate = certificate
                    settings.tls_priorities = priorities
                    return souk_mhd_start(&settings)
                }
            }
        }
    }

    /// GnuTLS's normal algorithms with TLS 1.2 and 1.3 only. Its default still includes TLS 1.0 and 1.1 (RFC 8996).
    private let tlsPriorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

    /// Returns the daemon for the connection with this number. The daemons get the connections in rotation.
    func daemon(for number: Int) -> MHDDaemon { daemons.withLock { $0[number % $0.count] } }

    /// Keeps the set running until `leave`.
    func enter() { state.withLock { $0.uses += 1 } }

    /// Called once for each `enter`: when an accept brought no connection, and when a connection has closed.
    func leave() {
        endIfUnused(
            state.withLock { state in
                state.uses -= 1
                return Self.mustEnd(&state)
            })
    }

    /// Ends the set with the last of its connections. No connection may be added afterwards.
    func retire() {
        endIfUnused(
            state.withLock { state in
                state.isRetired = true
                return Self.mustEnd(&state)
            })
    }

    private static func mustEnd(_ state: inout State) -> Bool {
        guard state.isRetired, state.uses == 0, !state.isStopped else { return false }
        state.isStopped = true
        return true
    }

    /// On another thread, because the last connection closes on a thread of the daemon, which cannot wait for itself.
    private func endIfUnused(_ isUnused: Bool) {
        guard isUnused else { return }
        DispatchQueue(label: "HTTPListener.retired").async(group: stopping) { [self] in stopDaemons() }
    }

    /// Closes all connections, and returns when the threads of the daemons have ended.
    func stop() {
        let mustStop = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        if mustStop { stopDaemons() }
        stopping.wait()
    }

    private func stopDaemons() {
        for daemon in daemons.withLock({ $0 }) { MHD_stop_daemon(daemon.pointer) }
        state.withLock { $0.hasEnded = true }
    }

    /// Whether the threads of the daemons have ended.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }
}
