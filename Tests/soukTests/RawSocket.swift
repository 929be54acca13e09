import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A TCP connection to this machine that sends exactly the given bytes.
final class RawSocket: Sendable {
    struct Failure: Error { let reason: String }

    private let descriptor: Int32

    /// Connects to the port of a URL.
    ///
    /// - Parameter hasSmallReceiveBuffer: Whether the receive buffer is small, so that a server cannot finish a long response
    ///   that is not read.
    init(to url: String, hasSmallReceiveBuffer: Bool = false) throws {
        guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }) else { throw Failure(reason: url) }
        #if canImport(Darwin)
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        guard descriptor >= 0 else { throw Failure(reason: String(cString: strerror(errno))) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        if hasSmallReceiveBuffer {
            // The sender's buffer grows with the segments that this side accepts.
            var (size, segment): (Int32, Int32) = (4096, 1400)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, &segment, socklen_t(MemoryLayout<Int32>.size))
        }
        // A read without data fails instead of hanging.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port.bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw Failure(reason: reason)
        }
    }

    deinit { close(descriptor) }

    /// Sends bytes, and ignores those that the other side does not accept.
    func send(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            sent += count
        }
    }

    /// Returns the next `limit` bytes, or those before the end. Waits on its own thread.
    func receive(upTo limit: Int = .max) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: self.blockingReceive(upTo: limit)) }
        }
    }

    private func blockingReceive(upTo limit: Int) -> [UInt8] {
        var all: [UInt8] = []
        var block = [UInt8](repeating: 0, count: min(limit, 1 << 16))
        while all.count < limit {
            let count = recv(descriptor, &block, min(block.count, limit - all.count), 0)
            guard count > 0 else { break }
            all += block[..<count]
        }
        return all
    }

    /// Makes the socket send a reset when this object is deallocated, as a broken connection does.
    func resetOnClose() {
        var hard = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
    }
}
