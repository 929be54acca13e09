import Foundation
import HTTPCore
import Primitives

/// Answers requests without the network, from mappings, rules and recordings.
///
///     let recorder = try MockFloret(.record, folder: "Mocks")             // once, with the network
///     let mock = try MockFloret(.mock(forced: true), folder: "Mocks")     // from then on, without
///
/// In the mode ``Mode/mock(forced:)``, a request is matched with the mappings, then with the rules, then with the
/// recordings. The first match answers it. The recorded responses to one request are used in the order in which they
/// were recorded. Recordings have no secrets (``Configuration/redaction``), and secrets are also removed from a request
/// before it is compared with a recording.
///
/// In the forced mode, a request without a match fails with `InterceptionError.noMock`. The reason of the error names
/// the nearest recording, if there is one, and the differences, or says that all recorded responses to this request
/// were used. In the unforced mode, the request is sent.
public final class MockFloret: InterceptableFloret {
    /// The modes of the floret.
    public enum Mode: Sendable, Hashable {
        /// Requests are sent, and each complete response is recorded.
        case record
        /// Requests are answered. A request without a match fails if `forced` is `true`, and is sent otherwise.
        case mock(forced: Bool)
    }

    /// The settings for recordings and their matching.
    public struct Configuration: Sendable {
        /// The parts of a request that are compared.
        public var matching = Matching.standard
        /// The behaviour after the last recorded response to a request.
        public var whenUsedUp = WhenUsedUp.repeatLast
        /// Whether the dates of recorded responses are moved by the time since the recording: `Date`, `Expires`,
        /// `Last-Modified` and the expiry of cookies. Otherwise they are unchanged.
        public var refreshesDates = false
        /// The rules that remove secrets from recordings.
        public var redaction = Redaction.standard
        /// The greatest number of bytes of a recorded body. An exchange with a larger body is not recorded, which is
        /// reported.
        public var maximumBodyBytes = 8 << 20
        /// The greatest number of recorded responses to one request. Further responses are not recorded, which is
        /// reported.
        public var maximumAnswers = 1000

        /// Creates the standard settings.
        public init() {}

        /// The standard settings.
        public static var standard: Configuration { Configuration() }
    }

    /// Identifies a mapping, for ``MockFloret/removeMapping(_:)``.
    public struct MappingToken: Sendable, Hashable {
        fileprivate let number: Int
    }

    /// Counts since the creation of the floret.
    public struct Counts: Sendable, Hashable {
        /// The number of requests that were answered.
        public var answered = 0
        /// The number of responses that were recorded.
        public var recorded = 0
        /// The number of requests without a match.
        public var missed = 0

        /// Creates counts.
        ///
        /// - Parameters:
        ///   - answered: The number of requests that were answered.
        ///   - recorded: The number of responses that were recorded.
        ///   - missed: The number of requests without a match.
        public init(answered: Int = 0, recorded: Int = 0, missed: Int = 0) {
            self.answered = answered
            self.recorded = recorded
            self.missed = missed
        }
    }

    typealias Mapping = @Sendable (HTTPRequest, MockFloret) async -> Response?

    struct State {
        var mode: Mode
        var mappings: [(token: MappingToken, answer: Mapping)] = []
        var mappingCount = 0
        /// The number of answers of each rule that were used.
        var used: [Int]
        var recordings: [MockKey: [MockRecording]] = [:]
        /// The number of recordings of each request that were used.
        var replayed: [MockKey: Int] = [:]
        /// The requests whose responses will be recorded, as they were before later florets could change them.
        var requestsToRecord: [Record.ID: HTTPRequest] = [:]
        /// The last number that was used in each folder.
        var numbers: [String: Int] = [:]
        var counts = Counts()
        var lastMisses: [String] = []
    }

    /// The rules in the order in which they are matched.
    public let rules: [Rule]
    /// The settings.
    public let configuration: Configuration
    let folder: MockFolder?
    private let power = Switch(true)
    let state: Locked<State>

    /// Creates a floret without a folder.
    ///
    /// - Parameters:
    ///   - mode: The initial mode.
    ///   - rules: The rules in the order in which they are matched.
    ///   - configuration: The settings.
    public init(
        _ mode: Mode = .mock(forced: false), rules: [Rule] = [], configuration: Configuration = .standard
    ) {
        self.rules = rules
        self.configuration = configuration
        folder = nil
        state = Locked(State(mode: mode, used: rules.map { _ in 0 }))
    }

