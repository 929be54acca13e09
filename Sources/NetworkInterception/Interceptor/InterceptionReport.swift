import HTTPCore
import Primitives

/// Something that a floret's author should know: the traffic went on, but not as the floret meant it to.
public struct InterceptionReport: Sendable, Hashable {
    /// What it is about; open, so that a floret may report things of its own.
    public typealias Code = OpenEnum<InterceptionReport>

    public var code: Code
    /// The floret's name.
    public var floret: String
    /// A sentence that says what happened.
    public var message: String

    public init(_ code: Code, floret: String, _ message: String) {
        self.code = code
        self.floret = floret
        self.message = message
    }
}

extension InterceptionReport.Code {
    /// A floret that is neither interceptable nor displayable.
    public static var noEffect: Self { Self(rawValue: "noEffect") }
    /// A completion handler was called more than once.
    public static var calledTwice: Self { Self(rawValue: "calledTwice") }
    /// A completion handler was not called in time.
    public static var noAnswer: Self { Self(rawValue: "noAnswer") }
}
