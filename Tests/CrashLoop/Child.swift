import Foundation
import HostTestSupport
import Primitives

/// A copy of this program, doing another part, or a program that was built beside it. It is killed when this object goes.
final class Child: Sendable {
    private let program: ChildProgram

    init(_ arguments: [String], program: String? = nil) throws {
        guard let path = Bundle.main.executablePath else { throw CrashFailure("this program does not know its path") }
        let own = URL(fileURLWithPath: path)
        let file = program.map { own.deletingLastPathComponent().appendingPathComponent($0) } ?? own
        // Its input ends when this process does, and that ends it.
        self.program = try ChildProgram(
            file.path, arguments, input: .captured, output: .captured, errors: .captured)
    }

    var isRunning: Bool { program.isRunning }
    var lastWords: String { program.errors.soFar }

    /// The first line of standard output; `nil` when it ended without one.
    func firstLine() async -> String? { await program.output.firstLine() }

    /// The exit status, 128 and the signal's number for a signal; waits for the end.
    @discardableResult
    func ended() async -> Int32 { await program.end() }

    func kill() async {
        program.signal(SIGKILL)
        await ended()
    }

    /// Returns as soon as one of them has ended.
    static func firstEnd(of children: Child...) async {
        await withTaskGroup(of: Void.self) { group in
            for child in children { group.addTask { await child.ended() } }
            await group.next()
            group.cancelAll()
        }
    }
}
