import InAppStore

func send(_ entry: LogEntry, to write: (String) -> Void) {
    write("\(entry.level.rawValue) \(entry.category): \(entry.message)")
}

func withOwnLog(_ configuration: inout StoreConfiguration, write: @escaping @Sendable (String) -> Void) {
    configuration.log = { entry in send(entry, to: write) }
}
