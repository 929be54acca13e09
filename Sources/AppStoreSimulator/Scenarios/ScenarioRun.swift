import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreKitAdapter
import StoreModel

extension Scenario {
    /// Runs the scenario in a store of its own.
    ///
    /// - Returns: The results of all steps.
    /// - Throws: An error if the store cannot be opened, and `CancellationError`.
    public func run() async throws -> Report { try await run { _ in } }

    /// Runs the scenario, and calls `watch` after each step.
    func run(watch: (Report.Step) -> Void) async throws -> Report {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("souk-scenario-\(UUID().uuidString.lowercased())")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let receiver = ScenarioReceiver()
        var configuration = SimulatedAppStore.Configuration(
            catalogue: catalogue, bundleID: bundleID, dataDirectory: folder.path)
        configuration.timeRate = .frozen
        configuration.start = start
        configuration.seed = seed
        configuration.notificationTransport = receiver
        configuration.notificationsURL = Self.notificationsURL
        configuration.playCatalogue = playCatalogue
        if playCatalogue != nil { configuration.playNotificationsURL = Self.playNotificationsURL }
        let store = try await SimulatedAppStore.open(configuration)
        let report: Report
        do {
            for setting in settings { try await store.set(setting.setting, to: setting.value) }
            report = try await run(store, receiver, watch: watch)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        return report
    }

    /// Opens the server, if the scenario has one, and runs the steps.
    private func run(
        _ store: SimulatedAppStore, _ receiver: ScenarioReceiver, watch: (Report.Step) -> Void
    ) async throws -> Report {
        guard let server else { return try await run(store, receiver, nil, watch: watch) }
        let opened = try await server.type.open(server.settings, for: store)
        receiver.connect(to: opened.handler)
        let report: Report
        do { report = try await run(store, receiver, opened, watch: watch) } catch {
            await opened.close()
            throw error
        }
        await opened.close()
        return report
    }

    private func run(
        _ store: SimulatedAppStore, _ receiver: ScenarioReceiver, _ server: (any ScenarioServer)?,
        watch: (Report.Step) -> Void
    ) async throws -> Report {
        var run = try ScenarioRun(store, receiver, server)
        var report = Report(file: file, name: name, steps: [])
        for step in steps {
            try Task.checkCancellation()
            report.steps.append(try await run.perform(step))
            if let done = report.steps.last { watch(done) }
        }
        return report
    }
}

/// The state of a running scenario.
private struct ScenarioRun {
    private let store: SimulatedAppStore
    private let receiver: ScenarioReceiver
    private let handler: any HTTPHandler
    private let server: (any ScenarioServer)?
    private let key: AppStoreConnectKey
    /// The ids of transactions and devices, by the names of steps.
    private var names: [String: String] = [:]
    /// The notifications and attempts that were already compared. Each is compared once.
    private var seen: Set<ReportedItem> = []
    private var isStopped = false

    private enum ReportedItem: Hashable {
        case notification(Int64)
        case attempt(Int64, Int)
        case playNotification(Int64)
        case playAttempt(Int64, Int)
    }

    private static let answerLimit = 256 << 20

