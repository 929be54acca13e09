import StoreKitAdapter
import StoreModel

/// Presents to the server what the customer owns at the App Store, without asking them anything.
extension StoreKeeper {
    /// Presents what the customer owns, once for each customer: an app that was installed anew finds what was bought
    /// before. It is presented again at the next launch when the store or the server cannot be asked.
    func presentOwned(through queue: PaymentQueue) async {
        let customer = owner.customer
        let wasPresented: Bool? = records.value(StoreRecords.Key.owned, of: customer, telling: happenings)
        guard wasPresented != true else { return }
        do {
            let owned = try await queue.ownedTransactions()
            guard customer == owner.customer else { return }
            try await queue.present(presentable(owned))
        } catch let error as PaymentError where error.code == .rejected {
            // The server has judged all of it.
        } catch let error as PaymentError where error.code == .storeFailed {
            let sentence = "What the customer owns could not be looked up; it is at the next launch. \(error.sentence)"
            return report(
                StoreEvent(kind: .nonCriticalError, code: .restorePurchasesFailed, sentence: sentence))
        } catch {
            return
        }
        guard customer == owner.customer else { return }
        do {
            try records.set(true, for: StoreRecords.Key.owned, of: customer)
        } catch {
            report(.storage("That owned purchases were presented could not be written down: \(error)"))
        }
    }

    /// Those that may be presented though the customer did not ask for it. A purchase that names no customer is not
    /// presented where several have logged in: it would move from one to the next by itself.
    private func presentable(_ owned: [StoreTransaction]) -> [StoreTransaction] {
        let others = tokensOfThisDevice.filter { $0 != owner.customer.appAccountToken }
        return owned.filter { transaction in
            transaction.appAccountToken.map { !others.contains($0) } ?? others.isEmpty
        }
    }
}
