import StoreModel

/// The files and folders of an archive. No two of them may be the same on any file system, so names must differ in more
/// than case, Unicode normalization and invisible characters.
struct NameTree {
    private struct Node {
        let spelling: String
        let isFolder: Bool
        /// Whether the archive has an entry with this name. A folder may exist only as a part of other names.
        var isNamed: Bool
    }

    private var nodes: [String: Node] = [:]

    /// Adds a name. Throws `conflictingNames`. Compares the spellings of a folder by bytes, because equal strings of
    /// Swift can have different bytes.
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
            let isOneFolder = node.isFolder && isFolder && node.spelling.utf8.elementsEqual(spelling.utf8)
            guard isOneFolder, !(isLast && node.isNamed) else {
                throw ExtractionError(
                    .conflictingNames,
                    "\(name.shown) and \"\(node.spelling)\" are the same file on some disks; rename one of them.",
                    entry: name.shown)
            }
            if isLast { nodes[folded]?.isNamed = true }
        }
    }

    /// Returns one form for all names that a file system may treat as equal. Swift's `==` ignores
    /// normalization. Conversion to upper case and back unifies letters with the same upper case, such as ß and ss.
    static func folded(_ part: String) -> String {
        if part.utf8.allSatisfy({ $0 < 0x80 }) { return part.lowercased() }
        let visible = part.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
        return String(String.UnicodeScalarView(visible)).lowercased().uppercased().lowercased()
    }
}
