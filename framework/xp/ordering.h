#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

// Order among the elements of arrays, by NumPy's names and rules: NaN is one value, larger than all others. An
// undefined array throws StateError, an axis that x does not have IndexError.
namespace kusari::xp {

/// x with the elements of an axis from the smallest to the largest; flattened without an axis. numpy.sort.
KUSARI_API Array sort(const Array& x, std::optional<int64_t> axis = -1);
/// The places, int64, that would sort x along an axis, equal elements in their order. numpy.argsort.
KUSARI_API Array argsort(const Array& x, std::optional<int64_t> axis = -1);

/// What topk gives.
struct TopElements {
  Array values;
  Array indices;  ///< int64
};
struct TopkOptions {
  int64_t axis = -1;
  bool largest = true;  ///< or the smallest
};
/// The k largest elements along an axis, from the largest, of equal ones the first. Throws ValueError unless k is in
/// [0, the axis's size]. torch.topk.
KUSARI_API TopElements topk(const Array& x, int64_t k, const TopkOptions& options = {});

/// The place of the largest or smallest element along an axis, or in the flattened array; a NaN comes before all, of
/// several the first. Returns int64. Throws ValueError where there is no element. numpy.argmax, numpy.argmin.
KUSARI_API Array argmax(const Array& x, std::optional<int64_t> axis = std::nullopt);
KUSARI_API Array argmin(const Array& x, std::optional<int64_t> axis = std::nullopt);

/// What unique gives; the last three are int64 of one axis.
struct UniqueElements {
  Array values;   ///< each element once, from the smallest
  Array indices;  ///< of each value: where x has it first
  Array inverse;  ///< of each element of x: which value it is
  Array counts;   ///< of each value: how often x has it
};
/// The different elements of x, flattened, or its different parts along an axis. The host waits. numpy.unique.
KUSARI_API UniqueElements unique(const Array& x, std::optional<int64_t> axis = std::nullopt);

struct SearchsortedOptions {
  bool right = false;  ///< behind elements that are equal, instead of before them
};
/// Where values can be put into `sorted`, of one axis and ascending, without a change of order: int64 of values' shape.
/// dtypes promote. Throws TypeError for another number of axes. numpy.searchsorted.
KUSARI_API Array searchsorted(const Array& sorted, const Array& values, const SearchsortedOptions& options = {});

}  // namespace kusari::xp
