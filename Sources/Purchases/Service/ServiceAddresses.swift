import Primitives

/// The addresses of one backend, of which the one that answered last is asked first.
final class ServiceAddresses: Sendable {
    private let urls: Locked<[String]>

    /// At least one; slashes at the end are left out.
    init(_ urls: [String]) {
        self.urls = Locked(
            urls.map { url in
                var url = url
                while url.hasSuffix("/") { url.removeLast() }
                return url
            })
    }

    /// All of them, in the order in which they are to be asked.
    var ordered: [String] { urls.withLock { $0 } }

    /// Those in front of it have failed: they are asked last from now on.
    func answered(_ url: String) {
        urls.withLock { urls in
            guard let index = urls.firstIndex(of: url), index > 0 else { return }
            urls = Array(urls[index...] + urls[..<index])
        }
    }
}
