import Foundation

/// A listening TCP socket that another process opened and passed to this one, as systemd does for socket activation.
///
/// While no process accepts, connections wait in the system's queue of the socket. So a program that is replaced by its
/// next version refuses none.
package struct InheritedSocket: Sendable, Hashable {
    package let descriptor: Int32
    /// The bound address, as a number.
    package let host: String
    package let port: Int

    /// - Throws: `HTTPListenerError` with `invalidAddress` if the descriptor is not a listening socket of IPv4 or IPv6.
    package init(descriptor: Int32) throws(HTTPListenerError) {
        var (isListening, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        var storage = sockaddr_storage()
        var addressLength = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var service = [CChar](repeating: 0, count: 32)
        let isNamed = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(descriptor, address, &addressLength) == 0
                    && [AF_INET, AF_INET6].contains(Int32(address.pointee.sa_family))
                    && getnameinfo(
                        address, addressLength, &name, socklen_t(name.count), &service, socklen_t(service.count),
                        NI_NUMERICHOST | NI_NUMERICSERV) == 0
            }
        }
        guard isNamed, getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening == 1,
            let port = Int(Self.text(service))
        else {
            throw HTTPListenerError(
                .invalidAddress, "The descriptor \(descriptor) is not a listening socket of IPv4 or IPv6.")
        }
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0,
            fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
        else {
            throw HTTPListenerError(
                .systemFailed, "The socket \(descriptor) cannot be used: \(String(cString: strerror(errno))).")
        }
        self.descriptor = descriptor
        self.port = port
        host = Self.text(name)
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
