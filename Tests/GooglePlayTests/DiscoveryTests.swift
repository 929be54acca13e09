import Foundation
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import GooglePlay

/// Google's own description of the API checks that the resources have Google's names and types. `SOUK_PYTHON` is an
/// interpreter with the package `google-api-python-client`, which contains the discovery document.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with google-api-python-client"))
struct DiscoveryTests {
    private typealias API = AndroidPublisher

    private static let money = API.Money(currencyCode: "EUR", billionths: -4_990_000_000)
    private static let date = Date(timeIntervalSince1970: 1_790_000_000.5)

    private static let identifiers = API.ExternalAccountIdentifiers {
        $0.externalAccountId = "a"
        $0.obfuscatedExternalAccountId = "b"
        $0.obfuscatedExternalProfileId = "c"
    }

    private static let subscription = API.SubscriptionPurchaseV2 {
        $0.kind = API.SubscriptionPurchaseV2.kind
        $0.etag = "e"
        $0.regionCode = "DE"
        $0.startTime = date
        $0.subscriptionState = .inGracePeriod
        $0.acknowledgementState = .acknowledged
        $0.linkedPurchaseToken = "t"
        $0.canceledStateContext = API.CanceledStateContext {
            $0.userInitiatedCancellation = API.UserCancellation {
                $0.cancelTime = date
                $0.cancelSurveyResult = API.CancelSurveyResult {
                    $0.reason = "CANCEL_SURVEY_REASON_OTHERS"
                    $0.reasonUserInput = "r"
                }
            }
            $0.systemInitiatedCancellation = API.Presence()
            $0.developerInitiatedCancellation = API.Presence()
            $0.replacementCancellation = API.Presence()
        }
        $0.pausedStateContext = API.PausedStateContext { $0.autoResumeTime = date }
        $0.inGracePeriodStateContext = API.DeclinedStateContext {
            $0.renewalDeclined = API.RenewalDeclined { $0.pendingOrderId = "o" }
        }
        $0.onHoldStateContext = $0.inGracePeriodStateContext
        $0.externalAccountIdentifiers = identifiers
        $0.outOfAppPurchaseContext = API.OutOfAppPurchaseContext {
            $0.expiredExternalAccountIdentifiers = identifiers
            $0.expiredPurchaseToken = "t"
        }
        $0.testPurchase = API.Presence()
        $0.lineItems = [item]
    }

    private static let item = API.SubscriptionLineItem {
        $0.productId = "p"
        $0.expiryTime = date
        $0.latestSuccessfulOrderId = "o"
        $0.prepaidPlan = API.PrepaidPlan { $0.allowExtendAfterTime = date }
        $0.autoRenewingPlan = API.AutoRenewingPlan {
            $0.autoRenewEnabled = true
            $0.recurringPrice = money
            $0.priceChangeDetails = API.PriceChangeDetails {
                $0.newPrice = money
                $0.priceChangeMode = .increase
                $0.priceChangeState = .outstanding
                $0.expectedNewPriceChargeTime = date
            }
            $0.installmentDetails = API.InstallmentPlan {
                $0.initialCommittedPaymentsCount = 12
                $0.subsequentCommittedPaymentsCount = 1
                $0.remainingCommittedPaymentsCount = 3
                $0.pendingCancellation = API.Presence()
            }
        }
        $0.offerDetails = API.OfferDetails {
            $0.basePlanId = "b"
            $0.offerId = "o"
            $0.offerTags = ["t"]
        }
        $0.offerPhase = API.OfferPhase {
            $0.basePrice = API.Presence()
            $0.freeTrial = API.Presence()
            $0.introductoryPrice = API.Presence()
            $0.prorationPeriod = API.ProrationPeriod { $0.originalOfferPhaseType = "BASE" }
        }
        $0.itemReplacement = API.ItemReplacement {
            $0.productId = "p"
            $0.basePlanId = "b"
            $0.offerId = "o"
            $0.replacementMode = .withTimeProration
        }
        $0.deferredItemReplacement = API.DeferredItemReplacement { $0.productId = "p" }
    }

    private static let product = API.ProductPurchase {
        $0.kind = API.ProductPurchase.kind
        $0.orderId = "o"
        $0.productId = "p"
        $0.purchaseToken = "t"
        $0.purchaseTimeMillis = Int64Text(.max)
        $0.purchaseState = 0
        $0.consumptionState = 1
        $0.acknowledgementState = 1
        $0.purchaseType = 0
        $0.quantity = 2
        $0.refundableQuantity = 1
        $0.regionCode = "DE"
        $0.developerPayload = "d"
        $0.obfuscatedExternalAccountId = "a"
        $0.obfuscatedExternalProfileId = "b"
    }

