import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

extension SimulatedAppStore {
    /// The configuration of a simulated store.
    public struct Configuration: Sendable {
        /// The products that the store sells.
        public var catalogue: Catalogue
        /// The bundle id of the app.
        public var bundleID: BundleID
        /// The folder for everything that the store keeps. It is created if it does not exist.
        public var dataDirectory: String
        /// The speed of virtual time.
        public var timeRate = TimeRate.real
        /// The virtual time at which a new store begins; `nil` means the time of `baseClock`.
        public var start: Date?
        /// The real-time clock, which drives virtual time and limits long polls.
        public var baseClock: any WallClock = SystemClock()
        /// Makes the numbers and device ids of a new store repeatable; `nil` means random ones.
        public var seed: UInt64?
        /// The source of random numbers.
        public var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
        /// The maximum duration of a long poll, in seconds.
        public var longestWait = 30.0
        /// The version of the app on the devices, for receipts and app transactions.
        public var applicationVersion = "1.0"
        /// Host names of the handler besides `localhost`, `127.0.0.1` and `[::1]`, without scheme and port. A request
        /// for another name is refused, because it can come from a web page.
        public var hostNames: [String] = []
        /// The products of Google Play; `nil` means that the store has no Google Play.
        package var playCatalogue: PlayCatalogue?
        /// The http or https URL for notifications of Google Play, which replaces the one in the settings; `nil` keeps
        /// that one.
        package var playNotificationsURL: String?
        /// The files that are served below `/content/`.
        package var content: ContentFolder?
        /// The http or https URL for notifications, which replaces the one in the settings; `nil` keeps that one.
        public var notificationsURL: String?
        /// The transport of notifications and realtime requests; `nil` means that notifications are stored and not sent.
        public var notificationTransport: (any HTTPTransport)?
        /// The timeout of one notification, in real time.
        public var notificationTimeout = Duration.seconds(30)
        /// The timeout of a realtime request of Retention Messaging, in real time.
        public var realtimeTimeout = Duration.milliseconds(700)
        /// The simulator database; `nil` means SQLite in the data folder. The store closes it.
        public var database: (any SQLDatabase)?

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - catalogue: The products that the store sells.
        ///   - bundleID: The bundle id of the app.
        ///   - dataDirectory: The folder for everything that the store keeps.
        public init(catalogue: Catalogue, bundleID: BundleID = "com.example.souk", dataDirectory: String) {
            self.catalogue = catalogue
            self.bundleID = bundleID
            self.dataDirectory = dataDirectory
        }

        /// Serves the files of a folder below `/content/`.
        ///
        /// - Parameter folder: The path of the folder.
        /// - Throws: `SimulatorError` (`dataFolder`) if there is no folder at this path.
        public mutating func serveContent(from folder: String) throws { content = try ContentFolder(folder) }
    }

    /// The root certificate, with which clients verify the store's signatures, and the key for its server API.
    public struct Summary: Sendable, Hashable {
        /// The bundle id of the app.
        public let bundleID: BundleID
        /// The path of the root certificate, in DER.
        public let rootCertificate: String
        /// The SHA-256 of the root certificate, in hexadecimal.
        public let rootFingerprint: String
        /// The key for the App Store Server API.
        public let serverAPI: ServerAPIKey

        /// Returns the first line that `souk simulate` prints.
        ///
        /// - Parameter url: The URL at which the store listens.
        /// - Returns: The line as JSON.
        public func announcement(listeningAt url: String) -> JSONValue {
            [
                "listening": .string(url), "bundleID": .string(bundleID.rawValue),
                "rootCertificate": .string(rootCertificate), "rootFingerprint": .string(rootFingerprint),
                "serverAPI": [
                    "keyID": .string(serverAPI.keyID), "issuerID": .string(serverAPI.issuerID),
                    "privateKey": .string(serverAPI.privateKey),
                ],
                "control": .string(url + "/control/v1"),
            ]
        }
    }
}

/// Creates the simulator database of a new store, or reads an existing one.
struct StoreInitializer: Sendable {
    private let configuration: SimulatedAppStore.Configuration
    private let seed: UInt64

    init(_ configuration: SimulatedAppStore.Configuration) {
        self.configuration = configuration
        seed = configuration.seed ?? configuration.random()
    }

    /// Returns the state of the clock, and whether the database is new.
    func open(_ db: SimulatorDatabase) throws -> (ClockAnchor, isNew: Bool) {
        let base = configuration.baseClock.now().wholeMilliseconds
        guard let row = try db.sql.first("SELECT bundle FROM store") else {
            return (try create(db, at: base), true)
        }
        let bundle: String = try row["bundle"]
        guard bundle == configuration.bundleID.rawValue else {
            throw SimulatorError(
                .otherBundle,
                "The data folder \(configuration.dataDirectory) belongs to the bundle id \(bundle), not to "
                    + "\(configuration.bundleID); use that bundle id or another folder.")
        }
        var anchor = try db.clock()
        if anchor.rate != configuration.timeRate.factor {
            anchor.reading = anchor.reading(at: base)
            anchor.base = base
            anchor.rate = configuration.timeRate.factor
            anchor.revision += 1
            try db.save(anchor)
        }
        return (anchor, false)
    }

    /// Creates the store's rows. Transaction ids have 18 digits, and begin at a number that depends on the seed, so
    /// that two stores rarely share ids.
    private func create(_ db: SimulatorDatabase, at base: Date) throws -> ClockAnchor {
        let range = Int64(seed % 700_000) * 1_000_000
        let start = (configuration.start ?? base).wholeMilliseconds
        let anchor = ClockAnchor(base: base, reading: start, rate: configuration.timeRate.factor, revision: 1)
        try db.sql.execute(
            """
            INSERT INTO store (
                id, bundle, seed, next_sale, next_device, clock_base, clock_reading, clock_rate, clock_revision)
            VALUES (1, ?1, ?2, ?3, 0, ?4, ?5, ?6, ?7)
            """,
            [
                .text(configuration.bundleID.rawValue), .integer(Int64(bitPattern: seed)),
                .integer(200_000_000_000 + range),
                .integer(base.microseconds), .integer(start.microseconds), .real(anchor.rate),
                .integer(anchor.revision),
            ])
        try db.save(configuration.catalogue.settings.storeSettings, at: start)
        return anchor
    }
}
