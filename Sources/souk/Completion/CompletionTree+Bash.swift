extension CompletionTree {
    /// The completion script of bash 3.2 and later.
    ///
    /// Bash splits a line at `=` and `:` too, so the script splits it again at spaces, and removes from each candidate
    /// what precedes the last of these characters.
    var bashScript: String {
        """
        # Completion of souk for bash. Printed by: souk completion bash

        # The words that can follow a path, and its options.
        _souk_words() {
            case $1 in
        \(cases(nodes.filter { !$0.words.isEmpty }.map { ([$0.name], $0.words.map(\.name)) }))
            esac
        }

        _souk_options() {
            case $1 in
        \(cases(nodes.map { ([$0.name], $0.options.map { "--\($0.name)" }) }))
            *) return 1 ;;
            esac
        }

        # The values of an option, and the operands of a path: "words" and the words, or what they name.
        _souk_values() {
            case $1 in
        \(cases(valuesOfOptions.map { ($0.keys, Self.description($0.values)) }))
            esac
        }

        _souk_operands() {
            case $1 in
        \(cases(valuesOfOperands.map { ($0.keys, Self.description($0.values)) }))
            esac
        }

        _souk_takes_value() {
            case $1 in
            \(valuedOptions.joined(separator: " | "))) ;;
            *) return 1 ;;
            esac
        }

        _souk() {
            local line=${COMP_LINE:0:COMP_POINT} words word path= option= value= operands= help= cut= i next
            local kind= candidates=() candidate
            COMPREPLY=()
            # Without -r, so that a space after a backslash splits no word.
            # shellcheck disable=SC2162
            IFS=$' \\t\\n' read -a words <<<"$line"
            case $line in *[[:space:]]) words+=('') ;; esac
            for ((i = 1; i < ${#words[@]} - 1; i++)); do
                next=${words[i]}
                if [[ -n $option ]]; then
                    option=
                    continue
                fi
                case $next in
                --) operands=only ;;
                --*=*) ;;
                --*) if _souk_takes_value "$next"; then option=$next; fi ;;
                -?*) ;;
                help) if [[ -z $path$help ]]; then help=1; fi ;;
                *)
                    if [[ -z $operands ]] && _souk_options "${path:+$path }$next" >/dev/null; then
                        path=${path:+$path }$next
                    else
                        operands=${operands:-some}
                    fi
                    ;;
                esac
            done
            word=${words[${#words[@]} - 1]}
            value=$word
            if [[ -z $option && $operands != only && $word == --*=* ]]; then
                option=${word%%=*}
                value=${word#*=}
            fi
            if [[ -n $option ]]; then
                kind=$(_souk_values "$path $option")
            elif [[ $operands != only && $word == -* ]]; then
                if [[ -z $help ]]; then kind="words $(_souk_options "$path")"; fi
            else
                if [[ -z $operands ]]; then kind="words $(_souk_words "$path")"; fi
                if [[ -z $help ]]; then
                    next=$(_souk_operands "$path")
                    case $next in
                    words\\ *) if [[ -z $operands ]]; then kind="words ${kind#words }${next#words}"; fi ;;
                    ?*) if [[ -z ${kind#words } ]]; then kind=$next; fi ;;
                    esac
                fi
            fi
            case $kind in
            words\\ *) kind=${kind#words } && candidates=($(compgen -W "$kind" -- "$value")) ;;
            files) _souk_paths -f "" ;;
            folders) _souk_paths -d "" ;;
            ledger)
                case $value in
                sqlite:*) _souk_paths -f sqlite: ;;
                *)
                    candidates=($(compgen -W "sqlite: postgres://" -- "$value"))
                    compopt -o nospace 2>/dev/null
                    ;;
                esac
                ;;
            esac
            cut=${word%"${word##*[=:]}"}
            case $COMP_WORDBREAKS in
            *:*) ;;
            *) cut=${word%"${word##*=}"} ;;
            esac
            for candidate in ${candidates[@]+"${candidates[@]}"}; do
                candidate=${word%"$value"}$candidate
                COMPREPLY+=("${candidate#"$cut"}")
            done
        }

        # Adds the paths that begin with the value, after a prefix of the value that is no part of the path.
        _souk_paths() {
            while IFS= read -r candidate; do candidates+=("$2$candidate"); done < <(compgen "$1" -- "${value#"$2"}")
            compopt -o filenames 2>/dev/null
        }

        complete -F _souk souk

        """
    }

    private static func description(_ values: Values) -> [String] {
        switch values {
        case .nothing: []
        case .files: ["files"]
        case .folders: ["folders"]
        case .ledger: ["ledger"]
        case .words(let words): ["words"] + words
        }
    }

    /// The branches of a `case`, each of which prints words.
    private func cases(_ all: [(keys: [String], words: [String])]) -> String {
        all.map { keys, words in
            let patterns = keys.map { "'\($0)'" }.joined(separator: " | ")
            return "    \(patterns)) echo '\(words.joined(separator: " "))' ;;"
        }.joined(separator: "\n")
    }
}
