import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The app's entitlement server in a scenario. Its jobs run only when the scenario says so, so virtual time decides when
/// they are due.
///
/// The program that has both the simulator and a server implements it.
package protocol ScenarioServer: Sendable {
    /// The schema of the answer about a customer.
    static var answer: WireSchema { get }

    /// Opens a server that trusts `store` and follows its clock.
    static func open(_ settings: Scenario.ServerSettings, for store: SimulatedAppStore) async throws -> Self

    /// The endpoints for apps and for the notifications of both stores.
    var handler: any HTTPHandler { get }
    /// The API key of the app.
    var publicKey: String { get }

    /// Does all work that is due. Failures are reported, and the work is repeated in a later call.
    func doDueWork() async throws

    func close() async
}

extension Scenario {
    /// The settings of the server, under the names of the configuration file of `souk serve`.
    package struct ServerSettings: Sendable {
        package var features = FeatureMap()
        package var credits = CreditTable()
        package var transferMode = TransferMode.transfer
        /// The one-time products of Google Play that customers can buy again.
        package var playConsumables: Set<ProductID> = []
    }

    /// The server of a scenario.
    struct Server: Sendable {
        let settings: ServerSettings
        let type: any ScenarioServer.Type
    }

    /// The endpoint of the App Store's notifications. The receiver of the scenario answers there.
    static let notificationsURL = receiverURL + "/v1/notifications/app-store"
    /// The endpoint of Google Play's notifications, which is also the audience of their tokens.
    package static let playNotificationsURL = receiverURL + "/v1/notifications/google-play"
    static let receiverURL = "http://receiver.invalid"
}

/// The part of a scenario that decides what a step can contain.
struct ScenarioContext {
    /// The names that earlier steps gave.
    var names: Set<String> = []
    /// The schema of the server's answer about a customer; `nil` if the scenario has no server.
    var answer: WireSchema?

    /// Throws if the scenario has no server.
    func requireServer(_ place: JSONPlace, _ what: String) throws {
        guard answer == nil else { return }
        throw place.finding("\(what) needs a server; add the member \"server\" to the scenario")
    }
}
