#include "kusari/framework/static_graph/passes/fuse_attention.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/attention.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/softmax.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/dependencies.h"
#include "kusari/framework/static_graph/passes/pointwise_step.h"

namespace kusari::graphs {

namespace {

using Kind = LaunchArgument::Kind;

template <class K>
bool launches(const Step& step) {
  return !step.is_code() && step.id.index == kernel_id<K>().index;
}
const View& array_of(const Step& step, size_t operand) { return step.operands[operand].views[0]; }

/// The factor of a step that scales; none of another.
std::optional<double> factor_of(const Step& step) {
  if (computes<kernels::MulConst>(step)) return step.params<kernels::MulConst>(0).c;
  if (computes<kernels::DivConst>(step)) return 1 / step.params<kernels::DivConst>(0).c;
  return std::nullopt;
}

void exchange_last_axes(View& v) {
  const int n = v.shape.ndim();
  std::swap(v.shape[n - 1], v.shape[n - 2]);
  std::swap(v.strides[n - 1], v.strides[n - 2]);
}
/// A matrix that a product reads, with the rows and columns that it is multiplied with.
View matrix_of(View v, bool is_transposed) {
  if (is_transposed) exchange_last_axes(v);
  return v;
}
bool has_c_order(const View& v) { return v.strides == contiguous_strides(v.shape); }
/// The same elements in the same order, whatever the axes are.
bool is_reshaped(const View& a, const View& b) {
  return a.slot == b.slot && a.offset == b.offset && a.dtype == b.dtype && has_c_order(a) && has_c_order(b) &&
         numel(a.shape) == numel(b.shape);
}

/// The heads of all scores, which have two to four axes: (queries, keys), before them batch times heads, or both.
struct Heads {
  int64_t batch = 1, heads = 1;

  static std::optional<Heads> of(const Shape& shape) {
    const int n = shape.ndim();
    if (n < 2 || n > 4) return std::nullopt;
    if (n == 4) return Heads{shape[0], shape[1]};
    return Heads{n == 3 ? shape[0] : 1, 1};
  }
  int64_t count() const noexcept { return batch * heads; }

  /// `v`, broadcast to scores' axes but for the last two, with four axes. `ndim`: axes of the scores.
  std::optional<View> four_axes(const View& v, int ndim) const {
    const int own = v.shape.ndim();
    if (own > ndim) return std::nullopt;
    View result = v;
    result.shape = {batch, heads, 1, 1};
    result.strides = {0, 0, 0, 0};
    for (int axis = 0; axis < own; ++axis) {
      const int64_t size = v.shape[axis], stride = size == 1 ? 0 : v.strides[axis];
      const int at = axis + ndim - own;  // among the scores' axes
      if (at >= ndim - 2) {
        result.shape[at - ndim + 4] = size;
        result.strides[at - ndim + 4] = stride;
      } else if (ndim == 4) {
        if (size != 1 && size != result.shape[at]) return std::nullopt;
        result.strides[at] = stride;
      } else if (size == count()) {
        result.strides[0] = heads * stride;
        result.strides[1] = stride;
      } else if (size != 1) {
        return std::nullopt;
      }
    }
    return result;
  }
};

/// What is found around a softmax.
struct Found {
  View q, k, v, y;
  View mask, fill;                                             ///< fill: of a mask that chooses
  int mask_ndim = 0, scores_ndim = 0, v_ndim = 0, y_ndim = 0;  ///< axes of the scores that each was used with
  bool is_hidden_where_true = false;
  double scale = 1;
  std::vector<int32_t> steps;  ///< in no order; the last one is where the attention is computed
  std::optional<Heads> heads;
  std::optional<int64_t> keys;
};

class Attentions {
 public:
  explicit Attentions(Program& program)
      : program_{program}, dependencies_{program}, is_dropped_(program.steps.size()) {}

