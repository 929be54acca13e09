import PluginHub

// The messages of the plugins, which know nothing else of each other.

/// Event: a new info about a place. A subscription with a place in its payload gets the infos about that place, and one
/// without a payload gets all infos.
struct InfoChanged: HubEvent {
    static let message: Message = "info"

    struct Parameters: Codable, Sendable { var place: String }

    var place: String
    var text: String
}

/// Command: fetch the info about a place. The result comes as `InfoChanged`.
struct RefreshInfo: HubCommand {
    static let message: Message = "refreshInfo"
    var place: String
}

/// Command: request the info about a place from the server. The response comes as `InfoFetched`.
struct FetchInfo: HubCommand {
    static let message: Message = "fetchInfo"
    var place: String
}

/// Event: the response of the server.
struct InfoFetched: HubEvent {
    static let message: Message = "infoFetched"
    var place: String
    var text: String
}

// The store's messages, as documented in `StoreHubPlugin`, with the fields that are used here.

/// Command: buy a product. The result comes as `PurchaseResult`.
struct Purchase: HubCommand {
    static let message: Message = "store.purchase"
    var productID: String
}

struct PurchaseResult: HubEvent {
    static let message: Message = "store.purchaseResult"
    var productID: String
    var outcome: String
}

/// Query: the products that the customer may use.
struct AllowedProducts: HubQuery {
    static let message: Message = "store.allowedProducts"

    struct Answer: Codable, Sendable { var productIDs: [String] }
}

/// Records an action of a plugin.
typealias Log = @Sendable (_ what: String) -> Void
