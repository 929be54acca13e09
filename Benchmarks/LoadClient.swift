import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An HTTP client with one keep-alive connection on loopback. It needs little processor time itself.
final class LoadClient {
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    init(port: Int) throws {
        #if canImport(Darwin)
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw BenchmarkFailure("no connection to port \(port): errno \(errno)") }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    /// Sends each list of requests over a connection of its own. Returns the nanoseconds until all are complete.
    static func runConcurrently(port: Int, _ requests: [[[UInt8]]]) async throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for requests in requests {
                group.addTask {
                    try await withCheckedThrowingContinuation { continuation in
                        Thread.detachNewThread {
                            continuation.resume(
                                with: Result {
                                    let client = try LoadClient(port: port)
                                    for request in requests { try client.exchange(request) }
                                })
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        return (clock.now - start).nanoseconds
    }

    /// Sends one request and reads the whole response. Throws if its status is not 2xx.
    func exchange(_ request: [UInt8]) throws {
        guard request.withUnsafeBytes({ send(descriptor, $0.baseAddress, $0.count, 0) }) == request.count else {
            throw BenchmarkFailure("the connection broke while sending")
        }
        var received = 0
        var expected = Int.max
        while received < expected {
            if received == buffer.count { buffer += [UInt8](repeating: 0, count: buffer.count) }
            let count = buffer.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress! + received, $0.count - received, 0)
            }
            guard count > 0 else { throw BenchmarkFailure("the connection ended in the middle of a response") }
            received += count
            if expected == Int.max, let length = try responseLength(received) { expected = length }
        }
    }

    /// Returns the length of header and body; `nil` while the header is incomplete.
    private func responseLength(_ received: Int) throws -> Int? {
        let text = buffer[..<received]
        guard let end = text.firstRange(of: [13, 10, 13, 10]) else { return nil }
        let header = String(decoding: text[..<end.lowerBound], as: UTF8.self).lowercased()
        guard header.hasPrefix("http/1.1 2") else { throw BenchmarkFailure("the response is \(header.prefix(40))") }
        guard let field = header.range(of: "content-length: ") else { return end.upperBound }
        return end.upperBound + (Int(header[field.upperBound...].prefix(while: \.isNumber)) ?? 0)
    }
}

struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
