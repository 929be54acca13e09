import Foundation
import HTTPCore

/// An answer as a floret sees it.
public typealias Response = HTTPResponse

/// One request and what became of it: what the app asked for, what was sent in its place, and how it ended.
///
/// A floret gets it, changes it and gives it back. In `willRequest` it may change `designatedRequest`, or set `result`,
/// and then the network is not asked. In `didRespond` it may change `result`.
///
///     var record = record
///     record.result = .success(Response(status: 204))
///     return record
///
/// Whatever can make a request can make a record, so a test of a floret needs neither interceptor nor network. A body
/// that is a `.stream` is still on its way: who reads it takes it from everybody else, so look at it while it passes
/// (`HTTPBody.tapped`), or let `BodyStreamFloret` make it bytes first. In a `RecordStorage` all bodies are bytes.
public struct Record: Sendable, Identifiable {
    /// Records of one id are one record at different times.
    public let id: UUID
    /// What the app asked for; changing it changes only what is recorded.
    public var originalRequest: HTTPRequest
    /// What is sent.
    public var designatedRequest: HTTPRequest
    /// How it ended; `nil` while there is no answer.
    public var result: Result<Response, any Error>?
    /// When it was asked, answered and over.
    public var timing: Timing
    /// What is known of the bodies beside their bytes. Only the interceptor has something to say here.
    public var bodies: Bodies
    /// Florets that changed the record or answered, by name, in the order they did. Kept by the interceptor.
    public var changes: [Change]

    /// A record of a request that was not sent yet.
    public init(_ request: HTTPRequest) { self.init(request, id: .unique()) }

    /// A record under an id that is known, such as one that is read from a file.
    public init(_ request: HTTPRequest, id: UUID, timing: Timing = Timing()) {
        self.id = id
        originalRequest = request
        designatedRequest = request
        self.timing = timing
        bodies = Bodies()
        changes = []
    }

    /// The answer, when there is one.
    public var response: Response? { if case .success(let response)? = result { response } else { nil } }

    /// Why there is no answer, when it failed.
    public var failure: (any Error)? { if case .failure(let error)? = result { error } else { nil } }
}

extension Record {
    /// Instants of the exchange by the interceptor's clock; `nil` is not yet, or never.
    public struct Timing: Sendable, Hashable {
        /// The app asked; the florets begin with `willRequest`.
        public var started: Date?
        /// The designated request was given to the transport. `nil` when a floret answered.
        public var sent: Date?
        /// The head of the answer was there, or the failure.
        public var answered: Date?
        /// The last byte of the answer's body was read, or its reading ended otherwise.
        public var ended: Date?

        public init(started: Date? = nil, sent: Date? = nil, answered: Date? = nil, ended: Date? = nil) {
            self.started = started
            self.sent = sent
            self.answered = answered
            self.ended = ended
        }
    }

    /// The three bodies of a record.
    public struct Bodies: Sendable, Hashable {
        public var original: Passage?
        public var designated: Passage?
        public var response: Passage?

        public init(original: Passage? = nil, designated: Passage? = nil, response: Passage? = nil) {
            self.original = original
            self.designated = designated
            self.response = response
        }
    }

    /// How much of a body passed, and what of it is recorded.
    public struct Passage: Sendable, Hashable {
        /// Bytes that passed the interceptor.
        public var byteCount: Int
        /// Whether the record holds less than what passed: only the first bytes are kept past the recording limit.
        public var isCut: Bool
        /// How it ended.
        public var end: End

        public init(byteCount: Int, isCut: Bool = false, end: End = .complete) {
            self.byteCount = byteCount
            self.isCut = isCut
            self.end = end
        }

        /// The ends a body can come to.
        public enum End: String, Sendable, Hashable, CaseIterable {
            case complete
            /// It is still being read.
            case underway
            /// The side that gave it failed.
            case failed
            /// The side that read it gave up.
            case cancelled
        }
    }

    /// A floret's part in a record.
    public struct Change: Sendable, Hashable {
        public var floret: String
        public var kind: Kind

        public init(floret: String, kind: Kind) {
            self.floret = floret
            self.kind = kind
        }

        /// What it did.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            case changedRequest, answered, failed, changedResponse
        }
    }
}
