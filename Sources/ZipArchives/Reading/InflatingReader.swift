import StoreModel

/// Reads entries at the positions in the plan, and decompresses them with an `Inflater`.
///
/// Checks every answer of the inflater: the bytes must fit the buffers, each step must make progress, and the stream
/// must end with the entry's data.
package final class InflatingReader<Decompressor: Inflater>: EntryReader {
    private let file: ArchiveFile
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

    /// The part of `input` that has not been decompressed.
    private var pending = 0..<0
    /// The position of the next compressed byte in the file, and the number of the entry's bytes from there.
    private var (position, unread) = (0, 0)
    private var checksum = CRC32()
    private var inflater: Decompressor?
    private var hasEnded = false

    package init(_ file: ArchiveFile) throws(ExtractionError) { self.file = file }

    deinit {
        input.deallocate()
        output.deallocate()
    }

    /// Goes to the next entry. `ExtractionPlan` permits only method 0, which is no compression, and 8, which is
    /// deflate.
    package func advance(to entry: ZipEntry) throws(ExtractionError) {
        (position, unread, pending) = (entry.dataOffset, entry.compressedSize, 0..<0)
        checksum = CRC32()
        inflater = entry.method == 8 && entry.compressedSize > 0 ? try Decompressor() : nil
        hasEnded = false
    }

    package func nextBlock(of entry: ZipEntry) throws(ExtractionError) -> UnsafeRawBufferPointer? {
        while !hasEnded {
            let count = if let inflater { try inflate(entry, with: inflater) } else { try copy() }
            if count > 0 {
                let block = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(output)[..<count])
                checksum.update(block)
                return block
            }
        }
        guard checksum.value == entry.checksum else {
            throw Self.damaged(entry, "its checksum is not the one in the archive's directory")
        }
        return nil
    }

    package func finish() throws(ExtractionError) {}

    /// Reads the next bytes of an entry that is not compressed, and returns their number.
    private func copy() throws(ExtractionError) -> Int {
        let count = min(unread, output.count)
        try fill(UnsafeMutableRawBufferPointer(rebasing: output[..<count]))
        hasEnded = unread == 0
        return count
    }

    /// Decompresses the next bytes, and returns their number; 0 when more input is needed.
    private func inflate(_ entry: ZipEntry, with inflater: Decompressor) throws(ExtractionError) -> Int {
        if pending.isEmpty {
            pending = 0..<min(unread, input.count)
            try fill(UnsafeMutableRawBufferPointer(rebasing: input[pending]))
        }
        let step = inflater.inflate(
            UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(input)[pending]), into: output, isLast: unread == 0)
        guard step.state != .failed, (0...pending.count).contains(step.consumed),
            (0...output.count).contains(step.produced)
        else { throw Self.damaged(entry, "its data is not a deflate stream") }
        pending = (pending.lowerBound + step.consumed)..<pending.upperBound
        if step.state == .ended {
            guard pending.isEmpty, unread == 0 else {
                throw Self.damaged(entry, "it has more data after the end of its deflate stream")
            }
            hasEnded = true
        } else if step.consumed == 0, step.produced == 0 {
            throw Self.damaged(entry, "its data ends too early")
        }
        return step.produced
    }

    /// Fills the whole `buffer` with the entry's next bytes.
    private func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(ExtractionError) {
        guard !buffer.isEmpty else { return }
        guard try file.read(into: buffer, at: position) == buffer.count else { throw .cutOff }
        position += buffer.count
        unread -= buffer.count
    }

    private static func damaged(_ entry: ZipEntry, _ reason: String) -> ExtractionError {
        .corrupt("\(entry.name.shown) is damaged: \(reason); fetch the archive again.", entry: entry.name.shown)
    }
}
