/// The meaning of a name: in which syntax its value is a secret, and which kinds of values are secrets. Empty for a
/// name whose value is not a secret.
struct SecretMeaning: OptionSet, Sendable {
    let rawValue: UInt8

    /// The value of a header.
    static let header = SecretMeaning(rawValue: 1)
    /// The value of an item of a query, a form or a cookie.
    static let item = SecretMeaning(rawValue: 2)
    /// The value of a member of JSON, XML or YAML, of a part of a multipart form, or of a setting in a text.
    static let member = SecretMeaning(rawValue: 4)
    /// Numbers are secrets too.
    static let number = SecretMeaning(rawValue: 8)
    /// Arrays are secrets too.
    static let list = SecretMeaning(rawValue: 16)
    /// Objects, and elements with child elements, are secrets too.
    static let object = SecretMeaning(rawValue: 32)
    /// In a text, the value continues to the end of the line.
    static let line = SecretMeaning(rawValue: 64)
    /// Not a secret, although the name ends like the name of a secret.
    static let harmless = SecretMeaning(rawValue: 128)

    static let everywhere: SecretMeaning = [.header, .item, .member]
    static let everything: SecretMeaning = [.number, .list, .object]
}
