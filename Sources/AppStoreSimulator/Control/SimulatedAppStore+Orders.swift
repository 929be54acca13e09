import SimulatorControl
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Orders of devices and testers, orders that wait, and offer codes.
extension SimulatedAppStore {
    /// Adds a payment. The device receives the outcome as an update.
    ///
    /// A repeated payment buys nothing. While the payment waits, the device gets the deferral and later the outcome. If
    /// another device of the account repeats it, for example a reinstalled app, that device gets the outcome.
    ///
    /// - Parameters:
    ///   - payment: The payment.
    ///   - id: The device.
    /// - Throws: `SimulatorError` (`unknownDevice`), or the `StoreFailure` that the settings inject.
    public func add(_ payment: Payment, from id: DeviceID) async throws {
        try await applyInjectedFaults(to: .purchase)
        try await recordEvent({ try $0.existingDevice(id).account }) {
            [offerVerifier, base = configuration.baseClock] event in
            if let answer = try event.db.answer(to: payment.id, of: event.account.id) {
                return try event.repeatAnswer(answer.update, to: id)
            }
            var order = Order(
                accountID: event.account.id, productID: payment.productID, quantity: payment.quantity,
                appAccountToken: payment.appAccountToken, payment: payment.id, device: id)
            order.setOffer(payment.offerID, kind: payment.offer?.kind)
            do {
                order.allowsIntroductory = try offerVerifier.verify(payment, in: event, wallClock: base.now())
            } catch let failure as StoreFailure {
                return try event.refuse(order, failure)
            }
            _ = try event.take(order, asksToBuy: payment.simulatesAskToBuy)
        }
    }

    /// Buys a product for an account. Without a device, each device of the account gets an update.
    ///
    /// With a device, it is a payment of that device: the device gets the outcome, and the settings can inject an error.
    ///
    /// A purchase that waits has the state `deferred` or `interrupted`, and the id that its transaction will have.
    /// Throws `unknownAccount`; `unknownDevice` for a device of another account; and `StoreFailure` if the store refuses the
    /// order.
    @discardableResult
    package func buy(
        _ request: StoreControlWire.Buy, for name: AccountName
    ) async throws -> StoreControlWire.Transaction {
        let device = request.deviceID.map(DeviceID.init(unchecked:))
        if device != nil { try await applyInjectedFaults(to: .purchase) }
        let outcome = try await recordEvent({ try $0.existingAccount(name) }) { event in
            var order = Order(
                accountID: event.account.id, productID: request.productID, quantity: request.quantity ?? 1,
                appAccountToken: request.appAccountToken)
            if let device { try event.setPayment(of: device, in: &order) }
            order.setOffer(request.offerID, kind: request.offerKind)
            if let plan = request.billingPlan { order.billingPlan = plan.kind }
            if request.allowsIntroductoryOffer == false { order.allowsIntroductory = false }
            let decision = try event.take(order, asksToBuy: request.simulatesAskToBuy ?? false)
            return try event.outcome(decision, of: order.productID)
        }
        return try describe(outcome)
    }

    /// Buys a product for an account, without a device. Each device of the account gets an update.
    ///
    ///     try await simulator.buy("monthly", for: "anna")
    ///
    /// A purchase that waits has the state `deferred` or `interrupted`, and the id that its transaction will have.
    ///
    /// - Parameters:
    ///   - product: The product.
    ///   - name: The account.
    ///   - quantity: The quantity.
    ///   - offerID: The identifier of an offer.
    ///   - offerKind: The kind of the offer. `nil` means the promotional or else the win-back offer with `offerID`.
    ///   - isBilledMonthly: Whether a subscription of a year is billed each month, with a commitment to the year.
    ///   - allowsIntroductoryOffer: Whether an eligible customer gets the introductory offer of the product. With
    ///     `false` the account stays eligible for this offer.
    ///   - appAccountToken: The app account token.
    ///   - simulatesAskToBuy: Whether the purchase waits for approval even if Ask to Buy is off for the account.
    /// - Returns: The transaction.
    /// - Throws: `SimulatorError` (`unknownAccount`); `StoreFailure` if the store refuses the order.
    @discardableResult
    public func buy(
        _ product: ProductID, for name: AccountName, quantity: Int = 1, offerID: String? = nil,
        offerKind: PaymentOffer.Kind? = nil, isBilledMonthly: Bool = false, allowsIntroductoryOffer: Bool = true,
        appAccountToken: UUID? = nil, simulatesAskToBuy: Bool? = nil
    ) async throws -> StoreControlWire.Transaction {
        try await buy(
            StoreControlWire.Buy(
                productID: product, quantity: quantity, offerID: offerID, offerKind: offerKind,
                billingPlan: isBilledMonthly ? .monthly : nil, allowsIntroductoryOffer: allowsIntroductoryOffer,
                appAccountToken: appAccountToken,
                simulatesAskToBuy: simulatesAskToBuy),
            for: name)
    }

