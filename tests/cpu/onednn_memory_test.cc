#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/core/child_process.h"

namespace kusari {
namespace {

namespace F = functions;

// Limits the address space to what the process has and some more.
bool leave_room_for(rlim_t bytes) {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  if (!(file >> pages)) return false;
  const rlim_t limit = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limits{limit, limit};
  return ::setrlimit(RLIMIT_AS, &limits) == 0;
}

// oneDNN 2.6 and 3.7 write the code of a kernel through a null pointer when there is no memory for it.
TEST_CASE("child: kernels are made where memory runs out" * doctest::skip()) {
  F::linear(ones({2, 3}), ones({4, 3}));  // threads and libraries are there before the limit
  REQUIRE(leave_room_for(rlim_t{96} << 20));
  std::vector<Array> held;
  int computed = 0, refused = 0;
  for (int64_t i = 0; i < 160; ++i) {
    try {  // takes all that is left, from large blocks to small ones, and gives some back from time to time
      if (i % 16 == 15) held.erase(held.begin(), held.begin() + static_cast<int64_t>(held.size() / 2));
      for (int64_t n = int64_t{1} << 22; n >= int64_t{1} << 14; n /= 2) {
        try {
          while (true) held.push_back(empty({n}));
        } catch (const OutOfMemoryError&) {
        }
        if (i % 4 == 0) break;
      }
    } catch (const std::bad_alloc&) {
    }
    try {
      const int64_t channels = 1 + i % 37, size = 5 + i % 23, kernel = 1 + 2 * (i % 3);
      const Dtype dtype = i % 5 == 0 ? Dtype::bfloat16 : Dtype::float32;
      const Variable x(ones({2, channels, size, size}, dtype)),
          W(ones({channels + 3, channels, kernel, kernel}, dtype));
      F::sum(F::convolution_2d(x, W, Variable(), {.stride = 1 + i % 2, .pad = kernel / 2})).backward();
      F::linear(ones({2 + i, channels}), ones({300, channels}));
      ++computed;
    } catch (const OutOfMemoryError&) {
      ++refused;
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  }
  held.clear();
  MESSAGE(computed, " computed, ", refused, " refused");
  CHECK(computed + refused == 160);
  CHECK(refused > 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which reserve more than any limit
TEST_CASE("kernels that are made where memory runs out throw OutOfMemoryError") {
  const auto result = testing::run_in_child("", "child: kernels are made where memory runs out");
  CAPTURE(result.output);
  CHECK(result.exit_code == 0);
  CHECK(result.output.find("SUCCESS") != std::string::npos);
}
#endif

}  // namespace
}  // namespace kusari
