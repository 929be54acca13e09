import StoreModel

/// Decompresses one stream of deflate (RFC 1951), without the header of zlib or gzip.
package protocol Inflater: AnyObject, SendableMetatype {
    init() throws(ExtractionError)

    /// Decompresses from `input` into `output`, both of which have bytes unless `isLast` is set and the input is used up.
    ///
    /// - Parameter isLast: whether nothing follows `input`.
    func inflate(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> InflateStep
}

/// The result of one call of an inflater.
package struct InflateStep: Equatable {
    package enum State { case underway, ended, failed }

    /// Bytes taken from the beginning of the input.
    package var consumed: Int
    /// Bytes written to the beginning of the output.
    package var produced: Int
    package var state: State

    package init(consumed: Int, produced: Int, state: State) {
        (self.consumed, self.produced, self.state) = (consumed, produced, state)
    }
}
