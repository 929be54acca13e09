// swift-tools-version: 6.2
import PackageDescription

// A source of purchases that Souk does not know: promotional codes, with a backend of their own. `swift run` shows them
// beside a store. The tests beside the code run with those of Souk: there they are the target PromoCodesTests.
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
