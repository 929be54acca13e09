import Primitives

/// The addresses of one backend. The address that answered last is tried first.
final class ServiceAddresses: Sendable {
    private let urls: Locked<[String]>

    /// Creates a list of at least one address. Removes slashes at the end.
    init(_ urls: [String]) {
        self.urls = Locked(
            urls.map { url in
                var url = url
                while url.hasSuffix("/") { url.removeLast() }
                return url
            })
    }

    /// All addresses, in the order in which to try them.
    var ordered: [String] { urls.withLock { $0 } }

    /// Moves the addresses before `url`, which have failed, to the end.
    func answered(_ url: String) {
        urls.withLock { urls in
            guard let index = urls.firstIndex(of: url), index > 0 else { return }
            urls = Array(urls[index...] + urls[..<index])
        }
    }
}
