/// `souk completion`: prints the script with which a shell completes the words of `souk`.
enum CompletionCommand {
    private enum Shell: String, CaseIterable { case bash, zsh, fish }

    static let command = Command(
        words: ["completion"], summary: "Print a script that completes souk's commands and options in a shell",
        operands: [Shell.allCases.map(\.rawValue).joined(separator: "|")],
        details: """
            The Debian package installs the scripts. Elsewhere, add a line to the settings of the shell:
              bash  source <(souk completion bash)
              zsh   source <(souk completion zsh), after compinit
              fish  souk completion fish | source
            """
    ) { arguments in
        guard let shell = Shell(rawValue: arguments.operands[0]) else {
            throw UsageError(
                "souk completion prints a script for bash, zsh or fish, not \(arguments.operands[0].quoted)")
        }
        let tree = CompletionTree(Souk.commands)
        switch shell {
        case .bash: try Terminal.write(document: tree.bashScript)
        case .zsh: try Terminal.write(document: tree.zshScript)
        case .fish: try Terminal.write(document: tree.fishScript)
        }
        return .success
    }
}
