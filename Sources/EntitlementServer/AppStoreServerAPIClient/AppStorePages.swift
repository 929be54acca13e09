import AppStorePayloads
import StoreModel

/// One page of what the App Store answers in pages.
public protocol AppStorePage: Sendable {
    associatedtype Item: Sendable
    /// What the page holds.
    var items: [Item] { get }
    /// Whether there is a next page.
    var hasNextPage: Bool { get }
    /// What the next page is asked for with.
    var nextPage: String? { get }
}

extension AppStoreServerAPI.HistoryResponse: AppStorePage {
    public var items: [String] { self.signedTransactions ?? [] }
    public var hasNextPage: Bool { self.hasMore == true }
    public var nextPage: String? { self.revision }
}

extension AppStoreServerAPI.RefundHistoryResponse: AppStorePage {
    public var items: [String] { self.signedTransactions ?? [] }
    public var hasNextPage: Bool { self.hasMore == true }
    public var nextPage: String? { self.revision }
}

extension AppStoreServerAPI.NotificationHistoryResponse: AppStorePage {
    public var items: [AppStoreServerAPI.NotificationHistoryResponseItem] { self.notificationHistory ?? [] }
    public var hasNextPage: Bool { self.hasMore == true }
    public var nextPage: String? { self.paginationToken }
}

/// All pages of an answer, each asked for when it is read.
///
///     for try await page in client.refundHistoryPages(of: "2000000012", after: keptRevision) {
///         try take(page.items, andKeep: page.revision)
///     }
///
/// Reading throws what the client throws; `malformedAnswer` also when a page announces another and does not say which.
public struct AppStorePages<Page: AppStorePage>: AsyncSequence, Sendable {
    public typealias Element = Page
    let first: String?
    let ask: @Sendable (_ page: String?) async throws -> Page

    public struct Iterator: AsyncIteratorProtocol {
        let ask: @Sendable (String?) async throws -> Page
        var next: String?
        var isOver = false

        public mutating func next() async throws -> Page? {
            guard !isOver else { return nil }
            isOver = true
            let page = try await ask(next)
            if page.hasNextPage {
                guard let following = page.nextPage, following != next else {
                    throw AppStoreServerAPIError(
                        .malformedAnswer, "The App Store announces another page and does not say which.", status: 200)
                }
                next = following
                isOver = false
            }
            return page
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(ask: ask, next: first) }

    /// What the pages hold, one by one.
    public var items: Items { Items(pages: self) }

    public struct Items: AsyncSequence, Sendable {
        public typealias Element = Page.Item
        let pages: AppStorePages

        public struct Iterator: AsyncIteratorProtocol {
            var pages: AppStorePages.Iterator
            var rest: ArraySlice<Page.Item> = []

            public mutating func next() async throws -> Page.Item? {
                while rest.isEmpty {
                    guard let page = try await pages.next() else { return nil }
                    rest = page.items[...]
                }
                return rest.removeFirst()
            }
        }

        public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }
    }
}

extension AppStoreServerAPIClient {
    /// Get Transaction History, page by page, from the first or from the one that a kept `revision` names.
    public func transactionHistoryPages(
        of transaction: TransactionID, _ request: AppStoreServerAPI.TransactionHistoryRequest = .init(),
        after revision: String? = nil
    ) -> AppStorePages<AppStoreServerAPI.HistoryResponse> {
        AppStorePages(first: revision) { try await transactionHistory(of: transaction, request, revision: $0) }
    }

    /// Get Refund History, page by page, from the first or from the one that a kept `revision` names.
    public func refundHistoryPages(
        of transaction: TransactionID, after revision: String? = nil
    ) -> AppStorePages<AppStoreServerAPI.RefundHistoryResponse> {
        AppStorePages(first: revision) { try await refundHistory(of: transaction, revision: $0) }
    }

    /// Get Notification History, page by page.
    public func notificationHistoryPages(
        _ request: AppStoreServerAPI.NotificationHistoryRequest
    ) -> AppStorePages<AppStoreServerAPI.NotificationHistoryResponse> {
        AppStorePages(first: nil) { try await notificationHistory(request, paginationToken: $0) }
    }
}
