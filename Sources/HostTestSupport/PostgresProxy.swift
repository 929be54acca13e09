import Foundation
import Primitives

/// A proxy for the socket of a `PostgresCluster` that ends connections at a chosen statement.
///
///     let proxy = try PostgresProxy(to: cluster.url(of: "test1"))
///     proxy.cutAnswer(to: "COMMIT")
///     let database = try PostgresDatabase(url: proxy.url)
package final class PostgresProxy: Sendable {
    private struct Cuts {
        /// The statements that end a connection, in order, each once. With `isLost`, the statement is not forwarded.
        /// Otherwise its response is dropped.
        var texts: [(text: [UInt8], isLost: Bool)] = []
        var count = 0
        var isRefusing = false
    }

    private static let readyForQueryOutsideTransaction: ArraySlice = [UInt8(ascii: "Z"), 0, 0, 0, 5, UInt8(ascii: "I")]

    /// The URL of the database behind the proxy.
    package let url: String
    private let folder: URL
    private let listener: Int32
    private let cut = Locked(Cuts())

    /// Listens on a socket in its own folder. Throws `POSIXError` when that cannot be created.
    ///
    /// - Parameter url: A URL whose `host` parameter is the folder of a socket, such as those of `PostgresCluster`.
    package init(to url: String) throws {
        let parts = url.components(separatedBy: "?host=")
        guard parts.count == 2 else { throw POSIXError(.EINVAL) }
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "souk-proxy-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.url = "\(parts[0])?host=\(folder.path)"
        let target = "\(parts[1])/.s.PGSQL.5432"
        listener = try Self.socket()
        let path = folder.appendingPathComponent(".s.PGSQL.5432").path
        guard Self.withAddress(path, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            throw POSIXError(.EADDRNOTAVAIL)
        }
        Thread.detachNewThread { [self, listener] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                guard !cut.withLock({ $0.isRefusing }), let server = try? Self.socket(),
                    Self.withAddress(target, { connect(server, $0, $1) }) == 0
                else {
                    Foundation.close(client)
                    continue
                }
                Thread.detachNewThread { self.relay(client, server) }
            }
        }
    }

    /// Ends the next connection whose client sends `text`, after the response of the server, which the client does not
    /// receive.
    package func cutAnswer(to text: String) { cut.withLock { $0.texts.append((Array(text.utf8), false)) } }

    /// Ends the next connection whose client sends `text`, without forwarding it.
    package func loseNext(_ text: String) { cut.withLock { $0.texts.append((Array(text.utf8), true)) } }

    /// Sets whether each new connection is ended at once.
    package func refuse(_ isRefusing: Bool) { cut.withLock { $0.isRefusing = isRefusing } }

    /// The number of connections that a chosen statement ended.
    package var cuts: Int { cut.withLock { $0.count } }

    /// Stops listening and removes the socket. Open connections continue until their client ends.
    package func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        Foundation.close(listener)
        try? FileManager.default.removeItem(at: folder)
    }

    private func relay(_ client: Int32, _ server: Int32) {
        defer {
            Foundation.close(client)
            Foundation.close(server)
        }
        var isCutting = false
        var answer: [UInt8] = []
        while true {
            var items = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&items, 2, -1) > 0 else { return }
            if items[0].revents != 0 {
                guard let sent = Self.read(client) else { return }
                let isDue = isCutting ? nil : takeCut(for: sent)
                guard isDue != true, Self.write(sent, to: server) else { return }
                isCutting = isCutting || isDue != nil
            }
            if items[1].revents != 0 {
                guard let response = Self.read(server) else { return }
                guard isCutting else {
                    guard Self.write(response, to: client) else { return }
                    continue
                }
                answer += response
                if answer.suffix(6) == Self.readyForQueryOutsideTransaction { return }
            }
        }
    }

    /// Returns `true` if the statement is lost, `false` if its response is dropped, and `nil` for neither.
    private func takeCut(for sent: [UInt8]) -> Bool? {
        cut.withLock { cut in
            guard let next = cut.texts.first, Data(sent).range(of: Data(next.text)) != nil else { return nil }
            cut.texts.removeFirst()
            cut.count += 1
            return next.isLost
        }
    }

    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    private static func socket() throws -> Int32 {
        #if canImport(Darwin)
            let descriptor = Foundation.socket(AF_UNIX, SOCK_STREAM, 0)
        #else
            let descriptor = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        #endif
        guard descriptor >= 0 else { throw POSIXError(.EMFILE) }
        return descriptor
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < room else { return -1 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
