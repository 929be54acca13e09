import Foundation
import Primitives

/// The URL of the simulator that `souk store` controls: `--url`, `--profile`, the variable `SOUK_STORE_URL`, or the
/// default profile, in this order.
struct StoreLocation: Sendable {
    static let options: [Command.Option] = [
        .init(name: "url", value: "U", help: "the simulator's URL, as souk simulate prints it (SOUK_STORE_URL)"),
        .init(name: "profile", value: "NAME", help: "the simulator of this profile (the default profile)"),
    ]

    private static let variable = "SOUK_STORE_URL"

    /// The URL without a slash at its end.
    let url: String

    /// Throws `UsageError` if no URL is given, and for an invalid one.
    init(_ arguments: Arguments, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        let (text, place) = try Self.find(arguments, environment)
        guard text.hasPrefix("http://") || text.hasPrefix("https://"), !text.contains("?"), !text.contains("#") else {
            throw UsageError("\(place) is an http or https URL such as http://127.0.0.1:8080, without ? and #")
        }
        url = text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// Returns the URL, and what gave it.
    private static func find(
        _ arguments: Arguments, _ environment: [String: String]
    ) throws -> (text: String, place: String) {
        if let url = arguments.text("url") {
            guard arguments.text("profile") == nil else { throw UsageError("give --url or --profile, not both") }
            return (url, "--url")
        }
        let name = arguments.text("profile")
        if name == nil, let url = environment[variable], !url.isEmpty { return (url, variable) }
        let file = StoreProfiles.file(environment)
        guard let profiles = try file.flatMap(StoreProfiles.init(readingIfPresent:)) else {
            guard let name else {
                throw UsageError(
                    "souk store needs --url U, \(variable), or a profile in \(file ?? "~/.config/souk/profiles.json")")
            }
            throw UsageError("there is no profile \(name.quoted): there is no \(file ?? "folder for profiles")")
        }
        return try profiles.url(of: name)
    }
}

/// The file of profiles: the simulators that a person uses, by their names.
private struct StoreProfiles {
    private let path: String
    private let profiles: JSONMembers
    private let defaultName: String?

    /// The path of the file, in the folder of the XDG Base Directory Specification; `nil` without a home folder.
    static func file(_ environment: [String: String]) -> String? {
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return "\(folder)/souk/profiles.json" }
        return environment["HOME"].flatMap { $0.isEmpty ? nil : "\($0)/.config/souk/profiles.json" }
    }

    /// Returns `nil` if there is no file. Throws `UsageError` with the place of the first error.
    init?(readingIfPresent path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let json: JSONValue
        do { json = try JSONValue(parsing: try InputFile.read(path, limit: 1 << 20)) } catch let error as JSONError {
            throw UsageError("\(path): this is not JSON: \(error)")
        }
        guard case .object(let members) = json else { throw UsageError("\(path): this should be a JSON object") }
        try Self.allow(["default", "profiles"], in: members, at: path)
        guard case .object(let profiles) = members["profiles"] else {
            throw UsageError("\(path)/profiles: this should be an object with a profile for each name")
        }
        if let name = members["default"] {
            guard let text = name.stringValue else { throw UsageError("\(path)/default: this should be a string") }
            guard profiles[text] != nil else { throw UsageError("\(path)/default: there is no profile \(text.quoted)") }
        }
        self.path = path
        self.profiles = profiles
        defaultName = members["default"]?.stringValue ?? (profiles.count == 1 ? profiles.first?.key : nil)
    }

    private static func allow(_ names: [String], in members: JSONMembers, at pointer: String) throws {
        for (name, _) in members where !names.contains(name) {
            throw UsageError(
                "\(JSONPointer.member(name, of: pointer)): there is no such member; there are \(names.joined(separator: " and "))"
            )
        }
    }

    /// Returns the URL of a profile, or of the default profile, and its place in the file.
    func url(of name: String?) throws -> (text: String, place: String) {
        let names = profiles.map(\.key)
        guard let name = name ?? defaultName else {
            guard !names.isEmpty else { throw UsageError("\(path)/profiles: there is no profile") }
            throw UsageError(
                "\(path) has no \"default\": choose one of \(names.joined(separator: ", ")) with --profile")
        }
        guard let profile = profiles[name] else {
            let suggestion = Suggestion.sentence(for: name, among: names).map { ". \($0)" } ?? ""
            throw UsageError("\(path): there is no profile \(name.quoted)\(suggestion)")
        }
        let pointer = JSONPointer.member(name, of: "\(path)/profiles")
        guard case .object(let members) = profile else { throw UsageError("\(pointer): this should be an object") }
        try Self.allow(["storeURL"], in: members, at: pointer)
        guard let url = members["storeURL"]?.stringValue else {
            throw UsageError("\(pointer)/storeURL: this should be a string")
        }
        return (url, "\(pointer)/storeURL")
    }
}
