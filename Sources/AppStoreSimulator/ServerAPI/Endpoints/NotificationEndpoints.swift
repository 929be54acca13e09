import AppStorePayloads
import Foundation
import Primitives
import HTTPCore
import StoreModel

extension ServerAPIEndpoints {
    /// The endpoints for test notifications and the notification history.
    static let notifications: [Endpoint<ServerAPIHandler>] = [
        action(.post, "/inApps/v1/notifications/test", "Request a Test Notification", rate: 1) { call in
            do {
                let token = try await call.store.requestTestNotification()
                return API.SendTestNotificationResponse { $0.testNotificationToken = token }
            } catch let error as SimulatorError where error.code == .notNow {
                throw API.ErrorCode.serverNotificationUrlNotFound
            }
        },
        get(
            "/inApps/v1/notifications/test/{testNotificationToken}", "Get Test Notification Status", rate: 1
        ) { call in
            let token = call.text("testNotificationToken")
            guard isTestToken(token) else { throw API.ErrorCode.invalidTestNotificationToken }
            guard let sent = try call.store.testNotification(token), !sent.results.isEmpty else {
                throw API.ErrorCode.testNotificationNotFound
            }
            return API.CheckTestNotificationResponse {
                $0.signedPayload = sent.signedPayload
                $0.sendAttempts = sent.results
                $0.firstSendAttemptResult = sent.results.first?.sendAttemptResult
            }
        },
        action(.post, "/inApps/v1/notifications/history", "Get Notification History", rate: 50) { call in
            try await history(call)
        },
    ]

    /// Whether a string has the form of a test notification token: a UUID and a time in milliseconds.
    private static func isTestToken(_ text: String) -> Bool {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        return parts.count == 2 && UUID(text: String(parts[0])) != nil && Int64(parts[1]) != nil
    }

    private static let pageSize = 20

    private static func history(_ call: ServerCall) async throws -> API.NotificationHistoryResponse {
        let token = try call.single("paginationToken", else: .invalidPaginationToken)
        let request = try await call.body(as: API.NotificationHistoryRequest.self)
        let validated = try NotificationHistoryQuery(request, at: call.store.clock.now())
        let tokens = PageTokens(subject: "\(call.store.summary.rootFingerprint) notifications \(validated.text)")
        var query = validated.query
        if let token {
            guard case .after(let position)? = tokens.place(of: token) else {
                throw API.ErrorCode.invalidPaginationToken
            }
            query.after = (Date(microseconds: position.at), position.number)
        }
        query.limit = pageSize + 1
        let found: [SentNotification]
        do {
            found = try call.store.notificationHistory(query)
        } catch let error as SimulatorError where error.code == .unknownTransaction {
            throw API.ErrorCode.transactionIdNotFound
        }
        let page = found.prefix(pageSize)
        let hasMore = found.count > page.count
        return API.NotificationHistoryResponse {
            $0.paginationToken = hasMore ? page.last.map { tokens.token(for: .after($0.position)) } : nil
            $0.hasMore = hasMore
            $0.notificationHistory = page.map { sent in
                .init {
                    $0.signedPayload = sent.signedPayload
                    $0.sendAttempts = sent.results
                    $0.firstSendAttemptResult = sent.results.first?.sendAttemptResult
                }
            }
        }
    }
}

extension SentNotification {
    fileprivate var position: ListPosition { ListPosition(at: at.microseconds, number: number) }

    /// The attempts with a result, oldest first.
    fileprivate var results: [AppStoreServerAPI.SendAttemptItem] {
        attempts.compactMap { attempt in
            attempt.result.map { result in
                .init {
                    $0.attemptDate = attempt.at
                    $0.sendAttemptResult = .init(rawValue: result)
                }
            }
        }
    }
}
