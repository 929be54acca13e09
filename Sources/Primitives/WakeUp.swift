import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Ends another thread's `poll`, from any thread. Its descriptors stay open as long as anybody holds it.
package final class WakeUp: Sendable {
    /// Readable after `signal`, until `clear`.
    package let descriptor: Int32
    private let input: Int32

    /// Throws `POSIXError` when this process may open no more files.
    package init() throws(POSIXError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE)
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (descriptor, input) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(input)
    }

    package func signal() {
        var byte: UInt8 = 0
        // A full pipe wakes as well.
        _ = write(input, &byte, 1)
    }

    package func clear() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) == buffer.count {}
        }
    }
}
