// A file with a floret needs only `import NetworkInterception`.
@_exported import HTTPCore
@_exported import struct PluginHub.ViewDocument
@_exported import enum PluginHub.JSONValue
@_exported import typealias PluginHub.JSONObject
