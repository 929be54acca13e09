import Foundation

/// Writes files that a person named on the command line, whole or not at all.
enum OutputFile {
    /// Writes `bytes` to `path`, `-` being standard output. Throws `Misuse` naming the path when it exists and
    /// `overwriting` is false, or cannot be written.
    static func write(_ bytes: [UInt8], to path: String, overwriting: Bool) throws {
        if path == "-" {
            guard isatty(1) == 0 else {
                throw Misuse("what would be written is not text; send it to a file with --out FILE or >")
            }
            try FileHandle.standardOutput.write(contentsOf: Data(bytes))
            return
        }
        let file = URL(fileURLWithPath: path)
        if !overwriting, FileManager.default.fileExists(atPath: path) {
            throw Misuse("\(path): the file exists; give another name, or --force to replace it")
        }
        do {
            try Data(bytes).write(to: file, options: .atomic)
        } catch {
            throw Misuse("\(path): the file cannot be written: \(error.localizedDescription)")
        }
    }
}
