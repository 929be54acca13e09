import Foundation
import Primitives
import StoreModel

/// Stores the content of products in a folder: fetches it with the fetcher that a product's `type` selects, unpacks it,
/// and puts it in place atomically.
///
///     let library = ContentLibrary(
///         folder: "/var/lib/app/content", fetchers: [RemoteContentFetcher(transport: transport)],
///         extractor: ZipExtractor())
///
/// If a product's parameters in the product list change, its content is fetched again at the next request. Until then,
/// the old content is used. The initialiser repairs a folder that a killed process left incomplete. Only one library at
/// a time may use a folder.
package final class ContentLibrary: ContentManager {
    private let cache: ContentCache
    private let fetchers: ContentFetchers
    private let extractor: (any ArchiveExtractor)?
    private let limits: ExtractionLimits
    private let register: ContentRegister

    private struct Fetches {
        var running: [ProductID: SharedFetch] = [:]
        var isClosed = false
    }

    private let fetches = Locked(Fetches())

    /// Creates a library. Without an extractor, only folders can be fetched. The folder is created by the first fetch;
    /// unreadable content counts as absent.
    package init(
        folder: String, fetchers: [any ContentFetcher], extractor: (any ArchiveExtractor)?,
        limits: ExtractionLimits = ExtractionLimits()
    ) {
        cache = ContentCache(root: folder)
        self.fetchers = ContentFetchers(fetchers, canUnpack: extractor != nil)
        self.extractor = extractor
        self.limits = limits
        register = ContentRegister(cache.load())
    }

    package var downloaded: Set<ProductID> { register.downloaded }
    package var changes: AsyncStream<Set<ProductID>> { register.changes }

    package func location(of product: ProductID) -> String? {
        register[product] != nil && cache.hasContent(product) ? cache.content(product) : nil
    }

    /// Fetches the content of a product. The stream throws `PurchaseError`: `invalidContentFetcherParameters`,
    /// `contentFetcherNotRegistered`, `contentFetchFailed`, `contentMismatch`, `contentExtractionFailed`, `diskFull`,
    /// `notPermitted`, `storageFailed`, `operationCancelled`. Without an extractor, it throws `unsupported` for an
    /// archive, and does not call a fetcher that returns only archives.
    package func fetch(
        _ product: ProductID, parameters: JSONObject
    ) -> AsyncThrowingStream<ContentProgress, any Error> {
        while true {
            let running = fetches.withLock { $0.running[product] }
            if let stream = running?.join() { return stream }
            let fetch = SharedFetch()
            guard let stream = fetch.join() else { continue }
            let (isStarted, isClosed) = fetches.withLock { fetches in
                guard !fetches.isClosed else { return (false, true) }
                guard fetches.running[product] === running else { return (false, false) }
                fetches.running[product] = fetch
                return (true, false)
            }
            if isClosed { return AsyncThrowingStream { $0.finish(throwing: Self.cancelled(product)) } }
            guard isStarted else { continue }
            fetch.run { [self] in
                defer { forget(fetch, of: product) }
                do {
                    return .success(
                        try await register.runSerially(product) {
                            try await self.fetchAndStore(product, parameters, fetch)
                        })
                } catch {
                    return .failure(PurchaseError(fetching: product, error))
                }
            }
            return stream
        }
    }

    package func delete(_ product: ProductID) async throws {
        let running = fetches.withLock { $0.running[product] }
        await running?.cancel(Self.cancelled(product))
        do {
            try await register.runSerially(product) { [cache, register] in
                try cache.remove(product)
                await register.record(product, nil)
            }
        } catch {
            throw PurchaseError(fetching: product, error)
        }
    }

    package func close() async {
        let running = fetches.withLock { fetches in
            fetches.isClosed = true
            return fetches.running
        }
        for (product, fetch) in running { await fetch.cancel(Self.cancelled(product)) }
        await register.close()
    }

    private func forget(_ fetch: SharedFetch, of product: ProductID) {
        fetches.withLock { if $0.running[product] === fetch { $0.running[product] = nil } }
    }

    private func fetchAndStore(
        _ product: ProductID, _ parameters: JSONObject, _ fetch: SharedFetch
    ) async throws -> ContentProgress {
        try Task.checkCancellation()
        let digest = ContentCache.digest(of: parameters)
        let location = cache.content(product)
        if register[product] == digest, cache.hasContent(product) {
            return ContentProgress(received: 0, total: 0, location: location)
        }
        let fetcher = try fetchers.fetcher(for: parameters)
        let work = try cache.prepare(product, parameters: digest)
        let order = ContentOrder(productID: product, parameters: parameters, workFolder: work)
        let content = try await fetcher.fetch(order) { progress in
            fetch.report(ContentProgress(received: progress.received, total: progress.total))
        }
        do {
            try Task.checkCancellation()
            try await put(content, at: location)
            await fetcher.release(order)
        } catch {
            await fetcher.release(order)
            // An archive that cannot be unpacked would fail again after a resumed download.
            if PurchaseError(fetching: product, error).code == .contentExtractionFailed { cache.clearWork(product) }
            throw error
        }
        try cache.record(product, parameters: digest)
        cache.clearWork(product)
        await register.record(product, digest)
        let received = fetch.latest?.received ?? 0
        return ContentProgress(received: received, total: received, location: location)
    }

    private func put(_ content: FetchedContent, at location: String) async throws {
        switch content {
        case .archive(let path):
            guard let extractor else { throw ContentFetchers.noExtractor }
            try await extractor.extract(path, into: location, limits: limits)
        case .folder(let path):
            var copy = FolderCopy(limits: limits)
            try copy.replace(location, with: path)
        }
    }

    private static func cancelled(_ product: ProductID) -> PurchaseError {
        PurchaseError(fetching: product, CancellationError())
    }
}