    init(_ store: SimulatedAppStore, _ receiver: ScenarioReceiver, _ server: (any ScenarioServer)?) throws {
        self.store = store
        self.receiver = receiver
        self.server = server
        handler = store.handler
        let api = store.summary.serverAPI
        key = AppStoreConnectKey(
            try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: api.privateKey)))), id: api.keyID,
            issuerID: api.issuerID, bundleID: store.summary.bundleID)
    }

    /// Runs one step, or skips it after a failed action.
    mutating func perform(_ step: ScenarioStep) async throws -> Scenario.Report.Step {
        let begin = ContinuousClock.now
        let outcome: Scenario.Report.Outcome
        if isStopped {
            outcome = .skipped
        } else {
            let differences = try await differences(of: step)
            outcome = differences.isEmpty ? .passed : .failed(differences)
        }
        let length = (ContinuousClock.now - begin).components
        return Scenario.Report.Step(
            pointer: step.pointer, title: step.title, note: step.note, outcome: outcome,
            seconds: Double(length.seconds) + Double(length.attoseconds) / 1e18)
    }

    private mutating func differences(of step: ScenarioStep) async throws -> [Scenario.Report.Difference] {
        switch step.action {
        case .receiver(let script):
            receiver.follow(script)
            return []
        case .realtime(let answer):
            receiver.answerRealtimeRequests(answer)
            return []
        case .calls(let calls):
            for call in calls {
                let result = try await result(of: step) { try await send(try call.request(names, token: token)) }
                if let lines = end(step, result) {
                    return [.init(pointer: step.pointer, subject: "the store", lines: lines)]
                }
            }
            try await deliver()
            return []
        case .present(let presentation):
            let result = try await result(of: step) { try await send(presentation) }
            if let lines = end(step, result) {
                return [.init(pointer: step.pointer, subject: "the server", lines: lines)]
            }
            try await deliver()
            return []
        case .expect(let expectation):
            try await deliver()
            var differences: [Scenario.Report.Difference] = []
            for subject in expectation.subjects {
                let lines: [Scenario.Report.Line]
                do {
                    var match = ScenarioMatch(names: names)
                    lines = match.differences(subject.expected, try await actual(subject.source))
                    names = match.names
                } catch let refusal as Refusal {
                    lines = [.expected("an answer"), .actual("refused: \(refusal)")]
                }
                if !lines.isEmpty {
                    differences.append(.init(pointer: subject.pointer, subject: subject.name, lines: lines))
                }
            }
            return differences
        }
    }

    // MARK: - Actions

    /// An error response of the store.
    private struct Refusal: Error, CustomStringConvertible {
        let code: String
        let reason: String
        var description: String { "\(code): \(reason)" }
    }

    /// The result of an action: a difference, or the id that the step can name.
    private enum Result {
        case differs([Scenario.Report.Line])
        case passed(id: String?)
    }

    /// Compares the answer of an action with the expected one.
    private func result(of step: ScenarioStep, _ action: () async throws -> JSONValue) async throws -> Result {
        do {
            let answer = try await action()
            if let refusal = step.refusal { return .differs([.expected("refused: \(refusal)"), .actual("done")]) }
            return .passed(id: ScenarioCall.named.lazy.compactMap { answer[$0]?.stringValue }.first)
        } catch let refusal as Refusal {
            if step.refusal == refusal.code { return .passed(id: nil) }
            return .differs([
                .expected(step.refusal.map { "refused: \($0)" } ?? "done"), .actual("refused: \(refusal)"),
            ])
        }
    }

    /// Names the id of a passed action. Returns the lines of a difference, which ends the scenario.
    private mutating func end(_ step: ScenarioStep, _ result: Result) -> [Scenario.Report.Line]? {
        switch result {
        case .passed(let id):
            if let name = step.name, let id { names[name] = id }
            return nil
        case .differs(let lines):
            isStopped = true
            return lines
        }
    }

    /// Presents purchases to the server, as an app does. Returns the server's last answer.
    private func send(_ presentation: ScenarioPresentation) async throws -> JSONValue {
        var answer: JSONValue = [:]
        let requests: [HTTPRequest]
        do { requests = try await presentation.requests(store, names) } catch let error as SimulatorError {
            throw Refusal(code: error.code.rawValue, reason: error.reason)
        }
        for request in requests {
            answer = try await sendToServer(request)
            if let rejected = answer["rejected"]?[0] {
                throw Refusal(
                    code: rejected["code"]?.stringValue ?? "", reason: rejected["detail"]?.stringValue ?? "")
            }
        }
        return answer
    }

    private func sendToServer(_ request: HTTPRequest) async throws -> JSONValue {
        guard let server else { throw Refusal(code: "notNow", reason: "The scenario has no server.") }
        var request = request
        request.headers["Authorization"] = "Bearer \(server.publicKey)"
        return try await send(request, to: server.handler)
    }

    private func send(_ request: HTTPRequest) async throws -> JSONValue { try await send(request, to: handler) }

    private func send(_ request: HTTPRequest, to handler: any HTTPHandler) async throws -> JSONValue {
        let response = await handler.respond(to: request).response()
        let body = try await response.body.collect(upTo: Self.answerLimit)
        let json =
            body.isEmpty ? [:] : (try? JSONValue(parsing: body)) ?? .string(String(decoding: body, as: UTF8.self))
        guard response.isSuccess else {
            let number = json["errorCode"]?.intValue.map { "\($0)" }
            throw Refusal(
                code: number ?? json["code"]?.stringValue ?? "\(response.status)",
                reason: (json["errorMessage"] ?? json["detail"])?.stringValue ?? json.text())
        }
        return json
    }

    /// Creates a token of the app's server, which is valid in real time.
    private func token() throws -> String {
        try key.token(at: store.configuration.baseClock.now())
    }

    /// Delivers the due notifications, and lets the server do its work, which can cause notifications again.
    private func deliver() async throws {
        try await deliverNotifications()
        guard let server else { return }
        try await server.doDueWork()
        try await deliverNotifications()
    }

    /// Delivers the due notifications. Does nothing while the store sends no notifications.
    private func deliverNotifications() async throws {
        do {
            try await store.deliverNotifications()
        } catch let error as SimulatorError where error.code == .notNow {}
        do {
            try await store.deliverPlayNotifications()
        } catch let error as SimulatorError where error.code == .notNow {}
    }

    // MARK: - Actual values

    private mutating func actual(_ source: ScenarioExpectation.Source) async throws -> JSONValue {
        switch source {
        case .endpoint(let endpoint, let values, let list):
            let answer = SignedContent.decoded(try await send(Self.request(endpoint, values, names)))
            return list.flatMap { answer[$0] } ?? answer
        case .answer(let customer, _):
            return try await sendToServer(
                HTTPRequest(method: .get, url: "/v1/customers/\(PercentEncoding.encode(customer))"))
        case .notifications(let account):
            return .array(
                try notifications(of: account).filter { seen.insert(.notification($0.number)).inserted }
                    .map(Self.json))
        case .attempts(let account):
            return .array(
                try notifications(of: account).flatMap { notification in
                    notification.attempts.enumerated().filter {
                        seen.insert(.attempt(notification.number, $0.offset)).inserted
                    }.map {
                        NotificationSendAttempt(notification, number: $0.offset + 1, $0.element)
                    }
                }.sorted { ($0.at, $0.notificationNumber, $0.attempt) < ($1.at, $1.notificationNumber, $1.attempt) }
                    .map(Self.json))
        case .playNotifications(let account, let purchase):
            return .array(
                try await playNotifications(of: account, purchase).filter {
                    seen.insert(.playNotification($0.number)).inserted
                }.map(Self.json))
        case .playAttempts(let account, let purchase):
            let attempts = try await playNotifications(of: account, purchase).flatMap { notification in
                notification.attempts.indices.map { PlaySendAttempt(notification, number: $0 + 1) }
            }
            return .array(
                try attempts.filter { seen.insert(.playAttempt($0.notificationNumber, $0.attempt)).inserted }
                    .sorted { ($0.at, $0.notificationNumber, $0.attempt) < ($1.at, $1.notificationNumber, $1.attempt) }
                    .map(Self.json))
        }
    }

    private static func json(_ value: some Encodable) throws -> JSONValue {
        SignedContent.decoded(try WireJSON.document(value))
    }

    /// Creates a request to an endpoint with the `values` that the endpoint uses.
    private static func request(
        _ endpoint: Endpoint<StoreHandler>, _ values: [String: String], _ names: [String: String]
    ) -> HTTPRequest {
        func text(_ name: String) -> String {
            let value = values[name] ?? ""
            return PercentEncoding.encode(ScenarioCall.isNamed(name) ? names[value] ?? value : value)
        }
        let path = endpoint.path(with: text)
        let query = endpoint.query.map(\.name).filter { values[$0] != nil }.map { "\($0)=\(text($0))" }
        return HTTPRequest(
            method: endpoint.method, url: query.isEmpty ? path : path + "?" + query.joined(separator: "&"))
    }

    /// Returns the notifications about `account`, or all for `nil`, in the order of their instants.
    private func notifications(of account: String?) throws -> [StoreControlWire.Notification] {
        var all: [StoreControlWire.Notification] = []
        while true {
            let page = try store.notifications(
                of: account.map { AccountName(unchecked: $0) }, after: all.last?.number ?? 0, limit: 1000)
            all += page
            guard page.count == 1000 else { break }
        }
        return all.sorted { ($0.at, $0.number) < ($1.at, $1.number) }
    }

    /// Returns the notifications of Google Play about an account and a purchase, or all for `nil`, in the order of their
    /// instants.
    private func playNotifications(
        of account: String?, _ purchase: String?
    ) async throws -> [StoreControlWire.PlayNotification] {
        var all: [StoreControlWire.PlayNotification] = []
        do {
            while true {
                let page = try await store.playNotifications(
                    of: account.map { AccountName(unchecked: $0) }, purchase: purchase.map { names[$0] ?? $0 },
                    after: all.last?.number ?? 0, limit: 1000)
                all += page
                guard page.count == 1000 else { break }
            }
        } catch let error as SimulatorError {
            throw Refusal(code: error.code.rawValue, reason: error.reason)
        }
        return all.sorted { ($0.at, $0.number) < ($1.at, $1.number) }
    }
}

