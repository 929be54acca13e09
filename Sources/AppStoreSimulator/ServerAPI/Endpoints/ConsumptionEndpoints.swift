import AppStorePayloads
import SimulatorControl
import Foundation
import StoreKitAdapter
import HTTPCore
import Primitives
import StoreModel

extension ServerAPIEndpoints {
    /// The endpoints that receive consumption information before a refund is decided.
    static let consumption: [Endpoint<ServerAPIHandler>] = [
        action(
            .put, "/inApps/v2/transactions/consumption/{transactionId}", "Send Consumption Information", rate: 50,
            status: 202
        ) { call in
            let transaction = try call.number("transactionId")
            let request = try await call.body(as: API.ConsumptionRequest.self)
            try await call.store.save(ConsumptionReport(request), of: transaction)
        },
        action(
            .put, "/inApps/v1/transactions/consumption/{transactionId}", "Send Consumption Information V1", rate: 50,
            status: 202
        ) { call in
            let transaction = try call.number("transactionId")
            let request = try await call.body(as: API.ConsumptionRequestV1.self)
            try await call.store.save(ConsumptionReport(request), of: transaction)
        },
    ]
}

extension SimulatedAppStore {
    /// Stores a report, and replaces an earlier one. The store may then decide the refund request. Throws `ErrorCode` and `ServerRefusal` for an invalid report.
    fileprivate func save(_ report: ConsumptionReport, of transaction: Int64) async throws {
        let sale = try findSale(transaction)
        guard !sale.transaction.isShared else { throw AppStoreServerAPI.ErrorCode.familyTransactionNotSupported }
        try report.check(for: sale.transaction.kind)
        try await database.write { try SimulatorDatabase($0).save(report, of: transaction, at: sale.now) }
        try await decideRefund(of: transaction)
    }

    /// Returns the last consumption information that the app's server sent about a transaction.
    ///
    /// - Parameter transaction: The id of the transaction.
    /// - Returns: The date, the version of Apple's request and its members. All are `nil` if none was sent.
    /// - Throws: `SimulatorError` (`unknownTransaction`).
    public func consumption(
        of transaction: TransactionID
    ) throws -> (sentAt: Date?, version: Int?, information: JSONValue?) {
        let unknown = SimulatorError(.unknownTransaction, "There is no transaction \(transaction).")
        guard let number = transaction.number else { throw unknown }
        return try read({ try $0.existingAccount(ofTransaction: number) }) { db, _, now in
            guard try db.transaction(number, at: now) != nil else { throw unknown }
            let known = try db.consumption(of: number)
            return (
                known?.at.wholeMilliseconds, known?.report.version, known.map { .object($0.report.members) }
            )
        }
    }
}
