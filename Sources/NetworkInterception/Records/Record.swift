import Foundation
import HTTPCore

/// A response, as a floret receives it.
public typealias Response = HTTPResponse

/// One request with its result: the app's request, the request that was sent instead, and the response or failure.
///
/// A floret receives a record and returns it, changed or not. In `willRequest` it may change ``designatedRequest`` or
/// set ``result``; with a result, the request is not sent. In `didRespond` it may change ``result``.
///
///     var record = record
///     record.result = .success(Response(status: 204))
///     return record
///
/// A record needs only a request, so a floret can be tested without an interceptor and without the network. A `.stream`
/// body is still being transferred and has one reader: code that reads it takes the bytes from all other readers.
/// Observe it with `HTTPBody.tapped`, or convert it to bytes with ``BodyStreamFloret``. In a ``RecordStorage`` all
/// bodies are bytes.
public struct Record: Sendable, Identifiable {
    private var content: Content

    /// The id. Records with the same id are states of one exchange.
    public var id: UUID { content.id }
    /// The app's request. A change to it affects only the record, not the request that is sent.
    public var originalRequest: HTTPRequest {
        get { content.requests.original }
        _modify {
            var request = content.requests.original
            defer { replaceRequests(request, content.requests.designated) }
            yield &request
        }
    }
    /// The request that is sent.
    public var designatedRequest: HTTPRequest {
        get { content.requests.designated }
        _modify {
            var request = content.requests.designated
            defer { replaceRequests(content.requests.original, request) }
            yield &request
        }
    }
    /// The response or failure; `nil` while there is none.
    public var result: Result<Response, any Error>? {
        get { content.result }
        _modify {
            makeUnique()
            yield &content.result
        }
    }
    /// The instants at which the exchange began, was sent, received its response and ended.
    public var timing: Timing {
        get { content.timing }
        _modify {
            makeUnique()
            yield &content.timing
        }
    }
    /// The transfer details of the bodies. Only the interceptor sets them.
    public var bodies: Bodies {
        get { content.bodies }
        _modify {
            makeUnique()
            yield &content.bodies
        }
    }
    /// The changes that florets made, in order. Only the interceptor sets them.
    public var changes: [Change] {
        get { content.changes }
        _modify {
            makeUnique()
            yield &content.changes
        }
    }
    /// The decoded payloads that a simulator signed in the bodies. The interceptor sets them, because bodies are
    /// redacted.
    var signedTexts: [SignedText] {
        get { content.signedTexts }
        _modify {
            makeUnique()
            yield &content.signedTexts
        }
    }

    /// Creates a record of a request that has not been sent.
    ///
    /// - Parameter request: The app's request, which is also the designated request.
    public init(_ request: HTTPRequest) { self.init(request, id: .unique()) }

    /// Creates a record with a known id, for example one that is read from a file.
    ///
    /// - Parameters:
    ///   - request: The app's request, which is also the designated request.
    ///   - id: The id.
    ///   - timing: The instants of the exchange.
    public init(_ request: HTTPRequest, id: UUID, timing: Timing = Timing()) {
        content = Content(id: id, request: request, timing: timing)
    }

    /// Whether one record is a copy of the other and both are unchanged since then.
    func isUntouched(since other: Record) -> Bool { content === other.content }

    /// Both requests. Copies of the record share them until one is changed.
    var requests: Requests { content.requests }

    /// Returns the record with other requests and another result.
    func replacing(_ requests: Requests, _ result: Result<Response, any Error>?) -> Record {
        Record(Content(content, requests, result))
    }

    private init(_ content: Content) { self.content = content }

    /// Replaces the requests and the result by those of another record.
    mutating func take(_ other: Record) {
        makeUnique()
        content.requests = other.content.requests
        content.result = other.content.result
    }

    private mutating func makeUnique() {
        if !isKnownUniquelyReferenced(&content) { content = Content(content, content.requests, content.result) }
    }

    private mutating func replaceRequests(_ original: HTTPRequest, _ designated: HTTPRequest) {
        makeUnique()
        content.requests = Requests(original, designated)
    }

    /// The response, or `nil` if there is none yet or the exchange failed.
    public var response: Response? { if case .success(let response)? = result { response } else { nil } }

    /// The body of the response, or `nil` if there is no response.
    var responseBody: HTTPBody? { if case .success(let response)? = content.result { response.body } else { nil } }

    /// The failure, or `nil` if the exchange has not failed.
    public var failure: (any Error)? { if case .failure(let error)? = result { error } else { nil } }
}

extension Record: CustomReflectable {
    /// The properties, for `print` and debuggers.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "id": id, "originalRequest": originalRequest, "designatedRequest": designatedRequest,
                "result": result as Any, "timing": timing, "bodies": bodies, "changes": changes,
            ], displayStyle: .struct)
    }
}

