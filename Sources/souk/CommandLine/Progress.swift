import Foundation
import Primitives

/// What is being done, on standard error of a terminal, for work that takes longer than a second.
enum Progress {
    static func shown<Value: Sendable>(
        _ what: String, _ work: () async throws -> Value
    ) async throws -> Value {
        guard Terminal.showsProgress else { return try await work() }
        let ticker = Task {
            let start = ContinuousClock.now
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                let seconds = (ContinuousClock.now - start).components.seconds
                Terminal.write(error: "\r\(what) … \(seconds) s ")
            }
            if ContinuousClock.now - start >= .seconds(1) { Terminal.write(error: "\r\u{1B}[K") }
        }
        do {
            let value = try await work()
            ticker.cancel()
            await ticker.value
            return value
        } catch {
            ticker.cancel()
            await ticker.value
            throw error
        }
    }
}
