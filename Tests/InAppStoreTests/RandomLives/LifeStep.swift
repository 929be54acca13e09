import BaseTestSupport
import Foundation
import Primitives
import StoreModel

/// One event in the life of a customer and their device.
enum LifeStep: Hashable, Sendable {
    case buy(ProductID)
    case buyAndCrash(ProductID, afterRequests: Int)
    case subscribe
    /// Takes a product that is included in the subscription.
    case acquire(ProductID)
    /// Takes all products that are included in the subscription.
    case acquireAll
    case restore
    case refresh
    /// Time passes, at the store and on the device.
    case wait(days: Int)
    case cancelRenewal
    case resumeRenewal
    case refund(ProductID)
    case cut(Set<DeviceNetwork.End>)
    case mend
    case crash
    case logOutAndIn
    /// Sets the device's clock this many days ahead of the true time, or behind it if negative. No step corrects only a
    /// part of the error, because the store could not distinguish that from passing time.
    case setClock(daysAhead: Int)

    static func life(of length: Int, _ chance: inout SeededNumbers) -> [LifeStep] {
        (0..<length).map { _ in random(&chance) }
    }

    private static func random(_ chance: inout SeededNumbers) -> LifeStep {
        let sold: [ProductID] = ["pack", "lens", "coins"]
        switch Int.random(in: 0..<30, using: &chance) {
        case 0..<4: return .buy(pick(sold, &chance))
        case 4: return .buyAndCrash(pick(sold, &chance), afterRequests: Int.random(in: 0..<8, using: &chance))
        case 5..<8: return .subscribe
        case 8..<10: return .acquire(pick(["film.noir", "film.warm", "hat"], &chance))
        case 10..<12: return .acquireAll
        case 12: return .restore
        case 13: return .refresh
        case 14..<18: return .wait(days: pick([1, 3, 6, 7, 8, 12], &chance))
        case 18: return .cancelRenewal
        case 19: return .resumeRenewal
        case 20..<22: return .refund(pick(sold + ["pro.weekly"], &chance))
        case 22..<24: return .cut(pick([[.store], [.server], [.store, .server]], &chance))
        case 24..<26: return .mend
        case 26: return .crash
        case 27..<29: return .setClock(daysAhead: pick([0, -10, 10], &chance))
        default: return .logOutAndIn
        }
    }

    private static func pick<Value>(_ values: [Value], _ chance: inout SeededNumbers) -> Value {
        values[Int.random(in: values.indices, using: &chance)]
    }
}
