import Foundation
import StoreModel

/// The reference model of a store: it sells every period when it is due and stores every transaction. It is slow and
/// simple.
///
/// It shares no code of the rules with the store under test.
struct ReferenceStore {
    struct Sale: Equatable {
        var id: Int64
        var original: Int64
        var product: ProductID
        var purchased: Date
        var expires: Date?
        var price: Int
        var offerKind: Int?
        var offerID: String?
        var offerMode: String?
        var isRenewal = false
        var isUpgraded = false
        var revoked: Date?
        var isFinished = false
        /// The number of the bill of a commitment, and the end of the commitment.
        var bill: Int?
        var commitmentEnd: Date?
    }

    struct Terms: Equatable {
        var product: ProductID
        /// Whether twelve bills are paid, one each month.
        var isMonthly = false
        var price: Int
        var since: Date

        func isSame(as other: Terms) -> Bool { product == other.product && isMonthly == other.isMonthly }
    }

    /// The status of a subscription's payment.
    enum PaymentStatus: Equatable {
        case paid
        case late(due: Date, grace: Date?, end: Date)
        case over(reason: Int)
    }

    struct Subscription {
        var account: Int
        var group: String
        var sales: [Sale]
        var terms: Terms
        var offer: ReferenceCatalogue.Offer?
        /// The instant from which periods are counted. `counted` is their number since then.
        var anchor: Date
        var counted: Int
        var nextID: Int64
        var requested: (terms: Terms, offer: ReferenceCatalogue.Offer?)?
        var renews = true
        /// Whether bills of a commitment follow the last sale.
        var isCommitted: Bool { last.bill.map { $0 < 12 } ?? false }
        var fails = false
        var consented: Date?
        var paymentStatus = PaymentStatus.paid {
            didSet {
                if case .late(_, let grace?, _) = oldValue, paymentStatus != oldValue {
                    changes.removeAll { $0 == grace }
                }
            }
        }
        var hasUsedIntroductory = false
        var started: Date
        /// The instants of changes other than sales.
        var changes: [Date] = []

        var last: Sale { sales[sales.count - 1] }
        /// The transactions that were revoked after the end of the subscription. They do not affect its status.
        var revokedAfterEnd: Set<Int64> = []
        var isRevoked: Bool { last.revoked != nil && !revokedAfterEnd.contains(last.id) }
        var isOver: Bool { if case .over = paymentStatus { true } else { false } }

        func hasAccess(at now: Date) -> Bool {
            guard !isRevoked else { return false }
            switch paymentStatus {
            case .paid: return true
            case .late(_, let grace, _): return grace.map { now < $0 } ?? false
            case .over: return false
            }
        }
    }

    /// The results of an order. The set is closed.
    enum Outcome: Equatable {
        case sold(Int64)
        case existing(Int64)
        case refused
    }

    struct Increase {
        var product: ProductID
        var isMonthly = false
        var at: Date
        var price: Int
        var needsConsent: Bool
    }

    let referenceCatalogue: ReferenceCatalogue
    var now: Date
    var nextSale: Int64
    var purchases: [(account: Int, sale: Sale)] = []
    var subscriptions: [Subscription] = []
    var graceDays = 0
    var allFail = false
    var increases: [Increase] = []
    var withdrawn: Set<ProductID> = []

    init(_ referenceCatalogue: ReferenceCatalogue, at start: Date, nextSale: Int64) {
        self.referenceCatalogue = referenceCatalogue
        now = start
        self.nextSale = nextSale
    }

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    static func date(_ count: Int, _ period: String, after start: Date) -> Date {
        let number = (Int(period.dropFirst().dropLast()) ?? 0) * count
        switch period.last {
        case "D": return start.addingTimeInterval(Double(number) * 86400)
        case "W": return start.addingTimeInterval(Double(number) * 7 * 86400)
        case "Y": return calendar.date(byAdding: .year, value: number, to: start) ?? start
        default: return calendar.date(byAdding: .month, value: number, to: start) ?? start
        }
    }

    // MARK: - Time

    /// Advances the subscriptions of one account.
    mutating func pass(_ account: Int, until instant: Date) {
        now = instant
        for index in subscriptions.indices where subscriptions[index].account == account { pass(index) }
    }

