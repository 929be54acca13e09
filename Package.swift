// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// A row of the import table (ARCHITECTURE.md): a library target, its imports and its product.
struct Module {
    let name: String
    let imports: [String]
    /// Files in the folder of the target that are not part of the build.
    var exclude: [String] = []
    /// Further imports of its tests: test support and other modules.
    var testImports: [String] = []
    /// Whether the gates and tests compile it with optimization, but keep all assertions. Without optimization, the
    /// loops of these modules (digests, JSON, rows) took half of the time of all tests.
    var isOptimized = false
    /// Whether it has a `PrivacyInfo.xcprivacy`, which Apple requires for certain interfaces and for collected data.
    var hasPrivacyManifest = false
}

/// Warnings are errors only in the gates and tests. Xcode suppresses the warnings of packages, and the compiler refuses
/// both options together.
let isStrict = Context.environment["SOUK_STRICT"] != nil
let strict: [SwiftSetting] =
    (isStrict ? [.treatAllWarnings(as: .error)] : []) + [.enableUpcomingFeature("ExistentialAny")]
let optimized: [SwiftSetting] = isStrict ? [.unsafeFlags(["-O", "-assert-config", "Debug"])] : []

/// On a Mac, the package has the libraries for apps, which need only Xcode. make sets `SOUK_SERVER`, which adds the
/// server, the simulator and their programs. These need C libraries from Homebrew.
#if os(macOS)
    let isMac = true
#else
    let isMac = false
#endif
let isSDKOnly = isMac && Context.environment["SOUK_SERVER"] == nil

let modules: [Module] = [
    Module(
        name: "Primitives", imports: [], testImports: ["BaseTestSupport", "HostTestSupport"], isOptimized: true,
        hasPrivacyManifest: true),
    Module(
        name: "StoreModel", imports: ["Primitives"],
        testImports: ["AppStorePayloads", "BaseTestSupport", "HostTestSupport"]),
    Module(name: "PluginHub", imports: ["Primitives"], testImports: ["BaseTestSupport", "HostTestSupport"]),
    Module(
        name: "HTTPCore", imports: ["Primitives"], testImports: ["BaseTestSupport", "HostTestSupport"],
        isOptimized: true),
    Module(
        name: "AppStorePayloads", imports: ["StoreModel", "Primitives"],
        testImports: ["BaseTestSupport", "HostTestSupport"]),
    Module(
        name: "SignedData", imports: ["AppStorePayloads", "StoreModel", "Primitives", "COpenSSL"],
        testImports: ["BaseTestSupport", "HostTestSupport"]),
    Module(
        name: "SQLStorage", imports: ["Primitives", "CSQLite"], testImports: ["BaseTestSupport", "ContractSuites"],
        isOptimized: true, hasPrivacyManifest: true),
    Module(
        name: "PostgresStorage", imports: ["SQLStorage", "Primitives", "CPostgreSQL"],
        testImports: ["BaseTestSupport", "ContractSuites", "HostTestSupport"]),
    Module(
        name: "HTTPListener", imports: ["HTTPCore", "Primitives", "CMicrohttpd"],
        testImports: ["BaseTestSupport", "CurlTransport", "HostTestSupport", "NetworkTestSupport"]),
    Module(
        name: "CurlTransport", imports: ["HTTPCore", "Primitives", "CCurl"],
        testImports: ["BaseTestSupport", "HTTPListener", "HostTestSupport", "NetworkTestSupport"]),
    Module(name: "ZipArchives", imports: ["StoreModel", "Primitives"]),
    Module(
        name: "ZipExtraction", imports: ["ZipArchives", "StoreModel", "Primitives", "CArchive", "CZlib"],
        testImports: ["BaseTestSupport", "HostTestSupport"]),
    Module(
        name: "StoreKitAdapter", imports: ["StoreModel", "HTTPCore", "Primitives"],
        testImports: ["BaseTestSupport", "ContractSuites", "StoreTestSupport"]),
    Module(
        name: "Purchases", imports: ["StoreModel", "HTTPCore", "Primitives"],
        testImports: [
            "BaseTestSupport", "CurlTransport", "EntitlementServer", "NetworkTestSupport", "SQLStorage", "SignedData",
            "StoreTestSupport",
        ], hasPrivacyManifest: true),
    Module(
        name: "SimulatorControl", imports: ["StoreKitAdapter", "StoreModel", "HTTPCore", "Primitives"],
        testImports: ["BaseTestSupport"]),
    Module(
        name: "WebPages", imports: ["HTTPCore", "PluginHub", "Primitives"],
        testImports: ["BaseTestSupport", "HostTestSupport", "NetworkTestSupport"]),
    Module(
        name: "InAppStore",
        imports: [
            "StoreModel", "PluginHub", "HTTPCore", "Purchases", "StoreKitAdapter", "ZipArchives", "Primitives",
        ],
        exclude: ["Hub/store.policy.json"],
        testImports: [
            "AppStoreSimulator", "BaseTestSupport", "CurlTransport", "EntitlementServer", "HTTPListener",
            "HostTestSupport", "NetworkInterception", "NetworkTestSupport", "SQLStorage", "SignedData",
            "StoreTestSupport", "ZipExtraction",
        ], hasPrivacyManifest: true),
    Module(
        name: "NetworkInterception", imports: ["HTTPCore", "PluginHub", "SQLStorage", "WebPages", "Primitives"],
        exclude: ["Inspector/Hub/inspector.policy.json"],
        testImports: [
            "BaseTestSupport", "CurlTransport", "HTTPListener", "HostTestSupport", "NetworkTestSupport",
            "StoreTestSupport",
        ]),
    Module(
        name: "GooglePlay", imports: ["SignedData", "StoreModel", "HTTPCore", "Primitives"],
        testImports: ["BaseTestSupport", "HostTestSupport"]),
    Module(
        name: "AppStoreSimulator",
        imports: [
            "AppStorePayloads", "GooglePlay", "StoreModel", "StoreKitAdapter", "SimulatorControl", "SignedData",
            "HTTPCore",
            "SQLStorage", "WebPages", "Primitives",
        ],
        testImports: ["BaseTestSupport", "ContractSuites", "HostTestSupport", "NetworkTestSupport", "StoreTestSupport"]),
    Module(
        name: "EntitlementServer",
        imports: [
            "AppStorePayloads", "GooglePlay", "StoreModel", "SignedData", "SQLStorage", "HTTPCore", "WebPages",
            "Primitives", "CSodium",
        ],
        testImports: [
            "AppStoreSimulator", "BaseTestSupport", "CFaultyDisk", "HostTestSupport", "NetworkTestSupport",
            "PostgresStorage", "Purchases", "SimulatorControl", "StoreTestSupport",
        ]),
]

