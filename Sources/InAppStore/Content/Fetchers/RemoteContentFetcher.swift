import Foundation
import HTTPCore
import Primitives

/// Downloads an archive: `{"type": "RemoteContentFetcher", "URL": "https://…", "size": 12345, "sha256": "…"}`. `size`
/// and `sha256` are optional. The URL uses https, or http on the loopback interface.
///
/// It requests one range at a time, so that it can report progress and no data is lost, even over transports that
/// buffer responses. After a broken connection or a temporary failure of the server, it retries with a pause. It keeps
/// the received bytes if the server still has the same version (`ETag`, `Last-Modified`), also in a later run. From a
/// server without ranges it requests the whole file. It does not follow redirects: use the final URL.
public struct RemoteContentFetcher: ContentFetcher {
    /// The settings of a remote content fetcher.
    public struct Configuration: Sendable {
        /// The longest range of one request, in bytes.
        public var piece = 4 << 20
        /// The size limit of an archive, in bytes.
        public var maximumBytes = 4 << 30
        /// The time without data after which a connection counts as broken.
        public var idleTimeout: Duration = .seconds(60)
        /// The pauses after consecutive failures without progress.
        public var backoff = Backoff(attempts: 5, initial: .seconds(1), maximum: .seconds(30))
        /// Waits for a duration, or throws if the task is cancelled.
        public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// Returns a number from 0 to 1, which varies the pauses.
        public var random: @Sendable () -> Double = { .random(in: 0...1) }

        /// Creates the default settings.
        public init() {}

        /// The earlier name of `idleTimeout`.
        @available(*, deprecated, renamed: "idleTimeout")
        public var patience: Duration {
            get { idleTimeout }
            set { idleTimeout = newValue }
        }
    }

    public let types = ShippedContentFetcher.remote.types
    public let bringsArchivesOnly = true
    private let transport: any HTTPTransport
    private let configuration: Configuration

    /// Creates a fetcher.
    ///
    /// - Parameters:
    ///   - transport: The transport for all requests.
    ///   - configuration: The settings.
    public init(transport: any HTTPTransport, configuration: Configuration = .init()) {
        self.transport = transport
        self.configuration = configuration
    }

    public func check(_ parameters: JSONObject) throws { _ = try ContentSource(parameters) }

    /// Downloads the archive into the order's work folder.
    ///
    /// - Parameters:
    ///   - order: The order, with the URL among its parameters.
    ///   - progress: Receives the progress.
    /// - Returns: The archive.
    /// - Throws: `PurchaseError`: `contentFetchFailed`, `contentMismatch`; and file errors with the path.
    public func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent {
        let source = try ContentSource(order.parameters)
        let file = try PartialDownload(in: order.workFolder)
        var attempts = Attempts(configuration, received: file.state.received)
        while !file.state.isComplete {
            try Task.checkCancellation()
            let request = DownloadRequest(file.state, piece: attempts.piece)
            let pause = try await attempts.pause(
                after: outcome(of: request, source, file, progress), received: file.state.received,
                backoff: configuration.backoff, spread: configuration.random)
            if let pause { try await configuration.sleep(pause) }
        }
        progress(ContentProgress(file.state))
        do {
            try source.check(file.path)
        } catch let error as PurchaseError where error.code == .contentMismatch {
            try file.reset()
            throw error
        }
        return .archive(path: file.path)
    }

