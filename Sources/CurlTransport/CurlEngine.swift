import CCurl
import Foundation
import HTTPCore
import Primitives

/// The command queue of the thread on which libcurl runs. The thread starts with the first request and ends after
/// `stop`.
final class CurlEngine: Sendable {
    enum Command: Sendable {
        case start(Transfer, Promise<HTTPResponse>)
        /// Continues a paused transfer, because its reader or its request body is ready.
        case proceed(Transfer)
        case cancel(Transfer)
    }

    private struct Mailbox {
        var commands: [Command] = []
        var multi: Multi?
        var isStopped = false
        /// The callers of `shutdown`, which wait until the thread ends.
        var shutdownContinuations: [CheckedContinuation<Void, Never>] = []
    }

    static let shutDown = HTTPError(.cancelled, "The transport was shut down.")

    private let configuration: CurlTransport.Configuration
    private let mailbox = Locked(Mailbox())

    init(_ configuration: CurlTransport.Configuration) { self.configuration = configuration }

    /// Adds a command for the engine's thread, and returns `false` when the engine has stopped.
    ///
    /// Wakes libcurl under the lock, so that `end` cannot free the handle meanwhile. The wake-up only writes to a
    /// descriptor.
    @discardableResult func post(_ command: Command) -> Bool {
        let (isAccepted, created) = mailbox.withLock { mailbox -> (Bool, Multi?) in
            guard !mailbox.isStopped else { return (false, nil) }
            mailbox.commands.append(command)
            if let multi = mailbox.multi {
                curl_multi_wakeup(multi.handle)
                return (true, nil)
            }
            let multi = Multi(configuration)
            mailbox.multi = multi
            return (true, multi)
        }
        if let created { run(created) }
        return isAccepted
    }

    func cancel(_ transfer: Transfer) { post(.cancel(transfer)) }

    func stop() {
        mailbox.withLock { mailbox in
            mailbox.isStopped = true
            if let multi = mailbox.multi { curl_multi_wakeup(multi.handle) }
        }
    }

    func shutdown() async {
        stop()
        await withCheckedContinuation { continuation in
            let hasEnded = mailbox.withLock { mailbox in
                if mailbox.multi != nil { mailbox.shutdownContinuations.append(continuation) }
                return mailbox.multi == nil
            }
            if hasEnded { continuation.resume() }
        }
    }

    private func run(_ multi: Multi) {
        Thread.start(named: "CurlTransport") { [self] in
            // Blocks SIGPIPE: libcurl and the TLS library can write to sockets that the server has closed.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            var loop = TransferLoop(multi, configuration)
            while loop.runOnce(takeCommands()) {}
            end(multi)
        }
    }

    private func takeCommands() -> (commands: [Command], isStopped: Bool) {
        mailbox.withLock { mailbox in
            defer { mailbox.commands = [] }
            return (mailbox.commands, mailbox.isStopped)
        }
    }

    private func end(_ multi: Multi) {
        let (continuations, unhandled) = mailbox.withLock { mailbox in
            defer { mailbox = Mailbox(isStopped: true) }
            return (mailbox.shutdownContinuations, mailbox.commands)
        }
        for case .start(_, let answer) in unhandled { answer.resolve(.failure(Self.shutDown)) }
        curl_multi_cleanup(multi.handle)
        for continuation in continuations { continuation.resume() }
    }
}

/// A libcurl multi handle, which runs many transfers.
///
/// Sendable: only the engine's thread uses it, except for `curl_multi_wakeup`, which is safe on every thread.
struct Multi: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer

    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Creates a handle that keeps as many connections open for reuse as `TransferQueue` allows at once.
    init(_ configuration: CurlTransport.Configuration) {
        precondition(Self.isLibraryReady, "libcurl cannot be initialised")
        guard let handle = curl_multi_init() else { preconditionFailure("libcurl is out of memory") }
        self.handle = handle
        souk_curl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, max(1, configuration.maximumConnections))
    }
}

/// The loop of the engine's thread. It starts, runs and ends transfers.
struct TransferLoop {
    private let multi: Multi
    private let clock: MonotonicClock
    private var active: [UnsafeMutableRawPointer: Transfer] = [:]
    private var queue: TransferQueue<Transfer>
    private var idleHandles: [UnsafeMutableRawPointer] = []
    private static let maximumIdleHandles = 64

