import Foundation
import StoreKitAdapter
import StoreModel

/// What the store has to say to its customers.
extension SimulatedAppStore {
    /// What the customer said to a message of the store.
    ///
    /// A price increase is accepted or declined; shown, it stays open, because its answer is a tester's to give
    /// (`answerPriceIncrease`). A billing issue and a win-back offer are open until they are shown or declined, or until
    /// there is no more reason for them. Throws `unknownDevice`, `unknownMessage`, and `StoreFailure` `unsupported` for an
    /// answer that the message does not take.
    public func answer(
        _ message: StoreMessage.ID, with answer: StoreMessage.Answer, from device: DeviceID
    ) async throws {
        try await meet(.messages)
        try await enter({ try $0.known(device).account }) { [catalogue = configuration.catalogue] entry in
            let courses = try entry.books.subscriptions(of: entry.account.id).map(entry.course)
            guard let open = OpenMessage.all(of: courses, catalogue).first(where: { $0.message.id == message }),
                try entry.books.answeredMessages(of: entry.account.id)[message] == nil
            else { throw SimulatorError(.unknownMessage, "There is no open message \(message).") }
            switch (open.message.reason, answer) {
            case (.priceIncreaseConsent, .show): break
            case (.priceIncreaseConsent, .accept), (.priceIncreaseConsent, .decline):
                let isAccepted = answer == .accept
                if let record = StoreLife.answerPriceIncrease(open.course, isAccepted: isAccepted, at: entry.now) {
                    try entry.record([.subscription(record)])
                }
            case (_, .show), (_, .decline):
                try entry.books.setAnswered(message, of: entry.account.id, at: entry.now)
            default:
                throw StoreFailure(
                    code: .unsupported,
                    reason: "A message of the kind \(open.message.reason.rawValue) is not answered by "
                        + "\(answer.rawValue); show or decline it.")
            }
        }
    }
}

/// A message and the subscription that is the reason for it.
struct OpenMessage: Sendable {
    var message: StoreMessage
    var course: Course

    /// Those that follow from how subscriptions stand, whatever the customer has answered.
    static func all(of courses: [Course], _ catalogue: Catalogue) -> [OpenMessage] {
        courses.flatMap { course in reasons(course, catalogue).map { OpenMessage(course, $0, since: $1) } }
    }

    private init(_ course: Course, _ reason: StoreMessage.Reason, since: Date) {
        self.course = course
        message = StoreMessage(
            id: "\(reason.rawValue)-\(course.record.originalID)-\(since.microseconds)", reason: reason,
            productID: course.current.plan.productID)
    }

    private static func reasons(_ course: Course, _ catalogue: Catalogue) -> [(StoreMessage.Reason, Date)] {
        // What somebody else pays for is not this customer's to settle.
        guard course.record.share == nil else { return [] }
        var reasons: [(StoreMessage.Reason, Date)] = []
        if let asked = course.increase?.askedAt, !course.hasConsented { reasons.append((.priceIncreaseConsent, asked)) }
        if course.retryEnd != nil { reasons.append((.billingIssue, course.expiresDate)) }
        if course.status == .expired,
            catalogue[course.current.plan.productID]?.winBackOffers.contains(where: \.isEligible) == true
        {
            reasons.append((.winBackOffer, course.expiresDate))
        }
        return reasons
    }
}

extension Books {
    /// What an account's customer has put aside, and when.
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
