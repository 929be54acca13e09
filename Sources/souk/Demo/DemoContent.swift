import Foundation
import Primitives
import StoreModel

/// The content of the demonstration's non-consumables: a new archive, served by the simulator.
struct DemoContent: Sendable {
    /// The folder for `souk simulate --content`.
    let folder: String
    /// The size of the archive in bytes.
    let size: Int
    /// The archive's digest in the format of the product list.
    let sha256: String
    /// The digest of the file in the archive.
    private let filterDigest: [UInt8]

    private static let archive = "filters.zip"
    private static let filter = "filters/grain.lut"

    init(in folder: DataFolder) throws {
        self.folder = folder.file("content")
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 15) }
        let archive = StoredArchive.archive(of: bytes, named: Self.filter)
        size = archive.count
        sha256 = Hex.encode(SHA256.hash(archive))
        filterDigest = SHA256.hash(bytes)
        try FileManager.default.createDirectory(
            atPath: self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try OutputFile.replace(self.folder + "/" + Self.archive, with: archive)
    }

    /// Returns a product list in which every non-consumable has this content, served by the simulator at `url`.
    func added(to list: JSONValue, servedAt url: String) -> JSONValue {
        .array(
            (list.arrayValue ?? []).map { product in
                guard product["productType"] == "nonConsumable" else { return product }
                var product = product
                product["contentFetcherParameters"] = [
                    "type": "RemoteContentFetcher", "URL": .string("\(url)/content/\(Self.archive)"),
                    "size": .number(Int64(size)), "sha256": .string(sha256),
                ]
                return product
            })
    }

    /// Whether a folder has the complete content.
    func isIntact(in folder: String?) -> Bool {
        guard let folder, let data = FileManager.default.contents(atPath: folder + "/" + Self.filter) else {
            return false
        }
        return SHA256.hash(Array(data)) == filterDigest
    }
}

/// A zip archive of one file that is not compressed.
enum StoredArchive {
    /// Returns the archive: version 2.0, no flags, not compressed, with the date 1980-01-01.
    static func archive(of content: [UInt8], named name: String) -> [UInt8] {
        let common =
            littleEndian(20, 2) + littleEndian(0, 6) + littleEndian(0x21, 2) + littleEndian(crc32(content), 4)
            + littleEndian(content.count, 4)
            + littleEndian(content.count, 4) + littleEndian(name.utf8.count, 2) + littleEndian(0, 2)
        let entry = littleEndian(0x0403_4b50, 4) + common + name.utf8 + content
        let directory =
            littleEndian(0x0201_4b50, 4) + littleEndian(0x031e, 2) + common + littleEndian(0, 6)
            + littleEndian(0o100600 << 16, 4)
            + littleEndian(0, 4)
            + name.utf8
        return entry + directory + littleEndian(0x0605_4b50, 4) + littleEndian(0, 4) + littleEndian(1, 2)
            + littleEndian(1, 2)
            + littleEndian(directory.count, 4) + littleEndian(entry.count, 4) + littleEndian(0, 2)
    }

    private static func littleEndian(_ value: Int, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(value >> ($0 * 8) & 255) }
    }

    /// CRC-32 of ISO 3309, byte by byte with a table.
    private static func crc32(_ bytes: [UInt8]) -> Int {
        let table: [UInt32] = (0..<256).map { index in
            (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
        }
        var crc = UInt32.max
        for byte in bytes { crc = crc >> 8 ^ table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] }
        return Int(~crc)
    }
}