/// One attempt to send a notification, as scenarios expect it.
struct NotificationSendAttempt: Encodable, Sendable, WireModel {
    static let schemaName = "NotificationSendAttempt"
    static let schema = WireSchema.object([
        .required("at", .date), .required("attempt", .integer(1...1000)), .optional("result", .text),
        .required("type", .text), .optional("subtype", .text), .optional("account", .text),
        .optional("productID", .name), .optional("transactionID", .name), .optional("originalTransactionID", .name),
    ])

    private enum CodingKeys: CodingKey {
        case at, attempt, result, type, subtype, account, productID, transactionID, originalTransactionID
    }

    /// The number of its notification, for sorting.
    let notificationNumber: Int64
    let at: Date
    /// The number of the attempt, counted from 1.
    let attempt: Int
    let result: String?
    let type: String
    let subtype: String?
    let account: String?
    let productID: ProductID?
    let transactionID: TransactionID?
    let originalTransactionID: TransactionID?

    init(_ notification: StoreControlWire.Notification, number: Int, _ attempt: StoreControlWire.Notification.Attempt) {
        notificationNumber = notification.number
        at = attempt.at
        self.attempt = number
        result = attempt.result
        type = notification.type
        subtype = notification.subtype
        account = notification.account
        productID = notification.productID
        transactionID = notification.transactionID
        originalTransactionID = notification.originalTransactionID
    }
}

/// One attempt to send a notification of Google Play, as scenarios expect it.
struct PlaySendAttempt: Encodable, Sendable, WireModel {
    static let schemaName = "PlaySendAttempt"
    static let schema = WireSchema.object([
        .required("at", .date), .required("attempt", .integer(1...10_000)), .optional("result", .text),
        .required("type", .text), .optional("account", .text), .optional("productID", .name),
        .optional("purchaseToken", .name), .optional("orderID", .name),
    ])

    private enum CodingKeys: CodingKey { case at, attempt, result, type, account, productID, purchaseToken, orderID }

    /// The number of its notification, for sorting.
    let notificationNumber: Int64
    let at: Date
    /// The number of the attempt, counted from 1.
    let attempt: Int
    let result: String?
    let type: String
    let account: String?
    let productID: ProductID?
    let purchaseToken: String?
    let orderID: String?

    init(_ notification: StoreControlWire.PlayNotification, number: Int) {
        notificationNumber = notification.number
        at = notification.attempts[number - 1].at
        attempt = number
        result = notification.attempts[number - 1].result
        type = notification.type
        account = notification.account
        productID = notification.productID
        purchaseToken = notification.purchaseToken
        orderID = notification.orderID
    }
}
