#include "kusari/framework/functions/array/depth2space.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/space2depth.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/image_axes.h"

namespace kusari::functions {
namespace {

// `power`: how many factors r the sizes of the axes must have. The square of r is a number of either function.
void check_divides(const char* call, const Variable& X, int64_t r, std::initializer_list<int> axes, int power) {
  if (r < 1) throw ValueError(std::string(call) + ": r is " + std::to_string(r) + ": it must be at least 1");
  int64_t square = 0;
  if (__builtin_mul_overflow(r, r, &square)) {
    throw ValueError(std::string(call) + ": r is " + std::to_string(r) + ": its square must be less than 2^63");
  }
  const int64_t divisor = power == 2 ? square : r;
  for (const int axis : axes) {
    if (axis >= X.ndim() || X.shape()[axis] % divisor == 0) continue;
    throw ValueError(std::string(call) + ": X has shape " + to_string(X.shape()) + " and r is " + std::to_string(r) +
                     ": X.shape[" + std::to_string(axis) + "] must be a multiple of " + std::to_string(divisor));
  }
}

// Both go through channels-last order, in which pixels of a block are rows of channels: one copy.
constexpr int64_t kSwapBlock[] = {0, 1, 3, 2, 4, 5};

class Depth2Space final : public FunctionNode {
 public:
  explicit Depth2Space(int64_t r) : r_{r} {}
  const char* name() const override { return "depth2space"; }
  void describe(Attributes& options) const override { options.set("r", r_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [X] = c.args("X");
    c.expect(X.is_floating(), X.ndim() == 4);
  }
  Arrays forward(const ArrayRefs& in) override {
    const Shape& s = in[0].shape();
    const int64_t channels = s[1] / (r_ * r_);
    const Array blocks = in[0].transpose(kToChannelsLast).reshape({s[0], s[2], s[3], r_, r_, channels});
    const Array pixels = blocks.transpose(kSwapBlock).reshape({s[0], s[2] * r_, s[3] * r_, channels});
    return {pixels.transpose(kFromChannelsLast).channels_last()};
  }
  Variables backward(const Variables& gy) override { return {space2depth(gy[0], r_)}; }

  int64_t r_;
};

class Space2Depth final : public FunctionNode {
 public:
  explicit Space2Depth(int64_t r) : r_{r} {}
  const char* name() const override { return "space2depth"; }
  void describe(Attributes& options) const override { options.set("r", r_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [X] = c.args("X");
    c.expect(X.is_floating(), X.ndim() == 4);
  }
  Arrays forward(const ArrayRefs& in) override {
    const Shape& s = in[0].shape();
    const int64_t h = s[2] / r_, w = s[3] / r_;
    const Array blocks = in[0].transpose(kToChannelsLast).reshape({s[0], h, r_, w, r_, s[1]});
    const Array depth = blocks.transpose(kSwapBlock).reshape({s[0], h, w, r_ * r_ * s[1]});
    return {depth.transpose(kFromChannelsLast).channels_last()};
  }
  Variables backward(const Variables& gy) override { return {depth2space(gy[0], r_)}; }

  int64_t r_;
};

}  // namespace

Variable depth2space(const Variable& X, int64_t r) {
  expect_given(X, "F::depth2space", "X");

  check_divides("F::depth2space", X, r, {1}, 2);
  return apply<Depth2Space>({X}, r);
}

Variable space2depth(const Variable& X, int64_t r) {
  expect_given(X, "F::space2depth", "X");

  check_divides("F::space2depth", X, r, {2, 3}, 1);
  return apply<Space2Depth>({X}, r);
}

}  // namespace kusari::functions
