import Foundation
import SQLStorage

/// Work that nobody asks for, done in steps: at once while there is more to do, otherwise after a commit it may concern or
/// a pause.
struct BackgroundJob: Sendable {
    /// Named in reports of failures.
    let name: String
    /// Seconds of real time, whatever clock the store follows.
    let pause: TimeInterval
    /// Whether a commit ends the pause.
    var followsCommits = false
    /// Whether one server does it for all that share a database.
    var isShared = false
    /// One step; returns whether there is more to do. What it throws is reported, and tried again after the pause.
    let step: @Sendable () async throws -> Bool

    /// Until the task is cancelled.
    ///
    /// - Parameter registry: the servers that share a database; `nil` where there is one.
    /// - Throws: `SQLError` with `newerSchema`; other errors are reported.
    func run(
        observing changes: ChangeSignal, among registry: ServerRegistry?,
        report: @Sendable (_ name: String, any Error) -> Void
    ) async throws {
        while !Task.isCancelled {
            let listening = followsCommits ? changes.listen() : nil
            do {
                let isOurs = if isShared, let registry { try await registry.leads() } else { true }
                if isOurs, try await step() {
                    await Task.yield()
                    continue
                }
            } catch let error as SQLError where error.code == .newerSchema {
                throw error
            } catch {
                if Task.isCancelled { return }
                report(name, error)
            }
            _ = await changes.wait(for: listening, upTo: pause)
        }
    }
}
