import Primitives
import SQLStorage

/// A statement in PostgreSQL's form: placeholders `$1` to `$n` for `?1` to `?n`, with its first word.
struct PostgresStatement: Sendable {
    let sql: String
    /// Unique among all statements of the program, so that texts need not be compared.
    let number: Int
    private static let count = Locked(0)
    /// The number of values that the statement needs.
    let placeholders: Int
    /// The first word of the statement, in capitals.
    let firstWord: String

    /// First words of statements that control the transaction, cursors or the connection. Bodies must not run them.
    private static let reserved: Set<String> = [
        "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE", "DEALLOCATE",
        "DISCARD", "SET", "RESET", "COPY", "LISTEN", "UNLISTEN", "NOTIFY", "DECLARE", "FETCH", "MOVE", "CLOSE",
    ]

    /// Whether bodies must not run the statement.
    var isReserved: Bool { Self.reserved.contains(firstWord) }

    /// Whether it is a query that a cursor can read in parts.
    var isQuery: Bool { firstWord == "SELECT" || firstWord == "VALUES" }

    /// Throws `invalidStatement` unless the placeholders are `?1` to `?n`.
    init(_ text: String) throws(SQLError) {
        var scanner = Scanner(Array(text.utf8))
        try scanner.scan()
        guard let sql = String(validating: scanner.output, as: UTF8.self), !scanner.firstWord.isEmpty else {
            throw SQLError(.invalidStatement, "An empty statement was given.")
        }
        for number in 0..<(scanner.numbers.max() ?? 0) where !scanner.numbers.contains(number + 1) {
            throw SQLError(
                .invalidStatement, "The placeholder ?\(number + 1) is missing; use all of ?1 to ?n.")
        }
        self.sql = sql
        number = Self.count.withLock { count in
            count += 1
            return count
        }
        placeholders = scanner.numbers.max() ?? 0
        firstWord = scanner.firstWord.uppercased()
    }

    /// Scans the bytes once. Copies quoted text and comments unchanged.
    private struct Scanner {
        let input: [UInt8]
        var position = 0
        var output: [UInt8] = []
        var numbers: Set<Int> = []
        var firstWord = ""

        init(_ input: [UInt8]) {
            self.input = input
            output.reserveCapacity(input.count)
        }

        var byte: UInt8? { position < input.count ? input[position] : nil }
        var next: UInt8? { position + 1 < input.count ? input[position + 1] : nil }

        mutating func take() {
            output.append(input[position])
            position += 1
        }

        mutating func scan() throws(SQLError) {
            while let byte {
                switch byte {
                case UInt8(ascii: "'"): quoted(until: byte, hasEscapes: false)
                case UInt8(ascii: "\""): quoted(until: byte, hasEscapes: false)
                case UInt8(ascii: "-") where next == byte: line()
                case UInt8(ascii: "/") where next == UInt8(ascii: "*"): comment()
                case UInt8(ascii: "$"): try dollar()
                case UInt8(ascii: "?"): try placeholder()
                case _ where byte.beginsWord: word()
                case _ where byte.isDigit:
                    while let digit = self.byte, digit.isDigit || digit.beginsWord { take() }
                default: take()
                }
            }
        }

        mutating func quoted(until quote: UInt8, hasEscapes: Bool) {
            take()
            while let byte {
                if hasEscapes, byte == UInt8(ascii: "\\"), next != nil { take() }
                take()
                if byte == quote { return }
            }
        }

        mutating func line() {
            while let byte, byte != UInt8(ascii: "\n") { take() }
        }

        /// PostgreSQL's comments nest.
        mutating func comment() {
            var depth = 0
            while let byte {
                if byte == UInt8(ascii: "/"), next == UInt8(ascii: "*") {
                    depth += 1
                    take()
                } else if byte == UInt8(ascii: "*"), next == UInt8(ascii: "/") {
                    depth -= 1
                    take()
                }
                take()
                if depth == 0 { return }
            }
        }

        mutating func word() {
            let start = position
            while let byte, byte.beginsWord || byte.isDigit || byte == UInt8(ascii: "$") { take() }
            let word = String(decoding: input[start..<position], as: UTF8.self)
            if firstWord.isEmpty { firstWord = word }
            if word == "E" || word == "e", byte == UInt8(ascii: "'") {
                quoted(until: UInt8(ascii: "'"), hasEscapes: true)
            }
        }

        /// A string in dollar quotes: `$tag$ … $tag$`.
        mutating func dollar() throws(SQLError) {
            var end = position + 1
            while end < input.count, input[end].beginsWord || input[end].isDigit { end += 1 }
            guard end < input.count, input[end] == UInt8(ascii: "$"), next?.isDigit != true else {
                throw SQLError(.invalidStatement, "A placeholder with $ is invalid; write placeholders as ?1 to ?n.")
            }
            let tag = Array(input[position...end])
            repeat { take() } while position < end + 1
            while position < input.count {
                if input[position...].starts(with: tag) {
                    for _ in tag { take() }
                    return
                }
                take()
            }
        }

        mutating func placeholder() throws(SQLError) {
            position += 1
            var digits: [UInt8] = []
            while let byte, byte.isDigit {
                digits.append(byte)
                position += 1
            }
            let text = String(decoding: digits, as: UTF8.self)
            guard let number = Int(text), (1...Int(Int16.max)).contains(number), digits[0] != UInt8(ascii: "0") else {
                throw SQLError(
                    .invalidStatement, "The placeholder ?\(text) is invalid; write placeholders as ?1 to ?n.")
            }
            numbers.insert(number)
            output += Array("$\(number)".utf8)
        }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
    fileprivate var beginsWord: Bool {
        (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) || self == 0x5F || self >= 0x80
    }
}
