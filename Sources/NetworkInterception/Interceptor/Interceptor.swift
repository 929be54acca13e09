import HTTPCore
import Primitives

/// Records and changes the traffic of an app through florets.
///
///     let interceptor = Interceptor([InspectorFloret(), NoCacheFloret()])
///     let transport = interceptor.transport(wrapping: CurlTransport())
///     interceptor.run()
///
/// Before `run()` and after `pause()`, requests pass unchanged and unrecorded. Several interceptors can wrap one
/// transport, each with its own florets and records. The outermost runs first and sees the app's own request. Recording
/// changes no bytes. Only florets, and a storage that makes `store` wait, delay the traffic.
public final class Interceptor: Sendable {
    /// The florets in the order in which they run.
    public let florets: [any Floret]
    /// The storage of the records.
    public let storage: any RecordStorage
    /// The settings.
    public let configuration: Configuration

    /// The storage if it is in memory. It needs no asynchronous calls.
    let memory: MemoryRecordStorage?
    /// The memory for the recorded bodies of active exchanges.
    let bodyMemory: BodyMemory
    private let interceptable: [any InterceptableFloret]
    private let isOn = Locked(false)
    private let reported = Locked<[InterceptionReport]>([])
    private let clearing = Broadcast<Void>()
    private let lateEndings = Locked<LateEndings>(.init())

    /// Creates an interceptor, which handles no request until ``run()``.
    ///
    /// - Parameters:
    ///   - florets: The florets in the order in which they run.
    ///   - configuration: The settings.
    public init(_ florets: [any Floret], configuration: Configuration = .standard) {
        self.florets = florets
        self.configuration = configuration
        storage = configuration.storage ?? MemoryRecordStorage()
        memory = storage as? MemoryRecordStorage
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

    /// From now on, new requests pass unchanged and unrecorded. Active exchanges are handled until they end.
    public func pause() { isOn.withLock { $0 = false } }

    /// Whether requests are handled.
    public var isRunning: Bool { isOn.withLock { $0 } }

    /// Returns a transport that sends through `transport` and whose traffic this interceptor handles.
    public func transport(wrapping transport: any HTTPTransport) -> any HTTPTransport {
        InterceptingTransport(transport, interceptor: self)
    }

    /// Removes all records from the storage and notifies each `InspectorPage` and `InspectorHubPlugin`.
    public func removeRecords() async {
        await storage.removeAll()
        clearing.send(())
    }

    /// Yields a value each time the records are removed.
    var clearings: AsyncStream<Void> { clearing.stream(keeping: 1) }

    /// The newest 100 reports, oldest first.
    public var reports: [InterceptionReport] { reported.withLock { $0 } }

    /// Reports an event to the author of a floret. Secrets are removed from the message.
    ///
    /// - Parameters:
    ///   - code: The kind of the report.
    ///   - floret: The floret's name.
    ///   - message: A sentence about the event.
    public func report(_ code: InterceptionReport.Code, floret: String, _ message: String) {
        let report = InterceptionReport(code, floret: floret, configuration.redaction.redacted(message))
        reported.withLock { reported in
            if reported.count == 100 { reported.removeFirst() }
            reported.append(report)
        }
        configuration.onReport(report)
    }

    /// The interceptor for which the current task runs a floret.
    @TaskLocal static var current: Interceptor?

    /// The florets that handle a request that begins now, or `nil` if the request is to pass unchanged.
    func florets(for record: Record) -> [any InterceptableFloret]? {
        guard configuration.recordSelector.selects(record) else { return nil }
        // Most florets are enabled, so the list is not copied before one is disabled.
        var enabled: [any InterceptableFloret]?
        for (index, floret) in interceptable.enumerated() {
            if floret.enabled {
                enabled?.append(floret)
            } else if enabled == nil {
                enabled = Array(interceptable[..<index])
            }
        }
        return enabled ?? interceptable
    }
}

extension Interceptor {
    /// Records whose newest state is still being stored in a task, because the code that ended a body could not wait.
    private struct LateEndings {
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var next: UInt64 = 0
    }

    /// Stores a state in a task of its own, so that no caller waits.
    func storeInTask(_ store: @escaping @Sendable () async -> Void) {
        lateEndings.withLock { endings in
            let number = endings.next
            endings.next += 1
            endings.tasks[number] = Task {
                await store()
                lateEndings.withLock { _ = $0.tasks.removeValue(forKey: number) }
            }
        }
    }

    /// Returns when the final state of every exchange that has ended is stored, including cancelled ones.
    public func settled() async {
        for task in lateEndings.withLock({ Array($0.tasks.values) }) { await task.value }
    }
}
