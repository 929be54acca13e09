import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The private addresses, which are not routed on the Internet: RFC 1918, and unique local addresses of RFC 4193.
enum PrivateAddress {
    /// Returns whether a text is a private address. Names are not resolved.
    static func contains(_ text: String) -> Bool {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            let bytes = withUnsafeBytes(of: &four) { Array($0) }
            return switch (bytes[0], bytes[1]) {
            case (10, _), (172, 16...31), (192, 168): true
            default: false
            }
        }
        var six = in6_addr()
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        guard inet_pton(AF_INET6, bare, &six) == 1 else { return false }
        return withUnsafeBytes(of: &six) { $0[0] & 0xFE == 0xFC }
    }
}
