import StoreModel

/// The subscriptions that the apps of one seller share on this device.
struct SiblingApps: Sendable {
    let application: BundleID
    let others: Set<BundleID>
    let reader: SharedUserInfoReader
    let classifier: (any MultiAppSubscriptionClassifier)?

    func isMultiApp(_ product: ProductID) -> Bool { classifier?.isMultiAppSubscription(product) ?? false }

    /// Writes this app's information for the others; `nil` removes it. Does not write the same data again. Throws the
    /// error of the storage.
    func write(_ info: SharedUserInfo?) throws {
        let key = SharedUserInfoReader.key(application)
        let bytes = try info.map { try WireJSON.encode($0) }
        guard (try? reader.storage.data(for: key)) != .some(bytes) else { return }
        try reader.storage.set(bytes, for: key)
    }

    /// Reads the information of the other apps, with only those subscriptions that count in several apps. If an app's
    /// information cannot be read, reports that, and uses the information in `known`.
    func infos(
        fallback known: [BundleID: SharedUserInfo], reportingTo events: EventBroadcaster<StoreEvent>
    ) -> [BundleID: SharedUserInfo] {
        guard classifier != nil else { return [:] }
        return others.reduce(into: [:]) { infos, other in
            do throws(PurchaseError) {
                infos[other] = try reader.userInfo(ofApp: other)
                infos[other]?.subscriptions.removeAll { !isMultiApp($0.subscription.productID) }
            } catch {
                infos[other] = known[other]
                events.send(StoreEvent(kind: .nonCriticalError, code: error.code, sentence: error.reason))
            }
        }
    }
}
