#include "kusari/framework/functions/array/transpose_sequence.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/sequence_check.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

// Of n sequences. All results lie in one array, one after another.
class TransposeSequence final : public FunctionNode {
 public:
  const char* name() const override { return "transpose_sequence"; }

 private:
  void check(const TypeCheck& c) const override { expect_sequences(c); }

  Arrays forward(const ArrayRefs& in) override {
    const std::vector<int64_t> rows = rows_of(in);
    Shape shape = in[0].shape();
    shape[0] = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    const Array all = empty(shape, in[0].dtype(), in[0].device());
    Arrays ys;
    int64_t place = 0;
    for (const int64_t count : rows) {
      ys.push_back(all.slice(0, place, count));
      place += count;
    }
    // While the results have one number of rows, the elements of a sequence are evenly spaced.
    place = 0;
    for (size_t from = 0, to = 0; from < rows.size(); from = to) {
      while (to < rows.size() && rows[to] == rows[from]) ++to;
      const auto t = static_cast<int64_t>(from), steps = static_cast<int64_t>(to - from);
      for (int64_t i = 0; i < rows[from]; ++i) {
        all.slice(0, place + i, steps, rows[from]).copy_from(in[static_cast<size_t>(i)].slice(0, t, steps));
      }
      place += steps * rows[from];
    }
    return ys;
  }

  Variables backward(const Variables& gy) override {
    const Variable& given = *std::find_if(gy.begin(), gy.end(), [](const Variable& g) { return g.is_defined(); });
    Variables all = gy;
    for (size_t t = 0; t < all.size(); ++t) {
      if (all[t].is_defined()) continue;
      Shape shape = input_shape(0);
      shape[0] = 0;
      for (size_t i = 0; i < input_count(); ++i) shape[0] += input_shape(i)[0] > static_cast<int64_t>(t) ? 1 : 0;
      all[t] = Variable(zeros(shape, given.dtype(), given.device()), false);
    }
    Variables gx = transpose_sequence(std::span<const Variable>(all.data(), all.size()));
    // Empty sequences have no place in the results.
    while (gx.size() < input_count()) {
      gx.push_back(Variable(zeros(input_shape(gx.size()), given.dtype(), given.device()), false));
    }
    return gx;
  }

  /// How many sequences are longer than 0, 1, ...
  static std::vector<int64_t> rows_of(const ArrayRefs& in) {
    std::vector<int64_t> rows(static_cast<size_t>(in[0].shape()[0]), 0);
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t length = in[i].shape()[0];
      if (i > 0 && length > in[i - 1].shape()[0]) {
        throw ValueError("F::transpose_sequence: xs[" + std::to_string(i) + "] has " + std::to_string(length) +
                         " elements but xs[" + std::to_string(i - 1) + "] has " + std::to_string(in[i - 1].shape()[0]) +
                         ": the longest must come first");
      }
      for (int64_t t = 0; t < length; ++t) ++rows[static_cast<size_t>(t)];
    }
    return rows;
  }
};

}  // namespace

Variables transpose_sequence(std::span<const Variable> xs) {
  if (xs.empty()) return {};
  for (const Variable& x : xs) {
    if (!x.is_defined()) expect_all_given(xs, "F::transpose_sequence");  // throws
  }
  return apply_all<TransposeSequence>(xs);
}

}  // namespace kusari::functions