/// The content of a record, shared by its copies, which are passed around more often than they are changed.
///
/// Sendable: a record writes to its content only while no other record refers to it. For the same reason the content
/// needs no checks for exclusive access at run time.
private final class Content: @unchecked Sendable {
    let id: UUID
    @exclusivity(unchecked) var requests: Record.Requests
    @exclusivity(unchecked) var result: Result<Response, any Error>?
    @exclusivity(unchecked) var timing: Record.Timing
    @exclusivity(unchecked) var bodies = Record.Bodies()
    @exclusivity(unchecked) var changes: [Record.Change] = []
    @exclusivity(unchecked) var signedTexts: [SignedText] = []

    init(id: UUID, request: HTTPRequest, timing: Record.Timing) {
        self.id = id
        requests = Record.Requests(request, request)
        self.timing = timing
    }

    init(_ other: Content, _ requests: Record.Requests, _ result: Result<Response, any Error>?) {
        id = other.id
        self.requests = requests
        self.result = result
        timing = other.timing
        bodies = other.bodies
        changes = other.changes
        signedTexts = other.signedTexts
    }
}

extension Record {
    /// The requests of a record. Copies of its content share them, because only the result changes after the request was
    /// sent. They are constants, so that reading a property of a request copies only that property.
    final class Requests: Sendable {
        let original: HTTPRequest
        let designated: HTTPRequest

        init(_ original: HTTPRequest, _ designated: HTTPRequest) {
            self.original = original
            self.designated = designated
        }
    }

    /// The instants of an exchange by the interceptor's clock. An instant is `nil` until it is reached.
    public struct Timing: Sendable, Hashable {
        /// The instant at which the app sent the request, before `willRequest`.
        public var started: Date?
        /// The instant at which the transport received the designated request. `nil` if the request was not sent, for
        /// example because a floret set the result.
        public var sent: Date?
        /// The instant at which the head of the response or the failure arrived.
        public var answered: Date?
        /// The instant at which the reading of the response body ended.
        public var ended: Date?

        /// Creates the instants of an exchange.
        ///
        /// - Parameters:
        ///   - started: The instant at which the app sent the request.
        ///   - sent: The instant at which the transport received the request.
        ///   - answered: The instant at which the head of the response or the failure arrived.
        ///   - ended: The instant at which the reading of the response body ended.
        public init(started: Date? = nil, sent: Date? = nil, answered: Date? = nil, ended: Date? = nil) {
            self.started = started
            self.sent = sent
            self.answered = answered
            self.ended = ended
        }
    }

    /// The transfer details of the three bodies of a record.
    public struct Bodies: Sendable, Hashable {
        /// The body of the original request.
        public var original: BodyTransfer?
        /// The body of the designated request.
        public var designated: BodyTransfer?
        /// The body of the response.
        public var response: BodyTransfer?

        /// Creates the transfer details of the bodies of a record.
        ///
        /// - Parameters:
        ///   - original: The body of the original request.
        ///   - designated: The body of the designated request.
        ///   - response: The body of the response.
        public init(original: BodyTransfer? = nil, designated: BodyTransfer? = nil, response: BodyTransfer? = nil) {
            self.original = original
            self.designated = designated
            self.response = response
        }
    }

    /// The transfer of a body: its length, and whether all of it is recorded.
    public struct BodyTransfer: Sendable, Hashable {
        /// The number of bytes that were transferred.
        public var byteCount: Int
        /// Whether the record holds only the first bytes, for example because the body is longer than the recording
        /// limit.
        public var isCut: Bool
        /// How the transfer ended.
        public var end: End

        /// Creates the transfer details of a body.
        ///
        /// - Parameters:
        ///   - byteCount: The number of bytes that were transferred.
        ///   - isCut: Whether the record holds only the first bytes.
        ///   - end: How the transfer ended.
        public init(byteCount: Int, isCut: Bool = false, end: End = .complete) {
            self.byteCount = byteCount
            self.isCut = isCut
            self.end = end
        }

        /// The ends of a transfer.
        public enum End: String, Sendable, Hashable, CaseIterable {
            /// The whole body was read.
            case complete
            /// The body is still being read.
            case underway
            /// The sender failed.
            case failed
            /// The reader cancelled.
            case cancelled
        }
    }
    /// The old name of ``BodyTransfer``.
    @available(*, deprecated, renamed: "BodyTransfer")
    public typealias Passage = BodyTransfer

    /// A change that a floret made to a record.
    public struct Change: Sendable, Hashable {
        /// The name of the floret.
        public var floret: String
        /// The kind of change.
        public var kind: Kind

        /// Creates a change.
        ///
        /// - Parameters:
        ///   - floret: The name of the floret.
        ///   - kind: The kind of change.
        public init(floret: String, kind: Kind) {
            self.floret = floret
            self.kind = kind
        }

        /// The kinds of change.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            case changedRequest, answered, failed, changedResponse
        }
    }
}
