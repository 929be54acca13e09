import BaseTestSupport
import Foundation
import StoreKitAdapter
import StoreModel
import StoreTestSupport

@testable import InAppStore

/// A random sequence of steps, run by a real store and by the reference model.
final class RandomLife {
    private let world: RealWorld
    private let disk = MemorySecureStorage()
    private var network = DeviceNetwork()
    private let clock: SettableClock
    private var store: Store
    private var reference: ReferenceCustomer

    static func live(_ steps: [LifeStep]) async throws {
        try await RealWorld.run { world in
            let life = try RandomLife(world)
            do {
                for (index, step) in steps.enumerated() { try await life.live(step, index) }
            } catch {
                await life.end()
                throw error
            }
            await life.end()
        }
    }

    private init(_ world: RealWorld) throws {
        self.world = world
        reference = ReferenceCustomer(at: world.now)
        clock = SettableClock(world.simulator.clock)
        store = try Self.launch(world, disk, network, clock)
    }

    private static func launch(
        _ world: RealWorld, _ disk: MemorySecureStorage, _ network: DeviceNetwork, _ clock: SettableClock
    ) throws -> Store {
        try Store(
            configuration: world.configuration(
                network: network, storage: DeviceStorage(disk, writtenBy: network), clock: clock))
    }

    private func end() async { await store.close() }

    private func live(_ step: LifeStep, _ index: Int) async throws {
        let complaint: String?
        do {
            complaint = try await perform(step)
            try await settle()
        } catch {
            throw LifeDifference(step: index, description: "\(step) threw \(error)")
        }
        if let complaint { throw LifeDifference(step: index, description: "\(step): \(complaint)") }
        let snapshot = store.snapshot
        let isSubscribed = snapshot.subscriptionInfo?.isExpired == false
        guard reference.subscription.contains(isSubscribed) else {
            throw LifeDifference(step: index, description: "after \(step), subscribed is \(isSubscribed)")
        }
        let (allowed, due) = (snapshot.allowedProducts, reference.allowed(subscribed: isSubscribed))
        guard allowed == due else {
            throw LifeDifference(
                step: index, description: "after \(step), allowed are \(allowed.sorted()), should be \(due.sorted())")
        }
    }

    private var mayAcquire: Bool {
        reference.subscription.count == 1
            ? reference.subscription.contains(true) : store.snapshot.subscriptionInfo?.isExpired == false
    }

    /// Waits until the server has all events of the store. If the network is up, also waits until the device has the
    /// server's answer.
    private func settle() async throws {
        try await world.settle(deviceIsOnline: network.isUp(.store) && network.isUp(.server))
        guard network.isUp(.server) else { return }
        try await store.validateReceipt()
        reference.refresh()
    }

    // MARK: - Steps

    /// Performs a step. Returns the difference between the store and the model, if any.
    private func perform(_ step: LifeStep) async throws -> String? {
        switch step {
        case .buy(let product): return await buy(product)
        case .buyAndCrash(let product, let requests):
            network.die(after: requests)
            try? await store.purchaseProduct(product.rawValue)
            try await crash()
            if try await isSold(product) { reference.buy(product) }
        case .subscribe:
            return reference.isSubscribed ? nil : await buy("pro.weekly")
        case .acquire(let product):
            let mayAcquire = mayAcquire && product != "hat"
            if mayAcquire { reference.acquire([product]) }
            return await expect(mayAcquire ? nil : .invalidProductForPurchasing) {
                try await store.purchaseProduct(product.rawValue)
            }
        case .acquireAll:
            let mayAcquire = mayAcquire
            if mayAcquire { reference.acquire(["film.noir", "film.warm"]) }
            return await expect(mayAcquire ? nil : .acquireAllRequestedForNonSubscriber) {
                try await store.acquireAllEnabledProducts()
            }
        case .restore:
            let isPossible = network.isUp(.store) && (network.isUp(.server) || hasNothing)
            return await expect(
                isPossible ? nil : network.isUp(.store) ? .acknowledgementPending : .restorePurchasesFailed
            ) {
                try await store.restorePurchases()
            }
        case .refresh:
            return await expect(network.isUp(.server) ? nil : .receiptValidationFailed) {
                try await store.refreshReceipt()
            }
        case .wait(let days):
            let seconds = TimeInterval(days) * 86400 + 1
            for _ in 0..<days {
                _ = try await world.simulator.advance(.init(seconds: seconds / TimeInterval(days)))
                _ = store.snapshot
            }
            reference.wait(seconds)
        case .cancelRenewal: if reference.isSubscribed { try await setRenewal(false) }
        case .resumeRenewal: if reference.isSubscribed { try await setRenewal(true) }
        case .refund(let product): try await refund(product)
        case .cut(let ends): network.cut(ends)
        case .mend: network.mend([.store, .server])
        case .crash: try await crash()
        case .setClock(let days):
            clock.set(ahead: TimeInterval(days * 86400))
            reference.setClock(ahead: TimeInterval(days * 86400))
        case .logOutAndIn:
            try await store.logOut()
            reference.forget()
            return await expect(network.isUp(.server) ? nil : .receiptValidationFailed) { try await store.logIn("ada") }
        }
        return nil
    }

    private var hasNothing: Bool { reference.ownership.owned.isEmpty && !reference.isSubscribed }

    private func buy(_ product: ProductID) async -> String? {
        let isOwned = reference.ownership.owned.contains(product)
        if network.isUp(.store) { reference.buy(product) }
        // The store returns an owned purchase, which may already be acknowledged.
        if isOwned, network.isUp(.store), !network.isUp(.server) {
            try? await store.purchaseProduct(product.rawValue)
            return nil
        }
        let refusal: PurchaseError.Code? =
            !network.isUp(.store) ? .purchaseFailed : network.isUp(.server) ? nil : .acknowledgementPending
        return await expect(refusal) { try await store.purchaseProduct(product.rawValue) }
    }

    /// Crashes the app, and launches it again on the same device with a working network.
    private func crash() async throws {
        let down = Set([DeviceNetwork.End.store, .server].filter { !network.isUp($0) })
        let wasDead = network.isDead
        network.die()
        await store.close()
        network = DeviceNetwork()
        if !wasDead { network.cut(down) }
        reference.crash()
        store = try Self.launch(world, disk, network, clock)
    }

    private func isSold(_ product: ProductID) async throws -> Bool {
        try await world.simulator.transactions(of: "ada").contains {
            $0.productID == product && $0.revocationDate == nil
        }
    }

    private func setRenewal(_ isOn: Bool) async throws {
        if isOn {
            _ = try await world.simulator.resume("pro.weekly", for: "ada")
        } else {
            try await world.simulator.cancel("pro.weekly", for: "ada")
        }
        reference.setRenewal(isOn)
    }

    private func refund(_ product: ProductID) async throws {
        let bought = try await world.simulator.transactions(of: "ada").filter {
            $0.productID == product && $0.revocationDate == nil
        }
        guard let latest = bought.last, product != "pro.weekly" || reference.isSubscribed else { return }
        try await world.simulator.refund(latest.transactionID)
        reference.refund(product)
    }

    private func expect(_ code: PurchaseError.Code?, _ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return code.map { "did not throw \($0.rawValue)" }
        } catch let error as PurchaseError {
            // The request for the product may fail first, before any payment.
            if code == .purchaseFailed, error.code == .productsMetadataFetchingFailed { return nil }
            return error.code == code
                ? nil : "threw \(error.code.rawValue) (\(error)), not \(code?.rawValue ?? "nothing")"
        } catch {
            return "threw \(error)"
        }
    }
}
