#pragma once

#include <span>
#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/small_vector.h"
#include "kusari/framework/functions/array/index.h"

namespace kusari::functions {

/// The part of an index that gives a view: a range of every axis, then axes of size 1 dropped or added.
struct ViewSpec {
  Dims start, count, step;                   // per axis of the source
  Dims given_start, given_stop, given_step;  // as the call names them; the farthest number where it does not
  Shape shape;                               // of the result

  Array view_of(const Array& source) const;
  /// As the call names them: "1:-1:2, :" for two axes.
  std::string slices() const;
  /// Whether the view is the source itself, of whatever size.
  bool is_whole(const Shape& source) const noexcept;
};

/// An index, understood: how to take the elements from an array of one shape, and how to put them back.
class IndexPlan {
 public:
  /// Throws what get_item throws; `call` is the function that messages name.
  IndexPlan(const char* call, const Shape& source, std::span<const Index> indices);

  /// The elements of x, which has the source's shape.
  Variable take(const Variable& x) const;
  /// Zeros of the source's shape with x's elements, x being of result_shape(), added at their places: the adjoint.
  Variable put(const Variable& x) const;
  /// x, which has the source's shape, with updates, of result_shape(), in place of the elements that are taken; of
  /// several for one element the last. There must be an array among the indices, and no slice but of whole axes.
  Variable replace(const Variable& x, const Variable& updates) const;
  Shape result_shape() const;

 private:
  // An array of places along one axis of the view.
  struct Advanced {
    int axis;
    Array places;
  };
  class Parser;

  Shape joined_shape() const;                    // of the taken rows: places_shape_, then the axes that are not indexed
  Shape matrix_shape() const;                    // of the view: all indexed axes as one, all others as one
  Variable rows_of(const Variable& view) const;  // the view as that matrix
  Variable view_of(const Variable& rows) const;  // and back
  Variable taken_rows(const Variable& taken) const;  // what is taken, as rows of that matrix
  void plan_arrays(std::span<const Advanced> advanced, int first_axis, bool is_adjacent);
  Array join_on_host(std::span<const Advanced> advanced) const;
  Array join_on_device(std::span<const Advanced> advanced) const;

  const char* call_;
  Shape source_;
  ViewSpec view_;
  // Only with arrays: the view's axes are reordered so that the indexed ones come first and are one.
  Array places_;        // one per row, undefined without arrays
  Shape places_shape_;  // of the index arrays, broadcast
  Dims order_;          // of the view's axes
  int indexed_ = 0;     // how many of them are indexed
  int target_ = 0;      // the axis of the result where places_shape_ begins
};

}  // namespace kusari::functions
