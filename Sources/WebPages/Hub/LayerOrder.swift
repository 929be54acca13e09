/// The assignment of plugins to columns and their order: callers are left of callees, except in cycles, with few
/// crossing lines. It depends only on the graph.
struct LayerOrder {
    /// An element of a column: a plugin, or the lines between two plugins of other columns that pass through this
    /// column.
    enum Slot: Hashable, Sendable {
        case plugin(Int)
        case passage(Pair, layer: Int)
    }

    /// Two plugins that are connected by lines, the left one first.
    struct Pair: Hashable, Sendable {
        let left: Int
        let right: Int
    }

    /// The columns from left to right, each from top to bottom. Plugins without lines are at the bottom.
    private(set) var layers: [[Slot]] = []
    /// The slots of the lines of a pair, from left to right, including both plugins.
    private(set) var routes: [(pair: Pair, slots: [Slot])] = []

    /// Computes the columns and their order.
    ///
    /// - Parameters:
    ///   - count: The number of plugins.
    ///   - calls: The pairs of a caller and a callee, which are different plugins.
    init(count: Int, calls: [(caller: Int, callee: Int)]) {
        let pairs = Self.acyclic(count, calls)
        var layerOf = Self.layers(count, pairs)
        Self.placeIsolatedPlugins(&layerOf, pairs)
        layers = Array(repeating: [], count: (layerOf.max() ?? -1) + 1)
        for plugin in 0..<count { layers[layerOf[plugin]].append(.plugin(plugin)) }
        for pair in pairs {
            let passed = (layerOf[pair.left] + 1..<layerOf[pair.right]).map { Slot.passage(pair, layer: $0) }
            for case .passage(_, let layer) in passed { layers[layer].append(.passage(pair, layer: layer)) }
            routes.append((pair, [.plugin(pair.left)] + passed + [.plugin(pair.right)]))
        }
        reduceCrossings()
        let connected = Set(routes.flatMap(\.slots))
        layers = layers.map { $0.filter(connected.contains) + $0.filter { !connected.contains($0) } }
    }

    /// Returns the pairs, reversed where that breaks a cycle.
    private static func acyclic(_ count: Int, _ calls: [(caller: Int, callee: Int)]) -> [Pair] {
        var targets = Array(repeating: Set<Int>(), count: count)
        var weight: [Pair: Int] = [:]
        for call in calls { weight[Pair(left: call.caller, right: call.callee), default: 0] += 1 }
        for (pair, number) in weight {
            let reverseCount = weight[Pair(left: pair.right, right: pair.left)] ?? 0
            if number > reverseCount || (number == reverseCount && pair.left < pair.right) {
                targets[pair.left].insert(pair.right)
            }
        }
        let callerCount = targets.reduce(into: Array(repeating: 0, count: count)) { callerCount, set in
            for target in set { callerCount[target] += 1 }
        }
        var pairs: Set<Pair> = []
        var state = Array(repeating: 0, count: count)
        // An explicit stack, because recursion over a long chain of plugins could overflow.
        for start in (0..<count).sorted(by: { (callerCount[$0], $0) < (callerCount[$1], $1) }) where state[start] == 0 {
            var stack = [(plugin: start, open: targets[start].sorted()[...])]
            state[start] = 1
            while var top = stack.popLast() {
                guard let next = top.open.popFirst() else {
                    state[top.plugin] = 2
                    continue
                }
                stack.append(top)
                if state[next] == 1 {
                    pairs.insert(Pair(left: next, right: top.plugin))
                } else {
                    pairs.insert(Pair(left: top.plugin, right: next))
                    if state[next] == 0 {
                        state[next] = 1
                        stack.append((next, targets[next].sorted()[...]))
                    }
                }
            }
        }
        return pairs.sorted { ($0.left, $0.right) < ($1.left, $1.right) }
    }