    /// Approves or declines a purchase that waits for approval.
    ///
    /// - Parameters:
    ///   - transaction: The id of the waiting purchase.
    ///   - approving: Whether it is approved.
    /// - Returns: The transaction.
    /// - Throws: `SimulatorError` (`unknownTransaction`, `notPending`); `StoreFailure` if the store refuses the order,
    ///   for example for a withdrawn product.
    @discardableResult
    public func answerAskToBuy(
        _ transaction: TransactionID, approving: Bool
    ) async throws -> StoreControlWire.Transaction {
        try await answerAskToBuy(transaction, approving ? .approve : .decline)
    }

    @discardableResult
    package func answerAskToBuy(
        _ transaction: TransactionID, _ decision: StoreControlWire.AskToBuy.Decision
    ) async throws -> StoreControlWire.Transaction {
        try await end(transaction, waitingFor: .approval) { event, held in
            switch decision {
            case .approve: return try event.outcome(try event.release(held), of: held.order.productID)
            case .decline:
                try event.decline(held)
                return .unsold(held.number, held.order.productID, "declined")
            }
        }
    }

    /// Resolves the problem that interrupted a purchase, and completes it.
    ///
    /// - Parameter transaction: The id of the waiting purchase.
    /// - Returns: The transaction.
    /// - Throws: `SimulatorError` (`unknownTransaction`, `notPending`); `StoreFailure` if the store refuses the order,
    ///   for example for a withdrawn product.
    @discardableResult
    public func resolveInterruption(_ transaction: TransactionID) async throws -> StoreControlWire.Transaction {
        try await end(transaction, waitingFor: .interruption) { event, held in
            try event.outcome(try event.release(held), of: held.order.productID)
        }
    }

    private func end(
        _ id: TransactionID, waitingFor reason: HeldOrder.Reason,
        _ body: @escaping @Sendable (inout SimulatorEvent, HeldOrder) throws -> OrderOutcome
    ) async throws -> StoreControlWire.Transaction {
        guard let number = id.number else {
            throw SimulatorError(.unknownTransaction, "There is no transaction \(id).")
        }
        let outcome = try await recordEvent({ try $0.existingAccount(ofTransaction: number) }) { event in
            guard let held = try event.db.heldOrder(number), held.reason == reason else {
                throw SimulatorError(.notPending, "The transaction \(id) has no pending \(reason.rawValue).")
            }
            return try body(&event, held)
        }
        return try describe(outcome)
    }

    /// Returns the purchases that wait, oldest first.
    ///
    /// - Parameter account: The account; `nil` means all.
    /// - Returns: The purchases.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    public func pendingOrders(of account: AccountName? = nil) throws -> [StoreControlWire.PendingOrder] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            let held = try account.map { try db.heldOrders(of: db.existingAccount($0).id) } ?? db.heldOrders()
            var names: [Int64: String] = [:]
            for id in Set(held.map(\.order.accountID)) { names[id] = try db.account(id)?.name.rawValue }
            return held.map {
                StoreControlWire.PendingOrder(
                    transactionID: TransactionID(unchecked: "\($0.number)"), account: names[$0.order.accountID] ?? "",
                    productID: $0.order.productID, quantity: $0.order.quantity, state: $0.reason.state,
                    orderedAt: $0.at.wholeMilliseconds)
            }
        }
    }

    /// Redeems an offer code for an account, without a device. Each device of the account gets an update.
    ///
    /// - Parameters:
    ///   - code: A code that was created; or the identifier of an offer without such codes, or `PRODUCT:OFFER` if
    ///     several products have it.
    ///   - product: The product of the offer; `nil` means any.
    ///   - appAccountToken: The app account token.
    ///   - account: The account.
    /// - Returns: The transaction.
    /// - Throws: `SimulatorError` (`unknownAccount`); `StoreFailure`, such as `invalidCode` or `ineligibleForOffer`.
    @discardableResult
    public func redeem(
        _ code: String, of product: ProductID? = nil, appAccountToken: UUID? = nil, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await redeem(
            StoreControlWire.Redeem(code: code, productID: product, appAccountToken: appAccountToken), for: account)
    }

    @discardableResult
    package func redeem(
        _ request: StoreControlWire.Redeem, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try describe(
            try await redeem(
                request.code, of: request.productID, binding: request.appAccountToken,
                { try $0.existingAccount(account) }))
    }

    /// Redeems an offer code on a device. The device receives the outcome as an update.
    ///
    /// - Parameters:
    ///   - redemption: The code, and an app account token.
    ///   - device: The device.
    /// - Throws: `SimulatorError` (`unknownDevice`); `StoreFailure`, such as `invalidCode` or `ineligibleForOffer`, or
    ///   the one that the settings inject.
    public func redeem(_ redemption: OfferCodeRedemption, from device: DeviceID) async throws {
        try await applyInjectedFaults(to: .offerCodeRedeem)
        guard let code = redemption.code else {
            throw StoreFailure(
                code: .invalidCode,
                reason: "The simulator has no sheet to type a code into; send the code in the request.")
        }
        _ = try await redeem(
            code, of: nil, binding: redemption.appAccountToken, { try $0.existingDevice(device).account })
    }

    private func redeem(
        _ code: String, of product: ProductID?, binding token: UUID?,
        _ findAccount: @escaping @Sendable (SimulatorDatabase) throws -> SimulatorDatabase.Account
    ) async throws -> OrderOutcome {
        try await recordEvent(findAccount) { event in
            try event.redeem(code, of: product, binding: token)
        }
    }

    private func describe(_ outcome: OrderOutcome) throws -> StoreControlWire.Transaction {
        switch outcome {
        case .sale(let sale): return try describe(sale)
        case .unsold(let number, let product, let state):
            let id = TransactionID(unchecked: "\(number)")
            return StoreControlWire.Transaction(
                transactionID: id, originalTransactionID: id, productID: product, state: state, signedTransaction: "")
        case .refused(let failure): throw failure
        }
    }
}

