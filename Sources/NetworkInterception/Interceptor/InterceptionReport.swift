import HTTPCore
import Primitives

/// A report to the author of a floret: the traffic continued, but not as the floret intended.
public struct InterceptionReport: Sendable, Hashable {
    /// The kind of report. It is open, so that a floret can define its own kinds.
    public typealias Code = OpenEnum<InterceptionReport>

    /// The kind of the report.
    public var code: Code
    /// The floret's name.
    public var floret: String
    /// A sentence about the event.
    public var message: String

    /// Creates a report.
    ///
    /// - Parameters:
    ///   - code: The kind of the report.
    ///   - floret: The floret's name.
    ///   - message: A sentence about the event.
    public init(_ code: Code, floret: String, _ message: String) {
        self.code = code
        self.floret = floret
        self.message = message
    }
}

extension InterceptionReport.Code {
    /// The floret is neither an `InterceptableFloret` nor a `DisplayableFloret`.
    public static var noEffect: Self { Self(rawValue: "noEffect") }
    /// A completion handler was called more than once.
    public static var calledTwice: Self { Self(rawValue: "calledTwice") }
    /// A completion handler was not called in time.
    public static var noAnswer: Self { Self(rawValue: "noAnswer") }
}
