/// Suggests names that are similar to a mistyped one.
enum Suggestion {
    /// Returns `Did you mean "serve"?` with all nearest candidates, or `nil` when none is similar.
    /// - Parameter candidates: the known names, in the order in which the sentence lists them.
    static func sentence(for typed: String, among candidates: [String]) -> String? {
        sentence(naming: nearest(to: typed, among: candidates))
    }

    /// Returns `Did you mean "catalog lint" or "har lint"?`, or `nil` for no names.
    static func sentence(naming names: [String]) -> String? {
        let names = names.map { "\"\($0)\"" }
        guard let last = names.last else { return nil }
        let list = names.count == 1 ? last : names.dropLast().joined(separator: ", ") + " or " + last
        return "Did you mean \(list)?"
    }

    /// Returns the similar candidates with the smallest edit distance. A candidate is similar if at most a third of the
    /// letters differ, or one letter, but not all letters. It is also similar if it begins with the typed text and this
    /// has at least three letters.
    static func nearest(to typed: String, among candidates: [String]) -> [String] {
        let distances = candidates.compactMap { candidate -> (name: String, distance: Int)? in
            let distance = distance(from: typed, to: candidate)
            let letters = min(typed.count, candidate.count)
            let isBeginning = letters >= 3 && candidate.hasPrefix(typed)
            return isBeginning || distance <= max(1, letters / 3) && distance < letters ? (candidate, distance) : nil
        }
        let smallest = distances.map(\.distance).min()
        var names: [String] = []
        for (name, distance) in distances where distance == smallest && !names.contains(name) { names.append(name) }
        return names
    }

    /// Returns the number of letters to insert, remove, replace or swap with their neighbour to turn one text into the
    /// other (optimal string alignment). Ignores case.
    static func distance(from first: String, to second: String) -> Int {
        let (first, second) = (Array(first.lowercased()), Array(second.lowercased()))
        var rows = [Array(0...second.count)]
        for i in 0..<first.count {
            var row = [i + 1]
            for j in 0..<second.count {
                var best = min(rows[i][j + 1], row[j]) + 1
                best = min(best, rows[i][j] + (first[i] == second[j] ? 0 : 1))
                if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[first.count][second.count]
    }
}
