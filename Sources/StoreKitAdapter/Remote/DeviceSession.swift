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
                    // Removes the failed sign-in here, because all callers can have left: the next request signs in.
                    signIn = nil
                    throw error
                }
            }
        signIn = task
        return try await cancellableWait { try await task.value }
    }
}
