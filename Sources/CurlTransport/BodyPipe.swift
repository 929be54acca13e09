import HTTPCore
import Primitives

/// Carries an answer's body from libcurl's thread to its reader, holding at most about `window` bytes.
final class BodyPipe: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        var isPaused = false
        var outcome: Result<Void, HTTPError>?
        var reader: CheckedContinuation<[UInt8]?, any Error>?
    }

    private let window: Int
    private let proceed: @Sendable () -> Void
    private let state = Locked(State())

    /// `proceed` is called when there is room again after an `offer` was refused.
    init(window: Int, proceed: @escaping @Sendable () -> Void) {
        self.window = window
        self.proceed = proceed
    }

    /// `false`: no room; offer the same bytes again after `proceed`.
    func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let chunk = Array(bytes)
        let (isTaken, reader) = state.withLock { state -> (Bool, CheckedContinuation<[UInt8]?, any Error>?) in
            if let reader = state.reader {
                state.reader = nil
                return (true, reader)
            }
            guard state.waiting.count < window else {
                state.isPaused = true
                return (false, nil)
            }
            state.waiting += chunk
            return (true, nil)
        }
        reader?.resume(returning: chunk)
        return isTaken
    }

    func finish(_ error: HTTPError?) {
        let reader = state.withLock { state in
            if state.outcome == nil { state.outcome = error.map { .failure($0) } ?? .success(()) }
            defer { state.reader = nil }
            return state.reader
        }
        if let error { reader?.resume(throwing: error) } else { reader?.resume(returning: nil) }
    }

    /// What has arrived, `nil` at the end.
    func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { continuation in
            let (result, wasPaused) = state.withLock { state -> (Result<[UInt8]?, HTTPError>?, Bool) in
                guard state.waiting.isEmpty else {
                    defer {
                        state.waiting = []
                        state.isPaused = false
                    }
                    return (.success(state.waiting), state.isPaused)
                }
                switch state.outcome {
                case .success: return (.success(nil), false)
                case .failure(let error): return (.failure(error), false)
                case nil:
                    state.reader = continuation
                    return (nil, false)
                }
            }
            if wasPaused { proceed() }
            if let result { continuation.resume(with: result.mapError { $0 as any Error }) }
        }
    }
}