    private mutating func pass(_ index: Int) {
        while true {
            let subscription = subscriptions[index]
            switch subscription.paymentStatus {
            case .over: return
            case .paid:
                guard let due = subscription.last.expires, due <= now else { return }
                if subscription.isRevoked || !subscription.renews && !subscription.isCommitted {
                    // The end of a revoked subscription is not a change.
                    if !subscription.isRevoked { subscriptions[index].changes.append(due) }
                    subscriptions[index].paymentStatus = .over(reason: 1)
                } else if !subscription.isCommitted, let reason = refusal(of: subscription, due: due) {
                    subscriptions[index].paymentStatus = .over(reason: reason)
                    subscriptions[index].changes.append(due)
                } else if subscription.fails || allFail {
                    let grace = grace(from: due, of: subscription)
                    subscriptions[index].paymentStatus = .late(
                        due: due, grace: grace,
                        end: due.addingTimeInterval(subscription.terms.isMonthly ? 90 * 86400 : 60 * 86400))
                    subscriptions[index].changes += [due] + [grace].compactMap(\.self)
                } else {
                    sellNext(index, due: due, paid: due, keepsDay: true)
                }
            case .late(_, _, let end):
                guard end <= now else { return }
                subscriptions[index].paymentStatus = .over(reason: 2)
                subscriptions[index].changes.append(end)
            }
        }
    }

    /// Returns the end of the grace period, which lasts at most 6 days for a weekly plan and 2 days for a plan of 3 days.
    /// A plan that is billed monthly has none.
    private func grace(from due: Date, of subscription: Subscription) -> Date? {
        guard !subscription.terms.isMonthly, let period = referenceCatalogue[subscription.terms.product]?.period else {
            return nil
        }
        let days = ["P1W": 6, "P3D": 2][period].map { min(graceDays, $0) } ?? graceDays
        return days > 0 ? due.addingTimeInterval(Double(days) * 86400) : nil
    }

    /// Returns the terms of the next period. In a commitment they stay.
    private func next(_ subscription: Subscription) -> (terms: Terms, offer: ReferenceCatalogue.Offer?) {
        subscription.isCommitted ? (subscription.terms, nil) : nextTerm(subscription)
    }

    /// Returns the terms after the commitment: the requested ones, the rest of the offer, or the plan.
    private func nextTerm(_ subscription: Subscription) -> (terms: Terms, offer: ReferenceCatalogue.Offer?) {
        let rest = rest(of: subscription)
        if isRequestedNext(subscription), let requested = subscription.requested { return requested }
        return (subscription.terms, rest)
    }

    /// Whether the requested terms come next. Another offer of the same plan waits for the end of the current one.
    private func isRequestedNext(_ subscription: Subscription) -> Bool {
        guard let requested = subscription.requested else { return false }
        return !requested.terms.isSame(as: subscription.terms) || rest(of: subscription) == nil
    }

    private func rest(of subscription: Subscription) -> ReferenceCatalogue.Offer? {
        guard var offer = subscription.offer, subscription.counted < offer.sales else { return nil }
        offer.count -= subscription.counted
        return offer
    }

    private func increase(of terms: Terms, at date: Date) -> Increase? {
        let known = increases.filter {
            $0.product == terms.product && $0.isMonthly == terms.isMonthly && $0.at > terms.since && $0.at <= date
        }
        guard let last = known.last, last.price != terms.price else { return nil }
        return Increase(
            product: terms.product, at: last.at, price: last.price, needsConsent: known.contains(where: \.needsConsent))
    }

    private func isAgreed(_ subscription: Subscription, _ terms: Terms, at date: Date) -> Bool {
        let asking = increases.last {
            $0.product == terms.product && $0.isMonthly == terms.isMonthly && $0.at > terms.since && $0.at <= date
                && $0.needsConsent
        }
        guard let asking else { return true }
        return subscription.consented.map { $0 >= asking.at } ?? false
    }

    /// Returns the reason why no period is sold at `due`: Apple's `expirationIntent`.
    private func refusal(of subscription: Subscription, due: Date) -> Int? {
        let (terms, offer) = next(subscription)
        if withdrawn.contains(terms.product) { return 4 }
        guard offer == nil, increase(of: terms, at: due) != nil else { return nil }
        return isAgreed(subscription, terms, at: due) ? nil : 3
    }

