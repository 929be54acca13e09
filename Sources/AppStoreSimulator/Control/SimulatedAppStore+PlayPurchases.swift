import Foundation
import GooglePlay
import Primitives
import SimulatorControl
import StoreModel

/// Control of Google Play by testers: purchases and what customers, developers and Google do with them.
extension SimulatedAppStore {
    /// Buys a product or a subscription on Google Play.
    ///
    /// Throws `SimulatorError`: `unknownAccount`, `unknownProduct` for a product, base plan or offer that is not sold,
    /// `invalidValue`, and `notNow` if the account owns the product or the store has no Google Play.
    package func playBuy(
        _ buy: StoreControlWire.PlayBuy, for name: AccountName
    ) async throws -> StoreControlWire.SignedPlayPurchase {
        let play = try requireGooglePlay()
        let purchase = try await sellOnPlay({ try $0.db.existingAccount(name).id }) { try $0.purchase(buy, $1) }
        return try signed(purchase, play)
    }

    /// Buys the product of a subscription that has ended again, in the Play Store and without the app. Returns the new
    /// purchase.
    ///
    /// Throws `SimulatorError`: `unknownPurchase`, `unknownProduct` if the base plan is no longer sold, and `notNow` if
    /// the subscription has not ended, or ended more than a year ago.
    package func playResubscribe(_ token: String) async throws -> StoreControlWire.PlayPurchase {
        let purchase = try await sellOnPlay({ records in
            guard let entry = try records.entry(token) else { throw Self.unknownPurchase }
            return entry.purchase.info.account
        }) { try $0.resubscription(of: token, $1) }
        return try await playPurchase(purchase.info.token)
    }

    /// Sells a purchase to an account, and writes it with its effects.
    private func sellOnPlay(
        _ account: @escaping @Sendable (PlayDatabase) throws -> Int64,
        _ sell: @escaping @Sendable (inout PlaySale, PlayTokens) throws -> (PlayPurchase, [PlayEffect])
    ) async throws -> PlayPurchase {
        let play = try requireGooglePlay()
        return try await controlPlay {
            try await self.writePlayDatabase { records, now in
                let number = try records.nextNumber()
                let tokens = PlayTokens(
                    seed: try records.db.seed(), revision: try records.db.clock().revision, number: number)
                var sale = PlaySale(
                    records: records, catalogue: play.catalogue, account: try account(records), now: now)
                let (purchase, effects) = try sell(&sale, tokens)
                try records.add(purchase, number: number, at: sale.now)
                try records.write(effects, of: purchase)
                return purchase
            }
        }
    }

    private func signed(
        _ purchase: PlayPurchase, _ play: SimulatedGooglePlay
    ) throws -> StoreControlWire.SignedPlayPurchase {
        let info = purchase.info
        let data = SignedPurchaseData {
            $0.orderId = info.orderID
            $0.packageName = play.catalogue.packageName.rawValue
            $0.productId = info.productID.rawValue
            $0.purchaseToken = info.token
            $0.acknowledged = info.isAcknowledged
            $0.obfuscatedAccountId = info.obfuscatedAccountID
            $0.obfuscatedProfileId = info.obfuscatedProfileID
            switch purchase {
            case .product(let purchase):
                $0.purchaseTime = purchase.purchasedAt.playMilliseconds.value
                $0.purchaseState = purchase.state == .pending ? 4 : 0
                $0.quantity = purchase.quantity
            case .subscription(let purchase):
                $0.purchaseTime = purchase.startedAt.playMilliseconds.value
                $0.purchaseState = purchase.state == .pending ? 4 : 0
                $0.quantity = 1
                $0.autoRenewing = purchase.renews
            }
        }
        let (text, signature) = try data.signed(by: play.licenceKey)
        return StoreControlWire.SignedPlayPurchase(
            packageName: play.catalogue.packageName.rawValue, productId: info.productID, purchaseToken: info.token,
            orderId: info.orderID, signedData: text, signature: signature)
    }

    /// Returns the purchases of an account, oldest first. Throws `SimulatorError` (`unknownAccount`, `notNow`).
    package func playPurchases(of name: AccountName) async throws -> [StoreControlWire.PlayPurchase] {
        try await readPlayDatabase { records, _ in
            let account = try records.db.existingAccount(name)
            return try records.entries(of: account.id).map { Self.describe($0.purchase, account) }
        }
    }

