import Foundation
import Primitives

/// The sentences about errors that an app shows to its customers, in the customer's language.
///
/// `PurchaseError` has them as `errorDescription`, so `error.localizedDescription` is one of them. The key is
/// `souk.error.` followed by the code. An app translates the sentences in its `Localizable.strings`; a key without a
/// translation is shown in English:
///
///     "souk.error.unreachable" = "Der Server ist nicht erreichbar. Versuchen Sie es später noch einmal.";
///
/// An app that stores its strings elsewhere sets ``lookUp``. The table does not have the codes of errors that only
/// developers see: these errors have descriptions of their own.
public enum CustomerSentences {
    /// The English sentences by key.
    public static let english: [String: String] = Dictionary(
        uniqueKeysWithValues: sentences.map { code, sentence in (key(for: code), sentence) })

    /// Returns the translation for a key, or `nil` for a key without one. The English sentence is then used. The
    /// default reads `Localizable.strings` of the app. Any thread can call this function.
    public static var lookUp: @Sendable (_ key: String) -> String? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Returns a function for ``lookUp`` that reads the strings of a bundle.
    ///
    /// - Parameters:
    ///   - bundle: The bundle with the translations.
    ///   - table: The name of the strings file, or `nil` for `Localizable`.
    /// - Returns: A function that returns the translation for a key, or `nil`.
    public static func strings(of bundle: Bundle, table: String? = nil) -> @Sendable (_ key: String) -> String? {
        { key in
            let found = bundle.localizedString(forKey: key, value: nil, table: table)
            return found == key || found.isEmpty ? nil : found
        }
    }

    /// Returns the key for the code of an error.
    ///
    /// - Parameter code: The code, for example `unreachable`.
    /// - Returns: The key, for example `souk.error.unreachable`.
    public static func key(for code: String) -> String { "souk.error.\(code)" }

    /// Returns the sentence for the code of an error, translated if possible.
    ///
    /// - Parameter code: The code, for example `unreachable`.
    /// - Returns: The sentence, or `nil` if neither the app nor the table has one.
    public static func sentence(for code: String) -> String? {
        let key = key(for: code)
        return lookUp(key) ?? english[key]
    }

    private static let current = Locked<@Sendable (String) -> String?>(strings(of: .main))

    private static let sentences = [
        "acknowledgementPending": "Your purchase is paid and is being confirmed. You do not have to pay again.",
        "acquireAllRequestedForNonSubscriber": "Only subscribers can do this.",
        "cancelledByUser": "The purchase was cancelled.",
        "codeRedemptionFailed": "The code was not accepted.",
        "contentExtractionFailed": "The content is damaged. Load it again.",
        "contentFetchFailed": "The content cannot be loaded. Try again later.",
        "contentMismatch": "The content is damaged. Load it again.",
        "contentNotAcquired": "Buy this product to load its content.",
        "creditFailed": "Your credit cannot be loaded. Try again later.",
        "decodingError": "This version of the app does not understand the server. Update the app.",
        "diskFull": "There is not enough space on this device. Free some space and try again.",
        "insufficientCredit": "You do not have enough credit.",
        "invalidProductForPurchasing": "This product cannot be bought here.",
        "manageSubscriptionsFailed": "Your subscriptions cannot be shown. Try again later.",
        "noSuitablePlugin": "This product cannot be bought here.",
        "notPermitted": "The content cannot be stored on this device.",
        "operationCancelled": "The request was cancelled.",
        "productsMetadataFetchingFailed": "The products cannot be loaded. Try again later.",
        "protocolError": "This version of the app does not understand the server. Update the app.",
        "purchaseDeclined": "The purchase was not approved.",
        "purchaseDeferred": "The purchase is waiting for approval.",
        "purchaseFailed": "The purchase failed. Try again later.",
        "purchaseNotAllowed": "Purchases are not allowed on this device.",
        "purchaseRevoked": "The purchase was refunded, or is no longer shared with you.",
        "rateLimited": "The server is busy. Try again later.",
        "receiptValidationFailed": "Your purchases cannot be checked. Try again later.",
        "refundRequestFailed": "The refund request cannot be sent. Try again later.",
        "restorePurchasesFailed": "Your purchases cannot be restored. Try again later.",
        "serverError": "The server has a problem. Try again later.",
        "storageCorrupt": "Data on this device is damaged. Try again.",
        "storageFailed": "Data cannot be stored on this device. Free some space and try again.",
        "storageLocked": "Unlock the device and try again.",
        "timedOut": "The server did not answer in time. Try again.",
        "unreachable": "The server cannot be reached. Try again when you are online.",
        "untrustedAnswer": "The server's answer cannot be trusted. Try another network, or update the app.",
        "webPaymentsNotSupported": "This product is sold on the web only.",
    ]
}
