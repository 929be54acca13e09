import AppStorePayloads
import BaseTestSupport
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel
import StoreTestSupport
import Testing

/// A client over a scripted transport. Pauses have their longest value, and the clock skips them.
struct ClientFixture {
    let clock = LeapingClock()
    let transport: ScriptedTransport
    let client: AppStoreServerAPIClient
    private let key: SigningKey

    init(
        _ script: [ScriptedTransport.Step], issuer: String = "issuer", baseURL: String = "https://store.example/",
        sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout AppStoreServerAPIClient.Configuration) -> Void = { _ in }
    ) throws {
        key = try SigningKey.generate()
        transport = ScriptedTransport(script, sourceLocation: sourceLocation)
        var configuration = AppStoreServerAPIClient.Configuration(
            key: AppStoreConnectKey(key, id: "K1", issuerID: issuer, bundleID: "com.example"), baseURL: baseURL)
        configuration.clock = clock
        configuration.random = { 1 }
        change(&configuration)
        client = AppStoreServerAPIClient(configuration: configuration, transport: transport)
    }

    /// The bearer token of each request.
    var tokens: [String] {
        transport.requests.map { String(($0.headers["Authorization"] ?? "").dropFirst("Bearer ".count)) }
    }

    /// Returns whether the App Store would accept the token now.
    func accepts(_ token: String) -> Bool {
        let verifier = AppStoreServerTokenVerifier(
            keys: ["K1": key.verificationKey], issuerID: "issuer", bundleID: "com.example")
        do {
            try verifier.verify(token, at: clock.now())
            return true
        } catch {
            return false
        }
    }
}

/// A clock that records each sleep and advances at once to its deadline.
final class LeapingClock: WallClock {
    private let state = Locked((now: Date(timeIntervalSince1970: 1_767_225_600), pauses: [TimeInterval]()))

    /// The pauses in seconds.
    var pauses: [TimeInterval] { state.withLock { $0.pauses } }

    func now() -> Date { state.withLock { $0.now } }

    func advance(by seconds: TimeInterval) { state.withLock { $0.now += seconds } }

    func sleep(until deadline: Date) async throws {
        state.withLock { state in
            state.pauses.append(deadline.timeIntervalSince(state.now))
            state.now = max(state.now, deadline)
        }
    }
}

extension ScriptedTransport.Step {
    static func refusal(_ code: AppStoreServerAPI.ErrorCode, headers: HTTPHeaders = [:]) -> ScriptedTransport.Step {
        .answer(status: code.status, headers: headers, json: AppStoreServerAPI.ErrorResponse(code).json)
    }

    static func failure(_ code: HTTPError.Code) -> ScriptedTransport.Step { .fail(HTTPError(code, "It failed.")) }
}

/// Returns the error of a call, if it is an `AppStoreServerAPIError`.
func apiError(_ call: () async throws -> some Any) async -> AppStoreServerAPIError? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error as? AppStoreServerAPIError
    }
}
