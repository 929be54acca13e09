import SimulatorControl
import BaseTestSupport
import Foundation
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Runs one history in the store and in the reference model, and compares them after every step.
struct RandomLife {
    private let test: TestStore
    private var reference: ReferenceStore
    private let names = (0..<LifeStep.accounts).map { AccountName(unchecked: "account \($0)") }
    private var devices: [LifeDevice] = []
    private var clock = Fixtures.start
    /// The instants of each account's last event and last report.
    private var last = [Date](repeating: .distantPast, count: LifeStep.accounts)
    private var reported = [Date](repeating: .distantPast, count: LifeStep.accounts)
    private var payments = 0

    /// Runs the steps. Throws `LifeDifference` at the first step after which the store and the model differ.
    static func live(_ steps: [LifeStep], among referenceCatalogue: ReferenceCatalogue) async throws {
        let catalogue = try Catalogue(parsing: Array(referenceCatalogue.catalogueText.utf8), file: "random.storekit")
        try await TestStore.with(change: { $0.catalogue = catalogue }) { test in
            var life = try await RandomLife(test, referenceCatalogue)
            for (number, step) in steps.enumerated() {
                do {
                    try await life.take(step)
                    try life.compare()
                } catch var difference as LifeDifference {
                    difference.step = number
                    throw difference
                } catch {
                    throw LifeDifference(step: number, description: "\(error)")
                }
            }
        }
    }

    private init(_ test: TestStore, _ referenceCatalogue: ReferenceCatalogue) async throws {
        self.test = test
        reference = ReferenceStore(referenceCatalogue, at: Fixtures.start, nextSale: 200_000_000_000)
        for name in names {
            try await test.store.createAccount(name)
            reference.addAccount()
        }
        for number in 0..<LifeStep.devices {
            let account = number % LifeStep.accounts
            devices.append(
                LifeDevice(
                    id: DeviceID(unchecked: try await test.store.signIn(account: names[account]).deviceID),
                    account: account))
        }
    }

    private func differ(_ text: String) -> LifeDifference { LifeDifference(step: 0, description: text) }

    // MARK: - Steps

    private mutating func take(_ step: LifeStep) async throws {
        let store = test.store
        switch step {
        case .pass(let seconds): try await pass(.init(seconds: Double(seconds)))
        case .passPeriod(let text): try await pass(.init(period: SubscriptionPeriod(iso8601: text)))
        case .buy(let account, let product, let offer):
            let instant = prepare(account)
            let expected = reference.buy(account, product, offer: offer, isCode: false, at: instant)
            let answer = try await attempt {
                try await store.buy(.init(productID: product, offerID: offer), for: names[account])
            }
            try expect(expected, answer, account, instant)
        case .commit(let account, let product):
            let instant = prepare(account)
            let expected = reference.buy(
                account, product, isMonthly: true, offer: nil, isCode: false, at: instant)
            let answer = try await attempt {
                try await store.buy(.init(productID: product, billingPlan: .monthly), for: names[account])
            }
            try expect(expected, answer, account, instant)
        case .redeem(let account, let product, let code):
            let instant = prepare(account)
            let expected = reference.buy(account, product, offer: code, isCode: true, at: instant)
            let answer = try await attempt {
                try await store.redeem(.init(code: code, productID: product), for: names[account])
            }
            try expect(expected, answer, account, instant)
        case .pay(let number, let product, let offer): try await pay(number, product, offer)
        case .setRenews(let account, let product, let renews):
            try await change(account, product, { $0.setRenews(renews, $1) }) { name in
                renews
                    ? try await store.resume(product, for: name) : try await store.cancel(product, for: name)
            }
        case .setFails(let account, let product, let fails):
            // A single customer cannot pay while all payments fail.
            try await change(
                account, product, if: { reference, _ in fails || !reference.allFail }, { $0.setFails(fails, $1) }
            ) {
                name in
                fails
                    ? try await store.failBilling(product, for: name)
                    : try await store.resolveBilling(product, for: name)
            }
        case .renew(let account, let product):
            try await change(account, product, if: { $0.canRenew($1) }, { $0.renew($1) }) {
                try await store.renew(product, for: $0)
            }
        case .expire(let account, let product):
            try await change(account, product, { $0.expire($1) }) { try await store.expire(product, for: $0) }
        case .setGrace, .setAllFail, .raise, .withdraw: try await changeForAll(step)
        case .answer(let account, let product, let agrees): try await answer(account, product, agrees)
        case .refund(let account, let place): try await refund(account, place)
        case .reverse(let account, let place): try await reverse(account, place)
        case .poll(let number, let forgets): try await poll(number, forgets: forgets)
        case .finish(let number, let place): try await finish(number, place)
        }
    }

