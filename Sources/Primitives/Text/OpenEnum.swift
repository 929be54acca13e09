/// A value of an open set: a string, with names for the known values.
///
/// `Owner` is the type that the values belong to, so that values of different sets have different types. Each set has a
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
/// An unknown value is kept. A value is encoded as its string.
public struct OpenEnum<Owner>: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The string of the value.
    public let rawValue: String

    /// Creates a known or unknown value from `rawValue`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The string of the value.
    public var description: String { rawValue }
}
