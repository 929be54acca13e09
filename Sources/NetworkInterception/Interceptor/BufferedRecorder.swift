import HTTPCore

/// Stores the states of one exchange, and needs no lock while all bodies are buffered, because only the exchange changes
/// them then. With the first stream, a ``Recorder`` stores this state and all later ones.
struct BufferedRecorder {
    private let interceptor: Interceptor
    private var reservation: BodyReservation
    /// The requests that were stored last.
    private var stored: StoredRequests?
    private var recorder: Recorder?

    init(_ interceptor: Interceptor) {
        self.interceptor = interceptor
        reservation = BodyReservation(interceptor)
    }

    /// Stores the current state of the record and updates its `bodies`. Streamed bodies are stored as far as they were
    /// read.
    mutating nonisolated(nonsending) func keep(_ record: inout Record, isAnswered: Bool = false) async {
        if let recorder { return await recorder.keep(&record, isAnswered: isAnswered) }
        let bodies = reservation.reserve(record)
        if bodies.areUnderway {
            await makeRecorder().keep(&record, isAnswered: isAnswered)
        } else {
            await interceptor.storage.store(redacted(&record, bodies))
        }
    }

    /// Does the same without a suspension, or returns `false` if that is not possible.
    mutating func keepInMemory(_ record: inout Record) -> Bool {
        guard let memory = interceptor.memory, recorder == nil else { return false }
        let bodies = reservation.reserve(record)
        guard !bodies.areUnderway else { return false }
        memory.keep(redacted(&record, bodies))
        return true
    }

    /// Removes the record from the storage. Later changes of its bodies are not stored.
    nonisolated(nonsending) func forget(_ id: Record.ID) async {
        recorder?.ignoreLaterChanges()
        await interceptor.storage.remove(id)
    }

    /// Returns the same body, and records its first bytes while they are read.
    mutating func watched(_ body: HTTPBody, as place: Recorder.Place) -> HTTPBody {
        guard case .stream(let stream) = body else { return body }
        return .stream(makeRecorder().watched(stream, as: place))
    }

    /// Returns the response body, recorded while it is read. The record is stored before the reader receives the end.
    mutating func watched(answer stream: HTTPBodyStream) -> HTTPBodyStream { makeRecorder().watched(answer: stream) }

    /// Updates the bodies of the record, and returns the record as it is stored.
    private mutating func redacted(_ record: inout Record, _ bodies: Record.Bodies) -> Record {
        record.bodies = bodies
        let (redacted, requests) = interceptor.stored(reservation.cut(record, bodies), after: stored)
        stored = requests
        return redacted
    }

    private mutating func makeRecorder() -> Recorder {
        if let recorder { return recorder }
        let made = Recorder(interceptor, reservation, stored)
        recorder = made
        return made
    }
}
