import HTTPCore
import Primitives
import Testing

struct EndpointTests {
    private let endpoints: [Endpoint<String>] = [
        Endpoint(
            .get, "/pets/{pet}/friends/{friend}", "getFriend", "A friend of a pet",
            tag: .init("pets", "about pets"), parameters: [.init("If-None-Match", in: .header, .text, "an ETag")],
            answer: .text, type: "text/plain", handler: "a friend"),
        Endpoint(
            .delete, "/pets/{pet}", "deletePet", "Delete a pet", tag: .init("pets", "about pets"),
            parameters: [.init("force", in: .query, .flag, "also with friends")], body: .init(.object), status: 204,
            answer: nil, handler: "gone"),
    ]

    @Test func `an endpoint lists the parameters of its path, and inserts values for them`() {
        #expect(endpoints[0].pathParameters == ["pet", "friend"])
        #expect(endpoints[0].path { "\($0)%2F1" } == "/pets/pet%2F1/friends/friend%2F1")
        #expect(endpoints[0].query.isEmpty && endpoints[1].query.map(\.name) == ["force"])
        let root = Endpoint(.get, "/", "index", "The index", tag: .init("", ""), answer: nil, handler: ())
        #expect(root.path { $0 } == "/" && root.pathParameters.isEmpty)
    }

    @Test func `a router has a route for each endpoint, and no other`() async throws {
        let router = Router(endpoints) { endpoint in
            { _, path in .ready(HTTPResponse(json: ["id": .string(endpoint.id), "pet": .string(path["pet"])])) }
        }
        for endpoint in endpoints {
            let request = HTTPRequest(method: endpoint.method, url: endpoint.path { _ in "a%20b" })
            let json = try await router.respond(to: request).response().body.json()
            #expect(json == ["id": .string(endpoint.id), "pet": "a b"])
        }
        #expect(await router.respond(to: HTTPRequest(method: .post, url: "/pets/1")).response().status == 405)
    }

    @Test func `an operation of the document describes its endpoint`() {
        let operations = endpoints.map { endpoint in
            OpenAPIDocument.Operation(endpoint, refusals: [404: ["unknown_pet", "gone"]]) { name in
                .init(name, in: .path, .text, "the \(name)")
            }
        }
        #expect(operations[0].parameters.map(\.name) == ["pet", "friend", "If-None-Match"])
        #expect(operations[0].tag == "pets" && operations[0].responses[200]?.type == "text/plain")
        #expect(operations[0].responses[200]?.summary == "A friend of a pet")
        #expect(operations[1].responses.keys.sorted() == [204, 404])
        #expect(operations[1].responses[204]?.schema == nil && operations[1].body != nil)
        #expect(operations[1].responses[404]?.summary == "unknown_pet, gone")
        #expect(operations[1].responses[404]?.type == "application/problem+json")
    }

    @Test func `the definition of a named schema is its content, and any other schema is its own definition`() {
        let pet = WireSchema.named("Pet") { .object([.required("name", .text)]) }
        #expect(pet.definition.json["required"] == ["name"])
        #expect(WireSchema.array(pet).definition.json == WireSchema.array(pet).json)
    }
}
