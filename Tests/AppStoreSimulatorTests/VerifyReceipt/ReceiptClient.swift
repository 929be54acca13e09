import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// An app's server that sends the receipts of one device to `/verifyReceipt`.
struct ReceiptClient {
    let test: TestStore
    let device: DeviceID

    init(_ test: TestStore, _ account: AccountName = "anna") async throws {
        self.test = test
        device = try await test.device(account)
    }

    var store: SimulatedAppStore { test.store }

    /// Returns the current receipt of the device, in base64.
    func receipt() async throws -> String { Base64.encode(try await store.receipt(of: device)) }

    /// Returns the response to the current receipt of the device, which must be valid.
    func verify(_ more: JSONMembers = [:]) async throws -> JSONValue {
        let answer = try await verify(try await receipt(), more)
        #expect(answer["status"] == 0)
        return answer
    }

    func verify(_ receipt: String, _ more: JSONMembers = [:]) async throws -> JSONValue {
        var body: JSONMembers = ["receipt-data": .string(receipt)]
        for (name, value) in more { body[name] = value }
        return try await send(JSONValue.object(body).encoded())
    }

    /// Sends a body. Expects the HTTP status 200 and a JSON response with a status.
    func send(
        _ body: [UInt8], method: HTTPRequest.Method = .post, to path: String = "/verifyReceipt"
    ) async throws -> JSONValue {
        let response = try await InProcessTransport(store.handler).send(
            HTTPRequest(method: method, url: "http://store.test" + path, body: .bytes(body)))
        #expect(response.status == 200 && response.headers["Content-Type"] == "application/json")
        let answer = try await response.body.json(upTo: 64 << 20)
        #expect(answer["status"]?.intValue != nil)
        return answer
    }

    /// Returns the status of a refusal, which must not describe a receipt.
    func status(
        _ body: String, method: HTTPRequest.Method = .post, to path: String = "/verifyReceipt"
    ) async throws -> Int? {
        Self.status(of: try await send(Array(body.utf8), method: method, to: path))
    }

    static func status(of answer: JSONValue) -> Int? {
        let reported = answer.objectValue?.keys.sorted() ?? []
        #expect(Set(reported).isSubset(of: ["environment", "is-retryable", "is_retryable", "status"]), "\(reported)")
        return answer["status"]?.intValue
    }

    /// Returns a signer with the store's keys, for receipts that the store would not create.
    func signer() throws -> ReceiptSigner {
        let folder = URL(fileURLWithPath: test.folder.path, isDirectory: true)
        return try ReceiptSigner(try #require(try SigningChain.load(from: folder)))
    }
}

extension JSONValue {
    /// Returns the elements of an array member.
    func all(_ name: String) -> [JSONValue] { self[name]?.arrayValue ?? [] }

    /// Returns a date in its three forms; `nil` for a missing member.
    func dates(_ name: String) -> [String?] {
        [name, name + "_ms", name + "_pst"].map { self[$0]?.stringValue }
    }

    var names: Set<String> { Set(objectValue?.keys.map(\.self) ?? []) }
}
