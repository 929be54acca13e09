import Primitives

extension HubGraph {
    /// Returns the graph as an AsyncAPI 3.0 document.
    ///
    /// Each message is a channel. Each plugin that sends, receives, publishes or subscribes has an operation on that
    /// channel, tagged with the plugin. Senders and publishers have the action `send`, receivers and subscribers
    /// `receive`. The operation of a query or view query has a `reply`. Correlation ids are in the header
    /// `correlationId`. Facts that AsyncAPI has no place for are in members that begin with `x-hub-`.
    ///
    /// - Parameters:
    ///   - title: The title of the application.
    ///   - version: The version of the application.
    /// - Returns: The document.
    public func asyncAPI(title: String = "Plugin hub", version: String = "1.0.0") -> JSONValue {
        var document = AsyncAPIDocument(graph: self)
        for channel in channels { document.add(channel) }
        return document.json(title: title, version: version)
    }
}

/// Builds an AsyncAPI document.
private struct AsyncAPIDocument {
    private let graph: HubGraph
    private let pluginKeys: [String]
    private var channelKeys = Keys()
    private var operationKeys = Keys()
    private var channels = JSONMembers()
    private var operations = JSONMembers()
    private var messages = JSONMembers()

    init(graph: HubGraph) {
        self.graph = graph
        var keys = Keys()
        pluginKeys = graph.plugins.map { keys.key(for: $0.label) }
    }

    /// Adds a message. The reply of a query has a channel without an address, because the hub returns it to the caller.
    mutating func add(_ channel: HubGraph.Channel) {
        let key = channelKeys.key(for: "\(channel.kind.rawValue).\(channel.message)")
        messages[key] = message(channel.message, title: channel.kind.noun, payload: channel.kind.payloadSchema)
        channels[key] = self.channel(key, address: .string(channel.message), channel)
        var reply: JSONValue?
        if let schema = channel.kind.replySchema {
            let replyKey = channelKeys.key(for: "\(key).reply")
            messages[replyKey] = message(channel.message, title: "answer", payload: schema)
            channels[replyKey] = self.channel(replyKey, address: .null, nil)
            reply = [
                "channel": reference("channels", replyKey),
                "messages": [reference("channels", replyKey, "messages", "message")],
            ]
        }
        for (action, plugins) in [("send", channel.senders), ("receive", channel.receivers)] {
            for plugin in plugins {
                let name = operationKeys.key(for: "\(pluginKeys[plugin]).\(action).\(key)")
                operations[name] = operation(action, plugin, on: key, channel, reply: reply)
            }
        }
    }

    private func channel(_ key: String, address: JSONValue, _ channel: HubGraph.Channel?) -> JSONValue {
        var json: JSONValue = [
            "address": address, "messages": ["message": reference("components", "messages", key)],
        ]
        guard let channel else { return json }
        json["tags"] = [["name": .string(channel.kind.noun)]]
        if channel.senders.isEmpty { json["x-hub-unconnected"] = "no plugin sends it" }
        if channel.receivers.isEmpty { json["x-hub-unconnected"] = "no plugin receives it" }
        return json
    }

    private func message(_ name: String, title: String, payload: String) -> JSONValue {
        [
            "name": .string(name), "title": .string("\(name) (\(title))"), "contentType": "application/json",
            "headers": reference("components", "schemas", "headers"),
            "payload": reference("components", "schemas", payload),
            "correlationId": reference("components", "correlationIds", "correlationId"),
        ]
    }

    private func operation(
        _ action: String, _ plugin: HubGraph.Plugin.ID, on key: String, _ channel: HubGraph.Channel, reply: JSONValue?
    ) -> JSONValue {
        let plugin = graph.plugins[plugin]
        var json: JSONValue = [
            "action": .string(action),
            "title": .string("\(plugin.label) \(channel.kind.verb(action)) \(channel.message)"),
            "channel": reference("channels", key),
            "messages": [reference("channels", key, "messages", "message")],
            "tags": [reference("components", "tags", pluginKeys[plugin.id])],
        ]
        if let reply { json["reply"] = reply }
        if action == "receive", channel.receiversAtLaunch.contains(plugin.id) { json["x-hub-at-launch"] = true }
        return json
    }

    func json(title: String, version: String) -> JSONValue {
        var tags = JSONMembers()
        for plugin in graph.plugins {
            tags[pluginKeys[plugin.id]] = ["name": .string(plugin.label), "description": "a plugin of the hub"]
        }
        return [
            "asyncapi": "3.0.0",
            "info": [
                "title": .string(title), "version": .string(version),
                "description":
                    "The messages between the plugins of a hub, from their policies. Messages stay inside one process.",
                "tags": .array(graph.plugins.map { reference("components", "tags", pluginKeys[$0.id]) }),
            ],
            "defaultContentType": "application/json",
            "channels": .object(channels),
            "operations": .object(operations),
            "components": [
                "messages": .object(messages),
                "schemas": Self.schemas,
                "correlationIds": [
                    "correlationId": [
                        "description":
                            "The sender of a command chooses it; every event that the command causes has the same id.",
                        "location": "$message.header#/correlationId",
                    ]
                ],
                "tags": .object(tags),
            ],
        ]
    }

    private static let schemas: JSONValue = [
        "headers": [
            "type": "object",
            "properties": ["correlationId": ["type": "string", "minLength": 1, "maxLength": 255]],
        ],
        "payload": [
            "type": "object",
            "description": "The parameters of the message. A message without parameters has no payload.",
        ],
        "output": [
            "type": "object",
            "description": "The payload of a success. A failure contains an error instead.",
        ],
        "viewDocument": ViewDocument.schema,
    ]
}

/// Unique keys that are valid in every part of a document and need no escaping in references. They are the same in
/// every run.
private struct Keys {
    private var taken: Set<String> = []

    mutating func key(for name: String) -> String {
        let legal = name.unicodeScalars.map { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-": String(scalar)
            case ".": "-"
            default: "_"
            }
        }.joined()
        var key = legal
        var number = 2
        while !taken.insert(key).inserted {
            key = "\(legal)_\(number)"
            number += 1
        }
        return key
    }
}

private func reference(_ path: String...) -> JSONValue { ["$ref": .string("#/" + path.joined(separator: "/"))] }

extension MessageKind {
    fileprivate var payloadSchema: String { self == .event ? "output" : "payload" }

    fileprivate var replySchema: String? {
        switch self {
        case .command, .event: nil
        case .query: "payload"
        case .viewQuery: "viewDocument"
        }
    }

    fileprivate func verb(_ action: String) -> String {
        switch (self, action) {
        case (.event, "send"): "publishes"
        case (.event, _): "subscribes to"
        case (_, "send"): "sends"
        default: "receives"
        }
    }
}
