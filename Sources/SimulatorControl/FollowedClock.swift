import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A clock that reads what a simulator's clock reads, for a server or an app that runs in the simulator's virtual time.
///
///     let clock = FollowedClock(url: "http://127.0.0.1:8080", transport: transport)
///     try await clock.start()
///
/// It long-polls the simulator's control API, so a jump there is known here at once. While the simulator is away it goes
/// on as it last knew. Before `start` it reads what `base` reads.
public final class FollowedClock: WallClock {
    private let url: String
    private let transport: any HTTPTransport
    private let base: any WallClock
    private let clock: AnchoredClock
    private let following = Locked<Task<Void, Never>?>(nil)

    /// How long the simulator is asked to wait for a change, in seconds.
    private static let longPollSeconds = 25
    /// How far the clock may be from what the simulator says without a jump there, in seconds of real time.
    private static let tolerance = 1.0

    /// `url` is where the simulator listens (`listening`, or `control`, of its first line of output).
    public init(url: String, transport: any HTTPTransport, base: any WallClock = SystemClock()) {
        var text = Substring(url)
        for suffix in ["/", "/clock", "/control/v1", "/"] where text.hasSuffix(suffix) {
            text = text.dropLast(suffix.count)
        }
        self.url = text + "/control/v1/clock"
        self.transport = transport
        self.base = base
        let now = base.now()
        clock = AnchoredClock(base: base, anchor: ClockAnchor(base: now, reading: now, rate: 1, revision: -1))
    }

    public func now() -> Date { clock.now() }

    public func sleep(until deadline: Date) async throws { try await clock.sleep(until: deadline) }

    /// The revision of the simulator's clock that was last heard of; -1 before `start`.
    public var revision: Int64 { clock.anchor.revision }

    /// Reads the simulator's clock and follows it from then on.
    ///
    /// Throws `StoreFailure` with `unreachable` when the first answer cannot be had; the clock is then not started.
    public func start() async throws {
        do {
            apply(try await ask(after: nil))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw StoreFailure(
                code: .unreachable,
                reason: "The clock at \(url) could not be read (\(error)); is the simulator running there?")
        }
        following.withLock { task in
            if task == nil { task = Task { await self.follow() } }
        }
    }

    /// Stops following; the clock goes on at the rate last known.
    public func stop() async {
        let task = following.withLock { task in
            defer { task = nil }
            return task
        }
        task?.cancel()
        await task?.value
    }

    private func follow() async {
        var pause = 0.05
        while !Task.isCancelled {
            do {
                apply(try await ask(after: clock.anchor.revision))
                pause = 0.05
            } catch {
                // Pauses of the network are in real time, also where `base` is not.
                let clock = SystemClock()
                try? await clock.sleep(until: clock.now().addingTimeInterval(pause))
                pause = min(pause * 2, 2)
            }
        }
    }

    private struct Answer {
        var state: StoreControlWire.ClockState
        /// The instant of `base` at which the simulator's clock read what it said, as near as can be told.
        var base: Date
    }

    private func ask(after revision: Int64?) async throws -> Answer {
        let query = revision.map { "?after=\($0)&wait=\(Self.longPollSeconds)" } ?? ""
        let request = HTTPRequest(method: .get, url: url + query, timeout: .seconds(Self.longPollSeconds + 10))
        let sent = base.now()
        let response = try await transport.send(request)
        let received = base.now()
        let bytes = try await response.body.collect(upTo: 1 << 16)
        guard response.isSuccess else {
            throw HTTPError(.protocolError, "The simulator answered with status \(response.status).")
        }
        let state = try WireJSON.decode(StoreControlWire.ClockState.self, from: bytes)
        // The answer to a long poll is made when it ends, however long that took.
        let middle = sent.addingTimeInterval(received.timeIntervalSince(sent) / 2)
        return Answer(state: state, base: revision == nil ? middle : received)
    }

    private func apply(_ answer: Answer) {
        let known = clock.anchor
        let distance = abs(known.reading(at: answer.base).timeIntervalSince(answer.state.now))
        let isChanged = answer.state.revision != known.revision || answer.state.rate != known.rate
        guard isChanged || distance > Self.tolerance * max(answer.state.rate, 1) else { return }
        clock.move(
            to: ClockAnchor(
                base: answer.base, reading: answer.state.now, rate: answer.state.rate,
                revision: answer.state.revision))
    }
}
