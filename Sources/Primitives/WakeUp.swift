import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Ends the `poll` of another thread, from any thread. Its descriptors are closed when the object is released.
package final class WakeUp: Sendable {
    /// A descriptor that is readable after `signal`, until `clear`. A signal to a full pipe is lost, but a full pipe is
    /// readable anyway.
    package let descriptor: Int32
    private let input: Int32

    /// Creates the pipe.
    ///
    /// - Throws: `POSIXError` when this process cannot open more files.
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
        _ = write(input, &byte, 1)
    }

    package func clear() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) == buffer.count {}
        }
    }
}
