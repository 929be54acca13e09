import Purchases
import StoreKitAdapter
import StoreModel

/// The purchases, restores and content of a `Store`. Errors are `PurchaseError`. A cancelled call throws
/// `operationCancelled`; a cancelled stream of content progress ends without an error. In both cases nothing is lost: a
/// later call or launch continues from the state that was reached.
public protocol ProductsManager: Sendable {
    /// Buys one unit of a product. Returns when the purchase is delivered, acknowledged by the server and ready to use.
    ///
    /// A product for subscribers only is acquired without the App Store, and only while a subscription enables it.
    /// Buying a subscription does not acquire the products that it enables: see `acquireAllEnabledProducts`.
    ///
    /// - Parameter productIdentifier: The product to buy.
    /// - Throws: `PurchaseError`, for example:
    ///   - `acknowledgementPending` if the customer has paid but the server is unreachable. The purchase is kept, and
    ///     acknowledged later without a further call. If a local verifier accepts the purchase, the call returns
    ///     instead, and the product can be used until the server decides.
    ///   - `invalidProductForPurchasing` if the product is not in the list, or the App Store does not sell it.
    ///   - `productsMetadataFetchingFailed` if the request for the product fails.
    func purchaseProduct(_ productIdentifier: String) async throws
    /// Buys a consumable in a quantity of 1 to 10.
    ///
    /// - Parameters:
    ///   - productIdentifier: The consumable to buy.
    ///   - quantity: 1 to 10.
    /// - Throws: `PurchaseError`, as `purchaseProduct(_:)` does.
    func purchaseConsumableProduct(_ productIdentifier: String, quantity: Int) async throws
    /// Restores the customer's purchases at the App Store, then fetches the customer's access from the server.
    ///
    /// If the restore fails, an event reports the error, and the access is fetched anyway. If the restore is cancelled,
    /// the call throws without a request to the server.
    ///
    /// - Throws: `PurchaseError`: `operationCancelled`, and the errors of ``validateReceipt()``.
    func refreshReceipt() async throws
    /// Restores the customer's purchases at the App Store, and presents them to the server.
    ///
    /// - Returns: The restored products.
    /// - Throws: `PurchaseError`: `operationCancelled`, `restorePurchasesFailed` if the App Store is unreachable,
    ///   `acknowledgementPending` if the server is unreachable.
    @discardableResult func restorePurchases() async throws -> RestoreResult
    /// Fetches the customer's access from the server.
    ///
    /// - Throws: `PurchaseError`: `operationCancelled`, otherwise `receiptValidationFailed`.
    func validateReceipt() async throws
    /// Presents one unfinished transaction to the server again. Returns when it is acknowledged.
    ///
    /// - Parameter transactionIdentifier: The id of the transaction.
    /// - Throws: `PurchaseError`: `invalidTransactionIdentifier` if no such transaction is unfinished,
    ///   `receiptValidationFailed` if the server rejects it, `acknowledgementPending` if the server is unreachable.
    func validateTransaction(_ transactionIdentifier: String) async throws
    /// Acquires all products that the active subscription enables.
    ///
    /// - Throws: `PurchaseError`: `acquireAllRequestedForNonSubscriber` without an active subscription,
    ///   `storageFailed`.
    func acquireAllEnabledProducts() async throws
    /// Fetches the content of a product that the customer bought or acquired. The last progress contains the folder. A
    /// product without content sends one empty progress. If the last listener stops, the fetch is cancelled.
    ///
    /// - Parameter productIdentifier: The product whose content to fetch.
    /// - Returns: The progress. The stream throws `invalidProductIdentifier` for an unlisted product,
    ///   `contentNotAcquired`, and the errors of the content manager.
    func fetchProductContent(_ productIdentifier: String) -> AsyncThrowingStream<ContentProgress, any Error>
    /// Removes the content of a product from the device.
    ///
    /// - Parameter productIdentifier: The product whose content to remove.
    /// - Throws: `PurchaseError`: `invalidProductIdentifier` for an unlisted product, and the errors of the content
    ///   manager.
    func deleteProductContent(_ productIdentifier: String) async throws
    /// Returns the App Store's descriptions of the products in the list, except the discounts and variants of other
    /// products (``ListedProduct``), products for subscribers only, and products that the App Store does not sell.
    ///
    /// - Returns: The products, sorted by id.
    /// - Throws: `PurchaseError`: `productsMetadataFetchingFailed` if the request fails. The next call repeats it.
    func productList() async throws -> [StoreProduct]
    /// Returns the App Store's descriptions of products in the list, by id. Products for subscribers only, and products
    /// that the App Store does not sell, are left out.
    ///
    /// - Parameter productIdentifiers: The ids of the products.
    /// - Returns: The descriptions by id.
    /// - Throws: `PurchaseError`: `invalidProductIdentifier` with the ids that are not in the list,
    ///   `productsMetadataFetchingFailed`.
    func fetchProductsInfo(_ productIdentifiers: Set<String>) async throws -> [String: StoreProduct]
    /// Acknowledged transactions that no caller waited for, such as renewals and unfinished transactions of earlier
    /// runs. A transaction with a `revocationDate` was revoked. The first reader also receives earlier ones.
    var completedTransactions: AsyncStream<StoreTransaction> { get }
}