/// The outcome of an order, as the control API reports it.
enum OrderOutcome: Sendable {
    case sale(Sale)
    /// The order waits or was declined. It has the id that was reserved for its transaction.
    case unsold(Int64, ProductID, _ state: String)
    case refused(StoreFailure)
}

extension HeldOrder.Reason {
    /// The name in the control API.
    var state: String {
        switch self {
        case .approval: "deferred"
        case .interruption: "interrupted"
        }
    }
}

extension Order {
    /// Sets the offer of the order. An offer of an unknown kind is treated as one that the product does not have.
    mutating func setOffer(_ offer: String?, kind: PaymentOffer.Kind?) {
        offerID = offer
        offerKind =
            switch kind {
            case nil: nil
            case .promotional?: .promotional
            case .winBack?: .winBack
            default: .introductory
            }
    }
}

extension SimulatorEvent {
    /// Sells an order, or holds it if it has to wait.
    mutating func take(_ order: Order, asksToBuy: Bool) throws -> StoreRules.Decision {
        if asksToBuy || account.asksToBuy ?? StoreSetting.askToBuy.isOn(in: settings) {
            return try hold(order, for: .approval)
        }
        if account.isInterrupted ?? StoreSetting.interruptedPurchases.isOn(in: settings) {
            return try hold(order, for: .interruption)
        }
        return try sell(order)
    }

    /// Makes an order a payment of a device. The payment's identifier follows from the store's seed and the transaction
    /// number, so it is unique and reproducible.
    ///
    /// Throws `unknownDevice` for a device of another account.
    mutating func setPayment(of device: DeviceID, in order: inout Order) throws {
        guard try db.device(device)?.account.id == account.id else {
            throw SimulatorError(
                .unknownDevice,
                "The account \(account.name) has no device \(device); choose one of its devices, or sign one in.")
        }
        let number = nextNumber()
        let payment = UUID(namespace: .simulatedStore, name: "payment \(try db.seed()) \(number)")
        order.number = number
        order.payment = PaymentID(unchecked: payment.uuidString.lowercased())
        order.device = device
    }

    /// Repeats the answer to a payment if the payment is deferred, or if another device repeated the payment.
    mutating func repeatAnswer(_ answer: UpdateRecord, to device: DeviceID) throws {
        let held = try answer.payment.flatMap { try db.heldOrder($0, of: account.id) }
        let waits = held?.reason == .approval
        guard answer.device != device || waits else { return }
        if let held { try db.set(device: device, ofHeldOrder: held.number) }
        var update = answer
        update.device = device
        try record([.update(update)])
    }

    func outcome(_ decision: StoreRules.Decision, of product: ProductID) throws -> OrderOutcome {
        switch decision {
        case .sold(let id), .alreadyOwned(let id): .sale(try sale(of: id))
        case .held(let number, let reason): .unsold(number, product, reason.state)
        case .refused(let failure): .refused(failure)
        }
    }
}

extension Catalogue {
    /// Returns the product and the offer of a code: `OFFER`, or `PRODUCT:OFFER` if several products have that offer.
    ///
    /// Throws `invalidCode`.
    func offer(forCode code: String, of product: ProductID?) throws(StoreFailure) -> (ProductID, String) {
        let candidates = items.filter { product == nil || $0.id == product }
        let named = candidates.filter { $0.offerCodes.contains { $0.id.hasSameBytes(as: code) } }
        if let only = named.first, named.count == 1 { return (only.id, code) }
        guard named.isEmpty else {
            throw StoreFailure(
                code: .invalidCode,
                reason: "Several products have an offer \(code): write \(named[0].id):\(code), for example.")
        }
        for item in candidates {
            let prefix = "\(item.id):".utf8
            guard code.utf8.starts(with: prefix) else { continue }
            let offer = String(Substring(code.utf8.dropFirst(prefix.count)))
            if item.offerCodes.contains(where: { $0.id.hasSameBytes(as: offer) }) { return (item.id, offer) }
        }
        throw StoreFailure(code: .invalidCode, reason: "The store has no offer code \(code).")
    }
}
