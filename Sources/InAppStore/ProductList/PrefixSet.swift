/// Prefixes of identifiers, searched by halves: a thousand of them cost ten comparisons.
struct PrefixSet: Sendable {
    /// In the order of their bytes. None begins with another, so only the last that is not after a text can begin it.
    private let prefixes: [String]

    init(_ texts: some Sequence<String>) {
        prefixes = texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.reduce(into: []) { kept, text in
            if let last = kept.last, text.utf8.starts(with: last.utf8) { return }
            kept.append(text)
        }
    }

    /// Whether `text` begins with one of them. The empty prefix begins every text.
    func contains(prefixOf text: String) -> Bool {
        var (low, high) = (0, prefixes.count)
        while low < high {
            let middle = (low + high) / 2
            if text.utf8.lexicographicallyPrecedes(prefixes[middle].utf8) { high = middle } else { low = middle + 1 }
        }
        return low > 0 && text.utf8.starts(with: prefixes[low - 1].utf8)
    }
}
