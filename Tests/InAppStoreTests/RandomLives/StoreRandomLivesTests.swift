import Foundation
import StoreTestSupport
import Testing

/// Random lives of a customer, lived by a store in the real world and by a naive one.
///
/// `SOUK_STORE_LIVES` says how many there are, `SOUK_LIFE_STEPS` how long each is, `SOUK_LIFE_SEED` with which it begins.
/// A life that ends in a difference is cut down to the steps that it takes.
@Suite(.timeLimit(.minutes(10)))
struct StoreRandomLivesTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    @Test func `the store allows what a naive customer may use, through random lives`() async throws {
        let first = Self.number("SOUK_LIFE_SEED") ?? 1
        for seed in first..<first + (Self.number("SOUK_STORE_LIVES") ?? 12) {
            var chance = SeededNumbers(state: UInt64(seed))
            let steps = LifeStep.life(of: Self.number("SOUK_LIFE_STEPS") ?? 40, &chance)
            guard let difference = await Self.difference(steps) else { continue }
            let (shortest, last) = await Self.shortened(Array(steps.prefix(difference.step + 1)), difference)
            Issue.record(
                "life \(seed): \(last.description)\nafter \(shortest.map { "\($0)" }.joined(separator: "\n      "))")
            return
        }
    }

    private static func difference(_ steps: [LifeStep]) async -> RandomLife.Difference? {
        do {
            try await RandomLife.live(steps)
            return nil
        } catch let difference as RandomLife.Difference {
            return difference
        } catch {
            return RandomLife.Difference(step: steps.count - 1, description: "\(error)")
        }
    }

    /// Leaves out what the difference does not need, last steps first, as long as that helps.
    private static func shortened(
        _ steps: [LifeStep], _ difference: RandomLife.Difference
    ) async -> ([LifeStep], RandomLife.Difference) {
        var (steps, difference) = (steps, difference)
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for place in steps.indices.reversed() where place < steps.count {
                var fewer = steps
                fewer.remove(at: place)
                guard let other = await Self.difference(fewer) else { continue }
                steps = Array(fewer.prefix(other.step + 1))
                difference = other
                hasChanged = true
            }
        }
        return (steps, difference)
    }
}
