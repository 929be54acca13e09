import StoreModel

/// One step of a random history. An impossible step is refused, so any part of a history is a history too.
enum LifeStep: Sendable, Hashable {
    case pass(seconds: Int)
    case passPeriod(String)
    case buy(Int, ProductID, offer: String?)
    /// A purchase that is billed monthly with a commitment.
    case commit(Int, ProductID)
    case pay(device: Int, ProductID, offer: String?)
    case redeem(Int, ProductID, code: String)
    case setRenews(Int, ProductID, Bool)
    case setFails(Int, ProductID, Bool)
    case setAllFail(Bool)
    case setGrace(days: Int)
    case renew(Int, ProductID)
    case expire(Int, ProductID)
    case raise(ProductID, isMonthly: Bool, price: Int, needsConsent: Bool)
    case answer(Int, ProductID, agrees: Bool)
    case withdraw(ProductID)
    case refund(Int, place: Int)
    case reverse(Int, place: Int)
    case poll(device: Int, forgets: Bool)
    case finish(device: Int, place: Int)

    static let accounts = 2
    static let devices = 4

    /// Returns a history of `count` steps with the products of `referenceCatalogue`.
    static func life(of count: Int, among referenceCatalogue: ReferenceCatalogue, _ chance: inout Chance) -> [LifeStep]
    {
        // The store demands that prices only rise.
        var prices: [String: Int] = [:]
        return (0..<count).map { _ in step(referenceCatalogue, &prices, &chance) }
    }

    private static func step(
        _ referenceCatalogue: ReferenceCatalogue, _ prices: inout [String: Int], _ chance: inout Chance
    ) -> LifeStep {
        let account = chance.number(in: 0...accounts - 1)
        let device = chance.number(in: 0...devices - 1)
        let product = chance.one(of: referenceCatalogue.products)
        let plan = chance.one(of: referenceCatalogue.subscriptions)
        let offer = chance.happens(30) ? plan.offers.filter { $0.kind != 3 }.randomElement(using: &chance)?.id : nil
        switch chance.number(in: 0...99) {
        case 0...11: return .pass(seconds: chance.number(in: 1...86400 * 3))
        case 12...23: return .pass(seconds: chance.number(in: 86400...86400 * 40))
        case 24...27: return .passPeriod(chance.one(of: ReferenceCatalogue.periods))
        case 28...35:
            let commits = plan.billPrice != nil && chance.happens(60)
            return commits ? .commit(account, plan.id) : .buy(account, plan.id, offer: offer)
        case 36...37: return .buy(account, product.id, offer: nil)
        case 38...45: return .pay(device: device, plan.id, offer: offer)
        case 46...47: return .pay(device: device, product.id, offer: nil)
        case 48...50:
            let code = plan.offers.first { $0.kind == 3 }?.id ?? "no code"
            return .redeem(account, plan.id, code: code)
        case 51...55: return .setRenews(account, plan.id, chance.happens(40))
        case 56...60: return .setFails(account, plan.id, chance.happens(55))
        case 61...62: return .setAllFail(chance.happens(40))
        case 63...64: return .setGrace(days: chance.one(of: [0, 3, 16, 28]))
        case 65...66: return .renew(account, plan.id)
        case 67: return .expire(account, plan.id)
        case 68...70:
            let bill = chance.happens(50) ? plan.billPrice : nil
            let name = "\(plan.id) \(bill == nil ? "" : "monthly")"
            let price = (prices[name] ?? bill ?? plan.price) + chance.number(in: 1...5) * 1000
            prices[name] = price
            return .raise(plan.id, isMonthly: bill != nil, price: price, needsConsent: chance.happens(60))
        case 71...74: return .answer(account, plan.id, agrees: chance.happens(75))
        case 75: return chance.happens(25) ? .withdraw(plan.id) : .poll(device: device, forgets: true)
        case 76...78: return .refund(account, place: chance.number(in: 0...7))
        case 79...80: return .reverse(account, place: chance.number(in: 0...7))
        case 81...91: return .poll(device: device, forgets: chance.happens(15))
        default: return .finish(device: device, place: chance.number(in: 0...9))
        }
    }
}
