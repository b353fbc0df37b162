#include "kusari/framework/xp/indexing.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/gather_elements.h"
#include "kusari/framework/functions/array/index_plan.h"
#include "kusari/framework/functions/array/nonzero.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/ordering.h"
#include "kusari/framework/xp/without_graph.h"

namespace kusari::xp {
namespace {

void expect_integers(const char* call, const char* name, const Array& x) {
  expect_array(call, name, x);
  if (x.is_floating() || x.dtype() == Dtype::bool_) {
    throw TypeError(std::string(call) + ": " + name + " has dtype " + kusari::name(x.dtype()) +
                    ": it must hold integers");
  }
}

/// The place of each of the elements in the flattened array, in the shape of x[slices]; -1 for an index out of range
/// where that does not throw.
Array places_of(const char* call, const Array& x, std::span<const Index> slices) {
  const Array from_one = kusari::arange(x.size(), Dtype::int64, x.device()) + 1;
  return functions::IndexPlan(call, x.shape(), slices).take(from_one.reshape(x.shape())).array() - 1;
}

bool has_arrays(std::span<const Index> slices) {
  for (const Index& index : slices) {
    if (index.kind() == Index::Kind::array) return true;
  }
  return false;
}

void expect_own_elements(const char* call, const Array& x) {
  for (int i = 0; i < x.ndim(); ++i) {
    if (x.strides()[i] != 0 || x.shape()[i] < 2) continue;
    throw ValueError(std::string(call) + ": x has shape " + to_string(x.shape()) +
                     " and repeats its elements along axis " + std::to_string(i) + ": copy() it first");
  }
}

/// Writes values, of places' shape and x's dtype, in place.
void put_at(const char* call, const Array& x, const Array& places, const Array& values) {
  if (places.size() == 0) return;
  expect_own_elements(call, x);
  const Array flat = x.contiguous();
  const Array rows = kusari::detail::may_share_memory(values, flat) ? values.copy() : values.contiguous();
  launch_for<kernels::PutRows>(call, x.device(), rows.reshape({places.size(), 1}),
                               places.contiguous().reshape({places.size()}), flat.reshape({x.size(), 1}));
  if (!flat.is_same(x)) x.copy_from(flat);
}

}  // namespace

Array get_item(const Array& x, std::span<const Index> slices) {
  expect_array("xp::get_item", "x", x);
  return without_graph("xp::get_item", [&] {
    return functions::IndexPlan("xp::get_item", x.shape(), slices).take(Variable(x, false)).array();
  });
}

void set_item(const Array& x, std::span<const Index> slices, const Array& value) {
  constexpr const char* kCall = "xp::set_item";
  expect_array(kCall, "x", x);
  expect_array(kCall, "value", value);
  const auto check = [&](const Shape& shape) {
    if (broadcast_shapes(value.shape(), shape, kCall) != shape) {
      throw TypeError(std::string(kCall) + ": value has shape " + to_string(value.shape()) +
                      ", which does not broadcast to that of the elements, " + to_string(shape));
    }
  };
  without_graph(kCall, [&] {
    if (!has_arrays(slices)) {
      const Array view = get_item(x, slices);
      check(view.shape());
      expect_own_elements(kCall, view);
      if (view.size() > 0) view.copy_from(value);
      return;
    }
    // A condition on whole elements and one value need no places, so that the device need not be waited for.
    const Array& mask = slices[0].array();
    if (slices.size() == 1 && mask.is_defined() && mask.dtype() == Dtype::bool_ && mask.shape() == x.shape() &&
        x.ndim() > 0 && value.size() == 1 && value.ndim() == 0) {
      x.copy_from(where(mask.to_device(x.device()), value.to_device(x.device()).astype(x.dtype()), x));
      return;
    }
    const Array places = places_of(kCall, x, slices);
    check(places.shape());
    put_at(kCall, x, places, value.to_device(x.device()).astype(x.dtype()).broadcast_to(places.shape()));
  });
}
void set_item(const Array& x, std::span<const Index> slices, Scalar value) {
  expect_array("xp::set_item", "x", x);
  if (is_integral(x.dtype()) && value.is_integral()) expect_fits(x.dtype(), value, "xp::set_item");
  set_item(x, slices, full({}, value, x.dtype(), x.device()));
}

Array take(const Array& x, const Array& indices, std::optional<int64_t> axis) {
  expect_array("xp::take", "x", x);
  expect_integers("xp::take", "indices", indices);
  return without_graph("xp::take", [&] {
    const Array along = axis ? x : x.reshape({x.size()});
    const int at = normalize_axis(axis.value_or(0), along.ndim(), "xp::take");
    std::vector<Index> slices(static_cast<size_t>(at), Index(Slice{}));
    slices.emplace_back(indices);
    return functions::IndexPlan("xp::take", along.shape(), slices).take(Variable(along, false)).array();
  });
}

void put(const Array& x, const Array& indices, const Array& values) {
  constexpr const char* kCall = "xp::put";
  expect_array(kCall, "x", x);
  expect_array(kCall, "values", values);
  expect_integers(kCall, "indices", indices);
  const int64_t count = indices.size();
  if (count == 0) return;
  if (values.size() == 0) {
    throw ValueError(std::string(kCall) + ": values is empty but there are " + std::to_string(count) + " indices");
  }
  without_graph(kCall, [&] {
    const Index index = indices.reshape({count});
    const Array places = places_of(kCall, x.reshape({x.size()}), {&index, 1});
    const Array cycle = remainder(kusari::arange(count, Dtype::int64, values.device()), values.size());
    put_at(kCall, x, places, take(values, cycle).to_device(x.device()).astype(x.dtype()));
  });
}

Array take_along_axis(const Array& x, const Array& indices, int64_t axis) {
  expect_array("xp::take_along_axis", "x", x);
  expect_integers("xp::take_along_axis", "indices", indices);
  return without_graph("xp::take_along_axis", [&] { return functions::gather_elements(x, indices, axis).array(); });
}

Arrays nonzero(const Array& x) {
  expect_array("xp::nonzero", "x", x);
  return without_graph("xp::nonzero", [&] {
    const Array rows = functions::nonzero(x).array();
    Arrays places;
    for (int64_t i = 0; i < rows.shape(0); ++i) places.push_back(rows.at(i));
    return places;
  });
}
Array argwhere(const Array& x) {
  expect_array("xp::argwhere", "x", x);
  return without_graph("xp::argwhere", [&] { return functions::nonzero(x).array().transpose().contiguous(); });
}
Array compress(const Array& condition, const Array& x) {
  expect_array("xp::compress", "condition", condition);
  if (condition.dtype() != Dtype::bool_) {
    throw TypeError(std::string("xp::compress: condition has dtype ") + name(condition.dtype()) + ": it must be bool");
  }
  return get_item(x, {Index(condition)});
}

Array get_item(const Array& x, std::initializer_list<Index> slices) {
  return get_item(x, std::span<const Index>(slices.begin(), slices.size()));
}

void set_item(const Array& x, std::initializer_list<Index> slices, const Array& value) {
  set_item(x, std::span<const Index>(slices.begin(), slices.size()), value);
}

void set_item(const Array& x, std::initializer_list<Index> slices, Scalar value) {
  set_item(x, std::span<const Index>(slices.begin(), slices.size()), value);
}

Array Items::array() const { return get_item(x_, slices_); }

const Items& Items::set(const Array& value) const {
  set_item(x_, slices_, value);
  return *this;
}

const Items& Items::set(Scalar value) const {
  set_item(x_, slices_, value);
  return *this;
}

}  // namespace kusari::xp
