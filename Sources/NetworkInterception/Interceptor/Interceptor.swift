import HTTPCore
import Primitives

/// Watches and changes the traffic of an app through florets, and keeps records of it.
///
///     let interceptor = Interceptor([InspectorFloret(), NoCacheFloret()])
///     let transport = interceptor.transport(wrapping: CurlTransport())
///     interceptor.run()
///
/// Until `run()` and after `pause()` everything passes as if it were not there. Several interceptors may be attached to
/// one transport, each with its florets and its records: the outermost is asked first and sees the app's own request.
/// Being watched changes nothing: what is not changed by a floret leaves and arrives byte for byte, and no sooner or later
/// than the florets take.
public final class Interceptor: Sendable {
    /// The florets in the order they are asked.
    public let florets: [any Floret]
    /// Where the records are.
    public let storage: any RecordStorage
    public let configuration: Configuration

    /// Of what bodies on their way hold, for their records.
    let bodyMemory: BodyMemory
    private let interceptable: [any InterceptableFloret]
    private let isOn = Locked(false)
    private let reported = Locked<[InterceptionReport]>([])
    private let clearing = Broadcast<Void>()
    private let lateEndings = Locked<LateEndings>(.init())

    public init(_ florets: [any Floret], configuration: Configuration = .standard) {
        self.florets = florets
        self.configuration = configuration
        storage = configuration.storage ?? MemoryRecordStorage()
        bodyMemory = BodyMemory(limit: configuration.maximumHeldBytes)
        interceptable = florets.compactMap { $0 as? any InterceptableFloret }
        for floret in florets where !(floret is any InterceptableFloret || floret is any DisplayableFloret) {
            report(
                .noEffect, floret: floret.name,
                "The floret \"\(floret.name)\" has no effect: it is neither an InterceptableFloret nor a DisplayableFloret."
            )
        }
    }

    /// Handles requests that begin from now on.
    public func run() { isOn.withLock { $0 = true } }

    /// Lets requests that begin from now on pass untouched. Those under way are handled to their end.
    public func pause() { isOn.withLock { $0 = false } }

    /// Whether requests are handled.
    public var isRunning: Bool { isOn.withLock { $0 } }

    /// A transport that sends through `transport` and is watched by this interceptor.
    public func transport(wrapping transport: any HTTPTransport) -> any HTTPTransport {
        InterceptingTransport(transport, interceptor: self)
    }

    /// Takes all records out of the storage. What shows them, as an `InspectorPage` and an `InspectorHubPlugin`, hears of it.
    public func removeRecords() async {
        await storage.removeAll()
        clearing.send(())
    }

    /// Tells when records were taken out.
    var clearings: AsyncStream<Void> { clearing.stream(keeping: 1) }

    /// The newest hundred reports, oldest first.
    public var reports: [InterceptionReport] { reported.withLock { $0 } }

    /// Reports something that the author of `floret` should know. Secrets are taken out of the message.
    public func report(_ code: InterceptionReport.Code, floret: String, _ message: String) {
        let report = InterceptionReport(code, floret: floret, configuration.redaction.redacted(message))
        reported.withLock { reported in
            if reported.count == 100 { reported.removeFirst() }
            reported.append(report)
        }
        configuration.onReport(report)
    }

    /// The interceptor whose floret is being asked, in the tasks of that floret.
    @TaskLocal static var current: Interceptor?

    /// The florets that take part in a request that begins now; `nil` when it is to pass untouched.
    func florets(for record: Record) -> [any InterceptableFloret]? {
        guard configuration.recordSelector.selects(record) else { return nil }
        return interceptable.filter(\.enabled)
    }
}

// MARK: - Endings nobody waits for

extension Interceptor {
    /// Records whose last state is still being stored, because the reader of a body gave up where it could not wait.
    private struct LateEndings {
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var next: UInt64 = 0
    }

    /// Stores something without making anybody wait.
    func later(_ store: @escaping @Sendable () async -> Void) {
        lateEndings.withLock { endings in
            let number = endings.next
            endings.next += 1
            endings.tasks[number] = Task {
                await store()
                lateEndings.withLock { _ = $0.tasks.removeValue(forKey: number) }
            }
        }
    }

    /// Returns when everything that ended so far is stored, also what ended because its reader gave up.
    public func settled() async {
        for task in lateEndings.withLock({ Array($0.tasks.values) }) { await task.value }
    }
}
