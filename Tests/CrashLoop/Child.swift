import Foundation
import HostTestSupport
import Primitives

/// A copy of this program in another role, or another built program. It is killed when this object is deallocated.
final class Child: Sendable {
    private let program: ChildProgram

    init(_ arguments: [String], program: String? = nil) throws {
        guard let path = Bundle.main.executablePath else { throw CrashFailure("the path of this program is unknown") }
        let own = URL(fileURLWithPath: path)
        let file = program.map { own.deletingLastPathComponent().appendingPathComponent($0) } ?? own
        self.program = try ChildProgram(
            file.path, arguments, input: .captured, output: .captured, errors: .captured)
    }

    var isRunning: Bool { program.isRunning }
    var errorOutput: String { program.errors.soFar }

    /// Returns the first line of standard output; `nil` when the child ended without one.
    func firstLine() async -> String? { await program.output.firstLine() }

    /// Waits for the end and returns the exit status; 128 plus the signal's number after a signal.
    @discardableResult
    func waitForEnd() async -> Int32 { await program.end() }

    func kill() async {
        program.signal(SIGKILL)
        await waitForEnd()
    }

    /// Returns when one of the children has ended.
    static func waitForFirstEnd(of children: Child...) async {
        await withTaskGroup(of: Void.self) { group in
            for child in children { group.addTask { await child.waitForEnd() } }
            await group.next()
            group.cancelAll()
        }
    }
}
