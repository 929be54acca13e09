import Primitives

/// A database with a pool of connections, for metrics.
package protocol ConnectionPool: SQLDatabase {
    var poolUsage: ConnectionPoolUsage { get }
}

/// The use of a pool of connections.
package struct ConnectionPoolUsage: Sendable {
    /// The number of open connections.
    package let openConnections: Int
    /// The number of connections on which a body of `read` or `write` runs. Lookups share their connections and do not
    /// count.
    package let connectionsInUse: Int
    /// The number of bodies of `write` that wait for a connection.
    package let queuedWrites: Int
    /// How long the bodies of `write` waited that have begun.
    package let writeWaits: DurationHistogram

    package init(openConnections: Int, connectionsInUse: Int, queuedWrites: Int, writeWaits: DurationHistogram) {
        self.openConnections = openConnections
        self.connectionsInUse = connectionsInUse
        self.queuedWrites = queuedWrites
        self.writeWaits = writeWaits
    }
}
