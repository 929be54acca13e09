import Foundation

/// The memory that this process may use.
package enum ProcessMemory {
    /// Returns the limit in bytes: the memory of the machine, or the limit of the container (cgroups 1 and 2) if that
    /// is lower.
    package static func limit(
        physical: UInt64 = ProcessInfo.processInfo.physicalMemory,
        limitFiles: [String] = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
    ) -> UInt64 {
        limitFiles.compactMap { path in
            (try? String(contentsOfFile: path, encoding: .utf8)).flatMap {
                UInt64($0.trimmingCharacters(in: .whitespacesAndNewlines))
            }
        }.reduce(physical, min)
    }
}
