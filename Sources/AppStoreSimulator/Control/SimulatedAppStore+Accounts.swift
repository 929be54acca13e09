import SimulatorControl
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Accounts and families.
extension SimulatedAppStore {
    /// Creates an account. Without options, it can make payments, and the settings of the store determine the other
    /// values.
    ///
    /// - Parameters:
    ///   - name: The name of the account.
    ///   - storefront: The country of its storefront, as an ISO 3166-1 alpha-3 code. Here and below, `nil` means the
    ///     default.
    ///   - canMakePayments: Whether it can make payments.
    ///   - askToBuy: Whether its purchases wait for approval.
    ///   - interruptedPurchases: Whether its purchases are interrupted.
    /// - Throws: `SimulatorError` (`accountExists`; `unknownStorefront` for an unknown country).
    public func createAccount(
        _ name: AccountName, storefront: String? = nil, canMakePayments: Bool? = nil, askToBuy: Bool? = nil,
        interruptedPurchases: Bool? = nil
    ) async throws {
        try await createAccount(
            name,
            with: StoreControlWire.AccountChange(
                storefront: storefront, canMakePayments: canMakePayments, askToBuy: askToBuy,
                interruptedPurchases: interruptedPurchases))
    }

    /// Creates an account. Throws `accountExists`, `unknownStorefront`.
    package func createAccount(_ name: AccountName, with options: StoreControlWire.AccountChange) async throws {
        try options.check()
        try await database.write { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            guard try db.account(name) == nil else {
                throw SimulatorError(.accountExists, "There is an account \(name) already.")
            }
            var numbers = try db.numbers()
            try db.add(
                account: name, appTransactionID: "70\(numbers.next() / TransactionNumber.span)",
                at: try db.now(virtualClock))
            try db.save(numbers)
            try db.save(try db.existingAccount(name).changed(by: options))
        }
    }

    /// Returns an account with its settings.
    ///
    /// - Parameter name: The name of the account.
    /// - Returns: The account.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    public func account(_ name: AccountName) throws -> StoreControlWire.Account {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.describe(try db.existingAccount(name), catalogues)
        }
    }

    /// Returns all accounts in the order of their names.
    ///
    /// - Returns: The accounts.
    /// - Throws: `SQLError` if the database cannot be read.
    public func accountList() throws -> [StoreControlWire.Account] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.accounts().sorted { $0.name < $1.name }.map { try db.describe($0, catalogues) }
        }
    }

    /// Changes the settings of an account, and reports a new storefront to its devices.
    ///
    /// Earlier purchases and their renewals stay in the country of their purchase.
    ///
    /// - Parameters:
    ///   - account: The name of the account.
    ///   - storefront: The country of its storefront, as an ISO 3166-1 alpha-3 code. Here and below, `nil` changes
    ///     nothing.
    ///   - canMakePayments: Whether it can make payments.
    ///   - askToBuy: Whether its purchases wait for approval.
    ///   - interruptedPurchases: Whether its purchases are interrupted.
    /// - Returns: The changed account.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownStorefront`).
    @discardableResult
    public func change(
        _ account: AccountName, storefront: String? = nil, canMakePayments: Bool? = nil, askToBuy: Bool? = nil,
        interruptedPurchases: Bool? = nil
    ) async throws -> StoreControlWire.Account {
        try await change(
            account,
            StoreControlWire.AccountChange(
                storefront: storefront, canMakePayments: canMakePayments, askToBuy: askToBuy,
                interruptedPurchases: interruptedPurchases))
    }

    @discardableResult
    package func change(
        _ account: AccountName, _ change: StoreControlWire.AccountChange
    ) async throws -> StoreControlWire.Account {
        try change.check()
        return try await recordEvent({ try $0.existingAccount(account) }) { [catalogues] event in
            let changed = event.account.changed(by: change)
            try event.db.save(changed)
            return try event.db.describe(changed, catalogues)
        }
    }

    /// The maximum number of members of a family (Apple: What is Family Sharing?).
    static let familySize = 6

    /// Creates a family with its organizer as the first member.
    ///
    /// - Parameters:
    ///   - name: The name of the family.
    ///   - organizer: The account of the organizer.
    /// - Returns: The family.
    /// - Throws: `SimulatorError` (`familyExists`, `unknownAccount`, `inAnotherFamily`).
    @discardableResult
    public func createFamily(_ name: FamilyName, organizer: AccountName) async throws -> StoreControlWire.Family {
        try await recordEvent({ try $0.existingAccount(organizer) }) { event in
            let db = event.db
            guard try db.family(name) == nil else {
                throw SimulatorError(.familyExists, "There is a family \(name) already.")
            }
            let family = SimulatorDatabase.Family(name: name, organizer: event.account.id)
            try db.add(family)
            try db.add(event.account, to: family)
            return try db.describe(family)
        }
    }

    /// Returns all families in the order of their names.
    ///
    /// - Returns: The families.
    /// - Throws: `SQLError` if the database cannot be read.
    public func families() throws -> [StoreControlWire.Family] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.families().map(db.describe)
        }
    }

    /// Adds an account to a family. The account shares its shareable purchases with the other members, and gets theirs.
    ///
    /// - Parameters:
    ///   - family: The name of the family.
    ///   - account: The account that joins.
    /// - Returns: The family.
    /// - Throws: `SimulatorError` (`unknownFamily`, `unknownAccount`, `inAnotherFamily`; `familyFull` for a family of
    ///   six).
    @discardableResult
    public func join(_ family: FamilyName, _ account: AccountName) async throws -> StoreControlWire.Family {
        try await recordEvent(all: { db in
            let family = try db.existingFamily(family)
            let account = try db.existingAccount(account)
            let members = try db.accounts(inFamily: family.name)
            return [account] + members.filter { $0.id != account.id }
        }) { event in
            let family = try event.db.existingFamily(family)
            let members = try event.db.accounts(inFamily: family.name)
            guard members.count < Self.familySize || event.account.family != nil else {
                throw SimulatorError(
                    .familyFull, "The family \(family.name) has six members, and more are not allowed.")
            }
            try event.db.add(event.account, to: family)
            return try event.db.describe(family)
        }
    }

    /// Removes an account from a family, and ends the shares that the account has and gives. If the organizer leaves,
    /// the family ends.
    ///
    /// - Parameters:
    ///   - family: The name of the family.
    ///   - account: The account that leaves.
    /// - Returns: The family. It has no members if it ended.
    /// - Throws: `SimulatorError` (`unknownFamily`, `unknownAccount`, `notInFamily`).
    @discardableResult
    public func leave(_ family: FamilyName, _ account: AccountName) async throws -> StoreControlWire.Family {
        try await recordEvent({ db in
            _ = try db.existingFamily(family)
            return try db.existingAccount(account)
        }) { event in
            let db = event.db
            let family = try db.existingFamily(family)
            guard event.account.family == family.name else {
                throw SimulatorError(.notInFamily, "The account \(account) is not in the family \(family.name).")
            }
            let isEnd = event.account.id == family.organizer
            let leavers = isEnd ? event.accounts.filter { $0.family == family.name } : [event.account]
            try event.endShares(of: Set(leavers.map(\.id)))
            for var leaver in leavers {
                leaver.family = nil
                try db.save(leaver)
            }
            let answer = try db.describe(family)
            if isEnd { try db.remove(family: family.name) }
            return answer
        }
    }
}

