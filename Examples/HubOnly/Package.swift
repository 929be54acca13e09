// swift-tools-version: 6.2
import PackageDescription

// An app that wants the hub and nothing else. `Scripts/check-linkage` reads its binary: no C library of Souk's is in it.
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
