import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// How many connections fit into the files that this process may have open.
struct Descriptors {
    /// Those beside connections: the ledger and its readers, webhooks and questions to the App Store, connections that are
    /// being closed.
    static let others = 1024
    /// When nothing was asked for.
    static let usualConnections = 10_000

    /// As many connections as were asked for, or as are usual, after the soft limit was raised as far as they need it.
    ///
    /// - Parameter tell: is told in a sentence that there will be fewer than usual, and why.
    ///
    /// Throws `Misuse` when there cannot be as many as were asked for.
    static func connections(_ asked: Int?, warn: (String) -> Void) throws -> Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return asked ?? usualConnections }
        let most = connections(within: limit.rlim_max)
        let granted = min(asked ?? usualConnections, most)
        let why = "the system lets this process open \(limit.rlim_max) files (ulimit -Hn, LimitNOFILE)"
        if let asked, asked > granted { throw Misuse("--max-connections can be \(most) at most: \(why)") }
        if granted < usualConnections, asked == nil {
            warn("at most \(granted) connections instead of \(usualConnections): \(why)")
        }
        let needed = rlim_t(granted + others)
        if limit.rlim_cur < needed {
            limit.rlim_cur = min(needed, limit.rlim_max)
            _ = setrlimit(resource, &limit)
        }
        return granted
    }

    /// Half of the files where there are few.
    private static func connections(within limit: rlim_t) -> Int {
        let files = Int(clamping: limit)
        return max(files - others, files / 2)
    }

    #if canImport(Darwin)
        private static let resource = RLIMIT_NOFILE
    #else
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
}
