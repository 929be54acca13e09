import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A performance test of the app's server that answers realtime requests (Apple: Initiate Performance Test).
///
/// A request succeeds if a realtime response arrives within `threshold`. Apple documents only this threshold,
/// approximately; the other numbers are assumptions.
struct PerformanceTest: Sendable {
    typealias Result = AppStoreServerAPI.SendAttemptResult

    static let requests = 100
    static let concurrency = 10
    static let threshold = Duration.milliseconds(700)
    static let successRate = 95

    static var config: AppStoreServerAPI.PerformanceTestConfig {
        AppStoreServerAPI.PerformanceTestConfig {
            $0.maxConcurrentRequests = concurrency
            $0.totalRequests = requests
            $0.totalDuration = requests / concurrency * milliseconds(threshold)
            $0.responseTimeThreshold = milliseconds(threshold)
            $0.successRateThreshold = successRate
        }
    }

    let delivery: NotificationDelivery
    let url: String
    /// Returns the signed payload of a request, by its number from 1.
    let payload: @Sendable (Int) throws -> String

    /// Sends every request and returns the results with their times. Calls `report` after each. Returns fewer results if
    /// the task is cancelled.
    func run(
        report: @escaping @Sendable (Int) -> Void
    ) async -> [(result: Result, milliseconds: Int)] {
        await withTaskGroup(of: (Result, Int)?.self) { group in
            var results: [(result: Result, milliseconds: Int)] = []
            var begun = 0
            func begin() {
                guard begun < Self.requests, !Task.isCancelled else { return }
                begun += 1
                group.addTask { [number = begun] in await send(number) }
            }
            for _ in 0..<Self.concurrency { begin() }
            for await result in group {
                if let result { results.append(result) }
                report(Self.requests - results.count)
                begin()
            }
            return results
        }
    }

    private func send(_ number: Int) async -> (Result, Int)? {
        let begin = ContinuousClock.now
        do {
            var (result, body) = try await delivery.exchange(try payload(number), to: url)
            if result == .success, (try? AppStoreServerAPI.RealtimeResponseBody(json: JSONValue(parsing: body))) == nil
            {
                result = .invalidResponse
            }
            let length = ContinuousClock.now - begin
            return (result == .success && length > Self.threshold ? .timedOut : result, Self.milliseconds(length))
        } catch is CancellationError {
            return nil
        } catch {
            return (.other, Self.milliseconds(ContinuousClock.now - begin))
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int {
        Int(duration.components.seconds) * 1000 + Int(duration.components.attoseconds / 1_000_000_000_000_000)
    }
}

extension AppStoreServerAPI.PerformanceTestResultResponse {
    /// Creates the results of a test that has just begun.
    init(testing target: String) {
        self.init {
            $0.config = PerformanceTest.config
            $0.target = target
            $0.result = .pending
            $0.successRate = 0
            $0.numPending = PerformanceTest.requests
        }
    }

    /// Adds the final results. `times` are the milliseconds of all requests that ended.
    mutating func end(failures: [AppStoreServerAPI.SendAttemptResult: Int], times: [Int]) {
        let failed = failures.values.reduce(0, +)
        let total = max(times.count, failed)
        let rate = total == 0 ? 0 : (total - failed) * 100 / total
        self.result = rate >= PerformanceTest.successRate ? .pass : .fail
        self.successRate = rate
        self.numPending = 0
        self.failures = failures.filter { $0.value > 0 }
        guard !times.isEmpty else { return }
        let sorted = times.sorted()
        /// The nearest rank.
        func percentile(_ percent: Int) -> Int { sorted[max(0, (percent * sorted.count + 99) / 100 - 1)] }
        self.responseTimes = AppStoreServerAPI.PerformanceTestResponseTimes {
            $0.average = sorted.reduce(0, +) / sorted.count
            $0.p50 = percentile(50)
            $0.p90 = percentile(90)
            $0.p95 = percentile(95)
            $0.p99 = percentile(99)
        }
    }
}
