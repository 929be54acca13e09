import Foundation
import HTTPCore
import Primitives

/// Answers requests without the network, by mappings, by rules, and by what it recorded earlier.
///
///     let recorder = try MockFloret(.record, folder: "Mocks")             // once, with the network
///     let mock = try MockFloret(.mock(forced: true), folder: "Mocks")     // from then on, without
///
/// A request is looked for among the mappings that were added, then among the rules, then among the recordings; the first
/// that has an answer gives it. The recorded answers of one request come in the order they were recorded. What was
/// recorded is free of secrets (`Configuration.redaction`), and so are requests before they are looked for.
///
/// Forced, a request without a mock fails with `InterceptionError.noMock`, whose sentence says which recording was
/// nearest and what differed; otherwise it goes to the network.
public final class MockFloret: InterceptableFloret {
    public enum Mode: Sendable, Hashable {
        /// Requests go to the network, and each of its answers that comes whole is recorded.
        case record
        /// Requests are answered.
        case mock(forced: Bool)
    }

    /// How recordings are made and found.
    public struct Configuration: Sendable {
        public var matching = Matching.standard
        /// What follows the last recorded answer of a request.
        public var whenUsedUp = WhenUsedUp.repeatLast
        /// Whether recorded answers are given as if they came now: `Date`, `Expires`, `Last-Modified` and the end of cookies
        /// move on by the time since they were recorded. Otherwise they are given as they were.
        public var refreshesDates = false
        /// What is taken out of recordings.
        public var redaction = Redaction.standard
        /// Bodies of more bytes are not recorded, which is reported.
        public var maximumBodyBytes = 8 << 20
        /// More answers of one request are not recorded, which is reported.
        public var maximumAnswers = 1000

        public init() {}

        public static var standard: Configuration { Configuration() }
    }

    /// What `addMapping` made, for `removeMapping`.
    public struct MappingToken: Sendable, Hashable {
        fileprivate let number: Int
    }

    /// Figures since it was made.
    public struct Counts: Sendable, Hashable {
        public var answered = 0
        public var recorded = 0
        /// Looked for and not found.
        public var missed = 0

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
        /// Answers given by each rule.
        var used: [Int]
        var recordings: [MockKey: [MockRecording]] = [:]
        /// Recordings used of each request.
        var replayed: [MockKey: Int] = [:]
        /// Requests whose answers will be recorded, as they were asked: florets that follow may send others.
        var asked: [Record.ID: HTTPRequest] = [:]
        /// The last number taken in each folder.
        var numbers: [String: Int] = [:]
        var counts = Counts()
        var lastMisses: [String] = []
    }

    public let rules: [Rule]
    public let configuration: Configuration
    let folder: MockFolder?
    private let power = Switch(true)
    let state: Locked<State>

    /// A floret without a folder.
    public init(
        _ mode: Mode = .mock(forced: false), rules: [Rule] = [], configuration: Configuration = .standard
    ) {
        self.rules = rules
        self.configuration = configuration
        folder = nil
        state = Locked(State(mode: mode, used: rules.map { _ in 0 }))
    }

    /// A floret with the recordings of a folder, its own or Cauli's; one that records begins the folder if need be.
    ///
    /// Throws `InterceptionError`: `storageFailed` when the folder cannot be read, `invalidFile` for a recording that is
    /// none, with its path and the place in it.
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

    /// Holds for requests that begin from now on.
    public var mode: Mode {
        get { state.withLock { $0.mode } }
        set { state.withLock { $0.mode = newValue } }
    }

    public var counts: Counts { state.withLock { $0.counts } }

    /// Begins anew: every sequence starts with its first answer.
    public func rewind() {
        state.withLock { state in
            state.used = state.used.map { _ in 0 }
            state.replayed = [:]
        }
    }

    // MARK: - Mappings

    /// Asks `answer` for each request, before the mappings that are added later. `nil` is no answer.
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

    /// The same for requests with exactly this path.
    @discardableResult
    public func addMapping(
        forURLPath path: String, with answer: @escaping @Sendable (HTTPRequest, MockFloret) async -> Response?
    ) -> MappingToken {
        addMapping { request, floret in request.path == path ? await answer(request, floret) : nil }
    }

    /// The same for requests with exactly this URL.
    @discardableResult
    public func addMapping(
        forURL url: String, with answer: @escaping @Sendable (HTTPRequest, MockFloret) async -> Response?
    ) -> MappingToken {
        addMapping { request, floret in request.url == url ? await answer(request, floret) : nil }
    }

    public func removeMapping(_ token: MappingToken) {
        state.withLock { $0.mappings.removeAll { $0.token == token } }
    }

    /// The recorded answer at this path of the folder, as `GET_api_example_com_v1-0011223344556677/0001.json`; `nil` when
    /// there is none or its exchange failed.
    public func answer(at path: String) -> Response? {
        let recording = state.withLock { state in
            state.recordings.values.lazy.joined().first { $0.path == path }
        }
        guard case .success(let response)? = try? recording?.answer() else { return nil }
        return response
    }
}

// MARK: - Requests

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
            state.withLock { [record] in $0.asked[record.id] = record.designatedRequest }
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
        // A file may name any time, also one that no number of seconds reaches.
        guard let seconds = Int64(exactly: now.timeIntervalSince(recorded).rounded(.down)) else { return response }
        var response = response
        response.headers = response.headers.moved(by: seconds)
        return response
    }

    private func answered(_ record: Record, _ response: Response) -> Record {
        var (record, response) = (record, response)
        // Redaction may have changed the length of what was recorded.
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
            return beginning + "all \(used.count) recorded answers were used; rewind, or let them cycle or repeat."
        }
        let candidates = recordings.compactMap { other, recordings in
            recordings.first.map { (difference: key.difference(from: other), recording: $0) }
        }
        let nearest = candidates.min {
            ($0.difference.weight, $0.recording.path) < ($1.difference.weight, $1.recording.path)
        }
        guard let nearest else {
            return beginning + (rules.isEmpty ? "there is none at all." : "none of \(rules.count) rules has an answer.")
        }
        let recorded = nearest.recording.request
        return beginning
            + "of \(candidates.count) recorded requests the nearest is \(recorded.method) \(recorded.url) "
            + "(\(nearest.recording.path)), but \(nearest.difference.sentences.joined(separator: ", and "))."
    }
}

extension MockFloret.Configuration {
    /// What counts of a request, its secrets taken out as they are in recordings.
    func key(of request: HTTPRequest) -> MockKey {
        MockKey(redaction.redacted(Record(request)).designatedRequest, matching)
    }
}

extension InterceptionError.Code {
    /// A `MockFloret` that is forced has no answer for the request.
    public static var noMock: Self { Self(rawValue: "noMock") }
}