    /// Returns a purchase. Throws `SimulatorError` (`unknownPurchase`, `notNow`).
    package func playPurchase(_ token: String) async throws -> StoreControlWire.PlayPurchase {
        try await readPlayDatabase { records, _ in
            guard let purchase = try records.entry(token)?.purchase,
                let account = try records.db.account(purchase.info.account)
            else { throw Self.unknownPurchase }
            return Self.describe(purchase, account)
        }
    }

    /// An action of a tester on a purchase.
    package enum PlayAction: Sendable {
        case acknowledge, consume, cancel, restart, pause(SubscriptionPeriod), resume, hold, recover, complete, decline
        /// Changes the price for the subscriber: the end of a legacy price cohort.
        case changePrice(StoreControlWire.PlayNewPrice)
        /// Agrees to the price that waits for a consent.
        case agree
    }

    /// Performs an action on a purchase, and returns it. Throws `SimulatorError`: `unknownPurchase`, and `notNow` if the
    /// state of the purchase does not allow the action.
    package func perform(
        _ action: PlayAction, onPlayPurchase token: String
    ) async throws -> StoreControlWire.PlayPurchase {
        try await controlPlay {
            try await self.changePlayPurchase(token) { entry, now in
                switch entry.purchase {
                case .product(var purchase):
                    let effects = try purchase.perform(action, at: now)
                    entry.purchase = .product(purchase)
                    return (effects, ())
                case .subscription(var purchase):
                    let effects = try purchase.perform(action, at: now)
                    entry.purchase = .subscription(purchase)
                    return (effects, ())
                }
            }
        }
        return try await playPurchase(token)
    }

    /// Refunds the latest order of a purchase, or another one. Throws `SimulatorError` (`unknownPurchase`, `notNow`).
    package func refundPlayPurchase(
        _ token: String, _ refund: StoreControlWire.PlayRefund, chargeback: Bool = false
    ) async throws -> StoreControlWire.PlayPurchase {
        let order = try await order(refund.orderID, of: token)
        try await controlPlay {
            try await self.refundPlayOrder(
                order, revokes: refund.keepsPurchase != true || chargeback, source: chargeback ? 0 : 2,
                chargeback: chargeback, quantity: refund.quantity)
        }
        return try await playPurchase(token)
    }

    /// Lets a bank ask for the payment of an order, which the developer can review within 24 hours.
    ///
    /// Throws `SimulatorError` (`unknownPurchase`, `notNow`).
    package func requestPlayChargeback(
        _ token: String, order id: String? = nil
    ) async throws -> StoreControlWire.PlayPurchase {
        let order = try await order(id, of: token)
        try await controlPlay { try await self.beginPlayRefundReview(of: order) }
        return try await playPurchase(token)
    }

    /// Returns the id of an order of a purchase, by default the latest one.
    private func order(_ id: String?, of token: String) async throws -> String {
        let purchase = try await playPurchase(token)
        let order = id ?? purchase.orderID
        guard
            order.hasSameBytes(as: purchase.orderID) || order.hasPrefix(Self.firstOrder(of: purchase.orderID))
        else {
            throw SimulatorError(.unknownPurchase, "The purchase has no order \(order).")
        }
        return order
    }

    /// The id of a purchase's first order, without the number of the renewal.
    private static func firstOrder(of id: String) -> String {
        id.range(of: "..").map { String(id[..<$0.lowerBound]) } ?? id
    }

