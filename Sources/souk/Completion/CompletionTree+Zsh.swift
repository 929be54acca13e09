extension CompletionTree {
    /// The completion script of zsh. It is a file for the `fpath`, and can be sourced too.
    var zshScript: String {
        """
        #compdef souk
        # Completion of souk for zsh. Printed by: souk completion zsh

        # Sets the words that can follow a path, its options, and what its operands are.
        _souk_node() {
          words_after=() options_of=() operands_of=()
          case $1 in
        \(nodes.map(branch).joined(separator: "\n"))
          *) return 1 ;;
          esac
        }

        # Sets what the value of an option is.
        _souk_value() {
          values_of=()
          case $1 in
        \(valuesOfOptions.map { "  (\(Self.patterns($0.keys))) values_of=(\(Self.description($0.values))) ;;" }
            .joined(separator: "\n"))
          esac
        }

        _souk_takes_value() {
          case $1 in
          (\(valuedOptions.joined(separator: "|"))) ;;
          (*) return 1 ;;
          esac
        }

        _souk_offer() {
          case $1 in
          (files) _files ;;
          (folders) _files -/ ;;
          (ledger) if compset -P 'sqlite:'; then _files; else compadd -S '' -- sqlite: postgres://; fi ;;
          (words) compadd -- "${(@)argv[2,-1]}" ;;
          (*) return 1 ;;
          esac
        }

        _souk() {
          local -a words_after options_of operands_of values_of
          local souk_path= option= operands= is_help= next
          integer i
          for ((i = 2; i < CURRENT; i++)); do
            next=$words[i]
            if [[ -n $option ]]; then
              option=
              continue
            fi
            case $next in
            (--) operands=only ;;
            (--*=*) ;;
            (--*) if _souk_takes_value $next; then option=$next; fi ;;
            (-?*) ;;
            (help) if [[ -z $souk_path$is_help ]]; then is_help=1; fi ;;
            (*)
              if [[ -z $operands ]] && _souk_node "${souk_path:+$souk_path }$next"; then
                souk_path=${souk_path:+$souk_path }$next
              else
                operands=${operands:-some}
              fi
              ;;
            esac
          done
          next=$words[CURRENT]
          if [[ -z $option && $operands != only && $next == --*=* ]]; then
            option=${next%%=*}
            compset -P '*='
          fi
          if [[ -n $option ]]; then
            _souk_value "$souk_path $option"
            _souk_offer $values_of
            return
          fi
          _souk_node "$souk_path"
          if [[ $operands != only && $next == -* ]]; then
            if [[ -z $is_help ]]; then _describe -o option options_of; fi
            return
          fi
          local result=1
          if [[ -z $operands && -n $words_after ]]; then _describe command words_after && result=0; fi
          # Only the first operand is one of several words.
          if [[ -n $operands && $operands_of[1] == words ]]; then operands_of=(); fi
          if [[ -z $is_help && -n $operands_of ]]; then _souk_offer $operands_of && result=0; fi
          return result
        }

        if [[ $funcstack[1] == _souk ]]; then _souk "$@"; else compdef _souk souk; fi

        """
    }

    private func branch(_ node: Node) -> String {
        let words = node.words.map { Self.entry($0.name, $0.summary) }.joined(separator: " ")
        let options = node.options.map { Self.entry("--\($0.name)", $0.help) }.joined(separator: " ")
        return """
              (\(Self.patterns([node.name])))
                words_after=(\(words))
                options_of=(\(options))
                operands_of=(\(Self.description(node.operands)))
                ;;
            """
    }

    private static func patterns(_ keys: [String]) -> String { keys.map { "'\($0)'" }.joined(separator: "|") }

    /// An entry of `_describe`. A colon ends the name.
    private static func entry(_ name: String, _ summary: String) -> String {
        let text = "\(name.replacingOccurrences(of: ":", with: "\\:")):\(summary)"
        return "'\(text.replacingOccurrences(of: "'", with: "'\\''"))'"
    }

    private static func description(_ values: Values) -> String {
        switch values {
        case .nothing: ""
        case .files: "files"
        case .folders: "folders"
        case .ledger: "ledger"
        case .words(let words): (["words"] + words).joined(separator: " ")
        }
    }
}
