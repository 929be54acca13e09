import StoreModel
import Testing

@testable import StoreKitAdapter

/// Random sequences of events, each from a seed. These invariants hold for every sequence.
struct PaymentQueueWalkTests {
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    /// The state of the store and the server around the state machine.
    private struct World {
        var machine: PaymentQueueStateMachine
        var dice: Dice
        let policy: FinishPolicy
        var asked: Set<String> = []
        var answered: Set<String> = []
        var running: Set<TransactionID> = []
        var finishing: Set<TransactionID> = []
        var finished: Set<TransactionID> = []
        var acknowledged: Set<TransactionID> = []
        var mustEnd: Set<TransactionID> = []
        var restoring: [UInt64] = []
        var retries: [(TransactionID, Int)] = []
        var finishRetries: [TransactionID] = []
        var submitted: [PaymentID] = []
        var faults: [String] = []
        var last: UInt64 = 0

        mutating func handle(_ event: PaymentQueueStateMachine.Event) {
            for action in machine.handle(event) { note(action) }
        }

        private mutating func answer(_ caller: String) {
            if !asked.contains(caller) { faults.append("\(caller) never asked") }
            if !answered.insert(caller).inserted { faults.append("\(caller) was answered twice") }
        }

        private mutating func note(_ action: PaymentQueueStateMachine.Action) {
            switch action {
            case .checkProduct: break
            case .submit(let payment): submitted.append(payment.id)
            case .deliver(let transactions):
                for transaction in transactions where !running.insert(transaction.id).inserted {
                    faults.append("\(transaction.id) is delivered twice at once")
                }
            case .finish(let id):
                if !finishing.insert(id).inserted { faults.append("\(id) is finished twice at once") }
                if policy == .afterAcknowledgement, !acknowledged.contains(id) {
                    faults.append("\(id) is finished and was not acknowledged")
                }
            case .answer(let id, _): answer("payment \(id)")
            case .requestRestore(let number): restoring.append(number)
            case .answerRestore(let caller, _): answer("restore \(caller)")
            case .complete: break
            case .answerRedelivery(let caller, _): answer("redelivery \(caller)")
            case .retryDelivery(let id, let attempt): retries.append((id, attempt))
            case .retryFinish(let id, _): finishRetries.append(id)
            }
        }

        private mutating func number() -> UInt64 {
            last += 1
            return last
        }

        mutating func settle(_ id: TransactionID, _ verdict: DeliveryVerdict) {
            running.remove(id)
            if case .acknowledged = verdict { acknowledged.insert(id) }
            handle(.delivered([id: verdict]))
        }

        mutating func endFinish(_ id: TransactionID) {
            finishing.remove(id)
            finished.insert(id)
            handle(.finished(id))
        }

        mutating func step() {
            let id = TransactionID(unchecked: "\(Int.random(in: 100..<112, using: &dice))")
            let signature = Bool.random(using: &dice) ? "signed" : "newer"
            let payment = submitted.randomElement(using: &dice)
            switch Int.random(in: 0..<18, using: &dice) {
            case 0, 1:
                let id = PaymentID(unchecked: "p\(number())")
                asked.insert("payment \(id)")
                handle(.purchase(Payment(id: id, productID: "pack")))
            case 2, 3:
                mustEnd.insert(id)
                handle(
                    .update(
                        StoreUpdate(
                            paymentID: payment, productID: "pack",
                            state: .purchased(.of(id, signature: signature), alreadyOwned: false))))
            case 4:
                mustEnd.insert(id)
                handle(.update(StoreUpdate(productID: "pack", state: .revoked(.of(id, signature: "revoked")))))
            case 5:
                handle(.update(StoreUpdate(productID: "pack", state: .renewalChanged(.of(id, signature: "changed")))))
            case 6:
                let failure = StoreFailure(code: .declined, reason: "")
                handle(.update(StoreUpdate(paymentID: payment, productID: "pack", state: .failed(failure))))
            case 7: handle(.update(StoreUpdate(paymentID: payment, productID: "pack", state: .deferred)))
            case 8, 9, 10:
                guard let id = running.sorted().randomElement(using: &dice) else { return }
                let verdicts: [DeliveryVerdict] = [
                    .acknowledged, .acknowledged, .unavailable(Silence()), .rejected(Silence()), .held(Silence()),
                ]
                settle(id, verdicts[Int.random(in: 0..<verdicts.count, using: &dice)])
            case 11:
                guard let (id, attempt) = retries.popLast() else { return }
                handle(.retryDue(id, attempt: attempt))
            case 12:
                guard let id = finishing.sorted().randomElement(using: &dice) else { return }
                if Bool.random(using: &dice) {
                    endFinish(id)
                } else {
                    finishing.remove(id)
                    handle(.finishFailed(id))
                }
            case 13:
                if let id = finishRetries.popLast() { handle(.finishRetryDue(id)) }
            case 14:
                let caller = number()
                asked.insert("restore \(caller)")
                handle(.restore(caller))
                if Bool.random(using: &dice) { handle(.restoreCancelled(caller)) }
            case 15:
                guard let restore = restoring.popLast() else { return }
                handle(.restored(restore, Bool.random(using: &dice) ? [] : [.of(id), .of("200")]))
            case 16:
                let caller = number()
                asked.insert("redelivery \(caller)")
                handle(.redeliver(id, caller))
                if Bool.random(using: &dice) { handle(.redeliveryCancelled(caller)) }
            default:
                if let payment, Bool.random(using: &dice) { handle(.purchaseCancelled(payment)) }
                handle(Bool.random(using: &dice) ? .redeliverAll : .customerChanged)
            }
        }

        /// Repairs the server and the store, and logs a customer in who owns everything.
        mutating func calm() {
            for _ in 0..<20 {
                handle(.redeliverAll)
                for id in running.sorted() { settle(id, .acknowledged) }
                for id in finishRetries {
                    handle(.finishRetryDue(id))
                }
                finishRetries = []
                for id in finishing.sorted() { endFinish(id) }
            }
        }
    }

    private func walk(_ seed: UInt64, _ policy: FinishPolicy) -> World {
        var world = World(machine: .init(policy: policy), dice: Dice(state: seed), policy: policy)
        for _ in 0..<400 { world.step() }
        return world
    }

    @Test(arguments: [FinishPolicy.afterAcknowledgement, .immediately, .byCaller])
    func `every caller is answered exactly once, and nothing is delivered or finished twice at once`(
        _ policy: FinishPolicy
    ) {
        for seed in 1...100 as ClosedRange<UInt64> {
            var world = walk(seed, policy)
            world.handle(.shutDown)
            #expect(world.faults == [], "seed \(seed)")
            #expect(world.answered == world.asked, "seed \(seed)")
        }
    }

    @Test(arguments: [FinishPolicy.afterAcknowledgement, .immediately])
    func `every paid transaction is acknowledged and finished in the end`(_ policy: FinishPolicy) {
        for seed in 1...100 as ClosedRange<UInt64> {
            var world = walk(seed, policy)
            world.calm()
            #expect(world.faults == [], "seed \(seed)")
            #expect(world.mustEnd.isSubset(of: world.acknowledged), "seed \(seed)")
            #expect(world.mustEnd.isSubset(of: world.finished), "seed \(seed)")
            #expect(world.running.isEmpty && world.finishing.isEmpty)
        }
    }
}