    private mutating func pass(_ request: StoreControlWire.Advance) async throws {
        let before = max(clock, last.max() ?? clock)
        try await test.store.advance(request)
        clock = test.store.clock.now()
        guard clock > before else { throw differ("time went back from \(before) to \(clock)") }
    }

    /// Returns the instant of an account's next event, and advances the reference model to it.
    private mutating func prepare(_ account: Int) -> Date {
        let instant = max(clock, Self.after(last[account]), Self.after(reported[account]))
        reference.pass(account, until: instant)
        return instant
    }

    private static func after(_ date: Date) -> Date { Timestamps.next(date) }

    private func attempt(
        _ body: () async throws -> StoreControlWire.Transaction
    ) async throws -> StoreControlWire.Transaction? {
        do {
            return try await body()
        } catch is StoreFailure {
            return nil
        } catch is SimulatorError {
            return nil
        }
    }

    private mutating func expect(
        _ expected: ReferenceStore.Outcome, _ answer: StoreControlWire.Transaction?, _ account: Int, _ instant: Date
    ) throws {
        switch expected {
        case .refused:
            if let answer { throw differ("\(answer.productID) should have been refused") }
            return
        case .sold(let id), .existing(let id):
            guard answer?.transactionID.rawValue == "\(id)" else {
                throw differ(
                    "\(id) was expected to be sold or owned, not \(answer?.transactionID.rawValue ?? "nothing")")
            }
        }
        last[account] = instant
    }

    private mutating func change(
        _ account: Int, _ product: ProductID, if isPossible: (ReferenceStore, Int) -> Bool = { _, _ in true },
        _ expected: (inout ReferenceStore, Int) -> Void,
        _ body: (AccountName) async throws -> StoreControlWire.Transaction
    ) async throws {
        let instant = prepare(account)
        let index = reference.running(account, product).flatMap { isPossible(reference, $0) ? $0 : nil }
        let answer = try await attempt { try await body(names[account]) }
        guard (answer == nil) == (index == nil) else {
            throw differ("a running subscription was \(index == nil ? "not " : "")expected")
        }
        guard let index else { return }
        expected(&reference, index)
        last[account] = instant
        guard answer?.transactionID.rawValue == "\(reference.subscriptions[index].last.id)" else {
            throw differ(
                "\(reference.subscriptions[index].last.id) was expected, not \(answer?.transactionID.rawValue ?? "")")
        }
    }

    private mutating func changeForAll(_ step: LifeStep) async throws {
        try await pass(.init(seconds: 1))
        for account in names.indices { reference.pass(account, until: clock) }
        let store = test.store
        switch step {
        case .setGrace(let days):
            reference.graceDays = days
            try await store.set(.gracePeriod, to: .string(days == 0 ? "off" : "\(days)d"))
        case .setAllFail(let fails):
            reference.setAllFail(fails, at: clock)
            try await store.set(.renewalsFail, to: .bool(fails))
        case .raise(let product, let isMonthly, let price, let needsConsent):
            reference.increases.append(
                .init(product: product, isMonthly: isMonthly, at: clock, price: price, needsConsent: needsConsent))
            try await store.increasePrice(
                of: product,
                .init(
                    price: ReferenceCatalogue.text(price), needsConsent: needsConsent,
                    billingPlan: isMonthly ? .monthly : nil))
        case .withdraw(let product):
            reference.withdrawn.insert(product)
            try await store.setWithdrawn(product, true)
        default: return
        }
        last = last.map { _ in clock }
    }

    private mutating func answer(_ account: Int, _ product: ProductID, _ agrees: Bool) async throws {
        let instant = prepare(account)
        let index = reference.running(account, product).flatMap { reference.awaitsConsent($0) ? $0 : nil }
        let answer = try await attempt {
            try await test.store.answerPriceIncrease(of: product, agreeing: agrees, for: names[account])
        }
        guard (answer == nil) == (index == nil) else {
            throw differ("a question about the price was \(index == nil ? "not " : "")expected")
        }
        guard let index else { return }
        reference.answer(agrees, index)
        last[account] = instant
    }

