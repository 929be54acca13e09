import HTTPCore

/// Something that a floret's author should know: the traffic went on, but not as the floret meant it to.
public struct InterceptionReport: Sendable, Hashable {
    /// What it is about; open, so that a floret may report things of its own.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A floret that is neither interceptable nor displayable.
        public static let noEffect = Code(rawValue: "noEffect")
        /// A completion handler was called more than once.
        public static let calledTwice = Code(rawValue: "calledTwice")
        /// A completion handler was not called in time.
        public static let noAnswer = Code(rawValue: "noAnswer")
    }

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
