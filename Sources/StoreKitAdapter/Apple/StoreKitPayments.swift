#if canImport(StoreKit)
    import Foundation
    import StoreKit
    import StoreModel

    /// Does at StoreKit what `StoreKitStateMachine` decides, one thing after the other.
    actor StoreKitPayments {
        private let configuration: StoreKitConnection.Configuration
        private let reports: AsyncStream<StoreUpdate>.Continuation
        private var machine: StoreKitStateMachine
        private var work: [PaymentID: Task<Void, Never>] = [:]
        /// Apple forgets consumables that are finished.
        private var finished: Set<TransactionID> = []
        private var isClosed = false

        init(_ configuration: StoreKitConnection.Configuration, _ reports: AsyncStream<StoreUpdate>.Continuation) {
            self.configuration = configuration
            self.reports = reports
            // What cannot be read says nothing, and must not keep anybody from buying.
            let written = try? configuration.storage?.data(for: Self.journalKey)
            let journal = written.flatMap { try? WireJSON.decode(PaymentJournal.self, from: $0) }
            machine = StoreKitStateMachine(journal: journal ?? PaymentJournal())
        }

        deinit {
            for task in work.values { task.cancel() }
            reports.finish()
        }

        private static let journalKey = "storekit.payments"

        func handle(_ event: StoreKitStateMachine.Event) {
            guard !isClosed else { return }
            for action in machine.handle(event) { perform(action) }
        }

        func close() {
            isClosed = true
            for task in work.values { task.cancel() }
            work = [:]
            reports.finish()
        }

        private func perform(_ action: StoreKitStateMachine.Action) {
            switch action {
            case .report(let update): reports.yield(update)
            case .writeJournal:
                // Unwritten, a payment counts as begun, and is not bought again either.
                try? writeJournal()
            case .buy(let payment):
                do {
                    try writeJournal()
                } catch {
                    let failure = StoreFailure(
                        code: .systemError, reason: "The payment could not be noted, so nothing was bought: \(error)")
                    return handle(.answered(payment.id, .failed(failure)))
                }
                run(for: payment.id) { [configuration] in .answered(payment.id, await configuration.answer(to: payment))
                }
            case .find(let payment, let transaction):
                run(for: payment) { .found(payment, await StoreKitPayments.transaction(transaction)) }
            }
        }

        private func writeJournal() throws {
            try configuration.storage?.set(try WireJSON.encode(machine.journal), for: Self.journalKey)
        }

        private func run(
            for payment: PaymentID, _ question: @escaping @Sendable () async -> StoreKitStateMachine.Event
        ) {
            work[payment] = Task { [weak self] in
                let answer = await question()
                await self?.ended(payment, answer)
            }
        }

        private func ended(_ payment: PaymentID, _ answer: StoreKitStateMachine.Event) {
            work[payment] = nil
            handle(answer)
        }

        private static func transaction(_ id: TransactionID) async -> StoreTransaction? {
            for await result in StoreKit.Transaction.unfinished where TransactionID(result) == id {
                return await StoreTransaction(result)
            }
            for await result in StoreKit.Transaction.all where TransactionID(result) == id {
                return await StoreTransaction(result)
            }
            return nil
        }

        /// Throws `StoreFailure` for what was never sold.
        func finish(_ id: TransactionID) async throws {
            for await result in StoreKit.Transaction.unfinished where TransactionID(result) == id {
                await result.unsafePayloadValue.finish()
                finished.insert(id)
                return
            }
            if finished.contains(id) { return }
            for await result in StoreKit.Transaction.all where TransactionID(result) == id { return }
            throw StoreFailure(
                code: StoreFailure.Code(rawValue: "unknownTransaction"),
                reason: "The App Store knows no transaction \(id) of this customer.")
        }

        #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
            private var messages: [(told: StoreMessage, message: StoreKit.Message)] = []
            private var messageCount = 0

            /// What is open with this message.
            func open(_ message: StoreKit.Message) -> [StoreMessage] {
                messageCount += 1
                messages.append((StoreMessage(id: "\(messageCount)", reason: .init(message.reason)), message))
                return messages.map(\.told)
            }

            func message(_ id: StoreMessage.ID) -> StoreKit.Message? { messages.first { $0.told.id == id }?.message }

            /// What is open without this message.
            func close(_ id: StoreMessage.ID) -> [StoreMessage] {
                messages.removeAll { $0.told.id == id }
                return messages.map(\.told)
            }
        #endif
    }

    extension StoreKitConnection.Configuration {
        fileprivate func answer(to payment: Payment) async -> StoreKitStateMachine.Answer {
            do {
                let found = try await StoreKit.Product.products(for: [payment.productID.rawValue])
                guard let product = found.first else {
                    let reason = "The App Store sells no product \(payment.productID) to this app here and now."
                    return .failed(StoreFailure(code: .invalidProduct, reason: reason))
                }
                return await answer(to: try payment.options(for: product), for: product)
            } catch {
                return .failed(StoreFailure(translating: error))
            }
        }

        private func answer(
            to options: Set<StoreKit.Product.PurchaseOption>, for product: StoreKit.Product
        ) async -> StoreKitStateMachine.Answer {
            var owned: StoreTransaction?
            if let latest = await StoreKit.Transaction.latest(for: product.id) {
                owned = await StoreTransaction(latest)
            }
            do {
                switch try await buy(product, options) {
                case .success(let result): return .bought(await StoreTransaction(result), owned: owned)
                case .pending: return .pending
                case .userCancelled: return .failed(.changedMind)
                @unknown default:
                    let reason = "StoreKit gave an answer that this version does not know; see what is owned."
                    return .unknown(StoreFailure(code: .unknown, reason: reason))
                }
            } catch {
                let failure = StoreFailure(translating: error)
                // The question may have arrived though the answer did not.
                let isOpen =
                    [.unreachable, .systemError, .unknown].contains(failure.code) || error is CancellationError
                return isOpen ? .unknown(failure) : .failed(failure)
            }
        }
    }

    extension Payment {
        /// Throws `StoreFailure` where the offer cannot be asked for.
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
                    code: .missingOfferParameters, reason: "The App Store wants the offer \(id) signed by your server.")
            }
            return [
                .promotionalOffer(
                    offerID: id, keyID: signature.keyID, nonce: signature.nonce, signature: Data(signature.signature),
                    timestamp: Int(signature.timestamp))
            ]
        }

        fileprivate func winBack(of product: StoreKit.Product) throws -> StoreKit.Product.PurchaseOption {
            guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else {
                throw StoreFailure(code: .unsupported, reason: "This system knows no win-back offers.")
            }
            guard let offer = product.subscription?.winBackOffers.first(where: { $0.id == id }) else {
                throw StoreFailure(code: .invalidOffer, reason: "\(product.id) has no win-back offer \(id).")
            }
            return .winBackOffer(offer)
        }
    }
#endif
