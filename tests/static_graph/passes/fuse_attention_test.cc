#include "kusari/framework/static_graph/passes/fuse_attention.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/attention.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/softmax.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

constexpr int64_t kBatch = 2, kHeads = 3, kQueries = 5, kKeys = 7, kWidth = 4;

View permuted(const View& view, const std::vector<int>& axes) {
  View result = view;
  for (size_t i = 0; i < axes.size(); ++i) {
    result.shape[static_cast<int>(i)] = view.shape[axes[i]];
    result.strides[static_cast<int>(i)] = view.strides[axes[i]];
  }
  return result;
}
View reshaped(View view, const Shape& shape) {
  view.shape = shape;
  view.strides = contiguous_strides(shape);
  return view;
}
/// As a kernel gets an array that is broadcast.
View broadcast(View view, const Shape& shape) {
  const int missing = shape.ndim() - view.shape.ndim();
  Strides strides(shape.begin(), shape.end());
  for (int i = 0; i < shape.ndim(); ++i) {
    strides[i] = i < missing || view.shape[i - missing] == 1 ? 0 : view.strides[i - missing];
  }
  view.shape = shape;
  view.strides = strides;
  return view;
}

/// softmax(q k^T) v with heads inside of rows, as a linear layer gives them.
struct Net {
  ProgramBuilder b;
  std::vector<View> drawn, masks;
  Shape scores_shape = {kBatch, kHeads, kQueries, kKeys};
  View q = heads(kQueries), k = heads(kKeys), v = heads(kKeys);
  bool turns_keys = true;  // else the product does
  bool joins = true;

  View draw(const Shape& shape) {
    drawn.push_back(b.input(shape));
    return drawn.back();
  }
  View mask(const Shape& shape) {
    masks.push_back(b.input(shape, Dtype::bool_));
    return masks.back();
  }
  View heads(int64_t places) { return permuted(draw({kBatch, places, kHeads, kWidth}), {0, 2, 1, 3}); }
  void multiply(const View& x, const View& y, const View& to, bool transb = false) {
    b.add<kernels::Matmul>({operand_of(Kind::in, x), operand_of(Kind::in, y), operand_of(Kind::in, View()),
                            params_of(kernels::MatmulOptions{.transb = transb}), operand_of(Kind::out, to)});
  }
  View scores() {
    const View s = b.temporary(scores_shape);
    const int last = k.shape.ndim() - 1;
    std::vector<int> axes;
    for (int i = 0; i <= last; ++i) axes.push_back(i);
    std::swap(axes[static_cast<size_t>(last)], axes[static_cast<size_t>(last) - 1]);
    multiply(q, turns_keys ? permuted(k, axes) : k, s, !turns_keys);
    return s;
  }
  View weights(const View& s) {
    const View w = b.temporary(s.shape);
    b.add<kernels::Softmax>({params_of(s.shape.ndim() - 1), operand_of(Kind::in, s), operand_of(Kind::out, w)});
    return w;
  }
  View finish(const View& s) {
    const View w = weights(s);
    if (!joins) {
      const View y = b.result({kBatch, kHeads, kQueries, kWidth});
      multiply(w, v, y);
      return y;
    }
    const View each = b.temporary({kBatch, kHeads, kQueries, kWidth}), y = b.result({kBatch, kQueries, kHeads, kWidth});
    multiply(w, v, each);
    b.add<kernels::Copy>({operand_of(Kind::in, permuted(each, {0, 2, 1, 3})), operand_of(Kind::out, y)});
    return y;
  }
  std::vector<float> run(const View& y) const {
    const ProgramRunner runner(b.program);
    random::seed(11);
    for (const View& view : drawn) {
      runner.at(view).copy_from(
          initializers::generate_array(initializers::Normal(1.0), view.shape, Dtype::float32, Device()));
    }
    for (const View& view : masks) {
      bool* const seen = runner.at(view).data<bool>();
      // Row 2 is hidden or seen as a whole.
      const int64_t width = view.shape[view.shape.ndim() - 1];
      for (int64_t i = 0; i < numel(view.shape); ++i) seen[i] = i / width != 2 && (i * 5 + i / width) % 3 != 0;
    }
    runner.run();
    return runner.at(y).to_vector<float>();
  }
};

void check_fused(Net& net, const View& y, size_t steps = 1) {
  const std::vector<float> separate = net.run(y);
  PassLog log;
  CHECK(fuse_attention(net.b.program, log) == 1);
  REQUIRE(log.entries.size() == 1);
  CHECK(log.entries[0].pass == "fuse_attention");
  CHECK(log.entries[0].what == "made 1 attentions of products and softmax");
  CHECK(net.b.program.steps.size() == steps);
  const std::vector<float> fused = net.run(y);
  REQUIRE(fused.size() == separate.size());
  for (size_t i = 0; i < fused.size(); ++i) CHECK(std::abs(fused[i] - separate[i]) <= 1e-5);
}

