/// Prefixes of ids, found by binary search: among a thousand, a search needs ten comparisons.
struct PrefixSet: Sendable {
    /// Sorted by their bytes. No prefix begins with another one, so only the last prefix that is not greater than a
    /// string can match it.
    private let prefixes: [String]

    init(_ texts: some Sequence<String>) {
        prefixes = texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.reduce(into: []) { kept, text in
            if let last = kept.last, text.utf8.starts(with: last.utf8) { return }
            kept.append(text)
        }
    }

    /// Returns whether `text` begins with one of the prefixes. The empty prefix matches every string.
    func contains(prefixOf text: String) -> Bool {
        var (low, high) = (0, prefixes.count)
        while low < high {
            let middle = (low + high) / 2
            if text.utf8.lexicographicallyPrecedes(prefixes[middle].utf8) { high = middle } else { low = middle + 1 }
        }
        return low > 0 && text.utf8.starts(with: prefixes[low - 1].utf8)
    }
}
