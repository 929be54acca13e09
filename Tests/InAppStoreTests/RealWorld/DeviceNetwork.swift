import BaseTestSupport
import HTTPCore
import NetworkTestSupport
import Primitives
import StoreModel
import StoreTestSupport

/// The network of one device. A test can cut the connection to the store, to the server or to both; running requests
/// then fail. After a crash of the app both connections stay cut.
final class DeviceNetwork: Sendable {
    enum End: Sendable { case store, server }

    private struct State {
        var isDead = false
        var down: Set<End> = []
        var breaks: [End: Gate] = [.store: Gate(), .server: Gate()]
        /// The number of requests until the app crashes.
        var fuse: Int?
    }

    private let state = Locked(State())
    private let transport = loopbackTransport()

    func to(_ end: End) -> any HTTPTransport { Wire(network: self, end: end) }

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

    /// Crashes the app now, or lets `requests` more requests pass and crashes it at the next one.
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
        let network: DeviceNetwork
        let end: End

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let gate = try network.pass(end)
            let response = try await withThrowingTaskGroup(of: HTTPResponse?.self) { group in
                group.addTask { [network = network.transport] in try await network.send(request) }
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

    /// Counts a request, and returns a gate that opens when the network is cut. Throws if it is cut already.
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

/// The storage of a device. After a crash of its app, nothing is written.
final class DeviceStorage: SecureStorage {
    private let disk: MemorySecureStorage
    private let network: DeviceNetwork

    init(_ disk: MemorySecureStorage, writtenBy network: DeviceNetwork) {
        self.disk = disk
        self.network = network
    }

    func data(for key: String) throws -> [UInt8]? { try disk.data(for: key) }

    func set(_ data: [UInt8]?, for key: String) throws {
        guard !network.isDead else { throw CancellationError() }
        try disk.set(data, for: key)
    }
}
