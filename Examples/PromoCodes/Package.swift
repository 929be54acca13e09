// swift-tools-version: 6.2
import PackageDescription

// A purchase plugin for promotional codes, with a backend. `swift run` shows both with a second plugin. Souk runs the
// tests beside the code as its target PromoCodesTests.
let products = ["CurlTransport", "HTTPCore", "HTTPListener", "Primitives", "Purchases", "StoreModel"]

let package = Package(
    name: "PromoCodes",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [.package(name: "Souk", path: "../..")],
    targets: [
        .executableTarget(
            name: "PromoCodes",
            dependencies: products.map { .product(name: $0, package: "Souk") },
            path: "App",
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")])
    ],
    swiftLanguageModes: [.v6]
)
