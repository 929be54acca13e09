/// The commands of `souk`, from its help.
enum CommandList {
    /// The words of every command, such as `["keys", "create"]`.
    static func commands() async throws -> [[String]] {
        rows(of: "Commands", in: try await SoukExecutable.run(["--help"]).output)
    }

    /// The words of every action of `souk store`, such as `["store", "account", "list"]`.
    static func actions() async throws -> [[String]] {
        rows(of: "Actions", in: try await SoukExecutable.run(["store", "--help"]).output).map { ["store"] + $0 }
    }

    /// The words of rows such as `  account show NAME  one account`, without operands.
    static func rows(of title: String, in help: String) -> [[String]] {
        let rows = help.components(separatedBy: "\(title):\n").last?.split(separator: "\n") ?? []
        return rows.prefix { $0.hasPrefix("  ") }.map { row in
            let usage = row.dropFirst(2).components(separatedBy: "  ").first ?? ""
            return usage.split(separator: " ").map(String.init).prefix { $0 == $0.lowercased() && !$0.hasPrefix("[") }
                .map { $0 }
        }
    }
}
