import Foundation

/// https://developer.apple.com/documentation/cryptokit/symmetrickey
public struct SymmetricKey: Sendable {
    // …/symmetrickey/init(data:)
    public init<D: ContiguousBytes>(data: D) { declared() }
}

/// https://developer.apple.com/documentation/cryptokit/aes
public enum AES {
    // …/aes/gcm
    public enum GCM {
        // …/aes/gcm/sealedbox
        public struct SealedBox: Sendable {
            // …/aes/gcm/sealedbox/init(combined:)
            public init<D: DataProtocol>(combined: D) throws { declared() }
        }

        // …/aes/gcm/open(_:using:authenticating:)
        public static func open<AuthenticatedData: DataProtocol>(
            _ sealedBox: SealedBox, using key: SymmetricKey, authenticating authenticatedData: AuthenticatedData
        ) throws -> Data { declared() }
    }
}
