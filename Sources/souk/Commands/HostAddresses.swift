import Foundation

/// The IP addresses of a host, to detect a proxy that would forward to itself.
struct HostAddresses {
    /// Addresses of 16 bytes; IPv4 in its mapped form (RFC 4291 section 2.5.5.2).
    private var addresses: Set<[UInt8]>

    private static let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
    private static let anyIPv4 = mapped + [0, 0, 0, 0]
    private static let anyIPv6 = [UInt8](repeating: 0, count: 16)
    private static let loopback = [mapped + [127, 0, 0, 1], Array(anyIPv6.dropLast()) + [1]]

    /// Resolves a host name. There are no addresses if the name is unknown.
    init(of host: String) {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        var found: UnsafeMutablePointer<addrinfo>?
        addresses = []
        if getaddrinfo(host, nil, &hints, &found) == 0 {
            defer { freeaddrinfo(found) }
            for entry in sequence(first: found, next: { $0?.pointee.ai_next }) {
                if let bytes = entry?.pointee.ai_addr.flatMap(Self.bytes) { addresses.insert(bytes) }
            }
        }
        let name = host.lowercased()
        // Clients resolve these names to loopback (RFC 6761 section 6.3), even if the system does not.
        if name == "localhost" || name.hasSuffix(".localhost") { addresses.formUnion(Self.loopback) }
    }

    /// Whether a connection to one of these addresses reaches a listener on the same port that is bound to one of
    /// `bound`. A connection to the unspecified address reaches this machine.
    func reach(listenerAt bound: HostAddresses) -> Bool {
        var targets = addresses
        if !targets.isDisjoint(with: [Self.anyIPv4, Self.anyIPv6]) { targets.formUnion(Self.loopback) }
        if !targets.isDisjoint(with: bound.addresses) { return true }
        let (takesIPv4, takesAll) = (bound.addresses.contains(Self.anyIPv4), bound.addresses.contains(Self.anyIPv6))
        guard takesIPv4 || takesAll else { return false }
        let own = Self.ofThisMachine
        return targets.contains { address in
            let isIPv4 = address.starts(with: Self.mapped)
            return (isIPv4 || takesAll) && (own.contains(address) || isIPv4 && address[12] == 127)
        }
    }

    private static var ofThisMachine: Set<[UInt8]> {
        var found: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&found) == 0 else { return Set(loopback) }
        defer { freeifaddrs(found) }
        let entries = sequence(first: found) { $0?.pointee.ifa_next }
        return Set(entries.compactMap { $0?.pointee.ifa_addr.flatMap(bytes) } + loopback)
    }

    private static func bytes(of address: UnsafeMutablePointer<sockaddr>) -> [UInt8]? {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                mapped + withUnsafeBytes(of: address.pointee.sin_addr, Array.init)
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin6_addr, Array.init)
            }
        default: nil
        }
    }
}
