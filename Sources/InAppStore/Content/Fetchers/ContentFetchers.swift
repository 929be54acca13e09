import Primitives
import StoreModel

/// The fetchers of a store, found by `type`.
struct ContentFetchers: Sendable {
    private let fetchers: [any ContentFetcher]
    private let canUnpack: Bool

    /// Creates the collection. If several fetchers have the same type, the first one is used.
    init(_ fetchers: [any ContentFetcher], canUnpack: Bool) {
        self.fetchers = fetchers
        self.canUnpack = canUnpack
    }

    /// Returns the fetcher for these parameters, after its check. Throws `invalidContentFetcherParameters`,
    /// `contentFetcherNotRegistered`, and `unsupported` if the fetcher returns archives that the store cannot unpack.
    func fetcher(for parameters: JSONObject) throws -> any ContentFetcher {
        guard let type = parameters["type"]?.stringValue, !type.isEmpty else {
            throw PurchaseError(.invalidContentFetcherParameters, "type: the name of the content fetcher is missing.")
        }
        let fetcher = fetchers.first { $0.types.contains(type) } ?? fallback(type)
        guard let fetcher else { throw Self.notRegistered(type) }
        try fetcher.check(parameters)
        guard canUnpack || !fetcher.bringsArchivesOnly else { throw Self.noExtractor }
        return fetcher
    }

    static let noExtractor = PurchaseError(
        .unsupported, "The store cannot unpack archives. Set archiveExtractor in its configuration.")

    private func fallback(_ type: String) -> (any ContentFetcher)? {
        ShippedContentFetcher(type: type) == .fallback ? FallbackContentFetcher(self) : nil
    }

    private static func notRegistered(_ type: String) -> PurchaseError {
        let advice =
            ShippedContentFetcher(type: type) == .onDemand
            ? "add OnDemandContentFetcher with the app's resources to contentFetchers"
            : "add one to contentFetchers in the store's configuration"
        return PurchaseError(
            .contentFetcherNotRegistered, "type: this store has no fetcher \"\(type)\"; \(advice).")
    }
}

/// Tries other fetchers in order until one succeeds: `{"type": "FallbackContentFetcher", "fetchersParameters": [{…},
/// {…}]}`.
struct FallbackContentFetcher: ContentFetcher {
    let types = ShippedContentFetcher.fallback.types
    private let others: ContentFetchers
    /// The fetcher that succeeded, and its order. Each order has its own `FallbackContentFetcher`.
    private let successful = Locked<(fetcher: any ContentFetcher, order: ContentOrder)?>(nil)

    init(_ others: ContentFetchers) { self.others = others }

    func check(_ parameters: JSONObject) throws {
        let all = parameters["fetchersParameters"]?.arrayValue ?? []
        guard !all.isEmpty else {
            throw PurchaseError(
                .invalidContentFetcherParameters, "fetchersParameters: it should be an array of objects.")
        }
        for (index, other) in all.enumerated() {
            do {
                _ = try others.fetcher(for: other.objectValue ?? [:])
            } catch let error as PurchaseError {
                if error.code == .unsupported { continue }
                throw PurchaseError(error.code, "fetchersParameters/\(index)/\(error.reason)")
            }
        }
    }

    /// Throws the code of the last fetcher's error, with the reasons of all errors. A full disk or a missing permission
    /// ends the fetch at once, because it affects all fetchers.
    func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent {
        try check(order.parameters)
        var failures: [PurchaseError] = []
        for (index, other) in (order.parameters["fetchersParameters"]?.arrayValue ?? []).enumerated() {
            let parameters = other.objectValue ?? [:]
            let folder = "\(order.workFolder)/\(index)"
            do {
                try ContentCache.makeFolder(folder)
                let other = try others.fetcher(for: parameters)
                let otherOrder = ContentOrder(productID: order.productID, parameters: parameters, workFolder: folder)
                let content = try await other.fetch(otherOrder, progress: progress)
                successful.withLock { $0 = (other, otherOrder) }
                return content
            } catch {
                try Task.checkCancellation()
                let error = PurchaseError(fetching: order.productID, error)
                guard ![.diskFull, .notPermitted].contains(error.code) else { throw error }
                failures.append(error)
            }
        }
        throw PurchaseError(
            failures.last?.code ?? .contentFetchFailed, failures.map(\.reason).joined(separator: " "),
            underlying: failures.last)
    }

    func release(_ order: ContentOrder) async {
        let successful = successful.withLock { $0 }
        await successful?.fetcher.release(successful?.order ?? order)
    }
}

extension PurchaseError {
    /// Converts an error that occurred while the content of `product` was fetched.
    init(fetching product: ProductID, _ error: any Error) {
        switch error {
        case let error as PurchaseError: self = error
        case is CancellationError:
            self.init(.operationCancelled, "The fetch of the content of \(product) was cancelled.")
        case let failure as FileFailure:
            self.init(
                failure.isDiskFull ? .diskFull : failure.isNotPermitted ? .notPermitted : .storageFailed,
                "Cannot store the content of \(product): \(failure).", underlying: failure)
        case let error as ExtractionError:
            let code: Code =
                switch error.code {
                case .diskFull: .diskFull
                case .notPermitted: .notPermitted
                default: .contentExtractionFailed
                }
            self.init(code, error.reason, underlying: error)
        default:
            self.init(.contentFetchFailed, "Cannot fetch the content of \(product): \(error)", underlying: error)
        }
    }
}
