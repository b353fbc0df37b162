#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

// Arrays joined, parted, repeated and turned, by NumPy's names and rules. dtypes promote where arrays are joined.
// Negative axes count from the end; one that an array does not have throws IndexError. Shapes that do not fit throw
// TypeError, an undefined array StateError.
namespace kusari::xp {

/// Arrays one after another along an axis. Throws ValueError without arrays. numpy.concatenate.
KUSARI_API Array concatenate(std::span<const Array> xs, int64_t axis = 0);
inline Array concatenate(std::initializer_list<Array> xs, int64_t axis = 0) {
  return concatenate(std::span<const Array>(xs.begin(), xs.size()), axis);
}
/// Arrays of one shape along a new axis. Throws ValueError without arrays. numpy.stack.
KUSARI_API Array stack(std::span<const Array> xs, int64_t axis = 0);
inline Array stack(std::initializer_list<Array> xs, int64_t axis = 0) {
  return stack(std::span<const Array>(xs.begin(), xs.size()), axis);
}
/// Arrays below each other, vectors as rows. numpy.vstack.
KUSARI_API Array vstack(std::span<const Array> xs);
inline Array vstack(std::initializer_list<Array> xs) { return vstack(std::span<const Array>(xs.begin(), xs.size())); }
/// Arrays beside each other, along axis 1, or 0 where they have one. numpy.hstack.
KUSARI_API Array hstack(std::span<const Array> xs);
inline Array hstack(std::initializer_list<Array> xs) { return hstack(std::span<const Array>(xs.begin(), xs.size())); }

/// `sections` views of equal size along an axis. Throws ValueError where they would not be equal. numpy.split.
KUSARI_API Arrays split(const Array& x, int64_t sections, int64_t axis = 0);
/// Views that begin at the given places, the first at 0. numpy.split.
KUSARI_API Arrays split(const Array& x, std::span<const int64_t> indices, int64_t axis = 0);
inline Arrays split(const Array& x, std::initializer_list<int64_t> indices, int64_t axis = 0) {
  return split(x, std::span<const int64_t>(indices.begin(), indices.size()), axis);
}

/// x repeated as a whole along each axis. Throws ValueError for a negative number. numpy.tile.
KUSARI_API Array tile(const Array& x, std::span<const int64_t> reps);
inline Array tile(const Array& x, std::initializer_list<int64_t> reps) {
  return tile(x, std::span<const int64_t>(reps.begin(), reps.size()));
}
/// Every element several times in succession, along an axis or, without one, in the flattened array. Throws ValueError
/// for a negative number. numpy.repeat.
KUSARI_API Array repeat(const Array& x, int64_t repeats, std::optional<int64_t> axis = std::nullopt);

/// Elements moved along an axis, or in the flattened array without one; those that leave at the end come in at the
/// start. numpy.roll.
KUSARI_API Array roll(const Array& x, int64_t shift, std::optional<int64_t> axis = std::nullopt);
/// The elements of an axis, or of all without one, in reverse order; a view. numpy.flip.
KUSARI_API Array flip(const Array& x, std::optional<int64_t> axis = std::nullopt);
/// x with an axis in another place; a view. numpy.moveaxis.
KUSARI_API Array moveaxis(const Array& x, int64_t source, int64_t destination);

}  // namespace kusari::xp
