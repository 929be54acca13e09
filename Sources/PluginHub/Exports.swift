// The JSON vocabulary of payloads, so that `import PluginHub` alone is enough to write a plugin.
@_exported import struct Primitives.JSONMembers
@_exported import struct Primitives.JSONNumber
@_exported import typealias Primitives.JSONObject
@_exported import enum Primitives.JSONValue
