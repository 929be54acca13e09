import Foundation
import Testing

@testable import Primitives

@Suite struct ProcessMemoryTests {
    @Test func `the limit is the smaller of the machine's memory and the container's limit`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("memory-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = try ["max", "1048576\n", "9223372036854771712"].map { text in
            let file = folder.appendingPathComponent(UUID().uuidString)
            try Data(text.utf8).write(to: file)
            return file.path
        }
        let physical: UInt64 = 8 << 30
        #expect(ProcessMemory.limit(physical: physical, limitFiles: [files[0], files[2], "/nowhere"]) == physical)
        #expect(ProcessMemory.limit(physical: physical, limitFiles: [files[0], files[1]]) == 1 << 20)
    }
}
