#include "kusari/framework/functions/connection/embed_id.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("embed_id") {
  const Array W = array<float>({1, 2, 3, 4, 5, 6}, {3, 2}, test_device()),
              x = array<int32_t>({2, 0, -1, 2}, {2, 2}, test_device());
  check_close(F::embed_id(x, W), {2, 2, 2}, {5, 6, 1, 2, 5, 6, 5, 6});
  check_close(F::embed_id(x, W, -1), {2, 2, 2}, {5, 6, 1, 2, 0, 0, 5, 6});
  check_close(F::embed_id(x, W, 2), {2, 2, 2}, {0, 0, 1, 2, 5, 6, 0, 0});
  CHECK(F::embed_id(zeros({0}, Dtype::int32, test_device()), W).shape() == Shape{0, 2});
  CHECK(F::embed_id(x, W.astype(Dtype::float16)).dtype() == Dtype::float16);
}

TEST_CASE("embed_id's gradients") {
  const Array x = array<int64_t>({1, 1, 0, 3}, test_device());
  check_gradients([&](const Variable& W) { return F::embed_id(x, W); }, uniform({4, 3}, -1, 1));
  check_gradients([&](const Variable& W) { return F::embed_id(x, W, 1); }, uniform({4, 3}, -1, 1));
  const Variable W(zeros({2, 1}, Dtype::float16, test_device()));
  CHECK(gradient(F::embed_id(zeros({4096}, Dtype::int32, test_device()), W), W) == std::vector<double>{4096, 0});
}

TEST_CASE("embed_id of what is no id") {
  const Array W = ones({3, 2}, Dtype::float32, test_device());
  const Array ids = array<int32_t>({0, 3}, test_device());
  if (test_device().is_cpu()) {
    CHECK_THROWS_WITH_AS(F::embed_id(ids, W), "F::embed_id: index 3 is out of range for an axis of size 3", IndexError);
  } else {
    check_close(F::embed_id(ids, W), {2, 2}, {1, 1, 0, 0});
  }
  CHECK_THROWS_WITH_AS(F::embed_id(ones({2}, Dtype::float32, test_device()), W),
                       "F::embed_id: x has dtype float32: x.dtype must be an integer or bool", TypeError);
  CHECK_THROWS_WITH_AS(F::embed_id(int_ones({2}), ones({3}, Dtype::float32, test_device())),
                       "F::embed_id: W has shape (3,): W.ndim must equal 2 (1 != 2)", TypeError);
}

}  // namespace
}  // namespace kusari
