// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Darkroom",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [.package(name: "Souk", path: "../..")],
    targets: [
        .executableTarget(
            name: "Darkroom",
            dependencies: [
                .product(name: "InAppStore", package: "Souk"), .product(name: "Purchases", package: "Souk"),
                .product(name: "StoreKitAdapter", package: "Souk"),
                .product(name: "CurlTransport", package: "Souk"), .product(name: "ZipExtraction", package: "Souk"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
