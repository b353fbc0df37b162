#include "kusari/iterators/on_failure.h"

#include <new>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

using namespace kusari;
using kusari::iterators::Failure;
using kusari::iterators::failure_of;
using kusari::iterators::throw_failure;

namespace {

/// Throws `thrown`, and again what a Failure keeps of it.
template <class Thrown>
void pass_on(const Thrown& thrown) {
  throw_failure("Iterator", 3, failure_of(std::make_exception_ptr(thrown)));
}

template <class Thrown>
void check_class_is_kept() {
  CHECK_THROWS_WITH_AS(pass_on(Thrown("what")), "Iterator: example 3: what", Thrown);
}

}  // namespace

TEST_CASE("failures keep the classes of errors") {
  check_class_is_kept<TypeError>();
  check_class_is_kept<ValueError>();
  check_class_is_kept<IndexError>();
  check_class_is_kept<KeyError>();
  check_class_is_kept<IoError>();
  check_class_is_kept<OutOfMemoryError>();
  check_class_is_kept<DeviceError>();
  check_class_is_kept<WorkerError>();
  check_class_is_kept<StateError>();
  check_class_is_kept<Error>();
  CHECK_THROWS_WITH_AS(pass_on(std::range_error("what")), "Iterator: example 3: what", Error);
  CHECK_THROWS_AS(pass_on(std::bad_alloc()), OutOfMemoryError);
  CHECK_THROWS_AS(pass_on(17), Error);
  static_assert(noexcept(failure_of(nullptr)));
}
