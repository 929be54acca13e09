#if canImport(Compression)
    import Compression
    import StoreModel

    /// Decompresses with Apple's Compression framework, whose `COMPRESSION_ZLIB` is raw deflate without a header.
    final class CompressionInflater: Inflater {
        private let stream = UnsafeMutablePointer<compression_stream>.allocate(capacity: 1)
        private var isOpen = false

        init() throws(ExtractionError) {
            // The structure cannot have null pointers. Each step replaces these placeholders.
            let nothing = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
            defer { nothing.deallocate() }
            stream.initialize(
                to: compression_stream(
                    dst_ptr: nothing, dst_size: 0, src_ptr: UnsafePointer(nothing), src_size: 0, state: nil))
            isOpen =
                compression_stream_init(stream, COMPRESSION_STREAM_DECODE, COMPRESSION_ZLIB) == COMPRESSION_STATUS_OK
            guard isOpen else {
                throw ExtractionError(.fileFailed, "The archive cannot be read: out of memory. Try again later.")
            }
        }

        deinit {
            if isOpen { compression_stream_destroy(stream) }
            stream.deallocate()
        }

        /// Decompresses the next bytes. An empty input can lack an address. The address of `output` takes its place,
        /// and the framework reads nothing from it.
        func inflate(
            _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isLast: Bool
        ) -> InflateStep {
            guard let target = output.baseAddress else { return InflateStep(consumed: 0, produced: 0, state: .failed) }
            let source = input.baseAddress ?? UnsafeRawPointer(target)
            stream.pointee.src_ptr = source.assumingMemoryBound(to: UInt8.self)
            stream.pointee.src_size = input.count
            stream.pointee.dst_ptr = target.assumingMemoryBound(to: UInt8.self)
            stream.pointee.dst_size = output.count
            let flags = isLast ? Int32(COMPRESSION_STREAM_FINALIZE.rawValue) : 0
            let status = compression_stream_process(stream, flags)
            let state: InflateStep.State =
                switch status {
                case COMPRESSION_STATUS_OK: .underway
                case COMPRESSION_STATUS_END: .ended
                default: .failed
                }
            return InflateStep(
                consumed: input.count - stream.pointee.src_size, produced: output.count - stream.pointee.dst_size,
                state: state)
        }
    }
#endif
