import Testing

/// The sequence diagrams of Alpha.8, an earlier version of the hub, played with the present version Alpha.9.
/// `replacements`, `again` and `refused` have the lines that changed. Every other line must be observed as drawn.
@Suite(.timeLimit(.minutes(2)))
struct Alpha8DiagramTests {
    private static let replacements: [String: [String]] = [
        // A command returns no publisher: the app gets the publisher first, then sends the command.
        "JourneyPlugin->>DomainModel: command(getInfo)": [
            "JourneyPlugin->>DomainModel: getPublisher(forEvent:info, payload?) throws"
        ],
        "DomainModel->>JourneyPlugin: InfoPublisher:AnyPublisher<Result<JSONObject, Error>, PluginError>": [
            "DomainModel->>JourneyPlugin: InfoPublisher: EventPublisher"
        ],
        "DomainModel->>Network: fetchInfo": [
            "JourneyPlugin->>DomainModel: command(refreshInfo, id: `first`) throws",
            "DomainModel->>Network: command(fetchInfo, id: `first`) throws", "Network->>Server: GET /info/Lisbon",
        ],
        "Network-->>DomainModel: info1": [
            "Server-->>Network: 200",
            "Network-->>DomainModel: InfoFetchedPublisher-> EventOutput(Result(success: JSONObject(infoFetched)), correlationId: `first`)",
        ],
        "Network-->>DomainModel: error": [
            "Server-->>Network: 500",
            "Network-->>DomainModel: InfoFetchedPublisher-> EventOutput(Result(error), correlationId: `first`)",
        ],
        "DomainModel-->>JourneyPlugin:InfoPublisher-> success(JSONObject(info1))": [
            "DomainModel-->>JourneyPlugin: InfoPublisher-> EventOutput(Result(success: JSONObject(info)), correlationId: `first`)"
        ],
        "DomainModel-->>JourneyPlugin:InfoPublisher-> failure(error)": [
            "DomainModel-->>JourneyPlugin: InfoPublisher-> EventOutput(Result(error), correlationId: `first`)",
            "JourneyPlugin->>JourneyPlugin: filterMessage(correlationId)",
        ],
        // The publisher cannot fail; the command throws its own errors.
        "DomainModel-->>JourneyPlugin: infoPublisher(Fail(error))": [
            "JourneyPlugin->>DomainModel: command(refreshInfo, id: `first`) throws",
            "DomainModel->>JourneyPlugin: throw(missingField)",
        ],
    ]

    @Test func `Alpha 8 replayed: Success`() async throws {
        // A message with an effect is a command, not a query. A command returns nothing; the info arrives as an event.
        let again: [String: [String]] = [
            "JourneyPlugin->>DomainModel: query(refreshInfo)": [
                "JourneyPlugin->>DomainModel: command(refreshInfo, id: `second`) throws"
            ],
            "DomainModel->>JourneyPlugin: success(nil): Result<JSONObject?, PluginError>": [],
            "DomainModel->>Network: fetchInfo": [
                "DomainModel->>Network: command(fetchInfo, id: `second`) throws", "Network->>Server: GET /info/Lisbon",
            ],
            "Network-->>DomainModel: info2": [
                "Server-->>Network: 200",
                "Network-->>DomainModel: InfoFetchedPublisher-> EventOutput(Result(success: JSONObject(infoFetched)), correlationId: `second`)",
            ],
            "DomainModel-->>JourneyPlugin: InfoPublisher-> success(JSONObject(info2))": [
                "DomainModel-->>JourneyPlugin: InfoPublisher-> EventOutput(Result(success: JSONObject(info)), correlationId: `second`)"
            ],
            "JourneyPlugin->>JourneyPlugin: updateUI(info2)": ["JourneyPlugin->>JourneyPlugin: updateUI(info)"],
        ]
        let scene = Scene(title: "Success") { app in
            try app.journey.open("Lisbon")
            try app.journey.refresh("Lisbon", id: "first")
            let first = try await app.nextScreen()
            try app.journey.refresh("Lisbon", id: "second")
            return try await "\(first), \(app.nextScreen())"
        }
        let diagram =
            Diagram(
                """
                JourneyPlugin->>DomainModel: command(getInfo)
                DomainModel->>DomainModel: InfoPublisher.init()
                DomainModel->>JourneyPlugin: InfoPublisher:AnyPublisher<Result<JSONObject, Error>, PluginError>
                JourneyPlugin->>JourneyPlugin: subscribe(infoPublisher)
                DomainModel->>Network: fetchInfo
                Network-->>DomainModel: info1
                DomainModel-->>JourneyPlugin:InfoPublisher-> success(JSONObject(info1))
                JourneyPlugin->>JourneyPlugin: updateUI(info)
                """, replacing: Self.replacements)
            + Diagram(
                """
                JourneyPlugin->>DomainModel: query(refreshInfo)
                DomainModel->>JourneyPlugin: success(nil): Result<JSONObject?, PluginError>
                DomainModel->>Network: fetchInfo
                Network-->>DomainModel: info2
                DomainModel-->>JourneyPlugin: InfoPublisher-> success(JSONObject(info2))
                JourneyPlugin->>JourneyPlugin: updateUI(info2)
                """, replacing: again)
        try await diagram.isPlayed(by: scene, showing: "Lisbon: high water at 14:05, Lisbon: high water at 14:05")
    }

