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

/// The pages of a list, each of which is requested when it is read.
///
///     for try await page in client.refundHistoryPages(of: "2000000012", after: keptRevision) {
///         try take(page.items, andKeep: page.revision)
///     }
///
/// ``items`` are the contents of all pages. Reading throws the errors of the client, and `malformedAnswer` if a page
/// announces a next page without a new token for it.
public struct AppStorePages<Page: Sendable, Item: Sendable>: AsyncSequence, AsyncIteratorProtocol, Sendable {
    /// The type of a page.
    public typealias Element = Page

    let request: @Sendable (_ page: String?) async throws -> Page
    let content: @Sendable (Page) -> [Item]
    /// Whether there is a next page, and its token (Apple's `revision` or `paginationToken`).
    let nextPage: @Sendable (Page) -> (exists: Bool, token: String?)
    private var next: String?
    private var isFinished = false

    init(
        first: String?, content: @escaping @Sendable (Page) -> [Item],
        nextPage: @escaping @Sendable (Page) -> (exists: Bool, token: String?),
        request: @escaping @Sendable (_ page: String?) async throws -> Page
    ) {
        self.request = request
        self.content = content
        self.nextPage = nextPage
        next = first
    }

    /// Requests the next page.
    ///
    /// - Returns: The page; `nil` after the last one.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError` if the task was cancelled.
    public mutating func next() async throws -> Page? {
        guard !isFinished else { return nil }
        isFinished = true
        let page = try await request(next)
        let (exists, token) = nextPage(page)
        if exists {
            guard let token, token != next else {
                throw AppStoreServerAPIError(
                    .malformedAnswer, "The App Store's page announces a next page without a new token for it.",
                    status: 200)
            }
            next = token
            isFinished = false
        }
        return page
    }

    /// Returns this sequence.
    public func makeAsyncIterator() -> Self { self }

    /// The contents of all pages, one by one.
    public var items: Items { Items(pages: self) }

    /// The contents of all pages, one by one.
    public struct Items: AsyncSequence, AsyncIteratorProtocol, Sendable {
        /// The type of an item.
        public typealias Element = Item

        var pages: AppStorePages
        var rest: ArraySlice<Item> = []

        /// Returns the next item, and requests the next page if necessary.
        ///
        /// - Returns: The item; `nil` after the last one.
        /// - Throws: ``AppStoreServerAPIError``, or `CancellationError` if the task was cancelled.
        public mutating func next() async throws -> Item? {
            while rest.isEmpty {
                guard let page = try await pages.next() else { return nil }
                rest = pages.content(page)[...]
            }
            return rest.removeFirst()
        }

        /// Returns this sequence.
        public func makeAsyncIterator() -> Self { self }
    }
}

extension AppStoreServerAPIClient {
    /// Gets a customer's transaction history, page by page (Get Transaction History).
    ///
    /// - Parameters:
    ///   - transaction: Any transaction of the customer.
    ///   - request: The filter and order of the transactions.
    ///   - revision: The revision of a stored page, after which the history continues; `nil` starts at the beginning.
    /// - Returns: The pages.
    public func transactionHistoryPages(
        of transaction: TransactionID, _ request: AppStoreServerAPI.TransactionHistoryRequest = .init(),
        after revision: String? = nil
    ) -> AppStorePages<AppStoreServerAPI.HistoryResponse, String> {
        AppStorePages(
            first: revision, content: { $0.items }, nextPage: { ($0.hasMore == true, $0.revision) },
            request: { try await transactionHistory(of: transaction, request, revision: $0) })
    }

    /// Gets a customer's refund history, page by page (Get Refund History).
    ///
    /// - Parameters:
    ///   - transaction: Any transaction of the customer.
    ///   - revision: The revision of a stored page, after which the history continues; `nil` starts at the beginning.
    /// - Returns: The pages.
    public func refundHistoryPages(
        of transaction: TransactionID, after revision: String? = nil
    ) -> AppStorePages<AppStoreServerAPI.RefundHistoryResponse, String> {
        AppStorePages(
            first: revision, content: { $0.items }, nextPage: { ($0.hasMore == true, $0.revision) },
            request: { try await refundHistory(of: transaction, revision: $0) })
    }

    /// Gets the notification history, page by page (Get Notification History).
    ///
    /// - Parameter request: The period and filter of the notifications.
    /// - Returns: The pages.
    public func notificationHistoryPages(
        _ request: AppStoreServerAPI.NotificationHistoryRequest
    ) -> AppStorePages<AppStoreServerAPI.NotificationHistoryResponse, AppStoreServerAPI.NotificationHistoryResponseItem>
    {
        AppStorePages(
            first: nil, content: { $0.items },
            nextPage: { ($0.hasMore == true, $0.paginationToken) },
            request: { try await notificationHistory(request, paginationToken: $0) })
    }
}
