import CZlib
import StoreModel
import ZipArchives

/// Extracts with the reader for Apple's systems, but with zlib, because Linux has no Compression framework. So tests
/// and the fuzzer check that reader on Linux too.
package struct ZlibExtractor: ArchiveExtractor {
    package init() {}

    package func extract(
        _ archive: String, into folder: String, limits: ExtractionLimits,
        progress: @escaping @Sendable (ExtractionProgress) -> Void
    ) async throws {
        try await Extraction<InflatingReader<ZlibInflater>>.run(
            archive, into: folder, limits: limits, progress: progress)
    }
}

/// Decompresses with zlib. The stream is allocated, because zlib stores its address, so it must not move. A negative
/// number of window bits selects deflate without a header.
package final class ZlibInflater: Inflater {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isOpen = false

    package init() throws(ExtractionError) {
        stream.initialize(to: z_stream())
        isOpen = inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK
        guard isOpen else {
            throw ExtractionError(.fileFailed, "The archive cannot be read: out of memory. Try again later.")
        }
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    /// Decompresses the next bytes. A step without progress (`Z_BUF_ERROR`) is not an error: the reader detects that no
    /// byte was consumed or produced.
    package func inflate(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> InflateStep {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = uInt(input.count)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = uInt(output.count)
        let answer = CZlib.inflate(stream, Z_NO_FLUSH)
        let state: InflateStep.State =
            switch answer {
            case Z_OK, Z_BUF_ERROR: .underway
            case Z_STREAM_END: .ended
            default: .failed
            }
        return InflateStep(
            consumed: input.count - Int(stream.pointee.avail_in),
            produced: output.count - Int(stream.pointee.avail_out),
            state: state)
    }
}