    private mutating func refund(_ account: Int, _ place: Int) async throws {
        let instant = prepare(account)
        let sales = reference.sales(of: account)
        guard place < sales.count else { return }
        let sale = sales[sales.count - 1 - place]
        let answer = try await attempt { try await test.store.refund(TransactionID(unchecked: "\(sale.id)")) }
        guard (answer == nil) == (sale.revoked != nil) else { throw differ("the refund of \(sale.id) ended otherwise") }
        guard sale.revoked == nil else { return }
        reference.refund(sale.id)
        last[account] = instant
    }

    private mutating func reverse(_ account: Int, _ place: Int) async throws {
        let instant = prepare(account)
        let sales = reference.sales(of: account).filter { $0.revoked != nil }
        guard place < sales.count else { return }
        let sale = sales[sales.count - 1 - place]
        _ = try await test.store.reverseRefund(TransactionID(unchecked: "\(sale.id)"))
        reference.reverse(sale.id)
        last[account] = instant
    }

    // MARK: - Devices

    private mutating func pay(_ number: Int, _ product: ProductID, _ offer: String?) async throws {
        let account = devices[number].account
        let instant = prepare(account)
        payments += 1
        let payment = PaymentID(unchecked: "payment \(payments)")
        let outcome = reference.buy(account, product, offer: offer, isCode: false, at: instant)
        devices[number].awaited[payment] = outcome
        let kind = reference.referenceCatalogue[product]?.offers.first { $0.id == offer }?.kind
        try await test.store.add(
            Payment(
                id: payment, productID: product,
                offer: offer.map { PaymentOffer(kind: kind == 4 ? .winBack : .promotional, id: $0) }),
            from: devices[number].id)
        last[account] = instant
    }

    private mutating func poll(_ number: Int, forgets: Bool) async throws {
        let account = devices[number].account
        let instant = max(clock, last[account])
        reference.pass(account, until: instant)
        if forgets { devices[number].cursor = nil }
        let answer = try await test.store.updates(for: devices[number].id, after: devices[number].cursor)
        reported[account] = max(reported[account], instant)
        if let wrong = devices[number].receive(answer, reference) { throw differ("device \(number): \(wrong)") }
    }

    private mutating func finish(_ number: Int, _ place: Int) async throws {
        let account = devices[number].account
        let instant = max(clock, last[account])
        reference.pass(account, until: instant)
        let sales = reference.sales(of: account).filter { !$0.isFinished }
        guard place < sales.count else { return }
        let sale = sales[place]
        try await test.store.finish(TransactionID(unchecked: "\(sale.id)"), from: devices[number].id)
        reported[account] = max(reported[account], instant)
        reference.finish(sale.id)
    }

    // MARK: - Comparison

    private mutating func compare() throws {
        for (account, name) in names.enumerated() {
            // A refused step can have used a timestamp.
            last[account] = max(
                last[account],
                try test.store.database.read { try SimulatorDatabase($0).existingAccount(name).lastEvent })
            let instant = max(clock, last[account])
            reference.pass(account, until: instant)
            let (transactions, states) = try test.store.read({ try $0.existingAccount(name) }) { db, known, now in
                let conditions = try db.conditions()
                return (
                    try db.transactions(of: known.id, at: now).map(\.0),
                    try db.subscriptions(of: known.id).map { SubscriptionState(of: $0, under: conditions, at: now) }
                )
            }
            reported[account] = max(reported[account], instant)
            let expected = reference.sales(of: account)
            for (ours, theirs) in zip(transactions.map(Self.sale), expected.map(\.unmarked)) where ours != theirs {
                throw differ("at \(instant.formatted(.iso8601))\n  sold:     \(ours)\n  expected: \(theirs)")
            }
            guard transactions.count == expected.count else {
                throw differ(
                    "at \(instant.formatted(.iso8601)) \(transactions.count) were sold and \(expected.count) expected, "
                        + "the last \(expected.last.map { "\($0)" } ?? "none") and "
                        + "\(transactions.last.map { "\(Self.sale($0))" } ?? "none")")
            }
            for state in states { try compare(state, account, instant) }
        }
    }

