/// https://developer.apple.com/documentation/os/logger
@available(macOS 11.0, iOS 14.0, watchOS 7.0, tvOS 14.0, *)
public struct Logger: @unchecked Sendable {
    public init(subsystem: String, category: String) { declared() }
    public func log(level: OSLogType, _ message: OSLogMessage) { declared() }
}

/// https://developer.apple.com/documentation/os/oslogtype
public struct OSLogType: RawRepresentable, Equatable, Sendable {
    public init(rawValue: UInt8) { declared() }
    public var rawValue: UInt8
    public static var `default`: OSLogType { declared() }
    public static var info: OSLogType { declared() }
    public static var debug: OSLogType { declared() }
    public static var error: OSLogType { declared() }
    public static var fault: OSLogType { declared() }
}

/// https://developer.apple.com/documentation/os/oslogmessage
@available(macOS 11.0, iOS 14.0, watchOS 7.0, tvOS 14.0, *)
public struct OSLogMessage: ExpressibleByStringInterpolation {
    public init(stringInterpolation: OSLogInterpolation) { declared() }
    public init(stringLiteral value: String) { declared() }
}

/// https://developer.apple.com/documentation/os/osloginterpolation
@available(macOS 11.0, iOS 14.0, watchOS 7.0, tvOS 14.0, *)
public struct OSLogInterpolation: StringInterpolationProtocol {
    public init(literalCapacity: Int, interpolationCount: Int) { declared() }
    public mutating func appendLiteral(_ literal: String) { declared() }
    // …/osloginterpolation/appendinterpolation(_:align:privacy:), without the alignment
    public mutating func appendInterpolation(
        _ argumentString: @autoclosure @escaping () -> String, privacy: OSLogPrivacy = .auto
    ) { declared() }
}

/// https://developer.apple.com/documentation/os/oslogprivacy
@available(macOS 11.0, iOS 14.0, watchOS 7.0, tvOS 14.0, *)
public struct OSLogPrivacy: Sendable {
    public static var `public`: OSLogPrivacy { declared() }
    public static var `private`: OSLogPrivacy { declared() }
    public static var auto: OSLogPrivacy { declared() }
}

func declared() -> Never { preconditionFailure("This module is for the type checker alone.") }
