import Foundation
import HTTPCore
import Primitives

extension RemotePurchasePlugin {
    public struct Configuration: Sendable {
        /// For example `https://purchases.example.com`; a path is kept.
        public var baseURL: String
        /// Other addresses of the same backend: asked at once, one after the other, when one cannot be reached or fails
        /// (5xx). What the backend refuses (4xx) is not asked elsewhere.
        public var otherURLs: [String] = []
        public var key: APIKey
        /// Which answers are read; `nil` leaves it to the server.
        public var environment: StoreEnvironment?
        /// The plugin's name in reports.
        public var name = "remote"
        /// Whether the backend's price points are a web shop's. `false` where they only repeat what another plugin sells,
        /// as the entitlement server's do that are made of an App Store catalogue.
        public var sellsOnTheWeb = true
        /// How prices of the web shop are written.
        public var locale = Locale.current
        /// How long an answer stands for the next question.
        package var freshness = Freshness()
        /// How long an answer stands for the next question while the user sees the app: 5 minutes unless set. With zero every
        /// question goes to the backend.
        public var foregroundFreshness: Duration {
            get { freshness.foreground }
            set { freshness.foreground = newValue }
        }
        /// The same while the user does not see the app, and battery and network are to be spared: 25 hours unless set.
        public var backgroundFreshness: Duration {
            get { freshness.background }
            set { freshness.background = newValue }
        }
        /// Whether the user does not see the app, which decides between the two freshnesses. Called often, on any thread.
        public var isInBackground: @Sendable () -> Bool = { false }
        /// The deadline of one request; with its repetitions it stays below the purchase client's deadline of 30 seconds.
        public var timeout: Duration = .seconds(8)
        public var backoff = Backoff()
        public var maximumAnswerBytes = 8 << 20
        /// Tells what has begun and what has expired, and how old an answer is.
        public var clock: any WallClock = SystemClock()
        public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// Spreads repetitions; from 0 to 1.
        public var random: @Sendable () -> Double = { .random(in: 0...1) }
        /// Judges the server's signatures: each question then carries a nonce, and an answer that is not signed for it is
        /// not used (`untrustedAnswer`). `nil` takes answers unsigned.
        public var answerVerifier: (any AnswerVerifier)?
        /// Whether nothing may be asked without an `answerVerifier`: a missing one is then an error (`untrustedAnswer`).
        public var requiresSignedAnswers = false
        /// How far the date of a signature may lie from this device's, either way; beyond it the answer is not used.
        public var signatureTolerance: Duration = .seconds(86_400)
        /// Real time, also where the app follows a simulator's.
        public var signatureClock: any WallClock = SystemClock()
        /// Makes the nonce of a question; never the same twice, and nobody can foresee it.
        public var makeNonce: @Sendable () -> String = { UUID().uuidString }

        public init(baseURL: String, key: APIKey, environment: StoreEnvironment? = nil) {
            self.baseURL = baseURL
            self.key = key
            self.environment = environment
        }
    }

    /// How long an answer stands for the next question.
    package struct Freshness: Hashable, Sendable {
        /// While the user sees the app.
        package var foreground: Duration
        /// While nobody does, and battery and network are to be spared.
        package var background: Duration

        package init(foreground: Duration = .seconds(300), background: Duration = .seconds(25 * 3600)) {
            self.foreground = foreground
            self.background = background
        }

        /// Every question goes to the backend.
        package static let none = Freshness(foreground: .zero, background: .zero)
    }
}
