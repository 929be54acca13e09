import Foundation
import Primitives
import StoreModel

extension OfferRules {
    /// The largest number of offers, and of groups.
    private static let limit = 1000
    private static let members = ["groups", "offers"]

    /// Returns whether a document contains offer rules, valid or not.
    package static func recognizes(_ document: JSONValue) -> Bool {
        members.contains { document[$0] != nil }
    }

    /// Creates rules from a file. Throws all faults of the file.
    package init(json: JSONValue) throws(RulesError) {
        var reader = RulesReader()
        let document = reader.object(json, at: "", members: Self.members)
        var groups: [Group] = []
        var grouped: Set<ProductID> = []
        if case .object(let members)? = document?["groups"], (1...Self.limit).contains(members.count) {
            for (id, value) in members {
                let pointer = JSONPointer.member(id, of: "/groups")
                if !ProductID.isValid(id) { reader.report(pointer, "write the id of the subscription group") }
                let products = reader.list(value, at: pointer, of: "product ids") { ProductID(rawValue: $0) } ?? []
                for (index, product) in products.enumerated() where !grouped.insert(product).inserted {
                    reader.report("\(pointer)/\(index)", "a product is in one group; this one is in another group")
                }
                groups.append(Group(id: ExactString(id), products: products))
            }
        } else if document != nil {
            reader.report("/groups", "write an object with the product ids of each subscription group")
        }
        var offers: [Offer] = []
        let elements = document?["offers"].map { $0.arrayValue ?? [.null] } ?? []
        if elements.count > Self.limit { reader.report("/offers", "write a list of at most \(Self.limit) offers") }
        for (index, element) in elements.prefix(Self.limit).enumerated() {
            let pointer = "/offers/\(index)"
            guard let offer = reader.offer(element, at: pointer) else { continue }
            if !grouped.contains(offer.productID) {
                reader.report("\(pointer)/productId", "write a product of one of the groups")
            }
            if offers.contains(where: { $0.productID == offer.productID && $0.offerID == offer.offerID }) {
                reader.report(pointer, "this offer of the product is in the list twice")
            }
            offers.append(offer)
        }
        guard reader.findings.isEmpty else { throw RulesError(findings: reader.findings) }
        self.init(groups: groups, offers: offers)
    }
}

extension RulesReader {
    fileprivate mutating func offer(_ value: JSONValue, at pointer: String) -> OfferRules.Offer? {
        let names = ["productId", "offerIdentifier", "when", "oncePerCustomer"]
        guard let members = object(value, at: pointer, members: names) else { return nil }
        let condition = offerCondition(members["when"], at: "\(pointer)/when")
        let isOnce: Bool? = members["oncePerCustomer"].map { flag($0, at: "\(pointer)/oncePerCustomer") } ?? false
        let product = members["productId"]?.stringValue.flatMap { ProductID(rawValue: $0) }
        if product == nil { report("\(pointer)/productId", "write a product id") }
        let id = offerIdentifier(members["offerIdentifier"], at: "\(pointer)/offerIdentifier")
        guard let product, let id, let condition, let isOnce else { return nil }
        return .init(productID: product, offerID: ExactString(id), condition: condition, isOncePerCustomer: isOnce)
    }

    private mutating func offerCondition(_ value: JSONValue?, at pointer: String) -> OfferRules.Condition? {
        var condition = OfferRules.Condition()
        guard let value else { return condition }
        let names = ["states", "environment"] + HistoryCondition.members
        guard let members = object(value, at: pointer, members: names) else { return nil }
        for (name, value) in members {
            let pointer = "\(pointer)/\(name)"
            switch name {
            case "states":
                let states = GroupHistory.states
                let what = "states \(Self.alternatives(states.map(\.rawValue)))"
                condition.states = list(value, at: pointer, of: what) { text in
                    states.first { $0.rawValue.hasSameBytes(as: text) }
                }.map(Set.init)
            case "environment": condition.environment = environment(value, at: pointer)
            default: history(value, named: name, at: pointer, into: &condition.history)
            }
        }
        return condition
    }
}
