import Foundation
import Primitives

/// The name that a file gets before another file replaces it, so that its content is kept.
enum FormerFile {
    /// Returns `PATH.before-20261120T144000Z`. Appends a number when a file or a write-ahead log of that name exists,
    /// so that two files replaced in the same second are both kept.
    static func name(for path: String, at date: Date) -> String {
        let wanted = "\(path).before-\(stamp(date))"
        var (name, number) = (wanted, 1)
        while [name, name + "-wal"].contains(where: FileManager.default.fileExists(atPath:)) {
            number += 1
            name = "\(wanted)-\(number)"
        }
        return name
    }

    /// Formats an instant for a file name.
    private static func stamp(_ date: Date) -> String {
        RFC3339.string(from: date).filter { $0 != "-" && $0 != ":" }.prefix { $0 != "." && $0 != "Z" } + "Z"
    }
}