    private static let productV2 = API.ProductPurchaseV2 {
        $0.kind = API.ProductPurchaseV2.kind
        $0.orderId = "o"
        $0.productLineItem = [
            API.ProductLineItem {
                $0.productId = "p"
                $0.productOfferDetails = API.ProductOfferDetails {
                    $0.purchaseOptionId = "buy"
                    $0.offerId = "o"
                    $0.offerTags = ["t"]
                    $0.quantity = 2
                    $0.refundableQuantity = 1
                    $0.consumptionState = .consumed
                }
            }
        ]
        $0.purchaseStateContext = API.PurchaseStateContext { $0.purchaseState = .purchased }
        $0.purchaseCompletionTime = date
        $0.acknowledgementState = .pending
        $0.regionCode = "DE"
        $0.obfuscatedExternalAccountId = "a"
        $0.obfuscatedExternalProfileId = "b"
        $0.testPurchaseContext = API.TestPurchaseContext { $0.fopType = "TEST" }
    }

    private static let refund = API.RefundDetails {
        $0.total = money
        $0.tax = money
    }

    private static let order = API.Order {
        $0.orderId = "o"
        $0.purchaseToken = "t"
        $0.state = .partiallyRefunded
        $0.createTime = date
        $0.lastEventTime = date
        $0.buyerAddress = API.BuyerAddress { $0.buyerCountry = "DE" }
        $0.total = money
        $0.tax = money
        $0.orderDetails = API.OrderDetails { $0.taxInclusive = true }
        $0.developerRevenueInBuyerCurrency = money
        $0.salesChannel = "IN_APP"
        $0.lineItems = [
            API.OrderLineItem {
                $0.productId = "p"
                $0.productTitle = "P"
                $0.listingPrice = money
                $0.total = money
                $0.tax = money
                $0.oneTimePurchaseDetails = API.OneTimePurchaseDetails {
                    $0.purchaseOptionId = "buy"
                    $0.offerId = "o"
                    $0.quantity = 2
                }
                $0.subscriptionDetails = API.SubscriptionDetails {
                    $0.basePlanId = "b"
                    $0.offerId = "o"
                    $0.offerPhase = "FREE_TRIAL"
                    $0.servicePeriodStartTime = date
                    $0.servicePeriodEndTime = date
                }
            }
        ]
        $0.orderHistory = API.OrderHistory {
            $0.processedEvent = API.OrderEvent { $0.eventTime = date }
            $0.cancellationEvent = $0.processedEvent
            $0.refundEvent = API.RefundEvent {
                $0.eventTime = date
                $0.refundDetails = refund
                $0.refundReason = .chargeback
            }
            $0.partialRefundEvents = [
                API.PartialRefundEvent {
                    $0.createTime = date
                    $0.processTime = date
                    $0.state = "PROCESSED_SUCCESSFULLY"
                    $0.refundDetails = refund
                }
            ]
        }
    }

    private static let voided = API.VoidedPurchasesListResponse {
        $0.voidedPurchases = [
            API.VoidedPurchase {
                $0.kind = API.VoidedPurchase.kind
                $0.orderId = "o"
                $0.purchaseToken = "t"
                $0.purchaseTimeMillis = Int64Text(1)
                $0.voidedTimeMillis = Int64Text(2)
                $0.voidedSource = 2
                $0.voidedReason = 8
                $0.voidedQuantity = 1
            }
        ]
        $0.tokenPagination = API.TokenPagination {
            $0.nextPageToken = "n"
            $0.previousPageToken = "p"
        }
    }

