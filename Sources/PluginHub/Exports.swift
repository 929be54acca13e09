@_exported import struct Primitives.JSONMembers
@_exported import struct Primitives.JSONNumber
@_exported import typealias Primitives.JSONObject
@_exported import enum Primitives.JSONValue
