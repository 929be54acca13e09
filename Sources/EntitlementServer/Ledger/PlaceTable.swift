/// Where things are in an array, by their hash: one word for each, so that to look for one takes one line of memory. A
/// dictionary takes one for its map, one for the key and one for the value, and with a million customers none of them is
/// near.
///
/// Linear probing; what is removed leaves no gap. The hash is cut to 32 bits, so who looks compares with the thing itself.
struct PlaceTable {
    /// The cut hash above, the place plus one below; 0 where there is none. At least a quarter is free.
    private var words = [UInt64](repeating: 0, count: 8)
    private(set) var count = 0

    private var mask: Int { words.count - 1 }

    /// The place of the thing with this hash that `isSought` says it is.
    func place(_ hash: Int, where isSought: (Int) -> Bool) -> Int? {
        slot(hash, where: isSought).map { Self.place(in: words[$0]) }
    }

    /// Notes a thing that is not in the table, at a place below 2³².
    mutating func insert(_ hash: Int, at place: Int) {
        if (count + 1) * 4 > words.count * 3 { grow() }
        put((UInt64(Self.cut(hash)) << 32) | UInt64(place + 1))
        count += 1
    }

    /// Forgets what is at `place`.
    mutating func remove(_ hash: Int, at place: Int) {
        guard var free = slot(hash, where: { $0 == place }) else { return }
        var next = free
        while true {
            next = (next + 1) & mask
            guard words[next] != 0 else { break }
            // It may come nearer to where it belongs, and not before that.
            let distance = (next - home(words[next])) & mask
            if distance >= (next - free) & mask {
                words[free] = words[next]
                free = next
            }
        }
        words[free] = 0
        count -= 1
    }

    /// Notes that what was at `old` is at `new` now.
    mutating func move(_ hash: Int, from old: Int, to new: Int) {
        guard let slot = slot(hash, where: { $0 == old }) else { return }
        words[slot] = (words[slot] & ~0xffff_ffff) | UInt64(new + 1)
    }

    private func slot(_ hash: Int, where isSought: (Int) -> Bool) -> Int? {
        let cut = Self.cut(hash)
        var slot = Int(cut) & mask
        while words[slot] != 0 {
            if UInt32(words[slot] >> 32) == cut, isSought(Self.place(in: words[slot])) { return slot }
            slot = (slot + 1) & mask
        }
        return nil
    }

    private mutating func put(_ word: UInt64) {
        var slot = home(word)
        while words[slot] != 0 { slot = (slot + 1) & mask }
        words[slot] = word
    }

    private mutating func grow() {
        let old = words
        words = [UInt64](repeating: 0, count: old.count * 2)
        for word in old where word != 0 { put(word) }
    }

    private func home(_ word: UInt64) -> Int { Int(word >> 32) & mask }

    private static func cut(_ hash: Int) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }

    private static func place(in word: UInt64) -> Int { Int(word & 0xffff_ffff) - 1 }
}
