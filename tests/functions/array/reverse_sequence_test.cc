#include "kusari/framework/functions/array/reverse_sequence.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

// The examples of ONNX's ReverseSequence.
TEST_CASE("reverse_sequence") {
  const Array x = arange(16, Dtype::float32, test_device()).reshape({4, 4});
  const Array falling = array<int64_t>({4, 3, 2, 1}, test_device()), rising = array<int>({1, 2, 3, 4}, test_device());
  check_close(F::reverse_sequence(x.transpose(), falling), {4, 4},
              {3, 6, 9, 12, 2, 5, 8, 13, 1, 4, 10, 14, 0, 7, 11, 15});
  check_close(F::reverse_sequence(x, rising, 1, 0), {4, 4}, {0, 1, 2, 3, 5, 4, 6, 7, 10, 9, 8, 11, 15, 14, 13, 12});
  check_close(F::reverse_sequence(x, zeros({4}, Dtype::int64, test_device())), {4, 4}, x.to_vector<double>());
  CHECK(F::reverse_sequence(x.astype(Dtype::int8), rising, -1, -2).dtype() == Dtype::int8);

  // Axes in any place.
  const Array cube = uniform({2, 3, 4}, -1, 1), lengths = array<int64_t>({3, 1, 0, 2}, test_device());
  std::vector<double> expected = cube.to_vector<double>();
  const std::vector<double> given = expected;
  const int64_t length[] = {3, 1, 0, 2};
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t t = 0; t < 3; ++t) {
      for (int64_t b = 0; b < 4; ++b) {
        const int64_t from = t < length[b] ? length[b] - 1 - t : t;
        expected[static_cast<size_t>((i * 3 + t) * 4 + b)] = given[static_cast<size_t>((i * 3 + from) * 4 + b)];
      }
    }
  }
  check_close(F::reverse_sequence(cube, lengths, 1, 2), {2, 3, 4}, expected);
  check_gradients([&](const Variable& v) { return F::reverse_sequence(v, lengths, 1, 2); }, cube);
  CHECK(F::reverse_sequence(zeros({0, 3}), zeros({3}, Dtype::int64)).shape() == Shape{0, 3});
}

TEST_CASE("reverse_sequence says what does not fit") {
  const Array x = zeros({4, 3});
  CHECK_THROWS_WITH_AS(F::reverse_sequence(x, int_ones({4})),
                       "F::reverse_sequence: lengths has shape (4,) and dtype int64: it must be an integer for each of "
                       "the 3 examples",
                       TypeError);
  CHECK_THROWS_AS(F::reverse_sequence(x, ones({3})), TypeError);
  CHECK_THROWS_WITH_AS(F::reverse_sequence(x, int_ones({3}), 1, -1),
                       "F::reverse_sequence: time_axis is 1 and batch_axis is -1: they must differ", ValueError);
  CHECK_THROWS_AS(F::reverse_sequence(x, int_ones({3}), 2, 1), IndexError);
  CHECK_THROWS_WITH_AS(
      F::reverse_sequence(x, full({3}, 5, Dtype::int64)),
      "F::reverse_sequence: lengths has 5 but x has 4 elements along axis 0: lengths must be from 0 to "
      "that",
      ValueError);
}

}  // namespace
}  // namespace kusari
