// swift-tools-version: 6.2
import PackageDescription

// Three florets that Souk does not have: one changes requests, one answers them, one draws what it saw. `swift run` shows
// them at work. The tests beside the code run with those of Souk: there they are the target FloretsTests.
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
