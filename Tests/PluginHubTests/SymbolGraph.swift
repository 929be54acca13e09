#if os(Linux)
    import Foundation
    import HostTestSupport
    import Testing

    /// The public interface of a module, from the compiler.
    struct SymbolGraph: Decodable, Sendable {
        struct Fragment: Decodable, Sendable { let spelling: String }

        struct Symbol: Decodable, Sendable {
            struct Names: Decodable, Sendable { let title: String }
            struct Signature: Decodable, Sendable { let returns: [Fragment]? }

            let pathComponents: [String]
            let names: Names
            let declarationFragments: [Fragment]
            let functionSignature: Signature?

            var declaration: String { declarationFragments.map(\.spelling).joined() }

            /// Whether a function returns nothing.
            var returnsNothing: Bool { functionSignature?.returns?.map(\.spelling) == ["()"] }

            /// Whether the function itself is asynchronous, regardless of its parameters.
            var isAsynchronous: Bool {
                var depth = 0
                let outside = declaration.filter { character in
                    if character == "(" { depth += 1 }
                    if character == ")" { depth -= 1 }
                    return depth == 0
                }
                return outside.split { !$0.isLetter }.contains("async")
            }
        }

        let symbols: [Symbol]

        func members(of types: Set<String>) -> [Symbol] {
            symbols.filter { $0.pathComponents.count > 1 && types.contains($0.pathComponents[0]) }
        }

        /// Returns the public interface of the module `PluginHub` that this test program was built with.
        static func ofPluginHub() async throws -> SymbolGraph { try await pluginHub.value }

        /// The interface, extracted once for all tests.
        private static let pluginHub = Task { try await extracted() }

        private static func extracted() async throws -> SymbolGraph {
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let modules = URL(fileURLWithPath: program).deletingLastPathComponent().appendingPathComponent("Modules")
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let extract = try await ChildProgram.run(
                "/usr/bin/env",
                [
                    "swift", "symbolgraph-extract", "-module-name", "PluginHub", "-I", modules.path, "-target", target,
                    "-minimum-access-level", "public", "-output-dir", folder.path,
                ])
            try #require(extract.status == 0, "\(extract.errors)")
            let graph = try Data(contentsOf: folder.appendingPathComponent("PluginHub.symbols.json"))
            return try JSONDecoder().decode(SymbolGraph.self, from: graph)
        }

        private static var target: String {
            #if arch(arm64)
                "aarch64-unknown-linux-gnu"
            #else
                "x86_64-unknown-linux-gnu"
            #endif
        }
    }
#endif
