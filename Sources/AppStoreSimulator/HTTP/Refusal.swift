import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// The HTTP form of an error: a status and a problem document.
struct Refusal {
    let response: HTTPResponse

    init(_ error: any Error) {
        response = Self.problem(error).response
    }

    private static func problem(_ error: any Error) -> HTTPProblem {
        switch error {
        case let error as SimulatorError:
            HTTPProblem(
                status: status(of: error.code), code: error.code.rawValue, title: "Refused", detail: error.reason)
        case let failure as StoreFailure:
            HTTPProblem(
                status: failure.code == .invalidProduct ? 404 : 422,
                code: failure.code.rawValue, title: "Not sold", detail: failure.reason)
        case let violation as WireSchema.Violation: malformed(violation.path, "it should be \(violation.rule)")
        case let error as JSONError: malformed([], "\(error)")
        case let error as DecodingError: malformed(error)
        case let error as HTTPError where error.code == .bodyTooLarge:
            HTTPProblem(status: 413, code: "tooLarge", title: "Too large", detail: error.reason)
        case let error as SQLError where error.code == .invalidValue:
            HTTPProblem(
                status: 400, code: SimulatorError.Code.malformed.rawValue, title: "Malformed",
                detail: "A string of the request contains U+0000, which the store cannot keep.")
        case let error as SQLError:
            HTTPProblem(
                status: 503, code: error.code == .closed ? "closed" : "storage", title: "Unavailable",
                detail: error.message, isRetryable: true)
        case is CancellationError:
            HTTPProblem(
                status: 503, code: "closed", title: "Unavailable", detail: "The request was cancelled.",
                isRetryable: true)
        default:
            HTTPProblem(status: 500, code: "internal", title: "Failed", detail: "The store failed: \(error)")
        }
    }

    static func status(of code: SimulatorError.Code) -> Int { statuses[code] ?? 500 }

    private static let statuses: [SimulatorError.Code: Int] = [
        .malformed: 400, .unknownAccount: 404, .unknownDevice: 404, .unknownTransaction: 404,
        .unknownSubscription: 404, .unknownProduct: 404, .unknownFamily: 404, .unknownMessage: 404,
        .unknownNotification: 404, .unknownPromotedPurchase: 404, .unknownOfferCodes: 404,
        .unknownPurchase: 404, .unknownSetting: 404, .accountExists: 409, .familyExists: 409, .inAnotherFamily: 409,
        .notInFamily: 409,
        .familyFull: 409, .alreadyRevoked: 409, .notRefunded: 409, .notPending: 409, .nothingToAnswer: 409,
        .notNow: 409, .otherBundle: 409, .unknownStorefront: 422, .otherGroup: 422, .invalidValue: 422,
        .tooManyTransactions: 422,
    ]

    private static func malformed(_ error: DecodingError) -> HTTPProblem {
        let (path, reason): ([any CodingKey], String) =
            switch error {
            case .keyNotFound(let key, let context): (context.codingPath + [key], "it is missing")
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                (context.codingPath, context.debugDescription)
            @unknown default: ([], "the body is invalid")
            }
        return malformed(path.map(\.stringValue), reason)
    }

    private static func malformed(_ path: [String], _ reason: String) -> HTTPProblem {
        let field = path.joined(separator: ".")
        let detail = field.isEmpty ? "The body is not the expected JSON: \(reason)." : "The field \(field): \(reason)."
        return HTTPProblem(
            status: 400, code: "malformed", title: "Malformed", detail: detail, field: field.isEmpty ? nil : field)
    }
}
