import NetworkInterception
import Testing

/// The lines of YAML that belong to the name of a secret.
@Suite struct SecretBlockTests {
    @Test(arguments: [
        ("a: 1\npasswords:\n  prod:\n    main: x\n\n  test: y\nb: 2\n", "a: 1\npasswords:\n  [redacted]\nb: 2\n"),
        ("- tokens:\n  - a: x\n  - b: y\n- c: 2\n", "- tokens:\n  [redacted]\n- c: 2\n"),
        ("tokens:\n- a: x\n- b: y\nc: 2\n", "tokens:\n[redacted]\nc: 2\n"),
        ("tokens:\r\n  a: x\r\n\r\n\r\nc: 2\r\n", "tokens:\r\n  [redacted]\r\n\r\n\r\nc: 2\r\n"),
        ("x:\n\tsecrets:\n\t\ta: |\n\t\t\ty\n\tb: 2\n", "x:\n\tsecrets:\n\t\t[redacted]\n\tb: 2\n"),
        ("\"secrets\":\n  \"a\":\n    b: x\n\"c\": 2\n", "\"secrets\":\n  [redacted]\n\"c\": 2\n"),
        ("secrets:\n  a: x\n  # b\n# c\nd: 2\n", "secrets:\n  [redacted]\n# c\nd: 2\n"),
        ("secrets:\n  a:\n    b: x", "secrets:\n  [redacted]"),
        ("pin:\n  of: a\n  value: x\nvalue: b\n", "pin:\n  of: a\n  value: [redacted]\nvalue: b\n"),
        (#"{"a":"x:\n  token:\n    y\n  d: 2\n"}"#, #"{"a":"x:\n  token:\n    [redacted]\n  d: 2\n"}"#),
        ("---\nsecrets:\n  a: x\n---\nb: 2\n", "---\nsecrets:\n  [redacted]\n---\nb: 2\n"),
    ])
    func `lines below the name of a secret are one value, and the rest is unchanged`(_ text: String, _ redacted: String)
    {
        #expect(Redaction.standard.redacted(text) == redacted)
        #expect(Redaction.standard.redacted(redacted) == redacted)
    }

    @Test(arguments: ["password", "passwords", "token", "tokens", "credentials", "apiKeys", "pin", "session", "author"])
    func `a name whose JSON object is secret also makes its YAML mapping secret`(_ name: String) {
        let json = Redaction.standard.redacted("{\"\(name)\":{\"a\":{\"b\":\"x\"}}}")
        let yaml = Redaction.standard.redacted("\(name):\n  a:\n    b: x\n")
        #expect(json.contains("[redacted]") == yaml.contains("[redacted]"), "\(json) \(yaml)")
    }

    @Test func `members that users add are redacted with everything below them`() {
        let redaction = Redaction(members: ["till"])
        #expect(redaction.redacted("till:\n  name: a\n  b:\n    c: d\ne: 2\n") == "till:\n  [redacted]\ne: 2\n")
    }
}
