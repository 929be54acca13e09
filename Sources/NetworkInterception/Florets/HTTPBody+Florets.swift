import HTTPCore
import Primitives

extension HTTPBody {
    /// The body as bytes, if it has at most `limit` of them. A longer one is a stream that begins with what was read to
    /// find that out, and so is one that fails on the way: its reader gets what came, then the failure. Nothing is lost.
    ///
    /// Returns when the body has ended or is known to be too long.
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

    /// Tells whoever sends a body that nobody reads it.
    func abandon() {
        if case .stream(let stream) = self { stream.cancel() }
    }
}

extension HTTPHeaders {
    /// The media type, in lower case and without its parameters.
    var mediaType: String? { self["Content-Type"].map { $0.prefix { $0 != ";" && $0 != " " }.lowercased() } }

    /// Whether the body may never end (the HTML standard's server-sent events), so that nobody should wait for it.
    var isOfEventStream: Bool { mediaType == "text/event-stream" }
}

extension HTTPBodyStream {
    /// What was read of a stream, then the rest of it, or the failure it ended with.
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
