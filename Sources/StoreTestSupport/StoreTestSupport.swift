// A test that takes this module has the clock, the gates and the waiting of the base as well.
@_exported import BaseTestSupport
