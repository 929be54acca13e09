import HTTPCore
import Primitives

/// A buffer that passes a response body from libcurl's thread to its reader. Holds at most about `window` bytes.
final class BodyPipe: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        var isPaused = false
        var outcome: Result<Void, HTTPError>?
        var reader: CheckedContinuation<Void, Never>?
    }

    private let window: Int
    private let proceed: @Sendable () -> Void
    private let state = Locked(State())

    /// Creates a pipe.
    ///
    /// - Parameters:
    ///   - window: The number of bytes from which `offer` refuses more.
    ///   - proceed: A function that is called when there is room again after an `offer` was refused.
    init(window: Int, proceed: @escaping @Sendable () -> Void) {
        self.window = window
        self.proceed = proceed
    }

    /// Appends `bytes`. Returns `false` if the pipe is full; then libcurl offers the same bytes again after `proceed`.
    func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let chunk = Array(bytes)
        let (isTaken, reader) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard state.reader != nil || state.waiting.count < window else {
                state.isPaused = true
                return (false, nil)
            }
            state.waiting += chunk
            defer { state.reader = nil }
            return (true, state.reader)
        }
        reader?.resume()
        return isTaken
    }

    /// Ends the body, with an error if it is incomplete. Only the first call has an effect.
    func finish(_ error: HTTPError?) {
        let reader = state.withLock { state in
            if state.outcome == nil { state.outcome = error.map { .failure($0) } ?? .success(()) }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    /// Waits for bytes and returns them, or `nil` at the end of the body.
    func next() async throws -> [UInt8]? {
        while true {
            let (result, wasPaused) = take()
            if wasPaused { proceed() }
            if let result { return try result.get() }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    let isReady = !state.waiting.isEmpty || state.outcome != nil
                    if !isReady { state.reader = continuation }
                    return isReady
                }
                if isReady { continuation.resume() }
            }
        }
    }

    /// Removes and returns the buffered bytes, if any, and whether libcurl is paused.
    private func take() -> (Result<[UInt8]?, HTTPError>?, wasPaused: Bool) {
        state.withLock { state in
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
            case nil: return (nil, false)
            }
        }
    }
}
