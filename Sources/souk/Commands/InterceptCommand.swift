import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import NetworkInterception
import Primitives

/// `souk intercept`: florets in front of one server, for programs in any language.
enum InterceptCommand {
    static let command = Command(
        words: ["intercept"], summary: "watch and change what any program says to one server",
        options: [
            .init(
                name: "listen", value: "HOST:PORT",
                help: "where programs send their requests; port 0 lets the system choose"),
            .init(
                name: "upstream", value: "URL",
                help: "the server they are meant for; a path at its end stands before theirs"),
            .init(
                name: "florets", value: "FILE", help: "a JSON file of florets; without one everything passes unchanged"),
            .init(
                name: "records", value: "PATH", help: "keep what passes in this file (memory), for souk inspect as well"
            ),
            .init(
                name: "inspector-port", value: "N",
                help: "where the inspector listens on 127.0.0.1; 0, the default, lets the system choose"),
            .init(
                name: "host-name", value: "NAME", repeats: true,
                help: "answer under this name as well, beside its address, localhost and the upstream's name"),
            .init(
                name: "body-memory", value: "MIB",
                help: "memory for the bodies of all requests together: for records, and as much for uploads (64)"),
            .init(name: "preserve-host", help: "let the server see the Host the program sent, not its own name"),
            .stopWithParent,
        ],
        details: """
            The first line of standard output is one JSON object: where it listens, and the address of the inspector.
            It stops on SIGTERM and SIGINT. Where bodies on their way take more than --body-memory, they pass as ever, uploads by
            way of temporary files, and are recorded as cut. HTTP/1.1 to both sides; a WebSocket's handshake is refused with 501, other
            upgrades are left out. Secrets are taken out of what is recorded, never out of what passes. The file of florets
            is described in Documentation/Formats.md.
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
        let proxyDoor = try ServiceListener(listening)
        let (inspector, interceptor, records) = try await proxyDoor.whileStarting {
            try checkUpstream(
                upstream, isNot: listening.host, port: URL(string: proxyDoor.url)?.port, over: transport)
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
            // A page that reaches the proxy under a name of its own would read the upstream. Which other sites may ask
            // the upstream is its own to say, as it is without the proxy.
            let gate = LocalRequestGate(
                boundTo: listening.host, hostNames: hostNames + [URL(string: upstream)?.host()].compactMap(\.self))
            proxyDoor.open(to: gate.guarding(proxy, checksSite: false))
            return (inspector, interceptor, records)
        }
        let announced = Terminal.announce([
            "listening": .string(proxyDoor.url), "inspector": .string(inspector.address), "upstream": .string(upstream),
        ])
        if announced.isWritten {
            await stop.wait()
            inspector.repeatAddress()
        }
        await proxyDoor.close()
        await inspector.close()
        await interceptor.settled()
        await records?.close()
        await transport.shutdown()
        try announced.check()
        return .success
    }

    /// Throws `Misuse` for an upstream that is none, or is this very proxy under whatever name: each request would come
    /// back until no descriptor is left.
    private static func checkUpstream(
        _ upstream: String, isNot host: String, port: Int?, over transport: any HTTPTransport
    ) throws {
        do {
            _ = try ReverseProxy(upstream: upstream, over: transport)
        } catch let error as HTTPError {
            throw Misuse("--upstream: \(error.reason)")
        }
        guard let url = URLComponents(string: upstream), let name = url.host else { return }
        guard port == url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) else { return }
        let target = HostAddresses(of: name.trimmingCharacters(in: ["[", "]"]))
        guard !target.reach(listenerAt: HostAddresses(of: host)) else {
            throw Misuse("--upstream is where this proxy listens itself; name the server behind it")
        }
    }

    /// `HOST:PORT`; an IPv6 address stands in brackets.
    private static func address(_ text: String) throws -> HTTPListener.Configuration {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port), colon != text.startIndex
        else { throw Misuse("--listen is HOST:PORT such as 127.0.0.1:8080, not \(text.quoted)") }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        var configuration = HTTPListener.Configuration(host: String(host), port: port)
        // The server behind has the say about its limits; these only keep this process alive.
        configuration.maximumBodyBytes = 256 << 20
        configuration.maximumHeaderBytes = 256 << 10
        configuration.bodyTimeout = .seconds(600)
        // Answers may stream for ever.
        configuration.stopGracePeriod = .seconds(2)
        return configuration
    }

    private static func florets(_ path: String?) throws -> [any Floret] {
        guard let path else { return [] }
        do {
            return try FloretsFile(contentsOfFile: path).florets
        } catch let error as InterceptionError {
            throw path.isPlausiblePath ? Misuse(error.reason) : Misuse(path: path, "the file cannot be read")
        }
    }

    /// The file that records are kept in; made if there is none.
    private static func records(_ path: String?) throws -> SQLiteRecordStorage? {
        guard let path else { return nil }
        do {
            return try SQLiteRecordStorage(path: path) { Terminal.log("souk: \($0.reason)") }
        } catch {
            throw Misuse("\(path): \(error.reason)")
        }
    }
}
