import Foundation
import HTTPCore
import Primitives

/// Downloads an archive: `{"type": "RemoteContentFetcher", "URL": "https://…", "size": 12345, "sha256": "…"}`, the last
/// two where known. Over https, or http on loopback.
///
/// It asks for a piece at a time, so that progress is told and nothing is lost over transports that collect answers too.
/// A connection that breaks, and a server that is busy, is asked again after a pause; what was received is continued
/// when the server says that it still has the same version (`ETag`, `Last-Modified`), in a later run as well. A server
/// that knows no ranges is asked for everything. Redirects are not followed: name where the archive is.
public struct RemoteContentFetcher: ContentFetcher {
    public struct Configuration: Sendable {
        /// Bytes asked for at a time.
        public var piece = 4 << 20
        /// The longest archive that is accepted.
        public var maximumBytes = 4 << 30
        /// After how long without a byte a connection counts as broken.
        public var patience: Duration = .seconds(60)
        /// The pauses after failures that brought nothing, one after another.
        public var backoff = Backoff(attempts: 5, initial: .seconds(1), maximum: .seconds(30))
        /// How it waits.
        public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// Spreads the pauses; from 0 to 1.
        public var random: @Sendable () -> Double = { .random(in: 0...1) }

        public init() {}
    }

    public let types = ShippedContentFetcher.remote.types
    public let bringsArchivesOnly = true
    private let transport: any HTTPTransport
    private let configuration: Configuration

    public init(transport: any HTTPTransport, configuration: Configuration = .init()) {
        self.transport = transport
        self.configuration = configuration
    }

    public func check(_ parameters: JSONObject) throws { _ = try ContentSource(parameters) }

    /// Throws `PurchaseError`: `contentFetchFailed`, `contentMismatch`; and an error that names a file.
    public func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent {
        let source = try ContentSource(order.parameters)
        let file = try PartialDownload(in: order.workFolder)
        var attempts = Attempts(configuration, received: file.state.received)
        while !file.state.isComplete {
            try Task.checkCancellation()
            let question = DownloadQuestion(file.state, piece: attempts.piece)
            let pause = try await attempts.pause(
                after: outcome(of: question, source, file, progress), received: file.state.received,
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

    /// Asks one question, and keeps what the answer brings.
    private func outcome(
        of question: DownloadQuestion, _ source: ContentSource, _ file: PartialDownload,
        _ progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> Outcome {
        do {
            return try await watched { pulse in
                try await ask(question, source, file) { state in
                    pulse.withLock { $0 += 1 }
                    progress(ContentProgress(state))
                }
            }
        } catch let error as HTTPError {
            try Task.checkCancellation()
            let mayPass = error.isRetryable || [.protocolError, .bodyFailed, .cancelled].contains(error.code)
            // Without what is underneath, which may repeat the whole URL.
            let known = PurchaseError(
                .contentFetchFailed, "The content was not fetched: \(error.reason)",
                underlying: HTTPError(error.code, error.reason))
            guard mayPass else { throw known }
            return .broken(known, after: nil)
        }
    }

    private func ask(
        _ question: DownloadQuestion, _ source: ContentSource, _ file: PartialDownload,
        moved: @escaping @Sendable (DownloadState) -> Void
    ) async throws -> Outcome {
        let answer = try await transport.send(
            HTTPRequest(
                method: .get, url: source.url.absoluteString, headers: question.headers, timeout: Self.longest))
        defer { if case .stream(let stream) = answer.body { stream.cancel() } }
        let host = source.url.host ?? "The server"
        let refusal = PurchaseError(.contentFetchFailed, "\(host) answered \(answer.status), not the content.")
        switch question.meaning(status: answer.status, answer.headers, length: answer.body.length) {
        case .refused: throw refusal
        case .later(let pause): return .broken(refusal, after: pause)
        case .noParts: return .noParts
        case .otherVersion:
            try file.reset()
            return .otherVersion
        case .body(let state, let count):
            if let total = state.total { try check(total, source) }
            try file.begin(state)
            moved(state)
            try await take(answer.body, count, source, file, moved)
            if state.total == nil { try file.end() }
            return .arrived
        }
    }

    private func take(
        _ body: HTTPBody, _ count: Int?, _ source: ContentSource, _ file: PartialDownload,
        _ moved: @escaping @Sendable (DownloadState) -> Void
    ) async throws {
        var taken = 0
        func take(_ bytes: [UInt8]) throws {
            try Task.checkCancellation()
            taken += bytes.count
            guard taken <= count ?? .max else {
                try file.reset()
                throw HTTPError(.protocolError, "The server sent more than it had said.")
            }
            try check(atLeast: file.state.received + bytes.count, source)
            try file.append(bytes)
            moved(file.state)
        }
        switch body {
        case .bytes(let bytes): try take(bytes)
        case .stream(let stream):
            // A reader that waits is woken by the stream's end and by nothing else.
            try await withTaskCancellationHandler {
                while let bytes = try await stream.next() { try take(bytes) }
            } onCancel: {
                stream.cancel()
            }
        }
        guard taken == count ?? taken else {
            throw HTTPError(.connectionLost, "The connection ended before all of the content had come.")
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
            .contentMismatch, "The content has more than the \(configuration.maximumBytes) bytes that are accepted.")
    }

    /// The exchange has no deadline of its own; it ends when nothing moves.
    private static let longest: Duration = .seconds(86_400)

    /// Throws `HTTPError.timeout` when the pulse of `work` has not moved for so long as patience lasts.
    private func watched(_ work: @escaping @Sendable (Locked<Int>) async throws -> Outcome) async throws -> Outcome {
        let (pulse, configuration) = (Locked(0), configuration)
        return try await withThrowingTaskGroup(of: Outcome.self) { group in
            group.addTask { try await work(pulse) }
            group.addTask {
                var last: Int?
                while true {
                    let now = pulse.withLock { $0 }
                    guard now != last else {
                        throw HTTPError(.timeout, "Nothing came for \(configuration.patience).")
                    }
                    last = now
                    try await configuration.sleep(configuration.patience)
                }
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    /// What came of one question.
    private enum Outcome: Sendable {
        case arrived
        case noParts
        case otherVersion
        case broken(PurchaseError, after: Duration?)
    }

    /// How often it was tried without getting further.
    private struct Attempts {
        /// `nil`: everything at once.
        private(set) var piece: Int?
        private var furthest: Int
        private var failures = 0
        private static let smallestPiece = 256 << 10

        init(_ configuration: Configuration, received: Int) {
            piece = max(1, configuration.piece)
            furthest = received
        }

        /// Throws when it is not worth trying again.
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
                    PurchaseError(.contentFetchFailed, "The content changes again and again while it is being fetched.")
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
