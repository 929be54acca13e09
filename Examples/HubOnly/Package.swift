// swift-tools-version: 6.2
import PackageDescription

// An app that uses only the hub. `Scripts/check-linkage` checks that its binary has no C library of Souk.
let package = Package(
    name: "HubOnly",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [.package(name: "Souk", path: "../..")],
    targets: [
        .executableTarget(
            name: "HubOnly",
            dependencies: [.product(name: "PluginHub", package: "Souk")],
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")])
    ],
    swiftLanguageModes: [.v6]
)
