import PluginHub

// What the plugins say to each other, and all they know of each other.

/// Event: something new is known about a place. Asked for with a place it is about that one, without a payload about all.
struct InfoChanged: HubEvent {
    static let message: Message = "info"

    struct Parameters: Codable, Sendable { var place: String }

    var place: String
    var text: String
}

/// Command: find out what is new about a place. What is found comes as `InfoChanged`.
struct RefreshInfo: HubCommand {
    static let message: Message = "refreshInfo"
    var place: String
}

/// Command: ask the server about a place. Its answer comes as `InfoFetched`.
struct FetchInfo: HubCommand {
    static let message: Message = "fetchInfo"
    var place: String
}

/// Event: the server answered.
struct InfoFetched: HubEvent {
    static let message: Message = "infoFetched"
    var place: String
    var text: String
}

// The store's messages, as `StoreHubPlugin` documents them; only the fields that are used here.

/// Command: buy. What became of it comes as `PurchaseResult`.
struct Purchase: HubCommand {
    static let message: Message = "store.purchase"
    var productID: String
}

struct PurchaseResult: HubEvent {
    static let message: Message = "store.purchaseResult"
    var productID: String
    var outcome: String
}

/// Query: what the customer may use.
struct AllowedProducts: HubQuery {
    static let message: Message = "store.allowedProducts"

    struct Answer: Codable, Sendable { var productIDs: [String] }
}

/// Where a plugin says what it does by itself.
typealias Log = @Sendable (_ what: String) -> Void
