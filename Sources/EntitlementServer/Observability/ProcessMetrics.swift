import Foundation

/// The metrics of the process, with the names of Prometheus' own clients. They are read from `/proc`, so they have no
/// value on other systems than Linux.
enum ProcessMetrics {
    static let all: [ServerMetrics.Gauge] = [
        .init(name: "process_cpu_seconds_total", help: "Processor time of the process.", kind: .counter) {
            let status = try ProcessStatus()
            return [("", Double(status[.userTicks] + status[.systemTicks]) / ticksPerSecond)]
        },
        .init(name: "process_resident_memory_bytes", help: "Memory of the process in RAM.") {
            [("", Double(try ProcessStatus()[.residentPages]) * Double(sysconf(Int32(_SC_PAGESIZE))))]
        },
        .init(name: "process_virtual_memory_bytes", help: "Virtual memory of the process.") {
            [("", Double(try ProcessStatus()[.virtualBytes]))]
        },
        .init(name: "process_threads", help: "Threads of the process.") {
            [("", Double(try ProcessStatus()[.threads]))]
        },
        .init(name: "process_start_time_seconds", help: "Start of the process, in seconds since 1970.") {
            try start.get().map { [("", $0)] } ?? []
        },
        .init(name: "process_open_fds", help: "Open file descriptors.") {
            [("", Double(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count))]
        },
        .init(name: "process_max_fds", help: "Limit of open file descriptors.") {
            let limit = try lines("/proc/self/limits").first { $0.hasPrefix("Max open files") }
            let soft = limit?.dropFirst("Max open files".count).split(separator: " ").first
            return soft.flatMap { Double($0) }.map { [("", $0)] } ?? []
        },
    ]

    /// The start of the process, computed once, because it must not change. Under systemd `/proc/stat`, which has the
    /// time of the boot, may be hidden. The clock is the machine's, because the process belongs to the machine, not to the
    /// store.
    private static let start = Result {
        let ticks = Double(try ProcessStatus()[.startTicks])
        let boot = Date().timeIntervalSince1970 - ProcessInfo.processInfo.systemUptime
        return ticks > 0 ? boot + ticks / ticksPerSecond : nil as Double?
    }

    private static var ticksPerSecond: Double { Double(max(1, sysconf(Int32(_SC_CLK_TCK)))) }

    fileprivate static func lines(_ path: String) throws -> [Substring] {
        // A file in /proc has no size, so it is read until its end.
        guard let file = FileHandle(forReadingAtPath: path) else { throw CocoaError(.fileReadNoSuchFile) }
        defer { try? file.close() }
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
    }
}

/// The numbers of `/proc/self/stat` (proc(5)).
private struct ProcessStatus {
    /// A field, by its position after the name of the program.
    enum Field: Int { case userTicks = 11, systemTicks, threads = 17, startTicks = 19, virtualBytes, residentPages }

    private let fields: [Substring]

    init() throws {
        // The name of the program is in parentheses, and can contain spaces and parentheses.
        let line = try ProcessMetrics.lines("/proc/self/stat").joined(separator: "\n")
        fields = line.lastIndex(of: ")").map { line[line.index(after: $0)...].split(separator: " ") } ?? []
    }

    subscript(field: Field) -> UInt64 {
        field.rawValue < fields.count ? UInt64(fields[field.rawValue]) ?? 0 : 0
    }
}
