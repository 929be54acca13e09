import SignedData

/// What `/verifyReceipt` says of a receipt as a whole. Closed: those of Apple's statuses that this store gives (Apple:
/// status); all but `valid` are thrown.
enum ReceiptStatus: Int, Error, CaseIterable {
    case valid = 0
    /// The request was not a POST.
    case notPost = 21000
    /// The body, or the receipt in it, is not what it should be.
    case malformed = 21002
    /// This store did not make the receipt, or not for this app, or it was changed.
    case notAuthenticated = 21003
    /// The password is not the shared secret, or is missing where there are subscriptions.
    case wrongSecret = 21004
    /// Only on request, as the next, which Apple gives for receipts of before iOS 7.
    case unavailable = 21005
    case subscriptionExpired = 21006
    /// A sandbox receipt at the production address.
    case sandboxReceipt = 21007
    /// A production receipt at the sandbox address.
    case productionReceipt = 21008
    /// The books cannot be read.
    case internalError = 21009
    /// The account of the receipt is not in the books.
    case unknownAccount = 21010
    /// Only on request: one of those that Apple says are various errors of access to its data (21100 to 21199).
    case noAccessToData = 21199

    /// Whether the same question may have another answer soon.
    var isRetryable: Bool { [.unavailable, .internalError, .noAccessToData].contains(self) }

    /// What a tester can ask for by the setting `errors.verifyReceipt`.
    static let injectable = allCases.filter { $0 != .valid && $0 != .notPost }

    /// Why a receipt is not believed.
    init(_ error: SignedDataError) {
        self = [.malformed, .tooLarge].contains(error.code) ? .malformed : .notAuthenticated
    }
}
