import SimulatorControl
import CurlTransport
import StoreKitAdapter
import StoreModel

extension SimulatorClock {
    /// Returns a started clock that follows the simulator that `--clock` names; `nil` without the option.
    ///
    /// Throws `UsageError` when the URL does not answer with a time.
    static func started(by arguments: Arguments) async throws -> SimulatorClock? {
        guard let url = arguments.text("clock") else { return nil }
        let clock = SimulatorClock(url: url, transport: CurlTransport.platformDefault())
        do {
            try await clock.start()
        } catch let error as StoreFailure {
            throw UsageError("--clock \(url.urlWithoutSecrets): \(error.reason)")
        }
        return clock
    }
}
