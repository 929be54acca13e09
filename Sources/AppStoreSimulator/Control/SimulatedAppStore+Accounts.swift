import Foundation
import StoreKitAdapter
import StoreModel

/// Who shops: accounts, their families and their devices.
extension SimulatedAppStore {
    /// Throws `accountExists`, `unknownStorefront`.
    public func createAccount(_ name: AccountName, with options: StoreControlWire.AccountChange) async throws {
        guard options == StoreControlWire.AccountChange() else { throw Self.unbuilt("An account of its own settings") }
        try await createAccount(name)
    }

    /// An account with everything that is set for it. Throws `unknownAccount`.
    public func account(_ name: AccountName) throws -> StoreControlWire.Account {
        guard let account = try accountList().first(where: { $0.name == name.rawValue }) else {
            throw SimulatorError(.unknownAccount, "There is no account \(name); create it first.")
        }
        return account
    }

    /// All accounts in the order of their names.
    public func accountList() throws -> [StoreControlWire.Account] {
        try accounts().sorted().map {
            StoreControlWire.Account(
                name: $0.rawValue, storefront: configuration.catalogue.storefront.countryCode, canMakePayments: true,
                askToBuy: false, interruptedPurchases: false)
        }
    }

    /// Changes what is set for an account; its devices hear of another storefront. Returns it as it is then.
    ///
    /// Throws `unknownAccount`, `unknownStorefront`.
    @discardableResult
    public func change(
        _ account: AccountName, _ change: StoreControlWire.AccountChange
    ) async throws -> StoreControlWire.Account {
        throw Self.unbuilt("Changing an account")
    }

    // MARK: - Families

    /// A family with its organizer as the first member. Throws `familyExists`, `unknownAccount`, `inAnotherFamily`.
    @discardableResult
    public func createFamily(_ name: FamilyName, organizer: AccountName) async throws -> StoreControlWire.Family {
        throw Self.unbuilt("Family sharing")
    }

    /// All families in the order of their names.
    public func families() throws -> [StoreControlWire.Family] { throw Self.unbuilt("Family sharing") }

    /// The account shares with the family, and has what the others share, from now on.
    ///
    /// Throws `unknownFamily`, `unknownAccount`, `inAnotherFamily`, `familyFull` (six are a family).
    @discardableResult
    public func join(_ family: FamilyName, _ account: AccountName) async throws -> StoreControlWire.Family {
        throw Self.unbuilt("Family sharing")
    }

    /// Takes back what the account had from the others, and from them what it shared. When the organizer leaves, the
    /// family ends: its answer has no members.
    ///
    /// Throws `unknownFamily`, `unknownAccount`, `notInFamily`.
    @discardableResult
    public func leave(_ family: FamilyName, _ account: AccountName) async throws -> StoreControlWire.Family {
        throw Self.unbuilt("Family sharing")
    }

    // MARK: - Devices

    /// The devices that are signed in to an account, oldest first. Throws `unknownAccount`.
    public func devices(of account: AccountName) throws -> [StoreWire.Device] { throw Self.unbuilt("Listing devices") }

    /// From now on the device is unknown; its app has to sign in anew. Throws `unknownDevice`.
    public func signOut(_ device: DeviceID) async throws { throw Self.unbuilt("Signing out") }

    /// The device belongs to another account from now on: it hears of that account's purchases, and shows its storefront.
    /// Throws `unknownDevice`, `unknownAccount`.
    @discardableResult
    public func switchAccount(of device: DeviceID, to account: AccountName) async throws -> StoreWire.Device {
        throw Self.unbuilt("Switching accounts")
    }

    /// The device's app receipt as it is now, PKCS #7 in DER. Throws `unknownDevice`.
    public func receipt(of device: DeviceID) async throws -> [UInt8] { throw Self.unbuilt("App receipts") }
}

/// Accounts that share, by name.
public struct FamilyName: Identifier {
    public let rawValue: String
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}

extension SimulatedAppStore {
    /// Of what is declared and not there yet.
    static func unbuilt(_ subject: String) -> SimulatorError {
        SimulatorError(.unsupported, "\(subject) is not built yet; a later version of the simulator does it.")
    }
}
