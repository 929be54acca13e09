import HTTPCore

/// The memory that one exchange holds for its bodies until they are in the storage, which has its own capacity.
struct BodyReservation {
    /// The greatest number of bytes of a body that are recorded.
    let limit: Int
    private let memory: BodyMemory
    /// The memory of the exchange; `nil` before it is needed.
    private var used: BodyMemory.Share?
    /// The number of bytes of each buffered body that may be recorded.
    private var original = 0
    private var designated = 0
    private var response = 0

    init(_ interceptor: Interceptor) {
        limit = interceptor.configuration.maximumRecordedBytes
        memory = interceptor.bodyMemory
    }

    /// The memory of the exchange.
    var share: BodyMemory.Share {
        mutating get {
            if let used { return used }
            let made = BodyMemory.Share(of: memory)
            used = made
            return made
        }
    }

    /// Takes memory for the buffered bodies of `record`. Most requests are sent unchanged, so both requests share one
    /// body in memory, which counts once.
    ///
    /// - Returns: The transfer details of each body, as far as they are known without the notes about streams.
    mutating func reserve(_ record: Record) -> Record.Bodies {
        let (first, second) = (record.requests.original.body, record.requests.designated.body)
        let isShared = first.hasSameBytes(as: second)
        original += taken(for: first, beyond: original)
        designated = isShared ? original : designated + taken(for: second, beyond: designated)
        let answer = record.responseBody
        if let answer { response += taken(for: answer, beyond: response) }
        return Record.Bodies(
            original: .init(first, original), designated: .init(second, designated),
            response: answer.map { .init($0, response) })
    }

    private mutating func taken(for body: HTTPBody, beyond granted: Int) -> Int {
        guard case .bytes(let bytes) = body else { return 0 }
        let count = min(bytes.count, limit) - granted
        return count > 0 ? share.take(count) : 0
    }

    /// Returns the record with empty streams and with other bodies cut to the granted bytes. `bodies` is the result of
    /// `reserve`.
    func cut(_ record: Record, _ bodies: Record.Bodies) -> Record {
        guard bodies.areUnderway || bodies.areCut else { return record }
        let requests = record.requests
        var record = record
        if let body = requests.original.body.cut(to: original) { record.originalRequest.body = body }
        if let body = requests.designated.body.cut(to: designated) { record.designatedRequest.body = body }
        if let body = record.responseBody?.cut(to: response), case .success(var response)? = record.result {
            response.body = body
            record.result = .success(response)
        }
        return record
    }
}

extension Record.Bodies {
    /// Whether a body is a stream that is still being read.
    var areUnderway: Bool { original?.end == .underway || designated?.end == .underway || response?.end == .underway }

    /// Whether the record of a body has only its first bytes.
    fileprivate var areCut: Bool { original?.isCut == true || designated?.isCut == true || response?.isCut == true }
}

extension HTTPBody {
    var isStream: Bool { if case .stream = self { true } else { false } }

    /// Whether both bodies are the same bytes, or both are streams.
    fileprivate func hasSameBytes(as other: HTTPBody) -> Bool {
        switch (self, other) {
        case (.bytes(let bytes), .bytes(let others)): bytes == others
        case (.stream, .stream): true
        default: false
        }
    }

    /// The recorded form of the body, or `nil` if the body needs no change: its first bytes, or an empty stream.
    fileprivate func cut(to limit: Int) -> HTTPBody? {
        switch self {
        case .bytes(let bytes): bytes.count > limit ? .bytes(Array(bytes[..<limit])) : nil
        case .stream: .stream(HTTPBodyStream(next: { nil }))
        }
    }
}

extension Record.BodyTransfer {
    fileprivate init(_ body: HTTPBody, _ limit: Int) {
        switch body {
        case .bytes(let bytes): self.init(byteCount: bytes.count, isCut: bytes.count > limit)
        case .stream: self.init(byteCount: 0, end: .underway)
        }
    }
}
