// swift-tools-version: 6.2
import PackageDescription

// What packages outside this one compile against. A change that breaks a line here breaks theirs. Each target sees one
// product alone, so that a type which is not re-exported by its module is missed here first.
let modules = ["PluginHub", "HTTPCore", "StoreKitAdapter", "Purchases", "InAppStore", "NetworkInterception"]

let package = Package(
    name: "Contract",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [.package(name: "Souk", path: "../..")],
    targets: modules.map { module in
        .target(
            name: "\(module)Contract",
            dependencies: [.product(name: module, package: "Souk")],
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")])
    } + [
        // The plugins of InAppStore, compiled as if they were somebody's: what they need of the store is public.
        .target(
            name: "StorePlugins",
            dependencies: ["InAppStore", "PluginHub", "Primitives", "Purchases", "StoreKitAdapter", "StoreModel"].map {
                .product(name: $0, package: "Souk")
            },
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")])
    ],
    swiftLanguageModes: [.v6]
)
