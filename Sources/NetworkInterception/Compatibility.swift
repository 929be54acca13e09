/// The name of ``Interceptor`` in the Cauli library.
public typealias Cauli = Interceptor
/// The name of ``RecordStorage`` in the Cauli library.
public typealias Storage = RecordStorage
