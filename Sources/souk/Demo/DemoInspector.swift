import CurlTransport
import NetworkInterception

/// The demonstration's own traffic on a page: what the devices' apps ask of store and server, through the one line that
/// attaches an interceptor to a transport, and what their hubs decide beside it.
final class DemoInspector: Sendable {
    let interceptor: Interceptor
    private let service: InspectorService

    /// Throws `Misuse` when no address can be listened on.
    init() throws {
        interceptor = Interceptor([])
        interceptor.run()
        service = try InspectorService(interceptor, title: "souk demo", transport: CurlTransport.platformDefault())
    }

    /// Says where it is, on standard error where standard output is for JSON.
    func announce(isQuiet: Bool) throws(OutputFailure) {
        let line: TerminalText = "The inspector is at \(service.address)"
        if isQuiet { Terminal.note(line) } else { try Terminal.print(line) }
    }

    func follow(_ device: DemoDevice) { service.page.follow(device.trace) }

    func close() async { await service.close() }
}
