/// One value of an open set: a string, with names for the values that are known.
///
/// `Owner` is the type that the values belong to, so that values of different sets are different types. Each set has a
/// name inside its owner, and its known values are static members:
///
///     extension HTTPError {
///         public typealias Code = OpenEnum<HTTPError>
///     }
///
///     extension HTTPError.Code {
///         public static var invalidURL: Self { Self(rawValue: "invalidURL") }
///     }
///
/// A value that is not known is kept as it is. It is coded as its string.
public struct OpenEnum<Owner>: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    public let rawValue: String

    /// Creates a value, known or unknown.
    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }
}
