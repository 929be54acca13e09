import Foundation
import StoreKitAdapter
import StoreModel

/// Messages of the store to its customers.
extension SimulatedAppStore {
    /// Answers a message of the store on behalf of the customer.
    ///
    /// The message of a price increase is accepted or declined. If it is only shown, it stays open, so that a test can
    /// answer it with `answerPriceIncrease`. The messages of a billing issue and of a win-back offer are open until they
    /// are shown or declined, or until their reason ends.
    ///
    /// - Parameters:
    ///   - message: The id of the message.
    ///   - answer: The customer's answer.
    ///   - device: The device.
    /// - Throws: `SimulatorError` (`unknownDevice`, `unknownMessage`); `StoreFailure` (`unsupported`) for an answer
    ///   that the message does not allow; any `StoreFailure` that the settings inject.
    public func answer(
        _ message: StoreMessage.ID, with answer: StoreMessage.Answer, from device: DeviceID
    ) async throws {
        try await applyInjectedFaults(to: .messages)
        try await recordEvent({ try $0.existingDevice(device).account }) {
            [catalogue = configuration.catalogue] event in
            let states = try event.db.subscriptions(of: event.account.id).map(event.state)
            guard let open = OpenMessage.all(of: states, catalogue).first(where: { $0.message.id == message }),
                try event.db.answeredMessages(of: event.account.id)[message] == nil
            else { throw SimulatorError(.unknownMessage, "There is no open message \(message).") }
            switch (open.message.reason, answer) {
            case (.priceIncreaseConsent, .show): break
            case (.priceIncreaseConsent, .accept), (.priceIncreaseConsent, .decline):
                let isAccepted = answer == .accept
                if let record = StoreRules.answerPriceIncrease(open.state, isAccepted: isAccepted, at: event.now) {
                    try event.record([.subscription(record)])
                }
            case (_, .show), (_, .decline):
                try event.db.setAnswered(message, of: event.account.id, at: event.now)
            default:
                throw StoreFailure(
                    code: .unsupported,
                    reason: "The answer \(answer.rawValue) is not allowed for a message of the kind "
                        + "\(open.message.reason.rawValue); show or decline the message.")
            }
        }
    }
}

/// A message and the subscription that is its reason.
struct OpenMessage: Sendable {
    var message: StoreMessage
    var state: SubscriptionState

    /// Returns the messages that follow from the states of subscriptions, including answered ones.
    static func all(of states: [SubscriptionState], _ catalogue: Catalogue) -> [OpenMessage] {
        states.flatMap { state in reasons(state, catalogue).map { OpenMessage(state, $0, since: $1) } }
    }

    private init(_ state: SubscriptionState, _ reason: StoreMessage.Reason, since: Date) {
        self.state = state
        message = StoreMessage(
            id: "\(reason.rawValue)-\(state.record.originalID)-\(since.microseconds)", reason: reason,
            productID: state.current.plan.productID)
    }

    /// Returns the reasons for messages, and their instants. A shared subscription has none, because its owner pays.
    private static func reasons(_ state: SubscriptionState, _ catalogue: Catalogue) -> [(StoreMessage.Reason, Date)] {
        guard state.record.share == nil else { return [] }
        var reasons: [(StoreMessage.Reason, Date)] = []
        if let requested = state.increase?.consentRequestedAt, !state.hasConsented {
            reasons.append((.priceIncreaseConsent, requested))
        }
        if state.retryEnd != nil { reasons.append((.billingIssue, state.expiresDate)) }
        if let item = catalogue[state.current.plan.productID], !state.eligibleWinBackOffers(of: item).isEmpty {
            reasons.append((.winBackOffer, state.expiresDate))
        }
        return reasons
    }
}

extension SimulatorDatabase {
    /// The messages that an account has answered, and when.
    func answeredMessages(of account: Int64) throws -> [StoreMessage.ID: Date] {
        try sql.query("SELECT id, at FROM answered_message WHERE account = ?1", [.integer(account)])
            .reduce(into: [:]) { $0[try $1["id"]] = try $1.date("at") }
    }

    func setAnswered(_ message: StoreMessage.ID, of account: Int64, at now: Date) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO answered_message (account, id, at) VALUES (?1, ?2, ?3)",
            [.integer(account), .text(message), .integer(now.microseconds)])
    }
}
