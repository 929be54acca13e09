import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import SimulatorControl
import StoreModel

/// The images, messages and default messages that the app's server uploads (Apple's Retention Messaging API).
extension SimulatedAppStore {
    private typealias Code = AppStoreServerAPI.ErrorCode

    /// Stores an image. Throws `ErrorCode` and `ServerRefusal` for an invalid image.
    func addRetentionImage(_ id: UUID, _ file: [UInt8], size: UploadedImage.Size) async throws {
        try await database.write { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            let image = try UploadedImage(
                id, file: file, size: size, at: try db.now(virtualClock),
                state: StoreSetting.retentionReview.isOn(in: try db.settings()) ? .pending : .approved)
            guard try db.retentionImage(id) == nil else { throw Code.imageAlreadyExists }
            guard try db.retentionImages().count < UploadedImage.limit else {
                throw Code.maximumNumberOfImagesReached
            }
            try db.insert(image)
        }
    }

    /// Deletes an image. Throws `ErrorCode` (`imageNotFound`, `imageInUse`).
    func deleteRetentionImage(_ id: UUID) async throws {
        try await database.write { sql in
            let db = SimulatorDatabase(sql)
            guard try db.retentionImage(id) != nil else { throw Code.imageNotFound }
            guard try !db.retentionMessages().contains(where: { $0.images.contains(id) }) else { throw Code.imageInUse }
            try db.deleteRetentionImage(id)
        }
    }

    /// Stores a message. Throws `ErrorCode` and `ServerRefusal` for an invalid message.
    func addRetentionMessage(_ id: UUID, _ body: AppStoreServerAPI.UploadMessageRequestBody) async throws {
        try await database.write { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            try body.check { try db.retentionImage($0)?.size }
            guard try db.retentionMessage(id) == nil else { throw Code.messageAlreadyExists }
            guard try db.retentionMessages().count < UploadedMessage.limit else {
                throw Code.maximumNumberOfMessagesReached
            }
            try db.insert(
                UploadedMessage(
                    id: id, at: try db.now(virtualClock), body: body,
                    state: StoreSetting.retentionReview.isOn(in: try db.settings()) ? .pending : .approved))
        }
    }

    /// Deletes a message, and the default messages that use it. Throws `ErrorCode` (`messageNotFound`).
    func deleteRetentionMessage(_ id: UUID) async throws {
        try await database.write { sql in
            let db = SimulatorDatabase(sql)
            guard try db.retentionMessage(id) != nil else { throw Code.messageNotFound }
            try db.deleteRetentionMessage(id)
        }
    }

    /// Sets the default message of a product and a locale. Throws `ErrorCode` (`messageNotFound`, `messageNotApproved`,
    /// `imageNotApproved`).
    func setDefaultMessage(_ id: UUID, of product: ProductID, locale: String) async throws {
        try await database.write { sql in
            let db = SimulatorDatabase(sql)
            guard let message = try db.retentionMessage(id) else { throw Code.messageNotFound }
            guard message.state == .approved else { throw Code.messageNotApproved }
            guard try message.images.allSatisfy({ try db.retentionImage($0)?.state == .approved }) else {
                throw Code.imageNotApproved
            }
            try db.setDefaultMessage(id, of: product, locale: locale)
        }
    }

    /// Removes the default message of a product and a locale. Throws `ErrorCode` (`defaultMessageNotFound`).
    func deleteDefaultMessage(of product: ProductID, locale: String) async throws {
        try await database.write { sql in
            guard try SimulatorDatabase(sql).deleteDefaultMessage(of: product, locale: locale) else {
                throw Code.defaultMessageNotFound
            }
        }
    }

    /// The URL of the app's server for realtime requests; `nil` if there is none.
    func realtimeURL() throws -> String? {
        try database.read { sql in
            let settings = try SimulatorDatabase(sql).settings()
            guard StoreSetting.realtimeURL.isSet(in: settings) else { return nil }
            return settings[StoreSetting.realtimeURL.name]?.stringValue
        }
    }

