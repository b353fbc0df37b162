#include "kusari/framework/functions/array/index_plan.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/permutation.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/take_rows.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max(), kLowest = std::numeric_limits<int64_t>::min();

class GetView final : public FunctionNode {
 public:
  explicit GetView(const ViewSpec& spec) : spec_{spec} {}
  const char* name() const override { return "get_item"; }
  // "slices": as the call was written, for any size: "1:-1:2, :".
  void describe(Attributes& options) const override {
    options.set("start", spec_.start);
    options.set("count", spec_.count);
    options.set("step", spec_.step);
    options.set("shape", spec_.shape);
    options.set("slices", spec_.slices());
  }

 private:
  Arrays forward(const ArrayRefs& in) override { return {spec_.view_of(in[0])}; }
  Variables backward(const Variables& gy) override;

  ViewSpec spec_;
};

// Zeros of `shape` whose view is x.
class PutView final : public FunctionNode {
 public:
  PutView(const ViewSpec& spec, const Shape& shape) : spec_{spec}, shape_{shape} {}
  const char* name() const override { return "get_item_grad"; }
  void describe(Attributes& options) const override {
    options.set("start", spec_.start);
    options.set("count", spec_.count);
    options.set("step", spec_.step);
    options.set("shape", shape_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array y = zeros(shape_, in[0].dtype(), in[0].device());
    if (in[0].size() > 0) spec_.view_of(y).copy_from(in[0]);
    return {y};
  }
  Variables backward(const Variables& gy) override { return {apply<GetView>({gy[0]}, spec_)}; }

  ViewSpec spec_;
  Shape shape_;
};

Variables GetView::backward(const Variables& gy) { return {apply<PutView>({gy[0]}, spec_, input_shape(0))}; }

Shape permuted(const Shape& shape, const Dims& order) {
  Shape result;
  for (const int64_t axis : order) result.push_back(shape[static_cast<int>(axis)]);
  return result;
}

// Places of the true elements of a bool array, one array per axis.
std::vector<Array> true_places(const Array& mask) {
  const std::vector<bool> flags = mask.to_vector<bool>();
  std::vector<std::vector<int64_t>> places(static_cast<size_t>(mask.ndim()));
  for (size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    auto rest = static_cast<int64_t>(i);
    for (int axis = mask.ndim() - 1; axis >= 0; --axis) {
      places[static_cast<size_t>(axis)].push_back(rest % mask.shape()[axis]);
      rest /= mask.shape()[axis];
    }
  }
  std::vector<Array> arrays;
  for (const auto& along_axis : places) arrays.push_back(array(along_axis, mask.device()));
  return arrays;
}

// Moves the first `count` of `ndim` axes so that they begin at axis `target`.
Dims moved_axes(int ndim, int count, int target) {
  Dims order;
  for (int i = 0; i < target; ++i) order.push_back(count + i);
  for (int i = 0; i < count; ++i) order.push_back(i);
  for (int i = count + target; i < ndim; ++i) order.push_back(i);
  return order;
}

// transpose, but for an order that changes nothing.
Variable permute(const Variable& x, const Dims& order) {
  for (int i = 0; i < order.ndim(); ++i) {
    if (order[i] != i) return transpose(x, {order.begin(), order.size()});
  }
  return x;
}

}  // namespace

std::string ViewSpec::slices() const {
  const auto place = [](int64_t at) { return at == kFarthest || at == kLowest ? "" : std::to_string(at); };
  std::string text;
  for (int axis = 0; axis < start.ndim(); ++axis) {
    const int64_t first = given_start[axis] == 0 ? kFarthest : given_start[axis], by = given_step[axis];
    text += (axis == 0 ? "" : ", ") + place(by > 0 ? first : given_start[axis]) + ":" + place(given_stop[axis]) +
            (by == 1 ? "" : ":" + std::to_string(by));
  }
  return text;
}

bool ViewSpec::is_whole(const Shape& source) const noexcept {
  for (int axis = 0; axis < start.ndim(); ++axis) {
    if (given_start[axis] != 0 || given_stop[axis] != kFarthest || given_step[axis] != 1) return false;
  }
  return shape == source;
}

