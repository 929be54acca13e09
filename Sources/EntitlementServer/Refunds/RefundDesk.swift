import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel

/// Answers the consumption requests of the App Store and the reviews of chargebacks at Google Play by the policy of each
/// app, within the time limit of the store.
///
/// A decision is stored before it is sent, and the result after it, each in one database transaction. So a crash loses
/// no answer, but can repeat one with the same content: Apple replaces the first one by it, and Google ignores it. After
/// a stored success nothing is sent again.
struct RefundDesk: Sendable {
    /// The policy and the clients of one ledger.
    struct Settings: Sendable {
        var policy: RefundPolicy?
        var client: AppStoreServerAPIClient?
        var play: GooglePlayClient?

        /// Whether an answer can be sent to a store.
        fileprivate func canSend(to source: PurchaseSource) -> Bool {
            source == .googlePlay ? play != nil : client != nil
        }
    }

    /// An answer that was claimed for an attempt.
    fileprivate struct Claimed: Sendable {
        let id: Int64
        let ledgerID: LedgerID
        let attempt: Int
        let transaction: TransactionID
        let content: Content

        enum Content: Sendable {
            case version1(JSONMembers)
            case version2(JSONMembers)
            /// The answer to a review of Google Play, with the token of the review.
            case review(JSONValue, token: String)
        }
    }

    /// A failed attempt.
    fileprivate struct Failure: Error {
        let status: Int?
        let reason: String
        /// Whether a later attempt can succeed.
        let mayPass: Bool
        var retryAfter: Date?
    }

    /// The result of handling one request.
    fileprivate enum Handled: Sendable {
        /// The request has a final state, without an attempt.
        case closed(RefundRequest.State)
        case claimed(Claimed)
        /// Another server has handled the request.
        case nothing
    }

    /// The time in seconds of real time after which another server may repeat an attempt without a result. It is longer
    /// than the retries of one call.
    static let lease: TimeInterval = 600
    private static let concurrentAttempts = 8
    /// The time before a deadline, in seconds, in which the metrics count a request as urgent.
    static let urgency: TimeInterval = 2 * 3600

    let ledger: Ledger
    let settings: [LedgerID: Settings]
    /// The pauses between calls, each of which has retries of its own.
    private let backoff = Backoff(attempts: .max, initial: .seconds(60), maximum: .seconds(1800))
    private let realClock: any WallClock
    private let random: @Sendable () -> Double
    private let answers: Counter

    /// - Parameter answers: Counts the results.
    init(_ configuration: EntitlementService.Configuration, _ ledger: Ledger, counting answers: Counter) {
        self.ledger = ledger
        var settings: [LedgerID: Settings] = [:]
        for app in configuration.apps {
            for environment in configuration.environments {
                settings[LedgerID(app: app.bundleID, environment: environment)] = Settings(
                    policy: app.refundPolicy, client: app.appStore[environment], play: app.googlePlay?.client)
            }
        }
        self.settings = settings
        realClock = configuration.realClock
        random = configuration.random
        self.answers = answers
    }

    // MARK: - The background job

