import SimulatorControl
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

extension StoreEndpoints {
    static let accounts: [Endpoint<StoreHandler>] = [
        endpoint(.get, "/control/v1/accounts", "accounts", "All accounts") { call in
            StoreControlWire.Accounts(accounts: try call.store.accountList())
        },
        endpoint(
            .post, "/control/v1/accounts", "createAccount", "A new account", taking: StoreControlWire.Account.self,
            status: 201, refusals: [.accountExists, .unknownStorefront]
        ) { call, body in
            let name = AccountName(unchecked: body.name)
            try await call.store.createAccount(
                name,
                with: StoreControlWire.AccountChange(
                    storefront: body.storefront, canMakePayments: body.canMakePayments, askToBuy: body.askToBuy,
                    interruptedPurchases: body.interruptedPurchases))
            return try call.store.account(name)
        },
        endpoint(.get, "/control/v1/accounts/{account}", "account", "Get an account with its settings") { call in
            try call.store.account(try call.account)
        },
        endpoint(
            .patch, "/control/v1/accounts/{account}", "changeAccount", "Change an account",
            taking: StoreControlWire.AccountChange.self, refusals: [.unknownStorefront]
        ) { call, change in try await call.store.change(try call.account, change) },
        endpoint(
            .post, "/control/v1/accounts/{account}/rescind-consent", "rescindConsent",
            "Withdraw a parent's consent to the account's use of the app, and notify the server"
        ) { call in
            try await call.store.rescindConsent(of: try call.account)
            return Nothing()
        },
    ]

    static let families: [Endpoint<StoreHandler>] = [
        endpoint(.get, "/control/v1/families", "families", "All families") { call in
            StoreControlWire.Families(families: try call.store.families())
        },
        endpoint(
            .post, "/control/v1/families", "createFamily", "Create a family with its organizer",
            taking: StoreControlWire.NewFamily.self, status: 201,
            refusals: [.familyExists, .unknownAccount, .inAnotherFamily]
        ) { call, body in
            try await call.store.createFamily(
                FamilyName(unchecked: body.name), organizer: AccountName(unchecked: body.organizer))
        },
        endpoint(
            .post, "/control/v1/families/{family}/members", "joinFamily",
            "Add an account to a family, and share purchases from now on",
            taking: StoreControlWire.AccountReference.self,
            refusals: [.unknownAccount, .inAnotherFamily, .familyFull]
        ) { call, body in try await call.store.join(try call.family, AccountName(unchecked: body.account)) },
        endpoint(
            .delete, "/control/v1/families/{family}/members/{member}", "leaveFamily",
            "Remove an account from a family and end its shares; without its organizer a family ends",
            refusals: [.notInFamily]
        ) { call in try await call.store.leave(try call.family, try call.member) },
    ]

    static let devices: [Endpoint<StoreHandler>] = [
        endpoint(
            .get, "/control/v1/accounts/{account}/devices", "devices", "The devices signed in to an account"
        ) { call in StoreControlWire.Devices(devices: try call.store.devices(of: try call.account)) },
        endpoint(
            .post, "/control/v1/accounts/{account}/devices", "signInDevice", "Sign a new device in to an account",
            status: 201
        ) { call in try await call.store.addDevice(to: try call.account) },
        endpoint(.delete, "/control/v1/devices/{device}", "signOut", "Sign a device out") { call in
            try await call.store.signOut(try call.device)
            return Nothing()
        },
        endpoint(
            .put, "/control/v1/devices/{device}/account", "switchAccount", "Sign a device in to another account",
            taking: StoreControlWire.AccountReference.self, refusals: [.unknownAccount]
        ) { call, body in
            try await call.store.switchAccount(of: try call.device, to: AccountName(unchecked: body.account))
            return try call.store.device(try call.device)
        },
        endpoint(
            .get, "/control/v1/devices/{device}/receipt", "receipt", "The app receipt of a device",
            refusals: [.tooManyTransactions]
        ) { call in try await receipt(call) },
    ]

    static func receipt(_ call: StoreCall) async throws -> StoreWire.Receipt {
        StoreWire.Receipt(receipt: Base64.encode(try await call.store.receipt(of: try call.device)))
    }
}