    @Test func `Alpha 8 replayed: Error in command`() async throws {
        let scene = Scene(title: "Error in command") { app in
            try app.journey.open("Lisbon")
            return try Scene.refusal { try app.journey.refreshWithoutPlace(id: "first") }
        }
        try await Diagram(
            """
            JourneyPlugin->>DomainModel: command(getInfo)
            DomainModel->>DomainModel: InfoPublisher.init()
            DomainModel->>JourneyPlugin: InfoPublisher:AnyPublisher<Result<JSONObject, Error>, PluginError>
            JourneyPlugin->>JourneyPlugin: subscribe(infoPublisher)
            DomainModel-->>JourneyPlugin: infoPublisher(Fail(error))
            """, replacing: Self.replacements
        ).isPlayed(by: scene, showing: "The field \"place\" of the payload of \"refreshInfo\" is missing.")
    }

    @Test func `Alpha 8 replayed: Error in network`() async throws {
        let scene = Scene(title: "Error in network") { app in
            app.server.isBroken = true
            try app.journey.open("Lisbon")
            try app.journey.refresh("Lisbon", id: "first")
            return try await app.nextScreen()
        }
        try await Diagram(
            """
            JourneyPlugin->>DomainModel: command(getInfo)
            DomainModel->>DomainModel: InfoPublisher.init()
            DomainModel->>JourneyPlugin: InfoPublisher:AnyPublisher<Result<JSONObject, Error>, PluginError>
            JourneyPlugin->>JourneyPlugin: subscribe(infoPublisher)
            DomainModel->>Network: fetchInfo
            Network-->>DomainModel: error
            DomainModel-->>JourneyPlugin:InfoPublisher-> failure(error)
            JourneyPlugin->>JourneyPlugin: updateUI(error)
            """, replacing: Self.replacements
        ).isPlayed(by: scene, showing: "The server answered 500: try again later.")
    }

    @Test func `Alpha 8 replayed: Error in query`() async throws {
        let refused: [String: [String]] = [
            "JourneyPlugin->>DomainModel: query(refreshInfo)": [
                "JourneyPlugin->>DomainModel: command(refreshInfo, id: `second`) throws"
            ],
            "DomainModel->>JourneyPlugin: failure(PluginError)": ["DomainModel->>JourneyPlugin: throw(missingField)"],
        ]
        let scene = Scene(title: "Error in query") { app in
            try app.journey.open("Lisbon")
            try app.journey.refresh("Lisbon", id: "first")
            let first = try await app.nextScreen()
            return try "\(first), \(Scene.refusal { try app.journey.refreshWithoutPlace(id: "second") })"
        }
        // The drawing has `error` as the response of the network, but continues with `info1`, so `info1` is meant.
        let diagram =
            Diagram(
                """
                JourneyPlugin->>DomainModel: command(getInfo)
                DomainModel->>DomainModel: InfoPublisher.init()
                DomainModel->>JourneyPlugin: InfoPublisher:AnyPublisher<Result<JSONObject, Error>, PluginError>
                JourneyPlugin->>JourneyPlugin: subscribe(infoPublisher)
                DomainModel->>Network: fetchInfo
                Network-->>DomainModel: info1
                DomainModel-->>JourneyPlugin:InfoPublisher-> success(JSONObject(info1))
                JourneyPlugin->>JourneyPlugin: updateUI(info)
                """, replacing: Self.replacements)
            + Diagram(
                """
                JourneyPlugin->>DomainModel: query(refreshInfo)
                DomainModel->>JourneyPlugin: failure(PluginError)
                """, replacing: refused)
        try await diagram.isPlayed(
            by: scene,
            showing:
                "Lisbon: high water at 14:05, The field \"place\" of the payload of \"refreshInfo\" is missing.")
    }
}
