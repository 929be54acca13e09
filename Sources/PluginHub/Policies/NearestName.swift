/// Suggestions for misspelt names.
package enum NearestName {
    /// Returns the candidate that is most similar to `name`. Permits one edit for each four characters of the shorter
    /// name, at least one and at most three. Letter case does not count.
    package static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars)
        var nearest: (distance: Int, name: String)?
        for candidate in candidates where candidate != name {
            let scalars = Array(candidate.lowercased().unicodeScalars)
            let limit = min(3, max(1, min(wanted.count, scalars.count) / 4))
            guard abs(wanted.count - scalars.count) <= limit else { continue }
            let found = (distance: distance(wanted, scalars), name: candidate)
            guard found.distance <= limit else { continue }
            if nearest.map({ found < $0 }) ?? true { nearest = found }
        }
        return nearest?.name
    }

    /// Returns a sentence that suggests a name, or an empty string if no candidate is similar.
    package static func hint(_ name: String, among candidates: some Sequence<String>) -> String {
        nearest(to: name, among: candidates).map { " Did you mean \"\($0)\"?" } ?? ""
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbours from one string to the other.
    private static func distance(_ one: [Unicode.Scalar], _ other: [Unicode.Scalar]) -> Int {
        guard !one.isEmpty, !other.isEmpty else { return max(one.count, other.count) }
        var beforeLast: [Int] = []
        var last = Array(0...other.count)
        for row in 1...one.count {
            var current = [row]
            for column in 1...other.count {
                let isSame = one[row - 1] == other[column - 1]
                var best = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
                let isSwap =
                    row > 1 && column > 1 && one[row - 1] == other[column - 2] && one[row - 2] == other[column - 1]
                if isSwap { best = min(best, beforeLast[column - 2] + 1) }
                current.append(best)
            }
            beforeLast = last
            last = current
        }
        return last[other.count]
    }
}
