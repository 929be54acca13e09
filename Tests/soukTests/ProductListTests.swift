import Foundation
import InAppStore
import Primitives
import SignedData
import Testing

/// `souk catalog lint` on product lists, `souk catalog encrypt`, and the chapter about both.
@Suite struct ProductListTests {
    private static let list = """
        [
          {"identifier": "com.example.pack", "productType": "nonConsumable"},
          {"identifier": "com.example.pro.monthly", "productType": "renewableSubscription",
           "discountedProducts": ["com.example.pro.half.monthly"]}
        ]
        """
    private static let key = String(repeating: "0f", count: 32)

    private func lint(_ arguments: [String], environment: [String: String] = [:]) async throws -> SoukExecutable.Outcome
    {
        try await SoukExecutable.run(["catalog", "lint", "--json"] + arguments, environment: environment)
    }

    private func pointers(_ outcome: SoukExecutable.Outcome, _ severity: String) throws -> [String?] {
        try #require(outcome.json?["findings"]?.arrayValue)
            .filter { $0["severity"]?.stringValue == severity }.map { $0["pointer"]?.stringValue }
    }

    // MARK: - The chapter

    /// The JSON blocks of the chapter, in order.
    private func examples() throws -> [String] {
        let text = try String(contentsOfFile: TestFiles.repository + "/Documentation/ProductList.md", encoding: .utf8)
        return text.components(separatedBy: "```json\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
    }

    @Test func `the documented list has no fault, and has every member`() async throws {
        let example = try #require(try examples().first)
        let folder = try TemporaryFolder()
        let outcome = try await lint([try folder.write("products.json", example)])
        #expect(outcome.status == 0)
        #expect(outcome.json?["findings"] == [])
        let members = Set(
            try #require(JSONValue(parsing: example).arrayValue).flatMap { $0.objectValue?.keys ?? [:].keys })
        #expect(
            members == [
                "identifier", "productType", "isSubscribersOnly", "preAcquired", "preAcquiredViaSubscription",
                "enablesProducts", "discountedProducts", "fullPriceProductIdentifier", "variants",
                "contentFetcherParameters",
            ])
    }

    @Test func `the documented tiers choose variants`() throws {
        let examples = try examples()
        let folder = try TemporaryFolder()
        let selector = try VariantSelector(countryTiersAt: try folder.write("tiers.json", examples[1]))
        let list = try ProductList(parsing: Array(examples[0].utf8), file: "products.json")
        let lenses: ProductID = "com.example.darkroom.lenses"
        #expect(selector.variant(of: lenses, in: list, country: "POL") == "com.example.darkroom.lenses.Variant.TierB")
        #expect(selector.variant(of: lenses, in: list, country: "DEU") == lenses)
    }

    // MARK: - Lint

    @Test func `faults of a product list are named with file, line, place and reason`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "products.json",
            """
            [
              {"identifier": "com.example.film", "productType": "nonConsumable",
               "isSubscribersOnly": true, "color": "red"},
              {"identifier": "com.example.film",
               "producttype": "consumable"}
            ]
            """)
        let outcome = try await lint([file])
        #expect(outcome.status == 1)
        #expect(try pointers(outcome, "error") == ["/1/productType"])
        #expect(try pointers(outcome, "warning") == ["/0/color", "/1/producttype"])
        let findings = try #require(outcome.json?["findings"]?.arrayValue)
        #expect(findings.map { $0["line"]?.intValue } == [3, 5, 4])
        #expect(findings.allSatisfy { $0["file"]?.stringValue == file })

