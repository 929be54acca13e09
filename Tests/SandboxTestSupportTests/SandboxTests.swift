import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import Testing

@testable import SandboxTestSupport

@Suite(.timeLimit(.minutes(2))) struct SandboxTests {
    private static let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Examples").standardized.path
    private static let monthly = "com.example.darkroom.plus.monthly"

    private func open() async throws -> Sandbox {
        try await Sandbox.open(
            catalogue: Self.examples + "/darkroom.storekit", features: Self.examples + "/darkroom.features.json",
            start: Date(timeIntervalSince1970: 1_767_225_600))
    }

    @Test func `an app buys, and has what it bought until the subscription ends`() async throws {
        let sandbox = try await open()
        let store = try await sandbox.launch(customer: "anna")
        #expect(!store.isActive("plus"))
        try await store.purchaseProduct(Self.monthly)
        #expect(store.isActive("plus"))
        try await sandbox.appStore.advance(by: .months(1))
        try await until("the renewal reaches the app") { store.isActive("plus") }
        try await sandbox.appStore.cancel("com.example.darkroom.plus.monthly", for: "default")
        try await sandbox.appStore.advance(by: .months(2))
        try await until("the end reaches the app") { !store.isActive("plus") }
        await store.close()
        await sandbox.close()
        #expect(!FileManager.default.fileExists(atPath: sandbox.folder))
    }

    @Test func `the example of README.md sells a product`() async throws {
        let catalogue = Self.examples + "/darkroom.storekit"
        let features = Self.examples + "/darkroom.features.json"
        let sandbox = try await Sandbox.open(catalogue: catalogue, features: features)
        let store = try await sandbox.launch(customer: "anna")
        try await store.purchaseProduct("com.example.darkroom.plus.monthly")
        #expect(store.isActive("plus"))
        await store.close()
        await sandbox.close()
    }

    @Test func `a second launch of a device has the customer and the purchases of the first`() async throws {
        let sandbox = try await open()
        let first = try await sandbox.launch()
        try await first.purchaseProduct("com.example.darkroom.filmpack")
        await first.close()
        let second = try await sandbox.launch()
        #expect(second.customer == first.customer)
        #expect(second.purchasedProducts == ["com.example.darkroom.filmpack"])
        #expect(try sandbox.appStore.devices(of: "default").count == 1)
        await second.close()
        await sandbox.close()
    }

    @Test func `a new device of the same account has the purchases without a restore`() async throws {
        let sandbox = try await open()
        let first = try await sandbox.launch()
        try await first.purchaseProduct("com.example.darkroom.filmpack")
        await first.close()
        let second = try await sandbox.launch(on: "new phone")
        #expect(second.customer != first.customer)
        try await until("the purchase is found") {
            second.purchasedProducts == ["com.example.darkroom.filmpack"]
        }
        await second.close()
        await sandbox.close()
    }

    @Test func `a purchase while the server was away is acknowledged at the next launch`() async throws {
        struct Away: HTTPTransport {
            func send(_ request: HTTPRequest) async throws -> HTTPResponse {
                throw HTTPError(.connectionFailed, "The server is away.")
            }
        }
        let sandbox = try await open()
        let first = try await sandbox.launch(customer: "anna") {
            $0.transport = Away()
            $0.sleep = { _ in }
        }
        await #expect(throws: PurchaseError(.acknowledgementPending, "")) {
            try await first.purchaseProduct("com.example.darkroom.filmpack")
        }
        await first.close()
        let second = try await sandbox.launch(customer: "anna")
        try await until("the server acknowledges it") { !second.purchasedProducts.isEmpty }
        await second.close()
        await sandbox.close()
    }

    @Test func `purchases on one device and outside of the app reach every device of the account`() async throws {
        let sandbox = try await open()
        let phone = try await sandbox.launch(customer: "anna", on: "phone", account: "anna")
        let tablet = try await sandbox.launch(customer: "anna", on: "tablet", account: "anna")
        try await phone.purchaseProduct("com.example.darkroom.filmpack")
        try await sandbox.appStore.buy("com.example.darkroom.plus.monthly", for: "anna")
        for store in [phone, tablet] {
            try await until("the device has both features") { store.isActive("plus") && store.isActive("filmLooks") }
        }
        await phone.close()
        await tablet.close()
        await sandbox.close()
    }

    @Test func `a catalogue that cannot be read is an error`() async throws {
        await #expect(throws: (any Error).self) { try await Sandbox.open(catalogue: "/no/such/catalogue.storekit") }
    }
}
