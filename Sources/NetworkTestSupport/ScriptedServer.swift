import Foundation

/// A server that accepts connections one after another and runs a script of the test for each, on its own thread.
package final class ScriptedServer: Sendable {
    /// One accepted connection.
    package struct Peer: Sendable {
        fileprivate let socket: Int32

        package func send(_ text: String) { send(Array(text.utf8)) }

        package func send(_ bytes: [UInt8]) {
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes { bytes in
                    uninterrupted {
                        Foundation.send(socket, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                    }
                }
                if count <= 0 { return }
                sent += count
            }
        }

        /// Receives bytes up to and including `mark`, or up to the end. The bytes after the mark can be received next.
        package func receive(until mark: String) -> String {
            let mark = Array(mark.utf8)
            var all: [UInt8] = []
            var block = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = uninterrupted { recv(socket, &block, block.count, Int32(MSG_PEEK)) }
                guard count > 0 else { break }
                let before = all.count
                all += block[..<count]
                let found = all[max(0, before - mark.count + 1)...].firstRange(of: mark)
                if let found { all.removeSubrange(found.upperBound...) }
                let taken = uninterrupted { recv(socket, &block, all.count - before, Int32(MSG_WAITALL)) }
                guard taken > 0, found == nil else { break }
            }
            return String(decoding: all, as: UTF8.self)
        }

        /// Blocks until the peer has closed the connection, and discards what it sends. Returns `false` after the time
        /// limit.
        @discardableResult package func waitForEnd() -> Bool {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = uninterrupted { recv(socket, &buffer, buffer.count, 0) }
                if count <= 0 { return count == 0 || errno != EAGAIN }
            }
        }
    }

    package let port: Int
    package var url: String { "http://127.0.0.1:\(port)" }

    /// Runs one of the scripts `connections` for each connection, in order, then closes the socket. The test must open
    /// as many connections.
    package init(_ connections: [@Sendable (Peer) -> Void]) throws {
        let listening = try ListeningPort()
        port = listening.number
        Thread.detachNewThread {
            defer { withExtendedLifetime(listening) {} }
            for serve in connections {
                let accepted = accept(listening.socket, nil, nil)
                guard accepted >= 0 else { break }
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                // Shorter than the limit of the test runner, so that the test itself fails.
                var limit = timeval(tv_sec: 50, tv_usec: 0)
                setsockopt(accepted, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                setsockopt(accepted, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                serve(Peer(socket: accepted))
                close(accepted)
            }
        }
    }

    package convenience init(_ serve: @escaping @Sendable (Peer) -> Void) throws { try self.init([serve]) }
}

/// A local port that accepts connections while the object exists, and sends nothing.
package final class ListeningPort: Sendable {
    package let number: Int
    fileprivate let socket: Int32

    package init() throws {
        #if canImport(Darwin)
            let socket = Foundation.socket(AF_INET, SOCK_STREAM, 0)
        #else
            // A child process must not inherit the socket, which would keep the connection open.
            let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        #endif
        self.socket = socket
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && listen(socket, 128) == 0
                    && getsockname(socket, address, &length) == 0
            }
        }
        number = Int(UInt16(bigEndian: address.sin_port))
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(socket) }
}
