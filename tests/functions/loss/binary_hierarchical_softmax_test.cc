#include "kusari/framework/functions/loss/binary_hierarchical_softmax.h"

#include <cmath>
#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

// Words 0 and 1 below node 1, word 2 and the missing word 3, word 4 below node 0.
F::TreePaths tree() {
  return {array<int>({0, 1, 0, 1, 0, -1, -1, -1, 0, 1}, {5, 2}, test_device()),
          array<float>({1, 1, 1, -1, -1, 0, 0, 0, 1, 1}, {5, 2}, test_device())};
}

TEST_CASE("binary_hierarchical_softmax") {
  const std::vector<std::vector<std::pair<size_t, double>>> ways = {{{0, 1}, {1, 1}}, {{0, 1}, {1, -1}}, {{0, -1}}, {}};
  const Array t = array<int>({1, 2, 3, 0}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array x = uniform({4, 3}, -1, 1, 1).astype(dtype), W = uniform({2, 3}, -1, 1, 2).astype(dtype);
    const std::vector<double> a = x.to_vector<double>(), w = W.to_vector<double>();
    double loss = 0;
    const std::vector<size_t> words = {1, 2, 3, 0};
    for (size_t i = 0; i < words.size(); ++i) {
      for (const auto& [node, code] : ways[words[i]]) {
        double dot = 0;
        for (size_t j = 0; j < 3; ++j) dot += a[3 * i + j] * w[3 * node + j];
        loss += std::log1p(std::exp(-code * dot));
      }
    }
    const Variable y = F::binary_hierarchical_softmax(x, t, W, tree());
    CHECK(y.dtype() == dtype);
    check_close(y, {}, {loss}, 2);
  }
}

TEST_CASE("binary_hierarchical_softmax's gradients") {
  const Array t = array<int>({1, 2, 3, 0}, test_device());
  check_gradients([&](const Variable& x, const Variable& W) { return F::binary_hierarchical_softmax(x, t, W, tree()); },
                  uniform({4, 3}, -1, 1, 1), uniform({2, 3}, -1, 1, 2));
}

TEST_CASE("binary_hierarchical_softmax of what does not fit") {
  const Array x = ones({2, 3}, Dtype::float32, test_device()), W = ones({2, 3}, Dtype::float32, test_device());
  CHECK_THROWS_WITH_AS(F::binary_hierarchical_softmax(x, ones({2}, Dtype::float32, test_device()), W, tree()),
                       "F::binary_hierarchical_softmax: t has shape (2,) and dtype float32 but x has shape (2, 3) and "
                       "dtype float32: t must be integers, one per row of x",
                       TypeError);
  if (test_device().is_cpu()) {
    CHECK_THROWS_WITH_AS(F::binary_hierarchical_softmax(x, array<int>({0, 5}, test_device()), W, tree()),
                         "F::binary_hierarchical_softmax: index 5 is out of range for an axis of size 5", IndexError);
  }
}

}  // namespace
}  // namespace kusari
