#include "kusari/framework/core/array.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

using Ints = std::vector<int>;

Ints values(const Array& a) {
  const std::vector<int32_t> v = a.to_vector<int32_t>();
  return {v.begin(), v.end()};
}

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

// 0 .. 23 as (2, 3, 4).
Array cube() { return arange(24, Dtype::int32).reshape({2, 3, 4}); }

TEST_CASE("an undefined array") {
  const Array none;
  CHECK_FALSE(none.is_defined());
  CHECK_FALSE(none);
  CHECK(to_string(none) == "undefined");
}

TEST_CASE("arrays are made with their dtype, shape and values") {
  CHECK(zeros({2, 2}).to_vector<float>() == std::vector<float>(4, 0.0f));
  CHECK(ones({3}, Dtype::float64).to_vector<double>() == std::vector<double>(3, 1.0));
  CHECK(values(full({2}, 7, Dtype::int64)) == Ints{7, 7});
  CHECK(values(arange(4, Dtype::uint8)) == Ints{0, 1, 2, 3});
  CHECK(arange(3).dtype() == Dtype::float32);
  const Array a = array<int32_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(a.shape() == Shape{2, 3});
  CHECK(a.strides() == Strides{3, 1});
  CHECK(a.ndim() == 2);
  CHECK(a.size() == 6);
  CHECK(a.nbytes() == 24);
  CHECK(a.dtype() == Dtype::int32);
  CHECK(a.device() == Device());
  CHECK(a.shape(-1) == 3);
  CHECK(a.is_contiguous());
  CHECK(full_like(a, 2).dtype() == Dtype::int32);
  CHECK(values(zeros_like(a)) == Ints(6, 0));
  CHECK(values(ones_like(a)) == Ints(6, 1));
  CHECK(empty({0, 3}).size() == 0);
  CHECK(full({}, 2.5, Dtype::float16).item<float>() == 2.5f);
  CHECK(array<bool>({true, false}).dtype() == Dtype::bool_);
  CHECK_THROWS_WITH_AS(array<float>({1, 2, 3}, {2, 2}), "array: 3 values do not fill shape (2, 2)", TypeError);
  CHECK_THROWS_WITH_AS(empty({2, -1}), "empty: shape is (2, -1): no size of it may be negative (axis 1 has -1)",
                       ValueError);
  CHECK_THROWS_WITH_AS(zeros({-1, 2}), "zeros: shape is (-1, 2): no size of it may be negative (axis 0 has -1)",
                       ValueError);
  CHECK_THROWS_WITH_AS(ones({2, -3}), doctest::Contains("ones: shape is (2, -3)"), ValueError);
  CHECK_THROWS_WITH_AS(full({-3}, 1, Dtype::int32), doctest::Contains("full: shape is (-3,)"), ValueError);
  CHECK_THROWS_AS(a.shape(2), IndexError);
}

