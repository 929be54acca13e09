import Foundation
import StoreModel
import ZipArchives

@testable import ZipExtraction

/// Extracts arbitrary archives with libarchive and with our own reader, beside a file that must not change.
#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
#endif
public func fuzzArchives(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Fuzzing.must { try Data(Fuzzing.bytes(start, count)).write(to: URL(fileURLWithPath: place.archive)) }
    let ours = extract(with: InflatingReader<ZlibInflater>.self)
    Fuzzing.claim(ours == extract(with: ArchiveReader.self), "both extractors return the same content or error code")
    return 0
}

/// Extracts the archive, and returns the content by path or the code of the error.
private func extract<Reader: EntryReader>(with reader: Reader.Type) -> [String: Data] {
    let limits = ExtractionLimits(entries: 100, totalBytes: 1 << 20)
    do {
        let extraction = try Extraction<Reader>(
            place.archive, into: place.folder, limits: limits, progress: place.check, cancellation: Cancellation())
        try extraction.run()
        Fuzzing.claim(place.isTidy(["archive.zip", "film", "outside"]), "an extraction creates only the content")
        let content = place.content()
        Fuzzing.must { try FileManager.default.removeItem(atPath: place.folder) }
        return content
    } catch {
        let code = (error as? ExtractionError)?.code
        Fuzzing.claim(code != nil, "every refusal has a code")
        Fuzzing.claim(place.isTidy(["archive.zip", "outside"]), "a refused archive leaves nothing")
        return ["/refused": Data((code?.rawValue ?? "").utf8)]
    }
}

private let place = Place()

/// A folder in memory if the system has one, because every extraction is synced.
private struct Place {
    let root: String
    var archive: String { root + "/archive.zip" }
    var folder: String { root + "/film" }

    init() {
        let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        root = "\(base)/souk-fuzz-\(getpid())"
        Fuzzing.must {
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
            try Data("outside".utf8).write(to: URL(fileURLWithPath: root + "/outside"))
        }
        atexit { try? FileManager.default.removeItem(atPath: place.root) }
    }

    func check(_ progress: ExtractionProgress) {
        Fuzzing.claim(progress.written <= progress.total, "the written bytes do not exceed the total")
    }

    /// Returns the bytes of each file by its path; none for a folder.
    func content() -> [String: Data] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data())
            })
    }

    func isTidy(_ names: [String]) -> Bool {
        (try? FileManager.default.contentsOfDirectory(atPath: root).sorted()) == names
            && FileManager.default.contents(atPath: root + "/outside") == Data("outside".utf8)
    }
}

/// The seeds of the search.
func archiveSeeds() -> [[UInt8]] {
    let seeds = [
        "UEsDBBQAAAAAAAAAIQDHp4s7BAAAAAQAAAABAAAAYXRleHRQSwMEFAAAAAAAAAAhAAAAAAAAAAAAAAAAAAIAAABmL1"
            + "BLAwQUAAAACAAAACEArzhhtQ4AAABRAAAAAwAAAGYvYktJTctJLElNUUihEgMAUEsBAhQDFAAAAAAAAAAhAMenizsE"
            + "AAAABAAAAAEAAAAAAAAAAAAAAIABAAAAAGFQSwECFAMUAAAAAAAAACEAAAAAAAAAAAAAAAAAAgAAAAAAAAAAAAAAgA"
            + "EjAAAAZi9QSwECFAMUAAAACAAAACEArzhhtQ4AAABRAAAAAwAAAAAAAAAAAAAAgAFDAAAAZi9iUEsFBgAAAAADAAMA"
            + "kAAAAHIAAAAAAA==",
        "UEsDBC0ACAgIAAAAIQAAAAAA//////////8CABQAw6QBABAAAAAAAAAAAAAAAAAAAAAAACsuKUpNzE1NAQBQSwcIYx"
            + "si2QoAAAAAAAAACAAAAAAAAABQSwECLQMtAAgICAAAACEAYxsi2QoAAAAIAAAAAgAAAAAAAAAAAAAAgAEAAAAAw6RQ"
            + "SwYGLAAAAAAAAAAtAC0AAAAAAAAAAAABAAAAAAAAAAEAAAAAAAAAMAAAAAAAAABWAAAAAAAAAFBLBgcAAAAAhgAAAA"
            + "AAAAABAAAAUEsFBgAAAAD///////////////8AAA==",
    ]
    return seeds.map { Array(Data(base64Encoded: $0)!) }
}

#if FUZZING
    @_cdecl("LLVMFuzzerInitialize")
#endif
public func initializeArchives(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
    Fuzzing.plant(archiveSeeds())
    return 0
}
