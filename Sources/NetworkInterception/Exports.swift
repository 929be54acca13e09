// The words of a floret, so that `import NetworkInterception` alone is enough to write one.
@_exported import HTTPCore
@_exported import struct PluginHub.ViewDocument
@_exported import enum PluginHub.JSONValue
@_exported import typealias PluginHub.JSONObject
