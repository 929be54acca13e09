import HTTPCore
import StoreModel

/// The endpoint GET `/v1/signing-keys`: the public keys of signed answers.
struct SigningKeysRoute: Sendable {
    let signer: AnswerSigner

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/v1/signing-keys", "getSigningKeys", "List the public keys of signed answers", tag: .server,
                answer: .signingKeys,
                handler: .open { _ in
                    .ready(
                        HTTPResponse(
                            status: 200, headers: ["Content-Type": "application/json"],
                            body: .bytes(try WireJSON.encode(signer.published))))
                })
        ]
    }
}
