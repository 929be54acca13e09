// swift-tools-version: 6.2
import PackageDescription

// The API that other packages compile against; a change that breaks a line here breaks them. The target of
// each module depends only on its product, to detect types that the module does not re-export.
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
        // The plugins of InAppStore, compiled outside it. This checks that they use only public API of the store.
        .target(
            name: "StorePlugins",
            dependencies: ["InAppStore", "PluginHub", "Primitives", "Purchases", "StoreKitAdapter", "StoreModel"].map {
                .product(name: $0, package: "Souk")
            },
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")])
    ],
    swiftLanguageModes: [.v6]
)
