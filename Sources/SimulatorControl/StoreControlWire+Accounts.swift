import Foundation
import StoreKitAdapter
import StoreModel

extension StoreControlWire {
    /// A customer of the store. In a request only what is to differ from a new account's: the catalogue's storefront, may
    /// pay, asks nobody. In an answer everything; `family` names the family the account belongs to.
    package struct Account: Codable, Sendable, Equatable {
        package var name: String
        /// The country's store, ISO 3166-1 alpha-3.
        package var storefront: String?
        package var canMakePayments: Bool?
        /// Every purchase waits for somebody's approval.
        package var askToBuy: Bool?
        /// Every purchase stops until the customer has settled something with the store.
        package var interruptedPurchases: Bool?
        package var family: String?

        package init(
            name: String, storefront: String? = nil, canMakePayments: Bool? = nil, askToBuy: Bool? = nil,
            interruptedPurchases: Bool? = nil, family: String? = nil
        ) {
            self.name = name
            self.storefront = storefront
            self.canMakePayments = canMakePayments
            self.askToBuy = askToBuy
            self.interruptedPurchases = interruptedPurchases
            self.family = family
        }
    }

    package struct Accounts: Codable, Sendable, Equatable {
        package var accounts: [Account]
        package init(accounts: [Account]) { self.accounts = accounts }
    }

    /// What to change of an account; what is absent stays.
    package struct AccountChange: Codable, Sendable, Equatable {
        package var storefront: String?
        package var canMakePayments: Bool?
        package var askToBuy: Bool?
        package var interruptedPurchases: Bool?

        package init(
            storefront: String? = nil, canMakePayments: Bool? = nil, askToBuy: Bool? = nil,
            interruptedPurchases: Bool? = nil
        ) {
            self.storefront = storefront
            self.canMakePayments = canMakePayments
            self.askToBuy = askToBuy
            self.interruptedPurchases = interruptedPurchases
        }
    }

    /// Accounts that share what the catalogue lets families share. The organizer is among the members.
    package struct Family: Codable, Sendable, Equatable {
        package var name: String
        package var organizer: String
        package var members: [String]
        package init(name: String, organizer: String, members: [String]) {
            self.name = name
            self.organizer = organizer
            self.members = members
        }
    }

    package struct Families: Codable, Sendable, Equatable {
        package var families: [Family]
        package init(families: [Family]) { self.families = families }
    }

    package struct NewFamily: Codable, Sendable, Equatable {
        package var name: String
        package var organizer: String
        package init(name: String, organizer: String) {
            self.name = name
            self.organizer = organizer
        }
    }

    /// An account by name: who joins a family, or whom a device is signed in to.
    package struct AccountReference: Codable, Sendable, Equatable {
        package var account: String
        package init(account: String) { self.account = account }
    }

    package struct Devices: Codable, Sendable, Equatable {
        package var devices: [StoreWire.Device]
        package init(devices: [StoreWire.Device]) { self.devices = devices }
    }
}
