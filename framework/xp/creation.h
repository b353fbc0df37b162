#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

// New arrays, and matrices from parts of others, by NumPy's names and rules. An undefined array throws StateError.
namespace kusari::xp {

/// Of which dtype, and where, a new array is.
struct CreationOptions {
  std::optional<Dtype> dtype =
      std::nullopt;  ///< config.dtype's floating dtype (arange of integers: int64) if not given
  Device device = Device();
};

struct EyeOptions {
  std::optional<int64_t> m = std::nullopt;  ///< columns; as many as rows if not given
  int64_t k = 0;                            ///< which diagonal: above the main one, negative below it
  std::optional<Dtype> dtype = std::nullopt;
  Device device = Device();
};

/// n rows with ones on a diagonal. Throws ValueError for negative sizes. numpy.eye.
KUSARI_API Array eye(int64_t n, const EyeOptions& options = {});
/// eye(n) with as many columns. numpy.identity.
KUSARI_API Array identity(int64_t n, const CreationOptions& options = {});
/// Ones at and below a diagonal, zeros above. numpy.tri.
KUSARI_API Array tri(int64_t n, const EyeOptions& options = {});

/// start, start + step, ... up to and without stop: ceil((stop - start) / step) numbers. int64 where all three are
/// integers and no dtype is given. Throws ValueError for a step of 0 or numbers that are not finite. numpy.arange.
KUSARI_API Array arange(Scalar start, Scalar stop, Scalar step = 1, const CreationOptions& options = {});
/// 0, 1, ... up to and without stop.
inline Array arange(Scalar stop, const CreationOptions& options = {}) { return arange(0, stop, 1, options); }

struct LinspaceOptions {
  bool endpoint = true;  ///< whether `stop` is the last number, or the next one after it
  std::optional<Dtype> dtype = std::nullopt;
  Device device = Device();
};
/// `num` numbers at equal distances from start to stop. Throws ValueError for a negative num. numpy.linspace.
KUSARI_API Array linspace(double start, double stop, int64_t num = 50, const LinspaceOptions& options = {});

struct MeshgridOptions {
  bool ij = false;  ///< axes in the order of the arrays, instead of the first two exchanged (NumPy's "xy")
};
/// Arrays of one axis broadcast against each other, each along an axis of its own; copies. Throws TypeError for an
/// array with more axes. numpy.meshgrid.
KUSARI_API Arrays meshgrid(std::span<const Array> xs, const MeshgridOptions& options = {});
KUSARI_API Arrays meshgrid(std::initializer_list<Array> xs, const MeshgridOptions& options = {});

/// A matrix with x, of one axis, on a diagonal, or the diagonal of a matrix, a copy. Throws TypeError for an array of
/// another number of axes. numpy.diag.
KUSARI_API Array diag(const Array& x, int64_t k = 0);

struct DiagonalAxes {
  int64_t offset = 0;  ///< above the main diagonal, negative below it
  int64_t axis1 = 0;   ///< of the rows
  int64_t axis2 = 1;   ///< of the columns
};
/// The diagonals of the matrices that two axes make, as the last axis; a view. Throws TypeError for fewer than two
/// axes, IndexError for an axis that x does not have, ValueError for one axis twice. numpy.diagonal.
KUSARI_API Array diagonal(const Array& x, const DiagonalAxes& axes = {});
/// The sums of these diagonals; integers in int64. numpy.trace.
KUSARI_API Array trace(const Array& x, const DiagonalAxes& axes = {});

/// x with zeros above a diagonal of the last two axes. Throws TypeError for fewer axes. numpy.tril.
KUSARI_API Array tril(const Array& x, int64_t k = 0);
/// x with zeros below a diagonal of the last two axes. Throws TypeError for fewer axes. numpy.triu.
KUSARI_API Array triu(const Array& x, int64_t k = 0);

}  // namespace kusari::xp