    /// Creates a floret with the recordings of a folder, which this floret or Cauli wrote.
    ///
    /// - Parameters:
    ///   - mode: The initial mode. In the mode `record`, a missing folder is created with the first recording.
    ///   - folder: The path of the folder.
    ///   - rules: The rules in the order in which they are matched.
    ///   - configuration: The settings.
    /// - Throws: `InterceptionError` with the code `storageFailed` if the folder cannot be read, and `invalidFile` if a
    ///   recording is malformed, with its path and the location of the error.
    public init(
        _ mode: Mode = .mock(forced: false), folder: String, rules: [Rule] = [],
        configuration: Configuration = .standard
    ) throws {
        let files = MockFolder(path: folder)
        var state = State(mode: mode, used: rules.map { _ in 0 })
        if mode != .record || FileManager.default.fileExists(atPath: folder) {
            for recording in try files.recordings() {
                state.recordings[configuration.key(of: recording.request), default: []].append(recording)
            }
            state.recordings = state.recordings.mapValues(\.inOrder)
        }
        self.rules = rules
        self.configuration = configuration
        self.folder = files
        self.state = Locked(state)
    }

    public var summary: String? { "Answers requests without the network." }

    public var enabled: Bool {
        get { power.isOn }
        set { power.isOn = newValue }
    }

    /// The mode for requests that begin from now on.
    public var mode: Mode {
        get { state.withLock { $0.mode } }
        set { state.withLock { $0.mode = newValue } }
    }

    /// The counts since the creation of the floret.
    public var counts: Counts { state.withLock { $0.counts } }

    /// Restarts every sequence of answers with its first answer.
    public func rewind() {
        state.withLock { state in
            state.used = state.used.map { _ in 0 }
            state.replayed = [:]
        }
    }

    /// Adds a mapping. It runs after the earlier mappings, unless one of these has answered the request.
    ///
    /// - Parameter answer: Returns the response, or `nil` if the mapping does not answer the request.
    /// - Returns: The token for ``removeMapping(_:)``.
    @discardableResult
    public func addMapping(
        with answer: @escaping @Sendable (HTTPRequest, MockFloret) async -> Response?
    ) -> MappingToken {
        state.withLock { state in
            state.mappingCount += 1
            let token = MappingToken(number: state.mappingCount)
            state.mappings.append((token, answer))
            return token
        }
    }

    /// Adds a mapping for requests with exactly this path.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - answer: Returns the response, or `nil` if the mapping does not answer the request.
    /// - Returns: The token for ``removeMapping(_:)``.
    @discardableResult
    public func addMapping(
        forURLPath path: String, with answer: @escaping @Sendable (HTTPRequest, MockFloret) async -> Response?
    ) -> MappingToken {
        addMapping { request, floret in request.path == path ? await answer(request, floret) : nil }
    }

    /// Adds a mapping for requests with exactly this URL.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - answer: Returns the response, or `nil` if the mapping does not answer the request.
    /// - Returns: The token for ``removeMapping(_:)``.
    @discardableResult
    public func addMapping(
        forURL url: String, with answer: @escaping @Sendable (HTTPRequest, MockFloret) async -> Response?
    ) -> MappingToken {
        addMapping { request, floret in request.url == url ? await answer(request, floret) : nil }
    }

    /// Removes the mapping with this `token`.
    public func removeMapping(_ token: MappingToken) {
        state.withLock { $0.mappings.removeAll { $0.token == token } }
    }

    /// Returns a recorded response.
    ///
    /// - Parameter path: The path in the folder, for example `GET_api_example_com_v1-0011223344556677/0001.json`.
    /// - Returns: The response, or `nil` if there is no recording, its exchange failed or its file cannot be read.
    public func answer(at path: String) -> Response? {
        let recording = state.withLock { state in
            state.recordings.values.lazy.joined().first { $0.path == path }
        }
        guard case .success(let response)? = try? recording?.answer() else { return nil }
        return response
    }
}

