import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import NetworkInterception
import Primitives

/// `souk intercept`: a proxy with florets in front of one server, for programs in any language.
enum InterceptCommand {
    static let command = Command(
        words: ["intercept"], summary: "Record and change the HTTP traffic between any program and one server",
        options: [
            .init(
                name: "listen", value: "HOST:PORT",
                help: "the address for requests of programs; port 0 lets the system choose"),
            .init(
                name: "upstream", value: "URL",
                help: "the server that gets the requests; the path of this URL is put before the path of each request"),
            .init(
                name: "florets", value: "FILE", help: "a JSON file of florets; without it, traffic passes unchanged"),
            .init(
                name: "records", value: "PATH", help: "keep records in this file (memory), which souk inspect can show"
            ),
            .init(
                name: "inspector-port", value: "N",
                help: "the inspector's port on 127.0.0.1; 0, the default, lets the system choose"),
            .init(
                name: "host-name", value: "NAME", repeats: true,
                help: "also accept this host name, besides the address, localhost and the upstream's name"),
            .init(
                name: "body-memory", value: "MIB",
                help: "memory in MiB for the bodies of records, and as much again for uploads (64)"),
            .init(name: "preserve-host", help: "pass the Host header of the program to the server"),
            .stopWithParent,
        ],
        details: """
            The first line of standard output is one JSON object: the proxy's URL, and the address of the inspector.
            Stops on SIGTERM and SIGINT. Bodies that exceed --body-memory are passed on completely, and truncated in the
            records; uploads go through temporary files. Both sides use HTTP/1.1: a WebSocket's handshake is refused with
            501, other upgrades are removed. Secrets are removed from records, never from the traffic. The file of
            florets is described in Documentation/Formats.md.
            """
    ) { arguments in
        var listening = try Self.address(try arguments.required("listen"))
        let upstream = try arguments.required("upstream")
        let hostNames = try arguments.hostNames()
        var configuration = Interceptor.Configuration.standard
        if let mebibytes = try arguments.integer("body-memory", in: 0...1 << 20) {
            configuration.maximumHeldBytes = mebibytes << 20
        }
        configuration.onReport = { Terminal.log("\($0.message)") }
        let florets = try Self.florets(arguments.text("florets"))
        let transport = CurlTransport()
        let stop = try StopSignal(alsoAtEndOfInput: arguments.has("stop-with-parent"))
        listening.maximumHeldBytes = configuration.maximumHeldBytes
        let proxyListener = try ServiceListener(listening)
        let (inspector, interceptor, records) = try await proxyListener.whileStarting {
            try checkUpstream(
                upstream, isNot: listening.host, port: URL(string: proxyListener.url)?.port, over: transport)
            let port = try arguments.integer("inspector-port", in: 0...65535) ?? 0
            let records = try Self.records(arguments.text("records"))
            configuration.storage = records
            let interceptor = Interceptor(florets, configuration: configuration)
            let inspector = try InspectorService(
                interceptor, title: "Traffic to \(upstream)", transport: transport, port: port)
            interceptor.run()
            let proxy = try ReverseProxy(
                upstream: upstream, over: interceptor.transport(wrapping: transport),
                preservesHost: arguments.has("preserve-host"))
            // Against DNS rebinding: a page under another host name could read the upstream.
            let gate = LocalRequestGate(
                boundTo: listening.host, hostNames: hostNames + [URL(string: upstream)?.host()].compactMap(\.self))
            try proxyListener.open(to: gate.guarding(proxy, checksSite: false))
            return (inspector, interceptor, records)
        }
        let announced = Terminal.announce([
            "listening": .string(proxyListener.url), "inspector": .string(inspector.address),
            "upstream": .string(upstream),
        ])
        if announced.isWritten {
            await stop.wait()
            inspector.repeatAddress()
        }
        await proxyListener.close()
        await inspector.close()
        await interceptor.settled()
        await records?.close()
        await transport.shutdown()
        try announced.check()
        return .success
    }

    /// Throws `UsageError` for an invalid upstream, and for an upstream that is this proxy, under any name. Requests
    /// would loop until no descriptor is left.
    private static func checkUpstream(
        _ upstream: String, isNot host: String, port: Int?, over transport: any HTTPTransport
    ) throws {
        do {
            _ = try ReverseProxy(upstream: upstream, over: transport)
        } catch let error as HTTPError {
            throw UsageError("--upstream: \(error.reason)")
        }
        guard let url = URLComponents(string: upstream), let name = url.host else { return }
        guard port == url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) else { return }
        let target = HostAddresses(of: name.trimmingCharacters(in: ["[", "]"]))
        guard !target.reach(listenerAt: HostAddresses(of: host)) else {
            throw UsageError(
                "--upstream is the address where this proxy listens itself; name the server behind the proxy")
        }
    }

    /// Parses `HOST:PORT`; an IPv6 address is in brackets. The grace period is short, because a response can stream
    /// without an end.
    private static func address(_ text: String) throws -> HTTPListener.Configuration {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port), colon != text.startIndex
        else { throw UsageError("--listen is HOST:PORT such as 127.0.0.1:8080, not \(text.quoted)") }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        var configuration = HTTPListener.Configuration(host: String(host), port: port)
        // The upstream enforces its own limits; these only protect this process.
        configuration.maximumBodyBytes = 256 << 20
        configuration.maximumHeaderBytes = 256 << 10
        configuration.bodyTimeout = .seconds(600)
        configuration.stopGracePeriod = .seconds(2)
        return configuration
    }

    private static func florets(_ path: String?) throws -> [any Floret] {
        guard let path else { return [] }
        do {
            return try FloretsFile(contentsOfFile: path).florets
        } catch let error as InterceptionError {
            throw path.isPlausiblePath ? UsageError(error.reason) : UsageError(path: path, "the file cannot be read")
        }
    }

    /// Opens the file of records, and creates it if it is missing.
    private static func records(_ path: String?) throws -> SQLiteRecordStorage? {
        guard let path else { return nil }
        do {
            return try SQLiteRecordStorage(path: path) { Terminal.log("souk: \($0.reason)") }
        } catch {
            throw UsageError("\(path): \(error.reason)")
        }
    }
}
