import BaseTestSupport
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
            let found = await LifeDifference.first(in: steps) { try await RandomLife.live($0, among: goods) }
            guard let (shortest, last) = found else { continue }
            Issue.record(
                """
                life \(seed): \(last)
                after \(shortest.map { "\($0)" }.joined(separator: "\n      "))
                of \(goods.subscriptions.map { "\($0)" }.joined(separator: "\n   "))
                """)
            return
        }
    }
}
