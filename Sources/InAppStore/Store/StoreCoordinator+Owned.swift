import StoreKitAdapter
import StoreModel

/// Presents to the server the purchases that the customer owns at the App Store, without a prompt.
extension StoreCoordinator {
    /// Presents the customer's purchases, unless that was done since the last switch to this customer, so that a new
    /// installation finds earlier purchases. If the store or the server is unreachable, the next launch or login tries
    /// again.
    func presentOwned(through queue: PaymentQueue) async {
        let customer = owner.customer
        let wasPresented: Bool? = records.value(StoreRecords.Key.owned, of: customer, reportingTo: events)
        guard wasPresented != true else { return }
        do {
            let owned = try await queue.ownedTransactions()
            guard customer == owner.customer else { return }
            try await queue.present(presentable(owned))
        } catch let error as PaymentError where error.code == .rejected {
            // The server has decided about all of them.
        } catch let error as PaymentError where error.code == .storeFailed {
            let sentence =
                "The customer's owned transactions could not be read. The next launch reads them again. \(error.sentence)"
            return report(
                StoreEvent(kind: .nonCriticalError, code: .restorePurchasesFailed, sentence: sentence))
        } catch {
            return
        }
        guard customer == owner.customer else { return }
        do {
            try records.set(true, for: StoreRecords.Key.owned, of: customer)
        } catch {
            report(.storage("Cannot store that the owned transactions were presented: \(error)"))
        }
    }

    /// Returns the purchases to present without the customer's request. Leaves out purchases with the app account token
    /// of another customer of this device. If there is such a customer, also leaves out purchases without this token,
    /// because they would move from one customer to the next.
    private func presentable(_ owned: [StoreTransaction]) -> [StoreTransaction] {
        let others = tokensOfThisDevice.filter { $0 != owner.customer.appAccountToken }
        return owned.filter { transaction in
            transaction.appAccountToken.map { !others.contains($0) } ?? others.isEmpty
        }
    }
}
