#include "kusari/framework/functions/rnn/packed_sequence.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/permutate.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/given.h"

namespace kusari {
namespace {

// There is a number for each time.
void expect_packable(const char* call, const std::string& argument, int64_t length) {
  constexpr int64_t kLongest = 100'000'000;
  if (length <= kLongest) return;
  throw ValueError(std::string(call) + ": " + argument + " has a length of " + std::to_string(length) +
                   ": it must be at most " + std::to_string(kLongest));
}

}  // namespace

PackedSequence::PackedSequence(Variable data, std::vector<int64_t> batch_sizes, std::vector<int64_t> order)
    : data_{std::move(data)}, batch_sizes_{std::move(batch_sizes)}, order_{std::move(order)} {
  const std::string call = "PackedSequence: ";
  functions::expect_given(data_, "PackedSequence", "data");
  for (size_t t = 0; t < batch_sizes_.size(); ++t) {
    const int64_t most = t == 0 ? size() : batch_sizes_[t - 1];
    if (batch_sizes_[t] >= 0 && batch_sizes_[t] <= most) continue;
    throw ValueError(call + "batch_sizes[" + std::to_string(t) + "] is " + std::to_string(batch_sizes_[t]) +
                     ": it must be in [0, " + std::to_string(most) + "], rows never begin later");
  }
  if (data_.ndim() < 1 || data_.shape()[0] != count()) {
    throw ValueError(call + "data has shape " + to_string(data_.shape()) + ": it must have " + std::to_string(count()) +
                     " rows, the sum of batch_sizes");
  }
  std::vector<bool> seen(order_.size());
  for (const int64_t place : order_) {
    if (place >= 0 && place < size() && !seen[static_cast<size_t>(place)]) {
      seen[static_cast<size_t>(place)] = true;
      continue;
    }
    throw ValueError(call + "order has " + std::to_string(place) + ": it must be a permutation of 0, ..., " +
                     std::to_string(size() - 1));
  }
}

PackedSequence PackedSequence::from_times(const Variable& xs) {
  functions::expect_given(xs, "PackedSequence::from_times", "xs");
  if (xs.ndim() < 2) {
    throw TypeError("PackedSequence::from_times: xs has shape " + to_string(xs.shape()) +
                    ": it must have at least two axes, (time, batch, ...)");
  }
  const int64_t times = xs.shape()[0], batch = xs.shape()[1];
  Dims rows = {times * batch};
  for (int axis = 2; axis < xs.ndim(); ++axis) rows.push_back(xs.shape()[axis]);
  std::vector<int64_t> order(static_cast<size_t>(batch));
  std::iota(order.begin(), order.end(), int64_t{0});
  return PackedSequence(functions::reshape(xs, rows), std::vector<int64_t>(static_cast<size_t>(times), batch), order);
}

PackedSequence PackedSequence::from_lengths(Variable data, const Array& lengths) {
  const char* const call = "PackedSequence::from_lengths";
  functions::expect_given(data, call, "data");
  if (!lengths.is_defined() || lengths.ndim() != 1 || !is_integral(lengths.dtype())) {
    throw TypeError(std::string(call) + ": lengths " +
                    (lengths.is_defined()
                         ? "has shape " + to_string(lengths.shape()) + " and dtype " + kusari::name(lengths.dtype())
                         : std::string("is not given")) +
                    ": it must be a vector of integers");
  }
  const std::vector<int64_t> each = lengths.astype(Dtype::int64).to_vector<int64_t>();
  const int64_t rows = data.ndim() > 0 ? data.shape()[0] : 0;
  int64_t count = 0;
  for (const int64_t length : each) {
    expect_packable(call, "lengths", length);
    if (length < 0 || length > rows - count) {
      throw ValueError(std::string(call) + ": data has shape " + to_string(data.shape()) +
                       ": lengths must be at least 0 and as many in all as it has rows; one is " +
                       std::to_string(length));
    }
    count += length;
  }
  if (count != rows) {
    throw ValueError(std::string(call) + ": data has shape " + to_string(data.shape()) + ": lengths are " +
                     std::to_string(count) + " in all, they must be as many as its rows");
  }
  auto [order, batch_sizes] = detail::packed_order(each);
  return PackedSequence(std::move(data), std::move(batch_sizes), std::move(order));
}

detail::PackedOrder detail::packed_order(std::span<const int64_t> lengths) {
  PackedOrder result{std::vector<int64_t>(lengths.size()), {}};
  std::iota(result.order.begin(), result.order.end(), int64_t{0});
  std::stable_sort(result.order.begin(), result.order.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  });
  if (lengths.empty()) return result;
  result.batch_sizes.resize(static_cast<size_t>(lengths[static_cast<size_t>(result.order[0])]));
  for (const int64_t length : lengths) {
    for (int64_t t = 0; t < length; ++t) ++result.batch_sizes[static_cast<size_t>(t)];
  }
  return result;
}

