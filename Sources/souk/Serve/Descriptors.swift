import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The number of connections that the limit of open files allows.
struct Descriptors {
    /// Descriptors for other uses: the ledger and its readers, webhooks, requests to the App Store, connections that
    /// are being closed.
    static let others = 1024
    /// The number of connections without `--max-connections`, if the limit of open files allows as many.
    static let usualConnections = 10_000

    /// Returns the number of connections, and raises the soft limit of open files to the number that they need.
    ///
    /// - Parameters:
    ///   - requested: the value of `--max-connections`.
    ///   - warn: receives a sentence with the reason if `requested` is `nil` and there are fewer connections than
    ///     usual.
    ///
    /// Throws `UsageError` when the limit does not allow as many as `requested`.
    static func connections(_ requested: Int?, warn: (String) -> Void) throws -> Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return requested ?? usualConnections }
        let most = connections(within: limit.rlim_max)
        let granted = min(requested ?? usualConnections, most)
        let why = "the system lets this process open \(limit.rlim_max) files (ulimit -Hn, LimitNOFILE)"
        if let requested, requested > granted { throw UsageError("--max-connections can be \(most) at most: \(why)") }
        if granted < usualConnections, requested == nil {
            warn("at most \(granted) connections instead of \(usualConnections): \(why)")
        }
        let needed = rlim_t(granted + others)
        if limit.rlim_cur < needed {
            limit.rlim_cur = min(needed, limit.rlim_max)
            _ = setrlimit(resource, &limit)
        }
        return granted
    }

    /// With a low limit of open files, half of the files are for connections.
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
