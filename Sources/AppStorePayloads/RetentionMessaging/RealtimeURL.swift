import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The request of Configure Realtime URL.
    package typealias RealtimeUrlRequest = AppStorePayload<RealtimeUrlRequestFields>

    /// The members of ``RealtimeUrlRequest`` that Apple documents.
    package final class RealtimeUrlRequestFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(RealtimeUrlRequestFields())

        /// The URL of the app's server, at most 256 characters that begin with `https://`.
        package let realtimeURL = PayloadField<String>("realtimeURL")
    }

    /// The response of Get Realtime URL.
    public typealias RealtimeUrlResponse = AppStorePayload<RealtimeUrlResponseFields>

    /// The members of ``RealtimeUrlResponse`` that Apple documents.
    public final class RealtimeUrlResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(RealtimeUrlResponseFields())

        /// The URL of the app's server that answers realtime requests.
        public let realtimeURL = PayloadField<String>("realtimeURL")
    }

    /// The request of Initiate Performance Test.
    package typealias PerformanceTestRequest = AppStorePayload<PerformanceTestRequestFields>

    /// The members of ``PerformanceTestRequest`` that Apple documents.
    package final class PerformanceTestRequestFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(PerformanceTestRequestFields())

        /// The original transaction of an active subscription in the sandbox.
        package let originalTransactionId = PayloadField<String>("originalTransactionId")
    }

    /// The response of Initiate Performance Test.
    public typealias PerformanceTestResponse = AppStorePayload<PerformanceTestResponseFields>

    /// The members of ``PerformanceTestResponse`` that Apple documents.
    public final class PerformanceTestResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(PerformanceTestResponseFields())

        /// The parameters of the test.
        public let config = PayloadField<PerformanceTestConfig>("config")
        /// The identifier with which Get Performance Test Results finds the test.
        public let requestId = PayloadField<String>("requestId")
    }

    /// The parameters of a performance test.
    public typealias PerformanceTestConfig = AppStorePayload<PerformanceTestConfigFields>

    /// The members of ``PerformanceTestConfig`` that Apple documents.
    public final class PerformanceTestConfigFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(PerformanceTestConfigFields())

        /// The largest number of requests at the same time.
        public let maxConcurrentRequests = PayloadField<Int>("maxConcurrentRequests")
        /// The number of requests.
        public let totalRequests = PayloadField<Int>("totalRequests")
        /// The duration of the test in milliseconds.
        public let totalDuration = PayloadField<Int>("totalDuration")
        /// The longest time for a response in milliseconds.
        public let responseTimeThreshold = PayloadField<Int>("responseTimeThreshold")
        /// The lowest success rate that passes, in percent.
        public let successRateThreshold = PayloadField<Int>("successRateThreshold")
    }

    /// The response of Get Performance Test Results.
    public typealias PerformanceTestResultResponse = AppStorePayload<PerformanceTestResultResponseFields>

    /// The members of ``PerformanceTestResultResponse`` that Apple documents.
    public final class PerformanceTestResultResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(PerformanceTestResultResponseFields())

        /// The parameters of the test.
        public let config = PayloadField<PerformanceTestConfig>("config")
        /// The URL that is tested.
        public let target = PayloadField<String>("target")
        /// Whether the server passed the test.
        public let result = PayloadField<PerformanceTestStatus>("result")
        /// The share of successful requests, in percent.
        public let successRate = PayloadField<Int>("successRate")
        /// The number of requests without a result yet.
        public let numPending = PayloadField<Int>("numPending")
        /// The times for responses.
        public let responseTimes = PayloadField<PerformanceTestResponseTimes>("responseTimes")
        /// The number of failed requests by their result.
        public let failures = PayloadField<[SendAttemptResult: Int]>("failures")
    }

    /// Whether a server passed a performance test.
    public typealias PerformanceTestStatus = OpenEnum<PerformanceTestResultResponseFields>

    /// The times for responses in a performance test, in milliseconds.
    public typealias PerformanceTestResponseTimes = AppStorePayload<PerformanceTestResponseTimesFields>

    /// The members of ``PerformanceTestResponseTimes`` that Apple documents.
    public final class PerformanceTestResponseTimesFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(PerformanceTestResponseTimesFields())

        /// The average.
        public let average = PayloadField<Int>("average")
        /// The 50th percentile.
        public let p50 = PayloadField<Int>("p50")
        /// The 90th percentile.
        public let p90 = PayloadField<Int>("p90")
        /// The 95th percentile.
        public let p95 = PayloadField<Int>("p95")
        /// The 99th percentile.
        public let p99 = PayloadField<Int>("p99")
    }
}

extension AppStoreServerAPI.PerformanceTestStatus {
    public static var pending: Self { Self(rawValue: "PENDING") }
    public static var pass: Self { Self(rawValue: "PASS") }
    public static var fail: Self { Self(rawValue: "FAIL") }
}
