import HTTPCore
import HTTPListener
import Primitives

/// A server on loopback with the times of high water. It fails while `isBroken` is true.
final class InfoServer: Sendable {
    private let listener: HTTPListener
    private let broken: Locked<Bool>
    let url: String

    init() throws {
        let broken = Locked(false)
        var router = Router()
        router.on(.get, "/info/{place}") { _, path in
            if broken.withLock({ $0 }) { return .ready(HTTPResponse(status: 500)) }
            return .ready(
                HTTPResponse(json: ["place": .string(path["place"]), "text": "high water at 14:05"]))
        }
        self.broken = broken
        listener = HTTPListener(handler: router)
        url = try listener.start().url
    }

    var isBroken: Bool {
        get { broken.withLock { $0 } }
        set { broken.withLock { $0 = newValue } }
    }

    func stop() async { await listener.stop() }
}
