import BaseTestSupport
import Foundation
import Testing

/// Random lives of a customer, run by a real store and by a reference model.
///
/// `SOUK_STORE_LIVES` is the number of lives, `SOUK_LIFE_STEPS` the length of each, and `SOUK_LIFE_SEED` the first
/// seed. A failing life is reduced to the steps that are needed.
@Suite(.timeLimit(.minutes(10)))
struct StoreRandomLivesTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    private static var seeds: [Int] {
        let first = number("SOUK_LIFE_SEED") ?? 1
        return Array(first..<first + (number("SOUK_STORE_LIVES") ?? 12))
    }

    @Test(arguments: seeds)
    func `the store allows what a naive customer may use, through random lives`(seed: Int) async throws {
        var chance = SeededNumbers(state: UInt64(seed))
        let steps = LifeStep.life(of: Self.number("SOUK_LIFE_STEPS") ?? 40, &chance)
        guard let (shortest, last) = await LifeDifference.first(in: steps, live: RandomLife.live) else { return }
        Issue.record(
            "life \(seed): \(last.description)\nafter \(shortest.map { "\($0)" }.joined(separator: "\n      "))")
    }
}
