import Foundation

/// How much memory this process may use.
package enum ProcessMemory {
    /// Bytes: the machine's, or what the container it runs in leaves of them (cgroups 1 and 2).
    package static func limit(
        physical: UInt64 = ProcessInfo.processInfo.physicalMemory,
        limitFiles: [String] = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
    ) -> UInt64 {
        limitFiles.compactMap { path in
            // The file says "max" where there is no limit.
            (try? String(contentsOfFile: path, encoding: .utf8)).flatMap {
                UInt64($0.trimmingCharacters(in: .whitespacesAndNewlines))
            }
        }.reduce(physical, min)
    }
}
