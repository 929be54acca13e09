import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The endpoints of `/v1/webhook-deliveries`: the list of deliveries, and their replay.
struct DeliveriesRoutes: Sendable {
    /// The largest number of deliveries that one transaction replays.
    private static let batch = 500

    let ledger: Ledger
    let changes: ChangeSignal
    let idempotent: IdempotentRequests
    let realClock: any WallClock

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/v1/webhook-deliveries", "getWebhookDeliveries", "List webhook deliveries, newest first",
                tag: .changes,
                parameters: [
                    .init(
                        "state", in: .query, .choice(["pending", "delivered", "dead"]),
                        "the state of the deliveries; all if absent")
                ]
                    + .page, answer: .deliveries, handler: .authorized(.secretKey, list)),
            Endpoint(
                .post, "/v1/webhook-deliveries/replay", "replayDeadWebhookDeliveries", "Repeat all dead deliveries",
                tag: .changes, answer: .replayed, isIdempotent: true, handler: .authorized(.secretKey, replayDead)),
            Endpoint(
                .post, "/v1/webhook-deliveries/{id}/replay", "replayWebhookDelivery", "Repeat a delivery",
                tag: .changes,
                answer: .delivery, refusals: [404: ["no_such_delivery"], 409: ["delivery_pending"]],
                isIdempotent: true, handler: .authorized(.secretKey, replay)),
        ]
    }

    @Sendable private func list(_ context: RequestContext) throws -> HTTPReply {
        let page = try context.page()
        let states = try page.query["state"].map { text in
            guard let state = DeliveryList.State(rawValue: text) else {
                throw Refusal.invalid("state", "should be pending, delivered or dead")
            }
            return [state]
        }
        let cursor = page.cursor.map { Int64(digits: $0) ?? 0 } ?? .max
        guard cursor > 0 else { throw Refusal.unknownCursor }
        let rows = try ledger.database.read { connection in
            try DeliveryList(connection: connection, ledgerID: context.ledgerID).page(
                states ?? DeliveryList.State.allCases, before: cursor, limit: page.limit + 1)
        }
        var answer: JSONValue = ["deliveries": .array(try rows.prefix(page.limit).map(DeliveryList.json))]
        if rows.count > page.limit, let last = rows.prefix(page.limit).last {
            let id: Int64 = try last["id"]
            answer["nextCursor"] = .string(String(id))
        }
        return .ready(HTTPResponse(json: answer))
    }

    @Sendable private func replay(_ context: RequestContext) throws -> HTTPReply {
        guard let id = Int64(digits: context.path["id"]) else { throw Refusal.noSuchDelivery }
        return context.later {
            try await idempotent.respond(to: context, body: [], namesCustomer: false) { request in
                let now = realClock.now()
                return try await ledger.write(once: request) { connection, outcome in
                    let list = DeliveryList(connection: connection, ledgerID: context.ledgerID)
                    guard let row = try list.delivery(id) else { throw Refusal.noSuchDelivery }
                    guard try DeliveryList.state(of: row) != .pending else { throw Refusal.deliveryPending }
                    try list.replay(row, at: now)
                    guard let replayed = try list.delivery(id) else { throw Refusal.noSuchDelivery }
                    outcome.subject = CustomerID(unchecked: try replayed["customer"])
                    return KeptAnswer(json: try DeliveryList.json(replayed))
                }
            }
        }
    }

    @Sendable private func replayDead(_ context: RequestContext) throws -> HTTPReply {
        context.later {
            try await idempotent.respond(to: context, body: [], namesCustomer: false) { request in
                let now = realClock.now()
                var count = 0
                while true {
                    let replayed = try await ledger.database.write { connection in
                        let list = DeliveryList(connection: connection, ledgerID: context.ledgerID)
                        let dead = try list.dead(limit: Self.batch)
                        for row in dead { try list.replay(row, at: now) }
                        return dead.count
                    }
                    count += replayed
                    if replayed < Self.batch { break }
                }
                changes.send()
                let answer = KeptAnswer(json: ["replayed": .number(count)])
                if let request { try await ledger.database.write { try request.keep(answer, $0) } }
                return answer
            }
        }
    }
}

extension KeptAnswer {
    fileprivate init(json: JSONValue) {
        self.init(status: 200, contentType: "application/json", body: json.encoded())
    }
}

extension Refusal {
    fileprivate static let noSuchDelivery = Refusal(
        HTTPProblem(
            status: 404, code: "no_such_delivery", title: "No such delivery",
            detail: "No delivery of this app and environment has this id; old ones are not kept.", field: "id"))

    fileprivate static let deliveryPending = Refusal(
        HTTPProblem(
            status: 409, code: "delivery_pending", title: "Delivery pending",
            detail: "The delivery is still pending; the server attempts it by itself.", field: "id"))
}
