// swift-tools-version: 6.2
import PackageDescription

// Three florets: one changes requests, one answers them, one draws statistics. `swift run` shows them. Souk runs the
// tests beside the code as its target FloretsTests.
let products = ["CurlTransport", "HTTPCore", "HTTPListener", "NetworkInterception", "PluginHub", "Primitives"]

let package = Package(
    name: "Florets",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [.package(name: "Souk", path: "../..")],
    targets: [
        .executableTarget(
            name: "Florets",
            dependencies: products.map { .product(name: $0, package: "Souk") },
            path: "App",
            exclude: ["Tests"],
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")])
    ],
    swiftLanguageModes: [.v6]
)
