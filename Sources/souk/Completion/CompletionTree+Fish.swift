extension CompletionTree {
    /// The completion script of fish 3.
    var fishScript: String {
        """
        # Completion of souk for fish. Printed by: souk completion fish

        # Prints the words that can follow a path.
        function __souk_words
            switch $argv[1]
        \(nodes.filter { !$0.words.isEmpty }.map { Self.branch([$0.name], $0.words) }.joined(separator: "\n"))
            end
        end

        # Prints the options of a path. Fails if there is no such path.
        function __souk_options
            switch $argv[1]
        \(nodes.map { node in Self.branch([node.name], node.options.map { ("--\($0.name)", $0.help) }) }
            .joined(separator: "\n"))
                case '*'
                    return 1
            end
        end

        # Offers the values of an option for the text that was typed, after a prefix such as --out=. The operands that
        # precede an operand are the last argument.
        function __souk_values
            switch $argv[1]
        \(valuesOfOptions.map(Self.branch).joined(separator: "\n"))
            end
        end

        function __souk_operands
            switch $argv[1]
        \(valuesOfOperands.map(Self.branch).joined(separator: "\n"))
            end
        end

        function __souk_takes_value
            contains -- $argv[1] \(valuedOptions.joined(separator: " "))
        end

        function __souk_offer
            set -l typed $argv[1]
            set -l prefix $argv[2]
            switch $argv[3]
                case files
                    for path in (__fish_complete_path $typed)
                        echo "$prefix$path"
                    end
                case folders
                    for path in (__fish_complete_directories $typed '')
                        echo "$prefix$path"
                    end
                case ledger
                    if string match -q 'sqlite:*' -- $typed
                        for path in (__fish_complete_path (string replace sqlite: '' -- $typed))
                            echo "$prefix"sqlite:"$path"
                        end
                    else
                        echo "$prefix"sqlite:
                        echo "$prefix"postgres://
                    end
                case words
                    # Only the first operand is one of several words.
                    test -n "$argv[4]"; and return
                    for word in $argv[5..-1]
                        echo "$prefix$word"
                    end
            end
        end

        function __souk_complete
            set -l tokens (commandline -opc)
            set -l typed (commandline -ct)
            set -l path ''
            set -l option ''
            set -l operands ''
            set -l help ''
            for next in $tokens[2..-1]
                if test -n "$option"
                    set option ''
                    continue
                end
                switch $next
                    case --
                        set operands only
                    case '--*=*'
                    case '--*'
                        if __souk_takes_value $next
                            set option $next
                        end
                    case '-?*'
                    case '*'
                        if test "$next" = help -a -z "$path$help$operands"
                            set help 1
                            continue
                        end
                        set -l longer (string trim -- "$path $next")
                        if test -z "$operands"; and __souk_options $longer >/dev/null
                            set path $longer
                        else if test -z "$operands"
                            set operands some
                        end
                end
            end
            if test -n "$option"
                __souk_values "$path $option" "$typed" ''
                return
            end
            if test "$operands" != only
                if string match -q -- '--*=*' "$typed"
                    set -l parts (string split -m 1 = -- $typed)
                    __souk_values "$path $parts[1]" "$parts[2]" "$parts[1]="
                    return
                end
                if string match -q -- '-*' "$typed"
                    test -z "$help"; and __souk_options "$path"
                    return
                end
            end
            test -z "$operands"; and __souk_words "$path"
            test -z "$help"; and __souk_operands "$path" "$typed" '' "$operands"
        end

        complete -c souk -f -a '(__souk_complete)'

        """
    }

    /// A branch that prints names with their descriptions.
    private static func branch(_ keys: [String], _ lines: [(String, String)]) -> String {
        let texts = lines.map { "'\(escaped($0.0))'\\t'\(escaped($0.1))'" }
        return """
                case \(keys.map { "'\($0)'" }.joined(separator: " "))
                    printf '%s\\n' \(texts.joined(separator: " "))
            """
    }

    /// A branch that offers values.
    private static func branch(_ keys: [String], _ values: Values) -> String {
        let words =
            switch values {
            case .nothing: ""
            case .files: "files"
            case .folders: "folders"
            case .ledger: "ledger"
            case .words(let words): (["words", "\"$argv[4]\""] + words).joined(separator: " ")
            }
        return """
                case \(keys.map { "'\($0)'" }.joined(separator: " "))
                    __souk_offer "$argv[2]" "$argv[3]" \(words)
            """
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "'", with: "\\'")
    }
}