  int run() {
    int count = 0;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& softmax = program_.steps[i];
      if (!launches<kernels::Softmax>(softmax) || softmax.phase != Phase::forward) continue;
      Found found;
      const auto at = static_cast<int32_t>(i);
      if (find_weights(at, found) && find_values(at, found) && lower(found)) ++count;
    }
    erase_steps(program_, is_dropped_);
    return count;
  }

 private:
  const Step& step(int32_t index) const { return program_.steps[static_cast<size_t>(index)]; }
  /// The step that makes all of v, for one reader alone; -1 for none.
  int32_t maker_for(const View& v, int32_t reader) const {
    if (!v.is_defined() || dependencies_.only_reader(v.slot) != reader) return -1;
    const int32_t maker = dependencies_.last_write_before(v.slot, reader);
    return maker >= 0 && step(maker).phase == Phase::forward && !step(maker).is_code() ? maker : -1;
  }
  /// The same of scores: whole, in C order, as they are read.
  int32_t maker_of_scores(const View& v, int32_t reader) const {
    const int32_t maker = maker_for(v, reader);
    if (maker < 0 || v.dtype != Dtype::float32 || !is_whole(program_, v)) return -1;
    return is_reshaped(array_of(step(maker), written(step(maker))), v) ? maker : -1;
  }
  /// The operand that is the result.
  static size_t written(const Step& s) {
    size_t i = 0;
    while (i + 1 < s.operands.size() && !s.operands[i].is_written()) ++i;
    return i;
  }

  /// The axes of scores tell batch and heads, where they have them apart; the last one is that of the keys, in all
  /// views.
  static bool note_heads(const Shape& shape, Found& found) {
    const auto heads = Heads::of(shape);
    if (!heads) return false;
    const int64_t keys = shape[shape.ndim() - 1];
    if (found.keys.value_or(keys) != keys) return false;
    found.keys = keys;
    if (!found.heads || (found.heads->heads == 1 && shape.ndim() == 4)) found.heads = heads;
    return found.heads->count() == heads->count();
  }

  /// From the softmax up to the product of queries and keys.
  bool find_weights(int32_t softmax, Found& found) const {
    const View& x = array_of(step(softmax), 1);
    if (step(softmax).params<int>(0) != x.shape.ndim() - 1 || !note_heads(x.shape, found)) return false;
    found.steps.push_back(softmax);
    int32_t reader = softmax, maker = maker_of_scores(x, softmax);
    for (; maker >= 0 && !launches<kernels::Matmul>(step(maker)); found.steps.push_back(reader)) {
      const Step& s = step(maker);
      if (!note_heads(array_of(s, written(s)).shape, found)) return false;
      reader = maker;
      if (const auto factor = factor_of(s)) {
        found.scale *= *factor;
        maker = maker_of_scores(array_of(s, 1), reader);
        continue;
      }
      // A factor behind the mask would be one of the mask as well.
      if (found.mask.is_defined() || found.scale != 1) return false;
      maker = computes<kernels::Add>(s) ? take_sum(reader, found) : take_choice(reader, found);
    }
    return maker >= 0 && take_product(maker, found);
  }

  int32_t take_sum(int32_t at, Found& found) const {
    const Step& s = step(at);
    for (const size_t scores : {1, 2}) {
      const View &x = array_of(s, scores), &mask = array_of(s, 3 - scores);
      const int32_t maker = maker_of_scores(x, at);
      if (maker < 0 || mask.dtype != Dtype::float32 || x.shape != array_of(s, 3).shape) continue;
      if (!launches<kernels::Matmul>(step(maker)) && !factor_of(step(maker))) continue;
      found.mask = mask;
      found.mask_ndim = x.shape.ndim();
      return maker;
    }
    return -1;
  }

