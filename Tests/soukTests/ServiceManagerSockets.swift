import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives
import Testing

/// The sockets of a service manager, in place of systemd.
enum ServiceManagerSockets {
    /// A socket for notifications, which collects the datagrams.
    final class Notifications: Sendable {
        /// The value of `NOTIFY_SOCKET`.
        let name: String
        private let folder: TemporaryFolder
        private let descriptor: Int32
        private let received = Locked<[String]>([])

        init(isAbstract: Bool = false) throws {
            folder = try TemporaryFolder()
            let path = folder.file("notify")
            name = isAbstract ? "@" + path : path
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = isAbstract ? [0] + Array(path.utf8) : Array(path.utf8) + [0]
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
            let result = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            guard descriptor >= 0, result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            Thread.detachNewThread { [descriptor, received] in
                var block = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = recv(descriptor, &block, block.count, 0)
                    guard count > 0 else { break }
                    received.withLock { $0.append(String(decoding: block[..<count], as: UTF8.self)) }
                }
                close(descriptor)
            }
        }

        deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

        var messages: [String] { received.withLock { $0 } }

        /// The names of the variables of all messages, such as `READY`.
        var names: [String] { messages.map { String($0.prefix { $0 != "=" }) } }

        func wait(for message: String, count: Int = 1) async throws {
            try await until("\(message) arrives \(count) times") { messages.count { $0 == message } >= count }
        }
    }

    /// A listening socket that servers get as their descriptor 3.
    final class Listening: Sendable {
        let descriptor: Int32
        let port: Int

        /// - Parameter isDeferred: Whether the system offers a connection only when its request arrives, as
        ///   `DeferAcceptSec` does.
        init(address text: String = "127.0.0.1", isDeferred: Bool = false) throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr(text)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = descriptor
            let result = withUnsafeMutablePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && listen(descriptor, 128) == 0
                        && getsockname(descriptor, $0, &length) == 0
                }
            }
            guard descriptor >= 0, result else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            port = Int(UInt16(bigEndian: address.sin_port))
            if isDeferred {
                var seconds: Int32 = 10
                setsockopt(descriptor, Int32(IPPROTO_TCP), 9, &seconds, socklen_t(MemoryLayout<Int32>.size))
            }
        }

        deinit { close(descriptor) }

        var url: String { "http://127.0.0.1:\(port)" }
    }
}
