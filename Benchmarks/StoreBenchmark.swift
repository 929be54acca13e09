import AppStoreSimulator
import Foundation
import HTTPListener
import Primitives
import SignedData
import StoreModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The App Store simulator: purchases over HTTP, a year of renewals, and the time to open a store. `SOUK_BENCH_SHORT`
/// skips the largest store.
enum StoreBenchmark {
    private static let catalogue = #"""
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [{"productID": "coins", "type": "Consumable", "displayPrice": "0.99"}],
         "subscriptionGroups": [{"id": "plus", "name": "Plus", "subscriptions": [
           {"productID": "monthly", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1}]}]}
        """#

    private static var sizes: [Int] {
        ProcessInfo.processInfo.environment["SOUK_BENCH_SHORT"] == nil ? [1000, 100_000, 1_000_000] : [1000, 100_000]
    }

    static func configuration(_ folder: String) throws -> SimulatedAppStore.Configuration {
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try Catalogue(parsing: Array(catalogue.utf8), file: "benchmark"), dataDirectory: folder)
        configuration.timeRate = .frozen
        configuration.start = Date(timeIntervalSince1970: 1_769_853_600)
        configuration.seed = 1
        return configuration
    }

    private static func withTemporaryFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await body(folder)
    }

    // MARK: - Purchases

    /// Customers buy over HTTP, one after another on each connection. Each purchase is durable before its response.
    static func purchases() async throws -> [BenchmarkResult] {
        var results: [BenchmarkResult] = []
        for connections in [1, 8] { results.append(try await purchases(over: connections)) }
        return results
    }

    private static func purchases(over connections: Int) async throws -> BenchmarkResult {
        try await withTemporaryFolder { folder in
            let store = try await SimulatedAppStore.open(try configuration(folder + "/store"))
            let listener = HTTPListener(handler: store.handler)
            let port = try listener.start().port
            var devices: [String] = []
            for number in 0..<connections {
                let account = AccountName(unchecked: "account-\(number)")
                try await store.createAccount(account)
                devices.append(try await store.signIn(account: account).deviceID)
            }
            let each = 200 / connections
            var times: [(purchase: Double, sync: Double)] = []
            for round in 0...11 {
                let requests = devices.map { device in
                    (0..<each).map { payment("\(round)-\($0)", from: device) }
                }
                let elapsed = try await LoadClient.runConcurrently(port: port, requests)
                let sync = try measureSyncs(each * connections / 4, in: folder)
                if round > 0 { times.append((elapsed / Double(each * connections), sync)) }
            }
            await listener.stop()
            await store.close()
            let (purchase, sync) = (median(times.map(\.purchase)), median(times.map(\.sync)))
            return BenchmarkResult(
                name: "purchase over HTTP, \(connections) connection\(connections == 1 ? "" : "s")",
                reference: "4 KiB written and fdatasync, one after the other",
                rounds: [Round](times.map(\.purchase), references: times.map(\.sync)),
                budget: connections == 1 ? .ratio(6) : .perSecond(1000),
                more: [
                    ("purchasesPerSecond", .number((1e9 / purchase).rounded())),
                    ("referencePerSecond", .number((1e9 / sync).rounded())),
                ])
        }
    }

    private static func payment(_ id: String, from device: String) -> [UInt8] {
        let body = #"{"id": "\#(id)", "productID": "coins", "quantity": 1}"#
        let head = "POST /store/v1/devices/\(device)/payments HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        return Array(
            (head + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body).utf8)
    }

    /// Returns the nanoseconds of one append of 4 KiB to a file, including its sync.
    private static func measureSyncs(_ count: Int, in folder: String) throws -> Double {
        let descriptor = open(folder + "/reference", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw BenchmarkFailure("no file in \(folder)") }
        defer { close(descriptor) }
        let page = [UInt8](repeating: 7, count: 4096)
        let elapsed = try ContinuousClock().measure {
            for _ in 0..<count {
                #if canImport(Darwin)
                    let isSynced = write(descriptor, page, page.count) == page.count && fsync(descriptor) == 0
                #else
                    let isSynced = write(descriptor, page, page.count) == page.count && fdatasync(descriptor) == 0
                #endif
                guard isSynced else { throw BenchmarkFailure("a page could not be written and synced") }
            }
        }
        return elapsed.nanoseconds / Double(count)
    }

    // MARK: - Renewals

    /// A year passes in virtual time. Then all transactions are read, and one in a thousand is signed. Also measures
    /// the time to open the store.
    static func renewals() async throws -> [BenchmarkResult] {
        let empty = try await measureOpening(nil)
        var results = [
            openingResult("without accounts", empty, reference: empty, .other("≤ 0.5 s"))
        ]
        for size in sizes {
            let (renewal, open) = try await measureYear(of: size)
            results.append(renewal)
            results.append(
                openingResult(
                    "with \(size) subscriptions", open, reference: empty, .ratio(2)))
        }
        return results
    }

    private static func openingResult(
        _ content: String, _ time: Double, reference empty: Double, _ budget: Budget
    ) -> BenchmarkResult {
        BenchmarkResult(
            name: "opening a store \(content)", reference: "a store without accounts",
            rounds: [Round(operation: time, reference: empty)], budget: budget)
    }

    private static func measureOpening(_ folder: String?) async throws -> Double {
        guard let folder else { return try await withTemporaryFolder { try await measureOpening($0) } }
        var times: [Double] = []
        for _ in 0...4 {
            let clock = ContinuousClock()
            let start = clock.now
            let store = try await SimulatedAppStore.open(try configuration(folder))
            times.append((clock.now - start).nanoseconds)
            await store.close()
        }
        return median(Array(times.dropFirst()))
    }

    private static func measureYear(of size: Int) async throws -> (renewals: BenchmarkResult, opening: Double) {
        try await withTemporaryFolder { folder in
            var store = try await SimulatedAppStore.open(try configuration(folder))
            try await store.populate(size, subscribingTo: "monthly")
            await store.close()
            let open = try await measureOpening(folder)
            store = try await SimulatedAppStore.open(try configuration(folder))
            let clock = ContinuousClock()
            let before = Memory.resident
            Memory.resetPeak()
            let start = clock.now
            try await store.advance(.init(period: .years(1)))
            let advanced = clock.now - start
            let signing = 1000
            var read = (transactions: 0, signed: 0)
            // A small store is measured several times, so that the time is long enough.
            let repetitions = max(1, 20_000 / size)
            let renewals = Double(12 * size * repetitions)
            var rounds: [Round] = []
            // The smallest number of rounds whose median has an interval of 95 %.
            for round in 0...6 {
                let elapsed = try clock.measure {
                    for _ in 0..<repetitions { read = try store.readEverything(signingEach: signing) }
                }
                // The first round is not counted: it fills the caches of the system.
                guard round > 0 else { continue }
                rounds.append(Round(operation: elapsed.nanoseconds / renewals, reference: 1e9 / 300_000))
            }
            let peak = Memory.peak
            await store.close()
            guard read.transactions == 13 * size else {
                throw BenchmarkFailure("\(size) subscriptions sold \(read.transactions) transactions in a year")
            }
            return (
                BenchmarkResult(
                    name: "renewal in virtual time, \(size) subscriptions", reference: "what the budget allows",
                    rounds: rounds, budget: .perSecond(300_000),
                    more: [
                        ("renewalsPerSecond", .number((1e9 / rounds.operation).rounded())),
                        ("advancingSeconds", rounded(advanced.nanoseconds / 1e9)), ("signed", .number(read.signed)),
                        ("megabytesBefore", rounded(before)), ("megabytesPeak", rounded(peak)),
                    ]), open
            )
        }
    }
}

/// The memory of this process in megabytes; 0 if the system does not report it.
enum Memory {
    static var resident: Double { value(of: "VmRSS:") }
    static var peak: Double { value(of: "VmHWM:") }

    static func resetPeak() {
        let file = open("/proc/self/clear_refs", O_WRONLY)
        guard file >= 0 else { return }
        defer { close(file) }
        _ = write(file, "5", 1)
    }

    private static func value(of name: String) -> Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return (Double(line.filter(\.isNumber)) ?? 0) / 1024
    }
}