  int32_t take_choice(int32_t at, Found& found) const {
    const Step& s = step(at);
    if (!computes<kernels::Where>(s) || array_of(s, 1).dtype != Dtype::bool_) return -1;
    for (const size_t scores : {2, 3}) {
      const View &x = array_of(s, scores), &fill = array_of(s, 5 - scores);
      const int32_t maker = maker_of_scores(x, at);
      if (maker < 0 || x.shape != array_of(s, 4).shape || fill.dtype != Dtype::float32) continue;
      for (int axis = 0; axis < fill.shape.ndim(); ++axis) {
        if (fill.shape[axis] != 1 && fill.strides[axis] != 0) return -1;
      }
      found.mask = array_of(s, 1);
      found.mask_ndim = x.shape.ndim();
      found.fill = fill;
      found.fill.shape = {};
      found.fill.strides = {};
      found.is_hidden_where_true = scores == 3;
      return maker;
    }
    return -1;
  }

  bool take_product(int32_t at, Found& found) const {
    const Step& s = step(at);
    if (array_of(s, 2).is_defined() || !note_heads(array_of(s, 4).shape, found)) return false;
    const auto options = s.params<kernels::MatmulOptions>(3);
    found.q = matrix_of(array_of(s, 0), options.transa);
    found.k = matrix_of(array_of(s, 1), !options.transb);
    found.scores_ndim = array_of(s, 4).shape.ndim();
    found.steps.push_back(at);
    for (View* const side : {&found.q, &found.k}) take_factor(*side, at, found);
    return true;
  }
  /// Numbers that are scaled before they are multiplied.
  void take_factor(View& side, int32_t product, Found& found) const {
    const int32_t maker = maker_for(side, product);
    if (maker < 0 || !factor_of(step(maker)) || !is_whole(program_, side)) return;
    const View& made = array_of(step(maker), 2);
    View from = array_of(step(maker), 1);
    if (from.dtype != Dtype::float32 || from.shape != made.shape) return;
    if (from.strides == made.strides) {  // the same places, whatever view the product has of them
      View moved = side;
      moved.slot = from.slot;
      moved.offset += from.offset - made.offset;
      from = moved;
    } else if (is_same_view(made, side)) {
    } else {
      View turned = made;
      exchange_last_axes(turned);
      if (!is_same_view(turned, side)) return;
      exchange_last_axes(from);
    }
    side = from;
    found.scale *= *factor_of(step(maker));
    found.steps.push_back(maker);
  }

  /// From the softmax down to the product with the values, and the copy behind it.
  bool find_values(int32_t softmax, Found& found) const {
    const View& weights = array_of(step(softmax), 2);
    const int32_t product = dependencies_.only_reader(weights.slot);
    if (product < 0 || !launches<kernels::Matmul>(step(product)) || step(product).phase != Phase::forward) return false;
    const Step& s = step(product);
    const auto options = s.params<kernels::MatmulOptions>(3);
    if (options.transa || array_of(s, 2).is_defined() || !is_reshaped(weights, array_of(s, 0))) return false;
    if (array_of(s, 1).slot == weights.slot || !note_heads(array_of(s, 0).shape, found)) return false;
    found.v = matrix_of(array_of(s, 1), options.transb);
    found.y = array_of(s, 4);
    found.v_ndim = found.y_ndim = found.y.shape.ndim();
    found.steps.push_back(product);
    take_join(product, found);
    return found.y.shape.ndim() >= 2 && found.y.strides[found.y.shape.ndim() - 1] == 1;
  }
  /// A copy of (batch, heads, queries, width) to (batch, queries, heads, width).
  void take_join(int32_t product, Found& found) const {
    const int32_t copy = dependencies_.only_reader(found.y.slot);
    if (copy < 0 || !launches<kernels::Copy>(step(copy)) || step(copy).phase != Phase::forward) return;
    View from = array_of(step(copy), 0), to = array_of(step(copy), 1);
    if (from.shape.ndim() != 4 || to.shape != from.shape || to.dtype != from.dtype || to.strides[3] != 1) return;
    if (dependencies_.last_write_before(from.slot, copy) != product || !has_c_order(found.y)) return;
    for (View* const v : {&from, &to}) {
      std::swap(v->shape[1], v->shape[2]);
      std::swap(v->strides[1], v->strides[2]);
    }
    if (!is_reshaped(from, found.y) || from.shape[3] != found.y.shape[found.y.shape.ndim() - 1]) return;
    const Heads heads{from.shape[0], from.shape[1]};
    if (found.heads->heads == 1) found.heads = heads;
    if (found.heads->batch != heads.batch || found.heads->heads != heads.heads) return;
    found.y = to;
    found.y_ndim = 4;
    found.steps.push_back(copy);
  }