    /// Assigns each plugin to the leftmost column right of its callers, then moves plugins without callers to the
    /// right.
    private static func layers(_ count: Int, _ pairs: [Pair]) -> [Int] {
        var layer = Array(repeating: 0, count: count)
        for _ in 0..<count {
            var isSettled = true
            for pair in pairs where layer[pair.right] <= layer[pair.left] {
                layer[pair.right] = layer[pair.left] + 1
                isSettled = false
            }
            if isSettled { break }
        }
        let callees = Set(pairs.map(\.right))
        let calls = Dictionary(grouping: pairs, by: \.left)
        for plugin in 0..<count where !callees.contains(plugin) {
            if let nearest = calls[plugin]?.map({ layer[$0.right] }).min() { layer[plugin] = nearest - 1 }
        }
        return layer
    }

    /// Assigns plugins without lines to the shortest columns.
    private static func placeIsolatedPlugins(_ layer: inout [Int], _ pairs: [Pair]) {
        let connected = Set(pairs.flatMap { [$0.left, $0.right] })
        let isolatedPlugins = layer.indices.filter { !connected.contains($0) }
        guard !isolatedPlugins.isEmpty else { return }
        var columns = connected.map { layer[$0] }.max().map { $0 + 1 } ?? 0
        if columns == 0 { while columns * columns < isolatedPlugins.count { columns += 1 } }
        var heights = Array(repeating: 0, count: columns)
        for plugin in connected { heights[layer[plugin]] += 1 }
        for plugin in isolatedPlugins {
            let column = heights.indices.min { (heights[$0], $0) < (heights[$1], $1) } ?? 0
            layer[plugin] = column
            heights[column] += 1
        }
    }

    /// Reduces crossings with the barycenter method, and keeps the best order.
    private mutating func reduceCrossings() {
        var neighbours: [Slot: (left: [Slot], right: [Slot])] = [:]
        for route in routes {
            for (left, right) in zip(route.slots, route.slots.dropFirst()) {
                neighbours[left, default: ([], [])].right.append(right)
                neighbours[right, default: ([], [])].left.append(left)
            }
        }
        var best = layers
        var fewest = crossings(neighbours)
        for sweep in 0..<24 where fewest > 0 {
            let goesRight = sweep.isMultiple(of: 2)
            for index in goesRight ? Array(layers.indices) : layers.indices.reversed() {
                let fixed = goesRight ? index - 1 : index + 1
                guard layers.indices.contains(fixed) else { continue }
                let place = Dictionary(uniqueKeysWithValues: layers[fixed].enumerated().map { ($1, Double($0)) })
                let keys = layers[index].enumerated().map { position, slot -> (Double, Int, Slot) in
                    let sides = neighbours[slot] ?? ([], [])
                    let near = (goesRight ? sides.left : sides.right).compactMap { place[$0] }
                    let middle = near.isEmpty ? Double(position) : near.reduce(0, +) / Double(near.count)
                    return (middle, position, slot)
                }
                layers[index] = keys.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
            }
            let now = crossings(neighbours)
            if now < fewest { (fewest, best) = (now, layers) }
        }
        layers = best
    }

    /// Returns the number of crossings between adjacent columns.
    private func crossings(_ neighbours: [Slot: (left: [Slot], right: [Slot])]) -> Int {
        zip(layers, layers.dropFirst()).reduce(0) { sum, columns in
            let place = Dictionary(uniqueKeysWithValues: columns.1.enumerated().map { ($1, $0) })
            let ends = columns.0.map { (neighbours[$0]?.right ?? []).compactMap { place[$0] }.sorted() }.flatMap { $0 }
            var fenwickTree = Array(repeating: 0, count: columns.1.count + 1)
            var seen = 0
            return sum
                + ends.reduce(0) { count, end in
                    var below = 0
                    var index = end + 1
                    while index > 0 {
                        below += fenwickTree[index]
                        index -= index & -index
                    }
                    index = end + 1
                    while index < fenwickTree.count {
                        fenwickTree[index] += 1
                        index += index & -index
                    }
                    defer { seen += 1 }
                    return count + seen - below
                }
        }
    }
}
