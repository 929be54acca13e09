import CurlTransport
import HTTPCore
import HTTPListener

/// Runs `body` with the base URL of a real server for `handler` on loopback, then stops the server.
public func withLoopbackServer<Value>(
    _ handler: any HTTPHandler, stopGracePeriod: Duration = .seconds(10), _ body: (String) async throws -> Value
) async throws -> Value {
    var configuration = HTTPListener.Configuration()
    configuration.stopGracePeriod = stopGracePeriod
    let listener = HTTPListener(handler: handler, configuration: configuration)
    let url = try listener.start().url
    do {
        let value = try await body(url)
        await listener.stop()
        return value
    } catch {
        await listener.stop()
        throw error
    }
}

/// A transport of its own connections, which trusts `certificateAuthorityFile` for https.
public func loopbackTransport(trusting certificateAuthorityFile: String? = nil) -> any HTTPTransport {
    var configuration = CurlTransport.Configuration()
    configuration.certificateAuthorityFile = certificateAuthorityFile
    return CurlTransport(configuration: configuration)
}
