import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

/// `souk store`: drives a running App Store simulator.
enum StoreCommand {
    static let command = Command(
        words: ["store"], summary: "drive a running App Store simulator",
        operands: ["ACTION…"],
        options: [
            .init(name: "url", value: "U", help: "where the simulator listens, as souk simulate prints it"),
            .init(name: "quantity", value: "N", help: "buy: 1 to 10 of a consumable"),
            .init(name: "offer", value: "ID", help: "buy: a promotional offer"),
            .init(name: "app-account-token", value: "UUID", help: "buy: the customer the purchase is bound to"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: Command.table(
            "Actions",
            actions.map { ($0.usage, $0.summary) }
                + [("…", "renew, refund, revoke, fail-billing, resolve-billing, ask-to-buy, settings: not built yet")])
    ) { arguments in
        guard let action = actions.first(where: { arguments.operands.starts(with: $0.words) }) else {
            if let first = arguments.operands.first, notBuilt.contains(first) {
                throw Failure("\(first) is not built yet: the simulator answers unsupported")
            }
            throw Misuse(
                "souk store has no action \"\(arguments.operands.joined(separator: " "))\"; see souk store --help")
        }
        let operands = Array(arguments.operands.dropFirst(action.words.count))
        guard operands.count == action.operands.count else {
            throw Misuse("the form is souk store --url U \(action.usage)")
        }
        let url = try arguments.required("url")
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw Misuse("--url is an http or https URL, not \"\(url)\"")
        }
        let client = ServiceClient(url: (url.hasSuffix("/") ? String(url.dropLast()) : url) + "/control/v1")
        let (json, text) = try await action.run(client, operands, arguments)
        if arguments.has("json") { Terminal.print(json: json) } else { Terminal.print(text) }
        return .success
    }

    private struct Action: Sendable {
        let words: [String]
        let operands: [String]
        let summary: String
        let run: @Sendable (ServiceClient, [String], Arguments) async throws -> (JSONValue, String)

        var usage: String { (words + operands).joined(separator: " ") }
    }

    private static let notBuilt: Set<String> = [
        "renew", "refund", "revoke", "fail-billing", "resolve-billing", "ask-to-buy", "settings",
    ]

    private static let actions = [
        Action(words: ["account", "create"], operands: ["NAME"], summary: "a new account") { client, operands, _ in
            let account = try await client.ask(
                .post, "/accounts", StoreControlWire.Account(name: operands[0]), as: StoreControlWire.Account.self)
            return (try json(account), "account \(account.name) created")
        },
        Action(words: ["account", "list"], operands: [], summary: "all accounts") { client, _, _ in
            let all = try await client.ask(.get, "/accounts", as: StoreControlWire.Accounts.self)
            return (try json(all), all.accounts.map(\.name).joined(separator: "\n"))
        },
        Action(words: ["products"], operands: [], summary: "what the store sells") { client, _, _ in
            let answer = try await client.ask(.get, "/products", as: ProductAnswer.self)
            let rows = answer.products.map {
                ($0.id.rawValue, "\($0.displayPrice)  \($0.kind.rawValue)  \($0.displayName)")
            }
            return (try json(answer), table(rows))
        },
        Action(words: ["buy"], operands: ["ACCOUNT", "PRODUCT"], summary: "buy as that account") {
            client, operands, arguments in
            let token = try arguments.text("app-account-token").map { text in
                guard let uuid = UUID(uuidString: text) else {
                    throw Misuse("--app-account-token is a UUID, not \"\(text)\"")
                }
                return uuid
            }
            let buy = StoreControlWire.Buy(
                productID: try product(operands[1]), quantity: try arguments.integer("quantity", in: 1...10),
                offerID: arguments.text("offer"), appAccountToken: token)
            let bought = try await client.ask(
                .post, "/accounts/\(segment(operands[0]))/buy", buy, as: StoreControlWire.Transaction.self)
            return (try json(bought), "transaction \(bought.transactionID) of \(bought.productID): \(bought.state)")
        },
        Action(words: ["cancel"], operands: ["ACCOUNT", "PRODUCT"], summary: "turn renewal off") {
            client, operands, _ in
            let latest = try await client.ask(
                .post, "/accounts/\(segment(operands[0]))/cancel",
                StoreControlWire.Cancel(productID: try product(operands[1])), as: StoreControlWire.Transaction.self)
            return (try json(latest), "\(latest.productID) will not renew")
        },
        Action(words: ["advance"], operands: ["DURATION"], summary: "let virtual time pass: 90s, 6h, 40d, P1M") {
            client, operands, _ in
            let state = try await client.ask(
                .post, "/clock/advance", StoreControlWire.Advance(period: try Arguments.period(operands[0])),
                as: StoreControlWire.ClockState.self)
            return (try json(state), "it is now \(RFC3339.string(from: state.now))")
        },
        Action(words: ["transactions"], operands: ["ACCOUNT"], summary: "its transactions, newest last") {
            client, operands, _ in
            let all = try await client.ask(
                .get, "/accounts/\(segment(operands[0]))/transactions", as: StoreControlWire.Transactions.self)
            return (
                try json(all),
                table(all.transactions.map { ($0.transactionID.rawValue, "\($0.state)  \($0.productID)") })
            )
        },
    ]

    private static func json(_ value: some Encodable) throws -> JSONValue {
        try JSONValue(parsing: try WireJSON.encode(value))
    }

    private static func segment(_ text: String) -> String { PercentEncoding.encode(text) }

    private static func product(_ text: String) throws -> ProductID {
        try Arguments.identifier(text, called: "PRODUCT")
    }

    private static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { "\($0.0.padding(toLength: width, withPad: " ", startingAt: 0))  \($0.1)" }
            .joined(separator: "\n")
    }
}