TEST_CASE("an array from rows has two axes") {
  const Array a = array<float>({{1, 2, 3}, {4, 5, 6}});
  CHECK(a.shape() == Shape{2, 3});
  CHECK(a.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
  const Array deduced = array({{0, 1}, {2, 3}});
  CHECK(deduced.dtype() == Dtype::int32);
  CHECK(deduced.shape() == Shape{2, 2});
  CHECK(array<bool>({{true, false}}).to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(array<float>({{1}, {2}}).shape() == Shape{2, 1});
  CHECK(array<float>({}).shape() == Shape{0});
  CHECK(array<float>({{1, 2}, {3, 4}}, Device()).shape() == Shape{2, 2});
  CHECK_THROWS_WITH_AS(array<float>({{1, 2}, {3}}), "array: a row has 1 values but the first has 2", TypeError);
}

TEST_CASE("copies of the handle share the elements") {
  const Array a = zeros({2}, Dtype::int32);
  const Array b = a;
  b.fill(3);
  CHECK(values(a) == Ints{3, 3});
  CHECK(a.is_same(b));
  const Array c = a.copy();
  c.fill(4);
  CHECK(values(a) == Ints{3, 3});
  CHECK_FALSE(a.is_same(c));
  CHECK(c.is_unique());
  CHECK_FALSE(a.is_unique());
}

TEST_CASE("reshape is a view where strides allow") {
  const Array a = cube();
  CHECK(&a.reshape({6, 4}).storage() == &a.storage());
  CHECK(values(a.reshape({-1, 2}).at(11)) == Ints{22, 23});
  CHECK(a.reshape({2, -1}).shape() == Shape{2, 12});
  CHECK(a.reshape({24}).reshape({2, 3, 4}).strides() == Strides{12, 4, 1});
  CHECK(a.reshape({1, 2, 1, 3, 4, 1}).shape() == Shape{1, 2, 1, 3, 4, 1});

  // Splitting an axis of a transposed array and joining axes that run on stay views; joining others copies.
  const Array t = a.transpose({1, 0, 2});
  CHECK(&t.reshape({3, 2, 2, 2}).storage() == &a.storage());
  CHECK(values(t.reshape({3, 2, 2, 2})) == values(t));
  CHECK(&t.reshape({6, 4}).storage() != &a.storage());
  CHECK(values(t.reshape({6, 4})) ==
        Ints{0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23});
  CHECK(zeros({0, 3}).reshape({3, 0}).shape() == Shape{3, 0});
  CHECK(zeros({1}).reshape({}).shape() == Shape{});

  CHECK_THROWS_WITH_AS(a.reshape({5, 5}),
                       "reshape: the array has shape (2, 3, 4) but shape is (5, 5): it must hold as many elements (24)",
                       TypeError);
  CHECK_THROWS_AS(a.reshape({-1, 5}), TypeError);
  CHECK_THROWS_AS(a.reshape({kHuge, kHuge, 24}), TypeError);
  CHECK_THROWS_AS(a.reshape({int64_t{1} << 32, int64_t{1} << 32, -1}), TypeError);
  CHECK_THROWS_AS(a.reshape({-1, -1}), TypeError);
  CHECK_THROWS_AS(zeros({1}).reshape({-1, -1}), TypeError);
  CHECK_THROWS_AS(zeros({6}).reshape({-2, -3}), TypeError);
  CHECK_THROWS_AS(zeros({0}).reshape({-1, 0}), TypeError);
}

TEST_CASE("transposes permute strides") {
  const Array a = array<int32_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(values(a.transpose()) == Ints{1, 4, 2, 5, 3, 6});
  CHECK_FALSE(a.transpose().is_contiguous());
  CHECK(a.transpose().is_dense());
  CHECK(cube().transpose({-1, 0, 1}).shape() == Shape{4, 2, 3});
  CHECK(values(cube().swapaxes(0, -1).at(3)) == Ints{3, 15, 7, 19, 11, 23});
  CHECK(a.transpose().transpose().is_contiguous());
  CHECK_THROWS_WITH_AS(a.transpose({0, 0}), "transpose: axes (0, 0) are not a permutation of the 2 axes", ValueError);
  CHECK_THROWS_AS(a.transpose({0}), ValueError);
  CHECK_THROWS_AS(a.transpose({0, 2}), IndexError);
  CHECK_THROWS_AS(a.swapaxes(0, 2), IndexError);
}

TEST_CASE("slices select along one axis") {
  const Array a = cube();
  CHECK(values(a.slice(2, 1, 2)) == Ints{1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22});
  CHECK(values(a.slice(-1, 0, 2, 3).at(0)) == Ints{0, 3, 4, 7, 8, 11});
  CHECK(values(a.at(0).slice(0, 2, 3, -1)) == Ints{8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3});
  CHECK(a.slice(0, 0, 0).shape() == Shape{0, 3, 4});
  CHECK(values(a.at(-1).at(-1)) == Ints{20, 21, 22, 23});
  CHECK(a.at(1).at(2).at(3).item<int>() == 23);
  CHECK(a.slice(2, 1, 2).offset() == 1);

  // Writing through a view writes the elements of the whole.
  a.slice(0, 1, 1).fill(-1);
  CHECK(values(a.at(1)) == Ints(12, -1));
  CHECK(values(a.at(0)).back() == 11);

  CHECK_THROWS_WITH_AS(a.slice(1, 2, 2),
                       "slice: start is 2, count 2 and step 1: all elements must lie in axis 1 of shape (2, 3, 4)",
                       IndexError);
  CHECK_THROWS_AS(a.slice(1, 0, 4), IndexError);
  CHECK_THROWS_AS(a.slice(1, 1, kHuge, 2), IndexError);
  CHECK_THROWS_AS(a.slice(1, 1, 2, kHuge), IndexError);
  CHECK_THROWS_AS(a.slice(1, -1, 1), IndexError);
  CHECK_THROWS_AS(a.slice(1, 1, 3, -1), IndexError);
  CHECK_THROWS_AS(a.slice(3, 0, 1), IndexError);
  CHECK_THROWS_AS(a.slice(0, 0, -1), IndexError);
  CHECK_THROWS_WITH_AS(a.at(2), "at: index 2 is out of range for axis 0 of shape (2, 3, 4)", IndexError);
  CHECK_THROWS_AS(a.at(-3), IndexError);
  CHECK_THROWS_AS(zeros({}).at(0), IndexError);
}

TEST_CASE("broadcasting repeats without copying") {
  const Array row = array<int32_t>({1, 2, 3});
  const Array wide = row.broadcast_to({2, 3});
  CHECK(values(wide) == Ints{1, 2, 3, 1, 2, 3});
  CHECK(wide.strides() == Strides{0, 1});
  CHECK(&wide.storage() == &row.storage());
  CHECK_FALSE(wide.is_contiguous());
  CHECK_FALSE(wide.is_dense());
  CHECK(values(row.reshape({3, 1}).broadcast_to({3, 2})) == Ints{1, 1, 2, 2, 3, 3});
  CHECK(values(full({}, 5, Dtype::int32).broadcast_to({2, 1, 2})) == Ints{5, 5, 5, 5});
  CHECK(zeros({1}).broadcast_to({0}).size() == 0);
  CHECK(wide.copy().is_contiguous());
  CHECK_THROWS_WITH_AS(row.broadcast_to({2}), "broadcast_to: shape (3,) does not broadcast to (2,)", TypeError);
  CHECK_THROWS_AS(row.broadcast_to({3, 2}), TypeError);
  CHECK_THROWS_AS(row.reshape({1, 3}).broadcast_to({3}), TypeError);
  CHECK_THROWS_AS(zeros({1}).broadcast_to({-1}), ValueError);
  CHECK_THROWS_WITH_AS(zeros({1}).broadcast_to({kHuge, 2}),
                       "broadcast_to: shape is (9223372036854775807, 2): it must hold less than 2^63 elements",
                       ValueError);
}

TEST_CASE("axes of size 1 come and go") {
  const Array a = array<int32_t>({1, 2, 3});
  CHECK(a.expand_dims(0).shape() == Shape{1, 3});
  CHECK(a.expand_dims(-1).shape() == Shape{3, 1});
  CHECK(values(a.expand_dims(1)) == Ints{1, 2, 3});
  CHECK(a.expand_dims(1).squeeze(1).shape() == Shape{3});
  CHECK_THROWS_WITH_AS(a.squeeze(0), "squeeze: axis 0 of shape (3,) has size 3, not 1", TypeError);
  CHECK_THROWS_AS(a.expand_dims(2), IndexError);
}

TEST_CASE("as_strided stays inside the storage") {
  const Array a = arange(6, Dtype::int32);
  CHECK(values(a.as_strided({2, 3}, {1, 2})) == Ints{0, 2, 4, 1, 3, 5});
  CHECK(values(a.as_strided({2, 2}, {2, 1}, 2)) == Ints{2, 3, 4, 5});
  CHECK(values(a.as_strided({3}, {-2}, 5)) == Ints{5, 3, 1});
  CHECK(values(a.slice(0, 2, 2).as_strided({2}, {1}, -2)) == Ints{0, 1});
  CHECK_THROWS_AS(a.as_strided({7}, {1}), ValueError);
  CHECK_THROWS_AS(a.as_strided({kHuge}, {kHuge}), ValueError);
  CHECK_THROWS_AS(a.as_strided({2}, {1}, kHuge), ValueError);
  CHECK_THROWS_AS(a.as_strided({2}, {-1}), ValueError);
  CHECK_THROWS_AS(a.as_strided({2}, {1}, 5), ValueError);
  CHECK_THROWS_AS(a.as_strided({2, 2}, {1}), ValueError);
  CHECK_THROWS_AS(a.as_strided({-1}, {1}), ValueError);
}

TEST_CASE("channels-last arrays read back in logical order") {
  const Shape shape{2, 3, 2, 2};
  const Array nchw = arange(24, Dtype::int32).reshape(shape);
  const Array nhwc = empty_strided(shape, channels_last_strides(shape), Dtype::int32);
  nhwc.copy_from(nchw);
  CHECK(nhwc.is_channels_last());
  CHECK_FALSE(nchw.is_channels_last());
  CHECK_FALSE(nhwc.is_contiguous());
  CHECK(nhwc.is_dense());
  CHECK(values(nhwc) == values(nchw));
  CHECK(nhwc.data<int32_t>()[1] == 4);  // the next channel is the next element
  CHECK(nhwc.copy().is_channels_last());
  CHECK(empty_like(nhwc).strides() == nhwc.strides());
  CHECK(nhwc.astype(Dtype::float32).is_channels_last());
  CHECK(nhwc.contiguous().is_contiguous());
  CHECK(values(nhwc.reshape({2, 12})) == values(nchw));
  CHECK(to_string(nhwc) == to_string(nchw));
  // An axis of size 1 matches any stride.
  CHECK(zeros({2, 1, 3, 3}).is_channels_last());
  CHECK_FALSE(zeros({2, 3}).is_channels_last());
  CHECK_THROWS_AS(empty_strided({2, 2}, {4, 1}, Dtype::float32), ValueError);
  CHECK_THROWS_AS(empty_strided({2, 2}, {1, 1}, Dtype::float32), ValueError);
  CHECK_THROWS_AS(empty_strided({2, 2}, {1}, Dtype::float32), ValueError);
}

TEST_CASE("astype converts, copying only when it must") {
  const Array a = array<double>({-1.75, 0.0, 2.5, 300.0});
  CHECK(a.astype(Dtype::float64).is_same(a));
  CHECK_FALSE(a.astype(Dtype::float64, true).is_same(a));
  CHECK(values(a.astype(Dtype::int32)) == Ints{-1, 0, 2, 300});
  CHECK(a.astype(Dtype::bool_).to_vector<bool>() == std::vector<bool>{true, false, true, true});
  CHECK(a.astype(Dtype::float16).to_vector<float>() == std::vector<float>{-1.75f, 0, 2.5f, 300});
  CHECK(array<float>({2049.0f}).astype(Dtype::float16).item<float>() == 2048.0f);
  CHECK(array<float>({257.0f}).astype(Dtype::bfloat16).item<float>() == 256.0f);
  CHECK(array<bool>({true, false}).astype(Dtype::float32).to_vector<float>() == std::vector<float>{1, 0});
  // Every pair of dtypes keeps small numbers.
  for (int from = 0; from < kDtypeCount; ++from) {
    for (int to = 0; to < kDtypeCount; ++to) {
      CAPTURE(from);
      CAPTURE(to);
      const Array x = array<uint8_t>({0, 1, 1, 0, 1}).astype(static_cast<Dtype>(from));
      const Array y = x.astype(static_cast<Dtype>(to));
      CHECK(y.dtype() == static_cast<Dtype>(to));
      CHECK(values(y) == Ints{0, 1, 1, 0, 1});
    }
  }
  CHECK(values(cube().transpose().astype(Dtype::float64)) == values(cube().transpose()));
}

TEST_CASE("copy_from broadcasts and converts") {
  const Array a = zeros({2, 3});
  a.copy_from(array<int64_t>({1, 2, 3}));
  CHECK(values(a) == Ints{1, 2, 3, 1, 2, 3});
  a.transpose().copy_from(array<int32_t>({1, 2, 3, 4, 5, 6}, {3, 2}));
  CHECK(values(a) == Ints{1, 3, 5, 2, 4, 6});
  CHECK_THROWS_AS(a.copy_from(zeros({2})), TypeError);
}

TEST_CASE("copy_from reads another view of the same memory before it is written") {
  const Array x = arange(10);
  x.copy_from(x.slice(0, 9, 10, -1));
  CHECK(values(x) == Ints{9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  const Array square = arange(9).reshape({3, 3});
  square.copy_from(square.transpose());
  CHECK(values(square) == Ints{0, 3, 6, 1, 4, 7, 2, 5, 8});
  const int64_t n = 1000000;  // on several threads
  const Array many = arange(n);
  many.slice(0, 1, n - 1).copy_from(many.slice(0, 0, n - 1));
  CHECK(values(many)[static_cast<size_t>(n - 1)] == n - 2);
  CHECK(many.slice(0, 1, n - 1).to_vector<int64_t>() == arange(n - 1).to_vector<int64_t>());
  CHECK_THROWS_WITH_AS(zeros({3, 1}).broadcast_to({3, 2}).copy_from(ones({3, 2})),
                       "copy_from: an array of shape (3, 2) repeats its elements along axis 1: copy() it first",
                       ValueError);
}

TEST_CASE("fill keeps to its view") {
  const Array a = zeros({3, 4}, Dtype::int32);
  a.slice(1, 0, 2, 2).fill(9);
  CHECK(values(a) == Ints{9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0});
  const Array big = zeros({1}, Dtype::int64);
  big.fill(int64_t{9007199254740993});  // 2^53 + 1: no double holds it
  CHECK(big.item<int64_t>() == 9007199254740993);
}

TEST_CASE("item reads the only element") {
  CHECK(full({1, 1}, 2.5, Dtype::float32).item<double>() == 2.5);
  CHECK(array<bool>({true}).item<bool>());
  CHECK_THROWS_WITH_AS(zeros({2}).item<float>(), "item: the array has shape (2,), not exactly one element", ValueError);
  CHECK_THROWS_AS(zeros({0}).item<float>(), ValueError);
}

TEST_CASE("memory of others is released once, with the last view") {
  int released = 0;
  float buffer[6] = {0, 1, 2, 3, 4, 5};
  {
    Array view;
    {
      const Array a = from_external(
          buffer, {2, 3}, {3, 1}, Dtype::float32, Device(), [](void* context) { ++*static_cast<int*>(context); },
          &released);
      view = a.at(1);
      CHECK(released == 0);
    }
    CHECK(view.to_vector<float>() == std::vector<float>{3, 4, 5});
    buffer[3] = 10;
    CHECK(view.at(0).item<float>() == 10);
    CHECK(released == 0);
  }
  CHECK(released == 1);
}

TEST_CASE("memory of others whose strides make no sense is refused") {
  float buffer[6] = {0, 1, 2, 3, 4, 5};
  const auto made = [&](const Shape& shape, const Strides& strides) {
    return from_external(
        buffer, shape, strides, Dtype::float32, Device(), [](void*) {}, nullptr);
  };
  CHECK_THROWS_WITH_AS(made({2, 3}, {3}),
                       "from_external: shape is (2, 3) but strides is (3,): there must be a stride for each axis, and "
                       "memory that has an address for each element",
                       ValueError);
  CHECK_THROWS_AS(made({3, 3}, {int64_t{1} << 62, 1}), ValueError);
  CHECK(made({0, 3}, {int64_t{1} << 62, 1}).size() == 0);
}

TEST_CASE("storages have identities that are never used twice") {
  const uint64_t first = zeros({4}).storage().id;
  const uint64_t second = zeros({4}).storage().id;  // most likely at the same address
  CHECK(first != second);
  const Array a = zeros({4});
  CHECK(a.at(0).storage().id == a.storage().id);
}

TEST_CASE("scalars keep integers exactly") {
  CHECK(Scalar(int64_t{9007199254740993}).as<int64_t>() == 9007199254740993);
  CHECK(Scalar(2.75).as<int32_t>() == 2);
  CHECK(Scalar(true).as<float>() == 1.0f);
  CHECK(Scalar(1e300).as_int64() == 0);
  CHECK(Scalar(uint64_t{1} << 63).as<double>() == 9223372036854775808.0);
  CHECK_FALSE(Scalar(uint64_t{1} << 63).is_integral());
  CHECK(Scalar((uint64_t{1} << 63) - 1).as<int64_t>() == std::numeric_limits<int64_t>::max());
  CHECK(Scalar(0.1f).as_double() == static_cast<double>(0.1f));
  CHECK(std::isnan(Scalar(NAN).as<float>()));
}

TEST_CASE("channels-last copies and new arrays") {
  const Array x = arange(2 * 3 * 4 * 5).reshape({2, 3, 4, 5});
  CHECK_FALSE(x.is_channels_last());
  const Array last = x.channels_last();
  CHECK(last.is_channels_last());
  CHECK(last.strides() == Strides{60, 1, 15, 3});
  CHECK(last.to_vector<float>() == x.to_vector<float>());
  CHECK(last.channels_last().is_same(last));
  CHECK(empty_channels_last({2, 3, 4}, Dtype::float32).strides() == Strides{12, 1, 3});
  CHECK(empty_channels_last({2, 3}, Dtype::float32).is_contiguous());
  const auto guard = using_config(&Config::channels_last, false);
  CHECK(empty_channels_last({2, 3, 4}, Dtype::float32).is_contiguous());
  CHECK(last.channels_last().is_contiguous());
}

TEST_CASE("what is attached to a storage goes with it, and writing is counted") {
  struct Kept final : detail::Attachment {
    explicit Kept(int* c) : count{c} {}
    ~Kept() override { ++*count; }
    int* count;
  };
  int freed = 0;
  {
    const Array x = zeros({2, 3});
    const Array view = x.reshape({6});
    detail::Attachment* const first = x.attach(std::make_unique<Kept>(&freed));
    CHECK(view.attach(std::make_unique<Kept>(&freed)) == first);
    CHECK(freed == 1);  // the second was not needed
    const uint64_t before = x.storage().generation;
    view.fill(3);
    const uint64_t after = x.storage().generation;
    CHECK(after > before);
    CHECK(x.to_vector<float>()[0] == 3);
    CHECK(x.storage().generation == after);  // reading is not writing
    x.mark_written();
    CHECK(x.storage().generation > after);
    CHECK_FALSE(x.storage().is_exposed.load());
    x.expose();
    CHECK(view.storage().is_exposed.load());
  }
  CHECK(freed == 2);
}

TEST_CASE("a scalar is an array without axes") {
  CHECK(array<int32_t>(7).shape() == Shape{});
  CHECK(array<int32_t>(7).dtype() == Dtype::int32);
  CHECK(array<int32_t>(7).item<int32_t>() == 7);
  CHECK(array(7).dtype() == Dtype::int32);
  CHECK(array(1.5f).dtype() == Dtype::float32);
  CHECK(array(1.5).item<double>() == 1.5);
  CHECK(array(true).dtype() == Dtype::bool_);
  CHECK(array(bfloat16(2)).dtype() == Dtype::bfloat16);
  CHECK(array<float>(3, Device()).item<float>() == 3);
  const int64_t k = 5;
  CHECK(array<int64_t>({k}, {}).shape() == Shape{});
  CHECK(array<int32_t>({4}, {}).item<int32_t>() == 4);
  CHECK(array<float>(std::vector<float>{2.5f}, {}).shape() == Shape{});
  CHECK(array<float>({2.5f}, Shape{}).item<float>() == 2.5f);
  // What is in braces alone still has one axis.
  CHECK(array<int32_t>({4}).shape() == Shape{1});
  CHECK(array({1.0f, 2.0f}).shape() == Shape{2});
  CHECK(array({1.0f, 2.0f}, Device()).shape() == Shape{2});
  CHECK(array(std::vector<int>{1, 2}, Device()).shape() == Shape{2});
  CHECK_THROWS_AS(array<float>({1, 2}, {}), TypeError);
}

TEST_CASE("every method of an undefined array throws StateError") {
  const Array none;
  CHECK(!none.is_defined());
  CHECK(none.is_same(Array()));
  CHECK_THROWS_WITH_AS(
      none.shape(),
      "Array: an undefined array (made by Array() or moved from) has no elements, shape or dtype; is_defined() tells",
      StateError);
  CHECK_THROWS_AS(none.shape(0), StateError);
  CHECK_THROWS_AS(none.strides(), StateError);
  CHECK_THROWS_AS(none.ndim(), StateError);
  CHECK_THROWS_AS(none.size(), StateError);
  CHECK_THROWS_AS(none.nbytes(), StateError);
  CHECK_THROWS_AS(none.dtype(), StateError);
  CHECK_THROWS_AS(none.device(), StateError);
  CHECK_THROWS_AS(none.is_floating(), StateError);
  CHECK_THROWS_AS(none.is_contiguous(), StateError);
  CHECK_THROWS_AS(none.is_channels_last(), StateError);
  CHECK_THROWS_AS(none.is_dense(), StateError);
  CHECK_THROWS_AS(none.reshape({1}), StateError);
  CHECK_THROWS_AS(none.reshape({}), StateError);
  CHECK_THROWS_AS(none.transpose(), StateError);
  CHECK_THROWS_AS(none.transpose({0}), StateError);
  CHECK_THROWS_AS(none.swapaxes(0, 1), StateError);
  CHECK_THROWS_AS(none.slice(0, 0, 1), StateError);
  CHECK_THROWS_AS(none.at(0), StateError);
  CHECK_THROWS_AS(none.broadcast_to({2}), StateError);
  CHECK_THROWS_AS(none.expand_dims(0), StateError);
  CHECK_THROWS_AS(none.squeeze(0), StateError);
  CHECK_THROWS_AS(none.as_strided({1}, {1}), StateError);
  CHECK_THROWS_AS(none.copy(), StateError);
  CHECK_THROWS_AS(none.contiguous(), StateError);
  CHECK_THROWS_AS(none.channels_last(), StateError);
  CHECK_THROWS_AS(none.astype(Dtype::float32), StateError);
  CHECK_THROWS_AS(none.to_device(Device()), StateError);
  CHECK_THROWS_AS(none.to_device_beside(Device()), StateError);
  CHECK_THROWS_AS(none.fill(1), StateError);
  CHECK_THROWS_AS(none.copy_from(ones({1})), StateError);
  CHECK_THROWS_AS(ones({1}).copy_from(none), StateError);
  CHECK_THROWS_AS(none.to_vector<float>(), StateError);
  CHECK_THROWS_AS(none.to_vector<bool>(), StateError);
  CHECK_THROWS_AS(none.item<float>(), StateError);
  CHECK_THROWS_AS(none.raw_data(), StateError);
  CHECK_THROWS_AS(none.data<float>(), StateError);
  CHECK_THROWS_AS(none.storage(), StateError);
  CHECK_THROWS_AS(none.mark_written(), StateError);
  CHECK_THROWS_AS(none.expose(), StateError);
  CHECK_THROWS_AS(none.attach(nullptr), StateError);
  CHECK_THROWS_AS(none.offset(), StateError);
  CHECK_THROWS_AS(none.is_unique(), StateError);
  CHECK_THROWS_AS(empty_like(none), StateError);
  CHECK_THROWS_AS(zeros_like(none), StateError);
  Array moved = ones({2});
  const Array taken = std::move(moved);
  CHECK_THROWS_AS(moved.shape(), StateError);  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("shapes that no memory can hold") {
  constexpr int64_t k31 = int64_t{1} << 31, k32 = int64_t{1} << 32, k60 = int64_t{1} << 60, k62 = int64_t{1} << 62;
  CHECK_THROWS_WITH_AS(zeros({k62}),
                       "zeros: shape is (4611686018427387904,): its elements of 4 bytes must take less than 2^63 bytes",
                       ValueError);
  CHECK_THROWS_WITH_AS(ones({k32, k32}),
                       "ones: shape is (4294967296, 4294967296): it must hold less than 2^63 elements", ValueError);
  for (const Shape& shape : {Shape{k62}, Shape{k31, k31}, Shape{k32, k32}, Shape{k32, k31, 2}, Shape{k62, 4},
                             Shape{0, k62, k62}, Shape{k62, 0, k62}, Shape{INT64_MAX}, Shape{3, INT64_MAX}}) {
    CAPTURE(shape);
    CHECK_THROWS_AS(empty(shape), ValueError);
    CHECK_THROWS_AS(zeros(shape), ValueError);
    CHECK_THROWS_AS(ones(shape, Dtype::float64), ValueError);
    CHECK_THROWS_AS(full(shape, 1, Dtype::int64), ValueError);
    CHECK_THROWS_AS(empty_channels_last(shape, Dtype::float32), ValueError);
    CHECK_THROWS_AS(empty_strided(shape, contiguous_strides(Shape::filled(shape.ndim(), 1)), Dtype::float32),
                    ValueError);
    CHECK_THROWS_AS(
        from_external(nullptr, shape, Strides::filled(shape.ndim(), 0), Dtype::float32, Device(), nullptr, nullptr),
        ValueError);
    CHECK_THROWS_AS(array(std::vector<float>(), shape), Error);
    CHECK_THROWS_AS(ones({}).as_strided(shape, Strides::filled(shape.ndim(), 0)), ValueError);
    if (std::count(shape.begin(), shape.end(), 0) > 0) {
      CHECK_THROWS_AS(ones({0}).reshape(shape), ValueError);
    } else {
      CHECK_THROWS_AS(ones({}).broadcast_to(shape), ValueError);
    }
  }
  CHECK_THROWS_AS(arange(k62), ValueError);
  CHECK_THROWS_AS(arange(INT64_MAX, Dtype::float64), ValueError);
  // Possible, but more than there is.
  for (const Shape& shape : {Shape{k60}, Shape{int64_t{1} << 50}, Shape{k31, k31 >> 2}}) {
    CAPTURE(shape);
    CHECK_THROWS_AS(empty(shape), OutOfMemoryError);
  }
  try {
    static_cast<void>(zeros({k60}, Dtype::float32));
    FAIL("there was memory");
  } catch (const OutOfMemoryError& error) {
    CHECK(std::string(error.what()).find("an array of shape (1152921504606846976,) and dtype float32") !=
          std::string::npos);
  }
  // A view of as many bytes as can be counted is none that can be copied.
  const Array view = ones({}, Dtype::uint8).broadcast_to({k62});
  CHECK(view.size() == k62);
  CHECK_THROWS_AS(view.copy(), OutOfMemoryError);
  CHECK_THROWS_AS(view.contiguous(), OutOfMemoryError);
  CHECK_THROWS_AS(view.astype(Dtype::float32), ValueError);
}

}  // namespace
}  // namespace kusari
