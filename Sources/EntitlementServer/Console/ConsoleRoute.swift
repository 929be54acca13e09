import HTTPCore
import StoreModel

/// One method of one path of the console, with its handler. The paths are not part of the HTTP API.
struct ConsoleRoute: Sendable {
    static let root = "/console"

    /// The function that responds, and the rights that it requires.
    enum Handler: Sendable {
        /// A page without a session. It receives the fields of the query or the form.
        case open(@Sendable (HTTPQuery) async throws -> HTTPResponse)
        /// A page of a session with at least these rights. A form must contain the token of the session.
        case signedIn(ConsoleSession.Role, @Sendable (ConsoleRequest) async throws -> HTTPResponse)
    }

    let method: HTTPRequest.Method
    let path: String
    /// The name of the endpoint in metrics and logs.
    let id: String
    let handler: Handler

    init(_ method: HTTPRequest.Method, _ path: String, _ id: String, _ handler: Handler) {
        self.method = method
        self.path = Self.root + path
        self.id = id
        self.handler = handler
    }
}

/// A request of a session.
struct ConsoleRequest: Sendable {
    let session: ConsoleSession
    let environment: StoreEnvironment
    /// The fields of the query or the form.
    let fields: HTTPQuery
    /// The values that all pages of a session need, such as the app, the environment and the token of forms.
    let frame: ConsoleFrame

    var ledgerID: LedgerID { LedgerID(app: session.caller.app, environment: environment) }

    /// Returns the customer of the field `id`. Throws 400.
    func customer() throws(ConsoleRefusal) -> CustomerKey {
        guard let customer = fields["id"].flatMap({ CustomerID(rawValue: $0) }) else {
            throw .invalid("id", "should have \(CustomerID.rule)")
        }
        return CustomerKey(ledgerID: ledgerID, customer: customer)
    }

    /// Returns a position in a list from a field; `nil` if the field is absent. Throws 400.
    func position(_ field: String) throws(ConsoleRefusal) -> Int64? {
        guard let text = fields[field] else { return nil }
        guard let position = Int64(digits: text), position > 0 else {
            throw .invalid(field, "should be a number of this list")
        }
        return position
    }
}
