#include "kusari/framework/functions/array/pad_sequence.h"

#include <algorithm>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/sequence_check.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

class PadSequence final : public FunctionNode {
 public:
  explicit PadSequence(const PadSequenceOptions& options) : options_{options} {}
  const char* name() const override { return "pad_sequence"; }
  void describe(Attributes& options) const override {
    options.set("length", options_.length);
    options.set("padding", options_.padding);
  }

 private:
  void check(const TypeCheck& c) const override {
    expect_sequences(c);
    if (!options_.length) return;
    for (size_t i = 0; i < c.size(); ++i) c.expect(c.arg("xs[i]", i).shape(0) <= *options_.length);
  }

  Arrays forward(const ArrayRefs& in) override {
    int64_t length = options_.length.value_or(0);
    for (size_t i = 0; i < in.size(); ++i) length = std::max(length, in[i].shape()[0]);
    Shape shape = in[0].shape();
    shape[0] = length;
    shape.insert(0, static_cast<int64_t>(in.size()));
    const Array y = empty(shape, in[0].dtype(), in[0].device());
    for (size_t i = 0; i < in.size(); ++i) {
      const Array row = y.at(static_cast<int64_t>(i));
      const int64_t n = in[i].shape()[0];
      row.slice(0, 0, n).copy_from(in[i]);
      if (n < length) row.slice(0, n, length - n).fill(options_.padding);
    }
    return {y};
  }

  Variables backward(const Variables& gy) override {
    Variables gx(input_count());
    for (size_t i = 0; i < gx.size(); ++i) {
      if (needs_grad(i)) gx[i] = get_item(gy[0], {static_cast<int64_t>(i), Slice{0, input_shape(i)[0]}});
    }
    return gx;
  }

  PadSequenceOptions options_;
};

}  // namespace

Variable pad_sequence(std::span<const Variable> xs, const PadSequenceOptions& options) {
  if (xs.empty()) throw ValueError("F::pad_sequence: there must be at least one array");
  for (const Variable& x : xs) {
    if (!x.is_defined()) expect_all_given(xs, "F::pad_sequence");  // throws
  }
  return apply_all<PadSequence>(xs, options)[0];
}

}  // namespace kusari::functions
