import Foundation
import HTTPCore
import StoreKitAdapter

/// A transport whose requests all fail, as without a network.
struct NoNetwork: HTTPTransport {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        throw HTTPError(.connectionFailed, "There is no network.")
    }
}

/// Requests a product without a network, and prints the error that an app would show.
@main
enum ProductQuery {
    static func main() async {
        let connection = RemoteStoreConnection(
            configuration: .init(url: "http://127.0.0.1", account: "ada", transport: NoNetwork()))
        do {
            print(try await ProductRequest(connection: connection).products(["com.example.darkroom.filmpack"]))
            exit(1)
        } catch ProductRequestError.requestFailed(let error) {
            print("the store cannot be reached: \(error)")
        } catch {
            print("unexpected error: \(error)")
            exit(1)
        }
    }
}