        let printed = try await SoukExecutable.run(["catalog", "lint", file])
        #expect(printed.status == 1)
        #expect(printed.output.contains("\(file):4 /1/productType: error: productType is missing"))
        #expect(printed.output.contains("Did you mean \"productType\"?"))
    }

    @Test func `line numbers are correct after nested values and escaped characters`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "products.json",
            #"""
            [{"identifier": "a", "productType": "consumable", "a~/\"}]": [{}, [1,
              {"b": ["]", "\\", null]}], true, -1e3],
              "contentFetcherParameters": {"type": "FallbackContentFetcher", "fetchersParameters": [
                {"type": "LocalContentFetcher", "URL": "file:///a"},
                {"type":
                   "Carrier"}]}}
            , 1]
            """#)
        let findings = try #require(try await lint([file]).json?["findings"]?.arrayValue)
        #expect(findings.map { $0["pointer"]?.stringValue } == [#"/0/a~0~1"}]"#, "/1"])
        #expect(findings.map { $0["line"]?.intValue } == [1, 7])

        let mended = try folder.write("mended.json", try folder.text("products.json").replacing(", 1]", with: "]"))
        let own = try #require(try await lint([mended]).json?["findings"]?.arrayValue).last
        #expect(own?["pointer"]?.stringValue == "/0/contentFetcherParameters/fetchersParameters/1/type")
        #expect(own?["line"]?.intValue == 6)
    }

    @Test func `a list is checked against a pattern, custom fetchers and a catalogue`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "products.json",
            """
            [{"identifier": "com.example.darkroom.FilmPack", "productType": "consumable",
              "contentFetcherParameters": {"type": "Carrier"}}]
            """)
        let outcome = try await lint([file, "--identifiers", "[a-z.]+", "--catalog", TestFiles.darkroom])
        #expect(outcome.status == 1)
        #expect(try pointers(outcome, "error") == ["/0/identifier", "/0/contentFetcherParameters/type"])
        #expect(try pointers(outcome, "warning") == ["/0/identifier"])
        #expect(try await lint([file, "--identifiers", "[A-Za-z.]+", "--fetcher", "Carrier"]).status == 0)
        let misused = try await lint([file, "--identifiers", "("])
        #expect(misused.status == 2 && misused.errors.contains("--identifiers is not a valid regular expression"))
    }

    @Test func `a list that was converted from a catalogue has no findings when checked against the catalogue`()
        async throws
    {
        let folder = try TemporaryFolder()
        let converted = try await SoukExecutable.run(["catalog", "convert", TestFiles.darkroom])
        let file = try folder.write("products.json", converted.output)
        let outcome = try await lint([file, "--catalog", TestFiles.darkroom])
        #expect(outcome.status == 0 && outcome.json?["findings"] == [], "\(outcome.output)")
    }

    // MARK: - Encryption

    @Test func `an app reads its encrypted list`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("products.json", Self.list)
        let path = folder.file("products.souklist")
        let outcome = try await SoukExecutable.run(["catalog", "encrypt", file, "--key", Self.key, "--out", path])
        #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.errors.isEmpty)
        let key = Self.key
        let list = try ProductList(contentsOf: path, decryptor: AES256GCM(hexKey: key))
        #expect(list == (try ProductList(contentsOf: file)))
        #expect(list.products.count == 3)
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        #expect(bytes.firstRange(of: Array("com.example".utf8)) == nil)
    }

    @Test func `the key can come from a file or the environment, and is required`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("products.json", Self.list)
        let keyFile = try folder.write("list.key", Self.key + "\n")
        func encrypt(_ out: String, _ more: [String], _ environment: [String: String] = [:]) async throws -> Int32 {
            let outcome = try await SoukExecutable.run(
                ["catalog", "encrypt", file, "--out", folder.file(out)] + more, environment: environment)
            #expect(!outcome.errors.contains(Self.key))
            return outcome.status
        }
        let none = ["SOUK_PRODUCT_LIST_KEY": ""]
        #expect(try await encrypt("a", ["--key-file", keyFile], none) == 0)
        #expect(try await encrypt("b", [], ["SOUK_PRODUCT_LIST_KEY": Self.key]) == 0)
        #expect(try await encrypt("c", [], none) == 2)
        #expect(try await encrypt("c", ["--key", Self.key, "--key-file", keyFile]) == 2)
        #expect(try await encrypt("c", ["--key", Self.key.dropLast() + "g"]) == 2)
        #expect(try await encrypt("c", ["--key-file", file]) == 2)
        #expect(!FileManager.default.fileExists(atPath: folder.file("c")))
        for name in ["a", "b"] {
            let outcome = try await lint([folder.file(name), "--key-file", keyFile])
            #expect(outcome.status == 0 && outcome.json?["findings"] == [])
        }
        let first = try Data(contentsOf: URL(fileURLWithPath: folder.file("a")))
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file("b"))) != first, "every file has its nonce")
    }

    @Test func `encrypt replaces an existing file with --force, but never the list itself`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("products.json", Self.list)
        let path = try folder.write("products.souklist", "precious")
        let command = ["catalog", "encrypt", file, "--key", Self.key, "--out"]
        let refused = try await SoukExecutable.run(command + [path])
        #expect(refused.status == 2 && refused.errors.contains("--force"))
        #expect(try folder.text("products.souklist") == "precious")
        #expect(try await SoukExecutable.run(command + [path, "--force"]).status == 0)
        #expect(try await lint([path, "--key", Self.key]).status == 0)
        #expect(try await SoukExecutable.run(command + [file, "--force"]).status == 2)
        #expect(try folder.text("products.json") == Self.list)
    }

    @Test(arguments: [
        "{}", "[", #"[{"identifier": "a"}]"#,
        #"[{"identifier": "a", "productType": "consumable", "isSubscribersOnly": true}]"#,
    ])
    func `a list with an error is not encrypted`(text: String) async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("products.json", text)
        let out = folder.file("out")
        let outcome = try await SoukExecutable.run(["catalog", "encrypt", file, "--key", Self.key, "--out", out])
        #expect(outcome.status == 2 && outcome.errors.contains("products.json"))
        #expect(!FileManager.default.fileExists(atPath: out))
    }

    @Test func `the error for an encrypted list that cannot be opened has the reason`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("products.json", Self.list)
        let path = folder.file("products.souklist")
        _ = try await SoukExecutable.run(["catalog", "encrypt", file, "--key", Self.key, "--out", path])
        let none = ["SOUK_PRODUCT_LIST_KEY": ""]
        let without = try await lint([path], environment: none)
        #expect(without.status == 2 && without.errors.contains("--key-file"))
        let other = try await lint([path, "--key", String(repeating: "00", count: 32)])
        #expect(other.status == 1)
        #expect(try pointers(other, "error") == [""])
        let cut = try folder.write("cut", Array(try Data(contentsOf: URL(fileURLWithPath: path)).dropLast()))
        let outcome = try await lint([cut, "--key", Self.key])
        #expect(outcome.status == 1 && outcome.output.contains("the file is incomplete"))
        let twice = try await SoukExecutable.run([
            "catalog", "encrypt", path, "--key", Self.key, "--out", folder.file("twice"),
        ])
        #expect(twice.status == 2 && twice.errors.contains("encrypted already"))
    }
}
