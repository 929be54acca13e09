import Foundation
import HTTPCore
import Primitives

extension RemotePurchasePlugin {
    /// The settings of the plugin.
    public struct Configuration: Sendable {
        /// The address of the backend, for example `https://purchases.example.com`. A path in it precedes the paths of
        /// the requests.
        public var baseURL: String
        /// Other addresses of the same backend. If one cannot be reached or fails (5xx), the next one is tried at once.
        /// After a refusal (4xx), no other address is tried.
        public var otherURLs: [String] = []
        /// The API key of the app at the backend.
        public var key: APIKey
        /// The environment of the purchases; `nil` lets the server choose.
        public var environment: StoreEnvironment?
        /// The plugin's name in reports and in the client's storage.
        public var name = "remote"
        /// Whether the backend's price points are products of a web shop. `false` if they only repeat the products of
        /// another plugin, as on an entitlement server with an App Store catalogue.
        public var sellsOnTheWeb = true
        /// The locale for the prices of the web shop.
        public var locale = Locale.current
        package var freshness = Freshness()
        /// The maximum age of a cached answer while the app is visible, by default 5 minutes. With zero, every request
        /// goes to the backend.
        public var foregroundFreshness: Duration {
            get { freshness.foreground }
            set { freshness.foreground = newValue }
        }
        /// The maximum age of a cached answer while the app is not visible, to save energy and network traffic. The
        /// default is 25 hours.
        public var backgroundFreshness: Duration {
            get { freshness.background }
            set { freshness.background = newValue }
        }
        /// Returns whether the app is in the background. This selects the maximum age. Called often, on any thread.
        public var isInBackground: @Sendable () -> Bool = { false }
        /// The timeout of one request. With the default values and one address, all attempts together take less than
        /// the purchase client's deadline of 30 seconds, unless the server requires longer pauses.
        public var timeout: Duration = .seconds(8)
        /// The number of attempts, and the pauses between them.
        public var backoff = Backoff()
        /// The greatest accepted length of a response, in bytes.
        public var maximumAnswerBytes = 8 << 20
        /// The clock that decides about expiry and about the age of answers.
        public var clock: any WallClock = SystemClock()
        /// The function that waits between attempts.
        public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// Returns a random number from 0 to 1, which varies the pauses between attempts.
        public var random: @Sendable () -> Double = { .random(in: 0...1) }
        /// The verifier of the server's signatures. Each request then contains a nonce. A response is used only if its
        /// signature is valid for this nonce; otherwise the error is `untrustedAnswer`. `nil` accepts unsigned
        /// responses.
        public var answerVerifier: (any AnswerVerifier)?
        /// Whether a missing `answerVerifier` is an error (`untrustedAnswer`).
        public var requiresSignedAnswers = false
        /// The greatest accepted difference between the date of a signature and the device's clock, in both directions.
        public var signatureTolerance: Duration = .seconds(86_400)
        /// The clock for signatures. It shows real time, even if the app follows a simulator's virtual time.
        public var signatureClock: any WallClock = SystemClock()
        /// Returns the nonce of a request, which must be unique and unpredictable.
        public var makeNonce: @Sendable () -> String = { UUID().uuidString }

        /// Creates a configuration with default values.
        ///
        /// - Parameters:
        ///   - baseURL: The address of the backend.
        ///   - key: The API key of the app at the backend.
        ///   - environment: The environment of the purchases; `nil` lets the server choose.
        public init(baseURL: String, key: APIKey, environment: StoreEnvironment? = nil) {
            self.baseURL = baseURL
            self.key = key
            self.environment = environment
        }
    }

    /// The maximum ages of a cached answer.
    package struct Freshness: Hashable, Sendable {
        /// The maximum age while the app is visible.
        package var foreground: Duration
        /// The maximum age while the app is not visible, to save energy and network traffic.
        package var background: Duration

        package init(foreground: Duration = .seconds(300), background: Duration = .seconds(25 * 3600)) {
            self.foreground = foreground
            self.background = background
        }

        /// No cached answers: every request goes to the backend.
        package static let none = Freshness(foreground: .zero, background: .zero)
    }
}
