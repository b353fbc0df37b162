#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// Sequences of any lengths as one array without padding: the rows of all sequences at time 0, longest sequence first,
/// then those at time 1 of the sequences that are longer than 1, and so on. What recurrent links compute with; made by
/// F::pack_sequence.
class KUSARI_API PackedSequence {
 public:
  /// No sequence.
  PackedSequence() = default;
  /// data: (sum of batch_sizes, ...). batch_sizes: rows at each time, never more than at the time before. order: for
  /// each row of the first time, from the longest sequence, its number in the user's list. Throws ValueError when the
  /// three do not fit.
  PackedSequence(Variable data, std::vector<int64_t> batch_sizes, std::vector<int64_t> order);

  /// Sequences of equal lengths. xs: (T, B, ...), B sequences of T elements. Throws TypeError for fewer axes.
  static PackedSequence from_times(const Variable& xs);

  /// data: packed already; lengths: (B), integers, those of the user's list, sorted by falling length where equal ones
  /// keep their order: what datasets::pack_sequences gives. Throws TypeError for lengths that are no vector of
  /// integers, ValueError when there are not as many rows.
  static PackedSequence from_lengths(Variable data, const Array& lengths);

  const Variable& data() const noexcept { return data_; }
  const std::vector<int64_t>& batch_sizes() const noexcept { return batch_sizes_; }
  const std::vector<int64_t>& order() const noexcept { return order_; }
  /// Sequences, those of length 0 among them.
  int64_t size() const noexcept { return static_cast<int64_t>(order_.size()); }
  /// Rows of data: the lengths of all sequences together.
  int64_t count() const noexcept;
  /// In the user's order.
  std::vector<int64_t> lengths() const;
  /// Whether the user's list was sorted by falling length.
  bool is_sorted() const noexcept;

  /// The same sequences with other elements: as many rows. Throws ValueError otherwise.
  PackedSequence with(Variable data) const;
  /// with(f(data())), for what concerns each row alone: `xs.map(embed)`.
  template <class F>
  PackedSequence map(F&& f) const {
    return with(std::forward<F>(f)(data_));
  }

 private:
  Variable data_;
  std::vector<int64_t> batch_sizes_, order_;
};

namespace detail {
/// For sequences of these lengths, none negative, the order in which they are packed, and the rows at each time.
struct PackedOrder {
  std::vector<int64_t> order, batch_sizes;
};
KUSARI_API PackedOrder packed_order(std::span<const int64_t> lengths);
}  // namespace detail

namespace functions {

/// xs: sequences (length, ...) in any order, of one dtype and with equal axes after the first; lengths may be 0. Throws
/// ValueError for no sequences, TypeError when they do not go together. Differentiable to any order.
KUSARI_API PackedSequence pack_sequence(std::span<const Variable> xs);
/// The sequences again, in the user's order.
KUSARI_API std::vector<Variable> unpack_sequence(const PackedSequence& packed);

}  // namespace functions

namespace F = functions;

}  // namespace kusari
