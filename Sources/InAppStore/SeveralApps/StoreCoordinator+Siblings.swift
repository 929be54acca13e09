/// The exchange of subscriptions with sibling apps.
extension StoreCoordinator {
    /// Writes the subscriptions of the server's last answer for the sibling apps.
    func writeForSiblings() {
        guard let siblings else { return }
        do {
            try siblings.write(state.sharedUserInfo(of: siblings.application))
        } catch {
            report(.storage("Cannot share the subscriptions with the sibling apps: \(error)"))
        }
    }

    func readSiblings() {
        guard let siblings else { return }
        let shared = siblings.infos(fallback: state.siblings, reportingTo: events)
        guard shared != state.siblings else { return }
        commit { $0.siblings = shared }
        reportUnknownSubscription()
    }
}
