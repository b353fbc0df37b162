#include "kusari/framework/functions/loss/binary_hierarchical_softmax.h"

#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/take_rows.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/loss/row_scores.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

constexpr const char* kBinarySoftmax = "F::binary_hierarchical_softmax";

void check_tree_paths(const TreePaths& tree) {
  expect_given(tree.paths, kBinarySoftmax, "tree.paths");
  expect_given(tree.codes, kBinarySoftmax, "tree.codes");
  if (tree.paths.ndim() == 2 && tree.paths.shape() == tree.codes.shape() && is_integral(tree.paths.dtype())) return;
  throw TypeError(std::string(kBinarySoftmax) + ": tree.paths has shape " + to_string(tree.paths.shape()) +
                  " and dtype " + name(tree.paths.dtype()) + ", tree.codes shape " + to_string(tree.codes.shape()) +
                  ": they must be (words, longest path), paths integers");
}

}  // namespace

Variable binary_hierarchical_softmax(const Variable& x, const Variable& t, const Variable& W, const TreePaths& tree) {
  constexpr const char* kCall = "binary_hierarchical_softmax";
  if (const CompositeInputs in(kCall, {x, t, W}); in.is_cast()) {
    return binary_hierarchical_softmax(in[0], in[1], in[2], tree);
  }
  check_row_scores(kBinarySoftmax, x, t, W);
  check_tree_paths(tree);
  const kernels::RowLookup words{kBinarySoftmax}, nodes{words.call, true, -1};
  const Array index = t.array().astype(Dtype::int64).contiguous();
  const Variable scores = row_scores(x, W, take_rows(tree.paths, index, words).array(), nodes);
  const Array codes = take_rows(tree.codes, index, words).array().astype(scores.dtype());
  const Array counts = pointwise(kernels::Mul{}, codes, codes);  // 1, or 0 behind the end
  return cast(sum(counts * softplus(-(scores * codes))), x.dtype());
}

}  // namespace kusari::functions
