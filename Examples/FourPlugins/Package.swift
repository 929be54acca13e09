// swift-tools-version: 6.2
import PackageDescription

// An app of four plugins that exchange only messages of the hub. `swift run` prints the messages. Souk runs the tests
// beside the code as its target FourPluginsTests.
let products = [
    "CurlTransport", "HTTPCore", "HTTPListener", "InAppStore", "PluginHub", "Primitives", "Purchases",
    "SandboxTestSupport",
]

let package = Package(
    name: "FourPlugins",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [.package(name: "Souk", path: "../..")],
    targets: [
        .executableTarget(
            name: "FourPlugins",
            dependencies: products.map { .product(name: $0, package: "Souk") },
            path: "App",
            exclude: ["Tests"],
            resources: ["journey", "domain-model", "network"].map { .copy("Plugins/\($0).policy.json") }
                + [.copy("Recording/recorder.policy.json"), .copy("World/harbour.storekit")],
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")])
    ],
    swiftLanguageModes: [.v6]
)