  /// Whether all that is read is still there at step `last`, and is not where the result goes.
  bool may_wait(const Found& found, int32_t last) const {
    for (const View* const v : {&found.q, &found.k, &found.v, &found.mask, &found.fill}) {
      if (!v->is_defined()) continue;
      if (v->slot == found.y.slot) return false;
      for (const Access& access : dependencies_.accesses(v->slot)) {
        const bool is_ours = access.reads && std::ranges::count(found.steps, access.step) > 0;
        if (is_ours && dependencies_.is_written_between(v->slot, access.step, last)) return false;
      }
    }
    return true;
  }

  bool lower(Found& found) {
    const int32_t last = found.steps.back();
    if (!may_wait(found, last)) return false;
    const Heads& heads = *found.heads;
    const auto q = heads.four_axes(found.q, found.scores_ndim), k = heads.four_axes(found.k, found.scores_ndim);
    const auto v = heads.four_axes(found.v, found.v_ndim), y = heads.four_axes(found.y, found.y_ndim);
    if (!q || !k || !v || !y) return false;
    for (const View* const matrix : {&*q, &*k, &*v, &*y}) {
      if (matrix->dtype != Dtype::float32 || numel(matrix->shape) == 0) return false;
    }
    const int64_t queries = q->shape[2], keys = k->shape[2];
    if (k->shape[3] != q->shape[3] || v->shape[2] != keys || y->shape[2] != queries || y->shape[3] != v->shape[3])
      return false;
    View mask;
    if (found.mask.is_defined()) {
      const auto numbers = heads.four_axes(found.mask, found.mask_ndim);
      if (!numbers) return false;
      mask = *numbers;
      const bool fits =
          (mask.shape[2] == 1 || mask.shape[2] == queries) && (mask.shape[3] == 1 || mask.shape[3] == keys);
      if (!fits) return false;
      mask.shape = {heads.batch, heads.heads, queries, keys};
    }

    std::ranges::sort(found.steps);
    std::string names;
    for (const int32_t at : found.steps) names += (names.empty() ? "" : " + ") + std::string(step(at).name);
    const kernels::AttentionForm form{found.scale, 0, false};
    const auto in = [](const View& x) { return operand_of(Kind::in, x); };
    const Operand result = operand_of(Kind::out, *y);
    Step& step_of_last = program_.steps[static_cast<size_t>(last)];
    const Device device = step_of_last.device;
    if (found.fill.is_defined()) {
      const kernels::HiddenScores hidden{found.is_hidden_where_true};
      step_of_last = make_step<kernels::FilledAttention>(
          device, Phase::forward,
          {params_of(form), params_of(hidden), in(*q), in(*k), in(*v), in(mask), in(found.fill), result});
    } else {
      step_of_last = make_step<kernels::Attention>(
          device, Phase::forward,
          {params_of(form), in(*q), in(*k), in(*v), in(mask), in({}), in({}), result, operand_of(Kind::out, View{})});
    }
    step_of_last.fused = names;
    for (const int32_t at : found.steps) is_dropped_[static_cast<size_t>(at)] = at != last;
    return true;
  }

  Program& program_;
  Dependencies dependencies_;  // of the program as it came
  std::vector<bool> is_dropped_;
};

}  // namespace

int fuse_attention(Program& program, PassLog& log) {
  if (!is_inference(program)) return 0;
  const int count = Attentions(program).run();
  if (count > 0) {
    log.entries.push_back({"fuse_attention", "made " + std::to_string(count) + " attentions of products and softmax"});
  }
  return count;
}

}  // namespace kusari::graphs
