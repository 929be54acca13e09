import SimulatorControl
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

extension StoreCommand {
    private static let accountOptions: [Command.Option] = [
        .init(name: "storefront", value: "C", help: "the storefront: USA, DEU, …"),
        .init(name: "payments", value: "on|off", help: "whether the account can pay"),
        .init(name: "ask-to-buy", value: "on|off", help: "whether every purchase waits for approval"),
        .init(
            name: "interrupted-purchases", value: "on|off",
            help: "whether every purchase is interrupted until it is resolved"),
    ]

    private static func change(_ arguments: Arguments) throws -> StoreControlWire.AccountChange {
        StoreControlWire.AccountChange(
            storefront: arguments.text("storefront"), canMakePayments: try arguments.onOff("payments"),
            askToBuy: try arguments.onOff("ask-to-buy"),
            interruptedPurchases: try arguments.onOff("interrupted-purchases"))
    }

    static let accounts = [
        action("account create NAME", "Create an account", options: accountOptions) { client, arguments in
            let change = try change(arguments)
            let account = StoreControlWire.Account(
                name: arguments.operands[0], storefront: change.storefront, canMakePayments: change.canMakePayments,
                askToBuy: change.askToBuy, interruptedPurchases: change.interruptedPurchases)
            return try await client.ask(.post, "/accounts", account, as: StoreControlWire.Account.self) {
                "account \($0.name) created"
            }
        },
        action("account list", "List all accounts") { client, _ in
            try await client.ask(.get, "/accounts", as: StoreControlWire.Accounts.self) {
                StoreText.table($0.accounts)
            }
        },
        action("account rescind-consent NAME", "Withdraw the parent's consent to the use of the app") {
            client, arguments in
            let name = arguments.operands[0]
            return try await client.ask(
                .post, "/accounts/\(name)/rescind-consent", text: "the consent for \(name) is withdrawn")
        },
        action("account show NAME", "Show an account") { client, arguments in
            try await client.ask(
                .get, "/accounts/\(arguments.operands[0])", as: StoreControlWire.Account.self
            ) { StoreText.table([$0]) }
        },
        action("account set NAME", "Change an account", options: accountOptions) { client, arguments in
            let change = try change(arguments)
            guard change != StoreControlWire.AccountChange() else {
                throw UsageError("account set changes nothing without an option; see souk store account set --help")
            }
            return try await client.ask(
                .patch, "/accounts/\(arguments.operands[0])", change, as: StoreControlWire.Account.self
            ) { StoreText.table([$0]) }
        },
    ]

    static let families = [
        action("family create NAME ORGANIZER", "Create a family with its organizer") { client, arguments in
            let family = StoreControlWire.NewFamily(name: arguments.operands[0], organizer: arguments.operands[1])
            return try await client.ask(
                .post, "/families", family, as: StoreControlWire.Family.self, StoreText.line)
        },
        action("family list", "List all families") { client, _ in
            try await client.ask(.get, "/families", as: StoreControlWire.Families.self) {
                StoreText.table(
                    ["family", "organizer", "members"],
                    $0.families.map { [$0.name, $0.organizer, $0.members.joined(separator: ", ")] })
            }
        },
        action("family join FAMILY ACCOUNT", "Add an account to a family") { client, arguments in
            try await client.ask(
                .post, "/families/\(arguments.operands[0])/members",
                StoreControlWire.AccountReference(account: arguments.operands[1]), as: StoreControlWire.Family.self,
                StoreText.line)
        },
        action("family leave FAMILY ACCOUNT", "Remove an account; a family ends with its organizer") {
            client, arguments in
            try await client.ask(
                .delete, "/families/\(arguments.operands[0])/members/\(arguments.operands[1])",
                as: StoreControlWire.Family.self, StoreText.line)
        },
    ]

    static let devices = [
        action("device list ACCOUNT", "List the devices that are signed in to an account") { client, arguments in
            try await client.ask(
                .get, "/accounts/\(arguments.operands[0])/devices", as: StoreControlWire.Devices.self
            ) { StoreText.table($0.devices) }
        },
        action("device sign-in ACCOUNT", "Sign in a new device to an account, and print its id") {
            client, arguments in
            try await client.ask(
                .post, "/accounts/\(arguments.operands[0])/devices", as: StoreWire.Device.self
            ) { StoreText.table([$0]) }
        },
        action("device sign-out DEVICE", "Sign out a device") { client, arguments in
            try await client.ask(.delete, "/devices/\(arguments.operands[0])", text: "signed out")
        },
        action("device switch DEVICE ACCOUNT", "Sign in a device to another account") { client, arguments in
            try await client.ask(
                .put, "/devices/\(arguments.operands[0])/account",
                StoreControlWire.AccountReference(account: arguments.operands[1]), as: StoreWire.Device.self
            ) { StoreText.table([$0]) }
        },
        action("device receipt DEVICE", "Print a device's app receipt in base64, for souk receipt inspect -") {
            client, arguments in
            try await client.ask(
                .get, "/devices/\(arguments.operands[0])/receipt", as: StoreWire.Receipt.self
            ) { "\($0.receipt)" }
        },
    ]
}

extension Arguments {
    /// The value of an option that is `on` or `off`.
    func onOff(_ name: String) throws -> Bool? {
        guard let text = text(name) else { return nil }
        switch text {
        case "on", "true", "yes": return true
        case "off", "false", "no": return false
        default: throw UsageError("--\(name) is on or off, not \(text.quoted)")
        }
    }

    func uuid(_ name: String) throws -> UUID? {
        try text(name).map { text in
            guard let uuid = UUID(text: text) else { throw UsageError("--\(name) is a UUID, not \(text.quoted)") }
            return uuid
        }
    }
}