    /// Handles the requests that are due, and returns whether there may be more. Throws the errors of the database.
    func step() async throws -> Bool {
        var (claimed, hasHandled): ([(answer: Claimed, settings: Settings)], Bool) = ([], false)
        for (ledgerID, settings) in settings {
            while claimed.count < Self.concurrentAttempts, let id = try due(in: ledgerID, settings) {
                let handled = try await handle(id, in: ledgerID, settings)
                if case .nothing = handled { break }
                hasHandled = true
                switch handled {
                case .closed(let state): answers.add(state.rawValue)
                case .claimed(let answer): claimed.append((answer, settings))
                case .nothing: break
                }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (answer, settings) in claimed { group.addTask { try await send(answer, settings) } }
            try await group.waitForAll()
        }
        return hasHandled
    }

    /// Returns a pending request that is due, or whose time has ended.
    private func due(in ledgerID: LedgerID, _ settings: Settings) throws -> Int64? {
        // Without a policy an operator decides, and without a client nothing can be sent.
        let cannotSend = settings.client == nil && settings.play == nil
        let canAct = settings.policy == nil ? (cannotSend ? "FALSE" : "body IS NOT NULL") : "TRUE"
        return try ledger.database.read { connection in
            try connection.first(
                """
                SELECT id FROM refund_request
                WHERE app = ?1 AND environment = ?2 AND state = 'pending'
                    AND (due_at <= ?3 AND \(canAct) OR \(RefundRequest.deadlineColumn) <= ?4)
                ORDER BY id LIMIT 1
                """,
                ledgerID.values + [
                    .integer(realClock.now().milliseconds), .integer(ledger.clock.now().milliseconds),
                ]
            ).map { try $0["id"] }
        }
    }

    /// Decides a request unless it is decided, and claims its answer for an attempt.
    private func handle(_ id: Int64, in ledgerID: LedgerID, _ settings: Settings) async throws -> Handled {
        let now = realClock.now()
        return try await ledger.database.write { connection in
            let transaction = ledger.transaction(connection, on: ledgerID)
            guard var request = try transaction.lockedRefundRequest(id), request.state == .pending,
                request.dueAt <= now || request.deadline <= transaction.now
            else { return .nothing }
            guard request.deadline > transaction.now else { return try transaction.close(request, as: .expired) }
            guard request.outcome == nil else {
                return try transaction.close(request, as: .silent, because: .alreadyDecided)
            }
            if request.source == .googlePlay, request.sealedReview == nil {
                // The customer was erased, so the token of the review cannot be read.
                return try transaction.close(request, as: .silent, because: .consentRefused)
            }
            if request.body == nil {
                guard let policy = settings.policy else { return .nothing }
                let decision = policy.decision(on: try transaction.refundCase(of: request))
                try transaction.keep(decision, by: .policy, on: request)
                if decision.request == nil { return try transaction.close(request, as: .silent) }
                if policy.isDryRun { return try transaction.close(request, as: .dryRun) }
                request = try transaction.refundRequest(id) ?? request
            }
            guard settings.canSend(to: request.source), let content = try transaction.content(of: request) else {
                // Looks again later, because a restarted server may have a client.
                try transaction.postpone(request, until: now.addingTimeInterval(Self.lease))
                return .nothing
            }
            let attempt = min(max(request.attempts, 0), .max - 1) + 1
            try transaction.claim(request, attempt: attempt, until: now.addingTimeInterval(Self.lease))
            return .claimed(
                Claimed(
                    id: id, ledgerID: ledgerID, attempt: attempt, transaction: request.transaction, content: content))
        }
    }

    /// Sends an answer and stores the result. If the task is cancelled, the result is unknown, and the attempt is
    /// repeated after the lease.
    private func send(_ claimed: Claimed, _ settings: Settings) async throws {
        let result: Result<Int, Failure>
        do {
            switch claimed.content {
            case .version1(let members):
                try await settings.client?.sendConsumptionInformationV1(
                    .init(unchecked: members), of: claimed.transaction)
                result = .success(202)
            case .version2(let members):
                try await settings.client?.sendConsumptionInformation(
                    .init(unchecked: members), of: claimed.transaction)
                result = .success(202)
            case .review(let answer, let token):
                try await settings.play?.reviewRefund(of: claimed.transaction.rawValue, answer, token: token)
                result = .success(200)
            }
        } catch let error as AppStoreServerAPIError {
            try Task.checkCancellation()
            result = .failure(Failure(error))
        } catch let error as GooglePlayFailure {
            try Task.checkCancellation()
            result = .failure(Failure(error, at: realClock.now()))
        }
        let now = realClock.now()
        let retryAt: Date? =
            if case .failure(let error) = result, error.mayPass {
                max(
                    now.addingTimeInterval(
                        (backoff.pause(after: claimed.attempt, asked: nil, spread: random()) ?? backoff.maximum)
                            / .seconds(1)),
                    error.retryAfter ?? .distantPast)
            } else {
                nil
            }
        let isStored = try await ledger.database.write { connection in
            let transaction = ledger.transaction(connection, on: claimed.ledgerID)
            return try transaction.finish(claimed.id, attempt: claimed.attempt, result, retryAt: retryAt)
        }
        guard isStored else { return }
        switch result {
        case .success: answers.add(RefundRequest.State.sent.rawValue)
        case .failure: answers.add(retryAt == nil ? RefundRequest.State.failed.rawValue : "retried")
        }
    }

    // MARK: - Operators

    /// An operator's answer to a request.
    struct ManualAnswer: Sendable {
        /// The answer; `nil` sends nothing.
        var answer: ConsumptionAnswer?
        /// Whether the operator states that the customer consented.
        var customerConsented = false
        var note: String
    }

    /// The reason why an operator's answer is refused.
    enum AnswerRefusal: Error {
        case unknown, closed, inProgress, consentRefused, consentUnknown, unsupported, notAcceptable, noClient
        case noGooglePlay
    }

    /// Replaces the decision on a request by an operator's, unless it was sent. The background job sends the answer.
    /// Throws `AnswerRefusal`.
    func answer(_ id: Int64, _ manual: ManualAnswer, _ transaction: LedgerTransaction) throws -> RefundRequest {
        let settings = settings[transaction.ledgerID] ?? Settings()
        guard let request = try transaction.lockedRefundRequest(id) else { throw AnswerRefusal.unknown }
        guard request.state != .sent, request.state != .expired, request.outcome == nil,
            request.deadline > transaction.now
        else { throw AnswerRefusal.closed }
        if request.isClaimed, request.dueAt > realClock.now() { throw AnswerRefusal.inProgress }
        var decision = RefundDecision(silence: .byOperator)
        if let answer = manual.answer {
            guard settings.canSend(to: request.source) else {
                throw request.source == .googlePlay ? AnswerRefusal.noGooglePlay : .noClient
            }
            // After an erasure, the token of the review cannot be read.
            if request.source == .googlePlay, request.sealedReview == nil { throw AnswerRefusal.consentRefused }
            let policy = settings.policy ?? RefundPolicy()
            let refund = try transaction.refundCase(of: request)
            switch policy.obstacle(to: refund, isVouchedFor: manual.customerConsented) {
            case .consentRefused?: throw AnswerRefusal.consentRefused
            case .consentUnknown?: throw AnswerRefusal.consentUnknown
            case _?: throw AnswerRefusal.unsupported
            case nil: break
            }
            let information = policy.request(answer, for: refund, isVouchedFor: manual.customerConsented)
            guard let information else { throw AnswerRefusal.notAcceptable }
            decision = RefundDecision(request: information)
        }
        try transaction.keep(decision, by: .operator, note: manual.note, on: request)
        if decision.request == nil { _ = try transaction.close(request, as: .silent) }
        return try transaction.refundRequest(id) ?? request
    }

    // MARK: - Metrics

    /// Returns the numbers of pending requests, and of those whose deadline is near.
    func pendingCounts() throws -> (pending: Int, urgent: Int) {
        let urgent = ledger.clock.now().addingTimeInterval(Self.urgency)
        return try ledger.database.read { connection in
            try settings.keys.reduce(into: (pending: 0, urgent: 0)) { counts, ledgerID in
                let row = try connection.first(
                    """
                    SELECT count(*) AS pending,
                        coalesce(sum(CASE WHEN \(RefundRequest.deadlineColumn) <= ?3 THEN 1 ELSE 0 END), 0) AS urgent
                    FROM refund_request WHERE app = ?1 AND environment = ?2 AND state = 'pending'
                    """, ledgerID.values + [.integer(urgent.milliseconds)])
                guard let row else { return }
                counts.pending += try row["pending"]
                counts.urgent += try row["urgent"]
            }
        }
    }
}

extension RefundDesk.Failure {
    /// A later call can succeed if the App Store was not reached, or if the key or the store may be repaired within the
    /// time limit. Any other refusal of the request is final.
    fileprivate init(_ error: AppStoreServerAPIError) {
        var mayPass = true
        if error.kind == .refused, !error.isRetryable, let status = error.status {
            mayPass = Self.mayPass(status)
        }
        self.init(status: error.status, reason: error.reason, mayPass: mayPass, retryAfter: error.retryAfter)
    }