    private func compare(_ state: SubscriptionState, _ account: Int, _ instant: Date) throws {
        guard let index = reference.index(account, state.record.groupID) else {
            throw differ("nobody subscribed to \(state.record.groupID)")
        }
        let subscription = reference.subscriptions[index]
        let what =
            "the subscription \(subscription.last.product) of account \(account) at \(instant.formatted(.iso8601))"
        let status = reference.status(index, at: instant)
        guard state.status.rawValue == status else {
            throw differ("\(what) has the status \(state.status.rawValue), \(status) was expected")
        }
        guard state.record.startedAt.wholeMicroseconds == subscription.started.wholeMicroseconds else {
            throw differ("\(what) began \(state.record.startedAt), \(subscription.started) was expected")
        }
        if case .over(let reason) = subscription.paymentStatus, status == 2, state.expirationIntent?.rawValue != reason
        {
            throw differ("\(what) ended for \(state.expirationIntent?.rawValue ?? 0), not \(reason)")
        }
        if case .late(_, let grace, let end) = subscription.paymentStatus, status != 5 {
            guard state.retryEnd == end, state.graceEnd == (status == 4 ? grace : nil) else {
                throw differ("\(what) is tried until \(end), in grace until \(grace.map { "\($0)" } ?? "-")")
            }
        }
        guard status != 2, status != 5 else { return }
        guard state.renewsTerm == subscription.renews,
            state.autoRenews == (subscription.renews || subscription.isCommitted)
        else { throw differ("\(what) should renew: \(subscription.renews)") }
        for (plan, expected) in [
            (state.nextSale().plan, reference.next(index)), (state.nextTerm().plan, reference.nextTerm(index)),
        ] {
            guard plan.productID == expected.product, (plan.bills == 12) == expected.isMonthly else {
                throw differ("\(what) goes on with \(plan), not \(expected)")
            }
        }
    }

    private static func sale(_ record: TransactionRecord) -> ReferenceStore.Sale {
        ReferenceStore.Sale(
            id: record.id, original: record.originalID, product: record.productID, purchased: record.purchaseDate,
            expires: record.expiresDate,
            price: Int(record.price.milliunits), offerKind: record.offer?.kind.rawValue,
            offerID: record.offer?.id,
            offerMode: record.offer.map {
                $0.paymentMode == .freeTrial ? "free" : $0.paymentMode == .payAsYouGo ? "payAsYouGo" : "payUpFront"
            },
            isRenewal: record.isRenewal, isUpgraded: record.upgradedAt != nil, revoked: record.revocation?.at,
            bill: record.commitment?.bill, commitmentEnd: record.commitment?.endsAt
        ).unmarked
    }
}

extension ReferenceStore.Sale {
    /// The sale without its finished mark, with dates in whole microseconds.
    var unmarked: Self {
        var sale = self
        sale.isFinished = false
        sale.purchased = sale.purchased.wholeMicroseconds
        sale.expires = sale.expires?.wholeMicroseconds
        sale.revoked = sale.revoked?.wholeMicroseconds
        sale.commitmentEnd = sale.commitmentEnd?.wholeMicroseconds
        return sale
    }
}

extension ReferenceStore.Sale: CustomStringConvertible {
    var description: String {
        func text(_ date: Date?) -> String {
            date.map { "\($0.formatted(.iso8601)) (\(Int64(($0.timeIntervalSince1970 * 1_000_000).rounded())) µs)" }
                ?? "–"
        }
        return "\(id) of \(original), \(product), \(text(purchased)) to \(text(expires)), \(price), "
            + "offer \(offerKind ?? 0) \(offerID ?? "–") \(offerMode ?? "–"), "
            + "renewal \(isRenewal), upgraded \(isUpgraded), revoked \(text(revoked)), "
            + "bill \(bill ?? 0) until \(text(commitmentEnd))"
    }
}

extension Date {
    /// The instant rounded to microseconds, because seconds are not exact in binary.
    fileprivate var wholeMicroseconds: Date {
        Date(timeIntervalSince1970: (timeIntervalSince1970 * 1_000_000).rounded() / 1_000_000)
    }
}
