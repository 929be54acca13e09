import Foundation
import StoreKitAdapter
import StoreModel

extension StoreControlWire {
    /// A customer account of the store.
    ///
    /// A request sets only the values that differ from the defaults. By default an account can make payments and has no
    /// family, and the settings of the store determine the other values. An answer has all values.
    public struct Account: Codable, Sendable, Equatable {
        /// The name of the account.
        public var name: String
        /// The ISO 3166-1 alpha-3 code of the storefront.
        public var storefront: String?
        /// Whether the account can make payments.
        public var canMakePayments: Bool?
        /// Whether every purchase waits for an approval.
        public var askToBuy: Bool?
        /// Whether every purchase stops until the customer completes an action at the store.
        public var interruptedPurchases: Bool?
        /// The name of the family of the account; `nil` if it has none.
        public var family: String?

        /// Creates an account.
        ///
        /// - Parameters:
        ///   - name: The name of the account.
        ///   - storefront: The ISO 3166-1 alpha-3 code of the storefront.
        ///   - canMakePayments: Whether the account can make payments.
        ///   - askToBuy: Whether every purchase waits for an approval.
        ///   - interruptedPurchases: Whether every purchase stops until the customer completes an action at the store.
        ///   - family: The name of the family of the account; `nil` if it has none.
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

    /// The changes of an account. Missing values remain unchanged.
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

    /// Accounts that share products through Family Sharing. The organizer is one of the members.
    public struct Family: Codable, Sendable, Equatable {
        /// The name of the family.
        public var name: String
        /// The account of the organizer.
        public var organizer: String
        /// The accounts of the members, including the organizer.
        public var members: [String]
        /// Creates a family.
        ///
        /// - Parameters:
        ///   - name: The name of the family.
        ///   - organizer: The account of the organizer.
        ///   - members: The accounts of the members, including the organizer.
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

    /// The name of an account that joins a family, or that a device signs in to.
    package struct AccountReference: Codable, Sendable, Equatable {
        package var account: String
        package init(account: String) { self.account = account }
    }

    package struct Devices: Codable, Sendable, Equatable {
        package var devices: [StoreWire.Device]
        package init(devices: [StoreWire.Device]) { self.devices = devices }
    }
}
