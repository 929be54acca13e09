import HTTPCore
import SimulatorControl
import StoreModel

extension WireSchema {
    static let seats = integer(1...10_000)
}

extension StoreControlWire.SeatCount: WireModel {
    static let schemaName = "SeatCount"
    static let schema = WireSchema.object([
        .required("productID", .product), .required("count", .seats.described("the seats of the next period")),
    ])
}

extension StoreControlWire.SeatMember: WireModel {
    static let schemaName = "SeatMember"
    static let schema = WireSchema.object([
        .required("productID", .product), .required("member", .name.described("the account of the member")),
    ])
}

extension StoreControlWire.TakenSeat: WireModel {
    static let schemaName = "TakenSeat"
    static let schema = WireSchema.object([
        .optional("account", .text.described("the member; absent for a claim without a member")),
        .optional("claimID", .uuid.described("the claim; absent for a seat that Apple assigned")),
        .required("since", .date),
    ])
}

extension StoreControlWire.SeatInfo: WireModel {
    static let schemaName = "SeatInfo"
    static let schema = WireSchema.object([
        .required("productID", .product), .required("originalTransactionID", .name),
        .required("invitations", .choice(["apple", "developer"]).described("who invites the members")),
        .required("total", .integer), .required("available", .integer),
        .optional("renewalCount", .integer.described("the seats of the next period; absent if it does not renew")),
        .required("taken", .array(of: StoreControlWire.TakenSeat.self)),
    ])
}

extension StoreControlWire.SeatInfos: WireModel {
    static let schemaName = "SeatInfos"
    static let schema = WireSchema.object([.required("seats", .array(of: StoreControlWire.SeatInfo.self))])
}
