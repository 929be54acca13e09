import StoreModel

/// The device's sign-in, made once and shared by concurrent requests.
actor DeviceSession {
    private let configuration: RemoteStoreConnection.Configuration
    private(set) var signIn: Task<StoreWire.Device, any Error>?

    init(configuration: RemoteStoreConnection.Configuration) { self.configuration = configuration }

    /// Lets the next request sign in again, unless another request has done so meanwhile.
    func forget(_ device: StoreWire.Device) async {
        guard let task = signIn, let known = try? await task.value, known == device, signIn == task else { return }
        signIn = nil
    }

    func current() async throws -> StoreWire.Device {
        let task =
            signIn
            ?? Task { [configuration] in
                do {
                    return try await configuration.send(
                        .post, "/devices", StoreWire.SignIn(account: configuration.account),
                        as: StoreWire.Device.self, timeout: configuration.timeout)
                } catch {
                    // Removed here, because no caller may be waiting any more. The next request signs in again.
                    signIn = nil
                    throw error
                }
            }
        signIn = task
        return try await cancellableWait { try await task.value }
    }
}
