import Foundation
import HTTPCore
import Primitives

/// A folder of recorded exchanges, with a folder for each request and numbered files of its responses.
struct MockFolder: Sendable {
    /// The largest number of JSON files in the folder.
    static let maximumRecordings = 10_000

    let path: String

    /// Reads all exchanges in the order of their paths, then those that the iOS library Cauli wrote into `record.json`
    /// files.
    ///
    /// Throws `InterceptionError.storageFailed` if the folder cannot be read, and `invalidFile` if a file is malformed,
    /// with its path and the location of the error.
    func recordings() throws -> [MockRecording] {
        var files: [String] = []
        guard let names = FileManager.default.enumerator(atPath: path), FileManager.default.fileExists(atPath: path)
        else {
            throw InterceptionError(
                .storageFailed, "The folder \(path) with recordings does not exist: create it with the mode \"record\"."
            )
        }
        for case let name as String in names where name.hasSuffix(".json") { files.append(name) }
        files.sort()
        guard files.count <= Self.maximumRecordings else {
            throw InterceptionError(
                .storageFailed,
                "The folder \(path) has more than \(Self.maximumRecordings) JSON files: divide it into several folders."
            )
        }
        let cauli = files.filter { $0 == "record.json" || $0.hasSuffix("/record.json") }
        let foreign = try cauli.map { try CauliRecording(root: path, file: $0).recording() }
        return try files.filter(isRecording).map(recording) + foreign
    }

    /// Whether the file is a recording. Other JSON files, for example bodies, have names that are not numbers.
    private func isRecording(_ file: String) -> Bool {
        let name = file.split(separator: "/").last ?? ""
        return name.dropLast(".json".count).allSatisfy(\.isNumber)
    }

    private func recording(_ file: String) throws -> MockRecording {
        let read = Self.reader(root: path, file: file)
        let now = try read()
        return MockRecording(path: file, request: now.request, recorded: now.recorded) { try read().result }
    }

    private static func reader(root: String, file: String) -> @Sendable () throws -> MockFile {
        let path = "\(root)/\(file)"
        return {
            do {
                guard let bytes = try DurableFile.read(path, upTo: MockFile.maximumBytes) else {
                    throw InterceptionError(.storageFailed, "The file no longer exists.")
                }
                return try MockFile(parsing: bytes, folder: (path as NSString).deletingLastPathComponent)
            } catch let error as InterceptionError {
                throw InterceptionError(error.code, "\(path): \(error.reason)", underlying: error.underlying)
            } catch {
                throw InterceptionError(.storageFailed, "The recording \(path) cannot be read.", underlying: error)
            }
        }
    }

    /// Writes one exchange atomically.
    func write(_ request: HTTPRequest, _ response: Response, recorded: Date?, as file: String) throws -> MockRecording {
        let target = "\(path)/\(file)"
        do {
            try FileManager.default.createDirectory(
                atPath: (target as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try DurableFile.write(
                MockFile.content(request, response, recorded: recorded), to: target, by: target + ".part")
        } catch {
            throw InterceptionError(.storageFailed, "The recording \(target) cannot be written.", underlying: error)
        }
        return try recording(file)
    }

    /// The number of the last recorded response to a request, or 0.
    func lastNumber(in folder: String) -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(folder)")) ?? []
        return names.compactMap { $0.hasSuffix(".json") ? Int($0.dropLast(".json".count)) : nil }.max() ?? 0
    }

    /// The folder of a request: the readable part of its method and URL, and a digest. Requests that differ in what
    /// `matching` compares have different names. A name is valid on every file system.
    static func name(for request: HTTPRequest, _ matching: MockFloret.Matching) -> String {
        let parts = URLParts(request.url)
        let text = "\(request.method.rawValue)_\(parts?.host ?? "")\(request.path)"
        var slug = ""
        for scalar in text.unicodeScalars.prefix(80) {
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isPlain { slug.unicodeScalars.append(scalar) } else if !slug.hasSuffix("_") { slug += "_" }
        }
        var digest = SHA256()
        digest.update("\(request.method.rawValue) \(request.url)".utf8)
        for name in matching.headers {
            digest.update("\n\(name.lowercased()): \(request.headers.values(name).joined(separator: "\n"))".utf8)
        }
        if matching.comparesBody { digest.update([0] + (request.body.buffered ?? [])) }
        return "\(slug)-"
            + digest.finalize().prefix(8).map { byte in
                let digits = String(byte, radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
    }
}
