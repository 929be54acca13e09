import Foundation
import Testing

/// Apple rejects apps whose libraries use certain interfaces without a privacy manifest.
struct PrivacyManifestTests {
    /// The modules for apps on Apple platforms.
    private static let modules = [
        "Primitives", "StoreModel", "PluginHub", "HTTPCore", "StoreKitAdapter", "Purchases", "WebPages", "InAppStore",
        "NetworkInterception", "SQLStorage",
    ]

    /// Apple's categories, with the interfaces as they appear in the sources.
    private static let categories = [
        "FileTimestamp":
            #"\b[fl]?stat\(|\bfstatat\(|getattrlist|contentModificationDate|creationDateKey|attributesOfItem"#,
        "DiskSpace": #"statvfs|statfs\(|volumeAvailableCapacity|systemFreeSize"#,
        "SystemBootTime": #"systemUptime|mach_absolute_time"#,
        "UserDefaults": #"\bUserDefaults\b"#,
        "ActiveKeyboards": #"activeInputModes"#,
    ]

    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Sources").standardized

    private static func text(of module: String) throws -> String {
        let folder = sources.appendingPathComponent(module)
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap {
            $0 as? URL
        }
        return try (files ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
    }

    private static func manifest(of module: String) throws -> [String: Any]? {
        let file = sources.appendingPathComponent("\(module)/PrivacyInfo.xcprivacy")
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil) as? [String: Any]
    }

    @Test(arguments: modules) func `a module declares the interfaces that it uses, with a reason, and no others`(
        module: String
    ) throws {
        let text = try Self.text(of: module)
        let used = try Self.categories.filter { try text.contains(Regex($0.value)) }.keys
        let declared = try Self.manifest(of: module)?["NSPrivacyAccessedAPITypes"] as? [[String: Any]] ?? []
        let prefix = "NSPrivacyAccessedAPICategory"
        #expect(Set(used.map { prefix + $0 }) == Set(declared.compactMap { $0["NSPrivacyAccessedAPIType"] as? String }))
        for each in declared { #expect((each["NSPrivacyAccessedAPITypeReasons"] as? [String])?.isEmpty == false) }
    }

    @Test func `no module tracks, and only Purchases declares collected data`() throws {
        for module in Self.modules {
            guard let manifest = try Self.manifest(of: module) else { continue }
            #expect(manifest["NSPrivacyTracking"] as? Bool == false)
            let collected = manifest["NSPrivacyCollectedDataTypes"] as? [[String: Any]] ?? []
            #expect(collected.isEmpty == (module != "Purchases"), "\(module)")
        }
    }
}
