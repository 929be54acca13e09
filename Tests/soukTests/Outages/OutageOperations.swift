import Foundation
import InAppStore
import Purchases
import StoreModel

/// One customer's app, and its outage.
struct OutageRun: Sendable {
    let world: OutageWorld
    let customer: String
    let outage: Outage
    /// The server with the outage.
    let source: OutageDevice.Source
    let device: OutageDevice

    var client: PurchaseClient { device.client }
}

/// An operation of the purchase client and its result, in the words of the table.
struct OutageOperation: Sendable {
    /// The label in the table: a method of the client, with its parameter if any.
    let label: String
    private let ask: @Sendable (OutageRun) async throws -> String

    private init(_ label: String, _ ask: @escaping @Sendable (OutageRun) async throws -> String) {
        (self.label, self.ask) = (label, ask)
    }

    /// The method of the client with which the label begins.
    var method: String { label.split(separator: "`").first.map(String.init) ?? "" }

    func result(in run: OutageRun) async -> String {
        do {
            return try await ask(run)
        } catch {
            return "throws `\(Self.code(error))`"
        }
    }

    static let filmPack = Product(productIdentifier: "com.example.darkroom.filmpack")
    static let subscription = Product(productIdentifier: "com.example.darkroom.plus.monthly")
    static let code = Product(productIdentifier: "promo.SUMMER")
    private static let prints: ProductID = "com.example.darkroom.prints.10"
    private static let issue = "com.example.magazine.issue"

    /// The operations, in the order in which each run performs them.
    static let all = [
        OutageOperation("`logIn`") { run in
            describe("logged in", try await run.client.logIn(appUserId: .string(run.customer)))
        },
        OutageOperation("`getFeatures`") { run in
            let answer = try await run.client.collectFeatures()
            return describe(names(answer.value.activeFeatures().map(\.name)), answer.reports)
        },
        OutageOperation("`getPaidFeatures`") { run in try await paidFeatures(of: run.client) },
        OutageOperation("`getSubscriptions`") { run in
            try await strictOrBestEffort { names(try await run.client.getSubscriptions($0).map(\.productIdentifier)) }
        },
        OutageOperation("`getProductsAndPricePoints`") { run in
            try await strictOrBestEffort { mode in
                let wanted = [prints.rawValue, issue, code.productIdentifier]
                let products = try await run.client.getProductsAndPricePoints(with: wanted, mode)
                return names(products.map(\.productIdentifier))
            }
        },
        OutageOperation("`getWebPricePoints`") { run in
            try await strictOrBestEffort {
                names(try await run.client.getWebPricePoints(with: [issue], $0).map(\.ident))
            }
        },
        OutageOperation("`restorePurchases`") { run in
            let result = try await run.client.restorePurchases()
            return describe(names(result.paidFeatures), result.reports)
        },
        OutageOperation("`getPromotionalOffer`") { run in
            let discount = ProductDiscount(identifier: "summer", type: .promotional)
            _ = try await run.client.getPromotionalOffer(for: discount, product: subscription)
            return "signed"
        },
        OutageOperation("`purchase` in the App Store") { run in
            bought(try await run.client.purchase(Product(productIdentifier: prints.rawValue)))
        },
        OutageOperation("`purchase` of a code") { run in bought(try await run.client.purchase(code)) },
        OutageOperation("`cancelSubscription`") { run in
            try await run.client.cancelSubscription(with: CancellationToken(pluginName: "remote", rawValue: "1"))
            return "cancelled"
        },
        OutageOperation("`sendRestoreLink`") { run in
            try await run.client.sendRestoreLink(to: "ada@example.com")
            return "sent"
        },
        OutageOperation("`presentCodeRedemptionUI`") { run in
            try await run.client.presentCodeRedemptionUI()
            return "presented"
        },
        OutageOperation("`promotedPurchases`") { run in
            try await run.world.promote(prints, to: run.customer)
            // The purchase is made when the server is back.
            let isSilent = run.source == .appStore && run.outage.isTotal
            if isSilent { run.device.transports[.appStore]?.begin(nil) }
            var promotions = run.client.promotedPurchases.makeAsyncIterator()
            guard let promotion = await promotions.next() else { return "nothing" }
            return (isSilent ? "later, " : "") + bought(try await promotion.purchase())
        },
        OutageOperation("`setAttributes`") { run in
            try await run.client.setAttributes([.email: "ada@example.com"])
            return "done"
        },
        OutageOperation("`collectDeviceIdentifiers`") { run in
            try await run.client.collectDeviceIdentifiers()
            return "done"
        },
        OutageOperation("`invalidatePaidFeaturesCache`") { run in
            await run.client.invalidatePaidFeaturesCache()
            return "then " + (try await paidFeatures(of: run.client))
        },
        OutageOperation("`logOut`") { run in
            await run.client.logOut()
            return run.client.userId == nil ? "logged out" : "still there"
        },
    ]