    fileprivate init(_ failure: GooglePlayFailure, at now: Date) {
        let status = failure.error?.httpStatus
        self.init(
            status: status, reason: failure.reason,
            mayPass: failure.kind == .unavailable || failure.kind == .refused && status.map(Self.mayPass) ?? true,
            retryAfter: failure.retryAfter.map { now.addingTimeInterval($0) })
    }

    private static func mayPass(_ status: Int) -> Bool {
        !(400..<500).contains(status) || [401, 403, 408, 429].contains(status)
    }
}

/// The changes of a request's row.
extension LedgerTransaction {
    /// The author of a decision, by its wire name. The set is closed.
    enum RefundDecider: String, Sendable { case policy, `operator` }

    /// Stores a decision, and makes its answer due at once.
    fileprivate func keep(
        _ decision: RefundDecision, by decider: RefundDecider, note: String? = nil, on request: RefundRequest
    ) throws {
        try connection.perform(
            """
            UPDATE refund_request SET state = 'pending', due_at = 0, is_claimed = 0, decided_by = ?3, decided_at = ?4,
                rule = ?5, silence = ?6, note = ?7, version = ?8, body = ?9, status = NULL, error = NULL
            WHERE app = ?1 AND environment = ?2 AND id = ?10
            """,
            values(
                .text(decider.rawValue), .integer(now.milliseconds), SQLValue(decision.rule),
                SQLValue(decision.silence?.rawValue), SQLValue(note), SQLValue(decision.request?.version),
                SQLValue(decision.request?.body.text()), .integer(request.id)))
    }

