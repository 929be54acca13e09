import Foundation

/// Why a listener did not start. Compares by `code`.
public struct HTTPListenerError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Another process listens on this port.
        public static let addressInUse = Code(rawValue: "addressInUse")
        /// The host is no address of this machine, or the port is not one.
        public static let invalidAddress = Code(rawValue: "invalidAddress")
        /// The system does not let this user bind the port.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// The certificate or key cannot be used.
        public static let tlsFailed = Code(rawValue: "tlsFailed")
        public static let alreadyStarted = Code(rawValue: "alreadyStarted")
        /// A system call failed that normally does not.
        public static let systemFailed = Code(rawValue: "systemFailed")
    }

    public let code: Code
    /// A sentence that says what happened and what to do.
    public let reason: String

    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public static func == (left: HTTPListenerError, right: HTTPListenerError) -> Bool { left.code == right.code }

    public var description: String { reason }
    public var errorDescription: String? { reason }
}
