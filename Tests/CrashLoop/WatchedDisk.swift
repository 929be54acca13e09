import CDiskFuse
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Intercepts this process's operations that change a file or a folder (Linux only).
enum WatchedDisk {
    private struct Fault {
        var operationsLeft: Int
        let error: Int32
        var hasBegun = false
    }

    private static let fuse = Locked<Fuse?>(nil)
    private static let fault = Locked<Fault?>(nil)

    /// Counts an operation with the fuse before each disk operation, and another one in the middle of a write.
    static func countOperations(with fuse: Fuse) {
        self.fuse.withLock { $0 = fuse }
        souk_disk_watch { _ in
            WatchedDisk.fuse.withLock { $0 }?.countOperation() == true ? Int32(SOUK_DISK_DIE) : 0
        }
    }

    /// Fails the operation `first` and all later ones with an error number. A full disk still allows removals.
    static func fail(from first: Int, with error: Int32) {
        fault.withLock { $0 = Fault(operationsLeft: first - 1, error: error) }
        souk_disk_watch { removes in
            WatchedDisk.fault.withLock { fault in
                guard var now = fault, removes == 0 || now.error != ENOSPC else { return 0 }
                now.operationsLeft -= 1
                if now.operationsLeft < 0 { now.hasBegun = true }
                fault = now
                return now.hasBegun ? now.error : 0
            }
        }
    }

    /// Ends the failures. Returns whether any operation has failed.
    static func recover() -> Bool {
        souk_disk_watch(nil)
        return fault.withLock { $0 }?.hasBegun ?? false
    }

    /// Limits the size of the files that this process writes, with `RLIMIT_FSIZE`.
    static func limitFiles(to bytes: UInt64) {
        // Otherwise the signal ends the process.
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit()
        getrlimit(fileSizeLimit, &limit)
        limit.rlim_cur = rlim_t(bytes)
        setrlimit(fileSizeLimit, &limit)
    }

    #if canImport(Glibc)
        private static let fileSizeLimit = Int32(RLIMIT_FSIZE.rawValue)
    #else
        private static let fileSizeLimit = RLIMIT_FSIZE
    #endif
}
