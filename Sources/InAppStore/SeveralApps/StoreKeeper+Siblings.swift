/// What the store tells its sibling apps, and hears of them.
extension StoreKeeper {
    /// Writes for the sibling apps what the server's last answer says.
    func tellSiblings() {
        guard let siblings else { return }
        do {
            try siblings.tell(state.sharedUserInfo(of: siblings.application))
        } catch {
            report(.storage("The sibling apps could not be told of the subscriptions: \(error)"))
        }
    }

    /// Reads what the sibling apps tell.
    func hearSiblings() {
        guard let siblings else { return }
        let news = siblings.infos(insteadOf: state.siblings, telling: happenings)
        guard news != state.siblings else { return }
        commit { $0.siblings = news }
        reportUnknownSubscription()
    }
}
