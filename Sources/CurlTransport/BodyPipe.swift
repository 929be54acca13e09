import HTTPCore
import Primitives

/// Carries an answer's body from libcurl's thread to its reader, holding at most about `window` bytes.
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

    /// `proceed` is called when there is room again after an `offer` was refused.
    init(window: Int, proceed: @escaping @Sendable () -> Void) {
        self.window = window
        self.proceed = proceed
    }

    /// `false`: no room; offer the same bytes again after `proceed`.
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

    func finish(_ error: HTTPError?) {
        let reader = state.withLock { state in
            if state.outcome == nil { state.outcome = error.map { .failure($0) } ?? .success(()) }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    /// What has arrived, `nil` at the end.
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

    /// What there is to read, if anything, and whether libcurl waits for room.
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
