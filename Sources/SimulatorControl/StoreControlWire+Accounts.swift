import Foundation
import StoreKitAdapter
import StoreModel

extension StoreControlWire {
    /// A customer of the store. In a request only what is to differ from a new account's: the catalogue's storefront, may
    /// pay, asks nobody. In an answer everything; `family` names the family the account belongs to.
    public struct Account: Codable, Sendable, Equatable {
        public var name: String
        /// The country's store, ISO 3166-1 alpha-3.
        public var storefront: String?
        public var canMakePayments: Bool?
        /// Every purchase waits for somebody's approval.
        public var askToBuy: Bool?
        /// Every purchase stops until the customer has settled something with the store.
        public var interruptedPurchases: Bool?
        public var family: String?

        public init(
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
    public struct Family: Codable, Sendable, Equatable {
        public var name: String
        public var organizer: String
        public var members: [String]
        public init(name: String, organizer: String, members: [String]) {
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
