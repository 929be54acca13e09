import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A clock that shows the virtual time of a simulator, for a server or an app that runs in that time.
///
///     let clock = SimulatorClock(url: "http://127.0.0.1:8080", transport: transport)
///     try await clock.start()
///
/// The clock long-polls the control API of the simulator, so it follows a jump at once. While the simulator cannot be
/// reached, the clock continues at its last known rate. Before ``start()`` it shows the time of `base`.
public final class SimulatorClock: WallClock {
    private let url: String
    private let transport: any HTTPTransport
    private let base: any WallClock
    private let clock: AnchoredClock
    private let followTask = Locked<Task<Void, Never>?>(nil)

    /// The longest time, in seconds, for which the simulator waits for a change before it answers a request.
    private static let longPollSeconds = 25
    /// The largest difference from the simulator's clock that is not corrected: in seconds of real time, or of virtual
    /// time if virtual time is slower.
    private static let tolerance = 1.0

    /// Creates a clock. Call ``start()`` to follow the simulator.
    ///
    /// - Parameters:
    ///   - url: The URL of the simulator: `listening` or `control` in its first line of output.
    ///   - transport: The transport for requests to the simulator.
    ///   - base: The clock from which the virtual time is computed.
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

    /// The latest known revision of the simulator's clock, or -1 before ``start()``.
    public var revision: Int64 { clock.anchor.revision }

    /// Reads the simulator's clock and then follows it.
    ///
    /// - Throws: `StoreFailure` with `unreachable` if the simulator's clock cannot be read; the clock is then not
    ///   started. `CancellationError` if the task is cancelled.
    public func start() async throws {
        do {
            apply(try await requestState(after: nil))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw StoreFailure(
                code: .unreachable,
                reason: "Cannot read the clock at \(url): \(error). Start the simulator there, or check the URL.")
        }
        followTask.withLock { task in
            if task == nil { task = Task { await self.follow() } }
        }
    }

    /// Stops following the simulator. The clock continues at its last known rate.
    public func stop() async {
        let task = followTask.withLock { task in
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
                apply(try await requestState(after: clock.anchor.revision))
                pause = 0.05
            } catch {
                // The network needs pauses in real time, even if `base` is virtual.
                let clock = SystemClock()
                try? await clock.sleep(until: clock.now().addingTimeInterval(pause))
                pause = min(pause * 2, 2)
            }
        }
    }

    private struct Answer {
        var state: StoreControlWire.ClockState
        /// The estimated instant of `base` at which the simulator read its clock. For a normal request it is the middle
        /// between sending and receiving. For a long poll it is the end, because the simulator then reads its clock.
        var base: Date
    }

    private func requestState(after revision: Int64?) async throws -> Answer {
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

/// The former name of `SimulatorClock`.
@available(*, deprecated, renamed: "SimulatorClock")
public typealias FollowedClock = SimulatorClock
