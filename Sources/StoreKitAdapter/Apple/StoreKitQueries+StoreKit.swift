#if canImport(StoreKit)
    import Foundation
    import StoreKit
    import StoreModel

    extension StoreKitConnection.Configuration {
        var queries: StoreKitQueries {
            StoreKitQueries(
                product: { try await product(for: $0) },
                latest: { await StoreKit.Transaction.latest(for: $0.rawValue).map { StoreTransaction($0) } },
                find: { id in
                    if let open = await StoreKit.Transaction.unfinished.first(id) {
                        return StoreKitTransaction(open, recordingIn: verifier)
                    }
                    return await StoreKit.Transaction.all.first(id).map {
                        StoreKitTransaction($0, recordingIn: verifier)
                    }
                },
                finish: { id in
                    guard let open = await StoreKit.Transaction.unfinished.first(id) else { return false }
                    await open.unsafePayloadValue.finish()
                    return true
                })
        }
    }

    extension StoreKitConnection.Configuration {
        func entitlements(_ timeouts: StoreKitTimeouts) -> StoreKitEntitlements {
            StoreKitEntitlements(
                current: {
                    var found: [StoreTransaction] = []
                    for await result in StoreKit.Transaction.currentEntitlements {
                        found.append(StoreKitTransaction(result, recordingIn: verifier).transaction)
                    }
                    return found
                },
                statuses: {
                    var found: [StoreSubscriptionStatus] = []
                    for await group in StoreKit.Product.SubscriptionInfo.Status.all {
                        found += group.statuses.map { StoreSubscriptionStatus($0, of: group.groupID) }
                    }
                    return found
                }, timeouts: timeouts)
        }
    }

    extension StoreKit.Transaction.Transactions {
        fileprivate func first(_ id: TransactionID) async -> Element? { await first { TransactionID($0) == id } }
    }

    #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
        /// The messages of the App Store that are not shown yet.
        actor StoreKitMessages {
            private var open: [(storeMessage: StoreMessage, message: StoreKit.Message)] = []
            private var count = 0

            /// Adds a message. Returns all open messages.
            func add(_ message: StoreKit.Message) -> [StoreMessage] {
                count += 1
                open.append((StoreMessage(id: "\(count)", reason: .init(message.reason)), message))
                return open.map(\.storeMessage)
            }

            func message(_ id: StoreMessage.ID) -> StoreKit.Message? {
                open.first { $0.storeMessage.id == id }?.message
            }

            /// Removes a message. Returns the remaining open messages.
            func remove(_ id: StoreMessage.ID) -> [StoreMessage] {
                open.removeAll { $0.storeMessage.id == id }
                return open.map(\.storeMessage)
            }
        }
    #endif

    extension StoreKitConnection.Configuration {
        fileprivate func product(for payment: Payment) async throws -> StoreKitQueries.Sell? {
            try await StoreFailure.translating {
                let found = try await StoreKit.Product.products(for: [payment.productID.rawValue])
                guard let product = found.first else { return nil }
                let options = try payment.options(for: product)
                return { await sell(product, options) }
            }
        }

        private func sell(
            _ product: StoreKit.Product, _ options: Set<StoreKit.Product.PurchaseOption>
        ) async -> StoreKitQueries.Sale {
            do {
                switch try await buy(product, options) {
                case .success(let result): return .bought(StoreKitTransaction(result, recordingIn: verifier))
                case .pending: return .pending
                case .userCancelled: return .failed(.customerCancelled)
                @unknown default:
                    let reason =
                        "StoreKit returned a result that this version does not support. Check the owned transactions."
                    return .unknown(StoreFailure(code: .unknown, reason: reason))
                }
            } catch {
                let failure = StoreFailure(translating: error)
                // The request may have reached the store even though its response is missing.
                let isOpen =
                    [.unreachable, .systemError, .unknown].contains(failure.code) || error is CancellationError
                return isOpen ? .unknown(failure) : .failed(failure)
            }
        }
    }

    extension Payment {
        /// Returns the purchase options of the payment. Throws `StoreFailure` if StoreKit does not support the offer.
        fileprivate func options(for product: StoreKit.Product) throws -> Set<StoreKit.Product.PurchaseOption> {
            var options: Set<StoreKit.Product.PurchaseOption> = []
            if quantity != 1 { options.insert(.quantity(quantity)) }
            if let appAccountToken { options.insert(.appAccountToken(appAccountToken)) }
            if let introductoryOfferEligibility {
                options.insert(.introductoryOfferEligibility(compactJWS: introductoryOfferEligibility))
            }
            if simulatesAskToBuy { options.insert(.simulatesAskToBuyInSandbox(true)) }
            guard let offer else { return options }
            switch offer.kind {
            case .promotional: return options.union(try offer.promotion())
            case .winBack: return options.union([try offer.winBack(of: product)])
            default:
                throw StoreFailure(code: .unsupported, reason: "StoreKit has no offers of kind \(offer.kind.rawValue).")
            }
        }
    }

    extension PaymentOffer {
        fileprivate func promotion() throws -> [StoreKit.Product.PurchaseOption] {
            if let compactJWS { return StoreKit.Product.PurchaseOption.promotionalOffer(id, compactJWS: compactJWS) }
            guard let signature else {
                throw StoreFailure(
                    code: .missingOfferParameters,
                    reason: "The App Store requires a signature of your server for the offer \(id).")
            }
            return [
                .promotionalOffer(
                    offerID: id, keyID: signature.keyID, nonce: signature.nonce, signature: Data(signature.signature),
                    timestamp: Int(signature.timestamp))
            ]
        }

        fileprivate func winBack(of product: StoreKit.Product) throws -> StoreKit.Product.PurchaseOption {
            guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else {
                throw StoreFailure(
                    code: .unsupported, reason: "This version of the system does not support win-back offers.")
            }
            guard let offer = product.subscription?.winBackOffers.first(where: { $0.id == id }) else {
                throw StoreFailure(code: .invalidOffer, reason: "\(product.id) has no win-back offer \(id).")
            }
            return .winBackOffer(offer)
        }
    }
#endif