Array ViewSpec::view_of(const Array& source) const {
  Array view = source;
  for (int axis = 0; axis < start.ndim(); ++axis) {
    if (start[axis] == 0 && step[axis] == 1 && count[axis] == source.shape()[axis]) continue;
    view = view.slice(axis, start[axis], count[axis], step[axis]);
  }
  return view.reshape(shape);
}

// Goes through the entries of an index in order.
class IndexPlan::Parser {
 public:
  Parser(IndexPlan& plan, std::span<const Index> indices) : plan_{plan} {
    int used = 0;
    bool has_ellipsis = false;
    for (const Index& index : indices) {
      if (index.kind() == Index::Kind::array) expect_given(index.array(), plan.call_, "an index array");
      used += axes_of(index);
      if (index.kind() == Index::Kind::ellipsis) {
        if (has_ellipsis) throw IndexError(std::string(plan.call_) + ": an index can have only one ellipsis");
        has_ellipsis = true;
      }
    }
    left_over_ = plan.source_.ndim() - used;
    if (left_over_ < 0) {
      throw IndexError(std::string(plan.call_) + ": x has shape " + to_string(plan.source_) +
                       " but there are indices for " + std::to_string(used) + " axes");
    }
    for (const Index& index : indices) visit(index);
    if (!has_ellipsis) take_whole(left_over_);
    if (!advanced_.empty()) {
      plan.plan_arrays({advanced_.data(), advanced_.size()}, first_advanced_axis_, is_adjacent_);
    }
  }

 private:
  static int axes_of(const Index& index) {
    switch (index.kind()) {
      case Index::Kind::integer:
      case Index::Kind::slice:
        return 1;
      case Index::Kind::array:
        return index.array().dtype() == Dtype::bool_ ? index.array().ndim() : 1;
      case Index::Kind::new_axis:
      case Index::Kind::ellipsis:
        break;
    }
    return 0;
  }

  void visit(const Index& index) {
    switch (index.kind()) {
      case Index::Kind::integer:
        note_advanced();
        take_integer(index.integer());
        break;
      case Index::Kind::slice:
        note_basic();
        take_slice(index.slice());
        break;
      case Index::Kind::new_axis:
        note_basic();
        plan_.view_.shape.push_back(1);
        break;
      case Index::Kind::ellipsis:
        note_basic();
        take_whole(left_over_);
        break;
      case Index::Kind::array:
        note_advanced();
        take_array(index.array());
        break;
    }
  }

  int axis() const { return plan_.view_.start.ndim(); }  // the next axis of the source

  void take_range(int64_t start, int64_t count, int64_t step) {
    plan_.view_.start.push_back(start);
    plan_.view_.count.push_back(count);
    plan_.view_.step.push_back(step);
  }
  void note_given(int64_t start, int64_t stop, int64_t step) {
    plan_.view_.given_start.push_back(start);
    plan_.view_.given_stop.push_back(stop);
    plan_.view_.given_step.push_back(step);
  }

  void take_integer(int64_t index) {
    const int64_t n = plan_.source_[axis()];
    if (index < -n || index >= n) {
      throw IndexError(std::string(plan_.call_) + ": index " + std::to_string(index) + " is out of range for axis " +
                       std::to_string(axis()) + " of shape " + to_string(plan_.source_));
    }
    take_range(index < 0 ? index + n : index, 1, 1);
    note_given(index, index == -1 ? kFarthest : index + 1, 1);
  }

  void take_slice(const Slice& slice) {
    const int64_t n = plan_.source_[axis()], reach = std::max<int64_t>(n, 1);
    const int64_t step = std::clamp(slice.step.value_or(1), -reach, reach);  // farther than the axis is out of it
    if (step == 0) throw ValueError(std::string(plan_.call_) + ": the step of a slice must not be 0");
    // Bounds as Python's slice.indices gives them.
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const auto bound = [&](const std::optional<int64_t>& given, int64_t absent) {
      if (!given) return absent;
      return std::clamp(*given < 0 ? *given + n : *given, low, high);
    };
    const int64_t start = bound(slice.start, step > 0 ? low : high), stop = bound(slice.stop, step > 0 ? high : low);
    const int64_t distance = step > 0 ? stop - start : start - stop;
    const int64_t stride = step > 0 ? step : -step;
    const int64_t count = distance > 0 ? (distance + stride - 1) / stride : 0;
    take_range(count > 0 ? start : 0, count, step);
    note_given(slice.start.value_or(step > 0 ? 0 : kFarthest), slice.stop.value_or(step > 0 ? kFarthest : kLowest),
               slice.step.value_or(1));
    plan_.view_.shape.push_back(count);
  }

