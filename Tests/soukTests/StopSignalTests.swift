import BaseTestSupport
import Foundation
import Primitives
import Testing

@testable import souk

/// The request to stop, in a process for each test.
@Suite struct StopSignalTests {
    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `a signal that arrives before the wait is not lost`(number: Int32) async {
        for _ in 0..<5 {
            await #expect(processExitsWith: .success) { [number = number as Int32] in
                let stop = try StopSignal()
                kill(getpid(), number)
                await stop.wait()
            }
        }
    }

    @Test func `a SIGHUP that was ignored before stays ignored, as nohup requires`() async {
        await #expect(processExitsWith: .success) {
            signal(SIGHUP, SIG_IGN)
            let stop = try StopSignal { preconditionFailure("SIGHUP was handled") }
            kill(getpid(), SIGHUP)
            kill(getpid(), SIGTERM)
            await stop.wait()
        }
    }

    @Test func `a SIGHUP that the program uses neither stops it nor counts as a first signal`() async {
        await #expect(processExitsWith: .success) {
            let hangUps = Locked(0)
            let stop = try StopSignal { hangUps.withLock { $0 += 1 } }
            for count in 1...2 {
                kill(getpid(), SIGHUP)
                try await until("the signal is handled") { hangUps.withLock { $0 } == count }
            }
            kill(getpid(), SIGTERM)
            await stop.wait()
        }
    }

    @Test func `a second signal ends the process at once`() async {
        await #expect(processExitsWith: .exitCode(128 + SIGTERM)) {
            let stop = try StopSignal()
            kill(getpid(), SIGTERM)
            await stop.wait()
            kill(getpid(), SIGTERM)
            while true { await stop.wait() }
        }
    }
}