    init(_ multi: Multi, _ configuration: CurlTransport.Configuration) {
        self.multi = multi
        clock = configuration.clock
        queue = TransferQueue(
            limit: configuration.maximumConnections, limitOfOrigin: configuration.maximumConnectionsPerHost)
    }

    /// Executes the commands, advances all transfers and waits for the next event. Returns `false` when the engine has
    /// stopped. Just before the wait, starts queued transfers in place of ended ones. libcurl then does not wait.
    mutating func runOnce(_ mail: (commands: [CurlEngine.Command], isStopped: Bool)) -> Bool {
        for command in mail.commands { execute(command) }
        if mail.isStopped {
            for transfer in all(where: { _ in true }) { end(transfer, .failure(CurlEngine.shutDown)) }
            for handle in idleHandles { curl_easy_cleanup(handle) }
            return false
        }
        startQueued()
        var running: Int32 = 0
        curl_multi_perform(multi.handle, &running)
        readMessages()
        let now = clock.now
        for transfer in all(where: { $0.deadline <= now }) {
            end(transfer, .failure(transfer.timeout))
        }
        startQueued()
        curl_multi_poll(multi.handle, nil, 0, waitingTime(now), nil)
        return true
    }

    /// Returns the active and queued transfers that satisfy a predicate.
    private func all(where predicate: (Transfer) -> Bool) -> [Transfer] {
        var found = active.values.filter(predicate)
        queue.forEach { if predicate($0) { found.append($0) } }
        return found
    }

    private mutating func execute(_ command: CurlEngine.Command) {
        switch command {
        case .start(let transfer, let answer):
            guard !transfer.isCancelled else {
                answer.resolve(.failure(HTTPError(.cancelled, "The request was cancelled.")))
                return
            }
            transfer.answer = answer
            queue.add(transfer, to: transfer.origin)
        case .proceed(let transfer):
            if let handle = transfer.handle { curl_easy_pause(handle, CURLPAUSE_CONT) }
        case .cancel(let transfer):
            transfer.isCancelled = true
            end(transfer, .failure(HTTPError(.cancelled, "The request was cancelled.")))
        }
    }

    private mutating func startQueued() {
        while let transfer = queue.next() { begin(transfer) }
    }

    private mutating func begin(_ transfer: Transfer) {
        guard let handle = idleHandles.popLast() ?? curl_easy_init() else {
            queue.ended(to: transfer.origin)
            return transfer.end(.failure(HTTPError(.unsupported, "libcurl is out of memory.")))
        }
        transfer.begin(on: handle)
        active[handle] = transfer
        let code = curl_multi_add_handle(multi.handle, handle)
        if code != CURLM_OK {
            end(transfer, .failure(HTTPError(.unsupported, "libcurl refused the request (\(code.rawValue)).")))
        }
    }

    private mutating func readMessages() {
        var remaining: Int32 = 0
        while let message = curl_multi_info_read(multi.handle, &remaining) {
            var result = CURLE_OK
            guard let handle = souk_curl_finished(message, &result), let transfer = active[handle] else { continue }
            end(transfer, transfer.outcome(of: result))
        }
    }

    private mutating func end(_ transfer: Transfer, _ outcome: Result<Void, HTTPError>) {
        guard let handle = transfer.handle else {
            if queue.remove(transfer, to: transfer.origin) { transfer.end(outcome) }
            return
        }
        active[handle] = nil
        queue.ended(to: transfer.origin)
        curl_multi_remove_handle(multi.handle, handle)
        transfer.end(outcome)
        if idleHandles.count < Self.maximumIdleHandles {
            curl_easy_reset(handle)
            idleHandles.append(handle)
        } else {
            curl_easy_cleanup(handle)
        }
    }

    /// Returns the milliseconds to the next deadline, at most a minute or the reading interval of the clock. libcurl
    /// returns earlier when one of its own timeouts passes.
    private func waitingTime(_ now: ContinuousClock.Instant) -> Int32 {
        var next = active.values.map(\.deadline).min()
        queue.forEach { next = min(next ?? $0.deadline, $0.deadline) }
        guard let next else { return 60_000 }
        let time = min(next - now, clock.readingInterval ?? .seconds(60))
        return Int32(max(0, (time / .milliseconds(1)).rounded(.up)))
    }
}
