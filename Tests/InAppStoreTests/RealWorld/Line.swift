import BaseTestSupport
import HTTPCore
import NetworkTestSupport
import Primitives
import StoreModel
import StoreTestSupport

/// The network of one device, which a test can cut, to the store or to the server; what is under way is then broken off.
/// A dead line never comes back: its app has crashed.
final class Line: Sendable {
    enum End: Sendable { case store, server }

    private struct State {
        var isDead = false
        var down: Set<End> = []
        var breaks: [End: Gate] = [.store: Gate(), .server: Gate()]
        /// How many more requests get through before the app dies.
        var fuse: Int?
    }

    private let state = Locked(State())
    private let network = loopbackTransport()

    func to(_ end: End) -> any HTTPTransport { Wire(line: self, end: end) }

    func isUp(_ end: End) -> Bool { state.withLock { !$0.isDead && !$0.down.contains(end) } }

    func cut(_ ends: Set<End>) {
        let broken = state.withLock { state in
            state.down.formUnion(ends)
            return ends.compactMap { state.breaks[$0] }
        }
        for gate in broken { gate.open() }
    }

    func mend(_ ends: Set<End>) {
        state.withLock { state in
            for end in ends where state.down.remove(end) != nil { state.breaks[end] = Gate() }
        }
    }

    /// The app dies now, or with the request after `requests` more.
    func die(after requests: Int? = nil) {
        if let requests { return state.withLock { $0.fuse = requests } }
        let broken = state.withLock { state in
            state.isDead = true
            return Array(state.breaks.values)
        }
        for gate in broken { gate.open() }
    }

    var isDead: Bool { state.withLock { $0.isDead } }

    private struct Wire: HTTPTransport {
        let line: Line
        let end: End

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let gate = try line.pass(end)
            let response = try await withThrowingTaskGroup(of: HTTPResponse?.self) { group in
                group.addTask { [network = line.network] in try await network.send(request) }
                group.addTask {
                    try await gate.pass()
                    return nil
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
            guard let response else { throw HTTPError(.connectionLost, "The line was cut.") }
            return response
        }
    }

    /// What opens when the line is cut. Throws when it is.
    private func pass(_ end: End) throws -> Gate {
        let (gate, dies) = state.withLock { state -> (Gate?, Bool) in
            guard !state.isDead, !state.down.contains(end) else { return (nil, false) }
            if let fuse = state.fuse {
                guard fuse > 0 else { return (nil, true) }
                state.fuse = fuse - 1
            }
            return (state.breaks[end], false)
        }
        if dies { die() }
        guard let gate else { throw HTTPError(.connectionFailed, "The line is down.") }
        return gate
    }
}

/// What a device keeps. When its app has died, nothing is written any more.
final class DeviceStorage: SecureStorage {
    private let disk: MemorySecureStorage
    private let line: Line

    init(_ disk: MemorySecureStorage, writtenBy line: Line) {
        self.disk = disk
        self.line = line
    }

    func data(for key: String) throws -> [UInt8]? { try disk.data(for: key) }

    func set(_ data: [UInt8]?, for key: String) throws {
        guard !line.isDead else { throw CancellationError() }
        try disk.set(data, for: key)
    }
}
