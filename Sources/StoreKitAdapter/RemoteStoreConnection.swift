import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A device at an App Store simulator, over HTTP (`StoreWire`).
///
/// It signs in to `account` when it is first used and listens at once. While the simulator is away, questions throw
/// `StoreFailure.unreachable` and listening is taken up again with growing pauses; nothing that happened is missed.
public final class RemoteStoreConnection: StoreConnection {
    public struct Configuration: Sendable {
        /// Where the simulator listens, for example `http://127.0.0.1:8080`.
        public var url: String
        /// The store's account, which must exist.
        public var account: String
        public var transport: any HTTPTransport
        public var sleep: @Sendable (Duration) async throws -> Void
        /// How long one long poll may wait at the simulator.
        public var pollWait: Duration
        /// The deadline of every other question.
        public var timeout: Duration

        public init(
            url: String, account: String, transport: any HTTPTransport,
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
            pollWait: Duration = .seconds(20), timeout: Duration = .seconds(10)
        ) {
            self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
            self.account = account
            self.transport = transport
            self.sleep = sleep
            self.pollWait = pollWait
            self.timeout = timeout
        }
    }

    public let updates: AsyncStream<StoreUpdate>
    private let configuration: Configuration
    private let device: DeviceSession
    private let listener: Task<Void, Never>

    public init(configuration: Configuration) {
        self.configuration = configuration
        let device = DeviceSession(configuration: configuration)
        self.device = device
        let (updates, continuation) = AsyncStream.makeStream(of: StoreUpdate.self)
        self.updates = updates
        listener = Task {
            await Self.listen(to: device, configuration: configuration, into: continuation)
            continuation.finish()
        }
    }

    deinit { listener.cancel() }

    public func canMakePayments() async throws -> Bool { try await device.current().canMakePayments }

    public func storefront() async throws -> Storefront {
        try await ask(.get, try await devicePath(), as: StoreWire.Device.self).storefront
    }

    public func products(_ ids: Set<ProductID>) async throws -> ProductAnswer {
        // Asking for no id would ask for all products.
        guard !ids.isEmpty else { return ProductAnswer(products: []) }
        let query = ids.sorted().map { "id=\(PercentEncoding.encode($0.rawValue))" }.joined(separator: "&")
        return try await ask(.get, try await devicePath() + "/products?\(query)", as: ProductAnswer.self)
    }

    public func add(_ payment: Payment) async throws {
        _ = try await ask(.post, try await devicePath() + "/payments", payment, as: StoreWire.Accepted.self)
    }

    public func finish(_ transaction: TransactionID) async throws {
        let id = PercentEncoding.encode(transaction.rawValue)
        _ = try await ask(.post, try await devicePath() + "/transactions/\(id)/finish", as: JSONValue.self)
    }

    public func restore() async throws -> [StoreTransaction] {
        try await ask(.post, try await devicePath() + "/restore", as: StoreWire.Transactions.self).transactions
    }

    /// The simulator hands out signed transactions, no receipts.
    public func receipt() async throws -> [UInt8]? { nil }

    public func close() async {
        listener.cancel()
        await listener.value
    }

    private func devicePath() async throws -> String { Self.path(of: try await device.current()) }

    private static func path(of device: StoreWire.Device) -> String {
        "/devices/\(PercentEncoding.encode(device.deviceID))"
    }

    private func ask<Answer: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, _ body: (any Encodable & Sendable)? = nil, as type: Answer.Type
    ) async throws -> Answer {
        try await configuration.ask(method, path, body, as: type, timeout: configuration.timeout)
    }

    private static func listen(
        to device: DeviceSession, configuration: Configuration, into updates: AsyncStream<StoreUpdate>.Continuation
    ) async {
        var cursor: Int64?
        var failures = 0
        while !Task.isCancelled {
            var signedIn: StoreWire.Device?
            do {
                let current = try await device.current()
                signedIn = current
                let after = cursor.map { "&after=\($0)" } ?? ""
                let answer = try await configuration.ask(
                    .get, "\(path(of: current))/updates?wait=\(configuration.pollWait.inSeconds)\(after)", nil,
                    as: StoreWire.Updates.self, timeout: configuration.pollWait + configuration.timeout)
                for update in answer.updates.compactMap(\.storeUpdate) { updates.yield(update) }
                cursor = answer.cursor
                failures = 0
            } catch {
                if let signedIn, (error as? StoreFailure)?.code == .unknownDevice {
                    // The simulator began anew: nothing it said before counts any more.
                    await device.forget(signedIn)
                    cursor = nil
                }
                failures += 1
                try? await configuration.sleep(.milliseconds(100 << min(failures - 1, 6)))
            }
        }
    }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension StoreFailure.Code {
    fileprivate static let unknownDevice = Self(rawValue: "unknownDevice")
}

