import Foundation
import HTTPListener
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The service manager that started this process, such as systemd: its socket, its notifications (sd_notify(3)) and its
/// watchdog. Without a service manager, nothing is sent.
struct ServiceManager: Sendable {
    enum Message: Sendable {
        case ready, reloading, stopping, watchdog
        /// A sentence that `systemctl status` shows.
        case status(String)
    }

    private let environment: [String: String]

    init(environment: [String: String]) { self.environment = environment }

    /// Returns the listening socket that the service manager passed (sd_listen_fds(3)); `nil` if there is none. Throws
    /// `UsageError` for several sockets, and for one that cannot accept connections of HTTP.
    func socket() throws -> InheritedSocket? {
        guard let process = environment["LISTEN_PID"].flatMap(pid_t.init), process == getpid(),
            let count = environment["LISTEN_FDS"].flatMap(Int.init), count > 0
        else { return nil }
        guard count == 1 else {
            throw UsageError("the service manager passed \(count) sockets, and souk serve takes one: see souk.socket")
        }
        do { return try InheritedSocket(descriptor: Self.firstSocket) } catch {
            throw UsageError("the socket of the service manager: \(error.reason)")
        }
    }

    /// The number of the first socket that is passed (`SD_LISTEN_FDS_START`).
    private static let firstSocket: Int32 = 3

    /// Sends a datagram. A message that cannot be sent is lost, and the server continues. Only Linux has systemd.
    func send(_ message: Message) {
        #if os(Linux)
            guard let path = environment["NOTIFY_SOCKET"], let first = path.first, first == "/" || first == "@" else {
                return
            }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            // An abstract socket has a NUL in place of "@", and its name has no NUL at its end.
            let name = first == "@" ? [0] + path.utf8.dropFirst() : Array(path.utf8) + [0]
            guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else { return }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let length = socklen_t((MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) + name.count)
            let sender = Foundation.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard sender >= 0 else { return }
            defer { close(sender) }
            let text = Array(Self.text(of: message).utf8)
            withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    while sendto(sender, text, text.count, 0, address, length) < 0, errno == EINTR {}
                }
            }
        #endif
    }

    private static func text(of message: Message) -> String {
        switch message {
        case .ready: "READY=1"
        case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(monotonicMicroseconds)"
        case .stopping: "STOPPING=1"
        case .watchdog: "WATCHDOG=1"
        case .status(let sentence): "STATUS=\(sentence.replacingOccurrences(of: "\n", with: " "))"
        }
    }

    private static var monotonicMicroseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }

    /// Sends a sign of life twice in each period of the watchdog, until the task is cancelled. It comes from Swift's own
    /// threads, so it stops when these are blocked. Returns at once without a watchdog.
    func feedWatchdog() async {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap(UInt64.init), microseconds > 0,
            environment["WATCHDOG_PID"].map({ $0 == String(getpid()) }) ?? true
        else { return }
        let pause = Double(microseconds) / 2_000_000
        while !Task.isCancelled {
            send(.watchdog)
            try? await SystemClock().sleep(for: pause)
        }
    }
}
