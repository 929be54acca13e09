import PluginHub

/// User actions that the example and its tests play.
struct Scene: Sendable {
    let title: String
    /// Returns the final text of the screen, or the error of the refused call.
    let play: @Sendable (App) async throws -> String

    /// The app could not be launched, or a scene had an unexpected result.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }
}

extension Scene {
    /// A scene for each of the four sequence diagrams in `Alpha9DiagramTests`, with the diagram's title, and a
    /// purchase.
    static let all = [errorInGetPublisher, errorInCommand, errorInTheServer, asyncSuccess, purchase]

    static let errorInGetPublisher = Scene(title: "Error in getPublisher message") { app in
        try refusal { try app.journey.openWithoutPlace() }
    }

    static let errorInCommand = Scene(title: "Error in command message") { app in
        try app.journey.open("Lisbon")
        return try refusal { try app.journey.refreshWithoutPlace(id: "abc") }
    }

    static let errorInTheServer = Scene(title: "Error in the server") { app in
        app.server.isBroken = true
        defer { app.server.isBroken = false }
        try app.journey.open("Lisbon")
        try app.journey.refresh("Lisbon", id: "abc")
        return try await app.nextScreen()
    }

    static let asyncSuccess = Scene(title: "Async success") { app in
        try app.journey.open("Lisbon")
        try app.journey.refresh("Lisbon", id: "abc")
        return try await app.nextScreen()
    }

    static let purchase = Scene(title: "A purchase") { app in
        try app.journey.buy("com.example.harbour.tides", id: "def")
        return try await app.nextScreen()
    }

    /// Returns the error of `body` as text for the user.
    static func refusal(_ body: () throws -> Void) throws -> String {
        do {
            try body()
        } catch let error as PluginError {
            return error.sentence
        }
        throw Fault(description: "a message without a place was accepted")
    }
}
