import AppStorePayloads
import EntitlementServer
import Foundation
import SignedData
import StoreModel

/// A backend that asks the App Store, as Documentation/Guides/AppStoreServerAPI.md shows it.
struct Backend {
    let client: AppStoreServerAPIClient
    let verifier: SignedDataVerifier

    func purchases(of customer: TransactionID) async throws -> [JWSTransactionDecodedPayload] {
        var purchases: [JWSTransactionDecodedPayload] = []
        for try await signed in client.transactionHistoryPages(of: customer, .init(sort: .descending)).items {
            purchases.append(try verifier.transaction(signed).payload)
        }
        return purchases
    }

    func takeBackRefunds(
        of customer: TransactionID, since kept: String?, _ takeBack: (JWSTransactionDecodedPayload) async throws -> Void
    ) async throws -> String? {
        var kept = kept
        for try await page in client.refundHistoryPages(of: customer, after: kept) {
            for signed in page.items { try await takeBack(verifier.transaction(signed).payload) }
            kept = page.revision
        }
        return kept
    }

    enum Extension: Equatable {
        case until(Date?)
        case noMore
        case later(Date?)
    }

    func extend(_ subscription: TransactionID, byDays days: Int, as request: UUID) async throws -> Extension {
        do {
            let answer = try await client.extendRenewalDate(
                of: subscription,
                .init {
                    $0.extendByDays = days
                    $0.extendReasonCode = .customerSatisfaction
                    $0.requestIdentifier = request.uuidString
                })
            return .until(answer.effectiveDate)
        } catch let error as AppStoreServerAPIError where error.code == .subscriptionMaxExtension {
            return .noMore
        } catch let error as AppStoreServerAPIError where error.isRetryable {
            return .later(error.retryAfter)
        }
    }
}
