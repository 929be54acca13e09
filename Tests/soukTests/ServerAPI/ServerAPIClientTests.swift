import AppStorePayloads
import SimulatorControl
import AppStoreSimulator
import BaseTestSupport
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

/// Every method of our client against the simulator, in one process.
@Suite(.timeLimit(.minutes(2))) struct ServerAPIClientTests {
    private static let monthly: ProductID = "com.example.darkroom.plus.monthly"
    /// A product without a free trial.
    private static let yearly: ProductID = "com.example.darkroom.plus.yearly"
    private static let prints: ProductID = "com.example.darkroom.prints.10"
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    /// A store with a stopped clock, a customer, and the app's server.
    struct World {
        let store: SimulatedAppStore
        let backend: Backend
        /// The server's clock, which a test moves.
        let clock: ManualClock
        private let folder: TemporaryFolder

        var client: AppStoreServerAPIClient { backend.client }

        init() async throws {
            let folder = try TemporaryFolder()
            var configuration = SimulatedAppStore.Configuration(
                catalogue: try Catalogue(
                    parsing: Array(Data(contentsOf: URL(fileURLWithPath: TestFiles.darkroom))), file: "darkroom"),
                dataDirectory: folder.path)
            let clock = ManualClock(ServerAPIClientTests.start)
            configuration.baseClock = clock
            configuration.timeRate = .frozen
            configuration.notificationTransport = InProcessTransport(
                AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200)) })
            store = try await SimulatedAppStore.open(configuration)
            (self.folder, self.clock) = (folder, clock)
            let key = try Self.key(of: store)
            backend = Backend(
                client: Self.client(of: store, key, clock),
                verifier: SignedDataVerifier(
                    configuration: .init(
                        bundleIDs: [store.summary.bundleID], environments: [.sandbox],
                        trustAnchors: [try TrustAnchor(fingerprint: store.summary.rootFingerprint)])))
            try await store.createAccount("ada")
        }

        static func key(of store: SimulatedAppStore) throws -> SigningKey {
            try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: store.summary.serverAPI.privateKey))))
        }

        static func client(
            of store: SimulatedAppStore, _ key: SigningKey, _ clock: any WallClock, keyID: String? = nil
        ) -> AppStoreServerAPIClient {
            let api = store.summary.serverAPI
            var configuration = AppStoreServerAPIClient.Configuration(
                key: AppStoreConnectKey(
                    key, id: keyID ?? api.keyID, issuerID: api.issuerID, bundleID: store.summary.bundleID),
                baseURL: "http://localhost")
            configuration.clock = clock
            return AppStoreServerAPIClient(configuration: configuration, transport: InProcessTransport(store.handler))
        }

        @discardableResult
        func buy(_ product: ProductID) async throws -> StoreControlWire.Transaction {
            try await store.buy(.init(productID: product), for: "ada")
        }

        /// Returns the code of Apple's error with which a call fails, or `nil`.
        func code(_ call: (AppStoreServerAPIClient) async throws -> some Any) async -> AppStoreServerAPI.ErrorCode? {
            do {
                _ = try await call(client)
                return nil
            } catch {
                return (error as? AppStoreServerAPIError)?.code
            }
        }
    }

    private func withWorld(_ body: (World) async throws -> Void) async throws {
        let world = try await World()
        do {
            try await body(world)
        } catch {
            await world.store.close()
            throw error
        }
        await world.store.close()
    }

    // MARK: - Groups and seats

    @Test func `a seat is claimed once, associated and released, and its members are a group`() async throws {
        try await withWorld { world in
            try await world.store.set(.seatInvitations, to: "developer")
            try await world.store.createAccount("ben")
            let bought = try await world.store.buy(.init(productID: Self.yearly, quantity: 2), for: "ada")
            let original = bought.transactionID
            let request = UUID()
            let claim = try #require(
                try await world.client.claimSeat(of: original, requestIdentifier: request).seatClaimId)
            #expect(try await world.client.claimSeat(of: original, requestIdentifier: request).seatClaimId == claim)
            let other = try await world.store.buy(Self.prints, for: "ben")
            let signed = try await world.client.appTransactionInfo(other.transactionID).signedAppTransactionInfo
            let document = try world.backend.verifier.appTransaction(#require(signed))
            let ben = try #require(document.payload.appTransactionId)
            try await world.client.associateSeat(claim, of: original, with: ben)
            let info = try await world.client.seatInfo(of: original)
            #expect(info.totalSeatCount == 2 && info.availableSeatCount == 1 && info.assignedSeatClaimIds == [claim])
            let group = try #require(try await world.client.customerGroups(of: ben).groups?.first?.groupId)
            let page = try await world.client.groupMembers(of: group, limit: 1)
            #expect(page.hasMore == true)
            let rest = try await world.client.groupMembers(of: group, paginationToken: page.paginationToken)
            #expect(rest.members?.map(\.appTransactionId) == [ben])
            let second = try await world.client.claimSeat(
                of: original, requestIdentifier: UUID(), appTransaction: ben)
            #expect(second.seatClaimId != claim)
            try await world.client.unclaimSeat(claim, of: original)
            #expect(try await world.client.seatInfo(of: original).availableSeatCount == 1)
            let code = await world.code { try await $0.unclaimSeat(claim, of: original) }
            #expect(code?.status == 404)
        }
    }

    // MARK: - Purchases

    @Test func `a transaction and the app transaction are found by the transaction's id`() async throws {
        try await withWorld { world in
            let bought = try await world.buy(Self.monthly)
            let signed = try #require(
                try await world.client.transactionInfo(bought.transactionID).signedTransactionInfo)
            let payload = try world.backend.verifier.transaction(signed).payload
            #expect(payload.transactionId == bought.transactionID.rawValue)
            let app = try #require(
                try await world.client.appTransactionInfo(bought.transactionID).signedAppTransactionInfo)
            let appTransaction = try world.backend.verifier.appTransaction(app).payload
            #expect(appTransaction.appTransactionId == payload.appTransactionId)
            #expect(await world.code { try await $0.transactionInfo("1") } == .transactionIdNotFound)
            #expect(await world.code { try await $0.transactionInfo("one") } == .invalidTransactionId)
        }
    }

    @Test func `a long history comes in pages, filtered and sorted as requested`() async throws {
        try await withWorld { world in
            let subscription = try await world.buy(Self.monthly)
            for _ in 0..<24 {
                try await world.store.advance(.init(seconds: 1))
                try await world.buy(Self.prints)
            }
            let first = try await world.client.transactionHistory(of: subscription.transactionID)
            #expect(first.items.count == 20)
            #expect(first.hasMore == true)
            let all = try await world.backend.purchases(of: subscription.transactionID)
            #expect(all.count == 25)
            #expect(all.last?.transactionId == subscription.transactionID.rawValue)
            var old: [String] = []
            let pages = world.client.transactionHistoryPages(
                of: subscription.transactionID,
                .init(
                    endDate: Self.start.addingTimeInterval(1), productTypes: [.autoRenewableSubscription],
                    revoked: false))
            for try await signed in pages.items { old.append(signed) }
            #expect(old.count == 1)
            let older = try await world.client.transactionHistoryV1(
                of: subscription.transactionID, .init(productIds: [Self.monthly.rawValue]))
            #expect(older.items.count == 1)
            #expect(
                await world.code { try await $0.transactionHistory(of: subscription.transactionID, revision: "r") }
                    == .invalidRequestRevision)
        }
    }

    @Test func `subscriptions are returned with their statuses, and filtered by the requested statuses`() async throws {
        try await withWorld { world in
            let bought = try await world.buy(Self.monthly)
            let answer = try await world.client.subscriptionStatuses(of: bought.transactionID)
            let item = try #require(answer.data?.first?.lastTransactions?.first)
            #expect(item.status == .active)
            let renewal = try world.backend.verifier.renewalInfo(try #require(item.signedRenewalInfo)).payload
            #expect(renewal.autoRenewStatus == .on)
            let expired = try await world.client.subscriptionStatuses(of: bought.transactionID, [.expired, .revoked])
            #expect(expired.data?.flatMap { $0.lastTransactions ?? [] }.isEmpty != false)
        }
    }

    @Test func `an order is found by the number on its receipt`() async throws {
        try await withWorld { world in
            let bought = try await world.buy(Self.prints)
            let answer = try await world.client.lookUpOrder(try #require(bought.orderID))
            #expect(answer.status == .valid)
            let payload = try world.backend.verifier.transaction(try #require(answer.signedTransactions?.first)).payload
            #expect(payload.transactionId == bought.transactionID.rawValue)
            #expect(try await world.client.lookUpOrder("NOTHING7").status == .invalid)
        }
    }

    @Test func `refunds are read once when the revision is kept`() async throws {
        try await withWorld { world in
            let first = try await world.buy(Self.prints)
            try await world.store.refund(first.transactionID)
            var taken: [String?] = []
            let revision = try await world.backend.takeBackRefunds(of: first.transactionID, since: nil) {
                taken.append($0.transactionId)
            }
            #expect(taken == [first.transactionID.rawValue] && revision != nil)
            let second = try await world.buy(Self.prints)
            try await world.store.advance(.init(seconds: 1))
            try await world.store.refund(second.transactionID)
            _ = try await world.backend.takeBackRefunds(of: first.transactionID, since: revision) {
                taken.append($0.transactionId)
            }
            #expect(taken == [first.transactionID.rawValue, second.transactionID.rawValue])
            let older = try await world.client.refundHistoryV1(of: first.transactionID)
            #expect(older.signedTransactions?.count == 2)
        }
    }

    // MARK: - Messages of a server to the App Store

    @Test func `a renewal date is extended twice a year at most, and one request extends it for all subscribers`()
        async throws
    {
        try await withWorld { world in
            let bought = try await world.buy(Self.yearly)
            let end = try #require(bought.expiresDate)
            let request = UUID()
            for _ in 0..<2 {
                let moved = try await world.backend.extend(bought.transactionID, byDays: 3, as: request)
                #expect(moved == .until(end.addingTimeInterval(3 * 86400)), "the same request moves it once")
            }
            _ = try await world.backend.extend(bought.transactionID, byDays: 3, as: UUID())
            #expect(try await world.backend.extend(bought.transactionID, byDays: 3, as: UUID()) == .noMore)
            try await world.store.set(.serverAPIError, to: "4040002")
            let client = world.client
            let refused = Task {
                try await Backend(client: client, verifier: world.backend.verifier)
                    .extend(bought.transactionID, byDays: 3, as: UUID())
            }
            for _ in 0..<2 {
                await world.clock.waiters(atLeast: 1)
                world.clock.advance(by: 1)
            }
            #expect(try await refused.value == .later(nil))
            try await world.store.set(.serverAPIError, to: "off")

            let all = try await world.client.extendRenewalDates(
                .init {
                    $0.extendByDays = 1
                    $0.extendReasonCode = .serviceIssueOrOutage
                    $0.requestIdentifier = "outage"
                    $0.productId = Self.yearly.rawValue
                })
            #expect(all.requestIdentifier == "outage")
            let status = try await world.client.statusOfExtension("outage", of: Self.yearly)
            #expect(status.complete == true)
            #expect((status.succeededCount ?? 0) + (status.failedCount ?? 0) == 1)
            #expect(
                await world.code { try await $0.statusOfExtension("none", of: Self.yearly) } == .statusRequestNotFound)
        }
    }

    @Test func `consumption information is accepted in both versions`() async throws {
        try await withWorld { world in
            let bought = try await world.buy(Self.prints)
            try await world.store.requestRefund(of: bought.transactionID)
            try await world.client.sendConsumptionInformation(
                .init {
                    $0.customerConsented = true
                    $0.deliveryStatus = .delivered
                    $0.sampleContentProvided = false
                },
                of: bought.transactionID)
            try await world.client.sendConsumptionInformationV1(
                .init {
                    $0.customerConsented = true
                    $0.consumptionStatus = .fullyConsumed
                    $0.platform = .apple
                    $0.sampleContentProvided = false
                    $0.deliveryStatus = .deliveredAndWorkingProperly
                    $0.appAccountToken = UUID()
                    $0.accountTenure = .undeclared
                    $0.playTime = .undeclared
                    $0.lifetimeDollarsRefunded = .undeclared
                    $0.lifetimeDollarsPurchased = .undeclared
                    $0.userStatus = .active
                },
                of: bought.transactionID)
            let refused = await world.code {
                try await $0.sendConsumptionInformation(
                    .init { $0.customerConsented = false }, of: bought.transactionID)
            }
            #expect(refused == .invalidCustomerConsented)
        }
    }

    @Test func `a purchase is finished and gets an app account token`() async throws {
        try await withWorld { world in
            let bought = try await world.buy(Self.prints)
            #expect(try await world.store.unfinishedTransactions(of: "ada").count == 1)
            try await world.client.finish(bought.transactionID)
            #expect(try await world.store.unfinishedTransactions(of: "ada").isEmpty)
            let token = UUID()
            try await world.client.setAppAccountToken(token, of: bought.originalTransactionID)
            #expect(try await world.backend.purchases(of: bought.transactionID).first?.appAccountToken == token)
        }
    }

    // MARK: - Notifications

    @Test func `a test notification is sent, and is in the history with the earlier ones`() async throws {
        try await withWorld { world in
            #expect(await world.code { try await $0.requestTestNotification() } == .serverNotificationUrlNotFound)
            try await world.store.set(.notificationsURL, to: "http://receiver.test/")
            try await world.buy(Self.monthly)
            let token = try #require(try await world.client.requestTestNotification().testNotificationToken)
            try await world.store.deliverNotifications()
            let test = try await world.client.testNotificationStatus(token)
            #expect(test.sendAttempts?.map(\.sendAttemptResult) == [.success])
            let sent = try #require(test.signedPayload)
            #expect(try world.backend.verifier.notification(sent).payload.notificationType == .test)

            var history: [AppStoreServerAPI.NotificationType?] = []
            let pages = world.client.notificationHistoryPages(
                .init {
                    $0.startDate = Self.start - 86400
                    $0.endDate = Self.start + 86400
                })
            for try await item in pages.items {
                let payload = try #require(item.signedPayload)
                history.append(try world.backend.verifier.notification(payload).payload.notificationType)
            }
            #expect(Set(history) == [.subscribed, .test])
            #expect(history.count == 2)
        }
    }

    // MARK: - Retention Messaging

    @Test func `messages are uploaded, shown before a cancellation, and deleted`() async throws {
        try await withWorld { world in
            let (client, message, image) = (world.client, UUID(), UUID())
            let bought = try await world.buy(Self.monthly)
            #expect(await world.code { try await $0.uploadImage(image, [1]) } == .invalidImage)
            #expect(await world.code { try await $0.deleteImage(image) } == .imageNotFound)
            #expect(try await client.imageList().imageIdentifiers == [])
            try await client.uploadMessage(
                message,
                .init {
                    $0.header = "Stay"
                    $0.body = "You keep your photos."
                })
            let listed = try await client.messageList().messageIdentifiers ?? []
            #expect(listed.map(\.messageIdentifier) == [message] && listed.map(\.messageState) == [.approved])
            try await client.setDefaultMessage(message, of: Self.monthly, locale: "en-US")
            #expect(
                try await client.defaultMessage(of: Self.monthly, locale: "en-US").messageIdentifier == message)
            #expect(
                await world.code { try await $0.defaultMessage(of: Self.monthly, locale: "en_US") } == .invalidLocale)
            try await client.setRealtimeURL("https://server.example/retention")
            #expect(try await client.realtimeURL().realtimeURL == "https://server.example/retention")
            let test = try await client.startPerformanceTest(of: bought.transactionID)
            let results = try await client.performanceTestResults(try #require(test.requestId))
            #expect(results.target == "https://server.example/retention" && results.config == test.config)
            let shown = try await world.store.cancel(Self.monthly, for: "ada", locale: "en-US").retentionMessage
            #expect(shown?.header == "Stay" && shown?.source == .defaultMessage)
            try await client.deleteRealtimeURL()
            #expect(await world.code { try await $0.deleteRealtimeURL() } == .realtimeUrlNotFound)
            try await client.deleteDefaultMessage(of: Self.monthly, locale: "en-US")
            try await client.deleteMessage(message)
            #expect(await world.code { try await $0.deleteMessage(message) } == .messageNotFound)
        }
    }

    // MARK: - Refusals

    @Test func `a client with another key, another key id or a slow clock is refused`() async throws {
        try await withWorld { world in
            for client in [
                World.client(of: world.store, try SigningKey.generate(), world.clock),
                World.client(of: world.store, try World.key(of: world.store), world.clock, keyID: "ANOTHER111"),
                World.client(of: world.store, try World.key(of: world.store), ManualClock(Self.start - 7200)),
            ] {
                await #expect(throws: AppStoreServerAPIError(.refused, "", status: 401)) {
                    try await client.transactionInfo("1")
                }
            }
        }
    }

    @Test func `a request is repeated until the injected failures end`() async throws {
        try await withWorld { world in
            let bought = try await world.buy(Self.prints)
            try await world.store.set(.serverAPIError, to: "5000001")
            let client = world.client
            let call = Task { try await client.transactionInfo(bought.transactionID) }
            await world.clock.waiters(atLeast: 1)
            world.clock.advance(by: 1)
            await world.clock.waiters(atLeast: 1)
            try await world.store.set(.serverAPIError, to: "off")
            world.clock.advance(by: 1)
            #expect(try await call.value.signedTransactionInfo != nil)
        }
    }

    @Test func `the error of an exceeded rate limit says when to retry`() async throws {
        try await withWorld { world in
            try await world.store.set(.serverAPIRateLimit, to: "sandbox")
            // The sandbox allows a tenth of 10 requests per second, which is 3600 per hour.
            for _ in 0..<3600 { _ = try await world.client.lookUpOrder("NOTHING7") }
            do {
                _ = try await world.client.lookUpOrder("NOTHING7")
                Issue.record("a request over the limit was answered")
            } catch let error as AppStoreServerAPIError {
                #expect(error.code == .rateLimitExceeded)
                #expect(error.retryAfter == Self.start.addingTimeInterval(3600))
            }
        }
    }
}
