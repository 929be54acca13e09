import AppStorePayloads
import SimulatorControl
import Foundation
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

extension TestStore {
    /// Opens a store with the products of `SubscriptionScript`, on a stopped clock.
    static func withScript(
        in folder: ScratchFolder? = nil, _ body: (TestStore) async throws -> Void
    ) async throws {
        let catalogue = try Catalogue(parsing: Array(SubscriptionScript.text.utf8), file: "script.storekit")
        try await with(in: folder, change: { $0.catalogue = catalogue }, body)
    }

    func advance(to date: String) async throws {
        let seconds = SubscriptionScript.date(date).timeIntervalSince(store.clock.now())
        _ = try await store.advance(.init(seconds: seconds))
    }

    func subscription(_ account: AccountName = "anna") async throws -> StoreControlWire.Subscription {
        try #require(try await store.subscriptions(of: account).last)
    }

    func info(_ jws: String?) throws -> JWSRenewalInfoDecodedPayload {
        try verifier().renewalInfo(try #require(jws)).payload
    }

    func payload(_ jws: String?) throws -> JWSTransactionDecodedPayload {
        try verifier().transaction(try #require(jws)).payload
    }

    func fails<Value>(_ code: SimulatorError.Code, _ body: () async throws -> Value) async {
        let error = await #expect(throws: SimulatorError.self) { _ = try await body() }
        #expect(error?.code == code && error?.reason.hasSuffix(".") == true)
    }

    func fails<Value>(_ code: StoreFailure.Code, _ body: () async throws -> Value) async {
        let failure = await #expect(throws: StoreFailure.self) { _ = try await body() }
        #expect(failure?.code == code && failure?.reason.hasSuffix(".") == true)
    }
}

/// A device that reads its updates after its last cursor.
final class Listener {
    private let test: TestStore
    let device: DeviceID
    private var cursor: String?
    private(set) var messages: [StoreMessage] = []

    init(_ test: TestStore, _ account: AccountName = "anna") async throws {
        self.test = test
        device = try await test.device(account)
    }

    /// Returns the new updates, without waiting.
    func receive() async throws -> [StoreWire.Update] {
        let answer = try await test.store.updates(for: device, after: cursor)
        cursor = answer.cursor
        messages = answer.messages ?? []
        return answer.updates
    }

    func finish(_ id: TransactionID?) async throws { try await test.store.finish(try #require(id), from: device) }
}
