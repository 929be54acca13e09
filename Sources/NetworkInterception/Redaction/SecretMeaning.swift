/// What a name says about the value beside it: in which places that value is a secret, and which kinds of values are.
/// Empty for a name that says nothing.
struct SecretMeaning: OptionSet, Sendable {
    let rawValue: UInt8

    /// The value of a header.
    static let header = SecretMeaning(rawValue: 1)
    /// The value of an item of a query, a form or a cookie.
    static let item = SecretMeaning(rawValue: 2)
    /// The value of a member of JSON, XML or YAML, of a part of a multipart form, or of a setting in a text.
    static let member = SecretMeaning(rawValue: 4)
    /// Also a value that is a number.
    static let number = SecretMeaning(rawValue: 8)
    /// Also a value that is an array.
    static let list = SecretMeaning(rawValue: 16)
    /// Also a value that is an object, or an element with elements.
    static let object = SecretMeaning(rawValue: 32)
    /// In a text the value goes on to the end of the line.
    static let line = SecretMeaning(rawValue: 64)
    /// Known to be no secret, although the name ends like one.
    static let harmless = SecretMeaning(rawValue: 128)

    static let everywhere: SecretMeaning = [.header, .item, .member]
    static let everything: SecretMeaning = [.number, .list, .object]
}
