enum VersionCommand {
    static let command = Command(words: ["version"], summary: "version, commit, linked libraries") { _ in
        Terminal.print("souk")
        return .success
    }
}