extension StoreControlWire.AccountChange {
    /// Throws `unknownStorefront`.
    fileprivate func check() throws {
        if let storefront { try Storefronts.check(storefront) }
    }
}

extension Storefronts {
    /// Throws `unknownStorefront` for an unknown country.
    static func check(_ country: String) throws {
        guard storefront(country) == nil else { return }
        throw SimulatorError(
            .unknownStorefront,
            "The store does not know the country \(country); give one like USA or DEU (ISO 3166-1 alpha-3).")
    }
}

extension SimulatorDatabase.Account {
    fileprivate func changed(by change: StoreControlWire.AccountChange) -> SimulatorDatabase.Account {
        var account = self
        account.storefront = change.storefront ?? storefront
        account.canMakePayments = change.canMakePayments ?? canMakePayments
        account.asksToBuy = change.askToBuy ?? asksToBuy
        account.isInterrupted = change.interruptedPurchases ?? isInterrupted
        return account
    }
}

extension SimulatorDatabase {
    fileprivate func describe(_ account: Account, _ catalogues: StorefrontCatalogues) throws -> StoreControlWire.Account
    {
        let settings = try settings()
        return StoreControlWire.Account(
            name: account.name.rawValue, storefront: catalogues[account.country(settings)].storefront.countryCode,
            canMakePayments: account.canMakePayments,
            askToBuy: account.asksToBuy ?? StoreSetting.askToBuy.isOn(in: settings),
            interruptedPurchases: account.isInterrupted ?? StoreSetting.interruptedPurchases.isOn(in: settings),
            family: account.family?.rawValue)
    }

    fileprivate func describe(_ family: Family) throws -> StoreControlWire.Family {
        StoreControlWire.Family(
            name: family.name.rawValue, organizer: try account(family.organizer)?.name.rawValue ?? "",
            members: try accounts(inFamily: family.name).map(\.name.rawValue))
    }

    fileprivate func existingFamily(_ name: FamilyName) throws -> Family {
        guard let family = try family(name) else {
            throw SimulatorError(.unknownFamily, "There is no family \(name); create it first.")
        }
        return family
    }

    /// Adds an account to a family. Throws `inAnotherFamily`.
    fileprivate func add(_ account: Account, to family: Family) throws {
        if let other = account.family {
            throw SimulatorError(
                .inAnotherFamily,
                "The account \(account.name) is in the family \(other) already; remove it from that family first."
            )
        }
        var member = account
        member.family = family.name
        try save(member)
    }
}

/// The name of a family.
public struct FamilyName: Identifier {
    /// The name as a string.
    public let rawValue: String
    /// Creates a name without a check of its form.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}
