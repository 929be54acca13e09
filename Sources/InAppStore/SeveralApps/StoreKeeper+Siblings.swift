/// The exchange of subscriptions with sibling apps.
extension StoreKeeper {
    /// Writes the subscriptions of the server's last answer for the sibling apps.
    func tellSiblings() {
        guard let siblings else { return }
        do {
            try siblings.tell(state.sharedUserInfo(of: siblings.application))
        } catch {
            report(.storage("The sibling apps could not be told of the subscriptions: \(error)"))
        }
    }

    /// Reads the subscriptions that the sibling apps share.
    func hearSiblings() {
        guard let siblings else { return }
        let news = siblings.infos(insteadOf: state.siblings, telling: happenings)
        guard news != state.siblings else { return }
        commit { $0.siblings = news }
        reportUnknownSubscription()
    }
}