/// The support modules for our tests and those of users, in the order of the import table.
let testSupport: [Module] = [
    Module(name: "BaseTestSupport", imports: ["Primitives"]),
    Module(name: "HostTestSupport", imports: ["SQLStorage", "Primitives"]),
    Module(
        name: "StoreTestSupport",
        imports: ["BaseTestSupport", "StoreKitAdapter", "StoreModel", "HTTPCore", "Primitives"]),
    Module(
        name: "NetworkTestSupport",
        imports: ["BaseTestSupport", "HTTPListener", "CurlTransport", "HTTPCore", "Primitives"]),
    Module(
        name: "ContractSuites",
        imports: ["BaseTestSupport", "StoreKitAdapter", "StoreModel", "SQLStorage", "Primitives"]),
    Module(
        name: "SandboxTestSupport",
        imports: [
            "AppStoreSimulator", "EntitlementServer", "InAppStore", "Purchases", "SignedData",
            "StoreKitAdapter", "StoreModel", "HTTPCore", "Primitives",
        ]),
]

let privacyManifest = "PrivacyInfo.xcprivacy"

let libraryNames = modules.map(\.name)

/// Whether the system has mimalloc. The programs then link it, and it serves all their allocations
/// (Documentation/Decisions/0009-mimalloc.md).
let hasMimalloc = ["aarch64", "x86_64"].contains {
    FileManager.default.fileExists(atPath: "/usr/lib/\($0)-linux-gnu/libmimalloc.so")
}
let linkMimalloc: [LinkerSetting] = hasMimalloc ? [.linkedLibrary("mimalloc", .when(platforms: [.linux]))] : []
let defineMimalloc: [CSetting] = hasMimalloc ? [.define("SOUK_HAS_MIMALLOC", .when(platforms: [.linux]))] : []

