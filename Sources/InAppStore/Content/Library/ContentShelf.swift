import Foundation
import Primitives
import StoreModel

/// The folder in which content is kept, one folder a product:
///
///     com.example.film/content/        what was fetched, whole or not there
///     com.example.film/record.json     whose it is, and by which parameters it was fetched
///     com.example.film/work-…/         what is being fetched by these parameters
struct ContentShelf: Sendable {
    let root: String

    func content(_ product: ProductID) -> String { folder(product) + "/content" }

    private func folder(_ product: ProductID) -> String { "\(root)/\(Self.name(of: product))" }
    private func work(_ product: ProductID, _ parameters: String) -> String {
        "\(folder(product))/\(Self.workName(parameters))"
    }

    private static let workPrefix = "work-"
    private static func workName(_ parameters: String) -> String { workPrefix + parameters.prefix(16) }

    /// Says which parameters content was fetched by without repeating them: a URL may be a secret.
    static func digest(of parameters: JSONObject) -> String {
        Hex.encode(SHA256.hash(JSONValue.object(parameters).encoded()))
    }

    // MARK: - What is there

    /// The products whose content is there, each with the digest of its parameters where known. Puts right what killed
    /// processes left; what cannot be read is not there.
    func load() -> [ProductID: String] {
        var there: [ProductID: String] = [:]
        for name in Self.names(in: root) {
            guard !name.hasPrefix(".") else {
                recoverRemoval(name)
                continue
            }
            let record = try? Record(reading: "\(root)/\(name)")
            guard let record, Self.name(of: record.product) == name else { continue }
            try? FolderReplacement.recover(content(record.product))
            clearWork(record.product) { $0 != record.parameters.map(Self.workName) }
            if hasContent(record.product) { there[record.product] = record.parameters ?? "" }
        }
        return there
    }

    func hasContent(_ product: ProductID) -> Bool {
        var status = stat()
        return lstat(content(product), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// `.NAME.new-XXXXXX`, as `FolderReplacement` calls what it removes.
    private func recoverRemoval(_ leftover: String) {
        let name = leftover.dropFirst().dropLast(".new-XXXXXX".count)
        if !name.isEmpty { try? FolderReplacement.recover("\(root)/\(name)") }
    }

    // MARK: - Changes

    /// The folder to fetch into, with what earlier attempts by the same parameters left in it. Throws `FileFailure`.
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

    /// The content that is in its place now was fetched by these parameters. Throws `FileFailure`.
    func note(_ product: ProductID, parameters: String) throws {
        try Record(product: product, parameters: parameters).write(in: folder(product))
    }

    /// Removes what is being fetched, but for the folders of some names.
    func clearWork(_ product: ProductID, but isKept: (String) -> Bool = { _ in false }) {
        for name in Self.names(in: folder(product)) where name.hasPrefix(Self.workPrefix) {
            if !isKept(name) { try? FileManager.default.removeItem(atPath: "\(folder(product))/\(name)") }
        }
    }

    /// Removes everything of a product, in one step. Throws `FileFailure`.
    func remove(_ product: ProductID) throws {
        var status = stat()
        if lstat(folder(product), &status) == 0 { try FolderReplacement.remove(folder(product)) }
    }

    /// Content can be fetched again, so it has no place in the backups of a device.
    private func excludeFromBackup() {
        #if canImport(Darwin)
            var url = URL(fileURLWithPath: root, isDirectory: true)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            // Where that cannot be said the content is still of use.
            try? url.setResourceValues(values)
        #endif
    }

    /// With the folders above it, which are there afterwards. Throws `FileFailure`.
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

    /// A product's identifier as the name of a folder: each has another, also where case does not count, and none leads
    /// elsewhere. Small letters, digits, `.`, `-` and `_` stay; a name that becomes too long is a digest.
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

/// What a product's folder says of itself.
private struct Record {
    var product: ProductID
    var parameters: String?

    init(product: ProductID, parameters: String?) {
        self.product = product
        self.parameters = parameters
    }

    /// `nil` when there is none that makes sense.
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
