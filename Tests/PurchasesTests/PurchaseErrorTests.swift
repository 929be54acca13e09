import Foundation
import Purchases
import Testing

@Suite struct PurchaseErrorTests {
    @Test(arguments: [
        PurchaseError.Code.notSetUp, .alreadySetUp, .noSuitablePlugin, .noUserId, .cancelledByUser,
        .webPaymentsNotSupported, .invalidKey, .notAllowed, .acknowledgementPending, .unreachable, .timedOut,
        .rateLimited, .serverError, .validationError, .protocolError, .decodingError, .unsupported, .storageFailed,
        .storageCorrupt,
    ])
    func `an error without a given reason has a sentence`(code: PurchaseError.Code) {
        let error = PurchaseError(code)
        #expect(error.reason.hasSuffix(".") && !error.reason.contains(code.rawValue + "."))
        #expect(error.isRetryable == [.unreachable, .timedOut, .rateLimited, .serverError].contains(code))
        #expect("\(error)" == error.reason)
    }

    @Test func `a customer gets the sentence of the table, or the developer's sentence without one`() {
        let error: any Error = PurchaseError(.unreachable, "GET https://a.example/v1: no route to host.")
        #expect(error.localizedDescription == CustomerSentences.english["souk.error.unreachable"])
        #expect("\(error)" == "GET https://a.example/v1: no route to host.")
        let unknown = PurchaseError(.init(rawValue: "kioskClosed"), "The kiosk is closed.")
        #expect(unknown.errorDescription == "The kiosk is closed.")
    }

    @Test func `a plugin may bring codes of its own`() {
        let error = PurchaseError(.init(rawValue: "kioskClosed"), isRetryable: true)
        #expect(error.reason.contains("kioskClosed"))
        #expect(error.isRetryable)
    }

    @Test func `errors compare by code`() {
        #expect(PurchaseError(.noUserId, "One.") == PurchaseError(.noUserId, "Another.", underlying: Refusal()))
        #expect(PurchaseError(.noUserId) != PurchaseError(.notSetUp))
    }
}
