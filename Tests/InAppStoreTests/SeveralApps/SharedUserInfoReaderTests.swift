import BaseTestSupport
import Foundation
import Primitives
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// Information that one app shares and another reads.
final class SharedUserInfoReaderTests {
    private let storage = MemorySecureStorage()
    private let clock = ManualClock(Fixture.start + 60)
    private let app: BundleID = "com.example.darkroom"
    private let folder = NSTemporaryDirectory() + "souk-shared-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private var reader: SharedUserInfoReader { SharedUserInfoReader(storage: storage, clock: clock) }

    private func share(_ subscriptions: SharedSubscription...) throws {
        let info = SharedUserInfo(
            application: app, environment: .production, validatedAt: Fixture.start, subscriptions: subscriptions)
        try storage.set(WireJSON.encode(info), for: "subscriptions.com.example.darkroom")
    }

    private func shared(_ product: ProductID = "pro.monthly", until end: Date) -> SharedSubscription {
        SharedSubscription(Fixture.subscription(product, until: end), accessUntil: end)
    }

    @Test func `an app that has shared nothing has no subscriber`() throws {
        #expect(!reader.isSubscriber(ofApp: app))
        #expect(try reader.userInfo(ofApp: app) == nil)
    }

    @Test func `an app whose customer has no subscription has no subscriber`() throws {
        try share()
        #expect(!reader.isSubscriber(ofApp: app))
        #expect(try reader.userInfo(ofApp: app)?.validatedAt == Fixture.start)
    }

    @Test func `an active subscription counts for its app and for no other`() throws {
        try share(shared(until: Fixture.start + Fixture.month))
        #expect(reader.isSubscriber(ofApp: app))
        #expect(!reader.isSubscriber(ofApp: "com.example.other"))
    }

    @Test func `a subscription ends by the reader's clock, exclusively`() throws {
        let end = Fixture.start + Fixture.month
        try share(shared(until: end))
        clock.advance(to: end - 0.001)
        #expect(reader.isSubscriber(ofApp: app))
        clock.advance(to: end)
        #expect(!reader.isSubscriber(ofApp: app))
        #expect(try reader.userInfo(ofApp: app)?.subscriptionInfo(at: clock.now())?.productID == "pro.monthly")
    }

    @Test func `a clock that is set back before the app shares extends nothing`() throws {
        try share(shared(until: Fixture.start - 1))
        let early = SharedUserInfoReader(storage: storage, clock: ManualClock(Fixture.start - 1000))
        #expect(!early.isSubscriber(ofApp: app))
    }

    @Test func `an active subscription counts before a revoked one with a later expiry`() throws {
        let revoked = SharedSubscription(
            Fixture.subscription("gone", until: Fixture.start + 900, revoked: Fixture.start), accessUntil: Fixture.start
        )
        try share(revoked, shared(until: Fixture.start + 600))
        #expect(try reader.userInfo(ofApp: app)?.subscriptionInfo(at: clock.now())?.productID == "pro.monthly")
    }

    @Test func `the value is the documented JSON, and is decoded unchanged`() throws {
        var subscription = Fixture.subscription()
        subscription.autoRenews = nil
        let info = SharedUserInfo(
            application: app, environment: .sandbox, validatedAt: Fixture.start,
            subscriptions: [SharedSubscription(subscription, accessUntil: Fixture.start + Fixture.month)])
        let bytes = try WireJSON.encode(info)
        let text = try String(contentsOfFile: Self.chapter, encoding: .utf8)
        let documented = try #require(text.components(separatedBy: "```json\n").dropFirst().first)
        let json = try JSONValue(parsing: Array(documented.components(separatedBy: "\n```")[0].utf8))
        #expect(try JSONValue(parsing: bytes) == json)
        #expect(try SharedUserInfo(bytes, of: app) == info)
    }

    private static let chapter = #filePath.components(separatedBy: "/Tests/")[0] + "/Documentation/SeveralApps.md"

