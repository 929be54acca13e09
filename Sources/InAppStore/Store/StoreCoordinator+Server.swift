import Primitives
import StoreModel

/// Requests to the server, and the use of its answers.
extension StoreCoordinator {
    /// Fetches the customer's access from the server. Throws `operationCancelled`, otherwise `receiptValidationFailed`.
    func refresh() async throws {
        openRequests += 1
        defer {
            openRequests -= 1
            scheduleTimer()
        }
        readSiblings()
        do {
            _ = try await runSerially { [validator] customer in
                try await validator.answer(about: customer)
            } record: {
                $0
            }
        } catch is CancellationError {
            throw PurchaseError(.operationCancelled, "The request to the server was cancelled.")
        } catch {
            throw PurchaseError(
                .receiptValidationFailed, "The server is unreachable. The stored answer stays in use.",
                underlying: error)
        }
    }

    /// Starts a scheduled request. A failure is recorded and schedules the next attempt.
    func startRefresh() -> Task<Void, Never> {
        Task { [weak self] in
            try? await self?.refresh()
            await self?.refreshEnded()
        }
    }

    private func refreshEnded() {
        refreshTask = nil
        scheduleTimer()
    }

    /// Runs one request after the earlier ones have ended. Its answer about a customer is stored, unless the customer
    /// has changed meanwhile.
    func runSerially<Answer: Sendable>(
        _ request: @escaping @Sendable (CustomerID) async throws -> Answer,
        record: @escaping @Sendable (Answer) -> CustomerAnswer?
    ) async throws -> Answer {
        try await serverQueue.run { [weak self] in
            guard let self else { throw CancellationError() }
            let customer = owner.customer
            do {
                let answer = try await request(customer)
                if let customerAnswer = record(answer) { await recordAnswer(customerAnswer, about: customer) }
                return answer
            } catch {
                if Task.isCancelled { throw CancellationError() }
                await recordFailure(about: customer)
                throw error
            }
        }
    }

    private func recordAnswer(_ answer: CustomerAnswer, about customer: CustomerID) {
        guard customer == owner.customer else { return }
        if clock.learn(answer, after: state.answer?.customer) { checkClockAgain() }
        commit { [now] in $0.record(answer.customer, at: now) }
        write(state.answer)
        writeForSiblings()
        writeTime()
        reportUnknownSubscription()
    }

    /// Schedules another request after the device's clock was found to be ahead. With virtual time, the device can see
    /// a change of the clock before its server. Without the second request, the device would continue with the server's
    /// old time, and not notice that an entitlement has ended.
    private func checkClockAgain() {
        clockCheck?.cancel()
        clockCheck = Task { [weak self, sleep] in
            guard (try? await sleep(.seconds(1))) != nil else { return }
            try? await self?.refresh()
        }
    }

    private func recordFailure(about customer: CustomerID) {
        guard customer == owner.customer else { return }
        let isFirst = state.answer?.failingSince == nil
        commit { [now] in $0.recordFailure(at: now) }
        guard isFirst else { return }
        write(state.answer)
        writeForSiblings()
    }

    /// Stores an answer. If that fails, the answer is used anyway, and requested again at the next launch.
    private func write(_ answer: StoreState.Answer?) {
        guard let answer else { return }
        do {
            try records.set(answer, for: StoreRecords.Key.answer, of: owner.customer)
        } catch {
            report(.storage("Cannot store the server's answer: \(error)"))
        }
    }

    /// Stores the current time, so that the next launch detects a clock that was set back.
    func writeTime() {
        do {
            try records.set(clock.time)
        } catch {
            report(.storage("Cannot store the time: \(error)"))
        }
    }

    /// Reports an active subscription that is not in the list, because it enables everything.
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
