import Foundation

/// Work that nobody asks for, done in steps: at once while there is more to do, otherwise after a commit it may concern or
/// a pause.
struct Chore: Sendable {
    /// Named in reports of failures.
    let name: String
    /// Seconds of real time, whatever clock the store follows.
    let pause: TimeInterval
    /// Whether a commit ends the pause.
    var followsCommits = false
    /// One step; returns whether there is more to do. What it throws is reported, and tried again after the pause.
    let step: @Sendable () async throws -> Bool

    /// Until the task is cancelled.
    func run(hearing news: News, report: @Sendable (_ name: String, any Error) -> Void) async {
        while !Task.isCancelled {
            let listening = followsCommits ? news.listen() : nil
            do {
                if try await step() {
                    await Task.yield()
                    continue
                }
            } catch {
                if Task.isCancelled { return }
                report(name, error)
            }
            _ = await news.wait(for: listening, upTo: pause)
        }
    }
}
