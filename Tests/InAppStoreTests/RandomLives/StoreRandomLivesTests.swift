import BaseTestSupport
import Foundation
import Testing

/// Random histories of a customer, in a real store and in a reference model.
///
/// `SOUK_STORE_LIVES` is the number of lives, `SOUK_LIFE_STEPS` the length of each, and `SOUK_LIFE_SEED` the first
/// seed. A failing life is reduced to the steps that cause the failure.
@Suite(.timeLimit(.minutes(10)))
struct StoreRandomLivesTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    private static var seeds: [Int] {
        let first = number("SOUK_LIFE_SEED") ?? 1
        return Array(first..<first + (number("SOUK_STORE_LIVES") ?? 12))
    }

    @Test(arguments: seeds)
    func `the store allows the products of the reference model, in random histories`(seed: Int) async throws {
        var chance = SeededNumbers(state: UInt64(seed))
        let steps = LifeStep.life(of: Self.number("SOUK_LIFE_STEPS") ?? 40, &chance)
        guard let (shortest, last) = await LifeDifference.first(in: steps, live: RandomLife.live) else { return }
        Issue.record(
            "life \(seed): \(last.description)\nafter \(shortest.map { "\($0)" }.joined(separator: "\n      "))")
    }
}
