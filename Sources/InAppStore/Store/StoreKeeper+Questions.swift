import Primitives
import StoreModel

/// What the server is asked, and what becomes of its answers.
extension StoreKeeper {
    /// Asks the server what the customer may use now. Throws `operationCancelled`, else `receiptValidationFailed`.
    func refresh() async throws {
        questions += 1
        defer {
            questions -= 1
            watch()
        }
        hearSiblings()
        do {
            _ = try await inTurn { [validator] customer in
                try await validator.answer(about: customer)
            } note: {
                $0
            }
        } catch is CancellationError {
            throw PurchaseError(.operationCancelled, "The question to the server was cancelled.")
        } catch {
            throw PurchaseError(
                .receiptValidationFailed, "The server could not be asked; what is known stays.", underlying: error)
        }
    }

    /// The question of the clock: a failure is noted and the next attempt awaited.
    func ask() -> Task<Void, Never> {
        Task { [weak self] in
            try? await self?.refresh()
            await self?.asked()
        }
    }

    private func asked() {
        question = nil
        watch()
    }

    /// Runs one conversation with the server after the one before has ended. What it says of a customer is kept, unless
    /// they have logged out meanwhile.
    func inTurn<Answer: Sendable>(
        _ ask: @escaping @Sendable (CustomerID) async throws -> Answer,
        note: @escaping @Sendable (Answer) -> CustomerAnswer?
    ) async throws -> Answer {
        try await turns.take { [weak self] in
            guard let self else { throw CancellationError() }
            let customer = owner.customer
            do {
                let answer = try await ask(customer)
                if let news = note(answer) { await noteAnswer(news, about: customer) }
                return answer
            } catch {
                // Who gave up says nothing about the server.
                if Task.isCancelled { throw CancellationError() }
                await noteFailure(about: customer)
                throw error
            }
        }
    }

    private func noteAnswer(_ answer: CustomerAnswer, about customer: CustomerID) {
        guard customer == owner.customer else { return }
        if clock.learn(answer, after: state.answer?.customer) { lookAgain() }
        commit { [now] in $0.note(answer.customer, at: now) }
        write(state.answer)
        tellSiblings()
        writeTime()
        reportUnknownSubscription()
    }

    /// Where time is virtual, a device may hear of a leap before its server does, and what has not ended by the server's time
    /// would not be asked for again. So a clock that is found to be ahead is looked at once more.
    private func lookAgain() {
        secondLook?.cancel()
        secondLook = Task { [weak self, sleep] in
            guard (try? await sleep(.seconds(1))) != nil else { return }
            try? await self?.refresh()
        }
    }

    private func noteFailure(about customer: CustomerID) {
        guard customer == owner.customer else { return }
        let isFirst = state.answer?.failingSince == nil
        commit { [now] in $0.noteFailure(at: now) }
        guard isFirst else { return }
        write(state.answer)
        tellSiblings()
    }

    /// An answer that cannot be written is used all the same, and asked for again at the next launch.
    private func write(_ answer: StoreState.Answer?) {
        guard let answer else { return }
        do {
            try records.set(answer, for: StoreRecords.Key.answer, of: owner.customer)
        } catch {
            report(.storage("The server's answer could not be written down: \(error)"))
        }
    }

    /// What time it is, so that a clock that is set back before the next launch is found out.
    func writeTime() {
        do {
            try records.set(clock.time)
        } catch {
            report(.storage("The time could not be written down: \(error)"))
        }
    }

    /// A subscription that the list does not know enables everything, which somebody should hear of.
    func reportUnknownSubscription() {
        guard let info = state.subscriptionInfo(at: now), !info.isExpired else { return }
        let product = info.subscription.productID
        guard state.list[state.list.base(of: product)] == nil, unknownSubscriptions.insert(product).inserted else {
            return
        }
        let sentence = "The subscription \"\(product)\" is not in the product list; it enables every product."
        report(
            StoreEvent(
                kind: .informational, code: .invalidProductIdentifier, sentence: sentence, productID: product))
    }
}