  void take_whole(int axes) {
    for (int i = 0; i < axes; ++i) {
      const int64_t n = plan_.source_[axis()];
      take_range(0, n, 1);
      note_given(0, kFarthest, 1);
      plan_.view_.shape.push_back(n);
    }
  }

  void take_array(const Array& given) {
    if (given.is_floating()) {
      throw TypeError(std::string(plan_.call_) + ": an index array has dtype " + name(given.dtype()) +
                      " but must hold integers or bools");
    }
    if (given.dtype() != Dtype::bool_) return take_places(given);
    if (given.ndim() == 0) throw TypeError(std::string(plan_.call_) + ": a bool index must have an axis");
    for (int i = 0; i < given.ndim(); ++i) {
      if (given.shape()[i] != plan_.source_[axis() + i]) {
        throw IndexError(std::string(plan_.call_) + ": a bool index has shape " + to_string(given.shape()) +
                         ", which does not match axes " + std::to_string(axis()) + " and up of shape " +
                         to_string(plan_.source_));
      }
    }
    for (const Array& places : true_places(given)) take_places(places);
  }

  void take_places(const Array& places) {
    advanced_.push_back({plan_.view_.shape.ndim(), places});
    take_whole(1);
  }

  // NumPy counts a number among the arrays when it decides where their axes go.
  void note_advanced() {
    if (!seen_advanced_) first_advanced_axis_ = plan_.view_.shape.ndim();
    if (seen_basic_after_) is_adjacent_ = false;
    seen_advanced_ = true;
  }
  void note_basic() { seen_basic_after_ = seen_advanced_; }

  IndexPlan& plan_;
  SmallVector<Advanced, 4> advanced_;
  int left_over_ = 0;
  int first_advanced_axis_ = 0;
  bool seen_advanced_ = false;
  bool seen_basic_after_ = false;
  bool is_adjacent_ = true;
};

IndexPlan::IndexPlan(const char* call, const Shape& source, std::span<const Index> indices)
    : call_{call}, source_{source} {
  Parser(*this, indices);
}

void IndexPlan::plan_arrays(std::span<const Advanced> advanced, int first_axis, bool is_adjacent) {
  for (const Advanced& a : advanced) {
    places_shape_ = &a == advanced.data() ? a.places.shape() : broadcast_shapes(places_shape_, a.places.shape(), call_);
    order_.push_back(a.axis);
  }
  indexed_ = order_.ndim();
  for (int axis = 0; axis < view_.shape.ndim(); ++axis) {
    if (std::find(order_.begin(), order_.begin() + indexed_, axis) == order_.begin() + indexed_) order_.push_back(axis);
  }
  target_ = is_adjacent ? first_axis : 0;
  if (advanced.size() == 1) {
    places_ = advanced[0].places.reshape({numel(places_shape_)});
    return;
  }
  const bool on_host =
      std::all_of(advanced.begin(), advanced.end(), [](const Advanced& a) { return a.places.device().is_cpu(); });
  // A static graph must see how they are joined.
  const bool is_recorded = GraphCapture::current() != nullptr;
  places_ = on_host && !is_recorded ? join_on_host(advanced) : join_on_device(advanced);
}

// Places along the joined axis. Each array is tested by itself, as the sum would hide what is out of range.
Array IndexPlan::join_on_host(std::span<const Advanced> advanced) const {
  std::vector<int64_t> joined = host_vector<int64_t>(places_shape_, call_);
  for (const Advanced& a : advanced) {
    const int64_t n = view_.shape[a.axis];
    const std::vector<int64_t> along_axis = a.places.broadcast_to(places_shape_).to_vector<int64_t>();
    for (size_t i = 0; i < joined.size(); ++i) {
      const int64_t place = along_axis[i];
      if (place < -n || place >= n) {
        throw IndexError(std::string(call_) + ": index " + std::to_string(place) +
                         " is out of range for an axis of size " + std::to_string(n));
      }
      joined[i] = joined[i] * n + (place < 0 ? place + n : place);
    }
  }
  return array(joined);
}

