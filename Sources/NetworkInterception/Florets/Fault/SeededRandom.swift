/// Random numbers from a seed and a purpose, by SplitMix64. Draws for one purpose do not change the numbers of another.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64, for purpose: UInt64...) {
        state = seed
        for number in purpose { state = next() ^ number }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to less than 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
