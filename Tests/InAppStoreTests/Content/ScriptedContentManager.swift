import BaseTestSupport
import Primitives
import StoreModel

@testable import InAppStore

/// A scripted content manager in memory.
final class ScriptedContentManager: ContentManager {
    enum Call: Hashable, Sendable {
        case fetch(ProductID, JSONObject)
        case delete(ProductID)
        case close
    }

    typealias Fetch = @Sendable (ProductID, AsyncThrowingStream<ContentProgress, any Error>.Continuation) async -> Void

    let calls = CallLog<Call>()
    private let there: Locked<Set<ProductID>>
    private let reported = Broadcast<Set<ProductID>>(replaysLast: true)
    private let fetching: Locked<Fetch?> = Locked(nil)

    init(_ there: Set<ProductID> = []) {
        self.there = Locked(there)
        reported.send(there)
    }

    /// Sets the script of a fetch. By default a fetch ends at once with ten bytes.
    func whenFetching(_ fetch: @escaping Fetch) { fetching.withLock { $0 = fetch } }

    var downloaded: Set<ProductID> { there.withLock { $0 } }
    var changes: AsyncStream<Set<ProductID>> { reported.stream() }
    func location(of product: ProductID) -> String? { downloaded.contains(product) ? "/content/\(product)" : nil }

    func fetch(
        _ product: ProductID, parameters: JSONObject
    ) -> AsyncThrowingStream<ContentProgress, any Error> {
        calls.record(.fetch(product, parameters))
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: ContentProgress.self)
        let fetch = fetching.withLock { $0 }
        let task = Task {
            if let fetch { return await fetch(product, continuation) }
            continuation.yield(ContentProgress(received: 4, total: 10))
            set { $0.insert(product) }
            continuation.yield(ContentProgress(received: 10, total: 10, location: location(of: product)))
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    func delete(_ product: ProductID) async throws {
        calls.record(.delete(product))
        set { $0.remove(product) }
    }

    func close() async { calls.record(.close) }

    func put(_ product: ProductID) { set { $0.insert(product) } }

    /// Sends an outdated set of content.
    func reportLate(_ products: Set<ProductID>) { reported.send(products) }

    private func set(_ change: @Sendable (inout Set<ProductID>) -> Void) {
        let now = there.withLock { there in
            change(&there)
            return there
        }
        reported.send(now)
    }
}