    private mutating func sellNext(_ index: Int, due: Date, paid: Date, keepsDay: Bool) {
        var subscription = subscriptions[index]
        let before = subscription
        var (terms, offer) = next(subscription)
        if offer == nil, !before.isCommitted, let increase = increase(of: terms, at: due) {
            terms.price = increase.price
            terms.since = increase.at
        }
        let samePeriod = period(of: terms) == period(of: before.terms)
        let isRequested = !before.isCommitted && isRequestedNext(before)
        let isSameKind = offer == nil ? before.offer == nil : !isRequested
        var goesOn = keepsDay && samePeriod && isSameKind
        // A period that would end before its payment begins at the payment.
        if keepsDay, paid > due {
            let start = goesOn ? before.anchor : due
            goesOn =
                goesOn && end(of: terms, goesOn ? before.offer : offer, goesOn ? before.counted + 1 : 1, start) > paid
            if !goesOn, end(of: terms, offer, 1, due) <= paid {
                return sellNext(index, due: due, paid: paid, keepsDay: false)
            }
        }
        if goesOn {
            offer = before.offer
            subscription.counted += 1
        } else {
            subscription.anchor = keepsDay ? due : paid
            subscription.counted = 1
        }
        subscription.terms = terms
        subscription.offer = offer
        if isRequested { subscription.requested = nil }
        subscription.paymentStatus = .paid
        append(to: &subscription, paid: paid, isRenewal: true)
        subscriptions[index] = subscription
    }

    private func period(of terms: Terms) -> String {
        terms.isMonthly ? "P1M" : referenceCatalogue[terms.product]?.period ?? ""
    }

    private func end(of terms: Terms, _ offer: ReferenceCatalogue.Offer?, _ count: Int, _ anchor: Date) -> Date {
        let end =
            offer.map { Self.date($0.mode == "payAsYouGo" ? count : $0.count, $0.period, after: anchor) }
            ?? Self.date(count, period(of: terms), after: anchor)
        return Self.whole(end)
    }

