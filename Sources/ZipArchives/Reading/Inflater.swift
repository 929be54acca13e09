import StoreModel

/// Decompresses one deflate stream (RFC 1951), without the header of zlib or gzip.
package protocol Inflater: AnyObject, SendableMetatype {
    init() throws(ExtractionError)

    /// Decompresses from `input` into `output`, which is never empty. `input` is empty only if `isLast` is set.
    ///
    /// - Parameter isLast: Whether `input` is the end of the stream.
    func inflate(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> InflateStep
}

/// The result of one call of an inflater.
package struct InflateStep: Equatable {
    package enum State { case underway, ended, failed }

    /// The bytes consumed from the beginning of the input.
    package var consumed: Int
    /// The bytes written to the beginning of the output.
    package var produced: Int
    package var state: State

    package init(consumed: Int, produced: Int, state: State) {
        (self.consumed, self.produced, self.state) = (consumed, produced, state)
    }
}
