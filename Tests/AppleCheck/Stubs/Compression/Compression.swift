/// https://developer.apple.com/documentation/compression/compression_stream
public struct compression_stream {
    public init(
        dst_ptr: UnsafeMutablePointer<UInt8>, dst_size: Int, src_ptr: UnsafePointer<UInt8>, src_size: Int,
        state: UnsafeMutableRawPointer?
    ) { declared() }
    public var dst_ptr: UnsafeMutablePointer<UInt8>
    public var dst_size: Int
    public var src_ptr: UnsafePointer<UInt8>
    public var src_size: Int
    public var state: UnsafeMutableRawPointer?
}

/// https://developer.apple.com/documentation/compression/compression_stream_operation
public struct compression_stream_operation: RawRepresentable, Equatable, Sendable {
    public init(rawValue: UInt32) { declared() }
    public var rawValue: UInt32
}

/// https://developer.apple.com/documentation/compression/compression_stream_decode
public var COMPRESSION_STREAM_DECODE: compression_stream_operation { declared() }

/// https://developer.apple.com/documentation/compression/compression_stream_flags
public struct compression_stream_flags: RawRepresentable, Equatable, Sendable {
    public init(rawValue: UInt32) { declared() }
    public var rawValue: UInt32
}

/// https://developer.apple.com/documentation/compression/compression_stream_finalize
public var COMPRESSION_STREAM_FINALIZE: compression_stream_flags { declared() }

/// https://developer.apple.com/documentation/compression/compression_algorithm
public struct compression_algorithm: RawRepresentable, Equatable, Sendable {
    public init(rawValue: UInt32) { declared() }
    public var rawValue: UInt32
}

/// https://developer.apple.com/documentation/compression/compression_zlib
public var COMPRESSION_ZLIB: compression_algorithm { declared() }

/// https://developer.apple.com/documentation/compression/compression_status
public struct compression_status: RawRepresentable, Equatable, Sendable {
    public init(rawValue: Int32) { declared() }
    public var rawValue: Int32
}

/// https://developer.apple.com/documentation/compression/compression_status_ok
public var COMPRESSION_STATUS_OK: compression_status { declared() }
/// https://developer.apple.com/documentation/compression/compression_status_end
public var COMPRESSION_STATUS_END: compression_status { declared() }

/// https://developer.apple.com/documentation/compression/compression_stream_init(_:_:_:)
@discardableResult
public func compression_stream_init(
    _ stream: UnsafeMutablePointer<compression_stream>, _ operation: compression_stream_operation,
    _ algorithm: compression_algorithm
) -> compression_status { declared() }

/// https://developer.apple.com/documentation/compression/compression_stream_process(_:_:)
@discardableResult
public func compression_stream_process(
    _ stream: UnsafeMutablePointer<compression_stream>, _ flags: Int32
) -> compression_status { declared() }

/// https://developer.apple.com/documentation/compression/compression_stream_destroy(_:)
@discardableResult
public func compression_stream_destroy(
    _ stream: UnsafeMutablePointer<compression_stream>
) -> compression_status { declared() }

func declared() -> Never { preconditionFailure("This module is for the type checker alone.") }