    /// Sets the URL as Apple's API does. Throws `ErrorCode` (`badRequestRealtimeUrl`).
    ///
    /// Unlike Apple, accepts `http` for a server on this machine.
    func setRealtimeURL(_ text: String?) async throws {
        guard let text, text.unicodeScalars.count <= 256, let url = URL(string: text), let host = url.host(),
            url.scheme == "https"
                || url.scheme == "http" && ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host.lowercased()),
            let value = try? StoreSetting.realtimeURL.value(of: .string(text))
        else { throw Code.badRequestRealtimeUrl }
        try await set(.realtimeURL, to: value)
    }

    /// Removes the URL. Throws `ErrorCode` (`realtimeUrlNotFound`).
    func deleteRealtimeURL() async throws {
        guard try realtimeURL() != nil else { throw Code.realtimeUrlNotFound }
        try await set(.realtimeURL, to: StoreSetting.realtimeURL.defaultValue)
    }

    /// Returns the uploaded images and messages, oldest first.
    package func retentionUploads() throws -> StoreControlWire.RetentionUploads {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            let places = try db.defaultMessages()
            return StoreControlWire.RetentionUploads(
                images: try db.retentionImages().map {
                    .init(
                        imageIdentifier: $0.id, at: $0.at, size: $0.size.rawValue, width: $0.width, height: $0.height,
                        state: $0.state.rawValue)
                },
                messages: try db.retentionMessages().map {
                    .init(
                        messageIdentifier: $0.id, at: $0.at, state: $0.state.rawValue, message: $0.body.json,
                        defaultFor: places[$0.id] ?? [])
                })
        }
    }

    /// Reviews an uploaded message, as Apple does before it is shown to customers.
    ///
    /// - Parameters:
    ///   - message: The identifier of the message.
    ///   - state: The result of the review.
    /// - Throws: `SimulatorError` (`unknownMessage`).
    public func reviewRetentionMessage(_ message: UUID, _ state: StoreControlWire.RetentionReview.State) async throws {
        try await review(message, "message") { try $0.setState(ofMessage: message, state.rawValue) }
    }

    /// Reviews an uploaded image, as Apple does before it is shown to customers.
    ///
    /// - Parameters:
    ///   - image: The identifier of the image.
    ///   - state: The result of the review.
    /// - Throws: `SimulatorError` (`unknownMessage`).
    public func reviewRetentionImage(_ image: UUID, _ state: StoreControlWire.RetentionReview.State) async throws {
        try await review(image, "image") { try $0.setState(ofImage: image, state.rawValue) }
    }

    private func review(
        _ id: UUID, _ kind: String, _ setState: @escaping @Sendable (SimulatorDatabase) throws -> Bool
    ) async throws {
        try await database.write { sql in
            guard try setState(SimulatorDatabase(sql)) else {
                throw SimulatorError(.unknownMessage, "No \(kind) \(id.lowercased) was uploaded.")
            }
        }
    }

    // MARK: - Performance tests

    /// Begins a performance test of the app's server with a subscription, and returns its identifier.
    ///
    /// Throws `ErrorCode` and `ServerRefusal` for a transaction that is not the original one of an active subscription,
    /// without a URL, and while another test runs.
    func beginPerformanceTest(of original: Int64) async throws -> UUID {
        let state = try performanceTestSubject(original)
        guard let url = try realtimeURL(), let transport = configuration.notificationTransport else {
            throw ServerRefusal(.invalidPerformanceTestRequest, "No URL for realtime requests is set.")
        }
        let id = try await database.write { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            guard try !db.hasRunningPerformanceTest else { throw Code.existingPerformanceTestRun }
            let id = try db.nextPerformanceTest()
            try db.save(.init(testing: url), id, at: try db.now(virtualClock))
            return id
        }
        let test = PerformanceTest(
            delivery: NotificationDelivery(transport: transport, deadline: PerformanceTest.threshold), url: url
        ) { [self] number in
            try signedRealtimeRequest(
                state, locale: Self.defaultLocale(of: configuration),
                UUID(namespace: .simulatedStore, name: "performance request \(id.lowercased) \(number)"),
                at: virtualClock.now())
        }
        performanceTest.withLock { running in
            running = RunningTest(id: id, pending: PerformanceTest.requests, task: Task { await run(test, id) })
        }
        return id
    }

    private func performanceTestSubject(_ original: Int64) throws -> SubscriptionState {
        try read({ try $0.owner(ofTransaction: original, else: .invalidTransactionId) }) { db, _, now in
            guard let (record, state) = try db.transaction(original, at: now) else { throw Code.invalidTransactionId }
            guard !record.isShared else { throw Code.familyTransactionNotSupported }
            guard record.originalID == original else { throw Code.transactionIdIsNotOriginalTransactionId }
            guard let state, state.isActive else {
                throw ServerRefusal(.invalidPerformanceTestRequest, "The transaction is not of an active subscription.")
            }
            return state
        }
    }

    private func run(_ test: PerformanceTest, _ id: UUID) async {
        let results = await test.run { [performanceTest] pending in
            performanceTest.withLock { if $0?.id == id { $0?.pending = pending } }
        }
        var failures: [AppStoreServerAPI.SendAttemptResult: Int] = [:]
        for result in results where result.result != .success { failures[result.result, default: 0] += 1 }
        if results.count < PerformanceTest.requests {
            failures[.other, default: 0] += PerformanceTest.requests - results.count
        }
        let (counts, times) = (failures, results.map(\.milliseconds))
        // After a failure here, `endLostPerformanceTests` ends the test when the store is opened again.
        try? await database.write { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            guard var stored = try db.performanceTest(id), stored.result == .pending else { return }
            stored.end(failures: counts, times: times)
            try db.save(stored, id, at: try db.now(virtualClock))
        }
        performanceTest.withLock { if $0?.id == id { $0 = nil } }
    }

    /// Returns the results of a performance test. Throws `ErrorCode` (`performanceTestRunNotFound`).
    func performanceTestResults(_ id: UUID) throws -> AppStoreServerAPI.PerformanceTestResultResponse {
        let pending = performanceTest.withLock { $0?.id == id ? $0?.pending : nil }
        guard var test = try database.read({ try SimulatorDatabase($0).performanceTest(id) }) else {
            throw Code.performanceTestRunNotFound
        }
        if test.result == .pending, let pending { test.numPending = pending }
        return test
    }

    /// Cancels the running performance test and waits for its end.
    func stopPerformanceTest() async {
        let task = performanceTest.withLock { $0?.task }
        task?.cancel()
        await task?.value
    }

    /// The performance test that runs.
    struct RunningTest: Sendable {
        var id: UUID
        var pending: Int
        var task: Task<Void, Never>
    }
}
