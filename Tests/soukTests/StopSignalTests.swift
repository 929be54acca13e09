import Foundation
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
