#if canImport(StoreKit)
    import Foundation
    import Primitives
    import StoreKit
    import StoreModel

    #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
        import UIKit
    #endif
    #if canImport(AppKit) && !targetEnvironment(macCatalyst)
        import AppKit
    #endif

    /// The App Store, through StoreKit 2.
    ///
    /// Create it when the app starts: it listens at once. It passes on every transaction with its signature, even if
    /// StoreKit on this device could not verify it. The server or the local verifier decides whether it is genuine.
    ///
    /// StoreKit offers less than the protocol `StoreConnection`:
    /// - The transaction of an approved purchase (Ask to Buy) does not name its payment. It is matched with the oldest
    ///   open payment of the same product, quantity and customer. StoreKit does not report a declined purchase.
    /// - Customers enter offer codes only on Apple's sheet (`Configuration.present(in:)`).
    /// - `show` is the only answer to a message.
    /// - A storefront has no language, so the device's language is used.
    ///
    ///     var configuration = StoreKitConnection.Configuration(storage: storage)
    ///     configuration.present(in: { window.windowScene })
    ///     let queue = PaymentQueue(configuration: .init(connection: StoreKitConnection(configuration: configuration))) { … }
    public final class StoreKitConnection: StoreConnection {
        /// The settings of a connection to the App Store.
        public struct Configuration: Sendable {
            /// Begins a purchase at StoreKit, and shows its sheet to the customer.
            public typealias Buy =
                @MainActor @Sendable (StoreKit.Product, Set<StoreKit.Product.PurchaseOption>) async throws
                -> StoreKit.Product.PurchaseResult

            /// Begins a purchase at StoreKit, which asks the customer to confirm. A SwiftUI app can pass
            /// `PurchaseAction`. An app with several windows can pass `purchase(confirmIn:options:)` with the
            /// customer's window.
            public var buy: Buy
            /// Stores payments across runs, so that a payment is never made twice, and an approved transaction is
            /// matched with its payment. Without storage, only payments of the same run are known.
            public var storage: (any SecureStorage)?
            /// Returns the location of the app receipt.
            public var receiptURL: @Sendable () -> URL?
            /// Accepts transactions that StoreKit verified, for `StoreConfiguration.localVerifier`.
            let verifier = SystemVerifier()
            /// Shows Apple's sheet for offer codes. Without it, `redeem` throws `unsupported`.
            public var showCodeSheet: (@MainActor @Sendable () async throws -> Void)?
            /// Shows the sheet or page on which the customer changes or cancels the subscriptions of the group with
            /// this id, or all subscriptions for `nil`. Without it, `showManageSubscriptions` of the connection throws
            /// `unsupported`.
            public var showManageSubscriptions: (@MainActor @Sendable (String?) async throws -> Void)?
            /// Shows Apple's sheet for the refund of the transaction with this id. Without it, `beginRefundRequest` of
            /// the connection throws `unsupported`.
            public var beginRefundRequest:
                (@MainActor @Sendable (UInt64) async throws -> StoreKit.Transaction.RefundRequestStatus)?

            /// Creates a configuration.
            ///
            /// - Parameters:
            ///   - storage: Stores payments across runs.
            ///   - buy: Begins a purchase at StoreKit.
            public init(storage: (any SecureStorage)? = nil, buy: @escaping Buy) {
                self.buy = buy
                self.storage = storage
                receiptURL = { Bundle.main.appStoreReceiptURL }
            }

            #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
                /// Creates a configuration that confirms purchases and shows the sheets for subscriptions and refunds
                /// in the active scene.
                ///
                /// - Parameter storage: Stores payments across runs.
                public init(storage: (any SecureStorage)? = nil) {
                    self.init(storage: storage) { product, options in
                        let scenes = UIApplication.shared.connectedScenes
                        if let scene = scenes.first(where: { $0.activationState == .foregroundActive }) {
                            return try await product.purchase(confirmIn: scene, options: options)
                        }
                        #if os(visionOS)
                            throw StoreFailure.noPresentationContext
                        #else
                            return try await product.purchase(options: options)
                        #endif
                    }
                    showSheets(in: { Self.activeScene })
                }
            #elseif canImport(AppKit) && !targetEnvironment(macCatalyst)
                /// Creates a configuration that confirms purchases in the key window, from macOS 15.2 on, and shows the
                /// sheet for refunds there.
                ///
                /// - Parameter storage: Stores payments across runs.
                public init(storage: (any SecureStorage)? = nil) {
                    self.init(storage: storage) { product, options in
                        if #available(macOS 15.2, *), let window = NSApplication.shared.keyWindow {
                            return try await product.purchase(confirmIn: window, options: options)
                        }
                        return try await product.purchase(options: options)
                    }
                    showSheets(from: { NSApplication.shared.keyWindow?.contentViewController })
                }
            #endif

            #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
                /// Shows a message of the App Store. Without it, StoreKit shows messages itself, at any time.
                var showMessage: (@MainActor @Sendable (StoreKit.Message) throws -> Void)?

                /// Uses a scene for Apple's sheets: for offer codes, subscriptions and refunds, and for messages that
                /// the app answers with `show`.
                ///
                /// - Parameter scene: Returns the scene to use.
                public mutating func present(in scene: @escaping @MainActor @Sendable () -> UIWindowScene?) {
                    showCodeSheet = {
                        guard let scene = scene() else { throw StoreFailure.noPresentationContext }
                        try await AppStore.presentOfferCodeRedeemSheet(in: scene)
                    }
                    showMessage = { message in
                        guard let scene = scene() else { throw StoreFailure.noPresentationContext }
                        try message.display(in: scene)
                    }
                    showSheets(in: scene)
                }
            #endif

            #if canImport(AppKit) && !targetEnvironment(macCatalyst)
                /// Shows the sheets for refunds and offer codes from a view controller. The sheet for offer codes
                /// requires macOS 15.
                ///
                /// - Parameter controller: Returns the view controller to use.
                public mutating func present(
                    from controller: @escaping @MainActor @Sendable () -> NSViewController?
                ) {
                    showCodeSheet = {
                        guard let controller = controller() else { throw StoreFailure.noPresentationContext }
                        guard #available(macOS 15, *) else {
                            throw StoreFailure(
                                code: .unsupported, reason: "This version of macOS redeems codes only in the App Store."
                            )
                        }
                        try await AppStore.presentOfferCodeRedeemSheet(from: controller)
                    }
                    showSheets(from: controller)
                }
            #endif
        }

        public let updates: AsyncStream<StoreUpdate>
        /// Accepts the transactions that StoreKit verified on this device. As a store's `localVerifier`, it gives
        /// access to purchases while the server is unreachable.
        public var verifier: any TransactionVerifier { configuration.verifier }
        let configuration: Configuration
        private let payments: StoreKitPayments
        private let timeouts = StoreKitTimeouts()
        private let streams: StoreStreams
        private let listener: Task<Void, Never>
        private let messageListener = Locked<Task<Void, Never>?>(nil)
        #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
            private let openMessages = StoreKitMessages()
        #endif

        /// Creates a connection with the settings `configuration`. It begins to listen at once.
        public init(configuration: Configuration) {
            self.configuration = configuration
            let (updates, reports) = AsyncStream.makeStream(of: StoreUpdate.self)
            let payments = StoreKitPayments(
                queries: configuration.queries, storage: configuration.storage, reports: reports)
            let streams = StoreStreams()
            self.updates = updates
            self.payments = payments
            self.streams = streams
            listener = Task { [verifier = configuration.verifier] in
                await Self.listen(for: payments, recordingIn: verifier, sendingTo: streams)
            }
        }

        deinit {
            listener.cancel()
            messageListener.withLock { $0 }?.cancel()
        }

        private static func listen(
            for payments: StoreKitPayments, recordingIn verifier: SystemVerifier, sendingTo streams: StoreStreams
        ) async {
            await withTaskGroup(of: Void.self) { group in
                // Starts before the unfinished transactions are read, so that no update is lost in the meantime.
                group.addTask {
                    for await result in StoreKit.Transaction.updates {
                        await payments.handle(StoreKitTransaction(result, recordingIn: verifier)) { .updated($0) }
                    }
                }
                group.addTask {
                    for await result in StoreKit.Transaction.unfinished {
                        await payments.handle(StoreKitTransaction(result, recordingIn: verifier)) { .unfinished($0) }
                    }
                    await payments.handle(.listed)
                }
                group.addTask {
                    for await status in StoreKit.Product.SubscriptionInfo.Status.updates {
                        await payments.handle(.renewalChanged(StoreTransaction(status)))
                    }
                }
                #if !os(tvOS) && !os(watchOS) && !os(visionOS)
                    if #available(macOS 14.4, *) {
                        group.addTask {
                            for await intent in StoreKit.PurchaseIntent.intents {
                                streams.send(PromotedPurchase(intent))
                            }
                        }
                    }
                #endif
                group.addTask {
                    if let now = await StoreKit.Storefront.current { streams.send(StoreModel.Storefront(now)) }
                    for await now in StoreKit.Storefront.updates { streams.send(StoreModel.Storefront(now)) }
                }
            }
        }

        public func canMakePayments() async throws -> Bool { AppStore.canMakePayments }

        #if !os(tvOS) && !os(watchOS) && !os(visionOS)
            /// Purchases that the customer began in the App Store. Requires macOS 14.4; there are none on earlier
            /// versions.
            public var promotedPurchases: AsyncStream<PromotedPurchase> { streams.promotedPurchases }
        #endif

        public func storefront() async throws -> StoreModel.Storefront {
            let current = try await timeouts.answer("about the storefront") { await StoreKit.Storefront.current }
            guard let current else {
                throw StoreFailure(
                    code: .unreachable,
                    reason: "The App Store has no storefront for this device. Sign in to the App Store.")
            }
            return StoreModel.Storefront(current)
        }

        public var storefrontUpdates: AsyncStream<StoreModel.Storefront> { streams.storefronts }

        public func products(_ ids: Set<ProductID>) async throws -> ProductAnswer {
            guard !ids.isEmpty else { return ProductAnswer(products: []) }
            let products = try await StoreFailure.translating {
                try await timeouts.answer("about products") {
                    try await StoreKit.Product.products(for: ids.sorted().map(\.rawValue))
                }
            }
            let sold = products.map { StoreProduct($0) }.sorted { $0.id < $1.id }
            return ProductAnswer(products: sold, invalidProductIDs: ids.subtracting(sold.map(\.id)).sorted())
        }

        /// Begins a purchase. Its outcome arrives when the customer has answered Apple's sheet.
        ///
        /// - Parameter payment: The payment to make.
        /// - Throws: Nothing; a failure arrives as an update.
        public func add(_ payment: Payment) async throws { await payments.handle(.add(payment)) }

        public func redeem(_ redemption: OfferCodeRedemption) async throws {
            guard redemption.code == nil else {
                throw StoreFailure(
                    code: .unsupported, reason: "The App Store accepts codes only on its own sheet. Leave the code out."
                )
            }
            guard let show = configuration.showCodeSheet else { throw StoreFailure.noPresentationContext }
            try await StoreFailure.translating { try await show() }
        }

        public func finish(_ transaction: TransactionID) async throws { try await payments.finish(transaction) }

        /// Restores purchases. Call it at the customer's request, because it may prompt for a sign-in.
        ///
        /// - Returns: The transactions that the customer owns.
        /// - Throws: `StoreFailure`; `CancellationError`.
        public func restore() async throws -> [StoreTransaction] {
            try await StoreFailure.translating { try await AppStore.sync() }
            return try await ownedTransactions()
        }

        public func ownedTransactions() async throws -> [StoreTransaction] {
            try await entitlements.transactions { [payments] in await payments.handle(.renewalChanged($0)) }
        }

        public func subscriptionStatuses() async throws -> [StoreSubscriptionStatus] {
            try await entitlements.subscriptionStatuses()
        }

        private var entitlements: StoreKitEntitlements { configuration.entitlements(timeouts) }

        public func appTransaction() async throws -> String {
            try await StoreFailure.translating {
                try await timeouts.answer("about the app transaction") {
                    try await StoreKit.AppTransaction.shared.jwsRepresentation
                }
            }
        }

        public func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool {
            try await timeouts.answer("about the introductory offer") {
                await StoreKit.Product.SubscriptionInfo.isEligibleForIntroOffer(for: subscriptionGroupID)
            }
        }

        public func receipt() async throws -> [UInt8]? {
            guard let url = configuration.receiptURL() else { return nil }
            return (try? Data(contentsOf: url)).map { [UInt8]($0) }
        }

        /// Ends the connection. A purchase whose sheet is open continues, and its transaction is unfinished in the next
        /// run.
        public func close() async {
            listener.cancel()
            messageListener.withLock { listener in
                listener?.cancel()
                listener = listener ?? Task {}
            }
            await payments.close()
            streams.finish()
        }
    }

    #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
        extension StoreKitConnection {
            /// The messages of the App Store. With `Configuration.present(in:)`, reading this property makes the app
            /// responsible for showing them. Without it, StoreKit shows them itself, and the stream is empty.
            public var messages: AsyncStream<[StoreMessage]> {
                guard configuration.showMessage != nil else { return AsyncStream { $0.finish() } }
                messageListener.withLock { [openMessages, streams] listener in
                    guard listener == nil else { return }
                    listener = Task {
                        for await message in StoreKit.Message.messages { streams.send(await openMessages.add(message)) }
                    }
                }
                return streams.messages
            }

            /// Shows a message. The customer then answers on Apple's sheet.
            ///
            /// - Parameters:
            ///   - message: The id of the message.
            ///   - answer: The answer; only `show` is supported.
            /// - Throws: `StoreFailure`: `unsupported` for another answer or without `Configuration.present(in:)`,
            ///   `unknown` if no such message is open; `CancellationError`.
            public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
                guard answer == .show, let show = configuration.showMessage else {
                    throw StoreFailure(
                        code: .unsupported, reason: "The only answer to a message of the App Store is show.")
                }
                guard let shown = await openMessages.message(message) else {
                    throw StoreFailure(code: .unknown, reason: "No message \(message) is open.")
                }
                try await StoreFailure.translating { try await show(shown) }
                streams.send(await openMessages.remove(message))
            }
        }
    #endif
#endif
