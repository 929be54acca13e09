import BaseTestSupport
import Foundation
import Primitives
import Testing

@testable import HTTPListener

/// Deadlines to the nanosecond. The tests call `sweep` themselves, on a clock that they move. The timer must not sweep:
/// it could read the clock before the test moves it, and then begin a deadline at the old time, too early.
@Suite struct ConnectionRegistryTests {
    private let time = ManualMonotonicClock()
    private let registry: ConnectionRegistry

    init() {
        registry = ConnectionRegistry(
            maximum: 10, minimumWait: .seconds(1),
            deadlines: .init(firstHeaders: .seconds(10), nextHeaders: .seconds(70), body: .seconds(30)),
            clock: time.clock, sweepInterval: .seconds(3600), roomMade: {})
    }

    @Test(arguments: [
        (Connection.Phase.awaitingFirstRequest, 10), (.awaitingRequest, 70), (.readingBody, 30),
    ]) func `a connection is closed at its phase's deadline and not before`(phase: Connection.Phase, seconds: Int)
        throws
    {
        let pair = try SocketPair()
        let connection = registry.open(pair.server)
        registry.sweep()
        time.advance(by: .seconds(9))
        connection.enter(phase, nil)
        registry.sweep()
        time.advance(by: .seconds(seconds) - .nanoseconds(1))
        registry.sweep()
        #expect(!pair.hasEnded)
        time.advance(by: .nanoseconds(1))
        registry.sweep()
        #expect(pair.hasEnded)
        registry.close(connection)
        registry.stop()
    }

    @Test func `a connection whose request is being answered has no deadline`() throws {
        let pair = try SocketPair()
        let connection = registry.open(pair.server)
        connection.enter(.serving, nil)
        registry.sweep()
        time.advance(by: .seconds(86_400))
        registry.sweep()
        #expect(!pair.hasEnded)
        #expect(!registry.makeRoom())
        registry.close(connection)
        registry.stop()
    }

    @Test func `a connection that has waited long enough is closed for a new one, the longest wait first`() throws {
        let (old, new) = (try SocketPair(), try SocketPair())
        let connections = [registry.open(old.server)]
        registry.sweep()
        time.advance(by: .milliseconds(400))
        let newer = registry.open(new.server)
        registry.sweep()
        time.advance(by: .milliseconds(600) - .nanoseconds(1))
        #expect(!registry.makeRoom())
        time.advance(by: .nanoseconds(1))
        #expect(registry.makeRoom())
        #expect(old.hasEnded && !new.hasEnded)
        #expect(!registry.makeRoom())
        time.advance(by: .milliseconds(400))
        #expect(registry.makeRoom())
        #expect(new.hasEnded)
        for connection in connections + [newer] { registry.close(connection) }
        registry.stop()
    }

    @Test func `a connection that no longer waits is skipped`() throws {
        let pairs = [try SocketPair(), try SocketPair()]
        let connections = pairs.map { registry.open($0.server) }
        registry.sweep()
        time.advance(by: .seconds(1))
        #expect(registry.makeRoom())
        connections[1].enter(.serving, nil)
        #expect(!registry.makeRoom())
        #expect(pairs.map(\.hasEnded) == [true, false])
        for connection in connections { registry.close(connection) }
        registry.stop()
    }

    @Test func `further input after a refusal is read for two seconds`() throws {
        let pair = try SocketPair()
        let connection = registry.open(pair.server)
        connection.lingerAfterClose()
        registry.close(connection)
        pair.closeServer()
        time.advance(by: .seconds(2) - .nanoseconds(1))
        registry.sweep()
        #expect(pair.send("more"))
        registry.sweep()
        #expect(!pair.hasEnded)
        time.advance(by: .nanoseconds(1))
        registry.sweep()
        #expect(pair.hasEnded)
        #expect(!pair.send("too late"))
        registry.stop()
    }
}

/// Two connected sockets: the registry watches one, the test reads the other.
private final class SocketPair {
    let server: Int32
    private let client: Int32
    private var isServerOpen = true

    init() throws {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = Int32(SOCK_STREAM.rawValue) | O_CLOEXEC
        #endif
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        (server, client) = (ends[0], ends[1])
    }

    deinit {
        closeServer()
        close(client)
    }

    func closeServer() {
        if isServerOpen { close(server) }
        isServerOpen = false
    }

    /// Whether the other end is closed or shut down.
    var hasEnded: Bool {
        var byte: UInt8 = 0
        return recv(client, &byte, 1, Int32(MSG_DONTWAIT)) == 0
    }

    func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return Foundation.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
}
