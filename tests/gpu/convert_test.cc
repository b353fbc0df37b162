#include "kusari/framework/datasets/convert.h"

#include <vector>

#include <doctest/doctest.h>

#include "testing.h"

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::testing;

namespace {

/// Images, vectors of different sizes, labels.
std::vector<Example> batch_on(const Device& device) {
  std::vector<Example> batch;
  for (int64_t i = 0; i < 5; ++i) {
    const Array image =
        in_layout(uniform_array({1, 3, 4, 6}, 0, 256).astype(Dtype::uint8), Layout::channels_last).at(0);
    batch.push_back({on_device(image, device), uniform_array({i + 1}, -1, 1, Dtype::float32, 5).to_device(device),
                     array<int32_t>({static_cast<int32_t>(i)}, Shape{}).to_device(device)});
  }
  return batch;
}

}  // namespace

TEST_CASE("cuda concat_examples: from and to each device") {
  const auto device = gpu_device();
  if (!device) return;
  const Example expected = concat_examples(batch_on(Device()), Device(), 0.5);
  const auto check = [&](const Example& got, const Device& where) {
    REQUIRE(got.size() == expected.size());
    for (size_t k = 0; k < got.size(); ++k) {
      CAPTURE(k);
      CHECK(got[k].device() == where);
      check_same(got[k], expected[k], 0);
    }
    CHECK(got[0].is_channels_last());
  };
  check(concat_examples(batch_on(Device()), *device, 0.5), *device);
  check(concat_examples(batch_on(*device), *device, 0.5), *device);
  check(concat_examples(batch_on(*device), Device(), 0.5), Device());
  // Without a device they stay where they are.
  check(concat_examples(batch_on(*device), std::nullopt, 0.5), *device);
  check(concat_examples(batch_on(Device()), std::nullopt, 0.5), Device());
  // The first example decides for a mixed batch.
  std::vector<Example> mixed = batch_on(*device);
  mixed[3] = batch_on(Device())[3];
  check(concat_examples(mixed, std::nullopt, 0.5), *device);
  mixed = batch_on(Device());
  mixed[2] = batch_on(*device)[2];
  check(concat_examples(mixed, *device, 0.5), *device);
}