    /// Gives a request its final state.
    fileprivate func close(
        _ request: RefundRequest, as state: RefundRequest.State, because silence: RefundDecision.Silence? = nil
    ) throws -> RefundDesk.Handled {
        try connection.perform(
            """
            UPDATE refund_request SET state = ?3, is_claimed = 0, silence = coalesce(?4, silence)
            WHERE app = ?1 AND environment = ?2 AND id = ?5
            """, values(.text(state.rawValue), SQLValue(silence?.rawValue), .integer(request.id)))
        return .closed(state)
    }

    /// Returns the content of a decided request; `nil` for damaged rows.
    fileprivate func content(of request: RefundRequest) throws -> RefundDesk.Claimed.Content? {
        guard let body = request.body, case .object(let members) = body else { return nil }
        switch (request.source, request.version) {
        case (.googlePlay, _): return try reviewToken(of: request).map { .review(body, token: $0) }
        case (_, 1?): return .version1(members)
        case (_, 2?): return .version2(members)
        default: return nil
        }
    }

    fileprivate func postpone(_ request: RefundRequest, until due: Date) throws {
        try connection.perform(
            "UPDATE refund_request SET due_at = ?3 WHERE app = ?1 AND environment = ?2 AND id = ?4",
            values(.integer(due.milliseconds), .integer(request.id)))
    }

    /// Claims a request for an attempt, until another server may repeat it.
    fileprivate func claim(_ request: RefundRequest, attempt: Int, until lease: Date) throws {
        try connection.perform(
            """
            UPDATE refund_request SET attempts = ?3, due_at = ?4, is_claimed = 1
            WHERE app = ?1 AND environment = ?2 AND id = ?5
            """, values(.integer(Int64(attempt)), .integer(lease.milliseconds), .integer(request.id)))
    }

    /// Stores the result of an attempt, unless another server has claimed the request since.
    fileprivate func finish(
        _ id: Int64, attempt: Int, _ result: Result<Int, RefundDesk.Failure>, retryAt: Date?
    ) throws -> Bool {
        let (state, status, error): (RefundRequest.State, Int?, String?) =
            switch result {
            case .success(let status): (.sent, status, nil)
            case .failure(let failure): (retryAt == nil ? .failed : .pending, failure.status, failure.reason)
            }
        return try connection.execute(
            """
            UPDATE refund_request SET state = ?3, is_claimed = 0, due_at = ?4, status = ?5, error = ?6, answered_at = ?7
            WHERE app = ?1 AND environment = ?2 AND id = ?8 AND attempts = ?9 AND is_claimed = 1 AND state = 'pending'
            """,
            values(
                .text(state.rawValue), .integer(retryAt?.milliseconds ?? 0), SQLValue(status), SQLValue(error),
                SQLValue(state == .sent ? now.milliseconds : nil as Int64?), .integer(id), .integer(Int64(attempt))))
            > 0
    }
}
