import Foundation
import HostTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite struct ReservedPortTests {
    /// A TCP socket on this machine, closed when it is released.
    private final class Socket {
        let descriptor: Int32

        init() {
            #if canImport(Darwin)
                descriptor = socket(AF_INET, SOCK_STREAM, 0)
            #else
                descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
            #endif
        }

        deinit { close(descriptor) }

        func set(_ level: Int32, _ option: Int32, _ value: Int32) -> Bool {
            var value = value
            return setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
        }

        func reuseAddress() { #expect(set(SOL_SOCKET, SO_REUSEADDR, 1)) }

        func bind(_ port: Int) -> Int32 { at(port) { Foundation.bind(descriptor, $0, $1) } }
        func connect(_ port: Int) -> Int32 { at(port) { Foundation.connect(descriptor, $0, $1) } }
        func listen() -> Int32 { Foundation.listen(descriptor, 8) == 0 ? 0 : errno }

        /// The port that the socket is bound to.
        var port: Int {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            return withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) == 0 }
            } ? Int(UInt16(bigEndian: address.sin_port)) : -1
        }

        /// Returns 0 or the error number.
        private func at(_ port: Int, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    call($0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 ? 0 : errno
                }
            }
        }
    }

    @Test func `a connection is refused while nothing listens`() throws {
        let reserved = try ReservedPort()
        #expect(reserved.url == "http://127.0.0.1:\(reserved.number)")
        for _ in 0..<3 { #expect(Socket().connect(reserved.number) == ECONNREFUSED) }
        withExtendedLifetime(reserved) {}
    }

    @Test func `a listener takes the port, gives it back, and takes it again`() throws {
        let reserved = try ReservedPort()
        for _ in 0..<3 {
            do {
                let listener = Socket()
                listener.reuseAddress()
                try #require(listener.bind(reserved.number) == 0 && listener.listen() == 0)
                let client = Socket()
                #expect(client.connect(reserved.number) == 0)
                let other = Socket()
                other.reuseAddress()
                #expect(other.bind(reserved.number) == EADDRINUSE || other.listen() == EADDRINUSE)
            }
            #expect(Socket().connect(reserved.number) == ECONNREFUSED)
        }
        withExtendedLifetime(reserved) {}
    }

    @Test func `a program that does not share addresses cannot bind a reserved port`() throws {
        let reserved = try ReservedPort()
        #expect(Socket().bind(reserved.number) == EADDRINUSE)
        withExtendedLifetime(reserved) {}
    }

    @Test func `reservations at the same time have different ports`() throws {
        let reserved = try (0..<500).map { _ in try ReservedPort() }
        #expect(Set(reserved.map(\.number)).count == reserved.count)
    }

    @Test func `the system does not assign a reserved port to a socket that requests any port`() throws {
        let reserved = try ReservedPort()
        for _ in 0..<2000 {
            let other = Socket()
            other.reuseAddress()
            #expect(other.bind(0) == 0)
            try #require(other.port != reserved.number && other.port > 0)
        }
        withExtendedLifetime(reserved) {}
    }

    #if os(Linux)
        /// IP_LOCAL_PORT_RANGE of linux/in.h, which the C library does not declare. The upper half of the value is the
        /// highest port, the lower half the lowest.
        private static let portRange: Int32 = 51

        private static func narrow(_ socket: Socket, to port: Int) -> Bool {
            socket.set(Int32(IPPROTO_IP), portRange, Int32(bitPattern: UInt32(port) << 16 | UInt32(port)))
        }

        @Test(.enabled(if: narrow(Socket(), to: 40000), "Linux has IP_LOCAL_PORT_RANGE from 6.3 on"))
        func `the system does not assign a reserved port even if no other is left`() throws {
            let reserved = try ReservedPort()
            for shares in [false, true] {
                let server = Socket()
                if shares { server.reuseAddress() }
                #expect(Self.narrow(server, to: reserved.number))
                #expect(server.bind(0) == EADDRINUSE)
            }
            // A client gets a port when it connects.
            let target = Socket()
            try #require(target.bind(0) == 0 && target.listen() == 0)
            let client = Socket()
            #expect(Self.narrow(client, to: reserved.number))
            #expect(client.connect(target.port) == EADDRNOTAVAIL)
            withExtendedLifetime(reserved) {}
        }
    #endif
}
