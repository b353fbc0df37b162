#include "kusari/framework/core/device.h"

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/workspace_limit.h"

namespace kusari {
namespace {

TEST_CASE("the CPU has several names") {
  for (const char* name : {"cpu", "@numpy", "native", "-1"}) {
    CAPTURE(name);
    CHECK(get_device(name) == Device());
    CHECK(get_device(name).is_cpu());
    CHECK(get_device(name).name() == "cpu");
  }
  CHECK(std::string(Device().backend().name()) == "cpu");
  CHECK(Device().index() == 0);
  synchronize(Device());
}

TEST_CASE("names that are no device") {
  CHECK_THROWS_WITH_AS(get_device("gpu"), "get_device: 'gpu' is not a device; expected 'cpu' or 'cuda:N'", ValueError);
  CHECK_THROWS_AS(get_device("cuda:x"), ValueError);
  CHECK_THROWS_AS(get_device("cuda:-1"), ValueError);
  CHECK_THROWS_AS(get_device(""), ValueError);
  CHECK_THROWS_AS(get_device("-2"), ValueError);
}

TEST_CASE("a CUDA device that is not there") {
  const int n = cuda::device_count();
  CHECK(cuda::is_available() == (n > 0));
  for (const std::string prefix : {"cuda:", "@cupy:", ""})
    CHECK_THROWS_AS(get_device(prefix + std::to_string(n)), DeviceError);
}

TEST_CASE("the workspace limit is a setting") {
  const size_t before = cuda::get_max_workspace_size();
  if (!detail::given_cuda_workspace_size()) CHECK(before <= size_t{1} << 30);
  CHECK(detail::default_max_workspace_size(size_t{8} << 30) == size_t{512} << 20);
  CHECK(detail::default_max_workspace_size(size_t{80} << 30) == size_t{1} << 30);
  cuda::set_max_workspace_size(size_t{512} << 20);
  CHECK(cuda::get_max_workspace_size() == size_t{512} << 20);
  cuda::set_max_workspace_size(before);
}

TEST_CASE("an array that is where it should be is not copied") {
  const Array a = zeros({2});
  CHECK(a.to_device(Device()).is_same(a));
}

}  // namespace
}  // namespace kusari
