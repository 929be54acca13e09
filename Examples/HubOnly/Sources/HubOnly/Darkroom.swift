import PluginHub

/// Develops pictures on a command, and sends an event when one is done.
final class Darkroom: PluginProtocol {
    let policy = Policy(
        name: "Darkroom", receive: .init(commands: ["darkroom.develop"]), publish: ["darkroom.developed"])

    private let developed = EventSubject()

    init(messageSender: any MessageSending, configurationFiles: [String: String]) {}

    func publisher(forEvent event: Message, payload: JSONObject?) -> EventPublisher { developed.publisher }

    func onReceive(command: Message, payload: JSONObject?) throws {
        let picture = try (payload ?? [:]).require("picture", as: String.self)
        developed.send(EventOutput(result: .success(["picture": "\(picture).jpeg"]), correlationId: command.id))
    }
}

/// Sends a picture to be developed. It depends only on the darkroom's messages.
final class Gallery: PluginProtocol {
    let policy = Policy(
        name: "Gallery", send: .init(commands: ["darkroom.develop"]), subscribe: ["darkroom.developed"])

    private let messages: any MessageSending

    init(messageSender: any MessageSending, configurationFiles: [String: String]) { messages = messageSender }

    /// Returns the name of the developed picture.
    func develop(_ picture: String) throws -> String? {
        let develop = try Message("darkroom.develop", id: .unique())
        let answers = Box()
        let subscription = try messages.publisher(forEvent: "darkroom.developed", payload: nil, subscriber: self)
            .filter(correlationId: develop.id!)
            .sink { answers.set(try? $0.result.get()["picture"]?.stringValue) }
        defer { subscription.cancel() }
        try messages.send(command: develop, payload: ["picture": .string(picture)], sender: self)
        return answers.get()
    }

    /// Sends a command that the gallery's policy does not allow.
    func overstep() throws {
        try messages.send(command: "darkroom.burnDown", payload: nil, sender: self)
    }
}
