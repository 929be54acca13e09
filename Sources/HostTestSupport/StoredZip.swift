/// Returns a zip archive of uncompressed files.
package func storedZip(_ files: KeyValuePairs<String, [UInt8]>) -> [UInt8] {
    var (archive, directory): ([UInt8], [UInt8]) = ([], [])
    for (name, content) in files {
        let common =
            little(20, 2) + little(0, 2) + little(0, 2) + little(0, 2) + little(0x21, 2) + little(crc32(content), 4)
            + little(content.count, 4) + little(content.count, 4) + little(name.utf8.count, 2) + little(0, 2)
        directory +=
            little(0x0201_4b50, 4) + little(0x031e, 2) + common + little(0, 6) + little(0o100600 << 16, 4)
            + little(archive.count, 4) + name.utf8
        archive += little(0x0403_4b50, 4) + common + name.utf8 + content
    }
    let count = little(files.count, 2)
    return archive + directory + little(0x0605_4b50, 4) + little(0, 4) + count + count + little(directory.count, 4)
        + little(archive.count, 4) + little(0, 2)
}

private func little(_ value: Int, _ bytes: Int) -> [UInt8] { (0..<bytes).map { UInt8(value >> ($0 * 8) & 255) } }

private func crc32(_ bytes: [UInt8]) -> Int {
    var crc: UInt32 = .max
    for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
    }
    return Int(~crc)
}
