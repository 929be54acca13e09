@main struct Souk { static func main() {} }
