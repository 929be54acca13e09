import Foundation
import Testing

/// The codes and headers that the sources declare beside the OpenAPI documents.
enum DeclaredCodes {
    /// The text of a source file, or of all Swift files below a folder, by path from the root of the repository.
    private static func texts(_ path: String) throws -> [String] {
        let root = "\(TestFiles.repository)/Sources/\(path)"
        guard !path.hasSuffix(".swift") else { return [try String(contentsOfFile: root, encoding: .utf8)] }
        return try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".swift") }.map {
            try String(contentsOfFile: "\(root)/\($0)", encoding: .utf8)
        }
    }

    /// The codes of problem documents, with their statuses.
    static func problems(in paths: [String]) throws -> [String: Set<Int>] {
        var codes: [String: Set<Int>] = [:]
        for text in try paths.flatMap(texts) {
            for match in text.matches(of: /status:\s*(\d{3}),\s*code:\s*"(\w+)"/) {
                codes[String(match.2), default: []].insert(Int(match.1) ?? 0)
            }
            // `forbidden("foreign_site", "…")`
            for match in text.matches(of: /forbidden\(\s*"(\w+)"/) { codes[String(match.1), default: []].insert(403) }
        }
        try #require(!codes.isEmpty, "no source of \(paths) declares a problem code")
        return codes
    }

    /// The codes of an open set such as `SignedDataError.Code`.
    static func members(of type: String, in module: String) throws -> Set<String> {
        let bodies = try texts(module).flatMap { $0.components(separatedBy: "\nextension \(type).Code {").dropFirst() }
        let codes = bodies.flatMap { body in
            (body.components(separatedBy: "\n}").first ?? "").matches(of: /public static .*rawValue: "(\w+)"/).map {
                String($0.1)
            }
        }
        try #require(!codes.isEmpty, "no source of \(module) declares codes of \(type)")
        return Set(codes)
    }

    /// The codes of transactions that an answer rejects: those without a status.
    static func rejections(in module: String) throws -> Set<String> {
        try literals(/index: index, code: "(\w+)"/, in: [module])
    }

    /// The string literals of sources that look like names of headers.
    static func headers(in paths: [String]) throws -> Set<String> {
        try literals(/"([A-Za-z]+(?:-[A-Za-z]+)*)"/, in: paths)
    }

    /// The first groups of all matches.
    static func literals(_ pattern: Regex<(Substring, Substring)>, in paths: [String]) throws -> Set<String> {
        Set(try paths.flatMap(texts).flatMap { $0.matches(of: pattern).map { String($0.1) } })
    }
}
