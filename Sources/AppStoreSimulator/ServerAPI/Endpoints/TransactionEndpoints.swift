import AppStorePayloads
import Foundation
import HTTPCore
import StoreModel

extension ServerAPIEndpoints {
    /// The endpoints for single transactions, orders and app transactions.
    static let transactions: [Endpoint<ServerAPIHandler>] = [
        get("/inApps/v1/transactions/{transactionId}", "Get Transaction Info", rate: 50) { call in
            let sale = try call.store.findSale(try call.number("transactionId"))
            return try API.TransactionInfoResponse {
                $0.signedTransactionInfo = try call.store.sign([sale.transaction], of: sale.account, at: sale.now)[0]
            }
        },
        get(
            "/inApps/v1/transactions/appTransactions/{anyTransactionId}", "Get App Transaction Info", rate: 50
        ) { call in
            let store = call.store
            return try store.readAccount(ofTransaction: try call.number("anyTransactionId")) { _, account, now in
                try API.AppTransactionInfoResponse {
                    $0.signedAppTransactionInfo = try store.signer.appTransaction(
                        of: account, version: store.configuration.applicationVersion, at: now)
                }
            }
        },
        get("/inApps/v1/lookup/{orderId}", "Look Up Order ID", rate: 10) { try lookUp($0) },
        action(.post, "/inApps/v1/transactions/{transactionId}/finish", "Finish Transaction", rate: 50) { call in
            let sale = try call.store.findSale(try call.number("transactionId"))
            try await call.store.database.write { sql in
                _ = try SimulatorDatabase(sql).finish(sale.transaction.id, of: sale.account.id, at: sale.now)
            }
        },
        action(
            .put, "/inApps/v1/transactions/{originalTransactionId}/appAccountToken", "Set App Account Token", rate: 20
        ) { call in
            let original = try call.number("originalTransactionId")
            let request = try await call.body(as: API.UpdateAppAccountTokenRequest.self)
            try await call.store.setAppAccountToken(request.appAccountToken, of: original)
        },
    ]

    private static func lookUp(_ call: ServerCall) throws -> API.OrderLookupResponse {
        let order = try OrderID(parsing: call.text("orderId"))
        guard let sale = try order.transaction.flatMap(call.store.ordered) else {
            return API.OrderLookupResponse { $0.status = .invalid }
        }
        return try API.OrderLookupResponse {
            $0.status = .valid
            $0.signedTransactions = try call.store.sign([sale.transaction], of: sale.account, at: sale.now)
        }
    }
}

/// The id of an order, as in the receipts that Apple mails. Each payment is one order.
struct OrderID: Sendable, Hashable {
    let text: String

    init(of transaction: Int64) { text = "M" + String(transaction, radix: 36, uppercase: true) }

    /// Throws `ErrorCode.generalBadRequest` unless the id has 1 to 64 ASCII letters and digits.
    init(parsing text: String) throws(AppStoreServerAPI.ErrorCode) {
        guard (1...64).contains(text.utf8.count), text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            throw .generalBadRequest
        }
        self.text = text
    }

    /// The number of the transaction; `nil` if this store does not create such an id.
    var transaction: Int64? {
        guard let number = Int64(text.dropFirst(), radix: 36), OrderID(of: number) == self else { return nil }
        return number
    }
}

extension SimulatedAppStore {
    /// Returns the transaction of an order; `nil` for an unknown transaction, and for a share, which was not ordered.
    fileprivate func ordered(_ transaction: Int64) throws -> Sale? {
        do {
            let sale = try findSale(transaction)
            return sale.transaction.isShared ? nil : sale
        } catch is AppStoreServerAPI.ErrorCode {
            return nil
        }
    }

    /// Sets the app account token of a purchase. For a subscription, sets the token of the current and later periods.
    ///
    /// Throws `ErrorCode`: `appTransactionIdNotSupported`, `originalTransactionIdNotFound`,
    /// `transactionIdIsNotOriginalTransactionId`, `familyTransactionNotSupported`; `invalidAppAccountTokenUUID` without
    /// a token.
    func setAppAccountToken(_ token: UUID?, of original: Int64) async throws {
        typealias Code = AppStoreServerAPI.ErrorCode
        try await recordEvent({ try $0.owner(ofTransaction: original, else: .originalTransactionIdNotFound) }) {
            event in
            guard let (transaction, state) = try event.db.transaction(original, at: event.now) else {
                throw Code.originalTransactionIdNotFound
            }
            guard transaction.originalID == original else { throw Code.transactionIdIsNotOriginalTransactionId }
            guard !transaction.isShared else { throw Code.familyTransactionNotSupported }
            guard let token else { throw Code.invalidAppAccountTokenUUID }
            if let state {
                guard let record = StoreRules.setAppAccountToken(token, state, at: event.now) else { return }
                try event.record([.subscription(record)])
            } else {
                try event.record([.appAccountToken(original, token)])
            }
        }
    }
}
