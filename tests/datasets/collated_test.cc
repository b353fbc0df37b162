#include "kusari/framework/datasets/collated.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/datasets/convert.h"

using namespace kusari;
using namespace kusari::datasets;

namespace {

using Batch = std::vector<Example>;

/// The first `n` rows of each array as examples.
Batch rows_of(const std::vector<Array>& wholes, int64_t n) {
  Batch batch(static_cast<size_t>(n));
  for (const Array& whole : wholes) {
    for (int64_t i = 0; i < n; ++i) batch[static_cast<size_t>(i)].push_back(whole.at(i));
  }
  return batch;
}

Array random_images(int64_t n) {
  const Array memory = arange(n * 5 * 4 * 3, Dtype::int32).reshape({n, 5, 4, 3}).astype(Dtype::uint8);
  return memory.transpose({0, 3, 1, 2});  // (n, 3, 5, 4)
}

/// Whether concat_examples gives memory of its own, with the values of the rows.
bool is_copied(const Batch& batch) {
  const Array result = concat_examples(batch)[0];
  for (size_t i = 0; i < batch.size(); ++i) {
    CHECK(result.at(static_cast<int64_t>(i)).to_vector<double>() == batch[i][0].to_vector<double>());
  }
  return &result.storage() != &batch[0][0].storage();
}

}  // namespace

TEST_CASE("collated: whole batches and their first rows are views of the marked array") {
  std::vector<float> memory(6 * 4);
  int released = 0;
  const auto release = [](void* count) { ++*static_cast<int*>(count); };
  {
    const std::vector<Array> wholes{
        mark_collated(arange(24, Dtype::float32).reshape({6, 4})), mark_collated(random_images(6)),
        mark_collated(arange(6, Dtype::int32)), mark_collated(empty({6, 0, 3})),
        mark_collated(from_external(memory.data(), {6, 4}, {4, 1}, Dtype::float32, Device(), release, &released))};
    for (const int64_t n : {6, 4, 1}) {
      CAPTURE(n);
      const Batch batch = rows_of(wholes, n);
      const Example result = concat_examples(batch);
      REQUIRE(result.size() == wholes.size());
      for (size_t k = 0; k < wholes.size(); ++k) {
        CAPTURE(k);
        CHECK(&result[k].storage() == &wholes[k].storage());
        CHECK(result[k].raw_data() == wholes[k].raw_data());
        CHECK(result[k].shape()[0] == n);
        CHECK(result[k].to_vector<double>() == wholes[k].slice(0, 0, n).to_vector<double>());
      }
      CHECK(result[1].is_channels_last());
    }
    CHECK(released == 0);
  }
  CHECK(released == 1);  // the mark keeps nothing alive
}

TEST_CASE("collated: the views keep the memory that nobody else holds") {
  Batch batch = rows_of({mark_collated(arange(8).reshape({4, 2}))}, 4);
  const Example result = concat_examples(batch);
  batch.clear();
  CHECK(result[0].to_vector<int>() == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("collated: several arrays of one block") {
  const Array block = empty({256}, Dtype::uint8);
  const auto plane = [&](const Shape& shape, Dtype dtype, int64_t bytes) {
    return from_external(block.data<char>() + bytes, shape, contiguous_strides(shape), dtype, Device(), nullptr,
                         nullptr);
  };
  const Array same_block = arange(24).reshape({2, 4, 3});
  const std::vector<Array> wholes{mark_collated(same_block.at(0)), mark_collated(same_block.at(1)),
                                  mark_collated(plane({4, 3}, Dtype::float32, 0)),
                                  mark_collated(plane({4}, Dtype::int64, 64))};
  const Batch batch = rows_of(wholes, 3);
  for (size_t k = 0; k < wholes.size(); ++k) {
    CAPTURE(k);
    const Array view = collated(batch, k);
    REQUIRE(view.is_defined());
    CHECK(view.raw_data() == wholes[k].raw_data());
    CHECK(view.shape()[0] == 3);
  }
}

TEST_CASE("collated: anything else is copied") {
  const Array whole = mark_collated(arange(12).reshape({4, 3})), other = mark_collated(arange(12).reshape({4, 3}));
  const Array images_whole = mark_collated(random_images(4));
  CHECK_FALSE(is_copied({{whole.at(0)}, {whole.at(1)}, {whole.at(2)}, {whole.at(3)}}));
  CHECK(is_copied({{whole.at(1)}, {whole.at(0)}, {whole.at(2)}, {whole.at(3)}}));  // permuted
  CHECK(is_copied({{whole.at(0)}, {whole.at(2)}}));
  CHECK(is_copied({{whole.at(1)}, {whole.at(2)}}));
  CHECK(is_copied({{whole.at(0)}, {whole.at(0)}}));
  CHECK(is_copied({{whole.at(0)}, {other.at(1)}}));  // of two blocks
  CHECK(is_copied({{other.at(0)}, {other.at(1)}, {whole.at(2)}, {whole.at(3)}}));
  CHECK(is_copied({{whole.at(0).slice(0, 0, 2)}, {whole.at(1).slice(0, 0, 2)}}));  // parts of rows
  CHECK(is_copied({{whole.at(0).copy()}, {whole.at(1).copy()}}));
  CHECK(is_copied({{whole.at(0).expand_dims(0)}, {whole.at(1).expand_dims(0)}}));
  CHECK(is_copied({{whole.at(0)}, {whole.at(1)}, {whole.at(2)}, {whole.at(3)}, {arange(3)}}));  // one more than marked
  CHECK(is_copied({{images_whole.at(0).transpose({0, 2, 1})}, {images_whole.at(1).transpose({0, 2, 1})}}));
  const Array mirrored = images_whole.slice(3, 3, 4, -1);
  CHECK(is_copied({{mirrored.at(0)}, {mirrored.at(1)}}));

  const Array unmarked = arange(12).reshape({4, 3});
  CHECK(is_copied({{unmarked.at(0)}, {unmarked.at(1)}, {unmarked.at(2)}, {unmarked.at(3)}}));

  CHECK_FALSE(collated({}, 0).is_defined());
  const Batch one{{whole.at(0)}, {Array()}};
  CHECK_FALSE(collated(one, 0).is_defined());
  CHECK_FALSE(collated(one, 1).is_defined());
  CHECK(mark_collated(full({}, 1, Dtype::float32)).item<int>() == 1);  // no rows, no mark
}

TEST_CASE("collated: a padding, conversions and layouts") {
  const Array whole = mark_collated(arange(12).reshape({4, 3}));
  const Batch batch = rows_of({whole}, 4);
  CHECK(concat_examples(batch, Device(), 7)[0].raw_data() == whole.raw_data());
  const Batch ragged{{whole.at(0)}, {whole.at(1).slice(0, 0, 2)}};
  CHECK(concat_examples(ragged, Device(), 7)[0].to_vector<int>() == std::vector<int>{0, 1, 2, 3, 4, 7});
  {
    const auto guard = using_config(&Config::dtype, mixed16);
    const Array converted = concat_examples(batch)[0];
    CHECK(converted.dtype() == Dtype::float16);
    CHECK(converted.to_vector<int>() == whole.to_vector<int>());
  }
  CHECK(whole.at(3).to_vector<int>() == std::vector<int>{9, 10, 11});

  const Array pixels = mark_collated(random_images(4));
  const auto guard = using_config(&Config::channels_last, false);
  const Array plain = concat_examples(rows_of({pixels}, 4))[0];
  CHECK(plain.is_contiguous());
  CHECK(plain.to_vector<int>() == pixels.to_vector<int>());
}
