import Primitives

extension TransactionFact {
    /// The original transaction ids of the subscriptions that this fact links with its own.
    package var linkedPurchases: [TransactionID] {
        replaces == nil && replacedBy == nil ? [] : [replaces, replacedBy].compactMap(\.self)
    }
}

extension CustomerState {
    /// The newest statement about a state with one purchase; `nil` unless it links the purchase with another one.
    fileprivate var link: TransactionFact? {
        var newest: TransactionFact?
        for known in transactions.values where newest.map(known.newest.isNewer) ?? true { newest = known.newest }
        return newest.flatMap { $0.linkedPurchases.isEmpty ? nil : $0 }
    }

    /// Whether the newest statement about a state with one purchase links it with another purchase.
    package var isLinked: Bool { link != nil }
}

extension PurchaseFigures {
    /// Returns the contributions of purchases, of which those that replaced one another count as one subscription.
    ///
    /// Two purchases are linked if the newest statements about both say so. So each purchase has at most one before and
    /// one after it, and each statement about a link names the purchases that it affects.
    ///
    /// - Parameter purchases: The states by original transaction id, each with one purchase and without grants.
    package static func contributions(ofLinked purchases: [TransactionID: CustomerState]) -> FigureSums {
        var sums = FigureSums()
        for chain in chains(purchases) { sums.add(contributions(of: chain)) }
        return sums
    }

    /// Returns the chains of purchases, each in the order of the replacements.
    private static func chains(_ purchases: [TransactionID: CustomerState]) -> [[CustomerState]] {
        let links = purchases.compactMapValues(\.link)
        func next(after id: TransactionID) -> TransactionID? {
            guard let next = links[id]?.replacedBy, links[next]?.replaces == id else { return nil }
            return next
        }
        func hasFormer(_ id: TransactionID) -> Bool { links[id]?.replaces.map { next(after: $0) == id } ?? false }
        var chains: [[CustomerState]] = []
        var known: Set<TransactionID> = []
        func addChain(from first: TransactionID) {
            var chain: [CustomerState] = []
            var current: TransactionID? = first
            while let id = current, known.insert(id).inserted {
                if let state = purchases[id] { chain.append(state) }
                current = next(after: id)
            }
            if !chain.isEmpty { chains.append(chain) }
        }
        for id in purchases.keys where !hasFormer(id) { addChain(from: id) }
        // Only purchases that replaced one another in a circle are left. No store sells them, and the first id begins.
        if known.count < purchases.count { for id in purchases.keys.sorted() { addChain(from: id) } }
        return chains
    }
}