int64_t PackedSequence::count() const noexcept {
  return std::accumulate(batch_sizes_.begin(), batch_sizes_.end(), int64_t{0});
}

std::vector<int64_t> PackedSequence::lengths() const {
  std::vector<int64_t> result(order_.size());
  for (const int64_t rows : batch_sizes_) {
    for (int64_t r = 0; r < rows; ++r) ++result[static_cast<size_t>(order_[static_cast<size_t>(r)])];
  }
  return result;
}

bool PackedSequence::is_sorted() const noexcept { return std::is_sorted(order_.begin(), order_.end()); }

PackedSequence PackedSequence::with(Variable data) const {
  functions::expect_given(data, "PackedSequence::with", "data");
  if (data.ndim() < 1 || data.shape()[0] != count()) {
    throw ValueError("PackedSequence::with: data has shape " + to_string(data.shape()) + ": it must have " +
                     std::to_string(count()) + " rows, one for each of these sequences' elements");
  }
  PackedSequence result = *this;
  result.data_ = std::move(data);
  return result;
}

namespace functions {
namespace {

// For each packed row, its row when the sequences lie one after another in the user's order.
Array rows_of_list(const std::vector<int64_t>& lengths, const std::vector<int64_t>& batch_sizes,
                   const std::vector<int64_t>& order, const Device& device) {
  std::vector<int64_t> starts(lengths.size()), rows;
  std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), int64_t{0});
  for (size_t t = 0; t < batch_sizes.size(); ++t) {
    for (int64_t r = 0; r < batch_sizes[t]; ++r) {
      rows.push_back(starts[static_cast<size_t>(order[static_cast<size_t>(r)])] + static_cast<int64_t>(t));
    }
  }
  return host_constant([&] { return array(rows, device); });
}

}  // namespace

PackedSequence pack_sequence(std::span<const Variable> xs) {
  const char* const call = "F::pack_sequence";
  if (xs.empty()) throw ValueError("F::pack_sequence: xs is empty: there must be at least one sequence");
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < xs.size(); ++i) {
    const std::string argument = "xs[" + std::to_string(i) + "]";
    expect_given(xs[i], call, argument.c_str());
    if (xs[i].ndim() < 1) throw TypeError(std::string(call) + ": " + argument + " has no axis: it must be a sequence");
    expect_packable(call, argument, xs[i].shape()[0]);
    lengths.push_back(xs[i].shape()[0]);
  }
  auto [order, batch_sizes] = detail::packed_order(lengths);
  const Variable all = xs.size() == 1 ? xs[0] : concat(xs, 0);
  const Array rows = rows_of_list(lengths, batch_sizes, order, all.device());
  return PackedSequence(xs.size() == 1 ? all : permutate(all, rows), std::move(batch_sizes), std::move(order));
}

std::vector<Variable> unpack_sequence(const PackedSequence& packed) {
  if (packed.size() == 0) return {};
  if (packed.size() == 1) return {packed.data()};
  const std::vector<int64_t> lengths = packed.lengths();
  const Array rows = rows_of_list(lengths, packed.batch_sizes(), packed.order(), packed.data().device());
  const Variable all = permutate(packed.data(), rows, 0, true);
  std::vector<int64_t> ends(lengths.size() - 1);
  std::inclusive_scan(lengths.begin(), lengths.end() - 1, ends.begin());
  const Variables parts = split_axis(all, ends, 0);
  return {parts.begin(), parts.end()};
}

}  // namespace functions
}  // namespace kusari
