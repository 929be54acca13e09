import CMicrohttpd
import Dispatch
import Foundation
import Primitives

/// Owns the listening socket: accepts its connections on a thread of its own and deals them out to the daemons in turn.
///
/// microhttpd never learns of the socket. It closes one it was given on some failures to start and not on others, may
/// be using it until its last thread has ended, and ends the process when it is told to stop accepting
/// (`MHD_quiesce_daemon`) at a moment one of its threads turns to the socket.
final class Acceptor: Sendable {
    private enum Accepted {
        case connection, none
        /// Out of descriptors or memory.
        case exhausted
    }

    /// How long a thread that found no descriptor, memory or connection to close leaves the others to give some back.
    private static let pauseMilliseconds: Int32 = 100

    private let listening: ListeningSocket
    private let connections: ConnectionRegistry
    private let wakeUp: WakeUp
    private let isStopping = Locked(false)
    private let ended = DispatchSemaphore(value: 0)

    /// Takes the socket over. `connections` signals `wakeUp` when there is room again; the daemons outlive `stop`.
    init(_ listening: ListeningSocket, _ connections: ConnectionRegistry, _ wakeUp: WakeUp, dealTo daemons: [MHDDaemon])
    {
        self.listening = listening
        self.connections = connections
        self.wakeUp = wakeUp
        Thread.start(named: "HTTPListener") { [self] in
            run(daemons)
            ended.signal()
        }
    }

    /// Ends the thread and closes the socket, both before it returns. Called once.
    func stop() {
        isStopping.withLock { $0 = true }
        wakeUp.signal()
        ended.wait()
        close(listening.descriptor)
    }

    private func run(_ daemons: [MHDDaemon]) {
        var turn = 0
        var isRoomAwaited = false
        var mustPause = false
        while !isStopping.withLock({ $0 }) {
            let isAsked = wait(
                forConnections: !isRoomAwaited && !mustPause, atMost: mustPause ? Self.pauseMilliseconds : -1)
            isRoomAwaited = false
            mustPause = false
            guard isAsked else { continue }
            guard connections.hasRoom() else {
                isRoomAwaited = connections.makeRoom()
                mustPause = !isRoomAwaited
                continue
            }
            var accepted = accept(for: daemons[turn])
            while accepted == .connection {
                turn = (turn + 1) % daemons.count
                guard connections.hasRoom(), !isStopping.withLock({ $0 }) else { break }
                accepted = accept(for: daemons[turn])
            }
            guard accepted == .exhausted else { continue }
            _ = connections.makeRoom()
            mustPause = true
        }
    }

    /// Whether a connection waits to be accepted, if asked for. Returns early when woken up: there is room, or an end.
    private func wait(forConnections: Bool, atMost milliseconds: Int32) -> Bool {
        // poll passes over a negative descriptor.
        var events = [
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: forConnections ? listening.descriptor : -1, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&events, 2, milliseconds)
        if events[0].revents != 0 { wakeUp.clear() }
        return events[1].revents != 0
    }

    private func accept(for daemon: MHDDaemon) -> Accepted {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let socket = souk_accept(listening.descriptor, address, &length)
                guard socket >= 0 else {
                    return [EAGAIN, EINTR, ECONNABORTED].contains(errno) ? .none : .exhausted
                }
                connections.admit(socket)
                // microhttpd closes what it does not take.
                if MHD_add_connection(daemon.pointer, socket, address, length) == .YES { return .connection }
                connections.withdraw(socket)
                return .exhausted
            }
        }
    }
}
