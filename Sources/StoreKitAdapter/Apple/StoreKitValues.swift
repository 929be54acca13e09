#if canImport(StoreKit)
    import Foundation
    import StoreKit
    import StoreModel

    extension TransactionID {
        init(_ result: StoreKit.VerificationResult<StoreKit.Transaction>) {
            self.init(unchecked: "\(result.unsafePayloadValue.id)")
        }
    }

    extension StoreKitTransaction {
        init(_ result: StoreKit.VerificationResult<StoreKit.Transaction>, recordingIn verifier: SystemVerifier) {
            if case .verified = result { verifier.recordVerified(result.jwsRepresentation) }
            self.init(transaction: StoreTransaction(result)) {
                await result.unsafePayloadValue.subscriptionStatus.map { StoreTransaction($0) }
            }
        }
    }

    extension StoreTransaction {
        /// Creates a transaction without its renewal info.
        init(_ result: StoreKit.VerificationResult<StoreKit.Transaction>) { self.init(result, renewalInfo: nil) }

        init(_ status: StoreKit.Product.SubscriptionInfo.Status) {
            self.init(status.transaction, renewalInfo: status.renewalInfo.jwsRepresentation)
        }

        private init(_ result: StoreKit.VerificationResult<StoreKit.Transaction>, renewalInfo: String?) {
            let transaction = result.unsafePayloadValue
            self.init(
                id: TransactionID(result), originalID: TransactionID(unchecked: "\(transaction.originalID)"),
                productID: ProductID(unchecked: transaction.productID), kind: .init(transaction.productType),
                purchaseDate: transaction.purchaseDate, expiresDate: transaction.expirationDate,
                revocationDate: transaction.revocationDate, quantity: transaction.purchasedQuantity,
                appAccountToken: transaction.appAccountToken, originalPurchaseDate: transaction.originalPurchaseDate,
                reason: transaction.reason == .renewal ? .renewal : .purchase,
                ownership: transaction.ownershipType == .familyShared ? .familyShared : .purchased,
                isUpgraded: transaction.isUpgraded,
                revocationReason: transaction.revocationReason.map { .init(rawValue: $0.rawValue) },
                subscriptionGroupID: transaction.subscriptionGroupID, offer: Self.offer(of: transaction),
                signedTransaction: result.jwsRepresentation, signedRenewalInfo: renewalInfo)
        }

        private static func offer(of transaction: StoreKit.Transaction) -> TransactionOffer? {
            guard #available(iOS 17.2, macOS 14.2, tvOS 17.2, watchOS 10.2, visionOS 1.1, *) else { return nil }
            return transaction.offer.map { offer in
                let mode: AppStoreServerAPI.OfferDiscountType? =
                    switch offer.paymentMode {
                    case .freeTrial: .freeTrial
                    case .payAsYouGo: .payAsYouGo
                    case .payUpFront: .payUpFront
                    default: nil
                    }
                return TransactionOffer(type: .init(rawValue: offer.type.rawValue), id: offer.id, paymentMode: mode)
            }
        }
    }

    extension StoreSubscriptionStatus {
        init(_ status: StoreKit.Product.SubscriptionInfo.Status, of group: String) {
            let known: AppStoreServerAPI.Status =
                switch status.state {
                case .subscribed: .active
                case .expired: .expired
                case .inBillingRetryPeriod: .billingRetry
                case .inGracePeriod: .billingGracePeriod
                case .revoked: .revoked
                default: .init(rawValue: status.state.rawValue)
                }
            self.init(subscriptionGroupID: group, status: known, transaction: StoreTransaction(status))
        }
    }

    extension ProductType {
        fileprivate init(_ type: StoreKit.Product.ProductType) {
            switch type {
            case .consumable: self = .consumable
            case .nonConsumable: self = .nonConsumable
            case .autoRenewable: self = .autoRenewableSubscription
            case .nonRenewable: self = .nonRenewingSubscription
            default: self.init(rawValue: type.rawValue)
            }
        }
    }

    extension StoreProduct {
        init(_ product: StoreKit.Product) {
            let currency = product.priceFormatStyle.currencyCode
            self.init(
                id: ProductID(unchecked: product.id), kind: .init(product.type),
                price: Price(amount: product.price, currency: currency), displayPrice: product.displayPrice,
                displayName: product.displayName, description: product.description,
                isFamilyShareable: product.isFamilyShareable,
                subscription: product.subscription.map { SubscriptionTerms($0, of: product, currency: currency) })
        }
    }

    extension SubscriptionTerms {
        fileprivate init(
            _ subscription: StoreKit.Product.SubscriptionInfo, of product: StoreKit.Product, currency: String
        ) {
            self.init(
                groupID: subscription.subscriptionGroupID, groupDisplayName: subscription.groupDisplayName,
                level: subscription.groupLevel, period: .init(subscription.subscriptionPeriod),
                displayPeriod: subscription.subscriptionPeriod.formatted(product.subscriptionPeriodFormatStyle),
                introductoryOffer: subscription.introductoryOffer.map { Offer($0, of: product, currency: currency) },
                promotionalOffers: subscription.promotionalOffers.map { Offer($0, of: product, currency: currency) })
            if #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) {
                winBackOffers = subscription.winBackOffers.map { Offer($0, of: product, currency: currency) }
            }
        }
    }

    extension Offer {
        fileprivate init(
            _ offer: StoreKit.Product.SubscriptionOffer, of product: StoreKit.Product, currency: String
        ) {
            let mode: PaymentMode =
                switch offer.paymentMode {
                case .freeTrial: .freeTrial
                case .payAsYouGo: .payAsYouGo
                case .payUpFront: .payUpFront
                default: PaymentMode(rawValue: offer.paymentMode.rawValue)
                }
            self.init(
                id: offer.id, paymentMode: mode, period: .init(offer.period), periodCount: offer.periodCount,
                price: mode == .freeTrial ? nil : Price(amount: offer.price, currency: currency),
                displayPrice: offer.displayPrice,
                displayPeriod: offer.period.formatted(product.subscriptionPeriodFormatStyle))
        }
    }

    extension SubscriptionPeriod {
        fileprivate init(_ period: StoreKit.Product.SubscriptionPeriod) {
            let unit: Unit =
                switch period.unit {
                case .day: .day
                case .week: .week
                case .month: .month
                case .year: .year
                @unknown default: .day
                }
            self.init(value: period.value, unit: unit)
        }
    }

    extension StoreModel.Storefront {
        init(_ storefront: StoreKit.Storefront) {
            self.init(
                countryCode: storefront.countryCode, id: storefront.id, locale: Locale.current.identifier,
                // "No currency" in ISO 4217.
                currency: storefront.currency?.identifier ?? "XXX")
        }
    }

    #if !os(tvOS) && !os(watchOS) && !os(visionOS)
        extension PromotedPurchase {
            /// Creates a promoted purchase. The only offers that the App Store includes are win-back offers.
            @available(macOS 14.4, *)
            init(_ intent: StoreKit.PurchaseIntent) {
                self.init(productID: ProductID(unchecked: intent.product.id))
                if #available(iOS 18, macOS 15, *) { offer = intent.offer?.id.map { .winBack($0) } }
            }
        }
    #endif

    #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
        extension StoreMessage.Reason {
            init(_ reason: StoreKit.Message.Reason) {
                switch reason {
                case .generic: self = .generic
                case .priceIncreaseConsent: self = .priceIncreaseConsent
                case .billingIssue: self = .billingIssue
                default: self = Self.newer(reason) ?? .init(rawValue: "\(reason.rawValue)")
                }
            }

            private static func newer(_ reason: StoreKit.Message.Reason) -> Self? {
                if #available(iOS 18, visionOS 2, *) {
                    return reason == .winBackOffer ? .winBackOffer : nil
                }
                return nil
            }
        }
    #endif

    extension StoreFailure {
        static let customerCancelled = StoreFailure(code: .cancelled, reason: "The customer cancelled the purchase.")
        static let noPresentationContext = StoreFailure(
            code: .unsupported,
            reason: "There is no scene or window for the App Store's sheet. Set one with present in the configuration.")

        /// Runs `operation`, and converts errors of StoreKit to `StoreFailure`. Cancellation is passed on.
        static func translating<Value: Sendable>(_ operation: () async throws -> Value) async throws -> Value {
            do {
                return try await operation()
            } catch let error as CancellationError {
                throw error
            } catch {
                throw StoreFailure(translating: error)
            }
        }

        init(translating error: any Error) {
            switch error {
            case let failure as StoreFailure: self = failure
            case is CancellationError:
                self.init(code: .cancelled, reason: "The purchase was cancelled before the App Store answered.")
            case let error as StoreKit.Product.PurchaseError: self.init(error)
            case let error as StoreKitError: self.init(error)
            case let error as StoreKit.Transaction.RefundRequestError: self.init(error)
            case let error as URLError:
                self.init(code: .unreachable, reason: "The App Store cannot be reached: \(error.localizedDescription)")
            default: self.init(code: .unknown, reason: "StoreKit failed: \(error.localizedDescription)")
            }
        }

        // `default` instead of `@unknown default`, which requires all cases: some are unavailable on older systems.
        private init(_ error: StoreKit.Product.PurchaseError) {
            let code: Code =
                switch error {
                case .invalidQuantity: .invalidQuantity
                case .productUnavailable: .productUnavailable
                case .purchaseNotAllowed: .notAllowed
                case .ineligibleForOffer: .ineligibleForOffer
                case .invalidOfferIdentifier: .invalidOffer
                case .invalidOfferPrice: .invalidOfferPrice
                case .invalidOfferSignature: .invalidOfferSignature
                case .missingOfferParameters: .missingOfferParameters
                default: .unknown
                }
            self.init(code: code, reason: "The App Store refused the purchase: \(error.localizedDescription)")
        }

        private init(_ error: StoreKit.Transaction.RefundRequestError) {
            switch error {
            case .duplicateRequest:
                self.init(
                    code: .duplicateRefundRequest,
                    reason: "The App Store already has a refund request for this purchase.")
            default:
                self.init(
                    code: .refundRequestFailed,
                    reason: "The App Store refused the refund request: \(error.localizedDescription)")
            }
        }

        private init(_ error: StoreKitError) {
            switch error {
            case .userCancelled: self = .customerCancelled
            case .networkError(let cause):
                self.init(code: .unreachable, reason: "The App Store cannot be reached: \(cause.localizedDescription)")
            case .systemError(let cause):
                self.init(code: .systemError, reason: "StoreKit failed: \(cause.localizedDescription)")
            case .notAvailableInStorefront:
                self.init(code: .notAvailableInStorefront, reason: "The App Store does not sell this in this country.")
            case .notEntitled:
                self.init(code: .notEntitled, reason: "The app lacks the entitlement for this; add it in Xcode.")
            default: self.init(code: .unknown, reason: "StoreKit failed: \(error.localizedDescription)")
            }
        }
    }
#endif