/// The device's sign-in, made once and shared by all who ask at the same time.
private actor DeviceSession {
    private let configuration: RemoteStoreConnection.Configuration
    private var signIn: Task<StoreWire.Device, any Error>?

    init(configuration: RemoteStoreConnection.Configuration) { self.configuration = configuration }

    /// The next question signs in again, unless somebody has done so meanwhile.
    func forget(_ device: StoreWire.Device) async {
        guard let task = signIn, let known = try? await task.value, known == device, signIn == task else { return }
        signIn = nil
    }

    func current() async throws -> StoreWire.Device {
        let task =
            signIn
            ?? Task { [configuration] in
                try await configuration.ask(
                    .post, "/devices", StoreWire.SignIn(account: configuration.account), as: StoreWire.Device.self,
                    timeout: configuration.timeout)
            }
        signIn = task
        do {
            return try await abandonable { try await task.value }
        } catch {
            // A caller that left says nothing about the sign-in that others wait for.
            if signIn == task, !Task.isCancelled { signIn = nil }
            throw error
        }
    }
}

extension RemoteStoreConnection.Configuration {
    fileprivate func ask<Answer: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, _ body: (any Encodable & Sendable)?, as type: Answer.Type,
        timeout: Duration
    ) async throws -> Answer {
        var request = HTTPRequest(method: method, url: "\(url)/store/v1\(path)", timeout: timeout)
        if let body {
            request.headers["Content-Type"] = "application/json"
            request.body = .bytes(try WireJSON.encode(body))
        }
        let status: Int
        let bytes: [UInt8]
        do {
            let response = try await transport.send(request)
            status = response.status
            bytes = try await response.body.collect(upTo: 16 << 20)
        } catch let error as HTTPError where error.code == .cancelled {
            throw CancellationError()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw StoreFailure(code: .unreachable, reason: "The store cannot be reached at \(url): \(error)")
        }
        guard (200..<300).contains(status) else {
            let problem = HTTPProblem(parsing: bytes)
            throw StoreFailure(
                code: problem.map { .init(rawValue: $0.code) } ?? .unknown,
                reason: problem?.detail ?? "The store answered with status \(status).")
        }
        do {
            return try WireJSON.decode(type, from: bytes)
        } catch {
            throw StoreFailure(code: .unknown, reason: "The store's answer is not of the expected form: \(error)")
        }
    }
}

extension StoreWire.Update {
    /// The update as the port has it; `nil` for a state that this version does not know.
    public var storeUpdate: StoreUpdate? {
        let known: StoreUpdate.State? =
            switch (state, transaction) {
            case ("purchased", let transaction?): .purchased(transaction, alreadyOwned: alreadyOwned ?? false)
            case ("revoked", let transaction?): .revoked(transaction)
            case ("renewalChanged", let transaction?): .renewalChanged(transaction)
            case ("deferred", _): .deferred
            case ("failed", _): .failed(failure ?? StoreFailure(code: .unknown, reason: "The store gave no reason."))
            default: nil
            }
        return known.map { StoreUpdate(paymentID: paymentID, productID: productID, state: $0) }
    }

    public init?(_ update: StoreUpdate) {
        self.init(paymentID: update.paymentID, productID: update.productID, state: "")
        switch update.state {
        case .purchasing: return nil
        case .purchased(let transaction, let alreadyOwned):
            state = "purchased"
            self.transaction = transaction
            self.alreadyOwned = alreadyOwned ? true : nil
        case .deferred: state = "deferred"
        case .failed(let failure):
            state = "failed"
            self.failure = failure
        case .revoked(let transaction):
            state = "revoked"
            self.transaction = transaction
        case .renewalChanged(let transaction):
            state = "renewalChanged"
            self.transaction = transaction
        }
    }
}
