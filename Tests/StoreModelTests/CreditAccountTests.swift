import Foundation
import Testing

@testable import StoreModel

@Suite struct CreditAccountTests {
    private let credit = CreditTable.Credit(products: ["ten": 10, "pack": 4], prices: [:])

    private func purchase(
        _ id: TransactionID, _ product: ProductID = "ten", day: Double = 0, of original: TransactionID? = nil,
        kind: ProductType = .consumable, revoked: Bool = false
    ) -> CustomerPurchase {
        CustomerPurchase(
            productID: product, transactionID: id, originalTransactionID: original ?? id, kind: kind,
            purchasedAt: Date(timeIntervalSince1970: day * 86400),
            revokedAt: revoked ? Date(timeIntervalSince1970: 1) : nil)
    }

    private func account(
        _ purchases: [CustomerPurchase], spent: [TransactionID: Int] = [:], debt: Int = 0
    ) -> CreditAccount {
        CreditAccount(of: purchases, in: credit, spent: spent, debt: debt)
    }

    @Test func `a balance is the credit that was bought and not refunded, less the credit that was spent`() {
        let fresh = account([
            purchase("1"), purchase("2", "pack"), purchase("3", revoked: true), purchase("4", "tools"),
        ])
        #expect(fresh.earned == 14 && fresh.spent == 0 && fresh.balance == 14)
        let used = account([purchase("1")], spent: ["1": 10, "9": 10])
        #expect(used.earned == 10 && used.spent == 10 && used.balance == 0)
        #expect(account([]).balance == 0)
    }

    @Test(arguments: [(spent: 0, balance: 10), (10, 0), (15, -5), (30, -20)])
    func `a refund of a part of the units leaves the rest, and spent units become a debt`(spent: Int, balance: Int) {
        var pack = purchase("1")
        (pack.quantity, pack.refundedQuantity) = (1, 2)
        let account = account([pack], spent: ["1": spent])
        #expect(account.earned == 10 && account.spent == spent && account.balance == balance)
        let other = CreditAccount(of: [pack], in: credit, spent: ["1": spent], own: [:])
        #expect(other.balance == max(0, 10 - spent))
    }

    @Test func `refunded quantities that are too large overflow nothing`() {
        var pack = purchase("1")
        (pack.quantity, pack.refundedQuantity) = (.max, .max)
        #expect(account([pack], spent: ["1": 3]).balance == .max - 3)
    }

    @Test func `the oldest purchase pays first, and several purchases can pay for one item`() {
        var account = account([purchase("2", day: 2), purchase("1", day: 1), purchase("3", day: 3)], spent: ["1": 7])
        let portions = account.spend(15)
        #expect(portions?.map(\.source.original) == ["1", "2", "3"])
        #expect(portions?.map(\.amount) == [3, 10, 2])
        #expect(account.balance == 8)
    }

    @Test func `credit that does not exist cannot be spent, and a cost of zero takes nothing`() {
        var account = account([purchase("1")])
        let before = account
        let (tooMuch, nothing) = (account.spend(11), account.spend(0))
        #expect(tooMuch == nil && nothing == [] && account == before)
        let (all, more) = (account.spend(10), account.spend(1))
        #expect(all?.count == 1 && more == nil)
    }

    @Test func `a refund of spent credit is taken from other purchases`() {
        var account = account([purchase("1", revoked: true), purchase("2", day: 1)], spent: ["1": 4])
        #expect(account.earned == 10 && account.spent == 4 && account.balance == 6)
        let (tooMuch, rest) = (account.spend(7), account.spend(6))
        #expect(tooMuch == nil && rest?.map(\.source.original) == ["2"])
        #expect(self.account([purchase("1", revoked: true)], spent: ["1": 4]).balance == -4)
    }

    @Test func `a credit table that gives less than was spent makes no balance negative`() {
        #expect(account([purchase("1", "pack")], spent: ["1": 10]).balance == 0)
        #expect(account([purchase("1", "tools"), purchase("2")], spent: ["1": 10]).balance == 10)
    }

    @Test func `a restored purchase gives its credit once, and each consumable transaction gives credit`() {
        let restored = account([
            purchase("1", kind: .nonConsumable), purchase("2", of: "1", kind: .nonConsumable),
        ])
        #expect(restored.balance == 10)
        #expect(account([purchase("1"), purchase("2", of: "1")]).balance == 20)
        let half = account([purchase("1"), purchase("2", of: "1", revoked: true)], spent: ["1": 20])
        #expect(half.balance == -10)
    }

    @Test func `a debt is paid before anything is spent`() {
        var account = account([purchase("1")], debt: 6)
        #expect(account.balance == 4 && account.spent == 6)
        let (tooMuch, rest) = (account.spend(5), account.spend(4))
        #expect(tooMuch == nil && rest?.map(\.amount) == [4])
    }

    @Test func `settle assigns units to all purchases, including refunded ones`() {
        var account = account([purchase("1", revoked: true), purchase("2", "pack", day: 1)], spent: ["2": 1])
        let (assigned, more) = (account.settle(20), account.settle(1))
        #expect(assigned.map(\.amount) == [10, 3] && more == [])
    }

    @Test func `units that operators gave are spent first, and belong to no purchase`() {
        var account = CreditAccount(
            of: [purchase("1")], in: credit, debt: 2, granted: 6, grantedSpent: 1)
        #expect(account.earned == 16 && account.spent == 3 && account.balance == 13)
        let (tooMuch, small, large) = (account.spend(14), account.spend(3), account.spend(10))
        #expect(tooMuch == nil && small == [] && large?.map(\.amount) == [8])
        #expect(account.grantedSpent == 6 && account.balance == 0)
    }

    @Test func `no sum overflows`() {
        let huge = CreditTable.Credit(products: ["ten": .max], prices: [:])
        let account = CreditAccount(
            of: [purchase("1"), purchase("2")], in: huge, spent: ["1": .max, "2": .max], debt: .max)
        #expect(account.earned == .max && account.spent == .max && account.balance == 0)
        var given = CreditAccount(of: [], in: huge, debt: .max, granted: .max, grantedSpent: .max)
        #expect(given.earned == .max && given.spent == .max && given.balance == 0)
        let none = given.spend(1)
        #expect(none == nil)
    }
}
