import Foundation
import Primitives
import StoreModel

/// The folder of the content, with one folder per product:
///
///     com.example.film/content/        the complete content, or absent
///     com.example.film/record.json     the product, and the digest of the parameters of its content
///     com.example.film/work-…/         the data of a running or interrupted fetch
struct ContentCache: Sendable {
    let root: String

    func content(_ product: ProductID) -> String { folder(product) + "/content" }

    private func folder(_ product: ProductID) -> String { "\(root)/\(Self.name(of: product))" }
    private func work(_ product: ProductID, _ parameters: String) -> String {
        "\(folder(product))/\(Self.workName(parameters))"
    }

    private static let workPrefix = "work-"
    private static func workName(_ parameters: String) -> String { workPrefix + parameters.prefix(16) }

    /// Returns a digest of parameters. The record contains it instead of the parameters, because a URL may be a secret.
    static func digest(of parameters: JSONObject) -> String {
        Hex.encode(SHA256.hash(JSONValue.object(parameters).encoded()))
    }

    /// Returns the products with complete content, each with the digest of its parameters: an empty string if it is
    /// unknown. Repairs changes that killed processes left incomplete. Content without a readable record counts as
    /// absent.
    func load() -> [ProductID: String] {
        var fetched: [ProductID: String] = [:]
        for name in Self.names(in: root) {
            guard !name.hasPrefix(".") else {
                recoverRemoval(name)
                continue
            }
            let record = try? Record(reading: "\(root)/\(name)")
            guard let record, Self.name(of: record.product) == name else { continue }
            try? FolderReplacement.recover(content(record.product))
            clearWork(record.product) { $0 != record.parameters.map(Self.workName) }
            if hasContent(record.product) { fetched[record.product] = record.parameters ?? "" }
        }
        return fetched
    }

    func hasContent(_ product: ProductID) -> Bool {
        var status = stat()
        return lstat(content(product), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Removes the leftover `.NAME.new-XXXXXX`. `FolderReplacement` gives this name to a folder before it removes the
    /// folder.
    private func recoverRemoval(_ leftover: String) {
        let name = leftover.dropFirst().dropLast(".new-XXXXXX".count)
        if !name.isEmpty { try? FolderReplacement.recover("\(root)/\(name)") }
    }

    /// Returns the folder for a fetch, with the data of earlier attempts with the same parameters. Throws
    /// `FileFailure`.
    func prepare(_ product: ProductID, parameters: String) throws -> String {
        try Self.makeFolder(folder(product))
        excludeFromBackup()
        if try Record(reading: folder(product)) == nil {
            try Record(product: product, parameters: nil).write(in: folder(product))
        }
        clearWork(product) { $0 == Self.workName(parameters) }
        let work = work(product, parameters)
        try Self.makeFolder(work)
        return work
    }

    /// Records the parameters with which the current content was fetched. Throws `FileFailure`.
    func record(_ product: ProductID, parameters: String) throws {
        try Record(product: product, parameters: parameters).write(in: folder(product))
    }

    /// Removes the work folders, except those that `isKept` accepts.
    func clearWork(_ product: ProductID, keeping isKept: (String) -> Bool = { _ in false }) {
        for name in Self.names(in: folder(product)) where name.hasPrefix(Self.workPrefix) {
            if !isKept(name) { try? FileManager.default.removeItem(atPath: "\(folder(product))/\(name)") }
        }
    }

    /// Removes all data of a product atomically. Throws `FileFailure`.
    func remove(_ product: ProductID) throws {
        var status = stat()
        if lstat(folder(product), &status) == 0 { try FolderReplacement.remove(folder(product)) }
    }

    /// Content can be fetched again, so device backups exclude it.
    private func excludeFromBackup() {
        #if canImport(Darwin)
            var url = URL(fileURLWithPath: root, isDirectory: true)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try? url.setResourceValues(values)
        #endif
    }

    /// Creates a folder with its parent folders. Does nothing if it exists. Throws `FileFailure`.
    static func makeFolder(_ path: String) throws(FileFailure) {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        let above = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard errno == ENOENT, above != path else { throw FileFailure("make the folder", path, errno) }
        try makeFolder(above)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileFailure("make the folder", path, errno) }
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// Returns a folder name for a product's id. Names are unique even on a file system that ignores case, and contain
    /// no `/`. Lowercase letters, digits, `-`, `_` and a `.` that is not the first character stay. A digest replaces a
    /// name that would be too long.
    static func name(of product: ProductID) -> String {
        var name = ""
        for byte in product.rawValue.utf8 {
            let isPlain =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "-"), UInt8(ascii: "_"): true
                case UInt8(ascii: "."): !name.isEmpty
                default: false
                }
            name += isPlain ? String(UnicodeScalar(byte)) : "%" + Hex.encode([byte])
        }
        return name.utf8.count <= 128 ? name : "%" + Hex.encode(SHA256.hash(product.rawValue.utf8))
    }
}

private struct Record {
    var product: ProductID
    var parameters: String?

    init(product: ProductID, parameters: String?) {
        self.product = product
        self.parameters = parameters
    }

    /// Reads the record; `nil` if there is none or it is invalid.
    init?(reading folder: String) throws {
        guard let bytes = try DurableFile.read(folder + "/record.json", upTo: 64 << 10),
            let json = try? JSONValue(parsing: bytes),
            let product = json["productID"]?.stringValue.flatMap(ProductID.init(rawValue:))
        else { return nil }
        self.init(product: product, parameters: json["parameters"]?.stringValue)
    }

    func write(in folder: String) throws {
        var json: JSONObject = ["productID": .string(product.rawValue)]
        json["parameters"] = parameters.map { .string($0) }
        let path = folder + "/record.json"
        try DurableFile.write(JSONValue.object(json).encoded(), to: path, by: path + ".new")
        try DurableFile.flush(folder)
    }
}
