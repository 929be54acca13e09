import StoreModel

/// The files and folders an archive names, in which no two are one on any file system: neither those of the same
/// spelling, nor those that differ only by case, by Unicode's forms of a character or by characters nobody sees.
struct NameTree {
    private struct Node {
        let spelling: String
        let isFolder: Bool
        /// The archive has an entry for it; a folder may also only be part of other names.
        var isNamed: Bool
    }

    private var nodes: [String: Node] = [:]

    /// Throws `conflictingNames`.
    mutating func insert(_ name: EntryName) throws(ExtractionError) {
        var (spelling, folded) = ("", "")
        for (index, part) in name.parts.enumerated() {
            let isLast = index == name.parts.count - 1
            if index > 0 {
                spelling += "/"
                folded += "/"
            }
            spelling += part
            folded += Self.folded(part)
            let isFolder = !isLast || name.isFolder
            guard let node = nodes[folded] else {
                nodes[folded] = Node(spelling: spelling, isFolder: isFolder, isNamed: isLast)
                continue
            }
            // Compared by bytes: equal strings may have different ones.
            let isOneFolder = node.isFolder && isFolder && node.spelling.utf8.elementsEqual(spelling.utf8)
            guard isOneFolder, !(isLast && node.isNamed) else {
                throw ExtractionError(
                    .conflictingNames,
                    "\(name.shown) and \"\(node.spelling)\" are one file on some disks; name them apart.",
                    entry: name.shown)
            }
            if isLast { nodes[folded]?.isNamed = true }
        }
    }

    /// One spelling for all that a file system may take for one. Strings with the same characters in different forms are
    /// equal keys already; lower case of upper case joins what has several lower forms, as ß and ss.
    static func folded(_ part: String) -> String {
        if part.utf8.allSatisfy({ $0 < 0x80 }) { return part.lowercased() }
        let visible = part.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
        return String(String.UnicodeScalarView(visible)).lowercased().uppercased().lowercased()
    }
}
