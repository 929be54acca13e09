import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// An uploaded image of retention messages. Its pixels are not kept.
struct UploadedImage: Sendable, Hashable {
    typealias Size = AppStoreServerAPI.ImageSize
    typealias State = AppStoreServerAPI.ImageState

    var id: UUID
    var at: Date
    var size: Size
    var width: Int
    var height: Int
    /// The SHA-256 of the file, in hexadecimal.
    var digest: String
    var state: State

    /// The largest number of images of an app (Apple: Upload Image).
    static let limit = 2000
    /// The largest file in bytes. Apple does not document one.
    static let longestFile = 32 << 20
    static let sizes: [Size] = [.fullSize, .bulletPoint]
    static let states: [State] = [.pending, .approved, .rejected]
}

extension UploadedImage {
    /// Checks the file of an image. Throws `ServerRefusal` (`invalidImage`) unless it is a PNG without transparency and
    /// with the dimensions of `size`.
    init(_ id: UUID, file: [UInt8], size: Size, at now: Date, state: State) throws {
        guard let picture = PNGFile(file) else { throw Self.invalid("The image should be a PNG file.") }
        guard !picture.isTransparent else { throw Self.invalid("The image should not have transparency.") }
        guard Self.fits(picture, size) else {
            throw Self.invalid(
                "An image of \(picture.width) × \(picture.height) pixels is not of the size \(size); it should have "
                    + (size == .fullSize ? "3840 × 160 to 2160" : "the same width and height, at most 1024") + ".")
        }
        self.init(
            id: id, at: now, size: size, width: picture.width, height: picture.height,
            digest: Hex.encode(SHA256.hash(file)), state: state)
    }

    /// Apple documents the dimensions of full-size images. Those for bullet points are an assumption.
    private static func fits(_ picture: PNGFile, _ size: Size) -> Bool {
        size == .fullSize
            ? picture.width == 3840 && (160...2160).contains(picture.height)
            : picture.width == picture.height && picture.width <= 1024
    }

    private static func invalid(_ reason: String) -> ServerRefusal { ServerRefusal(.invalidImage, reason) }
}

/// The structure of a PNG file (ISO/IEC 15948): its signature and its chunks. The pixels are not decoded.
struct PNGFile: Sendable, Hashable {
    let width: Int
    let height: Int
    /// Whether pixels can be transparent: an alpha channel, or a chunk `tRNS`.
    let isTransparent: Bool

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Returns `nil` for a file that is not a PNG, is cut off, or has bytes after its end.
    init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: Self.signature) else { return nil }
        var rest = bytes[Self.signature.count...]
        guard let header = Chunk(&rest), header.is("IHDR"), header.content.count == 13 else { return nil }
        let content = Array(header.content)
        let (width, height) = (Self.number(content[0..<4]), Self.number(content[4..<8]))
        guard width > 0, height > 0, [0, 2, 3, 4, 6].contains(content[9]) else { return nil }
        var (hasPixels, hasTransparency, isComplete) = (false, content[9] & 4 != 0, false)
        while !isComplete {
            guard let chunk = Chunk(&rest) else { return nil }
            if chunk.is("IDAT") { hasPixels = true }
            if chunk.is("tRNS") { hasTransparency = true }
            isComplete = chunk.is("IEND")
        }
        guard hasPixels, rest.isEmpty else { return nil }
        (self.width, self.height, isTransparent) = (width, height, hasTransparency)
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private struct Chunk {
        let type: ArraySlice<UInt8>
        let content: ArraySlice<UInt8>

        /// Takes a chunk from the beginning of `rest`: length, type, content and check sum.
        init?(_ rest: inout ArraySlice<UInt8>) {
            guard rest.count >= 12 else { return nil }
            let length = PNGFile.number(rest.prefix(4))
            guard length <= rest.count - 12 else { return nil }
            let begin = rest.startIndex + 8
            type = rest[begin - 4..<begin]
            content = rest[begin..<begin + length]
            rest = rest[(begin + length + 4)...]
        }

        func `is`(_ name: String) -> Bool { type.elementsEqual(name.utf8) }
    }
}
