#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The way from the root of a binary tree to each word: for word v and step i, the inner node paths[v, i] and the
/// direction codes[v, i], 1 to the left and -1 to the right; -1 and 0 behind the end.
struct TreePaths {
  Array paths;  ///< (V, steps), int32
  Array codes;  ///< (V, steps), float32
};

/// -log of the probability of a word that is a leaf of a binary tree, each step of the way being a decision:
/// sum_i log(1 + exp(-codes[t, i] x . W[paths[t, i]])), summed over the batch.
/// x: (N, D), W: (inner nodes, D), floating. t: (N), integers in [0, V), negative ones counting from the end; a word
/// without a way costs nothing. Returns a scalar of x's dtype; 16-bit types are computed in float32. Throws TypeError
/// when shapes or dtypes do not fit, IndexError for a word outside the tree's range. Differentiable to any order by x
/// and W. Morin and Bengio 2005; chainer.links.BinaryHierarchicalSoftmax.
KUSARI_API Variable binary_hierarchical_softmax(const Variable& x, const Variable& t, const Variable& W,
                                                const TreePaths& tree);

}  // namespace kusari::functions
