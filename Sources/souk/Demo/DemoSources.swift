import HTTPCore
import Primitives
import Purchases

/// A source of features that is neither a store nor a server: gift cards.
final class DemoGiftCards: PurchasePlugin {
    static let feature = "gift-frames"
    let name = "giftCards"

    func getPaidFeatures() async throws -> PaidFeatures {
        PaidFeatures(features: [PaidFeature(name: Self.feature, transactionType: .web)])
    }
}

/// The network of one plugin, which the demonstration can disconnect.
final class DisconnectableTransport: HTTPTransport {
    private let inner: any HTTPTransport
    private let isDisconnected = Locked(false)

    init(_ inner: any HTTPTransport) { self.inner = inner }

    func setDisconnected(_ isDisconnected: Bool) { self.isDisconnected.withLock { $0 = isDisconnected } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        if isDisconnected.withLock({ $0 }) {
            throw HTTPError(.connectionFailed, "The demonstration has disconnected this network.")
        }
        return try await inner.send(request)
    }
}

extension DemoScenario {
    /// Merges the answers of three sources, then lets one of them fail. Checks that no feature is missing, and that the
    /// report names the failed source.
    func sources() async throws -> String {
        let all = try await phone.client.collectPaidFeatures()
        guard all.isComplete, all.reports.count == 3 else {
            throw DemoFault("not every source answered: \(describe(all.reports))")
        }
        guard all.value.hasActiveFeature(with: DemoGiftCards.feature, at: world.clock.now()) else {
            throw DemoFault("the feature of the gift card is missing")
        }
        phone.remoteTransport.setDisconnected(true)
        defer { phone.remoteTransport.setDisconnected(false) }
        let less = try await phone.client.collectPaidFeatures()
        guard less.value == all.value else {
            throw DemoFault(
                "\(less.value.features.count) features of \(all.value.features.count) while one source fails")
        }
        guard let failed = less.reports.first(where: { !$0.didAnswer }), failed.usedLastKnownAnswer,
            (failed.error as? PurchaseError)?.code == .unreachable, less.reports.count(where: \.didAnswer) == 2
        else { throw DemoFault("the report of the source that fails is wrong: \(describe(less.reports))") }
        let names = all.reports.map(\.pluginName).joined(separator: ", ")
        let features = Set(all.value.features.map(\.name)).sorted().joined(separator: ", ")
        return "\(features) from \(names); "
            + "then \(failed.pluginName) fails, its last answer is used, nothing is missing"
    }

    private func describe(_ reports: [PluginReport]) -> String {
        reports.map { "\($0.pluginName) \($0.error.map { "failed: \($0)" } ?? "answered")" }.joined(separator: ", ")
    }
}
