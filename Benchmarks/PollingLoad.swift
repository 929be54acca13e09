import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An HTTP client with many keep-alive connections on one thread, each with one request in progress. It records the
/// latency of each response.
struct PollingLoad {
    /// The result, in nanoseconds.
    struct Outcome {
        /// The total time divided by the number of requests.
        var each: Double
        var p50: Double
        var p99: Double
        /// The processor time of this process, which contains server and client, divided by the number of requests.
        var processor: Double
    }

    private static let bufferSize = 64 << 10

    private struct Connection {
        let descriptor: Int32
        var sentAt = 0.0
        var received: [UInt8] = []
        /// The length of header and body of the response, once known.
        var expected = Int.max
    }

    private var connections: [Connection] = []
    private var isSpinning = false
    private var buffer = [UInt8](repeating: 0, count: bufferSize)
    private var latencies: [Double] = []

    /// Sends `count` requests over `connections` connections. Throws if the status of a response is not 2xx.
    ///
    /// - Parameters:
    ///   - isSpinning: Whether the client polls without sleeping. A sleeping client must be woken for each response of
    ///     a slow server, but seldom for those of a fast one, which would distort a comparison of the two.
    ///   - request: Returns the bytes of the n-th request.
    static func run(
        port: Int, connections: Int, count: Int, isSpinning: Bool = false,
        request: @escaping @Sendable (Int) -> [UInt8]
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        var load = PollingLoad()
                        load.isSpinning = isSpinning
                        defer { for connection in load.connections { close(connection.descriptor) } }
                        for _ in 0..<connections { load.connections.append(try Self.connect(port)) }
                        return try load.drive(count, request)
                    })
            }
        }
    }

    private static func connect(_ port: Int) throws -> Connection {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { platformConnect(descriptor, $0, size) }
        }
        guard result == 0 else { throw BenchmarkFailure("no connection to port \(port): errno \(errno)") }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        return Connection(descriptor: descriptor)
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }

    private mutating func drive(_ count: Int, _ request: (Int) -> [UInt8]) throws -> Outcome {
        latencies.reserveCapacity(count)
        var polled = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        var sent = 0
        let (start, processorStart) = (Self.now(), processorTime())
        var lastAnswer = start
        for place in connections.indices where sent < count {
            try send(request(sent), at: place)
            sent += 1
        }
        while latencies.count < count {
            guard poll(&polled, nfds_t(polled.count), isSpinning ? 0 : 10_000) > 0 else {
                guard Self.now() - lastAnswer < 1e10 else {
                    throw BenchmarkFailure("there was no response for ten seconds")
                }
                continue
            }
            lastAnswer = Self.now()
            for place in polled.indices where polled[place].revents != 0 {
                guard try receive(at: place), sent < count else { continue }
                try send(request(sent), at: place)
                sent += 1
            }
        }
        let elapsed = Self.now() - start
        latencies.sort()
        return Outcome(
            each: elapsed / Double(count), p50: latencies[count / 2], p99: latencies[min(count - 1, count * 99 / 100)],
            processor: (processorTime() - processorStart) / Double(count))
    }

    private mutating func send(_ bytes: [UInt8], at place: Int) throws {
        connections[place].sentAt = Self.now()
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                platformSend(connections[place].descriptor, $0.baseAddress! + done, $0.count - done)
            }
            guard count > 0 else { throw BenchmarkFailure("the connection broke while sending") }
            done += count
        }
    }

    /// Reads the available bytes of a connection. Returns whether its response is complete.
    private mutating func receive(at place: Int) throws -> Bool {
        let count = buffer.withUnsafeMutableBytes { recv(connections[place].descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { throw BenchmarkFailure("the connection ended in the middle of a response") }
        connections[place].received.append(contentsOf: buffer[..<count])
        if connections[place].expected == .max, let length = try Self.length(of: connections[place].received) {
            connections[place].expected = length
        }
        guard connections[place].received.count >= connections[place].expected else { return false }
        latencies.append(Self.now() - connections[place].sentAt)
        connections[place].received.removeAll(keepingCapacity: true)
        connections[place].expected = .max
        return true
    }

    /// Returns the length of header and body; `nil` while the header is incomplete.
    private static func length(of answer: [UInt8]) throws -> Int? {
        try answer.withUnsafeBytes { bytes in
            guard let end = find("\r\n\r\n", in: bytes) else { return nil }
            guard bytes.count > 9, bytes[9] == UInt8(ascii: "2") else {
                throw BenchmarkFailure("the response is \(String(decoding: bytes.prefix(400), as: UTF8.self))")
            }
            let header = UnsafeRawBufferPointer(rebasing: bytes[..<end])
            guard let field = find("\r\nContent-Length: ", in: header) else { return end + 4 }
            let digits = header[(field + 18)...].prefix { (0x30...0x39).contains($0) }
            return end + 4 + digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
    }

    private static func find(_ text: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
        let count = text.utf8CodeUnitCount
        guard bytes.count >= count else { return nil }
        return (0...(bytes.count - count)).first { memcmp(bytes.baseAddress! + $0, text.utf8Start, count) == 0 }
    }
}

private func platformConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
    connect(descriptor, address, size)
}

private func platformSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    send(descriptor, bytes, count, 0)
}
