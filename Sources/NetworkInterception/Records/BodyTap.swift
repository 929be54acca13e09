import HTTPCore
import Primitives

extension HTTPBody {
    /// The same body, looked at while it passes. Nothing is held back, and nothing is read that its reader does not ask
    /// for; the first `limit` bytes are copied.
    ///
    /// `ended` is called once, with those bytes and with how the reading ended; at once for a body that is at hand. A
    /// stream that nobody reads to its end is `.cancelled` when it is dropped, unless all its announced bytes passed.
    public func tapped(
        upTo limit: Int, ended: @escaping @Sendable ([UInt8], Record.Passage) -> Void
    ) -> HTTPBody {
        switch self {
        case .bytes(let bytes):
            ended(
                bytes.count <= limit ? bytes : Array(bytes[..<limit]),
                .init(byteCount: bytes.count, isCut: bytes.count > limit))
            return self
        case .stream(let stream):
            return .stream(stream.tapped(upTo: limit, ended: ended))
        }
    }
}

extension HTTPBodyStream {
    /// The same stream, looked at while it passes. Of its first `limit` bytes those are copied that `share` grants; after
    /// the first byte that is not, none.
    func tapped(
        upTo limit: Int, within share: BodyMemory.Share? = nil,
        ended: @escaping @Sendable ([UInt8], Record.Passage) -> Void
    ) -> HTTPBodyStream {
        BodyTap(self, limit: limit, share: share, ended: ended).stream
    }
}

/// A stream's bytes on their way from who gives to who reads them.
private final class BodyTap: Sendable {
    private struct State {
        var kept: [UInt8] = []
        /// Whether the bytes that follow are not kept, whatever their number.
        var isFull = false
        var byteCount = 0
        var hasEnded = false
    }

    private let source: HTTPBodyStream
    private let limit: Int
    private let share: BodyMemory.Share?
    private let ended: @Sendable ([UInt8], Record.Passage) -> Void
    private let state = Locked(State())

    init(
        _ source: HTTPBodyStream, limit: Int, share: BodyMemory.Share?,
        ended: @escaping @Sendable ([UInt8], Record.Passage) -> Void
    ) {
        self.source = source
        self.limit = limit
        self.share = share
        self.ended = ended
    }

    var stream: HTTPBodyStream {
        HTTPBodyStream(length: source.length, next: { try await self.next() }, cancel: { self.cancel() })
    }

    private func next() async throws -> [UInt8]? {
        do {
            guard let chunk = try await source.next() else {
                end(.complete)
                return nil
            }
            state.withLock { [limit, share] state in
                state.byteCount += chunk.count
                guard !state.isFull else { return }
                let wanted = min(chunk.count, limit - state.kept.count)
                let granted = share?.take(wanted) ?? wanted
                state.kept += chunk.prefix(granted)
                state.isFull = granted < wanted || state.kept.count == limit
            }
            return chunk
        } catch {
            end(.failed)
            throw error
        }
    }

    private func cancel() {
        source.cancel()
        // Who knows the length need not ask for the end.
        let hasAll = state.withLock { [length = source.length] in $0.byteCount == length }
        end(hasAll ? .complete : .cancelled)
    }

    private func end(_ end: Record.Passage.End) {
        let (isFirst, kept, byteCount) = state.withLock { state in
            defer {
                state.hasEnded = true
                state.kept = []
            }
            return (!state.hasEnded, state.kept, state.byteCount)
        }
        guard isFirst else { return }
        ended(kept, .init(byteCount: byteCount, isCut: byteCount > kept.count, end: end))
    }
}
