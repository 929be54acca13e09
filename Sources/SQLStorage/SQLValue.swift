import Primitives

/// One value of a row or of a placeholder.
///
/// Literals stand for themselves, variables are wrapped: `[.text(name), 3, nil, SQLValue(expiry)]`. Truth is stored as
/// the integers 0 and 1. A text with U+0000 and a number that is not a number are refused where they are bound: not
/// every dialect can hold them. Texts are equal when their bytes are, as in the database.
public enum SQLValue: Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// The stored form of `value`; nil becomes `null`.
    public init(_ value: some SQLConvertible) {
        self = value.sqlValue
    }

    /// The kind of the value in SQL's words, for messages.
    var kind: String {
        switch self {
        case .null: "NULL"
        case .integer: "an integer"
        case .real: "a real number"
        case .text: "a text"
        case .blob: "a blob"
        }
    }
}

extension SQLValue: Hashable {
    public static func == (left: SQLValue, right: SQLValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
        case (.blob(let left), .blob(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value)
        case .text(let value): hasher.combine(ExactString(value))
        case .blob(let value): hasher.combine(value)
        }
    }
}

extension SQLValue: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByBooleanLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .real(value) }
    public init(stringLiteral value: String) { self = .text(value) }
    public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
}

/// A Swift type that has a place in SQL: what `SQLValue.init` takes and the subscripts of `SQLRow` give.
public protocol SQLConvertible {
    /// The value as it is stored.
    var sqlValue: SQLValue { get }
    /// The value read back; nil when `sqlValue` is of another kind or out of this type's range.
    init?(sqlValue: SQLValue)
    /// What the type expects, for messages: "an integer".
    static var sqlKind: String { get }
}

extension SQLValue: SQLConvertible {
    public var sqlValue: SQLValue { self }
    public init?(sqlValue: SQLValue) { self = sqlValue }
    public static var sqlKind: String { "any value" }
}

extension Int64: SQLConvertible {
    public var sqlValue: SQLValue { .integer(self) }
    public init?(sqlValue: SQLValue) {
        guard case .integer(let value) = sqlValue else { return nil }
        self = value
    }
    public static var sqlKind: String { "an integer" }
}

extension Int: SQLConvertible {
    public var sqlValue: SQLValue { .integer(Int64(self)) }
    public init?(sqlValue: SQLValue) {
        guard case .integer(let value) = sqlValue else { return nil }
        self.init(exactly: value)
    }
    public static var sqlKind: String { "an integer" }
}

extension Double: SQLConvertible {
    public var sqlValue: SQLValue { .real(self) }
    /// Takes an integer too where nothing is lost, because sums and numeric columns may come back as one.
    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .real(let value): self = value
        case .integer(let value): self.init(exactly: value)
        default: return nil
        }
    }
    public static var sqlKind: String { "a real number" }
}

extension String: SQLConvertible {
    public var sqlValue: SQLValue { .text(self) }
    public init?(sqlValue: SQLValue) {
        guard case .text(let value) = sqlValue else { return nil }
        self = value
    }
    public static var sqlKind: String { "a text" }
}

extension Bool: SQLConvertible {
    public var sqlValue: SQLValue { .integer(self ? 1 : 0) }
    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .integer(0): self = false
        case .integer(1): self = true
        default: return nil
        }
    }
    public static var sqlKind: String { "0 or 1" }
}

extension [UInt8]: SQLConvertible {
    public var sqlValue: SQLValue { .blob(self) }
    public init?(sqlValue: SQLValue) {
        guard case .blob(let value) = sqlValue else { return nil }
        self = value
    }
    public static var sqlKind: String { "a blob" }
}

extension Optional: SQLConvertible where Wrapped: SQLConvertible {
    public var sqlValue: SQLValue { self?.sqlValue ?? .null }
    public init?(sqlValue: SQLValue) {
        if case .null = sqlValue {
            self = .none
        } else if let value = Wrapped(sqlValue: sqlValue) {
            self = .some(value)
        } else {
            return nil
        }
    }
    public static var sqlKind: String { "\(Wrapped.sqlKind) or NULL" }
}
