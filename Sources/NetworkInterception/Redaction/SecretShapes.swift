/// A prefix and a format that mark a secret under any name.
struct SecretShape: Sendable {
    enum Rest: Sendable {
        /// Letters, digits, hyphens and underscores.
        case word
        /// The characters of `word`, and dots, which join the parts of a token.
        case parts
        /// The characters of a path.
        case path
        /// The characters of `word`, with at least one digit and one upper-case letter.
        case mixed
        /// Hexadecimal digits.
        case hexadecimal
        /// The digest of a password with its parameters.
        case digest
    }

    let prefix: [UInt8]
    /// The least length after the prefix.
    let least: Int
    let rest: Rest
    /// Whether the prefix is not part of the secret.
    let keepsPrefix: Bool

    init(_ prefix: String, least: Int, _ rest: Rest = .word, keepsPrefix: Bool = false) {
        self.prefix = Array(prefix.utf8)
        self.least = least
        self.rest = rest
        self.keepsPrefix = keepsPrefix
    }
}

/// The formats of secrets in a form for fast search in bytes.
final class SecretShapes: Sendable {
    /// The known formats, in this order: tokens of code hosts and package registries, of payment services and shops, of
    /// messaging services, of cloud services, private keys, keys of AI services, PASETO tokens, and digests of
    /// passwords.
    static let standard = SecretShapes([
        .init("ghp_", least: 16), .init("gho_", least: 16), .init("ghu_", least: 16), .init("ghs_", least: 16),
        .init("ghr_", least: 16), .init("github_pat_", least: 16), .init("glpat-", least: 12),
        .init("gldt-", least: 12), .init("glrt-", least: 12), .init("glptt-", least: 12), .init("npm_", least: 20),
        .init("pypi-", least: 24), .init("dckr_pat_", least: 12), .init("rubygems_", least: 20),
        .init("key-", least: 32, .hexadecimal), .init("ntn_", least: 20), .init("secret_", least: 40),
        .init("ATATT3", least: 20), .init("ATBB", least: 24, .mixed),
        .init("sk_live_", least: 8), .init("sk_test_", least: 8), .init("rk_live_", least: 8),
        .init("rk_test_", least: 8), .init("whsec_", least: 12), .init("shpat_", least: 12), .init("shpss_", least: 12),
        .init("shpca_", least: 12), .init("shppa_", least: 12), .init("sq0atp-", least: 12),
        .init("sq0csp-", least: 12),
        .init("EAAA", least: 50),
        .init("SK", least: 32, .hexadecimal),
        .init("base64url.bearer.authorization.k8s.io.", least: 8, keepsPrefix: true),
        .init("xoxb-", least: 8), .init("xoxp-", least: 8), .init("xoxa-", least: 8), .init("xoxr-", least: 8),
        .init("xoxs-", least: 8), .init("xoxe-", least: 8), .init("xapp-", least: 8),
        .init("SG.", least: 20, .parts), .init("hooks.slack.com/services/", least: 8, .path, keepsPrefix: true),
        .init("hooks.slack.com/commands/", least: 8, .path, keepsPrefix: true),
        .init("hooks.slack.com/workflows/", least: 8, .path, keepsPrefix: true),
        .init("hooks.slack.com/triggers/", least: 8, .path, keepsPrefix: true),
        .init("hooks.slack.com/actions/", least: 8, .path, keepsPrefix: true),
        .init("outlook.office.com/webhook/", least: 8, .path, keepsPrefix: true),
        .init("discord.com/api/webhooks/", least: 8, .path, keepsPrefix: true),
        .init("discordapp.com/api/webhooks/", least: 8, .path, keepsPrefix: true),
        .init("api.telegram.org/bot", least: 8, .path, keepsPrefix: true),
        .init("webhook.office.com/webhookb2/", least: 8, .path, keepsPrefix: true),
        .init("hooks.zapier.com/hooks/catch/", least: 8, .path, keepsPrefix: true),
        .init("AKIA", least: 16, .mixed), .init("ASIA", least: 16, .mixed), .init("AIza", least: 30),
        .init("ya29.", least: 16, .parts), .init("GOCSPX-", least: 12), .init("dop_v1_", least: 20),
        .init("doo_v1_", least: 20), .init("hvs.", least: 12), .init("hvb.", least: 12), .init("hvr.", least: 12),
        .init("glsa_", least: 20), .init("glc_", least: 20), .init("dapi", least: 32, .hexadecimal),
        .init("pscale_tkn_", least: 20), .init("pscale_pw_", least: 20), .init("dp.pt.", least: 20),
        .init("dp.st.", least: 20, .parts), .init("vcp_", least: 20), .init("fo1_", least: 20),
        .init("sbp_", least: 20), .init("AGE-SECRET-KEY-1", least: 20), .init("lin_api_", least: 16),
        .init("PMAK-", least: 16), .init("NRAK-", least: 16), .init("figd_", least: 16),
        // The start of private keys in PEM, encoded in base64 again.
        .init("LS0tLS1CRUdJTiBQUklWQVRFIEtFW", least: 40, .digest),
        .init("LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRV", least: 40, .digest),
        .init("LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFW", least: 40, .digest),
        .init("LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZ", least: 40, .digest),
        .init("LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRV", least: 40, .digest),
        .init("sk-proj-", least: 12), .init("sk-ant-", least: 12), .init("sk-or-", least: 12),
        .init("sk-svcacct-", least: 12), .init("sk-", least: 20, .mixed), .init("hf_", least: 24),
        .init("gsk_", least: 24), .init("xai-", least: 24),
        .init("v2.local.", least: 16, .parts), .init("v3.local.", least: 16, .parts),
        .init("v4.local.", least: 16, .parts), .init("v2.public.", least: 16, .parts),
        .init("v3.public.", least: 16, .parts), .init("v4.public.", least: 16, .parts),
        .init("$2a$", least: 30, .digest), .init("$2b$", least: 30, .digest), .init("$2y$", least: 30, .digest),
        .init("$apr1$", least: 20, .digest), .init("pbkdf2_sha", least: 30, .digest),
        .init("$pbkdf2", least: 30, .digest), .init("$scrypt$", least: 30, .digest), .init("$y$", least: 30, .digest),
        .init("$pbkdf2-sha", least: 30, .digest), .init("pbkdf2:sha256:", least: 30, .digest),
        .init("pbkdf2:sha512:", least: 30, .digest), .init("pbkdf2:sha1:", least: 30, .digest),
        .init("scrypt:32768:8:1$", least: 30, .digest), .init("SCRAM-SHA-256$4096:", least: 30, .digest),
        .init("argon2$argon2", least: 30, .digest), .init("$P$", least: 28, .digest), .init("$H$", least: 28, .digest),
        .init("SSHA}", least: 24, .digest), .init("SHA}", least: 24, .digest), .init("SSHA256}", least: 24, .digest),
        .init("SSHA512}", least: 24, .digest), .init("SHA512}", least: 24, .digest),
        .init("SHA256}", least: 24, .digest), .init("MD5}", least: 20, .digest), .init("$1$", least: 24, .digest),
        .init("$argon2", least: 30, .digest), .init("$5$", least: 30, .digest), .init("$6$", least: 30, .digest),
    ])

