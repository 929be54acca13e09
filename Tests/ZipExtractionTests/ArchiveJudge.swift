import Foundation
import HostTestSupport
import Primitives
import Testing

/// Archives made by Python's zipfile and Info-ZIP's zip, and zipfile's readings of ours.
enum ArchiveJudge {
    /// Files and folders by path: the SHA-256 of a file, `nil` for a folder.
    typealias Listing = [String: String?]

    static func deflatedZeros(_ count: Int) async throws -> [UInt8] {
        let answer = try await ask(["deflate": .number(count)])
        return try #require(answer.stringValue.flatMap { Base64.decode($0) })
    }

    /// Creates archives in `folder`; returns their contents by name.
    static func make(in folder: String) async throws -> [String: Listing] {
        let answer = try await ask(["make": .string(folder)])
        return try #require(answer.objectValue).mapValues { try listing(of: $0) }
    }

    /// Creates an archive of empty files with numbers as names.
    static func makeMany(_ count: Int, in folder: String) async throws -> String {
        let path = folder + "/many.zip"
        _ = try await ask(["many": .number(count), "in": .string(path)])
        return path
    }

    /// Returns zipfile's reading of each file, `nil` for an error.
    static func read(_ files: [String]) async throws -> [Listing?] {
        let answer = try await ask(["read": .array(files.map { .string($0) })])
        return try #require(answer.arrayValue).map { $0 == .null ? nil : try listing(of: $0) }
    }

    /// Returns the content of a folder.
    static func listing(of folder: String) throws -> Listing {
        var found: Listing = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let path = "\(folder)/\(name)"
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            found[name] = .some(
                isFolder.boolValue
                    ? nil : Hex.encode(SHA256.hash(Array(try Data(contentsOf: URL(fileURLWithPath: path))))))
        }
        return found
    }

    private static func listing(of value: JSONValue) throws -> Listing {
        try #require(value.objectValue).mapValues { $0.stringValue }
    }

    private static func ask(_ request: JSONValue) async throws -> JSONValue {
        let verdict = try await OutsideJudge.judge("zip_archives.py", request)
        try #require(verdict.status == 0, "\(verdict.errors)")
        return try #require(verdict.json)
    }
}
