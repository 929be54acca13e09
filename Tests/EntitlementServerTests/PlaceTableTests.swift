import Testing

@testable import EntitlementServer

@Suite struct PlaceTableTests {
    /// A hash as the table sees it: its upper half, here one of a few, so that many collide.
    private func hash(_ number: Int, among count: Int) -> Int { ((number % count) << 32) | (number & 0xffff) }

    @Test(arguments: [1, 3, 97, 1 << 20])
    func `it knows what a dictionary knows, whatever comes, goes and moves`(hashes: Int) {
        var random = SystemRandomNumberGenerator()
        var (table, places) = (PlaceTable(), [Int: Int]())
        var names = [Int: Int]()
        for step in 0..<4000 {
            let name = Int.random(in: 0..<500, using: &random)
            let hash = hash(name, among: hashes)
            if let place = places[name] {
                if Bool.random(using: &random) {
                    table.remove(hash, at: place)
                    (places[name], names[place]) = (nil, nil)
                } else {
                    // A place of its own: two things are never in one.
                    table.move(hash, from: place, to: step + 10_000)
                    (places[name], names[place], names[step + 10_000]) = (step + 10_000, nil, name)
                }
            } else {
                table.insert(hash, at: step)
                (places[name], names[step]) = (step, name)
            }
            #expect(table.count == places.count)
            let other = Int.random(in: 0..<500, using: &random)
            #expect(table.place(self.hash(other, among: hashes)) { names[$0] == other } == places[other])
        }
        for name in 0..<500 {
            #expect(table.place(hash(name, among: hashes)) { names[$0] == name } == places[name])
        }
    }

    @Test func `to remove or to move what is not there changes nothing`() {
        var table = PlaceTable()
        table.insert(1 << 32, at: 7)
        table.remove(1 << 32, at: 8)
        table.move(2 << 32, from: 7, to: 9)
        #expect(table.count == 1 && table.place(1 << 32) { _ in true } == 7)
    }
}