    // MARK: - Words

    private static func paidFeatures(of client: PurchaseClient) async throws -> String {
        let answer = try await client.collectPaidFeatures()
        return describe(names(answer.value), answer.reports)
    }

    private static func strictOrBestEffort(_ ask: (ReadMode) async throws -> String) async throws -> String {
        do {
            return try await ask(.strict)
        } catch {
            return "throws `\(code(error))`; best effort: \(try await ask(.bestEffort))"
        }
    }

    private static func bought(_ purchase: SuccessfulPurchase) -> String { "bought; \(names(purchase.paidFeatures))" }

    private static func names(_ features: PaidFeatures) -> String { names(features.activeFeatures().map(\.name)) }

    /// Returns the last two parts of each identifier, sorted, as one text.
    private static func names(_ all: [String]) -> String {
        let short = Set(all.map { $0.split(separator: ".").suffix(2).joined(separator: ".") })
        return short.isEmpty ? "nothing" : short.sorted().joined(separator: ", ")
    }

    private static func describe(_ what: String, _ reports: [PluginReport]) -> String {
        let failed = reports.compactMap { report in
            report.error.map { error in
                let used = report.usedLastKnownAnswer ? ", from \(report.origin?.source.rawValue ?? "?")" : ""
                return "\(report.pluginName) `\(code(error))`\(used)"
            }
        }
        return failed.isEmpty ? what : what + "; " + failed.joined(separator: ", ")
    }

    private static func code(_ error: any Error) -> String {
        switch error {
        case let error as PurchaseError: error.code.rawValue
        case let error as PurchaseError: error.code.rawValue
        default: String(describing: type(of: error))
        }
    }
}

/// The results as rows; outages with the same result share a row.
struct OutageTable {
    static let head = "| operation | trouble at | outage | the app has |"

    private var cells: [String: [OutageDevice.Source: [Outage: String]]] = [:]

    mutating func record(_ results: [String], of source: OutageDevice.Source, _ outage: Outage) {
        for (operation, cell) in zip(OutageOperation.all, results) {
            cells[operation.label, default: [:]][source, default: [:]][outage] = cell
        }
    }

    var rows: [String] { OutageOperation.all.flatMap { rows(of: $0.label) } }

    private func rows(of operation: String) -> [String] {
        let results = OutageDevice.Source.allCases.map { source in
            Outage.allCases.map { cells[operation]?[source]?[$0] ?? "?" }
        }
        if let cell = results.first?.first, results.joined().allSatisfy({ $0 == cell }) {
            return [row(operation, "any source", "any", cell)]
        }
        return zip(OutageDevice.Source.allCases, results).flatMap { source, results in
            let different = results.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
            var rows: [(outages: [String], cell: String)] = different.map { cell in
                (zip(Outage.allCases, results).filter { $0.1 == cell }.map(\.0.rawValue), cell)
            }
            if let usual = rows.firstIndex(where: { $0.outages.count > Outage.allCases.count / 2 }) {
                let cell = rows.remove(at: usual).cell
                rows.append(([rows.isEmpty ? "any" : "any other"], cell))
            }
            return rows.map { row(operation, source.rawValue, $0.outages.joined(separator: ", "), $0.cell) }
        }
    }

    private func row(_ words: String...) -> String { "| " + words.joined(separator: " | ") + " |" }
}
