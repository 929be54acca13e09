import HTTPCore
import Primitives

extension HTTPBody {
    /// Returns the same body and copies its first `limit` bytes while it is read.
    ///
    /// The tap does not delay the body and reads no more than its reader does. It calls `ended` once, with the copied
    /// bytes and the end of the transfer. For a buffered body, it does so immediately. A stream that is dropped before
    /// its end is `.cancelled`, unless all announced bytes were read.
    ///
    /// - Parameters:
    ///   - limit: The greatest number of bytes that are copied.
    ///   - ended: Receives the copied bytes and how the transfer ended.
    /// - Returns: The body to read instead of this one.
    public func tapped(
        upTo limit: Int, ended: @escaping @Sendable ([UInt8], Record.BodyTransfer) -> Void
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
    /// Returns the same stream and copies its first `limit` bytes while it is read, as far as `share` grants them. The
    /// copy ends with the first byte that is not granted.
    func tapped(
        upTo limit: Int, within share: BodyMemory.Share? = nil,
        ended: @escaping @Sendable ([UInt8], Record.BodyTransfer) -> Void
    ) -> HTTPBodyStream {
        BodyTap(self, limit: limit, share: share, ended: ended).stream
    }
}

/// Copies the first bytes of a stream while they are read.
private final class BodyTap: Sendable {
    private struct State {
        var kept: [UInt8] = []
        /// Whether no further byte is copied.
        var isFull = false
        var byteCount = 0
        var hasEnded = false
    }

    private let source: HTTPBodyStream
    private let limit: Int
    private let share: BodyMemory.Share?
    private let ended: @Sendable ([UInt8], Record.BodyTransfer) -> Void
    private let state = Locked(State())

    init(
        _ source: HTTPBodyStream, limit: Int, share: BodyMemory.Share?,
        ended: @escaping @Sendable ([UInt8], Record.BodyTransfer) -> Void
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
        // A reader that knows the length need not read to the end.
        let hasAll = state.withLock { [length = source.length] in $0.byteCount == length }
        end(hasAll ? .complete : .cancelled)
    }

    private func end(_ end: Record.BodyTransfer.End) {
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
