import Dispatch
import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives

/// A TCP client that sends the given bytes unchanged. Its blocking calls run outside of Swift's thread pool.
final class RawClient: Sendable {
    struct Failure: Error { let reason: String }

    private let socket: Int32
    /// A client can read while it sends.
    private let input = DispatchQueue(label: "RawClient.input")
    private let output = DispatchQueue(label: "RawClient.output")

    init(port: Int, receiveBuffer: Int32? = nil) async throws {
        #if canImport(Darwin)
            socket = Foundation.socket(AF_INET, SOCK_STREAM, 0)
        #else
            // Without this flag, a program of another test would inherit the socket and keep it open.
            socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        #endif
        if var size = receiveBuffer {
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        let number = await run(on: output) { [socket] in
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(UInt16(port).bigEndian)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            let result = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return result == 0 ? 0 : errno
        }
        guard number == 0 else { throw Failure(reason: String(cString: strerror(number))) }
        // A test that waits in vain fails instead of hanging.
        var limit = timeval(tv_sec: 50, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { Foundation.close(socket) }

    /// Sends `text`, and returns `false` when the other side does not accept more bytes.
    @discardableResult func send(_ text: String) async -> Bool { await send(Array(text.utf8)) }

    @discardableResult func send(_ bytes: [UInt8]) async -> Bool {
        await run(on: output) { [socket] in
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes { bytes in
                    uninterrupted {
                        Foundation.send(socket, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                    }
                }
                if count <= 0 { return false }
                sent += count
            }
            return true
        }
    }

    /// Returns the next bytes, or an empty array at the end of the connection. Throws when nothing arrives.
    func receive(_ limit: Int = 1 << 16) async throws -> [UInt8] {
        let received = await run(on: input) { [socket] () -> [UInt8]? in
            var buffer = [UInt8](repeating: 0, count: limit)
            let count = uninterrupted { recv(socket, &buffer, limit, 0) }
            if count < 0 { return errno == ECONNRESET ? [] : nil }
            return Array(buffer[..<count])
        }
        guard let received else { throw Failure(reason: "nothing arrived") }
        return received
    }

    func receiveToEnd() async throws -> String {
        var all: [UInt8] = []
        while true {
            let part = try await receive()
            if part.isEmpty { return String(decoding: all, as: UTF8.self) }
            all += part
        }
    }

    func stopSending() { shutdown(socket, Int32(SHUT_WR)) }

    /// Closes the connection with a reset.
    func reset() {
        var hard = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
        shutdown(socket, Int32(SHUT_RDWR))
    }

    private func run<Value: Sendable>(on queue: DispatchQueue, _ work: @escaping @Sendable () -> Value) async -> Value {
        // The lock shows Thread Sanitizer the order of the two threads.
        let result = Locked<Value?>(nil)
        await withCheckedContinuation { continuation in
            queue.async {
                let value = work()
                result.withLock { $0 = value }
                continuation.resume()
            }
        }
        return result.withLock { $0 }!
    }
}

/// A reader of consecutive responses on a connection.
struct AnswerReader {
    struct Answer {
        let status: Int
        let headers: HTTPHeaders
        let body: String
    }

    let client: RawClient
    private var buffered: [UInt8] = []

    init(_ client: RawClient) { self.client = client }

    /// Reads a response. With `isHead` no body follows.
    mutating func next(isHead: Bool = false) async throws -> Answer {
        let head = String(decoding: try await take(until: "\r\n\r\n"), as: UTF8.self)
        let lines = head.components(separatedBy: "\r\n")
        guard let status = lines[0].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw RawClient.Failure(reason: "no status line: \(head)")
        }
        var headers = HTTPHeaders()
        for line in lines.dropFirst() where !line.isEmpty {
            let halves = line.split(separator: ":", maxSplits: 1)
            headers.add(String(halves[0]), halves.count == 2 ? halves[1].trimmingCharacters(in: .whitespaces) : "")
        }
        var body: [UInt8] = []
        if isHead || status == 204 || status == 304 || (100..<200).contains(status) {
        } else if headers["Transfer-Encoding"] == "chunked" {
            while true {
                let size = String(decoding: try await take(until: "\r\n"), as: UTF8.self)
                guard let count = Int(size.trimmingCharacters(in: .whitespacesAndNewlines), radix: 16) else {
                    throw RawClient.Failure(reason: "no chunk size: \(size)")
                }
                body += try await take(count)
                _ = try await take(2)
                if count == 0 { break }
            }
        } else {
            body = try await take(headers["Content-Length"].flatMap { Int($0) } ?? 0)
        }
        return Answer(status: status, headers: headers, body: String(decoding: body, as: UTF8.self))
    }

    private mutating func take(until mark: String) async throws -> [UInt8] {
        let mark = Array(mark.utf8)
        while true {
            if let range = buffered.firstRange(of: mark) {
                defer { buffered.removeFirst(range.upperBound) }
                return Array(buffered[..<range.upperBound])
            }
            try await fill()
        }
    }

    private mutating func take(_ count: Int) async throws -> [UInt8] {
        while buffered.count < count { try await fill() }
        defer { buffered.removeFirst(count) }
        return Array(buffered[..<count])
    }

    private mutating func fill() async throws {
        let part = try await client.receive()
        guard !part.isEmpty else { throw RawClient.Failure(reason: "the connection ended early") }
        buffered += part
    }
}
