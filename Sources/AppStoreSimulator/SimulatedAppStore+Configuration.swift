import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

extension SimulatedAppStore {
    /// What a store is made of.
    public struct Configuration: Sendable {
        /// What it sells.
        public var catalogue: Catalogue
        /// The app that it sells for.
        public var bundleID: BundleID
        /// The folder of everything it keeps; made if it is not there.
        public var dataDirectory: String
        /// How fast virtual time runs from now on.
        public var timeRate = TimeRate.real
        /// The virtual instant at which a new store begins; `nil`: what the base clock reads.
        public var start: Date?
        /// The clock under virtual time, and the one that limits long polls.
        public var baseClock: any WallClock = SystemClock()
        /// Makes a new store's numbers and device ids repeatable; `nil`: by chance.
        public var seed: UInt64?
        public var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
        /// The longest that a long poll waits, in seconds.
        public var longestWait = 30.0
        /// The version of the app that the devices run, as receipts and app transactions name it.
        public var applicationVersion = "1.0"
        /// Names under which the handler is called beside `localhost`, `127.0.0.1` and `[::1]`, without scheme and port.
        /// A request under any other name is refused, because it may come from a web page.
        public var hostNames: [String] = []
        /// Files that are served below `/content/`.
        package var content: ContentFolder?
        /// Where notifications are sent from now on, an http or https URL; `nil`: where the setting says.
        public var notificationsURL: String?
        /// What they are sent over; `nil`: they are written down and not sent.
        public var notificationTransport: (any HTTPTransport)?
        /// How long one may take to arrive, in real time.
        public var notificationTimeout = Duration.seconds(30)
        /// Where the books are kept; `nil`: in SQLite in the data folder. Closed with the store.
        public var database: (any SQLDatabase)?

        public init(catalogue: Catalogue, bundleID: BundleID = "com.example.souk", dataDirectory: String) {
            self.catalogue = catalogue
            self.bundleID = bundleID
            self.dataDirectory = dataDirectory
        }

        /// Serves the files of a folder below `/content/`. Throws `SimulatorError` for a folder that cannot be read.
        public mutating func serveContent(from folder: String) throws { content = try ContentFolder(folder) }
    }

    /// What others need to trust the store and to ask it.
    public struct Summary: Sendable, Hashable {
        public let bundleID: BundleID
        /// The path of the root certificate, in DER.
        public let rootCertificate: String
        /// SHA-256 of the root certificate, in hexadecimal.
        public let rootFingerprint: String
        public let serverAPI: ServerAPIKey

        /// The first line of `souk simulate`, for a store that listens at `url`.
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

/// Makes a new store's books, or takes up those there are.
struct StoreInitializer: Sendable {
    private let configuration: SimulatedAppStore.Configuration
    private let seed: UInt64

    init(_ configuration: SimulatedAppStore.Configuration) {
        self.configuration = configuration
        seed = configuration.seed ?? configuration.random()
    }

    /// Returns where the clock stands, and whether the books were made now.
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
                    + "\(configuration.bundleID); use that one or another folder.")
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

    /// Transaction numbers have 18 digits and begin where no other store's of another seed are likely to be.
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
