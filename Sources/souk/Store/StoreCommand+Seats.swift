import Foundation
import HTTPCore
import Primitives
import SimulatorControl
import StoreModel

extension StoreCommand {
    static let seats = [
        action("seats list ACCOUNT", "List the seats that an account bought for several, and who has them") {
            client, arguments in
            try await client.ask(
                .get, "/accounts/\(arguments.operands[0])/seats", as: StoreControlWire.SeatInfos.self, table)
        },
        action("seats set ACCOUNT PRODUCT COUNT", "Set the number of seats from the next period on") {
            client, arguments in
            guard let count = Int(arguments.operands[2]), (1...10_000).contains(count) else {
                throw UsageError("COUNT is a number from 1 to 10000, not \(arguments.operands[2].quoted)")
            }
            let body = StoreControlWire.SeatCount(productID: try product(arguments), count: count)
            return try await client.askForTransaction(.post, "/accounts/\(arguments.operands[0])/set-seats", body)
        },
        member("assign", "Give a member a seat"),
        member("remove", "Take a seat from a member"),
    ]

    private static func member(_ word: String, _ summary: String) -> Command {
        action("seats \(word) ACCOUNT PRODUCT MEMBER", summary) { client, arguments in
            let body = StoreControlWire.SeatMember(
                productID: try product(arguments), member: arguments.operands[2])
            let path: StorePath = "/accounts/\(arguments.operands[0])/\(word)-seat"
            return try await client.ask(.post, path, body, as: StoreControlWire.SeatInfos.self, table)
        }
    }

    private static func product(_ arguments: Arguments) throws -> ProductID {
        try Arguments.identifier(arguments.operands[1], called: "PRODUCT")
    }

    private static func table(_ infos: StoreControlWire.SeatInfos) -> TerminalText {
        StoreText.table(
            ["product", "subscription", "invitations", "seats", "free", "next period", "taken by"],
            infos.seats.map { seats in
                [
                    seats.productID.rawValue, seats.originalTransactionID.rawValue, seats.invitations,
                    "\(seats.total)", "\(seats.available)", seats.renewalCount.map { "\($0)" } ?? "–",
                    seats.taken.map { $0.account ?? $0.claimID ?? "–" }.joined(separator: ", "),
                ]
            })
    }
}
