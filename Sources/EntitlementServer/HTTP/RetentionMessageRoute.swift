import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The endpoint POST `/v1/retention-messages/app-store`, which Apple calls *Get Retention Message*: the App Store asks
/// which message to show to a customer who may cancel a subscription. It needs no key: the App Store signs the request.
///
/// The App Store waits for less than a second, and shows the default message after any other answer than a 200 with a
/// message. The endpoint reads the ledger at most once and writes nothing, so a repeated request has no effect.
struct RetentionMessageRoute: Sendable {
    /// A request of Apple has about 5 kB.
    private static let maximumBody = 64 << 10

    let ledger: Ledger
    let readers: [StoreReader]
    let messages: [BundleID: RetentionMessages]
    let realClock: any WallClock
    let randomBytes: @Sendable (Int) -> [UInt8]
    let metrics: ServerMetrics

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/retention-messages/app-store", "getRetentionMessage",
                "Choose the message for a customer who may cancel a subscription", tag: .retention,
                body: .init(.realtimeRequest), answer: .realtimeResponse, refusals: [422: Refusal.signedDataCodes],
                handler: .open(respond))
        ]
    }

    @Sendable private func respond(to call: Call) throws -> HTTPReply {
        call.later {
            let body = try await RequestBody.bytes(of: call.request, upTo: Self.maximumBody)
            guard let signed = try RequestBody.object(body)["signedPayload"]?.stringValue, !signed.isEmpty else {
                throw Refusal.invalid("signedPayload", "should be a string, the request as the store signed it")
            }
            let now = ledger.clock.now()
            let reader = try reader(of: signed)
            let request: RetentionRequest
            do { request = try await reader.retentionRequest(signed, at: now) } catch let error as SignedDataError {
                throw Refusal.rejected(RejectedTransaction(error, at: 0), field: "signedPayload")
            }
            var answer = RetentionRules.Answer.noMessage
            let messages = messages[reader.app]
            if let rule = try await rule(of: messages, for: request, app: reader.app, at: now) {
                call.ruleName?.withLock { $0 = rule.name }
                answer = rule.answer
            }
            let response = try messages?.response(
                answer, to: request, nonce: UUID(random: randomBytes(16)), at: realClock.now())
            metrics.retentionMessages.add(answer.kind)
            return HTTPResponse(json: response?.json ?? [:])
        }
    }

    private func rule(
        of messages: RetentionMessages?, for request: RetentionRequest, app: BundleID, at now: Date
    ) async throws -> RetentionRules.Rule? {
        guard let rules = messages?.rules else { return nil }
        let ledgerID = LedgerID(app: app, environment: request.environment)
        let history =
            rules.dependOnHistory(for: request)
            ? try await ledger.history(of: request.originalTransactionID, in: ledgerID) : nil
        return rules.rule(for: request, history, at: now)
    }

    /// Returns the reader of the request's app. A request names its app by the App Store's number. A request for an
    /// unknown app goes to any reader, which verifies it before refusing it.
    private func reader(of signed: String) throws -> StoreReader {
        let number = try? UnverifiedJWS(unverified: signed).unverifiedPayload["appAppleId"]?.intValue
        guard let reader = readers.first(where: { $0.appAppleID != nil && $0.appAppleID == number }) ?? readers.first
        else { throw Refusal.unavailable("This server serves no app.") }
        return reader
    }
}

extension UUID {
    /// Creates a UUID of version 4 from 16 random bytes (RFC 9562 section 5.4).
    init(random bytes: [UInt8]) {
        var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: bytes.prefix(16)) }
        value.6 = value.6 & 0x0F | 0x40
        value.8 = value.8 & 0x3F | 0x80
        self.init(uuid: value)
    }
}

extension Ledger {
    /// Returns the history of a subscription; `nil` if the ledger has no transaction of it.
    fileprivate func history(of original: TransactionID, in ledgerID: LedgerID) async throws -> SubscriptionHistory? {
        try await database.readAsync { [self] connection in
            var state = CustomerState()
            try transaction(connection, on: ledgerID).fold(original, into: &state)
            return SubscriptionHistory(of: original, in: state)
        }
    }
}
