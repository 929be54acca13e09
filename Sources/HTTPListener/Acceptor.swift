import CMicrohttpd
import Dispatch
import Foundation
import Primitives

/// The owner of the listening socket. Accepts connections on its own thread and distributes them to the daemons in
/// rotation.
///
/// microhttpd does not get the listening socket, for three reasons. If it does not start, it closes the socket in some
/// cases and not in others. It can use the socket until its last thread has ended. And it ends the process if
/// `MHD_quiesce_daemon` is called just when one of its threads uses the socket.
final class Acceptor: Sendable {
    private enum Accepted {
        case connection, none
        /// The system has no descriptors or no memory left.
        case exhausted
    }

    /// The pause of the thread after the system ran out of descriptors or memory, or when no connection can make room.
    private static let pauseMilliseconds: Int32 = 100

    private let listening: ListeningSocket
    private let connections: ConnectionRegistry
    private let wakeUp: WakeUp
    private let workers: Locked<WorkerSet>
    private let isStopping = Locked(false)
    private let ended = DispatchSemaphore(value: 0)

    /// Takes ownership of the socket. `connections` signals `wakeUp` when there is room again. The workers
    /// outlive `stop`.
    init(_ listening: ListeningSocket, _ connections: ConnectionRegistry, _ wakeUp: WakeUp, _ workers: WorkerSet) {
        self.listening = listening
        self.connections = connections
        self.wakeUp = wakeUp
        self.workers = Locked(workers)
        Thread.start(named: "HTTPListener") { [self] in
            run()
            ended.signal()
        }
    }

    /// Ends the thread and closes the socket before it returns. Called once.
    func stop() {
        isStopping.withLock { $0 = true }
        wakeUp.signal()
        ended.wait()
        close(listening.descriptor)
    }

    /// Distributes new connections to other workers, and returns the former ones. They get no connection afterwards.
    func use(_ fresh: WorkerSet) -> WorkerSet {
        workers.withLock { workers in
            defer { workers = fresh }
            return workers
        }
    }

    private func run() {
        var next = 0
        var isRoomAwaited = false
        var mustPause = false
        while !isStopping.withLock({ $0 }) {
            let hasWaitingConnection = wait(
                forConnections: !isRoomAwaited && !mustPause, atMost: mustPause ? Self.pauseMilliseconds : -1)
            isRoomAwaited = false
            mustPause = false
            guard hasWaitingConnection else { continue }
            guard connections.hasRoom() else {
                isRoomAwaited = connections.makeRoom()
                mustPause = !isRoomAwaited
                continue
            }
            var accepted = accept(next)
            while accepted == .connection {
                next &+= 1
                guard connections.hasRoom(), !isStopping.withLock({ $0 }) else { break }
                accepted = accept(next)
            }
            guard accepted == .exhausted else { continue }
            _ = connections.makeRoom()
            mustPause = true
        }
    }

    /// Waits for a connection or a wake-up. A wake-up means that there is room for a connection or that the thread must
    /// end. Returns whether a connection waits to be accepted. If `forConnections` is `false`, `poll` ignores the
    /// socket, and the result is `false`.
    private func wait(forConnections: Bool, atMost milliseconds: Int32) -> Bool {
        var events = [
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: forConnections ? listening.descriptor : -1, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&events, 2, milliseconds)
        if events[0].revents != 0 { wakeUp.clear() }
        return events[1].revents != 0
    }

    private func accept(_ number: Int) -> Accepted {
        // Under the lock, so that the workers are not retired and ended in between.
        let workers = workers.withLock { workers in
            workers.enter()
            return workers
        }
        let accepted = accept(for: workers.daemon(for: number))
        if accepted != .connection { workers.leave() }
        return accepted
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
                if MHD_add_connection(daemon.pointer, socket, address, length) == .YES { return .connection }
                connections.withdraw(socket)
                return .exhausted
            }
        }
    }
}
