// Re-exports the JSON types of payloads, so that plugins need only `import PluginHub`.
@_exported import struct Primitives.JSONMembers
@_exported import struct Primitives.JSONNumber
@_exported import typealias Primitives.JSONObject
@_exported import enum Primitives.JSONValue