    private static func whole(_ date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000 + 0.0005).rounded(.down) / 1000)
    }

    private func append(to subscription: inout Subscription, paid: Date, isRenewal: Bool) {
        let offer = subscription.offer
        let end = end(of: subscription.terms, offer, subscription.counted, subscription.anchor)
        var bill: Int?
        if subscription.terms.isMonthly, offer == nil {
            let isNext = isRenewal && subscription.isCommitted
            bill = isNext ? subscription.last.bill.map { $0 + 1 } : 1
        }
        subscription.sales.append(
            Sale(
                id: subscription.nextID, original: subscription.sales.first?.id ?? subscription.nextID,
                product: subscription.terms.product, purchased: paid, expires: end,
                price: offer?.price ?? subscription.terms.price, offerKind: offer?.kind, offerID: offer?.id,
                offerMode: offer?.mode, isRenewal: isRenewal, bill: bill,
                commitmentEnd: bill.map {
                    Self.whole(Self.date(subscription.counted + 12 - $0, "P1M", after: subscription.anchor))
                }))
        subscription.nextID += 1
    }

    // MARK: - Purchases

    private mutating func number() -> Int64 {
        defer { nextSale += 1 }
        return nextSale * 1_000_000
    }

    func index(_ account: Int, _ group: String) -> Int? {
        subscriptions.firstIndex { $0.account == account && $0.group == group }
    }

    /// Returns the running subscription that has or will have `product`.
    func running(_ account: Int, _ product: ProductID) -> Int? {
        subscriptions.firstIndex {
            $0.account == account && !$0.isOver && !$0.isRevoked
                && ($0.terms.product == product || $0.requested?.terms.product == product)
        }
    }

    /// Uses a sale number, as the creation of an account does.
    mutating func addAccount() { nextSale += 1 }

    mutating func buy(
        _ account: Int, _ id: ProductID, isMonthly: Bool = false, offer offerID: String?, isCode: Bool, at now: Date
    ) -> Outcome {
        guard let product = referenceCatalogue[id], !withdrawn.contains(id) else { return .refused }
        guard let group = product.group else {
            guard offerID == nil else { return .refused }
            let owned = purchases.first { $0.account == account && $0.sale.product == id && $0.sale.revoked == nil }
            if !product.isConsumable, let owned { return .existing(owned.sale.id) }
            let number = number()
            purchases.append(
                (account, Sale(id: number, original: number, product: id, purchased: now, price: product.price)))
            return .sold(number)
        }
        let index = index(account, group)
        guard var (first, following) = offers(offerID, isCode, product, index, at: now),
            let base = isMonthly ? product.billPrice : product.price
        else { return .refused }
        // The offers are for the plan that is paid up front.
        if isMonthly { (first, following) = (nil, nil) }
        let price = increases.last { $0.product == id && $0.isMonthly == isMonthly }?.price ?? base
        let terms = Terms(product: id, isMonthly: isMonthly, price: price, since: now)
        if let index, !subscriptions[index].isOver, subscriptions[index].hasAccess(at: now),
            !beginsNow(product, isMonthly, subscriptions[index])
        {
            return request(index, terms, first)
        }
        let number = number()
        var subscription =
            index.map { subscriptions[$0] }
            ?? Subscription(
                account: account, group: group, sales: [], terms: terms, anchor: now, counted: 0, nextID: number,
                started: now)
        if subscription.sales.isEmpty || !subscription.hasAccess(at: now) {
            subscription.started = now
        } else {
            subscription.sales[subscription.sales.count - 1].isUpgraded = true
        }
        subscription.terms = terms
        subscription.offer = first
        subscription.anchor = now
        subscription.counted = 1
        subscription.nextID = number
        subscription.requested = following.map { (terms, $0) }
        subscription.renews = true
        subscription.fails = false
        subscription.consented = nil
        subscription.paymentStatus = .paid
        if first?.kind == 1 { subscription.hasUsedIntroductory = true }
        append(to: &subscription, paid: now, isRenewal: false)
        if let index { subscriptions[index] = subscription } else { subscriptions.append(subscription) }
        return .sold(number)
    }

    private func beginsNow(
        _ product: ReferenceCatalogue.Product, _ isMonthly: Bool, _ subscription: Subscription
    ) -> Bool {
        guard product.id != subscription.terms.product, let old = referenceCatalogue[subscription.terms.product] else {
            return false
        }
        if product.level == old.level {
            return product.period == old.period && isMonthly == subscription.terms.isMonthly
        }
        return product.level < old.level
    }

    /// Keeps the period, and requests terms for the next one.
    private mutating func request(_ index: Int, _ terms: Terms, _ offer: ReferenceCatalogue.Offer?) -> Outcome {
        var subscription = subscriptions[index]
        let isPlanned = (subscription.requested?.terms ?? subscription.terms).isSame(as: terms)
        if !isPlanned || offer != nil {
            let isSame = terms.isSame(as: subscription.terms)
            if isSame, !isPlanned { subscription.consented = now }
            subscription.requested = isSame && offer == nil ? nil : (isSame ? subscription.terms : terms, offer)
        }
        if !isPlanned || offer != nil || !subscription.renews { subscription.changes.append(now) }
        subscription.renews = true
        subscriptions[index] = subscription
        return .existing(subscription.last.id)
    }

    private func offers(
        _ id: String?, _ isCode: Bool, _ product: ReferenceCatalogue.Product, _ index: Int?, at now: Date
    ) -> (first: ReferenceCatalogue.Offer?, following: ReferenceCatalogue.Offer?)? {
        let before = index.map { subscriptions[$0] }
        let introductory =
            before.map { $0.hasAccess(at: now) || $0.hasUsedIntroductory } ?? false ? nil : product.introductory
        guard let id else { return (introductory, nil) }
        guard let offer = product.offers.first(where: { $0.id == id && ($0.kind == 3) == isCode }) else { return nil }
        switch offer.kind {
        case 2: return before == nil ? nil : (offer, nil)
        case 4:
            guard let before, before.isOver, !before.isRevoked else { return nil }
            return (offer, nil)
        default:
            let customer =
                before.map { $0.isOver || $0.isRevoked ? "expired" : "existing" } ?? "new"
            guard offer.customers.contains(customer) else { return nil }
            // Each customer gets an offer code once. A requested offer counts as used.
            let isRequested = before?.requested?.offer?.id == id && before?.requested?.terms.product == product.id
            let wasSold = before?.sales.contains { $0.offerID == id && $0.product == product.id } ?? false
            if isRequested || wasSold { return nil }
            if let introductory, offer.isStackable { return (introductory, offer) }
            return (offer, nil)
        }
    }

    // MARK: - Events of subscriptions

    mutating func setRenews(_ renews: Bool, _ index: Int) {
        if subscriptions[index].renews != renews { subscriptions[index].changes.append(now) }
        subscriptions[index].renews = renews
        if !renews, !subscriptions[index].isCommitted, case .late = subscriptions[index].paymentStatus {
            subscriptions[index].paymentStatus = .over(reason: 2)
        }
    }

    mutating func setFails(_ fails: Bool, _ index: Int) {
        subscriptions[index].fails = fails
        payIfPossible(index)
    }

    mutating func setAllFail(_ fails: Bool, at instant: Date) {
        for index in subscriptions.indices { pass(subscriptions[index].account, until: instant) }
        allFail = fails
        for index in subscriptions.indices { payIfPossible(index) }
    }

    private mutating func payIfPossible(_ index: Int) {
        guard case .late(let due, let grace, _) = subscriptions[index].paymentStatus, !subscriptions[index].fails,
            !allFail
        else { return }
        sellNext(index, due: due, paid: now, keepsDay: grace.map { now < $0 } ?? false)
        pass(index)
    }

    /// Whether the store would sell the next period now.
    func canRenew(_ index: Int) -> Bool {
        let subscription = subscriptions[index]
        guard subscription.renews || subscription.isCommitted, !subscription.fails, !allFail else { return false }
        if subscription.isCommitted { return true }
        let (terms, offer) = next(subscription)
        if withdrawn.contains(terms.product) { return false }
        return offer != nil || isAgreed(subscription, terms, at: priceDate(of: subscription))
    }

    /// Returns the instant that decides the price: an overdue period has the price of its due date.
    private func priceDate(of subscription: Subscription) -> Date {
        if case .late(let due, _, _) = subscription.paymentStatus, !subscription.isCommitted { due } else { now }
    }

    /// Starts the next period now.
    mutating func renew(_ index: Int) {
        sellNext(index, due: now, paid: now, keepsDay: false)
    }

    mutating func expire(_ index: Int) {
        let last = subscriptions[index].sales.count - 1
        if case .late = subscriptions[index].paymentStatus {
            subscriptions[index].paymentStatus = .over(reason: 2)
        } else {
            subscriptions[index].sales[last].expires = now
            if let bill = subscriptions[index].last.bill {
                subscriptions[index].sales[last].commitmentEnd = Self.whole(Self.date(12 - bill, "P1M", after: now))
            }
            subscriptions[index].paymentStatus = .over(reason: 1)
        }
        subscriptions[index].renews = false
        subscriptions[index].changes.append(now)
    }

    /// Whether a price increase needs the customer's consent and does not have it.
    func awaitsConsent(_ index: Int) -> Bool {
        let subscription = subscriptions[index]
        guard subscription.renews, !subscription.isOver, !subscription.isRevoked else { return false }
        let terms = nextTerm(subscription).terms
        let date = priceDate(of: subscription)
        guard let increase = increase(of: terms, at: date), increase.needsConsent else { return false }
        return !isAgreed(subscription, terms, at: date)
    }

    mutating func answer(_ agrees: Bool, _ index: Int) {
        if agrees { subscriptions[index].consented = now } else { setRenews(false, index) }
    }

    /// Returns Apple's number of the subscription's status.
    func status(_ index: Int, at now: Date) -> Int {
        let subscription = subscriptions[index]
        if subscription.isRevoked { return 5 }
        switch subscription.paymentStatus {
        case .paid: return 1
        case .over: return 2
        case .late(_, let grace, _): return grace.map { now < $0 } ?? false ? 4 : 3
        }
    }

    /// Returns the terms of the next period.
    func next(_ index: Int) -> Terms { next(subscriptions[index]).terms }

    /// Returns the terms after the commitment.
    func nextTerm(_ index: Int) -> Terms { nextTerm(subscriptions[index]).terms }

    // MARK: - Refunds

    func sales(of account: Int) -> [Sale] {
        (purchases.filter { $0.account == account }.map(\.sale)
            + subscriptions.filter { $0.account == account }.flatMap(\.sales))
            .sorted { ($0.purchased, $0.id) < ($1.purchased, $1.id) }
    }

    private mutating func change(_ id: Int64, _ body: (inout Sale) -> Void) {
        for index in purchases.indices where purchases[index].sale.id == id { body(&purchases[index].sale) }
        for index in subscriptions.indices {
            for place in subscriptions[index].sales.indices where subscriptions[index].sales[place].id == id {
                body(&subscriptions[index].sales[place])
            }
        }
    }

    mutating func refund(_ id: Int64) {
        change(id) { [now] in $0.revoked = now }
        for index in subscriptions.indices where subscriptions[index].last.id == id {
            if subscriptions[index].isOver { subscriptions[index].revokedAfterEnd.insert(id) }
            if case .late = subscriptions[index].paymentStatus { subscriptions[index].paymentStatus = .over(reason: 2) }
        }
    }

    /// Reverses a refund. The transaction must be finished again.
    mutating func reverse(_ id: Int64) {
        change(id) {
            $0.revoked = nil
            $0.isFinished = false
        }
        for index in subscriptions.indices { subscriptions[index].revokedAfterEnd.remove(id) }
    }

    mutating func finish(_ id: Int64) { change(id) { $0.isFinished = true } }
}
