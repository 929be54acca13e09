import Foundation
import GooglePlay
import Primitives
import StoreModel

/// The resources of Google's API.
extension PlaySubscription {
    private typealias API = AndroidPublisher

    /// Identifies the state of the subscription, for a deferral.
    var etag: String { Base64.encodeURL(SHA256.hash(Array("\(info.token) \(revision)".utf8)).prefix(15)) }

    var resource: AndroidPublisher.SubscriptionPurchaseV2 {
        AndroidPublisher.SubscriptionPurchaseV2 {
            $0.kind = API.SubscriptionPurchaseV2.kind
            $0.etag = etag
            $0.regionCode = info.regionCode
            $0.startTime = state == .pending || state == .pendingPurchaseCanceled ? nil : startedAt.wholeMilliseconds
            $0.subscriptionState = Self.states[state]
            $0.acknowledgementState = info.isAcknowledged ? .acknowledged : .pending
            $0.linkedPurchaseToken = replacement?.token
            $0.lineItems = [deferredLineItem, lineItem].compactMap(\.self)
            $0.testPurchase = info.isTest ? API.Presence() : nil
            $0.externalAccountIdentifiers = API.ExternalAccountIdentifiers(
                info.obfuscatedAccountID, info.obfuscatedProfileID)
            // Google removes the context with the acknowledgement.
            if let former, !info.isAcknowledged {
                $0.outOfAppPurchaseContext = API.OutOfAppPurchaseContext {
                    $0.expiredPurchaseToken = former.token
                    $0.expiredExternalAccountIdentifiers = API.ExternalAccountIdentifiers(
                        former.obfuscatedAccountID, former.obfuscatedProfileID)
                }
            }
            switch state {
            case .canceled, .expired: $0.canceledStateContext = cancellation.map(Self.context)
            case .inGracePeriod: $0.inGracePeriodStateContext = declined
            case .onHold: $0.onHoldStateContext = declined
            case .paused:
                $0.pausedStateContext = API.PausedStateContext { $0.autoResumeTime = stateUntil }
            case .pending, .active, .pendingPurchaseCanceled: break
            }
        }
    }

    private static let states: [State: AndroidPublisher.SubscriptionState] = [
        .pending: .pending, .active: .active, .canceled: .canceled, .inGracePeriod: .inGracePeriod, .onHold: .onHold,
        .paused: .paused, .expired: .expired, .pendingPurchaseCanceled: .pendingPurchaseCanceled,
    ]

    private var declined: AndroidPublisher.DeclinedStateContext {
        API.DeclinedStateContext {
            $0.renewalDeclined = API.RenewalDeclined { $0.pendingOrderId = pendingOrderID }
        }
    }

    private static func context(_ cancellation: Cancellation) -> AndroidPublisher.CanceledStateContext {
        API.CanceledStateContext {
            switch cancellation.by {
            case .user:
                $0.userInitiatedCancellation = API.UserCancellation {
                    $0.cancelTime = cancellation.at.wholeMilliseconds
                }
            case .system: $0.systemInitiatedCancellation = API.Presence()
            case .developer: $0.developerInitiatedCancellation = API.Presence()
            case .replacement: $0.replacementCancellation = API.Presence()
            }
        }
    }

    private var lineItem: AndroidPublisher.SubscriptionLineItem {
        API.SubscriptionLineItem {
            $0.productId = info.productID.rawValue
            let isOwned = state != .pending && deferredItem == nil
            $0.expiryTime = isOwned ? expiryTime.wholeMilliseconds : nil
            $0.latestSuccessfulOrderId = latestOrderID
            $0.offerDetails = API.OfferDetails {
                $0.basePlanId = terms.basePlanID
                $0.offerId = terms.offerID
                $0.offerTags = terms.tags.isEmpty ? nil : terms.tags
            }
            $0.offerPhase = deferredItem == nil ? phase : nil
            if terms.kind == .prepaid {
                $0.prepaidPlan = API.PrepaidPlan {
                    $0.allowExtendAfterTime = terms.allowsExtension && !isEnded ? startedAt.wholeMilliseconds : nil
                }
            } else {
                $0.autoRenewingPlan = plan
            }
            if let replacement, let mode = replacement.mode {
                $0.itemReplacement = API.ItemReplacement {
                    $0.productId = replacement.productID.rawValue
                    $0.basePlanId = replacement.basePlanID
                    $0.offerId = replacement.offerID
                    $0.replacementMode = mode
                }
            }
        }
    }

