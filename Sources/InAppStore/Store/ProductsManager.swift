import Purchases
import StoreKitAdapter
import StoreModel

/// The purchases, restores and content of a store. All calls throw `PurchaseError`. A caller that is cancelled gets
/// `operationCancelled`, and what was begun at the store or the server ends in a state that the next launch finds.
public protocol ProductsManager: Sendable {
    /// Buys one of a product; returns when the purchase is delivered, acknowledged by the server and ready to use.
    ///
    /// A product for subscribers only is acquired without the store, and only while a subscription enables it. Buying a
    /// subscription does not by itself acquire what it enables: see `acquireAllEnabledProducts`.
    ///
    /// Throws `acknowledgementPending` when the customer has paid but the server cannot be reached: the purchase is kept
    /// and acknowledged later, by itself. With a local verifier that finds it true the call returns, and the product may be
    /// used until the server has judged.
    ///
    /// Throws `invalidProductForPurchasing` when the App Store does not sell the product, and
    /// `productsMetadataFetchingFailed` when it cannot be asked about it.
    func purchaseProduct(_ productIdentifier: String) async throws
    /// Buys 1 to 10 of a consumable.
    func purchaseConsumableProduct(_ productIdentifier: String, quantity: Int) async throws
    /// Asks the store for everything this customer owns, and then the server what they may use now.
    ///
    /// A store that cannot be asked is an event, and the server is asked all the same; who cancels is told so, and the server
    /// is not asked. Throws `operationCancelled`, and what `validateReceipt` throws.
    func refreshReceipt() async throws
    /// Asks the store for everything this customer owns and presents it to the server; says what came back.
    ///
    /// Throws `operationCancelled`, `restorePurchasesFailed` when the store cannot be asked, `acknowledgementPending` when the
    /// server cannot.
    @discardableResult func restorePurchases() async throws -> RestoreResult
    /// Asks the server what this customer may use now.
    func validateReceipt() async throws
    /// Presents one unfinished transaction again; returns when it is acknowledged.
    ///
    /// Throws `invalidTransactionIdentifier` when no such transaction is unfinished, `receiptValidationFailed` when the
    /// server finds it untrue, `acknowledgementPending` when the server cannot be reached.
    func validateTransaction(_ transactionIdentifier: String) async throws
    /// Acquires all products that the active subscription enables; throws without one.
    func acquireAllEnabledProducts() async throws
    /// Fetches the content of a product that the customer bought or acquired. The last progress names the folder; a product
    /// without content ends with one progress of nothing. Who stops listening gives up the fetch, unless others wait for it.
    ///
    /// Throws `invalidProductIdentifier` for what is not listed, `contentNotAcquired`, and what the content manager throws.
    func fetchProductContent(_ productIdentifier: String) -> AsyncThrowingStream<ContentProgress, any Error>
    /// Removes a product's content from the device. Throws `invalidProductIdentifier` for what is not listed.
    func deleteProductContent(_ productIdentifier: String) async throws
    /// The products of the list that the store sells, without discounts, each with what the store says of it.
    ///
    /// Throws `productsMetadataFetchingFailed` when the store cannot be asked; the next call asks again.
    func productList() async throws -> [StoreProduct]
    /// What the store says of products in the list, by identifier; those that it does not sell are absent.
    ///
    /// Throws `invalidProductIdentifier` naming those that are not in the list, `productsMetadataFetchingFailed`.
    func fetchProductsInfo(_ productIdentifiers: Set<String>) async throws -> [String: StoreProduct]
    /// Transactions that were acknowledged without anybody waiting for them, such as renewals and what earlier runs left
    /// unfinished; one with a `revocationDate` was taken back. The first reader also gets what was acknowledged before.
    var completedTransactions: AsyncStream<StoreTransaction> { get }
}
