import Foundation
import Primitives

/// The name for a file that another takes the place of: what was there is kept.
enum FormerFile {
    /// `PATH.before-20261120T144000Z`, or one that begins so where there is a file or a log of that name: what is
    /// replaced twice in one second is kept twice.
    static func name(for path: String, at date: Date) -> String {
        let wanted = "\(path).before-\(stamp(date))"
        var (name, number) = (wanted, 1)
        while [name, name + "-wal"].contains(where: FileManager.default.fileExists(atPath:)) {
            number += 1
            name = "\(wanted)-\(number)"
        }
        return name
    }

    /// An instant as part of a file's name.
    private static func stamp(_ date: Date) -> String {
        RFC3339.string(from: date).filter { $0 != "-" && $0 != ":" }.prefix { $0 != "." && $0 != "Z" } + "Z"
    }
}
