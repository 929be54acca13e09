import Foundation
import HTTPCore
import SQLStorage
import SignedData
import StoreModel

/// A refused request, as the problem that its sender receives.
struct Refusal: Error {
    var problem: HTTPProblem
    var headers: HTTPHeaders = [:]

    var response: HTTPResponse {
        var response = problem.response
        for field in headers { response.headers.add(field.name, field.value) }
        return response
    }

    init(_ problem: HTTPProblem, headers: HTTPHeaders = [:]) {
        self.problem = problem
        self.headers = headers
    }
}

extension Refusal {
    /// The title for malformed requests and malformed signed data: a type of problem has one title (RFC 9457 section
    /// 3.1.3).
    private static let malformedTitle = "Malformed"

    static func malformed(_ detail: String, field: String? = nil) -> Refusal {
        Refusal(HTTPProblem(status: 400, code: "malformed", title: malformedTitle, detail: detail, field: field))
    }

    static func invalid(_ field: String, _ reason: String) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 400, code: "invalid_field", title: "Invalid field", detail: "\(field) \(reason).", field: field)
        )
    }

    static let missingKey = Refusal(
        HTTPProblem(
            status: 401, code: "missing_key", title: "API key missing",
            detail: "Send the app's key as \"Authorization: Bearer <key>\".", field: "Authorization"),
        headers: ["WWW-Authenticate": "Bearer"])

    static let unknownKey = Refusal(
        HTTPProblem(
            status: 401, code: "unknown_key", title: "API key unknown",
            detail: "The API key is unknown or revoked.", field: "Authorization"),
        headers: ["WWW-Authenticate": "Bearer error=\"invalid_token\""])

    static let secretKeyRequired = Refusal(
        HTTPProblem(
            status: 403, code: "secret_key_required", title: "Secret key required",
            detail: "This endpoint requires the app's secret key; call it from your own server.",
            field: "Authorization"))

    static let missingCustomerToken = Refusal(
        HTTPProblem(
            status: 401, code: "missing_customer_token", title: "Customer token missing",
            detail:
                "With a public key this endpoint also requires the customer's token, which your server gets with the secret key.",
            field: Authenticator.customerToken))

    static let unknownCustomerToken = Refusal(
        HTTPProblem(
            status: 401, code: "unknown_customer_token", title: "Customer token unknown",
            detail: "The customer token was not issued for this app.", field: Authenticator.customerToken))

    static let customerTokenExpired = Refusal(
        HTTPProblem(
            status: 401, code: "customer_token_expired", title: "Customer token expired",
            detail: "The customer token has expired; get a new one from your server.",
            field: Authenticator.customerToken))

    static let anothersToken = Refusal(
        HTTPProblem(
            status: 403, code: "another_customer", title: "Another customer's token",
            detail: "The customer token belongs to another customer than the one in the request.",
            field: Authenticator.customerToken)
    )

    static let appNotServed = Refusal(
        HTTPProblem(
            status: 403, code: "app_not_served", title: "App not served",
            detail: "The key belongs to an app that this server was not started for.", field: "Authorization"))

    static func tooLarge(_ limit: Int) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 413, code: "body_too_large", title: "Body too large",
                detail: "The body is longer than the \(limit) bytes allowed."))
    }

    static let idempotencyMismatch = Refusal(
        HTTPProblem(
            status: 422, code: "idempotency_mismatch", title: "Idempotency key used before",
            detail:
                "The idempotency key was used for another request within the last 24 hours; use a new one for each request.",
            field: "Idempotency-Key"))

    /// The size of stored answers is limited, because a sender can get many different answers without new data, by
    /// presenting the same data in another order.
    static let tooManyAnswers = Refusal(
        HTTPProblem(
            status: 429, code: "rate_limited", title: "Too many requests",
            detail: """
                Too many different answers are stored for this customer's idempotency keys. Repeat the request \
                tomorrow, or without an Idempotency-Key.
                """), headers: ["Retry-After": "3600"])

    static let idempotencyInProgress = Refusal(
        HTTPProblem(
            status: 409, code: "idempotency_in_progress", title: "Request in progress",
            detail: "The first request with this key is still in progress; repeat it in a moment.",
            field: "Idempotency-Key", isRetryable: true),
        headers: ["Retry-After": "1"])

    /// Refuses a request whose only signed data was rejected.
    static func rejected(_ rejected: RejectedTransaction, field: String) -> Refusal {
        let isMalformed = rejected.code == SignedDataError.Code.malformed.rawValue
        return Refusal(
            HTTPProblem(
                status: 422, code: rejected.code, title: isMalformed ? malformedTitle : "Not accepted",
                detail: rejected.detail, field: field, isRetryable: rejected.retryable))
    }

    /// Failures of the ledger that end by themselves, or that an operator can end.
    private static let temporaryFailures: Set<SQLError.Code> = [
        .busy, .conflict, .connectionLost, .cannotOpen, .notADatabase, .readOnly, .storageFull, .storageFailed, .closed,
    ]

    /// Converts a failure of the server. The message of the database is not sent.
    static func failure(_ error: any Error) -> Refusal {
        if let refusal = error as? Refusal { return refusal }
        if case Ledger.CustomerRefusal.erased = error { return customerErased }
        if error is CancellationError { return unavailable("The request was cancelled before it was finished.") }
        if let error = error as? SQLError, temporaryFailures.contains(error.code) {
            return unavailable("The ledger is unavailable at the moment; nothing was changed. Try again.")
        }
        if let error = error as? SQLError, error.code == .outcomeUnknown {
            return unavailable(
                """
                The connection to the ledger was lost during the commit: the request may have been executed. Send it \
                again.
                """
            )
        }
        if let error = error as? SQLError, error.code == .invalidValue {
            return malformed("A string in the request contains U+0000, or is too long to be stored.")
        }
        return Refusal(
            HTTPProblem(
                status: 500, code: "internal", title: "Internal error",
                detail: "The server failed; nothing was changed. Report the request id to its operator.",
                isRetryable: true))
    }

    /// - Parameter retryAfter: The seconds until the next request.
    static func unavailable(_ detail: String, retryAfter: Int = 1) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 503, code: "unavailable", title: "Unavailable", detail: detail, isRetryable: true),
            headers: ["Retry-After": String(max(1, retryAfter))])
    }
}
