import Foundation
import Primitives

/// Kills an app, or the server it talks to, at every point of a purchase, one after the other, and checks that after the
/// restart the purchase ends acknowledged and finished exactly once.
///
///     CrashLoop all [EVERY]       both sides, at every point or at each EVERY-th
///
/// The other two forms are what it starts itself: `CrashLoop app …` and `CrashLoop server …`.
@main
enum CrashLoop {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch arguments.first {
            case "app": try await AppChild.run(Settings(arguments))
            case "server": try await ServerChild.run(Settings(arguments))
            case "all":
                let every = arguments.dropFirst().first.flatMap { Int($0) } ?? 1
                try await CrashDriver.run(every: max(1, every))
            default: throw CrashFailure("say CrashLoop all [EVERY]")
            }
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("crash loop: \(error)\n".utf8))
            exit(1)
        }
    }
}

struct CrashFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// What a child is told: `name=value` words.
struct Settings {
    private let values: [String: String]

    init(_ arguments: [String]) {
        values = Dictionary(
            arguments.compactMap { word in
                let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            }, uniquingKeysWith: { $1 })
    }

    subscript(name: String) -> String? { values[name] }

    func required(_ name: String) throws -> String {
        guard let value = values[name] else { throw CrashFailure("\(name)= is missing") }
        return value
    }

    /// The touch at which the fuse burns; `nil` for never.
    var killAt: Int? { values["kill-at"].flatMap { Int($0) } }
}
