import Foundation

/// https://developer.apple.com/documentation/cryptokit/sha256
public struct SHA256: Sendable {
    public static func hash<D: DataProtocol>(data: D) -> SHA256Digest { declared() }
}

/// https://developer.apple.com/documentation/cryptokit/sha256digest
public struct SHA256Digest: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { declared() }
}

func declared() -> Never { preconditionFailure("This module is for the type checker alone.") }
