import HTTPCore
import HostTestSupport
import Primitives
import Testing

/// A document made of two operations.
struct OpenAPIDocumentTests {
    private let pet = WireSchema.named("Pet") {
        .object([.required("name", .text), .optional("owner", .named("Owner") { .object([.required("id", .uuid)]) })])
    }

    private var document: JSONValue {
        let id = OpenAPIDocument.Parameter("id", in: .path, .uuid, "which one")
        return OpenAPIDocument(
            title: "Pets", version: "1", description: "Yes: 100 % of them",
            tags: [.init("pets", "all animals")],
            security: [.init("key", ["type": "http", "scheme": "bearer"])],
            operations: [
                .init(
                    .get, "/pets/{id}", id: "pet", summary: "One pet", tag: "pets",
                    parameters: [id, .init("field", in: .query, .text, "only these", repeats: true)],
                    responses: [
                        404: .init("no_pet", .problem, type: "application/problem+json"),
                        200: .init("One pet", pet, headers: [.init("ETag", .text, "changes with it")]),
                    ]),
                .init(
                    .put, "/pets/{id}", id: "setPet", summary: "Change one", tag: "pets", parameters: [id],
                    body: .init(pet),
                    responses: [
                        204: .init(
                            "Done", links: [.init("pet", to: "pet", [(name: "id", expression: "$request.path.id")])])
                    ], security: [["key"]]),
            ]
        ).json
    }

    @Test func `operations of one path are one path item, with the path parameters once`() {
        let path = document["paths"]?["/pets/{id}"]
        #expect(path?["parameters"]?.arrayValue?.count == 1 && path?["parameters"]?[0]?["required"] == true)
        #expect(path?["get"]?["parameters"]?[0]?["schema"]?["type"] == "array")
        #expect(path?["get"]?["security"] == nil && path?["put"]?["security"] == [["key": []]])
        #expect(path?["put"]?["responses"]?["204"]?["content"] == nil)
        #expect(path?["put"]?["responses"]?["204"]?["links"]?["pet"]?["operationId"] == "pet")
        #expect(path?["get"]?["responses"]?["200"]?["headers"]?["ETag"]?["schema"] == ["type": "string"])
    }

    @Test func `every named schema is included once, also indirect ones`() {
        #expect(document["components"]?["schemas"]?.objectValue?.keys.sorted() == ["Owner", "Pet", "Problem"])
        #expect(document["components"]?["schemas"]?["Pet"]?["required"] == ["name"])
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with PyYAML"))
    func `the YAML is equivalent to the JSON`() async throws {
        for value in [document, Self.awkward, [], [:], "no", 7] {
            let read = try await OutsideJudge.judge("yaml_text.py", ["yaml": .string(value.yaml)]).json
            #expect(read == value, "\(value.yaml)")
        }
    }

    /// Strings that YAML 1.1 or 1.2 reads as another type without quotes.
    private static let awkward: JSONValue = [
        "no": [
            "yes", "~", "null", "", " a", "a ", "1", "1e3", "0x1F", "2026-11-20", "12:30:45", "- a", "a: b", "a #b",
            "#",
        ],
        "200": [[], [:], [["nested"], [["deeper", ["x": [1, nil, true]]]]], ["a": ["b": [["c": "d", "e": []]]]]],
        "*": "line\nline \"quoted\" \\ \u{1F600} é", "/v1/{customer}": "plain words here", "$ref": "#/components/x",
    ]

    @Test func `the YAML is in block style`() {
        let value: JSONValue = [
            "paths": ["/a": ["tags": ["one", "two"], "responses": ["200": ["description": "Done"]]]]
        ]
        #expect(
            value.yaml == """
                paths:
                  /a:
                    tags:
                      - one
                      - two
                    responses:
                      "200":
                        description: Done

                """)
    }
}
