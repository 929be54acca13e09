import Foundation
import SignedData

/// The parts of `Scripts/chaos-cluster` that need our libraries: a signer of store data, and servers with faults.
///
///     ClusterChaos sign root=FILE                writes a root certificate; signs each line of standard input
///     ClusterChaos serve database=URL fault=NAME …  a server with a planted fault, see `FaultyServer`
@main
enum ClusterChaos {
    static func main() async {
        do {
            let arguments = CommandLine.arguments.dropFirst()
            let settings = Dictionary(
                arguments.dropFirst().compactMap { word in
                    let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                    return parts.count == 2 ? (parts[0], parts[1]) : nil
                }, uniquingKeysWith: { $1 })
            switch arguments.first {
            case "sign": try sign(settings)
            case "serve": try await FaultyServer(settings).run()
            default: throw ClusterChaosFailure("usage: ClusterChaos sign|serve NAME=VALUE …")
            }
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("cluster chaos: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Creates a certificate chain, writes its root to the file `root`, and prints each line of input as a JWS.
    private static func sign(_ settings: [String: String]) throws {
        guard let root = settings["root"] else { throw ClusterChaosFailure("root= is missing") }
        let chain = try SigningChain.generate()
        try Data(chain.root.der).write(to: URL(fileURLWithPath: root), options: .atomic)
        let signer = JWSSigner(chain)
        while let payload = readLine() {
            FileHandle.standardOutput.write(Data((try signer.sign(Array(payload.utf8)) + "\n").utf8))
        }
    }
}

struct ClusterChaosFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
