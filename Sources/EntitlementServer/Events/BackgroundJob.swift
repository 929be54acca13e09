import Foundation
import SQLStorage

/// Work that the server repeats without a request, in steps.
///
/// The next step follows at once while there is more to do, and otherwise after a pause, which a commit can end.
struct BackgroundJob: Sendable {
    /// The name in reports of failures.
    let name: String
    /// The pause between steps, in seconds of real time.
    let pause: TimeInterval
    /// The commits that end the pause; `nil` if none does.
    var follows: ChangeSignal.Subject?
    /// Whether only one of the servers that share a database runs it.
    var isShared = false
    /// Does one step and returns whether there is more to do. An error is reported, and the step repeats after the
    /// pause.
    let step: @Sendable () async throws -> Bool

    /// Runs steps until the task is cancelled.
    ///
    /// - Parameters:
    ///   - changes: The signal of commits.
    ///   - registry: The servers that share a database; `nil` if the database is not shared.
    ///   - report: Receives the errors of steps.
    /// - Throws: `SQLError` with `newerSchema`. Other errors are reported.
    func run(
        observing changes: ChangeSignal, among registry: ServerRegistry?,
        report: @Sendable (_ name: String, any Error) -> Void
    ) async throws {
        while !Task.isCancelled {
            let listening = follows.map(changes.listen)
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
