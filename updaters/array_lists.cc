#include "kusari/updaters/array_lists.h"

#include <algorithm>

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/optimizer_step.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari::updaters {
namespace {

constexpr int64_t kAlignment = 256;  // bytes, so that kernels meet every array as if it had memory of its own

/// Pairs of arrays for one launch.
struct Pairs {
  Dtype from_dtype, to_dtype;
  std::vector<Array> from, to;
};

/// Whether a kernel for lists takes the pair.
bool is_listed(const Array& from, const Array& to) {
  return from.is_floating() && to.is_floating() && from.is_dense() && to.is_dense() && detail::same_layout(from, to);
}

void add_pair(std::vector<Pairs>& groups, const Array& from, const Array& to) {
  const auto alike = [&](const Pairs& g) { return g.from_dtype == from.dtype() && g.to_dtype == to.dtype(); };
  auto found = std::find_if(groups.begin(), groups.end(), alike);
  if (found == groups.end()) found = groups.insert(found, {from.dtype(), to.dtype(), {}, {}});
  found->from.push_back(from);
  found->to.push_back(to);
}

bool is_forward(const Strides& strides) {
  return std::none_of(strides.begin(), strides.end(), [](int64_t stride) { return stride < 0; });
}

}  // namespace

void copy_arrays(std::span<const Array> from, std::span<const Array> to) {
  std::vector<Pairs> groups;
  for (size_t i = 0; i < from.size(); ++i) {
    if (to[i].size() == 0) continue;
    if (is_listed(from[i], to[i])) {
      add_pair(groups, from[i], to[i]);
    } else {
      to[i].copy_from(from[i]);
    }
  }
  for (const Pairs& group : groups) {
    launch<kernels::ConvertTensors>(group.to.front().device(), Params<double>(1.0), Array(), InList(group.from),
                                    InOutList(group.to));
  }
}

void add_arrays(std::span<const Array> from, std::span<const Array> to) {
  std::vector<Pairs> groups;
  for (size_t i = 0; i < from.size(); ++i) {
    if (to[i].size() == 0) continue;
    add_pair(groups, is_listed(from[i], to[i]) ? from[i] : detail::conform(from[i], to[i]), to[i]);
  }
  const std::span<const Array> none;
  for (const Pairs& group : groups) {
    const Device& device = group.to.front().device();
    const Array weight = full({1}, 1.0, Dtype::float64, device);
    launch<kernels::OptimizerStep<kernels::AddHook>>(device, weight, Array(), Array(), InList(group.from),
                                                     InOutList(group.to), InOutList(none));
  }
}

BlockLayout::BlockLayout(std::span<const Array> arrays) {
  places_.reserve(arrays.size());
  for (const Array& array : arrays) {
    auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.dtype == array.dtype(); });
    if (block == blocks_.end()) block = blocks_.insert(block, {array.dtype()});
    const bool keeps_order = array.is_dense() && is_forward(array.strides());
    places_.push_back({array.shape(), keeps_order ? array.strides() : contiguous_strides(array.shape()),
                       static_cast<size_t>(block - blocks_.begin()), block->size});
    const int64_t step = kAlignment / itemsize(array.dtype());
    block->size += (array.size() + step - 1) / step * step;
  }
}

std::vector<Array> BlockLayout::empty_blocks(const Device& device) const {
  std::vector<Array> blocks;
  for (const Block& block : blocks_) blocks.push_back(empty({block.size}, block.dtype, device));
  return blocks;
}

std::vector<Array> BlockLayout::views(std::span<const Array> blocks) const {
  std::vector<Array> views;
  views.reserve(places_.size());
  for (const Place& place : places_) {
    views.push_back(blocks[place.block].as_strided(place.shape, place.strides, place.offset));
  }
  return views;
}

std::vector<Array> BlockLayout::pack(std::span<const Array> arrays) const {
  if (arrays.empty()) return {};
  std::vector<Array> blocks = empty_blocks(arrays.front().device());
  copy_arrays(arrays, views(blocks));
  return blocks;
}

std::vector<Array> to_device(std::span<const Array> blocks, const Device& device) {
  std::vector<Array> there;
  for (const Array& block : blocks) there.push_back(block.to_device(device));
  return there;
}

}  // namespace kusari::updaters
