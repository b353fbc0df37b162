#include "kusari/iterators/batch_layout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"

using kusari::Array;
using kusari::Device;
using kusari::Dtype;
using kusari::Shape;
using kusari::Strides;
using kusari::datasets::Example;
using kusari::iterators::Batch;
using kusari::iterators::BatchLayout;

namespace {

Array image(int64_t first, int64_t channels = 3) {  // (C, H, W) whose memory is (H, W, C)
  const Array pixels = kusari::arange(4 * 5 * channels, Dtype::int32).reshape({4, 5, channels});
  Array shifted = kusari::empty({4, 5, channels}, Dtype::int32);
  std::vector<int32_t> values = pixels.to_vector<int32_t>();
  for (int32_t& value : values) value += static_cast<int32_t>(first);
  shifted.copy_from(kusari::array<int32_t>(values, {4, 5, channels}));
  return shifted.transpose({2, 0, 1});
}

Array label(int64_t i) { return kusari::array<int64_t>({i}).reshape({}); }

}  // namespace

TEST_CASE("BatchLayout: planes lie aligned one after the other") {
  const BatchLayout layout = BatchLayout::of({image(0), label(1), kusari::ones({3}, Dtype::uint8)}, 5);
  CHECK(layout.is_defined());
  CHECK(layout.components() == 3);
  CHECK(layout.batch_size() == 5);
  CHECK(layout.bytes() == 1216 + 64 + 64);  // 5 * 240, 5 * 8 and 5 * 3 bytes, in multiples of 64
  CHECK_FALSE(BatchLayout().is_defined());
  CHECK_FALSE(BatchLayout().fits({}));
  CHECK_FALSE(BatchLayout::of({}, 5).is_defined());
  CHECK_FALSE(BatchLayout::of({image(0), Array()}, 5).is_defined());
  CHECK_FALSE(BatchLayout::of(Example(17, label(0)), 5).is_defined());
  CHECK_FALSE(BatchLayout::of({kusari::ones({1, 1, 1, 1, 1, 1, 1, 1})}, 5).is_defined());
}

TEST_CASE("BatchLayout: examples of its shapes and dtypes fit") {
  const BatchLayout layout = BatchLayout::of({image(0), label(1)}, 2);
  CHECK(layout.fits({image(7), label(2)}));
  CHECK(layout.fits({image(7).contiguous(), label(2)}));
  CHECK_FALSE(layout.fits({image(7)}));
  CHECK_FALSE(layout.fits({image(7, 1), label(2)}));
  CHECK_FALSE(layout.fits({image(7), Array()}));
  CHECK_FALSE(layout.fits({image(7).astype(Dtype::float32), label(2)}));
  CHECK_FALSE(layout.fits({image(7), label(2), label(3)}));
}

TEST_CASE("BatchLayout: rows are the examples that were written, whatever their strides") {
  const Array padded = kusari::arange(4 * 7 * 3, Dtype::int32).reshape({4, 7, 3}).slice(1, 1, 5).transpose({2, 0, 1});
  const Array reversed = image(3).slice(1, 3, 4, -1);
  const std::vector<Array> images = {image(0), image(1).contiguous(), padded, reversed};
  for (const Array& first : {images[0], images[1]}) {  // channels innermost, and C order
    const BatchLayout layout = BatchLayout::of({first, label(0)}, 4);
    const auto check = [&](const Example& planes) {
      CHECK(planes[0].shape() == Shape{4, 3, 4, 5});
      CHECK(planes[0].at(0).strides() == first.strides());
      CHECK(planes[1].to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2, 3});
      const Batch rows = BatchLayout::rows(planes, 3);
      REQUIRE(rows.size() == 3);
      for (size_t i = 0; i < 3; ++i) {
        CHECK(rows[i][0].to_vector<int32_t>() == images[i].to_vector<int32_t>());
        CHECK(rows[i][1].item<int64_t>() == static_cast<int64_t>(i));
      }
      CHECK(planes[0].at(3).to_vector<int32_t>() == images[3].to_vector<int32_t>());
    };
    {
      const Example planes = layout.allocate(Device());
      void* const data[] = {planes[0].raw_data(), planes[1].raw_data()};
      for (int64_t i = 0; i < 4; ++i) layout.write({images[static_cast<size_t>(i)], label(i)}, data, i);
      check(planes);
    }
    alignas(64) std::byte block[2048];
    REQUIRE(layout.bytes() <= static_cast<int64_t>(sizeof block));
    for (int64_t i = 0; i < 4; ++i) layout.write({images[static_cast<size_t>(i)], label(i)}, block, i);
    int released = 0;
    {
      const Batch rows = BatchLayout::rows(layout.wrap(
                                               block, [](void* count) { ++*static_cast<int*>(count); }, &released),
                                           1);
      check(layout.wrap(
          block, [](void*) {}, nullptr));
      CHECK(released == 0);
    }
    CHECK(released == 2);
  }
}

TEST_CASE("BatchLayout: without config.channels_last images lie in C order") {
  const auto guard = kusari::using_config(&kusari::Config::channels_last, false);
  const Array plane = BatchLayout::of({image(0)}, 2).allocate(Device())[0];
  CHECK(plane.is_contiguous());
}

TEST_CASE("BatchLayout takes examples without elements") {
  const BatchLayout layout = BatchLayout::of({kusari::zeros({0, 3})}, 2);
  const Example planes = layout.allocate(Device());
  void* const data[] = {planes[0].raw_data()};
  layout.write({kusari::zeros({0, 3})}, data, 1);
  CHECK(BatchLayout::rows(planes, 2)[1][0].shape() == Shape{0, 3});
}

TEST_CASE("BatchLayout: there is none for batches whose size overflows") {
  const Array huge = kusari::zeros({1}, Dtype::float32).broadcast_to({int64_t{1} << 30, 1024});
  CHECK(BatchLayout::of({huge}, 4).bytes() == int64_t{1} << 44);  // far above 2 GiB
  CHECK_FALSE(BatchLayout::of({huge}, int64_t{1} << 30).is_defined());
}

TEST_CASE("BatchLayout takes bools and halves") {
  const Example example{kusari::ones({3}, Dtype::bool_), kusari::full({2, 2}, 1.5, Dtype::float16)};
  const BatchLayout layout = BatchLayout::of(example, 2);
  const Example planes = layout.allocate(Device());
  void* const data[] = {planes[0].raw_data(), planes[1].raw_data()};
  layout.write(example, data, 1);
  const Example row = BatchLayout::rows(planes, 2)[1];
  CHECK(row[0].dtype() == Dtype::bool_);
  CHECK(row[0].to_vector<bool>() == std::vector<bool>(3, true));
  CHECK(row[1].to_vector<double>() == std::vector<double>(4, 1.5));
}
