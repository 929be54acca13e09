import Foundation

/// A port of this machine that has no listener and that no other program gets.
///
///     let port = try ReservedPort()
///     // A connection to 127.0.0.1:port.number is refused; a server may be started there, stopped and started again.
///
/// The socket is bound and does not listen, so connections are refused. A listener with `SO_REUSEADDR`, such as
/// `HTTPListener`, can bind the same port; the system does not choose it for other programs.
package final class ReservedPort: Sendable {
    package let number: Int
    private let socket: Int32

    package var url: String { "http://127.0.0.1:\(number)" }

    /// - Throws: `POSIXError`.
    package init() throws {
        #if canImport(Darwin)
            let socket = Foundation.socket(AF_INET, SOCK_STREAM, 0)
        #else
            let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        #endif
        self.socket = socket
        var yes: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && getsockname(socket, address, &length) == 0
            }
        }
        number = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(socket) }
}
