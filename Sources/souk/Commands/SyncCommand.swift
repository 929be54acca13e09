import AppStorePayloads
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// `souk sync`: fetches from the App Store what an entitlement server missed: notifications, and the purchases of
/// single customers.
enum SyncCommand {
    static let command = Command(
        words: ["sync"], summary: "Send an entitlement server the App Store data that it missed",
        options: FactSender.options + [.init(name: "bundle-id", value: "B", help: "the app")]
            + AppStoreOptions.options + [
                .init(
                    name: "since", value: "T",
                    help: "the start of the notifications "
                        + "(an hour before the end of the last run, or 179 days before --until)"),
                .init(name: "until", value: "T", help: "the end of the notifications (now)"),
                .init(
                    name: "customer", value: "C", repeats: true,
                    help: "send all purchases of this customer instead of notifications"),
                .init(
                    name: "state", value: "FILE",
                    help: "the file that keeps the progress (souk-sync-B-E.json in this folder)"),
                .init(name: "json", help: "print one JSON value"),
            ],
        details: """
            Apple keeps notifications for 180 days. After an interruption, run the same command again: it continues. Later runs
            begin an hour before the end of the last one. Repeated facts count once.
            The purchases of another customer stay with that customer.
            Respects the rate limits of the App Store. Exit 1 when a fact was not accepted.
            """
    ) { arguments in
        let bundle: BundleID = try Arguments.identifier(arguments.required("bundle-id"), called: "--bundle-id")
        guard let options = try AppStoreOptions(arguments) else {
            throw UsageError("souk sync needs --app-store-key FILE")
        }
        let environment = try SignedDataOptions.environment(
            named: arguments.text("environment") ?? StoreEnvironment.production.rawValue,
            among: [.production, .sandbox])
        let customers = try arguments.texts("customer").map {
            try Arguments.identifier($0, called: "--customer") as CustomerID
        }
        guard customers.isEmpty || ["since", "until", "state"].allSatisfy({ arguments.text($0) == nil }) else {
            throw UsageError("--customer sends all purchases at once: leave out --since, --until and --state")
        }
        let sync = StoreSync(
            store: options.client(
                for: bundle, in: environment, backoff: Backoff(attempts: 8, maximum: .seconds(300))),
            server: try FactSender(arguments))
        let report: FactReport
        do {
            if customers.isEmpty {
                let path = arguments.text("state") ?? "souk-sync-\(bundle)-\(environment).json"
                report = try await sync.notifications(
                    since: try arguments.time("since"), until: try arguments.time("until"),
                    remembering: StateFile(path: path))
            } else {
                report = try await sync.purchases(of: customers)
            }
        } catch let error as AppStoreServerAPIError {
            let later = error.retryAfter.map { " Not before \(RFC3339.string(from: $0))." } ?? ""
            throw Failure("\(error.reason)\(later) Run the same command again to continue.")
        }
        try show(report, asJSON: arguments.has("json"))
        return report.rejected == 0 ? .success : .failure
    }

    private static func show(_ report: FactReport, asJSON: Bool) throws {
        guard !asJSON else { return try Terminal.print(json: report.json) }
        try Terminal.print("\(report.accepted) accepted, \(report.rejected) rejected")
        for line in report.lines { try Terminal.print(line) }
    }
}

/// Copies data from the App Store to a server.
struct StoreSync: Sendable {
    let store: AppStoreServerAPIClient
    let server: FactSender

    /// The progress of fetching notifications.
    struct Progress: ResumableState, Sendable {
        var since: Date
        /// The end of the time range of an unfinished run; `nil` after the run.
        var until: Date?
        var page: String?
        var report = FactReport()

        var isPlausible: Bool { report.isPlausible }
    }

    /// The time that a run fetches again, in seconds: notifications can appear in Apple's history after their date.
    private static let overlap: TimeInterval = 3600
    private static let longest: TimeInterval = 179 * 86400

    /// Sends the notifications of a time range to the server, also those that the App Store has delivered.
    func notifications(
        since: Date?, until: Date?, remembering file: StateFile<Progress>
    ) async throws -> FactReport {
        let known = try file.read()
        let end = known?.until ?? until ?? Date()
        let begin = known?.until == nil ? since ?? known?.since : known?.since
        var progress = Progress(since: begin ?? end.addingTimeInterval(-Self.longest), until: end)
        if let known, known.until != nil {
            progress = known
            Terminal.note("continuing the interrupted run")
        }
        let request = AppStoreServerAPI.NotificationHistoryRequest {
            $0.startDate = progress.since
            $0.endDate = end
        }
        var bar = ProgressBar("notifications", of: nil)
        defer { bar.end() }
        var count = 0
        try file.write(progress)
        while true {
            let page = try await store.notificationHistory(request, paginationToken: progress.page)
            for item in page.items {
                guard let signed = item.signedPayload else { continue }
                count += 1
                switch try await server.post("/v1/notifications/app-store", ["signedPayload": .string(signed)]) {
                case .done: progress.report.accepted += 1
                case .rejected(let code, let detail):
                    let id = try? UnverifiedJWS(unverified: signed).unverifiedPayload["notificationUUID"]?.stringValue
                    progress.report.reject(code, detail, at: "notification \(id ?? "without a UUID")")
                }
                bar.show(count, "\(count), \(progress.report.rejected) rejected")
            }
            guard page.hasMore == true, let next = page.paginationToken, next != progress.page else { break }
            progress.page = next
            try file.write(progress)
        }
        try file.write(Progress(since: end.addingTimeInterval(-Self.overlap)))
        return progress.report
    }