    /// Sends one request, and stores the content of its response.
    private func outcome(
        of request: DownloadRequest, _ source: ContentSource, _ file: PartialDownload,
        _ progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> Outcome {
        do {
            return try await withIdleTimeout { activity in
                try await send(request, source, file) { state in
                    activity.withLock { $0 += 1 }
                    progress(ContentProgress(state))
                }
            }
        } catch let error as HTTPError {
            try Task.checkCancellation()
            let isTemporary = error.isRetryable || [.protocolError, .bodyFailed, .cancelled].contains(error.code)
            // The underlying error is left out, because it may contain the whole URL.
            let fetchError = PurchaseError(
                .contentFetchFailed, "Cannot fetch the content: \(error.reason)",
                underlying: HTTPError(error.code, error.reason))
            guard isTemporary else { throw fetchError }
            return .broken(fetchError, after: nil)
        }
    }

    private func send(
        _ request: DownloadRequest, _ source: ContentSource, _ file: PartialDownload,
        onProgress: @escaping @Sendable (DownloadState) -> Void
    ) async throws -> Outcome {
        let answer = try await transport.send(
            HTTPRequest(
                method: .get, url: source.url.absoluteString, headers: request.headers, timeout: Self.longest))
        defer { if case .stream(let stream) = answer.body { stream.cancel() } }
        let host = source.url.host ?? "The server"
        let refusal = PurchaseError(.contentFetchFailed, "\(host) answered \(answer.status) instead of the content.")
        switch request.responseKind(status: answer.status, answer.headers, length: answer.body.length) {
        case .refused: throw refusal
        case .later(let pause): return .broken(refusal, after: pause)
        case .noParts: return .noParts
        case .otherVersion:
            try file.reset()
            return .otherVersion
        case .body(let state, let count):
            if let total = state.total { try check(total, source) }
            try file.begin(state)
            onProgress(state)
            try await receive(answer.body, count, source, file, onProgress)
            if state.total == nil { try file.end() }
            return .arrived
        }
    }

    private func receive(
        _ body: HTTPBody, _ count: Int?, _ source: ContentSource, _ file: PartialDownload,
        _ onProgress: @escaping @Sendable (DownloadState) -> Void
    ) async throws {
        var received = 0
        func append(_ bytes: [UInt8]) throws {
            try Task.checkCancellation()
            received += bytes.count
            guard received <= count ?? .max else {
                try file.reset()
                throw HTTPError(.protocolError, "The server sent more bytes than it announced.")
            }
            try check(atLeast: file.state.received + bytes.count, source)
            try file.append(bytes)
            onProgress(file.state)
        }
        switch body {
        case .bytes(let bytes): try append(bytes)
        case .stream(let stream):
            // Cancels the stream, because only its end wakes a waiting reader.
            try await withTaskCancellationHandler {
                while let bytes = try await stream.next() { try append(bytes) }
            } onCancel: {
                stream.cancel()
            }
        }
        guard received == count ?? received else {
            throw HTTPError(.connectionLost, "The connection ended before the content was complete.")
        }
    }

    private func check(_ total: Int, _ source: ContentSource) throws {
        try source.check(size: total)
        try check(atLeast: total, source)
    }

    private func check(atLeast count: Int, _ source: ContentSource) throws {
        if let size = source.size, count > size { try source.check(size: count) }
        guard count > configuration.maximumBytes else { return }
        throw PurchaseError(
            .contentMismatch, "The content has more than the \(configuration.maximumBytes) bytes of the limit.")
    }

    /// The timeout of a request. It is long, because the idle timeout ends a broken exchange earlier.
    private static let longest: Duration = .seconds(86_400)

    /// Throws `HTTPError.timeout` if the activity counter of `work` does not change within the idle timeout.
    private func withIdleTimeout(_ work: @escaping @Sendable (Locked<Int>) async throws -> Outcome) async throws
        -> Outcome
    {
        let (activity, configuration) = (Locked(0), configuration)
        return try await withThrowingTaskGroup(of: Outcome.self) { group in
            group.addTask { try await work(activity) }
            group.addTask {
                var last: Int?
                while true {
                    let now = activity.withLock { $0 }
                    guard now != last else {
                        throw HTTPError(.timeout, "The connection sent no data for \(configuration.idleTimeout).")
                    }
                    last = now
                    try await configuration.sleep(configuration.idleTimeout)
                }
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    private enum Outcome: Sendable {
        case arrived
        case noParts
        case otherVersion
        case broken(PurchaseError, after: Duration?)
    }

    /// Counts the attempts without progress.
    private struct Attempts {
        /// The range size; `nil` to request the whole file.
        private(set) var piece: Int?
        private var furthest: Int
        private var failures = 0
        private static let smallestPiece = 256 << 10

        init(_ configuration: Configuration, received: Int) {
            piece = max(1, configuration.piece)
            furthest = received
        }

        /// Returns the pause before the next request, or `nil` for no pause. Throws if no attempt is left.
        mutating func pause(
            after outcome: Outcome, received: Int, backoff: Backoff, spread: () -> Double
        ) throws -> Duration? {
            let isFurther = received > furthest
            furthest = max(furthest, received)
            switch outcome {
            case .arrived:
                if isFurther { failures = 0 }
                return nil
            case .noParts:
                piece = nil
                return nil
            case .otherVersion:
                return try next(
                    backoff, nil, spread,
                    PurchaseError(.contentFetchFailed, "The content changed repeatedly during the download.")
                )
            case .broken(let error, let asked):
                if isFurther {
                    failures = 0
                } else if let piece, piece > Self.smallestPiece {
                    self.piece = max(piece / 2, Self.smallestPiece)
                }
                return try next(backoff, asked, spread, error)
            }
        }

        private mutating func next(
            _ backoff: Backoff, _ asked: Duration?, _ spread: () -> Double, _ error: PurchaseError
        ) throws -> Duration? {
            failures += 1
            guard let pause = backoff.pause(after: failures, asked: asked, spread: spread()) else { throw error }
            return pause
        }
    }
}

extension ContentProgress {
    fileprivate init(_ state: DownloadState) {
        self.init(received: Int64(state.received), total: state.total.map { Int64($0) })
    }
}
