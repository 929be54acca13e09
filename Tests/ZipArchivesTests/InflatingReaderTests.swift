import Foundation
import StoreModel
import Testing

@testable import ZipArchives

/// The reader with inflaters that return anything: it must end, not trap, and accept only correct data.
@Suite struct InflatingReaderTests {
    @Test(arguments: [
        InflateStep(consumed: 4, produced: 4, state: .failed), InflateStep(consumed: 5, produced: 4, state: .ended),
        InflateStep(consumed: -1, produced: 4, state: .ended), InflateStep(consumed: 4, produced: -1, state: .ended),
        InflateStep(consumed: 4, produced: .max, state: .ended),
        InflateStep(consumed: .max, produced: 0, state: .ended),
        InflateStep(consumed: 3, produced: 4, state: .ended), InflateStep(consumed: 0, produced: 0, state: .underway),
        InflateStep(consumed: 4, produced: 5, state: .ended), InflateStep(consumed: 4, produced: 3, state: .ended),
    ])
    func `an inflater that reports impossible values is refused`(step: InflateStep) throws {
        let scene = try Scene()
        ScriptedInflater.$script.withValue([step]) {
            #expect(throws: ExtractionError(.corrupt, "")) { try scene.extract() }
        }
        #expect(scene.content == nil)
    }

    @Test(arguments: [
        [InflateStep(consumed: 4, produced: 4, state: .ended)],
        [.init(consumed: 1, produced: 0, state: .underway), .init(consumed: 3, produced: 4, state: .ended)],
        [
            .init(consumed: 4, produced: 1, state: .underway), .init(consumed: 0, produced: 3, state: .underway),
            .init(consumed: 0, produced: 0, state: .ended),
        ],
    ])
    func `an inflater may take any number of steps`(script: [InflateStep]) throws {
        let scene = try Scene()
        try ScriptedInflater.$script.withValue(script) { try scene.extract() }
        #expect(scene.content == "text")
    }

    @Test func `an inflater that never ends is refused when it writes too much`() throws {
        let scene = try Scene()
        ScriptedInflater.$script.withValue(
            Array(repeating: .init(consumed: 0, produced: 1, state: .underway), count: 9)
        ) {
            #expect(throws: ExtractionError(.corrupt, "")) { try scene.extract() }
        }
    }

    @Test func `the checksum is the CRC-32 of the data`() {
        var checksum = CRC32()
        for part in ["1234", "", "56789"] { Array(part.utf8).withUnsafeBytes { checksum.update($0) } }
        #expect(checksum.value == 0xCBF4_3926)
        #expect(CRC32().value == 0)
    }

    #if canImport(Compression)
        @Test func `the extractor of Apple's systems extracts an archive of zipfile`() async throws {
            let scene = try Scene()
            try Data(base64Encoded: Scene.madeByZipfile)!.write(to: URL(fileURLWithPath: scene.archive))
            try await SystemZipExtractor().extract(scene.archive, into: scene.folder)
            let text = try String(contentsOfFile: scene.folder + "/f/b", encoding: .utf8)
            #expect(text == String(repeating: "deflated ", count: 9))
        }

        @Test func `the extractor of Apple's systems detects a changed bit in each byte of the data`() async throws {
            let scene = try Scene()
            let bytes = [UInt8](Data(base64Encoded: Scene.madeByZipfile)!)
            for place in Scene.deflatedRange {
                var changed = bytes
                changed[place] ^= 1
                try Data(changed).write(to: URL(fileURLWithPath: scene.archive))
                await #expect(throws: ExtractionError.self) {
                    try await SystemZipExtractor().extract(scene.archive, into: scene.folder)
                }
            }
        }
    #endif
}

/// Returns scripted results for any data, and writes "text".
private final class ScriptedInflater: Inflater {
    @TaskLocal static var script: [InflateStep] = []

    private var steps = script
    private var rest = Array("text".utf8)

    func inflate(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> InflateStep {
        guard !steps.isEmpty else { return InflateStep(consumed: 0, produced: 0, state: .underway) }
        let step = steps.removeFirst()
        let written = rest.prefix(max(0, step.produced))
        output.copyBytes(from: written)
        rest.removeFirst(written.count)
        return step
    }
}

/// An archive with one deflated file of four bytes, "text", and its target folder.
private final class Scene {
    let root: String
    var archive: String { root + "/archive.zip" }
    var folder: String { root + "/content" }
    var content: String? { try? String(contentsOfFile: folder + "/file", encoding: .utf8) }

    init() throws {
        root = FileManager.default.temporaryDirectory.appendingPathComponent("zip-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        try Data(Self.archive()).write(to: URL(fileURLWithPath: archive))
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    func extract() throws {
        try Extraction<InflatingReader<ScriptedInflater>>(
            archive, into: folder, limits: ExtractionLimits(), progress: { _ in }, cancellation: Cancellation()
        ).run()
    }

    private static func archive() -> [UInt8] {
        func number(_ value: Int, _ width: Int) -> [UInt8] {
            (0..<width).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        let name = Array("file".utf8)
        // Flags, method, time, date, CRC-32 of "text", both sizes, and the lengths of the name and the extra fields.
        let common =
            number(0, 2) + number(8, 2) + number(0, 2) + number(0x21, 2) + number(0x3B8B_A7C7, 4) + number(4, 4)
            + number(4, 4) + number(name.count, 2) + number(0, 2)
        let local = number(0x0403_4B50, 4) + number(20, 2) + common + name + [1, 2, 3, 4]
        let directory =
            number(0x0201_4B50, 4) + number(20, 2) + number(20, 2) + common + number(0, 2) + number(0, 2) + number(0, 2)
            + number(0, 4) + number(0, 4) + name
        return local + directory + number(0x0605_4B50, 4) + number(0, 4) + number(1, 2) + number(1, 2)
            + number(directory.count, 4) + number(local.count, 4) + number(0, 2)
    }

    /// A file, a folder and a deflated file.
    static let madeByZipfile =
        "UEsDBBQAAAAAAAAAIQDHp4s7BAAAAAQAAAABAAAAYXRleHRQSwMEFAAAAAAAAAAhAAAAAAAAAAAAAAAAAAIAAABmL1"
        + "BLAwQUAAAACAAAACEArzhhtQ4AAABRAAAAAwAAAGYvYktJTctJLElNUUihEgMAUEsBAhQDFAAAAAAAAAAhAMenizsE"
        + "AAAABAAAAAEAAAAAAAAAAAAAAIABAAAAAGFQSwECFAMUAAAAAAAAACEAAAAAAAAAAAAAAAAAAgAAAAAAAAAAAAAAgA"
        + "EjAAAAZi9QSwECFAMUAAAACAAAACEArzhhtQ4AAABRAAAAAwAAAAAAAAAAAAAAgAFDAAAAZi9iUEsFBgAAAAADAAMA"
        + "kAAAAHIAAAAAAA=="
    static let deflatedRange = 100..<114
}