extension MockFloret {
    public func willRequest(_ record: Record) async -> Record {
        guard record.result == nil else { return record }
        let (mode, mappings) = state.withLock { ($0.mode, $0.mappings.map(\.answer)) }
        var record = record
        if mode == .record || configuration.matching.comparesBody || !rules.isEmpty {
            record.designatedRequest.body = await record.designatedRequest.body.gathered(
                upTo: configuration.maximumBodyBytes)
        }
        guard case .mock(let isForced) = mode else {
            state.withLock { [record] in $0.requestsToRecord[record.id] = record.designatedRequest }
            return record
        }
        for mapping in mappings {
            if let response = await mapping(record.designatedRequest, self) { return answered(record, response) }
        }
        if let response = answerOfRule(to: record) { return answered(record, response) }
        let key = configuration.key(of: record.designatedRequest)
        if let recording = nextRecording(key) {
            do {
                switch try recording.answer() {
                case .success(let response): return answered(record, refreshed(response, of: recording))
                case .failure(let error): record.result = .failure(error)
                }
            } catch {
                record.result = .failure(error)
            }
            return record
        }
        state.withLock { $0.counts.missed += 1 }
        guard isForced else { return record }
        let reason = reasonForNoMock(record, key)
        state.withLock { state in
            if state.lastMisses.count == 10 { state.lastMisses.removeFirst() }
            state.lastMisses.append(reason)
        }
        record.result = .failure(InterceptionError(.noMock, reason))
        return record
    }

    private func refreshed(_ response: Response, of recording: MockRecording) -> Response {
        guard configuration.refreshesDates, let recorded = recording.recorded else { return response }
        let now = (Interceptor.current?.configuration ?? .standard).clock.now()
        // The date in a file can be out of the range of Int64.
        guard let seconds = Int64(exactly: now.timeIntervalSince(recorded).rounded(.down)) else { return response }
        var response = response
        response.headers = response.headers.moved(by: seconds)
        return response
    }

    private func answered(_ record: Record, _ response: Response) -> Record {
        var (record, response) = (record, response)
        // Redaction may have changed the length of the recorded body.
        if record.designatedRequest.method != .head, let length = response.body.length,
            response.headers.contains("Content-Length")
        {
            response.headers["Content-Length"] = String(length)
        }
        record.result = .success(response)
        state.withLock { $0.counts.answered += 1 }
        return record
    }

    private func answerOfRule(to record: Record) -> Response? {
        for (index, rule) in rules.enumerated() where rule.selector.selects(record) {
            let answer = state.withLock { state -> Int? in
                let next = rule.whenUsedUp.index(after: state.used[index], of: rule.answers.count)
                if next != nil { state.used[index] += 1 }
                return next
            }
            if let answer { return rule.answers[answer] }
        }
        return nil
    }

    private func nextRecording(_ key: MockKey) -> MockRecording? {
        state.withLock { [configuration] state in
            let recordings = state.recordings[key] ?? []
            let used = state.replayed[key] ?? 0
            guard let next = configuration.whenUsedUp.index(after: used, of: recordings.count) else { return nil }
            state.replayed[key] = used + 1
            return recordings[next]
        }
    }

    private func reasonForNoMock(_ record: Record, _ key: MockKey) -> String {
        let request = configuration.redaction.redacted(record).designatedRequest
        let beginning = "No mock for \(request.method) \(request.url): "
        let recordings = state.withLock { $0.recordings }
        if let used = recordings[key] {
            return beginning
                + "all \(used.count) recorded answers were used; call rewind(), or set whenUsedUp to cycle or repeatLast."
        }
        let candidates = recordings.compactMap { other, recordings in
            recordings.first.map { (difference: key.difference(from: other), recording: $0) }
        }
        let nearest = candidates.min {
            ($0.difference.weight, $0.recording.path) < ($1.difference.weight, $1.recording.path)
        }
        guard let nearest else {
            return beginning
                + (rules.isEmpty ? "there are no recordings." : "none of \(rules.count) rules has an answer.")
        }
        let recorded = nearest.recording.request
        return beginning
            + "the nearest of \(candidates.count) recorded requests is \(recorded.method) \(recorded.url) "
            + "(\(nearest.recording.path)), but \(nearest.difference.sentences.joined(separator: ", and "))."
    }
}

extension MockFloret.Configuration {
    /// Returns the compared parts of a request, without secrets, as in recordings.
    func key(of request: HTTPRequest) -> MockKey {
        MockKey(redaction.redacted(Record(request)).designatedRequest, matching)
    }
}

extension InterceptionError.Code {
    /// A forced `MockFloret` has no answer to the request.
    public static var noMock: Self { Self(rawValue: "noMock") }
}
