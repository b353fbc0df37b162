#include "kusari/framework/datasets/text/block_dataset.h"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/iterators/serial_iterator.h"

namespace kusari::datasets {

TEST_CASE("blocks of a text and the words behind them") {
  const BlockDataset blocks(array(std::vector<int32_t>{5, 6, 7, 8, 9}), 3);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks.get(1)[0].to_vector<int32_t>() == std::vector<int32_t>{6, 7, 8});
  CHECK(blocks.get(1)[1].to_vector<int32_t>() == std::vector<int32_t>{7, 8, 9});
  CHECK_THROWS_AS(blocks.get(2), IndexError);
  // Words that are a view, here each second one.
  const BlockDataset of_view(array(std::vector<int32_t>{1, 2, 3, 4, 5, 6}, {3, 2}).slice(1, 1, 1).reshape({3}), 1);
  CHECK(of_view.get(1)[0].to_vector<int32_t>() == std::vector<int32_t>{4});
  CHECK(of_view.get(1)[1].to_vector<int32_t>() == std::vector<int32_t>{6});

  iterators::SerialIterator iterator(blocks, 2, {.repeat = false, .shuffle = false});
  const Example batch = concat_examples(iterator.next());
  CHECK(batch[0].shape() == Shape{2, 3});
  CHECK(batch[1].to_vector<int32_t>() == std::vector<int32_t>{6, 7, 8, 7, 8, 9});
}

TEST_CASE("blocks that do not fit") {
  const Array words = array(std::vector<int32_t>{5, 6, 7});
  CHECK_THROWS_WITH_AS(BlockDataset(words, 0),
                       "BlockDataset: block is 0: it must be at least 1 and below 3, the number of words", ValueError);
  CHECK_THROWS_AS(BlockDataset(words, 3), ValueError);
  CHECK_THROWS_WITH_AS(BlockDataset(words.reshape({1, 3}), 1),
                       "BlockDataset: words has shape (1, 3) on cpu: it must be a vector on the host", TypeError);
  CHECK_THROWS_WITH_AS(BlockDataset(Array(), 1), "BlockDataset: words is not given: it must be a vector on the host",
                       TypeError);
}

}  // namespace kusari::datasets
