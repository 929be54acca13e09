import HTTPCore
import StoreModel

/// GET `/v1/signing-keys`: with which keys signed answers are to be checked.
struct SigningKeysRoute: Sendable {
    let signer: AnswerSigner

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/v1/signing-keys", "getSigningKeys", "The public keys of signed answers", tag: .server,
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
