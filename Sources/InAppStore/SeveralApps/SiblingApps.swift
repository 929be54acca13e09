import StoreModel

/// The apps of one seller on this device: what this one tells them, and what they tell it.
struct SiblingApps: Sendable {
    let application: BundleID
    let others: Set<BundleID>
    let reader: SharedUserInfoReader
    let classifier: (any MultiAppSubscriptionClassifier)?

    func isMultiApp(_ product: ProductID) -> Bool { classifier?.isMultiAppSubscription(product) ?? false }

    /// Tells the others; `nil` takes back what was told. What stands there already is not written again. Throws what the
    /// storage throws.
    func tell(_ info: SharedUserInfo?) throws {
        let key = SharedUserInfoReader.key(application)
        let bytes = try info.map { try WireJSON.encode($0) }
        guard (try? reader.storage.data(for: key)) != .some(bytes) else { return }
        try reader.storage.set(bytes, for: key)
    }

    /// What the others tell, of their subscriptions those alone that count in several apps. What one tells that cannot be
    /// read is told of, and what was `known` of it before stands.
    func infos(
        insteadOf known: [BundleID: SharedUserInfo], telling happenings: Happenings<StoreEvent>
    ) -> [BundleID: SharedUserInfo] {
        guard classifier != nil else { return [:] }
        return others.reduce(into: [:]) { infos, other in
            do throws(PurchaseError) {
                infos[other] = try reader.userInfo(ofApp: other)
                infos[other]?.subscriptions.removeAll { !isMultiApp($0.subscription.productID) }
            } catch {
                infos[other] = known[other]
                happenings.send(StoreEvent(kind: .nonCriticalError, code: error.code, sentence: error.reason))
            }
        }
    }
}
