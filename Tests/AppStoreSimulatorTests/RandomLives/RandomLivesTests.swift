import Foundation
import Testing

@testable import AppStoreSimulator

/// Random lives, lived in the store and in a naive one.
///
/// `SOUK_LIVES` says how many there are, `SOUK_LIFE_STEPS` how long each is, `SOUK_LIFE_SEED` with which it begins
/// (`make lives`). A life that ends in a difference is cut down to the steps that it takes.
struct RandomLivesTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    @Test func `the store agrees with a naive one through random lives`() async throws {
        let first = Self.number("SOUK_LIFE_SEED") ?? 1
        let length = Self.number("SOUK_LIFE_STEPS") ?? 60
        for seed in first..<first + (Self.number("SOUK_LIVES") ?? 12) {
            var chance = Chance(seed: UInt64(seed))
            let goods = NaiveGoods(&chance)
            let steps = LifeStep.life(of: length, among: goods, &chance)
            guard let difference = await Self.difference(steps, goods) else { continue }
            let (shortest, last) = await Self.shortened(Array(steps.prefix(difference.step + 1)), goods, difference)
            Issue.record(
                """
                life \(seed): \(last)
                after \(shortest.map { "\($0)" }.joined(separator: "\n      "))
                of \(goods.subscriptions.map { "\($0)" }.joined(separator: "\n   "))
                """)
            return
        }
    }

    private static func difference(_ steps: [LifeStep], _ goods: NaiveGoods) async -> RandomLife.Difference? {
        do {
            try await RandomLife.live(steps, among: goods)
            return nil
        } catch let difference as RandomLife.Difference {
            return difference
        } catch {
            return RandomLife.Difference(step: 0, description: "\(error)")
        }
    }

    /// Leaves out what the difference does not need, last steps first, as long as that helps.
    private static func shortened(
        _ steps: [LifeStep], _ goods: NaiveGoods, _ difference: RandomLife.Difference
    ) async -> ([LifeStep], RandomLife.Difference) {
        var (steps, difference) = (steps, difference)
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for place in steps.indices.reversed() where place < steps.count {
                var fewer = steps
                fewer.remove(at: place)
                guard let other = await Self.difference(fewer, goods) else { continue }
                steps = Array(fewer.prefix(other.step + 1))
                difference = other
                hasChanged = true
            }
        }
        return (steps, difference)
    }
}
