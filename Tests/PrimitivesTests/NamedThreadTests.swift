import Foundation
import Primitives
import Testing

@Suite struct NamedThreadTests {
    /// When Foundation set the name, one in twenty of these threads had the name of the program.
    @Test func `every thread has its name from the beginning`() async {
        var names: [String?: Int] = [:]
        for _ in 0..<2000 {
            let name = await withCheckedContinuation { continuation in
                Thread.start(named: "a name") { continuation.resume(returning: Thread.current.name) }
            }
            names[name, default: 0] += 1
        }
        #expect(names == ["a name": 2000])
    }
}
