import CurlTransport
import NetworkInterception

/// The inspector's page of the demonstration. It shows the requests of the devices' apps to the store and the server,
/// and the decisions of their hubs.
final class DemoInspector: Sendable {
    let interceptor: Interceptor
    private let service: InspectorService

    /// Throws `UsageError` when no address can be bound.
    init() throws {
        interceptor = Interceptor([])
        interceptor.run()
        service = try InspectorService(interceptor, title: "souk demo", transport: CurlTransport.platformDefault())
    }

    /// Prints the address, on standard error if standard output is for JSON.
    func announce(isQuiet: Bool) throws(OutputFailure) {
        let line: TerminalText = "The inspector is at \(service.address)"
        if isQuiet { Terminal.note(line) } else { try Terminal.print(line) }
    }

    func follow(_ device: DemoDevice) { service.page.follow(device.trace) }

    func close() async { await service.close() }
}
