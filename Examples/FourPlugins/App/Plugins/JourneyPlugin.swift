import PluginHub
import Primitives

/// The user interface: a screen about a place, and a button that buys.
final class JourneyPlugin: PluginProtocol {
    let policy: Policy
    /// The text of the screen, each time it changes.
    let screen: AsyncStream<String>

    private let hub: any MessageSending
    private let log: Log
    private let show: AsyncStream<String>.Continuation
    private let state = Locked(State())

    private struct State: Sendable {
        var infos: BufferedSequence<TypedOutput<InfoChanged>>?
        /// The ids of the refresh commands that have no answer yet.
        var asked: Set<MessageID> = []
    }

    convenience init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        try self.init(messageSender: messageSender, configurationFiles: configurationFiles) { _ in }
    }

    init(messageSender: any MessageSending, configurationFiles: [String: String], log: @escaping Log) throws {
        policy = try Policy(contentsOfFile: configurationFiles["policy"] ?? "journey.policy.json")
        hub = messageSender
        self.log = log
        (screen, show) = AsyncStream.makeStream()
    }

    // MARK: - User actions

    /// Opens the screen about a place.
    func open(_ place: String) throws {
        let infos = try hub.events(InfoChanged.self, with: .init(place: place), as: self).values()
        log("subscribe(infoPublisher)")
        state.withLock { $0.infos = infos }
        hub.context?.run { [weak self] in
            for await info in infos { self?.update(info) }
        }
    }

    /// Leaves the screen.
    func close() {
        let infos = state.withLock { state in
            defer { state = State() }
            return state.infos
        }
        infos?.cancel()
    }

    /// Refreshes the screen.
    func refresh(_ place: String, id: MessageID = .unique()) throws {
        state.withLock { _ = $0.asked.insert(id) }
        do {
            try hub.send(RefreshInfo(place: place), id: id, as: self)
        } catch {
            state.withLock { _ = $0.asked.remove(id) }
            throw error
        }
    }

    /// Taps the buy button. The screen shows the answer when it comes.
    func buy(_ product: String, id: MessageID = .unique()) throws {
        try hub.send(Purchase(productID: product), id: id, as: self)
    }

    // MARK: - Invalid messages

    // The types of `Messages.swift` have required fields; a hand-made payload can omit them.

    func openWithoutPlace() throws {
        _ = try hub.publisher(forEvent: "info", payload: [:], subscriber: self)
    }

    func refreshWithoutPlace(id: MessageID) throws {
        try hub.send(command: Message("refreshInfo", id: id), payload: [:], sender: self)
    }

    // MARK: - Answers

    private func update(_ output: TypedOutput<InfoChanged>) {
        let isAnswer = state.withLock { state in output.correlationId.map { state.asked.remove($0) != nil } ?? false }
        switch output.result {
        case .success(let info):
            log("updateUI(info)")
            show.yield("\(info.place): \(info.text)")
        case .failure(let error):
            // Every subscriber shows an info, but only the sender of the command shows its failure.
            log("filterMessage(correlationId)")
            guard isAnswer else { return }
            log("updateUI(error)")
            show.yield((error as? PluginError)?.sentence ?? "\(error)")
        }
    }

    func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {
        guard case PurchaseResult.self = event else { return }
        hub.context?.keep(TypedPublisher<PurchaseResult>(publisher).sink { [weak self] in self?.update($0) })
    }

    private func update(_ output: TypedOutput<PurchaseResult>) {
        do {
            let result = try output.value()
            let owned = try hub.send(AllowedProducts(), as: self).productIDs
            log("updateUI(purchase)")
            show.yield("\(result.productID): \(result.outcome). Yours: \(owned.joined(separator: ", "))")
        } catch {
            log("updateUI(error)")
            show.yield("\(error)")
        }
    }
}
