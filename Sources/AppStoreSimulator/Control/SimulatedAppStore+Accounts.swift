import SimulatorControl
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Who shops: accounts and their families.
extension SimulatedAppStore {
    /// Creates an account. Without options it is in the catalogue's storefront, may pay and needs no approval.
    ///
    /// Throws `accountExists`, and `unknownStorefront` for a country that is none of ISO 3166-1 alpha-3.
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

    /// Throws `accountExists`, `unknownStorefront`.
    package func createAccount(_ name: AccountName, with options: StoreControlWire.AccountChange) async throws {
        try options.check()
        try await database.write { [virtualClock] sql in
            let books = Books(sql)
            guard try books.account(name) == nil else {
                throw SimulatorError(.accountExists, "There is an account \(name) already.")
            }
            var numbers = try books.numbers()
            try books.add(
                account: name, appTransactionID: "70\(numbers.next() / TransactionNumber.span)",
                at: try books.now(virtualClock))
            try books.save(numbers)
            try books.save(try books.known(name).changed(by: options))
        }
    }

    /// An account with everything that is set for it. Throws `unknownAccount`.
    public func account(_ name: AccountName) throws -> StoreControlWire.Account {
        try database.read { sql in
            let books = Books(sql)
            return try books.describe(try books.known(name), markets)
        }
    }

    /// All accounts in the order of their names.
    public func accountList() throws -> [StoreControlWire.Account] {
        try database.read { sql in
            let books = Books(sql)
            return try books.accounts().sorted { $0.name < $1.name }.map { try books.describe($0, markets) }
        }
    }

    /// Changes what is set for an account; its devices hear of another storefront. Returns it as it is then.
    ///
    /// What was bought stays in the country of its purchase, and so do its renewals. Throws `unknownAccount`,
    /// `unknownStorefront`.
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
        return try await enter({ try $0.known(account) }) { [markets] entry in
            let changed = entry.account.changed(by: change)
            try entry.books.save(changed)
            return try entry.books.describe(changed, markets)
        }
    }

    // MARK: - Families

    /// Six are a family (Apple: What is Family Sharing?).
    static let familySize = 6

    /// A family with its organizer as the first member. Throws `familyExists`, `unknownAccount`, `inAnotherFamily`.
    @discardableResult
    public func createFamily(_ name: FamilyName, organizer: AccountName) async throws -> StoreControlWire.Family {
        try await enter({ try $0.known(organizer) }) { entry in
            let books = entry.books
            guard try books.family(name) == nil else {
                throw SimulatorError(.familyExists, "There is a family \(name) already.")
            }
            let family = Books.Family(name: name, organizer: entry.account.id)
            try books.add(family)
            try books.enter(entry.account, into: family)
            return try books.describe(family)
        }
    }

    /// All families in the order of their names.
    public func families() throws -> [StoreControlWire.Family] {
        try database.read { sql in
            let books = Books(sql)
            return try books.families().map(books.describe)
        }
    }

    /// The account shares with the family, and has what the others share, from now on.
    ///
    /// Throws `unknownFamily`, `unknownAccount`, `inAnotherFamily`, `familyFull` (six are a family).
    @discardableResult
    public func join(_ family: FamilyName, _ account: AccountName) async throws -> StoreControlWire.Family {
        try await enter(all: { books in
            let family = try books.known(family)
            let account = try books.known(account)
            let members = try books.accounts(inFamily: family.name)
            return [account] + members.filter { $0.id != account.id }
        }) { entry in
            let family = try entry.books.known(family)
            let members = try entry.books.accounts(inFamily: family.name)
            guard members.count < Self.familySize || entry.account.family != nil else {
                throw SimulatorError(
                    .familyFull, "The family \(family.name) has six members, and more are not allowed.")
            }
            try entry.books.enter(entry.account, into: family)
            return try entry.books.describe(family)
        }
    }

    /// Takes back what the account had from the others, and from them what it shared. When the organizer leaves, the
    /// family ends: its answer has no members.
    ///
    /// Throws `unknownFamily`, `unknownAccount`, `notInFamily`.
    @discardableResult
    public func leave(_ family: FamilyName, _ account: AccountName) async throws -> StoreControlWire.Family {
        try await enter({ books in
            _ = try books.known(family)
            return try books.known(account)
        }) { entry in
            let books = entry.books
            let family = try books.known(family)
            guard entry.account.family == family.name else {
                throw SimulatorError(.notInFamily, "The account \(account) is not in the family \(family.name).")
            }
            let isEnd = entry.account.id == family.organizer
            let leavers = isEnd ? entry.accounts : [entry.account]
            try entry.endShares(of: Set(leavers.map(\.id)))
            for var leaver in leavers {
                leaver.family = nil
                try books.save(leaver)
            }
            let answer = try books.describe(family)
            if isEnd { try books.remove(family: family.name) }
            return answer
        }
    }
}

extension StoreControlWire.AccountChange {
    /// Throws `unknownStorefront`.
    fileprivate func check() throws {
        guard let storefront, Storefronts.storefront(storefront) == nil else { return }
        throw SimulatorError(
            .unknownStorefront,
            "The store does not know the country \(storefront); give one like USA or DEU (ISO 3166-1 alpha-3).")
    }
}

extension Books.Account {
    fileprivate func changed(by change: StoreControlWire.AccountChange) -> Books.Account {
        var account = self
        account.storefront = change.storefront ?? storefront
        account.canMakePayments = change.canMakePayments ?? canMakePayments
        account.asksToBuy = change.askToBuy ?? asksToBuy
        account.isInterrupted = change.interruptedPurchases ?? isInterrupted
        return account
    }
}

extension Books {
    fileprivate func describe(_ account: Account, _ markets: Markets) throws -> StoreControlWire.Account {
        StoreControlWire.Account(
            name: account.name.rawValue, storefront: markets[try country(of: account)].storefront.countryCode,
            canMakePayments: account.canMakePayments,
            askToBuy: try account.asksToBuy ?? setting(for: .askToBuy)?.boolValue ?? false,
            interruptedPurchases: try account.isInterrupted ?? setting(for: .interruptedPurchases)?.boolValue ?? false,
            family: account.family?.rawValue)
    }

    fileprivate func describe(_ family: Family) throws -> StoreControlWire.Family {
        StoreControlWire.Family(
            name: family.name.rawValue, organizer: try account(family.organizer)?.name.rawValue ?? "",
            members: try accounts(inFamily: family.name).map(\.name.rawValue))
    }

    fileprivate func known(_ name: FamilyName) throws -> Family {
        guard let family = try family(name) else {
            throw SimulatorError(.unknownFamily, "There is no family \(name); create it first.")
        }
        return family
    }

    /// Throws `inAnotherFamily`.
    fileprivate func enter(_ account: Account, into family: Family) throws {
        if let other = account.family {
            throw SimulatorError(
                .inAnotherFamily, "The account \(account.name) is in the family \(other) already; it leaves that first."
            )
        }
        var member = account
        member.family = family.name
        try save(member)
    }
}

/// Accounts that share, by name.
public struct FamilyName: Identifier {
    public let rawValue: String
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}
