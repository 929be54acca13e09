import Testing

/// The sequence diagrams of the hub's version Alpha.9, line by line. `replacements` has the lines that differ here.
/// Every other line must be observed as drawn.
@Suite(.timeLimit(.minutes(2)))
struct Alpha9DiagramTests {
    private static let replacements: [String: [String]] = [
        "DomainModel->>JourneyPlugin: InfoPublisher: AnyPublisher<Result<JSONObject, Error>, Never>": [
            "DomainModel->>JourneyPlugin: InfoPublisher: EventPublisher"
        ],
        "DomainModel->>JourneyPlugin: InfoPublisher: AnyPublisher, Never>": [
            "DomainModel->>JourneyPlugin: InfoPublisher: EventPublisher"
        ],
        "DomainModel->>JourneyPlugin: throw(Error)": ["DomainModel->>JourneyPlugin: throw(missingField)"],
        "DomainModel->>JourneyPlugin: throw(error)": ["DomainModel->>JourneyPlugin: throw(missingField)"],
        // Here the network plugin sends the requests to the server.
        "DomainModel->>Server: fetchInfo": [
            "DomainModel->>Network: command(fetchInfo, id: `abc`) throws", "Network->>Server: GET /info/Lisbon",
        ],
        "Server-->>DomainModel: error": [
            "Server-->>Network: 500",
            "Network-->>DomainModel: InfoFetchedPublisher-> EventOutput(Result(error), correlationId: `abc`)",
        ],
        "Server-->>DomainModel: info": [
            "Server-->>Network: 200",
            "Network-->>DomainModel: InfoFetchedPublisher-> EventOutput(Result(success: JSONObject(infoFetched)), correlationId: `abc`)",
        ],
    ]

    @Test func `Alpha 9: Error in getPublisher message`() async throws {
        try await Diagram(
            """
            JourneyPlugin->>DomainModel: getPublisher(forEvent:info, payload?) throws
            DomainModel->>JourneyPlugin: throw(Error)
            """, replacing: Self.replacements
        ).isPlayed(
            by: .errorInGetPublisher,
            showing: "The field \"place\" of the payload of the subscription to \"info\" is missing.")
    }

    @Test func `Alpha 9: Error in command message`() async throws {
        try await Diagram(
            """
            JourneyPlugin->>DomainModel: getPublisher(forEvent:info, payload?) throws
            DomainModel->>DomainModel: InfoPublisher.init()
            DomainModel->>JourneyPlugin: InfoPublisher: AnyPublisher<Result<JSONObject, Error>, Never>
            JourneyPlugin->>JourneyPlugin: subscribe(infoPublisher)
            JourneyPlugin->>DomainModel: command(refreshInfo, id: `abc`) throws
            DomainModel->>JourneyPlugin: throw(error)
            """, replacing: Self.replacements
        ).isPlayed(by: .errorInCommand, showing: "The field \"place\" of the payload of \"refreshInfo\" is missing.")
    }

    @Test func `Alpha 9: Error in the server`() async throws {
        try await Diagram(
            """
            JourneyPlugin->>DomainModel: getPublisher(forEvent:info, payload?) throws
            DomainModel->>DomainModel: InfoPublisher.init()
            DomainModel->>JourneyPlugin: InfoPublisher: AnyPublisher<Result<JSONObject, Error>, Never>
            JourneyPlugin->>JourneyPlugin: subscribe(infoPublisher)
            JourneyPlugin->>DomainModel: command(refreshInfo, id: `abc`) throws
            DomainModel->>Server: fetchInfo
            Server-->>DomainModel: error
            DomainModel-->>JourneyPlugin: InfoPublisher-> EventOutput(Result(error), correlationId: `abc`)
            JourneyPlugin->>JourneyPlugin: filterMessage(correlationId)
            JourneyPlugin->>JourneyPlugin: updateUI(error)
            """, replacing: Self.replacements
        ).isPlayed(by: .errorInTheServer, showing: "The server answered 500: try again later.")
    }

    @Test func `Alpha 9: Async success`() async throws {
        try await Diagram(
            """
            JourneyPlugin->>DomainModel: getPublisher(forEvent:info, payload?) throws
            DomainModel->>DomainModel: InfoPublisher.init()
            DomainModel->>JourneyPlugin: InfoPublisher: AnyPublisher, Never>
            JourneyPlugin->>JourneyPlugin: subscribe(infoPublisher)
            JourneyPlugin->>DomainModel: command(refreshInfo, id: `abc`) throws
            DomainModel->>Server: fetchInfo
            Server-->>DomainModel: info
            DomainModel-->>JourneyPlugin: InfoPublisher-> EventOutput(Result(success: JSONObject(info)), correlationId: `abc`)
            JourneyPlugin->>JourneyPlugin: updateUI(info)
            """, replacing: Self.replacements
        ).isPlayed(by: .asyncSuccess, showing: "Lisbon: high water at 14:05")
    }
}
