import Foundation
import InAppStore
import Primitives
import StoreModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Kills apps at operations of their disk and network, or makes their disk fail from an operation on, while they buy a
/// product and fetch its content. Each app starts with an older version of the content.
struct DeviceCrash {
    private let driver: CrashDriver
    private let shop: ContentShop
    private let port: String
    private let folder: String
    private static let keys = "devices"

    /// The content of an earlier run, which is copied to each device.
    private var earlierContent: String { folder + "/former" }

    static func run(every: Int) async throws {
        try await CrashDriver.withStore { driver, shop in
            let server = try Child(["server"] + driver.serverSettings(keys))
            guard let port = await server.firstLine() else { throw CrashFailure("the server did not start") }
            let crash = DeviceCrash(driver: driver, shop: shop, port: port, folder: driver.folder)
            try await crash.makeEarlierContent()
            let kills = try await CrashDriver.loop("device", every: every) { try await crash.kill(at: $0) }
            var faults = 0
            for error in [ENOSPC, EACCES] {
                let name = error == ENOSPC ? "full disk" : "forbidden disk"
                faults += try await CrashDriver.loop(name, every: every, verb: "begun") {
                    try await crash.fail(from: $0, with: error)
                }
            }
            try await crash.limitFiles()
            await server.kill()
            print(
                "killed \(kills) devices: each purchase acknowledged and finished once, the content whole and resumed; "
                    + "\(faults) failing disks damaged no content, and each error named its reason")
        }
    }

    private func makeEarlierContent() async throws {
        let source = folder + "/old"
        try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
        for (name, bytes) in ContentShop.old { try Data(bytes).write(to: URL(fileURLWithPath: "\(source)/\(name)")) }
        let library = ContentLibrary(folder: earlierContent, fetchers: [LocalContentFetcher()], extractor: nil)
        let parameters: JSONObject = ["type": "LocalContentFetcher", "URL": .string("file://\(source)")]
        for try await _ in library.fetch(ProductID(unchecked: CrashDriver.product), parameters: parameters) {}
        await library.close()
    }

    // MARK: - Kills

    /// Returns whether the device was killed.
    private func kill(at point: Int) async throws -> Bool {
        let account = "device-\(point)"
        let settings = try await makeDevice(account)
        let wasKilled = try await driver.endsByKill(try Child(settings + ["kill-at=\(point)"]))
        let left = try storedContent(account)
        guard left.content == ContentShop.old || left.content == ContentShop.new else {
            throw CrashFailure("\(account): its content is \(left.content.keys.sorted()), neither old nor new")
        }
        _ = shop.firstByte(askedBy: account)
        if wasKilled {
            try await finish(account, settings)
            let isHere = left.content == ContentShop.new || left.received == shop.archive.count
            let (first, due) = (shop.firstByte(askedBy: account), isHere ? nil : left.received)
            guard first == due else {
                throw CrashFailure("\(account): asked from byte \(first ?? -1) on, not from \(due ?? -1)")
            }
        } else if left.content != ContentShop.new {
            throw CrashFailure("\(account): the content was not fetched")
        }
        try await driver.check(account, port: port, keys: Self.keys)
        return wasKilled
    }

    /// Repeats the run without a failure.
    private func finish(_ account: String, _ settings: [String]) async throws {
        let app = try Child(settings)
        let line = await app.firstLine()
        guard try await !driver.endsByKill(app), line == "content" else {
            throw CrashFailure("\(account): the next run printed \(line ?? "nothing"): \(app.errorOutput)")
        }
        let left = try storedContent(account)
        guard left.content == ContentShop.new, left.names == ["content", "record.json"] else {
            throw CrashFailure("\(account): the next run left \(left.names)")
        }
    }

    // MARK: - Failing disks

    /// Returns whether the disk failed before the end of the run.
    private func fail(from first: Int, with error: Int32) async throws -> Bool {
        let account = "disk-\(error)-\(first)"
        let settings = try await makeDevice(account)
        let words = try await outcome(account, settings + ["error=\(error)", "fail-at=\(first)"])
        let code: PurchaseError.Code = error == ENOSPC ? .diskFull : .notPermitted
        try expect(words.first == "content" || words.first == code.rawValue, account, words)
        try await finish(account, settings)
        return words.count == 2
    }

    /// Repeats the test with the system's limit of the file size.
    private func limitFiles() async throws {
        let account = "limited"
        let settings = try await makeDevice(account)
        let words = try await outcome(account, settings + ["limit=\(shop.archive.count / 2)"])
        try expect(words == [PurchaseError.Code.diskFull.rawValue], account, words)
        try await finish(account, settings)
    }

    private func outcome(_ account: String, _ settings: [String]) async throws -> [String] {
        let app = try Child(settings)
        let line = await app.firstLine() ?? ""
        guard await app.waitForEnd() == 0 else { throw CrashFailure("\(account): the app failed: \(app.errorOutput)") }
        return line.split(separator: " ").map(String.init)
    }

    private func expect(_ isExpected: Bool, _ account: String, _ words: [String]) throws {
        guard isExpected else { throw CrashFailure("\(account): it printed \(words)") }
        let content = try storedContent(account).content
        guard content == ContentShop.new || words.first != "content" && content == ContentShop.old else {
            throw CrashFailure("\(account): it printed \(words), and left \(content.keys.sorted())")
        }
    }

    // MARK: - Devices

    private func makeDevice(_ account: String) async throws -> [String] {
        try await driver.createAccount(account)
        try FileManager.default.copyItem(atPath: earlierContent, toPath: contentFolder(account))
        let content = shop.parameters(at: driver.storeURL, for: account).text()
        return try ["app"] + driver.appSettings(account, port: port, keys: Self.keys)
            + ["content-folder=\(contentFolder(account))", "content=\(content)"]
    }

    private func contentFolder(_ account: String) -> String { "\(folder)/\(account).content" }

    private struct StoredContent {
        var content: [String: [UInt8]] = [:]
        /// The bytes of the archive that need not be fetched again.
        var received = 0
        var names: [String] = []
    }

    /// Returns the stored content of the product.
    private func storedContent(_ account: String) throws -> StoredContent {
        let path = "\(contentFolder(account))/\(CrashDriver.product)"
        var stored = StoredContent()
        for case let name as String in FileManager.default.enumerator(atPath: path + "/content") ?? .init() {
            let file = "\(path)/content/\(name)"
            guard let bytes = FileManager.default.contents(atPath: file) else { continue }
            stored.content[URL(fileURLWithPath: name).lastPathComponent] = Array(bytes)
        }
        stored.names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        for work in stored.names where work.hasPrefix("work-") {
            guard FileManager.default.fileExists(atPath: "\(path)/\(work)/archive.json") else { continue }
            stored.received = FileManager.default.contents(atPath: "\(path)/\(work)/archive")?.count ?? 0
        }
        return stored
    }
}
