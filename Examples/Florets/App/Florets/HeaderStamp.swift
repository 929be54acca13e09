import HTTPCore
import NetworkInterception
import Primitives

/// Adds a header to every request, so that a server's log shows the run of the app.
final class HeaderStamp: InterceptableFloret {
    let summary: String? = "Adds X-Run to every request."
    private let run: String
    private let isOn = Locked(true)

    init(run: String) { self.run = run }

    var enabled: Bool {
        get { isOn.withLock { $0 } }
        set { isOn.withLock { $0 = newValue } }
    }

    func willRequest(_ record: Record) async -> Record {
        var record = record
        record.designatedRequest.headers["X-Run"] = run
        return record
    }
}
