import AppStorePayloads
import StoreModel

extension AppStoreServerAPI.HistoryResponse {
    /// The signed transactions of this page.
    public var items: [String] { self.signedTransactions ?? [] }
}

extension AppStoreServerAPI.RefundHistoryResponse {
    /// The signed transactions of this page.
    public var items: [String] { self.signedTransactions ?? [] }
}

extension AppStoreServerAPI.NotificationHistoryResponse {
    /// The notifications of this page.
    public var items: [AppStoreServerAPI.NotificationHistoryResponseItem] { self.notificationHistory ?? [] }
}

/// All pages of an answer, each asked for when it is read.
///
///     for try await page in client.refundHistoryPages(of: "2000000012", after: keptRevision) {
///         try take(page.items, andKeep: page.revision)
///     }
///
/// ``items`` are the contents of all pages, one by one. Reading throws what the client throws; `malformedAnswer` also
/// when a page announces another and does not say which.
public struct AppStorePages<Page: Sendable, Item: Sendable>: AsyncSequence, AsyncIteratorProtocol, Sendable {
    public typealias Element = Page

    let ask: @Sendable (_ page: String?) async throws -> Page
    let content: @Sendable (Page) -> [Item]
    /// Whether there is a next page, and what it is asked for with.
    let following: @Sendable (Page) -> (exists: Bool, name: String?)
    private var next: String?
    private var isOver = false

    init(
        first: String?, content: @escaping @Sendable (Page) -> [Item],
        following: @escaping @Sendable (Page) -> (exists: Bool, name: String?),
        ask: @escaping @Sendable (_ page: String?) async throws -> Page
    ) {
        self.ask = ask
        self.content = content
        self.following = following
        next = first
    }

    public mutating func next() async throws -> Page? {
        guard !isOver else { return nil }
        isOver = true
        let page = try await ask(next)
        let (exists, name) = following(page)
        if exists {
            guard let name, name != next else {
                throw AppStoreServerAPIError(
                    .malformedAnswer, "The App Store announces another page and does not say which.", status: 200)
            }
            next = name
            isOver = false
        }
        return page
    }

    public func makeAsyncIterator() -> Self { self }

    /// The contents of all pages, one by one.
    public var items: Items { Items(pages: self) }

    /// The contents of all pages, one by one.
    public struct Items: AsyncSequence, AsyncIteratorProtocol, Sendable {
        public typealias Element = Item

        var pages: AppStorePages
        var rest: ArraySlice<Item> = []

        public mutating func next() async throws -> Item? {
            while rest.isEmpty {
                guard let page = try await pages.next() else { return nil }
                rest = pages.content(page)[...]
            }
            return rest.removeFirst()
        }

        public func makeAsyncIterator() -> Self { self }
    }
}

extension AppStoreServerAPIClient {
    /// Get Transaction History, page by page, from the first or from the one that a kept `revision` names.
    public func transactionHistoryPages(
        of transaction: TransactionID, _ request: AppStoreServerAPI.TransactionHistoryRequest = .init(),
        after revision: String? = nil
    ) -> AppStorePages<AppStoreServerAPI.HistoryResponse, String> {
        AppStorePages(
            first: revision, content: { $0.items }, following: { ($0.hasMore == true, $0.revision) },
            ask: { try await transactionHistory(of: transaction, request, revision: $0) })
    }

    /// Get Refund History, page by page, from the first or from the one that a kept `revision` names.
    public func refundHistoryPages(
        of transaction: TransactionID, after revision: String? = nil
    ) -> AppStorePages<AppStoreServerAPI.RefundHistoryResponse, String> {
        AppStorePages(
            first: revision, content: { $0.items }, following: { ($0.hasMore == true, $0.revision) },
            ask: { try await refundHistory(of: transaction, revision: $0) })
    }

    /// Get Notification History, page by page.
    public func notificationHistoryPages(
        _ request: AppStoreServerAPI.NotificationHistoryRequest
    ) -> AppStorePages<AppStoreServerAPI.NotificationHistoryResponse, AppStoreServerAPI.NotificationHistoryResponseItem>
    {
        AppStorePages(
            first: nil, content: { $0.items },
            following: { ($0.hasMore == true, $0.paginationToken) },
            ask: { try await notificationHistory(request, paginationToken: $0) })
    }
}
