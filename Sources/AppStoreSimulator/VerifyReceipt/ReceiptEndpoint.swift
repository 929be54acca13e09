import HTTPCore
import StoreModel

/// Apple's `/verifyReceipt`. The HTTP status of every response is 200; the status of the receipt is in the
/// JSON. A request from a foreign host or site does not reach the endpoint, and gets 403.
///
/// The media type of the body is not checked, because many clients send JSON as a form. The request changes nothing,
/// and `SimulatedAppStore.handler` refuses requests of web pages.
struct ReceiptEndpoint: HTTPHandler {
    let store: SimulatedAppStore

    /// The environment of each path; `nil` means the one of the setting `verifyReceiptEnvironment`. Apple has a host
    /// per environment.
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
