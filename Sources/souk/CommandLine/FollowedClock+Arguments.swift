import SimulatorControl
import CurlTransport
import StoreKitAdapter
import StoreModel

extension FollowedClock {
    /// The time of the simulator that `--clock` names, followed already; `nil` without one.
    ///
    /// Throws `Misuse` when nothing there tells the time.
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