// The same without waiting for the device. What is out of range leads behind the last row, where kernels find zeros.
Array IndexPlan::join_on_device(std::span<const Advanced> advanced) const {
  const auto elsewhere =
      std::find_if(advanced.begin(), advanced.end(), [](const Advanced& a) { return !a.places.device().is_cpu(); });
  const Device& device = (elsewhere != advanced.end() ? *elsewhere : advanced.front()).places.device();
  Array joined, inside;
  for (const Advanced& a : advanced) {
    const auto n = static_cast<double>(view_.shape[a.axis]);
    const Array given = a.places.to_device(device).astype(Dtype::int64);
    const Array wrapped = pointwise(kernels::Where{}, pointwise(kernels::LessConst{0}, given),
                                    pointwise(kernels::AddConst{n}, given), given);
    const Array rule = pointwise(kernels::LogicalAnd{}, pointwise(kernels::GreaterEqualConst{0}, wrapped),
                                 pointwise(kernels::LessConst{n}, wrapped));
    const bool is_first = !joined.is_defined();
    inside = is_first ? rule : pointwise(kernels::LogicalAnd{}, inside, rule);
    joined = is_first ? wrapped : pointwise(kernels::Add{}, pointwise(kernels::MulConst{n}, joined), wrapped);
  }
  const Array outside = full({}, std::numeric_limits<int64_t>::max(), Dtype::int64, device);
  return pointwise(kernels::Where{}, inside, joined, outside).reshape({numel(places_shape_)});
}

Shape IndexPlan::result_shape() const {
  if (!places_.is_defined()) return view_.shape;
  const Shape shape = joined_shape();
  return permuted(shape, moved_axes(shape.ndim(), places_shape_.ndim(), target_));
}

Shape IndexPlan::joined_shape() const {
  Shape shape = places_shape_;
  for (int i = indexed_; i < order_.ndim(); ++i) shape.push_back(view_.shape[static_cast<int>(order_[i])]);
  return shape;
}

Shape IndexPlan::matrix_shape() const {
  Shape matrix = {1, 1};
  for (int i = 0; i < order_.ndim(); ++i) matrix[i < indexed_ ? 0 : 1] *= view_.shape[static_cast<int>(order_[i])];
  return matrix;
}

Variable IndexPlan::take(const Variable& x) const {
  const Variable view = view_.is_whole(source_) ? x : apply<GetView>({x}, view_);
  if (!places_.is_defined()) return view;
  const Shape shape = joined_shape();
  const Variable taken = take_rows(rows_of(view), places_.to_device(x.device()), {call_});
  return permute(reshape(taken, shape), moved_axes(shape.ndim(), places_shape_.ndim(), target_));
}

Variable IndexPlan::put(const Variable& x) const {
  Variable view = x;
  if (places_.is_defined()) {
    view = view_of(add_rows(taken_rows(x), places_.to_device(x.device()), matrix_shape()[0], {call_}));
  }
  return view_.is_whole(source_) ? view : apply<PutView>({view}, view_, source_);
}

Variable IndexPlan::replace(const Variable& x, const Variable& updates) const {
  const int64_t rows = matrix_shape()[0];
  const Array last = zeros({rows}, Dtype::int64, x.device());
  launch<kernels::LastPlaces>(x.device(), kernels::RowLookup{call_}, places_.to_device(x.device()), last);
  const Array is_named = pointwise(kernels::GreaterConst{0}, last), places = pointwise(kernels::AddConst{-1}, last);
  const Variable put = take_rows(taken_rows(updates), places, {call_, true, -1});
  return view_of(where(Variable(is_named.reshape({rows, 1}), false), put, rows_of(x)));
}

Variable IndexPlan::rows_of(const Variable& view) const { return reshape(permute(view, order_), matrix_shape()); }

Variable IndexPlan::view_of(const Variable& rows) const {
  return permute(reshape(rows, permuted(view_.shape, order_)), inverse_permutation(order_));
}

Variable IndexPlan::taken_rows(const Variable& taken) const {
  const Dims order = inverse_permutation(moved_axes(joined_shape().ndim(), places_shape_.ndim(), target_));
  return reshape(permute(taken, order), {numel(places_shape_), matrix_shape()[1]});
}

}  // namespace kusari::functions
