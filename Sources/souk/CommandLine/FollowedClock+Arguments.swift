import SimulatorControl
import CurlTransport
import StoreKitAdapter
import StoreModel

extension FollowedClock {
    /// Returns a started clock that follows the simulator that `--clock` names; `nil` without the option.
    ///
    /// Throws `Misuse` when the URL does not answer with a time.
    static func started(by arguments: Arguments) async throws -> FollowedClock? {
        guard let url = arguments.text("clock") else { return nil }
        let clock = FollowedClock(url: url, transport: CurlTransport.platformDefault())
        do {
            try await clock.start()
        } catch let error as StoreFailure {
            throw Misuse("--clock \(url.urlWithoutSecrets): \(error.reason)")
        }
        return clock
    }
}