    private static let resources: [(String, any PlayResource)] = [
        ("SubscriptionPurchaseV2", subscription), ("ProductPurchase", product), ("ProductPurchaseV2", productV2),
        ("Order", order), ("BatchGetOrdersResponse", API.BatchGetOrdersResponse { $0.orders = [order] }),
        ("VoidedPurchasesListResponse", voided),
        (
            "SubscriptionPurchasesAcknowledgeRequest",
            API.AcknowledgeRequest {
                $0.developerPayload = "d"
                $0.externalAccountIds = API.ExternalAccountIds {
                    $0.obfuscatedAccountId = "a"
                    $0.obfuscatedProfileId = "b"
                }
            }
        ),
        (
            "CancelSubscriptionPurchaseRequest",
            API.CancelRequest {
                $0.cancellationContext = API.CancellationContext {
                    $0.cancellationType = .developerRequestedStopPayments
                }
            }
        ),
        (
            "RevokeSubscriptionPurchaseRequest",
            API.RevokeRequest {
                $0.revocationContext = API.RevocationContext {
                    $0.fullRefund = API.Presence()
                    $0.proratedRefund = API.Presence()
                    $0.itemBasedRefund = API.ItemBasedRefund { $0.productId = "p" }
                }
            }
        ),
        (
            "DeferSubscriptionPurchaseRequest",
            API.DeferRequest {
                $0.deferralContext = API.DeferralContext {
                    $0.etag = "e"
                    $0.deferDuration = "86400s"
                    $0.validateOnly = true
                }
            }
        ),
        (
            "DeferSubscriptionPurchaseResponse",
            API.DeferResponse {
                $0.itemExpiryTimeDetails = [
                    API.ItemExpiryTime {
                        $0.productId = "p"
                        $0.expiryTime = date
                    }
                ]
            }
        ),
        (
            "SubscriptionPurchasesDeferRequest",
            API.DeferRequestV1 {
                $0.deferralInfo = API.DeferralInfo {
                    $0.expectedExpiryTimeMillis = Int64Text(1)
                    $0.desiredExpiryTimeMillis = Int64Text(2)
                }
            }
        ),
        ("SubscriptionPurchasesDeferResponse", API.DeferResponseV1 { $0.newExpiryTimeMillis = Int64Text(2) }),
    ]

    @Test func `every resource has Google's members, types and values`() async throws {
        let values = try Self.resources.map { schema, value -> JSONValue in
            ["schema": .string(schema), "value": try WireJSON.document(value)]
        }
        let outcome = try await OutsideJudge.judge("google_play.py", ["values": .array(values)])
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        let wrong: JSONValue = ["schema": "Order", "value": ["orderID": "o", "state": "SOLD", "total": ["units": 4]]]
        let refused = try await OutsideJudge.judge("google_play.py", ["values": [wrong]])
        #expect(refused.status == 1)
        for fault in ["orderID", "SOLD", "units"] { #expect(refused.output.contains(fault)) }
    }

    @Test func `every resource is read as it was written`() throws {
        func check<Resource: PlayResource>(_ value: Resource) throws {
            #expect(try WireJSON.decode(Resource.self, from: try WireJSON.encode(value)) == value)
        }
        for (_, value) in Self.resources { try check(value) }
    }

    @Test func `unknown members and values of enumerations are accepted`() throws {
        let json = #"{"subscriptionState":"SUBSCRIPTION_STATE_NEW","later":{"x":1},"lineItems":[{"y":2}]}"#
        let purchase = try WireJSON.decode(API.SubscriptionPurchaseV2.self, from: Array(json.utf8))
        #expect(purchase.subscriptionState?.rawValue == "SUBSCRIPTION_STATE_NEW")
        #expect(purchase.lineItems?.count == 1)
    }

    @Test func `a push request carries a notification`() throws {
        let notification = DeveloperNotification {
            $0.version = "1.0"
            $0.packageName = "com.example.souk"
            $0.eventTimeMillis = Int64Text(1)
            $0.subscriptionNotification = DeveloperNotification.Subscription {
                $0.notificationType = .renewed
                $0.purchaseToken = "t"
            }
        }
        let push = try PubSubPush(notification, messageId: "7", publishTime: Self.date, subscription: "s")
        let read = try WireJSON.decode(PubSubPush.self, from: try WireJSON.encode(push))
        #expect(try read.notification() == notification)
        for data in ["\"***\"", "null", "\"e30\"", "\"W10=\""] {
            let broken = try WireJSON.decode(PubSubPush.self, from: Array(#"{"message":{"data":\#(data)}}"#.utf8))
            #expect(throws: DecodingError.self) { try broken.notification() }
        }
    }

    @Test func `an error has Google's form`() throws {
        let error = GoogleAPIError(.gone, reason: "purchaseTokenNoLongerValid", "It is gone.", location: "token")
        #expect(error.response.status == 410)
        #expect(GoogleAPIError(error.json) == error)
        #expect(GoogleAPIError(["error": "invalid_grant"]) == nil)
    }
}
