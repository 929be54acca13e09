import SignedData

/// The status in a response of `/verifyReceipt`: one of Apple's statuses that this store returns (Apple: status). A
/// status other than `valid` can be thrown. The set is closed.
enum ReceiptStatus: Int, Error, CaseIterable {
    case valid = 0
    /// The request was not a POST.
    case notPost = 21000
    /// The body, or the receipt in it, is malformed.
    case malformed = 21002
    /// The receipt is from another store or for another app, or it was changed.
    case notAuthenticated = 21003
    /// The password is not the shared secret, or it is missing and the receipt has subscriptions.
    case wrongSecret = 21004
    /// The receipt server is unavailable. Only returned if a tester sets it.
    case unavailable = 21005
    /// The subscription has expired. Apple returns this status for receipts from before iOS 7; this store returns it
    /// only if a tester sets it.
    case subscriptionExpired = 21006
    /// A sandbox receipt at the production address.
    case sandboxReceipt = 21007
    /// A production receipt at the sandbox address.
    case productionReceipt = 21008
    /// The simulator database cannot be read, or the account has too many transactions for a receipt.
    case internalError = 21009
    /// The account of the receipt is not in the simulator database.
    case unknownAccount = 21010
    /// One of Apple's various data access errors (21100 to 21199). Only returned if a tester sets it.
    case noAccessToData = 21199

    /// Whether the same request can succeed later.
    var isRetryable: Bool { [.unavailable, .internalError, .noAccessToData].contains(self) }

    /// The statuses that the setting `errors.verifyReceipt` can have.
    static let injectable = allCases.filter { $0 != .valid && $0 != .notPost }

    /// Creates the status of a receipt that failed verification with `error`.
    init(_ error: SignedDataError) {
        self = [.malformed, .tooLarge].contains(error.code) ? .malformed : .notAuthenticated
    }
}
