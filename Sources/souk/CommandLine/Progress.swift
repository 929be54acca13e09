import Foundation
import Primitives

/// Shows the name of long work on standard error, if that is a terminal and the work takes longer than a second.
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

/// A progress bar: one line on standard error of a terminal, nothing elsewhere.
struct ProgressBar {
    private static let width = 24

    private let what: String
    private let total: Int?
    private let delay: Duration
    private let began = ContinuousClock.now
    private var shown: ContinuousClock.Instant?

    /// - Parameters:
    ///   - total: the amount of work; `nil` if it is unknown.
    ///   - delay: the time after which the bar appears, so that it does not flash for short work.
    init(_ what: String, of total: Int?, after delay: Duration = .milliseconds(500)) {
        self.what = what
        self.delay = delay
        self.total = total.flatMap { $0 > 0 ? $0 : nil }
    }

    /// Shows `done` of the total and `details`, at most ten times a second.
    mutating func show(_ done: Int, _ details: String) {
        let now = ContinuousClock.now
        guard Terminal.showsProgress, now - began > delay, shown.map({ now - $0 > .milliseconds(100) }) ?? true
        else { return }
        shown = now
        var line = what
        if let total {
            let share = min(1, Double(done) / Double(total))
            let filled = Int(share * Double(Self.width))
            let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: Self.width - filled)
            line += " [\(bar)] \(Int(share * 100)) %"
        }
        Terminal.write(error: "\r\u{1B}[K\(line)  \(details)")
    }

    /// Erases the line.
    func end() { if shown != nil { Terminal.write(error: "\r\u{1B}[K") } }
}
