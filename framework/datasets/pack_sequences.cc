#include "kusari/framework/datasets/pack_sequences.h"

#include <cstring>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/functions/rnn/packed_sequence.h"

namespace kusari::datasets {
namespace {

[[noreturn]] void fail_packing(size_t example, size_t component, const std::string& what) {
  throw TypeError("pack_sequences: example " + std::to_string(example) + ", component " + std::to_string(component) +
                  " " + what);
}

/// Lengths, and rows in the order of packed sequences.
void pack(std::span<const Example> batch, size_t component, const Device& device, Example* out) {
  const Array& first = batch[0][component];
  Shape row = first.shape();
  row.erase(0);
  std::vector<Array> sequences;
  std::vector<int64_t> lengths;
  int64_t count = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    const Array& each = batch[i][component];
    if (!each.is_defined()) fail_packing(i, component, "is an undefined array");
    Shape own = each.shape();
    if (own.ndim() > 0) own.erase(0);
    if (each.ndim() != first.ndim() || own != row || each.dtype() != first.dtype()) {
      fail_packing(i, component,
                   "has shape " + to_string(each.shape()) + " and dtype " + name(each.dtype()) + " but example 0 has " +
                       to_string(first.shape()) + " and " + name(first.dtype()) + ": only the first axis may differ");
    }
    sequences.push_back(each.to_device(Device()).contiguous());
    lengths.push_back(each.shape()[0]);
    count += each.shape()[0];
  }
  Shape shape = row;
  shape.insert(0, count);
  const Array packed = empty(shape, first.dtype());
  const detail::PackedOrder order = detail::packed_order(lengths);
  const auto bytes = static_cast<size_t>(numel(row) * itemsize(first.dtype()));
  char* to = static_cast<char*>(packed.raw_data());
  for (size_t t = 0; t < order.batch_sizes.size(); ++t) {
    for (int64_t r = 0; r < order.batch_sizes[t]; ++r, to += bytes) {
      const Array& from = sequences[static_cast<size_t>(order.order[static_cast<size_t>(r)])];
      std::memcpy(to, static_cast<const char*>(from.raw_data()) + t * bytes, bytes);
    }
  }
  out->push_back(packed.to_device(device));
  out->push_back(array(lengths));
}

}  // namespace

Example pack_sequences(std::span<const Example> batch, const Device& device) {
  if (batch.empty()) throw ValueError("pack_sequences: the batch is empty: there must be at least one example");
  Example result;
  for (size_t component = 0; component < batch[0].size(); ++component) {
    for (size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].size() != batch[0].size()) {
        throw TypeError("pack_sequences: example " + std::to_string(i) + " has " + std::to_string(batch[i].size()) +
                        " components but example 0 has " + std::to_string(batch[0].size()));
      }
    }
    if (!batch[0][component].is_defined()) fail_packing(0, component, "is an undefined array");
    if (batch[0][component].ndim() > 0) {
      in_host_memory("pack_sequences", [&] { pack(batch, component, device, &result); });
      continue;
    }
    std::vector<Example> numbers;
    for (const Example& example : batch) numbers.push_back({example[component]});
    result.push_back(concat_examples(numbers, device)[0]);
  }
  return result;
}

}  // namespace kusari::datasets