    /// Converts the errors of Google's API to those of the control API.
    private func controlPlay<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let refusal as PlayRefusal {
            throw SimulatorError(refusal.reason == "invalidValue" ? .invalidValue : .notNow, refusal.message)
        } catch let error as GoogleAPIError {
            let isUnknown = ["purchaseTokenNotFound", "invalid", "orderNotFound"].contains(error.reason)
            throw isUnknown ? Self.unknownPurchase : SimulatorError(.notNow, error.message)
        }
    }

    static let unknownPurchase = SimulatorError(
        .unknownPurchase, "There is no such purchase on Google Play; list the purchases of the account.")

    private static func describe(
        _ purchase: PlayPurchase, _ account: SimulatorDatabase.Account
    ) -> StoreControlWire.PlayPurchase {
        let info = purchase.info
        var wire = StoreControlWire.PlayPurchase(
            account: account.name.rawValue, productID: info.productID, purchaseToken: info.token,
            orderID: info.orderID, kind: "product", state: "", isAcknowledged: info.isAcknowledged)
        wire.refundReview = info.review.map {
            StoreControlWire.PlayRefundReview(
                orderID: $0.orderID, deadline: $0.deadline, preference: $0.preference?.rawValue, isDecided: $0.isDecided
            )
        }
        switch purchase {
        case .product(let purchase):
            wire.state = "\(purchase.state)"
            wire.quantity = purchase.quantity
            wire.offerID = purchase.offerID
            wire.refundableQuantity = purchase.refundableQuantity
            wire.isConsumed = purchase.isConsumed
            if purchase.nextChange != nil { wire.acknowledgeBy = info.acknowledgeBy }
        case .subscription(let purchase):
            wire.kind = "subscription"
            wire.state = purchase.state.rawValue
            wire.orderID = purchase.latestOrderID ?? info.orderID
            wire.basePlanID = purchase.terms.basePlanID
            wire.offerID = purchase.terms.offerID
            wire.expiryTime = purchase.expiryTime.wholeMilliseconds
            wire.autoRenews = purchase.renews && purchase.state != .pending
            wire.changesAt = purchase.stateChange?.wholeMilliseconds
            wire.paymentsFail = purchase.paymentsFail
            wire.scheduledPause = purchase.scheduledPause
            wire.replacesAtEnd = purchase.deferredItem == nil ? nil : purchase.replacement?.productID
            wire.priceChange = purchase.priceChangeDetails.map { details in
                StoreControlWire.PlayPriceChange(
                    price: Price(details.newPrice ?? .zero("")), mode: details.priceChangeMode?.rawValue,
                    state: details.priceChangeState?.rawValue ?? "", at: details.expectedNewPriceChargeTime)
            }
            wire.priceStepUp = purchase.priceStepUpConsentDetails.map { details in
                StoreControlWire.PlayPriceChange(
                    price: Price(details.newPrice ?? .zero("")), state: details.state?.rawValue ?? "",
                    at: details.consentDeadlineTime)
            }
            if !info.isAcknowledged, !purchase.isEnded { wire.acknowledgeBy = info.acknowledgeBy }
        }
        return wire
    }
}

extension PlayProductPurchase {
    fileprivate mutating func perform(
        _ action: SimulatedAppStore.PlayAction, at now: Date
    ) throws(PlayRefusal) -> [PlayEffect] {
        switch action {
        case .acknowledge: try acknowledge(nil)
        case .consume: try consume()
        case .complete: return try complete(at: now)
        case .decline: return try decline(at: now)
        case .cancel, .restart, .pause, .resume, .hold, .recover, .changePrice, .agree:
            throw PlayRefusal("invalidSubscriptionState", "A one-time product does not renew.")
        }
        return []
    }
}

extension PlaySubscription {
    fileprivate mutating func perform(
        _ action: SimulatedAppStore.PlayAction, at now: Date
    ) throws(PlayRefusal) -> [PlayEffect] {
        switch action {
        case .acknowledge: try acknowledge(nil)
        case .consume: throw PlayRefusal("invalidSubscriptionState", "A subscription is not consumed.")
        case .cancel: return try cancel(by: .user, at: now)
        case .restart: return try restart(at: now)
        case .pause(let length): return try schedulePause(length, at: now)
        case .resume: return try resume(at: now)
        case .hold: try failPayments()
        case .recover: return try recover(at: now)
        case .complete: return try begin(at: now)
        case .decline: return try decline(at: now)
        case .changePrice(let new):
            guard let price = AndroidPublisher.Money(text: new.price, currencyCode: terms.price.currencyCode) else {
                throw PlayRefusal("invalidValue", "The price should be a number such as 5.99.")
            }
            return try changePrice(to: price, isOptOut: new.isOptOut ?? false, at: now)
        case .agree: return try agreeToPrice(at: now)
        }
        return []
    }
}

extension AndroidPublisher.Money {
    /// Reads an amount with at most six digits before the point and three after it.
    fileprivate init?(text: String, currencyCode: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isDigit) }),
            parts[0].utf8.count <= 6, let units = Int64(parts[0])
        else { return nil }
        let digits = parts.count == 2 ? String(parts[1]) : ""
        guard digits.utf8.count <= 3, let nanos = Int(digits + String(repeating: "0", count: 9 - digits.utf8.count))
        else { return nil }
        self.init(currencyCode: currencyCode, units: units, nanos: nanos)
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
