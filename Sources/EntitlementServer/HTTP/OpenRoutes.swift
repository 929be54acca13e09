import HTTPCore
import Primitives
import StoreModel

/// The endpoints `/healthz` and `/readyz`, for monitoring and load balancers.
struct OpenRoutes: Sendable {
    let readiness: Readiness

    /// The values of `?for=`.
    enum Need: String, CaseIterable { case reads, writes }

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/healthz", "getHealth", "Check whether the server is alive", tag: .server, answer: .status,
                handler: .open { _ in .ready(HTTPResponse(json: ["status": "ok"])) }),
            Endpoint(
                .get, "/readyz", "getReadiness", "Check whether the server can read and write its ledger", tag: .server,
                parameters: [
                    .init(
                        "for", in: .query, .choice(Need.allCases.map(\.rawValue)),
                        "what must work; the default is `reads`")
                ], answer: .readiness, handler: .open(ready)),
        ]
    }

    /// Returns a 200 while the ledger can be read; with `?for=writes`, while it can also be written.
    @Sendable private func ready(_ call: Call) throws -> HTTPReply {
        guard let query = call.request.query else { throw Refusal.malformedQuery }
        let need = try query["for"].map { text in
            guard let need = Need(rawValue: text) else { throw Refusal.invalid("for", "should be reads or writes") }
            return need
        }
        return call.later {
            let finding = try await readiness.finding()
            guard finding.reads else { throw Refusal.unavailable("The ledger cannot be read.") }
            guard finding.writes || need != .writes else { throw Refusal.unavailable("The ledger cannot be written.") }
            var answer: JSONValue = [
                "status": "ready", "reads": .bool(finding.reads), "writes": .bool(finding.writes),
            ]
            if let replication = finding.replication { answer["replication"] = .string(replication.rawValue) }
            if let staleness = finding.staleness { answer["standby"] = ["staleness": .number(staleness)] }
            return HTTPResponse(json: answer)
        }
    }
}
