// swift-tools-version: 6.2
import PackageDescription

/// A program and the products of Souk it takes: as few as an app would that wants one thing. `Scripts/check-linkage`
/// holds each binary against what ARCHITECTURE.md says these products link, and runs it.
let programs: [(name: String, products: [String])] = [
    ("Vocabulary", ["StoreModel"]),
    ("Answering", ["HTTPCore"]),
    ("Keeping", ["SQLStorage"]),
    ("Judging", ["SignedData"]),
    ("Unpacking", ["ZipExtraction", "StoreModel"]),
    ("Serving", ["HTTPListener", "HTTPCore"]),
    ("Asking", ["StoreKitAdapter", "HTTPCore"]),
    ("Owning", ["Purchases"]),
    ("Shop", ["InAppStore", "Purchases"]),
    ("Watching", ["NetworkInterception"]),
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
