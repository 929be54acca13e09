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
    private var content: Content

    /// Records of one id are one record at different times.
    public var id: UUID { content.id }
    /// What the app asked for; changing it changes only what is recorded.
    public var originalRequest: HTTPRequest {
        get { content.originalRequest }
        _modify {
            own()
            yield &content.originalRequest
        }
    }
    /// What is sent.
    public var designatedRequest: HTTPRequest {
        get { content.designatedRequest }
        _modify {
            own()
            yield &content.designatedRequest
        }
    }
    /// How it ended; `nil` while there is no answer.
    public var result: Result<Response, any Error>? {
        get { content.result }
        _modify {
            own()
            yield &content.result
        }
    }
    /// When it was asked, answered and over.
    public var timing: Timing {
        get { content.timing }
        _modify {
            own()
            yield &content.timing
        }
    }
    /// What is known of the bodies beside their bytes. Only the interceptor has something to say here.
    public var bodies: Bodies {
        get { content.bodies }
        _modify {
            own()
            yield &content.bodies
        }
    }
    /// Florets that changed the record or answered, by name, in the order they did. Kept by the interceptor.
    public var changes: [Change] {
        get { content.changes }
        _modify {
            own()
            yield &content.changes
        }
    }
    /// What a simulator signed and passed in the bodies, decoded. Kept by the interceptor, since bodies are redacted.
    var signedTexts: [SignedText] {
        get { content.signedTexts }
        _modify {
            own()
            yield &content.signedTexts
        }
    }

    /// A record of a request that was not sent yet.
    public init(_ request: HTTPRequest) { self.init(request, id: .unique()) }

    /// A record under an id that is known, such as one that is read from a file.
    public init(_ request: HTTPRequest, id: UUID, timing: Timing = Timing()) {
        content = Content(id: id, request: request, timing: timing)
    }

    /// Whether nothing was written to either since one was the other.
    func isUntouched(since other: Record) -> Bool { content === other.content }

    private mutating func own() {
        if !isKnownUniquelyReferenced(&content) { content = Content(content) }
    }

    /// The answer, when there is one.
    public var response: Response? { if case .success(let response)? = result { response } else { nil } }

    /// Why there is no answer, when it failed.
    public var failure: (any Error)? { if case .failure(let error)? = result { error } else { nil } }
}

extension Record: CustomReflectable {
    /// What it has, as `print` and debuggers show it.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "id": id, "originalRequest": originalRequest, "designatedRequest": designatedRequest,
                "result": result as Any, "timing": timing, "bodies": bodies, "changes": changes,
            ], displayStyle: .struct)
    }
}

/// What a record holds, in one place: florets, tables and storages hand records on, and seldom change one.
///
/// Sendable: it is written only by a record that holds the last reference to it. For the same reason the run time need not
/// watch over accesses that overlap.
private final class Content: @unchecked Sendable {
    let id: UUID
    @exclusivity(unchecked) var originalRequest: HTTPRequest
    @exclusivity(unchecked) var designatedRequest: HTTPRequest
    @exclusivity(unchecked) var result: Result<Response, any Error>?
    @exclusivity(unchecked) var timing: Record.Timing
    @exclusivity(unchecked) var bodies = Record.Bodies()
    @exclusivity(unchecked) var changes: [Record.Change] = []
    @exclusivity(unchecked) var signedTexts: [SignedText] = []

    init(id: UUID, request: HTTPRequest, timing: Record.Timing) {
        self.id = id
        originalRequest = request
        designatedRequest = request
        self.timing = timing
    }

    init(_ other: Content) {
        id = other.id
        originalRequest = other.originalRequest
        designatedRequest = other.designatedRequest
        result = other.result
        timing = other.timing
        bodies = other.bodies
        changes = other.changes
        signedTexts = other.signedTexts
    }
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
