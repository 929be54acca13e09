import CurlTransport
import HTTPListener
import NetworkInterception

func inspected(_ interceptor: Interceptor) async throws {
    var configuration = InspectorPage.Configuration()
    configuration.transport = CurlTransport()
    let page = InspectorPage(interceptor, configuration: configuration)
    let listener = HTTPListener(handler: page)
    print("The inspector is at \(try listener.start())/")
    try await Task.sleep(for: .seconds(60))
    page.close()
    await listener.stop()
}
