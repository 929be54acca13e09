import Foundation

/// A bound and listening TCP socket.
struct ListeningSocket {
    let descriptor: Int32
    /// The bound port, even if the system chose it.
    let port: Int

    /// Uses a socket of another process.
    init(_ inherited: InheritedSocket) {
        descriptor = inherited.descriptor
        port = inherited.port
    }

    /// Binds the socket.
    ///
    /// - Throws: `HTTPListenerError` with the host and port in its reason.
    init(host: String, port: Int) throws {
        guard (0...65535).contains(port) else {
            throw HTTPListenerError(.invalidAddress, "The port \(port) is not between 0 and 65535.")
        }
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        #if canImport(Darwin)
            hints.ai_socktype = SOCK_STREAM
        #else
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #endif
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let address = found else {
            throw HTTPListenerError(.invalidAddress, "The host \(host) is not an address of this machine.")
        }
        defer { freeaddrinfo(found) }
        let descriptor = socket(address.pointee.ai_family, address.pointee.ai_socktype, address.pointee.ai_protocol)
        guard descriptor >= 0 else { throw Self.failure(errno, host, port) }
        do {
            try Self.listen(descriptor, at: address.pointee, host, port)
            self.port = try Self.boundPort(of: descriptor, host, port)
            self.descriptor = descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func listen(_ descriptor: Int32, at address: addrinfo, _ host: String, _ port: Int) throws {
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0,
            bind(descriptor, address.ai_addr, address.ai_addrlen) == 0, Foundation.listen(descriptor, SOMAXCONN) == 0
        else { throw failure(errno, host, port) }
    }

    /// Returns the port that the socket is bound to. It has the same offset in the addresses of IPv4 and IPv6.
    private static func boundPort(of descriptor: Int32, _ host: String, _ port: Int) throws -> Int {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { throw failure(errno, host, port) }
        return withUnsafePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { Int(UInt16(bigEndian: $0.pointee.sin_port)) }
        }
    }

    private static func failure(_ errorNumber: Int32, _ host: String, _ port: Int) -> HTTPListenerError {
        switch errorNumber {
        case EADDRINUSE:
            HTTPListenerError(
                .addressInUse,
                "Port \(port) on \(host) is already in use. Stop the process that uses it, or choose another port.")
        case EADDRNOTAVAIL:
            HTTPListenerError(.invalidAddress, "The host \(host) is not an address of this machine.")
        case EACCES, EPERM:
            HTTPListenerError(.notPermitted, "This user may not listen on port \(port); choose one above 1023.")
        default:
            HTTPListenerError(
                .systemFailed, "Listening on \(host) port \(port) failed: \(String(cString: strerror(errorNumber))).")
        }
    }
}