    /// Sends all that the App Store returns about the purchases of these customers.
    func purchases(of customers: [CustomerID]) async throws -> FactReport {
        var report = FactReport()
        var bar = ProgressBar("customers", of: customers.count)
        defer { bar.end() }
        for (index, customer) in customers.enumerated() {
            try await sendPurchases(of: customer, countingIn: &report)
            bar.show(index + 1, "\(index + 1) of \(customers.count), \(report.rejected) rejected")
        }
        return report
    }

    /// Sends the purchases of a customer. The history of one purchase contains all purchases of its buyer, so one
    /// history is enough for most customers.
    private func sendPurchases(of customer: CustomerID, countingIn report: inout FactReport) async throws {
        let path = "/v1/customers/\(PercentEncoding.encode(customer.rawValue))"
        let known = try await server.get(path)
        let own = Self.purchases(in: known)
        if own.isEmpty { Terminal.note("\(customer) has no purchase of the App Store") }
        var seen: Set<String> = []
        for original in own.sorted() where !seen.contains(original) {
            var transactions: [String] = []
            for try await signed in store.transactionHistoryPages(of: TransactionID(unchecked: original)).items {
                let purchase = try? UnverifiedJWS(unverified: signed).unverifiedPayload["originalTransactionId"]?
                    .stringValue
                guard let purchase else { continue }
                seen.insert(purchase)
                if own.contains(purchase) {
                    transactions.append(signed)
                } else if try await !isHeld(purchase, byOthersThan: known["customer"]?.stringValue ?? "") {
                    transactions.append(signed)
                }
            }
            seen.insert(original)
            let statuses = try await store.subscriptionStatuses(of: TransactionID(unchecked: original))
            let renewals = (statuses.data ?? []).flatMap { $0.lastTransactions ?? [] }
                .filter { own.contains($0.originalTransactionId ?? "") }.compactMap(\.signedRenewalInfo)
            for start in stride(from: 0, to: transactions.count, by: 100) {
                let isLast = start + 100 >= transactions.count
                var body: JSONValue = [
                    "signedTransactions": .array(transactions[start...].prefix(100).map { .string($0) })
                ]
                if isLast, !renewals.isEmpty {
                    body["signedRenewalInfos"] = .array(renewals.prefix(100).map { .string($0) })
                }
                report.take(try await server.post("\(path)/transactions", body), at: "customer \(customer)")
            }
        }
    }

    /// The App Store purchases in a customer's answer.
    private static func purchases(in answer: JSONValue) -> Set<String> {
        let all = (answer["subscriptions"]?.arrayValue ?? []) + (answer["purchases"]?.arrayValue ?? [])
        return Set(
            all.filter { $0["source"]?.stringValue == PurchaseSource.appStore.rawValue }
                .compactMap { $0["originalTransactionID"]?.stringValue })
    }

    /// Whether another customer has a purchase. That customer must not lose the purchase to this one: both ids can
    /// belong to one person.
    private func isHeld(_ purchase: String, byOthersThan customer: String) async throws -> Bool {
        // The search finds longer ids too. Clients with the public key can create more of them than one page has.
        let first = "/v1/customers?limit=100&query=\(PercentEncoding.encode(purchase))"
        var path = first
        var cursors: Set<String> = []
        while true {
            let found = try await server.get(path)
            guard let entries = found["customers"]?.arrayValue else {
                throw Failure("the server's answer to a search for \(purchase) has no list of customers")
            }
            for entry in entries {
                guard let other = entry["customer"]?.stringValue, other != customer else { continue }
                let answer = try await server.get("/v1/customers/\(PercentEncoding.encode(other))")
                if Self.purchases(in: answer).contains(purchase) { return true }
            }
            guard let next = found["nextCursor"]?.stringValue else { return false }
            guard cursors.insert(next).inserted else {
                throw Failure("the server's list of customers for \(purchase) does not end: it repeats a cursor")
            }
            path = "\(first)&cursor=\(PercentEncoding.encode(next))"
        }
    }
}
