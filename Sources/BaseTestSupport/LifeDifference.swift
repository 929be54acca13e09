/// A difference between an implementation and its reference model after the same steps.
///
///     let found = await LifeDifference.first(in: steps) { try await RandomLife.live($0) }
package struct LifeDifference: Error, CustomStringConvertible {
    /// The step after which the difference was found.
    package var step: Int
    package var description: String

    package init(step: Int, description: String) {
        self.step = step
        self.description = description
    }

    /// Returns the difference that `live` throws, and the steps that lead to it. Removes steps, the last ones first, as
    /// long as a difference remains. Returns `nil` if `live` throws nothing. Any other error counts as a difference
    /// after the last step.
    package static func first<Step>(
        in steps: [Step], live: ([Step]) async throws -> Void
    ) async -> (steps: [Step], difference: LifeDifference)? {
        guard var difference = await found(steps, live) else { return nil }
        var steps = Array(steps.prefix(difference.step + 1))
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for place in steps.indices.reversed() where place < steps.count {
                var fewer = steps
                fewer.remove(at: place)
                guard let other = await found(fewer, live) else { continue }
                steps = Array(fewer.prefix(other.step + 1))
                difference = other
                hasChanged = true
            }
        }
        return (steps, difference)
    }

    private static func found<Step>(
        _ steps: [Step], _ live: ([Step]) async throws -> Void
    ) async -> LifeDifference? {
        do {
            try await live(steps)
            return nil
        } catch let difference as LifeDifference {
            return difference
        } catch {
            return LifeDifference(step: max(0, steps.count - 1), description: "\(error)")
        }
    }
}