let systemLibraries: [Target] = [
    .systemLibrary(
        name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .systemLibrary(
        name: "CSQLite", pkgConfig: isMac ? nil : "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
    .systemLibrary(
        name: "CMicrohttpd", pkgConfig: "libmicrohttpd",
        providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
    .systemLibrary(
        name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .systemLibrary(
        name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"]), .brew(["libarchive"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .systemLibrary(
        name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
    .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
]

/// The commit, for `souk version`. The gates and tests omit it, because SwiftPM would compile and link again after each
/// commit.
let commit =
    isStrict
    ? "unknown"
    : Context.gitInformation.map { $0.currentCommit + ($0.hasUncommittedChanges ? "+" : "") } ?? "unknown"

let package = Package(
    name: "Souk",
    platforms: [.iOS(.v17), .macOS(.v14), .visionOS(.v1)],
    products: (modules + testSupport).map { .library(name: $0.name, targets: [$0.name]) } + [
        .executable(name: "souk", targets: ["souk"]),
        .executable(name: "Benchmarks", targets: ["Benchmarks"]),
    ],
    targets: systemLibraries
        + (modules + testSupport).map { module in
            .target(
                name: module.name, dependencies: module.imports.map { .byName(name: $0) },
                exclude: module.exclude + (module.hasPrivacyManifest && !isMac ? [privacyManifest] : []),
                resources: module.hasPrivacyManifest && isMac ? [.copy(privacyManifest)] : [],
                swiftSettings: strict + (module.isOptimized ? optimized : []))
        }
        + [
            .executableTarget(
                name: "Benchmarks",
                dependencies: [
                    "AppStorePayloads", "AppStoreSimulator", "CAllocations", "COpenSSL", "CPostgreSQL", "CurlTransport",
                    "EntitlementServer", "HTTPCore",
                    "HTTPListener", "InAppStore", "NetworkInterception", "PluginHub", "PostgresStorage", "Primitives",
                    "Purchases", "SQLStorage", "SignedData", "StoreKitAdapter", "StoreModel",
                ], path: "Benchmarks", exclude: ["Allocations"], swiftSettings: strict, linkerSettings: linkMimalloc),
            // Counts allocations for the benchmarks; no other target may link it.
            .target(name: "CAllocations", path: "Benchmarks/Allocations", cSettings: defineMimalloc),
            // A disk that loses power and fails, for tests of durability.
            .target(name: "CFaultyDisk", dependencies: ["CSQLite"], path: "Tests/FaultyDisk"),
            // Intercepts the disk calls of a test program, and kills the program or lets a call fail.
            .target(name: "CDiskFuse", path: "Tests/DiskFuse"),
            .executableTarget(
                name: "CrashLoop",
                dependencies: [
                    "AppStoreSimulator", "CDiskFuse", "CurlTransport", "EntitlementServer", "HTTPCore", "HTTPListener",
                    "BaseTestSupport", "HostTestSupport", "InAppStore", "Primitives", "Purchases", "SQLStorage",
                    "SignedData", "SimulatorControl",
                    "StoreKitAdapter", "StoreModel", "ZipExtraction",
                ], path: "Tests/CrashLoop", swiftSettings: strict),
            // Signs store data for Scripts/chaos-cluster, and runs servers with a planted fault.
            .executableTarget(
                name: "ClusterChaos",
                dependencies: [
                    "CurlTransport", "EntitlementServer", "HTTPListener", "HostTestSupport", "PostgresStorage",
                    "Primitives", "SQLStorage", "SignedData", "StoreModel",
                ], path: "Tests/ClusterChaos", swiftSettings: strict),
            .executableTarget(
                name: "FirstPurchase",
                dependencies: [
                    "CurlTransport", "InAppStore", "Purchases", "StoreKitAdapter", "StoreModel", "ZipExtraction",
                ],
                path: "Examples/FirstPurchase/Sources/Darkroom", swiftSettings: strict),
            .executableTarget(
                name: "PromoCodes",
                dependencies: ["CurlTransport", "HTTPCore", "HTTPListener", "Primitives", "Purchases", "StoreModel"],
                path: "Examples/PromoCodes/App", swiftSettings: strict),
            .target(name: "CBuildInfo", cSettings: [.define("SOUK_COMMIT", to: "\"\(commit)\"")] + defineMimalloc),
            .executableTarget(
                name: "souk",
                dependencies: (libraryNames + systemLibraries.map(\.name) + ["CBuildInfo"]).map { .byName(name: $0) },
                resources: [
                    .embedInCode("Resources/darkroom.storekit"), .embedInCode("Resources/darkroom.features.json"),
                    .embedInCode("Resources/darkroom.play.json"),
                ],
                swiftSettings: strict, linkerSettings: linkMimalloc),
        ]
        + modules.map { module in
            .testTarget(
                name: "\(module.name)Tests",
                dependencies: ([module.name] + module.imports + module.testImports).map { .byName(name: $0) },
                path: "Tests/\(module.name)Tests",
                swiftSettings: strict)
        }
        + [
            .testTarget(
                name: "soukTests",
                dependencies: [
                    "AppStorePayloads", "AppStoreSimulator", "CurlTransport", "EntitlementServer", "HTTPCore",
                    "InAppStore", "NetworkInterception", "PluginHub", "Primitives", "Purchases", "SQLStorage",
                    "SignedData",
                    "SimulatorControl", "StoreKitAdapter", "StoreModel", "BaseTestSupport", "HostTestSupport",
                    "NetworkTestSupport",
                    "StoreTestSupport",
                    "souk",
                    "FirstPurchase", "PromoCodes",
                ],
                swiftSettings: strict
            ),
            .testTarget(
                name: "PromoCodesTests",
                dependencies: [
                    "CurlTransport", "HTTPCore", "HTTPListener", "HostTestSupport", "Primitives", "PromoCodes",
                    "Purchases", "StoreModel",
                ],
                path: "Examples/PromoCodes/Tests",
                swiftSettings: strict),
            // The fuzzers are also compiled as tests, which replay the stored inputs in every test run.
            .testTarget(
                name: "FuzzingTests",
                dependencies: [
                    "AppStorePayloads", "AppStoreSimulator", "COpenSSL", "Primitives", "SignedData", "StoreModel",
                    "ZipArchives",
                    "ZipExtraction",
                ],
                path: "Tests/Fuzzing",
                exclude: ["Corpus", "Keys"],
                swiftSettings: strict),
            .testTarget(
                name: "FloretsTests",
                dependencies: [
                    "CurlTransport", "HTTPCore", "HTTPListener", "NetworkInterception", "PluginHub", "Primitives",
                ],
                path: "Examples/Florets/App",
                exclude: ["Florets.swift"],
                swiftSettings: strict),
            .testTarget(
                name: "SandboxTestSupportTests",
                dependencies: [
                    "SandboxTestSupport", "AppStoreSimulator", "BaseTestSupport", "EntitlementServer", "HTTPCore",
                    "InAppStore", "Primitives", "Purchases", "StoreKitAdapter", "StoreModel",
                ],
                swiftSettings: strict),
            .testTarget(
                name: "FourPluginsTests",
                dependencies: [
                    "AppStoreSimulator", "CurlTransport", "EntitlementServer", "HTTPCore", "HTTPListener", "InAppStore",
                    "PluginHub", "Primitives", "Purchases", "SandboxTestSupport", "StoreModel",
                ],
                path: "Examples/FourPlugins/App",
                exclude: ["FourPlugins.swift"],
                resources: ["journey", "domain-model", "network"].map { .copy("Plugins/\($0).policy.json") }
                    + [.copy("Recording/recorder.policy.json"), .copy("World/harbour.storekit")],
                swiftSettings: strict),
        ],
    swiftLanguageModes: [.v6]
)

if isSDKOnly {
    // The libraries and tests that start no program, and need no C library except SQLite, which Apple's systems have.
    func isSDK(_ target: Target) -> Bool {
        guard [.regular, .test].contains(target.type), target.name != "HostTestSupport" else {
            return target.name == "CSQLite"
        }
        return target.swiftSettings != nil
            && target.dependencies.allSatisfy { dependency in
                guard case .byNameItem(let name, _) = dependency else { return false }
                return package.targets.first { $0.name == name }.map(isSDK) ?? false
            }
    }
    let kept = Set(package.targets.filter(isSDK).map(\.name))
    package.targets.removeAll { !kept.contains($0.name) }
    package.products.removeAll { !kept.contains($0.name) }
}

/// `SOUK_TESTS` names test targets, such as `PluginHub,HTTPCore`. Only these and their dependencies are declared then,
/// because SwiftPM links all declared tests into one program.
if let names = Context.environment["SOUK_TESTS"], !names.isEmpty {
    let wanted = names.split(separator: ",").map { $0.hasSuffix("Tests") ? String($0) : "\($0)Tests" }
    for name in wanted where !package.targets.contains(where: { $0.name == name && $0.type == .test }) {
        fatalError("SOUK_TESTS: there is no test target \(name)")
    }
    var needed: Set<String> = []
    func need(_ name: String) {
        guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else {
            return
        }
        for case .byNameItem(let other, _) in target.dependencies { need(other) }
    }
    wanted.forEach(need)
    // soukTests starts CrashLoop. As a dependency, it would link the disk fuse into the tests.
    if wanted.contains("soukTests") { need("CrashLoop") }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { !needed.contains($0.name) }
}
