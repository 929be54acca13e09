/// The seed's names for what stands in this module.
public typealias Cauli = Interceptor
public typealias Storage = RecordStorage
