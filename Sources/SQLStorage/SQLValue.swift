import Primitives

/// One value of a row or of a placeholder.
///
/// Literals can be used directly, variables are wrapped: `[.text(name), 3, nil, SQLValue(expiry)]`. Booleans are stored
/// as 0 and 1. Text with U+0000 and NaN are refused when they are bound, because not every dialect can store them.
/// Texts are equal when their bytes are, as in the database.
public enum SQLValue: Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// Creates the stored form of a value; `nil` becomes `null`.
    ///
    /// - Parameter value: a value of Swift.
    public init(_ value: some SQLConvertible) {
        self = value.sqlValue
    }

    /// The type of the value, for messages: "an integer".
    var kind: String {
        switch self {
        case .null: "NULL"
        case .integer: "an integer"
        case .real: "a real number"
        case .text: "text"
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

/// A Swift type that can be stored in a database, for `SQLValue.init` and the subscripts of `SQLRow`.
public protocol SQLConvertible {
    /// The value in its stored form.
    var sqlValue: SQLValue { get }
    /// Creates a value from its stored form; `nil` when it has another type or is out of range.
    ///
    /// - Parameter sqlValue: the stored form.
    init?(sqlValue: SQLValue)
    /// The expected SQL type, for messages: "an integer".
    static var sqlKind: String { get }
}

extension SQLValue: SQLConvertible {
    public var sqlValue: SQLValue { self }
    /// Returns the value itself.
    public init?(sqlValue: SQLValue) { self = sqlValue }
    public static var sqlKind: String { "any value" }
}

extension Int64: SQLConvertible {
    public var sqlValue: SQLValue { .integer(self) }
    /// Reads an integer.
    public init?(sqlValue: SQLValue) {
        guard case .integer(let value) = sqlValue else { return nil }
        self = value
    }
    public static var sqlKind: String { "an integer" }
}

extension Int: SQLConvertible {
    public var sqlValue: SQLValue { .integer(Int64(self)) }
    /// Reads an integer; `nil` when it is out of range.
    public init?(sqlValue: SQLValue) {
        guard case .integer(let value) = sqlValue else { return nil }
        self.init(exactly: value)
    }
    public static var sqlKind: String { "an integer" }
}

extension Double: SQLConvertible {
    public var sqlValue: SQLValue { .real(self) }
    /// Reads a real number, or an integer without loss, because sums and numeric columns may return an integer.
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
    /// Reads text.
    public init?(sqlValue: SQLValue) {
        guard case .text(let value) = sqlValue else { return nil }
        self = value
    }
    public static var sqlKind: String { "text" }
}

extension Bool: SQLConvertible {
    public var sqlValue: SQLValue { .integer(self ? 1 : 0) }
    /// Reads 0 as false and 1 as true.
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
    /// Reads a blob.
    public init?(sqlValue: SQLValue) {
        guard case .blob(let value) = sqlValue else { return nil }
        self = value
    }
    public static var sqlKind: String { "a blob" }
}

extension Optional: SQLConvertible where Wrapped: SQLConvertible {
    public var sqlValue: SQLValue { self?.sqlValue ?? .null }
    /// Reads NULL as `nil`.
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
