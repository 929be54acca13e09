import BaseTestSupport
import Foundation
import Testing

@testable import AppStoreSimulator

/// Random histories in the store and in a reference model.
///
/// `make lives` sets the number of histories (`SOUK_LIVES`), their length (`SOUK_LIFE_STEPS`) and the first seed
/// (`SOUK_LIFE_SEED`). A history that ends in a difference is reduced to the steps that cause it.
struct RandomLivesTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    private static var seeds: [Int] {
        let first = number("SOUK_LIFE_SEED") ?? 1
        return Array(first..<first + (number("SOUK_LIVES") ?? 12))
    }

    @Test(arguments: seeds)
    func `the store agrees with the reference model in random histories`(seed: Int) async throws {
        var chance = Chance(seed: UInt64(seed))
        let referenceCatalogue = ReferenceCatalogue(&chance)
        let steps = LifeStep.life(of: Self.number("SOUK_LIFE_STEPS") ?? 60, among: referenceCatalogue, &chance)
        let found = await LifeDifference.first(in: steps) { try await RandomLife.live($0, among: referenceCatalogue) }
        guard let (shortest, last) = found else { return }
        Issue.record(
            """
            life \(seed): \(last)
            after \(shortest.map { "\($0)" }.joined(separator: "\n      "))
            of \(referenceCatalogue.subscriptions.map { "\($0)" }.joined(separator: "\n   "))
            """)
    }
}
