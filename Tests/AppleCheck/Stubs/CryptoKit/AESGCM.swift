import Foundation

/// https://developer.apple.com/documentation/cryptokit/symmetrickey
public struct SymmetricKey: Sendable {
    public init<D: ContiguousBytes>(data: D) { declared() }
}

/// https://developer.apple.com/documentation/cryptokit/aes
public enum AES {
    public enum GCM {
        public struct SealedBox: Sendable {
            public init<D: DataProtocol>(combined: D) throws { declared() }
        }

        public static func open<AuthenticatedData: DataProtocol>(
            _ sealedBox: SealedBox, using key: SymmetricKey, authenticating authenticatedData: AuthenticatedData
        ) throws -> Data { declared() }
    }
}