TEST_CASE("fuse_attention: factors, masks and layouts") {
  for (const int factor : {0, 1, 2, 3, 4}) {
    for (const int mask : {0, 1, 2, 3, 4, 5}) {
      for (const bool joins : {false, true}) {
        CAPTURE(factor);
        CAPTURE(mask);
        CAPTURE(joins);
        Net net;
        net.joins = joins;
        net.turns_keys = factor % 2 == 0;
        if (factor == 3) {
          net.q = net.b.pointwise(kernels::MulConst{0.7}, net.q);  // before and after the heads are turned
          net.k = permuted(net.b.pointwise(kernels::MulConst{0.7}, permuted(net.k, {0, 2, 1, 3})), {0, 2, 1, 3});
        }
        if (factor == 4) {  // of the keys as they are multiplied
          net.turns_keys = false;
          net.k = permuted(net.b.pointwise(kernels::DivConst{1.5}, permuted(net.k, {0, 1, 3, 2})), {0, 1, 3, 2});
        }
        View s = net.scores();
        if (factor == 1) s = net.b.pointwise(kernels::MulConst{0.5}, s);
        if (factor == 2) s = net.b.pointwise(kernels::DivConst{2}, s);
        const Shape shape = net.scores_shape;
        if (mask == 1) s = net.b.pointwise(kernels::Add{}, s, broadcast(net.draw({kBatch, 1, 1, kKeys}), shape));
        if (mask == 2) {
          const View added = net.b.temporary(shape);
          net.b.pointwise_to(added, kernels::Add{}, net.draw({kHeads, kQueries, kKeys}), s);
          s = added;
        }
        if (mask >= 3) {
          const View fill = broadcast(net.draw({}), shape), chosen = net.b.temporary(shape);
          const View seen = broadcast(net.mask(mask == 5 ? Shape{kBatch, 1, 1, kKeys} : Shape{kQueries, kKeys}), shape);
          if (mask == 4) {
            net.b.pointwise_to(chosen, kernels::Where{}, seen, fill, s);
          } else {
            net.b.pointwise_to(chosen, kernels::Where{}, seen, s, fill);
          }
          s = chosen;
        }
        check_fused(net, net.finish(s));
      }
    }
  }
}

TEST_CASE("fuse_attention: batch and heads in one axis, and a mask that has them apart") {
  Net net;
  for (View* const x : {&net.q, &net.k, &net.v}) *x = net.draw({kBatch * kHeads, x->shape[2], kWidth});
  net.scores_shape = {kBatch * kHeads, kQueries, kKeys};
  View s = net.b.pointwise(kernels::MulConst{0.5}, net.scores());
  SUBCASE("no mask") {}
  SUBCASE("a mask of four axes") {
    const Shape apart = {kBatch, kHeads, kQueries, kKeys};
    s = net.b.pointwise(kernels::Add{}, reshaped(s, apart), broadcast(net.draw({kBatch, 1, kQueries, kKeys}), apart));
    s = reshaped(s, net.scores_shape);
  }
  const View w = net.weights(s), each = net.b.temporary({kBatch * kHeads, kQueries, kWidth}),
             y = net.b.result({kBatch, kQueries, kHeads, kWidth});
  net.multiply(w, net.v, each);
  net.b.add<kernels::Copy>(
      {operand_of(Kind::in, permuted(reshaped(each, {kBatch, kHeads, kQueries, kWidth}), {0, 2, 1, 3})),
       operand_of(Kind::out, y)});
  check_fused(net, y);
}

TEST_CASE("fuse_attention leaves what it may not change") {
  Net net;
  net.joins = false;
  const auto count = [&] {
    PassLog log;
    const size_t steps = net.b.program.steps.size();
    CHECK(fuse_attention(net.b.program, log) == 0);
    CHECK(log.entries.empty());
    CHECK(net.b.program.steps.size() == steps);
  };
  SUBCASE("somebody else reads the weights") {
    const View s = net.scores(), w = net.weights(s);
    net.multiply(w, net.v, net.b.result({kBatch, kHeads, kQueries, kWidth}));
    net.b.pointwise_to(net.b.result(net.scores_shape), kernels::Relu{}, w);
    count();
  }
  SUBCASE("a function of the scores") {
    net.finish(net.b.pointwise(kernels::Relu{}, net.scores()));
    count();
  }
  SUBCASE("a factor behind the mask") {
    const View s = net.b.pointwise(kernels::Add{}, net.scores(), net.draw(net.scores_shape));
    net.finish(net.b.pointwise(kernels::MulConst{2}, s));
    count();
  }
  SUBCASE("another axis") {
    const View s = net.scores(), w = net.b.temporary(net.scores_shape);
    net.b.add<kernels::Softmax>({params_of(2), operand_of(Kind::in, s), operand_of(Kind::out, w)});
    net.multiply(w, net.v, net.b.result({kBatch, kHeads, kQueries, kWidth}));
    count();
  }
  SUBCASE("queries are written in between") {
    const View s = net.scores();
    net.b.pointwise_to(net.q, kernels::Relu{}, net.q);
    net.finish(s);
    count();
  }
  SUBCASE("a fill with an element for each score") {
    const View s = net.scores(), chosen = net.b.temporary(net.scores_shape);
    net.b.pointwise_to(chosen, kernels::Where{}, net.mask(net.scores_shape), s, net.draw(net.scores_shape));
    net.finish(chosen);
    count();
  }
  SUBCASE("training") {
    net.finish(net.scores());
    net.b.phase = Phase::backward;
    net.b.pointwise_to(net.b.result(net.q.shape), kernels::Relu{}, net.q);
    count();
  }
}

}  // namespace
}  // namespace kusari::graphs
