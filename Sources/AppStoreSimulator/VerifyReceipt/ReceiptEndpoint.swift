import HTTPCore
import StoreModel

/// Apple's `/verifyReceipt`: whatever is asked, the HTTP status is 200 and the answer JSON with a status of its own.
///
/// The body may say that it is of any type: many of its clients send JSON as a form. It changes nothing, and the
/// gate of `SimulatedAppStore.handler` keeps web pages out.
struct ReceiptEndpoint: HTTPHandler {
    let store: SimulatedAppStore

    /// Whose address a path is; `nil`: whose the setting `verifyReceiptEnvironment` says. Apple has a host for each.
    static let paths: [String: AppStoreEnvironment?] = ["/verifyReceipt": nil, "/sandbox/verifyReceipt": .sandbox]

    func respond(to request: HTTPRequest) -> HTTPReply {
        guard request.method == .post else { return .ready(Self.response(VerifyReceiptAnswer(.notPost))) }
        return .suspended {
            guard let body = try? await request.body.collect(upTo: VerifyReceiptRequest.longestBody) else {
                return Self.response(VerifyReceiptAnswer(.malformed))
            }
            return Self.response(store.verifyReceipt(body, at: Self.paths[request.path] ?? nil))
        }
    }

    private static func response(_ answer: VerifyReceiptAnswer) -> HTTPResponse { HTTPResponse(json: answer.json) }
}
