// swift-tools-version: 6.2
import PackageDescription

/// Programs that each use only a few products of Souk. `Scripts/check-linkage` compares the linked libraries of each
/// binary with ARCHITECTURE.md, and runs the binary.
let programs: [(name: String, products: [String])] = [
    ("StoreValues", ["StoreModel"]),
    ("RequestRouting", ["HTTPCore"]),
    ("TemporaryDatabase", ["SQLStorage"]),
    ("SignatureVerification", ["SignedData"]),
    ("ArchiveExtraction", ["ZipExtraction", "StoreModel"]),
    ("EchoServer", ["HTTPListener", "HTTPCore"]),
    ("ProductQuery", ["StoreKitAdapter", "HTTPCore"]),
    ("CustomPlugin", ["Purchases"]),
    ("Shop", ["InAppStore", "Purchases"]),
    ("TrafficRecording", ["NetworkInterception"]),
]

let package = Package(
    name: "Consumer",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [.package(name: "Souk", path: "../..")],
    targets: programs.map { program in
        .executableTarget(
            name: program.name,
            dependencies: program.products.map { .product(name: $0, package: "Souk") },
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")])
    },
    swiftLanguageModes: [.v6]
)