    /// The item that the customer has until a deferred replacement takes effect.
    private var deferredLineItem: AndroidPublisher.SubscriptionLineItem? {
        guard let replacement, let item = deferredItem else { return nil }
        return API.SubscriptionLineItem {
            $0.productId = replacement.productID.rawValue
            $0.expiryTime = expiryTime.wholeMilliseconds
            $0.latestSuccessfulOrderId = item.orderID
            $0.offerDetails = API.OfferDetails {
                $0.basePlanId = item.terms.basePlanID
                $0.offerId = item.terms.offerID
                $0.offerTags = item.terms.tags.isEmpty ? nil : item.terms.tags
            }
            $0.autoRenewingPlan = API.AutoRenewingPlan { $0.recurringPrice = item.terms.price }
            $0.deferredItemReplacement = API.DeferredItemReplacement { $0.productId = info.productID.rawValue }
        }
    }

    private var plan: AndroidPublisher.AutoRenewingPlan {
        API.AutoRenewingPlan {
            $0.autoRenewEnabled = renews
            $0.recurringPrice = terms.price
            $0.priceChangeDetails = priceChangeDetails
            $0.priceStepUpConsentDetails = priceStepUpConsentDetails
            guard terms.kind == .installments else { return }
            $0.installmentDetails = API.InstallmentPlan {
                $0.initialCommittedPaymentsCount = terms.committedPayments
                $0.subsequentCommittedPaymentsCount = terms.renewsWithCommitment ? terms.committedPayments : 0
                $0.remainingCommittedPaymentsCount = remainingPayments ?? terms.committedPayments
                $0.pendingCancellation = isCancellationPending ? API.Presence() : nil
            }
        }
    }

    private var phase: AndroidPublisher.OfferPhase {
        API.OfferPhase {
            if period.isProrated {
                $0.prorationPeriod = API.ProrationPeriod { $0.originalOfferPhaseType = "BASE" }
                return
            }
            switch period.name(in: terms) {
            case "FREE_TRIAL": $0.freeTrial = API.Presence()
            case "INTRODUCTORY": $0.introductoryPrice = API.Presence()
            default: $0.basePrice = API.Presence()
            }
        }
    }
}

extension PlayProductPurchase {
    private typealias API = AndroidPublisher

    var resource: AndroidPublisher.ProductPurchase {
        API.ProductPurchase {
            $0.kind = API.ProductPurchase.kind
            $0.orderId = info.orderID
            $0.productId = info.productID.rawValue
            $0.purchaseToken = info.token
            $0.purchaseTimeMillis = purchasedAt.playMilliseconds
            $0.purchaseState = state.rawValue
            $0.consumptionState = isConsumed ? 1 : 0
            $0.acknowledgementState = info.isAcknowledged ? 1 : 0
            $0.purchaseType = info.isTest ? 0 : nil
            $0.quantity = quantity
            $0.refundableQuantity = refundableQuantity
            $0.regionCode = info.regionCode
            $0.developerPayload = info.developerPayload
            $0.obfuscatedExternalAccountId = info.obfuscatedAccountID
            $0.obfuscatedExternalProfileId = info.obfuscatedProfileID
        }
    }

    var resourceV2: AndroidPublisher.ProductPurchaseV2 {
        API.ProductPurchaseV2 {
            $0.kind = API.ProductPurchaseV2.kind
            $0.orderId = info.orderID
            $0.purchaseStateContext = API.PurchaseStateContext {
                switch state {
                case .purchased: $0.purchaseState = .purchased
                case .cancelled: $0.purchaseState = .cancelled
                case .pending: $0.purchaseState = .pending
                }
            }
            $0.purchaseCompletionTime = state == .pending ? nil : purchasedAt.wholeMilliseconds
            $0.acknowledgementState = info.isAcknowledged ? .acknowledged : .pending
            $0.regionCode = info.regionCode
            $0.obfuscatedExternalAccountId = info.obfuscatedAccountID
            $0.obfuscatedExternalProfileId = info.obfuscatedProfileID
            $0.testPurchaseContext = info.isTest ? API.TestPurchaseContext { $0.fopType = "TEST" } : nil
            $0.productLineItem = [
                API.ProductLineItem {
                    $0.productId = info.productID.rawValue
                    $0.productOfferDetails = API.ProductOfferDetails {
                        $0.purchaseOptionId = optionID
                        $0.offerId = offerID
                        $0.offerTags = tags.isEmpty ? nil : tags
                        $0.quantity = quantity
                        $0.refundableQuantity = refundableQuantity
                        $0.consumptionState = isConsumed ? .consumed : .yetToBeConsumed
                    }
                }
            ]
        }
    }
}

extension AndroidPublisher.ExternalAccountIdentifiers {
    /// Returns `nil` without ids.
    fileprivate init?(_ accountID: String?, _ profileID: String?) {
        guard accountID != nil || profileID != nil else { return nil }
        self.init {
            $0.obfuscatedExternalAccountId = accountID
            $0.obfuscatedExternalProfileId = profileID
        }
    }
}
