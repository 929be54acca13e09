import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// Requests that each change the ledger, and the visible state after each of them. Time does not pass, so in every run
/// the server gives the same answers after the first k requests.
struct DurabilityScenario: Sendable {
    struct Step: Sendable {
        let path: String
        let body: HTTPBody
        let idempotencyKey: String
    }

    /// A ledger with keys and without customers.
    let template: ServerBench.Folder
    let steps: [Step]
    /// The visible states; the one at index k follows the first k steps.
    private(set) var visibleStates: [[String]] = []
    private let secretKey: String

    init() async throws {
        template = try ServerBench.Folder()
        let bench = try await ServerBench(folder: template)
        secretKey = try #require(bench.keys[ServerBench.app]).secretKey
        steps = try Self.steps(signedBy: bench)
        await bench.close()

        let reference = try await open(try ServerBench.Folder(copyOf: template.url))
        visibleStates.append(try await look(at: reference))
        for step in steps {
            #expect(try await take(step, at: reference) == .done)
            visibleStates.append(try await look(at: reference))
        }
        await reference.close()
        #expect(Set(visibleStates).count == visibleStates.count, "Two steps leave the same visible state.")
    }

    private static func steps(signedBy bench: ServerBench) throws -> [Step] {
        func post(_ texts: [String], renewals: [String] = [], by customer: String, _ key: String) -> Step {
            let body: JSONValue = [
                "signedTransactions": .array(texts.map { .string($0) }),
                "signedRenewalInfos": .array(renewals.map { .string($0) }),
            ]
            return Step(path: "/v1/customers/\(customer)/transactions", body: .json(body), idempotencyKey: key)
        }
        let bought = bench.purchasePayload("2")
        var refunded = bought
        refunded.revocationDate = bench.clock.now()
        return try [
            post([bench.period("1"), bench.sign(bought)], renewals: [bench.renewalInfo()], by: "anna", "a"),
            post([bench.sign(refunded)], by: "anna", "c"),
            Step(
                path: "/v1/customers/anna/grants",
                body: .json(["feature": "extra", "reason": "support"]), idempotencyKey: "d"),
            post([bench.period("1")], by: "ben", "e"),
            post((10..<13).map { try bench.purchase("\($0)", product: "p\($0)") }, by: "carl", "f"),
        ]
    }

    // MARK: - One run

    func open(_ folder: ServerBench.Folder, checkpointPages: Int = 12_000) async throws -> ServerBench {
        try await ServerBench(
            folder: folder, checkpointPages: checkpointPages, configure: { $0.makeGrantID = { "grant" } })
    }

    enum Outcome: Equatable {
        case done
        /// The request was refused with a retryable status.
        case later
        case wrong(Int)
    }

    func take(_ step: Step, at bench: ServerBench) async throws -> Outcome {
        let reply = try await bench.send(
            .post, step.path, as: .other("Bearer \(secretKey)"),
            headers: ["Idempotency-Key": step.idempotencyKey], body: step.body)
        switch reply.status {
        case 200, 201: return .done
        case 503 where reply.json["retryable"] == true: return .later
        default: return .wrong(reply.status)
        }
    }

    /// Returns the visible state: all answers about the customers.
    func look(at bench: ServerBench) async throws -> [String] {
        var visibleState: [String] = []
        for customer in ["anna", "ben", "carl"] {
            for path in ["", "/facts"] {
                let reply = try await bench.send(
                    .get, "/v1/customers/\(customer)\(path)", as: .other("Bearer \(secretKey)"))
                #expect(reply.status == 200)
                visibleState.append(String(decoding: reply.bytes, as: UTF8.self))
            }
        }
        return visibleState
    }

    /// Returns the number of steps that a ledger contains. Throws if the ledger is damaged, or contains a part of a
    /// step.
    func stepCount(in folder: ServerBench.Folder) async throws -> Int {
        let disk = try FaultyDisk(folder.url)
        defer { disk.detach() }
        let bench = try await open(folder)
        let check: String? = try bench.database.read { try $0.first("PRAGMA integrity_check", [])?[0] }
        let differences = try bench.replay().differences
        let visibleState = try await look(at: bench)
        await bench.close()
        guard differences.isEmpty else { throw UnexpectedState(reason: "\(differences)") }
        guard check == "ok" else { throw UnexpectedState(reason: "damaged: \(check ?? "")") }
        guard let known = visibleStates.firstIndex(of: visibleState) else {
            throw UnexpectedState(reason: "neither old nor new: \(visibleState.map { $0.prefix(400) })")
        }
        return known
    }

    struct UnexpectedState: Error {
        let reason: String
    }
}