    @Test func `another version has an error of its own, and gives no access`() throws {
        try storage.set(Array(#"{"version": 2, "subscriptions": {"pro": true}}"#.utf8), for: "subscriptions.\(app)")
        let error = #expect(throws: PurchaseError(.sharedUserInfoOfOtherVersion, "")) {
            try reader.userInfo(ofApp: app)
        }
        #expect(error?.reason.contains("version 2") == true && error?.reason.contains("\(app)") == true)
        #expect(!reader.isSubscriber(ofApp: app))
    }

    @Test(arguments: ["", "{", "[]", "{}", #"{"version": 1}"#, #"{"version": "1"}"#])
    func `damaged information has an error of its own, and gives no access`(text: String) throws {
        try storage.set(Array(text.utf8), for: "subscriptions.\(app)")
        #expect(throws: PurchaseError(.sharedUserInfoDamaged, "")) { try reader.userInfo(ofApp: app) }
        #expect(!reader.isSubscriber(ofApp: app))
    }

    @Test func `shared information over the size limit is not read`() throws {
        try share(shared(until: Fixture.start + Fixture.month))
        let whole = try #require(try storage.data(for: "subscriptions.\(app)"))
        let padding = [UInt8](repeating: UInt8(ascii: " "), count: (64 << 10) - whole.count)
        try storage.set(whole + padding, for: "subscriptions.\(app)")
        #expect(reader.isSubscriber(ofApp: app))
        try storage.set(whole + padding + [UInt8(ascii: " ")], for: "subscriptions.\(app)")
        let error = #expect(throws: PurchaseError(.sharedUserInfoDamaged, "")) { try reader.userInfo(ofApp: app) }
        #expect(error?.reason.contains("65537") == true)
    }

    @Test func `a reader during a write sees the old or the new information`() async throws {
        let files = try FileSecureStorage(directory: folder)
        let apps = SiblingApps(
            application: app, others: [], reader: SharedUserInfoReader(storage: files), classifier: nil)
        let infos = (1...100).map { number in
            SharedUserInfo(
                application: app, environment: .production, validatedAt: Fixture.start + Double(number),
                subscriptions: [shared(until: Fixture.start + Double(number) * 86400)])
        }
        try apps.write(infos[0])
        let seen = Locked<[SharedUserInfo?]>([])
        let reading = Task.detached { [reader = apps.reader, app] in
            while !Task.isCancelled {
                let info = try reader.userInfo(ofApp: app)
                seen.withLock { $0.append(info) }
                await letOthersRun()
            }
        }
        try await until("a reader has begun") { seen.withLock { !$0.isEmpty } }
        for info in infos { try apps.write(info) }
        #expect(try apps.reader.userInfo(ofApp: app) == infos.last)
        reading.cancel()
        try await reading.value
        let all = seen.withLock { $0 }
        #expect(all.allSatisfy { $0.map(infos.contains) ?? false })
        let times: [Date] = all.map { $0?.validatedAt ?? .distantPast }
        #expect(times == times.sorted())
    }

    @Test func `the information of one app does not count for another, even under its key`() throws {
        try share(shared(until: Fixture.start + Fixture.month))
        try storage.set(storage.data(for: "subscriptions.\(app)"), for: "subscriptions.com.example.other")
        #expect(throws: PurchaseError(.sharedUserInfoDamaged, "")) { try reader.userInfo(ofApp: "com.example.other") }
    }

    @Test func `a changed file is reported as damaged`() throws {
        let files = try FileSecureStorage(directory: folder)
        try files.set([1, 2, 3], for: "subscriptions.\(app)")
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: folder).first)
        try Data([9]).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        #expect(throws: PurchaseError(.sharedUserInfoDamaged, "")) {
            try SharedUserInfoReader(storage: files).userInfo(ofApp: app)
        }
    }

    @Test func `a locked storage is reported, and there is no subscriber meanwhile`() throws {
        let reader = SharedUserInfoReader(storage: LockedStorage())
        let error = #expect(throws: PurchaseError(.storageFailed, "")) { try reader.userInfo(ofApp: app) }
        #expect((error?.underlying as? PurchaseError)?.code == .storageLocked)
        #expect(!reader.isSubscriber(ofApp: app))
    }
}
