import CurlTransport
import HTTPCore
import HTTPListener

/// Runs `body` with the base URL of a server for `handler` on the loopback interface, then stops the server. With a
/// certificate the server uses TLS. `configure` changes other settings.
package func withLoopbackServer<Value>(
    _ handler: any HTTPHandler, certificate: LoopbackCertificate? = nil, stopGracePeriod: Duration = .seconds(10),
    configure: (inout HTTPListener.Configuration) -> Void = { _ in }, _ body: (String) async throws -> Value
) async throws -> Value {
    var configuration = HTTPListener.Configuration()
    configuration.tls = certificate.map { .init(certificateFile: $0.certificate, privateKeyFile: $0.key) }
    configuration.stopGracePeriod = stopGracePeriod
    configuration.headerTimeout = .seconds(50)
    configuration.bodyTimeout = .seconds(50)
    configure(&configuration)
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

/// Returns a transport with its own connections, which trusts `certificateAuthorityFile` for https.
package func loopbackTransport(trusting certificateAuthorityFile: String? = nil) -> any HTTPTransport {
    var configuration = CurlTransport.Configuration()
    configuration.timeout = .seconds(50)
    configuration.connectTimeout = .seconds(50)
    configuration.certificateAuthorityFile = certificateAuthorityFile
    return CurlTransport(configuration: configuration)
}
