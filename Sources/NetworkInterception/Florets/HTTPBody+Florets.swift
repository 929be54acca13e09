import HTTPCore
import Primitives

extension HTTPBody {
    /// Reads the body to its end, and returns it as bytes. Stops if it has more than `limit` bytes.
    ///
    /// A body that is longer or fails becomes a stream. Its reader receives the bytes already read, then the rest or
    /// the failure.
    func gathered(upTo limit: Int) async -> HTTPBody {
        guard case .stream(let stream) = self else { return self }
        if let length = stream.length, length > limit { return self }
        var chunks: [[UInt8]] = []
        var count = 0
        do {
            while let chunk = try await stream.next() {
                chunks.append(chunk)
                count += chunk.count
                if count > limit { return .stream(HTTPBodyStream(chunks, before: stream)) }
            }
            return .bytes(Array(chunks.joined()))
        } catch {
            return .stream(HTTPBodyStream(chunks, before: stream, failure: error))
        }
    }

    /// Informs the sender that the body will not be read.
    func abandon() {
        if case .stream(let stream) = self { stream.cancel() }
    }
}

extension HTTPHeaders {
    /// The media type, in lower case and without its parameters.
    var mediaType: String? { self["Content-Type"].map { $0.prefix { $0 != ";" && $0 != " " }.lowercased() } }

    /// Whether the body may have no end (server-sent events, HTML standard), so that code must not wait for its end.
    var isOfEventStream: Bool { mediaType == "text/event-stream" }
}

extension HTTPBodyStream {
    /// A stream of the chunks that were already read, then of the rest or the failure.
    fileprivate init(_ chunks: [[UInt8]], before rest: HTTPBodyStream, failure: (any Error)? = nil) {
        let read = Locked(chunks[...])
        self.init(
            length: rest.length,
            next: {
                if let chunk = read.withLock({ $0.popFirst() }) { return chunk }
                if let failure { throw failure }
                return try await rest.next()
            }, cancel: { rest.cancel() })
    }
}