    /// The authentication schemes before credentials, such as `Bearer`.
    static let schemes = [
        "bearer", "basic", "token", "apikey", "api-key", "negotiate", "ntlm", "ssws", "geniekey", "splunk", "oauth",
        "dpop",
        "sso-key",
    ].map { Array($0.utf8) }
    /// The words before a password in SQL statements and netrc, in lower case.
    static let passwordWords = ["password", "passwd", "identified by values", "identified by"].map { Array($0.utf8) }
    /// The words before a MySQL plugin, after which a password may follow.
    static let pluginWord = Array("identified with".utf8)
    /// The starts of a JSON object in base64, also after white space or in an array, and the start of a JWS that is
    /// encoded in base64 again.
    static let objects = [
        "eyJ", "eyAi", "ewog", "ewoi", "ewoJ", "ew0K", "IHsi", "Cnsi", "W3si", "WyB7", "Wwp7", "WwogIHs", "IFt7",
        "IFsg", "ZXlK",
    ].map {
        Array($0.utf8)
    }

    private let byFirst: [[SecretShape]]
    private let schemesByFirst: [[[UInt8]]]
    /// For each byte, the bit set of the next bytes for which the scanner must look closer.
    // Unsafe: only `init` writes it, before other code can reach it.
    nonisolated(unsafe) let signs: UnsafeMutablePointer<UInt32>

    init(_ shapes: [SecretShape]) {
        signs = .allocate(capacity: 256)
        signs.initialize(repeating: 0, count: 256)
        for sign in ":=<>%/".utf8 { signs[Int(sign)] = .max }
        for next in "-usSfkLvigIN#j".utf8 { signs[Int(UInt8(ascii: "-"))] |= 1 << UInt32(next & 31) }
        for bracket in "([".utf8 {
            for next in "\"'\\& ".utf8 { signs[Int(bracket)] |= 1 << UInt32(next & 31) }
        }
        for digit in "4562".utf8 { for next: UInt32 in 16...25 { signs[Int(digit)] |= 1 << next } }
        for next in "0456789".utf8 { signs[Int(UInt8(ascii: "3"))] |= 1 << UInt32(next & 31) }
        var (byFirst, schemesByFirst) = (
            [[SecretShape]](repeating: [], count: 256), [[[UInt8]]](repeating: [], count: 256)
        )
        for shape in shapes { byFirst[Int(shape.prefix[0])].append(shape) }
        for scheme in Self.schemes {
            for first in [scheme[0], scheme[0] & 0xDF] { schemesByFirst[Int(first)].append(scheme) }
        }
        (self.byFirst, self.schemesByFirst) = (byFirst, schemesByFirst)
        for word in Self.passwordWords {
            for first in [word[0], word[0] & 0xDF] { signs[Int(first)] |= 1 << UInt32(word[1] & 31) }
        }
        let upper = Self.schemes.map { $0.map { $0.isASCIILetter ? $0 & 0xDF : $0 } }
        let mixed = zip(Self.schemes, upper).map { [$1[0]] + $0.dropFirst() }
        let der = [Array("MI".utf8)]
        for word in shapes.map(\.prefix) + Self.objects + Self.schemes + upper + mixed + der {
            signs[Int(word[0])] |= 1 << UInt32(word[1] & 31)
        }
    }

    deinit { signs.deallocate() }

    /// The shapes that begin with this byte.
    func shapes(beginningWith byte: UInt8) -> [SecretShape] { byFirst[Int(byte)] }

    /// The authentication schemes that begin with this byte, in lower case.
    func schemes(beginningWith byte: UInt8) -> [[UInt8]] { schemesByFirst[Int(byte)] }
}
