import Foundation
import SQLStorage
import StoreModel

/// The orders that wait for an approval or an action of the customer.
extension SimulatorDatabase {
    func insert(_ held: HeldOrder) throws {
        let order = held.order
        try sql.execute(
            """
            INSERT INTO held (
                number, account, at, reason, product, quantity, token, offer, offer_kind, allows_introductory, payment,
                device, billing_plan)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            """,
            [
                .integer(held.number), .integer(order.accountID), .integer(held.at.microseconds),
                .text(held.reason.rawValue), .text(order.productID.rawValue), .integer(Int64(order.quantity)),
                SQLValue(order.appAccountToken), SQLValue(order.offerID), SQLValue(order.offerKind?.rawValue),
                SQLValue(order.allowsIntroductory),
                SQLValue(order.payment?.rawValue), SQLValue(order.device?.rawValue),
                .text(order.billingPlan.rawValue),
            ])
    }

    func deleteHeldOrder(_ number: Int64) throws {
        try sql.execute("DELETE FROM held WHERE number = ?1", [.integer(number)])
    }

    func heldOrder(_ number: Int64) throws -> HeldOrder? {
        try sql.first("SELECT * FROM held WHERE number = ?1", [.integer(number)]).map(Self.heldOrder)
    }

    /// The waiting orders of an account, oldest first.
    func heldOrders(of account: Int64) throws -> [HeldOrder] {
        try sql.query("SELECT * FROM held WHERE account = ?1 ORDER BY number", [.integer(account)]).map(Self.heldOrder)
    }

    /// All waiting orders, oldest first.
    func heldOrders() throws -> [HeldOrder] { try sql.query("SELECT * FROM held ORDER BY number").map(Self.heldOrder) }

    /// The waiting order of a payment.
    func heldOrder(_ payment: PaymentID, of account: Int64) throws -> HeldOrder? {
        try sql.first(
            "SELECT * FROM held WHERE account = ?1 AND payment = ?2", [.integer(account), .text(payment.rawValue)]
        ).map(Self.heldOrder)
    }

    /// Sets the device that receives the outcome of a waiting order.
    func set(device: DeviceID, ofHeldOrder number: Int64) throws {
        try sql.execute("UPDATE held SET device = ?2 WHERE number = ?1", [.integer(number), .text(device.rawValue)])
    }

    private static func heldOrder(_ row: SQLRow) throws -> HeldOrder {
        let reason: String = try row["reason"]
        guard let reason = HeldOrder.Reason(rawValue: reason) else {
            throw SQLError(
                .unexpectedValue, "The simulator database has an order with an unknown reason to wait: \(reason).")
        }
        let kind: Int? = try row["offer_kind"]
        let plan: String? = try row["billing_plan"]
        let payment: String? = try row["payment"]
        let device: String? = try row["device"]
        let order = Order(
            accountID: try row["account"], productID: ProductID(unchecked: try row["product"]),
            quantity: try row["quantity"], appAccountToken: try row.id("token"), offerID: try row["offer"],
            offerKind: kind.flatMap(AppliedOffer.Kind.init),
            billingPlan: plan.map(BillingPlan.Kind.init(rawValue:)) ?? .upFront,
            allowsIntroductory: try row["allows_introductory"],
            payment: payment.map(PaymentID.init(unchecked:)),
            device: device.map(DeviceID.init(unchecked:)))
        return HeldOrder(number: try row["number"], order: order, reason: reason, at: try row.date("at"))
    }
}
